// The labels that differ between two states: counts by cause and by query, and the labels themselves.

KINDS.flips = class extends Desk {
  view(data) {
    const chosen = (what, found) => found.filter((one) => one.chosen).map((one) =>
      filter(one.title, () => this.act(what, { name: "" }), what));
    return h("div.flips",
      h("section.facets", { "aria-label": "Numbers of labels" },
        this.facet("By cause", "cause", data.causes), this.facet("By query", "query", data.queries)),
      h("section.labels", { "aria-label": "Labels" },
        h("div.total", h("b", data.count), chosen("cause", data.causes), chosen("query", data.queries)),
        data.rows.map((row) => this.row(row)),
        data.pages > 1 && this.pages(data)));
  }

  facet(title, what, found) {
    const most = Math.max(1, ...found.map((one) => one.count));
    return h("div", h("h2", title), h("ul.bars", found.map((one) => h("li", { key: one.name },
      h("button.bar-of", { "aria-pressed": String(one.chosen), style: { "--share": one.count / most },
        title: one.chosen ? "Show all labels" : "Show only these labels",
        onclick: () => this.act(what, { name: one.chosen ? "" : one.name }) },
        h("span.name", { dir: "auto" }, one.title), h("span.count", count(one.count)))))));
  }

  row(row) {
    const open = Boolean(row.why);
    return h("article.flip", { key: JSON.stringify(row.place) },
      h("div.moved", chip(row.before, "before"), h("span", { "aria-label": "changed to" }, "→"), row.bound,
        chip(row.after, "after")),
      h("div.said",
        h("div.text", { dir: "auto" }, link(row.text, row.href, () => this.act("read", row.place))),
        h("div.quiet", { dir: "auto" }, row.query),
        h("div.cause", h("b", row.causes), row.waiting && quiet(` ${row.waiting}`)),
        row.questions.map((text) => h("div.question", { dir: "auto" }, text)),
        open && this.why(row.why)),
      h("button", { "aria-expanded": String(open), onclick: () => this.act("why", { ...row.place, open: !open }) },
        open ? "Close" : "Why?"));
  }

  why(rows) {
    return h("table",
      h("thead", h("tr", ["Question", "Before", "After", ""].map((words) => column(words)))),
      h("tbody", rows.map((one) => h("tr", { class: one.did ? "did" : "" },
        h("td", { dir: "auto" }, one.text), h("td", chip(one.before)), h("td", chip(one.after)),
          h("td.quiet", one.said)))));
  }

  pages({ page, pages }) {
    const turn = (words, to) => h("button", { disabled: to < 1 || to > pages, onclick: () => this.act("page", { to }) },
      words);
    return h("nav", { "aria-label": "Pages" }, turn("‹ Previous", page - 1), quiet(`Page ${page} of ${pages}`),
      turn("Next ›", page + 1));
  }
};
