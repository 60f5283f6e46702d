// Marks the element of a step of the tour.

// Also inside components, whose elements are in shadow roots.
const all = (selector) => [document, ...[...document.querySelectorAll("*")].map((one) => one.shadowRoot)]
  .flatMap((root) => (root ? [...root.querySelectorAll(selector)] : []));

const nameOfElement = (one) => one.value || one.getAttribute("aria-label") || one.textContent.trim();
const pointedAt = ([kind, words]) =>
  all(kind === "field" ? "textarea, input" : "button").find((one) => nameOfElement(one).startsWith(words));

KINDS.tour = class extends Part {
  hear(data) {
    this.leave();
    this.seen = false;
    this.looking = setInterval(() => this.point(pointedAt(data.points_at)), 400);
  }

  // Mark an element, also if it was redrawn; scroll to it once.
  point(found) {
    if (this.pointed) this.pointed.style.outline = "";
    this.pointed = found;
    if (!found) return;
    found.style.outline = "3px solid var(--st-primary-color, #2f6399)";
    if (!this.seen) found.scrollIntoView({ block: "center" });
    this.seen = true;
  }

  leave() {
    clearInterval(this.looking);
    this.point(null);
  }
};
