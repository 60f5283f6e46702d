const PAUSE = 600;
const FEW = 8;
const lists = new WeakMap();

const FIGURES = [
  ["answered", "answered", "of the graded passages answer it at the min rating"],
  ["non_relevant", "non-relevant", "of the judged passages that answer it are non-relevant"],
  ["only_here", "only this question", "of the passages judged relevant answer only this question"],
  ["systems", "of systems", "of the systems with a usable grade answer it within the cutoff"],
];

function percent(share) {
  return `${Math.round(share * 100)}%`;
}

// One question: its fields, its remarks, and its details, which are made when they are opened.
class Row {
  constructor(list, id) {
    this.list = list;
    this.id = id;
    this.fields = {};
    this.seen = "";
    this.text = this.field("text", make("textarea", { rows: 1, "aria-label": "Question" }));
    this.grow = make("div", { className: "grow" }, this.text);
    this.weight = this.field("weight", make("input", { type: "number", step: 0.5, "aria-label": "Weight", className: "weight" }));
    this.active = this.field("active", make("input", { type: "checkbox", "aria-label": "Active" }));
    this.more = make("button", {
      type: "button", className: "more", "data-key": "details", textContent: "⋮", title: "Details, split, history",
      "aria-label": "Details", "aria-expanded": "false", onclick: () => this.unfold(!this.open),
    });
    this.said = make("div", { className: "said" });
    this.node = make("li", { className: "row" },
      make("div", { className: "line" }, this.grow, this.weight, make("label", { className: "active", title: "Clear to retire the question. Retired questions do not count." }, this.active), this.more),
      this.said);
    this.node.dataset.question = id;
  }

  field(name, box) {
    const state = { box, name, timer: null, typed: false, base: undefined, stint: 0 };
    this.fields[name] = state;
    box.dataset.key = name;
    const at = box.type === "checkbox" || box.tagName === "SELECT" ? "change" : "input";
    box.addEventListener("focus", () => (state.stint = channel.last + 1));
    box.addEventListener(at, () => {
      if (!state.typed) state.base = this.base(name);
      state.typed = true;
      if (name === "text") this.grow.dataset.words = box.value;
      clearTimeout(state.timer);
      if (at === "change") this.flush();
      else state.timer = setTimeout(() => this.flush(), PAUSE);
    });
    box.addEventListener("blur", () => this.flush(true));
    return box;
  }

  read({ box, name }) {
    if (box.type === "checkbox") return box.checked;
    if (name === "weight") return box.value.trim() === "" || Number.isNaN(box.valueAsNumber) ? undefined : box.valueAsNumber;
    return box.value;
  }

  // The value that the person saw in a field: the pending edit, or the stored value.
  base(name) {
    const edit = channel.edit(this.id, name);
    if (!edit) return this.data[name];
    if (!(edit.n in channel.refused)) return edit.value;
    return channel.refused[edit.n] === null ? this.data[name] : edit.base;
  }

  // The value to show in a field without focus: a pending or refused edit, else the stored value.
  value(name) {
    const edit = channel.edit(this.id, name);
    const mine = edit && channel.refused[edit.n] !== null;
    return mine ? edit.value : this.data[name];
  }

  flush(left = false) {
    for (const state of Object.values(this.fields)) {
      clearTimeout(state.timer);
      if (!state.typed) continue;
      const value = this.read(state);
      if (value === undefined && !left) continue;
      state.typed = false;
      if (value === undefined || value === (state.base ?? "")) {
        // Typed back to the former value: nothing to send, unless another edit is pending.
        if (left) this.put(state);
        if (!channel.edit(this.id, state.name)) continue;
        if (value === undefined) continue;
      }
      channel.refuse(this.id, state.name);
      channel.push({ act: "edit", id: this.id, field: state.name, value, base: state.base, stint: state.stint });
      // The next value from the server may equal the one shown before, as after an immediate undo. The field must
      // still be updated.
      this.seen = "";
    }
  }

  put(state) {
    const { box, name } = state;
    // A field in use keeps its text and caret.
    if (state.typed) return;
    const value = this.value(name);
    if (box.type === "checkbox") box.checked = value;
    else if (name === "weight") {
      if (box.valueAsNumber !== value) box.value = value;
    } else if (box.value !== (value ?? "")) box.value = value ?? "";
    if (name === "text") this.grow.dataset.words = box.value;
    box.disabled = this.list.data.readonly;
  }

