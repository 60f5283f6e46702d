"""Commands about citation support: whether the passages that responses cite support their sentences."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from .. import labels
from ..bank import graders
from ..labels import System, citation_grader, citations, response_support, support_agreement, support_board
from ..measures import (
    SUPPORT_PRECISION,
    SUPPORT_RECALL,
    SUPPORTED_COVER,
    cohen_kappa,
    parse_measure,
    weighted_kappa,
)
from ..store import Project
from ..text import one_line
from .policy import PolicyOptions
from .registry import Argument, Author, Option, Output, operation

GraderName = Annotated[
    str | None,
    Option(
        "--support-grader",
        help="Grader of citations (default: a language model if one has graded, else embedding).",
        metavar="NAME",
    ),
]
MEASURES_OF = {"recall": SUPPORT_RECALL, "precision": SUPPORT_PRECISION, "coverage": SUPPORTED_COVER}
PassageId = Annotated[str, Argument(metavar="PASSAGE")]
Position = Annotated[int, Argument(metavar="SENTENCE", least=1)]
CitedId = Annotated[str, Argument(metavar="CITED")]


@operation("support show", act="see boards", reads=True)
def show(
    project: Project,
    *,
    support_grader: GraderName = None,
    first: Annotated[bool, Option(help="Use only the first citation of each sentence, as in TREC RAG 2024.")] = False,
    partial: Annotated[bool, Option(help="Count partial support in supported coverage.")] = False,
    policy: PolicyOptions,
) -> Output:
    """Show the citation support of each run, and the agreement of the grader with assessors.

    Recall is the mean over all sentences of the best weight among their citations. Precision is the mean weight of the
    citations. Weights: none 0, partial 0.5, full 1. Supported coverage counts a question only if a sentence that
    answers it has a supporting citation. It needs grades of sentences: exam grade --sentences. These are also measures
    of exam leaderboard: Support-Recall, Support-Precision and Supported-Cover.
    """
    grader = citation_grader(project, support_grader)
    responses = response_support(project, grader, policy.overrides, 1 if first else None)
    if not responses:
        return Output({"grader": grader and grader.spec.name, "runs": [], "responses": [], "agreement": []}).note(
            "No responses yet. Import responses: exam import responses FILE..."
        )
    found: dict[str, dict[str, Any]] = {one.run: {"run": one.run, "responses": 0} for one in responses}
    for one in responses:
        row = found[one.run]
        row["responses"] += 1
        for count in ("sentences", "citations", "unresolved", "ungraded", "failed"):
            row[count] = row.get(count, 0) + getattr(one, count)
    graded = any(one.grades for one in graders(project))
    for name, measure in MEASURES_OF.items():
        systems: dict[str, System] = {}
        if name != "coverage" or graded:
            wanted = parse_measure(f"{measure}@1" if first else measure)
            board = support_board(project, wanted, policy, grader, 0.5 if partial else 1.0)
            systems = {system.run: system for system in board.systems}
        for run, row in found.items():
            system = systems.get(run)
            row |= {name: system and system.score, f"{name}_error": system and system.std_error}
    rows = sorted(found.values(), key=lambda row: (-(row["recall"] or 0), row["run"]))
    agreement = [
        {
            "assessor": person,
            "pairs": table.n,
            "kappa": cohen_kappa(table).value,
            "weighted_kappa": weighted_kappa(table).value,
        }
        for person, table in ({} if grader is None else support_agreement(project, grader)).items()
    ]
    output = Output(
        {
            "grader": grader and grader.spec.name,
            "runs": rows,
            "responses": [asdict(one) for one in responses],
            "agreement": agreement,
        }
    )
    output.table(
        (
            "run", "responses", "sentences", "citations", "unresolved", "ungraded", "failed", "recall", "+/-",
            "precision", "+/-", "supported coverage", "+/-",
        ),
        [tuple(row.values()) for row in rows],
    )  # fmt: skip
    if agreement:
        output.table(("assessor", "pairs", "kappa", "weighted kappa"), [tuple(row.values()) for row in agreement])
    return output.note(
        "No citation has been graded yet. Run: exam grade --grader support-embedding"
        if grader is None
        else f"Grader: {grader.spec.name}.",
        board.says_ungraded,
    )


@operation("support list", act="read the bank", reads=True)
def list_(
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
    found = citations(project, citation_grader(project, support_grader), run, query_id, author, limit, offset)
    return Output({"citations": [asdict(one) for one in found]}).table(
        ("passage", "sentence", "cited", "rating", "value", "state", "text"),
        [
            (one.passage_id, one.position, one.cited_id, one.rating, one.value, one.state, one_line(one.sentence, 60))
            for one in found
        ],
    )


@operation("support set", act="override ratings")
def set_(
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

    Your value replaces the grader's rating and your earlier value. SENTENCE is a number from 1: see exam support list.
    """
    labels.set_support(project, passage_id, position, cited_id, value, author, reason)
    return f"Saved value {value}, {labels.SUPPORT[value]}."


@operation("support remove", act="override ratings")
def remove(project: Project, *, passage_id: PassageId, position: Position, cited_id: CitedId, author: Author) -> str:
    """Remove your value for how far CITED supports SENTENCE of PASSAGE. The history keeps it."""
    labels.set_support(project, passage_id, position, cited_id, None, author)
    return "Removed your value."
