"""Commands for what several people judge blindly: assigning, claiming, how well they agree, deciding what differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click

from core.cli.options import (
    Whole,
    author_option,
    json_option,
    opened,
    print_json,
    print_rows,
    print_table,
    project_option,
    tell,
)
from core.measures import Coefficient
from core.project import (
    Double,
    assign_double,
    claim_double,
    decline_double,
    doubles,
    release_double,
    sample_of,
)
from core.review import (
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
from core.text import how_many

_QUERY = click.argument("query_id", metavar="QUERY")
_NUMBER = click.option("--number", type=Whole(), help="Which one, where the query has several: see exam double list.")
_PASSAGE = click.option("--passage", "passage_id", required=True, help="Id of the passage.")
_QUESTION = click.option("--question", "question_id", help="Id of the question whose rating is meant; else judgments.")


@click.group()
def double() -> None:
    """Queries that several people judge without seeing what the others give."""


@double.command()
@_QUERY
@project_option
@click.option("--to", "people", multiple=True, help="Ask this person, by name; can be given repeatedly.")
@click.option("--wanted", type=int, help="How many are to judge; others may claim what is free. 2 at least.")
@click.option("--passage", "passages", multiple=True, help="Only this passage; can be given repeatedly.")
@click.option("--sample", type=int, help="Only so many passages of the pool, drawn at random.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the draw.")
@click.option("--adjudicator", help="Who may decide what differs, beside the organizers.")
@author_option
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
) -> None:
    """Let several people judge QUERY, or some of its passages, blindly."""
    if passages and sample is not None:
        raise click.UsageError("--passage and --sample exclude each other.")
    with opened(project_path) as project:
        chosen = sample_of(project, query_id, sample, seed) if sample is not None else list(passages) or None
        number = assign_double(project, query_id, author, people, wanted, chosen, adjudicator)
        tell(_said(next(one for one in doubles(project) if one.key == number)))


@double.command()
@_QUERY
@_NUMBER
@project_option
@author_option
def claim(query_id: str, number: int | None, project_path: Path | None, author: str) -> None:
    """Take part in the double assignment of QUERY."""
    with opened(project_path) as project:
        claim_double(project, query_id, author, number)
    tell(f"{author} judges {query_id} blindly. To take that back: exam double decline {query_id}")


@double.command()
@_QUERY
@_NUMBER
@project_option
@click.option("--reason", default="", help="Why; organizers see it.")
@author_option
def decline(query_id: str, number: int | None, project_path: Path | None, reason: str, author: str) -> None:
    """Take no part, or no longer, in the double assignment of QUERY."""
    with opened(project_path) as project:
        decline_double(project, query_id, author, reason, number)
    tell(f"{author} takes no part in {query_id}. To take that back: exam double claim {query_id}")


@double.command()
@_QUERY
@_NUMBER
@project_option
@click.option("--person", required=True, help="Their name.")
@author_option
def release(query_id: str, number: int | None, project_path: Path | None, person: str, author: str) -> None:
    """Let somebody take part no longer in the double assignment of QUERY."""
    with opened(project_path) as project:
        release_double(project, query_id, person, author, number)
    tell(f"{person} takes no part in {query_id} any more.")


@double.command()
@_QUERY
@_NUMBER
@project_option
@author_option
def end(query_id: str, number: int | None, project_path: Path | None, author: str) -> None:
    """End the double assignment of QUERY: what everybody gave is open, and counts as anywhere else."""
    with opened(project_path) as project:
        end_double(project, query_id, author, number)
        rest = sum(one.query_id == query_id for one in doubles(project))
    left = f"in {how_many(rest, 'double assignments')} still" if rest else "not doubly assigned any more"
    tell(f"{query_id} is {left}.")


@double.command(name="list")
@project_option
@json_option
def list_doubles(project_path: Path | None, as_json: bool) -> None:
    """List the double assignments that are open, and who takes part."""
    with opened(project_path) as project:
        found = doubles(project)
    if as_json:
        kept = ("query_id", "passages", "wanted", "adjudicator", "people", "reasons")
        print_json({"doubles": [{"number": one.key} | {name: asdict(one)[name] for name in kept} for one in found]})
        return
    print_table(
        ("query", "number", "passages", "wanted", "take part", "adjudicator"),
        [
            (one.query_id, one.key, "all" if one.passages is None else len(one.passages), one.wanted,
             ", ".join(one.present), one.adjudicator or "organizers")
            for one in found
        ],
    )  # fmt: skip


@double.command()
@project_option
@click.option("--query", "query_id", help="In this query alone.")
@json_option
def agreement(project_path: Path | None, query_id: str | None, as_json: bool) -> None:
    """How well people agree where two or more of them judged or rated the same: each pair, and all together."""
    with opened(project_path) as project:
        found = between_people(project, query_id)
    print_rows(
        as_json,
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
        },
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
    free = f", {one.free} may claim it" if one.free else ""
    return f"{one.query_id}{what} is judged blindly by {', '.join(one.present) or 'nobody yet'}{free}."


@click.group()
def adjudicate() -> None:
    """Decide what counts where several people gave something for the same."""


@adjudicate.command(name="list")
@project_option
@click.option("--query", "query_id", help="In this query alone.")
@click.option("--state", type=click.Choice(get_args(Standing)), help="Only what stands so: " + "; ".join(
    f"{name}: {about}" for name, about in STANDINGS.items()) + ".")  # fmt: skip
@json_option
def list_contested(project_path: Path | None, query_id: str | None, state: Standing | None, as_json: bool) -> None:
    """List what several people gave for the same, and what was decided: what awaits a decision first."""
    with opened(project_path) as project:
        found = [one for one in contested(project, query_id) if state in (None, one.standing)]
    print_rows(
        as_json,
        {"contested": [_shown(one) for one in found]},
        ("state", "query", "passage", "question", "given", "decided"),
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
@click.option("--reason", required=True, help="Why.")
@project_option
@author_option
def decide_one(
    query_id: str, passage_id: str, question_id: str | None, value: int, reason: str, project_path: Path | None,
    author: str,
) -> None:  # fmt: skip
    """Decide on one passage of QUERY, or on one of its questions: the decision is what counts."""
    with opened(project_path) as project:
        decide(project, (query_id, passage_id, question_id), value, reason, author)
    tell("Decided. To take that back: exam adjudicate undo")


@adjudicate.command()
@_QUERY
@project_option
@author_option
def accept(query_id: str, project_path: Path | None, author: str) -> None:
    """Decide on QUERY what all gave alike, wherever nobody has decided yet."""
    with opened(project_path) as project:
        tell(f"{how_many(accept_agreed(project, query_id, author), 'decisions')} made.")


@adjudicate.command()
@_QUERY
@_PASSAGE
@_QUESTION
@project_option
@author_option
def undo(query_id: str, passage_id: str, question_id: str | None, project_path: Path | None, author: str) -> None:
    """Take the decision back that stands on a passage of QUERY or one of its questions."""
    with opened(project_path) as project:
        undo_decision(project, (query_id, passage_id, question_id), author)
    tell("It awaits adjudication again.")


@adjudicate.command()
@_QUERY
@_PASSAGE
@_QUESTION
@project_option
@json_option
def history(query_id: str, passage_id: str, question_id: str | None, project_path: Path | None, as_json: bool) -> None:
    """Everything that was decided and taken back on a passage of QUERY or one of its questions, newest first."""
    with opened(project_path) as project:
        found = decisions(project, (query_id, passage_id, question_id))
    print_rows(
        as_json,
        {"decisions": [asdict(one) | {"stated_at": f"{one.stated_at:%Y-%m-%dT%H:%M:%S}"} for one in found]},
        ("when", "who", "value", "reason"),
        [
            (
                f"{one.stated_at:%Y-%m-%d %H:%M}",
                one.author,
                "taken back" if one.value is None else one.value,
                one.reason,
            )
            for one in found
        ],
    )
