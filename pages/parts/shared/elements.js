// Elements as plain data, and how a part of the page becomes like them: an element that is still wanted stays, with its
// focus, scroll position and typed text.

class Wanted {
  constructor(tag, given, inside) {
    Object.assign(this, { tag, given, inside });
  }
}

// An element such as h("button.link", { onclick }, "Undo"). Besides attributes and handlers, `given` may have a `key`
// (the identity among siblings), a `memo` (if it is the same as before, the element is left as it is; children may be
// a function then) and `made` (called with the new element).
function h(selector, given, ...inside) {
  if (given === null || typeof given !== "object" || Array.isArray(given) || given instanceof Wanted) {
    inside.unshift(given);
    given = {};
  }
  const [tag, ...classes] = selector.split(".");
  const name = [...classes, given.class].filter(Boolean).join(" ");
  return new Wanted(tag, { ...(tag === "button" && { type: "button" }), ...given, class: name || null }, inside);
}

const flat = (inside) =>
  inside.flatMap((one) => {
    if (typeof one === "function") return flat([one()]);
    if (Array.isArray(one)) return flat(one);
    return one || one === 0 ? [one] : [];
  });

const fits = (node, one) =>
  node.key === undefined && (one instanceof Wanted ? node.localName === one.tag : node.nodeType === Node.TEXT_NODE);

// Make the content of an element like `inside`: elements, texts, lists of them, and empty values.
function draw(parent, ...inside) {
  const wanted = flat(inside);
  const keys = new Set(wanted.map((one) => one.given?.key));
  const keyed = new Map();
  for (const node of [...parent.childNodes]) {
    if (node.key === undefined) continue;
    if (keys.has(node.key)) keyed.set(node.key, node);
    else node.remove();
  }
  let at = parent.firstChild;
  for (const one of wanted) {
    const key = one.given?.key;
    let node = key === undefined ? at : keyed.get(key);
    if (key === undefined) while (node && !fits(node, one)) node = node.nextSibling;
    const anew = !node;
    if (anew) node = parent.insertBefore(one instanceof Wanted ? begin(one) : new Text(), at);
    else if (key !== undefined && node !== at) parent.insertBefore(node, at);
    else {
      // Elements before the next fitting one are not wanted any more.
      while (at !== node) at = drop(at);
      at = at.nextSibling;
    }
    fill(node, one);
    if (anew) one.given?.made?.(node);
  }
  while (at) at = drop(at);
}

// Remove an element, unless it has a key: then it is wanted at a later place. Return its next sibling.
function drop(node) {
  const next = node.nextSibling;
  if (node.key === undefined) node.remove();
  return next;
}

const begin = ({ tag, given }) => Object.assign(document.createElement(tag), { key: given.key });

// Properties that people change, so that the element may differ from what was drawn last.
const LIVE = new Set(["value", "checked", "open"]);

function fill(node, one) {
  if (!(one instanceof Wanted)) {
    if (node.data !== String(one)) node.data = one;
    return;
  }
  const { key, memo, made, ...given } = one.given;
  if (memo !== undefined && node.memo === memo) return;
  node.memo = memo;
  if (one.inside.length || node.firstChild) draw(node, one.inside);
  const was = node.given ?? {};
  for (const name of new Set([...Object.keys(was), ...Object.keys(given)])) put(node, name, given[name], was[name]);
  node.given = given;
}

function put(node, name, now, was) {
  if (LIVE.has(name) && name in node) {
    const same = node.type === "number" ? node.valueAsNumber === now : node[name] === now;
    if (now !== undefined && !same) node[name] = now;
  } else if (now === was) return;
  else if (name.startsWith("on")) node[name] = now ?? null;
  else if (name === "style") {
    for (const part of Object.keys(was ?? {})) node.style.removeProperty(part);
    for (const [part, value] of Object.entries(now ?? {})) node.style.setProperty(part, value);
  } else if (now === undefined || now === null || now === false) node.removeAttribute(name);
  else node.setAttribute(name, now === true ? "" : now);
}

const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
const quiet = (...words) => h("span.quiet", {}, ...words);
const count = (number) => number.toLocaleString("en");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

// A value as a chip on the scale of ratings; a judgment may be beyond the scale.
function chip(value, title = null) {
  const missing = value === null || value === undefined;
  return h(`span.chip.r${missing ? "none" : Math.min(5, Math.max(0, value))}`, { title }, missing ? "–" : value);
}

// Options as buttons, of which one is held.
function segments(kind, name, label, options, held, choose) {
  return h("div.segments", { class: kind, role: "radiogroup", "aria-label": label },
    options.map(([value, words]) => h("label.segment",
      h("input", { type: "radio", name, value: String(value), checked: value === held, onchange: () => choose(value) }),
        h("span", words))));
}

// A chosen filter, as a button that clears it.
function filter(words, clear, key) {
  return h("button.filter", { key, title: "Clear filter", "aria-label": `Clear filter: ${words}`, onclick: clear },
    h("span", { dir: "auto" }, words), h("span", { "aria-hidden": "true" }, "✕"));
}

