// Navigation through the contested places, and its keys. The next place is chosen before the server answers, so that
// a digit decides the place that was chosen when it was pressed.

const ways = new WeakMap();
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
// Here an arrow key moves between options.
const CHOICES = "[role=radiogroup]";
// Streamlit's own field next to the component: a decision without a reason is refused.
const REASON = '[class*="st-key-reason-"] input';
const AT_REST = '[data-testid=stApp][data-test-script-state=notRunning]';
// Largest number of animation frames to wait for the next place.
const FRAMES = 1200;

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

class Way {
  constructor(parent) {
    this.where = make("span", { class: "quiet" });
    const step = (words, title, key) =>
      make("button", { type: "button", title, "aria-keyshortcuts": key, onclick: () => this.walk(STEPS[key]) }, words);
    this.previous = step("Previous", "Previous pair (←)", "ArrowLeft");
    this.next = step("Next", "Next pair (→)", "ArrowRight");
    parent.append(make("div", { class: "steps" }, this.where, this.previous, this.next));
  }

  show(data, send) {
    this.data = data;
    this.acts = actsOf(data.home);
    this.acts.taken(data.taken, send);
    if (!this.acts.waiting.some((one) => one.do === "open")) this.chosen = data.chosen;
    // Once all actions are taken, the place has moved on, or the decision was refused.
    if (this.decided && !this.acts.waiting.length) {
      if (same(this.decided, data.chosen)) this.decided = null;
      else this.stand();
    }
    this.draw();
    this.acts.again();
  }

  draw() {
    const { places, first, total } = this.data;
    const at = this.at();
    this.where.textContent = `${(first + at + 1).toLocaleString("en")} of ${total.toLocaleString("en")}`;
    this.previous.disabled = !places[at - 1];
    this.next.disabled = !places[at + 1];
  }

  at() {
    return this.data.places.findIndex((one) => same(one, this.chosen));
  }

  walk(step) {
    const to = this.data.places[this.at() + step];
    if (!to) return;
    this.chosen = to;
    this.draw();
    this.acts.add("open", { home: this.data.home, place: to });
  }

  // The focused button may have been removed with the decided place. So the next Tab leads to the reason of the next
  // place.
  stand(frames = FRAMES) {
    this.decided = null;
    if (document.activeElement?.closest('input, textarea, [role="dialog"], [data-testid="stPopoverBody"]')) return;
    const reason = document.querySelector(AT_REST) && document.querySelector(REASON)?.closest('[data-testid="stTextInput"]');
    if (!reason) {
      if (frames) requestAnimationFrame(() => this.stand(frames - 1));
      return;
    }
    reason.tabIndex = -1;
    reason.focus({ preventScroll: true });
  }

  key(event) {
    const { home, decides, judged, rated } = this.data;
    const value = decides && (this.chosen[2] === null ? judged : rated).find((one) => String(one) === event.key);
    const step = STEPS[event.key];
    if ((!step && typeof value !== "number") || !forScreen(event, step ? CHOICES : "")) return;
    swallow(event);
    if (step) return this.walk(step);
    const reason = document.querySelector(REASON);
    // Until the next place is drawn, the field belongs to the former one.
    const lacks = reason && !reason.value.trim() && same(this.chosen, this.data.chosen);
    // A decision without a reason is refused by the server with a message. Meanwhile the field for the reason gets
    // the focus.
    if (lacks) reason.focus();
    else this.decided = this.chosen;
    this.acts.add("decide", { home, place: this.chosen, value, over: this.data.decided[this.at()] ?? null });
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  let way = ways.get(parentElement);
  if (!way) ways.set(parentElement, (way = new Way(parentElement)));
  way.show(data, setTriggerValue);

  const mine = new AbortController();
  window.addEventListener("keydown", (event) => way.key(event), { capture: true, signal: mine.signal });
  way.listening?.abort();
  way.listening = mine;
  return () => mine.abort();
}
