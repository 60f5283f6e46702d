// The queries of one system, and the passages that it returned for one of them.

KINDS.queries = class extends Part {
  view(data) {
    return h("div.root", queriesOf(data, this.tell));
  }
};

function queriesOf(detail, act) {
  const about = h("p", h("strong", detail.run), quiet(detail.says));
  if (detail.pairs) return h("div.detail", about, h("table.pairs", h("tbody", detail.pairs.map((pair) =>
    h("tr", pair.map((words) => h("td", words)))))));
  if (!detail.queries.length) return h("div.detail", about);
  const widest = Math.max(1e-9, ...detail.queries.map((row) =>
    Math.abs((row.score ?? 0) - (row.official ?? row.score ?? 0))));
  const heads = [detail.measure, "mean", ...(detail.beside ? [detail.beside, "mean", "difference"] : [])];
  const said = { mean: "Mean over all systems that answered the query",
    difference: `${detail.measure} minus ${detail.beside}` };
  return h("div.detail", about,
    h("div.queries", { tabindex: -1 }, h("table",
      h("caption.unseen", `Queries of ${detail.run}`),
      h("thead", h("tr", column("Query"),
        heads.map((head) => column(head, { class: said[head] && head, title: said[head] })))),
      h("tbody", detail.queries.map((row) => queryRows(row, detail, widest, act))))));
}

function queryRows(row, detail, widest, act) {
  const open = detail.asked === row.id;
  const difference = row.score === null || row.official === null ? null : row.score - row.official;
  const bar = { width: `${(50 * Math.abs(difference)) / widest}%`, [difference < 0 ? "right" : "left"]: "50%" };
  return [
    h("tr.query", { key: `query ${row.id}`, class: open ? "open" : "", onclick: () => act("ask", open ? "" : row.id),
      "data-query": row.id },
      h("th", { scope: "row" }, h("button", { "aria-expanded": String(open), dir: "auto" }, row.text)),
      h("td", figure(row.score, 4)), h("td.mean", figure(row.mean, 4)),
      detail.beside && [
        h("td", figure(row.official, 4)), h("td.mean", figure(row.officialMean, 4)),
        h("td.difference", h("span.bar", { "aria-hidden": "true" }, h("i", { style: bar })),
          h("data", { value: String(difference ?? "") }, difference === null ? NOTHING : signed(difference, 3))),
      ]),
    open && detail.passages && h("tr.inside", { key: `inside ${row.id}` }, h("td", { colspan: 6 }, passagesOf(detail))),
  ];
}

function passagesOf({ links, passages, judgedBy }) {
  const list = h("ol.passages", passages.map((row) => {
    const label = row.label === null ? "no label" : `label ${row.label}`;
    const judged = judgedBy && `judged ${row.judgment ?? NOTHING}`;
    const whole = ({ currentTarget }) => currentTarget.classList.toggle("whole");
    return h("li",
      h("span.place", row.rank), chip(row.label, label),
      h("div",
        h("p.text", { dir: "auto", tabindex: 0, title: "Show the full text", onclick: whole,
          onkeydown: (event) => event.key === "Enter" && whole(event) }, row.text),
        h("p.about", { dir: "auto" }, [label, judged, row.question].filter(Boolean).join(" · "))),
      link("All ratings", row.link, goTo));
  }));
  return h("div.returned",
    h("p.links", links.map((one) => link(one.label, one.href, goTo))),
    passages.length ? list : h("p.quiet", "The system returned no passages for this query."));
}
