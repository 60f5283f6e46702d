"""Citation support: how far the passages that responses cite support their sentences, by grader and by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..bank import CITED, SENTENCES, bank_for
from ..catalogue import StoredGrader, find_grader, graders, stored_graders
from ..errors import InputError
from ..labels import Basis, Policy, Scores, basis, first_answers
from ..measures import CrossTable, cross_table, system_score
from ..project import Project, as_act
from .making import queries_with_questions


@dataclass(frozen=True)
class Citation:
    """A citation of a sentence of a response.

    Args:
        passage_id, position: the passage of the response with the sentence, and the sentence's position in it, from 1.
        place: position of the citation in the sentence, from 1.
        text: text of the cited passage; None for an unresolved citation.
        rating: the grader's rating, on its scale; None without a rating.
        value, author: the newest value from a person, from 0 to 2, and the name of the person; None without a value.
        own: the value from the person who requested the list.
        state: known, ungraded, failed, or unresolved.
    """

    run: str
    query_id: str
    passage_id: str
    position: int
    sentence: str
    place: int
    cited_id: str
    text: str | None
    rating: int | None
    value: int | None
    author: str | None
    own: int | None
    state: str


@dataclass(frozen=True)
class ResponseSupport:
    """Citation support of one response.

    Args:
        recall: mean over the sentences of the greatest weight among a sentence's citations. A sentence without
            citations counts 0. A sentence whose citations all lack a value is left out.
        precision: mean weight of the citations with a value; None without such citations.
        unresolved, ungraded, failed: numbers of citations without a value, by the reason.
    """

    run: str
    query_id: str
    sentences: int
    citations: int
    unresolved: int
    ungraded: int
    failed: int
    recall: float | None
    precision: float | None


@dataclass(frozen=True)
class RunSupport:
    """Citation support of a run: sums and means over its responses, with standard errors.

    Args:
        coverage: supported coverage: for each query with questions, the share of the questions that a supported
            sentence answers, averaged over these queries. None if no passage has been graded.
    """

    run: str
    responses: int
    sentences: int
    citations: int
    unresolved: int
    ungraded: int
    failed: int
    recall: float | None
    recall_error: float | None
    precision: float | None
    precision_error: float | None
    coverage: float | None
    coverage_error: float | None


def citation_grader(project: Project, name: str | None = None) -> StoredGrader | None:
    """Return a grader of citations.

    Args:
        name: name of the grader. None selects a model that reads texts, or else the embedding grader.

    Returns:
        None if `name` is None and no citation has been graded.

    Raises:
        InputError: the grader is unknown, or does not rate citations.
    """
    if name is None:
        known = [one for one in stored_graders(project) if one.spec.rates_citations and one.grades]
        return min(known, key=lambda one: (one.spec.method, -one.grades), default=None)
    found = find_grader(project, name)
    if not found.spec.rates_citations:
        raise InputError(
            "not-a-grader-of-citations",
            f"Grader '{found.spec.name}' does not rate citations.",
            "Run: exam grade --grader support-embedding",
        )
    return found


def _rated(overrides: bool, first: bool) -> str:
    """Return SQL for every citation with its rating, value, weight from 0 to 1, and state.

    Its parameters are $support (grader key) and $top (highest rating of the grader).
    """
    weight = "coalesce(value / 2e0, rating / $top)" if overrides else "rating / $top"
    keys = "question_text_key = sentence_key AND {0}.passage_text_key = cited_key"
    return (
        f"(SELECT *, {weight} AS weight, CASE WHEN cited_key IS NULL THEN 'unresolved' WHEN {weight} IS NOT NULL"
        "  THEN 'known' WHEN fails IS NULL THEN 'ungraded' ELSE 'failed' END AS state FROM"
        f" (SELECT c.*, g.rating, v.value, v.author, f.fails FROM {CITED} c"
        f" LEFT JOIN (FROM grades WHERE grader_key = $support) g ON g.{keys.format('g')}"
        f" LEFT JOIN current_support v ON v.{keys.format('v')}"
        " LEFT JOIN (SELECT question_text_key, passage_text_key, true AS fails FROM failures"
        f"  WHERE grader_key = $support GROUP BY ALL) f ON f.{keys.format('f')}"
        f" WHERE {'place = 1' if first else 'true'}))"
    )


def _asked(grader: StoredGrader | None) -> dict[str, Any]:
    return {"support": -1, "top": 1} if grader is None else {"support": grader.key, "top": grader.spec.max_rating}


@as_act("read the bank")
def citations(
    project: Project,
    grader: StoredGrader | None,
    run: str | None = None,
    query_id: str | None = None,
    author: str = "",
    limit: int = 1000,
    offset: int = 0,
) -> list[Citation]:
    """Return the citations of responses, in their order.

    Args:
        run, query_id: restrict the result to these responses; None for all.
        author: the person whose own values are included.
    """
    rows = project.rows(
        "SELECT run, query_id, o.passage_id, position, sentence, place, cited_id, t.text, rating, r.value, r.author,"
        f" p.value, state FROM {_rated(True, False)} r JOIN passages o USING (passage_key)"
        " JOIN queries USING (query_key) LEFT JOIN passage_texts t ON t.text_key = cited_key"
        " LEFT JOIN personal_support p ON p.question_text_key = sentence_key AND p.passage_text_key = cited_key"
        " AND p.author = $author WHERE ($run IS NULL OR run = $run) AND ($query IS NULL OR query_id = $query)"
        " ORDER BY run_key, query_key, rank, position, place LIMIT $limit OFFSET $offset",
        _asked(grader) | {"run": run, "query": query_id, "author": author, "limit": limit, "offset": offset},
    )
    return [Citation(*row) for row in rows]


@as_act("see boards")
def response_support(
    project: Project, grader: StoredGrader | None, overrides: bool = True, first: bool = False
) -> list[ResponseSupport]:
    """Return the citation support of every response.

    Args:
        overrides: whether people's values replace the grader's ratings.
        first: whether only the first citation of a sentence counts, as in TREC RAG 2024.
    """
    states = ("unresolved", "ungraded", "failed")
    counts = ", ".join(f"count(*) FILTER (state = '{state}') AS {state}" for state in states)
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT" for name in ("cites", *states))
    of = "run_key, query_key, passage_key, position"
    rows = project.rows(
        f"SELECT run, query_id, count(*), {sums}, avg(CASE WHEN len(citations) = 0 THEN 0 ELSE best END),"
        f" sum(total) / nullif(sum(known), 0) FROM {SENTENCES} JOIN queries USING (query_key)"
        f" LEFT JOIN (SELECT {of}, max(weight) AS best, sum(weight) AS total, count(weight) AS known,"
        f"  count(*) AS cites, {counts} FROM {_rated(overrides, first)} GROUP BY ALL) USING ({of})"
        " GROUP BY run_key, run, query_key, query_id ORDER BY run_key, query_key",
        _asked(grader),
    )
    return [ResponseSupport(*row) for row in rows]


def supported_coverage(
    project: Project, base: Basis, grader: StoredGrader | None, first: bool = False, least: float = 1.0
) -> Scores:
    """Return supported coverage: the share of a query's questions that a supported sentence of the response answers.

    A question counts if a passage of the response answers it, and the answering sentence has a citation with a weight
    of at least `least`. The answering sentence contains the answer that the grader extracted. If no sentence contains
    it, as for graders that only rate, any sentence of the passage can have the citation. An answered "avoid" question
    counts without support.

    Returns:
        Score by query by run, as `labels.coverage` returns it.
    """
    of = "run_key, query_key, text_key"
    texts = f"SELECT DISTINCT {of}, rank FROM {SENTENCES}"
    answers = first_answers(base, texts, ("run_key", "query_key", "t.text_key"))
    rows = project.rows(
        "SELECT run, query_id, greatest(0, coalesce(sum(w) FILTER (counts), 0) / any_value(total)) FROM"
        " (SELECT run_key, query_key, question_key, any_value(w) AS w, any_value(total) AS total,"
        "   bool_or(w < 0 OR (weight >= $least AND (named OR NOT any_named))) AS counts FROM"
        f"  (SELECT *, bool_or(named) OVER (PARTITION BY {of}, question_key) AS any_named FROM"
        "   (SELECT f.*, s.weight,"
        "     coalesce(contains(s.sentence, a.answer) OR contains(a.answer, s.sentence), false) AS named"
        f"    FROM (FROM {answers} WHERE first IS NOT NULL) f"
        f"    JOIN (SELECT query_key, question_key, text_key AS asked_key FROM {bank_for(base.grader.spec)})"
        "     USING (query_key, question_key)"
        f"    JOIN (SELECT {of}, position, sentence, max(weight) AS weight FROM {SENTENCES}"
        f"     LEFT JOIN (SELECT run_key, query_key, passage_key, position, weight FROM"
        f"      {_rated(base.policy.overrides, first)}) USING (run_key, query_key, passage_key, position)"
        f"     GROUP BY {of}, position, sentence) s USING ({of})"
        "    LEFT JOIN grades a ON a.grader_key = $grader AND a.question_text_key = asked_key"
        "     AND a.passage_text_key = f.text_key))"
        "  GROUP BY ALL) RIGHT JOIN (SELECT DISTINCT run_key, run, query_key FROM"
        f" {SENTENCES}) USING (run_key, query_key) JOIN queries USING (query_key) GROUP BY run, query_id",
        base.parameters | _asked(grader) | {"least": least},
    )
    scores: Scores = {}
    for run, query_id, share in rows:
        scores.setdefault(run, {})[query_id] = share or 0.0
    return scores


@as_act("see boards")
def support_board(
    project: Project, policy: Policy, grader: StoredGrader | None, first: bool = False, least: float = 1.0
) -> list[RunSupport]:
    """Return the citation support of every run, the highest recall first.

    Args:
        policy: the scoring settings of supported coverage; its grader rates passages.
        first: whether only the first citation of a sentence counts.
        least: the weight from which a citation supports its sentence in supported coverage.
    """
    of_run: dict[str, list[ResponseSupport]] = {}
    for one in response_support(project, grader, policy.overrides, first):
        of_run.setdefault(one.run, []).append(one)
    covered: Scores = {}
    queries: list[str] = []
    if any(one.grades for one in graders(project)):
        base = basis(project, policy)
        covered = supported_coverage(project, base, grader, first, least)
        queries = queries_with_questions(project, base)
    rows = []
    for run, found in of_run.items():
        counts = ("sentences", "citations", "unresolved", "ungraded", "failed")
        share = system_score(covered.get(run, {}), queries, policy.skipped) if queries else (None, None)
        means = {
            "recall": _mean({one.query_id: one.recall for one in found}),
            "precision": _mean({one.query_id: one.precision for one in found}),
            "coverage": share[:2],
        }
        values: dict[str, Any] = {name: sum(getattr(one, name) for one in found) for name in counts}
        for name, (mean, error) in means.items():
            values |= {name: mean, f"{name}_error": error}
        rows.append(RunSupport(run, len(found), **values))
    return sorted(rows, key=lambda row: (-(row.recall or 0), row.run))


def _mean(scores: Mapping[str, float | None]) -> tuple[float | None, float | None]:
    known = {query_id: score for query_id, score in scores.items() if score is not None}
    return system_score(known, list(known), "ignore")[:2]


@as_act("see boards")
def support_agreement(project: Project, grader: StoredGrader) -> dict[str, CrossTable]:
    """Return cross tables by person: the grader's ratings, on the scale 0 to 2, by the person's values."""
    pairs: dict[str, list[tuple[int, int]]] = {}
    for author, rating, value in project.rows(
        "SELECT author, round(2e0 * rating / $top)::INTEGER, value FROM personal_support JOIN grades"
        " USING (question_text_key, passage_text_key) WHERE grader_key = $support ORDER BY author",
        _asked(grader),
    ):
        pairs.setdefault(author, []).append((rating, value))
    scale = range(3)
    return {
        author: cross_table([rating for rating, _ in given], [value for _, value in given], scale, scale)
        for author, given in pairs.items()
    }
