"""Panels next to the questions: conflicts, history, versions, single questions, tests of wordings,
and passages that suggest improvements.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import zip_longest

import streamlit as st

from exam_workbench import bank, grading, labels, measures, review, sentences, study, types
from exam_workbench.records import judgment_sources, passage_texts
from exam_workbench.store import Project
from exam_workbench.text import first_few
from pages.parts.bank import editing_window as bank_window, proposal_list as bank_proposals
from pages.parts.shared import awaited_edits, html, presses, scoring_settings, ui, view_choice

PASSAGES_SHOWN = 10


def _draw_difference(before: str, after: str, key: str | None = None) -> None:
    """Draw the difference of two wordings."""
    shown = html.difference_html(before, after)
    st.container(key=key).html(
        f'<div class="asked" dir="auto"><span class="words">{shown}</span></div>'
    )


def draw_conflicts(project: Project, conflicts: list[bank.Conflict]) -> None:
    """Draw the versions of each conflict side by side, with buttons to settle it."""
    st.warning(
        f"Questions that you and another person changed: {len(conflicts)}. Choose a wording for"
        " each. All other changes merge automatically.",
        icon=":material/call_merge:",
    )
    for conflict in conflicts:
        base, *others = st.columns(3)
        with base:
            st.caption("Before both changes")
            st.text(conflict.base.shown_text if conflict.base else "Not in the question bank.")
        theirs = f"Saved by {conflict.their_author}: {conflict.their_note}"
        sides = (("theirs", theirs, conflict.theirs), ("mine", "Your change", conflict.mine))
        for column, (whose, title, question) in zip(others, sides, strict=True):
            with column:
                st.caption(ui.escape(title))
                _draw_difference(
                    conflict.base.shown_text if conflict.base else "", question.shown_text
                )
                st.caption(_describe_settings(question))
                presses.act_button(
                    f"Keep {whose}",
                    bank_window.change_drafts,
                    project,
                    bank.settle_conflict,
                    conflict.mine.question_id,
                    whose,
                    key=f"{whose} {conflict.mine.question_id}",
                    width="stretch",
                )


def _describe_settings(question: types.Question) -> str:
    return (
        f"weight {question.weight:g} · {'active' if question.active else 'retired'} ·"
        f" {question.kind}"
    )


def draw_saved(project: Project, version: int) -> None:
    """Draw the panel after a save: the job that grades the new pairs, and the changes of the
    version.
    """
    grader = bank.find_grader(project, scoring_settings.chosen_policy(project).grader)
    plan = grading.make_plan(project, grader.spec, bank.latest_version(project))
    with st.container(border=True, key="just-saved"):
        if plan.to_grade:
            st.container(key="saved-to-grade").markdown(
                f"**Saved bank version {version}.** Pairs to grade: {plan.to_grade:,}. Already"
                f" graded: {plan.known:,}."
            )
            if bank.grader_again(project, grader.spec) is None:
                st.container(key="no-grader-here").caption(
                    ui.escape(
                        f"The grades of {grader.spec.name} were imported. Grade and"
                        " import the new pairs."
                    )
                )
        else:
            st.markdown(f"**Saved bank version {version}.** All pairs are already graded.")
        with st.container(horizontal=True, vertical_alignment="center"):
            if plan.to_grade and bank.grader_again(project, grader.spec) is not None:
                ui.draw_link("grading", "Grade new pairs")
            ui.draw_link("changes", "Show changes")
            if presses.button("Close", type="tertiary", key="close saved"):
                bank_window.current_window().saved = None
                st.rerun()


@st.dialog("Question history", width="large")
def draw_history(project: Project, question: types.Question) -> None:
    """Draw every earlier wording and setting of a question, its changes, and buttons that restore
    it.
    """
    revisions = bank.question_history(project, question.question_id)
    for revision, earlier in zip_longest(revisions, revisions[1:]):
        old = revision.question
        with st.container(border=True):
            st.container(key=f"wording {revision.version}").text(old.shown_text)
            if earlier is not None and earlier.question.shown_text != old.shown_text:
                _draw_difference(
                    earlier.question.shown_text, old.shown_text, f"difference {revision.version}"
                )
            st.container(key=f"version {revision.version}").caption(
                ui.escape(
                    f"Version {revision.version} by {revision.author},"
                    f" {revision.saved_at:%d %B %Y %H:%M}:"
                    f" {revision.note} · {_describe_settings(old)}"
                )
            )
            if old != question and st.button("Restore", key=f"revision {revision.version}"):
                presses.run_act(
                    bank_window.change_drafts,
                    project,
                    bank.put_draft,
                    replace(old, position=question.position),
                )
    st.caption("A restored wording keeps its grades. It needs no new grading.")


def draw_versions(project: Project) -> None:
    """Draw the saved versions of the whole bank; compare two of them, or restore one."""
    saved = bank.list_versions(project)
    st.dataframe(
        {
            "Version": [v.version for v in saved],
            "Note": [v.note for v in saved],
            "Author": [v.author for v in saved],
            "Saved": [v.saved_at for v in saved],
            "Changed": [v.changed for v in saved],
        },
        # A long note must not hide the other columns.
        column_config={
            "Version": st.column_config.NumberColumn(width=70),
            "Note": st.column_config.TextColumn(width=180),
            "Author": st.column_config.TextColumn(width=90),
            "Saved": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm", width=130),
            "Changed": st.column_config.NumberColumn(
                width=80, help="Questions that the version changed."
            ),
        },
        hide_index=True,
    )
    if len(saved) < 2:
        return
    numbers = [v.version for v in saved]
    # The container wraps: items that do not fit go to the next line.
    ends = st.container(horizontal=True, vertical_alignment="bottom")
    before = ends.selectbox("From", numbers, index=1, width=110)
    after = ends.selectbox("To", numbers, index=0, width=110)
    difference = bank.bank_difference(
        *(
            bank.readable_questions(project, bank.list_questions(project, one))
            for one in (before, after)
        )
    )
    for sign, questions in (("added", difference.added), ("removed", difference.removed)):
        for question in questions:
            st.caption(f"{sign}: {ui.escape(question.shown_text)}")
    for old, new in difference.changed:
        _draw_difference(old.shown_text, new.shown_text)
        if _describe_settings(old) != _describe_settings(new):
            st.caption(f"{_describe_settings(old)} → {_describe_settings(new)}")
    if presses.button(
        f"Restore version {before}",
        ends,
        help="Saves its questions as a new version. Nothing is lost.",
    ):
        version = bank.restore_questions(project, before, f"Restored version {before}", ui.author())
        bank_window.current_window().saved = (project.name, version) if version else None
        st.rerun()


@st.dialog("Effect of this question alone", width="large")
@ui.errors()
def draw_alone(project: Project, question: types.Question) -> None:
    """Draw the labels and the order of the systems for a query under one question alone."""
    policy = scoring_settings.chosen_policy(project)
    others = bank.drafted_bank(project, ui.person(), question.query_id)
    alone = [replace(q, active=q.question_id == question.question_id) for q in others]
    st.text(question.shown_text)
    measure = st.segmented_control(
        "Measure", [measures.COVER, "nDCG@10", "AP"], default="nDCG@10", required=True
    )
    changes = review.changes(project, str(measure), policy, {question.query_id: alone})
    scores_by_run = changes.after.per_query
    order = sorted(scores_by_run, key=lambda run: -scores_by_run[run].get(question.query_id, 0.0))
    st.dataframe(
        {
            "Run": order,
            f"{changes.after.measure}, this question only": [
                scores_by_run[run].get(question.query_id) for run in order
            ],
            "All questions": [
                changes.before.per_query[run].get(question.query_id) for run in order
            ],
        },
        hide_index=True,
    )
    lost = [change for change in changes.labels if (change.after or 0) < (change.before or 0)]
    st.caption(f"Labels that would change: {len(changes.labels):,}. Lower: {len(lost):,}.")


@st.fragment
def draw_more_tasks(
    project: Project,
    query: bank.QueryOverview,
    report: study.QueryDiagnosis | None,
    policy: labels.Policy | None,
) -> None:
    """Draw further tasks of a query, one at a time; a click in them redraws nothing else.

    Args:
        report: diagnosis of its questions; None before anything is graded.
        policy: the scoring settings; None before anything is graded.
    """
    overrides = labels.find_overrides(project, query.query_id)
    stale = sum(override.stale for override in overrides)
    # The option names are stable, so that the choice stays open while a person works.
    proposals = len(bank.list_proposals(project, query.query_id))
    tasks: dict[str, tuple[str, Callable[[], None]]] = {
        "proposals": (
            f"Proposals ({proposals})",
            partial(bank_proposals.draw_proposals, project, query),
        )
    }
    if report is not None:
        tasks |= {
            "strays": (
                f"Answered by non-relevant passages ({len(report.strays)})",
                partial(_draw_strays, project, report),
            ),
            "uncovered": (
                f"Relevant passages not covered ({len(report.uncovered)})",
                partial(_draw_uncovered, project, query, report),
            ),
            "worth": (
                "Discrimination of the questions",
                partial(worth_panel, project, query.query_id, policy),
            ),
        }
    if overrides:
        title = f"Overrides ({len(overrides)}" + (f", {stale} stale)" if stale else ")")
        tasks["overrides"] = title, partial(_draw_overrides, project, overrides)
    versions = f"Bank versions ({bank.latest_version(project)})"
    tasks["versions"] = versions, partial(draw_versions, project)
    chosen = st.pills(
        "More about this query",
        list(tasks),
        default="proposals",
        format_func=lambda name: tasks[name][0],
        key="more",
        label_visibility="collapsed",
    )
    # Without graded passages, the person's former choice may not be offered.
    if chosen in tasks:
        tasks[chosen][1]()


def _draw_strays(project: Project, report: study.QueryDiagnosis) -> None:
    if report.strays:
        st.caption(f"Questions to reword or retire: {len(report.strays)}")
    else:
        st.caption("No question is answered by a passage judged non-relevant.")
    for stray in report.strays:
        title, key = (
            ui.escape(f"{stray.question.shown_text}  ({len(stray.passages)})"),
            f"stray {stray.question.question_id}",
        )
        view_choice.stays_folded(key)
        with st.expander(title, key=key, on_change="rerun") as fold:
            # Drawn only when open: the passages of many closed expanders would be most of the page.
            if not fold.open:
                continue
            for passage_id, text in passage_texts(project, stray.passages[:PASSAGES_SHOWN]).items():
                st.text(text)
                _draw_override_form(project, stray.question, passage_id)
                st.divider()


def _draw_uncovered(
    project: Project, query: bank.QueryOverview, report: study.QueryDiagnosis
) -> None:
    if report.relevant:
        covered = report.relevant - len(report.uncovered)
        st.caption(
            f"The question bank covers {covered} of {report.relevant} passages judged"
            " relevant for this query."
        )
    if not report.uncovered:
        st.caption("Every graded passage that is judged relevant answers a question.")
    for passage_id, text in passage_texts(project, report.uncovered[:PASSAGES_SHOWN]).items():
        title = ui.escape(ui.shorten_text(text, 90))
        with st.expander(title, key=f"uncovered {passage_id}", on_change="rerun") as fold:
            if not fold.open:
                continue
            st.caption("Create a question from the whole passage or from a sentence:")
            if presses.button("Whole passage", key=f"start {passage_id}", icon=":material/add:"):
                _start_question(project, query.query_id, passage_id, None)
            for start, end in sentences.split_sentences(text):
                sentence = text[start:end]
                if presses.button(
                    ui.escape(sentence),
                    key=f"start {passage_id} {start}",
                    type="tertiary",
                    icon=":material/add:",
                ):
                    _start_question(project, query.query_id, passage_id, sentence)


def _draw_override_form(project: Project, question: types.Question, passage_id: str) -> None:
    key = f"{question.question_id} {passage_id}"
    with st.popover(
        "Override rating", icon=":material/gavel:", type="tertiary", key=f"overriding {key}"
    ):
        rating = st.segmented_control(
            "Rating", list(types.RATINGS), default=0, key=f"rating {key}", required=True
        )
        reason = st.text_input(
            "Reason", key=f"reason {key}", placeholder="Why is the grader's rating wrong?"
        )
        presses.act_button(
            "Save override",
            labels.add_override,
            project,
            question.question_id,
            passage_id,
            int(rating),
            reason,
            key=f"override {key}",
            type="primary",
        )


def _draw_overrides(project: Project, overrides: list[labels.Override]) -> None:
    """Draw the overrides of a query: stale ones can be confirmed or withdrawn, current ones
    withdrawn.
    """
    overrides = sorted(overrides, key=lambda override: not override.stale)
    texts = passage_texts(project, [override.passage_id for override in overrides])
    for override in overrides:
        st.text(texts.get(override.passage_id, override.passage_id))
        st.caption(
            ui.escape(
                f"rated {override.rating} by {override.author}: {override.reason} ·"
                f" {override.wording_now}"
            )
        )
        if override.stale:
            st.caption(":orange[The question has been reworded:]")
            _draw_difference(override.wording, override.wording_now)
        with st.container(horizontal=True):
            if override.stale:
                presses.act_button(
                    "Confirm for the new wording",
                    labels.confirm_override,
                    project,
                    override.key,
                    key=f"confirm {override.key}",
                )
            presses.act_button(
                "Withdraw override",
                labels.withdraw_by_key,
                project,
                override.key,
                key=f"withdraw {override.key}",
                type="tertiary",
            )


def _start_question(project: Project, query_id: str, passage_id: str, sentence: str | None) -> None:
    begun = replace(
        bank.new_question(query_id), note=f"from passage {passage_id}", answer_key=sentence
    )
    bank_window.change_drafts(project, bank.put_draft, begun, author=ui.author())
    bank_window.current_window().go_to(begun)
    st.session_state["beside"] = (query_id, passage_id)
    st.rerun()


def draw_source_passage(project: Project, query_id: str) -> None:
    """Draw the passage that a new question of this query was started from, until the person closes
    it.
    """
    begun_for, passage_id = st.session_state.get("beside", (None, None))
    if begun_for == query_id and passage_id is not None:
        with st.container(border=True):
            st.caption("Source passage")
            if any(one.case.query_id == query_id for one in awaited_edits.list_awaited()):
                st.caption(
                    ":material/hourglass_top: Saving an edit of the question resolves its"
                    " disagreement."
                )
            st.container(key="passage-beside").text(
                passage_texts(project, [passage_id]).get(passage_id, passage_id)
            )
            st.button(
                "Close passage",
                icon=":material/close:",
                type="tertiary",
                key="close passage",
                on_click=st.session_state.pop,
                args=("beside", None),
            )


OF: dict[study.Examinees, str] = {"systems": "Systems", "passages": "Passages"}


@ui.errors()
def worth_panel(project: Project, query_id: str, policy: labels.Policy) -> None:
    """Draw the saved questions of a query as items, with systems or passages as examinees."""
    picked = st.segmented_control(
        "Compare",
        list(OF),
        default="systems",
        format_func=OF.__getitem__,
        key="told apart",
        required=True,
        label_visibility="collapsed",
    )
    with st.spinner("Fitting the item response model"):
        worth = study.bank_worth(project, policy, query_id, picked)
    rows = worth.questions
    names = {row.question_id: row.text for row in rows}
    st.table(
        {
            "Question": [ui.escape(row.text) for row in rows],
            "Finding": [ui.escape(_describe_verdict(row, worth, names)) for row in rows],
            "Suggestion": [row.suggestion for row in rows],
        },
        border="horizontal",
        hide_index=True,
    )
    st.dataframe(
        {
            "Question": [row.text for row in rows],
            "Answered": [row.answered for row in rows],
            "At the top": [row.at_top for row in rows],
            "d": [row.discrimination for row in rows],
            "b": [row.difficulty for row in rows],
        },
        hide_index=True,
        column_config={
            "Question": st.column_config.TextColumn(width="medium"),
            "Answered": st.column_config.NumberColumn(format="percent"),
            **{
                name: st.column_config.NumberColumn(format="%.2f", help=about)
                for name, about in (
                    ("At the top", "Information about the best systems or passages"),
                    ("d", "Discrimination"),
                    ("b", "Difficulty"),
                )
            },
        },
    )
    best = first_few(list(worth.abilities)[: worth.top]) if picked == "systems" else ""
    st.caption(
        "Based on the saved questions. “At the top” is the information about the best"
        f" {worth.top} of {len(worth.abilities)} {worth.examinees}"
        f"{f' ({ui.escape(best)})' if best else ''}."
    )
    for remark in worth.remarks:
        st.caption(f":material/info: {ui.escape(remark)}")


def _describe_verdict(
    row: study.QuestionWorth, worth: study.BankWorth, names: dict[str, str]
) -> str:
    if row.alike is None:
        return study.verdict_meaning(row.verdict, worth.examinees)
    same = ui.shorten_text(names.get(row.alike, row.alike), 60)
    return f"answered by the same {worth.examinees} as “{same}”"


def repair_form(project: Project, query_id: str, policy: labels.Policy | None) -> None:
    """Draw the form that tests rewordings of one question, for people who may grade."""
    found = bank.readable_questions(project, bank.list_questions(project, query_id=query_id))
    active_questions = {one.question_id: one for one in found if one.active}
    sources = judgment_sources(project)
    if policy is None or not active_questions or not sources or not project.allows("grade"):
        return
    window = bank_window.current_window()
    # The question of the menu, of the link, or of the button that led here.
    known_ids = (
        one
        for one in (window.repaired, st.query_params.get("question"), window.focus)
        if one in active_questions
    )
    chosen_id = next(known_ids, next(iter(active_questions)))
    with (
        st.expander(
            "Test new wordings of a question",
            key=f"repair {window.repaired}",
            expanded=window.repaired == chosen_id,
            on_change="rerun",
        ) as fold,
        ui.errors(),
    ):
        # Counting the pairs of a question takes too long for a form that is folded.
        if not fold.open:
            return
        st.caption(
            "Half of the passages with an override or a judgment choose the best wording. The"
            " other half tests it once."
            " The grader rates the new wordings first, which may cost money."
        )
        chosen = str(
            st.selectbox(
                "Question",
                list(active_questions),
                list(active_questions).index(chosen_id),
                lambda one: active_questions[one].shown_text,
                f"repaired {chosen_id}",
            )
        )
        proposed = bank.proposed_wordings(project, chosen, ui.person())
        key = f"wordings {chosen} {len(proposed)}" if proposed else "wordings"
        texts = st.text_area("New wordings, one per line", "\n".join(proposed), key=key)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            source = str(st.selectbox("Judgments", sources, key="repair source", width=280))
            pairs = review.count_held_out(project, chosen, policy, source)
            few = pairs < measures.HELD_OUT
            suggest = presses.button(
                "Suggest wordings",
                icon=":material/lightbulb:",
                disabled=few or not project.allows("ask models"),
                key="suggest wordings",
            )
            pressed = presses.button(
                "Test wordings", icon=":material/build:", key="test wordings", disabled=few
            )
        st.container(key="held out").caption(
            f"Held-out passages with a rating and a judgment or override: {pairs}. A test needs"
            f" {measures.HELD_OUT}." + " Judge or grade more passages first." * few
        )
        if suggest and ui.author():
            bank_proposals.rewordings_dialog(project, active_questions[chosen], policy, source)
        if pressed:
            with st.spinner("Grading and testing the wordings"):
                st.container(key="repair result").markdown(
                    ui.escape(
                        review.repair_question(
                            project, chosen, texts.split("\n"), policy, source, ui.author()
                        ).description
                    )
                )
