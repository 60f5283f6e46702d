"""Commands for what people say of single passages: overrides and judgments."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path

import click

from .. import labels
from ..labels import overrides, write_withdrawal
from ..project import assessed, judging, source_of
from .options import (
    Whole,
    author_option,
    counted,
    json_option,
    opened,
    print_json,
    print_rows,
    print_table,
    project_option,
    tell,
)


@click.group()
def override() -> None:
    """Give, confirm, withdraw and list overrides: a person's rating in place of the machine's."""


@override.command(name="set")
@click.argument("question_id", metavar="QUESTION")
@click.argument("passage_id", metavar="PASSAGE")
@click.argument("rating", type=Whole())
@project_option
@click.option("--reason", required=True, help="Why the machine's rating is wrong.")
@author_option
@json_option
def set_override(
    question_id: str,
    passage_id: str,
    rating: int,
    project_path: Path | None,
    reason: str,
    author: str,
    as_json: bool,
) -> None:
    """Rate how well PASSAGE answers QUESTION, from 0 to 5, whatever a grader said."""
    with opened(project_path) as project:
        key = labels.override(project, question_id, passage_id, rating, reason, author)
    if as_json:
        print_json({"override": key})
    else:
        tell(f"Override {key} counts. To take it back: exam override withdraw {key}")


@override.command()
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="OVERRIDE...")
@project_option
@author_option
def withdraw(keys: tuple[int, ...], project_path: Path | None, author: str) -> None:
    """Withdraw overrides: the machine's rating counts again. They stay on record."""
    with opened(project_path) as project, project.transaction() as cursor:
        for key in keys:
            write_withdrawal(cursor, key, author)
    tell(f"{counted(len(keys), 'override')} withdrawn.")


@override.command()
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="OVERRIDE...")
@project_option
@author_option
def confirm(keys: tuple[int, ...], project_path: Path | None, author: str) -> None:
    """Let overrides count for the new wording of their question too, where it was reworded after them."""
    with opened(project_path) as project:
        for key in keys:
            labels.confirm(project, key, author)
    tell(f"{counted(len(keys), 'override')} confirmed for the wording as it is now.")


@override.command(name="list")
@project_option
@click.option("--query", "query_id", help="Only those of this query.")
@click.option("--who", "who", metavar="NAME", help="Only those of this person.")
@click.option("--stale", is_flag=True, help="Only those whose question was reworded after them.")
@json_option
def list_overrides(
    project_path: Path | None, query_id: str | None, who: str | None, stale: bool, as_json: bool
) -> None:
    """List the overrides that nobody withdrew, newest first."""
    with opened(project_path) as project:
        found = overrides(project, query_id)
    found = [one for one in found if (one.stale or not stale) and (who is None or one.author == who)]
    if as_json:
        print_json({"overrides": [asdict(one) for one in found]})
        return
    print_table(
        ("override", "query", "question", "passage", "rating", "stale", "author", "reason"),
        [
            (
                str(o.key),
                o.query_id,
                o.question_id,
                o.passage_id,
                o.rating,
                "yes" if o.stale else "",
                o.author,
                o.reason,
            )
            for o in found
        ],
    )
    if waiting := [str(one.key) for one in found if one.stale]:
        tell(f"Stale ones wait: exam override confirm {shlex.join(waiting)}, or withdraw them.")


@click.group()
def judge() -> None:
    """Give, withdraw and list judgments of assessors: how relevant a passage is to a query."""


@judge.command(name="set")
@click.argument("query_id", metavar="QUERY")
@click.argument("passage_id", metavar="PASSAGE")
@click.argument("value", type=Whole())
@project_option
@click.option("--note", default="", help="Why; kept in the history.")
@author_option
def set_judgment(query_id: str, passage_id: str, value: int, project_path: Path | None, note: str, author: str) -> None:
    """Judge PASSAGE for QUERY, from 0 to 3; your earlier judgment of it gives way."""
    with opened(project_path) as project:
        judging.judge(project, query_id, passage_id, value, author, note)
    tell(f"Judged {value}, under the source '{source_of(author)}'.")


@judge.command(name="withdraw")
@click.argument("query_id", metavar="QUERY")
@click.argument("passage_id", metavar="PASSAGE")
@project_option
@author_option
def withdraw_judgment(query_id: str, passage_id: str, project_path: Path | None, author: str) -> None:
    """Take your judgment of PASSAGE for QUERY back. It stays in the history."""
    with opened(project_path) as project:
        judging.withdraw(project, query_id, passage_id, author)
    tell("Withdrawn.")


@judge.command(name="list")
@project_option
@click.option("--query", "query_id", help="Only those of this query.")
@click.option("--who", metavar="NAME", help="Only those of this assessor.")
@json_option
def list_judgments(project_path: Path | None, query_id: str | None, who: str | None, as_json: bool) -> None:
    """List the judgments that assessors gave here; those that came from files are exported with exam export qrels."""
    with opened(project_path) as project:
        found = assessed(project, query_id, who)
    print_rows(
        as_json,
        {"judgments": [asdict(one) for one in found]},
        ("assessor", "query", "passage", "value"),
        [(one.author, one.query_id, one.passage_id, one.value) for one in found],
    )
