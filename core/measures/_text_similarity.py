"""Similarity of a system's texts to gold texts, by words or characters: baselines without questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..text import meaningful_words


@dataclass(frozen=True)
class Similarity:
    """A method of comparing texts.

    Args:
        prepare: a function that is applied once to every passage and every gold text.
        scorer: returns a function from two prepared texts, the system's and the gold text, to a number from 0 to 1.
    """

    prepare: Callable[[str], str]
    scorer: Callable[[], Callable[[str, str], float]]


def lemmas(text: str) -> str:
    """Return the lemmas of a text in lower case, without punctuation and stop words, separated by spaces."""
    import simplemma

    return " ".join(simplemma.lemmatize(word, lang="en").lower() for word in meaningful_words(text))


def _rouge_1() -> Callable[[str, str], float]:
    # The package's scorer would import nltk, which takes seconds, only to count words.
    from rouge_score.scoring import fmeasure

    def score(text: str, gold: str) -> float:
        words, wanted = Counter(text.split()), Counter(gold.split())
        both = (words & wanted).total()
        return float(fmeasure(both / max(words.total(), 1), both / max(wanted.total(), 1)))

    return score


def _chrf() -> Callable[[str, str], float]:
    from sacrebleu.metrics.chrf import CHRF

    program = CHRF()
    return lambda text, gold: float(program.sentence_score(text, [gold]).score) / 100 if text and gold else 0.0


SIMILARITIES = {"ROUGE-1": Similarity(lemmas, _rouge_1), "chrF": Similarity(str, _chrf)}
"""Similarity by the family of the measure. ROUGE-1 is the harmonic mean of precision and recall of lower-case lemmas,
without punctuation and stop words. A lemma counts as often as both texts have it (original-exam, section 4.1.2; Lin,
2004). chrF is the F-score of character n-grams, n = 1 to 6, with twice the weight on recall (Popović, 2015)."""
