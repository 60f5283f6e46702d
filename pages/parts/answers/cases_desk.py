"""The cases of answers in one component: the list, the open case with all its texts, and the
confirmed cases.

The browser already has the next cases when a case is confirmed, so it can go on without waiting for
the server.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import streamlit as st

from exam_workbench import answers, choices, errors
from exam_workbench.measures.answers import RECALL_FAILURES, RETEVAL_FAILURES, Verdict
from exam_workbench.records import add_gold_answer, judging, withdraw_gold_answer
from exam_workbench.store import Project
from exam_workbench.text import how_many
from pages.parts.shared import actions, address, html, ui

KEY = "answer-cases"
NAMES = ("run", "k", "case", "show", "at")
"""Parts of the address for this screen: the filters and the open case."""
SHORT = {
    "A": "not annotated",
    "B": "another version",
    "C": "distracted",
    "D": "fails on gold",
    "E": "not from gold",
    "F": "wrong comparison",
    "K": "own knowledge",
}
"""Short descriptions of the cases A to F and K."""
A_PAGE = 60
"""Number of listed cases that the browser has at a time."""
AHEAD = 3
"""Number of cases after the open one whose texts the browser has, too."""
LONGEST = 6_000
"""Largest number of shown characters of a passage."""
PASSAGES = 12
"""Largest number of shown gold passages."""


def case_places() -> address.ScreenPlaces:
    """Return the filters and the open case in the address."""
    return address.places_of_screen(KEY, NAMES)


def id_of(query_id: str, run: str, k: int) -> str:
    """Return the address's name of a case."""
    return f"{k}|{quote(run, safe='')}|{query_id}"


def place_of(name: str) -> tuple[str, str, int] | None:
    """Return query, run and depth of a case in an address; None if the name is malformed."""
    k, _, rest = name.partition("|")
    run, _, query_id = rest.partition("|")
    return (query_id, unquote(run), int(k)) if k.isdigit() and run and query_id else None


def list_cases(project: Project, evaluation: answers.Evaluation) -> list[answers.CaseRow]:
    """Return the cases that match the filters of the address."""
    run = _chosen_filter("run", evaluation.view.runs or ()) or None
    at_depth = case_places().part_of_place("k")
    k = next((depth for depth in evaluation.view.ks if str(depth) == at_depth), None)
    only = _chosen_filter("case", choices.ANSWER_CASES) or None
    to_do = case_places().part_of_place("show") != "all"
    return answers.list_cases(project, evaluation, run, k, only, to_do)


def _chosen_filter(name: str, options: Sequence[str] | dict[Any, str]) -> str:
    """Return the filter in the address; an empty text without one that is offered."""
    chosen = case_places().part_of_place(name)
    return chosen if chosen in options else ""


def desk_data(
    project: Project, evaluation: answers.Evaluation, message: dict[str, Any] | None, error: object
) -> dict[str, Any]:
    """Return the data for the browser: a page of the list, the open case and the next
    ones.
    """
    cases = list_cases(project, evaluation)
    ids = [_case_id(row) for row in cases]
    case_name = case_places().part_of_place("at")
    place = place_of(case_name)
    is_case = (
        place is not None
        and place[0] in evaluation.gold
        and (place[1], place[2]) in evaluation.lines
    )
    open_id = case_name if is_case else (ids[0] if ids else "")
    at = ids.index(open_id) if open_id in ids else -1
    first = max(at, 0) // A_PAGE * A_PAGE
    ahead = ids[at + 1 : at + 1 + AHEAD]
    by_id = dict(zip(ids, cases, strict=True))
    return {
        "home": project.name,
        "count": how_many(len(cases), "cases"),
        "letters": [
            {"letter": letter, "short": SHORT[letter], "says": says}
            for letter, says in choices.ANSWER_CASES.items()
        ],
        "rows": [
            {
                "id": _case_id(row),
                "case": row.case or "",
                "kind": kind_of(row.case),
                "done": bool(row.confirmed),
                "query": html.as_shown(ui.shorten_text(row.side.query.text, 120)),
                "where": html.as_shown(f"{row.line.run} @{row.line.k}"),
                "stake": _describe_stake(row),
            }
            for row in cases[first : first + A_PAGE]
        ],
        "ids": ids[first : first + A_PAGE + AHEAD],
        "first": first,
        "page": A_PAGE,
        "total": len(cases),
        "open": open_id,
        "desks": {
            one: _case_data(project, evaluation, one, by_id.get(one))
            for one in (open_id, *ahead)
            if one
        },
        "said": message,
        "error": error,
        "empty": _why_empty(evaluation),
    }


def _case_id(row: answers.CaseRow) -> str:
    return id_of(row.line.query_id, row.line.run, row.line.k)


