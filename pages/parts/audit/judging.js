// The judging desk: one passage at a time, a key for each judgment. The next passages are loaded already, so that
// keys do not wait for the server.

export default (given) => showIn(Desk, given);

const keyOf = (card) => JSON.stringify([card.query, card.passage]);
const KEPT = "exam-workbench-judging";
const LASTING = ["judge", "cannot say", "skip", "take back"];

class Desk extends Drawn {
  constructor(parent) {
    super();
    this.progress = make("div", { class: "progress" });
    this.news = make("p", { class: "unseen", role: "status" });
    this.trouble = make("div", { class: "trouble", role: "alert" });
    this.query = make("header", { class: "query" });
    this.pane = make("section", { class: "pane", "aria-label": "Passage to judge" });
    this.asked = make("aside", { class: "asked", tabIndex: 0, "aria-label": "Questions of this query" });
    this.keys = make("section", { class: "keys", "aria-label": "Judge" });
    this.node = make("div", { class: "desk" }, this.progress, this.trouble, this.news, this.query, this.pane, this.keys,
      this.asked);
    parent.append(this.node);
    this.begin();
  }

  // Another person, audit or batch: earlier judgments belong to the former one.
  begin() {
    this.acts = new Acts();
    this.said = new Map(); // Judgments made here that the server may not have, by card.
    this.known = new Map(); // Every card that this tab has received.
    this.past = []; // Keys of cards, in the order in which they were judged here.
    this.at = null;
    this.asking = null; // The card whose label the person asked for.
    this.drawn = null;
  }

  key(event) {
    if (!forScreen(event)) return;
    const pressed = event.key.toLowerCase();
    const value = this.data.scale.find((one) => String(one.value) === pressed);
    const act = value ? () => this.say("judge", value.value)
      : { s: () => this.say("skip"), c: () => this.say("cannot say"), u: () => this.back(), m: () => this.look() }[pressed];
    if (!act) return;
    swallow(event);
    act();
  }

  show(data, send) {
    if (this.data?.home !== data.home) {
      this.begin();
      this.recall(data.home);
    }
    this.data = data;
    this.acts.taken(data.taken, send);
    this.keep();
    this.labels = new Map(data.labels.map((one) => [keyOf(one), one]));
    for (const [key, one] of this.said) if (one.id <= data.taken) this.said.delete(key);
    // Each card keeps its query, which the server does not send again after a judgment. So the judgment can still be
    // undone.
    for (const card of data.cards) this.known.set(keyOf(card), { ...card, of: data.queries[card.query] });
    const open = new Set(data.open.map((at) => keyOf(data.cards[at])));
    // A card that the person returned to stays open until they judge it.
    if (this.at && !open.has(this.at) && this.at !== this.went) this.at = null;
    if (data.error) this.refused(data.error);
    this.draw();
    this.acts.again();
  }

  // Actions that the server has not taken survive a closed tab; an action that arrives twice counts once.
  keep() {
    const acts = this.acts.waiting.filter((one) => LASTING.includes(one.do));
    try {
      if (acts.length) localStorage.setItem(KEPT, JSON.stringify({ home: this.data.home, acts }));
      else localStorage.removeItem(KEPT);
    } catch {
      // Without storage, only the judgments made just before closing are lost.
    }
  }

  recall(home) {
    try {
      const kept = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
      if (kept.home !== home) return;
      this.acts.waiting = kept.acts;
      for (const one of kept.acts) {
        const key = keyOf(one);
        this.said.set(key, { id: one.id, what: one.do, value: one.value ?? null });
        // This was the latest judgment, even if the server receives it only now.
        this.past = [...this.past.filter((other) => other !== key), ...(one.do === "take back" ? [] : [key])];
      }
    } catch {
      // See above.
    }
  }

  refused(error) {
    if (this.told === error.id) return;
    this.told = error.id;
    this.trouble.replaceChildren(make("strong", {}, error.message), " ", error.hint);
    if (error.query) this.past = this.past.filter((key) => key !== keyOf(error));
  }

  next() {
    for (const at of this.data.open) {
      const key = keyOf(this.data.cards[at]);
      if (!this.said.has(key)) return key;
    }
    return null;
  }

