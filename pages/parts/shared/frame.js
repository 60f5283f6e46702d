// What Streamlit's links and popovers lack, mended once for the whole page.

const POPOVER = '[data-testid="stPopover"]';
const INSIDE = '[data-testid="stPopoverBody"]';
const REACHED = 'input, textarea, select, button, a[href], [tabindex="0"]';
// So many redraws of the page a popover may take until it is there.
const FRAMES = 60;

// The address of the first screen is empty, so that Streamlit's link to it from another screen is the other screen's own
// in a new tab. It is put right when somebody comes near it, as it is drawn anew whenever what it takes along changes.
function leadHome({ target }) {
  const link = target.closest?.('a[data-testid^="stPageLink"][href^="?"]');
  if (link) link.setAttribute("href", "./" + link.getAttribute("href"));
}

// What was typed is sent in a moment, the way to another screen at once. Who leaves a box by following a link in the same
// moment, as with a finger, would be led back by what was typed, which still speaks of the screen it was typed on.
let led = null;

function follow(event) {
  const link = event.target.closest?.('a[data-testid^="stPageLink"]');
  if (!link || link === led || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  setTimeout(() => {
    // Where it was drawn anew meanwhile, the new one leads there: the old one would load the page anew.
    led = link.isConnected ? link : document.querySelector(`a[data-testid^="stPageLink"][href="${CSS.escape(link.getAttribute("href"))}"]`);
    led?.click();
    led = null;
  });
}

// A popover stands at the end of the page, behind all that follows its button: the keys would get there last.
function enter(frames) {
  const inside = document.querySelector(INSIDE);
  const first = [...(inside?.querySelectorAll(REACHED) ?? [])].find((node) => !node.disabled && node.offsetParent);
  if (first) first.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => enter(frames - 1));
  return Boolean(first);
}

function opened({ target, detail }) {
  // A press by a key has no clicks to count. Where the popover is there already, the press closes it.
  if (detail === 0 && target.closest?.(`${POPOVER} button`) && !document.querySelector(INSIDE)) enter(FRAMES);
}

function walked(event) {
  // The key that opened it, held a moment longer, is not to press what stands in it.
  if (event.key === "Enter" && event.repeat && event.target.closest?.(INSIDE)) event.preventDefault();
  const on = event.key === "ArrowDown" || (event.key === "Tab" && !event.shiftKey);
  if (on && event.target.closest?.(`${POPOVER} button`) && enter(0)) event.preventDefault();
}

export default function () {
  if (window.examFramed) return;
  window.examFramed = true;
  for (const kind of ["pointerover", "pointerdown", "focusin"]) document.addEventListener(kind, leadHome, true);
  document.addEventListener("click", follow, true);
  document.addEventListener("click", opened, true);
  document.addEventListener("keydown", walked, true);
}
