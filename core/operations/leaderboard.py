"""Commands that show leaderboards and their agreement."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, cast

from ..audit import notice
from ..bank import find_grader, trust_notes
from ..labels import (
    DEFAULT_MEASURE,
    PERS,
    GradeFiles,
    Leaderboard,
    Per,
    compare,
    leaderboard_of_files,
    leaderboard_per,
    nugget_board,
)
from ..measures import Ties, correlate_by
from ..store import MEMORY, SPILL, Project
from .console import ProgressLines, at_a_shell
from .policy import PolicyOptions, QueriesOption
from .registry import Option, Output, operation

WithUngraded = Annotated[bool, Option(help="Include queries with ungraded pairs in the mean.")]


@operation("leaderboard", act="see boards", reads=True)
def leaderboard(
    project: Project,
    *,
    measure: Annotated[
        str, Option(help="Measure, such as nDCG@10, AP, EXAM-Cover@20, n-EXAM@20 or ROUGE-1@20.")
    ] = DEFAULT_MEASURE,
    source: Annotated[str, Option(help="Basis: exam, judgments, or a source's name.")] = "exam",
    per: Annotated[
        Per,
        Option(
            help="Mean over queries; over the subtopics of each query, then queries; or over all pairs of query and"
            " subtopic (topic). union: mean over queries whose subtopics' rankings are joined (coverage only).",
            choices=PERS,
        ),
    ] = "query",
    queries: Annotated[bool, Option(help="Also show every score per query.")] = False,
    with_ungraded: WithUngraded = False,
    policy: PolicyOptions,
) -> Output:
    """Show the leaderboard: systems ordered by a measure, with standard errors."""
    board = leaderboard_per(project, measure, source, policy, per, with_ungraded)
    output = Output(board.as_dict() | {"per": per} | ({"per_query": board.per_query} if queries else {}))
    if queries:
        output.table(
            ("run", "query", board.measure),
            [
                (s.run, query, board.per_query.get(s.run, {}).get(query))
                for s in board.systems
                for query in board.query_ids
            ],
        )
    spent = [board.lengths.get(s.run) for s in board.systems]
    output.table(
        ("rank", "run", board.measure, "std error", "queries", *(("words", "passages") if board.lengths else ())),
        [
            (s.rank, s.run + " *" * (s.run in board.starred), s.score, s.std_error, s.queries)
            + ((round(length.words), round(length.passages, 1)) if length else (None, None) if board.lengths else ())
            for s, length in zip(board.systems, spent, strict=True)
        ],
    )
    if board.reference:
        error = board.reference.std_error
        output.note(
            f"Reference with score 1: {board.reference.run}"
            + (f" ± {error:.4f}. Systems with * are within this error." if error is not None else ".")
        )
    if (length := board.length_correlation()) is not None:
        output.note(f"Spearman correlation of score and words: {length:z.2f}.")
    audited = notice(project, policy) if board.needed else ""
    trust = trust_notes(project, find_grader(project, policy.grader).spec) if board.needed else []
    return output.note(audited, *trust, _basis(board), board.says_ungraded)


@operation("file-leaderboard", act="read the bank", at_shell=True)
def file_leaderboard(
    *,
    grades: Annotated[str, Option(help="Parquet files of grades, such as 'folder/*.parquet'.", metavar="FILES")],
    runs: Annotated[
        str, Option(help="Parquet files of rankings: run, query_id, passage_id, rank, score.", metavar="FILES")
    ],
    questions: Annotated[
        str | None, Option(help="Parquet files of active questions with weights. Default: weight 1.", metavar="FILES")
    ] = None,
    measure: Annotated[str, Option(help="Measure of labels, such as nDCG@10 or AP.")] = DEFAULT_MEASURE,
    memory: Annotated[
        str | None,
        Option(help=f"Memory limit, such as 4GB. Default: value of {MEMORY}.", metavar="AMOUNT", variable=MEMORY),
    ] = None,
    spill: Annotated[
        str | None,
        Option(
            help=f"Folder for data larger than memory. Default: value of {SPILL}.", metavar="FOLDER", variable=SPILL
        ),
    ] = None,
    with_ungraded: WithUngraded = False,
    policy: PolicyOptions,
) -> Output:
    """Show a leaderboard from grades in Parquet files, without a project.

    The files may be larger than memory.
    """
    at_a_shell()
    found = leaderboard_of_files(
        GradeFiles(grades, runs, questions), measure, policy, memory, Path(spill) if spill else None,
        ProgressLines("queries").count, with_ungraded,
    )  # fmt: skip
    counts = {"grades": found.grades, "failed": found.failed, "labels": found.labels}
    output = Output(found.board.as_dict() | counts).table(
        ("rank", "run", found.board.measure, "std error", "queries"),
        [(s.rank, s.run, s.score, s.std_error, s.queries) for s in found.board.systems],
    )
    return output.note(
        f"Grades: {found.grades:,} ({found.failed:,} failed). Labels: {found.labels:,}.", found.board.says_ungraded
    )


def _basis(board: Leaderboard) -> str:
    if board.usable >= board.needed:
        return ""
    return f"Graded: {board.usable:,} of {board.needed:,} needed pairs ({board.usable / board.needed:.1%})."


@operation("correlate", act="see boards", reads=True)
def correlate(
    project: Project,
    *,
    measure: Annotated[str, Option(help="Measure of the leaderboard.")] = DEFAULT_MEASURE,
    against: Annotated[str, Option(help="Official leaderboard: judgments, or a source's name.")],
    against_measure: Annotated[
        str | None, Option(help="Measure of the official leaderboard. Default: --measure.")
    ] = None,
    source: Annotated[str, Option(help="Basis: exam, judgments, or a source's name.")] = "exam",
    ties: Annotated[
        str, Option(help="Ties: average ranks, or the mean of ten random orders.", choices=["average", "random"])
    ] = "average",
    within_error: Annotated[
        bool, Option(help="With --ties random, systems with overlapping error bars are ties.")
    ] = False,
    queries: QueriesOption = "common",
    correlation: Annotated[
        tuple[str, ...],
        Option(
            help="Also show this correlation: tauap_b, tau_gap, or kendall@K for the K best systems of the official"
            " leaderboard. Repeatable.",
        ),
    ] = (),
    policy: PolicyOptions,
) -> Output:
    """Correlate a leaderboard with the official leaderboard."""
    found = compare(project, measure, against, source, against_measure, policy, cast(Ties, ties), within_error, queries)
    result = found.correlation
    further = {
        name: None if result.undefined else value
        for name, value in correlate_by(correlation, found.board.scores, found.official.scores).items()
        if name not in vars(result)
    }
    output = Output(found.as_dict() | further)
    output.line(
        f"{found.board.measure} ({found.board.source}) against {found.official.measure} ({found.official.source})."
        f" Systems: {result.systems}. Ties: {result.ties}."
    )
    output.line(found.queries.says)
    output.note(_basis(found.board))
    if result.undefined:
        return output.line(f"Undefined: {result.undefined}")
    names = ("spearman", "kendall", "tau_ap", "pearson")
    return output.table((*names, *further), [[*(getattr(result, name) for name in names), *further.values()]])


@operation("nugget-scores", act="see boards", reads=True)
def nugget_scores(project: Project, *, policy: PolicyOptions) -> Output:
    """Show Nuggetizer's four scores of each run, from imported assignments.

    Partly supported nuggets count half; strict scores count full support only. Vital nuggets have weight 1 or more.
    """
    rows = nugget_board(project, policy)
    value = [{"run": row.run, "queries": row.queries, "nuggets": row.nuggets, **asdict(row.scores)} for row in rows]
    header = ("run", "queries", "nuggets", "strict vital", "strict all", "vital", "all")
    if not rows:
        return Output({"runs": value}).note("No imported assignments yet.")
    return Output({"runs": value}).table(header, [tuple(row.values()) for row in value])