  say(what, value = null) {
    if (!this.at) return;
    const card = this.known.get(this.at);
    this.trouble.replaceChildren();
    const id = this.acts.add(what, { query: card.query, passage: card.passage, value });
    this.keep();
    this.said.set(this.at, { id, what, value });
    this.past = [...this.past.filter((key) => key !== this.at), this.at];
    const done = value === null ? { skip: "Skipped.", "cannot say": "Recorded as not judgeable." }[what] : `Judged ${value}.`;
    this.at = this.went = null;
    this.draw(done);
  }

  // Undo the last judgment: the tab's own latest one, else the latest earlier one of the open query.
  back() {
    const card = this.at && this.known.get(this.at);
    const before = card && this.data.cards.filter((one) => one.query === card.query && one.settled).map(keyOf);
    const key = this.past.filter((one) => this.known.has(one)).at(-1) ?? before?.at(-1);
    if (key) this.reopen(key);
  }

  reopen(key) {
    const card = this.known.get(key);
    this.past = this.past.filter((one) => one !== key);
    this.trouble.replaceChildren();
    const id = this.acts.add("take back", { query: card.query, passage: card.passage });
    this.keep();
    this.said.set(key, { id, what: "take back", value: null });
    this.at = this.went = key;
    this.draw("Undone.");
  }

  look() {
    if (!this.at || this.labels.get(this.at)) return;
    const card = this.known.get(this.at);
    this.asking = this.at;
    this.acts.add("look", { query: card.query, passage: card.passage });
    this.draw("Loading the grader's label.");
  }

  draw(news = "") {
    this.at ??= this.next();
    this.showProgress();
    const card = this.at && this.known.get(this.at);
    this.node.classList.toggle("idle", !card);
    if (!card) {
      this.drawn = null;
      for (const part of [this.query, this.asked, this.keys]) part.replaceChildren();
      this.pane.replaceChildren(...this.nothing());
      this.news.textContent = this.pane.textContent;
      return;
    }
    const shown = JSON.stringify([this.at, this.data.home]);
    if (this.drawn !== shown) {
      this.drawn = shown;
      this.showQuery(card.of);
      this.showPassage(card);
      if (news || this.news.textContent) this.news.textContent = `${news} Next passage.`;
      if (this.holdsFocus()) this.text?.focus({ preventScroll: true });
    }
    this.showStrip(card);
    this.showKeys();
  }

  holdsFocus() {
    const { activeElement } = document;
    return !activeElement || activeElement === document.body || activeElement.contains(this.node.getRootNode().host ?? this.node);
  }

  showProgress() {
    const { done, drawn, batch, mine, others } = this.data.progress;
    const fresh = [...this.said.values()].filter((one) => one.what === "judge" || one.what === "cannot say").length;
    const now = Math.min(drawn, done + fresh);
    this.progress.replaceChildren(
      make("div", { class: "bar", role: "progressbar", "aria-label": `Judged of batch ${batch}`, "aria-valuemin": 0,
        "aria-valuemax": drawn, "aria-valuenow": now },
        make("i", { style: { width: `${drawn ? (100 * now) / drawn : 0}%` } })),
      make("span", {}, make("strong", {}, `${now}`), ` of ${drawn} of batch ${batch}`),
      make("span", { class: "quiet" }, `${mine + fresh} by you${others ? ` · ${others}` : ""}`),
    );
  }

  showQuery(query) {
    this.query.replaceChildren(
      make("h2", { dir: "auto" }, query.text),
      query.narrative ? make("p", { class: "narrative", dir: "auto", tabIndex: 0 }, query.narrative) : "",
    );
    this.asked.replaceChildren(
      make("h3", {}, query.questions.length ? "Questions of this query" : "This query has no questions."),
      make("ol", {}, ...query.questions.map((words) => make("li", { dir: "auto" }, words))),
    );
  }

  showPassage(card) {
    this.strip = make("div", { class: "strip" });
    this.text = card.text === null
      ? make("p", { class: "missing", tabIndex: 0 }, "This passage has no text, so you cannot judge it." +
        " Press c (Cannot judge), or import the passages.")
      : make("div", { class: "passage", dir: "auto", tabIndex: 0, role: "group", "aria-label": "Passage" }, card.text);
    this.label = make("p", { class: "label", "aria-live": "polite" });
    this.pane.replaceChildren(this.strip, this.text, this.label);
  }

