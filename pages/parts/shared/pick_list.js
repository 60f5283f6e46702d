// A searchable, scrolled list to choose from, with a link per entry. See pick_list.py.

const lists = new WeakMap();

function make(tag, set = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(set)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.includes("-")) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

class List {
  constructor(parent) {
    this.rows = new Map();
    this.count = 0;
    this.find = make("input", { type: "search", oninput: () => this.filter() });
    this.find.addEventListener("keydown", (event) => this.move(event));
    this.none = make("p");
    this.list = make("nav");
    parent.append(make("div", { className: "pick" }, this.find, this.none, this.list));
  }

  show(data, pick) {
    const anew = data.chosen !== this.data?.chosen;
    this.data = data;
    this.pick = pick;
    this.find.placeholder = data.find;
    this.find.setAttribute("aria-label", data.find);
    this.list.setAttribute("aria-label", data.label);
    this.none.textContent = data.none;
    const there = new Set();
    let at = this.list.firstElementChild;
    for (const row of data.rows) {
      there.add(row.id);
      let link = this.rows.get(row.id);
      if (!link) this.rows.set(row.id, (link = this.link(row.id)));
      if (link === at) at = at.nextElementSibling;
      else this.list.insertBefore(link, at);
      const now = JSON.stringify(row);
      if (link.now !== now) {
        link.now = now;
        link.href = row.href;
        link.words = `${row.id} ${row.text}`.toLowerCase();
        const marks = row.marks.map((mark) => make("span", { className: `mark ${mark.kind}`, textContent: mark.sign, title: mark.says, "aria-label": mark.says, role: "img" }));
        link.replaceChildren(make("span", { className: "text", textContent: row.text }), ...marks, make("small", { textContent: row.about }));
      }
    }
    for (const [id, link] of this.rows) {
      if (there.has(id)) continue;
      link.remove();
      this.rows.delete(id);
    }
    this.mark(data.chosen, anew);
    this.filter();
  }

  link(id) {
    return make("a", {
      onclick: (event) => {
        // With another button or a modifier key, it acts as a normal link.
        if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        this.take(id);
      },
      onkeydown: (event) => this.move(event),
    });
  }

  take(id) {
    this.mark(id, true);
    this.pick(id);
  }

  // Tab reaches one entry; from there, arrow keys move up and down.
  mark(chosen, anew) {
    for (const [id, link] of this.rows) {
      const mine = id === chosen;
      link.tabIndex = mine ? 0 : -1;
      if (mine) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    const link = this.rows.get(chosen);
    if (!anew || !link) return;
    const high = this.list.clientHeight;
    const top = link.offsetTop - this.list.offsetTop;
    if (top < this.list.scrollTop || top + link.offsetHeight > this.list.scrollTop + high) this.list.scrollTop = top - high / 3;
  }

  move(event) {
    const shown = [...this.rows.values()].filter((link) => !link.hidden);
    const at = shown.indexOf(event.currentTarget);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (event.altKey || event.ctrlKey || event.metaKey || to === undefined || (at < 0 && event.key !== "ArrowDown")) return;
    event.preventDefault();
    (shown[to] ?? this.find).focus();
  }

  filter() {
    const words = this.find.value.trim().toLowerCase();
    let shown = 0;
    for (const link of this.rows.values()) {
      link.hidden = !link.words.includes(words);
      shown += link.hidden ? 0 : 1;
    }
    this.none.hidden = shown > 0;
  }
}

export default function ({ data, parentElement, setStateValue }) {
  let list = lists.get(parentElement);
  if (!list) lists.set(parentElement, (list = new List(parentElement)));
  list.count = Math.max(list.count, data.taken);
  list.show(data, (id) => setStateValue("picked", { id, n: ++list.count, session: data.session }));
  return () => lists.delete(parentElement);
}
