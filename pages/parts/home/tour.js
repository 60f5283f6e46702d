// The tour: a greeting with three steps, then a card that stays in sight and points at the element of each step.

// Also inside components, whose elements are in shadow roots.
const all = (selector, root = document) => [
  ...root.querySelectorAll(selector),
  ...[...root.querySelectorAll("*")].flatMap((one) => (one.shadowRoot ? all(selector, one.shadowRoot) : [])),
];

const pointedAt = ({ points_at: kind, words }) =>
  kind === "field"
    ? all("textarea, input").find((one) => one.value.startsWith(words))
    : all("main button, section button, button").find((one) =>
        (one.getAttribute("aria-label") || one.textContent).trim().startsWith(words));

KINDS.tour = class extends Part {
  hear(data) {
    this.leave();
    if (data.mode !== "stop") return;
    setCookie(data.stop_cookie, String(data.number - 1), null);
    this.looking = setInterval(() => this.point(pointedAt(data)), 400);
  }

  // Mark an element, also if it was redrawn; scroll to it once.
  point(found) {
    if (found === this.pointed && found?.style.outline) return;
    if (this.pointed) this.pointed.style.outline = "";
    this.pointed = found;
    if (!found) return;
    found.style.outline = "3px solid var(--st-primary-color, #2f6399)";
    found.style.outlineOffset = "3px";
    if (!this.seen) found.scrollIntoView({ block: "center" });
    this.seen = true;
  }

  leave() {
    clearInterval(this.looking);
    if (this.pointed) this.pointed.style.outline = this.pointed.style.outlineOffset = "";
    this.seen = this.pointed = null;
  }

  end() {
    setCookie(this.data.cookie, "1");
    setCookie(this.data.stop_cookie, "");
    this.leave();
    this.tell("end", true);
  }

  view({ mode, why, stops, number, of, title, todo }) {
    const go = (stop) => () => this.tell("stop", stop);
    const skip = (words, kind) => h("button", { class: kind, onclick: () => this.end() }, words);
    if (mode === "about") {
      const again = h("button.link", { onclick: () => this.tell("again", true) }, "Take the tour");
      return h("div.tour.about", h("p.soft", why, " ", again));
    }
    if (mode === "greeting") {
      return h("div.tour.greeting",
        h("h2", "Welcome. Three steps to know the app"),
        h("ol", stops.map((stop, place) => h("li", h("button.link", { onclick: go(place) }, stop.title),
          stop.done && h("span.soft", " done")))),
        h("p.soft", why),
        h("div.buttons", h("button.primary", { onclick: go(0) }, "Start the tour"), skip("Skip the tour", "")));
    }
    return h("div.tour.stop", { role: "region", "aria-label": "Tour" },
      h("div.soft", `Tour, step ${number} of ${of}`), h("h2", title), h("p", todo),
      h("div.buttons", number === of
        ? skip("Done", "primary")
        : [h("button.primary", { onclick: go(number) }, "Next"), skip("End the tour", "end")]));
  }
};
