"""Commands about disagreements between labels, judgments and people: list them, settle them, open them again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Any, cast, get_args

import click

from ..errors import InputError
from ..labels import Policy
from ..project import Project, check_queries, find_source
from ..review import (
    Judgments,
    Order,
    Row,
    Side,
    case_of,
    queue,
    record_csv,
    settle_by_comment,
    settle_by_dispute,
    settle_by_edit,
    settle_by_override,
    settled,
    settling,
    side_name,
)
from ..review import record as record_of_settled
from .agreement import one_right_side, sides
from .options import (
    Whole,
    author_option,
    json_option,
    project_option,
    with_options,
)
from .policy import policy_options
from .printing import Output, at_most_one, on_project

WAYS = ("override", "edit", "dispute", "comment")


def sides_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say who disagrees with whom; a command gets `left` and `right`."""

    @one_right_side
    @wraps(command)
    def with_sides(
        *args: Any,
        source: str | None,
        against_grader: str | None,
        against_person: str | None,
        policy: Policy,
        **others: Any,
    ) -> Any:
        left, right = sides(policy, source, against_grader, against_person)
        return command(*args, left=left, right=right, **others)

    return with_options(
        policy_options(with_sides),
        click.option("--source", help="Source of the judgments (default: the first)."),
        click.option("--against-grader", metavar="NAME", help="Compare with another grader's labels."),
        click.option(
            "--against-person", metavar="NAME", help="Compare the grader's ratings with an assessor's overrides."
        ),
    )


@click.group()
def disagreements() -> None:
    """List, resolve and reopen disagreements, and show their history."""


@disagreements.command(name="list")
@project_option
@click.option("--query", "query_id", help="Only this query.")
@click.option("--order", type=click.Choice(get_args(Order)), default="worst", show_default=True,
              help="Worst first, one side higher first, or largest effect on leaderboard or kappa first.")  # fmt: skip
@click.option("--settled", "show_settled", is_flag=True, help="Show resolved ones too.")
@click.option("--limit", type=Whole(1), default=20, show_default=True, help="Number of rows.")
@click.option("--offset", type=Whole(0), default=0, help="Number of rows to skip.")
@sides_options
@json_option
@on_project
def list_(
    project: Project,
    query_id: str | None,
    order: str,
    show_settled: bool,
    limit: int,
    offset: int,
    left: Side,
    right: Side,
) -> Output:
    """List passages whose labels differ from judgments, another grader or overrides."""
    if query_id is not None:
        check_queries(project, [query_id])
    found = queue(
        project, left, right, cast(Order, order), None, show_settled,
        limit=limit, offset=offset, query_id=query_id,
    )  # fmt: skip
    names = [side_name(project, side) for side in (left, right)]
    rows = [asdict(row) for row in found.rows]
    output = Output(
        {"left": names[0], "right": names[1], "total": found.total, "hidden": found.hidden, "rows": rows}
    ).line(f"{names[0]} against {names[1]}")
    output.table(
        ("query", "passage", "question", "left", "right", "cause", "resolved by"),
        [
            (
                row.pair.query_id,
                row.pair.passage_id,
                row.pair.question_id,
                row.pair.left,
                row.pair.right,
                ", ".join(one.question_id for one in (*row.left_from, *row.right_from)),
                row.settling.act if row.settling else "",
            )
            for row in found.rows
        ],
    )
    return output.note(
        f"Shown: {len(found.rows):,} of {found.total:,} disagreements. Resolved and hidden: {found.hidden:,}."
    )


@disagreements.command()
@click.argument("query_id", metavar="QUERY")
@click.argument("passage_id", metavar="PASSAGE")
@project_option
@click.option("--by", type=click.Choice(WAYS), required=True,
              help="override: new rating; edit: planned edit; dispute: wrong judgment; comment.")  # fmt: skip
