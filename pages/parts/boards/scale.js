// The scales of a leaderboard, its error bars, and the brackets that join systems that are not separated.

const NOTHING = "–";
const LANE = 7;

const fixed = (value, digits) => value?.toFixed(digits) ?? NOTHING;
// A difference that rounds to 0 has no sign.
const signed = (value, digits) => value.toLocaleString("en",
  { signDisplay: "exceptZero", minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");

// A formatted number, with the exact value in an attribute for programs.
const figure = (value, digits) => h("data", { value: String(value ?? "") }, fixed(value, digits));

const share = (value, [low, high]) => (100 * (value - low)) / (high - low);
const at = (value, domain) => ({ left: `${share(value, domain)}%` });

// Round numbers within a range of values.
function ticks([low, high], aim = 4) {
  const raw = (high - low) / aim;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + step * 1e-9; tick += 1) found.push(tick * step);
  return { found, digits: Math.max(0, Math.ceil(-Math.log10(step) - 1e-9) + (step / power === 2.5 ? 1 : 0)) };
}

function axis(domain, aim) {
  const { found, digits } = ticks(domain, aim);
  return h("div.axis", { "aria-hidden": "true" },
    found.map((tick) => h("span", { style: at(tick, domain) }, tick.toFixed(digits))));
}

// The part of a row on a scale. `zero` emphasizes the line at 0.
function field(domain, aim, ...inside) {
  const lines = ticks(domain, aim).found.map((tick) =>
    h("i.grid", { class: aim === 3 && tick === 0 ? "zero" : "", style: at(tick, domain) }));
  return h("div.field", lines, inside);
}

function stretch(kind, low, high, domain) {
  return h("i", { class: kind, style: { ...at(low, domain), width: `${share(high, domain) - share(low, domain)}%` } });
}

// A place for each bracket: overlapping ones are side by side.
function lanes(spans) {
  const ends = [];
  return spans.map((span) => {
    const free = ends.findIndex((end) => end < span.first);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = span.last;
    return { ...span, lane };
  });
}

// The brackets next to a row. `inside` is for the opened part below it, `gap` for a row that is not joined.
function brackets(row, placed, inside = false) {
  const here = placed.filter(({ first, last }) => first <= row && (inside ? row < last : row <= last));
  return h("td.lanes", { "aria-hidden": inside ? null : "true" }, here.map(({ first, last, lane, members }) => {
    const end = inside ? "" : `${row === first ? "first" : ""} ${row === last ? "last" : ""}`;
    return h("i.lane", { class: `${end} ${members && !members.includes(row) ? "gap" : ""}`,
      style: { left: `${lane * LANE}px` }, "data-group": `${first}-${last}` });
  }));
}

function lanesHead(placed) {
  const width = placed.length ? `${6 + LANE * (1 + Math.max(...placed.map((one) => one.lane)))}px` : 0;
  return h("th.lanes", { style: { width, "min-width": width, padding: 0 } }, h("span.unseen", "Not separated"));
}

// A name may be wrapped after a separator between its words.
const inParts = (name) => name.split(/(?<=[+_/.-])/).flatMap((part) => [part, h("wbr")]);

// A table of systems that people sort: `sort` is the column, `down` whether the order is reversed.
class Sorted extends Part {
  sort = "rank";
  down = false;

  // A row per system; the opened one has its details below. A column is its head, and a function that returns a cell.
  table(columns, systems, placed, inside, given, caption) {
    const row = (one, place) => {
      const open = one.run === this.opened;
      return [
        h(open ? "tr.system.open" : "tr.system", { key: `system ${one.run}`, ...given?.(one) },
          brackets(place, placed), columns.map(([, cell]) => cell(one))),
        open && h("tr.inside", { key: `inside ${one.run}` }, brackets(place, placed, true),
          h("td", { colspan: columns.length }, inside(one))),
      ];
    };
    return h("div.scroll", h("table.board",
      caption && h("caption.unseen", caption),
      h("thead", h("tr", lanesHead(placed), columns.map(([head]) => head))),
      h("tbody", systems.map(row))));
  }

  name({ run, long, short }, opens, onclick) {
    const given = opens ? { "aria-expanded": String(run === this.opened), "aria-label": run, onclick } : {};
    return h("th.run", { scope: "row" }, h(opens ? "button" : "span", { title: run, ...given },
      h("span.long", { "aria-hidden": "true" }, inParts(long)), h("span.short", { "aria-hidden": "true" }, short)));
  }

  head(title, { sort = null, help = null, kind = "", under = null, disabled = false } = {}) {
    const on = sort !== null && this.sort === sort;
    const arrow = h("span.arrow", { "aria-hidden": "true" }, on ? (this.down ? "↑" : "↓") : "");
    const order = on && (this.down ? "descending" : "ascending");
    return h("th", { key: `${kind} ${title}`, scope: "col", class: kind, title: help, "aria-sort": order },
      sort === null ? title : h("button", { disabled, onclick: () => this.by(sort) }, title, arrow), under);
  }

  by(sort) {
    this.update({ sort, down: this.sort === sort && !this.down });
  }
}
