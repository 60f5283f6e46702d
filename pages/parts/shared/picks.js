// The queries of the question bank: a searchable, scrolled list with a link per query.

KINDS.picks = class extends Desk {
  words = "";

  hear(data) {
    this.moved = this.moved || data.chosen !== this.before?.chosen;
    this.chosen = data.chosen;
  }

  pick(id) {
    this.update({ chosen: id, moved: true });
    this.act("pick", { choice: id });
  }

  view({ rows }) {
    const words = this.words.trim().toLowerCase();
    const fits = rows.filter((row) => `${row.id} ${row.text}`.toLowerCase().includes(words));
    return h("div.pick", { onkeydown: (event) => walk(event, this.findAll("a"), this.find("input")) },
      h("input", { type: "search", placeholder: "Find a query", "aria-label": "Find a query", value: this.words,
        oninput: ({ target }) => this.update({ words: target.value }) }),
      !fits.length && h("p", "No matching queries."),
      h("nav", { "aria-label": "Queries" }, fits.map((row) => this.row(row))));
  }

  // Tab reaches one entry; from there, arrow keys move up and down.
  row(row) {
    const mine = row.id === this.chosen;
    const follow = (event) => {
      if (withModifier(event)) return;
      event.preventDefault();
      this.pick(row.id);
    };
    return h("a", {
      key: row.id, memo: JSON.stringify([row, mine]), href: row.href, tabindex: mine ? 0 : -1,
      "aria-current": mine && "true", onclick: follow,
    }, () => [
      h("span.text", { dir: "auto" }, row.text),
      row.marks.map((mark) => h("span.mark", { class: mark.kind, title: mark.says, "aria-label": mark.says,
        role: "img" }, mark.sign)),
      h("small", row.about),
    ]);
  }

  drawn() {
    const row = this.moved && this.find("[aria-current]");
    if (!row) return;
    this.moved = false;
    keepInSight(row, row.parentNode, 40);
  }
};
