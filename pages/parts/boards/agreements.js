// Correlations: a row per way to evaluate, a column per measure; a cell opens its two leaderboards. This file is
// loaded after table.js and queries.js, whose functions it uses.

function fact(one) {
  return make("div", { class: "fact" }, make("span", { class: "quiet" }, one.name), make("strong", {}, one.value),
    one.more ? make("span", { class: "quiet" }, one.more) : null);
}

function behind(detail) {
  const boards = make("div", { class: "root" });
  if (detail.board) draw(boards, { board: detail.board, sort: "rank", down: false, open: "", act: () => {} });
  return make("div", { class: "detail" },
    make("p", {}, make("strong", {}, detail.title)),
    detail.undefined ? make("p", {}, `Undefined: ${detail.undefined}`) : make("div", { class: "facts" }, ...detail.facts.map(fact)),
    make("p", { class: "quiet" }, detail.says),
    detail.href ? make("p", { class: "links" }, link(detail.href, "Show both leaderboards")) : null,
    boards);
}

function cellOf(state, row, at, name, cell) {
  const open = state.open && state.open[0] === row && state.open[1] === at;
  const pick = () => {
    state.open = state.wanted = open ? null : [row, at];
    state.detail = null;
    state.act("pick", state.open ?? []);
    drawAgreements(state.root, state);
  };
  const about = `${cell.coefficient}: ${cell.value === null ? cell.why : cell.value.toFixed(3)}`;
  return make("td", {
    class: `cell ${cell.mark}${open ? " open" : ""}${cell.value < 0 ? " negative" : ""}`,
    style: cell.value === null ? null : `--size:${Math.round(55 * cell.value * cell.value)}%`,
  }, make("button", {
    type: "button", onclick: pick, title: about, "data-cell": `${row}.${at}.${name}`, "aria-expanded": String(Boolean(open)),
  }, cell.said.replace(/^(-?)0\./, "$1."), cell.interval ? make("span", { class: "interval" }, cell.interval) : null));
}

function drawAgreements(root, state) {
  const { heads, rows, fixed, heat } = state.table;
  const held = root.getRootNode().activeElement?.dataset?.cell;
  const beside = root.querySelector(".scroll")?.scrollLeft ?? 0;
  const signs = heads.flatMap((head) => head.signs.map((sign, at) =>
    make("th", { scope: "col", class: at ? "" : "begins", title: `${sign.name} of ${head.title}` }, sign.sign)));
  const body = rows.flatMap((row, at) => {
    const line = make("tr", {},
      make("th", { scope: "row", class: "method", title: row.name }, row.name),
      ...fixed.map((column) => make("td", { class: "fixed" }, row.fixed[column.title])),
      ...row.cells.flatMap((cells, measure) => cells.map((cell, name) => {
        const found = cellOf(state, at, measure, name, cell);
        if (!name) found.classList.add("begins");
        return found;
      })));
    if (!state.open || state.open[0] !== at) return [line];
    const detail = state.detail && state.detail.place[0] === at && state.detail.place[1] === state.open[1]
      ? behind(state.detail)
      : make("div", { class: "detail", role: "status" }, make("p", { class: "quiet" }, "Comparing the two leaderboards…"));
    return [line, make("tr", { class: "inside" }, make("td", { colspan: "999" }, detail))];
  });
  root.replaceChildren(make("p", { class: "quiet beyond" }, "Scroll for more columns →"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Correlations" },
    make("table", { class: heat ? "agreements heat" : "agreements" },
      make("caption", { class: "unseen" }, "Rank correlations with the official leaderboard"),
      make("thead", {},
        make("tr", {}, make("th", { class: "method", rowspan: "2", scope: "col" }, "Method"),
          ...fixed.map((column) => make("th", { class: "fixed", rowspan: "2", scope: "col", title: column.help }, column.title)),
          ...heads.map((head) => make("th", { class: "begins measure", scope: "colgroup", colspan: head.signs.length, title: head.help },
            head.title))),
        make("tr", {}, ...signs)),
      make("tbody", {}, ...body))));
  const scroll = root.querySelector(".scroll");
  scroll.scrollLeft = beside;
  state.sized?.disconnect();
  state.sized = new ResizeObserver(() => root.classList.toggle("wider", scroll.scrollWidth > scroll.clientWidth + 1));
  state.sized.observe(scroll);
  if (held) root.querySelector(`[data-cell="${CSS.escape(held)}"]`)?.focus({ preventScroll: true });
}

export default function ({ data, parentElement, setTriggerValue }) {
  let root = parentElement.querySelector(".root");
  if (!root) {
    root = make("div", { class: "root" });
    parentElement.append(root);
    root.state = { known: "", open: null };
  }
  const state = root.state;
  state.root = root;
  state.act = (name, value) => setTriggerValue(name, value);
  const known = JSON.stringify(data);
  if (known === state.known) return;
  state.known = known;
  state.table = data.table;
  if (state.wanted === undefined || String(state.wanted) === String(data.open)) {
    state.open = data.open;
    state.wanted = undefined;
  }
  state.detail = data.detail ?? state.detail;
  drawAgreements(root, state);
}
