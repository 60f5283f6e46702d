// Panels of a screen: bars, systems, lines of counts. Every number is a link to its details. A plain click stays in
// the open page; other clicks (a new tab, a copied address) are left to the browser.
const make = (name, className, text) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

const linked = (to, className, ...inside) => {
  const made = make(to ? "a" : "span", className);
  if (to) made.href = to;
  made.append(...inside);
  return made;
};

const bar = (block) => {
  const made = make("div", "bar-block");
  const strip = make("div", "bar");
  strip.setAttribute("role", "img");
  strip.setAttribute("aria-label", block.label);
  for (const part of block.parts) {
    const piece = make("span", `piece ${part.tone}`);
    piece.style.flexGrow = part.count;
    piece.title = `${part.shown} ${part.name}`;
    strip.append(piece);
  }
  const legend = make("div", "legend");
  for (const part of block.parts) {
    const name = part.swatch === false ? make("span", "") : make("i", `swatch ${part.tone}`);
    legend.append(linked(part.to, "entry", name, make("b", "", part.shown), ` ${part.name}`));
  }
  made.append(strip, legend);
  return made;
};

const LONG = 22;
const TAIL = 14;

const systems = (block) => {
  const made = make("div", "systems");
  for (const row of block.rows) {
    const track = make("span", "track");
    const line = make("span", "interval");
    line.style.left = `${row.from * 100}%`;
    line.style.width = `${(row.till - row.from) * 100}%`;
    const dot = make("span", "dot");
    dot.style.left = `${row.at * 100}%`;
    track.append(line, dot);
    // Names of runs often differ at their ends, so the middle is cut if space is short.
    const name = make("span", "name");
    const cut = row.name.length > LONG ? row.name.length - TAIL : row.name.length;
    name.append(make("span", "head", row.name.slice(0, cut)), make("span", "tail", row.name.slice(cut)));
    const found = linked(row.to, "system", make("span", "rank", row.rank), name, track, make("span", "score", row.score));
    found.title = row.title;
    made.append(found);
  }
  return made;
};

const line = (found, opened) => {
  const words = (one) => [
    ...(one.count === undefined ? [] : [make("b", one.tone || "", one.count), " "]),
    make("span", "", one.text),
  ];
  if (!found.more?.length) {
    const made = linked(found.to, "line", ...words(found));
    if (found.aside) made.append(make("span", "aside", found.aside));
    return made;
  }
  const made = make("details", "line");
  made.dataset.name = found.text;
  made.open = opened.has(found.text);
  const summary = make("summary", "");
  summary.append(...words(found));
  const list = make("div", "more");
  for (const one of found.more) {
    const entry = linked(one.to, "entry", make("span", "name", one.text));
    if (one.count !== undefined) entry.append(make("span", "aside", one.count));
    entry.title = one.text;
    list.append(entry);
  }
  if (found.rest) list.append(make("span", "aside", found.rest));
  made.append(summary, list);
  return made;
};

const lines = (block, opened) => {
  const made = make("div", "lines");
  made.append(...block.lines.map((one) => line(one, opened)));
  return made;
};

const counts = (block) => {
  const made = make("div", "counts");
  made.append(...block.lines.map((one) => linked(one.to, "count", make("b", "", one.count), make("span", "", one.text))));
  return made;
};

const KINDS = { bar, systems, lines, counts, text: (block) => make("p", block.tone || "", block.text) };

const draw = (panel, opened) => {
  const made = make("section", panel.wide ? "panel wide" : "panel");
  const heading = make("h2", "");
  heading.append(linked(panel.to, "", panel.title));
  if (panel.about) heading.append(make("span", "about", panel.about));
  made.append(heading, ...panel.blocks.map((block) => KINDS[block.kind](block, opened)));
  return made;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".panels");
  root.classList.toggle("plain", !data.framed);
  const told = JSON.stringify(data);
  if (root.told !== told) {
    const opened = new Set([...root.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    const places = [...root.querySelectorAll("a, summary")];
    const place = places.indexOf(root.getRootNode().activeElement);
    root.replaceChildren(...data.panels.map((panel) => draw(panel, opened)));
    if (place >= 0) root.querySelectorAll("a, summary")[place]?.focus({ preventScroll: true });
    root.told = told;
  }
  root.onclick = (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setTriggerValue("go", link.getAttribute("href"));
  };
}
