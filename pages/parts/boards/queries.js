// The queries of one system, and the passages that it returned for one of them. Texts from outside are only inserted
// as text.

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "class") element.className = value;
    else if (key === "style") element.style.cssText = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const NOTHING = "–";
const fixed = (value, digits) => (value === null || value === undefined ? NOTHING : value.toFixed(digits));
const signed = (value, digits) => {
  const size = Math.abs(value).toFixed(digits);
  // A difference that rounds to 0 has no sign.
  return (Number(size) === 0 ? "" : value > 0 ? "+" : "−") + size;
};

// A formatted number, with the exact value in an attribute for programs.
function figure(value, digits, extra = {}) {
  return make("data", { value: value ?? "", ...extra }, fixed(value, digits));
}

// A link to another screen. A plain click follows it in this tab without reloading the app; other clicks are left to
// the browser. The address is written as the browser writes it, so that Back returns to the open row.
function link(to, ...children) {
  const follow = (event) => {
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    history.pushState({}, "", to);
    window.dispatchEvent(new PopStateEvent("popstate", { state: {} }));
  };
  return make("a", { href: to, onclick: follow }, ...children);
}

function passageRow(row, detail, act) {
  const chip = make("span", {
    class: row.label === null ? "rating none" : `rating r${Math.min(Math.max(row.label, 0), 5)}`,
    title: row.label === null ? "no label" : `label ${row.label}`,
  }, row.label === null ? NOTHING : String(row.label));
  const about = [
    row.label === null ? "no label" : `label ${row.label}`,
    detail.judgedBy ? `judged ${row.judgment === null ? NOTHING : row.judgment}` : null,
    row.question,
  ].filter(Boolean);
  const text = make("p", { class: "text", dir: "auto", tabindex: "0", title: "Show the full text" }, row.text);
  const whole = () => text.classList.toggle("whole");
  text.addEventListener("click", whole);
  text.addEventListener("keydown", (event) => { if (event.key === "Enter") whole(); });
  return make("li", {},
    make("span", { class: "place" }, String(row.rank)), chip,
    make("div", {}, text, make("p", { class: "about", dir: "auto" }, about.join(" · "))),
    link(row.link, "All ratings"));
}

function passagesOf(detail, act) {
  const list = detail.passages.length
    ? make("ol", { class: "passages" }, ...detail.passages.map((row) => passageRow(row, detail, act)))
    : make("p", { class: "quiet" }, "The system returned no passages for this query.");
  const links = make("p", { class: "links" }, ...detail.links.map((one) => link(one.href, one.label)));
  return make("div", { class: "returned" }, links, list);
}

function queryRows(row, detail, widest, act) {
  const open = detail.asked === row.id;
  const ask = () => act("ask", open ? "" : row.id);
  const difference = row.score === null || row.official === null ? null : row.score - row.official;
  const bar = make("span", { class: "bar", "aria-hidden": "true" }, make("i", {
    style: difference === null ? "width:0"
      : `width:${(50 * Math.abs(difference)) / widest}%;${difference < 0 ? "right" : "left"}:50%`,
  }));
  const line = make("tr", { class: open ? "query open" : "query", onclick: ask, "data-query": row.id },
    make("th", { scope: "row" }, make("button", { type: "button", "aria-expanded": String(open), dir: "auto" }, row.text)),
    make("td", {}, figure(row.score, 4)),
    make("td", { class: "mean" }, figure(row.mean, 4)),
    ...(detail.beside
      ? [
          make("td", {}, figure(row.official, 4)),
          make("td", { class: "mean" }, figure(row.officialMean, 4)),
          make("td", { class: "difference" }, bar,
            make("data", { value: difference ?? "" }, difference === null ? NOTHING : signed(difference, 3))),
        ]
      : []));
  if (!open || !detail.passages) return [line];
  return [line, make("tr", { class: "inside" }, make("td", { colspan: "6" }, passagesOf(detail, act)))];
}

// eslint-disable-next-line no-unused-vars -- the modules that this one stands before use it
function queriesOf(detail, act) {
  const about = [make("strong", {}, detail.run), make("span", { class: "quiet" }, detail.says)];
  if (!detail.queries.length) return make("div", { class: "detail" }, make("p", {}, ...about));
  const widest = Math.max(1e-9, ...detail.queries.map((row) => Math.abs((row.score ?? 0) - (row.official ?? row.score ?? 0))));
  const heads = [detail.measure, "mean", ...(detail.beside ? [detail.beside, "mean", "difference"] : [])];
  const said = { mean: "Mean over all systems that answered the query", difference: `${detail.measure} minus ${detail.beside}` };
  return make("div", { class: "detail" },
    make("p", {}, ...about),
    make("div", { class: "queries", tabindex: "-1" }, make("table", {},
      make("caption", { class: "unseen" }, `Queries of ${detail.run}`),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Query"),
        ...heads.map((head) => make("th", { scope: "col", class: head, title: said[head] }, head)))),
      make("tbody", {}, ...detail.queries.flatMap((row) => queryRows(row, detail, widest, act))))));
}