  show(data) {
    this.data = data;
    const coming = channel.coming().filter((act) => act.id === this.id);
    const now = JSON.stringify([data, coming, this.list.data.readonly, this.list.data.refused]);
    if (now === this.seen) return;
    this.seen = now;
    this.node.classList.toggle("changed", Boolean(data.done));
    this.node.classList.toggle("retired", !data.active);
    this.text.placeholder = data.lost ? `Unknown wording of ${this.id}. Import a question bank that has it.` : "Enter a question";
    const most = Math.max(this.list.data.most, Math.abs(data.weight));
    this.weight.max = most;
    this.weight.min = -most;
    for (const state of Object.values(this.fields)) this.put(state);
    this.say();
  }

  say() {
    const { data } = this;
    const said = [];
    const word = (text, name, title = "") => said.push(make("span", { className: name, textContent: text, title }));
    if (data.done) word(`${data.done}, unsaved`, "state changed");
    if (data.wordless) word("empty wording: cannot be saved", "state wordless");
    if (data.lost) word("original wording unknown: a new wording starts without grades", "state");
    if (data.start) word(`Created from: ${data.start}`, "fact");
    if (data.subtopic_id) word(`subtopic ${data.subtopic_id}`, "fact");
    if (data.kind !== "question") word(data.kind, "fact");
    if (!data.active && !data.done) word("retired", "fact");
    if (data.figures) said.push(...this.figures(data.figures));
    if (data.done) said.push(make("button", { type: "button", textContent: "Discard change", "data-key": "take back", onclick: () => this.act("take back") }));
    if (data.twin) word(data.twin, "state twin");
    for (const edit of channel.acts.filter((act) => act.act === "edit" && act.id === this.id && act.n in channel.refused)) {
      said.push(this.refused(edit));
    }
    const pressed = this.said.contains(focused()) && focused().textContent;
    this.said.replaceChildren(...said);
    // The focused button was recreated or removed; keyboard focus stays in the row.
    if (pressed) ([...this.said.querySelectorAll("button")].find((one) => one.textContent === pressed) ?? this.text).focus({ preventScroll: true });
  }

  figures(given) {
    if (!given.graded) return [make("span", { className: "state", textContent: "ungraded", title: "No grades yet. Ungraded does not count as 0." })];
    const bars = FIGURES.filter(([name]) => given[name] !== null).map(([name, label, words]) => {
      const share = percent(given[name]);
      // Bars of 0% are hidden.
      const zero = share === "0%";
      const bar = make("span", { className: "bar", hidden: zero });
      bar.style.setProperty("--share", share);
      const verdict = name === "systems" && given.verdict ? `, ${given.verdict}` : "";
      const meaning = verdict && `. ${given.verdict}: ${given.meaning}`;
      return make("span", { className: `figure ${name}${zero ? " zero" : ""}`, title: `${share} ${words}${meaning}` },
        bar, make("b", { textContent: share }), ` ${label}${verdict}`);
    });
    if (given.graded < 1) bars.push(make("span", { className: "state", textContent: `${percent(given.graded)} graded` }));
    return bars;
  }

  // An edit that could not be stored, or that conflicts with another window: the person chooses here.
  refused(edit) {
    const why = channel.refused[edit.n];
    const given = edit.value === null || edit.value === "" ? "an empty value" : `“${edit.value}”`;
    const choose = (key, label, does) => make("button", { type: "button", "data-key": key, textContent: label, onclick: does });
    const leave = choose("leave", "Discard my input", () => {
      channel.refuse(this.id, edit.field);
      channel.push({ act: "leave" });
    });
    if (why !== null) return make("div", { className: "refused", role: "alert" }, make("b", { textContent: "Not saved. " }), `${why} `, leave);
    return make("div", { className: "refused crossed" },
      make("span", { className: "state", textContent: "Changed in your other window. The new value is shown above. " }),
      make("span", { textContent: `Your input here: ${given}.` }),
      choose("take mine", "Use my input", () => {
        channel.refuse(this.id, edit.field);
        channel.push({ act: "edit", id: this.id, field: edit.field, value: edit.value, base: this.data[edit.field] });
      }),
      leave);
  }

  act(name, more = {}) {
    if (name === "dialog") comeBack();
    channel.flush();
    channel.push({ act: name, id: this.id, ...more });
  }

  unfold(open) {
    this.open = open;
    this.more.setAttribute("aria-expanded", String(open));
    if (open && !this.details) this.detail();
    if (this.details) this.details.hidden = !open;
  }

