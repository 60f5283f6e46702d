// A leaderboard: a row per system with its score on a scale, next to the score of another leaderboard. Brackets join
// systems that are not separated. A row opens in place.

const LANE = 7;

const BY = {
  rank: (one) => one.rank,
  run: (one) => one.run.toLowerCase(),
  score: (one) => -one.score,
  official: (one) => (one.official ? one.official.rank : Infinity),
};

// A place for each bracket: overlapping ones are side by side.
function lanes(groups) {
  const ends = [];
  return groups.map(([first, last]) => {
    const free = ends.findIndex((end) => end < first);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = last;
    return { first, last, lane };
  });
}

// The brackets next to a row. `inside` is for the opened part below it.
function brackets(row, placed, inside = false) {
  const here = placed.filter(({ first, last }) => first <= row && (inside ? row < last : row <= last));
  return h("td.lanes", { "aria-hidden": inside ? null : "true" }, here.map(({ first, last, lane }) =>
    h("i.lane", { class: inside ? "" : `${row === first ? "first" : ""} ${row === last ? "last" : ""}`,
      style: { left: `${lane * LANE}px` }, "data-group": `${first}-${last}` })));
}

function lanesHead(placed) {
  const width = placed.length ? `${6 + LANE * (1 + Math.max(...placed.map((one) => one.lane)))}px` : 0;
  return h("th.lanes", { style: { width, "min-width": width, padding: 0 } }, h("span.unseen", "Not separated"));
}

// A name may be wrapped after a separator between its words.
const inParts = (name) => name.split(/(?<=[+_/.-])/).flatMap((part) => [part, h("wbr")]);

