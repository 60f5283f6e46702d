// The judging desk: one passage at a time, a key for each judgment. The next passages are loaded already, so that
// keys do not wait for the server.

const keyOf = (card) => JSON.stringify([card.query, card.passage]);
const UNSENT = "exam-workbench-judging";
const LASTING = ["judge", "cannot say", "skip", "take back"];
const DONE = { skip: "Skipped.", "cannot say": "Recorded as not judgeable.", "take back": "Undone." };
const TOOLS = { "cannot say": ["Cannot judge", "c"], skip: ["Skip", "s"] };

KINDS.judging = class extends Desk {
  // Another person, audit or batch: earlier judgments belong to the former one.
  begin(home) {
    this.given = new Map(); // Judgments made here that the server may not have, by card.
    this.known = new Map(); // Every card that this tab has received.
    this.past = []; // Keys of cards, in the order in which they were judged here.
    this.notes = new Map(); // Unsent notes, by card.
    // The open card, the card whose label the person asked for, and the card that was judged last.
    this.at = this.asking = this.from = null;
    this.told = "";
    const { home: unsent, acts } = kept(localStorage, UNSENT);
    this.waiting = unsent === home ? acts : [];
    // These are the latest judgments, even if the server receives them only now, or has them already.
    for (const one of this.waiting) this.note(keyOf(one), one.id, one.do, one.value);
  }

  note(key, id, what, value = null) {
    this.given.set(key, { id, what, value });
    this.past = [...this.past.filter((other) => other !== key), ...(what === "take back" ? [] : [key])];
  }

  hear(data) {
    if (this.before?.home !== data.home) this.begin(data.home);
    this.keep();
    this.labels = new Map(data.labels.map((one) => [keyOf(one), one]));
    for (const [key, one] of this.given) if (one.id <= data.taken) this.given.delete(key);
    // Each card keeps its query and its text, which the server sends no more after a judgment, for an undo.
    for (const card of data.cards)
      this.known.set(keyOf(card), { ...this.known.get(keyOf(card)), ...card, of: data.queries[card.query] });
    const open = new Set(data.open.map((at) => keyOf(data.cards[at])));
    if (data.start && !same(data.start, this.before?.start)) this.at = this.went = keyOf(data.start);
    // A card that the person returned to stays open until they judge it.
    if (this.at && !open.has(this.at) && this.at !== this.went) this.at = null;
    const { error } = data;
    if (!error || error.id === this.refused) return;
    Object.assign(this, { refused: error.id, trouble: error });
    if (error.query) this.past = this.past.filter((key) => key !== keyOf(error));
  }

  // Actions that the server has not taken survive a closed tab; an action that arrives twice counts once.
  keep() {
    const acts = this.waiting.filter((one) => LASTING.includes(one.do));
    keep(localStorage, UNSENT, acts.length ? { home: this.data.home, acts } : null);
  }

  get card() {
    return this.known.get(this.at);
  }

  // A digit judges only a passage that is in view; otherwise it brings the passage back into view.
  key(event) {
    const { top, bottom } = this.find("div.passage")?.getBoundingClientRect() ?? { top: 0, bottom: 1 };
    const hidden = bottom < 0 || top > window.innerHeight;
    if (!hidden || !/^[0-9]$/.test(event.key) || isUsed(event)) return super.key(event);
    swallow(event);
    this.find("div.passage").scrollIntoView({ block: "center" });
  }

  judge(what, value = null, key = this.at) {
    const { query, passage } = this.known.get(key);
    const seen = this.data.seen || this.labels.has(key);
    const act = { query, passage, value, note: this.notes.get(key) ?? "", seen };
    this.trouble = null;
    this.note(key, this.act(what, act), what, value);
    this.keep();
    this.notes.delete(key);
    this.at = this.went = what === "take back" ? key : null;
    this.from = key;
    this.told = `${DONE[what] ?? `Judged ${value}.`} Next passage.`;
    this.redraw();
  }

  // The judgment to undo: the latest one of this tab, otherwise the latest one that the server knows.
  get latest() {
    const { latest } = this.data;
    const stored = latest && !this.given.has(keyOf(latest)) ? [keyOf(latest)] : [];
    return [...stored, ...this.past].filter((key) => this.known.has(key)).at(-1);
  }

  undo() {
    this.judge("take back", null, this.latest);
  }

  // The cards of the open query, also those that the server does not deal any more.
  get own() {
    const own = this.data.cards.filter((one) => one.query === this.card.query);
    return own.some((one) => keyOf(one) === this.at) ? own : [...own, this.card];
  }

  go(card) {
    if (!card) return;
    this.at = this.went = keyOf(card);
    if (this.card.text === undefined) this.act("open", { query: card.query, passage: card.passage });
    this.redraw();
  }

  // The next open card after the last judged one. The server's order may begin at an earlier place.
  get following() {
    const { open, cards } = this.data;
    const from = cards.findIndex((card) => keyOf(card) === this.from);
    const waiting = open.filter((at) => !this.given.has(keyOf(cards[at])));
    const later = waiting.filter((at) => at > from);
    const at = this.from && later.length ? Math.min(...later) : waiting[0];
    return at === undefined ? null : keyOf(cards[at]);
  }

  view(data) {
    this.at ??= this.following;
    const { card } = this;
    return h("div.judging.desk", { class: card ? "" : "idle" },
      this.progress(),
      h("div.trouble", { role: "alert" }, this.trouble && [h("strong", this.trouble.message), " ", this.trouble.hint]),
      h("p.unseen", { role: "status" }, card ? this.told : "No passage to judge."),
      card && h("header.query",
        h("h2", { dir: "auto" }, card.of.text),
        card.of.narrative && h("p.narrative", { dir: "auto", tabindex: 0 }, card.of.narrative)),
      card && this.list(),
      h("section.pane", { "aria-label": "Passage to judge" },
        card ? [card.again && quiet("Second judgment: another assessor has judged this passage."),
          this.passage(card), this.label()] : this.nothing()),
      card && this.keys(card),
      card && h("aside.asked", { tabindex: 0, "aria-label": "Questions of this query", key: `asked ${card.query}` },
        h("h3", card.of.questions.length ? "Questions of this query" : "This query has no questions."),
        h("ol", card.of.questions.map((words) => h("li", { dir: "auto" }, words)))));
  }

  drawn() {
    super.drawn();
    const { activeElement } = document;
    // The body, or an element around the desk, has the focus if no element of the page has it.
    const isFree = !activeElement || activeElement.contains(this.root.getRootNode().host);
    if (this.was !== this.at && this.at && isFree) this.find(".pane > [tabindex]").focus({ preventScroll: true });
    this.was = this.at;
  }

  progress() {
    const { done, drawn, of, mine, others } = this.data.progress;
    const made = [...this.given].filter(([, one]) => one.what === "judge" || one.what === "cannot say");
    const fresh = made.filter(([key]) => !this.known.get(key)?.settled).length;
    const now = Math.min(drawn, done + fresh);
    return h("div.progress",
      h("div.bar", { role: "progressbar", "aria-label": of, "aria-valuemin": 0, "aria-valuemax": drawn,
        "aria-valuenow": now },
        h("i", { style: { width: `${drawn ? (100 * now) / drawn : 0}%` } })),
      h("span", h("strong", now), ` of ${drawn} ${of}`),
      quiet([mine !== null && `${mine + fresh} by you`, others].filter(Boolean).join(" · ")),
      this.help());
  }

  passage(card) {
    const given = { key: this.at, dir: "auto", tabindex: 0, role: "group", "aria-label": "Passage" };
    if (card.text) return h("div.passage", given, card.text);
    return h("div.missing", given, card.text === undefined ? "Loading the passage …"
      : "This passage has no text, so you cannot judge it. Import the passages with their texts.");
  }

  // The passages of this query with the person's judgments; a judged passage can be judged again.
  list() {
    return h("ol.list", { "aria-label": "Passages of this query" }, this.own.map((one, at) => {
      const key = keyOf(one);
      const { value, says } = this.judged(one);
      return h("li", { key }, h("button.row", { "data-id": key, "aria-current": key === this.at && "true",
        "aria-label": `Passage ${at + 1}: ${says}`, onclick: () => this.go(one) },
        value === "?" ? h("span.chip.rnone", value) : chip(value),
        h("span.text", { dir: "auto" }, one.begins ?? this.known.get(key).text),
        one.about && h("span.said", one.about)));
    }));
  }

  judged(card) {
    const { what, value } = this.given.get(keyOf(card)) ?? { what: card.said, value: card.value };
    if (what === "judge" || what === "judged") return { value, says: `judged ${value}` };
    return what === "cannot say" ? { value: "?", says: "not judgeable" } : { value: null, says: "not judged yet" };
  }

  label() {
    const label = this.labels.get(this.at);
    const told = label && ["Grader's label: ", chip(label.label), ` (0–${label.highest}) · ${label.more}`];
    const waits = this.asking === this.at && "Loading the grader's label …";
    return h("p.label", { "aria-live": "polite" }, told ?? waits);
  }

  button(words, key, onclick, disabled = false) {
    return h("button", { "aria-keyshortcuts": key, onclick, disabled }, words, keyHint(key));
  }

  keys(card) {
    const { tools, scale, notes } = this.data;
    const { own } = this;
    const here = own.findIndex((one) => keyOf(one) === this.at);
    const { value: now } = this.judged(card);
    const look = () => {
      this.act("look", { query: card.query, passage: card.passage });
      this.update({ asking: this.at });
    };
    return h("section.keys", { "aria-label": "Judge" },
      h("div.scale", { role: "group", "aria-label": "How relevant is it?" },
        scale.map(({ value, says }) =>
          h("button.value", { "aria-keyshortcuts": String(value), "aria-pressed": String(now === value),
            disabled: !card.text, onclick: () => this.judge("judge", value) },
            h(`b.r${Math.min(5, value)}`, value), says && h("span", says)))),
      notes && h("input.note", { type: "text", "aria-label": "Note", placeholder: "Note (optional)",
        value: this.notes.get(this.at) ?? "", oninput: ({ target }) => this.notes.set(this.at, target.value) }),
      h("div.others-of",
        Object.entries(TOOLS).map(([what, [words, key]]) => tools.includes(what)
          && this.button(words, key, () => this.judge(what))),
        this.button("Undo", "u", () => this.undo(), !this.latest),
        tools.includes("look") && this.button("Show grader's label", "m", look,
          this.labels.has(this.at) || this.asking === this.at),
        this.step("Previous", "K", here > 0, () => this.go(own[here - 1]), "Previous passage"),
        this.step("Next", "J", here < own.length - 1, () => this.go(own[here + 1]), "Next passage")));
  }

  nothing() {
    const { title, about, act, words, with: values } = this.data.finished;
    if (this.given.size) return h("p.quiet", "Loading …");
    return [h("h2", title), h("p", about),
      act && this.button(words, "n", () => this.act(act, values)),
      this.latest && this.button("Undo", "u", () => this.undo())];
  }
};
