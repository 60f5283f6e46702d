"""Commands that draft questions and answer keys with a model, and accept or reject the drafts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, cast

from .. import bank, review
from ..bank import STATES, Proposal, State, edit_proposal, marks, save_drafts
from ..errors import GradingError, InputError
from ..graders import Control
from ..grading import KINDS, MOST, Drafter, Kind, Report, draft_answer_key, make_drafter, suggest
from ..jobs import Caps, job_control
from ..store import Project, current_author
from .answer_options import may_use_key, watch
from .console import close_unfinished, counted
from .describing import Argument, Gathered, Option
from .grader_options import BackEnd, BaseUrl
from .opening import Opening
from .options import Author
from .output import Output
from .patience import Patience
from .policy import PolicyOptions
from .progress import tell_of_calls
from .registry import operation


def _model(
    *,
    model: Annotated[str, Option(help="Name or folder of the model.")],
    back_end: BackEnd = None,
    base_url: BaseUrl = None,
    key_variable: Annotated[
        str | None, Option(help="Environment variable with the endpoint's API key (default: by the address).")
    ] = None,
) -> dict[str, str]:
    given = {"model": model, "back_end": back_end, "base_url": base_url, "key_variable": key_variable}
    return {name: value for name, value in given.items() if value}


ModelOptions = Annotated[dict[str, str], Gathered(_model)]
"""The settings of the drafting model."""
PromptOption = Annotated[str | None, Option("--prompt", help="Name of the prompt: see exam prompts list.")]


@operation("generate", act="write with models")
def generate(
    opening: Opening,
    *,
    queries: Annotated[tuple[str, ...], Option("--query", help="Only this query; may be repeated.")] = (),
    every: Annotated[bool, Option("--all", help="All queries.")] = False,
    kind: Annotated[str, Option(help="Kind of question.", choices=KINDS)] = "question",
    number: Annotated[int, Option("-n", help="Largest number of proposals per query or subtopic.")] = 10,
    settings: ModelOptions,
    prompt: PromptOption = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    max_cost: Annotated[float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)] = None,
    patience: Patience,
) -> Output:
    """Draft questions with a model. They are proposals until you accept them."""
    if bool(queries) == every:
        said = "--all and --query cannot be combined." if every else "No query was named."
        raise InputError("options-exclude-each-other", said, "Use --query QUERY or --all.")
    with opening() as project, may_use_key(settings):
        drafter = make_drafter(settings)
        control = begin(project, drafter, Caps(max_calls=max_calls, max_cost=max_cost, patience=patience))
        report = suggest(
            project, drafter, None if every else queries, current_author(), cast(Kind, kind), prompt, number, control,
            watch("requests answered"),
        )  # fmt: skip
        return _describe_proposals(project, report)


def begin(project: Project, drafter: Drafter, caps: Caps) -> Control:
    """Return the control of a new drafting job, and mark jobs whose process died."""
    close_unfinished(project)
    return job_control(project, drafter.model, drafter.back_end, caps, tell_of_calls())


def _describe_proposals(project: Project, report: Report) -> Output:
    """Return the new proposals, and the requests that gave none. The operation fails if no request gave a proposal."""
    found = bank.proposals(project, keys=report.keys)
    output = Output({"proposals": [asdict(one) for one in found], **asdict(report)})
    output.table(("proposal", "query", "text"), [(str(one.key), one.query_id, one.text) for one in found])
    output.note(*(f"exam: no proposals from {failure}" for failure in report.failed))
    came = f"{counted(len(found), 'proposal')} from {counted(report.asked, 'request')}."
    output.note(f"{came} {_rest(report)}See exam proposals list.")
    nothing = GradingError("nothing-usable", "The model drafted no usable questions.", "Try another model or prompt.")
    return output.failing(None if found else nothing)


def _rest(report: Report) -> str:
    said = f"Dropped beyond the limit of -n: {counted(report.left_out, 'proposal')}. " if report.left_out else ""
    return said + (f"Not made (limit reached): {counted(report.stopped, 'request')}. " if report.stopped else "")


@operation("proposals list", act="read the bank", reads=True)
def list_(
    project: Project,
    *,
    query: Annotated[str | None, Option(help="Only this query.")] = None,
    state: Annotated[str, Option(help="Only this state.", choices=[*STATES, "all"])] = "open",
    near: Annotated[bool, Option(help="Also mark near-duplicates that the embedding model finds.")] = False,
) -> Output:
    """List proposals with their origin and the questions that they repeat."""
    hidden = bank.queries_awaiting_own(project, current_author())
    given = bank.proposals(project, query, STATES if state == "all" else (cast(State, state),))
    found = [one for one in given if one.query_id not in hidden]
    repeats = {
        key: mark
        for query_id in dict.fromkeys(one.query_id for one in found)
        for key, mark in marks(project, current_author(), query_id, near).items()
    }
    value = [asdict(one) | {"repeats": asdict(repeats[one.key]) if one.key in repeats else None} for one in found]
    return Output({"proposals": value}).table(
        ("proposal", "query", "kind", "state", "text", "repeats", "origin"),
        [
            (str(one.key), one.query_id, one.kind, one.state, one.text, _mark(repeats, one), one.came_from)
            for one in found
        ],
    )


def _mark(repeats: dict[int, Any], one: Proposal) -> str | None:
    return str(repeats[one.key]) if one.key in repeats else None


@operation("proposals assessors-first", act="organize")
def assessors_first(
    project: Project,
    *,
    on: Annotated[bool, Option("--on/--off", help="Hide or show suggestions before an own question.")],
    author: Author,
) -> str:
    """Hide the proposals of a query from a person until they have written a question of their own."""
    bank.set_assessors_first(project, on, author)
    return f"Assessors first is {'on' if on else 'off'}."


@operation("proposals accept", act="edit questions")
def accept(
    opening: Opening,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="PROPOSAL...")],
    note: Annotated[str | None, Option(help="Save all your unsaved changes at once, with this note.")] = None,
) -> Output:
    """Accept proposals into your unsaved changes. Save them with --note or exam bank save."""
    if note is not None and not note.strip():
        raise InputError("empty-note", "The note is empty.", "Write what changed and why.")
    author = current_author()
    with opening() as project:
        made = bank.accept(project, keys, author)
        version = save_drafts(project, author, note) if note is not None else None
    next_step = "To save: exam bank save --note NOTE" if version is None else f"Saved bank version {version}."
    output = Output({"questions": [asdict(question) for question in made], "version": version})
    return output.note(f"Accepted {counted(len(made), 'question')}. {next_step}")


@operation("proposals reject", act="edit questions")
def reject(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="PROPOSAL...")],
) -> str:
    """Reject proposals. They are kept, and later repeats are marked."""
    bank.reject(project, keys, current_author())
    return f"Rejected {counted(len(set(keys)), 'proposal')}."


@operation("proposals reopen", act="edit questions")
def put_back(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="PROPOSAL...")],
) -> str:
    """Reopen accepted or rejected proposals. Unsaved changes from them stay."""
    bank.put_back(project, keys, current_author())
    return f"Reopened {counted(len(set(keys)), 'proposal')}."


@operation("proposals edit", act="edit questions")
def edit(
    project: Project,
    *,
    key: Annotated[int, Argument(metavar="PROPOSAL")],
    text: Annotated[str, Option(help="New wording. The original wording is kept too.")],
) -> str:
    """Reword an open proposal. The model's wording is kept."""
    edit_proposal(project, key, text, current_author())
    return f"Reworded proposal {key}."


