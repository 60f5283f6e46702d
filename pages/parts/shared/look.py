"""The look: styles beyond the theme, and the scale of ratings on every screen.

Colours carry meaning: teal is a rating, orange is changed or stale, red failed, violet flipped, and
blue is clickable.
"""

from base64 import b64encode
from html import escape

import streamlit as st

from exam_workbench.types import RATINGS
from pages.parts.shared import streamlit_bridge

RATING_COLOURS = {
    "light": (
        ("#e4e7ea", "#3d444b"),
        ("#d3ebe4", "#1d3d35"),
        ("#a9dccd", "#163a31"),
        ("#6cc0aa", "#0c2b23"),
        ("#237a65", "#ffffff"),
        ("#0d5040", "#ffffff"),
    ),
    "dark": (
        ("#31373d", "#ccd2d8"),
        ("#1d3d35", "#c9ebe1"),
        ("#1f5648", "#d9f2ea"),
        ("#237a65", "#ffffff"),
        ("#58b59d", "#06211a"),
        ("#a4e4d1", "#06211a"),
    ),
}
"""Fill and text colour of the ratings 0 to 5. Their lightness differs, for all colour visions."""

SIGN = """
<rect x="1" y="1" width="28" height="28" rx="7" fill="#2a8f77"/>
<path d="M8 21.5v-4M13 21.5v-7.5M18 21.5V10.5M23 21.5V7" stroke="#ffffff" stroke-width="3"
 stroke-linecap="round" fill="none"/>
"""
"""The logo: four questions, each answered a little better."""

NAME = """
<text x="38" y="20.5" font-size="17" font-weight="650" fill="#f2f6f8"
 font-family="system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif"
>Exam Workbench</text>
"""
"""The name next to the logo, for the dark sidebar."""


SCALE = "\n".join(
    f".r{rating} {{ background: var(--ew-r{rating}); color: var(--ew-r{rating}-ink); }}"
    for rating in RATINGS
)
"""Styles of the ratings, on the page and in its components."""

MEANINGS = (
    "--ew-dim: light-dark(#59626b, #a3abb3);",
    "--ew-line: light-dark(#e1e5e8, #333a40);",
    "--ew-changed: light-dark(#9a5b00, #e9a94a);",
    "--ew-failed: light-dark(#b5302c, #f08a86);",
    "--ew-focus: light-dark(#1f6fd0, #8ec1f5);",
    "--ew-flipped: light-dark(#6b3fae, #b99ae6);",
)
"""Text colours with a meaning, each legible on the background of its theme."""

