// The audited leaderboard: a row per system, with its interval and the machine's score on one scale, and the
// machine's bias. An opened row compares the system with every other.

export default (given) => showIn(Board, given);

const LANE = 7;
const ORDERS = { rank: "by audited score", order: "by shrunk score", machine_rank: "by grader's score" };

const at = (value, [low, high]) => `${(100 * (value - low)) / (high - low)}%`;
const signed = (value, digits) => {
  const size = Math.abs(value).toFixed(digits);
  return `${value < 0 && Number(size) > 0 ? "−" : "+"}${size}`;
};

const named = (one) => [make("span", { class: "long" }, one.name), make("span", { class: "short" }, one.short)];
// Without judgments that measure the error, there is no interval. This differs from an interval without width.
const sized = (one) => one.low !== null;
const UNKNOWN = "error unknown";
const negative = (value) => (value === null ? null : -value);
const biased = (one) => one.bias !== null && (one.bias_low > 0 || one.bias_high < 0);

function domainOf(values, around = 0.04) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * around;
  return [low - room, high + room];
}

class Board {
  constructor(parent) {
    this.node = make("div", { class: "audited" });
    parent.append(this.node);
    this.order = "rank";
  }

  show(data) {
    this.data = data;
    this.audited = data.systems.some((one) => one.audited !== null);
    if (!this.audited) this.order = "machine_rank";
    else if (this.order === "machine_rank" && !this.chosen) this.order = "rank";
    const spread = data.systems.flatMap((one) => [one.machine, one.audited, one.low, one.high, one.worst_low, one.worst_high]);
    this.scores = domainOf(spread.filter((one) => one !== null));
    const biases = data.systems.flatMap((one) => [one.bias, one.bias_low, one.bias_high]).filter((one) => one !== null);
    this.biases = domainOf([0, ...biases]);
    this.draw();
  }

  draw() {
    const held = this.node.querySelector("button:focus")?.dataset.name;
    const rows = [...this.data.systems].sort((a, b) => a[this.order] - b[this.order] || a.rank - b.rank);
    this.lanes = this.order === "rank" ? this.placed(rows.map((one) => one.run)) : [];
    const width = Math.max(0, ...this.lanes.map((one) => one.lane + 1)) * LANE;
    const body = rows.flatMap((one, place) => [
      this.row(one, place, width),
      ...(one.run === this.opened ? [this.detail(one, width)] : []),
    ]);
    this.node.replaceChildren(
      make("div", { class: "scroll" }, make("table", {}, this.head(width), make("tbody", {}, ...body))),
      make("p", { class: "key quiet" },
        ...(this.audited
          ? [make("i", { class: "dot" }), ` audited, with its ${Math.round(100 * this.data.confidence)}% interval   `] : []),
        make("i", { class: "machine" }), " grader's score",
        ...(this.data.systems.some(biased) ? ["   ", make("i", { class: "dot off" }), " significant bias of the grader"] : []),
        this.lanes.length ? "   Brackets on the left join systems that are not separated." : "",
        this.data.systems.some((one) => one.audited !== null && !sized(one))
          ? "   ± ? : error unknown, because no informative passage of this system was judged." : "",
        this.data.missed ? "   Thin lines allow for passages that could not be judged." : ""),
    );
    if (held) [...this.node.querySelectorAll("button")].find((one) => one.dataset.name === held)?.focus();
  }

  head(width) {
    const sorts = (order, words, about, kind = "") => {
      const on = this.order === order;
      const can = this.audited || order === "machine_rank";
      return make("th", { scope: "col", class: kind, "aria-sort": on ? "ascending" : null },
        make("button", { title: about, disabled: !can, "data-name": order,
          onclick: () => { this.order = order; this.chosen = true; this.draw(); } },
        words, make("span", { class: "arrow", "aria-hidden": "true" }, on ? "▾" : "")));
    };
    const axis = (domain, zero) => {
      const { found, digits } = ticks(domain, zero ? 3 : 4);
      return make("div", { class: "axis", "aria-hidden": "true" },
        ...found.map((one) => make("span", { style: { left: at(one, domain) } }, one.toFixed(digits))));
    };
    return make("thead", {}, make("tr", {},
      make("th", { class: "lanes", style: { "min-width": `${width}px`, width: `${width + 4}px` } }),
      make("th", { scope: "col", class: "rank" }, "#"),
      make("th", { scope: "col", class: "run" }, "System"),
      this.audited && sorts("rank", "Audited", "Sort by audited score (unbiased)"),
      make("th", { class: "plot", "aria-hidden": "true" }, axis(this.scores)),
      sorts("machine_rank", "Grader", "Sort by the grader's score"),
      this.audited && make("th", { scope: "col", class: "bias" },
        make("span", { title: "Grader's score minus audited score, with its interval" }, "Grader's bias")),
      this.audited && make("th", { class: "plot lean", "aria-hidden": "true" }, axis(this.biases, true)),
      this.audited && sorts("order", "Shrunk", "Sort by shrunk scores: residuals are shrunk to their common shift, so fewer systems swap by chance"),
    ));
  }

  // Overlapping brackets are side by side; each reaches from the first to the last system of a group.
  placed(runs) {
    const place = new Map(runs.map((run, index) => [run, index]));
    const ends = [];
    return this.data.groups.filter((group) => group.length > 1).map((group) => {
      const places = group.map((run) => place.get(run));
      const [first, last] = [Math.min(...places), Math.max(...places)];
      let lane = ends.findIndex((end) => end < first);
      if (lane < 0) lane = ends.push(-1) - 1;
      ends[lane] = last;
      return { first, last, lane, members: new Set(places) };
    });
  }

