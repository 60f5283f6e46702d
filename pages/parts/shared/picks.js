// The queries of the question bank: a searchable, scrolled list with a link per query.

KINDS.picks = class extends Desk {
  words = "";

  hear({ chosen }) {
    this.chosen = chosen;
  }

  pick(id) {
    this.update({ chosen: id });
    this.act("pick", { choice: id });
  }

  view({ rows }) {
    const words = this.words.trim().toLowerCase();
    const fits = rows.filter((row) => `${row.id} ${row.text}`.toLowerCase().includes(words));
    return h("div.pick", { onkeydown: (event) => walk(event, this.findAll("a"), this.find("input")) },
      searchBox(this, "Find a query"),
      !fits.length && h("p", "No matching queries."),
      h("nav.list", { "aria-label": "Queries" }, fits.map((row) => this.row(row))));
  }

  // Tab reaches one entry; from there, arrow keys move up and down.
  row(row) {
    const mine = row.id === this.chosen;
    const inside = () => [
      h("span.text", { dir: "auto" }, row.text),
      row.marks.map((mark) => h("span.mark", { class: mark.kind, title: mark.says, "aria-label": mark.says,
        role: "img" }, mark.sign)),
      h("small", row.about),
    ];
    return link(inside, row.href, () => this.pick(row.id), { key: row.id, memo: JSON.stringify([row, mine]),
      "data-id": row.id, tabindex: mine ? 0 : -1, "aria-current": mine && "true" });
  }
};
