// The form that settles the open case. What is typed stays in the browser until it is sent, and survives a reload.

// What somebody has typed for cases that are not settled yet.
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
      // Without storage, as in a private window, they last as long as the page.
    }
  }

  drop(id) {
    delete this.kept[id];
    this.keep();
  }
}

// The form of one case. `act` sends what is asked for; `show` takes in what the server says to it.
class Settle {
  constructor(open, drafts, act) {
    Object.assign(this, { open, drafts, act });
    this.draft = drafts.of(open.id);
    const names = open.ways.map((way) => way.name);
    if (!names.includes(this.draft.how)) this.draft.how = names[0];
    if (!open.asked.some((one) => one.id === this.draft.question)) {
      this.draft.question = open.asked.length ? open.asked[0].id : "";
      if (this.draft.how !== "edit") this.draft.rating = null;
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
      oninput: () => this.change({ reason: this.reason.value }, false),
    });
    this.reasonName = make("span", {});
    this.node = make(
      "form",
      { class: "settle", "aria-label": "Settle this case", onsubmit: (event) => this.submit(event) },
      this.ways(),
      this.body,
      this.effect,
      make("div", { class: "foot" }, this.trouble, make("label", { class: "said" }, this.reasonName, this.reason), this.buttons),
    );
    this.fill();
    this.ask();
  }

  ways() {
    const line = make("div", { class: "segments", role: "radiogroup", "aria-label": "Settle by" });
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
    if (how === "override" || how === "edit") parts.push(this.questions(how === "edit"));
    if (how === "override" && this.open.several) {
      parts.push(
        make("p", { class: "quiet" }, `${this.open.several} questions give this label: it stays until each is overridden.`),
      );
    }
    if (how === "override") parts.push(this.ratings());
    if (how === "dispute" && this.open.judged.length > 1) parts.push(this.sources());
    this.body.replaceChildren(...parts);
    this.reasonName.textContent = how === "comment" ? "Comment" : "Reason";
    this.effect.hidden = how !== "override";
    this.settleButtons();
  }

  questions(withMissing) {
    const list = make("div", { class: "asked", role: "radiogroup", "aria-label": "Question" });
    const add = (id, text, rating, gives) => {
      const input = make("input", {
        type: "radio",
        name: "question",
        value: id,
        checked: this.draft.question === id,
        onchange: () => {
          this.change({ question: id });
          this.effect.replaceChildren();
          this.ask();
        },
      });
      const mark = gives ? make("span", { class: "mark" }, "gives the label") : null;
      const shown = id ? chip(rating, rating === null ? "no rating" : `rated ${rating}`) : null;
      list.append(make("label", { class: "question" }, input, shown, make("span", { dir: "auto" }, text), mark));
    };
    for (const one of this.open.asked) add(one.id, one.text, one.rating, one.gives);
    if (withMissing) add("", "A question is missing in the bank", null, false);
    if (!withMissing && !this.draft.question && this.open.asked.length) {
      this.draft.question = this.open.asked[0].id;
      list.querySelector("input").checked = true;
    }
    // A frame later: a list that changes its own height while it is measured would be measured once more.
    new ResizeObserver(() => requestAnimationFrame(() => wholeRows(list))).observe(list);
    return list;
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
    const line = make("div", { class: "segments", role: "radiogroup", "aria-label": "Whose judgment" });
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

  // Ask the server what the rating would do; the form can be filled in meanwhile.
  ask() {
    const { how, question, rating } = this.draft;
    if (how === "override" && question && rating !== null && rating !== undefined) {
      this.act("weigh", { case: this.open.id, question, rating });
    }
  }

  show(weighed, error) {
    if (weighed && weighed.case === this.open.id) {
      const { question, rating } = this.draft;
      if (weighed.question === question && weighed.rating === rating) {
        this.weighed = weighed;
        this.showEffect();
      }
    }
    if (error) this.trouble.replaceChildren(make("b", {}, error.message), ` ${error.hint}`);
    this.settleButtons();
  }

  showEffect() {
    const { words, moves, agrees } = this.weighed;
    const parts = [make("div", { class: moves ? "moves" : "" }, words)];
    if (this.open.alone) {
      parts.push(
        make("p", { class: "quiet" }, "Here the grader stands by itself: an override counts for the labels, not in this table."),
      );
    }
    if (!agrees) {
      const box = make("input", {
        type: "checkbox",
        checked: Boolean(this.draft.leaves),
        onchange: () => this.change({ leaves: box.checked }),
      });
      parts.push(
        make("label", { class: "leaves" }, box, "The sides still disagree after this. Settle the case all the same"),
      );
    }
    this.effect.replaceChildren(...parts);
  }

  leaves() {
    const { how, question, rating, leaves } = this.draft;
    const known = this.weighed && this.weighed.question === question && this.weighed.rating === rating;
    return how !== "override" || !known || this.weighed.agrees || Boolean(leaves);
  }

  settleButtons() {
    const { how, rating } = this.draft;
    const lacking = how === "override" && (rating === null || rating === undefined);
    const label = this.leaves() ? "Settle, next case" : "Override, keep the case open";
    const wanted = how === "edit" ? ["Settle, next case", "Settle, open the bank"] : [label];
    const now = [...this.buttons.querySelectorAll("button")].map((one) => one.textContent);
    if (JSON.stringify(now) !== JSON.stringify(wanted)) {
      this.buttons.replaceChildren(
        ...wanted.map((words, at) =>
          make("button", { type: "submit", class: at ? "second" : "first", value: at ? "bank" : "" }, words),
        ),
      );
    }
    for (const button of this.buttons.children) button.disabled = lacking;
    this.buttons.title = lacking ? "Choose a rating first" : "";
  }

  submit(event) {
    event.preventDefault();
    const { how, question, rating, source, reason } = this.draft;
    if (how === "override" && (rating === null || rating === undefined)) return;
    if (!(reason || "").trim()) {
      this.trouble.textContent = "The reason is empty. Say in a few words why the case is settled.";
      this.reason.focus();
      return;
    }
    const bank = event.submitter?.value === "bank";
    this.act("settle", { case: this.open.id, how, question, rating, source, reason, bank, leaves: this.leaves() });
  }
}

// Cut a list that scrolls between two of its rows, not through one.
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
