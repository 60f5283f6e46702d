// Corrections of the whole page: its address, its links and popovers, cookies, and redraws for other people's changes.

// The address of the page without a step in the browser's history; Streamlit's own writes add one. With `missing`,
// only parameters that the address lacks are added.
KINDS.address = class extends Part {
  hear({ values, missing }) {
    const here = new URL(window.location.href);
    for (const [name, value] of Object.entries(values)) {
      if (missing && here.searchParams.has(name)) continue;
      if (value) here.searchParams.set(name, value);
      else here.searchParams.delete(name);
    }
    window.history.replaceState(window.history.state, "", here);
  }
};

// Sets a cookie, or removes it if its value is empty. Browsers keep one for about 400 days at most. A window writes a
// new value once: writing it in every run would overwrite later choices of other windows.
KINDS.cookie = class extends Part {
  hear({ cookie, value, lasts = 34560000 }) {
    if (value === null || value === this.written) return;
    this.written = value;
    const secure = location.protocol === "https:" ? "; secure" : "";
    const age = value ? lasts : 0;
    const until = age === null ? "" : `; max-age=${age}`;
    document.cookie = `${cookie}=${encodeURIComponent(value)}; path=/${until}; samesite=lax${secure}`;
  }
};

// Links and popovers

const REACHED = 'input, textarea, select, button, a[href], [tabindex="0"]';
// Largest number of animation frames to wait for a popover.
const POPOVER_FRAMES = 60;

KINDS.frame = class extends Part {
  hear() {
    if (window.examFramed) return;
    window.examFramed = true;
    for (const kind of ["pointerover", "pointerdown", "focusin"]) document.addEventListener(kind, leadHome, true);
    for (const hear of [follow, opened]) document.addEventListener("click", hear, true);
    for (const hear of [walked, remember]) document.addEventListener("keydown", hear, true);
    setInterval(refocus, FOCUS_CHECKS);
    setInterval(nameRun, 1000);
    watchTyping();
  }
};

// If a run or a closed dialog removes the focused element, the focus goes to the nearest part of the screen that is
// left, otherwise to the element that had the focus before. So the next Tab goes on from there.
const FOCUS_CHECKS = 150;
const SCREEN = `${STREAMLIT.mainBlockContainer}, ${STREAMLIT.sidebar}`;
let trail = []; // The element that had the focus, and all around it.
let earlier = []; // Elements that had it before.

const around = (node) => (node ? [node, ...around(node.parentElement ?? node.getRootNode().host)] : []);

function remember() {
  const now = focused();
  if (now === trail[0] || now === document.body) return;
  earlier = [...earlier, trail[0]].filter((node) => node?.isConnected).slice(-9);
  trail = around(now);
}

function refocus() {
  remember();
  if (focused() !== document.body || !trail.length || trail[0].isConnected || !document.querySelector(STREAMLIT.idle))
    return;
  const left = trail.find((node) => node.isConnected && trail.some((outer) => outer.matches(SCREEN)));
  const before = earlier.findLast((node) => node.isConnected);
  trail = [];
  if (!left) return before?.focus({ preventScroll: true });
  left.tabIndex = -1;
  left.style.outline = "none";
  left.focus({ preventScroll: true });
}

// The browser's title names a long run, because the person may look at another tab meanwhile.
const SIGN = "Working… · ";
let seconds = 0;

function nameRun() {
  seconds = document.querySelector(STREAMLIT.running) ? seconds + 1 : 0;
  const plain = document.title.replace(SIGN, "");
  document.title = seconds > 2 ? SIGN + plain : plain;
}

// The first screen has an empty address. So Streamlit's link to it would open the present screen in a new tab. The
// link is corrected when a person is about to use it, since it is redrawn whenever its parameters change.
function leadHome({ target }) {
  const found = target.closest?.(`${STREAMLIT.pageLink}[href^="?"]`);
  if (found) found.setAttribute("href", "./" + found.getAttribute("href"));
}

// Streamlit sends typed text with a delay, but follows a link at once. If a person leaves a field by tapping a link,
// the late text would lead back to the former screen, which it names.
let led = null;

