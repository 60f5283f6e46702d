// The cases of answers: the list, and the open case in three columns with its proposal below. The next cases
// are loaded already, so that a key leads on at once.

const UNANSWERED = { skipped: "The run has no passage for this query.", waiting: "Not answered yet." };

KINDS.answers = class extends Desk {
  desks = {};
  done = new Set();
  notes = {};

  confirm(letter) {
    const id = this.open;
    const next = this.beside(1) ?? "";
    const seen = this.desks[id].confirmed.map((one) => one.key);
    this.act("confirm", { case: id, letter, note: (this.notes[id] || "").trim(), next, seen });
    delete this.notes[id];
    this.done.add(id);
    this.go(next);
  }

  beside(by) {
    const { ids } = this.data;
    let at = ids.indexOf(this.open) + by;
    while (this.done.has(ids[at])) at += by;
    return ids[at] ?? null;
  }

  choose(at, id) {
    if (!id) return this.act("open", { at });
    this.act("open", { case: id });
    this.go(id);
  }

  // Show a case now; answers of the server to earlier actions do not lead back.
  go(id) {
    this.update({ open: id, moved: true });
  }

  hear(data) {
    // The server has not taken every action yet.
    const isBehind = this.waiting.length > 0;
    this.desks = isBehind ? { ...this.desks, ...data.desks } : data.desks;
    if (isBehind) return;
    this.done.clear();
    if (this.open !== undefined && this.open !== data.open) this.moved = true;
    this.open = data.open;
  }

  view(data) {
    const open = this.desks[this.open];
    const row = (one) => [
      badge(one.case, one.kind),
      h("span.words", h("span.query", { dir: "auto" }, one.query),
        quiet([one.where, one.done ? "confirmed" : one.stake].filter(Boolean).join(" · "))),
    ];
    const kind = (one) => `${one.done ? "done" : ""} ${this.done.has(one.id) ? "gone" : ""}`;
    return h("div.answers.desk",
      h("section.left", { "aria-label": "Queue" }, h("b.count", data.count),
        this.cases(this.open, (at, id) => this.choose(at, id), kind, row)),
      h("div.right",
        this.news(data, ({ do: name, ...rest }) => this.act(name, rest)),
        h("section.case", { "aria-label": "Open case", key: this.open },
          open ? this.case(open)
            : h("p.empty", { role: "status" }, this.open ? "Loading the next case…" : data.empty))));
  }

  case(open) {
    const step = (words, by, key, title) => this.step(words, key, this.beside(by),
      () => this.choose(null, this.beside(by)), title);
    return [
      h("header",
        h("h2", { tabindex: -1, dir: "auto" }, open.query),
        h("span.turn", step("‹ Previous", -1, "K", "Previous case"), step("Next ›", 1, "J", "Next case"))),
      h("p.facts", quiet(open.where),
        open.verdicts.map((one) => h("span.verdict", { class: one.value === null ? "none" : one.value ? "yes" : "no",
          title: one.says },
          `${one.name} ${one.value === null ? "?" : one.value ? "✓" : "✗"}`, h("span.unseen", `: ${one.says}`)))),
      h("div.three",
        this.column("Gold answers", "asked", "Gold answers",
          open.answers.map((one) => h("p.said.gold", { dir: "auto" }, one)),
          !open.answers.length && h("p.quiet", "No gold answers, so it is unknown if an answer is right.")),
        this.retrieved(open),
        this.column(open.draws.length > 1 ? `${open.draws.length} answers from the gold passages`
          : "Answer from the gold passages", "", "Answers from the gold passages",
          open.draws.map((one) => h("p.said", { dir: "auto" }, one)),
          !open.draws.length && h("p.quiet", open.failed ? "Generation failed." : "Not answered yet."),
          open.gold.map((one) => this.passage(open, one, "")),
          open.more > 0 && h("p.quiet", `and ${open.more} more gold passages`))),
      this.decide(open),
    ];
  }

  column(title, kind, label, ...inside) {
    return h("section.column", { class: kind, "aria-label": label }, h("h3", title), inside);
  }

  retrieved(open) {
    const title = "Generated from the retrieved passages";
    return this.column(title, "", title,
      open.answer === null
        ? h("p.quiet", UNANSWERED[open.state] ?? `No answer: ${open.note}`)
        : [h("p.said", { dir: "auto" }, open.answer), open.note && h("p.quiet", open.note)],
      open.held && h("p.quiet", "This is a gold answer."),
      open.answer !== null && !open.held && h("button.small", { title: "Use this if the answer is right (case E)",
        onclick: () => this.act("add answer", { case: open.id }) }, "Add as gold answer"),
      open.retrieved.map((one) => this.passage(open, one, `${one.rank}.`)));
  }

  passage(open, one, place) {
    const name = `${place} ${one.id}`.trim();
    const at = { case: open.id, passage: one.id };
    const judge = { key: "judge", title: "Use this if the passage contains the answer (case A)",
      "aria-label": `Judge passage ${one.rank} as relevant`, onclick: () => this.act("judge", at) };
    const about = one.rank && [
      one.gold && h("span.tag", "gold"),
      one.judged !== null
        ? [quiet(`you judged ${one.judged}`),
          h("button.link", { key: "withdraw", onclick: () => this.act("unjudge", at) }, "Withdraw")]
        : !one.gold && one.parts.length > 0 && h("button.link", judge, "Judge as relevant"),
    ];
    return h("div.passage", { class: one.pointed ? "pointed" : "" },
      h("div.of", h("span.name", { title: one.id }, name), about),
      h("div.text", { dir: "auto", tabindex: 0, role: "region", "aria-label": `Passage ${name}` },
        one.parts.length ? one.parts.map(([text, inside]) => (inside ? h("mark", text) : text))
          : quiet("The text is not imported.")));
  }

  decide(open) {
    const letter = ({ letter: name, short, says }) =>
      h("button.letter", { class: name === open.proposed ? "first" : "", title: says,
        "aria-keyshortcuts": name.toLowerCase(), onclick: () => this.confirm(name) },
        h("kbd", name.toLowerCase()), h("span", short));
    return h("section.decide", { "aria-label": "Decision on the case" },
      h("p.proposal",
        open.proposed && badge(open.proposed, open.kind),
        h("span", { dir: "auto" }, open.proposed ? `Proposed: ${open.reason}` : open.reason),
        open.stake && quiet(`If confirmed, ${open.stake}.`)),
      open.confirmed.map((one) => h("p.confirmed", h("b", `${one.by}: ${one.case}`),
        h("span", { dir: "auto" }, ` ${one.says}${one.note ? ` (${one.note})` : ""} `),
        one.mine && h("button.link", { onclick: () => this.act("take back", { case: open.id }) }, "Withdraw"))),
      h("div.keys",
        { role: "group", "aria-label": `${open.confirmed.some((one) => one.mine) ? "Change the" : "Confirm a"} case` },
        this.data.letters.map(letter)),
      h("input.note", { placeholder: "Note (optional)", "aria-label": "Note", value: this.notes[open.id] ?? "",
        oninput: ({ target }) => (this.notes[open.id] = target.value) }));
  }
};

function badge(letter, kind) {
  return h("span.chip.badge", { class: kind, title: letter ? `Case ${letter}` : "No case proposed" }, letter || "–");
}
