// The cases of answers: filters and list, and the open case in three columns with its proposal below. The next cases
// are loaded already, so that a key leads on at once.

export default (given) => showIn(Desk, given);

const isField = (node) => node && /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName);
const deepest = (root) => {
  let at = root.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return at;
};

class Desk extends Drawn {
  constructor(parent) {
    super();
    this.acts = new Acts();
    this.desks = {};
    this.done = new Set();
    this.notes = {};
    this.head = make("div", { class: "head" });
    this.list = make("ol", { class: "list", "aria-label": "Cases" });
    this.news = make("div", { class: "news", role: "status" });
    this.pane = make("section", { class: "case", "aria-label": "Open case" });
    parent.append(
      make(
        "div",
        { class: "desk" },
        make("section", { class: "left", "aria-label": "Queue" }, this.head, this.list),
        make("div", { class: "right" }, this.news, this.pane),
      ),
    );
  }

  key(event) {
    if (document.querySelector("[role=dialog]") || event.ctrlKey || event.metaKey) return;
    if (event.altKey) {
      // On a Mac, Alt changes the letters of J and K, but not the key codes.
      if (event.keyCode === 74) this.step(1, event);
      if (event.keyCode === 75) this.step(-1, event);
      return;
    }
    const letter = event.key.toUpperCase();
    if (event.shiftKey || isField(deepest(document)) || !this.data.letters.some((one) => one.letter === letter)) return;
    if (!this.desks[this.open]) return;
    event.preventDefault();
    // Streamlit has its own shortcuts for some of these letters.
    event.stopPropagation();
    if (!event.repeat) this.confirm(letter);
  }

  act(name, said) {
    this.last = this.acts.add(name, said);
  }

  confirm(letter) {
    const id = this.open;
    const next = this.beside(1) ?? "";
    const seen = this.desks[id].confirmed.map((one) => one.key);
    this.act("confirm", { case: id, letter, note: (this.notes[id] || "").trim(), next, seen });
    delete this.notes[id];
    this.done.add(id);
    this.go(next);
  }

  step(by, event) {
    event?.preventDefault();
    const next = this.beside(by);
    if (next) this.choose(next);
  }

  beside(by) {
    const { ids } = this.data;
    for (let at = ids.indexOf(this.open) + by; at >= 0 && at < ids.length; at += by) {
      if (!this.done.has(ids[at])) return ids[at];
    }
    return null;
  }

  choose(id) {
    this.act("open", { case: id });
    this.go(id);
  }

  // Show a case now; answers of the server to earlier actions do not lead back.
  go(id) {
    this.open = id;
    this.moved = true;
    this.showOpenRow();
    this.showCase();
  }

  show(data, send) {
    this.acts.taken(data.taken, send);
    this.data = data;
    const behind = this.last !== undefined && data.taken < this.last;
    this.desks = data.desks;
    if (!behind) {
      this.done = new Set();
      if (this.open !== undefined && this.open !== data.open) this.moved = true;
      this.open = data.open;
    }
    this.part("head", [data.count, data.filters], () => this.showHead());
    this.part("list", [data.rows, data.first, data.total], () => this.showList());
    this.showOpenRow();
    this.part("news", [data.said, data.error], () => this.showNews());
    this.showCase();
    this.acts.again();
  }

  showHead() {
    const { count, filters } = this.data;
    this.head.replaceChildren(
      make("b", { class: "count" }, count),
      ...filters.map((one) =>
        make(
          "label",
          { class: "choice" },
          make("span", {}, one.title),
          make(
            "select",
            { onchange: (event) => this.act("filter", { name: one.name, value: event.target.value }) },
            ...one.options.map(([value, words]) => make("option", { value, selected: value === one.held }, words)),
          ),
        ),
      ),
    );
  }

