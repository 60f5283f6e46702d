// A leaderboard: a row per system with its score on a scale, next to the official score. A bracket on the left joins
// systems that are not separated. A row opens in place.

const LANE = 7;

const share = (value, [low, high]) => (100 * (value - low)) / (high - low);

function axis(domain) {
  const { found, digits } = ticks(domain);
  return make("div", { class: "axis", "aria-hidden": "true" },
    ...found.map((at) => make("span", { style: `left:${share(at, domain)}%` }, at.toFixed(digits))));
}

function grid(domain) {
  const at = ticks(domain).found.map((one) => share(one, domain));
  return `background-image:${at.map(() => "linear-gradient(var(--line),var(--line))").join()};` +
    `background-position:${at.map((one) => `${one}% 0`).join()}`;
}

// A name may be wrapped after a separator between its words.
const inParts = (name) => name.split(/(?<=[+_/.-])/).flatMap((part) => [part, document.createElement("wbr")]);

function plot(system, domain, kind) {
  const inside = make("div", { class: "field", style: grid(domain) });
  if (system) {
    const [low, high] = [system.score - (system.error ?? 0), system.score + (system.error ?? 0)];
    const [from, to] = [share(low, domain), share(high, domain)];
    inside.append(make("i", { class: "error", style: `left:${from}%;width:${to - from}%` }),
      make("i", { class: `dot ${kind}`, style: `left:${share(system.score, domain)}%` }));
  }
  return make("td", { class: `plot ${kind}`, "aria-hidden": "true" }, inside);
}

// Overlapping brackets are side by side.
function lanes(groups) {
  const ends = [];
  return groups.map(([first, last]) => {
    let lane = ends.findIndex((end) => end < first);
    if (lane < 0) lane = ends.push(-1) - 1;
    ends[lane] = last;
    return { first, last, lane };
  });
}

function brackets(at, placed, after) {
  return placed
    .filter(({ first, last }) => first <= at && (after ? at < last : at <= last))
    .map(({ first, last, lane }) => make("i", {
      class: ["lane", !after && at === first && "first", !after && at === last && "last"].filter(Boolean).join(" "),
      style: `left:${lane * LANE}px`,
      "data-group": `${first}-${last}`,
    }));
}

function moved(system) {
  const official = system.official;
  if (!official) return make("td", { class: "moved" }, NOTHING);
  const by = official.rank - system.rank;
  const said = by ? `${Math.abs(by)} ${by > 0 ? "higher" : "lower"} than the official rank` : "same as the official rank";
  return make("td", { class: "moved" },
    make("data", { value: official.rank }, String(official.rank)),
    make("span", { class: by ? "by" : "by none", title: said, "aria-label": said, role: "img" },
      by ? `${by > 0 ? "▲" : "▼"}${Math.abs(by)}` : "="));
}

function extra(column, at) {
  const value = column.values[at];
  if (value === null || value === "") return make("td", { class: "more" }, value === null ? NOTHING : "");
  if (typeof value !== "number") return make("td", { class: "more" }, value);
  const said = column.percent ? `${Math.round(100 * value)}%` : value.toFixed(column.digits);
  return make("td", { class: "more" }, make("data", { value }, said));
}

const COLUMNS = {
  rank: (one) => one.rank,
  run: (one) => one.run.toLowerCase(),
  score: (one) => -one.score,
  official: (one) => (one.official ? one.official.rank : Infinity),
};

function head(title, { sort = null, help = null, kind = "", state, redraw, span = 1, under = null }) {
  const label = sort === null ? title : make("button", {
    type: "button",
    onclick: () => {
      state.down = state.sort === sort && !state.down;
      state.sort = sort;
      redraw();
    },
  }, title, make("span", { class: "arrow", "aria-hidden": "true" }, state.sort === sort ? (state.down ? "↑" : "↓") : ""));
  const order = state.sort === sort && sort !== null ? (state.down ? "descending" : "ascending") : null;
  return make("th", { scope: "col", class: kind, title: help, colspan: span > 1 ? span : null, "aria-sort": order }, label, under);
}

