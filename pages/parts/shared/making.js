// What the parts of the review screens are made with: nodes of texts, chips of ratings, acts that reach the server.

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

// A value as a chip of the one scale of ratings; a judgment may be beyond it.
function chip(value, title = "") {
  const missing = value === null || value === undefined;
  const level = missing ? "none" : Math.min(5, Math.max(0, value));
  return make("span", { class: `chip r${level}`, title }, missing ? "–" : String(value));
}

let lastAct = 0;

// What somebody does is sent again until the server has taken it, as it drops what comes while it is at work.
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

// The acts of a project, which outlast the part when one looks at another screen.
function actsOf(home) {
  if (!outlasting.has(home)) outlasting.set(home, new Acts());
  return outlasting.get(home);
}

const TYPING = "input, textarea, select, [contenteditable], [role=textbox], [role=combobox]";

// Whether a key is one for the screen: not where something is typed, nor behind a dialog.
function forScreen(event, elsewhere = "") {
  if (event.altKey || event.ctrlKey || event.metaKey || event.repeat || document.querySelector("[role=dialog]")) return false;
  const others = elsewhere ? `${TYPING}, ${elsewhere}` : TYPING;
  return !event.composedPath().some((one) => one instanceof Element && one.matches(others));
}

// Nothing else hears of a key, such as the button that has it as shortcut.
function swallow(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

// A link that leads on within the page; another tab or window is the browser's business.
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
