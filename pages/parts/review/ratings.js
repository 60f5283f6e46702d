// The questions of a passage: a scale for each, and the ratings that a person is about to give instead. Unsent input
// is kept in this tab by passage, so that it survives redraws, reloads and visits to other passages.

const desks = new WeakMap();
const STORE = "exam-workbench-overrides";
const NOT_RELEVANT = "Not relevant";
const TRIES = 3;

function make(tag, name, words) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (words !== undefined) node.textContent = words;
  return node;
}

function press(name, words, act) {
  const node = make("button", name, words);
  node.type = "button";
  node.addEventListener("click", act);
  return node;
}

const step = (rating) => Math.min(Math.max(rating, 0), 5);
const labelled = (label) => (label === null ? "none" : String(label));
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

function kept() {
  try {
    return JSON.parse(sessionStorage.getItem(STORE)) || {};
  } catch {
    return {};
  }
}

function keep(where, draft) {
  const all = kept();
  if (Object.keys(draft.ratings).length || draft.reason) all[where] = draft;
  else delete all[where];
  try {
    sessionStorage.setItem(STORE, JSON.stringify(all));
  } catch {
    // Without storage, it is kept until the page is left.
  }
}

class Desk {
  constructor(parent) {
    this.shown = new Map();
    this.sent = null;
    this.tried = "{}";
    this.box = make("div", "ratings");
    const top = make("div", "top");
    this.count = make("span", "dim");
    this.none = press("link", "Rate all questions 0", () => this.rateAll());
    top.append(this.count, this.none);
    this.rows = make("div", "rows");
    this.rows.setAttribute("role", "group");
    this.rows.setAttribute("aria-label", "Questions");
    this.tray = this.makeTray();
    this.box.append(top, this.rows, this.tray);
    this.rows.addEventListener("keydown", (event) => this.key(event));
    parent.append(this.box);
  }

