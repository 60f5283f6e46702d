"""Commands that let a model draft questions and answer keys, and that accept or reject what it drafted."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import click

from .. import bank
from ..bank import STATES, Proposal, State, edit_proposal, marks, save_drafts
from ..errors import GradingError, InputError
from ..graders import BACK_ENDS, acting, naming
from ..grading import KINDS, Kind, Report, draft_answer_key, make_drafter, suggest
from ..jobs import Caps, job_control
from ..project import Project, current_author
from .options import Whole, counted, json_option, opened, print_json, print_table, project_option, tell
from .patience import patience_option
from .printing import Output, on_project
from .progress import ProgressLines, tell_of_calls


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which model drafts; a command gets them as `settings`."""

    @functools.wraps(command)
    def with_model(
        *args: Any, model: str, back_end: str | None, base_url: str | None, key_variable: str | None, **others: Any
    ) -> Any:
        named = {"model": model, "back_end": back_end, "base_url": base_url, "key_variable": key_variable}
        with acting(naming(base_url, key_variable)):
            return command(*args, settings={name: value for name, value in named.items() if value}, **others)

    for option in (
        click.option("--prompt", help="Name of the prompt: see exam prompts list."),
        click.option(
            "--key-variable",
            help="Environment variable with the endpoint's API key (default: by the address).",
        ),
        click.option(
            "--base-url", help="Address of an OpenAI-compatible endpoint, for example http://localhost:8000/v1."
        ),
        click.option(
            "--back-end", type=click.Choice(BACK_ENDS), help="transformers: on this computer; openai: at an endpoint."
        ),
        click.option("--model", required=True, help="Name or folder of the model."),
    ):
        with_model = option(with_model)
    return with_model


@click.command()
@project_option
@click.option("--query", "queries", multiple=True, help="Only this query; may be repeated.")
@click.option("--all", "every", is_flag=True, help="All queries.")
@click.option("--kind", type=click.Choice(KINDS), default="question", show_default=True, help="Kind of question.")
@click.option(
    "-n",
    "number",
    type=Whole(),
    default=10,
    show_default=True,
    help="Largest number of proposals per query or subtopic.",
)
@model_options
@click.option("--max-calls", type=Whole(1), help="Call limit, retries included.")
@click.option("--max-cost", type=click.FloatRange(min=0), help="Cost limit, in the currency of exam prices.")
@patience_option
@json_option
def generate(
    project_path: Path | None,
    queries: tuple[str, ...],
    every: bool,
    kind: str,
    number: int,
    settings: dict[str, str],
    prompt: str | None,
    max_calls: int | None,
    max_cost: float | None,
    patience: float,
    as_json: bool,
) -> None:
    """Draft questions with a model. They are proposals until you accept them."""
    if bool(queries) == every:
        said = "--all and --query cannot be combined." if every else "No query was named."
        raise InputError("options-exclude-each-other", said, "Use --query QUERY or --all.")
    with opened(project_path) as project:
        drafter = make_drafter(settings)
        control = job_control(
            project, drafter.model, drafter.back_end,
            Caps(max_calls=max_calls, max_cost=max_cost, patience=patience), tell_of_calls(),
        )  # fmt: skip
        chosen = None if every else queries
        lines = ProgressLines("requests answered")

        def watch(done: int, total: int) -> None:
            lines.say(done, total, over=done == total)

        report = suggest(project, drafter, chosen, current_author(), cast(Kind, kind), prompt, number, control, watch)
        _say(project, report, as_json)


def _say(project: Project, report: Report, as_json: bool) -> None:
    """Say what came, and what did not and why; the command fails where nothing came at all."""
    found = bank.proposals(project, keys=report.keys)
    if as_json:
        print_json({"proposals": [asdict(one) for one in found], **asdict(report)})
    else:
        print_table(("proposal", "query", "text"), [(str(one.key), one.query_id, one.text) for one in found])
        for failure in report.failed:
            tell(f"exam: no proposals from {failure}")
        came = f"{counted(len(found), 'proposal')} from {counted(report.asked, 'request')}."
        tell(f"{came} {_rest(report)}See exam proposals list.")
    if not found:
        raise GradingError("nothing-usable", "The model drafted no usable questions.", "Try another model or prompt.")


