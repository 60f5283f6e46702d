// Corrections of Streamlit's links and popovers, for the whole page.

const POPOVER = '[data-testid="stPopover"]';
const INSIDE = '[data-testid="stPopoverBody"]';
const REACHED = 'input, textarea, select, button, a[href], [tabindex="0"]';
// Largest number of animation frames to wait for a popover.
const FRAMES = 60;

// The first screen has an empty address. So Streamlit's link to it would open the present screen in a new tab. The
// link is corrected when a person is about to use it, since it is redrawn whenever its parameters change.
function leadHome({ target }) {
  const link = target.closest?.('a[data-testid^="stPageLink"][href^="?"]');
  if (link) link.setAttribute("href", "./" + link.getAttribute("href"));
}

// Streamlit sends typed text with a delay, but follows a link at once. If a person leaves a field by tapping a link,
// the late text would lead back to the former screen, which it names.
let led = null;

function follow(event) {
  const link = event.target.closest?.('a[data-testid^="stPageLink"]');
  if (!link || link === led || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  setTimeout(() => {
    // If the link was redrawn meanwhile, the new one is used: the old one would reload the page.
    led = link.isConnected ? link : document.querySelector(`a[data-testid^="stPageLink"][href="${CSS.escape(link.getAttribute("href"))}"]`);
    led?.click();
    led = null;
  });
}

// A popover is at the end of the page, so Tab would reach it last. This moves the focus into it.
function enter(frames) {
  const inside = document.querySelector(INSIDE);
  const first = [...(inside?.querySelectorAll(REACHED) ?? [])].find((node) => !node.disabled && node.offsetParent);
  if (first) first.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => enter(frames - 1));
  return Boolean(first);
}

function opened({ target, detail }) {
  // A click by keyboard has detail 0. If the popover is open already, the click closes it.
  if (detail === 0 && target.closest?.(`${POPOVER} button`) && !document.querySelector(INSIDE)) enter(FRAMES);
}

function walked(event) {
  // If the key that opened it is held a moment longer, it must not press a button inside.
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
