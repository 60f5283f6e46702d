"""Commands that show leaderboards and their agreement, Nuggetizer's scores, and the support of
citations.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from .. import audit, bank, labels, measures
from ..choices import DEFAULT_MEASURE, LeaderboardPer, Ties
from ..store import MEMORY, SPILL, Project
from ..text import one_line
from .console import ProgressLines
from .policy import PolicyOptions, QueriesOption
from .registry import Argument, Author, Option, Output, operation

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
        LeaderboardPer,
        Option(
            help="Mean over queries; over the subtopics of each query, then queries; or over all"
            " pairs of query and"
            " subtopic (topic). union: mean over queries whose subtopics' rankings are joined"
            " (coverage only).",
        ),
    ] = "query",
    queries: Annotated[bool, Option(help="Also show every score per query.")] = False,
    with_ungraded: WithUngraded = False,
    policy: PolicyOptions,
) -> Output:
    """Show the leaderboard: systems ordered by a measure, with standard errors."""
    board = labels.leaderboard_per(project, measure, source, policy, per, with_ungraded)
    output = Output(
        board.as_dict() | {"per": per} | ({"per_query": board.per_query} if queries else {})
    )
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
        (
            "rank",
            "run",
            board.measure,
            "std error",
            "queries",
            *(("words", "passages") if board.lengths else ()),
        ),
        [
            (s.rank, s.run + " *" * (s.run in board.starred), s.score, s.std_error, s.queries)
            + (
                (round(length.words), round(length.passages, 1))
                if length
                else (None, None)
                if board.lengths
                else ()
            )
            for s, length in zip(board.systems, spent, strict=True)
        ],
    )
    if board.reference:
        error = board.reference.std_error
        output.note(
            f"Reference with score 1: {board.reference.run}"
            + (
                f" ± {error:.4f}. Systems with * are within this error."
                if error is not None
                else "."
            )
        )
    length = board.length_correlation()
    output.note(
        None if length is None else f"Spearman correlation of score and words: {length:z.2f}."
    )
    audited = audit.audit_notice(project, policy) if board.needed else ""
    trust = (
        bank.trust_notes(project, bank.find_grader(project, policy.grader).spec)
        if board.needed
        else []
    )
    return output.note(audited, *trust, _describe_basis(board), board.ungraded_note)


@operation("file-leaderboard", act="read the bank", at_shell=True)
def file_leaderboard(
    *,
    grades: Annotated[
        str, Option(help="Parquet files of grades, such as 'folder/*.parquet'.", metavar="FILES")
    ],
    runs: Annotated[
        str,
        Option(
            help="Parquet files of rankings: run, query_id, passage_id, rank, score.",
            metavar="FILES",
        ),
    ],
    questions: Annotated[
        str | None,
        Option(
            help="Parquet files of active questions with weights. Default: weight 1.",
            metavar="FILES",
        ),
    ] = None,
    measure: Annotated[
        str, Option(help="Measure of labels, such as nDCG@10 or AP.")
    ] = DEFAULT_MEASURE,
    memory: Annotated[
        str | None,
        Option(
            help=f"Memory limit, such as 4GB. Default: value of {MEMORY}.",
            metavar="AMOUNT",
            variable=MEMORY,
        ),
    ] = None,
    spill: Annotated[
        str | None,
        Option(
            help=f"Folder for data larger than memory. Default: value of {SPILL}.",
            metavar="FOLDER",
            variable=SPILL,
        ),
    ] = None,
    with_ungraded: WithUngraded = False,
    policy: PolicyOptions,
) -> Output:
    """Show a leaderboard from grades in Parquet files, without a project.

    The files may be larger than memory.
    """
    result = labels.leaderboard_of_files(
        labels.GradeFiles(grades, runs, questions),
        measure,
        policy,
        memory,
        Path(spill) if spill else None,
        ProgressLines("queries").count,
        with_ungraded,
    )
    counts = {"grades": result.grades, "failed": result.failed, "labels": result.labels}
    return (
        Output(result.board.as_dict() | counts)
        .table(
            ("rank", "run", result.board.measure, "std error", "queries"),
            [(s.rank, s.run, s.score, s.std_error, s.queries) for s in result.board.systems],
        )
        .note(
            f"Grades: {result.grades:,} ({result.failed:,} failed). Labels: {result.labels:,}.",
            result.board.ungraded_note,
        )
    )


def _describe_basis(board: labels.Leaderboard) -> str:
    if board.usable >= board.needed:
        return ""
    sentence = labels.graded_sentence(board.usable, board.needed, board.measure)
    return f"{sentence} ({board.usable:,} of {board.needed:,})."


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
        Ties,
        Option(
            help="Ties: average ranks, or the mean of ten random orders.",
        ),
    ] = "average",
    within_error: Annotated[
        bool, Option(help="With --ties random, systems with overlapping error bars are ties.")
    ] = False,
    queries: QueriesOption = "common",
    correlation: Annotated[
        tuple[str, ...],
        Option(
            help="Also show this correlation: tauap_b, tau_gap, or kendall@K for the K best systems"
            " of the official leaderboard. Repeatable.",
        ),
    ] = (),
    policy: PolicyOptions,
) -> Output:
    """Correlate a leaderboard with the official leaderboard."""
    comparison = labels.compare(
        project,
        measure,
        against,
        source,
        against_measure,
        policy,
        ties,
        within_error,
        queries,
    )
    result = comparison.correlation
    further = {
        name: None if result.undefined else value
        for name, value in measures.correlate_by(
            correlation, comparison.board.scores, comparison.official.scores
        ).items()
        if name not in vars(result)
    }
    output = (
        Output(comparison.as_dict() | further)
        .line(
            f"{comparison.board.measure} ({comparison.board.source}) against"
            f" {comparison.official.measure} ({comparison.official.source})."
            f" Systems: {result.systems}. Ties: {result.ties}."
        )
        .line(comparison.queries.description)
        .note(_describe_basis(comparison.board))
    )
    if result.undefined:
        return output.line(f"Undefined: {result.undefined}")
    names = ("spearman", "kendall", "tau_ap", "pearson")
    return output.table(
        (*names, *further), [[*(getattr(result, name) for name in names), *further.values()]]
    )


@operation("nugget-scores", act="see boards", reads=True)
def nugget_scores(project: Project, *, policy: PolicyOptions) -> Output:
    """Show Nuggetizer's four scores of each run, from imported assignments.

    Partly supported nuggets count half; strict scores count full support only. Vital nuggets have
    weight 1 or more.
    """
    rows = labels.nugget_board(project, policy)
    value = [
        {"run": row.run, "queries": row.queries, "nuggets": row.nuggets, **asdict(row.scores)}
        for row in rows
    ]
    if not rows:
        return Output({"runs": value}).note("No imported assignments yet.")
    return Output({"runs": value}).table(
        ("run", "queries", "nuggets", "strict vital", "strict all", "vital", "all"),
        [tuple(row.values()) for row in value],
    )


GraderName = Annotated[
    str | None,
    Option(
        "--support-grader",
        help="Grader of citations (default: a language model if one has graded, else embedding).",
        metavar="NAME",
    ),
]
PassageId = Annotated[str, Argument(metavar="PASSAGE")]
Position = Annotated[int, Argument(metavar="SENTENCE", least=1)]
CitedId = Annotated[str, Argument(metavar="CITED")]


@operation("support show", act="see boards", reads=True)
def show_support(
    project: Project,
    *,
    support_grader: GraderName = None,
    first: Annotated[
        bool, Option(help="Use only the first citation of each sentence, as in TREC RAG 2024.")
    ] = False,
    partial: Annotated[bool, Option(help="Count partial support in supported coverage.")] = False,
    policy: PolicyOptions,
) -> Output:
    """Show the citation support of each run, and the agreement of the grader with assessors.

    Recall is the mean over all sentences of the best weight among their citations. Precision is the
    mean weight of the citations. Weights: none 0, partial 0.5, full 1. Supported coverage counts a
    question only if a sentence that answers it has a supporting citation. It needs grades of
    sentences: exam grade --sentences. These are also measures of exam leaderboard: Support-Recall,
    Support-Precision and Supported-Cover.
    """
    grader = labels.citation_grader(project, support_grader)
    responses = labels.response_support(project, grader, policy.overrides, 1 if first else None)
    if not responses:
        return Output(
            {"grader": grader and grader.spec.name, "runs": [], "responses": [], "agreement": []}
        ).note("No responses yet. Import responses: exam import responses FILE...")
    rows_by_run: dict[str, dict[str, Any]] = {
        item.run: {"run": item.run, "responses": 0} for item in responses
    }
    for item in responses:
        row = rows_by_run[item.run]
        row["responses"] += 1
        for count in ("sentences", "citations", "unresolved", "ungraded", "failed"):
            row[count] = row.get(count, 0) + getattr(item, count)
    graded = any(item.grades for item in bank.label_graders(project))
    names = {
        "recall": measures.SUPPORT_RECALL,
        "precision": measures.SUPPORT_PRECISION,
        "coverage": measures.SUPPORTED_COVER,
    }
    for name, measure in names.items():
        systems: dict[str, labels.System] = {}
        if name != "coverage" or graded:
            wanted = measures.parse_measure(f"{measure}@1" if first else measure)
            board = labels.support_board(project, wanted, policy, grader, 0.5 if partial else 1.0)
            systems = {system.run: system for system in board.systems}
        for run, row in rows_by_run.items():
            system = systems.get(run)
            row |= {name: system and system.score, f"{name}_error": system and system.std_error}
    rows = sorted(rows_by_run.values(), key=lambda row: (-(row["recall"] or 0), row["run"]))
    agreement = [
        {
            "assessor": person,
            "pairs": table.n,
            "kappa": measures.cohen_kappa(table).value,
            "weighted_kappa": measures.weighted_kappa(table).value,
        }
        for person, table in (
            {} if grader is None else labels.support_agreement(project, grader)
        ).items()
    ]
    output = Output(
        {
            "grader": grader and grader.spec.name,
            "runs": rows,
            "responses": [asdict(item) for item in responses],
            "agreement": agreement,
        }
    )
    output.table(
        (
            "run",
            "responses",
            "sentences",
            "citations",
            "unresolved",
            "ungraded",
            "failed",
            "recall",
            "+/-",
            "precision",
            "+/-",
            "supported coverage",
            "+/-",
        ),
        [tuple(row.values()) for row in rows],
    )
    if agreement:
        output.table(
            ("assessor", "pairs", "kappa", "weighted kappa"),
            [tuple(row.values()) for row in agreement],
        )
    return output.note(
        "No citation has been graded yet. Run: exam grade --grader support-embedding"
        if grader is None
        else f"Grader: {grader.spec.name}.",
        board.ungraded_note,
    )


@operation("support list", act="read the bank", reads=True)
def list_support(
    project: Project,
    *,
    support_grader: GraderName = None,
    run: Annotated[str | None, Option(help="Only responses of this run.")] = None,
    query_id: Annotated[str | None, Option("--query", help="Only responses to this query.")] = None,
    limit: Annotated[int, Option(help="Number of citations.", least=1)] = 50,
    offset: Annotated[int, Option(help="Number of citations to skip.", least=0)] = 0,
    author: Author,
) -> Output:
    """List the sentences of responses with the passages that they cite."""
    listed = labels.list_citations(
        project,
        labels.citation_grader(project, support_grader),
        run,
        query_id,
        author,
        limit,
        offset,
    )
    return Output({"citations": [asdict(citation) for citation in listed]}).table(
        ("passage", "sentence", "cited", "rating", "value", "state", "text"),
        [
            (
                citation.passage_id,
                citation.position,
                citation.cited_id,
                citation.rating,
                citation.value,
                citation.state,
                one_line(citation.sentence, 60),
            )
            for citation in listed
        ],
    )


@operation("support set", act="override ratings")
def set_support_value(
    project: Project,
    *,
    passage_id: PassageId,
    position: Position,
    cited_id: CitedId,
    value: Annotated[int, Argument()],
    reason: Annotated[str, Option(help="Reason for the value.")] = "",
    author: Author,
) -> str:
    """Set how far CITED supports SENTENCE of PASSAGE: 0 none, 1 partial, 2 full.

    Your value replaces the grader's rating and your earlier value. SENTENCE is a number from 1: see
    exam support list.
    """
    labels.set_support(project, passage_id, position, cited_id, value, author, reason)
    return f"Saved value {value}, {labels.SUPPORT[value]}."


@operation("support remove", act="override ratings")
def remove_support_value(
    project: Project,
    *,
    passage_id: PassageId,
    position: Position,
    cited_id: CitedId,
    author: Author,
) -> str:
    """Remove your value for how far CITED supports SENTENCE of PASSAGE. The history keeps it."""
    labels.set_support(project, passage_id, position, cited_id, None, author)
    return "Removed your value."
