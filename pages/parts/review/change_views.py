"""Changes: questions and leaderboards of two states, and two snapshots of a live target."""

from dataclasses import replace
from typing import Any

import streamlit as st

from exam_workbench import answers, measures, review, study, text
from exam_workbench.records import ResponseSnapshot, pooled_queries
from exam_workbench.store import Project
from pages.parts.shared import html, scoring_settings, ui, view_choice

QUESTIONS_A_PAGE = 10
KIND_NAMES = {
    "reweighted": "weight changed",
    "kind": "kind changed",
    "answer key": "answer key changed",
    "subtopic": "subtopic changed",
}
"""Display names for changes whose keys are too short to show."""


def _rank_change(system: review.SystemChange) -> str:
    if (
        system.rank_before is None
        or system.rank_after is None
        or system.rank_before == system.rank_after
    ):
        return ""
    gained = system.rank_before - system.rank_after
    return f"{'▲' if gained > 0 else '▼'} {abs(gained)}"


def draw_questions(project: Project, changes: review.StateChanges) -> None:
    """Draw the changed questions, before and after, with the number of labels that each changes."""
    if not changes.questions:
        st.text("No differences between the questions that can change a score.")
        return
    ordered = sorted(changes.questions, key=lambda pair: -pair[1])
    texts = pooled_queries(project)
    pager = f"questions {hash((changes.before, changes.after))}"
    st.caption(f"{text.how_many(len(ordered), 'questions')}, sorted by number of changed labels")
    for change, flips in ui.rows_of_page(pager, ordered, QUESTIONS_A_PAGE):
        with st.container(key=f"question-differs-{change.question_id}"):
            body, link = st.columns([10, 3], vertical_alignment="center")
            with body:
                st.container(key=f"wordings {change.question_id}").html(
                    '<div class="asked" dir="auto"><div'
                    f' class="words">{_difference_html(change)}</div></div>'
                )
                moves = f"changes {text.how_many(flips, 'labels')}"
                query = ui.shorten_text(texts.get(change.query_id, change.query_id), 70)
                st.container(key=f"moves {change.question_id}").caption(
                    ui.escape(
                        f"{', '.join(KIND_NAMES.get(kind, kind) for kind in change.kinds)} ·"
                        f" {moves} · {query}"
                    )
                )
            with link:
                ui.draw_link("question_bank", "Edit question", query=change.query_id)
    ui.draw_pager(pager, len(ordered), QUESTIONS_A_PAGE)


def _difference_html(change: review.QuestionChange) -> str:
    """Return HTML of a question before and after, with its other changes."""
    old, new = change.before, change.after
    if old is None or new is None or "retired" in change.kinds:
        shown = new or old
        return html.as_html(shown.shown_text) if shown else ""
    lines = [html.difference_html(old.shown_text, new.shown_text)]
    if old.weight != new.weight:
        lines.append(f"Weight {old.weight:g} → {new.weight:g}")
    if old.kind != new.kind:
        lines.append(f"{old.kind.capitalize()} → {new.kind}")
    if "answer key" in change.kinds:
        keys = [" | ".join((q.answer_key or "", *q.choices)) or "none" for q in (old, new)]
        lines.append(f"Answer key: {html.difference_html(*keys)}")
    return "<br>".join(lines)


def draw_boards(_: Project, changes: review.StateChanges) -> None:
    """Draw both leaderboards in one table, with each system's rank and change of score."""
    board = changes.board_after or changes.board_before
    if board is None:
        st.text("Neither state has a leaderboard.")
        return
    shifts = [
        None if s.score_before is None or s.score_after is None else s.score_after - s.score_before
        for s in changes.systems
    ]
    st.caption(ui.escape(f"Systems by {board.measure}, sorted by their rank after the change"))
    st.dataframe(
        {
            "Run": [s.run for s in changes.systems],
            "Rank before": [s.rank_before for s in changes.systems],
            "Rank after": [s.rank_after for s in changes.systems],
            "Rank change": [_rank_change(s) for s in changes.systems],
            "Score before": [s.score_before for s in changes.systems],
            "Score after": [s.score_after for s in changes.systems],
            "Score change": shifts,
        },
        hide_index=True,
        height="content" if len(changes.systems) <= 30 else 600,
        column_config={
            "Score before": st.column_config.NumberColumn(format="%.4f"),
            "Score after": st.column_config.NumberColumn(format="%.4f"),
            "Score change": st.column_config.NumberColumn(format="%+.4f"),
        },
    )


