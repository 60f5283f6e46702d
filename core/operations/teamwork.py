"""Commands for people who share a project: work, guidelines, blind double assignments and their adjudication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, get_args

from ..bank import graders
from ..labels import Policy
from ..measures import Coefficient
from ..records import (
    Double,
    assign_double,
    claim_double,
    decline_double,
    doubles,
    guidelines as guidelines_of,
    mark_done,
    release_double,
    sample_of,
    set_due,
    set_guidelines,
)
from ..review import (
    STANDINGS,
    Contested,
    OfPair,
    Standing,
    accept_agreed,
    between_people,
    contested,
    decide,
    decisions,
    end_double,
    my_work,
    undo_decision,
)
from ..text import how_many
from .console import text_of
from .registry import Argument, Author, Option, Output, Project, at_most_one, operation


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
    return f"Guidelines saved, {how_many(len(text.strip()), 'characters')}. The earlier version stays on record."


QueryId = Annotated[str, Argument(metavar="QUERY")]
AssignmentNumber = Annotated[
    int | None, Option(help="Number of the assignment, if the query has several: see exam assignments list.")
]
PassageId = Annotated[str, Option("--passage", help="Id of the passage.")]
QuestionId = Annotated[
    str | None,
    Option("--question", help="Question whose rating is adjudicated (default: the judgment of the passage)."),
]


@operation("assignments add", act="assign work")
@at_most_one(passages="--passage", sample="--sample")
def assign(
    project: Project,
    *,
    query_id: QueryId,
    people: Annotated[Sequence[str], Option("--to", help="Name of an assessor; may be repeated.")] = (),
    wanted: Annotated[
        int | None, Option(help="Number of assessors, at least 2; other assessors can claim free places.")
    ] = None,
    passages: Annotated[Sequence[str], Option("--passage", help="Only this passage; may be repeated.")] = (),
    sample: Annotated[int | None, Option(help="Number of passages drawn at random from the pool.")] = None,
    seed: Annotated[int, Option(help="Seed of the draw.")] = 1,
    adjudicator: Annotated[str | None, Option(help="Person who may adjudicate, besides the organizers.")] = None,
    author: Author,
) -> str:
    """Assign QUERY, or some of its passages, to several assessors for blind judging."""
    chosen = sample_of(project, query_id, sample, seed) if sample is not None else list(passages) or None
    number = assign_double(project, query_id, author, people, wanted, chosen, adjudicator)
    return _said(next(one for one in doubles(project) if one.key == number))


@operation("assignments join", act="claim work")
def claim(
    project: Project,
    *,
    query_id: QueryId,
    number: AssignmentNumber = None,
    author: Author,
) -> str:
    """Join the double assignment of QUERY."""
    claim_double(project, query_id, author, number)
    return f"{author} joined the double assignment of {query_id}. To leave it: exam assignments leave {query_id}"


@operation("assignments leave", act="claim work")
def decline(
    project: Project,
    *,
    query_id: QueryId,
    number: AssignmentNumber = None,
    reason: Annotated[str, Option(help="Reason, shown to organizers.")] = "",
    author: Author,
) -> str:
    """Decline or leave the double assignment of QUERY."""
    decline_double(project, query_id, author, reason, number)
    return f"{author} is not in the double assignment of {query_id}. To join it: exam assignments join {query_id}"


@operation("assignments remove", act="assign work")
def release(
    project: Project,
    *,
    query_id: QueryId,
    number: AssignmentNumber = None,
    person: Annotated[str, Option(help="Name of the assessor.")],
    author: Author,
) -> str:
    """Remove an assessor from the double assignment of QUERY."""
    release_double(project, query_id, person, author, number)
    return f"Removed {person} from the double assignment of {query_id}."


@operation("assignments end", act="assign work")
def end(
    project: Project,
    *,
    query_id: QueryId,
    number: AssignmentNumber = None,
    author: Author,
) -> str:
    """End the double assignment of QUERY. All its judgments become visible and count."""
    end_double(project, query_id, author, number)
    rest = sum(one.query_id == query_id for one in doubles(project))
    return f"Ended. Open double assignments of {query_id}: {rest:,}."


@operation("assignments list", act="read the bank", reads=True)
def list_doubles(
    project: Project,
) -> Output:
    """List open double assignments and their assessors."""
    found = doubles(project)
    kept = ("query_id", "passages", "wanted", "adjudicator", "people", "reasons")
    records = [{"number": one.key} | {name: asdict(one)[name] for name in kept} for one in found]
    return Output({"doubles": records}).table(
        ("query", "number", "passages", "wanted", "assessors", "adjudicator"),
        [
            (one.query_id, one.key, "all" if one.passages is None else len(one.passages), one.wanted,
             ", ".join(one.present), one.adjudicator or "organizers")
            for one in found
        ],
    )  # fmt: skip


@operation("assignments agreement", act="read the bank", reads=True)
def agreement(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only this query.")] = None,
) -> Output:
    """Compare the judgments and ratings of assessors, in pairs and all together."""
    found = between_people(project, query_id)
    return Output(
        {
            one.kind: {
                "n": one.n,
                "same": one.same,
                "people": one.people,
                "alpha": one.alpha.value,
                "undefined": one.alpha.undefined,
                "pairs": [_pair(pair) for pair in one.pairs],
            }
            for one in found
        }
    ).table(
        ("of", "people", "n", "same", "kappa", "weighted kappa", "alpha"),
        [
            row
            for one in found
            for row in (
                (one.kind, "all", one.n, one.same, "", "", _number(one.alpha)),
                *(
                    (
                        one.kind,
                        f"{pair.left}, {pair.right}",
                        pair.n,
                        pair.same,
                        _number(pair.kappa),
                        _number(pair.weighted),
                        _number(pair.alpha),
                    )
                    for pair in one.pairs
                ),
            )
        ],
    )


def _pair(pair: OfPair) -> dict[str, object]:
    numbers = {name: getattr(pair, name).value for name in ("kappa", "weighted", "alpha")}
    return {"people": [pair.left, pair.right], "n": pair.n, "same": pair.same, **numbers,
            "undefined": pair.kappa.undefined}  # fmt: skip


def _number(coefficient: Coefficient) -> str:
    return "undefined" if coefficient.value is None else f"{coefficient.value:z.3f}"


def _said(one: Double) -> str:
    what = "" if one.passages is None else f" ({how_many(len(one.passages), 'passages')})"
    return f"{one.query_id}{what}: assigned to {', '.join(one.present) or 'no assessor yet'}. Free places: {one.free}."


@operation("adjudicate list", act="adjudicate", reads=True)
def list_contested(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only this query.")] = None,
    state: Annotated[
        Standing | None,
        Option(
            help="Only this state. " + "; ".join((f"{name}: {about}" for name, about in STANDINGS.items())) + ".",
            choices=get_args(Standing),
        ),
    ] = None,
) -> Output:
    """List judgments of several assessors and the decisions on them, undecided first."""
    found = [one for one in contested(project, query_id) if state in (None, one.standing)]
    return Output({"contested": [_shown(one) for one in found]}).table(
        ("state", "query", "passage", "question", "judgments", "decision"),
        [
            (
                one.standing,
                one.query_id,
                one.passage_id,
                one.question_id or "",
                ", ".join(f"{name} {'–' if value is None else value}" for name, value in one.given.items()),
                "" if one.decision is None else one.decision.value,
            )
            for one in found
        ],
    )


def _shown(one: Contested) -> dict[str, object]:
    decided = one.decision and {"value": one.decision.value, "reason": one.decision.reason, "by": one.decision.author}
    return {"query": one.query_id, "passage": one.passage_id, "question": one.question_id, "given": dict(one.given),
            "state": one.standing, "decision": decided}  # fmt: skip


@operation("adjudicate decide", act="adjudicate")
def decide_one(
    project: Project,
    *,
    query_id: QueryId,
    passage_id: PassageId,
    question_id: QuestionId = None,
    value: Annotated[int, Option(help="0 to 3 for a judgment, 0 to 5 for a rating.")],
    reason: Annotated[str, Option(help="Reason of the decision.")],
    author: Author,
) -> str:
    """Adjudicate a passage of QUERY, or one of its questions. Only the decision counts."""
    decide(project, (query_id, passage_id, question_id), value, reason, author)
    return "Decided. To withdraw the decision: exam adjudicate undo"


@operation("adjudicate accept", act="adjudicate")
def accept(
    project: Project,
    *,
    query_id: QueryId,
    author: Author,
) -> str:
    """Accept all equal judgments for QUERY that have no decision yet."""
    return f"Recorded: {how_many(accept_agreed(project, query_id, author), 'decisions')}."


@operation("adjudicate undo", act="adjudicate")
def undo(
    project: Project,
    *,
    query_id: QueryId,
    passage_id: PassageId,
    question_id: QuestionId = None,
    author: Author,
) -> str:
    """Withdraw the decision on a passage of QUERY, or on one of its questions."""
    undo_decision(project, (query_id, passage_id, question_id), author)
    return "Withdrawn. Adjudication is open again."


@operation("adjudicate history", act="adjudicate", reads=True)
def history(
    project: Project,
    *,
    query_id: QueryId,
    passage_id: PassageId,
    question_id: QuestionId = None,
) -> Output:
    """List all decisions on a passage of QUERY, or one of its questions, newest first."""
    found = decisions(project, (query_id, passage_id, question_id))
    return Output(
        {"decisions": [asdict(one) | {"stated_at": f"{one.stated_at:%Y-%m-%dT%H:%M:%S}"} for one in found]}
    ).table(
        ("when", "who", "value", "reason"),
        [
            (
                f"{one.stated_at:%Y-%m-%d %H:%M}",
                one.author,
                "withdrawn" if one.value is None else one.value,
                one.reason,
            )
            for one in found
        ],
    )
