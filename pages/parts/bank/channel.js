// Numbered actions of this tab in the question bank, kept until the server has done them: see editing_window.py.

const BANK = "exam-workbench-bank";
const isTyped = ({ act }) => act === "edit" || act === "add";
const isEditOf = (id, field) => (act) => act.act === "edit" && act.id === id && act.field === field;

class Channel {
  unseen = []; // Actions that are done, but that the questions do not show yet.
  refused = {};
  last = 0;
  tries = 0;
  delivered = Date.now();

  constructor() {
    Object.assign(this, { acts: [], notes: {}, ...kept(sessionStorage, BANK) });
    setInterval(() => this.remind(), 1000);
  }

  // After a reload or a server failure, only typed changes are sent again; other actions are dropped.
  keep() {
    keep(sessionStorage, BANK, { acts: this.acts.filter(isTyped), notes: this.notes });
  }

  // The note of a version belongs to one person and one project.
  get note() {
    return this.notes[JSON.stringify(this.place)] ?? "";
  }

  set note(words) {
    this.notes[JSON.stringify(this.place)] = words;
    this.keep();
  }

  // Send all typed text of the bank.
  flush() {
    this.questions?.flush();
  }

  // An action applies to the text that the person sees.
  act(name, more = {}) {
    this.flush();
    this.push({ act: name, ...more });
  }

  push(act) {
    this.acts.push({ n: ++this.last, window: this.window, ...this.place, ...act });
    this.deliver();
  }

  deliver() {
    this.keep();
    this.delivered = Date.now();
    this.bar?.hold("acts", this.acts);
  }

  get isWaiting() {
    return this.acts.some((act) => !(act.n in this.refused));
  }

  // A run that was ended in favour of a fragment may not have received the actions. The pauses grow up to 30 seconds.
  remind() {
    const pause = Math.min(30000, 4000 * 2 ** this.tries);
    if (!this.isWaiting || Date.now() - this.delivered < pause) return;
    this.tries += 1;
    this.bar?.redraw();
    if (!document.querySelector(STREAMLIT.running)) this.deliver();
  }

  // Each component hears the results for itself, with its own data. The bar is drawn before the questions, so it may
  // know of actions whose effect the questions do not show yet.
  hear({ project, author, window, done, refused }, questions = false) {
    this.place = { project, author };
    if (window !== this.window) this.enter(window);
    this.refused = refused;
    const isOpen = (act) => act.n > done || act.n in refused;
    this.unseen.push(...this.acts.filter((act) => !isOpen(act)));
    if (questions) this.unseen = this.unseen.filter((act) => act.n > done);
    this.acts = this.acts.filter(isOpen);
    if (!this.isWaiting) this.tries = 0;
    this.keep();
  }

  // The server may have done some of the actions of the former window without this tab hearing of it. A value that was
  // typed here is not another person's edit.
  enter(window) {
    const typed = this.acts.filter(isTyped);
    const mine = (act) => typed.filter(isEditOf(act.id, act.field)).map((one) => one.value);
    this.acts = typed.map((act) => ({ ...act, mine: mine(act), n: ++this.last, window }));
    this.unseen = [];
    this.window = window;
    if (typed.length) queueMicrotask(() => this.deliver());
  }

  // Actions that the questions do not show yet, done by the server or not.
  get coming() {
    return [...this.unseen, ...this.acts];
  }

  // The latest edit of a field that the questions do not show yet.
  edit(id, field) {
    return this.coming.findLast(isEditOf(id, field));
  }

  // Give up the refused edits of a field.
  refuse(id, field) {
    this.acts = this.acts.filter((act) => !(isEditOf(id, field)(act) && act.n in this.refused));
  }
}

const channel = (globalThis.examWorkbenchBank ??= new Channel());
