// The unsaved changes of a person in all queries, and the keys of the question bank.

const BANK_KEYS = { 90: "undo", 89: "redo", 78: "add", 74: "next", 75: "previous" };
const SAVE = 83;

KINDS.bar = class extends Part {
  hear(data) {
    channel.bar = this;
    channel.hear(data);
    const { before } = this;
    // A note has no use if nothing is unsaved, undone or redone. Another person's save leaves it as it is.
    const same = before?.project === data.project && before.author === data.author;
    if ((!data.unsaved && !data.undo && !data.redo) || (same && data.saved > before.version)) channel.note = "";
  }

  view(data) {
    const { unsaved, version } = data;
    const told = channel.tries ? "Waiting for the server. Your changes are kept in this window." : data.said;
    const changes = unsaved > 0 && plural(unsaved, "unsaved change");
    const place = ` in ${data.queries} quer${data.queries > 1 ? "ies" : "y"}, based on version ${version}`;
    const saved = version ? `Bank version ${version}. No unsaved changes.` : "No bank version saved yet.";
    const about = changes ? [h("b", changes), place] : saved;
    const button = (words, key, onclick, disabled, keys = null, title = keys) =>
      h("button", { class: key === "save" && !disabled && "first", "data-key": key, title,
        "aria-keyshortcuts": keys?.replace("Ctrl", "Control"), disabled, onclick },
        words, keys && keyHint(keys));
    const none = !unsaved || data.conflicts > 0;
    const others = told || (data.others && `${data.others} ${data.help}`);
    return h("div.bar.bank-bar", { class: unsaved ? "changed" : "", "data-unsaved": unsaved,
      "data-version": version ?? 0 },
      h("div.state",
        h("div.said", { role: "status", title: changes ? changes + place : saved }, about),
        h("div.others", { role: "status", class: told ? "told" : "", title: others }, told || data.others)),
      button("Undo", "undo", () => channel.act("undo"), !data.undo, "Alt+Z"),
      button("Redo", "redo", () => channel.act("redo"), !data.redo, "Alt+Y"),
      h("input", { type: "text", "data-key": "note", "aria-label": "Note", disabled: !unsaved, value: channel.note,
        placeholder: data.note || "Note: what changed and why", title: unsaved ? `Default note: ${data.note}` : "",
        oninput: ({ target }) => (channel.note = target.value) }),
      button("Discard all", "discard", () => channel.act("discard"), none, null,
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
      const box = focused()?.matches(":read-write") ? focused() : null;
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

  save() {
    channel.questions?.tidy();
    channel.act("save", { note: channel.note });
  }

  press(key, box) {
    // Text in other fields of the page, such as the name, is sent when the field loses focus.
    if (box && !box.getRootNode().host) box.blur();
    const query = this.data[key];
    if (key === "save") this.save();
    else if (key === "add") channel.questions?.add();
    else if (key === "undo" || key === "redo") channel.act(key);
    else if (query) channel.act("open", { query });
    else channel.flush();
  }
};
