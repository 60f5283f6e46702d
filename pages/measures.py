"""Meta-evaluation: agreement of graders, min ratings and measures with the official leaderboard."""

import time
from typing import Any

import streamlit as st

from exam_workbench import bank, choices, errors, labels, study, text, types
from exam_workbench.measures import MEASURES as KNOWN
from exam_workbench.records import imported_leaderboards, official_sources
from exam_workbench.store import Project
from pages.parts.boards import agreement_table
from pages.parts.shared import address, leaderboard_table, scoring_settings, ui, view_choice
from pages.parts.shared.leaderboard_table import NamedLeaderboard

SAME = "Measure of the column"
RESAMPLES = 400
TABLE, HEAT = "Table", "Heat map"
SOON = 0.3
"""Seconds between two updates of a table that is being computed."""


def draw_details(
    project: Project,
    table: study.MetaTable,
    place: tuple[int, int],
    official: labels.Policy,
    ties: choices.Ties,
    queries: labels.QueryChoice,
) -> None:
    """Draw the two leaderboards of a cell, and their agreement."""
    row, column = table.rows[place[0]], table.columns[place[1]]
    policy, cell = row.row.policy, row.cells[place[1]]
    title = (
        f"{cell.measure} of {study.full_name(row)} compared with {column.against_measure} of"
        f" {column.against}"
    )
    detail = st.container(key="compared-cell")
    detail.markdown(f"**{ui.escape(title)}**")
    if cell.correlation.undefined:
        detail.caption(ui.escape(f"Undefined: {cell.correlation.undefined}"))
    facts: list[ui.Fact] = [
        (
            coefficient,
            name,
            ui.as_number(cell.value(coefficient)),
            agreement_table.interval_text(cell.intervals.get(coefficient)),
        )
        for coefficient, name in study.TITLES.items()
    ]
    systems = str(cell.correlation.systems)
    ui.draw_metrics(*facts, ("systems", "Systems on both leaderboards", systems, None))
    if row.row.source == "exam" and policy.bank_version is None:
        st.page_link(
            "pages/leaderboard.py",
            label="Show both leaderboards",
            icon=":material/arrow_forward:",
            query_params=address.link_parameters(
                grader=str(policy.grader),
                tau=str(policy.min_rating),
                label=policy.label,
                measure=cell.measure,
                against=column.against,
                relevant=str(official.min_judgment),
                **{"over-queries": queries},
            ),
        )
    if cell.queries:
        detail.caption(ui.escape(cell.queries.description))
        compared = study.cell_comparison(project, row.row, column, official, ties, queries)
        mine, theirs = compared.board, compared.official
        leaderboard_table.draw(
            NamedLeaderboard(f"Row {mine.measure}", mine),
            NamedLeaderboard(f"{column.against} {theirs.measure}", theirs),
            opens=False,
        )


def chosen_measure(against: str, imported: dict[str, str]) -> str | None:
    """Draw a widget for the measure of the official leaderboard; return None for the measure of
    each column.
    """
    if against in imported:
        st.text_input("Official measure", imported[against], disabled=True)
        return None
    names = [SAME, *(name for name, known in KNOWN.items() if known.takes_judgments)]
    picked = st.selectbox("Official measure", names, key="official-measure", bind="query-params")
    return None if picked == SAME else str(picked)


def choose_several(
    label: str, options: list[str], key: str, everything: str, **more: Any
) -> list[str]:
    """Draw a multiple choice that is kept in the URL and return it; an empty choice means
    `everything`.
    """
    return st.multiselect(
        label, options, key=key, bind="query-params", placeholder=everything, **more
    )


@st.fragment
def draw_cells(table: study.MetaTable) -> None:
    """Draw the table; a click on a cell opens its two leaderboards without redrawing the rest."""
    agreement_table.draw(table, shown, view == HEAT)
    if (place := agreement_table.find_open_cell(table)) is not None:
        with ui.errors():
            draw_details(project, table, place, official, ties, queries)


