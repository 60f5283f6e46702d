// Navigation through the contested places, and its keys. The next place is chosen before the server answers, so that
// a digit decides the place that was chosen when it was pressed.

// Streamlit's own field next to the component: a decision without a reason is refused.
const REASON = '[class*="st-key-reason-"] input';

KINDS.decisions = class extends Desk {
  outlasts = true;

  hear(data) {
    if (!this.waiting.some((one) => one.do === "open")) this.chosen = data.chosen;
    // Once all actions are taken, the place has moved on, or the decision was refused.
    if (!this.decided || this.waiting.length) return;
    if (same(this.decided, data.chosen)) this.decided = null;
    else this.moveFocus();
  }

  get at() {
    return this.data.places.findIndex((one) => same(one, this.chosen));
  }

  view({ places, first, total }) {
    const step = (by, words, sign, key) => h("button", { title: `${words} pair (${sign})`, "aria-keyshortcuts": key,
      disabled: !places[this.at + by], onclick: () => this.walk(by) }, words);
    return h("div.steps",
      quiet(`${count(first + this.at + 1)} of ${count(total)}`),
      step(-1, "Previous", "←", "ArrowLeft"),
      step(1, "Next", "→", "ArrowRight"));
  }

  walk(by) {
    this.update({ chosen: this.data.places[this.at + by] });
    this.act("open", { home: this.data.home, place: this.chosen });
  }

  // The focused button may be gone with the decided place. So the next Tab leads to the reason of the next place, which
  // is there after at most so many animation frames.
  moveFocus(frames = 1200) {
    this.decided = null;
    if (document.activeElement?.closest(`input, textarea, [role=dialog], ${STREAMLIT.popoverBody}`)) return;
    const reason = document.querySelector(STREAMLIT.idle)
      && document.querySelector(REASON)?.closest(STREAMLIT.textInput);
    if (!reason) return frames && requestAnimationFrame(() => this.moveFocus(frames - 1));
    reason.tabIndex = -1;
    reason.focus({ preventScroll: true });
  }

  key(event) {
    const { home, decides, judged, rated } = this.data;
    const value = decides && (this.chosen[2] === null ? judged : rated).find((one) => String(one) === event.key);
    if (typeof value !== "number" || event.altKey || event.ctrlKey || event.metaKey) return super.key(event);
    if (event.repeat || behindDialog() || isUsed(event)) return;
    swallow(event);
    const reason = document.querySelector(REASON);
    // Until the next place is drawn, the field belongs to the former one.
    const lacks = reason && !reason.value.trim() && same(this.chosen, this.data.chosen);
    // The server refuses a decision without a reason, with a message. Meanwhile the field for it gets the focus.
    if (lacks) reason.focus();
    else this.decided = this.chosen;
    this.act("decide", { home, place: this.chosen, value, over: this.data.decided[this.at] ?? null });
  }
};
