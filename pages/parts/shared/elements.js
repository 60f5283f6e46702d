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
  if (given?.constructor !== Object) return h(selector, {}, given, ...inside);
  const [tag, ...classes] = selector.split(".");
  const name = [...classes, ...(given.class || "").split(" ")].filter(Boolean).join(" ");
  return new Wanted(tag, { ...(tag === "button" && { type: "button" }), ...given, class: name || null }, inside);
}

const flat = (inside) => inside.flat(Infinity).filter((one) => one || one === 0);

// Whether an element or a text can become like a wanted one.
const fits = (node, one) => one instanceof Wanted ? node.localName === one.tag && node.key === one.given.key
  : node.nodeType === Node.TEXT_NODE;

const begin = (one) =>
  one instanceof Wanted ? Object.assign(document.createElement(one.tag), { key: one.given.key }) : new Text();

// Make the content of an element like `inside`: elements, texts, lists of them, and empty values.
function draw(parent, ...inside) {
  const left = [...parent.childNodes];
  const wanted = flat(inside).map((one) => {
    const found = left.findIndex((node) => fits(node, one));
    return [one, found < 0 ? begin(one) : left.splice(found, 1)[0]];
  });
  for (const node of left) node.remove();
  let at = parent.firstChild;
  for (const [one, node] of wanted) {
    if (node === at) at = at.nextSibling;
    else parent.insertBefore(node, at);
    fill(node, one);
  }
}

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
  draw(node, one.inside.map((part) => (typeof part === "function" ? part() : part)));
  const was = node.given ?? {};
  for (const name in { ...was, ...given }) put(node, name, given[name], was[name]);
  if (!node.given) made?.(node);
  node.given = given;
}

function put(node, name, now, was) {
  if (LIVE.has(name) && name in node) {
    const same = node.type === "number" ? node.valueAsNumber === now : node[name] === now;
    if (now !== undefined && !same) node[name] = now;
  } else if (now === was) return;
  else if (name.startsWith("on")) node[name] = now ?? null;
  else if (name === "style") node.style.cssText = Object.entries(now ?? {}).map((part) => part.join(":")).join(";");
  else if (now === undefined || now === null || now === false) node.removeAttribute(name);
  else node.setAttribute(name, now === true ? "" : now);
}

const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
const quiet = (...words) => h("span.quiet", {}, ...words);
const keyHint = (key) => h("kbd", { "aria-hidden": "true" }, key);
const count = (number) => number.toLocaleString("en");
const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

// A value as a chip on the scale of ratings; a judgment may be beyond the scale.
function chip(value, title = null) {
  const missing = value === null || value === undefined;
  return h(`span.chip.r${missing ? "none" : Math.min(5, Math.max(0, value))}`, { title }, missing ? "–" : value);
}

const column = (words, given) => h("th", { scope: "col", ...given }, words);
const radio = (name, value, held, choose, given = {}) =>
  h("input", { type: "radio", name, value, checked: value === held, onchange: () => choose(value), ...given });

const checkBox = (checked, choose, given) =>
  h("input", { type: "checkbox", checked, onchange: ({ target }) => choose(target.checked), ...given });

// A field for words that a part searches for.
const searchBox = (part, label) => h("input", { type: "search", placeholder: label, "aria-label": label,
  value: part.words, oninput: ({ target }) => part.update({ words: target.value }) });

// Options as buttons, of which one is held.
function segments(name, label, options, held, choose) {
  return h("div.segments", { role: "radiogroup", "aria-label": label },
    options.map(([value, words]) => h("label.segment", radio(name, value, held, choose), h("span", words))));
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

// Whether a person types, or moves between options with an arrow key.
function isUsed(event) {
  const used = event.key.startsWith("Arrow") ? `${TYPING}, [role=radiogroup]` : TYPING;
  return event.composedPath().some((one) => one instanceof Element && one.matches(used));
}

// Arrow keys, Home and End move the focus within a list, or a table of `columns`; arrow down leads in from `before`.
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
function focused() {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found;
}

// Values in a storage of the browser. If it is full, a value lasts as long as the page.
function kept(storage, key) {
  try {
    return JSON.parse(storage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function keep(storage, key, value) {
  try {
    if (value === null) storage.removeItem(key);
    else storage.setItem(key, JSON.stringify(value));
  } catch {}
}

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
    const at = focused();
    this.drawing = true;
    draw(this.root, this.view?.(this.data));
    this.drawing = false;
    if (this.again) return this.redraw();
    // An element that was moved loses the focus.
    if (this.root.contains(at) && focused() !== at) at.focus({ preventScroll: true });
    this.drawn?.(this.data);
  }

  find(selector) {
    return this.root.querySelector(selector);
  }

  findAll(selector) {
    return [...this.root.querySelectorAll(selector)];
  }
}

export default function ({ data, parentElement, setTriggerValue, setStateValue }) {
  let part = parts.get(parentElement);
  if (!part) parts.set(parentElement, (part = new KINDS[data.kind](parentElement)));
  // On a redraw, Streamlit sets the part up again before it cleans up. So each cleans up only its own listeners.
  part.listening?.abort();
  const mine = (part.listening = new AbortController());
  part.listen?.((name, hear, capture = true) => window.addEventListener(name, hear, { capture, signal: mine.signal }));
  part.show(data, setTriggerValue, setStateValue);
  return () => {
    mine.abort();
    if (part.listening === mine) part.leave?.();
  };
}
