// The queries of a single system; loaded after table.js and queries.js, whose functions it uses.

export default function ({ data, parentElement, setTriggerValue }) {
  let root = parentElement.querySelector(".root");
  if (!root) {
    root = make("div", { class: "root" });
    parentElement.append(root);
  }
  const known = JSON.stringify(data);
  if (known === root.known) return;
  root.known = known;
  const scrolled = root.querySelector(".queries")?.scrollTop;
  const held = root.getRootNode().activeElement?.closest?.("tr")?.dataset.query;
  root.replaceChildren(queriesOf(data, (name, value) => setTriggerValue(name, value)));
  if (scrolled) root.querySelector(".queries")?.scrollTo(0, scrolled);
  if (held !== undefined) root.querySelector(`tr[data-query="${CSS.escape(held)}"] button`)?.focus({ preventScroll: true });
}
