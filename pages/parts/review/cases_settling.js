// The form that settles the open case. Typed text stays in the browser until it is sent, and survives a reload.

// Typed text for cases that are not settled yet.
class Drafts {
  constructor(home) {
    this.key = `exam-settling ${home}`;
    try {
      this.kept = JSON.parse(sessionStorage.getItem(this.key) || "{}");
    } catch {
      this.kept = {};
    }
  }

  of(id) {
    return (this.kept[id] ||= {});
  }

  keep() {
    try {
      sessionStorage.setItem(this.key, JSON.stringify(this.kept));
    } catch {
      // Without storage, as in a private window, drafts last as long as the page.
    }
  }

  drop(id) {
    delete this.kept[id];
    this.keep();
  }
}

// The form of a case. `act` sends an action; `show` applies the server's answer.
class Settle {
  constructor(open, drafts, act) {
    Object.assign(this, { open, drafts, act });
    this.draft = drafts.of(open.id);
    const names = open.ways.map((way) => way.name);
    if (!names.includes(this.draft.how)) this.draft.how = names[0];
    const known = open.asked.map((one) => one.id);
    if (!known.includes(this.draft.question)) this.draft.question = known[0] ?? "";
    this.draft.questions = (this.draft.questions ?? []).filter((id) => known.includes(id));
    if (!this.draft.questions.length) {
      // A label does not change until every question that gives it is overridden.
      const giving = open.asked.filter((one) => one.gives).map((one) => one.id);
      this.draft.questions = giving.length ? giving : known.slice(0, 1);
      this.draft.rating = null;
    }
    if (!open.judged.includes(this.draft.source)) this.draft.source = open.judged[0] || "";
    this.body = make("div", { class: "fields" });
    this.effect = make("div", { class: "effect", role: "status" });
    this.trouble = make("div", { class: "trouble", role: "alert" });
    this.buttons = make("div", { class: "buttons" });
    this.reason = make("input", {
      type: "text",
      class: "reason",
      value: this.draft.reason || "",
      autocomplete: "off",
      required: true,
      placeholder: "Explain briefly (required)",
      oninput: () => this.change({ reason: this.reason.value }, false),
    });
    this.reasonName = make("span", {});
    this.node = make(
      "form",
      { class: "settle", "aria-label": "Resolve this case", noValidate: true, onsubmit: (event) => this.submit(event) },
      this.ways(),
      this.body,
      this.effect,
      make("div", { class: "foot" }, this.trouble, make("label", { class: "said" }, this.reasonName, this.reason), this.buttons),
    );
    this.fill();
    this.ask();
  }

  ways() {
    const line = make("div", { class: "segments", role: "radiogroup", "aria-label": "Resolve by" });
    for (const way of this.open.ways) {
      const input = make("input", {
        type: "radio",
        name: "how",
        value: way.name,
        checked: this.draft.how === way.name,
        onchange: () => {
          this.change({ how: way.name });
          this.fill();
        },
      });
      line.append(make("label", { class: "segment" }, input, make("span", {}, way.title)));
    }
    return line;
  }

  change(said, anew = true) {
    Object.assign(this.draft, said);
    this.drafts.keep();
    this.trouble.textContent = "";
    if (anew) this.settleButtons();
  }

  fill() {
    const { how } = this.draft;
    const way = this.open.ways.find((one) => one.name === how);
    const parts = [make("p", { class: "quiet" }, way.says)];
    if (how === "edit") parts.push(this.blamed());
    if (how === "override") parts.push(this.overridden(), this.ratings());
    if (how === "dispute" && this.open.judged.length > 1) parts.push(this.sources());
    this.body.replaceChildren(...parts);
    this.reasonName.textContent = how === "comment" ? "Comment" : "Reason";
    this.effect.hidden = how !== "override";
    this.settleButtons();
  }

  // The choice of the question that is wrong, or of no question.
  blamed() {
    const list = make("div", { class: "asked", role: "radiogroup", "aria-label": "Question" });
    const radio = (id) =>
      make("input", {
        type: "radio",
        name: "question",
        value: id,
        checked: this.draft.question === id,
        onchange: () => this.change({ question: id }),
      });
    list.append(
      ...this.open.asked.map((one) => this.question(one, radio(one.id))),
      make("label", { class: "question" }, radio(""), make("span", {}, "The question bank lacks a question")),
    );
    return inWholeRows(list);
  }

  // The questions that get another rating; by default those that give the label.
  overridden() {
    const list = make("div", { class: "asked", role: "group", "aria-label": "Questions" });
    const known = this.open.asked.map((one) => one.id);
    const choose = (questions) => {
      // In the order of the list, not of the clicks.
      this.change({ questions: known.filter((id) => questions.includes(id)) });
      this.effect.replaceChildren();
      this.ask();
    };
    const boxes = this.open.asked.map((one) =>
      make("input", {
        type: "checkbox",
        "data-overrides": one.id,
        checked: this.draft.questions.includes(one.id),
        onchange: (event) => {
          const others = this.draft.questions.filter((id) => id !== one.id);
          choose(event.target.checked ? [...others, one.id] : others);
          if (all) all.checked = this.draft.questions.length === known.length;
        },
      }),
    );
    const all = known.length > 1 && make("input", {
      type: "checkbox",
      checked: this.draft.questions.length === known.length,
      onchange: () => {
        for (const box of boxes) box.checked = all.checked;
        choose(all.checked ? known : []);
      },
    });
    if (all) list.append(make("label", { class: "question" }, all, make("span", {}, `All ${known.length} questions`)));
    list.append(...this.open.asked.map((one, at) => this.question(one, boxes[at])));
    return inWholeRows(list);
  }

