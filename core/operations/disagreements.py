"""Commands about disagreements between labels, judgments and people: list, resolve and reopen them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, cast, get_args

from ..errors import InputError
from ..records import check_queries, find_source
from ..review import (
    Judgments,
    Order,
    Row,
    Side,
    case_of,
    queue,
    record as record_of_settled,
    record_csv,
    settle_by_comment,
    settle_by_dispute,
    settle_by_edit,
    settle_by_override,
    settled,
    settling,
    side_name,
)
from ..store import Project
from .agreement import one_right_side, sides
from .describing import Argument, Gathered, Option
from .options import Author
from .output import Output
from .policy import PolicyOptions
from .registry import operation

WAYS = ("override", "edit", "dispute", "comment")


@one_right_side
def _sides(
    *,
    policy: PolicyOptions,
    source: Annotated[str | None, Option(help="Source of the judgments (default: the first).")] = None,
    against_grader: Annotated[str | None, Option(help="Compare with another grader's labels.", metavar="NAME")] = None,
    against_person: Annotated[
        str | None, Option(help="Compare the grader's ratings with an assessor's overrides.", metavar="NAME")
    ] = None,
) -> tuple[Side, Side]:
    return sides(policy, source, against_grader, against_person)


SidesOptions = Annotated[tuple[Side, Side], Gathered(_sides)]
"""The two sides that disagree."""


@operation("disagreements list", act="read the bank", reads=True)
def list_(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only this query.")] = None,
    order: Annotated[
        str,
        Option(
            help="Worst first, one side higher first, or largest effect on leaderboard or kappa first.",
            choices=get_args(Order),
        ),
    ] = "worst",
    show_settled: Annotated[bool, Option("--settled", help="Also show resolved disagreements.")] = False,
    limit: Annotated[int, Option(help="Number of rows.", least=1)] = 20,
    offset: Annotated[int, Option(help="Number of rows to skip.", least=0)] = 0,
    both: SidesOptions,
) -> Output:
    """List passages whose labels differ from judgments, another grader or overrides."""
    left, right = both
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


@operation("disagreements resolve", act="settle disagreements")
def settle(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    by: Annotated[
        str, Option(help="override: new rating; edit: planned edit; dispute: wrong judgment; comment.", choices=WAYS)
    ],
    reason: Annotated[str, Option(help="Reason, or text of the comment.")],
    question_id: Annotated[str | None, Option("--question", help="Question to override or to reword.")] = None,
    rating: Annotated[int | None, Option(help="Rating of the override, 0 to 5.")] = None,
    author: Author,
    both: SidesOptions,
) -> str:
    """Resolve the disagreement on PASSAGE for QUERY."""
    left, right = both
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
    return "Resolved. See exam disagreements history."


@operation("disagreements reopen", act="settle disagreements")
def reopen(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    reason: Annotated[str, Option(help="Reason.")] = "",
    question_id: Annotated[str | None, Option("--question", help="Question, with --against-person.")] = None,
    withdraw_override: Annotated[
        bool, Option(help="Also withdraw the override that resolved the disagreement.")
    ] = False,
    author: Author,
    both: SidesOptions,
) -> str:
    """Reopen a resolved disagreement."""
    left, right = both
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
            "See exam disagreements history.",
        )
    withdrawn = settling.reopen(project, done[0].case, reason, author, withdraw_override)
    return "Reopened." + (" The override was withdrawn." if withdrawn else "")


@operation("disagreements history", act="read the bank", reads=True, not_json=("as_csv",))
def record(
    project: Project,
    *,
    as_csv: Annotated[bool, Option("--csv", help="Print CSV.")] = False,
) -> Output:
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
    """Return the open disagreement on a passage; if a side is a person, on a question for that passage."""
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
