// The table of LLM-retEval: a block of runs for every depth. A cell opens its queries below the table.

const COLUMNS = ["Score", "Query", "Answer from the top k passages", "Answer from gold passages"];

KINDS.grid = class extends Desk {
  view({ measures, blocks, ideal, detail }) {
    return h("div.grid",
      h("div.scroll",
        h("table",
          h("caption.unseen", "Runs by depth and measure"),
          h("thead", h("tr", column("Run"), measures.map((one) => column(one.name, { title: one.says })),
            column(h("span.unseen", "Missing values")))),
          blocks.map((block) => h("tbody",
            h("tr.depth", h("th", { scope: "rowgroup", colspan: measures.length + 2 }, `k = ${block.k}`)),
            block.rows.map((row) => h("tr",
              h("th", { scope: "row" }, row.run),
              row.cells.map((cell, place) => h("td",
                this.cell(cell, `${measures[place].name}@${block.k} of ${row.run}`))),
              h("td.quiet", row.rests)))))),
        ideal && h("p.ideal", ideal.says)),
      h("section.detail", { "aria-label": "Queries of the selected score" }, detail && this.queries(detail)));
  }

  cell(cell, name) {
    if (cell.mean === null) return quiet("–");
    const { open, ideal } = this.data;
    const isOpen = cell.id === open;
    const mean = fixed(cell.mean, 3);
    const onclick = () => {
      this.wanted = isOpen ? "" : cell.id;
      this.act("open", { cell: this.wanted });
    };
    return h("button.cell", { class: cell.best ? "best" : "", "data-cell": cell.id, "aria-expanded": String(isOpen),
      "aria-label": `${name}: ${mean}${cell.best ? ", best" : ""}`, onclick },
      h("span.mean", mean), quiet(cell.error === null ? "" : ` ±${fixed(cell.error, 3)}`),
      h("span.bar", { "aria-hidden": "true" },
        h("i", { style: { width: `${100 * cell.mean}%` } }),
        ideal && name.startsWith("GPT-Eval@")
          && h("i.line", { title: "Ideal retriever", style: { left: `${100 * ideal.mean}%` } })));
  }

  queries(detail) {
    return [
      h("div.bar-of", h("h2", detail.title),
        h("button.link", { onclick: () => this.act("open", { cell: "" }) }, "Close")),
      h("div.queries", { tabindex: 0, role: "region", "aria-label": `Queries: ${detail.title}` }, h("table",
        h("thead", h("tr", COLUMNS.map((one) => column(one)))),
        h("tbody", detail.rows.map((row) => h("tr",
          h("td.value", { title: row.why }, row.value ?? "–"),
          h("td", link(row.query, row.href, goTo, { dir: "auto" }), h("div.quiet", row.why)),
          h("td", { dir: "auto" }, row.answer), h("td", { dir: "auto" }, row.draw)))))),
      detail.more > 0 && h("p.quiet", `and ${count(detail.more)} more`),
    ];
  }

  drawn({ open, detail }) {
    // Below a long table, the opened queries would be out of sight.
    if (!detail || this.wanted !== open) return;
    this.wanted = "";
    showFrom(this.find(".detail"));
  }
};