function draw(root, state) {
  const { board, act } = state;
  const redraw = () => draw(root, state);
  const placed = state.sort === "rank" && !state.down ? lanes(board.groups) : [];
  const wide = placed.length ? 6 + LANE * (1 + Math.max(...placed.map((one) => one.lane))) : 0;
  const official = board.official;
  const by = COLUMNS[state.sort] ?? ((one) => one.extra[state.sort] ?? Infinity);
  const order = board.systems.map((one, at) => ({ ...one, at, extra: board.columns.map((column) => column.values[at]) }))
    .sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.at - b.at));
  if (state.down) order.reverse();
  const of = (more) => ({ state, redraw, ...more });
  const heads = [
    make("th", { class: "lanes", style: `width:${wide}px;min-width:${wide}px;padding:0` },
      make("span", { class: "unseen" }, "Not separated")),
    head("#", of({ sort: "rank", kind: "rank", help: "Rank" })),
    head("System", of({ sort: "run", kind: "run" })),
    head(board.title, of({ kind: "plot mine", under: axis(board.domain) })),
    head("Score", of({ sort: "score", kind: "score", help: `${board.title} ± one standard error` })),
    ...(official
      ? [
          head(official.title, of({ kind: "plot theirs", under: axis(official.domain) })),
          head("Official", of({ kind: "score theirs", help: `${official.title} ± one standard error` })),
          head("Official rank", of({ sort: "official", kind: "moved", help: "Official rank, and the change from it" })),
        ]
      : []),
    ...board.columns.map((column, at) => head(column.title, of({ sort: at, kind: "more", help: column.help }))),
  ];
  const rows = order.flatMap((system, at) => {
    const open = state.open === system.run;
    const toggle = board.opens && (() => {
      state.open = state.wanted = open ? "" : system.run;
      state.detail = null;
      act("open", state.open);
      redraw();
    });
    const cells = [
      make("td", { class: "lanes" }, ...brackets(at, placed, false)),
      make("td", { class: "rank" }, String(system.rank)),
      make("th", { scope: "row", class: "run" },
        make(board.opens ? "button" : "span",
          { type: board.opens && "button", "aria-expanded": board.opens && String(open), title: system.run,
            "aria-label": board.opens && system.run },
          make("span", { class: "long", "aria-hidden": "true" }, ...inParts(system.long)),
          make("span", { class: "short", "aria-hidden": "true" }, system.short))),
      plot(system, board.domain, "mine"),
      make("td", { class: "score" }, figure(system.score, 4),
        make("span", { class: "quiet" }, system.error === null ? "" : ` ±${fixed(system.error, 3)}`)),
      ...(official
        ? [
            plot(system.official, official.domain, "theirs"),
            make("td", { class: "score theirs" }, figure(system.official?.score ?? null, 4),
              make("span", { class: "quiet" }, (system.official?.error ?? null) === null ? "" : ` ±${fixed(system.official.error, 3)}`)),
            moved(system),
          ]
        : []),
      ...board.columns.map((column) => extra(column, system.at)),
    ];
    const row = make("tr", {
      class: `system${open ? " open" : ""}${toggle ? " opens" : ""}`,
      "data-run": system.run,
      "data-at": system.at,
      onclick: toggle,
    }, ...cells);
    if (!open) return [row];
    const detail = state.detail && state.detail.run === system.run
      ? queriesOf(state.detail, act)
      : make("div", { class: "detail", role: "status" }, make("p", { class: "quiet" }, "Loading queries…"));
    return [row, make("tr", { class: "inside" },
      make("td", { class: "lanes" }, ...brackets(at, placed, true)),
      make("td", { colspan: String(cells.length - 1) }, detail))];
  });
  const scrolled = root.querySelector(".queries")?.scrollTop;
  const focused = root.getRootNode().activeElement;
  const where = focused?.closest?.("tr")?.dataset ?? {};
  const headed = focused?.closest?.("th[scope=col]");
  const columnAt = headed ? [...headed.parentNode.children].indexOf(headed) : -1;
  root.replaceChildren(make("div", { class: "scroll" }, make("table", { class: "board" },
    make("caption", { class: "unseen" }, board.caption),
    make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows))));
  // Scroll position and focus are restored.
  if (scrolled) root.querySelector(".queries")?.scrollTo(0, scrolled);
  const again = where.query !== undefined ? root.querySelector(`tr[data-query="${CSS.escape(where.query)}"] button`)
    : where.run !== undefined ? root.querySelector(`tr[data-run="${CSS.escape(where.run)}"] button`)
      : columnAt >= 0 ? root.querySelectorAll("thead th")[columnAt]?.querySelector("button") : null;
  again?.focus({ preventScroll: true });
}

// Pointing at a system highlights the systems that it is not separated from.
function point(root, state, target) {
  const at = target?.closest?.("tr.system")?.dataset.at;
  const like = at === undefined ? [] : state.board.alike[at] ?? [];
  for (const row of root.querySelectorAll("tr.system")) {
    row.classList.toggle("alike", like.includes(Number(row.dataset.at)));
    row.classList.toggle("pointed", row.dataset.at === at && like.length > 0);
  }
}
