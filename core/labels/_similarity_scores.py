"""Similarity of the systems' texts to the gold texts, by run."""

from __future__ import annotations

from ..errors import InputError
from ..measures import SIMILARITIES, Measure
from ..records import gold_texts
from ..store import Project, cache
from . import Scores


def similarity_scores(project: Project, measure: Measure) -> tuple[Scores, list[str]]:
    """Return the similarity of each run's top passages, joined into one text, to the gold text.

    Args:
        measure: a measure of likeness; its cutoff is the number of top passages.

    Returns:
        Score by query by run, and the queries with a gold text. A query that a run skipped is absent from its
        scores.

    Raises:
        InputError: gold texts are missing.
    """
    similarity, cutoff = SIMILARITIES[measure.family.name], measure.depth
    gold = {query_id: similarity.prepare(text) for query_id, text in gold_texts(project).items()}
    if not gold:
        raise InputError(
            "no-gold-texts",
            "No gold passages to compare with.",
            "Import them (exam import responses --gold FILE) or mark a run (exam gold RUN).",
        )

    def compute() -> Scores:
        score = similarity.scorer()
        texts: dict[int, str] = {}
        for key, text in project.rows(
            "SELECT text_key, text FROM passage_texts SEMI JOIN (SELECT text_key FROM rankings"
            " JOIN passages USING (passage_key) WHERE rank <= ?) USING (text_key)",
            [cutoff],
        ):
            texts[key] = similarity.prepare(text)
        scores: Scores = {}
        for run, query_id, keys in project.rows(
            "SELECT name, query_id, list(text_key ORDER BY rank) FILTER (text_key IS NOT NULL) FROM rankings"
            " JOIN passages USING (passage_key) JOIN runs USING (run_key) JOIN queries USING (query_key)"
            " WHERE rank <= ? GROUP BY run_key, name, query_key, query_id ORDER BY run_key, query_key",
            [cutoff],
        ):
            if query_id in gold:
                given = " ".join(texts[key] for key in keys or [])
                scores.setdefault(run, {})[query_id] = score(given, gold[query_id])
        return scores

    return project.cached(measure.name, compute, cache.COLLECTION), list(gold)