DEPTHS = (5, 10, 20, 50)
QUERY = "freeze-query"
NO_BOARD = "No measure"
EXCERPT = 700

STYLE = """
.ew-top { list-style: none; margin: 0; padding: 0; }
.ew-top > li { padding: 0.45rem 0 0.5rem 2.2rem; border-bottom: 1px solid var(--ew-line);
  position: relative; overflow-wrap: anywhere; }
.ew-top .rank { position: absolute; left: 0; width: 1.7rem; text-align: right; color: var(--ew-dim);
 font-variant-numeric: tabular-nums; }
.ew-top .what { color: var(--ew-dim); font-size: 0.87rem; }
.ew-top .differs { color: var(--ew-changed); font-weight: 600; }
.ew-top .words { margin-top: 0.15rem; }
.ew-top del { opacity: 0.65; }
.ew-top ins { text-decoration: none; border-bottom: 2px solid var(--ew-changed); }
"""


def draw_snapshots(project: Project, frozen: list[ResponseSnapshot]) -> None:
    """Draw the choice of two snapshots and their differences.

    Args:
        frozen: the existing ones, newest first; at least two.
    """
    before, after, k, board = _choose_snapshots(project, frozen)
    if before == after:
        st.container(key="same-freezes").info(
            "Before and After are the same snapshot. Choose two different snapshots.",
            icon=":material/info:",
        )
        return
    changes = project.cached(
        ("diff of freezes", before, after, k),
        lambda: answers.diff_of_runs(project, before, after, k),
    )
    fall = None if board is None else _measure_fall(project, before, after, board)
    _draw_summary(frozen, before, after, changes, fall)
    # With a measure, the largest loss is first.
    changes_shown = sorted(changes, key=lambda change: _score_change(fall, change.query_id) or 0.0)
    if not changes_shown:
        st.success(
            f"No differences: every query has the same top {k} and the same answer.",
            icon=":material/check:",
        )
        return
    texts = _draw_queries(project, changes_shown, fall)
    _draw_open_query(project, changes_shown, texts, before, after, k)


def _choose_snapshots(
    project: Project, frozen: list[ResponseSnapshot]
) -> tuple[str, str, int, study.BoardChoice | None]:
    names = [snapshot.name for snapshot in frozen]
    # By default the newest snapshot, and the latest earlier one of the same queries.
    alike = [snapshot.name for snapshot in frozen[1:] if snapshot.asked == frozen[0].asked]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        usual = {"from": (alike or names[1:])[0], "to": names[0]}
        before, after = (
            str(
                st.selectbox(
                    label,
                    names,
                    names.index(usual[side]),
                    key=f"freeze-{side}",
                    bind="query-params",
                )
            )
            for side, label in (("from", "Before"), ("to", "After"))
        )
        k = int(
            st.selectbox(
                "Depth", DEPTHS, index=1, key="freeze-depth", bind="query-params", width=100
            )
        )
        offered = _offer_measures(project, k)
        options = [*offered, NO_BOARD]
        by = str(st.selectbox("Measure", options, key=f"freeze-by {' '.join(options)}"))
    return before, after, k, offered.get(by)


def _offer_measures(project: Project, k: int) -> dict[str, study.BoardChoice]:
    """Return the measures for the rankings, beginning with the measure and official leaderboard of
    the scoring settings.
    """
    looking = scoring_settings.current_view()
    if looking is None or not measures.parse_measure(looking.measure).takes_judgments:
        return study.boards_to_choose_by(project, k)
    found = study.boards_to_choose_by(project, k, looking.measure)
    first = f"{looking.against}: {looking.measure}"
    return {name: found[name] for name in sorted(found, key=lambda name: name != first)}


