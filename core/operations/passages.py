"""The command that finds passages."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal, get_args

from ..errors import InputError, unknown_name
from ..records import find_source, pooled_queries, run_names, sources
from ..review import NONE, Filters, State, search
from ..store import Project
from ..text import one_line
from .describing import LARGEST, Argument, Option
from .output import Output
from .policy import PolicyOptions
from .registry import operation


def _number_or_none(text: str) -> int | Literal["none"]:
    """Return a number, or `none` for passages without a value."""
    if text == NONE:
        return NONE
    if not text.lstrip("-").isdecimal() or abs(int(text)) > LARGEST:
        raise InputError("invalid-value", f"Invalid value '{one_line(text, 40)}'.", "Use a whole number or none.")
    return int(text)


@operation("passages", act="read the bank", reads=True)
def passages(
    project: Project,
    *,
    words: Annotated[str, Argument()] = "",
    query_id: Annotated[str | None, Option("--query", help="Only passages of this query.")] = None,
    has_label: Annotated[
        int | Literal["none"] | None,
        Option("--label-is", help="Only passages with this label.", parse=_number_or_none, metavar="LABEL|none"),
    ] = None,
    rating: Annotated[
        int | None, Option(help="Only passages with this rating for any active question.", least=0, most=5)
    ] = None,
    source: Annotated[
        str | None,
        Option(help="Judgment source to show; --judgment and --flagged use it too (default: the first source)."),
    ] = None,
    judgment: Annotated[
        int | Literal["none"] | None,
        Option(help="Only passages with this judgment.", parse=_number_or_none, metavar="VALUE|none"),
    ] = None,
    flagged: Annotated[bool, Option(help="Only passages whose label and judgment disagree on relevance.")] = False,
    unjudged_by: Annotated[
        str | None, Option(help="Only passages that this source has not judged.", metavar="SOURCE")
    ] = None,
    assigned_to: Annotated[
        str | None, Option(help="Only passages assigned to this person in a double assignment.", metavar="NAME")
    ] = None,
    run: Annotated[str | None, Option(help="Only top passages of this run.")] = None,
    depth: Annotated[int, Option(help="Number of top passages of the run.", least=1)] = 10,
    state: Annotated[
        State | None, Option(help="Only passages with this grading state of their pairs.", choices=get_args(State))
    ] = None,
    overridden: Annotated[bool, Option(help="Only passages with an override.")] = False,
    speaking: Annotated[bool, Option(help="Only passages with instructions to the grader in their text.")] = False,
    limit: Annotated[int, Option(help="Passages per page.", least=1)] = 20,
    page: Annotated[int, Option(help="Page number.", least=1)] = 1,
    policy: PolicyOptions,
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