function follow(event) {
  const found = event.target.closest?.(STREAMLIT.pageLink);
  if (!found || found === led || withModifier(event)) return;
  swallow(event);
  setTimeout(() => {
    // If the link was redrawn meanwhile, the new one is used: the old one would reload the page.
    const href = CSS.escape(found.getAttribute("href"));
    led = found.isConnected ? found : document.querySelector(`${STREAMLIT.pageLink}[href="${href}"]`);
    led?.click();
    led = null;
  });
}

// A popover is at the end of the page, so Tab would reach it last. This moves the focus into it.
function enter(frames) {
  const inside = document.querySelectorAll(`${STREAMLIT.popoverBody} :is(${REACHED})`);
  const first = [...inside].find((node) => !node.disabled && node.offsetParent);
  if (first) first.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => enter(frames - 1));
  return Boolean(first);
}

const opener = (target) => target.closest?.(`${STREAMLIT.popover} button`);

function opened({ target, detail }) {
  // A click by keyboard has detail 0. If the popover is open already, the click closes it.
  if (detail === 0 && opener(target) && !document.querySelector(STREAMLIT.popoverBody)) enter(POPOVER_FRAMES);
}

function walked(event) {
  // If the key that opened it is held a moment longer, it must not press a button inside.
  if (event.key === "Enter" && event.repeat && event.target.closest?.(STREAMLIT.popoverBody)) event.preventDefault();
  const on = event.key === "ArrowDown" || (event.key === "Tab" && !event.shiftKey);
  if (on && opener(event.target) && enter(0)) event.preventDefault();
}

// Redraws the screen when other people have saved changes, as soon as that does not disturb the person.

// Milliseconds between two checks of whether a redraw would disturb, and at least between two automatic redraws.
const LOOKS = 1500;
const RESTS = 30000;
// The pause after a redraw is this many times its duration, so that redraws stay a small share of the work.
const RESTS_PER_REDRAW = 100;

// Fields with typed text that the server does not have yet.
const typed = (window.examTyped ??= new Set());
// The latest message of the server, and the function that sends it a message.
const heard = (window.examNews ??= { news: 0, send: null, asked: 0, redrawn: 0, rests: RESTS });

KINDS.news = class extends Part {
  show({ news }, tell) {
    Object.assign(heard, { news, send: tell });
    if (heard.asked && !news) {
      heard.rests = Math.max(RESTS, RESTS_PER_REDRAW * (Date.now() - heard.asked));
      heard.asked = 0;
    }
    look();
  }

  leave() {
    heard.send = null;
  }
};

// Streamlit sends a single field when it loses focus. A form sends its fields on submission, and a component when it
// decides to. Those fields block a redraw until they are empty or gone.
const toldAtOnce = (node) => node.getRootNode() === document
  && !node.closest(`${STREAMLIT.form}, ${STREAMLIT.component}`);

function watchTyping() {
  const written = (node) => node.matches(":read-write") && typed.add(node);
  document.addEventListener("input", (event) => written(event.composedPath()[0]), true);
  document.addEventListener("change", ({ target }) => toldAtOnce(target) && typed.delete(target), true);
  const submitted = ({ target }) => {
    const form = target.closest?.(STREAMLIT.formSubmit)?.closest(STREAMLIT.form);
    for (const node of typed) if (form?.contains(node)) typed.delete(node);
  };
  document.addEventListener("click", submitted, true);
  // A person who turns to the window is looking at it now.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    heard.redrawn = 0;
    heard.send?.("looked", Date.now());
  });
  setInterval(look, LOOKS);
}

function look() {
  if (!heard.send || !heard.news || disturbs() || Date.now() - heard.redrawn < heard.rests) return;
  heard.redrawn = heard.asked = Date.now();
  heard.send("redraw", heard.news);
}

function disturbs() {
  for (const node of typed) if (!node.isConnected || !(node.value ?? node.textContent)) typed.delete(node);
  const open = document.querySelector(`[role="dialog"], [role="listbox"], ${STREAMLIT.popoverBody}`);
  const writes = typed.size > 0 || focused()?.matches(":read-write");
  return document.hidden || writes || open || getSelection()?.isCollapsed === false;
}