@ui.errors()
def _measure_fall(
    project: Project, before: str, after: str, board: study.BoardChoice
) -> answers.MeasureChange | None:
    policy = scoring_settings.chosen_policy(project)
    policy = policy if board.grader is None else replace(policy, grader=board.grader)
    return project.cached(
        ("fall between freezes", before, after, board, policy),
        lambda: answers.measure_fall(project, before, after, board.measure, board.source, policy),
    )


def _draw_summary(
    frozen: list[ResponseSnapshot],
    before: str,
    after: str,
    changes: list[answers.QueryChange],
    fall: answers.MeasureChange | None,
) -> None:
    frozen_by_name = {item.name: item for item in frozen}
    queries = max(frozen_by_name[before].queries or 0, frozen_by_name[after].queries or 0)
    tops = [item for item in changes if item.gone or item.new or item.moved]
    gone, new = (sum(len(getattr(item, side)) for item in changes) for side in ("gone", "new"))
    facts: list[ui.Fact] = [
        ("differing", "Queries with different results", f"{len(tops):,} of {queries:,}", None),
        ("gone-new", "Passages removed / added", f"{gone:,} / {new:,}", None),
    ]
    if any(frozen_by_name[name].system or not tops for name in (before, after)):
        facts.append(("", "Different answers", f"{sum(item.answer for item in changes):,}", None))
    if fall is not None:
        change = ui.as_change(fall.before, fall.after)
        facts.append(("", fall.measure, f"{fall.before:.3f} → {fall.after:.3f}", None, change))
    ui.draw_metrics(*facts, key="sums", width="content")
    when = [
        f"{name} was recorded on {frozen_by_name[name].started_at:%d %b %Y at %H:%M}"
        for name in (before, after)
    ]
    lines = [f"{', '.join(when)}."]
    if fall is not None:
        verdict = "Significant drop" if fall.fell else "No significant drop"
        chance = (
            "no query differs"
            if fall.p is None
            else "p < 0.001"
            if fall.p < 0.001
            else f"p = {fall.p:.3f}"
        )
        source = "the grades" if fall.source == "exam" else fall.source
        lines.append(
            f"{verdict} of {fall.measure} by {source}: {fall.difference:+z.3f} (95% interval"
            f" {fall.low:+z.3f} to {fall.high:+z.3f}, {chance}, queries: {fall.queries:,})."
            " Unjudged and ungraded passages count as not relevant."
        )
    if frozen_by_name[before].asked != frozen_by_name[after].asked:
        lines.append(
            "The snapshots used different settings (address, request, paths or number of passages)."
        )
    lines += [
        f"Failed queries in {name}: {frozen_by_name[name].failed:,}."
        for name in (before, after)
        if frozen_by_name[name].failed
    ]
    st.container(
        key=f"about-freezes{'' if fall is None else ' fell' if fall.fell else ' stays'}"
    ).caption(ui.escape(" ".join(lines)))


def _score_change(fall: answers.MeasureChange | None, query_id: str) -> float | None:
    if fall is None or query_id not in fall.scores:
        return None
    before, after = fall.scores[query_id]
    return after - before


