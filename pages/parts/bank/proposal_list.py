"""Questions that models proposed for a query: reword, accept or reject them, many at a time."""

from collections.abc import Callable
from string import ascii_uppercase
from typing import get_args

import streamlit as st

from exam_workbench import bank, choices, errors, grading, jobs, labels, review, types
from exam_workbench.records import passage_texts
from exam_workbench.store import Project
from pages.parts.bank import editing_window as bank_window
from pages.parts.shared import model_place, presses, scoring_settings, ui

PROPOSALS_A_PAGE = 10
SHOWN_EMPTY = 5
SHOWN_DECIDED = 20
SHOWN_RAW = 3000
SHOWN_PASSAGE = 160
CHOSEN = "chosen proposals"
"""Session key of the selected proposals."""


def draw_proposals(project: Project, query: bank.QueryOverview) -> None:
    """Draw the proposals of the open query, and the buttons that request more."""
    proposals = bank.list_proposals(project, query.query_id)
    if _assessors_first(project, query.query_id):
        return
    with st.container(key="proposals"):
        more = st.container(horizontal=True)
        if (
            presses.button(
                "Suggest questions",
                more,
                icon=":material/lightbulb:",
                disabled=not project.allows("write with models"),
                key="suggest questions",
            )
            and ui.author()
        ):
            suggest_dialog(project, query)
        asks_for_key = presses.button(
            "Draft answer key",
            more,
            icon=":material/key:",
            disabled=not project.allows("ask models"),
            help="Uses a passage that answers the question or is judged relevant.",
            key="draft answer key",
        )
        if asks_for_key and ui.author():
            answer_key_dialog(project, query)
        _draw_outcome(query.query_id)
        if proposals:
            _draw_open_proposals(project, query.query_id)
        else:
            st.container(key="no-proposals").caption(
                "No proposals yet. Suggested questions count only after you accept and save them."
            )
        _draw_empty_requests(project, query.query_id)
        _draw_decided(project, query.query_id)


def _assessors_first(project: Project, query_id: str) -> bool:
    """Draw the switch for organizers; return whether suggestions are hidden from this person for
    now.
    """
    on = bank.assessors_first(project)
    if project.allows("organize"):
        by_assessors = st.toggle(
            "Assessors first",
            on,
            key=f"assessors first {on}",
            help=(
                "Shows suggestions only to people who have written a question of"
                " their own for the query."
            ),
        )
        if by_assessors != on:
            presses.run_act(bank.set_assessors_first, project, by_assessors)
    hidden = query_id in bank.queries_awaiting_own(project, ui.person())
    if hidden:
        st.container(key="own-first").caption(
            "Write a question of your own first. Then the suggestions appear here."
        )
    return hidden


@st.fragment
def _draw_open_proposals(project: Project, query_id: str) -> None:
    """Draw the open proposals; a click in them redraws nothing else."""
    # The latest proposals are on top.
    proposals = sorted(
        bank.list_proposals(project, query_id), key=lambda proposal: proposal.asked_at, reverse=True
    )
    near = st.toggle(
        "Mark near-duplicates",
        key="near proposals",
        help=(
            "Marks wordings that the embedding model finds similar. Identical"
            " wordings are always marked."
        ),
    )
    repeats = ui.attempt({}, bank.find_repeats, project, ui.person(), query_id, near)
    chosen: set[int] = st.session_state.setdefault(CHOSEN, set())
    chosen &= {proposal.key for proposal in proposals}
    with st.container(horizontal=True, vertical_alignment="center"):
        every = {proposal.key for proposal in proposals}
        for label, about, keys in (
            ("Select all", "Select all proposals of this query", every),
            ("Select unmarked", "Select proposals that repeat nothing", every - repeats.keys()),
            ("Select none", "Clear the selection", set()),
        ):
            st.button(
                label,
                key=label.lower(),
                type="tertiary",
                on_click=st.session_state.update,
                args=({CHOSEN: keys},),
                help=about,
            )
        accept = presses.button(
            f"Accept {len(chosen)}", type="primary", disabled=not chosen, key="accept proposals"
        )
        reject = presses.button(
            f"Reject {len(chosen)}", disabled=not chosen, key="reject proposals"
        )
    if accept or reject:
        _decide_proposals(
            project, [proposal.key for proposal in proposals if proposal.key in chosen], accept
        )
    pager = f"proposals page {query_id}"
    ui.draw_pager(pager, len(proposals), PROPOSALS_A_PAGE)
    proposals_shown = ui.rows_of_page(pager, proposals, PROPOSALS_A_PAGE)
    questions = {
        q.question_id: q.text or ""
        for q in bank.readable_questions(project, bank.drafted_bank(project, ui.person(), query_id))
    }
    passages = passage_texts(
        project, [proposal.passage_id for proposal in proposals_shown if proposal.passage_id]
    )
    for proposal in proposals_shown:
        question = questions.get(proposal.question_id or "", "a removed question")
        passage_id = proposal.passage_id or ""
        passage = ui.shorten_text(passages.get(passage_id, passage_id), SHOWN_PASSAGE)
        about = {
            "answer key": f"Answer key of: {question}\nFrom: {passage}",
            "rewording": f"New wording of: {question}",
        }.get(proposal.kind, "")
        _draw_proposal(project, proposal, repeats.get(proposal.key), chosen, about)


