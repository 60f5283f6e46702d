// A leaderboard: a row per system with its score on a scale, next to the official score. A row opens in place.

const BY = {
  rank: (one) => one.rank,
  run: (one) => one.run.toLowerCase(),
  score: (one) => -one.score,
  official: (one) => (one.official ? one.official.rank : Infinity),
};

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
    const { columns, opens } = board;
    const groups = this.sort === "rank" && !this.down ? board.groups : [];
    const placed = lanes(groups.map(([first, last]) => ({ first, last })));
    const by = BY[this.sort] ?? ((one) => columns[this.sort].values[one.at] ?? Infinity);
    const order = board.systems.map((one, place) => ({ ...one, at: place }));
    order.sort((a, b) => (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : a.at - b.at));
    if (this.down) order.reverse();
    const given = (one) => ({ class: opens && "opens", "data-run": one.run, "data-at": one.at,
      onclick: opens && (() => this.toggle(one.run)) });
    const inside = () => this.detail ? queriesOf(this.detail, this.tell)
      : h("div.detail", { role: "status" }, h("p.quiet", "Loading queries…"));
    return h("div.root", this.table(this.columns(board), order, placed, inside, given, board.caption));
  }

  columns({ title, domain, official, columns, opens }) {
    const theirs = official ? [
      [this.head(official.title, { kind: "plot theirs", under: axis(official.domain) }),
        (one) => this.plot(one.official, official.domain, "theirs")],
      [this.head("Official", { kind: "score theirs", help: `${official.title} ± one standard error` }),
        (one) => this.score(one.official, "score theirs")],
      [this.head("Official rank", { sort: "official", kind: "moved", help: "Official rank, and the change from it" }),
        (one) => this.moved(one)],
    ] : [];
    return [
      [this.head("#", { sort: "rank", kind: "rank", help: "Rank" }), (one) => h("td.rank", one.rank)],
      [this.head("System", { sort: "run", kind: "run" }), (one) => this.name(one, opens)],
      [this.head(title, { kind: "plot mine", under: axis(domain) }), (one) => this.plot(one, domain, "mine")],
      [this.head("Score", { sort: "score", kind: "score", help: `${title} ± one standard error` }),
        (one) => this.score(one, "score")],
      ...theirs,
      ...columns.map((more, place) =>
        [this.head(more.title, { sort: place, kind: "more", help: more.help }), (one) => this.extra(more, one.at)]),
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
      quiet(Number.isFinite(system?.error) ? ` ±${fixed(system.error, 3)}` : ""));
  }

  moved({ official, rank }) {
    if (!official) return h("td.moved", NOTHING);
    const by = official.rank - rank;
    const [sign, way] = by > 0 ? ["▲", "higher"] : ["▼", "lower"];
    const says = by ? `${Math.abs(by)} ${way} than the official rank` : "same as the official rank";
    return h("td.moved", h("data", { value: official.rank }, official.rank),
      h("span.by", { class: by ? "" : "none", title: says, "aria-label": says, role: "img" },
        by ? `${sign}${Math.abs(by)}` : "="));
  }

  extra({ values, percent: isShare, digits }, place) {
    const value = values[place];
    if (typeof value !== "number") return h("td.more", value ?? NOTHING);
    return h("td.more", h("data", { value }, isShare ? `${Math.round(100 * value)}%` : fixed(value, digits)));
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