const withModifier = (event) => event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;

// A link that a plain click follows within the page; other clicks are left to the browser.
function link(words, href, follow, given = {}) {
  const onclick = (event) => {
    if (withModifier(event)) return;
    event.preventDefault();
    event.stopPropagation();
    follow(href);
  };
  return h("a", { ...given, href, onclick }, words);
}

// Follow a link without reloading the app. The address is written as the browser writes it, so that Back returns to it.
function goTo(href) {
  history.pushState({}, "", href);
  window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
}

const TYPING = "input, textarea, select, [contenteditable], [role=textbox], [role=combobox]";
const behindDialog = () => document.querySelector("[role=dialog]") !== null;

// Whether a person types, or uses an element that a selector names.
function isUsed(event, others = "") {
  const used = others ? `${TYPING}, ${others}` : TYPING;
  return event.composedPath().some((one) => one instanceof Element && one.matches(used));
}

// Arrow keys, Home and End move the focus within a list, or a table of `columns`. From `before`, the arrow down leads
// to the first item.
function walk(event, items, before = null, columns = 1) {
  const at = items.indexOf(event.target);
  const steps = columns > 1 ? { ArrowRight: at + 1, ArrowLeft: at - 1 } : {};
  const to = { ArrowDown: at + columns, ArrowUp: at - columns, Home: 0, End: items.length - 1, ...steps }[event.key];
  const outside = at < 0 && !(before && event.key === "ArrowDown");
  if (to === undefined || outside || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  (items[to] ?? before)?.focus();
}

// Stop a key event, also for buttons that have the key as shortcut.
function swallow(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

// The focused element, also inside a component.
function focused(root = document) {
  let found = root.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found;
}

// Scroll a list to a row; scrollIntoView would move the page, too.
function keepInSight(row, list, room = 8) {
  const around = list.getBoundingClientRect();
  const box = row.getBoundingClientRect();
  if (box.top < around.top + room) list.scrollTop -= around.top + room - box.top;
  else if (box.bottom > around.bottom) list.scrollTop += box.bottom - around.bottom + 8;
}

// Scroll the page to a part whose beginning is out of sight.
function showFrom(part) {
  const top = part.getBoundingClientRect().top;
  if (top < 60 || top > window.innerHeight - 200) part.scrollIntoView({ block: "start" });
}

// Text in a storage of the browser. Without storage, as in a private window, it lasts as long as the page.
const kept = (storage, key) => {
  try {
    return JSON.parse(storage.getItem(key)) ?? {};
  } catch {
    return {};
  }
};
const keep = (storage, key, value) => {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, JSON.stringify(value));
  } catch {
    // See above.
  }
};

// Kinds of content of a component, by name. The data of a component names its kind.
const KINDS = {};
const parts = new WeakMap();

// A part of the page that is drawn from data: `view` returns its elements, `hear` takes in new data.
class Part {
  constructor(parent) {
    this.root = parent.appendChild(document.createElement("div"));
    this.root.style.display = "contents";
  }

  show(data, tell, hold) {
    Object.assign(this, { before: this.data, data, tell, hold });
    this.hear?.(data);
    this.redraw();
  }

  update(values) {
    Object.assign(this, values);
    this.redraw();
  }

  redraw() {
    // An element that is removed may lose the focus, which may ask for another drawing.
    this.again = this.drawing;
    if (this.drawing) return;
    const root = this.root.getRootNode();
    const at = root.activeElement;
    this.drawing = true;
    draw(this.root, this.view?.(this.data));
    this.drawing = false;
    if (this.again) return this.redraw();
    // An element that was moved loses the focus.
    if (at?.isConnected && this.root.contains(at) && root.activeElement !== at) at.focus({ preventScroll: true });
    this.drawn?.(this.data);
  }

  find(selector) {
    return this.root.querySelector(selector);
  }

  findAll(selector) {
    return [...this.root.querySelectorAll(selector)];
  }

  // Take over what the server says is open. An answer to an earlier click changes nothing that was opened since.
  settle(open) {
    if (this.wanted !== undefined && String(this.wanted) !== String(open)) return;
    this.opened = open;
    this.wanted = undefined;
  }
}

export default function ({ data, parentElement, setTriggerValue, setStateValue }) {
  let part = parts.get(parentElement);
  if (!part) parts.set(parentElement, (part = new KINDS[data.kind](parentElement)));
  // On a redraw, Streamlit sets the part up again before it cleans up the old one. So each cleans up only its own
  // listeners.
  part.listening?.abort();
  const mine = (part.listening = new AbortController());
  part.listen?.((name, hear, capture = true) => window.addEventListener(name, hear, { capture, signal: mine.signal }));
  part.show(data, setTriggerValue, setStateValue);
  return () => {
    mine.abort();
    if (part.listening === mine) part.leave?.();
  };
}
