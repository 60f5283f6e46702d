// The queue of disagreements: the agreement of both sides as a small table, the list of cases, the open case.

KINDS.cases = class extends Desk {
  table = 0;

  act(name, values = {}) {
    // On a second press the case is already being settled, and another one would be open in its place.
    if (name === "settle" && this.sent?.case === values.case) return;
    const id = super.act(name, values);
    if (name === "settle") this.sent = { id, case: values.case };
    if (name === "weigh") return;
    this.update({ busy: true });
  }

  go(at) {
    this.moved = true;
    this.act("open", { at, case: this.data.rows[at - this.data.first]?.id ?? "" });
  }

  hear(data) {
    this.busy = false;
    if (this.before?.home !== data.home) this.drafts = kept(sessionStorage, `exam-settling ${data.home}`);
    if (data.weighed) this.answer = data.weighed;
    this.trouble = data.error ?? (this.before?.open?.id === data.open?.id ? this.trouble : null);
    if (!this.sent || this.sent.id > data.taken) return;
    const refused = data.said?.refused === this.sent.case;
    if (!data.error && !refused) {
      delete this.drafts[this.sent.case];
      this.keep();
      this.answer = this.weighing = null;
    }
    // If another case is open now, the list scrolls to it. The typed text of a refused action is kept.
    this.moved = refused ? data.open?.id !== this.sent.case : !data.error || this.moved;
    this.sent = null;
  }

  keep() {
    keep(sessionStorage, `exam-settling ${this.data.home}`, this.drafts);
  }

  view(data) {
    const { open, empty, gone, said, error } = data;
    return h("div.cases.desk", { "aria-busy": this.busy && "true" },
      h("div.left", {}, this.agreement(), h("section.queue", { "aria-label": "Queue" }, this.head(), this.list())),
      h("div.right", {},
        this.news({ said: said ?? (gone && { words: gone }), error: open ? null : error }, () => this.act("put back")),
        h("section.case", { "aria-label": "Open case", key: open?.id ?? "" },
          open ? this.case(open) : h("p.empty", empty))));
  }

  agreement() {
    const { tables, coefficients, to_merge: merges, names } = this.data;
    // If the scales differ, the merged kappa is the one to compare, for both tables.
    const kappa = coefficients[this.table || merges ? 0 : 1];
    return h("section.tables", { "aria-label": "Agreement" },
      h("div.bar-of", {},
        segments("table", "Table", tables.map((one, at) => [at, one.title]), this.table,
          (table) => this.update({ table })),
        h("span.kappa", { title: kappa.why || kappa.says }, `${kappa.name} ${kappa.value}`)),
      this.grid(tables[this.table], names),
      h("p.quiet", tables[this.table].framed));
  }

  grid(found, names) {
    const cells = found.rows.flatMap((row) => row.cells);
    const reached = cells.find((cell) => cell.open) ?? cells.find((cell) => cell.count);
    const edge = (words, given) => h("td.quiet.edge", given, words);
    const width = found.columns.length;
    return h("table.cross", { onkeydown: (event) => walk(event, this.findAll("button.cell"), null, width) },
      h("thead", h("tr",
        column(`${names[0]} ↓ ${names[1]} →`, { class: "corner" }),
        found.columns.map((name) => column(name)),
        column("total", { class: "quiet edge" }),
        column("Kappa", { class: "quiet edge", title: "Kappa of this value against all other values" }))),
      h("tbody",
        found.rows.map((row) => h("tr",
          h("th", { scope: "row" }, row.name), row.cells.map((cell) => h("td", this.cell(cell, reached))),
          edge(count(row.total)), edge(row.kappa, { title: row.why }))),
        h("tr",
          h("th.quiet", { scope: "row" }, "total"), found.totals.map((total) => h("td.quiet", count(total))),
          edge(count(found.all)),
          h("td.edge"))));
  }

  cell(cell, reached) {
    const says = `${cell.says}: ${plural(cell.count, "pair")}`;
    const onclick = () => {
      if (!cell.count) return;
      this.toQueue = true;
      this.act("cell", { cell: cell.open ? "" : cell.cell });
    };
    return h("button.cell", { class: cell.agrees ? "agrees" : "", "aria-disabled": !cell.count && "true", onclick,
      title: says + (cell.agrees ? ", counts as agreement" : ""), "aria-label": says, "aria-pressed": String(cell.open),
      tabindex: cell === reached ? 0 : -1, "data-cell": cell.cell, style: { "--depth": cell.depth } },
      count(cell.count));
  }

  head() {
    const { count: words, hidden, filters, explains } = this.data;
    return h("div.head", {},
      h("div.count", h("b", words), filters.length > 0 && quiet("filtered by"),
        filters.map((one) => h("button.filter", { key: one.what, title: "Clear filter", dir: "auto",
          "aria-label": `Clear filter: ${one.says}`, onclick: () => this.act("clear", { what: one.what }) },
          `${one.says} ✕`)),
        hidden && quiet(hidden)),
      explains && h("p.quiet", explains));
  }

  list() {
    return this.cases(this.data.open?.id, (at) => this.go(at), (row) => row.settled && "settled", (row, at) => [
      h("span.place", count(at + 1)),
      h("span.values", row.values.map((value) => chip(value))),
      h("span.words", h("span.query", { dir: "auto" }, row.query),
        h("span.text", { dir: "auto" }, row.settled ? `Resolved. ${row.text}` : row.text)),
    ]);
  }

  case(open) {
    const { names, total } = this.data;
    const step = (to, words, key, title) => this.step(words, key, to >= 0 && to < total, () => this.go(to), title);
    const place = { query: open.query_id, passage: open.passage_id };
    return [
      h("header",
        h("h2", { tabindex: -1 }, `Case ${count(open.at + 1)} of ${count(total)}`),
        h("span.versus", open.values.map((value, side) => [h("span", names[side]), chip(value)])),
        h("span.turn", this.help(), step(open.at - 1, "‹ Previous", "K", "Previous case"),
          step(open.at + 1, "Next ›", "J", "Next case"))),
      h("p.query", { dir: "auto" }, open.query),
      open.question && h("p.question-of", { dir: "auto" }, open.question),
      open.passage === null
        ? h("p.quiet", open.text)
        : h("div.passage", { dir: "auto", tabindex: 0, role: "region", "aria-label": "Passage" }, open.passage),
      // The form already marks the questions that give the label.
      !open.asked?.length && this.givers(open),
      open.check && h("p.check", open.check),
      open.settling ? this.settled(open) : this.form(open),
      h("footer",
        link("Open passage →", open.read, () => this.act("read", { ...place, question: open.blamed })),
        link("Open in question bank →", open.bank, () => this.act("bank", place))),
    ];
  }

  givers({ givers }) {
    return givers.map((side) => h("div.giver",
      quiet(givers.length > 1 ? `${side.side}: label from` : "label from"),
      side.questions.map((one) => h("div", chip(one.rating), h("span", { dir: "auto" }, one.text))),
      side.more > 0 && quiet(`and ${plural(side.more, "more question")}`)));
  }

  settled({ id, settling }) {
    const { withdraw = true } = this.draft;
    const reopen = () => this.act("reopen", { case: id, withdraw: settling.override && withdraw });
    return h("div.settled-by",
      h("b", settling.words), h("p", { dir: "auto" }, settling.reason),
      settling.override &&
        h("label", checkBox(withdraw, (on) => this.change({ withdraw: on })),
          `Also withdraw the override with rating ${settling.rating}`),
      h("button.second", { onclick: reopen }, "Reopen case"));
  }

  drawn() {
    if (this.toQueue && this.data.filters.some((one) => one.what === "cell")) {
      this.toQueue = false;
      this.find(".queue").scrollIntoView({ block: "nearest" });
      this.find("button.filter")?.focus({ preventScroll: true });
    }
    if (this.data.open && !this.data.open.settling) this.ask();
    super.drawn();
  }

  // The form that settles the open case. Typed text stays in the browser until it is sent, and survives a reload.
  get draft() {
    return (this.drafts[this.data.open.id] ??= {});
  }

  // Keep only choices that the open case offers.
  prepare(open) {
    const { draft } = this;
    const known = open.asked.map((one) => one.id);
    if (!open.ways.some((way) => way.name === draft.how)) draft.how = open.ways[0].name;
    if (draft.question !== "" && !known.includes(draft.question)) draft.question = known[0] ?? "";
    draft.questions = (draft.questions ?? []).filter((id) => known.includes(id));
    if (!draft.questions.length && !draft.chose) {
      // A label does not change until every question that gives it is overridden.
      const giving = open.asked.filter((one) => one.gives).map((one) => one.id);
      Object.assign(draft, { questions: giving.length ? giving : known.slice(0, 1), rating: null });
    }
    if (!open.judged.includes(draft.source)) draft.source = open.judged[0] || "";
  }

  get lacks() {
    const { how, questions, rating } = this.draft;
    if (how !== "override") return "";
    if (!questions.length) return "Choose a question first";
    return Number.isInteger(rating) ? "" : "Choose a rating first";
  }

  // The server's answer, if it is about the present content of the form.
  get weighed() {
    const { how, questions, rating } = this.draft;
    const fits = (one) => one?.case === this.data.open.id && one.rating === rating && same(one.questions, questions);
    return how === "override" && fits(this.answer) ? this.answer : null;
  }

  change(values) {
    Object.assign(this.draft, values);
    this.keep();
    this.update({ trouble: null });
  }

  // Ask the server for the effect of the rating; the form stays usable meanwhile.
  ask() {
    const { how, questions, rating } = this.draft;
    const wanted = { case: this.data.open.id, questions, rating };
    if (how !== "override" || this.lacks || this.weighed || same(this.weighing, wanted)) return;
    this.weighing = wanted;
    this.act("weigh", wanted);
  }

  form(open) {
    this.prepare(open);
    const { how, reason = "" } = this.draft;
    const { message, hint } = this.trouble ?? {};
    const leaves = how !== "override" || !this.weighed || this.weighed.agrees || Boolean(this.draft.leaves);
    const words = how === "edit" ? "Edit in question bank" : leaves ? "Resolve case" : "Override and keep case open";
    return h("form.settle", { "aria-label": "Resolve this case", novalidate: true,
      onsubmit: (event) => this.submit(event, leaves) },
      segments("how", "Resolve by", open.ways.map((way) => [way.name, way.title]), how,
        (name) => this.change({ how: name })),
      h("div.fields", { key: how },
        h("p.quiet", open.ways.find((way) => way.name === how).says),
        how === "edit" && this.blamed(open),
        how === "override" && [this.overridden(open), this.ratings(open)],
        how === "dispute" && open.judged.length > 1 && segments("source", "Source of the judgment",
          open.judged.map((one) => [one, one]), this.draft.source, (source) => this.change({ source }))),
      h("div.effect", { role: "status", hidden: how !== "override" }, this.weighed && this.effect(this.weighed)),
      h("div.foot",
        h("div.trouble", { role: "alert" }, message && [h("b", message), ` ${hint}`]),
        h("label.said", h("span", how === "comment" ? "Comment" : "Reason"),
          h("input.reason", { type: "text", value: reason, autocomplete: "off", required: true,
            placeholder: "Explain briefly (required)",
            oninput: ({ target }) => this.change({ reason: target.value }) })),
        h("div.buttons", { title: this.lacks },
          h("button.first", { type: "submit", disabled: Boolean(this.lacks) }, words))));
  }

  question(one, input) {
    const rated = chip(one.rating, one.rating === null ? "no rating" : `rated ${one.rating}`);
    return h("label.question", input, rated, h("span", { dir: "auto" }, one.text),
      one.gives && h("span.mark", "sets the label"));
  }

  // The choice of the question that is wrong, or of no question.
  blamed(open) {
    const blame = (id) => radio("question", id, this.draft.question, (question) => this.change({ question }));
    return h("div.asked", { role: "radiogroup", "aria-label": "Question" },
      open.asked.map((one) => this.question(one, blame(one.id))),
      h("label.question", blame(""), h("span", "The question bank lacks a question")));
  }

  // The questions that get another rating, in the order of the list; by default those that give the label.
  overridden({ asked }) {
    const { questions } = this.draft;
    const known = asked.map((one) => one.id);
    const choose = (ids) => this.change({ questions: known.filter((id) => ids.includes(id)), chose: true });
    const box = (checked, ids, given) => checkBox(checked, (on) =>
      choose(on ? [...questions, ...ids] : questions.filter((id) => !ids.includes(id))), given);
    return h("div.asked", { role: "group", "aria-label": "Questions" },
      known.length > 1 && h("label.question", { key: "all" },
        box(questions.length === known.length, known), h("span", `All ${known.length} questions`)),
      asked.map((one) => this.question(one,
        box(questions.includes(one.id), [one.id], { "data-overrides": one.id }))));
  }

  ratings(open) {
    const { questions, rating: held } = this.draft;
    return h("div.ratings-of", { role: "radiogroup", "aria-label": "New rating" },
      quiet(`New rating of ${plural(questions.length, "question")}`),
      open.ratings.map((value) => h(`label.rating.chip.r${value}`,
        radio("rating", value, held, (rating) => this.change({ rating }), { "aria-label": value }), h("span", value))),
      this.weighed?.agrees === false && this.higher());
  }

  // A label stays above the new rating until every question with a higher rating is overridden.
  higher() {
    const { rating, questions } = this.draft;
    const all = this.data.open.asked.filter((one) => one.rating > rating || questions.includes(one.id));
    const more = all.length - questions.length;
    return more > 0 && h("button.link", { type: "button",
      onclick: () => this.change({ questions: all.map((one) => one.id), chose: true }) },
      `Select ${plural(more, "more question")} rated above ${rating}`);
  }

  effect({ words, moves, agrees }) {
    return [
      h("div", { class: moves ? "moves" : "" }, words),
      this.data.open.alone && h("p.quiet",
        "This table leaves overrides out. An override changes the labels, but not this table."),
      !agrees && h("label.leaves",
        checkBox(Boolean(this.draft.leaves), (leaves) => this.change({ leaves })),
        "The sides will still disagree. Resolve the case anyway"),
    ];
  }

  submit(event, leaves) {
    event.preventDefault();
    const { how, question, questions, rating, source, reason = "" } = this.draft;
    if (this.lacks) return;
    if (!reason.trim()) {
      this.update({ trouble: { message: "The reason is empty.", hint: "Explain briefly why you resolve this case." } });
      this.find("input.reason").focus();
      return;
    }
    const { id, values } = this.data.open;
    this.act("settle", { case: id, values, how, question, questions, rating, source, reason, leaves });
  }
};
