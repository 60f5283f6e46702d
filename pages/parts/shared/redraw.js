// Draws the screen again when others have saved something, as soon as that takes nothing from whoever sits before it.

// Milliseconds between two looks whether it would disturb, and between two redraws of their own accord at least.
const LOOKS = 1500;
const RESTS = 30000;
// So many times as long as a redraw took nothing is redrawn after it: with many at work, redraws must not be the work.
const TIMES = 100;

// Fields in which somebody typed what the server has not been told yet.
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

// A field alone tells the server when it is left. One of a form does so with the form, one of a part of our own when
// that says so: they are waited for until they are empty, or gone.
function toldAtOnce(node) {
  return node.getRootNode() === document && !node.closest('[data-testid="stForm"], [data-testid*="BidiComponent"]');
}

// What the server said last, and the way to tell it something.
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
  // Whoever turns to the window looks at it now.
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