  detail() {
    const labelled = (label, box) => make("label", { className: box.tagName === "TEXTAREA" ? "wide" : "" }, make("span", { textContent: label }), box);
    const kinds = this.list.data.kinds.map((kind) => make("option", { value: kind, textContent: kind }));
    const boxes = [
      labelled("Kind", this.field("kind", make("select", { "aria-label": "Kind" }, ...kinds))),
      labelled("Subtopic", this.field("subtopic_id", make("input", { type: "text", "aria-label": "Subtopic" }))),
      labelled("Answer key", this.field("answer_key", make("input", { type: "text", "aria-label": "Answer key" }))),
      labelled("Note", this.field("note", make("textarea", { rows: 2, "aria-label": "Question note" }))),
    ];
    const button = (label, does, key = "") => make("button", { type: "button", "data-key": key, textContent: label, onclick: does });
    const dialog = (name) => () => this.act("dialog", { name });
    const buttons = [
      button("Duplicate", () => this.act("duplicate")),
      button("Move up", () => this.act("move", { up: true })),
      button("Move down", () => this.act("move", { up: false })),
      button("Split question", dialog("split")),
      button("Show effect alone", dialog("solo")),
      ...(this.data.isNew ? [] : [button("History", dialog("history"), "history")]),
    ];
    this.details = make("div", { className: "details" },
      make("div", { className: "boxes" }, ...boxes),
      make("div", { className: "buttons" }, ...buttons, make("span", { className: "fact", textContent: `Id ${this.id}` })));
    this.node.append(this.details);
    for (const state of Object.values(this.fields)) this.put(state);
  }
}

// A closed dialog returns the focus to its opener, but does not find openers inside components.
let closing = null;

function comeBack() {
  const opener = focused();
  let open = false;
  closing?.disconnect();
  closing = new MutationObserver(() => {
    const there = document.querySelector("[data-testid=stDialog]") !== null;
    if (open && !there) {
      closing.disconnect();
      requestAnimationFrame(() => document.activeElement === document.body && opener.focus({ preventScroll: true }));
    }
    open = there;
  });
  closing.observe(document.body, { childList: true, subtree: true });
}

// The questions of one query in order, including new ones that the server does not know yet.
class List {
  constructor(parent) {
    this.rows = new Map();
    this.turns = 0;
    this.query = null;
    const button = (label, does, set = {}) => make("button", { type: "button", textContent: label, onclick: does, ...set });
    const go = (where) => () => this.data.query[where] && this.act("open", { query: this.data.query[where] });
    this.title = make("h2");
    this.place = make("span", { className: "place" });
    this.previous = button("‹", go("previous"), { "aria-label": "Previous query", title: "Previous query (Alt+K)", "aria-keyshortcuts": "Alt+K" });
    this.next = button("›", go("next"), { "aria-label": "Next query", title: "Next query (Alt+J)", "aria-keyshortcuts": "Alt+J" });
    this.previous.append(keyHint("Alt+K"));
    this.next.append(keyHint("Alt+J"));
    this.find = make("input", { type: "search", placeholder: "Find a question", "aria-label": "Find a question", oninput: () => this.filter() });
    this.topic = make("select", { "aria-label": "Filter by subtopic", onchange: () => this.choose() });
    this.filters = make("div", { className: "filters" }, this.find, this.topic);
    const help = make("details", { className: "help" },
      make("summary", { textContent: "About these numbers" }),
      make("p", { textContent: "Questions with weight 0 do not count. A negative weight marks content that a response should not have." }),
      make("ul", {}, ...FIGURES.map(([, label, words]) => make("li", {}, make("b", { textContent: label }), `: x% ${words}.`))));
    this.head = make("div", { className: "columns" }, help, make("span", { textContent: "Weight" }), make("span", { textContent: "Active" }));
    this.list = make("ol");
    this.about = make("p", { className: "about" });
    this.empty = make("p", { className: "empty" });
    this.near = make("input", { type: "checkbox", onchange: () => this.act("near", { on: this.near.checked }) });
    this.several = button("Edit several", () => this.act("dialog", { name: "several" }), { "data-key": "several" });
    this.more = button("+ Add question", () => this.add(), { className: "main", "data-key": "add", title: "Alt+N", "aria-keyshortcuts": "Alt+N", "aria-label": "Add question" });
    this.more.append(keyHint("Alt+N"));
    const tools = make("div", { className: "tools" },
      this.more,
      button("Paste questions", () => this.act("dialog", { name: "paste" })),
      this.several,
      make("label", { title: "Mark questions that the embedding model finds similar." }, this.near, " Near-duplicates"));
    parent.append(make("section", {},
      make("header", {}, this.title, make("div", { className: "steps" }, this.previous, this.place, this.next)),
      this.filters, this.about, this.head, this.list, this.empty, tools));
  }

  act(name, more = {}) {
    if (name === "dialog") comeBack();
    channel.flush();
    channel.push({ act: name, ...more });
  }

  flush() {
    for (const row of this.rows.values()) row.flush();
  }

