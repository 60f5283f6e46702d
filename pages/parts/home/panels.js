// Panels of a screen: bars, systems, lines of counts. Every number is a link to its details.

KINDS.panels = class extends Part {
  view({ panels, framed }) {
    return h("div.panels", { class: framed ? "" : "plain" }, panels.map((panel) =>
      h("section.panel", { class: panel.wide ? "wide" : "" },
        h("h2", this.to(panel, "", panel.title), panel.about && h("span.about", panel.about)),
        panel.blocks.map((block) => this[block.kind](block)))));
  }

  to({ to, title }, kind, ...inside) {
    return to ? link(inside, to, goTo, { class: kind, title }) : h("span", { class: kind, title }, inside);
  }

  text({ text }) {
    return h("p", text);
  }

  bar({ parts: pieces, label }) {
    return h("div.bar-block",
      h("div.bar", { role: "img", "aria-label": label }, pieces.map((part) =>
        h("span.piece", { class: part.tone, style: { "flex-grow": part.count },
          title: `${part.shown} ${part.name}` }))),
      h("div.legend", pieces.map((part) => this.to({ to: part.to }, "entry",
        h("i.swatch", { class: part.tone }), h("b", part.shown), ` ${part.name}`))));
  }

  systems({ rows }) {
    return h("div.systems", rows.map((row) => this.to(row, "system",
      h("span.rank", row.rank),
      h("span.name", row.name),
      h("span.track", stretch("interval", row.from, row.till, [0, 1]), h("i.dot", { style: at(row.at, [0, 1]) })),
      h("span.score", row.score))));
  }

  lines({ lines }) {
    return h("div.lines", lines.map((one) => {
      const words = [one.count !== undefined && [h("b", { class: one.tone }, one.count), " "], h("span", one.text)];
      const aside = (about) => about !== undefined && h("span.aside", about);
      if (!one.more?.length) return this.to(one, "line", words, one.aside && aside(one.aside));
      return h("details.line", { key: one.text }, h("summary", words), h("div.more",
        one.more.map((entry) =>
          this.to({ to: entry.to, title: entry.text }, "entry", h("span.name", entry.text), aside(entry.count))),
        one.rest && aside(one.rest)));
    }));
  }

  counts({ lines }) {
    return h("div.counts", lines.map((one) => this.to(one, "count", h("b", one.count), h("span", one.text))));
  }
};