def _rest(report: Report) -> str:
    said = f"Dropped beyond the limit of -n: {counted(report.left_out, 'proposal')}. " if report.left_out else ""
    return said + (f"Not made (limit reached): {counted(report.stopped, 'request')}. " if report.stopped else "")


@click.group()
def proposals() -> None:
    """List, edit, accept and reject questions and answer keys that models drafted."""


@proposals.command(name="list")
@project_option
@click.option("--query", help="Only this query.")
@click.option(
    "--state", type=click.Choice([*STATES, "all"]), default="open", show_default=True, help="Only this state."
)
@click.option("--near", is_flag=True, help="Also mark near-duplicates, by the embedding model.")
@json_option
@on_project
def list_(project: Project, query: str | None, state: str, near: bool) -> Output:
    """List proposals with their origin and the questions that they repeat."""
    found = bank.proposals(project, query, STATES if state == "all" else (cast(State, state),))
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


@proposals.command()
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="PROPOSAL...")
@project_option
@click.option("--note", help="Save all your unsaved changes at once, with this note.")
@json_option
def accept(keys: tuple[int, ...], project_path: Path | None, note: str | None, as_json: bool) -> None:
    """Accept proposals into your unsaved changes. Save them with --note or exam bank save."""
    if note is not None and not note.strip():
        raise InputError("empty-note", "The note is empty.", "Write what changed and why.")
    author = current_author()
    with opened(project_path) as project:
        made = bank.accept(project, keys, author)
        version = save_drafts(project, author, note) if note is not None else None
    if as_json:
        print_json({"questions": [asdict(question) for question in made], "version": version})
    elif version is None:
        tell(f"Accepted {counted(len(made), 'question')}. To save: exam bank save --note NOTE")
    else:
        tell(f"Accepted {counted(len(made), 'question')}. Saved bank version {version}.")


@proposals.command()
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="PROPOSAL...")
@project_option
def reject(keys: tuple[int, ...], project_path: Path | None) -> None:
    """Reject proposals. They are kept, and later repeats are marked."""
    with opened(project_path) as project:
        bank.reject(project, keys, current_author())
    tell(f"Rejected {counted(len(set(keys)), 'proposal')}.")


@proposals.command(name="put-back")
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="PROPOSAL...")
@project_option
def put_back(keys: tuple[int, ...], project_path: Path | None) -> None:
    """Reopen accepted or rejected proposals. Unsaved changes from them stay."""
    with opened(project_path) as project:
        bank.put_back(project, keys, current_author())
    tell(f"Reopened {counted(len(set(keys)), 'proposal')}.")


@proposals.command()
@click.argument("key", type=Whole(), metavar="PROPOSAL")
@click.option("--text", required=True, help="New wording. The original wording is kept too.")
@project_option
def edit(key: int, text: str, project_path: Path | None) -> None:
    """Reword an open proposal. The model's wording is kept."""
    with opened(project_path) as project:
        edit_proposal(project, key, text, current_author())
    tell(f"Reworded proposal {key}.")


@proposals.command(name="answer-key")
@click.argument("question", metavar="QUESTION")
@click.argument("passage", metavar="PASSAGE")
@project_option
@model_options
@patience_option
@json_option
def answer_key(
    question: str,
    passage: str,
    project_path: Path | None,
    settings: dict[str, str],
    prompt: str | None,
    patience: float,
    as_json: bool,
) -> None:
    """Draft the answer key of QUESTION from PASSAGE with a model, as a proposal."""
    with opened(project_path) as project:
        drafter = make_drafter(settings)
        control = job_control(project, drafter.model, drafter.back_end, Caps(patience=patience), tell_of_calls())
        report = draft_answer_key(project, drafter, question, passage, current_author(), prompt, control)
        _say(project, report, as_json)
