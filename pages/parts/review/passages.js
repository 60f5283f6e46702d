// The list of passages. The server sends one page of it. A choice is marked before the server answers, so that people
// need not wait for it.

KINDS.passages = class extends Desk {
  hear({ chosen }) {
    // A choice that is not open yet stays marked.
    if (!this.waiting.length) this.chosen = chosen;
  }

  get isOpen() {
    return same(this.chosen, this.data.chosen);
  }

  // The neighbour of the chosen passage: on this page, or from the server.
  beside(by) {
    const { rows, before, after } = this.data;
    const at = rows.findIndex((row) => same(row.at, this.chosen));
    return (at >= 0 ? rows[at + by]?.at : null) ?? (this.isOpen ? (by > 0 ? after : before) : null);
  }

  open(at) {
    if (!at) return;
    this.act("open", { at });
    this.update({ chosen: at });
  }

  view({ rows, page, size, total, place }) {
    const first = (page - 1) * size;
    const at = rows.findIndex((row) => same(row.at, this.chosen));
    const here = at >= 0 ? first + at + 1 : this.isOpen ? place : null;
    const all = plural(total, "passage");
    const step = (words, key, by) => this.step(words, key, this.beside(by) || !this.isOpen,
      () => this.open(this.beside(by)), `${words} passage`);
    const turn = (sign, title, to) => h("button", { "data-key": title, title, "aria-label": title,
      disabled: to < 1 || (to - 1) * size >= total, onclick: () => this.act("page", { to }) }, sign);
    const groups = rows.map((row, i) => [
      row.at[0] !== rows[i - 1]?.at[0] && h("li.query", { key: `query ${row.at[0]}`, dir: "auto" }, row.query),
      this.row(row, i === Math.max(at, 0)),
    ]);
    return h("div.passages",
      h("div.head", step("Previous", "K", -1),
        h("span.where", { title: here ? all : "The open passage is not in this list" },
          here ? `${count(here)} of ${count(total)}` : all),
        step("Next", "J", 1)),
      h("ol.list", { "aria-label": "Passages", onkeydown: (event) => walk(event, this.findAll(".row")) },
        rows.length ? groups : h("li.nothing", "No matching passages. Clear a filter.")),
      total > size && h("div.pages", turn("‹", "Previous page", page - 1),
        h("span.where", `${count(first + 1)}–${count(first + rows.length)} of ${count(total)}`),
        turn("›", "Next page", page + 1)));
  }

  row(row, reached) {
    const key = JSON.stringify(row.at);
    const current = same(row.at, this.chosen) && "true";
    return h("li", { key }, h("button.row", { "data-id": key, class: row.graded ? "" : "bare", "aria-current": current,
      tabindex: reached ? 0 : -1, onclick: () => this.open(row.at) },
      row.graded && chip(row.label, row.label === null ? "no label" : `label ${row.label}`),
      h("span", h("span.text", { dir: "auto" }, row.text), row.about && h("span.said", row.about))));
  }
};
