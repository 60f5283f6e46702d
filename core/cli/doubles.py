"""Commands for what several people judge blindly: assigning, claiming, how well they agree, deciding what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click

from ..measures import Coefficient
from ..project import (
    Double,
    Project,
    assign_double,
    claim_double,
    decline_double,
    doubles,
    release_double,
    sample_of,
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
    undo_decision,
)
from ..text import how_many
from .options import (
    Whole,
    author_option,
    json_option,
    opened,
    project_option,
)
from .printing import Output, on_project, printed

_QUERY = click.argument("query_id", metavar="QUERY")
_NUMBER = click.option(
    "--number", type=Whole(), help="Number of the assignment, if the query has several: see exam double list."
)
_PASSAGE = click.option("--passage", "passage_id", required=True, help="Id of the passage.")
_QUESTION = click.option(
    "--question", "question_id", help="Id of the question whose rating is meant (default: judgment of the passage)."
)


@click.group()
def double() -> None:
    """Assign queries to several assessors who judge them blindly."""


@double.command()
@_QUERY
@project_option
@click.option("--to", "people", multiple=True, help="Name of an assessor; may be repeated.")
@click.option("--wanted", type=int, help="Number of assessors, at least 2; other assessors can claim free places.")
@click.option("--passage", "passages", multiple=True, help="Only this passage; may be repeated.")
@click.option("--sample", type=int, help="Number of passages drawn at random from the pool.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the draw.")
@click.option("--adjudicator", help="Person who may adjudicate, besides the organizers.")
@author_option
@printed
def assign(
    query_id: str,
    project_path: Path | None,
    people: Sequence[str],
    wanted: int | None,
    passages: Sequence[str],
    sample: int | None,
    seed: int,
    adjudicator: str | None,
    author: str,
) -> str:
    """Assign QUERY, or some of its passages, to several assessors for blind judging."""
    if passages and sample is not None:
        raise click.UsageError("--passage and --sample cannot be combined. Use one of them.")
    with opened(project_path) as project:
        chosen = sample_of(project, query_id, sample, seed) if sample is not None else list(passages) or None
        number = assign_double(project, query_id, author, people, wanted, chosen, adjudicator)
        return _said(next(one for one in doubles(project) if one.key == number))


@double.command()
@_QUERY
@_NUMBER
@project_option
@author_option
@on_project
def claim(query_id: str, number: int | None, project: Project, author: str) -> str:
    """Join the double assignment of QUERY."""
    claim_double(project, query_id, author, number)
    return f"{author} joined the double assignment of {query_id}. To leave it: exam double decline {query_id}"


@double.command()
@_QUERY
@_NUMBER
@project_option
@click.option("--reason", default="", help="Reason, shown to organizers.")
@author_option
@on_project
def decline(query_id: str, number: int | None, project: Project, reason: str, author: str) -> str:
    """Decline or leave the double assignment of QUERY."""
    decline_double(project, query_id, author, reason, number)
    return f"{author} is not in the double assignment of {query_id}. To join it: exam double claim {query_id}"


@double.command()
@_QUERY
@_NUMBER
@project_option
@click.option("--person", required=True, help="Name of the assessor.")
@author_option
@on_project
def release(query_id: str, number: int | None, project: Project, person: str, author: str) -> str:
    """Remove an assessor from the double assignment of QUERY."""
    release_double(project, query_id, person, author, number)
    return f"Removed {person} from the double assignment of {query_id}."


@double.command()
@_QUERY
@_NUMBER
@project_option
@author_option
@on_project
def end(query_id: str, number: int | None, project: Project, author: str) -> str:
    """End the double assignment of QUERY. All its judgments become visible and count."""
    end_double(project, query_id, author, number)
    rest = sum(one.query_id == query_id for one in doubles(project))
    return f"Ended. Open double assignments of {query_id}: {rest:,}."


@double.command(name="list")
@project_option
@json_option
@on_project
def list_doubles(project: Project) -> Output:
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


@double.command()
@project_option
@click.option("--query", "query_id", help="Only this query.")
@json_option
@on_project
def agreement(project: Project, query_id: str | None) -> Output:
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


@click.group()
def adjudicate() -> None:
    """Adjudicate passages and questions with judgments of several assessors."""


@adjudicate.command(name="list")
@project_option
@click.option("--query", "query_id", help="Only this query.")
@click.option("--state", type=click.Choice(get_args(Standing)), help="Only this state. " + "; ".join(
    f"{name}: {about}" for name, about in STANDINGS.items()) + ".")  # fmt: skip
@json_option
@on_project
def list_contested(project: Project, query_id: str | None, state: Standing | None) -> Output:
    """List judgments of several assessors, and the decisions; undecided ones first."""
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


@adjudicate.command(name="decide")
@_QUERY
@_PASSAGE
@_QUESTION
@click.option("--value", type=int, required=True, help="0 to 3 for a judgment, 0 to 5 for a rating.")
@click.option("--reason", required=True, help="Reason of the decision.")
@project_option
@author_option
@on_project
def decide_one(
    query_id: str, passage_id: str, question_id: str | None, value: int, reason: str, project: Project,
    author: str,
) -> str:  # fmt: skip
    """Adjudicate a passage of QUERY, or one of its questions. Only the decision counts."""
    decide(project, (query_id, passage_id, question_id), value, reason, author)
    return "Decided. To withdraw the decision: exam adjudicate undo"


@adjudicate.command()
@_QUERY
@project_option
@author_option
@on_project
def accept(query_id: str, project: Project, author: str) -> str:
    """Accept all equal judgments for QUERY that have no decision yet."""
    return f"Recorded: {how_many(accept_agreed(project, query_id, author), 'decisions')}."


@adjudicate.command()
@_QUERY
@_PASSAGE
@_QUESTION
@project_option
@author_option
@on_project
def undo(query_id: str, passage_id: str, question_id: str | None, project: Project, author: str) -> str:
    """Withdraw the decision on a passage of QUERY, or on one of its questions."""
    undo_decision(project, (query_id, passage_id, question_id), author)
    return "Withdrawn. Adjudication is open again."


@adjudicate.command()
@_QUERY
@_PASSAGE
@_QUESTION
@project_option
@json_option
@on_project
def history(query_id: str, passage_id: str, question_id: str | None, project: Project) -> Output:
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
