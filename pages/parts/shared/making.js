// Helpers of the review components: elements, chips of ratings, actions that reach the server.

function make(tag, given = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name === "style") for (const [key, one] of Object.entries(value)) node.style.setProperty(key, one);
    else if (name in node && !name.startsWith("aria")) node[name] = value;
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// A value as a chip on the scale of ratings; a judgment may be beyond the scale.
function chip(value, title = "") {
  const missing = value === null || value === undefined;
  const level = missing ? "none" : Math.min(5, Math.max(0, value));
  return make("span", { class: `chip r${level}`, title }, missing ? "–" : String(value));
}

let lastAct = 0;

// Actions are sent again until the server has taken them, since Streamlit may drop messages that arrive during a run.
class Acts {
  constructor() {
    this.waiting = [];
  }

  add(name, said) {
    lastAct = Math.max(lastAct + 1, Date.now());
    this.waiting.push({ id: lastAct, do: name, ...said });
    this.send("acts", this.waiting);
    return lastAct;
  }

  taken(upTo, send) {
    this.send = send;
    this.waiting = this.waiting.filter((one) => one.id > upTo);
  }

  again() {
    if (this.waiting.length) this.send("acts", this.waiting);
  }
}

const outlasting = new Map();

// The actions of a project, which survive visits to other screens.
function actsOf(home) {
  if (!outlasting.has(home)) outlasting.set(home, new Acts());
  return outlasting.get(home);
}

const TYPING = "input, textarea, select, [contenteditable], [role=textbox], [role=combobox]";

// Whether a key press is for the screen: not during typing, nor behind a dialog.
function forScreen(event, elsewhere = "") {
  if (event.altKey || event.ctrlKey || event.metaKey || event.repeat || document.querySelector("[role=dialog]")) return false;
  const others = elsewhere ? `${TYPING}, ${elsewhere}` : TYPING;
  return !event.composedPath().some((one) => one instanceof Element && one.matches(others));
}

// Stop a key event, also for buttons that have the key as shortcut.
function swallow(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

// A link that leads on within the page; clicks for another tab or window are left to the browser.
function link(words, href, follow) {
  return make(
    "a",
    {
      href,
      onclick: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
        event.preventDefault();
        follow();
      },
    },
    words,
  );
}

const places = new WeakMap();

// Show a component: its object is made once for its place on the page.
function showIn(Kind, { data, parentElement, setTriggerValue }) {
  let shown = places.get(parentElement);
  if (!shown) places.set(parentElement, (shown = new Kind(parentElement)));
  const mine = shown.listen?.();
  shown.show(data, setTriggerValue);
  // On a redraw, Streamlit sets the part up again before it cleans up the old one. So each cleans up only its own
  // listeners.
  return mine && (() => mine.abort());
}

// A component that listens to keys, and draws a part of it again only if its content has changed.
class Drawn {
  drawn = {};

  listen() {
    this.listening?.abort();
    const mine = (this.listening = new AbortController());
    window.addEventListener("keydown", (event) => this.key(event), { capture: true, signal: mine.signal });
    return mine;
  }

  part(name, holds, draw) {
    const now = JSON.stringify(holds);
    if (this.drawn[name] === now) return;
    this.drawn[name] = now;
    draw();
  }
}

// Scroll a list to a row; scrollIntoView would move the page, too.
function keepInSight(row, list) {
  const around = list.getBoundingClientRect();
  const box = row.getBoundingClientRect();
  if (box.top < around.top) list.scrollTop -= around.top - box.top + 8;
  if (box.bottom > around.bottom) list.scrollTop += box.bottom - around.bottom + 8;
}

// Scroll the page to a part whose beginning is out of sight.
function showFrom(part) {
  const top = part.getBoundingClientRect().top;
  if (top < 60 || top > window.innerHeight - 200) part.scrollIntoView({ block: "start" });
}
