// Correlations: a row per way to evaluate, a column per measure; a cell opens its two leaderboards.

KINDS.agreements = class extends Part {
  hear(data) {
    this.settle(data.open);
    this.detail = data.detail ?? this.detail;
  }

  pick(place) {
    this.opened = this.wanted = String(place) === String(this.opened) ? null : place;
    this.detail = null;
    this.tell("pick", this.opened ?? []);
    this.redraw();
  }

  view({ table: { heads, rows, fixed: columns, heat } }) {
    const signs = heads.map((head) => head.signs.map((sign, place) =>
      column(sign.sign, { class: place ? "" : "begins", title: `${sign.name} of ${head.title}` })));
    const sized = (scroll) => new ResizeObserver(() =>
      scroll.parentNode.classList.toggle("wider", scroll.scrollWidth > scroll.clientWidth + 1)).observe(scroll);
    return h("div.root",
      h("p.quiet.beyond", "Scroll for more columns →"),
      h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Correlations", made: sized },
        h("table.agreements", { class: heat ? "heat" : "" },
          h("caption.unseen", "Rank correlations with the official leaderboard"),
          h("thead",
            h("tr", column("Method", { class: "method", rowspan: 2 }),
              columns.map((one) => column(one.title, { class: "fixed", rowspan: 2, title: one.help })),
              heads.map((head) => column(head.title, { class: "begins measure", scope: "colgroup",
                colspan: head.signs.length, title: head.help }))),
            h("tr", signs)),
          h("tbody", rows.map((row, place) => this.rows(row, place))))));
  }

  rows(row, place) {
    const open = this.opened?.[0] === place;
    const shown = open && this.detail && String(this.detail.place) === String(this.opened);
    return [
      h("tr", { key: place },
        h("th.method", { scope: "row", title: row.name }, row.name),
        this.data.table.fixed.map((column) => h("td.fixed", row.fixed[column.title])),
        row.cells.map((cells, measure) => cells.map((cell, name) => this.cell([place, measure], name, cell)))),
      open && h("tr.inside", { key: `inside ${place}` }, h("td", { colspan: 999 }, shown
        ? this.behind(this.detail)
        : h("div.detail", { role: "status", key: "wait" }, h("p.quiet", "Comparing the two leaderboards…")))),
    ];
  }

  cell(place, name, cell) {
    const open = String(this.opened) === String(place);
    const kind = `${cell.mark} ${name ? "" : "begins"} ${open ? "open" : ""} ${cell.value < 0 ? "negative" : ""}`;
    return h("td.cell", { class: kind, style: { "--size": `${Math.round(55 * cell.value ** 2)}%` } },
      h("button", { "data-cell": [...place, name].join("."), "aria-expanded": String(open),
        title: `${cell.coefficient}: ${cell.why || fixed(cell.value, 3)}`, onclick: () => this.pick(place) },
        cell.said.replace(/^(-?)0\./, "$1."), cell.interval && h("span.interval", cell.interval)));
  }

  behind(detail) {
    const board = (node) => new KINDS.leaderboard(node).show({ board: detail.board, open: "", sorted: "" }, () => {});
    return h("div.detail", { key: String(detail.place) },
      h("p", h("strong", detail.title)),
      detail.undefined
        ? h("p", `Undefined: ${detail.undefined}`)
        : h("div.facts", detail.facts.map((one) => h("div.fact", quiet(one.name), h("strong", one.value),
          one.more && quiet(one.more)))),
      h("p.quiet", detail.says),
      detail.href && h("p.links", link("Show both leaderboards", detail.href, goTo)),
      detail.board && h("div", { memo: true, made: board }));
  }
};