def _draw_filters(evaluation: answers.Evaluation) -> None:
    filters: dict[str, tuple[str, str, dict[str, str]]] = {
        "run": ("Run", "All runs", {run: run for run in evaluation.view.runs or ()}),
        "k": ("k", "All depths", {str(k): str(k) for k in evaluation.view.ks}),
        "case": (
            "Case",
            "All cases",
            {letter: f"{letter}  {says}" for letter, says in choices.ANSWER_CASES.items()},
        ),
        "show": ("Show", "Open cases", {"all": "Open and confirmed cases"}),
    }
    with st.container(horizontal=True):
        for name, (title, every, options) in filters.items():
            st.session_state[f"cases {name}"] = _chosen_filter(name, options)
            st.selectbox(
                title,
                ["", *options],
                key=f"cases {name}",
                format_func=({"": every} | options).__getitem__,
                on_change=_keep_filter,
                args=(name,),
            )


def _keep_filter(name: str) -> None:
    case_places().change_parts(**{name: st.session_state[f"cases {name}"], "at": ""})


def kind_of(case: str | None) -> str:
    """Return the type of failure, which decides the colour of a case."""
    return (
        "recall"
        if case in RECALL_FAILURES
        else "reteval"
        if case in RETEVAL_FAILURES
        else "neither"
    )


def _describe_stake(row: answers.CaseRow) -> str:
    if row.stake is None:
        return ""
    if row.stake.chooses_another:
        return "another run would be chosen"
    return (
        f"{row.stake.closing:.0%} of the gap between runs would close"
        if row.stake.closing >= 0.005
        else ""
    )


def _case_data(
    project: Project, evaluation: answers.Evaluation, name: str, listed_as: answers.CaseRow | None
) -> dict[str, Any]:
    place = place_of(name)
    assert place is not None, name
    query_id, run, k = place
    me = ui.person()
    desk = answers.case_desk(project, evaluation, query_id, run, k, me)
    row, line, side = desk.row, desk.row.line, desk.row.side
    retrieved = [_passage_data(item) for item in desk.retrieved]
    if row.proposal.passage is not None:
        retrieved[row.proposal.passage]["pointed"] = True
    return {
        "id": name,
        "query": html.as_shown(side.query.text),
        "answers": [html.as_shown(item) for item in side.query.answers],
        "where": html.as_shown(f"{line.run}, k = {line.k}"),
        "verdicts": [
            _verdict_data(
                "Recall",
                row.verdicts.recall,
                "a gold passage was retrieved",
                "no gold passage was retrieved",
            ),
            _verdict_data(
                "retEval",
                row.verdicts.reteval,
                "the answer matches one from the gold passages",
                "the answer matches none from the gold passages",
            ),
            _verdict_data(
                "GPT-Eval", row.verdicts.gpteval, "the answer is right", "the answer is not right"
            ),
            _verdict_data(
                "gold",
                row.verdicts.goldeval,
                "an answer from the gold passages is right",
                "no answer from the gold passages is right",
            ),
        ],
        "answer": None if line.answer is None else html.as_shown(line.answer),
        "note": html.as_shown(line.note or ""),
        "state": line.state,
        "held": line.answer in side.query.answers,
        "retrieved": retrieved,
        "draws": [html.as_shown(item) for item in side.draws],
        "failed": side.failed,
        "gold": [_passage_data(item) for item in desk.gold[:PASSAGES]],
        "more": max(0, len(desk.gold) - PASSAGES),
        "proposed": row.proposal.case or "",
        "kind": kind_of(row.proposal.case),
        "reason": html.as_shown(row.proposal.reason),
        "others": list(row.proposal.others),
        "confirmed": [
            {
                "key": item.key,
                "case": item.case,
                "by": html.as_shown(item.author),
                "note": html.as_shown(item.note),
                "mine": item.author == me,
                "says": next(
                    (says for letter, says in choices.ANSWER_CASES.items() if letter == item.case),
                    "",
                ),
            }
            for item in row.confirmed
        ],
        "stake": "" if listed_as is None else _describe_stake(listed_as),
    }


def _passage_data(passage: answers.ShownPassage) -> dict[str, Any]:
    return {
        "id": passage.passage_id,
        "rank": passage.rank,
        "gold": passage.gold,
        "judged": passage.judged,
        "pointed": False,
        "parts": _cut_parts(passage.parts),
    }


def _cut_parts(parts: Sequence[answers.MarkedPart]) -> list[list[object]]:
    pieces: list[list[object]] = []
    remaining = LONGEST
    for text, inside in parts:
        if remaining <= 0:
            pieces.append([" …", False])
            break
        pieces.append([html.as_shown(text[:remaining]), inside])
        remaining -= len(text)
    return pieces


def _verdict_data(name: str, value: Verdict, yes: str, no: str) -> dict[str, Any]:
    says = "unknown" if value is None else yes if value else no
    return {"name": name, "value": value, "says": says}


