// The audited leaderboard: a row per system, with its interval and the machine's score on one scale, and the
// machine's bias. An opened row compares the system with every other.

const UNKNOWN = "error unknown";
// Without judgments that measure the error, there is no interval. This differs from an interval without width.
const sized = (one) => one.low !== null;
const negative = (value) => (value === null ? null : -value);
const biased = (one) => one.bias !== null && (one.bias_low > 0 || one.bias_high < 0);
const named = (one) => [h("span.long", one.name), h("span.short", one.short)];
const interval = (low, high) => `[${signed(low, 3)}, ${signed(high, 3)}]`;

function domainOf(values, around = 0.04) {
  const known = values.filter((one) => one !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const room = (high - low || Math.abs(high) || 1) * around;
  return [low - room, high + room];
}

KINDS.audited = class extends Sorted {
  hear({ systems }) {
    this.isAudited = systems.some((one) => one.audited !== null);
    if (!this.isAudited) this.sort = "machine_rank";
    else if (!this.chosen) this.sort = "rank";
    const scores = systems.flatMap((one) => [one.machine, one.audited, one.low, one.high, one.worst_low,
      one.worst_high]);
    this.scores = domainOf(scores);
    this.biases = domainOf([0, ...systems.flatMap((one) => [one.bias, one.bias_low, one.bias_high])]);
  }

  by(sort) {
    this.update({ sort, chosen: true });
  }

  view({ systems, confidence, missed }) {
    const rows = [...systems].sort((a, b) => a[this.sort] - b[this.sort] || a.rank - b.rank);
    const placed = this.sort === "rank" ? this.placed(rows.map((one) => one.run)) : [];
    const { isAudited } = this;
    const sorts = (sort, title, help) =>
      this.head(title, { sort, help, disabled: !isAudited && sort !== "machine_rank" });
    const key = [
      isAudited && [h("i.dot"), ` audited, with its ${Math.round(100 * confidence)}% interval   `],
      h("i.machine"), " grader's score",
      systems.some(biased) && ["   ", h("i.dot.off"), " significant bias of the grader"],
      placed.length > 0 && "   Brackets on the left join systems that are not separated.",
      systems.some((one) => one.audited !== null && !sized(one)) &&
        "   ± ? : error unknown, because no informative passage of this system was judged.",
      missed > 0 && "   Thin lines allow for passages that could not be judged.",
    ];
    return h("div.audited",
      h("div.scroll", h("table",
        h("thead", h("tr",
          lanesHead(placed),
          h("th.rank", { scope: "col" }, "#"), h("th.run", { scope: "col" }, "System"),
          isAudited && sorts("rank", "Audited", "Sort by audited score (unbiased)"),
          h("th.plot", { "aria-hidden": "true" }, axis(this.scores)),
          sorts("machine_rank", "Grader", "Sort by the grader's score"),
          isAudited && [
            h("th.bias", { scope: "col" }, h("span", { title: "Grader's score minus audited score, with its interval" },
              "Grader's bias")),
            h("th.plot.lean", { "aria-hidden": "true" }, axis(this.biases, 3)),
            sorts("order", "Shrunk",
              "Sort by shrunk scores: residuals are shrunk to their common shift, so fewer systems swap by chance"),
          ])),
        h("tbody", rows.map((one, place) => this.rows(one, place, placed))))),
      h("p.key.quiet", key));
  }

  // Each bracket reaches from the first to the last system of a group.
  placed(runs) {
    const place = new Map(runs.map((run, index) => [run, index]));
    return lanes(this.data.groups.filter((group) => group.length > 1).map((group) => {
      const places = group.map((run) => place.get(run));
      return { first: Math.min(...places), last: Math.max(...places), members: new Set(places) };
    }));
  }

  rows(one, place, placed) {
    const open = one.run === this.opened;
    const onclick = () => this.update({ opened: open ? null : one.run });
    const half = sized(one) ? `±${fixed((one.high - one.low) / 2, 3)}` : "± ?";
    const bounds = `${fixed(one.low, 3)} to ${fixed(one.high, 3)}`;
    const about = sized(one) ? `Confidence interval: ${bounds}. ± is half its width.` : UNKNOWN;
    return [
      h("tr.system", { key: `system ${one.run}`, class: open ? "open" : "" },
        brackets(place, placed),
        h("td.rank", one[this.sort]),
        h("th.run", { scope: "row" }, this.data.differences.length
          ? h("button", { "aria-expanded": String(open), title: one.run, onclick }, named(one))
          : h("span", { title: one.run }, named(one))),
        this.isAudited && h("td.score", { title: about }, h("b", fixed(one.audited, 3)), h("small", half)),
        h("td.plot", { "aria-hidden": "true" }, this.plot(one)),
        h("td", fixed(one.machine, 3), h("small", one.machine_rank)),
        this.isAudited && this.leaning(one)),
      open && h("tr.inside", { key: `inside ${one.run}` }, brackets(place, placed, true),
        h("td", { colspan: 8 }, this.pairs(one))),
    ];
  }

  // The machine's bias, and the rank by shrunken scores.
  leaning(one) {
    const sure = biased(one) ? "sure" : "";
    const about = sized(one) ? `${interval(one.bias_low, one.bias_high)}${sure ? "" : ": not significant"}` : UNKNOWN;
    return [
      h("td.bias", { class: sure, title: about }, signed(one.bias, 3)),
      h("td.plot.lean", { "aria-hidden": "true" }, field(this.biases, 3,
        sized(one) && stretch(`interval ${sure}`, one.bias_low, one.bias_high, this.biases),
        h("i.dot", { class: sure, style: at(one.bias, this.biases) }))),
      h("td.place", one.order),
    ];
  }

  plot(one) {
    const domain = this.scores;
    return field(domain, 4,
      one.worst_low !== null && stretch("worst", one.worst_low, one.worst_high, domain),
      sized(one) && stretch("interval", one.low, one.high, domain),
      h("i.machine", { style: at(one.machine, domain) }),
      one.audited !== null && h("i.dot", { style: at(one.audited, domain) }));
  }

  // One system compared with every other. Differences come from the same sample, so they are more precise than two
  // intervals.
  pairs(one) {
    const { systems, level, differences } = this.data;
    const names = new Map(systems.map((system) => [system.run, system]));
    const found = differences
      .filter(([first, second]) => first === one.run || second === one.run)
      .map(([first, second, value, low, high, adjusted]) => first === one.run
        ? { other: names.get(second), value, low, high, adjusted }
        : { other: names.get(first), value: -value, low: negative(high), high: negative(low), adjusted })
      .sort((a, b) => a.other.rank - b.other.rank);
    const domain = domainOf([0, ...found.flatMap(({ value, low, high }) => [value, low, high])]);
    return h("table.pairs",
      h("caption", `${one.name} compared with the other systems (p values corrected by Holm's method for all pairs)`),
      h("tbody", found.map((pair) => {
        const { other, value, low, high, adjusted } = pair;
        const alike = adjusted === null || adjusted > level;
        const p = adjusted < 0.001 ? "< .001" : fixed(adjusted, 3).replace(/^0/, "");
        return h("tr", { class: alike ? "alike" : "" },
          h("td", alike ? "not separated" : value > 0 ? "better" : "worse"),
          h("th", { scope: "row", title: other.run }, `${alike ? "from" : "than"} ${other.name}`),
          h("td", signed(value, 3)),
          h("td.quiet", sized(pair) ? interval(low, high) : "± ?"),
          h("td.plot", { "aria-hidden": "true" },
            field(domain, 3, sized(pair) && stretch("interval", low, high, domain),
              h("i.dot", { style: at(value, domain) }))),
          h("td.quiet", sized(pair) ? `p ${p}` : UNKNOWN));
      })));
  }
};
