"""Commands about drafts: what people changed on the screen, or accepted, and have not saved."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import click

from .. import bank
from ..bank import authors, conflicts, draft_notes, questions, take_back
from ..errors import InputError
from ..project import Project
from .options import author_option, counted, json_option, opened, project_option
from .printing import Output, on_project, printed


@click.command(name="drafts")
@project_option
@click.option("--who", metavar="NAME", help="Only changes of this person.")
@json_option
@on_project
def list_drafts(project: Project, who: str | None) -> Output:
    """List unsaved changes. Save them with exam bank save --author NAME."""
    saved = {question.question_id: question for question in questions(project)}
    found = [
        (author, draft.question, draft_notes.done(saved.get(question_id), draft.question), question_id in crossed)
        for author in authors(project)
        if who in (None, author)
        for crossed in [{one.mine.question_id for one in conflicts(project, author)}]
        for question_id, draft in bank.drafts(project, author).items()
    ]
    records = [
        {"author": by, "question": asdict(question), "done": done, "conflict": crossed}
        for by, question, done, crossed in found
    ]
    return Output({"drafts": records}).table(
        ("author", "question", "change", "conflict", "text"),
        [(by, q.question_id, ", ".join(done), "yes" if crossed else "no", q.text) for by, q, done, crossed in found],
    )


@click.command()
@click.argument("question_ids", nargs=-1, metavar="QUESTION...")
@click.option("--all", "everything", is_flag=True, help="Discard all unsaved changes of this person.")
@project_option
@author_option
@printed
def discard(question_ids: tuple[str, ...], everything: bool, project_path: Path | None, author: str) -> str:
    """Discard unsaved changes of a person. Undo on the Question bank screen restores them."""
    if bool(question_ids) == everything:
        raise InputError("option-missing", "No question was named.", "Name questions, or use --all.")
    with opened(project_path) as project:
        mine = bank.drafts(project, author)
        _check(question_ids, mine, f"{author} has no unsaved changes to")
        take_back(project, author, question_ids or None)
    return f"Discarded {counted(len(question_ids) or len(mine), 'change')} of {author}."


@click.command()
@click.argument("question_ids", nargs=-1, required=True, metavar="QUESTION...")
@click.option(
    "--keep",
    type=click.Choice(["mine", "theirs"]),
    required=True,
    help="mine: your unsaved wording; theirs: the saved wording.",
)
@project_option
@author_option
@on_project
def settle(question_ids: tuple[str, ...], keep: Literal["mine", "theirs"], project: Project, author: str) -> str:
    """Resolve conflicts with wordings that another person saved."""
    crossed = [one.mine.question_id for one in conflicts(project, author)]
    _check(question_ids, crossed, f"{author} has no conflict in")
    for question_id in question_ids:
        bank.settle(project, author, question_id, keep)
    return f"Resolved: {counted(len(question_ids), 'question')}. To save your remaining changes: exam bank save"


def _check(question_ids: Sequence[str], known: Collection[str], otherwise: str) -> None:
    if unknown := [question_id for question_id in question_ids if question_id not in known]:
        raise InputError("unknown-draft", f"{otherwise} {', '.join(unknown)}.", "See exam bank drafts.")
