"""Commands about drafts: changes on the screen and accepted proposals that are not saved yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Annotated, Literal

from .. import bank
from ..bank import authors, conflicts, draft_notes, questions, take_back
from ..errors import InputError
from ..store import Project
from .console import counted
from .describing import Argument, Option
from .opening import Opening
from .options import Author
from .output import Output
from .registry import operation


@operation("bank drafts", act="read the bank", reads=True)
def list_drafts(
    project: Project,
    *,
    who: Annotated[str | None, Option(help="Only changes by this person.", metavar="NAME")] = None,
) -> Output:
    """List unsaved changes. Save them with exam bank save --author NAME."""
    saved = {question.question_id: question for question in questions(project)}
    found = [
        (author, shown, draft_notes.done(saved.get(question_id), draft.question), question_id in crossed)
        for author in authors(project)
        if who in (None, author)
        for crossed in [{one.mine.question_id for one in conflicts(project, author)}]
        for question_id, draft in bank.drafts(project, author).items()
        for shown in bank.readable(project, [draft.question])
    ]
    records = [
        {"author": by, "question": asdict(question), "done": done, "conflict": crossed}
        for by, question, done, crossed in found
    ]
    return Output({"drafts": records}).table(
        ("author", "question", "change", "conflict", "text"),
        [(by, q.question_id, ", ".join(done), "yes" if crossed else "no", q.text) for by, q, done, crossed in found],
    )


@operation("bank discard", act="edit questions")
def discard(
    opening: Opening,
    *,
    question_ids: Annotated[tuple[str, ...], Argument(metavar="QUESTION...")] = (),
    everything: Annotated[bool, Option("--all", help="Discard all unsaved changes of this person.")] = False,
    author: Author,
) -> str:
    """Discard unsaved changes of a person. Undo on the Question bank screen restores them."""
    if bool(question_ids) == everything:
        raise InputError("option-missing", "No question was named.", "Name questions, or use --all.")
    with opening() as project:
        mine = bank.drafts(project, author)
        _check(question_ids, mine, f"{author} has no unsaved changes to")
        take_back(project, author, question_ids or None)
    return f"Discarded {counted(len(question_ids) or len(mine), 'change')} of {author}."


@operation("bank resolve", act="edit questions")
def settle(
    project: Project,
    *,
    question_ids: Annotated[tuple[str, ...], Argument(metavar="QUESTION...")],
    keep: Annotated[
        Literal["mine", "theirs"],
        Option(help="mine: your unsaved wording; theirs: the saved wording.", choices=["mine", "theirs"]),
    ],
    author: Author,
) -> str:
    """Resolve conflicts with wordings that another person saved."""
    crossed = [one.mine.question_id for one in conflicts(project, author)]
    _check(question_ids, crossed, f"{author} has no conflict in")
    for question_id in question_ids:
        bank.settle(project, author, question_id, keep)
    return f"Resolved: {counted(len(question_ids), 'question')}. To save your remaining changes: exam bank save"


def _check(question_ids: Sequence[str], known: Collection[str], otherwise: str) -> None:
    if unknown := [question_id for question_id in question_ids if question_id not in known]:
        raise InputError("unknown-draft", f"{otherwise} {', '.join(unknown)}.", "See exam bank drafts.")
