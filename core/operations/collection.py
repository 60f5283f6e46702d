"""Commands about a collection: its runs, responses, gold passages and pooled passages, and cached
vectors.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from .. import audit, bank, grading, records, review
from ..choices import GradingState
from ..errors import InputError, check_known
from ..text import how_many, one_line
from .policy import PolicyOptions
from .registry import (
    LARGEST,
    Argument,
    Author,
    Option,
    Output,
    Project,
    TextOutput,
    at_most_one,
    current_author,
    exactly_one,
    operation,
)


@operation("pool", act="organize", reads=lambda given: given["depth"] is None)
def pool(
    project: Project,
    *,
    depth: Annotated[
        int | None,
        Option(
            help="Set the pool depth (passages per run and query) and rebuild the pool.", least=1
        ),
    ] = None,
) -> Output:
    """Show the pool depth and the number of pooled passages, or set the depth."""
    if depth is not None:
        with project.transaction() as cursor:
            records.set_pool_depth(cursor, depth, current_author())
    counts = {
        "depth": project.read(records.pool_depth),
        "passages": bank.project_counts(project)["pooled passages"],
    }
    return Output(counts).table(("what", "count"), list(counts.items()))


@operation("vectors", act="organize", reads=lambda given: not given["drop"])
def vectors(
    project: Project,
    *,
    drop: Annotated[bool, Option(help="Delete all vectors; grading computes them again.")] = False,
) -> Output:
    """Count the cached vectors of the embedding grader, or delete them.

    Without this cache, reworded questions are graded more slowly. The ratings are the same.
    """
    dropped = grading.drop_vectors(project) if drop else 0
    cached = grading.count_vectors(project)
    output = Output({"dropped": dropped, "vectors": [asdict(row) for row in cached]})
    if drop:
        return output.note(
            f"Deleted the vectors of {how_many(dropped, 'texts')}. The file reuses"
            " their space as it grows."
        )
    if not cached:
        return output.note(
            "No cached vectors. The embedding grader has not graded in this project yet."
        )
    return output.table(
        ("kind", "texts", "size", "encoder"),
        [(row.role, row.texts, f"{row.size / 1e6:.1f} MB", row.encoder) for row in cached],
    )


@operation("runs list", act="see boards", reads=True)
def list_runs(
    project: Project,
) -> Output:
    """List runs with their size and model families."""
    stated, sizes = records.stated_families(project, "run"), records.run_sizes(project)
    rows = [
        {"run": run, "queries": queries, "passages": passages, "families": stated.get(run)}
        for run, queries, passages in sizes
    ]
    words = {run: ", ".join(families) or "no model" for run, families in stated.items()}
    return Output({"runs": rows}).table(
        ("run", "queries", "passages", "model families"),
        [(*size, words.get(size[0])) for size in sizes],
    )


@operation("runs families", act="organize")
@exactly_one("option-missing", "Use --family NAME, or --none.", families="--family", none="--none")
def families(
    project: Project,
    *,
    names: Annotated[tuple[str, ...], Argument(metavar="[RUN]...")] = (),
    families: Annotated[
        tuple[str, ...],
        Option("--family", help="A model family, such as gpt or llama; may be repeated."),
    ] = (),
    none: Annotated[bool, Option(help="No language model is used.")] = False,
    questions: Annotated[
        bool, Option(help="Set the families of the questions in the bank.")
    ] = False,
    grader: Annotated[str | None, Option(help="Set the families of this grader.")] = None,
    author: Author,
) -> TextOutput:
    """Set the model families of RUNs, of the questions, or of a grader."""
    if not (names or questions or grader):
        raise InputError(
            "option-missing",
            "No runs, questions or grader given.",
            "Name runs, or use --questions or --grader NAME.",
        )
    for name in names:
        records.state_families(project, "run", name, families, author)
    if questions:
        records.state_families(project, "questions", "", families, author)
    if grader is not None:
        records.state_families(
            project, "grader", bank.find_grader(project, grader).spec.fingerprint, families, author
        )
    return TextOutput().note(
        *(f"warning: {warning}" for warning in audit.find_circularity(project).warnings)
    )


@operation("responses", act="read the bank", reads=True)
def responses(
    project: Project,
) -> Output:
    """List the systems with imported responses, and the length and citations of the responses."""
    systems = records.response_runs(project)
    return Output({"runs": [vars(run) for run in systems]}).table(
        (
            "run",
            "responses",
            "words per response",
            "passages",
            "sentences",
            "sentences with citations",
        ),
        [
            (r.run, r.responses, round(r.words / r.responses), r.passages, r.sentences, r.cited)
            for r in systems
        ],
    )


@operation("gold", act="organize", reads=lambda given: given["run"] is None and (not given["none"]))
@at_most_one(run="RUN", none="--none")
def gold(
    project: Project,
    *,
    run: Annotated[str | None, Argument()] = None,
    none: Annotated[bool, Option(help="Use no run as gold passages.")] = False,
) -> Output:
    """Show the gold passages, or use the pooled passages of RUN as gold.

    To import gold passages, use exam import responses --gold.
    """
    if run is not None or none:
        records.mark_gold(project, run, current_author())
    name, texts = records.gold_name(project), records.gold_texts(project)
    lengths = {query_id: records.count_words(text) for query_id, text in texts.items()}
    output = Output(
        {
            "gold": name,
            "queries": [{"query": query_id, "words": n} for query_id, n in lengths.items()],
        }
    )
    if name is None:
        return output.note("No gold passages yet.")
    return output.note(f"Gold passages: {name}.").table(("query", "words"), list(lengths.items()))


def _number_or_none(text: str) -> int | Literal["none"]:
    """Return a number, or `none` for passages without a value."""
    if text == review.NONE:
        return review.NONE
    if (
        not text.isascii()
        or not text.removeprefix("-").isdecimal()
        # `int` refuses very long numbers.
        or len(text) > len(str(-LARGEST))
        or abs(int(text)) > LARGEST
    ):
        raise InputError(
            "invalid-value", f"Invalid value '{one_line(text, 40)}'.", "Use a whole number or none."
        )
    return int(text)


@operation("passages", act="read the bank", reads=True)
def passages(
    project: Project,
    *,
    words: Annotated[str, Argument()] = "",
    query_id: Annotated[str | None, Option("--query", help="Only passages of this query.")] = None,
    has_label: Annotated[
        int | Literal["none"] | None,
        Option(
            "--label-is",
            help="Only passages with this label.",
            parse=_number_or_none,
            metavar="LABEL|none",
        ),
    ] = None,
    rating: Annotated[
        int | None,
        Option(help="Only passages with this rating for any active question.", least=0, most=5),
    ] = None,
    source: Annotated[
        str | None,
        Option(
            help=(
                "Judgment source to show; --judgment and --flagged use it too"
                " (default: the first source)."
            )
        ),
    ] = None,
    judgment: Annotated[
        int | Literal["none"] | None,
        Option(
            help="Only passages with this judgment.", parse=_number_or_none, metavar="VALUE|none"
        ),
    ] = None,
    flagged: Annotated[
        bool, Option(help="Only passages whose label and judgment disagree on relevance.")
    ] = False,
    unjudged_by: Annotated[
        str | None, Option(help="Only passages that this source has not judged.", metavar="SOURCE")
    ] = None,
    assigned_to: Annotated[
        str | None,
        Option(
            help="Only passages assigned to this person in a double assignment.", metavar="NAME"
        ),
    ] = None,
    run: Annotated[str | None, Option(help="Only top passages of this run.")] = None,
    depth: Annotated[int, Option(help="Number of top passages of the run.", least=1)] = 10,
    state: Annotated[
        GradingState | None,
        Option(
            help="Only passages with this grading state of their pairs.",
        ),
    ] = None,
    overridden: Annotated[bool, Option(help="Only passages with an override.")] = False,
    speaking: Annotated[
        bool, Option(help="Only passages with instructions to the grader in their text.")
    ] = False,
    limit: Annotated[int, Option(help="Passages per page.", least=1)] = 20,
    page: Annotated[int, Option(help="Page number.", least=1)] = 1,
    policy: PolicyOptions,
) -> Output:
    """List pooled passages with WORDS in their text or id. Options narrow the list."""
    if query_id is not None and query_id not in records.pooled_queries(project):
        raise InputError(
            "no-pooled-passages", f"No pooled passages for query '{query_id}'.", "See exam status."
        )
    check_known("unknown-run", "run", records.run_names(project), run)
    if judgment is not None or flagged or source is not None:
        source = records.find_source(project, source or "judgments")
    else:
        source = next(iter(records.judgment_sources(project)), None)
    if unjudged_by is not None:
        unjudged_by = records.find_source(project, unjudged_by)
    filters = review.Filters(
        query_id,
        words,
        has_label,
        rating,
        source,
        judgment,
        run,
        depth,
        state,
        flagged,
        overridden,
        unjudged_by,
        assigned_to,
        speaking,
    )
    result = review.search_passages(project, policy, filters, limit, page)
    output = Output(
        {
            "total": result.total,
            "page": result.page,
            "passages": [asdict(row) for row in result.rows],
        }
    ).table(
        ("query", "passage", "label", "judgment", "failed", "ungraded", "text"),
        [
            (
                row.query_id,
                row.passage_id,
                row.label,
                row.judgment,
                row.failed,
                row.ungraded,
                row.excerpt,
            )
            for row in result.rows
        ],
    )
    judged = "" if source is None else f" Source of the judgments: {source}."
    return output.note(
        f"Page {result.page}: {len(result.rows):,} of {result.total:,} passages.{judged}"
    )