  makeTray() {
    const tray = make("section", "tray");
    tray.setAttribute("aria-label", "Overrides");
    this.line = make("div", "line");
    this.line.setAttribute("aria-live", "polite");
    this.form = make("form");
    this.reason = make("input");
    this.reason.type = "text";
    this.reason.setAttribute("aria-label", "Reason");
    this.reason.placeholder = "Reason: why is the grader's rating wrong?";
    this.reason.autocomplete = "off";
    this.do = make("button", "do", "Override rating");
    this.do.type = "submit";
    this.discard = press("link", "Discard", () => this.drop());
    this.form.append(this.reason, this.do, this.discard);
    this.error = make("div", "error");
    this.error.setAttribute("role", "alert");
    this.note = make("div", "dim");
    tray.append(this.line, this.form, this.error, this.note);
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.override();
    });
    this.reason.addEventListener("input", () => {
      this.draft.reason = this.reason.value;
      this.refusal = null;
      this.error.textContent = "";
      keep(this.where, this.draft);
    });
    this.reason.addEventListener("keydown", (event) => {
      // Typed text must not trigger shortcuts.
      if (!event.altKey && !event.ctrlKey && !event.metaKey) event.stopPropagation();
      if (event.key === "Escape") this.focusRow(this.last);
    });
    return tray;
  }

  show(data, setTriggerValue) {
    this.send = setTriggerValue;
    const where = [data.tab, ...data.at].join("\n");
    if (this.where !== where) {
      this.where = where;
      this.draft = kept()[where] || { ratings: {}, reason: "" };
      this.reason.value = this.draft.reason;
      this.tried = "{}";
      this.refusal = null;
    }
    this.data = data;
    this.settle();
    this.rows.hidden = !data.questions.length;
    this.draw();
    this.drawTray();
    this.tell();
  }

  // Apply the result of the last action.
  settle() {
    const { sent, data } = this;
    if (!sent) return;
    if (data.handled === sent.act.id) {
      this.sent = null;
      if (data.refused) this.refusal = data.refused.slice(1).filter(Boolean).join(" ");
      else if (sent.act.what === "override") this.forget(sent.where);
      // The undo button disappears, so keyboard focus moves to the question.
      else if (this.box.contains(this.box.getRootNode().activeElement)) this.focusLater = this.last;
    } else if (sent.times < TRIES) {
      sent.times += 1;
      this.send("act", sent.act);
    } else {
      this.sent = null;
      this.refusal = "Not saved: no connection to the app. Try again.";
    }
  }

  forget(where) {
    keep(where, { ratings: {}, reason: "" });
    if (where !== this.where) return;
    const typing = this.form.contains(this.form.getRootNode().activeElement);
    this.draft = { ratings: {}, reason: "" };
    this.reason.value = "";
    this.tried = "{}";
    if (typing) this.focusLater = this.last;
  }

  act(what, more) {
    const id = `${Date.now()}.${Math.random()}`;
    this.sent = { act: { id, what, ...more }, where: this.where, times: 0 };
    this.refusal = null;
    this.send("act", this.sent.act);
    this.drawTray();
  }

  // Ask for the effect, once for every set of ratings.
  tell() {
    const ratings = JSON.stringify(this.draft.ratings);
    const known = JSON.stringify(this.data.tried);
    if (ratings === known) this.tried = ratings;
    if (!this.data.can || this.sent || ratings === this.tried) return;
    this.tried = ratings;
    this.send("try", { at: this.data.at, ratings: this.draft.ratings });
  }

  changed() {
    this.refusal = null;
    keep(this.where, this.draft);
    this.draw();
    this.drawTray();
    this.tell();
  }

  set(id, rating) {
    const one = this.data.questions.find((question) => question.id === id);
    this.last = id;
    if (one.rating === rating && !this.isMissing(one)) delete this.draft.ratings[id];
    else this.draft.ratings[id] = rating;
    this.changed();
  }

  isMissing(one) {
    return one.rating === null || one.rating === undefined;
  }

  canRate(one) {
    return this.data.can && one.number > 0;
  }

  // Questions that the grader is not asked do not count, even if people rate them.
  allRated() {
    return this.data.questions.filter((one) => this.canRate(one) && one.counts);
  }

  rateAll() {
    for (const one of this.allRated()) {
      if (one.rating === 0) delete this.draft.ratings[one.id];
      else this.draft.ratings[one.id] = 0;
    }
    if (!this.draft.reason) {
      this.draft.reason = this.reason.value = NOT_RELEVANT;
    }
    this.changed();
    this.reason.focus();
    this.reason.select();
  }

  // Whether rating all questions 0 would change anything, and why not.
  drawNone() {
    const all = this.allRated();
    const { ratings } = this.draft;
    this.none.hidden = !all.length;
    this.none.disabled = all.every((one) => (ratings[one.id] ?? one.rating) === 0);
    const drafted = all.some((one) => one.id in ratings);
    this.none.title = !this.none.disabled
      ? ""
      : drafted
        ? "All ratings are set to 0 below. Enter a reason, then save."
        : "All ratings are already 0";
  }

  drop() {
    this.draft = { ratings: {}, reason: "" };
    this.reason.value = "";
    this.changed();
    this.focusRow(this.last);
  }

  override() {
    if (this.sent) return;
    if (!this.reason.value.trim()) {
      this.refusal = "The reason is empty. Explain why the grader's rating is wrong.";
      this.drawTray();
      this.reason.focus();
      return;
    }
    this.act("override", { at: this.data.at, ratings: this.draft.ratings, reason: this.reason.value });
  }

  // The rows

  draw() {
    const { data } = this;
    const root = this.rows.getRootNode();
    const later = this.focusLater;
    const focus = later || root.activeElement?.dataset?.place;
    this.focusLater = null;
    const rated = data.questions.filter((one) => one.number > 0).length;
    this.count.textContent = data.hidden ? plural(rated, "question") : `${plural(rated, "question")}, sorted by effect on the label`;
    if (data.can) this.count.title = "Focus a question, then press 0 to 5 to override its rating. Press ↑ or ↓ to move.";
    this.drawNone();
    const nodes = [];
    const still = new Map();
    for (const one of this.inOrder()) {
      const state = JSON.stringify([one, this.draft.ratings[one.id], data.can, data.several, data.hidden]);
      const known = this.shown.get(one.id);
      const row = known?.state === state ? known.row : this.row(one);
      still.set(one.id, { state, row });
      nodes.push(row);
    }
    this.shown = still;
    if (nodes.length !== this.rows.children.length || nodes.some((node, i) => node !== this.rows.children[i]))
      this.rows.replaceChildren(...nodes);
    if (focus && root.activeElement?.dataset?.place !== focus)
      this.rows.querySelector(`[data-place="${CSS.escape(focus)}"]`)?.focus({ preventScroll: !later });
    const opened = data.questions.find((one) => one.opened)?.id;
    if (opened && opened !== this.opened)
      this.rows.querySelector(`[data-place="${CSS.escape(opened)}"]`).scrollIntoView({ block: "nearest" });
    this.opened = opened;
  }

  // Questions keep their order from when the passage was opened, so that an overridden one stays in place.
  inOrder() {
    const { at, questions } = this.data;
    if (String(at) !== this.orderOf) {
      this.orderOf = String(at);
      this.order = questions.map((one) => one.id);
    }
    const place = new Map(this.order.map((id, number) => [id, number]));
    const placed = (one) => place.get(one.id) ?? place.size;
    return [...questions].sort((one, other) => placed(one) - placed(other));
  }

  row(one) {
    const { data } = this;
    const draft = this.draft.ratings[one.id];
    const row = make("div", data.hidden ? "row bare" : "row");
    if (draft !== undefined) row.classList.add("drafted");
    row.dataset.place = one.id;
    row.setAttribute("role", "group");
    row.tabIndex = 0;
    row.setAttribute("aria-label", this.inWords(one, draft));
    if (!data.hidden) row.append(this.rated(one, draft));
    row.append(this.about(one));
    if (!data.hidden) {
      const more = press("link", one.opened ? "Less" : "More", () => this.send("look", one.opened ? "" : one.id));
      more.title = one.opened ? "Hide the full grader output" : "Show the full grader output";
      more.setAttribute("aria-expanded", String(Boolean(one.opened)));
      more.setAttribute("aria-label", `${one.opened ? "Less" : "More"} of question ${one.number}`);
      more.dataset.place = `more ${one.id}`;
      row.append(more);
      if (one.opened) row.append(this.raw(one));
    }
    return row;
  }

  inWords(one, draft) {
    const name = one.number ? `Question ${one.number}: ${one.words}` : one.words;
    if (this.data.hidden) return name;
    const rating = this.isMissing(one) ? one.said[0]?.status || "no rating" : `rated ${one.rating}`;
    return `${name} (${rating}${draft === undefined ? "" : `, new rating ${draft}`})`;
  }

  rated(one, draft) {
    const box = make("div", "rated");
    const machine = one.said[0];
    if (one.number === 0) {
      box.append(chip(one.rating ?? machine?.rating ?? null));
    } else {
      const scale = make("div", "scale");
      for (let rating = 0; rating <= 5; rating += 1) scale.append(this.cell(one, rating, draft));
      box.append(scale);
    }
    if (this.isMissing(one) && machine) {
      if (machine.status === "failed") box.append(make("span", "state failed", "✕ failed"));
      else if (machine.status === "ungraded") box.append(make("span", "state ungraded", "ungraded"));
      else if (machine.status === "not asked") {
        const state = make("span", "state ungraded", "not asked");
        state.title = "The grader does not grade this question. It does not count for the label.";
        box.append(state);
      }
    }
    return box;
  }

  cell(one, rating, draft) {
    const cell = press("cell", String(rating), () => {
      this.set(one.id, rating);
      if (Object.keys(this.draft.ratings).length) this.focusReason();
    });
    cell.tabIndex = -1;
    cell.dataset.place = `${rating} ${one.id}`;
    cell.disabled = !this.canRate(one);
    cell.setAttribute("aria-label", `Rate ${rating}`);
    const on = one.rating === rating;
    cell.setAttribute("aria-pressed", String(on));
    if (on) cell.classList.add("on", `r${rating}`);
    if (on && draft !== undefined) cell.classList.add("was");
    if (draft === rating) cell.classList.add("draft");
    return cell;
  }

  about(one) {
    const { data } = this;
    const box = make("div");
    const head = make("div");
    head.dir = "auto";
    if (one.number) head.append(make("span", "dim", `${one.number} `));
    head.append(make("span", "words", one.words));
    if (one.gives) head.append(" ", make("span", "gives", "sets the label"));
    const more = [...one.about];
    const asked = one.said?.[0]?.status !== "not asked";
    if (!data.hidden && one.number && !one.counts && asked) more.push("does not count for the label");
    if (more.length) head.append(" ", make("span", "dim", more.join(" · ")));
    box.append(head);
    if (data.hidden) return box;
    for (const said of one.said) box.append(this.said(said, one));
    if (one.override) {
      const given = make("div", "person");
      const { held, rating } = one.override;
      given.append(make("span", "state yours", held ? `rating ${rating} awaits adjudication` : `overridden to ${rating}`));
      given.append(" ", make("span", "dim", `by ${one.override.by}: ${one.override.reason} `));
      given.append(this.acting("Withdraw override", "withdraw", one.override, one));
      box.append(given);
    }
    for (const old of one.stale) {
      const stale = make("div", "person");
      stale.append(make("span", "state stale", `stale override with rating ${old.rating}`));
      stale.append(" ", make("span", "dim", `by ${old.by}, for the wording “${old.wording}”: ${old.reason} `));
      stale.append(this.acting("Confirm override", "confirm", old, one), this.acting("Withdraw override", "withdraw", old, one));
      box.append(stale);
    }
    return box;
  }

  acting(words, what, override, one) {
    const node = press("link", words, () => {
      this.last = one.id;
      this.act(what, { at: this.data.at, keys: [override.key] });
    });
    node.dataset.place = `${what} ${override.key}`;
    if (what === "confirm") node.title = "Apply the override to the new wording";
    return node;
  }

  said(said, one) {
    const several = this.data.several;
    const box = make("div", several ? "said several" : "said");
    if (several) box.append(chip(said.rating ?? null));
    const texts = make("div");
    if (said.answer) {
      const answer = make("div", "answer", said.answer);
      answer.title = said.answer;
      answer.dir = "auto";
      texts.append(answer);
    }
    const line = make("div", "dim");
    const parts = several ? [said.grader] : [];
    // The missing rating is already shown next to the scale.
    const standing = !several && this.isMissing(one);
    if (said.status === "failed" && !standing) line.append(make("span", "failed", "failed"), " ");
    else if (said.status !== "graded" && said.status !== "failed" && !standing) parts.push(said.status);
    if (one.override && !several && typeof said.rating === "number") parts.push(`rated ${said.rating} by the grader`);
    parts.push(...(said.more || []));
    line.append(parts.join(" · "));
    if (line.textContent.trim()) texts.append(line);
    box.append(texts);
    return box;
  }

  raw(one) {
    const box = make("div", "raw");
    for (const said of one.said) {
      if (said.chances) {
        const words = said.chances.map((chance, rating) => `${rating}: ${Math.round(chance * 100)}%`).join(" · ");
        box.append(make("div", "dim", `Probability of each rating (${said.grader}): ${words}`));
      }
      if (said.raw) box.append(make("div", "dim", `Output of ${said.grader}`), make("pre", "", said.raw));
    }
    if (!one.said.some((said) => said.raw))
      box.append(make("div", "dim", "No raw output was kept for these grades."));
    return box;
  }

  // The tray

  drawTray() {
    const { data, draft } = this;
    const ids = data.questions.filter((one) => one.id in draft.ratings);
    const some = data.can && ids.length > 0;
    const made = data.can && !some && data.made.length > 0;
    this.tray.hidden = !some && !made && !this.refusal;
    this.tray.classList.toggle("done", !some);
    this.form.hidden = !some;
    this.reason.readOnly = Boolean(this.sent);
    this.line.replaceChildren();
    if (some) {
      for (const one of ids) {
        const was = this.isMissing(one) ? "no rating" : one.rating;
        this.line.append(make("span", "change", `${one.number}: ${was} → ${draft.ratings[one.id]}`));
      }
      const known = JSON.stringify(data.tried) === JSON.stringify(draft.ratings) && data.label;
      if (known && data.label[0] !== data.label[1])
        this.line.append(make("span", "flip", `label ${labelled(data.label[0])} → ${labelled(data.label[1])}`));
      else if (known) this.line.append(make("span", "dim", `label unchanged: ${labelled(data.label[0])}`));
      this.do.textContent = this.sent ? "Saving…" : ids.length > 1 ? `Override ${ids.length} ratings` : "Override rating";
      this.do.disabled = Boolean(this.sent);
    } else if (made) {
      const words = `${plural(data.made.length, "override")} saved.`;
      const undo = press("link", "Undo", () =>
        this.act("withdraw", { at: data.at, keys: data.made }),
      );
      undo.dataset.place = "undo";
      this.line.append(make("span", "", words), undo);
    }
    const idle = ids.filter((one) => !one.counts);
    this.note.textContent = some
      ? [data.note, idle.length ? "The grader does not grade some of these questions. Their overrides do not count." : ""]
          .filter(Boolean)
          .join(" ")
      : "";
    this.error.textContent = this.refusal || "";
  }

  // The keyboard

  focusReason() {
    this.reason.focus();
    // New text is appended to the former text.
    this.reason.setSelectionRange(this.reason.value.length, this.reason.value.length);
  }

  focusRow(id) {
    if (id) this.rows.querySelector(`[data-place="${CSS.escape(id)}"]`)?.focus();
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const row = event.target.closest(".row");
    if (!row) return;
    const one = this.data.questions.find((question) => question.id === row.dataset.place);
    const rows = [...this.rows.children];
    const to = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (to) {
      event.preventDefault();
      rows[rows.indexOf(row) + to]?.focus();
    } else if (/^[0-5]$/.test(event.key) && this.canRate(one)) {
      // A digit on a question is a rating; elsewhere on the screen it is a judgment of the passage.
      event.preventDefault();
      event.stopPropagation();
      this.set(one.id, Number(event.key));
    } else if (event.key === "Enter" && event.target === row && !this.tray.hidden) {
      event.preventDefault();
      this.focusReason();
    } else if (event.key === "Escape" && one.id in this.draft.ratings) {
      delete this.draft.ratings[one.id];
      this.changed();
    } else if (event.key.length === 1 && event.key !== " " && Object.keys(this.draft.ratings).length) {
      // Text typed after a rating goes into the reason.
      event.stopPropagation();
      this.focusReason();
    }
  }
}

function chip(rating) {
  if (rating === null) return make("span", "chip none", "–");
  return make("span", `chip r${step(rating)}`, String(rating));
}

export default function ({ data, parentElement, setTriggerValue }) {
  let desk = desks.get(parentElement);
  if (!desk) desks.set(parentElement, (desk = new Desk(parentElement)));
  desk.show(data, setTriggerValue);
}
