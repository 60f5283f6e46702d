"""Similarity of what a system gives to gold texts, by words or characters: baselines without questions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from core.errors import InputError
from core.gold import gold_texts
from core.matching import meaningful_words
from core.policy import Policy
from core.project import Project
from core.scores import Scores


@dataclass(frozen=True)
class Similarity:
    """A way to compare texts.

    Args:
        name: of the measure, without a cutoff.
        prepare: what is done once to every passage and every gold text.
        scorer: makes a function of two prepared texts, the system's and the gold one, that gives 0 to 1.
    """

    name: str
    prepare: Callable[[str], str]
    scorer: Callable[[], Callable[[str, str], float]]


def rouge_1(text: str, gold: str) -> float:
    """ROUGE-1 F1 of a text against a gold text (original-exam, section 4.1.2; Lin, 2004).

    Args:
        text, gold: lower-cased and lemmatized here; punctuation and stop words are left out.

    Returns:
        The harmonic mean of precision and recall of words, each counted as often as it occurs in both; 0 without any.
    """
    return _rouge_1()(lemmas(text), lemmas(gold))


def chrf(text: str, gold: str) -> float:
    """chrF2 of a text against a gold text: F-score of character n-grams, 1 to 6, recall twice as heavy (Popović, 2015).

    Args:
        text, gold: as they are; white space does not count.
    """
    return _chrf()(text, gold)


def lemmas(text: str) -> str:
    """The lemmas of a text in lower case, without punctuation and stop words, parted by spaces."""
    import simplemma

    return " ".join(simplemma.lemmatize(word, lang="en").lower() for word in meaningful_words(text))


def _rouge_1() -> Callable[[str, str], float]:
    # It brings nltk along, seconds of import that only those wait for who ask for ROUGE.
    from rouge_score import rouge_scorer, tokenizers

    class Words(tokenizers.Tokenizer):  # type: ignore[misc]
        def tokenize(self, text: str) -> list[str]:
            return text.split()

    program = rouge_scorer.RougeScorer(["rouge1"], tokenizer=Words())
    return lambda text, gold: float(program.score(gold, text)["rouge1"].fmeasure)


def _chrf() -> Callable[[str, str], float]:
    from sacrebleu.metrics.chrf import CHRF

    program = CHRF()
    return lambda text, gold: float(program.sentence_score(text, [gold]).score) / 100 if text and gold else 0.0


SIMILARITIES = (Similarity("ROUGE-1", lemmas, _rouge_1), Similarity("chrF", str, _chrf))


def gold_similarity(measure: str, policy: Policy) -> tuple[Similarity, int] | None:
    """The similarity and cutoff of `ROUGE-1`, `chrF` (the policy's cutoff) or `ROUGE-1@k`; None for other measures."""
    for similarity in SIMILARITIES:
        if found := re.fullmatch(rf"{similarity.name}(?:@([1-9]\d*))?", measure, flags=re.IGNORECASE):
            return similarity, int(found[1]) if found[1] else policy.cutoff
    return None


def similarity_scores(project: Project, similarity: Similarity, cutoff: int) -> tuple[Scores, list[str]]:
    """Similarity of the top passages of every run, taken together as one text, to the gold text.

    Args:
        cutoff: how many passages of a run are taken.

    Returns:
        Score by query by run, and the queries that have a gold text. A query that a run skipped is not in its scores.

    Raises:
        InputError: there are no gold texts.
    """
    gold = {query_id: similarity.prepare(text) for query_id, text in gold_texts(project).items()}
    if not gold:
        raise InputError(
            "There are no gold texts to compare with.",
            "Import them: exam import responses --gold FILE, or mark a run: exam gold RUN.",
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

    return project.remember((similarity.name, cutoff), compute), list(gold)
