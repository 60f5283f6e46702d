"""Commands for what people say of single passages: overrides and judgments."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import click

from .. import labels
from ..labels import overrides, write_withdrawal
from ..project import Project, assessed, judging, source_of
from .options import (
    Whole,
    author_option,
    counted,
    json_option,
    project_option,
)
from .printing import Output, on_project


@click.group()
def override() -> None:
    """Set, confirm, withdraw and list overrides. An override replaces the grader's rating."""


@override.command(name="set")
@click.argument("question_id", metavar="QUESTION")
@click.argument("passage_id", metavar="PASSAGE")
@click.argument("rating", type=Whole())
@project_option
@click.option("--reason", required=True, help="Why the grader's rating is wrong.")
@author_option
@json_option
@on_project
def set_override(
    question_id: str,
    passage_id: str,
    rating: int,
    project: Project,
    reason: str,
    author: str,
) -> Output:
    """Override the grader's rating of how well PASSAGE answers QUESTION, from 0 to 5."""
    key = labels.override(project, question_id, passage_id, rating, reason, author)
    return Output({"override": key}).note(f"Saved override {key}. To withdraw it: exam override withdraw {key}")


@override.command()
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="OVERRIDE...")
@project_option
@author_option
@on_project
def withdraw(keys: tuple[int, ...], project: Project, author: str) -> str:
    """Withdraw overrides. The grader's ratings count again, and the history keeps the overrides."""
    with project.transaction() as cursor:
        for key in keys:
            write_withdrawal(cursor, key, author)
    return f"Withdrew {counted(len(keys), 'override')}."


@override.command()
@click.argument("keys", nargs=-1, required=True, type=Whole(), metavar="OVERRIDE...")
@project_option
@author_option
@on_project
def confirm(keys: tuple[int, ...], project: Project, author: str) -> str:
    """Confirm overrides for the new wording of a reworded question."""
    for key in keys:
        labels.confirm(project, key, author)
    return f"Confirmed {counted(len(keys), 'override')} for the current wording."


@override.command(name="list")
@project_option
@click.option("--query", "query_id", help="Only overrides of this query.")
@click.option("--who", "who", metavar="NAME", help="Only overrides by this person.")
@click.option("--stale", is_flag=True, help="Only overrides whose question was reworded later.")
@json_option
@on_project
def list_overrides(project: Project, query_id: str | None, who: str | None, stale: bool) -> Output:
    """List the current overrides, newest first."""
    found = [
        one for one in overrides(project, query_id) if (one.stale or not stale) and (who is None or one.author == who)
    ]
    output = Output({"overrides": [asdict(one) for one in found]}).table(
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
        output.note(
            f"To confirm the stale overrides: exam override confirm {shlex.join(waiting)}. You can also withdraw them."
        )
    return output


@click.group()
def judge() -> None:
    """Set, withdraw and list assessors' judgments of how relevant a passage is to a query."""


@judge.command(name="set")
@click.argument("query_id", metavar="QUERY")
@click.argument("passage_id", metavar="PASSAGE")
@click.argument("value", type=Whole())
@project_option
@click.option("--note", default="", help="Reason for the judgment, kept in the history.")
@author_option
@on_project
def set_judgment(query_id: str, passage_id: str, value: int, project: Project, note: str, author: str) -> str:
    """Judge PASSAGE for QUERY, from 0 to 3. This replaces your earlier judgment."""
    judging.judge(project, query_id, passage_id, value, author, note)
    return f"Saved judgment {value} under source '{source_of(author)}'."


@judge.command(name="withdraw")
@click.argument("query_id", metavar="QUERY")
@click.argument("passage_id", metavar="PASSAGE")
@project_option
@author_option
@on_project
def withdraw_judgment(query_id: str, passage_id: str, project: Project, author: str) -> str:
    """Withdraw your judgment of PASSAGE for QUERY. The history keeps it."""
    judging.withdraw(project, query_id, passage_id, author)
    return "Judgment withdrawn."


@judge.command(name="list")
@project_option
@click.option("--query", "query_id", help="Only judgments of this query.")
@click.option("--who", metavar="NAME", help="Only judgments by this assessor.")
@json_option
@on_project
def list_judgments(project: Project, query_id: str | None, who: str | None) -> Output:
    """List the judgments that assessors made in this project.

    To get imported judgments, use exam export qrels.
    """
    found = assessed(project, query_id, who)
    return Output({"judgments": [asdict(one) for one in found]}).table(
        ("assessor", "query", "passage", "value"),
        [(one.author, one.query_id, one.passage_id, one.value) for one in found],
    )
