// The questions of one query in order, including new ones that the server does not know yet.

// Milliseconds without typing after which typed text is sent.
const PAUSE = 600;
// Fewer questions need no filter.
const FEW = 8;

const ABOUT = ["Weights count for EXAM-Cover (the share of answered questions) and the weighted mean, not for labels.",
  "Questions with weight 0 do not count. A negative weight marks content that a response should not have.",
  "A chip says how many systems answer the question within the cutoff: none, some or every one."];
const EMPTY = { text: "", weight: 1, active: true, kind: "question", subtopic_id: null, answer_key: null, note: null };

KINDS.questions = class extends Part {
  typed = new Map(); // Text in fields that is not sent yet, by question and field.
  stints = new Map(); // Numbers of visits of fields: edits of one visit are undone together.
  unfolded = new Set();
  picked = new Set(); // Ids of the questions that are checked.
  words = "";
  turns = 0;

  leave() {
    this.flush();
  }

  hear(data) {
    channel.questions = this;
    channel.hear(data, true);
    if (this.before && this.before.query.id !== data.query.id) {
      this.flush();
      this.typed.clear();
      this.picked.clear();
      this.words = "";
      // Another query is shown from its top.
      document.querySelector(STREAMLIT.main)?.scrollTo({ top: 0 });
    }
    this.topic = data.subtopic;
  }

  drawn({ turns, focus }) {
    if (turns === this.turns) return;
    this.turns = turns;
    this.enter(focus);
  }

  // The row appears at once. Its id is made here, so that typed text can refer to it.
  add() {
    const query = this.data.query.id;
    if (this.data.readonly) return channel.act("add", { query, name: "" });
    const name = crypto.getRandomValues(new Uint8Array(6)).toHex();
    channel.act("add", { query, name });
    this.redraw();
    this.enter(`${query}/${name}`);
    return `${query}/${name}`;
  }

  // Discard a question that Enter added and that is still empty, when the person leaves it or saves.
  tidy() {
    const row = this.rows.find((one) => one.id === this.fresh);
    this.fresh = null;
    if (row && !this.value(row, "text")) channel.act("take back", { id: row.id });
  }

  enter(id) {
    const row = this.row(id);
    if (!row) return;
    row.hidden = false;
    row.querySelector("textarea").focus({ preventScroll: true });
    row.scrollIntoView({ block: "center" });
  }

  row(id) {
    return this.find(`[data-question="${CSS.escape(id)}"]`);
  }

  get rows() {
    const { rows, query, author } = this.data;
    const begins = (act) => act.act === "add" && act.query === query.id && act.name && act.author === author;
    const begun = channel.coming.filter(begins).map((act) => `${act.query}/${act.name}`);
    const fresh = begun.filter((id) => !rows.some((row) => row.id === id));
    return [...rows, ...fresh.map((id) => ({ ...EMPTY, id, isNew: true, done: "added" }))];
  }

  // Fields

  // The value that the person saw in a field: the pending edit, or the stored value.
  base(row, name) {
    const edit = channel.edit(row.id, name);
    if (!edit) return row[name];
    if (!(edit.n in channel.refused)) return edit.value;
    return channel.refused[edit.n] === null ? row[name] : edit.base;
  }

  // The value to show: what is being typed, a pending or refused edit, or the stored value.
  value(row, name) {
    const typed = this.typed.get(`${name} ${row.id}`);
    const edit = channel.edit(row.id, name);
    return typed ? typed.text : edit && channel.refused[edit.n] !== null ? edit.value : row[name];
  }

  field(selector, row, name, given, ...inside) {
    const key = `${name} ${row.id}`;
    const box = given.type === "checkbox";
    const value = this.value(row, name) ?? "";
    const at = selector === "select" || box ? "onchange" : "oninput";
    const change = ({ target }) => {
      const { base } = this.typed.get(key) ?? { base: this.base(row, name) };
      const text = box ? target.checked : target.value;
      const read = name === "weight" ? target.valueAsNumber : text;
      // An unfinished number is no value.
      this.typed.set(key, { id: row.id, name, base, text, value: Number.isNaN(read) ? undefined : read });
      clearTimeout(this.timer);
      if (at === "onchange") return this.flush();
      this.timer = setTimeout(() => this.flush(), PAUSE);
      this.redraw();
    };
    const shown = box ? { checked: Boolean(value) } : { value: this.typed.has(key) ? undefined : value };
    const onblur = ({ relatedTarget }) => {
      this.flush(row.id);
      if (row.id === this.fresh && !this.row(row.id)?.contains(relatedTarget)) this.tidy();
    };
    return h(selector, { key: name, "data-key": name, disabled: this.data.readonly, ...given, ...shown, [at]: change,
      onfocus: () => this.stints.set(key, channel.last + 1), onblur }, ...inside);
  }

  // Send typed text; a left field without a valid value shows its former value again.
  flush(left = null) {
    for (const [key, { id, name, base, value }] of this.typed) {
      if (value === undefined && id !== left) continue;
      this.typed.delete(key);
      // Typed back to the former value: nothing to send, unless another edit is pending.
      if (value === undefined || (value === (base ?? "") && !channel.edit(id, name))) continue;
      channel.refuse(id, name);
      channel.push({ act: "edit", id, field: name, value, base, stint: this.stints.get(key) });
    }
    this.redraw();
  }

  // The list

  redraw() {
    const at = focused();
    const left = at?.closest("[data-question]");
    const place = left ? [...left.parentNode.children].indexOf(left) : -1;
    super.redraw();
    if (!left || at.isConnected || !this.root.isConnected) return;
    // The focused button or row is gone: the focus stays in the row, or moves to the row that takes its place.
    const rows = this.findAll("[data-question] textarea");
    const next = this.row(left.dataset.question)?.querySelector("textarea") ?? rows[Math.min(place, rows.length - 1)];
    (next ?? this.find("[data-key=add]")).focus({ preventScroll: true });
  }

  view(data) {
    const { query, readonly, subtopics } = data;
    const rows = this.rows.map((row) => [row, this.fits(row)]);
    const shown = rows.some(([, fits]) => fits);
    const step = (id, sign, key, words) => h("button", { "aria-label": words, title: `${words} (${key})`,
      "aria-keyshortcuts": key, disabled: !id, onclick: () => channel.act("open", { query: id }) }, sign, keyHint(key));
    const choose = ({ target }) => {
      this.update({ topic: target.value });
      channel.push({ act: "subtopic", chosen: this.topic });
    };
    const empty = "This query has no questions yet. Each should ask for one essential piece of information.";
    return h("section.questions",
      h("header", h("h2", { dir: "auto" }, query.text),
        h("div.steps",
          step(query.previous, "‹", "Alt+K", "Previous query"), h("span.place", `${query.at} of ${query.of}`),
          step(query.next, "›", "Alt+J", "Next query"))),
      h("div.filters", { hidden: data.rows.length < FEW && !subtopics.length },
        searchBox(this, "Find a question"),
        h("select", { "aria-label": "Filter by subtopic", hidden: !subtopics.length, value: this.topic,
          onchange: choose },
          ["", ...subtopics].map((topic) => h("option", { value: topic }, topic || "All subtopics")))),
      data.about && h("p.about", data.about),
      h("div.columns", { hidden: !shown },
        this.pick("Select all questions", rows.filter(([, fits]) => fits).map(([row]) => row.id)),
        h("details", h("summary", "About weights and chips"), ABOUT.map((words) => h("p", words))),
        h("span", "Weight"), h("span", "Active")),
      h("ol", rows.map(([row, fits]) => {
        const coming = channel.coming.filter((act) => act.id === row.id);
        const typed = [...this.typed.values()].filter((one) => one.id === row.id).map((one) => [one.name, one.text]);
        const memo = JSON.stringify([row, fits, coming, typed, readonly, data.refused, data.most,
          this.unfolded.has(row.id), this.picked.has(row.id)]);
        const kind = `${row.done ? "changed" : ""} ${row.active ? "" : "retired"}`;
        return h("li.row", { key: row.id, memo, class: kind, hidden: !fits, "data-question": row.id },
          () => this.question(row));
      })),
      !shown && h("p.empty", rows.length ? "No matching questions." : empty),
      this.picked.size ? this.bar() : h("div.tools",
        h("button.main", { "data-key": "add", title: "Alt+N", "aria-keyshortcuts": "Alt+N",
          "aria-label": "Add question", onclick: () => this.add() }, "+ Add question", keyHint("Alt+N")),
        h("button", { "data-key": "paste", onclick: () => channel.act("dialog", { name: "paste" }) },
          "Paste questions"),
        h("label", { title: "Mark questions that the embedding model finds similar." },
          checkBox(data.near, (on) => channel.act("near", { on })), " Near-duplicates")));
  }

  // A check box that selects questions.
  pick(words, ids) {
    const own = new Set(ids);
    const checked = ids.length > 0 && own.isSubsetOf(this.picked);
    const pick = (on) => this.update({ picked: on ? this.picked.union(own) : this.picked.difference(own) });
    return checkBox(checked, pick, { class: "pick", "aria-label": words, title: words, disabled: this.data.readonly });
  }

  // What can be done with the selected questions.
  bar() {
    const ids = this.rows.map((row) => row.id).filter((id) => this.picked.has(id));
    const change = (what, value) => {
      channel.act("several", { ids, what, value });
      this.update({ picked: new Set() });
    };
    const button = (words, what, more) =>
      h("button", { "data-key": `${what} chosen`, onclick: () => change(what), ...more }, words);
    const weight = () => change("weight", this.find("[data-key='weight of chosen']").valueAsNumber);
    return h("div.tools.chosen", { role: "toolbar", "aria-label": "Selected questions" },
      h("b", `${ids.length} selected`),
      button("Merge", "merge", { disabled: ids.length < 2, title: "Join the wordings into one new question" }),
      button("Retire", "retire"), button("Restore", "restore"),
      h("input.weight", { "data-key": "weight of chosen", type: "number", step: 0.5, value: this.weight ?? 1,
        "aria-label": "Weight of the selected questions", min: -this.data.most, max: this.data.most,
        oninput: ({ target }) => (this.weight = target.valueAsNumber) }),
      button("Set weight", "weight", { onclick: weight }),
      button("Clear selection", "clear", { onclick: () => this.update({ picked: new Set() }) }));
  }

  fits(row) {
    const typed = [...this.typed.values()].some((one) => one.id === row.id);
    const text = String(this.value(row, "text") || row.id).toLowerCase();
    const fits = text.includes(this.words.toLowerCase()) && (!this.topic || row.subtopic_id === this.topic);
    return fits || row.isNew || typed || this.refusedEdits(row.id).length > 0;
  }

  refusedEdits(id) {
    return channel.acts.filter((act) => act.act === "edit" && act.id === id && act.n in channel.refused);
  }

  question(row) {
    const open = this.unfolded.has(row.id);
    const most = Math.max(this.data.most, Math.abs(row.weight));
    const unfold = () => this.update({ unfolded: this.unfolded.symmetricDifference(new Set([row.id])) });
    const hint = row.lost ? `Unknown wording of ${row.id}. Import a question bank that has it.` : "Enter a question";
    return [
      h("div.line",
        this.pick("Select question", [row.id]),
        h("div.grow", { "data-words": this.value(row, "text") ?? "" },
          this.field("textarea", row, "text", { rows: 1, "aria-label": "Question", placeholder: hint,
            onkeydown: (event) => this.entered(event) })),
        this.field("input.weight", row, "weight",
          { type: "number", step: 0.5, "aria-label": "Weight", min: -most, max: most }),
        h("label.active", { title: "Clear to retire the question. Retired questions do not count." },
          this.field("input", row, "active", { type: "checkbox", "aria-label": "Active" })),
        h("button.more", { "data-key": "details", title: "Details, retire, split, history", "aria-label": "Details",
          "aria-expanded": String(open), onclick: unfold }, "⋮")),
      h("div.remarks", this.remarks(row)),
      open && this.details(row),
    ];
  }

  // Enter adds the next question, unless this one is still empty.
  entered(event) {
    if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (event.target.value.trim()) this.fresh = this.add();
  }

  remarks(row) {
    const state = (words, kind = "") => h("span.state", { class: kind }, words);
    const fact = (words) => h("span.fact", words);
    return [
      row.done && state(`${row.done}, unsaved`, "changed"),
      row.wordless && state("empty wording: cannot be saved", "wordless"),
      row.lost && state("original wording unknown: a new wording starts without grades"),
      row.start && fact(`Created from: ${row.start}`),
      row.subtopic_id && fact(`subtopic ${row.subtopic_id}`),
      row.kind !== "question" && fact(row.kind),
      !row.active && !row.done && fact("retired"),
      row.figures && h("span.reach", { class: row.figures.kind, title: row.figures.numbers.join("\n") },
        row.figures.words),
      row.figures?.part && h("span.state", row.figures.part),
      row.done && h("button", { key: "take back", "data-key": "take back",
        onclick: () => channel.act("take back", { id: row.id }) }, "Discard change"),
      row.twin && state(row.twin, "twin"),
      this.refusedEdits(row.id).map((edit) => this.refused(row, edit)),
    ];
  }

  // An edit that could not be stored, or that conflicts with another window: the person chooses here.
  refused(row, edit) {
    const why = channel.refused[edit.n];
    const settle = (act) => {
      channel.refuse(row.id, edit.field);
      channel.push(act);
      this.redraw();
    };
    const choose = (key, words, act) => h("button", { "data-key": key, onclick: () => settle(act) }, words);
    const leave = choose("leave", "Discard my input", { act: "leave" });
    if (why !== null) return h("div.refused", { role: "alert" }, h("b", "Not saved. "), `${why} `, leave);
    const given = (edit.value ?? "") === "" ? "an empty value" : `“${edit.value}”`;
    return h("div.refused.crossed",
      h("span.state", "Changed in your other window. The new value is shown above. "),
      h("span", `Your input here: ${given}.`),
      choose("take mine", "Use my input",
        { act: "edit", id: row.id, field: edit.field, value: edit.value, base: row[edit.field] }),
      leave);
  }

  details(row) {
    const labelled = (words, box, kind = "") => h("label", { class: kind }, h("span", words), box);
    const button = (words, name, more, key = null) =>
      h("button", { "data-key": key, onclick: () => channel.act(name, { id: row.id, ...more }) }, words);
    return h("div.details",
      row.figures && h("ul", row.figures.numbers.map((words) => h("li", words))),
      h("div.boxes",
        labelled("Kind", this.field("select", row, "kind", { "aria-label": "Kind" },
          this.data.kinds.map((kind) => h("option", { value: kind }, kind)))),
        labelled("Subtopic", this.field("input", row, "subtopic_id", { type: "text", "aria-label": "Subtopic" })),
        labelled("Answer key", this.field("textarea", row, "answer_key", { rows: 2, "aria-label": "Answer key" }),
          "wide"),
        labelled("Note", this.field("textarea", row, "note", { rows: 2, "aria-label": "Question note" }), "wide")),
      h("div.buttons",
        button(row.active ? "Retire" : "Restore", "several", { ids: [row.id], what: row.active ? "retire" : "restore" },
          "retire"),
        button("Duplicate", "duplicate"),
        button("Move up", "move", { up: true }), button("Move down", "move", { up: false }),
        button("Split question", "dialog", { name: "split" }), button("Show effect alone", "dialog", { name: "solo" }),
        !row.isNew && button("Test new wordings", "dialog", { name: "repair" }),
        !row.isNew && button("History", "dialog", { name: "history" }, "history"),
        h("span.fact", `Id ${row.id}`)));
  }
};
