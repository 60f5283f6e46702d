// The leaderboard of the Leaderboard screen; loaded after table.js and queries.js, whose functions it uses.

export default function ({ data, parentElement, setTriggerValue }) {
  let root = parentElement.querySelector(".root");
  if (!root) {
    root = make("div", { class: "root" });
    parentElement.append(root);
    const state = { sort: "rank", down: false, known: "" };
    root.state = state;
    for (const name of ["pointerover", "focusin"]) root.addEventListener(name, (event) => point(root, state, event.target));
    for (const name of ["pointerleave", "focusout"]) root.addEventListener(name, () => point(root, state, null));
  }
  const state = root.state;
  state.act = (name, value) => setTriggerValue(name, value);
  const known = JSON.stringify(data);
  if (known === state.known) return;
  state.known = known;
  state.board = data.board;
  // An answer to an earlier click does not close a row that was opened since.
  if (state.wanted === undefined || state.wanted === data.open) {
    state.open = data.open;
    state.wanted = undefined;
  }
  if (data.detail && data.detail.run === state.open) state.detail = data.detail;
  draw(root, state);
}