@operation("proposals answer-key", act="ask models")
def answer_key(
    project: Project,
    *,
    question: Annotated[str, Argument(metavar="QUESTION")],
    passage: Annotated[str, Argument(metavar="PASSAGE")],
    settings: ModelOptions,
    prompt: PromptOption = None,
    patience: Patience,
) -> Output:
    """Draft the answer key of QUESTION from PASSAGE with a model, as a proposal."""
    with may_use_key(settings):
        drafter = make_drafter(settings)
        control = begin(project, drafter, Caps(patience=patience))
        report = draft_answer_key(project, drafter, question, passage, current_author(), prompt, control)
    return _describe_proposals(project, report)


@operation("proposals rewordings", act="ask models")
def rewordings(
    project: Project,
    *,
    question: Annotated[str, Argument(metavar="QUESTION")],
    number: Annotated[int, Option("-n", help="Largest number of wordings.", least=1, most=MOST)] = review.WORDINGS,
    source: Annotated[str, Option(help="Source of the judgments.")] = "judgments",
    settings: ModelOptions,
    prompt: PromptOption = None,
    patience: Patience,
    policy: PolicyOptions,
) -> Output:
    """Draft new wordings of QUESTION with a model, from passages with wrong ratings. Test them with exam bank repair.

    A rating is wrong if it contradicts an override or a judgment. The model reads only passages of the first half.
    """
    author = current_author()
    with may_use_key(settings):
        drafter = make_drafter(settings)
        control = begin(project, drafter, Caps(patience=patience))
        report = review.suggest_rewordings(project, drafter, question, policy, source, author, number, prompt, control)
    return _describe_proposals(project, report)
