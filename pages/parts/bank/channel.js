// Numbered actions of this tab in the question bank, kept until the server has done them: see window.py.

const BANK = "exam-workbench-bank";
const AGAIN = [4000, 8000, 16000, 30000];

function makeChannel() {
  const channel = { acts: [], unseen: [], last: 0, window: null, place: {}, refused: {}, notes: {}, late: false };
  const joined = new Set();
  let send = null;
  let timer = null;
  let tries = 0;

  // After a reload or a server failure, only typed changes are sent again; other actions are dropped.
  const typed = () => channel.acts.filter((act) => act.act === "edit" || act.act === "add");
  const { acts = [], notes = {} } = kept(sessionStorage, BANK);
  Object.assign(channel, { acts, notes });
  channel.keep = () => keep(sessionStorage, BANK, { acts: typed(), notes: channel.notes });

  // The note of a version belongs to one person and one project.
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

  // A run that was ended in favour of a fragment may not have received the actions.
  const ask = () => {
    const open = channel.acts.some((act) => !(act.n in channel.refused));
    if (!open) return;
    tries += 1;
    channel.late = true;
    for (const part of joined) part.late?.();
    if (document.querySelector(STREAMLIT.running)) timer = setTimeout(ask, AGAIN[0]);
    else deliver();
  };

  const numbered = (act) => ({ n: ++channel.last, window: channel.window, ...channel.place, ...act });

  channel.push = (...acts) => {
    channel.acts.push(...acts.map(numbered));
    deliver();
  };

  channel.join = (part, sender) => {
    joined.add(part);
    if (sender) send = sender;
  };
  channel.leave = (part) => joined.delete(part);

  // Send all typed text of the bank, before a shortcut acts on it.
  channel.flush = () => {
    for (const part of joined) part.flush?.();
  };

  // Each component hears the results for itself, with its own data. The bar is drawn before the questions, so the bar
  // may know of actions whose effect the questions do not show yet.
  channel.hear = (data, questions = false) => {
    if (data.window !== channel.window) {
      channel.window = data.window;
      // The server may have done some of these actions without this tab hearing of it. A value that was typed here is
      // not another person's edit.
      const mine = (act) => typed().filter((one) => one.id === act.id && one.field === act.field).map((one) =>
        one.value);
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

  // Actions that the questions do not show yet, done by the server or not.
  channel.coming = () => [...channel.unseen, ...channel.acts];

  // The latest edit of a field that the questions do not show yet.
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
