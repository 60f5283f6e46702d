// The audited leaderboard: a row per system, with its interval and the machine's score on one scale, and the
// machine's bias. An opened row compares the system with every other.

const UNKNOWN = "error unknown";
// Without judgments that measure the error, there is no interval. This differs from an interval without width.
const sized = (one) => one.low !== null;
const negative = (value) => (value === null ? null : -value);
const biased = (one) => one.bias !== null && (one.bias_low > 0 || one.bias_high < 0);
const interval = (low, high) => `[${signed(low, 3)}, ${signed(high, 3)}]`;
const aboutBias = (one) => sized(one)
  ? `${interval(one.bias_low, one.bias_high)}${biased(one) ? "" : ": not significant"}` : UNKNOWN;

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
    this.scores = domainOf(systems.flatMap((one) =>
      [one.machine, one.audited, one.low, one.high, one.worst_low, one.worst_high]));
    this.biases = domainOf([0, ...systems.flatMap((one) => [one.bias, one.bias_low, one.bias_high])]);
  }

  by(sort) {
    this.update({ sort, chosen: true });
  }

  view({ systems, confidence, missed }) {
    const rows = [...systems].sort((a, b) => a[this.sort] - b[this.sort] || a.rank - b.rank);
    const placed = this.placed(rows.map((one) => one.run));
    const { isAudited } = this;
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
      this.table(this.columns().filter(Boolean), rows, placed, (one) => this.pairs(one)), h("p.key.quiet", key));
  }

  columns() {
    const { isAudited } = this;
    const sorts = (sort, title, help) =>
      this.head(title, { sort, help, disabled: !isAudited && sort !== "machine_rank" });
    return [
      [column("#", { class: "rank" }), (one) => h("td.rank", one[this.sort])],
      [column("System", { class: "run" }),
        (one) => this.name({ ...one, long: one.name }, this.data.differences.length > 0, () => this.toggle(one.run))],
      isAudited && [sorts("rank", "Audited", "Sort by audited score (unbiased)"), (one) => this.score(one)],
      [h("th.plot", { "aria-hidden": "true" }, axis(this.scores)),
        (one) => h("td.plot", { "aria-hidden": "true" }, this.plot(one))],
      [sorts("machine_rank", "Grader", "Sort by the grader's score"),
        (one) => h("td", fixed(one.machine, 3), h("small", one.machine_rank))],
      isAudited && [
        column("Grader's bias", { class: "bias", title: "Grader's score minus audited score, with its interval" }),
        (one) => h("td.bias", { class: biased(one) && "sure", title: aboutBias(one) }, signed(one.bias, 3))],
      isAudited && [h("th.plot.lean", { "aria-hidden": "true" }, axis(this.biases, 3)),
        (one) => h("td.plot.lean", { "aria-hidden": "true" }, this.leaning(one))],
      isAudited && [sorts("order", "Shrunk",
        "Sort by shrunk scores: residuals are shrunk to their common shift, so fewer systems swap by chance"),
        (one) => h("td.place", one.order)],
    ];
  }

  // Each bracket reaches from the first to the last system of a group.
  placed(runs) {
    const groups = this.sort === "rank" ? this.data.groups.filter((group) => group.length > 1) : [];
    return lanes(groups.map((group) => {
      const members = group.map((run) => runs.indexOf(run));
      return { first: Math.min(...members), last: Math.max(...members), members };
    }));
  }

  toggle(run) {
    this.update({ opened: run === this.opened ? null : run });
  }

  score(one) {
    const half = sized(one) ? `±${fixed((one.high - one.low) / 2, 3)}` : "± ?";
    const bounds = `${fixed(one.low, 3)} to ${fixed(one.high, 3)}`;
    const about = sized(one) ? `Confidence interval: ${bounds}. ± is half its width.` : UNKNOWN;
    return h("td.score", { title: about }, h("b", fixed(one.audited, 3)), h("small", half));
  }

  leaning(one) {
    const sure = biased(one) ? "sure" : "";
    return field(this.biases, 3,
      sized(one) && stretch(`interval ${sure}`, one.bias_low, one.bias_high, this.biases),
      h("i.dot", { class: sure, style: at(one.bias, this.biases) }));
  }

  plot(one) {
    const domain = this.scores;
    return field(domain, 4,
      one.worst_low !== null && stretch("worst", one.worst_low, one.worst_high, domain),
      sized(one) && stretch("interval", one.low, one.high, domain),
      h("i.machine", { style: at(one.machine, domain) }),
      one.audited !== null && h("i.dot", { style: at(one.audited, domain) }));
  }

  // One system compared with every other. Differences within a sample are more precise than two intervals.
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
