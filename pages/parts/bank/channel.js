// What is done in the question bank of this tab, numbered, until the server has done it: see window.py.
// Every component of the bank begins with this file; the first one that is there makes the channel for all.

const KEPT = "exam-workbench-bank";
const AGAIN = [4000, 8000, 16000, 30000];

function makeChannel() {
  const channel = { acts: [], unseen: [], last: 0, window: null, place: {}, refused: {}, notes: {}, late: false };
  const parts = new Set();
  let send = null;
  let timer = null;
  let tries = 0;

  // What a reload, or a server that went down, left undone: only what was typed is still meant.
  const typed = () => channel.acts.filter((act) => act.act === "edit" || act.act === "add");
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
    channel.acts = kept.acts ?? [];
    channel.notes = kept.notes ?? {};
  } catch {
    // A browser that keeps nothing loses what was typed in the moment of a reload, and nothing else.
  }

  channel.keep = () => {
    try {
      sessionStorage.setItem(KEPT, JSON.stringify({ acts: typed(), notes: channel.notes }));
    } catch {
      // See above.
    }
  };

  // The note of a version is one person's, on one project.
  const whose = () => JSON.stringify([channel.place.project, channel.place.author]);
  channel.note = () => channel.notes[whose()] ?? "";
  channel.write = (note) => {
    if (note) channel.notes[whose()] = note;
    else delete channel.notes[whose()];
    channel.keep();
  };

  const deliver = () => {
    channel.keep();
    send?.(channel.acts);
    clearTimeout(timer);
    timer = setTimeout(ask, AGAIN[Math.min(tries, AGAIN.length - 1)]);
  };

  // A run that was ended in favour of a part of the page may have taken nothing in.
  const ask = () => {
    const open = channel.acts.some((act) => !(act.n in channel.refused));
    if (!open) return;
    const app = document.querySelector("[data-testid=stApp]");
    tries += 1;
    channel.late = true;
    for (const part of parts) part.late?.();
    if (app?.dataset.testScriptState === "running") timer = setTimeout(ask, AGAIN[0]);
    else deliver();
  };

  const numbered = (act) => ({ n: ++channel.last, window: channel.window, ...channel.place, ...act });

  channel.push = (...acts) => {
    channel.acts.push(...acts.map(numbered));
    deliver();
  };

  channel.join = (part, sender) => {
    parts.add(part);
    if (sender) send = sender;
  };
  channel.leave = (part) => parts.delete(part);

  // Everything that is being typed anywhere in the bank, before a key acts on what the person sees.
  channel.flush = () => {
    for (const part of parts) part.flush?.();
  };

  // Each part hears for itself, with what it draws. The bar is drawn before the questions: what it heard to be done,
  // they may not show yet.
  channel.hear = (data, questions = false) => {
    if (data.window !== channel.window) {
      channel.window = data.window;
      // The server may have done some of it without this tab hearing so: what was typed here is not another's edit.
      const mine = (act) => typed().filter((one) => one.id === act.id && one.field === act.field).map((one) => one.value);
      const again = typed().map(({ n, window, ...act }) => ({
        ...act,
        ...(act.act === "edit" ? { mine: mine(act) } : {}),
        n: ++channel.last,
        window: data.window,
      }));
      channel.acts = again;
      channel.unseen = [];
      if (again.length) queueMicrotask(deliver);
    }
    channel.place = { project: data.project, author: data.author };
    channel.refused = data.refused;
    const open = (act) => act.n > data.done || act.n in data.refused;
    channel.unseen.push(...channel.acts.filter((act) => !open(act)));
    if (questions) channel.unseen = channel.unseen.filter((act) => act.n > data.done);
    channel.acts = channel.acts.filter(open);
    if (!channel.acts.some((act) => !(act.n in data.refused))) {
      clearTimeout(timer);
      channel.late = false;
      tries = 0;
    }
    channel.keep();
  };

  // What the questions do not show yet, whether the server has done it or not.
  channel.coming = () => [...channel.unseen, ...channel.acts];

  // What was typed into a field and is not in what the questions show: the last edit of it that is coming.
  channel.edit = (id, field) =>
    channel.coming().findLast((act) => act.act === "edit" && act.id === id && act.field === field);

  channel.refuse = (id, field) => {
    channel.acts = channel.acts.filter(
      (act) => !(act.act === "edit" && act.id === id && act.field === field && act.n in channel.refused),
    );
  };
  return channel;
}

const channel = (globalThis.examWorkbenchBank ??= makeChannel());

function make(tag, set = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(set)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role") node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children);
  return node;
}

// The keys of a button, on it; a screen reader has them from `aria-keyshortcuts`.
function keyHint(keys) {
  return make("kbd", { textContent: keys, "aria-hidden": "true" });
}

// The field with the caret, also inside of a component.
function focused() {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found;
}
