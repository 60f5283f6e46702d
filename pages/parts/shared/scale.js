// The scales of a leaderboard and its error bars.

const NOTHING = "–";

const fixed = (value, digits) => value?.toFixed(digits) ?? NOTHING;
// A difference that rounds to 0 has no sign.
const signed = (value, digits) => value.toLocaleString("en",
  { signDisplay: "exceptZero", minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");

// A formatted number, with the exact value in an attribute for programs.
const figure = (value, digits) => h("data", { value: String(value ?? "") }, fixed(value, digits));

const share = (value, [low, high]) => (100 * (value - low)) / (high - low);
const at = (value, domain) => ({ left: `${share(value, domain)}%` });

// About four round numbers within a range of values.
function ticks([low, high]) {
  const raw = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * power).find((one) => one >= raw);
  const found = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= high + step * 1e-9; tick += 1) found.push(tick * step);
  return { found, digits: Math.max(0, Math.ceil(-Math.log10(step) - 1e-9) + (step / power === 2.5 ? 1 : 0)) };
}

function axis(domain) {
  const { found, digits } = ticks(domain);
  return h("div.axis", { "aria-hidden": "true" },
    found.map((tick) => h("span", { style: at(tick, domain) }, tick.toFixed(digits))));
}

// The part of a row on a scale.
function field(domain, ...inside) {
  return h("div.field", ticks(domain).found.map((tick) => h("i.grid", { style: at(tick, domain) })), inside);
}

function stretch(kind, low, high, domain) {
  return h("i", { class: kind, style: { ...at(low, domain), width: `${share(high, domain) - share(low, domain)}%` } });
}
