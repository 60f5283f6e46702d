"""The command that finds passages."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import click

from ..errors import InputError
from ..labels import Policy
from ..project import find_source, pooled_queries, run_names, sources
from ..review import NONE, Filters, State, search
from .options import Whole, json_option, opened, print_json, print_table, project_option, tell
from .policy import policy_options


class _Value(click.ParamType[int | Literal["none"]]):
    """A number, or `none` for passages that have none."""

    name = "value"

    def convert(
        self, value: Any, option: click.Parameter | None, context: click.Context | None
    ) -> int | Literal["none"]:
        return NONE if value == NONE else Whole().convert(value, option, context)


@click.command()
@project_option
@click.argument("words", default="")
@click.option("--query", "query_id", help="Of this query.")
@click.option("--label-is", "has_label", type=_Value(), metavar="LABEL|none", help="With this label.")
@click.option("--rating", type=click.IntRange(0, 5), help="With this rating of any active question.")
@click.option(
    "--source", help="The judgments that are shown, and that --judgment and --flagged mean; the first source else."
)
@click.option("--judgment", type=_Value(), metavar="VALUE|none", help="Judged so.")
@click.option("--flagged", is_flag=True, help="Whose label and judgment disagree on relevance.")
@click.option("--unjudged-by", metavar="SOURCE", help="That this source has not judged.")
@click.option("--assigned-to", metavar="NAME", help="That this person judges beside others, in a double assignment.")
@click.option("--run", help="Among the first passages of this run.")
@click.option("--depth", type=Whole(1), default=10, show_default=True, help="How many of the run.")
@click.option("--state", type=click.Choice(get_args(State)), help="Whether pairs failed, are ungraded, or all rated.")
@click.option("--overridden", is_flag=True, help="For which a person's rating counts.")
@click.option("--speaking", is_flag=True, help="Whose text speaks to the grader.")
@click.option("--limit", type=Whole(1), default=20, show_default=True, help="Passages a page.")
@click.option("--page", type=Whole(1), default=1, show_default=True)
@policy_options
@json_option
def passages(
    project_path: Path | None,
    words: str,
    query_id: str | None,
    has_label: int | Literal["none"] | None,
    rating: int | None,
    source: str | None,
    judgment: int | Literal["none"] | None,
    flagged: bool,
    unjudged_by: str | None,
    assigned_to: str | None,
    run: str | None,
    depth: int,
    state: State | None,
    overridden: bool,
    speaking: bool,
    limit: int,
    page: int,
    policy: Policy,
    as_json: bool,
) -> None:
    """Find pooled passages, by WORDS in their text or by their id, and by what is known of them."""
    with opened(project_path) as project:
        if query_id is not None and query_id not in pooled_queries(project):
            raise InputError(
                "no-pooled-passages", f"The pool has no passage of a query {query_id}.", "See exam status."
            )
        if run is not None and run not in run_names(project):
            raise InputError("unknown-run", f"There is no run {run}.", "See exam leaderboard.")
        if judgment is not None or flagged or source is not None:
            source = find_source(project, source or "judgments")
        else:
            source = next(iter(sources(project)), None)
        if unjudged_by is not None:
            unjudged_by = find_source(project, unjudged_by)
        filters = Filters(
            query_id, words, has_label, rating, source, judgment, run, depth, state, flagged, overridden, unjudged_by,
            assigned_to, speaking,
        )  # fmt: skip
        found = search(project, policy, filters, limit, page)
    if as_json:
        print_json({"total": found.total, "page": found.page, "passages": [asdict(row) for row in found.rows]})
        return
    print_table(
        ("query", "passage", "label", "judgment", "failed", "ungraded", "text"),
        [
            (row.query_id, row.passage_id, row.label, row.judgment, row.failed, row.ungraded, row.excerpt)
            for row in found.rows
        ],
    )
    judged = "" if source is None else f" Judgments are those of {source}."
    tell(f"Page {found.page}: {len(found.rows):,} of {found.total:,} passages.{judged}")
