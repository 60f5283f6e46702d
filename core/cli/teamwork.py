"""Commands for people who share a project: what is left for an assessor, and the guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path

import click

from ..catalogue import graders
from ..labels import Policy, basis, progress
from ..project import Project, mark_done, set_due, set_guidelines
from ..project import guidelines as guidelines_of
from ..review import my_work
from ..text import how_many
from .guests import File, text_of
from .options import (
    author_option,
    counted,
    json_option,
    project_option,
)
from .printing import Output, on_project


@click.group()
def work() -> None:
    """List the queries of an assessor, and set due dates and progress."""


@work.command(name="list")
@project_option
@author_option
@json_option
@on_project
def list_work(project: Project, author: str) -> Output:
    """List the queries of --author, with progress and the next step.

    If --author works on the whole project, all queries with a pool are listed.
    """
    member = next((one for one in project.members().values() if one.name == author), None)
    found = progress(project, basis(project, Policy())) if any(one.grades for one in graders(project)) else None
    listed = my_work(project, author, member.theirs if member else None, found)
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


@work.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@project_option
@click.option("--by", "day", type=click.DateTime(["%Y-%m-%d"]), help="Due date. Without it, the due date is removed.")
@click.option("--person", help="Only for this person. Default: all assessors of the query.")
@author_option
@on_project
def due(queries: Sequence[str], project: Project, day: datetime | None, person: str | None, author: str) -> str:
    """Set or remove the due date of queries."""
    set_due(project, queries, None if day is None else day.date(), author, person)
    return f"{how_many(len(queries), 'queries')}: {'no due date' if day is None else f'due by {day:%Y-%m-%d}'}."


@work.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@project_option
@author_option
@on_project
def done(queries: Sequence[str], project: Project, author: str) -> str:
    """Mark your queries as done."""
    for query in queries:
        mark_done(project, query, True, author)
    return f"{how_many(len(queries), 'queries')} marked as done. To undo this: exam work reopen QUERY"


@work.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@project_option
@author_option
@on_project
def reopen(queries: Sequence[str], project: Project, author: str) -> str:
    """Mark your queries as not done."""
    for query in queries:
        mark_done(project, query, False, author)
    return f"{how_many(len(queries), 'queries')} reopened."


@click.group()
def guidelines() -> None:
    """Show and set the guidelines for assessors, for the project or one query."""


@guidelines.command()
@project_option
@click.option("--query", "query_id", help="Also show the guidelines of this query.")
@json_option
@on_project
def show(project: Project, query_id: str | None) -> Output:
    """Show the guidelines of the project and of a query."""
    found = guidelines_of(project, query_id)
    output = Output(asdict(found))
    for text in filter(None, (found.project, found.query)):
        output.line(text)
    return output


@guidelines.command(name="set")
@click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@project_option
@click.option("--query", "query_id", help="Only for this query. Default: the whole project.")
@author_option
@on_project
def set_(file: Path, project: Project, query_id: str | None, author: str) -> str:
    """Set guidelines from a text FILE (- for standard input). An empty file removes them."""
    text = text_of(file)
    set_guidelines(project, text, author, query_id)
    return f"Guidelines saved, {counted(len(text.strip()), 'character')}. The earlier version stays on record."
