"""ROUGE-1 F1: how many words what a system gives shares with the gold text; a baseline without questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from core.errors import InputError
from core.gold import gold_texts
from core.matching import normalise
from core.project import Project
from core.scores import Scores


def rouge_1(text: str, gold: str) -> float:
    """ROUGE-1 F1 of a text against a gold text, of word stems (original-exam, section 4.1.2; Lin, 2004).

    Args:
        text, gold: lower-cased and stemmed here; punctuation and stop words are left out.

    Returns:
        The harmonic mean of precision and recall of words, each counted as often as it occurs in both; 0 without any.
    """
    return _f1(Counter(normalise(text).split()), Counter(normalise(gold).split()))


def _f1(words: Mapping[str, int], gold: Mapping[str, int]) -> float:
    shared = sum(min(count, gold.get(word, 0)) for word, count in words.items())
    total = sum(words.values()) + sum(gold.values())
    return 2 * shared / total if total else 0.0


def rouge_scores(project: Project, cutoff: int) -> tuple[Scores, list[str]]:
    """ROUGE-1 F1 of the top passages of every run, taken together as one text, against the gold text.

    Args:
        cutoff: how many passages of a run are taken.

    Returns:
        Score by query by run, and the queries that have a gold text. A query that a run skipped is not in its scores.

    Raises:
        InputError: there are no gold texts.
    """
    gold = {query_id: Counter(normalise(text).split()) for query_id, text in gold_texts(project).items()}
    if not gold:
        raise InputError(
            "There are no gold texts to compare with.",
            "Import them: exam import responses --gold FILE, or mark a run: exam gold RUN.",
        )

    def compute() -> Scores:
        words: dict[int, Counter[str]] = {}
        for key, text in project.rows(
            "SELECT text_key, text FROM passage_texts SEMI JOIN (SELECT text_key FROM rankings"
            " JOIN passages USING (passage_key) WHERE rank <= ?) USING (text_key)",
            [cutoff],
        ):
            words[key] = Counter(normalise(text).split())
        scores: Scores = {}
        for run, query_id, keys in project.rows(
            "SELECT name, query_id, list(text_key) FILTER (text_key IS NOT NULL) FROM rankings"
            " JOIN passages USING (passage_key) JOIN runs USING (run_key) JOIN queries USING (query_key)"
            " WHERE rank <= ? GROUP BY run_key, name, query_key, query_id ORDER BY run_key, query_key",
            [cutoff],
        ):
            if query_id in gold:
                given: Counter[str] = Counter()
                for key in keys or []:
                    given.update(words[key])
                scores.setdefault(run, {})[query_id] = _f1(given, gold[query_id])
        return scores

    return project.remember(("rouge", cutoff), compute), list(gold)
