"""Questions that models proposed for a query: reword, accept or reject them, many at a time."""

from collections.abc import Callable
from string import ascii_uppercase

import streamlit as st

from exam_workbench import bank, errors, grading, jobs, labels, review, types
from exam_workbench.records import passage_texts
from exam_workbench.store import Project
from pages.parts.bank import editing_window as bank_window
from pages.parts.shared import model_place, policy_widgets, presses, ui

PROPOSALS_A_PAGE = 10
SHOWN_EMPTY = 5
SHOWN_DECIDED = 20
SHOWN_RAW = 3000
SHOWN_PASSAGE = 160
CHOOSE = {
    "Select all": "Select all proposals of this query",
    "Select unmarked": "Select proposals that repeat nothing",
    "Select none": "Clear the selection",
}


def panel(project: Project, query: bank.QueryOverview) -> None:
    """Draw the proposals of the open query, and the buttons that request more."""
    found = bank.proposals(project, query.query_id)
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
        asked = presses.button(
            "Draft answer key",
            more,
            icon=":material/key:",
            disabled=not project.allows("ask models"),
            help="Uses a passage that answers the question or is judged relevant.",
            key="draft answer key",
        )
        if asked and ui.author():
            answer_key_dialog(project, query)
        _outcome(query.query_id)
        if found:
            _opened(project, query.query_id)
        else:
            st.container(key="no-proposals").caption(
                "No proposals yet. Suggested questions count only after you accept and save them."
            )
        _gave_nothing(project, query.query_id)
        _decided(project, query.query_id)


def _assessors_first(project: Project, query_id: str) -> bool:
    """Draw the switch for organizers; return whether suggestions are hidden from this person for now."""
    on = bank.assessors_first(project)
    if project.allows("organize"):
        wanted = st.toggle(
            "Assessors first", on, key=f"assessors first {on}",
            help="Shows suggestions only to people who have written a question of their own for the query.",
        )  # fmt: skip
        if wanted != on:
            presses.do(bank.set_assessors_first, project, wanted)
    hidden = query_id in bank.queries_awaiting_own(project, ui.person())
    if hidden:
        st.container(key="own-first").caption("Write a question of your own first. Then the suggestions appear here.")
    return hidden


