// The list of passages. The server sends one page of it. A choice is marked before the server answers, so that people
// need not wait for it.

const lists = new WeakMap();
const NEXT = 74, PREVIOUS = 75;
// Largest number of requests to the server to open a chosen passage.
const TIMES = 5;
// Here keys belong to the choice of a query.
const FILTER = ".st-key-of_query";
// Here a digit is a rating of a question.
const QUESTIONS = ".st-key-question-ratings";

function part(tag, name, words) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (words !== undefined) node.textContent = words;
  return node;
}

function button(key, words, title, act) {
  const node = part("button", "step", words);
  node.type = "button";
  node.dataset.key = key;
  node.title = title;
  node.addEventListener("click", act);
  return node;
}

function arrow(sign) {
  const node = part("span", "", sign);
  node.setAttribute("aria-hidden", "true");
  return node;
}

const same = (one, other) => Boolean(one && other && one[0] === other[0] && one[1] === other[1]);
const count = (number) => number.toLocaleString("en");

class List {
  constructor(parent) {
    this.box = part("div", "list");
    const head = part("div", "head");
    this.previous = button("previous", "Previous", "Previous passage (Alt+K)", () => this.walk(-1));
    this.previous.prepend(arrow("‹ "));
    this.next = button("next", "Next", "Next passage (Alt+J)", () => this.walk(1));
    this.next.append(arrow(" ›"));
    this.where = part("span", "where");
    head.append(this.previous, this.where, this.next);
    this.rows = part("div", "rows");
    this.rows.setAttribute("role", "group");
    this.rows.setAttribute("aria-label", "Passages");
    this.rows.addEventListener("keydown", (event) => this.key(event));
    this.pages = part("div", "pages");
    this.back = button("previous page", "‹", "Previous page", () => this.turn(this.data.page - 1));
    this.back.setAttribute("aria-label", "Previous page");
    this.on = button("next page", "›", "Next page", () => this.turn(this.data.page + 1));
    this.on.setAttribute("aria-label", "Next page");
    this.range = part("span", "where");
    this.pages.append(this.back, this.range, this.on);
    this.box.append(head, this.rows, this.pages);
    parent.append(this.box);
  }

  show(data, setTriggerValue) {
    this.send = setTriggerValue;
    const before = this.data;
    this.data = data;
    this.acts = actsOf(data.home);
    this.acts.taken(data.taken, setTriggerValue);
    if (before?.home !== data.home) this.held = [];
    // A choice that is not open yet stays marked. It is requested again, since Streamlit may have ended the run that
    // received the request.
    if (this.asked && !same(this.asked.at, data.chosen) && this.asked.times < TIMES) {
      this.asked.times += 1;
      setTriggerValue("open", this.asked.at);
    } else {
      // If it could not be opened, the held actions refer to a passage that is not there.
      if (this.asked && !same(this.asked.at, data.chosen)) this.held = [];
      this.asked = null;
      this.chosen = data.chosen;
    }
    if (!before || JSON.stringify(before.rows) !== JSON.stringify(data.rows)) this.draw();
    this.mark(!before || before.page !== data.page || !same(before.chosen, data.chosen));
    // After the choice of a query, the focus moves to its passages. So digits are judgments, and not a search for a
    // query.
    if (before && before.query !== data.query && document.activeElement?.closest(FILTER))
      this.items.find((item) => item.tabIndex === 0)?.focus();
    while (this.held.length && this.held[0]()) this.held.shift();
    this.acts.again();
  }

  draw() {
    const focused = this.rows.getRootNode().activeElement?.at;
    const parts = [];
    let query = null;
    this.items = [];
    for (const row of this.data.rows) {
      if (row.at[0] !== query) parts.push(part("p", "query", row.query));
      query = row.at[0];
      const item = this.item(row);
      this.items.push(item);
      parts.push(item);
    }
    if (!this.items.length) parts.push(part("div", "nothing", "No matching passages. Clear a filter."));
    this.rows.replaceChildren(...parts);
    if (focused) this.items.find((item) => same(item.at, focused))?.focus({ preventScroll: true });
  }

  item(row) {
    const shown = "graded" in row;
    const item = part("button", shown && row.graded ? "row" : "row bare");
    item.type = "button";
    item.at = row.at;
    item.tabIndex = -1;
    if (shown && row.graded) {
      const chip = part("span", row.label === null ? "chip none" : `chip r${Math.min(Math.max(row.label, 0), 5)}`);
      chip.textContent = row.label === null ? "–" : row.label;
      chip.title = row.label === null ? "no label" : `label ${row.label}`;
      item.append(chip);
    }
    const texts = part("span");
    texts.append(part("span", "text", row.text));
    if (shown) {
      const words = [];
      if (row.own !== null) words.push(`you judged ${row.own}`);
      if (row.judged !== null) words.push(`${row.own === null ? "" : `${this.data.source} `}judged ${row.judged}`);
      if (row.overridden) words.push("overridden");
      if (row.ungraded) words.push(`${row.ungraded} ungraded`);
      const said = part("span", "said", words.join(" · "));
      if (row.failed) said.append(words.length ? " · " : "", part("span", "failed", `${row.failed} failed`));
      if (said.textContent) texts.append(said);
    }
    item.append(texts);
    item.addEventListener("click", () => {
      this.held = [];
      this.open(row.at);
    });
    return item;
  }

