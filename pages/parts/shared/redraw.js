// Redraws the screen when other people have saved changes, as soon as that does not disturb the person.

// Milliseconds between two checks of whether a redraw would disturb, and at least between two automatic redraws.
const LOOKS = 1500;
const RESTS = 30000;
// The pause after a redraw is this many times its duration, so that redraws stay a small share of the work.
const TIMES = 100;

// Fields with typed text that the server does not have yet.
const typed = (window.examTyped ??= new Set());

function writes(node) {
  if (node?.isContentEditable || node?.tagName === "TEXTAREA") return true;
  return node?.tagName === "INPUT" && !/^(checkbox|radio|button|submit|range|file)$/.test(node.type);
}

function focused() {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}

// Streamlit sends a single field when it loses focus. A form sends its fields on submission, and a component when it
// decides to. Those fields block a redraw until they are empty or gone.
function toldAtOnce(node) {
  return node.getRootNode() === document && !node.closest('[data-testid="stForm"], [data-testid*="BidiComponent"]');
}

// The latest message of the server, and the function that sends it a message.
const heard = (window.examNews ??= { news: 0, send: null, asked: 0, rests: RESTS });

function listen() {
  if (window.examListens) return;
  window.examListens = true;
  const written = (event) => writes(event.composedPath()[0]) && typed.add(event.composedPath()[0]);
  document.addEventListener("input", written, true);
  document.addEventListener("change", ({ target }) => toldAtOnce(target) && typed.delete(target), true);
  document.addEventListener(
    "click",
    ({ target }) => {
      const form = target.closest?.('[data-testid="stFormSubmitButton"]')?.closest('[data-testid="stForm"]');
      if (form) for (const node of typed) if (form.contains(node)) typed.delete(node);
    },
    true,
  );
  // A person who turns to the window is looking at it now.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    window.examRedrawn = 0;
    heard.send?.("looked", Date.now());
  });
  setInterval(look, LOOKS);
}

function look() {
  if (!heard.send || !heard.news || disturbs() || Date.now() - (window.examRedrawn ?? 0) < heard.rests) return;
  window.examRedrawn = heard.asked = Date.now();
  heard.send("redraw", heard.news);
}

function disturbs() {
  for (const node of typed) if (!node.isConnected || !(node.value ?? node.textContent)) typed.delete(node);
  return (
    document.hidden ||
    typed.size > 0 ||
    writes(focused()) ||
    !(getSelection()?.isCollapsed ?? true) ||
    document.querySelector('[role="dialog"], [role="listbox"], [data-testid="stPopoverBody"]') !== null
  );
}

export default function ({ data, setTriggerValue }) {
  heard.news = data.news;
  heard.send = setTriggerValue;
  if (heard.asked && !heard.news) {
    heard.rests = Math.max(RESTS, TIMES * (Date.now() - heard.asked));
    heard.asked = 0;
  }
  listen();
  look();
  return () => {
    heard.send = null;
  };
}