@ui.errors()
def _decide_proposals(project: Project, keys: list[int], accept: bool) -> None:
    decide = bank.accept_proposals if accept else bank.reject_proposals
    decide(project, keys, ui.author())
    st.session_state[CHOSEN] = set()
    accepted = f"Accepted: {len(keys)}. Save to add them to the question bank."
    # In the bar, which is in sight: a toast would cover its buttons.
    bank_window.current_window().said = accepted if accept else f"Rejected: {len(keys)}."
    st.rerun()


def _draw_proposal(
    project: Project,
    proposal: bank.Proposal,
    mark: bank.RepeatedWording | None,
    chosen: set[int],
    about: str,
) -> None:
    def reword_proposal(key: str) -> None:
        try:
            bank.edit_proposal(project, proposal.key, st.session_state[key], ui.author())
        except errors.WorkbenchError as error:
            st.session_state[f"not reworded {proposal.key}"] = str(error)

    # The widgets show the stored values, even if a person has typed or ticked something before they
    # changed.
    box, area = f"choose proposal {proposal.key}", f"proposal text {proposal.key}"
    for key, value in ((box, proposal.key in chosen), (area, proposal.text)):
        if st.session_state.get(key) != value:
            st.session_state[key] = value
    with st.container(key=f"question-saved-proposal-{proposal.key}"):
        if about:
            st.caption(ui.escape(about))
        tick, text = st.columns([0.7, 15], vertical_alignment="center")
        tick.checkbox(
            "Select",
            key=box,
            label_visibility="collapsed",
            on_change=chosen.symmetric_difference_update,
            args=({proposal.key},),
        )
        text.text_area(
            "Proposal",
            height="content",
            key=area,
            label_visibility="collapsed",
            on_change=reword_proposal,
            args=(area,),
            disabled=not ui.person(),
        )
        if proposal.item is not None:
            st.container(key=f"choices {proposal.key}").markdown(
                f":small[{_describe_choices(proposal.item)}]"
            )
        if refused := st.session_state.pop(f"not reworded {proposal.key}", None):
            st.container(key=f"not-reworded {proposal.key}").caption(f":red[{ui.escape(refused)}]")
        st.markdown(f":small[{_describe_origin(proposal, mark)}]")


def _describe_choices(item: bank.DraftedItem) -> str:
    """Return the choices of an item with their letters; the key is bold and marked as correct."""
    shown_choices = []
    for letter, choice in zip(ascii_uppercase, item.choices, strict=False):
        shown = ui.escape(f"{letter}) {choice}")
        shown_choices.append(f"**{shown}** (correct)" if choice == item.answer_key else shown)
    topic = [f":gray[{ui.escape(item.topic)}]"] if item.topic else []
    return " · ".join([*shown_choices, *topic])


