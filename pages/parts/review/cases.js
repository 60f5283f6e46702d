// The queue of disagreements: the small table, the list of cases, the open case.

export default (given) => showIn(Desk, given);

class Desk extends Drawn {
  constructor(parent) {
    super();
    this.acts = new Acts();
    this.table = 0;
    this.tables = make("section", { class: "tables", "aria-label": "Agreement" });
    this.head = make("div", { class: "head" });
    this.list = make("ol", { class: "list", "aria-label": "Cases" });
    this.queue = make("section", { class: "queue", "aria-label": "Queue" }, this.head, this.list);
    this.news = make("div", { class: "news", role: "status" });
    this.pane = make("section", { class: "case", "aria-label": "Open case" });
    this.node = make(
      "div",
      { class: "desk" },
      make("div", { class: "left" }, this.tables, this.queue),
      make("div", { class: "right" }, this.news, this.pane),
    );
    parent.append(this.node);
  }

  act(name, said = {}) {
    // On a second press the case is already being settled, and another one would be open in its place.
    if (name === "settle" && this.sent?.case === said.case) return;
    if (name !== "weigh") this.node.setAttribute("aria-busy", "true");
    const id = this.acts.add(name, said);
    if (name === "settle") this.sent = { id, case: said.case };
  }

  key(event) {
    if (!event.altKey || event.ctrlKey || event.metaKey || document.querySelector("[role=dialog]")) return;
    // On a Mac, Alt changes the letters of J and K, but not the key codes.
    if (event.keyCode === 74) this.step(1, event);
    if (event.keyCode === 75) this.step(-1, event);
  }

  step(by, event) {
    event?.preventDefault();
    const { open, total } = this.data;
    const at = open ? open.at + by : -1;
    if (at < 0 || at >= total) return;
    this.go(at);
  }

  go(at) {
    const row = this.data.rows[at - this.data.first];
    this.moved = true;
    this.act("open", { at, case: row ? row.id : "" });
  }

  show(data, send) {
    this.acts.taken(data.taken, send);
    this.data = data;
    this.node.removeAttribute("aria-busy");
    if (!this.drafts || this.drawn.home !== data.home) this.drafts = new Drafts(data.home);
    this.drawn.home = data.home;
    if (this.sent && this.sent.id <= data.taken) {
      const refused = data.said?.refused === this.sent.case;
      if (!data.error && !refused) {
        this.drafts.drop(this.sent.case);
        this.moved = true;
        // The same case is still open, so its form for the next override is made again.
        if (data.open?.id === this.sent.case) delete this.drawn.pane;
      }
      // The typed text is kept. If another case is open now, the list scrolls to it.
      if (refused) this.moved = data.open?.id !== this.sent.case;
      this.sent = null;
    }
    this.part("tables", this.aboutTables(), () => this.showTables());
    this.part("head", [data.count, data.hidden, data.filters, data.explains], () => this.showHead());
    this.part("list", [data.rows, data.first, data.total], () => this.showList());
    this.showOpenRow();
    this.part("news", [data.said, data.gone, data.open ? null : data.error], () => this.showNews());
    this.part("pane", [data.open, data.empty, data.names, data.total], () => this.showCase());
    this.form?.show(data.weighed, data.error);
    this.acts.again();
  }

  aboutTables() {
    const { tables, coefficients, to_merge, missing, names } = this.data;
    return [tables, coefficients, to_merge, missing, names, this.table];
  }

  showTables() {
    const { tables, coefficients, missing, names } = this.data;
    const choice = make("div", { class: "segments small", role: "radiogroup", "aria-label": "Table" });
    tables.forEach((one, at) => {
      const input = make("input", {
        type: "radio",
        name: "table",
        checked: at === this.table,
        onchange: () => {
          this.table = at;
          this.part("tables", this.aboutTables(), () => this.showTables());
          this.tables.querySelectorAll(".segments input")[at].focus();
        },
      });
      choice.append(make("label", { class: "segment" }, input, make("span", {}, one.title)));
    });
    const found = tables[this.table];
    // If the scales differ, the merged kappa is the one to compare, for both tables.
    const kappa = coefficients[this.table || this.data.to_merge ? 0 : 1];
    const held = this.tables.querySelector("details")?.open;
    this.tables.replaceChildren(
      make("div", { class: "bar" }, choice, make("span", { class: "kappa", title: kappa.says }, `${kappa.name} ${kappa.value}`)),
      this.grid(found, names),
      make(
        "details",
        { open: Boolean(held) },
        make("summary", {}, "Agreement coefficients"),
        make(
          "dl",
          {},
          ...coefficients.flatMap((one) => [
            make("dt", { title: one.says }, one.name),
            make("dd", { title: one.says }, one.value),
          ]),
        ),
        ...undefinedOnes(coefficients).map((words) => make("p", { class: "quiet" }, words)),
        make("p", { class: "quiet" }, missing),
      ),
    );
  }