@click.option("--reason", required=True, help="Reason, or text of the comment.")
@click.option("--question", "question_id", help="Question to override or to reword.")
@click.option("--rating", type=Whole(), help="Rating of the override, 0 to 5.")
@author_option
@sides_options
@on_project
def settle(
    query_id: str,
    passage_id: str,
    project: Project,
    by: str,
    reason: str,
    question_id: str | None,
    rating: int | None,
    author: str,
    left: Side,
    right: Side,
) -> str:
    """Resolve the disagreement on PASSAGE for QUERY."""
    row = _row(project, left, right, query_id, passage_id, question_id)
    case = case_of(project, left, right, row.pair)
    if by == "override":
        if question_id is None or rating is None:
            raise InputError(
                "option-missing", "An override needs a question and a rating.", "Use --question and --rating."
            )
        settle_by_override(project, case, [question_id], rating, reason, author)
    elif by == "edit":
        settle_by_edit(project, case, question_id, reason, author)
    elif by == "dispute":
        settle_by_dispute(project, case, _judged(project, left, right), reason, author)
    else:
        settle_by_comment(project, case, reason, author)
    return "Resolved. See exam disagreements record."


@disagreements.command()
@click.argument("query_id", metavar="QUERY")
@click.argument("passage_id", metavar="PASSAGE")
@project_option
@click.option("--reason", default="", help="Reason.")
@click.option("--question", "question_id", help="Question, with --against-person.")
@click.option("--withdraw-override", is_flag=True, help="Withdraw the override that resolved it too.")
@author_option
@sides_options
@on_project
def reopen(
    query_id: str,
    passage_id: str,
    project: Project,
    reason: str,
    question_id: str | None,
    withdraw_override: bool,
    author: str,
    left: Side,
    right: Side,
) -> str:
    """Reopen a resolved disagreement."""
    names = [side_name(project, side) for side in (left, right)]
    done = [
        one
        for place, one in settled(project, names[0], names[1]).items()
        if place[:2] == (query_id, passage_id) and question_id in (None, place[2], one.touched)
    ]
    if not done:
        raise InputError(
            "not-settled",
            f"No resolved disagreement on {passage_id} for {query_id}.",
            "See exam disagreements record.",
        )
    withdrawn = settling.reopen(project, done[0].case, reason, author, withdraw_override)
    return "Reopened." + (" The override was withdrawn." if withdrawn else "")


@disagreements.command()
@project_option
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@json_option
@at_most_one(as_csv="--csv", as_json="--json")
@on_project
def record(project: Project, as_csv: bool) -> Output:
    """Show all actions on disagreements."""
    if as_csv:
        return Output().text(record_csv(project))
    found = record_of_settled(project)
    return Output({"acts": [asdict(one) for one in found]}).table(
        ("when", "who", "action", "query", "passage", "question", "reason", "resolved"),
        [
            (
                f"{one.made_at:%Y-%m-%d %H:%M}",
                one.author,
                one.act,
                one.case.query_id,
                one.case.passage_id,
                one.touched or one.case.question_id,
                one.reason,
                "yes" if one.settled else "no",
            )
            for one in found
        ],
    )


def _row(project: Project, left: Side, right: Side, query_id: str, passage_id: str, question_id: str | None) -> Row:
    """The open disagreement on a passage; beside a person, on a question for it."""
    everything = queue(project, left, right, query_id=query_id, limit=1)
    rows = queue(project, left, right, query_id=query_id, limit=max(1, everything.total)).rows
    found = [row for row in rows if row.pair.passage_id == passage_id]
    if found and found[0].pair.question_id is not None:
        found = [row for row in found if row.pair.question_id == question_id]
    if not found:
        raise InputError(
            "no-open-disagreement",
            f"No open disagreement on {passage_id} for {query_id}.",
            "See exam disagreements list.",
        )
    return found[0]


def _judged(project: Project, left: Side, right: Side) -> str:
    for side in (left, right):
        if isinstance(side, Judgments):
            return find_source(project, side.source)
    raise InputError(
        "no-judgment-to-dispute",
        "Neither side has judgments to dispute.",
        "Use --by comment, edit or override.",
    )
