"""Views of the Leaderboard screen that compare leaderboards, and systems by query."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from exam_workbench import charts, choices, labels, measures, study, text
from exam_workbench.records import (
    IMPORTED,
    gold_name,
    gold_texts,
    imported_leaderboards,
    mark_gold,
    run_names,
)
from exam_workbench.run_names import short_names
from exam_workbench.store import Project
from pages.parts.shared import chart_display, presses, ui
from pages.parts.shared.leaderboard_table import Column, draw_returned, draw_system, query_links

AXIS_TITLE = 44
"""Characters of a system's name along an axis."""
OTHERS = 5
"""Number of leaderboards drawn with the reference: as many as there are distinct colours."""


@dataclass(frozen=True)
class Screen:
    """The settings at the head of the screen.

    Args:
        official: source and measure of the official leaderboard; None if there is no such
            leaderboard.
        queries: queries over which two leaderboards are compared.
        test: the paired test that decides which systems differ.
    """

    project: Project
    policy: labels.Policy
    measure: str
    official: tuple[str, str] | None
    ties: choices.Ties
    queries: labels.QueryChoice
    test: choices.SystemTest

    @cached_property
    def offered(self) -> dict[str, study.BoardChoice]:
        """All leaderboards to choose from by name, including those of the head."""
        named = [self.measure]
        if self.official and self.official[0] not in self.imported:
            named.append(self.official[1])
        return study.offered_boards(
            self.project, list(dict.fromkeys([*study.PANEL_MEASURES, *named]))
        )

    @property
    def imported(self) -> dict[str, str]:
        """Measure of every imported leaderboard by name; imported ones have no scores by query."""
        return dict(imported_leaderboards(self.project))

    @cached_property
    def studied(self) -> str:
        """Name of the leaderboard of the labels, with the settings at the head of the screen."""
        min_rating = labels.basis(self.project, self.policy).min_rating
        own = study.BoardChoice(self.measure, "exam", self.policy.grader, min_rating)
        return study.board_name(self.offered, own) or next(iter(self.offered))

    @cached_property
    def reference(self) -> str:
        """Name of the official leaderboard; without one, that of the studied leaderboard."""
        if self.official is None:
            return self.studied
        source, measure = self.official
        return study.board_name(self.offered, study.BoardChoice(measure, source)) or self.studied

    def board(self, name: str) -> labels.Leaderboard:
        """Return an offered leaderboard by its name."""
        return study.make_board(self.project, self.offered[name], self.policy)

    def choose_board(
        self,
        at: DeltaGenerator,
        label: str,
        default: str,
        key: str,
        among: Sequence[str] | None = None,
    ) -> tuple[str, labels.Leaderboard]:
        """Draw a choice of a leaderboard; return its name and the leaderboard.

        It is reset if the head of the screen names another default.

        Args:
            among: the names to choose from; None for all.
        """
        options = list(self.offered) if among is None else among
        name = at.selectbox(
            label,
            options,
            index=options.index(default),
            key=f"{key} {default}",
            bind="query-params",
        )
        return name, self.board(name)


def correlation_strip(
    compared: labels.Comparison, with_what: str = "the official leaderboard"
) -> None:
    """Draw the coefficients or the reason why they are undefined, and the compared queries."""
    result = compared.correlation
    if result.undefined:
        st.container(key="undefined").info(
            ui.escape(f"Correlation with {with_what} is undefined: {result.undefined}"),
            icon=":material/help:",
        )
    else:
        ui.draw_metrics(
            (
                "Spearman",
                "Spearman",
                ui.as_number(result.spearman),
                "Rank correlation, from -1 to 1",
            ),
            (
                "Kendall",
                "Kendall",
                ui.as_number(result.kendall),
                "Share of system pairs in the same order minus the share of swapped pairs (tau-b)",
            ),
            (
                "tau_AP",
                "tau_AP",
                ui.as_number(result.tau_ap),
                "Like Kendall, but swaps at the top of the official leaderboard have more weight",
            ),
            ("Pearson", "Pearson", ui.as_number(result.pearson), "Correlation of the scores"),
            ("systems", "Systems", str(result.systems), "Systems on both leaderboards"),
            width="content",
        )
        if (interval := labels.kendall_interval(compared)) is not None:
            low, high = (ui.as_number(bound) for bound in interval)
            st.container(key="kendall-interval").caption(
                f"95% interval of Kendall over resampled queries: {low} to {high}"
            )
    st.container(key="compared-queries").caption(ui.escape(compared.queries.description))