STYLE = streamlit_bridge.fill_style("""
.ew-rating { display: inline-block; min-width: 1.55rem; padding: 0 0.35rem; border-radius: 0.3rem;
  text-align: center; font-weight: 650; font-variant-numeric: tabular-nums; line-height: 1.5; }
.ew-rating.none { color: var(--ew-dim); border: 1px dashed currentColor; font-weight: 400; }
${mainBlockContainer} { padding: 2.2rem 2.2rem 4rem; }
/* If the menu is folded, the logo is up here and does not cover the name of the screen. */
${header} { height: 2.2rem; min-height: 0; }
/* The texts are the heroes: the name of the screen only says where one is. */
${main} h1 { font-size: 1.3rem; padding: 0.2rem 0; }
${heading} h2 { font-size: 1.15rem; padding: 0.6rem 0 0.2rem; }
${captionContainer} { color: var(--ew-dim); opacity: 1; }
${widgetLabel}[disabled] p { color: var(--ew-dim); }
${sliderThumbValue} p { color: light-dark(#1f2428, #e4e7ea); }
${app} button kbd { opacity: 0.85; }
${app} ${primaryButton} kbd { opacity: 1; }
/* The blue of what is chosen or pointed at is too dark for words on a dark page. */
${selected} *,
${main} button[kind="tertiary"]:is(:hover, :active, [aria-expanded="true"]) p {
  color: light-dark(#2f6399, #85b4e3); }
:focus-visible { outline: 2px solid var(--ew-focus) !important; outline-offset: 1px; }
/* A field cuts off what is drawn around the box within it: the ring goes around the field. */
:is(${fieldRoot}, ${numberInputContainer},
  :is(${selectbox}, ${multiSelect}) [role="group"]) {
  &:has(:is(input, textarea):focus-visible) {
    outline: 2px solid var(--ew-focus); outline-offset: 1px; }
  :is(input, textarea):focus-visible { outline: none !important; } }
/* A browser that is new here is asked for a name in one line. */
.st-key-name-wanted { min-height: 3.3rem; justify-content: center; padding: 0.3rem 0.6rem;
  border: 1px solid var(--ew-line); border-radius: 0.4rem; }
.st-key-name-wanted ${captionContainer} { margin-bottom: 0; }
.st-key-name-wanted ${captionContainer} p { font-size: 0.87rem; line-height: 1.3; margin: 0; }
/* A step of the tour lies over the menu, where it covers nothing that it points at. */
.st-key-tour-step.st-key-tour-step { position: fixed; left: 0.5rem; bottom: 0.8rem; width: 13.5rem;
  max-height: 75vh; overflow-y: auto; z-index: 999995; gap: 0.4rem; padding: 0.8rem 1rem;
  background: light-dark(#ffffff, #16191c); border: 1px solid var(--ew-focus);
  border-left-width: 4px; border-radius: 0.4rem; box-shadow: 0 6px 24px rgba(0, 0, 0, 0.22); }
/* The steps of the greeting look like links. */
.st-key-greeting button[kind="tertiary"] {
  min-height: 0; padding: 0; text-decoration: underline;
}
.st-key-tour-step ${text} { font-family: inherit; font-size: 0.9rem; }
/* The line under the title: under which choices one looks. */
.st-key-looking { gap: 0.4rem; padding-bottom: 0.2rem; border-bottom: 1px solid var(--ew-line);
  color: var(--ew-dim); flex-wrap: wrap; }
.st-key-looking p { font-size: 0.93rem; text-wrap: pretty; }
/* The same of answers: what it says may take two lines, and what changes it stands behind it. */
.st-key-looking-at-answers { flex-wrap: nowrap; align-items: flex-start; gap: 0.4rem; }
.st-key-looking-at-answers > :has(${markdown}) { flex: 0 1 auto; min-width: 0; }
.st-key-looking-at-answers > :has(${popover}) { flex: none; }
.st-key-looking-at-answers button { min-height: 1.6rem; padding: 0 0.5rem; }
.st-key-looking > :has(> .st-key-looking-beside) { margin-left: auto; flex: none; max-width: 100%; }
.st-key-looking-beside { flex-wrap: nowrap; }
@media (max-width: 1000px) { .st-key-looking-beside { flex-wrap: wrap; max-width: 100%; } }
/* What a choice beside the line is called stands before it. */
.st-key-looking-beside ${selectbox} { display: flex; align-items: center; gap: 0.5rem; }
.st-key-looking-beside ${selectbox} > :not(label) { flex: 1; min-width: 0; width: auto; }
.st-key-looking-beside ${widgetLabel} { margin: 0; min-height: 0; flex: none; white-space: nowrap; }
.st-key-looking button { min-height: 1.6rem; padding: 0 0.5rem; }
${openSidebar} { min-width: 14.5rem; max-width: 14.5rem; }
/* The entries of the menu. Below the title: the screens of an entry. */
.st-key-menu { gap: 0.05rem; }
.st-key-menu.st-key-menu > *, .st-key-menu.st-key-menu .st-key-menu-here > * {
  flex-shrink: 0; margin: 0; }
.st-key-menu-more details { border: 0; }
.st-key-tabs { gap: 0.25rem; }
.st-key-tabs:empty { display: none; }
.st-key-tabs a > :has([data-testid="stIconMaterial"]) { display: none; }
.st-key-tabs a { padding: 0.1rem 0.7rem; border-radius: 0.3rem; }
/* The entry stays marked on each of its screens, and leads to the first. */
.st-key-menu-here a { background: rgba(232, 239, 243, 0.13); }
.st-key-menu-here a p { font-weight: 600; }
.st-key-menu a { min-height: 1.9rem; margin: 0; padding: 0.1rem 0.5rem; border-radius: 0.3rem; }
${sidebarUserContent} { padding-top: 0; }
/* The readiness of a leaderboard is one line: its parts are links with dots between them. */
.st-key-readiness { gap: 0; flex-wrap: wrap; }
:is(.st-key-readiness, .st-key-checklist) a p {
  text-decoration: underline 1px var(--ew-dim); text-underline-offset: 0.2em; }
.st-key-readiness a, .st-key-readiness p { padding: 0; font-size: 0.93rem; }
.st-key-readiness > :not(:last-child)::after {
  content: "·"; padding: 0 0.5rem; color: var(--ew-dim); }
.st-key-readiness > * { display: flex; flex-direction: row; align-items: center; width: auto;
  flex: none; max-width: 100%; }
/* A leaderboard from too few grades. One grey for all its words keeps them legible. */
.st-key-few-graded { filter: grayscale(1); opacity: 0.7; --ew-dim: currentColor; }
/* A row of a table, not a card. */
[class*="st-key-question-"] { border-bottom: 1px solid rgba(128, 128, 128, 0.22);
  padding: 0 0 0.35rem 0.5rem; gap: 0.1rem; }
/* Lists of buttons look like lists: left-aligned, close to each other, the open one tinted. */
:is([class*="st-key-flips-"], .st-key-list-of-prompts) button { text-align: left; }
:is([class*="st-key-flips-"], .st-key-list-of-prompts) button > div,
:is([class*="st-key-flips-"], .st-key-list-of-prompts) button > div > span {
  justify-content: flex-start; text-align: left; }
.st-key-list-of-prompts { gap: 0.1rem; }
.st-key-list-of-prompts button { min-height: 1.9rem; padding: 0.1rem 0.6rem; border: 0;
  border-radius: 0; border-left: 3px solid transparent; }
.st-key-list-of-prompts button[kind="secondary"] {
  border-left-color: var(--st-primary-color, #2f6399);
  background: color-mix(in srgb, #2f6399 14%, transparent); font-weight: 600; }
/* A passage has its own text direction. Answers are underlined, dotted if they fall short. */
.passage-text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext;
  font-size: 1.08rem; line-height: 1.65; max-height: 70vh; overflow-y: auto;
  background: linear-gradient(transparent, light-dark(#ffffff, #16191c) 60%)
      0 100% / 100% 2rem no-repeat local,
    linear-gradient(transparent, color-mix(in srgb, currentColor 20%, transparent))
      0 100% / 100% 0.6rem no-repeat; }
.passage-text mark { background: rgba(128, 128, 128, 0.16); color: inherit;
  border-bottom: 2px solid currentColor; }
.passage-text mark.short { border-bottom: 1px dotted currentColor;
  background: rgba(128, 128, 128, 0.09); }
.passage-text sup { user-select: none; unicode-bidi: isolate; font-size: 0.7em;
  color: var(--ew-dim); margin: 0 1px; }
.asked { line-height: 1.4; overflow-wrap: anywhere; }
/* A word as long as a book breaks off at the edge of its column, and pushes nothing aside. */
${main} :is(${markdownContainer}, ${text}, ${html},
  ${heading}, ${alert}, ${captionContainer}, code) {
  overflow-wrap: anywhere; }
${main} button ${markdownContainer} { overflow-wrap: break-word; }
${main} :is(${metricValue}, ${metricLabel}) { min-width: 0; }
.asked .words { white-space: pre-wrap; unicode-bidi: plaintext; }
.asked .gray { color: var(--ew-dim); font-size: 0.87rem; }
.asked .said { display: grid; grid-template-columns: 1.6rem 1fr; margin-top: 0.15rem; }
.asked .answer { white-space: pre-wrap; unicode-bidi: plaintext; font-size: 0.93rem; opacity: 0.85;
  display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
.asked .failed { color: var(--ew-failed); font-weight: 600; }
.asked .stale { color: var(--ew-changed); font-weight: 600; }
[class*="st-key-question-"] textarea { line-height: 1.35; min-height: 2.6rem;
  padding: 0.4rem 0.6rem; }
/* A busy page shows a bar after a moment. */
${running}::after { content: ""; position: fixed; inset: 0 0 auto 0; height: 3px;
  z-index: 1000001; opacity: 0; pointer-events: none; animation: at-work 1.2s 0.4s linear infinite;
  background: linear-gradient(90deg, transparent, #3a78b5, transparent) 0 0 / 50% 100% repeat-x; }
/* After two seconds it says that the tab can be closed: work is finished or changes nothing. */
${running}::before { content: "Still working. Closing this tab loses no saved work.";
  position: fixed; inset: auto 1rem 1rem auto; z-index: 1000001; opacity: 0; pointer-events: none;
  animation: appear 0s 2s forwards; padding: 0.35rem 0.8rem; border-radius: 0.4rem;
  font-size: 0.87rem; border: 1px solid var(--ew-line); background: light-dark(#ffffff, #16191c);
  color: var(--ew-dim); }
@keyframes at-work {
  from { opacity: 1; background-position-x: 0; }
  to { opacity: 1; background-position-x: 100vw; } }
@keyframes appear { to { opacity: 1; } }
/* Who asked for less motion sees a bar that stands still. */
@media (prefers-reduced-motion: reduce) {
  ${running}::after { animation: appear 0s 0.4s forwards; } }
${stale}, ${stale} button { cursor: progress; }
/* Charts beside each other stand below each other where they would have no room to be read. */
[class*="st-key-beside"] ${horizontalBlock} { flex-wrap: wrap; }
[class*="st-key-beside"] ${column} { min-width: min(24rem, 100%); }
/* The words of a chart: Streamlit's own grey is too light on a white page. */
${vegaLiteChart} svg text[fill="#808495"] { fill: var(--ew-dim); }
/* What has no room in a box of choices ends in an ellipsis. */
${selectbox} input { text-overflow: ellipsis; }
/* What others saved is told above the page, and moves nothing on it. */
${layoutWrapper}:has(> .st-key-news) { position: fixed; top: 0; right: 2.2rem; z-index: 999991;
  width: auto; }
.st-key-news { height: 2.2rem; gap: 0.6rem; padding-left: 0.6rem; justify-content: flex-end;
  background: light-dark(#ffffff, #16191c); }
/* What listens and shows nothing takes no room. */
.st-key-remember, .st-key-place, .st-key-place-project, .st-key-redraw,
.st-key-frame { display: none; }
""")
"""Density, and other styles beyond the theme."""


