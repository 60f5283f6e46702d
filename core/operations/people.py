"""Commands for people's overrides and judgments of single passages."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Annotated

from .. import labels
from ..labels import overrides, write_withdrawal
from ..records import (
    assessed,
    blind_judgments,
    for_confirming,
    hold_out,
    judging,
    judgments,
    set_hold_out,
    source_of,
    sources,
)
from ..store import Project
from ..text import how_many
from .registry import Argument, Author, Option, Output, operation


@operation("overrides set", act="override ratings")
def set_override(
    project: Project,
    *,
    question_id: Annotated[str, Argument(metavar="QUESTION")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    rating: Annotated[int, Argument()],
    reason: Annotated[str, Option(help="Why the grader's rating is wrong.")],
    author: Author,
) -> Output:
    """Override the grader's rating of how well PASSAGE answers QUESTION, from 0 to 5."""
    key = labels.override(project, question_id, passage_id, rating, reason, author)
    return Output({"override": key}).note(f"Saved override {key}. To withdraw it: exam overrides withdraw {key}")


@operation("overrides withdraw", act="override ratings")
def withdraw(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="OVERRIDE...")],
    author: Author,
) -> str:
    """Withdraw overrides. The grader's ratings count again, and the history keeps the overrides."""
    with project.transaction() as cursor:
        for key in keys:
            write_withdrawal(cursor, key, author)
    return f"Withdrew {how_many(len(keys), 'overrides')}."


@operation("overrides confirm", act="override ratings")
def confirm(
    project: Project,
    *,
    keys: Annotated[tuple[int, ...], Argument(metavar="OVERRIDE...")],
    author: Author,
) -> str:
    """Confirm overrides for the new wording of a reworded question."""
    for key in keys:
        labels.confirm(project, key, author)
    return f"Confirmed {how_many(len(keys), 'overrides')} for the current wording."


@operation("overrides list", act="read the bank", reads=True)
def list_overrides(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only overrides of this query.")] = None,
    who: Annotated[str | None, Option(help="Only overrides by this person.", metavar="NAME")] = None,
    stale: Annotated[bool, Option(help="Only overrides whose question was reworded later.")] = False,
) -> Output:
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
            f"To confirm the stale overrides: exam overrides confirm {shlex.join(waiting)}. You can also withdraw them."
        )
    return output


@operation("judgments set", act="judge passages")
def set_judgment(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    value: Annotated[int, Argument()],
    note: Annotated[str, Option(help="Reason for the judgment, kept in the history.")] = "",
    author: Author,
) -> str:
    """Judge PASSAGE for QUERY, from 0 to 3. This replaces your earlier judgment."""
    judging.judge(project, query_id, passage_id, value, author, note)
    return f"Saved judgment {value} under source '{source_of(author)}'."


@operation("judgments withdraw", act="judge passages")
def withdraw_judgment(
    project: Project,
    *,
    query_id: Annotated[str, Argument(metavar="QUERY")],
    passage_id: Annotated[str, Argument(metavar="PASSAGE")],
    author: Author,
) -> str:
    """Withdraw your judgment of PASSAGE for QUERY. The history keeps it."""
    judging.withdraw(project, query_id, passage_id, author)
    return "Judgment withdrawn."


@operation("judgments list", act="read the bank", reads=True)
def list_judgments(
    project: Project,
    *,
    query_id: Annotated[str | None, Option("--query", help="Only judgments of this query.")] = None,
    who: Annotated[str | None, Option(help="Only judgments by this assessor.", metavar="NAME")] = None,
) -> Output:
    """List the judgments that assessors made in this project, with the first blind one of each passage.

    To get imported judgments, use exam export qrels.
    """
    found = assessed(project, query_id, who)
    blind = {name: blind_judgments(project, name) for name in {one.author for one in found}}
    first = [blind[one.author].get((one.query_id, one.passage_id)) for one in found]
    listed = [asdict(one) | {"first_blind": value} for one, value in zip(found, first, strict=True)]
    return Output({"judgments": listed}).table(
        ("assessor", "query", "passage", "value", "first blind"),
        [(one.author, one.query_id, one.passage_id, one.value, value) for one, value in zip(found, first, strict=True)],
    )


@operation("judgments hold-out", act="organize", reads=lambda given: given["share"] is None)
def hold_out_judgments(
    project: Project,
    *,
    share: Annotated[
        float | None,
        Option(help="Hold out this share of the judgments of each query; 0 for none.", metavar="SHARE"),
    ] = None,
    seed: Annotated[int | None, Option(help="Seed of the random choice (default: a random seed).")] = None,
    author: Author,
) -> Output:
    """Show which judgments are held out from the impact of edits, or hold out a random share.

    exam agreement --held-out reports the agreement on them.
    """
    found = hold_out(project) if share is None else set_hold_out(project, share, author, seed)
    if found is None:
        return Output({"hold_out": None}).line("No judgments are held out.")
    held = for_confirming(project)
    counts = {} if held is None else {name: sum(map(len, judgments(held, name).values())) for name in sources(held)}
    output = Output({"hold_out": asdict(found), "held_out": counts})
    output.line(f"Share: {found.share:g}. Seed: {found.seed}. Set at bank version {found.version}.")
    return output.table(("source", "held out"), list(counts.items()))
