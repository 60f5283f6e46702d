"""EXAM-Cover of generated answers, under the names of the runs whose passages they are from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...catalogue import graders
from ...labels import Policy, basis, labels
from ...leaderboard import leaderboard
from ...measures import Table
from ...project import Project, split_response
from .evaluation import Evaluation, Line

COVER = "EXAM-Cover"


def covering_graders(project: Project) -> list[str]:
    """Return the graders that can score coverage: those that have graded by questions, in the order of leaderboards."""
    return [one.spec.name for one in graders(project) if one.grades and one.spec.method != "direct"]


def cover_tables(project: Project, evaluation: Evaluation, k: int, policy: Policy | None = None) -> dict[str, Table]:
    """Return EXAM-Cover of the answers at a depth by every grader that has graded some of them with the question bank.

    See `cover_of_answers`.

    Returns:
        Tables by name, such as "EXAM-Cover of answers@5 by NAME".
    """
    found = {
        f"{COVER} of answers@{k} by {name}": cover_of_answers(
            project, evaluation, k, replace(policy or Policy(), grader=name)
        )
        for name in covering_graders(project)
    }
    return {name: table for name, table in found.items() if table}


def cover_of_answers(project: Project, evaluation: Evaluation, k: int, policy: Policy) -> Table:
    """Return EXAM-Cover of the answer to each query, under the name of the run whose top passages it is from.

    `answers_as_responses` makes responses with systems of their own. Coverage depends only on an answer's words, so any
    graded response to the query with the same words scores it. Thus it can be compared with LLM-retEval of the
    retriever (llm-reteval specification, section 13), independently of the systems' names.

    Args:
        evaluation: its runs, depths, queries and generator.
        k: one of its depths.
        policy: the grader, min rating, weights; its cutoff is how many passages of a response count.

    Returns:
        Scores by run and query. None if the answer failed; 0 if the run skipped the query. A run with a waiting or
        ungraded answer is left out.

    Raises:
        InputError: the grader or version is unknown, or nothing is graded.
    """
    graded = _graded_responses(project, policy)
    if not graded:
        return {}
    board = leaderboard(project, f"{COVER}@{policy.cutoff}", "exam", policy)
    asked = set(board.query_ids)
    known = {
        place: board.per_query[system][place[0]]
        for place, system in graded.items()
        if place[0] in board.per_query.get(system, {})
    }
    skipped = 0.0 if policy.skipped == "zero" else None

    def scores(lines: Mapping[str, Line]) -> dict[str, float | None]:
        found: dict[str, float | None] = {}
        for query_id, line in lines.items():
            if line.answer is None:
                found |= {query_id: skipped} if line.state == "skipped" else {}
                found |= {query_id: None} if line.state == "failed" else {}
            elif (place := (query_id, _words(line.answer))) in known:
                found[query_id] = known[place]
        return found

    told: dict[str, dict[str, float | None]] = {}
    for run in evaluation.view.runs or ():
        lines = {query_id: line for query_id, line in evaluation.lines[run, k].items() if query_id in asked}
        values = scores(lines)
        if lines and len(values) == len(lines):
            told[run] = values
    return told


def _words(answer: str) -> tuple[str, ...]:
    return tuple(part.text for part in split_response(answer))


def _graded_responses(project: Project, policy: Policy) -> dict[tuple[str, tuple[str, ...]], str]:
    """Return the system of each response for which a question was graded, by query and the texts of its passages."""
    table = labels(project, basis(project, policy))
    usable = table[table["usable"] > 0]
    graded = set(zip(usable["query_id"], usable["passage_id"], strict=True))
    return {
        (query_id, tuple(texts)): system
        for system, query_id, ids, texts in project.rows(
            "SELECT name, query_id, list(passage_id ORDER BY rank), list(x.text ORDER BY rank) FROM rankings"
            " SEMI JOIN responses USING (run_key, query_key) JOIN runs USING (run_key) JOIN queries USING (query_key)"
            " JOIN passages p USING (passage_key) JOIN passage_texts x ON x.text_key = p.text_key"
            " GROUP BY run_key, name, query_key, query_id ORDER BY run_key, query_key"
        )
        if any((query_id, one) in graded for one in ids)
    }