  // Mark the chosen passage, and keep it in sight if it moved.
  mark(moved) {
    const { data } = this;
    const at = this.items.findIndex((item) => same(item.at, this.chosen));
    this.items.forEach((item, i) => {
      if (i === at) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
      item.tabIndex = i === Math.max(at, 0) ? 0 : -1;
    });
    if (moved && at >= 0) {
      const item = this.items[at], list = this.rows;
      const top = item.offsetTop - list.offsetTop, head = 40;
      if (top - head < list.scrollTop) list.scrollTop = top - head;
      else if (top + item.offsetHeight > list.scrollTop + list.clientHeight)
        list.scrollTop = top + item.offsetHeight - list.clientHeight;
    }
    const first = (data.page - 1) * data.size;
    const here = at >= 0 ? first + at + 1 : same(this.chosen, data.chosen) ? data.place : null;
    const all = `${count(data.total)} passage${data.total === 1 ? "" : "s"}`;
    this.where.textContent = here ? `${count(here)} of ${count(data.total)}` : all;
    this.where.title = here ? all : "The open passage is not in this list";
    this.previous.disabled = !this.beside(-1);
    this.next.disabled = !this.beside(1);
    this.pages.hidden = data.total <= data.size;
    this.range.textContent = `${count(first + 1)}–${count(first + data.rows.length)} of ${count(data.total)}`;
    this.back.disabled = data.page <= 1;
    this.on.disabled = first + data.rows.length >= data.total;
  }

  // The neighbour of the chosen passage: on this page, or from the server.
  beside(step) {
    const at = this.items.findIndex((item) => same(item.at, this.chosen));
    const near = at >= 0 ? this.items[at + step]?.at : null;
    if (near) return near;
    if (!same(this.chosen, this.data.chosen)) return null;
    return step > 0 ? this.data.after : this.data.before;
  }

  // The passage after the last listed one is known only when the server has opened the last. Keys wait for it, in
  // order.
  inTurn(act) {
    if (this.held.length || !act()) this.held.push(act);
  }

  walk(step) {
    this.inTurn(() => {
      const at = this.beside(step);
      if (at) this.open(at);
      return at || same(this.chosen, this.data.chosen);
    });
  }

  open(at) {
    this.chosen = at;
    this.asked = { at, times: 0 };
    this.mark(true);
    this.send("open", at);
  }

  // A digit, or a click on its button, judges the passage that is chosen here, even if the server has not opened it
  // yet. Streamlit's own buttons name no passage, and of two quick presses Streamlit receives only one.
  judge(event) {
    const value = this.data.scale.find((one) => String(one) === event.key);
    if (value !== undefined && forScreen(event, QUESTIONS)) this.give(value, event);
  }

  press(event) {
    const button = event.composedPath().find((one) => one instanceof Element && one.matches("button:enabled"));
    const value = this.data.scale.find((one) => button?.closest(`.st-key-judge-${one}`));
    if (value !== undefined) this.give(value, event);
  }

  give(value, event) {
    if (!this.chosen) return;
    swallow(event);
    this.inTurn(() => {
      const [query, passage] = this.chosen ?? [];
      if (passage) this.acts.add("judge", { home: this.data.home, query, passage, value });
      return true;
    });
  }

  turn(page) {
    this.rows.scrollTop = 0;
    this.send("page", page);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = this.items.indexOf(event.target);
    if (at < 0) return;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: this.items.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.items[to]?.focus();
  }
}

export default function ({ data, parentElement, setTriggerValue }) {
  let list = lists.get(parentElement);
  if (!list) lists.set(parentElement, (list = new List(parentElement)));
  list.show(data, setTriggerValue);

  const mine = new AbortController();
  const walk = (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || ![NEXT, PREVIOUS].includes(event.keyCode)) return;
    // Keys do nothing behind an open dialog.
    if (document.querySelector("[data-testid=stDialog]")) return;
    event.preventDefault();
    list.walk(event.keyCode === NEXT ? 1 : -1);
  };
  window.addEventListener("keydown", walk, { signal: mine.signal });
  window.addEventListener("keydown", (event) => list.judge(event), { capture: true, signal: mine.signal });
  window.addEventListener("click", (event) => list.press(event), { capture: true, signal: mine.signal });
  list.listening?.abort();
  list.listening = mine;
  return () => mine.abort();
}