  brackets(place) {
    return make("td", { class: "lanes", "aria-hidden": "true" }, ...this.lanes
      .filter(({ first, last }) => first <= place && place <= last)
      .map(({ first, last, lane, members }) => make("i", {
        class: ["lane", place === first && "first", place === last && "last", members.has(place) || "gap"].filter((one) => typeof one === "string").join(" "),
        style: { left: `${lane * LANE}px` },
      })));
  }

  row(one, place) {
    const number = (value) => value.toFixed(3);
    const open = one.run === this.opened;
    const opens = () => { this.opened = open ? null : one.run; this.draw(); };
    return make("tr", { class: `system${open ? " open" : ""}` },
      this.brackets(place),
      make("td", { class: "rank" }, String(one[this.order])),
      make("th", { scope: "row", class: "run" },
        this.data.differences.length
          ? make("button", { "data-name": `run ${one.run}`, "aria-expanded": String(open), title: one.run, onclick: opens }, ...named(one))
          : make("span", { title: one.run }, ...named(one))),
      this.audited && make("td", { class: "score", title: sized(one) ? `Confidence interval: ${number(one.low)} to ${number(one.high)}. ± is half its width.` : UNKNOWN },
        make("b", {}, number(one.audited)), make("small", {}, sized(one) ? `±${number((one.high - one.low) / 2)}` : "± ?")),
      make("td", { class: "plot", "aria-hidden": "true" }, this.plot(one)),
      make("td", {}, number(one.machine), make("small", {}, String(one.machine_rank))),
      ...(this.audited ? this.leaning(one) : []),
    );
  }

  // The machine's bias, and the rank by shrunken scores.
  leaning(one) {
    const sure = biased(one);
    const interval = sized(one)
      ? `[${signed(one.bias_low, 3)}, ${signed(one.bias_high, 3)}]${sure ? "" : ": not significant"}` : UNKNOWN;
    return [
      make("td", { class: `bias${sure ? " sure" : ""}`, title: interval }, signed(one.bias, 3)),
      make("td", { class: "plot lean", "aria-hidden": "true" }, this.lean(one, sure)),
      make("td", { class: "place" }, String(one.order)),
    ];
  }

  field(domain, zero, ...inside) {
    const lines = ticks(domain, zero ? 3 : 4).found.map((tick) => make("i", { class: `grid${zero && tick === 0 ? " zero" : ""}`, style: { left: at(tick, domain) } }));
    return make("div", { class: "field" }, ...lines, ...inside);
  }

  stretch(kind, low, high, domain) {
    return make("i", { class: kind, style: { left: at(low, domain), width: `${(100 * (high - low)) / (domain[1] - domain[0])}%` } });
  }

  plot(one) {
    const domain = this.scores;
    return this.field(domain, false,
      one.worst_low === null ? "" : this.stretch("worst", one.worst_low, one.worst_high, domain),
      one.low === null ? "" : this.stretch("interval", one.low, one.high, domain),
      make("i", { class: "machine", style: { left: at(one.machine, domain) } }),
      one.audited === null ? "" : make("i", { class: "dot", style: { left: at(one.audited, domain) } }));
  }

  lean(one, sure) {
    const domain = this.biases;
    return this.field(domain, true,
      sized(one) ? this.stretch(`interval${sure ? " sure" : ""}`, one.bias_low, one.bias_high, domain) : "",
      make("i", { class: `dot${sure ? " sure" : ""}`, style: { left: at(one.bias, domain) } }));
  }

  // One system compared with every other. Differences come from the same sample, so they are more precise than two
  // intervals.
  detail(one) {
    const names = new Map(this.data.systems.map((system) => [system.run, system]));
    const level = this.data.level;
    const found = this.data.differences
      .filter(([first, second]) => first === one.run || second === one.run)
      .map(([first, second, value, low, high, adjusted]) => first === one.run
        ? { other: names.get(second), value, low, high, adjusted }
        : { other: names.get(first), value: -value, low: negative(high), high: negative(low), adjusted })
      .sort((a, b) => a.other.rank - b.other.rank);
    const domain = domainOf([0, ...found.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value])]);
    const verdict = ({ value, adjusted }) => (adjusted === null || adjusted > level ? "not separated" : value > 0 ? "better" : "worse");
    return make("tr", { class: "inside" }, make("td", { class: "lanes" }), make("td", { colSpan: 8 },
      make("table", { class: "pairs" },
        make("caption", {}, `${one.name} compared with the other systems (p values corrected by Holm's method for all pairs)`),
        make("tbody", {}, ...found.map((pair) => make("tr", { class: verdict(pair) === "not separated" ? "alike" : "" },
          make("td", {}, verdict(pair)),
          make("th", { scope: "row", title: pair.other.run }, verdict(pair) === "not separated" ? `from ${pair.other.name}` : `than ${pair.other.name}`),
          make("td", {}, signed(pair.value, 3)),
          make("td", { class: "quiet" }, sized(pair) ? `[${signed(pair.low, 3)}, ${signed(pair.high, 3)}]` : "± ?"),
          make("td", { class: "plot", "aria-hidden": "true" }, this.field(domain, true,
            sized(pair) ? this.stretch("interval", pair.low, pair.high, domain) : "",
            make("i", { class: "dot", style: { left: at(pair.value, domain) } }))),
          make("td", { class: "quiet" }, !sized(pair) ? UNKNOWN : `p ${pair.adjusted < 0.001 ? "< .001" : pair.adjusted.toFixed(3).replace(/^0/, "")}`)))))));
  }
}