def all_boards(screen: Screen) -> None:
    """Draw several leaderboards on one scale, in the order of the official one."""
    reference, studied = screen.reference, screen.studied
    default = [studied] if studied != reference else []
    others = st.multiselect(
        "Leaderboards",
        [name for name in screen.offered if name != reference],
        default=default,
        max_selections=OTHERS,
        key=f"boards beside {reference} {studied}",
        bind="query-params",
        help="Leaderboards to draw next to the official one.",
    )
    drawn_boards: dict[str, labels.Leaderboard] = {}
    for name in [reference, *others]:
        with ui.errors():
            drawn_boards[name] = screen.board(name)
    if reference not in drawn_boards:
        return
    drawn = study.make_board_panel(drawn_boards[reference], drawn_boards, reference)
    for name, reason in drawn.left_out.items():
        st.caption(ui.escape(f"{name}: {reason}"))
    if not drawn.marks:
        return
    options = [system.run for system in drawn_boards[reference].systems]
    run = st.session_state.get("system")
    chart_display.draw_chart(
        charts.panel_chart(drawn, run),
        "panel of boards",
        {"system": "run", "system's board": "board"},
    )
    st.caption(
        f"Systems in the order of {ui.escape(reference)}. Click a system to see its queries, or a"
        " name in the legend to highlight a leaderboard.",
        help=(
            "Each leaderboard is scaled: its lowest score is 0 and its highest is 1. Bars are one"
            " standard error."
        ),
    )
    left, right = st.columns(2)
    run = left.selectbox(
        "System",
        options,
        index=None,
        key="system",
        bind="query-params",
        placeholder="Choose a system",
    )
    name = right.selectbox(
        "Leaderboard", list(drawn_boards), key="system's board", bind="query-params"
    )
    if run:
        board = drawn_boards[name]
        alone = screen.official is None or screen.official[0] == board.source
        draw_system(screen.project, board, None if alone else drawn_boards[reference], run)


def two_boards(screen: Screen) -> None:
    """Draw two leaderboards: a slope chart, a scatter plot of the systems, and their agreement."""
    left, middle, right = st.columns(3)
    first, x = screen.choose_board(left, "First leaderboard", screen.reference, "first board")
    second, y = screen.choose_board(middle, "Second leaderboard", screen.studied, "second board")
    points, compared = study.system_points(x, y, screen.ties, screen.queries)
    run = right.selectbox(
        "System",
        [point.run for point in points],
        index=None,
        key="system",
        bind="query-params",
        placeholder="Choose a system",
    )
    if first == second:
        st.caption("Choose two different leaderboards.")
        return
    # The second leaderboard is the one under study, but this screen names it last.
    correlation_strip(replace(compared, queries=compared.queries.swapped), first)
    if not points:
        return
    slope, scatter = st.container(key="beside-boards").columns([10, 11], gap="small")
    with slope:
        chart_display.draw_chart(
            charts.slope_chart(compared.official, compared.board, run, (first, second))
        )
    with scatter:
        chart_display.draw_chart(
            charts.system_scatter(points, first, second, run),
            "scatter of systems",
            {"system": "run"},
        )
        st.caption(
            "Bars are one standard error. Names that would overlap are left out. Click a system to"
            " see its queries."
        )
    if run:
        draw_system(screen.project, y, x, run, beside=first)


def two_systems(screen: Screen) -> None:
    """Draw the queries of two systems against each other, or of one system on two leaderboards."""
    by_query = [
        name for name, choice in screen.offered.items() if choice.source not in screen.imported
    ]
    columns = [*st.columns(2), *st.columns(2)]
    first_board, x = screen.choose_board(
        columns[0], "First leaderboard", screen.studied, "x board", by_query
    )
    second_board, y = screen.choose_board(
        columns[1], "Second leaderboard", screen.studied, "y board", by_query
    )
    runs = [system.run for system in x.systems]
    _follow_top_two(runs)
    first = columns[2].selectbox("First system", runs, key="first system", bind="query-params")
    second = columns[3].selectbox(
        "Second system", runs, index=min(1, len(runs) - 1), key="second system", bind="query-params"
    )
    if (first_board, first) == (second_board, second):
        st.caption("Choose two systems, or one system on two leaderboards.")
        return
    system_pair(screen, x, first, y, second)


def _follow_top_two(runs: list[str]) -> None:
    """Choose the best two systems again if another measure has others, unless a person chose a
    pair.
    """
    state, best = st.session_state, runs[:2]
    before = state.get("top two")
    if before and before == [state.get("first system"), state.get("second system")]:
        state["first system"], state["second system"] = runs[0], best[-1]
    state["top two"] = best


