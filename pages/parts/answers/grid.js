// The table of LLM-retEval: a block of runs for every depth. A cell opens its queries below the table.

export default (given) => showIn(Grid, given);

class Grid {
  constructor(parent) {
    this.acts = new Acts();
    this.known = "";
    this.wanted = "";
    this.table = make("div", { class: "scroll" });
    this.detail = make("section", { class: "detail", "aria-label": "Queries of the selected score" });
    parent.append(this.table, this.detail);
  }

  show(data, send) {
    this.acts.taken(data.taken, send);
    const { taken, ...holds } = data;
    const now = JSON.stringify(holds);
    if (now !== this.known) {
      this.known = now;
      this.data = data;
      const focused = this.table.getRootNode().activeElement?.dataset?.cell;
      this.draw();
      if (focused) this.table.querySelector(`[data-cell="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }
    this.acts.again();
  }

  draw() {
    const { measures, blocks, ideal } = this.data;
    const head = make(
      "tr",
      {},
      make("th", { scope: "col" }, "Run"),
      ...measures.map((one) => make("th", { scope: "col", title: one.says }, one.name)),
      make("th", { scope: "col", class: "unsaid" }, make("span", { class: "unseen" }, "Missing values")),
    );
    const bodies = blocks.map((block) =>
      make(
        "tbody",
        {},
        make("tr", { class: "depth" }, make("th", { scope: "rowgroup", colSpan: measures.length + 2 }, `k = ${block.k}`)),
        ...block.rows.map((row) =>
          make(
            "tr",
            {},
            make("th", { scope: "row" }, row.run),
            ...row.cells.map((cell, at) => make("td", {}, this.cell(cell, `${measures[at].name}@${block.k} of ${row.run}`, ideal))),
            make("td", { class: "quiet" }, row.rests),
          ),
        ),
      ),
    );
    this.table.replaceChildren(
      make("table", {}, make("caption", { class: "unseen" }, "Runs by depth and measure"), make("thead", {}, head), ...bodies),
      ...(ideal ? [make("p", { class: "ideal" }, ideal.says)] : []),
    );
    this.showDetail();
  }

  cell(cell, name, ideal) {
    if (cell.mean === null) return make("span", { class: "quiet" }, "–");
    const open = cell.id === this.data.open;
    const share = make("span", { class: "bar", "aria-hidden": "true" }, make("i", { style: { width: `${100 * cell.mean}%` } }));
    if (ideal && name.startsWith("GPT-Eval@")) {
      share.append(make("i", { class: "line", title: "Ideal retriever", style: { left: `${100 * ideal.mean}%` } }));
    }
    return make(
      "button",
      {
        type: "button",
        class: `cell${cell.best ? " best" : ""}`,
        "data-cell": cell.id,
        "aria-expanded": String(open),
        "aria-label": `${name}: ${cell.mean.toFixed(3)}${cell.best ? ", best" : ""}`,
        onclick: () => {
          this.wanted = open ? "" : cell.id;
          this.acts.add("open", { cell: this.wanted });
        },
      },
      make("span", { class: "mean" }, cell.mean.toFixed(3)),
      make("span", { class: "quiet" }, cell.error === null ? "" : ` ±${cell.error.toFixed(3)}`),
      share,
    );
  }

  to(row) {
    const node = link(row.query, row.href, () => this.acts.add("query", { there: row.there }));
    node.dir = "auto";
    return node;
  }

  showDetail() {
    const { detail } = this.data;
    if (!detail) return this.detail.replaceChildren();
    const rows = detail.rows.map((row) =>
      make(
        "tr",
        {},
        make("td", { class: "value", title: row.why }, row.value ?? "–"),
        make("td", {}, this.to(row), make("div", { class: "quiet" }, row.why)),
        make("td", { dir: "auto" }, row.answer),
        make("td", { dir: "auto" }, row.draw),
      ),
    );
    this.detail.replaceChildren(
      make(
        "div",
        { class: "bar-of" },
        make("h2", {}, detail.title),
        make("button", { type: "button", class: "link", onclick: () => this.acts.add("open", { cell: "" }) }, "Close"),
      ),
      make(
        "div",
        { class: "queries", tabIndex: 0, role: "region", "aria-label": `Queries: ${detail.title}` },
        make(
          "table",
          {},
          make("thead", {}, make("tr", {}, ...["Score", "Query", "Answer from the top k passages", "Answer from gold passages"].map((one) => make("th", { scope: "col" }, one)))),
          make("tbody", {}, ...rows),
        ),
      ),
      ...(detail.more ? [make("p", { class: "quiet" }, `and ${detail.more.toLocaleString("en")} more`)] : []),
    );
    // Below a long table, the opened queries would be out of sight.
    if (this.wanted === this.data.open) {
      this.wanted = "";
      if (this.detail.getBoundingClientRect().top > window.innerHeight - 200) this.detail.scrollIntoView({ block: "start" });
    }
  }
}