@st.fragment
def _opened(project: Project, query_id: str) -> None:
    """Draw the open proposals; a click in them redraws nothing else."""
    # The latest proposals are on top.
    found = sorted(bank.proposals(project, query_id), key=lambda one: one.asked_at, reverse=True)
    near = st.toggle(
        "Mark near-duplicates",
        key="near proposals",
        help="Marks wordings that the embedding model finds similar. Identical wordings are always marked.",
    )
    repeats: dict[int, bank.Repeat] = {}
    with ui.errors():
        repeats = bank.marks(project, ui.person(), query_id, near)
    chosen: set[int] = st.session_state.setdefault("chosen proposals", set())
    chosen &= {one.key for one in found}
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, keys in (
            ("Select all", {one.key for one in found}),
            ("Select unmarked", {one.key for one in found if one.key not in repeats}),
            ("Select none", set()),
        ):
            st.button(label, key=label.lower(), type="tertiary", on_click=_choose, args=(keys,), help=CHOOSE[label])
        accept = presses.button(f"Accept {len(chosen)}", type="primary", disabled=not chosen, key="accept proposals")
        reject = presses.button(f"Reject {len(chosen)}", disabled=not chosen, key="reject proposals")
    if accept or reject:
        _decide(project, [one.key for one in found if one.key in chosen], accept)
    pages = -(-len(found) // PROPOSALS_A_PAGE)
    page = st.pagination(pages, key=f"proposals page {query_id}") if pages > 1 else 1
    shown = found[(page - 1) * PROPOSALS_A_PAGE : page * PROPOSALS_A_PAGE]
    questions = {
        q.question_id: q.text or "" for q in bank.readable(project, bank.drafted_bank(project, ui.person(), query_id))
    }
    passages = passage_texts(project, [one.passage_id for one in shown if one.passage_id])
    for one in shown:
        about = ""
        if one.kind == "answer key":
            passage = ui.shortened(passages.get(one.passage_id or "", one.passage_id or ""), SHOWN_PASSAGE)
            about = f"Answer key of: {questions.get(one.question_id or '', 'a removed question')}\nFrom: {passage}"
        if one.kind == "rewording":
            about = f"New wording of: {questions.get(one.question_id or '', 'a removed question')}"
        _proposal(project, one, repeats.get(one.key), one.key in chosen, about)


def _choose(keys: set[int]) -> None:
    st.session_state["chosen proposals"] = set(keys)


@ui.errors()
def _decide(project: Project, keys: list[int], accept: bool) -> None:
    decide = bank.accept if accept else bank.reject
    decide(project, keys, ui.author())
    _choose(set())
    accepted = f"Accepted: {len(keys)}. Save to add them to the question bank."
    # In the bar, which is in sight: a toast would cover its buttons.
    bank_window.window().said = accepted if accept else f"Rejected: {len(keys)}."
    st.rerun()


def _proposal(project: Project, one: bank.Proposal, mark: bank.Repeat | None, chosen: bool, about: str) -> None:
    def reword(key: str) -> None:
        try:
            bank.edit_proposal(project, one.key, st.session_state[key], ui.author())
        except errors.WorkbenchError as error:
            st.session_state[f"not reworded {one.key}"] = str(error)

    def toggle() -> None:
        st.session_state["chosen proposals"] ^= {one.key}

    # The widgets show the stored values, even if a person has typed or ticked something before they changed.
    box, area = f"choose proposal {one.key}", f"proposal text {one.key}"
    for key, value in ((box, chosen), (area, one.text)):
        if st.session_state.get(key) != value:
            st.session_state[key] = value
    with st.container(key=f"question-saved-proposal-{one.key}"):
        if about:
            st.caption(ui.plain(about))
        tick, text = st.columns([0.7, 15], vertical_alignment="center")
        tick.checkbox("Select", key=box, label_visibility="collapsed", on_change=toggle)
        text.text_area(
            "Proposal",
            height="content",
            key=area,
            label_visibility="collapsed",
            on_change=reword,
            args=(area,),
            disabled=not ui.person(),
        )
        if one.item is not None:
            st.container(key=f"choices {one.key}").markdown(f":small[{_choices(one.item)}]")
        if refused := st.session_state.pop(f"not reworded {one.key}", None):
            st.container(key=f"not-reworded {one.key}").caption(f":red[{ui.plain(refused)}]")
        st.markdown(f":small[{_facts(one, mark)}]")


def _choices(item: bank.DraftedItem) -> str:
    """Return the choices of an item with their letters; the key is bold and marked as correct."""
    said = []
    for letter, choice in zip(ascii_uppercase, item.choices, strict=False):
        shown = ui.plain(f"{letter}) {choice}")
        said.append(f"**{shown}** (correct)" if choice == item.answer_key else shown)
    topic = [f":gray[{ui.plain(item.topic)}]"] if item.topic else []
    return " · ".join([*said, *topic])


def _facts(one: bank.Proposal, mark: bank.Repeat | None) -> str:
    """Return the origin of a proposal and the question that it repeats, in one line."""
    said = []
    if mark is not None:
        said = [f":orange[{ui.plain(f'same as {mark.of}' if mark.text == one.text else str(mark))}]"]
    came = [ui.plain(one.came_from)]
    came += [ui.plain(f"subtopic {one.subtopic_id}")] if one.subtopic_id else []
    came += ["nugget"] if one.kind == "nugget" else []
    if one.edited_by:
        came.append(ui.plain(f"reworded by {one.edited_by}, was: {one.original}"))
    return " · ".join([*said, f":gray[{' · '.join(came)}]"])


def _outcome(query_id: str) -> None:
    """Draw the result of the last request until the person closes it."""
    asked_for, report = st.session_state.get("suggested", (None, None))
    if asked_for != query_id or report is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="suggested"):
        if report.keys:
            st.markdown(f"New proposals: {len(report.keys)}.")
        else:
            st.markdown(":material/warning: The model returned nothing usable.")
        if report.left_out:
            st.caption(f"Left out because they exceed the requested number: {report.left_out}.")
        for failure in report.failed:
            st.caption(f":red[{ui.plain(f'Failed: {failure}')}]")
        if presses.button("", icon=":material/close:", type="tertiary", key="close suggested", help="Close"):
            st.session_state.pop("suggested")
            st.rerun()


def _gave_nothing(project: Project, query_id: str) -> None:
    found = bank.empty_generations(project, query_id)
    if not found:
        return
    with st.expander(f"Requests without usable results ({len(found)})"):
        for one in found[:SHOWN_EMPTY]:
            where = f", subtopic {one.subtopic_id}" if one.subtopic_id else ""
            st.caption(ui.plain(f"{one.asked_at:%Y-%m-%d %H:%M} · {one.model} · {one.prompt}{where}: {one.reason}"))
            if one.raw.strip():
                st.text(ui.shortened(one.raw, SHOWN_RAW))


def _decided(project: Project, query_id: str) -> None:
    found = bank.proposals(project, query_id, ("accepted", "rejected"))
    if not found:
        return
    found.sort(key=lambda one: (one.decided_at, one.key), reverse=True)
    with st.expander(f"Accepted and rejected proposals ({len(found)})"):
        for one in found[:SHOWN_DECIDED]:
            with st.container(horizontal=True, vertical_alignment="center"):
                with st.container():
                    st.text(one.text)
                    st.caption(
                        ui.plain(f"{one.state} by {one.decided_by}, {one.decided_at:%Y-%m-%d %H:%M} · {one.came_from}")
                    )
                presses.doing(
                    "Reopen", bank.put_back, project, [one.key], key=f"put back {one.key}", type="tertiary",
                    icon=":material/undo:",
                )  # fmt: skip


