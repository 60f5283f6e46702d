const SAVE = 83, UNDO = 90, REDO = 89, ADD = 78, NEXT = 74, PREVIOUS = 75;
const FIELDS = "textarea, input:not([type=checkbox]):not([type=radio]):not([type=file])";
const bars = new WeakMap();

function build(parent) {
  let data = null;
  const button = (label, name, keys, className = "") =>
    make("button", { type: "button", textContent: label, className, title: keys, onclick: () => name() });
  const undo = button("Undo", () => act("undo"), "Alt+Z");
  const redo = button("Redo", () => act("redo"), "Alt+Y");
  const discard = button("Discard all", () => act("discard"), "Discard all your unsaved changes. You can undo this.");
  const save = button("Save version", () => store(), "Ctrl+S", "main");
  const said = make("div", { className: "said", role: "status" });
  const others = make("div", { className: "others", role: "status" });
  const note = make("input", { type: "text", "aria-label": "Note" });
  note.addEventListener("input", () => channel.write(note.value));
  undo.setAttribute("aria-keyshortcuts", "Alt+Z");
  redo.setAttribute("aria-keyshortcuts", "Alt+Y");
  save.setAttribute("aria-keyshortcuts", "Control+S");
  for (const one of [undo, redo, save]) one.append(keyHint(one.title));
  for (const [key, one] of Object.entries({ undo, redo, discard, save, note })) one.dataset.key = key;
  const bar = make("div", { className: "bar" }, make("div", { className: "state" }, said, others), undo, redo, note, discard, save);
  parent.append(bar);

  function act(name) {
    channel.flush();
    channel.push({ act: name });
  }
  function store() {
    channel.flush();
    channel.push({ act: "save", note: channel.note() });
  }
  function show(given) {
    channel.hear(given);
    // If nothing is unsaved, and nothing can be undone or redone, a note has no use. Another person's save leaves the
    // note as it is.
    const same = data?.project === given.project && data.author === given.author;
    const nothing = !given.unsaved && !given.undo && !given.redo;
    if (nothing || (same && given.saved > data.version)) channel.write("");
    data = given;
    const count = given.unsaved;
    const about = [];
    if (count) {
      about.push(make("b", { textContent: `${count} unsaved change${count > 1 ? "s" : ""}` }));
      about.push(` in ${given.queries} quer${given.queries > 1 ? "ies" : "y"}, based on version ${given.version}`);
    } else if (given.version) about.push(`Bank version ${given.version}. No unsaved changes.`);
    else about.push("No bank version saved yet.");
    said.replaceChildren(...about);
    bar.classList.toggle("changed", count > 0);
    Object.assign(bar.dataset, { unsaved: count, version: given.version ?? 0 });
    const told = channel.late ? "Waiting for the server. Your changes are kept in this window." : given.said;
    said.title = said.textContent;
    others.textContent = told || given.others;
    others.title = told || (given.others && `${given.others} ${given.help}`);
    others.classList.toggle("told", Boolean(told));
    undo.disabled = !given.undo;
    redo.disabled = !given.redo;
    discard.disabled = save.disabled = !count || given.conflicts > 0;
    note.disabled = !count;
    note.placeholder = given.note || "Note: what changed and why";
    note.title = count ? `Default note: ${given.note}` : "";
    if (note.value !== channel.note()) note.value = channel.note();
  }
  return { show, store, act, late: () => data && show(data), next: () => data?.next, previous: () => data?.previous };
}

// Typed text reaches the server when its field loses focus, or after a pause. A shortcut sends it first, so that it
// acts on the text that the person sees. During typing, Undo applies to the typed text, like Ctrl+Z.
function listen(part) {
  const mine = new AbortController();
  const typedIn = new WeakSet();
  const entered = new WeakMap();
  const on = (name, does) => window.addEventListener(name, does, { capture: true, signal: mine.signal });
  const take = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  on("focus", (event) => {
    if (event.target === window && channel.window) channel.push({ act: "look" });
  });
  on("pagehide", () => channel.flush());
  on("focusin", (event) => entered.set(event.composedPath()[0], event.composedPath()[0].value));
  on("input", (event) => typedIn.add(event.composedPath()[0]));
  on("focusout", (event) => typedIn.delete(event.composedPath()[0]));
  on("keydown", (event) => {
    const key = event.keyCode;
    const ctrl = (event.ctrlKey || event.metaKey) && !event.altKey;
    const alt = event.altKey && !event.ctrlKey && !event.metaKey;
    const save = ctrl && !event.shiftKey && key === SAVE;
    const field = focused()?.matches(FIELDS) ? focused() : null;
    if (ctrl && event.key === "Enter") {
      typedIn.delete(field);
      channel.flush();
    } else if (alt && [UNDO, REDO].includes(key) && typedIn.has(field)) {
      take(event);
      // The browser would go on with changes in a previously edited field.
      if (key === REDO || field.value !== entered.get(field)) document.execCommand(key === UNDO ? "undo" : "redo");
    } else if (save || (alt && [UNDO, REDO, ADD, NEXT, PREVIOUS].includes(key))) {
      // Shortcuts do nothing behind an open dialog: a redraw would close it and lose its typed text.
      take(event);
      if (document.querySelector("[data-testid=stDialog]")) return;
      // Text in other fields of the page, such as the name, is sent when the field loses focus.
      if (field && !field.getRootNode().host) field.blur();
      if (save) part.store();
      else if (key === UNDO) part.act("undo");
      else if (key === REDO) part.act("redo");
      else if (key === ADD) globalThis.examWorkbenchBank.add?.();
      else {
        const query = key === NEXT ? part.next() : part.previous();
        channel.flush();
        if (query) channel.push({ act: "open", query });
      }
    }
  });
  return mine;
}

export default function ({ data, parentElement, setStateValue }) {
  let bar = bars.get(parentElement);
  if (!bar) {
    const part = build(parentElement);
    bar = { part, keys: listen(part) };
    bars.set(parentElement, bar);
  }
  channel.join(bar.part, (acts) => setStateValue("acts", acts));
  bar.part.show(data);
  return () => {
    bar.keys.abort();
    channel.leave(bar.part);
    bars.delete(parentElement);
  };
}