  showList() {
    const { rows, first, total, page } = this.data;
    const items = rows.map((row) =>
      make(
        "li",
        {},
        make(
          "button",
          { type: "button", class: `row${row.done ? " done" : ""}`, "data-id": row.id, onclick: () => this.choose(row.id) },
          badge(row.case, row.kind),
          make(
            "span",
            { class: "words" },
            make("span", { class: "query", dir: "auto" }, row.query),
            make("span", { class: "quiet" }, [row.where, row.done ? "confirmed" : row.stake].filter(Boolean).join(" · ")),
          ),
        ),
      ),
    );
    const beyond = (words, at) =>
      make("li", {}, make("button", { type: "button", class: "beyond", onclick: () => this.act("open", { at }) }, words));
    if (first > 0) items.unshift(beyond(`Earlier: ${first.toLocaleString("en")} cases`, first - page));
    const rest = total - first - rows.length;
    if (rest > 0) items.push(beyond(`Later: ${rest.toLocaleString("en")} cases`, first + rows.length));
    this.list.replaceChildren(...items);
  }

  showOpenRow() {
    for (const row of this.list.querySelectorAll(".row")) {
      const here = row.dataset.id === this.open;
      row.classList.toggle("gone", this.done.has(row.dataset.id));
      if (here) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
      if (here && this.drawn.row !== this.open) keepInSight(row, this.list);
    }
    this.drawn.row = this.open;
  }

  showNews() {
    const { said, error } = this.data;
    const parts = [];
    if (said) {
      parts.push(make("span", { dir: "auto" }, said.words));
      if (said.undo) {
        const { do: name, ...rest } = said.undo;
        parts.push(make("button", { type: "button", class: "link", onclick: () => this.act(name, rest) }, "Undo"));
      }
    }
    if (error) parts.push(make("b", {}, `${error.message} ${error.hint}`));
    this.news.replaceChildren(...parts);
  }

  showCase() {
    const open = this.desks[this.open];
    this.part("pane", [this.open, open ?? null, this.data.empty, this.beside(1), this.beside(-1)], () => {
      if (!open) {
        const words = this.open ? "Loading the next case…" : this.data.empty;
        this.pane.replaceChildren(make("p", { class: "empty", role: "status" }, words));
        return;
      }
      this.draw(open);
    });
  }

  draw(open) {
    const turn = (words, by, key) =>
      make(
        "button",
        {
          type: "button",
          disabled: !this.beside(by),
          title: `${by > 0 ? "Next" : "Previous"} case (Alt+${key})`,
          "aria-keyshortcuts": `Alt+${key}`,
          onclick: () => this.step(by),
        },
        words,
      );
    const title = make("h2", { tabIndex: -1, dir: "auto" }, open.query);
    this.pane.replaceChildren(
      make(
        "header",
        {},
        title,
        make("span", { class: "turn" }, turn("‹ Previous", -1, "K"), turn("Next ›", 1, "J")),
      ),
      make(
        "p",
        { class: "facts" },
        make("span", { class: "quiet" }, open.where),
        ...open.verdicts.map((one) =>
          make(
            "span",
            { class: `verdict ${one.value === null ? "none" : one.value ? "yes" : "no"}`, title: one.says },
            `${one.name} ${one.value === null ? "?" : one.value ? "✓" : "✗"}`,
            make("span", { class: "unseen" }, `: ${one.says}`),
          ),
        ),
      ),
      make("div", { class: "three" }, this.asked(open), this.retrieved(open), this.gold(open)),
      this.decide(open),
    );
    if (this.moved) {
      this.moved = false;
      if (!isField(deepest(document))) title.focus({ preventScroll: true });
      showFrom(this.pane);
    }
  }

  asked(open) {
    return make(
      "section",
      { class: "column asked", "aria-label": "Gold answers" },
      make("h3", {}, "Gold answers"),
      ...(open.answers.length
        ? open.answers.map((one) => make("p", { class: "said gold", dir: "auto" }, one))
        : [make("p", { class: "quiet" }, "No gold answers, so it is unknown if an answer is right.")]),
    );
  }

  retrieved(open) {
    const said =
      open.answer === null
        ? make("p", { class: "quiet" }, { skipped: "The run has no passage for this query.", waiting: "Not answered yet." }[open.state] ?? `No answer: ${open.note}`)
        : make("p", { class: "said", dir: "auto" }, open.answer);
    const can = open.answer !== null && !open.held;
    return make(
      "section",
      { class: "column", "aria-label": "Generated from the retrieved passages" },
      make("h3", {}, "Generated from the retrieved passages"),
      said,
      open.answer !== null && open.note ? make("p", { class: "quiet" }, open.note) : null,
      open.held ? make("p", { class: "quiet" }, "This is a gold answer.") : null,
      can
        ? make(
            "button",
            { type: "button", class: "small", title: "Use this if the answer is right (case E)", onclick: () => this.act("add answer", { case: open.id }) },
            "Add as gold answer",
          )
        : null,
      ...open.retrieved.map((one) => this.passage(open, one, `${one.rank}.`)),
    );
  }

