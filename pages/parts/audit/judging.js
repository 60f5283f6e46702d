// The judging desk: one passage at a time, a key for each judgment. The next passages are loaded already, so that
// keys do not wait for the server.

const keyOf = (card) => JSON.stringify([card.query, card.passage]);
const UNSENT = "exam-workbench-judging";
const LASTING = ["judge", "cannot say", "skip", "take back"];
const DONE = { skip: "Skipped.", "cannot say": "Recorded as not judgeable.", "take back": "Undone." };

KINDS.judging = class extends Desk {
  // Another person, audit or batch: earlier judgments belong to the former one.
  begin(home) {
    this.given = new Map(); // Judgments made here that the server may not have, by card.
    this.known = new Map(); // Every card that this tab has received.
    this.past = []; // Keys of cards, in the order in which they were judged here.
    this.at = this.asking = null; // The open card, and the card whose label the person asked for.
    this.told = "";
    const { home: unsent, acts } = kept(localStorage, UNSENT);
    this.actions.waiting = unsent === home ? acts : [];
    // These are the latest judgments, even if the server receives them only now.
    for (const one of this.actions.waiting) this.note(keyOf(one), one.id, one.do, one.value);
  }

  note(key, id, what, value = null) {
    this.given.set(key, { id, what, value });
    this.past = [...this.past.filter((other) => other !== key), ...(what === "take back" ? [] : [key])];
  }

  show(data, tell, hold) {
    if (this.data?.home !== data.home) this.begin(data.home);
    super.show(data, tell, hold);
  }

  hear(data) {
    this.keep();
    this.labels = new Map(data.labels.map((one) => [keyOf(one), one]));
    for (const [key, one] of this.given) if (one.id <= data.taken) this.given.delete(key);
    // Each card keeps its query, which the server does not send again after a judgment. So the judgment can still be
    // undone.
    for (const card of data.cards) this.known.set(keyOf(card), { ...card, of: data.queries[card.query] });
    const open = new Set(data.open.map((at) => keyOf(data.cards[at])));
    // A card that the person returned to stays open until they judge it.
    if (this.at && !open.has(this.at) && this.at !== this.went) this.at = null;
    const { error } = data;
    if (!error || error.id === this.refused) return;
    this.refused = error.id;
    this.trouble = error;
    if (error.query) this.past = this.past.filter((key) => key !== keyOf(error));
  }

  // Actions that the server has not taken survive a closed tab; an action that arrives twice counts once.
  keep() {
    const acts = this.actions.waiting.filter((one) => LASTING.includes(one.do));
    keep(localStorage, UNSENT, acts.length ? { home: this.data.home, acts } : null);
  }

  get card() {
    return this.known.get(this.at);
  }

  judge(what, value = null, key = this.at) {
    const { query, passage } = this.known.get(key);
    this.trouble = null;
    this.note(key, this.act(what, { query, passage, value }), what, value);
    this.keep();
    this.at = this.went = what === "take back" ? key : null;
    this.told = `${DONE[what] ?? `Judged ${value}.`} Next passage.`;
    this.redraw();
  }

  // The judgment to undo: the tab's own latest one, else the latest earlier one of the open query.
  get latest() {
    const before = this.data.cards.filter((one) => one.query === this.card?.query && one.settled).map(keyOf);
    return this.past.filter((one) => this.known.has(one)).at(-1) ?? before.at(-1);
  }

  look() {
    const { query, passage } = this.card;
    this.asking = this.at;
    this.act("look", { query, passage });
    this.redraw();
  }

  view(data) {
    this.at ??= data.open.map((at) => keyOf(data.cards[at])).find((key) => !this.given.has(key)) ?? null;
    const { card } = this;
    const nothing = card ? null : this.nothing();
    return h("div.judging.desk", { class: card ? "" : "idle" },
      this.progress(),
      h("div.trouble", { role: "alert" }, this.trouble && [h("strong", this.trouble.message), " ", this.trouble.hint]),
      h("p.unseen", { role: "status" }, card ? this.told : "No passage to judge."),
      card && h("header.query",
        h("h2", { dir: "auto" }, card.of.text),
        card.of.narrative && h("p.narrative", { dir: "auto", tabindex: 0 }, card.of.narrative)),
      h("section.pane", { "aria-label": "Passage to judge" }, 
        nothing ?? [this.strip(card), this.passage(card), this.label()]),
      card && this.keys(),
      card && h("aside.asked", { tabindex: 0, "aria-label": "Questions of this query", key: `asked ${card.query}` },
        h("h3", card.of.questions.length ? "Questions of this query" : "This query has no questions."),
        h("ol", card.of.questions.map((words) => h("li", { dir: "auto" }, words)))));
  }

  drawn() {
    if (this.stands !== this.at && this.at) {
      const { activeElement } = document;
      const { host } = this.root.getRootNode();
      if (!activeElement || activeElement === document.body
        || activeElement.contains(host)) this.find(".pane > [tabindex]").focus({ preventScroll: true });
    }
    this.stands = this.at;
  }

  progress() {
    const { done, drawn, batch, mine, others } = this.data.progress;
    const fresh = [...this.given.values()].filter((one) => one.what === "judge" || one.what === "cannot say").length;
    const now = Math.min(drawn, done + fresh);
    return h("div.progress",
      h("div.bar", { role: "progressbar", "aria-label": `Judged of batch ${batch}`, "aria-valuemin": 0,
        "aria-valuemax": drawn, "aria-valuenow": now },
        h("i", { style: { width: `${drawn ? (100 * now) / drawn : 0}%` } })),
      h("span", h("strong", now), ` of ${drawn} of batch ${batch}`),
      quiet(`${mine + fresh} by you${others ? ` · ${others}` : ""}`));
  }

  passage(card) {
    const given = { key: this.at, dir: "auto", tabindex: 0, role: "group", "aria-label": "Passage" };
    if (card.text !== null) return h("div.passage", given, card.text);
    return h("p.missing", { key: this.at, tabindex: 0 },
      "This passage has no text, so you cannot judge it. Press c (Cannot judge), or import the passages.");
  }

  // The passages of this query with their judgments; a judged passage can be judged again.
  strip(card) {
    const own = this.data.cards.filter((one) => one.query === card.query);
    if (!own.some((one) => keyOf(one) === this.at)) own.push(card);
    const here = own.findIndex((one) => keyOf(one) === this.at);
    return h("div.strip",
      quiet(`Passage ${here + 1} of ${own.length} of this query`),
      own.map((one, at) => {
        const { sign, says } = this.judged(one);
        const about = at === here ? "current" : sign ? `${says}. Judge again` : "not judged yet";
        return h("button.step", {
          class: at === here ? "here" : "", disabled: at === here || !sign, title: about,
          "aria-label": `Passage ${at + 1}: ${about}`, onclick: () => this.judge("take back", null, keyOf(one)),
        }, sign || "·");
      }),
      card.again && quiet("Second judgment: another assessor has judged this passage."));
  }

  judged(card) {
    const { what, value } = this.given.get(keyOf(card)) ?? { what: card.said, value: card.value };
    if (what === "judge" || what === "judged") return { sign: String(value), says: `judged ${value}` };
    return what === "cannot say" ? { sign: "?", says: "not judgeable" } : {};
  }

  label() {
    const label = this.labels.get(this.at);
    const told = label && ["Grader's label: ", chip(label.label),
      ` (0–${label.highest}). The audit records that you have seen the label.`];
    return h("p.label", { "aria-live": "polite" }, told ?? (this.asking === this.at && "Loading the grader's label …"));
  }

  keys() {
    const act = (words, key, onclick, disabled = false) =>
      h("button", { "aria-keyshortcuts": key, onclick, disabled }, words, h("kbd", { "aria-hidden": "true" }, key));
    const { latest } = this;
    return h("section.keys", { "aria-label": "Judge" },
      h("div.scale", { role: "group", "aria-label": "How relevant is it?" },
        this.data.scale.map(({ value, says }) =>
          h("button.value", { "aria-keyshortcuts": String(value), onclick: () => this.judge("judge", value) },
            h(`b.r${Math.min(5, value)}`, value), says && h("span", says)))),
      h("div.others-of",
        act("Cannot judge", "c", () => this.judge("cannot say")),
        act("Skip", "s", () => this.judge("skip")),
        act("Undo", "u", () => this.judge("take back", null, latest), !latest),
        act("Show grader's label", "m", () => this.look(), this.labels.has(this.at) || this.asking === this.at)));
  }

  nothing() {
    const { progress, left } = this.data;
    const { latest } = this;
    const undo = latest &&
      h("button", { "aria-keyshortcuts": "u", onclick: () => this.judge("take back", null, latest) }, "Undo",
        h("kbd", { "aria-hidden": "true" }, "u"));
    if (this.given.size) return [h("p.quiet", "Loading the next query …")];
    if (!left) {
      return [h("h2", `Batch ${progress.batch} is judged.`), h("p", "The leaderboard shows the result."),
        h("button.first", { onclick: () => this.act("board") }, "Show leaderboard"), undo];
    }
    const others = progress.others ? `; ${progress.others}` : "";
    return [
      h("h2", "No passages for you at the moment."),
      h("p", `Other assessors have the remaining judgments of the batch (${left}${others}).`,
        " You get the passages that they skip or release."),
      h("button", { onclick: () => this.act("again") }, "Check again"), undo,
    ];
  }
};