def apply_style() -> None:
    """Apply the style sheet, and draw the logo in the sidebar."""
    # Streamlit sets the scheme only on the app element, which does not contain overlays.
    scheme = f":root {{ color-scheme: {'dark' if st.context.theme.type == 'dark' else 'light'}; }}"
    light, dark = RATING_COLOURS["light"], RATING_COLOURS["dark"]
    colours = [
        f"--ew-r{rating}: light-dark({light[rating][0]}, {dark[rating][0]});"
        f" --ew-r{rating}-ink: light-dark({light[rating][1]}, {dark[rating][1]});"
        for rating in RATINGS
    ]
    scale = "\n".join([":root {", *colours, *MEANINGS, "}"])
    st.html(f"<style>{scheme}{scale}{SCALE}{STYLE}</style>")
    # The name is light, since the sidebar is dark. If it is collapsed, the logo is on the page.
    st.logo(_image_address(212, SIGN + NAME), size="large", icon_image=_image_address(30, SIGN))


def _image_address(width: int, inside: str) -> str:
    """Return an image 30 px high as a data address."""
    size = f'width="{width}" height="30" viewBox="0 0 {width} 30"'
    image = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{inside}</svg>'
    return f"data:image/svg+xml;base64,{b64encode(image.encode()).decode()}"


def rating_html(value: int | None, title: str = "") -> str:
    """Return a rating or a label on its scale, as HTML.

    Args:
        value: 0 to 5; None for a missing one, which is not 0.
        title: tooltip; empty for no tooltip.
    """
    about = f' title="{escape(title, quote=True)}"' if title else ""
    if value is None:
        return f'<span class="ew-rating none"{about}>–</span>'
    # A judgment may be beyond the scale.
    step = min(max(value, RATINGS[0]), RATINGS[-1])
    return f'<span class="ew-rating r{step}"{about}>{value}</span>'