def _describe_origin(proposal: bank.Proposal, mark: bank.RepeatedWording | None) -> str:
    """Return the origin of a proposal and the question that it repeats, in one line."""
    repeats = []
    if mark is not None:
        repeated = f"same as {mark.of}" if mark.text == proposal.text else str(mark)
        repeats = [f":orange[{ui.escape(repeated)}]"]
    came = [ui.escape(proposal.came_from)]
    came += [ui.escape(f"subtopic {proposal.subtopic_id}")] if proposal.subtopic_id else []
    came += ["nugget"] if proposal.kind == "nugget" else []
    if proposal.edited_by:
        came.append(ui.escape(f"reworded by {proposal.edited_by}, was: {proposal.original}"))
    return " · ".join([*repeats, f":gray[{' · '.join(came)}]"])


def _draw_outcome(query_id: str) -> None:
    """Draw the result of the last request until the person closes it."""
    asked_for, report = st.session_state.get("suggested", (None, None))
    if asked_for == query_id and report is not None:
        with st.container(
            border=True, horizontal=True, vertical_alignment="center", key="suggested"
        ):
            if report.keys:
                st.markdown(f"New proposals: {len(report.keys)}.")
            else:
                st.markdown(":material/warning: The model returned nothing usable.")
            if report.left_out:
                st.caption(f"Left out because they exceed the requested number: {report.left_out}.")
            for failure in report.failed:
                st.caption(f":red[{ui.escape(f'Failed: {failure}')}]")
            st.button(
                "",
                icon=":material/close:",
                type="tertiary",
                key="close suggested",
                help="Close",
                on_click=st.session_state.pop,
                args=("suggested", None),
            )


def _draw_empty_requests(project: Project, query_id: str) -> None:
    if generations := bank.empty_generations(project, query_id):
        with st.expander(f"Requests without usable results ({len(generations)})"):
            for row in generations[:SHOWN_EMPTY]:
                where = f", subtopic {row.subtopic_id}" if row.subtopic_id else ""
                st.caption(
                    ui.escape(
                        f"{row.asked_at:%Y-%m-%d %H:%M} · {row.model} ·"
                        f" {row.prompt}{where}: {row.reason}"
                    )
                )
                if row.raw.strip():
                    st.text(ui.shorten_text(row.raw, SHOWN_RAW))


def _draw_decided(project: Project, query_id: str) -> None:
    proposals = bank.list_proposals(project, query_id, ("accepted", "rejected"))
    if not proposals:
        return
    proposals.sort(key=lambda row: (row.decided_at, row.key), reverse=True)
    with st.expander(f"Accepted and rejected proposals ({len(proposals)})"):
        for row in proposals[:SHOWN_DECIDED]:
            with st.container(horizontal=True, vertical_alignment="center"):
                with st.container():
                    st.text(row.text)
                    st.caption(
                        ui.escape(
                            f"{row.state} by {row.decided_by}, {row.decided_at:%Y-%m-%d %H:%M} ·"
                            f" {row.came_from}"
                        )
                    )
                presses.act_button(
                    "Reopen",
                    bank.reopen_proposals,
                    project,
                    [row.key],
                    key=f"put back {row.key}",
                    type="tertiary",
                    icon=":material/undo:",
                )


WHAT = {"question": "Questions", "nugget": "Nuggets"}
ASKED = (
    "Asking the model. Completed answers are kept. If the endpoint is down, start again later for"
    " the missing answers."
)
USUAL = ""
"""The default choice: no particular prompt."""


@st.dialog("Suggest questions", width="large")
def suggest_dialog(project: Project, query: bank.QueryOverview) -> None:
    """Draw a dialog in which a model drafts questions or nuggets for a query."""
    st.text(query.text)
    kind, number = st.columns([3, 2])
    drafted_kind = kind.segmented_control(
        "Kind",
        get_args(choices.DraftedKind),
        default="question",
        format_func=WHAT.__getitem__,
        required=True,
    )
    n = number.number_input(
        "Number per subtopic, or per query", 1, choices.MOST_DRAFTS, 10, key="drafts wanted"
    )
    titles = {USUAL: "Default: by subtopic if the query has subtopics"}
    titles |= {
        prompt.name: f"{prompt.name}: {prompt.title}"
        for prompt in grading.fitting_prompts(project, str(drafted_kind))
    }
    prompt = st.selectbox(
        "Prompt", list(titles), format_func=titles.__getitem__, key=f"prompt for {drafted_kind}"
    )
    _ask_model(
        project,
        query.query_id,
        "ask for questions",
        lambda drafter, watch: grading.draft_proposals(
            project,
            drafter,
            [query.query_id],
            ui.author(),
            drafted_kind,
            prompt or None,
            int(n),
            watch=watch,
        ),
    )
    st.caption(
        "Suggestions become proposals. To add a proposal to the question bank, accept it and save."
    )