// `sort` is the column that orders the systems, `down` whether the order is reversed.
KINDS.leaderboard = class extends Part {
  constructor(parent) {
    super(parent);
    for (const name of ["pointerover", "focusin"]) this.root.addEventListener(name, ({ target }) => this.point(target));
    for (const name of ["pointerleave", "focusout"]) this.root.addEventListener(name, () => this.point(null));
  }

  hear(data) {
    // An answer to an earlier click changes nothing that was opened since.
    if (this.wanted === undefined || this.wanted === data.open) {
      this.opened = data.open;
      this.wanted = undefined;
    }
    if (data.detail?.run === this.opened) this.detail = data.detail;
    // Likewise for an order, which a link or a step back brings.
    if (this.asked === undefined || this.asked === data.sorted) {
      this.down = data.sorted.startsWith("-");
      const name = data.sorted.replace("-", "") || "rank";
      this.sort = Object.hasOwn(BY, name) ? name : data.board.columns[Number(name)] ? Number(name) : "rank";
      this.asked = undefined;
    }
  }

  by(sort) {
    this.update({ sort, down: this.sort === sort && !this.down });
    this.asked = this.sort === "rank" && !this.down ? "" : `${this.down ? "-" : ""}${this.sort}`;
    this.tell("sort", this.asked);
  }

  toggle(run) {
    this.opened = this.wanted = run === this.opened ? "" : run;
    this.detail = null;
    this.tell("open", this.opened);
    this.redraw();
  }

  view({ board }) {
    const { columns, opens } = board;
    const placed = lanes(this.sort === "rank" && !this.down ? board.groups : []);
    const by = BY[this.sort] ?? ((one) => columns[this.sort].values[one.at] ?? Infinity);
    const order = board.systems.map((one, place) => ({ ...one, at: place }));
    order.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.at - b.at));
    if (this.down) order.reverse();
    const shown = this.columns(board);
    const inside = () => this.detail ? queriesOf(this.detail, this.tell)
      : h("div.detail", { role: "status" }, h("p.quiet", "Loading details…"));
    const row = (one, place) => {
      const open = one.run === this.opened;
      return [
        h(open ? "tr.system.open" : "tr.system", { key: `system ${one.run}`, class: opens && "opens",
          "data-run": one.run, "data-at": one.at, onclick: opens && (() => this.toggle(one.run)) },
          brackets(place, placed), shown.map(([, cell]) => cell(one))),
        open && h("tr.inside", { key: `inside ${one.run}` }, brackets(place, placed, true),
          h("td", { colspan: shown.length }, inside())),
      ];
    };
    return h("div.root", h("div.scroll", h("table.board",
      h("caption.unseen", board.caption),
      h("thead", h("tr", lanesHead(placed), shown.map(([head]) => head))),
      h("tbody", order.map(row)))));
  }

  // Each column is its head, and a function that returns a cell.
  columns({ title, help, domain, official, columns, opens }) {
    const theirs = official ? [
      [this.head(official.title, { kind: "plot theirs", under: axis(official.domain) }),
        (one) => this.plot(one.official, official.domain, "theirs")],
      [this.head(official.name, { kind: "score theirs", help: official.help }),
        (one) => this.score(one.official, "score theirs")],
      [this.head(`${official.name} rank`, { sort: "official", kind: "moved",
        help: `${official.name} rank, and the change from it` }),
        (one) => this.moved(one, official.name.toLowerCase())],
    ] : [];
    return [
      [this.head("#", { sort: "rank", kind: "rank", help: "Rank" }), (one) => h("td.rank", one.rank)],
      [this.head("System", { sort: "run", kind: "run" }), (one) => this.name(one, opens)],
      [this.head(title, { kind: "plot mine", under: axis(domain) }), (one) => this.plot(one, domain, "mine")],
      [this.head("Score", { sort: "score", kind: "score", help }),
        (one) => this.score(one, "score")],
      ...theirs,
      ...columns.map((more, place) =>
        [this.head(more.title, { sort: place, kind: "more", help: more.help }), (one) => this.extra(more, one.at)]),
    ];
  }

  head(title, { sort = null, help = null, kind = "", under = null } = {}) {
    const on = sort !== null && this.sort === sort;
    const arrow = h("span.arrow", { "aria-hidden": "true" }, on ? (this.down ? "↑" : "↓") : "");
    const order = on && (this.down ? "descending" : "ascending");
    return h("th", { key: `${kind} ${title}`, scope: "col", class: kind, title: help, "aria-sort": order },
      sort === null ? title : h("button", { onclick: () => this.by(sort) }, title, arrow), under);
  }

  name({ run, long, short }, opens) {
    const given = opens ? { "aria-expanded": String(run === this.opened), "aria-label": run } : {};
    return h("th.run", { scope: "row" }, h(opens ? "button" : "span", { title: run, ...given },
      h("span.long", { "aria-hidden": "true" }, inParts(long)), h("span.short", { "aria-hidden": "true" }, short)));
  }

  plot(system, domain, kind) {
    const bar = system && [
      stretch("error", system.score - (system.error ?? 0), system.score + (system.error ?? 0), domain),
      h(`i.dot.${kind}`, { style: at(system.score, domain) }),
    ];
    return h(`td.plot.${kind}`, { "aria-hidden": "true" }, field(domain, bar));
  }

  score(system, kind) {
    return h("td", { class: kind }, figure(system?.score, 4), this.spread(system?.error));
  }

  spread(error) {
    return Number.isFinite(error) && quiet(` ±${fixed(error, 3)}`);
  }

  moved({ official, rank }, name) {
    if (!official) return h("td.moved", NOTHING);
    const by = official.rank - rank;
    const [sign, way] = by > 0 ? ["▲", "higher"] : ["▼", "lower"];
    const says = by ? `${Math.abs(by)} ${way} than the ${name} rank` : `same as the ${name} rank`;
    return h("td.moved", h("data", { value: official.rank }, official.rank),
      h("span.by", { class: by ? "" : "none", title: says, "aria-label": says, role: "img" },
        by ? `${sign}${Math.abs(by)}` : "="));
  }

  extra({ values, percent: isShare, digits, errors }, place) {
    const value = values[place];
    if (typeof value !== "number") return h("td.more", value ?? NOTHING);
    return h("td.more", h("data", { value }, isShare ? `${Math.round(100 * value)}%` : fixed(value, digits)),
      this.spread(errors[place]));
  }

  // Pointing at a system highlights the systems that it is not separated from.
  point(target) {
    const place = target?.closest?.("tr.system")?.dataset.at;
    const like = place === undefined ? [] : (this.data.board.alike[place] ?? []);
    for (const row of this.findAll("tr.system")) {
      row.classList.toggle("alike", like.includes(Number(row.dataset.at)));
      row.classList.toggle("pointed", row.dataset.at === place && like.length > 0);
    }
  }
};
