"""The impact panel of the question bank: the effect of unsaved changes, updated at every edit."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import streamlit as st

from exam_workbench import bank, grading, grouping, jobs, labels, measures, review, study, types
from exam_workbench.records import SCALE, passage_texts, source_judgments
from exam_workbench.store import Project
from exam_workbench.text import first_few, how_many
from pages.parts.bank import bank_panels as bank_review, editing_window as bank_window
from pages.parts.shared import (
    html,
    job_progress,
    presses,
    scoring_settings,
    seen_labels,
    ui,
    view_choice,
)

FLIPS_SHOWN = 5
QUERY = 40
"""Number of shown characters of a query."""
BEGINNING = 60
"""Number of shown characters of the narrative when it is folded."""


def draw_query_effect(
    project: Project, query: bank.QueryOverview, view: scoring_settings.ViewChoices | None
) -> None:
    """Draw the narrative of the query and the effect of the unsaved changes, next to the questions.

    Args:
        view: settings, measure and official leaderboard of the impact; None before anything is
            graded.
    """
    _draw_query_details(
        project, query.query_id, folded=bool(bank.list_drafts(project, ui.person()))
    )
    window = bank_window.current_window()
    name, version = window.saved or ("", 0)
    if window.saved and st.session_state.get("saved before") != window.saved:
        # The passage that a question was started from is no longer needed after the save.
        st.session_state["saved before"] = window.saved
        st.session_state.pop("beside", None)
    if name != project.name or bank.list_drafts(project, ui.person()):
        window.saved = None
    elif view is not None:
        bank_review.draw_saved(project, version)
    bank_review.draw_source_passage(project, query.query_id)
    st.markdown("**Impact**")
    job = jobs.current_job(project)
    if job is not None and not job.over:
        mine = job_progress.is_trial(job) and job.author == ui.person()
        job_progress.draw_grading_job(project, mine)
        if not mine:
            # Other jobs are paused and cancelled on Grading, next to their size.
            ui.draw_link("grading", "Open Grading")
    elif view is None:
        st.caption(
            "No grades yet. After the first grading, the impact of your changes appears here."
        )
        ui.draw_link("grading")
    if view is not None:
        draw_impact(project, query.query_id, view.policy, view.measure, view.against)


def _draw_query_details(project: Project, query_id: str, folded: bool) -> None:
    """Draw the narrative of a query and its subtopics, if any.

    Args:
        folded: whether the impact of unsaved changes needs the space.
    """
    query = bank.find_query(project, query_id)
    parts = (
        [f'<div class="asked-for" tabindex="0">{html.as_html(query.narrative)}</div>']
        if query.narrative
        else []
    )
    if query.subtopics:
        facets = "".join(f"<li>{html.as_html(subtopic.text)}</li>" for subtopic in query.subtopics)
        parts.append(f'<ul class="asked-for" tabindex="0">{facets}</ul>')
    if parts:
        about = html.as_html(
            ui.shorten_text(
                query.narrative or "; ".join(subtopic.text for subtopic in query.subtopics),
                BEGINNING,
            )
        )
        st.html(
            f'<details class="what-is-asked"{"" if folded else " open"}>'
            "<summary><b>Query details</b>"
            f" <span>{about}</span></summary>{''.join(parts)}</details>"
        )


@ui.errors()
def draw_impact(
    project: Project, query_id: str, policy: labels.Policy, measure: str, against: str | None
) -> None:
    """Draw the changes of this person's drafts against the newest bank version.

    Args:
        query_id: the open query, whose labels are first.
    """
    edits = bank.drafted_edits(project, ui.person())
    source = scoring_settings.judged_by(project, against)
    if not edits:
        st.caption("Change a question to see its effect on labels and leaderboard before you save.")
        if st.toggle("Summarize the question bank", key="summary"):
            with st.spinner("Analyzing all queries"):
                counts = study.bank_summary(project, policy, source)
            meanings = [study.verdict_meaning(verdict).capitalize() for verdict in counts]
            st.table({"Finding": meanings, "Questions": list(counts.values())}, hide_index=True)
        return
    changes = review.changes(project, measure, policy, edits)
    shown_impact = _ShownImpact(
        project,
        policy,
        query_id,
        {question.question_id: question for questions in edits.values() for question in questions},
        {
            query.query_id: ui.shorten_text(query.text, QUERY)
            for query in bank.query_overviews(project)
        },
        source_judgments(project, source) if source else {},
    )
    known_part = changes.known_part
    st.container(key="flips").markdown(
        _flips_headline(known_part.labels, shown_impact, bool(changes.pending)),
        help="Towards the assessors: the label becomes as relevant as the judgment, or comes nearer"
        " to it on its scale.",
    )
    st.container(key="changed-queries").caption(
        ui.escape(f"Effect of your changes in {_name_queries(shown_impact.queries, list(edits))}.")
    )
    _draw_flips(shown_impact, "known", known_part.labels)
    _weights_hint(project, policy, changes, edits)
    _draw_pairs_to_grade(project, policy, changes, edits)
    waiting = [change for change in changes.labels if changes.awaits_grades(change)]
    if changes.pending and changes.undecided:
        now = f" {len(waiting):,} of them come from a changed question:" if waiting else ""
        st.container(key="pending").caption(
            f"Up to {how_many(changes.undecided, 'labels')} may change after that.{now}"
        )
    _draw_flips(shown_impact, "pending", waiting)
    view_choice.stays_folded("impact details")
    with st.expander("Details", key="impact details", on_change="rerun") as details:
        if details.open:
            _draw_effects(project, policy, measure, against, changes)


@dataclass(frozen=True)
class _ShownImpact:
    """The data that all parts of the panel show.

    Args:
        query_id: the open query.
        drafted: all questions of the edited queries, by id.
        queries: shortened texts of the queries, by id.
        judged: judgments by query and passage id.
    """

    project: Project
    policy: labels.Policy
    query_id: str
    drafted: Mapping[str, types.Question]
    queries: Mapping[str, str]
    judged: Mapping[str, Mapping[str, int]]


def _flips_headline(
    flips: Sequence[review.LabelChange], shown_impact: _ShownImpact, so_far: bool
) -> str:
    """Return how many labels change, and in which direction."""
    count = f"**{how_many(len(flips), 'changed labels')}**{' so far' if so_far else ''}"
    if not flips:
        return count
    spec, policy = (
        bank.find_grader(shown_impact.project, shown_impact.policy.grader).spec,
        shown_impact.policy,
    )
    directions = review.count_directions(
        flips,
        shown_impact.judged,
        labels=review.RelevanceScale(spec.max_rating, spec.min_rating(policy.min_rating)),
        judgments=review.RelevanceScale(max(SCALE), policy.min_judgment),
    )
    others = len(flips) - directions.towards - directions.away
    if others == len(flips):
        return f"{count}: {directions.up:,} up, {directions.down:,} down"
    rest = f", {others:,} neither" if others else ""
    return f"{count}: {directions.towards:,} towards the assessors, {directions.away:,} away{rest}"


def _draw_effects(
    project: Project,
    policy: labels.Policy,
    measure: str,
    against: str | None,
    impact: review.Changes,
) -> None:
    """Draw the effect on ranks, scores and the correlation with a leaderboard."""
    known_part, shift = impact.known_part, None
    if against is not None:
        official = labels.official_board(project, against, measure, policy)
        shift = labels.correlation_shift(impact.before, known_part.after, official)
    moved = sum(system.rank_before != system.rank_after for system in known_part.systems)
    ranks = f"{moved:,} of {len(known_part.systems):,}{' so far' if impact.pending else ''}"
    facts: list[ui.Fact] = [("", "Rank changes", ranks, None)]
    if shift is not None:
        defined = shift.before is not None and shift.after is not None
        by = ui.as_change(shift.before, shift.after) if defined else None
        now = ui.as_number(shift.after) if defined else "undefined"
        facts.insert(0, ("", "Spearman", now, None, by))
    ui.draw_metrics(*facts, key=f"reach{' partial' * bool(impact.pending)}", width="content")
    if against is not None and shift is not None:
        _draw_noise(shift, against)
    _draw_moves(known_part)
    if impact.to_grade:
        st.container(key="undecided").caption("These numbers do not include the pairs to grade.")


def _draw_pairs_to_grade(
    project: Project, policy: labels.Policy, changes: review.Changes, edits: review.Edits
) -> None:
    """Draw the pairs that the changes need to be graded, and the trial that grades them."""
    if not changes.to_grade:
        st.caption(f"Nothing to grade: all {changes.known:,} pairs are already graded.")
        return
    grader = bank.grader_again(project, bank.find_grader(project, policy.grader).spec)
    about = None if grader is None else grading.time_needed(project, grader, changes.to_grade)
    st.container(key="to-grade").markdown(
        f"**{how_many(changes.to_grade, 'pairs')} to grade**"
        + (f", {ui.as_estimate(about)}" if about is not None else "")
    )
    job = jobs.current_job(project)
    if job is not None and not job.over:
        return
    if grader is None:
        st.container(key="no-grader-here").caption(
            "This grader cannot run here because its grades were imported. See Grading."
        )
        return
    drafted = tuple(question for questions in edits.values() for question in questions)
    presses.act_button(
        "Run trial grading",
        grading.start_job,
        project,
        grader,
        grading.Request(trial=drafted),
        icon=":material/play_arrow:",
        width="stretch",
        key="grade trial",
        help="Grade these pairs and show the effect. The question bank stays unchanged.",
    )


def _name_queries(texts: Mapping[str, str], query_ids: Sequence[str]) -> str:
    return first_few([f"“{texts.get(query_id, query_id)}”" for query_id in query_ids])


def _draw_flips(
    shown_impact: _ShownImpact, which: str, flips: Sequence[review.LabelChange]
) -> None:
    """Draw the labels that flip, or may flip: those of the open query, then those of the others,
    folded by query.
    """
    seen_labels.record_shown(
        shown_impact.project, [(change.query_id, change.passage_id) for change in flips]
    )
    order = sorted(
        flips,
        key=lambda one: (
            one.query_id != shown_impact.query_id,
            -abs((one.after or 0) - (one.before or 0)),
        ),
    )
    by_query = grouping.group_pairs((change.query_id, change) for change in order)
    first = [change for part in by_query.values() for change in part[:FLIPS_SHOWN]]
    texts = passage_texts(shown_impact.project, [change.passage_id for change in first])
    with st.container(key=f"flips-{which}"):
        for query_id, part in by_query.items():
            title = ui.escape(f"{_name_queries(shown_impact.queries, [query_id])} ({len(part):,})")
            with nullcontext() if query_id == shown_impact.query_id else st.expander(title):
                _of_query(shown_impact, part, texts)


def _of_query(
    shown_impact: _ShownImpact, flips: Sequence[review.LabelChange], texts: Mapping[str, str]
) -> None:
    """Draw the first labels of a query that flip, and a button that shows all."""
    for change in flips[:FLIPS_SHOWN]:
        text = ui.shorten_text(texts.get(change.passage_id, change.passage_id), 70)
        causes = [
            ui.shorten_text(shown_impact.drafted[key].shown_text, 60)
            for key in change.questions
            if key in shown_impact.drafted
        ]
        judged = shown_impact.judged.get(change.query_id, {}).get(change.passage_id)
        beside = "" if judged is None else f" :gray[judged {judged}]"
        if presses.button(
            f":violet[**{_describe_flip(change, shown_impact.policy)}**]{beside} {ui.escape(text)}",
            key=f"flip {change.query_id} {change.passage_id}",
            type="tertiary",
            width="stretch",
            help=ui.escape("Cause: " + "; ".join(causes)),
        ):
            # Pass the questions of all queries: the label may be that of a topic, whose questions
            # belong to its query.
            _draw_reasons(
                shown_impact.project,
                shown_impact.policy,
                change,
                list(shown_impact.drafted.values()),
                texts.get(change.passage_id, ""),
            )
    every = f"Show all {len(flips):,} labels"
    if len(flips) > FLIPS_SHOWN and presses.button(
        every, type="tertiary", key=f"all {flips[0].query_id} {flips[0].passage_id}"
    ):
        _all_flips(shown_impact, list(flips))


def _describe_flip(change: review.LabelChange, policy: labels.Policy) -> str:
    after = html.name_label(change.after)
    if change.unknown:
        sign = scoring_settings.sign_of_open(policy.label)
        # Without a known rating, a mean can have any value.
        after = "?" if sign == "≈" and change.after is None else f"{sign} {change.after or 0}"
    return f"{html.name_label(change.before)} → {after}"


@st.dialog("Why the label changes", width="large")
def _draw_reasons(
    project: Project,
    policy: labels.Policy,
    change: review.LabelChange,
    after: list[types.Question],
    text: str,
) -> None:
    st.markdown(f":violet[**{_describe_flip(change, policy)}**]")
    st.text(text or change.passage_id)
    rows = review.explain_change(project, policy, change.query_id, after, change.passage_id)
    rows.sort(
        key=lambda row: (
            row.question_id not in change.questions,
            -max(row.before or 0, row.after or 0),
        )
    )
    saved = {one.question_id: one for one in bank.list_questions(project, query_id=change.query_id)}
    edits = {one.question_id: _list_edits(saved.get(one.question_id), one) for one in after}
    st.dataframe(
        {
            "Question": [row.text for row in rows],
            "Rating before": [row.before for row in rows],
            "Rating after": [row.after for row in rows],
            "Cause": [
                ", ".join(
                    (edits[row.question_id] if row.question_id in change.questions else [])
                    + ([] if row.graded else ["ungraded"])
                )
                for row in rows
            ],
        },
        hide_index=True,
        column_config={"Question": st.column_config.TextColumn(width="large")},
    )
    st.caption(f"Passage {ui.escape(change.passage_id)}")


def _list_edits(before: types.Question | None, after: types.Question) -> list[str]:
    """Return the changes of a question, with both weights if they differ."""
    if before is None or before.weight == after.weight:
        return bank.kinds_of_change(before, after)
    weights = f"weight {before.weight:g} → {after.weight:g}"
    return [weights if one == "reweighted" else one for one in bank.kinds_of_change(before, after)]


@st.dialog("Changed labels", width="large")
def _all_flips(shown_impact: _ShownImpact, flips: list[review.LabelChange]) -> None:
    texts = passage_texts(shown_impact.project, [change.passage_id for change in flips])
    st.dataframe(
        {
            "Label": [_describe_flip(change, shown_impact.policy) for change in flips],
            "Judgment": [
                shown_impact.judged.get(change.query_id, {}).get(change.passage_id)
                for change in flips
            ],
            "Ungraded pairs": [change.unknown for change in flips],
            "Passage": [texts.get(change.passage_id, change.passage_id) for change in flips],
            "Cause": [
                "; ".join(
                    shown_impact.drafted[key].shown_text
                    for key in change.questions
                    if key in shown_impact.drafted
                )
                for change in flips
            ],
        },
        hide_index=True,
    )


def _weights_hint(
    project: Project, policy: labels.Policy, changes: review.Changes, edits: review.Edits
) -> None:
    """Explain why a change of weights does not change labels."""
    # If a weight becomes 0 or changes its sign, the question leaves or enters every label.
    same_sign = [
        question.weight * before > 0
        for query_id, questions in edits.items()
        for saved in [{q.question_id: q for q in bank.list_questions(project, query_id=query_id)}]
        for question in questions
        if question.weight != (before := saved.get(question.question_id, question).weight)
    ]
    if (
        same_sign
        and all(same_sign)
        and policy.label != "mean"
        and measures.parse_measure(changes.before.measure).ranks_passages
    ):
        st.caption(
            "Weights affect EXAM-Cover (the weighted share of answered questions) and the weighted"
            " mean. Other labels depend on ratings only."
        )


def _draw_noise(shift: labels.CorrelationShift, against: str) -> None:
    """Draw how certain the change of the correlation is, and over which queries it is computed."""
    if shift.before is None or shift.after is None:
        st.caption(
            f"Correlation with {ui.escape(against)}: undefined. {shift.says}"
            f" {shift.queries.description}"
        )
        return
    sure = f"Spearman with {ui.escape(against)}"
    if shift.low is not None and shift.high is not None:
        sure += f": 95% interval of its change {shift.low:+z.3f} to {shift.high:+z.3f}"
    st.caption(f"{sure}. {shift.says} {shift.queries.description}")


def _draw_moves(changes: review.Changes) -> None:
    """Draw the systems whose score changes, first those with another rank; a long table scrolls."""
    shifts = {
        system.run: (system.score_after or 0) - (system.score_before or 0)
        for system in changes.systems
    }
    shifted = [system for system in changes.systems if shifts[system.run]]
    if not shifted:
        return
    shifted.sort(
        key=lambda system: (system.rank_before == system.rank_after, -abs(shifts[system.run]))
    )
    rows = "".join(
        f"<tr{' class=moved' * (system.rank_before != system.rank_after)}>"
        f"<td>{html.as_html(system.run)}</td><td>{shifts[system.run]:+z.3f}</td>"
        f"<td>{system.rank_before or '–'} → {system.rank_after or '–'}</td></tr>"
        for system in shifted
    )
    head = (
        f'<tr><th>Run</th><th title="In {html.as_html(changes.after.measure)}">Change</th>'
        "<th>Rank</th></tr>"
    )
    st.html(
        '<div class="moves"'
        f' tabindex="0"><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    )