project = ui.require_project()
against_known = official_sources(project)
ui.require_content(
    against_known,
    "No official leaderboard yet.",
    "Import judgments or an official leaderboard.",
    "home",
    code="no-boards",
)
st.caption(
    "How well each combination of grader, min rating and measure agrees with the"
    " official leaderboard."
)
looking = scoring_settings.current_view()
with st.container(horizontal=True, vertical_alignment="bottom"):
    # Judgments and imported leaderboards can be compared before anything has been graded.
    against = looking.against if looking else None
    if against is None:
        with st.container(width=200):
            key = "compared-with" if looking else "against"
            against = str(
                st.selectbox("Official leaderboard", against_known, key=key, bind="query-params")
            )
    with st.container(width=250):
        names = choose_several("Rows", study.list_methods(project), "rows", "All rows")
    with st.container(width=250):
        ranked = [name for name, known in KNOWN.items() if known.ranks_passages]
        measures = choose_several(
            "Measures",
            list(dict.fromkeys([*choices.META_MEASURES, *ranked])),
            "measures",
            f"Default ({len(choices.META_MEASURES)})",
            accept_new_options=True,
            help=f"Default: {', '.join(choices.META_MEASURES)}. You can type other measures,"
            " such as P@30 or EXAM-Cover@5.",
        )
    more = st.popover(
        "More",
        icon=":material/tune:",
        help="Min ratings, correlations, ties, queries, label rules, bank versions",
        key="more",
    )
with more:
    against_measure = chosen_measure(against, dict(imported_leaderboards(project)))
    ratings = st.pills(
        "Min ratings",
        range(1, types.MAX_RATING + 1),
        selection_mode="multi",
        default=list(choices.META_MIN_RATINGS),
        key="ratings",
        bind="query-params",
    )
    shown = st.pills(
        "Correlation",
        choices.META_COEFFICIENTS,
        selection_mode="multi",
        default=list(choices.META_COEFFICIENTS[:2]),
        format_func=study.TITLES.__getitem__,
        key="coefficients",
        bind="query-params",
    )
    queries = scoring_settings.choose_queries()
    ties = scoring_settings.choose_ties()
    rules = choose_several(
        "Label rules",
        list(scoring_settings.LABEL_RULES),
        "label-rules",
        "Best rating",
        format_func=scoring_settings.LABEL_RULES.__getitem__,
    )
    numbers = choose_several(
        "Bank versions", [str(v.version) for v in bank.list_versions(project)], "versions", "Newest"
    )

official = labels.Policy(min_judgment=scoring_settings.chosen_policy(project).min_judgment)
with st.container(horizontal=True, vertical_alignment="center"):
    view = view_choice.choose_view([TABLE, HEAT], key="shape")
    intervals = st.toggle(
        "Intervals",
        key="intervals",
        bind="query-params",
        help=f"95% intervals from {RESAMPLES} resamples of the queries.",
    )
    st.space("stretch")
    downloads = st.container(horizontal=True, width="content")
if not ratings or not shown:
    st.info("Choose at least one min rating and one correlation.", icon=":material/help:")
    st.stop()

so_far = st.empty()
drawn_at = time.monotonic()


def draw_progress(part: study.MetaTable) -> None:
    """Draw the finished rows and the progress; draw nothing if all rows are ready at once."""
    global drawn_at
    done_count = len(part.rows)
    if done_count == len(rows) or time.monotonic() - drawn_at < SOON:
        return
    with so_far.container():
        last = ui.escape(study.full_name(part.rows[-1]))
        st.progress(
            done_count / len(rows), f"Scored {done_count} of {len(rows)} rows. Last row: {last}."
        )
        agreement_table.draw(part, shown, view == HEAT, so_far=True)
    drawn_at = time.monotonic()


try:
    rows = study.choose_rows(
        project,
        names,
        ratings,
        rules or ["max"],
        [int(number) for number in numbers] or [None],
        official,
    )
    so_far.container().progress(0.0, f"Scoring {text.how_many(len(rows), 'rows')}…")
    table = study.meta_table(
        project,
        rows,
        [against],
        measures or choices.META_MEASURES,
        against_measure,
        official,
        ties,
        samples=RESAMPLES if intervals else 0,
        queries=queries,
        report=draw_progress,
    )
except errors.WorkbenchError as error:
    so_far.empty()
    ui.show_error(error)
    st.stop()
so_far.empty()
for name, content, kind in (
    ("TSV", study.meta_tsv, "text/tab-separated-values"),
    ("LaTeX", study.meta_latex, "text/x-tex"),
):
    downloads.download_button(
        name,
        content(table, shown),
        f"{project.name}-measures.{'tex' if name == 'LaTeX' else 'tsv'}",
        kind,
        on_click="ignore",
        type="tertiary",
        icon=":material/download:",
    )
draw_cells(table)
table_caption = (
    study.make_caption(table, near="shaded")
    if view == TABLE
    else study.make_caption(table, near="", poor="pale")
)
st.container(key="legend").caption(
    ui.escape(f"Select a cell to see its two leaderboards. {table_caption}")
)
reasons = st.container(key="undefined-cells")
for reason, where in table.reasons().items():
    reasons.caption(ui.escape(f"{study.UNDEFINED} {reason} ({text.how_many(len(where), 'cells')})"))
