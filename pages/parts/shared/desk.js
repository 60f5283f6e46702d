// A desk: a list, its open item, and the actions of a person, each with a key. See components.py for its data.

let last = 0;
// Untaken actions that survive visits to other screens, by project.
const outlasting = {};

// Page keys scroll the open passage to its end, wherever the focus is.
const SCREENFULS = { PageDown: 0.9, PageUp: -0.9 };

function scrollPassage(event, text) {
  if (!text || isUsed(event)) return;
  const before = text.scrollTop;
  text.scrollTop += SCREENFULS[event.key] * text.clientHeight;
  if (text.scrollTop !== before) swallow(event);
}

const nameOf = (event) => (event.altKey ? `Alt+${String.fromCharCode(event.keyCode)}` : event.key).toLowerCase();

class Desk extends Part {
  waiting = [];

  show(data, tell, hold) {
    if (this.outlasts) this.waiting = outlasting[data.home] ?? [];
    this.waiting = this.waiting.filter((one) => one.id > data.taken);
    super.show(data, tell, hold);
    this.send();
  }

  act(name, values) {
    last = Math.max(last + 1, Date.now());
    this.waiting.push({ id: last, do: name, ...values });
    this.send();
    return last;
  }

  // Actions are sent again until the server has taken them, since Streamlit may drop messages that arrive during a run.
  send() {
    if (this.outlasts) outlasting[this.data.home] = this.waiting;
    if (this.waiting.length) this.tell("acts", this.waiting);
  }

  listen(on) {
    on("keydown", (event) => this.key(event));
  }

  // A key presses the button that has it as its shortcut. On a Mac, Alt changes the letters, but not the key codes.
  key(event) {
    if (event.ctrlKey || event.metaKey || (event.shiftKey && /^[a-z]$/i.test(event.key)) || behindDialog()) return;
    if (event.key in SCREENFULS)
      return scrollPassage(event, this.find(".passage") ?? document.querySelector(".passage-text"));
    const button = this.find(`[aria-keyshortcuts="${CSS.escape(nameOf(event))}" i]`);
    if (!button || (!event.altKey && isUsed(event))) return;
    swallow(event);
    if (event.altKey || !event.repeat) button.click();
  }

  // A button that lists further keys, and those of all buttons.
  help(more = []) {
    const parts = (button) => [...button.childNodes].filter((node) => !node.matches?.("kbd, b"));
    const named = this.findAll("[aria-keyshortcuts]:not(.help *)").map((button) =>
      [button.getAttribute("aria-keyshortcuts"), parts(button).map((part) => part.textContent).join(" ")]);
    const keys = [...more, ...named, ["PgUp PgDn", "Scroll the passage"]];
    return h("span.help",
      h("button.link", { "aria-keyshortcuts": "?", popovertarget: "keys" }, "Keys", keyHint("?")),
      h("dl", { id: "keys", popover: "auto", onbeforetoggle: () => this.redraw() },
        keys.map(([key, about]) => [h("dt", h("kbd", key)), h("dd", about)])));
  }

  // A button to a neighbour of the open item.
  step(words, key, can, go, title) {
    return h("button", { "data-key": words.toLowerCase(), disabled: !can, title: `${title} (Alt+${key})`,
      "aria-keyshortcuts": `Alt+${key}`, onclick: go }, words);
  }

  // A page of the cases, with buttons to earlier and later ones. The open one is marked and kept in sight.
  cases(open, go, kind, inside) {
    const { rows, first, total, page } = this.data;
    const beyond = (words, many, at) => many > 0
      && h("li", { key: words }, h("button.beyond", { onclick: () => go(at) }, `${words} cases (${count(many)})`));
    // Tab reaches one row; from there, arrow keys move up and down.
    const reached = Math.max(0, rows.findIndex((one) => one.id === open));
    const row = (one, at) =>
      h("li", { key: one.id },
        h("button.row", { class: kind(one), "data-id": one.id, "aria-current": one.id === open && "true",
          tabindex: at === reached ? 0 : -1, onclick: () => go(first + at, one.id) },
          inside(one, first + at)));
    return h("ol.list", { "aria-label": "Cases", onkeydown: (event) => walk(event, this.findAll("button.row")) },
      beyond("Earlier", first, Math.max(0, first - page)),
      rows.map(row),
      beyond("Later", total - first - rows.length, first + rows.length));
  }

  // The result of the last action, with its undo.
  news({ said, error }, undo) {
    return h("div.news", { role: "status" },
      said && h(said.refused ? "b" : "span", { dir: "auto" }, said.words),
      said?.undo && h("button.link", { onclick: () => undo(said.undo) }, "Undo"),
      error && h("b", {}, `${error.message} ${error.hint}`));
  }

  drawn() {
    const row = this.find(".list [aria-current]");
    const stands = row && `${row.dataset.id} ${this.findAll(".list [data-id]").indexOf(row)}`;
    if (row && stands !== this.stands) this.keepInSight(row, row.closest(".list").getBoundingClientRect());
    this.stands = stands;
    const title = this.moved && !this.busy && this.find(".case h2");
    if (!title) return;
    this.moved = false;
    if (!focused()?.matches("input, textarea, select")) title.focus({ preventScroll: true });
    const { top } = title.closest(".case").getBoundingClientRect();
    if (top < 60 || top > window.innerHeight - 200) title.closest(".case").scrollIntoView({ block: "start" });
  }

  // Scroll a list to a row; scrollIntoView would move the page, too.
  keepInSight(row, list) {
    const { top, bottom } = row.getBoundingClientRect();
    if (top < list.top + 40) row.closest(".list").scrollTop -= list.top + 40 - top;
    else if (bottom > list.bottom) row.closest(".list").scrollTop += bottom - list.bottom + 8;
  }
}
