"""Meta-evaluation: how well every grader, min rating and measure agrees with the official leaderboard."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import streamlit as st

from core.bank import versions
from core.errors import WorkbenchError
from core.labels import Policy
from core.leaderboard import QueryChoice
from core.measures import MEASURES as KNOWN
from core.measures import Ties
from core.project import Project, boards, official_sources
from core.study import (
    COEFFICIENTS,
    META_MEASURES,
    MIN_RATINGS,
    TITLES,
    UNDEFINED,
    Cell,
    MetaTable,
    caption,
    cell_comparison,
    choose_rows,
    full_name,
    meta_latex,
    meta_table,
    meta_tsv,
    methods,
)
from core.types import MAX_RATING
from pages.parts.boards import heat_map as measure_map
from pages.parts.shared import charts, policy_widgets, ui

SAME = "That of the column"
SIGNS = {"spearman": "ρ", "kendall": "τ", "tau_ap": "τ_AP"}
STYLES = {
    "best": "font-weight: 700; background-color: rgba(59, 115, 185, 0.32)",
    "near": "background-color: rgba(59, 115, 185, 0.13)",
    "poor": "color: #8a8f94",
    "undefined": "color: #8a8f94",
    "itself": "color: #8a8f94; font-style: italic",
}
RESAMPLES = 400
METHOD_WIDTH = 390


def heads(table: MetaTable, shown: list[str]) -> list[tuple[int, str, str]]:
    """The columns of numbers: place of the measure, coefficient, and title."""
    return [(at, name, f"{column.title} {SIGNS[name]}") for at, column in enumerate(table.columns) for name in shown]


def text(cell: Cell, name: str) -> str:
    """A coefficient as the table shows it."""
    value = cell.value(name)
    if value is None:
        return UNDEFINED
    interval = cell.intervals.get(name)
    return f"{value:.3f}" + (f"  [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def draw_table(table: MetaTable, shown: list[str]) -> tuple[int, int] | None:
    """The table; returns row and measure of the cell that is selected."""
    titles = heads(table, shown)
    fixed: dict[str, list[object]] = {"Method": [row.name for row in table.rows]}
    if any(row.min_rating is not None for row in table.rows):
        fixed["Min rating"] = ["" if row.min_rating is None else str(row.min_rating) for row in table.rows]
    fixed["Queries"] = [row.queries for row in table.rows]
    if any(row.usable < row.needed for row in table.rows):
        fixed["Pairs"] = [ui.percent(row.usable / row.needed) if row.needed else "" for row in table.rows]
    numbers = {title: [text(row.cells[at], name) for row in table.rows] for at, name, title in titles}
    frame = pd.DataFrame(fixed | numbers)
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    for at, name, title in titles:
        styles[title] = [STYLES.get(row.cells[at].marks[name], "") for row in table.rows]
    config = {
        title: st.column_config.TextColumn(
            help=f"{TITLES[name]} of {ui.plain(table.columns[at].title)} against"
            f" {ui.plain(table.columns[at].against_measure)} of {ui.plain(table.columns[at].against)}",
            alignment="right",
        )
        for at, name, title in titles
    }
    config["Method"] = st.column_config.TextColumn(width=METHOD_WIDTH, pinned=True)
    config["Min rating"] = st.column_config.TextColumn(
        width=90, pinned=True, help="From this value on a passage is relevant in binary measures."
    )
    config["Queries"] = st.column_config.TextColumn(
        width=90, pinned=True, help="The queries that both boards have, of the row's own / the official board's own.",
    )  # fmt: skip
    config["Pairs"] = st.column_config.TextColumn(
        width=60, help="Share of the needed pairs that the labels rest on; the rest is ungraded or failed."
    )
    chosen = st.dataframe(
        frame.style.apply(lambda _: styles, axis=None), hide_index=True, on_select="rerun",
        selection_mode="single-cell", key="agreements", column_config=config,
        height="content" if len(table.rows) <= 30 else 900,
    )  # fmt: skip
    if not chosen.selection.cells:
        return None
    row, title = chosen.selection.cells[0]
    place = {title: at for at, _, title in titles}
    return (row, place[title]) if title in place and row < len(table.rows) else None


def closer(
    project: Project, table: MetaTable, place: tuple[int, int], official: Policy, ties: Ties, queries: QueryChoice
) -> None:
    """The two boards behind one cell."""
    row, column = table.rows[place[0]], table.columns[place[1]]
    cell = row.cells[place[1]]
    st.subheader(
        ui.plain(f"{cell.measure} of {full_name(row)}, against {column.against_measure} of {column.against}"),
        anchor=False,
    )
    if cell.correlation.undefined:
        st.info(f"Undefined: {ui.plain(cell.correlation.undefined)}", icon=":material/help:")
    else:
        strip = st.columns(len(COEFFICIENTS) + 1)
        for place_, name in zip(strip, COEFFICIENTS, strict=False):
            place_.metric(TITLES[name], ui.number(cell.value(name)))
            if interval := cell.intervals.get(name):
                place_.caption(f"95 %: {interval[0]:.3f} to {interval[1]:.3f}")
        strip[-1].metric("Systems", cell.correlation.systems, help="On both boards")
    if cell.queries is not None:
        st.caption(cell.queries.says)
    policy = row.row.policy
    if row.row.source == "exam" and policy.bank_version is None:
        st.page_link(
            "pages/leaderboard.py", label="Both boards on the Leaderboard screen", icon=":material/arrow_forward:",
            query_params={
                "project": str(st.session_state["project"]), "grader": str(policy.grader),
                "tau": str(policy.min_rating), "label": policy_widgets.LABEL_RULES.get(policy.label, policy.label),
                "measure": cell.measure, "against": column.against, "relevant": str(official.min_judgment),
                "over-queries": queries,
            },
        )  # fmt: skip
    with ui.errors():
        found = cell_comparison(project, row.row, column, official, ties, queries)
        first, second, third = st.columns([9, 5, 11], gap="small")
        order = [system.run for system in found.board.systems]
        # A board of a few systems needs room for its axis and its title, too.
        height = max(180, charts.ROW_HEIGHT * len(order))
        first.vega_lite_chart(charts.board(found.board, "Row", height=height))
        second.vega_lite_chart(charts.board(found.official, "Official", order, height=height))
        third.vega_lite_chart(charts.slope(found.official, found.board, titles=("Official", "Row")))


def chosen_official(imported: dict[str, str], known: list[str]) -> tuple[str, str | None]:
    """Widgets for the official board and its measure; None for the measure of each column."""
    looking = policy_widgets.seen()
    # Judgments and imported leaderboards can be compared before anything has been graded.
    against = str(
        looking.against if looking else st.selectbox("Official board", known, key="against", bind="query-params")
    )
    if against in imported:
        st.text_input("Official measure", imported[against], disabled=True)
        return against, None
    names = [SAME, *(name for name, known in KNOWN.items() if known.takes_judgments)]
    picked = st.selectbox("Official measure", names, key="official-measure", bind="query-params")
    return against, None if picked == SAME else str(picked)


def several(label: str, options: list[str], key: str, everything: str, **more: Any) -> list[str]:
    """A choice of several, in the URL; none of them means what `everything` says."""
    picked: list[str] = st.multiselect(label, options, key=key, bind="query-params", placeholder=everything, **more)
    return picked


ui.begin()
project = ui.project()
against_known = official_sources(project)
if not against_known:
    ui.empty("There is nothing to compare with.", "Import judgments or an official leaderboard.", "home")
imported = dict(boards(project))
left, right = st.columns([3, 2], gap="large")
with left:
    against, against_measure = chosen_official(imported, against_known)
    names = several("Rows", methods(project), "rows", "All graders, judgments and imported leaderboards")
    ranked = [name for name, known in KNOWN.items() if known.ranks_passages]
    measures = several(
        "Measures", list(dict.fromkeys([*META_MEASURES, *ranked])), "measures", ", ".join(META_MEASURES),
        accept_new_options=True, help="Or type another, such as P@30 or EXAM-Cover@5.",
    )  # fmt: skip
with right:
    ratings = st.pills(
        "Min ratings", range(1, MAX_RATING + 1), selection_mode="multi", default=list(MIN_RATINGS),
        key="ratings", bind="query-params",
    )  # fmt: skip
    shown = st.pills(
        "Correlation", COEFFICIENTS, selection_mode="multi", default=list(COEFFICIENTS[:2]),
        format_func=TITLES.__getitem__, key="coefficients", bind="query-params",
    )  # fmt: skip
    upper, middle, lower = st.columns(3, vertical_alignment="bottom")
    with middle:
        queries = policy_widgets.queries()
    ties = cast(
        Ties,
        upper.segmented_control(
            "Ties", ["average", "random"], default="average", key="ties", required=True, bind="query-params",
            help="Average ranks, or ties broken at random ten times, and the mean.",
        ),
    )  # fmt: skip
    with lower.popover("Labels and versions", icon=":material/tune:"):
        rules = several("Label rules", list(policy_widgets.LABEL_RULES), "label-rules", "Best rating",
                        format_func=policy_widgets.LABEL_RULES.__getitem__)  # fmt: skip
        numbers = several("Bank versions", [str(v.version) for v in versions(project)], "versions", "The newest")

official = Policy(min_judgment=policy_widgets.chosen(project).min_judgment)
samples = 0
with st.container(horizontal=True, vertical_alignment="center"):
    view = st.segmented_control(
        "View", ["Table", "Heat map"], default="Table", key="view", required=True, bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    if st.toggle("Intervals", key="intervals", bind="query-params", help=f"From {RESAMPLES} resamples of the queries."):
        samples = RESAMPLES
    st.space("stretch")
    downloads = st.container(horizontal=True, width="content")
if not ratings or not shown:
    st.info("Choose at least one min rating and one correlation.", icon=":material/help:")
    st.stop()
try:
    with st.spinner("Scoring every row under every measure"):
        rows = choose_rows(
            project, names, ratings, rules or ["max"], [int(number) for number in numbers] or [None], official
        )
        table = meta_table(
            project,
            rows,
            [against],
            measures or META_MEASURES,
            against_measure,
            official,
            ties,
            samples=samples,
            queries=queries,
        )
except WorkbenchError as error:
    ui.show_error(error)
    st.stop()
for name, content, kind in (("TSV", meta_tsv, "text/tab-separated-values"), ("LaTeX", meta_latex, "text/x-tex")):
    downloads.download_button(
        name, content(table, shown), f"{project.name}-measures.{'tex' if name == 'LaTeX' else 'tsv'}", kind,
        on_click="ignore", type="tertiary", icon=":material/download:",
    )  # fmt: skip
said = caption(table, near="shaded") if view == "Table" else caption(table, near="in the tooltip", poor="pale or red")
st.caption(ui.plain(said))
place = draw_table(table, shown) if view == "Table" else measure_map.draw(table, shown, SIGNS)
for reason, where in table.reasons().items():
    st.caption(ui.plain(f"{UNDEFINED} {reason} ({len(where)} {'cell' if len(where) == 1 else 'cells'})"))
if place is None:
    st.caption("Select a cell to see the two boards behind it.")
else:
    closer(project, table, place, official, ties, queries)