def _why_empty(evaluation: answers.Evaluation) -> str:
    if not any(row.answers for row in evaluation.rows):
        return "These runs have no answers yet. Generate answers on the Answers screen."
    if any(case_places().part_of_place(name) for name in ("run", "k", "case")):
        return "No cases match the filters."
    if any(row.waiting or row.reteval.waiting for row in evaluation.rows):
        return "No cases yet. Compare the answers on the Answers screen."
    if case_places().part_of_place("show") != "all":
        return "No open cases. A case is confirmed for every query on which the results differ."
    return "No cases: Recall, LLM-retEval and the gold answers agree on every query."


@dataclass
class CasesDesk:
    """The cases as a person sees them, and the result of the last action.

    Args:
        asked: the pending actions, with the message about the last one, kept until the next one.
        sources: whether the sources of gold passages may have changed.
    """

    project: Project
    view: answers.RetEvalChoices
    asked: actions.PendingActions
    sources: bool = False

    @property
    def evaluation(self) -> answers.Evaluation:
        """The current evaluation, remembered until a change is saved."""
        return answers.evaluate_answers(self.project, self.view)

    def show_message(self, words: str, undo: actions.Act | None = None) -> None:
        """Show a message about an action, until the next one."""
        self.asked.said = {"words": html.as_shown(words), "undo": undo}


@st.fragment
def draw(project: Project, view: answers.RetEvalChoices) -> None:
    """Draw the filters, the list and the open case, and do the person's actions since the last
    run.
    """
    pending = actions.pending_actions(KEY)
    at = CasesDesk(project, view, pending)
    error = pending.do_actions(lambda act: _do_action(at, act))
    if at.sources:
        # The line at the top names the sources of gold passages and offers the present answer
        # checks.
        st.rerun()
    _draw_filters(at.evaluation)
    pending.draw("answers", desk_data(project, at.evaluation, pending.said, error))


def _do_action(at: CasesDesk, act: actions.Act) -> None:
    """Do an action of the component: move on, or change the open case."""
    match act["do"]:
        case "open":
            name = str(act.get("case") or "")
            if not name and (rows := list_cases(at.project, at.evaluation)):
                name = _case_id(rows[min(max(int(act["at"]), 0), len(rows) - 1)])
            case_places().change_parts(at=name)
        case _:
            _change_case(at, act)


def _change_case(at: CasesDesk, act: actions.Act) -> None:
    """Do an action that changes the project; each has another one that undoes it."""
    place, opened = place_of(str(act["case"])), str(act["case"])
    if place is None:
        raise errors.WorkbenchError(
            "unknown-case", "This case no longer exists.", "Go to the next case."
        )
    query_id, _, _ = place
    author = ui.author()
    match act["do"]:
        case "confirm":
            letter = answers.check_case(str(act["letter"]))
            answers.confirm_case(
                at.project, at.evaluation, *place, letter, author, str(act.get("note") or "")
            )
            row = answers.case_at(at.project, at.evaluation, *place)
            text = ui.shorten_text(row.side.query.text, 80)
            words = f"{letter} for “{text}”: {choices.ANSWER_CASES[letter]}."
            if meanwhile := answers.unseen_by(row, author, act.get("seen") or ()):
                changes = " and ".join(
                    f"{one.author} {one.case} ({choices.ANSWER_CASES[one.case]})"
                    for one in meanwhile
                )
                words += (
                    f" Also confirmed by {changes}. Your decision counts because it is the latest."
                )
            at.show_message(words, {"do": "take back", "case": act["case"]})
            case_places().change_parts(at=str(act.get("next") or ""))
        case "take back":
            answers.take_back_case(at.project, at.evaluation, *place, author)
            at.show_message("Decision withdrawn. The case is open again.")
            case_places().change_parts(at=opened)
        case "judge":
            row = answers.case_at(at.project, at.evaluation, *place)
            answers.judge_as_relevant(at.project, row, str(act["passage"]), author)
            at.show_message(
                f"Passage {act['passage']} is judged {choices.UNANNOTATED_JUDGMENT}. To count it as"
                f" gold, choose “{judging.source_of(author)}” under Change settings.",
                {"do": "unjudge", "case": act["case"], "passage": act["passage"]},
            )
            at.sources = True
            case_places().change_parts(at=opened)
        case "unjudge":
            judging.withdraw_judgment(at.project, query_id, str(act["passage"]), author)
            at.show_message("Judgment withdrawn.")
            at.sources = True
        case "add answer":
            answer = answers.case_at(at.project, at.evaluation, *place).line.answer
            if answer is None:
                raise errors.WorkbenchError(
                    "unknown-answer", "This case has no answer to add.", "Go to the next case."
                )
            add_gold_answer(at.project, query_id, answer, author)
            at.show_message(
                f"“{ui.shorten_text(answer, 80)}” is now a gold answer of the query.",
                {"do": "remove answer", "case": act["case"], "answer": answer},
            )
            case_places().change_parts(at=opened)
        case "remove answer":
            withdraw_gold_answer(at.project, query_id, str(act["answer"]), author)
            at.show_message("Gold answer removed.")
