"""Commands for people who share a project: work, guidelines, blind double assignments and their
adjudication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Annotated

from .. import bank, labels, measures, records, review
from ..choices import ADJUDICATION_STATES, AdjudicationState
from ..records import open_double_assignments
from ..text import how_many
from .console import read_text_file
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
    member = next((item for item in project.members().values() if item.name == author), None)
    policy = labels.Policy() if any(item.grades for item in bank.label_graders(project)) else None
    listed = review.my_work(project, author, member.assigned_queries if member else None, policy)
    today = date.today()
    return Output(
        {
            "work": [
                {
                    **asdict(item),
                    "next": item.next_step.said,
                    "due": item.due and item.due.isoformat(),
                    "late": item.is_overdue(today),
                }
                for item in listed
            ]
        }
    ).table(
        ("query", "questions", "judged", "pooled", "due", "done", "next"),
        [
            (
                item.query_id,
                item.questions,
                item.judged,
                item.pooled,
                ""
                if item.due is None
                else f"{item.due}{' (late)' if item.is_overdue(today) else ''}",
                "yes" if item.done else "",
                item.next_step.said,
            )
            for item in listed
        ],
    )


@operation("work due", act="assign work")
def due(
    project: Project,
    *,
    queries: Annotated[Sequence[str], Argument(metavar="QUERY...")],
    day: Annotated[
        datetime | None, Option("--by", help="Due date. Without it, the due date is removed.")
    ] = None,
    person: Annotated[
        str | None, Option(help="Only for this person. Default: all assessors of the query.")
    ] = None,
    author: Author,
) -> str:
    """Set or remove the due date of queries."""
    records.set_due(project, queries, None if day is None else day.date(), author, person)
    return (
        f"{how_many(len(queries), 'queries')}:"
        f" {'no due date' if day is None else f'due by {day:%Y-%m-%d}'}."
    )


@operation("work done", act="mark work")
def done(
    project: Project,
    *,
    queries: Annotated[Sequence[str], Argument(metavar="QUERY...")],
    author: Author,
) -> str:
    """Mark your queries as done."""
    for query in queries:
        records.mark_done(project, query, True, author)
    return (
        f"{how_many(len(queries), 'queries')} marked as done. To undo this: exam work reopen QUERY"
    )


@operation("work reopen", act="mark work")
def reopen(
    project: Project,
    *,
    queries: Annotated[Sequence[str], Argument(metavar="QUERY...")],
    author: Author,
) -> str:
    """Mark your queries as not done."""
    for query in queries:
        records.mark_done(project, query, False, author)
    return f"{how_many(len(queries), 'queries')} reopened."


@operation("guidelines show", act="read the bank", reads=True)
def show(
    project: Project,
    *,
    query_id: Annotated[
        str | None, Option("--query", help="Also show the guidelines of this query.")
    ] = None,
) -> Output:
    """Show the guidelines of the project and of a query."""
    found = records.find_guidelines(project, query_id)
    output = Output(asdict(found))
    for text in filter(None, (found.project, found.query)):
        output.line(text)
    return output


@operation("guidelines set", act="set guidelines")
def set_(
    project: Project,
    *,
    file: Annotated[Path, Argument(file="read", exists=True, stdin=True)],
    query_id: Annotated[
        str | None, Option("--query", help="Only for this query. Default: the whole project.")
    ] = None,
    author: Author,
) -> str:
    """Set guidelines from a text FILE (- for standard input). An empty file removes them."""
    text = read_text_file(file)
    records.set_guidelines(project, text, author, query_id)
    return (
        f"Guidelines saved, {how_many(len(text.strip()), 'characters')}. The earlier"
        " version stays on record."
    )


QueryId = Annotated[str, Argument(metavar="QUERY")]
AssignmentNumber = Annotated[
    int | None,
    Option(help="Number of the assignment, if the query has several: see exam assignments list."),
]
PassageId = Annotated[str, Option("--passage", help="Id of the passage.")]
QuestionId = Annotated[
    str | None,
    Option(
        "--question",
        help="Question whose rating is adjudicated (default: the judgment of the passage).",
    ),
]


@operation("assignments add", act="assign work")
@at_most_one(passages="--passage", sample="--sample")
def assign(
    project: Project,
    *,
    query_id: QueryId,
    people: Annotated[
        Sequence[str], Option("--to", help="Name of an assessor; may be repeated.")
    ] = (),
    wanted: Annotated[
        int | None,
        Option(help="Number of assessors, at least 2; other assessors can claim free places."),
    ] = None,
    passages: Annotated[
        Sequence[str], Option("--passage", help="Only this passage; may be repeated.")
    ] = (),
    sample: Annotated[
        int | None, Option(help="Number of passages drawn at random from the pool.")
    ] = None,
    seed: Annotated[int, Option(help="Seed of the draw.")] = 1,
    adjudicator: Annotated[
        str | None, Option(help="Person who may adjudicate, besides the organizers.")
    ] = None,
    author: Author,
) -> str:
    """Assign QUERY, or some of its passages, to several assessors for blind judging."""
    chosen = (
        records.sample_of(project, query_id, sample, seed)
        if sample is not None
        else list(passages) or None
    )
    number = records.assign_double(project, query_id, author, people, wanted, chosen, adjudicator)
    return _describe_double(
        next(one for one in open_double_assignments(project) if one.key == number)
    )


@operation("assignments join", act="claim work")
def claim(
    project: Project,
    *,
    query_id: QueryId,
    number: AssignmentNumber = None,
    author: Author,
) -> str:
    """Join the double assignment of QUERY."""
    records.claim_double(project, query_id, author, number)
    return (
        f"{author} joined the double assignment of {query_id}. To leave it: exam"
        f" assignments leave {query_id}"
    )


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
    records.decline_double(project, query_id, author, reason, number)
    return (
        f"{author} is not in the double assignment of {query_id}. To join it: exam assignments"
        f" join {query_id}"
    )


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
    records.release_double(project, query_id, person, author, number)
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
    review.end_double(project, query_id, author, number)
    rest = sum(one.query_id == query_id for one in open_double_assignments(project))
    return f"Ended. Open double assignments of {query_id}: {rest:,}."


@operation("assignments list", act="read the bank", reads=True)
def list_doubles(
    project: Project,
) -> Output:
    """List open double assignments and their assessors."""
    listed = open_double_assignments(project)
    kept = ("query_id", "passages", "wanted", "adjudicator", "people", "reasons")
    records = [
        {"number": double.key} | {name: asdict(double)[name] for name in kept} for double in listed
    ]
    return Output({"doubles": records}).table(
        ("query", "number", "passages", "wanted", "assessors", "adjudicator"),
        [
            (
                double.query_id,
                double.key,
                "all" if double.passages is None else len(double.passages),
                double.wanted,
                ", ".join(double.present),
                double.adjudicator or "organizers",
            )
            for double in listed
        ],
    )


@operation("assignments agreement", act="read the bank", reads=True)
def agreement(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only this query.")] = None,
) -> Output:
    """Compare the judgments and ratings of assessors, in pairs and all together."""
    comparisons = review.between_people(project, query_id)
    return Output(
        {
            comparison.kind: {
                "n": comparison.n,
                "same": comparison.same,
                "people": comparison.people,
                "alpha": comparison.alpha.value,
                "undefined": comparison.alpha.undefined,
                "pairs": [_pair_record(pair) for pair in comparison.pairs],
            }
            for comparison in comparisons
        }
    ).table(
        ("of", "people", "n", "same", "kappa", "weighted kappa", "alpha"),
        [
            row
            for comparison in comparisons
            for row in (
                (
                    comparison.kind,
                    "all",
                    comparison.n,
                    comparison.same,
                    "",
                    "",
                    _coefficient_text(comparison.alpha),
                ),
                *(
                    (
                        comparison.kind,
                        f"{pair.left}, {pair.right}",
                        pair.n,
                        pair.same,
                        _coefficient_text(pair.kappa),
                        _coefficient_text(pair.weighted),
                        _coefficient_text(pair.alpha),
                    )
                    for pair in comparison.pairs
                ),
            )
        ],
    )


def _pair_record(pair: review.TwoPersonAgreement) -> dict[str, object]:
    numbers = {name: getattr(pair, name).value for name in ("kappa", "weighted", "alpha")}
    return {
        "people": [pair.left, pair.right],
        "n": pair.n,
        "same": pair.same,
        **numbers,
        "undefined": pair.kappa.undefined,
    }


def _coefficient_text(coefficient: measures.Coefficient) -> str:
    return "undefined" if coefficient.value is None else f"{coefficient.value:z.3f}"


def _describe_double(double: records.DoubleAssignment) -> str:
    what = "" if double.passages is None else f" ({how_many(len(double.passages), 'passages')})"
    return (
        f"{double.query_id}{what}: assigned to {', '.join(double.present) or 'no assessor yet'}."
        f" Free places: {double.free}."
    )


@operation("adjudicate list", act="adjudicate", reads=True)
def list_contested(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only this query.")] = None,
    state: Annotated[
        AdjudicationState | None,
        Option(
            help="Only this state. "
            + "; ".join((f"{name}: {about}" for name, about in ADJUDICATION_STATES.items()))
            + ".",
        ),
    ] = None,
) -> Output:
    """List judgments of several assessors and the decisions on them, undecided first."""
    rows = [
        row for row in review.contested_cases(project, query_id) if state in (None, row.standing)
    ]
    return Output({"contested": [_contested_record(row) for row in rows]}).table(
        ("state", "query", "passage", "question", "judgments", "decision"),
        [
            (
                row.standing,
                row.query_id,
                row.passage_id,
                row.question_id or "",
                ", ".join(
                    f"{name} {'–' if value is None else value}" for name, value in row.given.items()
                ),
                "" if row.decision is None else row.decision.value,
            )
            for row in rows
        ],
    )


def _contested_record(contest: review.ContestedCase) -> dict[str, object]:
    decided = contest.decision and {
        "value": contest.decision.value,
        "reason": contest.decision.reason,
        "by": contest.decision.author,
    }
    return {
        "query": contest.query_id,
        "passage": contest.passage_id,
        "question": contest.question_id,
        "given": dict(contest.given),
        "state": contest.standing,
        "decision": decided,
    }


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
    review.decide_case(project, (query_id, passage_id, question_id), value, reason, author)
    return "Decided. To withdraw the decision: exam adjudicate undo"


@operation("adjudicate accept", act="adjudicate")
def accept(
    project: Project,
    *,
    query_id: QueryId,
    author: Author,
) -> str:
    """Accept all equal judgments for QUERY that have no decision yet."""
    return f"Recorded: {how_many(review.accept_agreed(project, query_id, author), 'decisions')}."


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
    review.undo_decision(project, (query_id, passage_id, question_id), author)
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
    stated = review.list_decisions(project, (query_id, passage_id, question_id))
    return Output(
        {
            "decisions": [
                asdict(decision) | {"stated_at": f"{decision.stated_at:%Y-%m-%dT%H:%M:%S}"}
                for decision in stated
            ]
        }
    ).table(
        ("when", "who", "value", "reason"),
        [
            (
                f"{decision.stated_at:%Y-%m-%d %H:%M}",
                decision.author,
                "withdrawn" if decision.value is None else decision.value,
                decision.reason,
            )
            for decision in stated
        ],
    )