@ui.errors()
def system_pair(
    screen: Screen, x: labels.Leaderboard, first: str, y: labels.Leaderboard, second: str
) -> None:
    """Draw the queries of two systems as a scatter plot, and the passages that both returned for a
    query.
    """
    comparison = study.query_points(screen.project, x, first, y, second)
    if not comparison.points or comparison.means is None:
        st.info("The two systems have no common query.", icon=":material/help:")
        return
    same = x == y
    short = short_names((system.run for board in (x, y) for system in board.systems), AXIS_TITLE)
    names = [
        short[run] if same else f"{short[run]}: {board.source} {board.measure}"
        for board, run in ((x, first), (y, second))
    ]
    facts: list[ui.Fact] = [
        (
            "",
            "First better",
            f"{comparison.count('first')}",
            f"Queries on which {ui.escape(names[0])} scores higher",
        ),
        (
            "",
            "Second better",
            f"{comparison.count('second')}",
            f"Queries on which {ui.escape(names[1])} scores higher",
        ),
        ("", "Equal", f"{comparison.count('equal')}", "Queries on which both score the same"),
    ]
    separated = None
    if same:
        (row,) = [r for r in study.compare_systems(x, second, correction="none") if r.run == first]
        separated = {True: "separated", False: "not separated"}.get(row.differs)
        half = comparison.half_width
        width = "" if math.isnan(half) else f" ± {half:.4f}"
        difference = f"{comparison.means[0] - comparison.means[1]:+z.4f}{width}"
        about = (
            "Mean score of the first system minus that of the second, with half of its 95% interval"
        )
        p = "< 0.001" if row.p is not None and row.p < 0.001 else ui.as_number(row.p)
        why = ui.escape(row.undefined or "") or "Two-sided paired t test, without correction"
        facts += [("", "Difference", difference, about), ("", "p", p, why)]
    ui.draw_metrics(*facts, width="content")
    alike = x.measure == y.measure
    if not same:
        what = "are from different leaderboards" if alike else "have different measures"
        st.container(key="different-boards").warning(
            ui.escape(f"{names[0]} and {names[1]} {what}. Their scores cannot be compared."),
            icon=":material/warning:",
        )
    if separated is not None:
        ranks = {system.run: system.rank for system in x.systems}
        st.markdown(
            f"**Without correction, the systems of ranks {ranks[first]} and {ranks[second]} are"
            f" {separated}** at {measures.ALPHA:.0%} (paired t test over"
            f" {text.how_many(len(comparison.points), 'queries')}). The leaderboard tests all pairs"
            " and corrects p by Holm's method, so it separates fewer systems."
        )
    if comparison.left_out:
        st.caption(
            f"Excluded: {text.how_many(comparison.left_out, 'queries')} with only one score."
        )
    texts = {point.query_id: point.text for point in comparison.points}
    query = st.session_state.get("compared")
    left, right = st.container(key="beside-systems").columns([12, 9], gap="medium")
    with left:
        scatter = charts.query_scatter(comparison, names[0], names[1], alike, query)
        chart_display.draw_chart(scatter, "scatter of queries", {"compared": "query_id"})
        if any(point.skipped for point in comparison.points):
            st.caption("Hollow points: one system skipped the query and scores 0.")
    with right:
        widest = sorted(comparison.points, key=lambda point: abs(point.x - point.y), reverse=True)
        st.dataframe(
            {
                "Query": [point.text for point in widest],
                "First": [point.x for point in widest],
                "Second": [point.y for point in widest],
                "Difference": [point.x - point.y for point in widest],
            },
            hide_index=True,
            height=400,
            column_config={"Query": st.column_config.TextColumn(width=192)}
            | {
                label: st.column_config.NumberColumn(help=tip, format="%.3f", width=width)
                for label, tip, width in (
                    ("First", names[0], 62),
                    ("Second", names[1], 62),
                    ("Difference", "First minus second", 85),
                )
            },
        )
    query = st.selectbox(
        "Query",
        list(texts),
        index=None,
        key="compared",
        format_func=lambda key: ui.shorten_text(texts[key], ui.LISTED),
        bind="query-params",
        placeholder="Choose a query to read the passages of both systems",
    )
    if query is None:
        return
    if not screen.project.allows("read the bank"):
        st.caption(":material/lock: Only assessors can see passages and labels.")
        return
    query_links(query)
    source = (
        screen.official[0]
        if screen.official and screen.official[0] not in screen.imported
        else None
    )
    sides = ((x, first), (y, second)) if first != second else ((y, second),)
    for column, (board, run) in zip(st.columns(len(sides), gap="medium"), sides, strict=True):
        with column, ui.errors():
            draw_returned(screen.project, run, query, board.policy, source)


NOTHING = "None"


