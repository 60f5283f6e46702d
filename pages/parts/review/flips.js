// The labels that differ between two states: counts by cause and by query, and the labels themselves.

export default (given) => showIn(Flips, given);

class Flips {
  constructor(parent) {
    this.acts = new Acts();
    this.facets = make("section", { class: "facets", "aria-label": "Numbers of labels" });
    this.list = make("section", { class: "list", "aria-label": "Labels" });
    parent.append(make("div", { class: "flips" }, this.facets, this.list));
  }

  show(data, send) {
    this.acts.taken(data.taken, send);
    this.data = data;
    const held = this.held(this.facets) || this.held(this.list);
    this.facets.replaceChildren(
      this.facet("By cause", "cause", data.causes),
      this.facet("By query", "query", data.queries),
    );
    this.list.replaceChildren(this.head(), ...data.rows.map((row) => this.row(row)), ...this.pages());
    if (held) this.list.parentElement.querySelector(`[data-held="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
    this.acts.again();
  }

  // The focused element, which gets the focus back after a redraw.
  held(part) {
    return part.getRootNode().activeElement?.dataset?.held;
  }

  facet(title, what, found) {
    const most = Math.max(1, ...found.map((one) => one.count));
    const items = found.map((one) =>
      make(
        "li",
        {},
        make(
          "button",
          {
            type: "button",
            class: "bar-of",
            "data-held": `${what} ${one.name}`,
            "aria-pressed": String(one.chosen),
            title: one.chosen ? "Show all labels" : "Show only these labels",
            style: { "--share": one.count / most },
            onclick: () => this.acts.add(what, { name: one.chosen ? "" : one.name }),
          },
          make("span", { class: "name", dir: "auto" }, one.title),
          make("span", { class: "count" }, one.count.toLocaleString("en")),
        ),
      ),
    );
    return make("div", {}, make("h2", {}, title), make("ul", { class: "bars" }, ...items));
  }

  head() {
    const chosen = [...this.data.causes.map((one) => ["cause", one]), ...this.data.queries.map((one) => ["query", one])];
    const filters = chosen
      .filter(([, one]) => one.chosen)
      .map(([what, one]) =>
        make(
          "button",
          {
            type: "button",
            class: "filter",
            "aria-label": `Clear filter: ${one.title}`,
            onclick: () => this.acts.add(what, { name: "" }),
          },
          make("span", { dir: "auto" }, one.title),
          make("span", { "aria-hidden": "true" }, "✕"),
        ),
      );
    return make("div", { class: "total" }, make("b", {}, this.data.count), ...filters);
  }

  row(row) {
    const name = `${row.query} ${row.passage}`;
    const said = [
      make("div", { class: "text", dir: "auto" }, link(row.text, row.href, () => this.acts.add("read", row.place))),
      make("div", { class: "quiet", dir: "auto" }, row.query),
      make("div", { class: "cause" }, make("b", {}, row.causes), row.waiting ? make("span", { class: "quiet" }, ` ${row.waiting}`) : null),
      ...row.questions.map((text) => make("div", { class: "question", dir: "auto" }, text)),
    ];
    if (row.why) said.push(this.why(row.why));
    return make(
      "article",
      { class: "flip" },
      make("div", { class: "moved" }, chip(row.before, "before"), make("span", { "aria-label": "changed to" }, "→"), row.bound, chip(row.after, "after")),
      make("div", { class: "said" }, ...said),
      make(
        "button",
        {
          type: "button",
          "data-held": `why ${name}`,
          "aria-expanded": String(Boolean(row.why)),
          onclick: () => this.acts.add("why", { ...row.place, open: !row.why }),
        },
        row.why ? "Close" : "Why?",
      ),
    );
  }

  why(rows) {
    const body = rows.map((one) =>
      make(
        "tr",
        { class: one.did ? "did" : "" },
        make("td", { dir: "auto" }, one.text),
        make("td", {}, chip(one.before)),
        make("td", {}, chip(one.after)),
        make("td", { class: "quiet" }, one.said),
      ),
    );
    const head = ["Question", "Before", "After", ""].map((words) => make("th", { scope: "col" }, words));
    return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  }

  pages() {
    const { page, pages } = this.data;
    if (pages < 2) return [];
    const turn = (words, to) =>
      make(
        "button",
        { type: "button", disabled: to < 1 || to > pages, "data-held": words, onclick: () => this.acts.add("page", { to }) },
        words,
      );
    const where = make("span", { class: "quiet" }, `Page ${page} of ${pages}`);
    return [make("nav", { "aria-label": "Pages" }, turn("‹ Previous", page - 1), where, turn("Next ›", page + 1))];
  }
}
