"""Commands for people who share a project: an assessor's remaining work, and the guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

from ..bank import graders
from ..labels import Policy
from ..records import guidelines as guidelines_of, mark_done, set_due, set_guidelines
from ..review import my_work
from ..store import Project
from ..text import how_many
from .console import counted, text_of
from .describing import Argument, Option
from .options import Author
from .output import Output
from .registry import operation


@operation("work list", act="read the bank", reads=True)
def list_work(
    project: Project,
    *,
    author: Author,
) -> Output:
    """List the queries of --author, with progress and the next step.

    If --author works on the whole project, all queries with a pool are listed.
    """
    member = next((one for one in project.members().values() if one.name == author), None)
    policy = Policy() if any(one.grades for one in graders(project)) else None
    listed = my_work(project, author, member.theirs if member else None, policy)
    today = date.today()
    return Output(
        {
            "work": [
                {**asdict(one), "next": one.next.said, "due": one.due and one.due.isoformat(), "late": one.late(today)}
                for one in listed
            ]
        }
    ).table(
        ("query", "questions", "judged", "pooled", "due", "done", "next"),
        [
            (
                one.query_id,
                one.questions,
                one.judged,
                one.pooled,
                "" if one.due is None else f"{one.due}{' (late)' if one.late(today) else ''}",
                "yes" if one.done else "",
                one.next.said,
            )
            for one in listed
        ],
    )


@operation("work due", act="assign work")
def due(
    project: Project,
    *,
    queries: Annotated[Sequence[str], Argument(metavar="QUERY...")],
    day: Annotated[datetime | None, Option("--by", help="Due date. Without it, the due date is removed.")] = None,
    person: Annotated[str | None, Option(help="Only for this person. Default: all assessors of the query.")] = None,
    author: Author,
) -> str:
    """Set or remove the due date of queries."""
    set_due(project, queries, None if day is None else day.date(), author, person)
    return f"{how_many(len(queries), 'queries')}: {'no due date' if day is None else f'due by {day:%Y-%m-%d}'}."


@operation("work done", act="mark work")
def done(
    project: Project,
    *,
    queries: Annotated[Sequence[str], Argument(metavar="QUERY...")],
    author: Author,
) -> str:
    """Mark your queries as done."""
    for query in queries:
        mark_done(project, query, True, author)
    return f"{how_many(len(queries), 'queries')} marked as done. To undo this: exam work reopen QUERY"


@operation("work reopen", act="mark work")
def reopen(
    project: Project,
    *,
    queries: Annotated[Sequence[str], Argument(metavar="QUERY...")],
    author: Author,
) -> str:
    """Mark your queries as not done."""
    for query in queries:
        mark_done(project, query, False, author)
    return f"{how_many(len(queries), 'queries')} reopened."


@operation("guidelines show", act="read the bank", reads=True)
def show(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Also show the guidelines of this query.")] = None,
) -> Output:
    """Show the guidelines of the project and of a query."""
    found = guidelines_of(project, query_id)
    output = Output(asdict(found))
    for text in filter(None, (found.project, found.query)):
        output.line(text)
    return output


@operation("guidelines set", act="set guidelines")
def set_(
    project: Project,
    *,
    file: Annotated[Path, Argument(file="read", exists=True, stdin=True)],
    query_id: Annotated[str | None, Option("--query", help="Only for this query. Default: the whole project.")] = None,
    author: Author,
) -> str:
    """Set guidelines from a text FILE (- for standard input). An empty file removes them."""
    text = text_of(file)
    set_guidelines(project, text, author, query_id)
    return f"Guidelines saved, {counted(len(text.strip()), 'character')}. The earlier version stays on record."