  question(one, input) {
    const mark = one.gives ? make("span", { class: "mark" }, "sets the label") : null;
    const shown = chip(one.rating, one.rating === null ? "no rating" : `rated ${one.rating}`);
    return make("label", { class: "question" }, input, shown, make("span", { dir: "auto" }, one.text), mark);
  }

  ratings() {
    const line = make("div", { class: "ratings", role: "radiogroup", "aria-label": "New rating" });
    line.append(make("span", { class: "quiet" }, "New rating"));
    for (const rating of this.open.ratings) {
      const input = make("input", {
        type: "radio",
        name: "rating",
        value: String(rating),
        checked: this.draft.rating === rating,
        onchange: () => {
          this.change({ rating });
          this.ask();
        },
      });
      input.setAttribute("aria-label", String(rating));
      line.append(make("label", { class: `rating chip r${rating}` }, input, make("span", {}, String(rating))));
    }
    return line;
  }

  sources() {
    const line = make("div", { class: "segments", role: "radiogroup", "aria-label": "Source of the judgment" });
    for (const source of this.open.judged) {
      const input = make("input", {
        type: "radio",
        name: "source",
        value: source,
        checked: this.draft.source === source,
        onchange: () => this.change({ source }),
      });
      line.append(make("label", { class: "segment" }, input, make("span", {}, source)));
    }
    return line;
  }

  // Ask the server for the effect of the rating; the form stays usable meanwhile.
  ask() {
    const { how, questions, rating } = this.draft;
    if (how === "override" && !this.lacking()) this.act("weigh", { case: this.open.id, questions, rating });
  }

  // The missing part of an override, in words; empty if it is complete, and for other actions.
  lacking() {
    const { how, questions, rating } = this.draft;
    if (how !== "override") return "";
    if (!questions.length) return "Choose a question first";
    return rating === null || rating === undefined ? "Choose a rating first" : "";
  }

  // Whether the server's answer is about the present content of the form.
  fits(weighed) {
    const { questions, rating } = this.draft;
    return Boolean(weighed) && weighed.rating === rating && JSON.stringify(weighed.questions) === JSON.stringify(questions);
  }

  show(weighed, error) {
    if (weighed && weighed.case === this.open.id && this.fits(weighed)) {
      this.weighed = weighed;
      this.showEffect();
    }
    if (error) this.trouble.replaceChildren(make("b", {}, error.message), ` ${error.hint}`);
    this.settleButtons();
  }

  showEffect() {
    const { words, moves, agrees } = this.weighed;
    const parts = [make("div", { class: moves ? "moves" : "" }, words)];
    if (this.open.alone) {
      parts.push(
        make("p", { class: "quiet" }, "This table leaves overrides out. An override changes the labels, but not this table."),
      );
    }
    if (!agrees) {
      const box = make("input", {
        type: "checkbox",
        checked: Boolean(this.draft.leaves),
        onchange: () => this.change({ leaves: box.checked }),
      });
      parts.push(
        make("label", { class: "leaves" }, box, "The sides will still disagree. Resolve the case anyway"),
      );
    }
    this.effect.replaceChildren(...parts);
  }

  leaves() {
    const { how, leaves } = this.draft;
    return how !== "override" || !this.fits(this.weighed) || this.weighed.agrees || Boolean(leaves);
  }

  settleButtons() {
    const { how } = this.draft;
    const lacking = this.lacking();
    const label = this.leaves() ? "Resolve case" : "Override and keep case open";
    const wanted = how === "edit" ? "Edit in question bank" : label;
    if (this.buttons.textContent !== wanted)
      this.buttons.replaceChildren(make("button", { type: "submit", class: "first" }, wanted));
    for (const button of this.buttons.children) button.disabled = Boolean(lacking);
    this.buttons.title = lacking;
  }

  submit(event) {
    event.preventDefault();
    const { how, question, questions, rating, source, reason } = this.draft;
    if (this.lacking()) return;
    if (!(reason || "").trim()) {
      this.trouble.textContent = "The reason is empty. Explain briefly why you resolve this case.";
      this.reason.focus();
      return;
    }
    const { id, values } = this.open;
    this.act("settle", { case: id, values, how, question, questions, rating, source, reason, leaves: this.leaves() });
  }
}

function inWholeRows(list) {
  // In the next frame, since a list that changes its height while it is measured would be measured again.
  new ResizeObserver(() => requestAnimationFrame(() => wholeRows(list))).observe(list);
  return list;
}

// Limit a scrolling list to whole rows.
function wholeRows(list) {
  list.style.maxHeight = "";
  const scrolls = list.scrollHeight > list.clientHeight + 1;
  list.classList.toggle("scrolls", scrolls);
  if (!scrolls) return;
  const top = list.firstElementChild.offsetTop;
  const ends = [...list.children].map((row) => row.offsetTop - top + row.offsetHeight);
  const whole = ends.filter((end) => end <= list.clientHeight - 4).pop();
  if (whole) list.style.maxHeight = `${whole + 4}px`;
}