WHAT = {"question": "Questions", "nugget": "Nuggets"}
ASKED = (
    "Asking the model. Completed answers are kept. If the endpoint is down, run `exam generate`, which waits for it."
)
USUAL = ""
"""The default choice: no particular prompt."""


@st.dialog("Suggest questions", width="large")
def suggest_dialog(project: Project, query: bank.QueryOverview) -> None:
    """Draw a dialog in which a model drafts questions or nuggets for a query."""
    st.text(query.text)
    kind, number = st.columns([3, 2])
    what = kind.segmented_control(
        "Kind", grading.KINDS, default=grading.KINDS[0], format_func=WHAT.__getitem__, required=True
    )
    n = number.number_input("Number per subtopic, or per query", 1, grading.MOST, 10, key="drafts wanted")
    titles = {USUAL: "Default: by subtopic if the query has subtopics"}
    titles |= {prompt.name: f"{prompt.name}: {prompt.title}" for prompt in grading.fitting_prompts(project, str(what))}
    prompt = st.selectbox("Prompt", list(titles), format_func=titles.__getitem__, key=f"prompt for {what}")
    settings = model_place.choose_settings(project, "drafter")
    if settings is not None and st.button("Ask the model", type="primary", key="ask for questions"):
        _ask(
            query.query_id,
            settings,
            lambda watch: grading.suggest(
                project,
                grading.make_drafter(settings),
                [query.query_id],
                ui.author(),
                what,
                prompt or None,
                int(n),
                watch=watch,
            ),
        )
    st.caption("Suggestions become proposals. To add a proposal to the question bank, accept it and save.")


@st.dialog("Draft answer key", width="large")
def answer_key_dialog(project: Project, query: bank.QueryOverview) -> None:
    """Draw a dialog in which a model drafts the answer key of a question from one of its passages."""
    questions = [
        q
        for q in bank.drafted_bank(project, ui.person(), query.query_id)
        if (q.active and q.kind == "question" and bool((q.text or "").strip()))
    ]
    if not questions:
        st.text("This query has no active question that can have an answer key. Add a question first.")
        return
    texts = ui.told_apart({q.question_id: q.text or "" for q in questions})
    question = st.selectbox("Question", questions, format_func=lambda q: texts[q.question_id], key="keyed question")
    if question.answer_key:
        st.caption(ui.plain(f"Current answer key: {question.answer_key}"))
    passages: list[grading.KeyPassage] = []
    with ui.errors():
        passages = grading.passages_for_key(project, policy_widgets.chosen(project), question)
    if not passages:
        st.text("No passage answers this question or is judged relevant. Grade the pool or import judgments first.")
        return
    passage = st.selectbox("Passage", passages, format_func=_offered, key="passage for key")
    st.container(border=True, height=180).text(passage.text)
    names = [prompt.name for prompt in grading.fitting_prompts(project, "answer key")]
    prompt = st.selectbox("Prompt", names, index=names.index(grading.DEFAULT_PROMPT), key="prompt for key")
    settings = model_place.choose_settings(project, "drafter")
    if settings is not None and st.button("Ask the model", type="primary", key="ask for key"):
        _ask(
            query.query_id,
            settings,
            lambda watch: grading.draft_answer_key(
                project, grading.make_drafter(settings), question.question_id, passage.passage_id, ui.author(), prompt
            ),
        )


@st.dialog("Suggest new wordings", width="large")
def rewordings_dialog(project: Project, question: types.Question, policy: labels.Policy, source: str) -> None:
    """Draw a dialog in which a model drafts new wordings of a question from passages with wrong ratings."""
    st.text(question.text or "")
    n = st.number_input("Number of wordings", 1, grading.MOST, review.WORDINGS, key="wordings wanted")
    settings = model_place.choose_settings(project, "drafter")
    if settings is not None and st.button("Ask the model", type="primary", key="ask for wordings"):
        _ask(
            question.query_id,
            settings,
            lambda watch: review.suggest_rewordings(
                project, grading.make_drafter(settings), question.question_id, policy, source, ui.author(), int(n)
            ),
        )
    st.caption("The model reads passages whose ratings contradict a judgment or override.")


def _offered(passage: grading.KeyPassage) -> str:
    said = [f"rated {passage.rating}"] if passage.rating is not None else []
    said += [f"judged {passage.judgment}"] if passage.judgment is not None else []
    return f"{', '.join(said)}: {ui.shortened(passage.text, 100)}"


def _ask(query_id: str, settings: dict[str, str], work: Callable[[jobs.Report], grading.Report]) -> None:
    """Ask the model and show the progress; the dialog closes after the answers."""
    model_place.remember_settings(settings)
    bar = st.progress(0.0, text=ASKED)

    def watch(model: str, progress: jobs.Progress) -> None:
        if progress.done:
            text = f"{progress.done} of {progress.total} requests answered"
            bar.progress(progress.done / progress.total, text=text)

    try:
        report = work(watch)
    except errors.WorkbenchError as error:
        bar.empty()
        ui.show_error(error)
        return
    st.session_state["suggested"] = (query_id, report)
    st.rerun()