  // The row appears at once. Its id is made here, so that typed text can refer to it.
  add() {
    if (this.data.readonly) {
      this.act("add", { query: this.data.query.id, name: "" });
      return;
    }
    const bytes = crypto.getRandomValues(new Uint8Array(6));
    const name = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    channel.flush();
    channel.push({ act: "add", query: this.data.query.id, name });
    this.draw();
    this.enter(`${this.data.query.id}/${name}`);
  }

  enter(id) {
    const row = this.rows.get(id);
    if (!row) return;
    row.node.hidden = false;
    row.text.focus({ preventScroll: true });
    row.node.scrollIntoView({ block: "center" });
  }

  show(data) {
    this.data = data;
    channel.hear(data, true);
    const { query } = data;
    if (this.query !== query.id) {
      for (const row of this.rows.values()) {
        row.flush();
        row.node.remove();
      }
      this.rows.clear();
      this.find.value = "";
      // Another query is shown from its top.
      if (this.query !== null) document.querySelector("[data-testid=stMain]")?.scrollTo({ top: 0 });
      this.query = query.id;
    }
    this.title.textContent = query.text;
    this.place.textContent = `${query.at} of ${query.of}`;
    this.previous.disabled = !query.previous;
    this.next.disabled = !query.next;
    this.near.checked = data.near;
    this.several.hidden = data.rows.length < 2;
    const topics = ["", ...data.subtopics].map((topic) => make("option", { value: topic, textContent: topic || "All subtopics" }));
    this.topic.replaceChildren(...topics);
    this.topic.value = data.subtopic;
    this.topic.hidden = !data.subtopics.length;
    this.about.textContent = data.about;
    this.about.hidden = !data.about;
    this.filters.hidden = data.rows.length < FEW && !data.subtopics.length;
    this.draw();
    if (data.turns !== this.turns) {
      this.turns = data.turns;
      this.enter(data.focus);
    }
  }

  draw() {
    const known = new Set(this.data.rows.map((row) => row.id));
    const begun = channel.coming()
      .filter((act) => act.act === "add" && act.query === this.query && act.name && act.author === this.data.author)
      .map((act) => `${act.query}/${act.name}`)
      .filter((id) => !known.has(id))
      .map((id) => ({ id, text: "", weight: 1, active: true, kind: "question", subtopic_id: null, answer_key: null, note: null, isNew: true, done: "added" }));
    const wanted = [...this.data.rows, ...begun];
    const caret = focused();
    const there = new Set(wanted.map((row) => row.id));
    let left = null;
    for (const [id, row] of this.rows) {
      if (there.has(id)) continue;
      if (row.node.contains(caret)) left = [...this.list.children].indexOf(row.node);
      row.node.remove();
      this.rows.delete(id);
    }
    let at = this.list.firstElementChild;
    for (const data of wanted) {
      let row = this.rows.get(data.id);
      if (!row) this.rows.set(data.id, (row = new Row(this, data.id)));
      if (row.node === at) at = at.nextElementSibling;
      else this.list.insertBefore(row.node, at);
      row.show(data);
    }
    // Moving a row removes the caret from it.
    if (caret?.isConnected && caret !== focused() && this.list.contains(caret)) caret.focus({ preventScroll: true });
    this.filter();
    // If the focused row is gone, the row that takes its place gets the focus.
    if (left !== null) (this.rows.get(wanted[Math.min(left, wanted.length - 1)]?.id)?.text ?? this.more).focus({ preventScroll: true });
  }

  choose() {
    this.filter();
    channel.push({ act: "subtopic", chosen: this.topic.value });
  }

  filter() {
    const words = this.find.value.toLowerCase();
    let shown = 0;
    for (const [id, row] of this.rows) {
      const fits = (row.text.value || id).toLowerCase().includes(words) && (!this.topic.value || row.data.subtopic_id === this.topic.value);
      row.node.hidden = !(fits || row.data.isNew || row.fields.text.typed || row.said.querySelector(".refused"));
      shown += row.node.hidden ? 0 : 1;
    }
    this.head.hidden = !shown;
    this.empty.hidden = shown > 0;
    this.empty.textContent = this.rows.size ? "No matching questions." : "This query has no questions yet. Each should ask for one essential piece of information.";
  }
}

export default function ({ data, parentElement }) {
  let list = lists.get(parentElement);
  if (!list) lists.set(parentElement, (list = new List(parentElement)));
  channel.join(list);
  globalThis.examWorkbenchBank.add = () => list.add();
  list.show(data);
  return () => {
    list.flush();
    channel.leave(list);
    lists.delete(parentElement);
  };
}
