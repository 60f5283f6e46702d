// The list of passages. The server sends one page of it. A choice is marked before the server answers, so that people
// need not wait for it.

// Largest number of requests to the server to open a chosen passage.
const TIMES = 5;

KINDS.passages = class extends Desk {
  hear(data) {
    // A choice that is not open yet stays marked. It is requested again, since Streamlit may have ended the run that
    // received the request.
    if (this.asked && !same(this.asked.at, data.chosen) && this.asked.times < TIMES) {
      this.asked.times += 1;
      this.tell("open", this.asked.at);
    } else {
      this.asked = null;
      this.chosen = data.chosen;
    }
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

  walk(by) {
    const at = this.beside(by);
    if (at) this.open(at);
  }

  open(at) {
    this.chosen = at;
    this.asked = { at, times: 0 };
    this.redraw();
    this.tell("open", at);
  }

  turn(page) {
    this.find(".rows").scrollTop = 0;
    this.tell("page", page);
  }

  view({ rows, page, size, total, place }) {
    const first = (page - 1) * size;
    const at = rows.findIndex((row) => same(row.at, this.chosen));
    const here = at >= 0 ? first + at + 1 : this.isOpen ? place : null;
    const all = plural(total, "passage");
    const arrow = (sign) => h("span", { "aria-hidden": "true" }, sign);
    const step = (key, by, letter, title, ...words) => h("button.step", {
      "data-key": key, title: `${title} (Alt+${letter})`, "aria-keyshortcuts": `Alt+${letter}`,
      disabled: !this.beside(by) && this.isOpen, onclick: () => this.walk(by),
    }, words);
    const turn = (key, to, sign, title) => h("button.step",
      { "data-key": key, title, "aria-label": title, disabled: to < 1 || (to - 1) * size >= total,
        onclick: () => this.turn(to) }, sign);
    const groups = rows.map((row, i) => [
      row.at[0] !== rows[i - 1]?.at[0] && h("p.query", { key: `query ${row.at[0]}`, dir: "auto" }, row.query),
      this.row(row, i === Math.max(at, 0)),
    ]);
    return h("div.passages",
      h("div.head",
        step("previous", -1, "K", "Previous passage", arrow("‹ "), "Previous"),
        h("span.where", { title: here ? all : "The open passage is not in this list" },
          here ? `${count(here)} of ${count(total)}` : all),
        step("next", 1, "J", "Next passage", "Next", arrow(" ›"))),
      h("div.rows", { role: "group", "aria-label": "Passages", onkeydown: (event) => this.move(event) },
        rows.length ? groups : h("div.nothing", "No matching passages. Clear a filter.")),
      total > size && h("div.pages",
        turn("previous page", page - 1, "‹", "Previous page"),
        h("span.where", `${count(first + 1)}–${count(first + rows.length)} of ${count(total)}`),
        turn("next page", page + 1, "›", "Next page")));
  }

  row(row, reached) {
    const judged = [
      row.own !== null && `you judged ${row.own}`,
      row.judged !== null && `${row.own === null ? "" : `${this.data.source} `}judged ${row.judged}`,
      row.overridden && "overridden",
      row.ungraded > 0 && `${row.ungraded} ungraded`,
    ].filter(Boolean);
    return h("button.row", {
      key: JSON.stringify(row.at), class: row.graded ? "" : "bare", onclick: () => this.open(row.at), tabindex: reached ? 0 : -1,
      "aria-current": same(row.at, this.chosen) && "true",
    },
    row.graded && chip(row.label, row.label === null ? "no label" : `label ${row.label}`),
    h("span", h("span.text", { dir: "auto" }, row.text),
      (judged.length > 0 || row.failed > 0) && h("span.said", judged.join(" · "),
        row.failed > 0 && [judged.length > 0 && " · ", h("span.failed", `${row.failed} failed`)])));
  }

  drawn(data) {
    const row = this.find("[aria-current]");
    const stands = JSON.stringify([data.page, this.chosen]);
    if (row && stands !== this.stands) keepInSight(row, this.find(".rows"), 40);
    this.stands = stands;
  }

  move(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const items = [...this.root.querySelectorAll(".row")];
    const at = items.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    items[to]?.focus();
  }
};