def _draw_queries(
    project: Project, changes: list[answers.QueryChange], fall: answers.MeasureChange | None
) -> dict[str, str]:
    """Draw the table of queries that differ, of which a selected one opens below; return their
    texts.
    """
    known = {query.query_id: query.text for query in answers.asked_queries(project)}
    texts = ui.distinct_option_texts(
        {change.query_id: known.get(change.query_id, change.query_id) for change in changes}
    )

    def open_selected() -> None:
        if rows := st.session_state["queries of freezes"].selection.rows:
            st.session_state[QUERY] = changes[rows[0]].query_id

    columns: dict[str, list[Any]] = {"Query": [texts[change.query_id] for change in changes]}
    if fall is not None:
        pairs = [fall.scores.get(change.query_id, (None, None)) for change in changes]
        columns |= {
            "Before": [pair[0] for pair in pairs],
            "After": [pair[1] for pair in pairs],
            "Change": [_score_change(fall, change.query_id) for change in changes],
        }
    columns |= {
        "Removed": [len(change.gone) for change in changes],
        "Added": [len(change.new) for change in changes],
        "Moved": [len(change.moved) for change in changes],
        "Overlap": [round(change.overlap, 2) for change in changes],
    }
    if any(change.answer for change in changes):
        columns["Answer"] = ["differs" if change.answer else "" for change in changes]
    st.dataframe(
        columns,
        hide_index=True,
        on_select=open_selected,
        selection_mode="single-row",
        key="queries of freezes",
        height="content" if len(changes) <= 10 else 390,
        column_config={
            "Query": st.column_config.TextColumn(width="medium"),
            "Overlap": st.column_config.NumberColumn(
                format="percent", help="Share of passages in both snapshots"
            ),
            "Before": st.column_config.NumberColumn(format="%.3f"),
            "After": st.column_config.NumberColumn(format="%.3f"),
            "Change": st.column_config.NumberColumn(format="%+.3f"),
        },
    )
    return texts


def _draw_open_query(
    project: Project,
    changes: list[answers.QueryChange],
    texts: dict[str, str],
    before: str,
    after: str,
    k: int,
) -> None:
    names = [item.query_id for item in changes]
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    query = view_choice.choose_linked(
        QUERY,
        {name: name for name in names},
        names[0],
        lambda: left.selectbox("Query", names, format_func=texts.__getitem__, key=QUERY),
    )
    difference = answers.query_difference(project, before, after, query, k)
    with right:
        ui.draw_link("passages", "Open passages", query=query)
    if difference.answers != (None, None):
        _draw_answers(difference)
    if difference.before or difference.after:
        sides = st.columns(2)
        for side, name, top, other in (
            (sides[0], before, difference.before, ()),
            (sides[1], after, difference.after, difference.before),
        ):
            ranking = _top_html(top, {item.passage_id: item for item in other})
            side.html(f"<style>{STYLE}</style><b>{html.as_html(name)}</b>{ranking}")


def _draw_answers(difference: answers.QueryDifference) -> None:
    earlier, other = difference.answers
    verdict = "Same answer:" if earlier == other else "Different answers:"
    if earlier is None or other is None:
        words = html.as_html(other or earlier or "")
        verdict = (
            "No answer after. Answer before:"
            if other is None
            else "No answer before. Answer after:"
        )
    else:
        words = html.difference_html(earlier, other)
    st.html(
        f'<style>{STYLE}</style><div class="ew-top"><span class="what">{verdict}</span>'
        f" <div>{words}</div></div>"
    )


def _top_html(
    top: tuple[answers.PlacedPassage, ...], others: dict[str, answers.PlacedPassage]
) -> str:
    if not top:
        return '<p class="ew-top"><span class="what">No passages returned.</span></p>'
    return f'<ol class="ew-top">{"".join(_passage_html(passage, others) for passage in top)}</ol>'


def _passage_html(placed: answers.PlacedPassage, others: dict[str, answers.PlacedPassage]) -> str:
    place_mark = (
        f'<span class="differs">{_describe_place(placed, bool(others))}</span> '
        if placed.other != placed.rank
        else ""
    )
    twin = others.get(placed.rewritten or "")
    if placed.text is None:
        words = '<span class="what">No text returned.</span>'
    elif twin is not None and twin.text is not None:
        words = html.difference_html(
            ui.shorten_text(twin.text, EXCERPT), ui.shorten_text(placed.text, EXCERPT)
        )
    else:
        words = html.as_html(ui.shorten_text(placed.text, EXCERPT))
    return (
        f'<li><span class="rank">{placed.rank}</span>{place_mark}<span'
        f' class="what">{html.as_html(placed.passage_id)}</span>'
        f'<div class="words" dir="auto">{words}</div></li>'
    )


def _describe_place(placed: answers.PlacedPassage, later: bool) -> str:
    if placed.other is not None:
        return f"rank {placed.other} before" if later else f"rank {placed.other} after"
    if placed.rewritten is not None:
        return "text changed"
    return "added" if later else "removed"
