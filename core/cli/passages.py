"""The command that finds passages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, get_args

import click

from ..errors import InputError, unknown_name
from ..labels import Policy
from ..project import Project, find_source, pooled_queries, run_names, sources
from ..review import NONE, Filters, State, search
from .options import Whole, json_option, project_option
from .policy import policy_options
from .printing import Output, on_project


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
@click.option("--query", "query_id", help="Only passages of this query.")
@click.option("--label-is", "has_label", type=_Value(), metavar="LABEL|none", help="Only passages with this label.")
@click.option("--rating", type=click.IntRange(0, 5), help="Only passages with this rating for any active question.")
@click.option(
    "--source", help="Judgment source to show; --judgment and --flagged use it too (default: the first source)."
)
@click.option("--judgment", type=_Value(), metavar="VALUE|none", help="Only passages with this judgment.")
@click.option("--flagged", is_flag=True, help="Only passages whose label and judgment disagree on relevance.")
@click.option("--unjudged-by", metavar="SOURCE", help="Only passages that this source has not judged.")
@click.option("--assigned-to", metavar="NAME", help="Only passages assigned to this person in a double assignment.")
@click.option("--run", help="Only top passages of this run.")
@click.option("--depth", type=Whole(1), default=10, show_default=True, help="Number of top passages of the run.")
@click.option(
    "--state", type=click.Choice(get_args(State)), help="Only passages with this grading state of their pairs."
)
@click.option("--overridden", is_flag=True, help="Only passages with an override.")
@click.option("--speaking", is_flag=True, help="Only passages with instructions to the grader in their text.")
@click.option("--limit", type=Whole(1), default=20, show_default=True, help="Passages per page.")
@click.option("--page", type=Whole(1), default=1, show_default=True, help="Page number.")
@policy_options
@json_option
@on_project
def passages(
    project: Project,
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
) -> Output:
    """List pooled passages with WORDS in their text or id. Options narrow the list."""
    if query_id is not None and query_id not in pooled_queries(project):
        raise InputError("no-pooled-passages", f"No pooled passages for query '{query_id}'.", "See exam status.")
    if run is not None and run not in run_names(project):
        raise unknown_name("unknown-run", "run", run, run_names(project))
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
    output = Output({"total": found.total, "page": found.page, "passages": [asdict(row) for row in found.rows]}).table(
        ("query", "passage", "label", "judgment", "failed", "ungraded", "text"),
        [
            (row.query_id, row.passage_id, row.label, row.judgment, row.failed, row.ungraded, row.excerpt)
            for row in found.rows
        ],
    )
    judged = "" if source is None else f" Source of the judgments: {source}."
    return output.note(f"Page {found.page}: {len(found.rows):,} of {found.total:,} passages.{judged}")