@st.dialog("Draft answer key", width="large")
def answer_key_dialog(project: Project, query: bank.QueryOverview) -> None:
    """Draw a dialog in which a model drafts a question's answer key from one of its passages."""
    questions = [
        q
        for q in bank.drafted_bank(project, ui.person(), query.query_id)
        if (q.active and q.kind == "question" and bool((q.text or "").strip()))
    ]
    if not questions:
        st.text(
            "This query has no active question that can have an answer key. Add a question first."
        )
        return
    texts = ui.distinct_option_texts({q.question_id: q.text or "" for q in questions})
    question = st.selectbox(
        "Question", questions, format_func=lambda q: texts[q.question_id], key="keyed question"
    )
    if question.answer_key:
        st.caption(ui.escape(f"Current answer key: {question.answer_key}"))
    passages: list[grading.KeyPassage] = ui.attempt(
        [], grading.passages_for_key, project, scoring_settings.chosen_policy(project), question
    )
    if not passages:
        st.text(
            "No passage answers this question or is judged relevant. Grade the pool or import"
            " judgments first."
        )
        return
    passage = st.selectbox("Passage", passages, format_func=_name_passage, key="passage for key")
    st.container(border=True, height=180).text(passage.text)
    names = [prompt.name for prompt in grading.fitting_prompts(project, "answer key")]
    prompt = st.selectbox(
        "Prompt", names, index=names.index(grading.DEFAULT_PROMPT), key="prompt for key"
    )
    _ask_model(
        project,
        query.query_id,
        "ask for key",
        lambda drafter, _: grading.draft_answer_key(
            project, drafter, question.question_id, passage.passage_id, ui.author(), prompt
        ),
    )


@st.dialog("Suggest new wordings", width="large")
def rewordings_dialog(
    project: Project, question: types.Question, policy: labels.Policy, source: str
) -> None:
    """Draw a dialog in which a model drafts new wordings of a question from passages with wrong
    ratings.
    """
    st.text(question.text or "")
    n = st.number_input(
        "Number of wordings",
        1,
        choices.MOST_DRAFTS,
        choices.DRAFTED_WORDINGS,
        key="wordings wanted",
    )
    _ask_model(
        project,
        question.query_id,
        "ask for wordings",
        lambda drafter, _: review.suggest_rewordings(
            project, drafter, question.question_id, policy, source, ui.author(), int(n)
        ),
    )
    st.caption("The model reads passages whose ratings contradict a judgment or override.")


def _name_passage(passage: grading.KeyPassage) -> str:
    facts = [f"rated {passage.rating}"] if passage.rating is not None else []
    facts += [f"judged {passage.judgment}"] if passage.judgment is not None else []
    return f"{', '.join(facts)}: {ui.shorten_text(passage.text, 100)}"


def _ask_model(
    project: Project,
    query_id: str,
    key: str,
    work: Callable[[grading.Drafter, jobs.Report], grading.Report],
) -> None:
    """Draw the choice of a model and the button that asks it, with its progress. The dialog closes
    after the answers.
    """
    settings = model_place.choose_settings(project, "drafter")
    if settings is None or not st.button("Ask the model", type="primary", key=key):
        return
    model_place.remember_settings(settings)
    bar = st.progress(0.0, text=ASKED)

    def show_progress(model: str, progress: jobs.Progress) -> None:
        if progress.done:
            text = f"{progress.done} of {progress.total} requests answered"
            bar.progress(progress.done / progress.total, text=text)

    with ui.errors(rerun=True):
        report = work(grading.make_drafter(settings), show_progress)
        st.session_state["suggested"] = (query_id, report)
    bar.empty()