  // The passages of this query with their judgments; a judged passage can be judged again.
  showStrip(card) {
    const own = this.data.cards.filter((one) => one.query === card.query);
    if (!own.some((one) => keyOf(one) === keyOf(card))) own.push(card);
    const now = own.map((one) => ({ key: keyOf(one), ...this.standing(one) }));
    this.strip.replaceChildren(
      make("span", { class: "quiet" }, `Passage ${now.findIndex((one) => one.key === this.at) + 1} of ${now.length} of this query`),
      ...now.map((one, at) => {
        const here = one.key === this.at;
        const about = here ? "current" : one.sign ? `${one.says}. Judge again` : "not judged yet";
        return make("button", { class: `step${here ? " here" : ""}`, disabled: here || !one.sign, title: about,
          "aria-label": `Passage ${at + 1}: ${about}`, onclick: () => this.reopen(one.key) }, one.sign || "·");
      }),
      card.again ? make("span", { class: "quiet" }, "Second judgment: another assessor has judged this passage.") : "",
    );
    const label = this.labels.get(this.at);
    const waits = this.asking === this.at && !label;
    this.label.replaceChildren(...(label
      ? ["Grader's label: ", chip(label.label), ` (0–${label.highest}). The audit records that you have seen the label.`]
      : [waits ? "Loading the grader's label …" : ""]));
  }

  standing(card) {
    const here = this.said.get(keyOf(card));
    const what = here ? here.what : card.said;
    const value = here ? here.value : card.value;
    if (what === "judge" || what === "judged") return { sign: String(value), says: `judged ${value}` };
    if (what === "cannot say") return { sign: "?", says: "not judgeable" };
    return { sign: "", says: "" };
  }

  showKeys() {
    if (!this.keys.childElementCount) {
      const key = (sign) => make("kbd", { "aria-hidden": "true" }, sign);
      this.keys.replaceChildren(
        make("div", { class: "scale", role: "group", "aria-label": "How relevant is it?" },
          ...this.data.scale.map(({ value, says }) =>
            make("button", { class: `value r${Math.min(5, value)}`, "aria-keyshortcuts": String(value), onclick: () => this.say("judge", value) },
              make("b", {}, String(value)), says ? make("span", {}, says) : ""))),
        make("div", { class: "others" },
          make("button", { "aria-keyshortcuts": "c", onclick: () => this.say("cannot say") }, "Cannot judge", key("c")),
          make("button", { "aria-keyshortcuts": "s", onclick: () => this.say("skip") }, "Skip", key("s")),
          (this.undo = make("button", { "aria-keyshortcuts": "u", onclick: () => this.back() }, "Undo", key("u"))),
          (this.shows = make("button", { "aria-keyshortcuts": "m", onclick: () => this.look() }, "Show grader's label", key("m")))),
      );
    }
    const card = this.known.get(this.at);
    this.undo.disabled = !this.past.length && !this.data.cards.some((one) => one.query === card.query && one.settled);
    this.shows.disabled = Boolean(this.labels.get(this.at)) || this.asking === this.at;
  }

  nothing() {
    const { progress, left } = this.data;
    if (this.said.size) return [make("p", { class: "quiet" }, "Loading the next query …")];
    if (!left) {
      return [make("h2", {}, `Batch ${progress.batch} is judged.`), make("p", {}, "The leaderboard shows the result."),
        make("button", { class: "first", onclick: () => this.acts.add("board", {}) }, "Show leaderboard"), this.undoLast()];
    }
    return [
      make("h2", {}, "No passages for you at the moment."),
      make("p", {}, `Other assessors have the remaining judgments of the batch (${left})${progress.others ? `; ${progress.others}` : ""}.` +
        " You get the passages that they skip or release."),
      make("button", { onclick: () => this.acts.add("again", {}) }, "Check again"),
      this.undoLast(),
    ];
  }

  undoLast() {
    return this.past.length ? make("button", { onclick: () => this.back() }, "Undo", make("kbd", { "aria-hidden": "true" }, "u")) : "";
  }
}
