// The tour: a greeting with three steps, then a card that stays in sight and points at the element of each step.
const make = (name, className, ...inside) => {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...inside);
  return made;
};

const button = (words, className, act) => {
  const made = make("button", className, words);
  made.type = "button";
  made.onclick = act;
  return made;
};

// Also inside components, whose elements are in shadow roots.
const all = (selector, root = document) => [
  ...root.querySelectorAll(selector),
  ...[...root.querySelectorAll("*")].flatMap((one) => (one.shadowRoot ? all(selector, one.shadowRoot) : [])),
];

const find = ({ kind, words }) =>
  kind === "field"
    ? all("textarea, input").find((one) => one.value.startsWith(words))
    : all("main button, section button, button").find((one) =>
        (one.getAttribute("aria-label") || one.textContent).trim().startsWith(words),
      );

let looking = null;
let pointed = null;

const release = () => {
  clearInterval(looking);
  if (pointed) pointed.style.outline = pointed.style.outlineOffset = "";
  looking = pointed = null;
};

const point = (data) => {
  let seen = false;
  release();
  looking = setInterval(() => {
    const found = find(data);
    if (found === pointed && found?.style.outline) return;
    if (pointed) pointed.style.outline = "";
    pointed = found || null;
    if (!found) return;
    found.style.outline = "3px solid var(--st-primary-color, #2f6399)";
    found.style.outlineOffset = "3px";
    if (!seen) found.scrollIntoView({ block: "center" });
    seen = true;
  }, 400);
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".tour");
  const told = JSON.stringify(data);
  if (root.told === told) return release;
  root.told = told;
  const secure = location.protocol === "https:" ? "; secure" : "";
  const end = () => {
    document.cookie = `${data.cookie}=1; path=/; max-age=34560000; samesite=lax${secure}`;
    document.cookie = `${data.stop_cookie}=; path=/; max-age=0; samesite=lax${secure}`;
    release();
    setTriggerValue("end", true);
  };
  root.className = `tour ${data.mode}`;
  if (data.mode === "greeting") {
    const stops = make("ol", "");
    data.stops.forEach((stop, at) => {
      const item = make("li", stop.done ? "done" : "", button(stop.title, "link", () => setTriggerValue("stop", at)));
      if (stop.done) item.append(make("span", "soft", " done"));
      stops.append(item);
    });
    root.replaceChildren(
      make("h2", "", "Welcome. Three steps to know the app"),
      stops,
      make("p", "soft", data.why),
      make("div", "row", button("Start the tour", "primary", () => setTriggerValue("stop", 0)), button("Skip the tour", "", end)),
    );
  } else if (data.mode === "about") {
    root.replaceChildren(
      make("p", "soft", data.why, " ", button("Take the tour", "link", () => setTriggerValue("again", true))),
    );
  } else {
    const last = data.number === data.of;
    document.cookie = `${data.stop_cookie}=${data.number - 1}; path=/; samesite=lax${secure}`;
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", "Tour");
    root.replaceChildren(
      make("div", "soft", `Tour, step ${data.number} of ${data.of}`),
      make("h2", "", data.title),
      make("p", "", data.todo),
      make(
        "div",
        "row",
        last
          ? button("Done", "primary", end)
          : button("Next", "primary", () => setTriggerValue("stop", data.number)),
        last ? "" : button("End the tour", "end", end),
      ),
    );
    point(data);
  }
  return release;
}
