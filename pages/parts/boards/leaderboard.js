// A leaderboard: a row per system with its score on a scale, next to the official score. A row opens in place.

const BY = {
  rank: (one) => one.rank,
  run: (one) => one.run.toLowerCase(),
  score: (one) => -one.score,
  official: (one) => (one.official ? one.official.rank : Infinity),
};

// A name may be wrapped after a separator between its words.
const inParts = (name) => name.split(/(?<=[+_/.-])/).flatMap((part) => [part, h("wbr")]);

KINDS.leaderboard = class extends Sorted {
  constructor(parent) {
    super(parent);
    for (const name of ["pointerover", "focusin"]) this.root.addEventListener(name, ({ target }) => this.point(target));
    for (const name of ["pointerleave", "focusout"]) this.root.addEventListener(name, () => this.point(null));
  }

  hear(data) {
    this.settle(data.open);
    if (data.detail?.run === this.opened) this.detail = data.detail;
    // A link or a step back brings an order. An answer to an earlier click does not change one that was chosen since.
    if (this.asked === undefined || this.asked === data.sorted) {
      this.down = data.sorted.startsWith("-");
      const name = data.sorted.replace("-", "") || "rank";
      this.sort = Object.hasOwn(BY, name) ? name : data.board.columns[Number(name)] ? Number(name) : "rank";
      this.asked = undefined;
    }
  }

  by(sort) {
    super.by(sort);
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
    const { official, columns } = board;
    const placed = this.sort === "rank" && !this.down ? lanes(board.groups.map(([first, last]) => ({ first, last })))
      : [];
    const by = BY[this.sort] ?? ((one) => columns[this.sort].values[one.at] ?? Infinity);
    const order = board.systems.map((one, place) => ({ ...one, at: place }));
    order.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.at - b.at));
    if (this.down) order.reverse();
    const heads = [
      lanesHead(placed),
      this.head("#", { sort: "rank", kind: "rank", help: "Rank" }),
      this.head("System", { sort: "run", kind: "run" }),
      this.head(board.title, { kind: "plot mine", under: axis(board.domain) }),
      this.head("Score", { sort: "score", kind: "score", help: `${board.title} ± one standard error` }),
      official && [
        this.head(official.title, { kind: "plot theirs", under: axis(official.domain) }),
        this.head("Official", { kind: "score theirs", help: `${official.title} ± one standard error` }),
        this.head("Official rank", { sort: "official", kind: "moved", help: "Official rank, and the change from it" }),
      ],
      columns.map((column, place) => this.head(column.title, { sort: place, kind: "more", help: column.help })),
    ];
    return h("div.root", h("div.scroll", h("table.board",
      h("caption.unseen", board.caption),
      h("thead", h("tr", heads)),
      h("tbody", order.map((system, place) => this.rows(system, place, placed))))));
  }

  rows(system, place, placed) {
    const { board } = this.data;
    const { official, columns, opens } = board;
    const open = opens && this.opened === system.run;
    const cells = [
      brackets(place, placed),
      h("td.rank", system.rank),
      h("th.run", { scope: "row" },
        h(opens ? "button" : "span",
          { "aria-expanded": opens && String(open), title: system.run, "aria-label": opens && system.run },
          h("span.long", { "aria-hidden": "true" }, inParts(system.long)),
          h("span.short", { "aria-hidden": "true" }, system.short))),
      this.plot(system, board.domain, "mine"),
      this.score(system, "score"),
      official && [this.plot(system.official, official.domain, "theirs"), this.score(system.official, "score theirs"),
        this.moved(system)],
      columns.map((column) => this.extra(column, system.at)),
    ];
    const detail = this.detail
      ? queriesOf(this.detail, (name, value) => this.tell(name, value))
      : h("div.detail", { role: "status" }, h("p.quiet", "Loading queries…"));
    return [
      h("tr.system", {
        key: `system ${system.run}`, class: `${open ? "open" : ""} ${opens ? "opens" : ""}`.trim(),
        "data-run": system.run, "data-at": system.at, onclick: opens && (() => this.toggle(system.run)),
      }, cells),
      open && h("tr.inside", { key: `inside ${system.run}` }, brackets(place, placed, true),
        h("td", { colspan: flat(cells).length - 1 }, detail)),
    ];
  }

  plot(system, domain, kind) {
    const bar = system && [
      stretch("error", system.score - (system.error ?? 0), system.score + (system.error ?? 0), domain),
      h(`i.dot.${kind}`, { style: at(system.score, domain) }),
    ];
    return h(`td.plot.${kind}`, { "aria-hidden": "true" }, field(domain, 4, bar));
  }

  score(system, kind) {
    return h("td", { class: kind }, figure(system?.score, 4),
      quiet((system?.error ?? null) === null ? "" : ` ±${fixed(system.error, 3)}`));
  }

  moved({ official, rank }) {
    if (!official) return h("td.moved", NOTHING);
    const by = official.rank - rank;
    const says = by ? `${Math.abs(by)} ${by > 0 ? "higher" : "lower"} than the official rank`
      : "same as the official rank";
    return h("td.moved", h("data", { value: String(official.rank) }, official.rank),
      h("span.by", { class: by ? "" : "none", title: says, "aria-label": says, role: "img" },
        by ? `${by > 0 ? "▲" : "▼"}${Math.abs(by)}` : "="));
  }

  extra({ values, percent: isShare, digits }, place) {
    const value = values[place];
    if (typeof value !== "number") return h("td.more", value ?? NOTHING);
    return h("td.more", h("data", { value: String(value) }, isShare ? `${Math.round(100 * value)}%`
      : value.toFixed(digits)));
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
