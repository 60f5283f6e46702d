// The questions of a passage: a scale for each, and the ratings that a person is about to give instead. Unsent input
// is kept in this tab by passage, so that it survives redraws, reloads and visits to other passages.

const OVERRIDES = "exam-workbench-overrides";
const KEYS = [["0–5", "Rate the focused question"], ["↑ ↓", "Move between questions"],
  ["Enter", "Enter the reason"], ["Alt+J", "Next passage"], ["Alt+K", "Previous passage"]];

KINDS.ratings = class extends Desk {
  hear(data) {
    const where = [data.tab, ...data.at].join("\n");
    if (this.where !== where) {
      this.where = where;
      this.draft = kept(sessionStorage, OVERRIDES)[where] ?? { ratings: {}, reason: "" };
      // Questions keep their order from when the passage was opened, so that an overridden one stays in place.
      this.order = data.questions.map((one) => one.id);
      this.refusal = null;
      this.tried = {};
    }
    if (!this.sent || this.sent.id > data.taken) return;
    if (data.refused?.id === this.sent.id) this.refusal = `${data.refused.message} ${data.refused.hint}`;
    else if (this.sent.name === "override") this.forget(this.sent.where);
    // The undo button disappears, so keyboard focus moves to the question.
    else if (this.root.contains(focused())) this.focusLater = this.last;
    this.sent = null;
  }

  keep(where = this.where, draft = this.draft) {
    const { [where]: _, ...others } = kept(sessionStorage, OVERRIDES);
    const some = Object.keys(draft.ratings).length || draft.reason;
    keep(sessionStorage, OVERRIDES, some ? { ...others, [where]: draft } : others);
  }

  forget(where) {
    this.keep(where, { ratings: {} });
    if (where !== this.where) return;
    if (this.find("form").contains(focused())) this.focusLater = this.last;
    this.draft = { ratings: {}, reason: "" };
  }

  begin(name, values) {
    this.refusal = null;
    this.sent = { id: this.act(name, { at: this.data.at, ...values }), name, where: this.where };
    this.redraw();
  }

  change(ratings = this.draft.ratings, reason = this.draft.reason) {
    this.draft = { ratings, reason };
    this.refusal = null;
    this.keep();
    this.redraw();
  }

  set(one, rating) {
    this.last = one.id;
    const { [one.id]: _, ...others } = this.draft.ratings;
    this.change(one.rating === rating ? others : { ...others, [one.id]: rating });
  }

  canRate(one) {
    return this.data.can && one.number > 0;
  }

  // Questions that the grader is not asked do not count, even if people rate them.
  get rated() {
    return this.data.questions.filter((one) => this.canRate(one) && one.counts);
  }

  rateAll() {
    const ratings = { ...this.draft.ratings };
    for (const one of this.rated) {
      if (one.rating === 0) delete ratings[one.id];
      else ratings[one.id] = 0;
    }
    this.change(ratings, this.draft.reason || "Not relevant");
    this.find("form input").focus();
    this.find("form input").select();
  }

  override() {
    if (this.sent) return;
    if (this.draft.reason.trim()) return this.begin("override", this.draft);
    this.update({ refusal: "The reason is empty. Explain why the grader's rating is wrong." });
    this.find("form input").focus();
  }

  view({ questions, can, at }) {
    const rated = questions.filter((one) => one.number > 0).length;
    const sorted = this.order.map((id) => questions.find((one) => one.id === id));
    const later = questions.filter((one) => !this.order.includes(one.id));
    return h("div.ratings",
      h("div.top", h("span.dim", `${plural(rated, "question")}, by effect on the label`),
        this.rated.length > 0 && this.none(), this.help(can ? KEYS : [])),
      h("div.rows",
        { role: "group", "aria-label": "Questions", key: String(at), onkeydown: (event) => this.move(event) },
        [...sorted.filter(Boolean), ...later].map((one) => this.row(one))),
      this.tray());
  }

  // Whether rating all questions 0 would change anything, and why not.
  none() {
    const { ratings } = this.draft;
    const nothing = this.rated.every((one) => (ratings[one.id] ?? one.rating) === 0);
    const drafted = this.rated.some((one) => one.id in ratings);
    const why = drafted ? "All ratings are set to 0 below. Enter a reason, then save." : "All ratings are already 0";
    return h("button.link", { disabled: nothing, title: nothing && why, onclick: () => this.rateAll() },
      "Rate all questions 0");
  }

  row(one) {
    const draft = this.draft.ratings[one.id];
    const rating = one.rating === null ? one.said[0]?.status || "no rating" : `rated ${one.rating}`;
    const name = one.number ? `Question ${one.number}: ${one.words}` : one.words;
    const inWords = `${name} (${rating}${draft === undefined ? "" : `, new rating ${draft}`})`;
    const [more, shows] = one.opened ? ["Less", "Hide"] : ["More", "Show"];
    return h("div.row", { key: one.id, class: draft === undefined ? "" : "drafted", "data-place": one.id, role: "group",
      tabindex: 0, "aria-label": inWords },
      this.scale(one, draft),
      this.about(one),
      h("button.link", { title: `${shows} the full grader output`, "aria-expanded": String(one.opened),
        "aria-label": `${more} of question ${one.number}`, "data-place": `more ${one.id}`,
        onclick: () => this.act("look", { question: one.opened ? "" : one.id }) }, more),
      one.opened && this.raw(one));
  }

  scale(one, draft) {
    const machine = one.said[0];
    const cell = (rating) => {
      const on = one.rating === rating;
      const was = on && draft !== undefined;
      const kind = `${on ? `on r${rating}` : ""} ${was ? "was" : ""} ${draft === rating ? "draft" : ""}`;
      const onclick = () => {
        this.set(one, rating);
        if (Object.keys(this.draft.ratings).length) this.focusReason();
      };
      return h("button.cell", { class: kind, tabindex: -1, disabled: !this.canRate(one), "aria-pressed": String(on),
        "data-place": `${rating} ${one.id}`, "aria-label": `Rate ${rating}`, onclick }, rating);
    };
    const state = one.rating === null && {
      failed: h("span.state.failed", "✕ failed"),
      ungraded: h("span.state.ungraded", "ungraded"),
      "not asked": h("span.state.ungraded",
        { title: "The grader does not grade this question. It does not count for the label." }, "not asked"),
    }[machine?.status];
    return h("div.rated",
      one.number === 0 ? chip(one.rating ?? machine?.rating) : h("div.scale", [0, 1, 2, 3, 4, 5].map(cell)), state);
  }

  about(one) {
    const idle = one.number > 0 && !one.counts && one.said[0]?.status !== "not asked";
    const more = [...one.about, ...(idle ? ["does not count for the label"] : [])];
    const dim = (words) => h("span.dim", words);
    const { held, rating } = one.override ?? {};
    return h("div",
      h("div", { dir: "auto" },
        one.number > 0 && dim(`${one.number} `), h("span.words", one.words),
        one.gives && [" ", h("span.gives", "sets the label")],
        more.length > 0 && [" ", dim(more.join(" · "))]),
      one.said.map((said) => this.said(said, one)),
      one.override && h("div.person", { dir: "auto" },
        h("span.state", held ? `rating ${rating} awaits adjudication` : `overridden to ${rating}`),
        " ", dim(`by ${one.override.by}: ${one.override.reason} `),
        this.doing("Withdraw override", "withdraw", one.override, one)),
      one.stale.map((old) => h("div.person", { dir: "auto" },
        h("span.state.stale", `stale override with rating ${old.rating}`),
        " ", dim(`by ${old.by}, for the wording “${old.wording}”: ${old.reason} `),
        this.doing("Confirm override", "confirm", old, one, "Apply the override to the new wording"),
        this.doing("Withdraw override", "withdraw", old, one))));
  }

  doing(words, name, { key }, one, title = null) {
    const onclick = () => {
      this.last = one.id;
      this.begin(name, { keys: [key] });
    };
    return h("button.link", { key: `${name} ${key}`, "data-place": `${name} ${key}`, title, onclick }, words);
  }

  said(said, one) {
    const { several } = this.data;
    // A missing rating is already shown next to the scale.
    const standing = !several && one.rating === null;
    const failed = said.status === "failed" && !standing;
    const line = [
      several && said.grader,
      !["graded", "failed"].includes(said.status) && !standing && said.status,
      one.override && !several && typeof said.rating === "number" && `rated ${said.rating} by the grader`,
      ...(said.more ?? []),
    ].filter(Boolean).join(" · ");
    return h("div.said", { class: several ? "several" : "" },
      several && chip(said.rating),
      h("div",
        said.answer && h("div.answer", { title: said.answer, dir: "auto" }, said.answer),
        (failed || line) && h("div.dim", failed && [h("span.failed", "failed"), " "], line)));
  }

  raw(one) {
    const chances = (said) => said.chances.map((chance, rating) =>
      `${rating}: ${Math.round(chance * 100)}%`).join(" · ");
    return h("div.raw",
      one.said.map((said) => [
        said.chances && h("div.dim", `Probability of each rating (${said.grader}): ${chances(said)}`),
        said.raw && [h("div.dim", `Output of ${said.grader}`), h("pre", { dir: "auto" }, said.raw)],
      ]),
      !one.said.some((said) => said.raw) && h("div.dim", "No raw output was kept for these grades."));
  }

  // The ratings that are about to be given, with their reason; or the saved ones, with their undo.
  tray() {
    const { data, draft } = this;
    const ids = data.questions.filter((one) => one.id in draft.ratings);
    const some = data.can && ids.length > 0;
    const made = data.can && !some && data.made.length > 0;
    const notes = [data.note, ids.some((one) => !one.counts)
      && "The grader does not grade some of these questions. Their overrides do not count."];
    const words = this.sent ? "Saving…" : ids.length > 1 ? `Override ${ids.length} ratings` : "Override rating";
    return h("section.tray", { "aria-label": "Overrides", class: some ? "" : "done", hidden: !some && !made
      && !this.refusal },
      h("div.line", { "aria-live": "polite" },
        some && ids.map((one) => h("span.change",
          `${one.number}: ${one.rating ?? "no rating"} → ${draft.ratings[one.id]}`)),
        some && same(data.tried, draft.ratings) && data.label && this.moved(...data.label),
        made && [h("span", `${plural(data.made.length, "override")} saved.`),
          h("button.link", { "data-place": "undo", onclick: () => this.begin("withdraw", { keys: data.made }) },
            "Undo")]),
      h("form", { hidden: !some, onsubmit: (event) => (event.preventDefault(), this.override()) },
        h("input", { type: "text", "aria-label": "Reason", placeholder: "Reason: why is the grader's rating wrong?",
          autocomplete: "off", value: draft.reason, readonly: Boolean(this.sent),
          oninput: ({ target }) => this.change(draft.ratings, target.value),
          onkeydown: (event) => this.typed(event) }),
        h("button.do", { type: "submit", disabled: Boolean(this.sent) }, words),
        h("button.link", { onclick: () => this.drop() }, "Discard")),
      h("div.error", { role: "alert" }, this.refusal),
      h("div.dim", some && notes.filter(Boolean).join(" ")));
  }

  moved(before, after) {
    if (before === after) return h("span.dim", `label unchanged: ${before ?? "none"}`);
    return h("span.flip", `label ${before ?? "none"} → ${after ?? "none"}`);
  }

  drop() {
    this.change({}, "");
    this.focusRow(this.last);
  }

  drawn(data) {
    // Ask for the effect, once for every set of ratings.
    const { ratings } = this.draft;
    if (same(data.tried, ratings)) this.tried = ratings;
    if (data.can && !this.sent && !same(this.tried, ratings)) {
      this.tried = ratings;
      this.act("try", { at: data.at, ratings });
    }
    if (this.focusLater) this.focusRow(this.focusLater);
    this.focusLater = null;
    const opened = data.questions.find((one) => one.opened)?.id;
    if (opened && opened !== this.opened) this.place(opened).scrollIntoView({ block: "nearest" });
    this.opened = opened;
  }

  place(id) {
    return this.find(`.rows [data-place="${CSS.escape(id)}"]`);
  }

  focusRow(id) {
    if (id) this.place(id)?.focus();
  }

  focusReason() {
    const reason = this.find("form input");
    reason.focus();
    // New text is appended to the former text.
    reason.setSelectionRange(reason.value.length, reason.value.length);
  }

  // Typed text must not trigger shortcuts.
  typed(event) {
    if (!event.altKey && !event.ctrlKey && !event.metaKey) event.stopPropagation();
    if (event.key === "Escape") this.focusRow(this.last);
  }

  move(event) {
    const row = event.target.closest(".row");
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const one = this.data.questions.find((question) => question.id === row.dataset.place);
    const { [one.id]: drafted, ...others } = this.draft.ratings;
    const to = { ArrowDown: row.nextSibling, ArrowUp: row.previousSibling }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      to?.focus();
    } else if (/^[0-5]$/.test(event.key) && this.canRate(one)) {
      // A digit on a question is a rating; elsewhere on the screen it is a judgment of the passage.
      event.preventDefault();
      event.stopPropagation();
      this.set(one, Number(event.key));
    } else if (event.key === "Enter" && event.target === row && !this.find(".tray").hidden) {
      event.preventDefault();
      this.focusReason();
    } else if (event.key === "Escape" && drafted !== undefined) {
      this.change(others);
    } else if (event.key.length === 1 && event.key !== " " && Object.keys(this.draft.ratings).length) {
      // Text typed after a rating goes into the reason.
      event.stopPropagation();
      this.focusReason();
    }
  }
};
