"""Commands for people who share a project: what is left for an assessor, and the guidelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path

import click

from core.catalogue import graders
from core.cli.guests import File, text_of
from core.cli.options import (
    author_option,
    counted,
    json_option,
    opened,
    print_json,
    print_rows,
    project_option,
    tell,
)
from core.labels import Policy, basis, progress
from core.project import guidelines as guidelines_of
from core.project import mark_done, set_due, set_guidelines
from core.review import my_work
from core.text import how_many


@click.group()
def work() -> None:
    """The queries of an assessor: how far each is, and what is next."""


@work.command(name="list")
@project_option
@author_option
@json_option
def list_work(project_path: Path | None, author: str, as_json: bool) -> None:
    """List the queries of --author: those assigned to them, or all that have a pool."""
    with opened(project_path) as project:
        member = next((one for one in project.members().values() if one.name == author), None)
        found = progress(project, basis(project, Policy())) if any(one.grades for one in graders(project)) else None
        listed = my_work(project, author, member.theirs if member else None, found)
    today = date.today()
    print_rows(
        as_json,
        {
            "work": [
                {**asdict(one), "next": one.next.said, "due": one.due and one.due.isoformat(), "late": one.late(today)}
                for one in listed
            ]
        },
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
@click.option("--by", "day", type=click.DateTime(["%Y-%m-%d"]), help="The last day; without it, none from now on.")
@click.option("--person", help="For this person alone, by name; for everybody whose query it is where not given.")
@author_option
def due(
    queries: Sequence[str], project_path: Path | None, day: datetime | None, person: str | None, author: str
) -> None:
    """Say until when queries are to be done."""
    with opened(project_path) as project:
        set_due(project, queries, None if day is None else day.date(), author, person)
    tell(f"{how_many(len(queries), 'queries')} due {'no more' if day is None else f'by {day:%Y-%m-%d}'}.")


@work.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@project_option
@author_option
def done(queries: Sequence[str], project_path: Path | None, author: str) -> None:
    """Say that you are done with queries."""
    with opened(project_path) as project:
        for query in queries:
            mark_done(project, query, True, author)
    tell(f"{how_many(len(queries), 'queries')} done. To take that back: exam work reopen")


@work.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@project_option
@author_option
def reopen(queries: Sequence[str], project_path: Path | None, author: str) -> None:
    """Say that you are not done with queries after all."""
    with opened(project_path) as project:
        for query in queries:
            mark_done(project, query, False, author)
    tell(f"{how_many(len(queries), 'queries')} open again.")


@click.group()
def guidelines() -> None:
    """How assessors are to decide, in the whole project or in one query."""


@guidelines.command()
@project_option
@click.option("--query", "query_id", help="Those of this query as well.")
@json_option
def show(project_path: Path | None, query_id: str | None, as_json: bool) -> None:
    """Print the guidelines of the project and of a query."""
    with opened(project_path) as project:
        found = guidelines_of(project, query_id)
    if as_json:
        print_json(asdict(found))
        return
    for text in filter(None, (found.project, found.query)):
        click.echo(text)


@guidelines.command(name="set")
@click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False, allow_dash=True))
@project_option
@click.option("--query", "query_id", help="For this query; for the whole project where not given.")
@author_option
def set_(file: Path, project_path: Path | None, query_id: str | None, author: str) -> None:
    """Write guidelines from a text FILE (- for standard input); an empty one takes them away."""
    with opened(project_path) as project:
        text = text_of(file)
        set_guidelines(project, text, author, query_id)
    tell(f"The guidelines have {counted(len(text.strip()), 'character')}. What stood there before stays on record.")