def choose_gold_run(project: Project) -> None:
    """Draw the present gold passages, and a choice for people who may change it."""
    if not project.allows("organize"):
        return
    now = gold_name(project)
    runs = run_names(project)
    chosen = st.selectbox(
        "Gold passages",
        [NOTHING, *runs],
        index=runs.index(now) + 1 if now in runs else 0,
        key="gold run",
        help="n-EXAM, ROUGE-1 and chrF compare systems with a good answer per query: imported gold"
        " passages, or the pooled passages of one run (also below the cutoff).",
    )
    if now is not None:
        what = "imported" if now == IMPORTED else f"run {now}"
        st.text(f"Gold passages: {what} ({text.how_many(len(gold_texts(project)), 'queries')}).")
    gold_run = None if chosen == NOTHING else chosen
    if gold_run != (now if now in runs else None):
        presses.act_button(
            "Use as gold passages" if gold_run else "Clear gold passages",
            mark_gold,
            project,
            gold_run,
            key="set gold",
        )


TEST_NAMES: dict[choices.SystemTest, str] = {"t": "t test", "randomisation": "Randomisation"}
BEST, ABOVE = "the best", "the one above"


def choose_test() -> tuple[choices.SystemTest, str | None]:
    """Draw the choices of the paired test and of the system that further columns compare with;
    return both.
    """
    test = st.segmented_control(
        "Paired test",
        list(TEST_NAMES),
        default="t",
        key="test",
        required=True,
        bind="query-params",
        format_func=TEST_NAMES.__getitem__,
        help="Two-sided test over queries, corrected by Holm's method.",
    )
    against = st.segmented_control(
        "Add columns: differs from",
        [BEST, ABOVE],
        key="differs-from",
        bind="query-params",
        help=(
            "p values are corrected only for the comparisons in the column, so more differences"
            " can be significant."
        ),
    )
    return test, against


def significance_columns(
    board: labels.Leaderboard, against: str | None, test: choices.SystemTest
) -> list[Column]:
    """Return the chosen further columns for the table of systems.

    Args:
        against: which system each one is compared with; no columns for None.
    """
    if against is None:
        return []
    rows = (
        study.compare_systems(board, None, test)
        if against == BEST
        else study.compare_neighbours(board, test)
    )
    # The system that all others are compared with has no comparison of its own.
    by_run = {row.run: row for row in rows}
    tested = [by_run.get(system.run) for system in board.systems]
    for reason in sorted({row.undefined for row in rows if row.undefined}):
        st.caption(f":material/help: Some p values are missing. {ui.escape(reason)}")
    answers = {True: "yes", False: "no", None: "no test"}
    return [
        Column(f"Differs from {against}", [answers[row.differs] if row else "" for row in tested]),
        Column("p, corrected", [row.corrected if row else "" for row in tested], digits=4),
        Column(
            "Error bars",
            [charts.ERROR_BARS[row.error_bars_overlap] if row else "" for row in tested],
        ),
    ]


def draw_matrix(screen: Screen) -> None:
    """Draw every two systems of a leaderboard: do they differ by a paired test, and do their error
    bars overlap?
    """
    _, board = screen.choose_board(st, "Leaderboard", screen.studied, "tested board")
    rows = study.remembered_pairs(screen.project, board, screen.test)
    if not rows:
        st.info("A comparison needs at least two systems.", icon=":material/help:")
        return
    differ, tied = (
        sum(bool(row.differs) for row in rows),
        sum(bool(row.error_bars_overlap) for row in rows),
    )
    reasons = sorted({row.undefined for row in rows if row.undefined})
    untested = sum(bool(row.undefined) for row in rows)
    for reason in reasons:
        st.container(key="untested").caption(
            f":material/help: {text.how_many(untested, 'pairs')} of {len(rows):,} have no test."
            f" {ui.escape(reason)}"
        )
    if untested == len(rows):
        return
    st.caption(
        f"**{differ:,} of {len(rows):,} pairs of systems are separated** at {measures.ALPHA:.0%}"
        " (blue). The error"
        f" bars of {text.how_many(tied, 'pairs')} overlap (dot). Click a pair to see its queries"
        " below.",
        help="p values are corrected for all pairs. Columns and rows are systems by rank. Choose"
        " the test or fewer comparisons under *More*.",
    )
    runs = [system.run for system in board.systems]
    sets = {"better system": "run", "worse system": "against"}
    chart_display.draw_chart(charts.difference_matrix(rows, runs), "matrix of differences", sets)
    left, right = st.columns(2)
    first = left.selectbox(
        "Better system", runs, index=None, key="better system", bind="query-params"
    )
    second = right.selectbox(
        "Worse system", runs, index=None, key="worse system", bind="query-params"
    )
    if first and second and first != second:
        system_pair(screen, board, first, board, second)
