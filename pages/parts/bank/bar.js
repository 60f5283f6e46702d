// The unsaved changes of a person in all queries, and the keys of the question bank.

const BANK_KEYS = { 90: "undo", 89: "redo", 78: "add", 74: "next", 75: "previous" };
const SAVE = 83;
const FIELDS = "textarea, input:not([type=checkbox]):not([type=radio]):not([type=file])";

KINDS.bar = class extends Part {
  act(name, more = {}) {
    channel.flush();
    channel.push({ act: name, ...more });
  }

  save() {
    channel.tidy?.();
    channel.flush();
    channel.push({ act: "save", note: channel.note() });
  }

  late() {
    this.redraw();
  }

  leave() {
    channel.leave(this);
  }

  show(data, tell, hold) {
    channel.join(this, (acts) => hold("acts", acts));
    super.show(data, tell, hold);
  }

  hear(data) {
    channel.hear(data);
    const { before } = this;
    // If nothing is unsaved, and nothing can be undone or redone, a note has no use. Another person's save leaves the
    // note as it is.
    const same = before?.project === data.project && before.author === data.author;
    if ((!data.unsaved && !data.undo && !data.redo) || (same && data.saved > before.version)) channel.write("");
  }

  view(data) {
    const { unsaved, version } = data;
    const told = channel.late ? "Waiting for the server. Your changes are kept in this window." : data.said;
    const about = unsaved
      ? [h("b", plural(unsaved, "unsaved change")),
        ` in ${data.queries} quer${data.queries > 1 ? "ies" : "y"}, based on version ${version}`]
      : version ? `Bank version ${version}. No unsaved changes.` : "No bank version saved yet.";
    const button = (words, key, onclick, disabled, keys = null, title = keys) =>
      h("button", { class: key === "save" ? "main" : "", "data-key": key, title,
        "aria-keyshortcuts": keys?.replace("Ctrl", "Control"), disabled, onclick },
        words, keys && keyHint(keys));
    const none = !unsaved || data.conflicts > 0;
    const others = told || (data.others && `${data.others} ${data.help}`);
    return h("div.bar.bank-bar", { class: unsaved ? "changed" : "", "data-unsaved": unsaved,
      "data-version": version ?? 0 },
      h("div.state",
        h("div.said", { role: "status", title: [about].flat().map((one) => one.inside?.[0] ?? one).join("") }, about),
        h("div.others", { role: "status", class: told ? "told" : "", title: others }, told || data.others)),
      button("Undo", "undo", () => this.act("undo"), !data.undo, "Alt+Z"),
      button("Redo", "redo", () => this.act("redo"), !data.redo, "Alt+Y"),
      h("input", {
        type: "text", "data-key": "note", "aria-label": "Note", disabled: !unsaved,
        placeholder: data.note || "Note: what changed and why", title: unsaved ? `Default note: ${data.note}` : "",
        value: channel.note(), oninput: ({ target }) => channel.write(target.value),
      }),
      button("Discard all", "discard", () => this.act("discard"), none, null,
        "Discard all your unsaved changes. You can undo this."),
      button("Save version", "save", () => this.save(), none, "Ctrl+S"));
  }

  // Typed text reaches the server when its field loses focus, or after a pause. A shortcut sends it first, so that it
  // acts on the text that the person sees. During typing, Undo applies to the typed text, like Ctrl+Z.
  listen(on) {
    const typedIn = new WeakSet();
    const entered = new WeakMap();
    const field = (event) => event.composedPath()[0];
    on("focus", (event) => event.target === window && channel.window && channel.push({ act: "look" }));
    on("pagehide", () => channel.flush());
    on("focusin", (event) => entered.set(field(event), field(event).value));
    on("input", (event) => typedIn.add(field(event)));
    on("focusout", (event) => typedIn.delete(field(event)));
    on("keydown", (event) => {
      const ctrl = (event.ctrlKey || event.metaKey) && !event.altKey;
      const key = event.altKey && !event.ctrlKey && !event.metaKey && BANK_KEYS[event.keyCode];
      const box = focused()?.matches(FIELDS) ? focused() : null;
      if (ctrl && event.key === "Enter") {
        typedIn.delete(box);
        channel.flush();
      } else if (["undo", "redo"].includes(key) && typedIn.has(box)) {
        swallow(event);
        // The browser would go on with changes in a previously edited field.
        if (key === "redo" || box.value !== entered.get(box)) document.execCommand(key);
      } else if (key || (ctrl && !event.shiftKey && event.keyCode === SAVE)) {
        // Shortcuts do nothing behind an open dialog: a redraw would close it and lose its typed text.
        swallow(event);
        if (!document.querySelector(STREAMLIT.dialog)) this.press(key || "save", box);
      }
    });
  }

  press(key, box) {
    // Text in other fields of the page, such as the name, is sent when the field loses focus.
    if (box && !box.getRootNode().host) box.blur();
    const query = this.data[key];
    if (key === "save") this.save();
    else if (key === "add") channel.add?.();
    else if (key === "undo" || key === "redo") this.act(key);
    else if (query) this.act("open", { query });
    else channel.flush();
  }
};