  gold(open) {
    return make(
      "section",
      { class: "column", "aria-label": "Answers from the gold passages" },
      make("h3", {}, open.draws.length > 1 ? `${open.draws.length} answers from the gold passages` : "Answer from the gold passages"),
      ...(open.draws.length
        ? open.draws.map((one) => make("p", { class: "said", dir: "auto" }, one))
        : [make("p", { class: "quiet" }, open.failed ? "Generation failed." : "Not answered yet.")]),
      ...open.gold.map((one) => this.passage(open, one, "")),
      open.more ? make("p", { class: "quiet" }, `and ${open.more} more gold passages`) : null,
    );
  }

  passage(open, one, place) {
    const name = `${place} ${one.id}`.trim();
    const marks = one.parts.map(([text, inside]) => (inside ? make("mark", {}, text) : text));
    const body = one.parts.length ? marks : [make("span", { class: "quiet" }, "The text is not imported.")];
    const about = [];
    if (one.rank && one.gold) about.push(make("span", { class: "tag" }, "gold"));
    if (one.rank && one.judged !== null) {
      about.push(
        make("span", { class: "quiet" }, `you judged ${one.judged}`),
        make("button", { type: "button", class: "link", onclick: () => this.act("unjudge", { case: open.id, passage: one.id }) }, "Withdraw"),
      );
    } else if (one.rank && !one.gold && one.parts.length) {
      about.push(
        make(
          "button",
          { type: "button", class: "link", title: "Use this if the passage contains the answer (case A)",
            "aria-label": `Judge passage ${one.rank} as relevant`,
            onclick: () => this.act("judge", { case: open.id, passage: one.id }) },
          "Judge as relevant",
        ),
      );
    }
    return make(
      "div",
      { class: `passage${one.pointed ? " pointed" : ""}` },
      make("div", { class: "of" }, make("span", { class: "name", title: one.id }, name), ...about),
      make("div", { class: "text", dir: "auto", tabIndex: 0, role: "region", "aria-label": `Passage ${name}` }, ...body),
    );
  }

  decide(open) {
    const mine = open.confirmed.find((one) => one.mine);
    const note = make("input", {
      class: "note",
      placeholder: "Note (optional)",
      "aria-label": "Note",
      value: this.notes[open.id] || "",
      oninput: (event) => (this.notes[open.id] = event.target.value),
    });
    return make(
      "section",
      { class: "decide", "aria-label": "Decision on the case" },
      make(
        "p",
        { class: "proposal" },
        open.proposed ? badge(open.proposed, open.kind) : null,
        make("span", { dir: "auto" }, open.proposed ? `Proposed: ${open.reason}` : open.reason),
        open.stake ? make("span", { class: "quiet" }, `If confirmed, ${open.stake}.`) : null,
      ),
      ...open.confirmed.map((one) =>
        make(
          "p",
          { class: "confirmed" },
          make("b", {}, `${one.by}: ${one.case}`),
          make("span", { dir: "auto" }, ` ${one.says}${one.note ? ` (${one.note})` : ""} `),
          one.mine ? make("button", { type: "button", class: "link", onclick: () => this.act("take back", { case: open.id }) }, "Withdraw") : null,
        ),
      ),
      make(
        "div",
        { class: "keys", role: "group", "aria-label": mine ? "Change the case" : "Confirm a case" },
        ...this.data.letters.map(({ letter, short, says }) =>
          make(
            "button",
            {
              type: "button",
              class: `letter${letter === open.proposed ? " first" : ""}`,
              title: says,
              "aria-keyshortcuts": letter.toLowerCase(),
              onclick: () => this.confirm(letter),
            },
            make("kbd", {}, letter.toLowerCase()),
            make("span", {}, short),
          ),
        ),
      ),
      note,
    );
  }
}

function badge(letter, kind) {
  return make("span", { class: `badge ${kind}`, title: letter ? `Case ${letter}` : "No case proposed" }, letter || "–");
}