  grid(found, names) {
    const head = make(
      "tr",
      {},
      make("th", { class: "corner", scope: "col" }, `${names[0]} ↓ ${names[1]} →`),
      ...found.columns.map((name) => make("th", { scope: "col" }, name)),
      make("th", { scope: "col", class: "quiet edge" }, "total"),
      make("th", { scope: "col", class: "quiet edge", title: "Kappa of this value against all other values" }, "κ"),
    );
    const rows = found.rows.map((row) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, row.name),
        ...row.cells.map((cell) => make("td", {}, this.cell(cell))),
        make("td", { class: "quiet edge" }, row.total.toLocaleString("en")),
        make("td", { class: "quiet edge", title: row.why }, row.kappa),
      ),
    );
    const last = make(
      "tr",
      {},
      make("th", { scope: "row", class: "quiet" }, "total"),
      ...found.totals.map((total) => make("td", { class: "quiet" }, total.toLocaleString("en"))),
      make("td", { class: "quiet edge" }, found.all.toLocaleString("en")),
      make("td", { class: "edge" }),
    );
    return make("table", { class: "cross" }, make("thead", {}, head), make("tbody", {}, ...rows, last));
  }

  cell(cell) {
    const many = `${cell.count.toLocaleString("en")} pair${cell.count === 1 ? "" : "s"}`;
    const button = make(
      "button",
      {
        type: "button",
        class: `cell${cell.agrees ? " agrees" : ""}`,
        disabled: !cell.count,
        title: `${cell.says}: ${many}${cell.agrees ? ", counts as agreement" : ""}`,
        "aria-pressed": String(cell.open),
        "data-cell": cell.cell,
        style: { "--depth": cell.depth },
        onclick: () => {
          this.toQueue = true;
          this.act("cell", { cell: cell.open ? "" : cell.cell });
        },
      },
      cell.count.toLocaleString("en"),
    );
    button.setAttribute("aria-label", `${cell.says}: ${many}`);
    return button;
  }

  showHead() {
    const { count, hidden, filters, explains } = this.data;
    const words = filters.map((one) =>
      make(
        "button",
        {
          type: "button",
          class: "filter",
          title: "Clear filter",
          "aria-label": `Clear filter: ${one.says}`,
          onclick: () => this.act("clear", { what: one.what }),
        },
        make("span", { dir: "auto" }, one.says),
        make("span", { class: "cross-off", "aria-hidden": "true" }, "✕"),
      ),
    );
    this.head.replaceChildren(
      make(
        "div",
        { class: "count" },
        make("b", {}, count),
        filters.length ? make("span", { class: "quiet" }, "filtered by") : null,
        ...words,
        hidden ? make("span", { class: "quiet" }, hidden) : null,
      ),
      ...(explains ? [make("p", { class: "quiet" }, explains)] : []),
    );
    if (this.toQueue) {
      this.toQueue = false;
      this.queue.scrollIntoView({ block: "nearest" });
      this.head.querySelector("button.filter")?.focus({ preventScroll: true });
    }
  }

  showList() {
    const { rows, first, total } = this.data;
    const items = rows.map((row, at) =>
      make(
        "li",
        {},
        make(
          "button",
          {
            type: "button",
            class: `row${row.settled ? " settled" : ""}`,
            "data-id": row.id,
            onclick: () => this.go(first + at),
          },
          make("span", { class: "place" }, (first + at + 1).toLocaleString("en")),
          make("span", { class: "values" }, ...row.values.map((value) => chip(value))),
          make(
            "span",
            { class: "words" },
            make("span", { class: "query", dir: "auto" }, row.query),
            make("span", { class: "text", dir: "auto" }, row.settled ? `Resolved. ${row.text}` : row.text),
          ),
        ),
      ),
    );
    const beyond = (words, at) =>
      make("li", {}, make("button", { type: "button", class: "beyond", onclick: () => this.go(at) }, words));
    const { page } = this.data;
    if (first > 0) items.unshift(beyond(`Earlier cases (${first.toLocaleString("en")})`, Math.max(0, first - page)));
    const rest = total - first - rows.length;
    if (rest > 0) items.push(beyond(`Later cases (${rest.toLocaleString("en")})`, first + rows.length));
    this.list.replaceChildren(...items);
  }

  showOpenRow() {
    const open = this.data.open?.id;
    let stands = "";
    for (const [at, row] of [...this.list.querySelectorAll(".row")].entries()) {
      const here = row.dataset.id === open;
      if (here) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      // An action on a case may move it within the list.
      if (here) stands = `${open} ${this.data.first + at}`;
      if (here && this.drawn.row !== stands) keepInSight(row, this.list);
    }
    this.drawn.row = stands;
  }

  showNews() {
    const { said, error, open, gone } = this.data;
    const parts = [];
    if (gone && !said) parts.push(make("span", {}, gone));
    if (said) {
      parts.push(make(said.refused ? "b" : "span", { dir: "auto" }, said.words));
      if (said.undo) {
        parts.push(
          make("button", { type: "button", class: "link", onclick: () => this.act("put back") }, "Undo"),
        );
      }
    }
    if (error && !open) parts.push(make("b", {}, `${error.message} ${error.hint}`));
    this.news.replaceChildren(...parts);
  }

  showCase() {
    const { open, empty, total } = this.data;
    this.form = null;
    if (!open) {
      this.pane.replaceChildren(make("p", { class: "empty" }, empty));
      return;
    }
    const other = (words, by, key) =>
      make(
        "button",
        {
          type: "button",
          disabled: open.at + by < 0 || open.at + by >= total,
          title: `${words} (Alt+${key})`,
          "aria-keyshortcuts": `Alt+${key}`,
          onclick: () => this.step(by),
        },
        by > 0 ? "Next ›" : "‹ Previous",
      );
    const title = make("h2", { tabIndex: -1 }, `Case ${(open.at + 1).toLocaleString("en")} of ${total.toLocaleString("en")}`);
    const parts = [
      make("header", {}, title, this.values(open), make("span", { class: "turn" }, other("Previous case", -1, "K"), other("Next case", 1, "J"))),
      make("p", { class: "query", dir: "auto" }, open.query),
    ];
    if (open.question) parts.push(make("p", { class: "question-of", dir: "auto" }, open.question));
    parts.push(
      open.passage === null
        ? make("p", { class: "quiet" }, open.text)
        : make("div", { class: "passage", dir: "auto", tabIndex: 0, role: "region", "aria-label": "Passage" }, open.passage),
    );
    // The form already marks the questions that give the label.
    if (!open.asked?.length) parts.push(...this.givers(open));
    if (open.check) parts.push(make("p", { class: "check" }, open.check));
    if (open.settling) parts.push(this.settled(open));
    else {
      this.form = new Settle(open, this.drafts, (name, said) => this.act(name, said));
      parts.push(this.form.node);
    }
    parts.push(
      make(
        "footer",
        {},
        link("Open passage →", open.read, () =>
          this.act("read", { query: open.query_id, passage: open.passage_id, question: open.blamed }),
        ),
        link("Open in question bank →", open.bank, () =>
          this.act("bank", { query: open.query_id, passage: open.passage_id }),
        ),
      ),
    );
    this.pane.replaceChildren(...parts);
    if (this.moved) {
      this.moved = false;
      title.focus({ preventScroll: true });
      showFrom(this.pane);
    }
  }

  values(open) {
    const { names } = this.data;
    return make(
      "span",
      { class: "versus" },
      ...open.values.flatMap((value, side) => [make("span", {}, names[side]), chip(value)]),
    );
  }

  givers(open) {
    const several = open.givers.length > 1;
    return open.givers.map((side) =>
      make(
        "div",
        { class: "giver" },
        make("span", { class: "quiet" }, several ? `${side.side}: label from` : "label from"),
        ...side.questions.map((one) => make("div", {}, chip(one.rating), make("span", { dir: "auto" }, one.text))),
        side.more ? make("span", { class: "quiet" }, `and ${side.more} more question${side.more > 1 ? "s" : ""}`) : null,
      ),
    );
  }

  settled(open) {
    const { words, reason, override, rating } = open.settling;
    const box = make("input", { type: "checkbox", checked: true });
    return make(
      "div",
      { class: "settled-by" },
      make("b", {}, words),
      make("p", { dir: "auto" }, reason),
      override ? make("label", {}, box, `Also withdraw the override with rating ${rating}`) : null,
      make(
        "button",
        {
          type: "button",
          class: "second",
          onclick: () => this.act("reopen", { case: open.id, withdraw: override && box.checked }),
        },
        "Reopen case",
      ),
    );
  }
}

function undefinedOnes(coefficients) {
  const reasons = new Map();
  for (const { name, why } of coefficients) if (why) reasons.set(why, [...(reasons.get(why) || []), name]);
  return [...reasons].map(([why, names]) => `Undefined (${names.join(", ")}): ${why}.`);
}
