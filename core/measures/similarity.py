"""Similarity of what a system gives to gold texts, by words or characters: baselines without questions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..text import meaningful_words


@dataclass(frozen=True)
class Similarity:
    """A way to compare texts.

    Args:
        prepare: what is done once to every passage and every gold text.
        scorer: makes a function of two prepared texts, the system's and the gold one, that gives 0 to 1.
    """

    prepare: Callable[[str], str]
    scorer: Callable[[], Callable[[str, str], float]]


def lemmas(text: str) -> str:
    """The lemmas of a text in lower case, without punctuation and stop words, parted by spaces."""
    import simplemma

    return " ".join(simplemma.lemmatize(word, lang="en").lower() for word in meaningful_words(text))


def _rouge_1() -> Callable[[str, str], float]:
    # Not the package's scorer: that brings nltk along, seconds of import, to count words.
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
"""By the family of the measure: ROUGE-1 is the harmonic mean of precision and recall of lemmas in lower case, each
counted as often as both texts have it, without punctuation and stop words (original-exam, section 4.1.2; Lin,
2004); chrF the F-score of character n-grams, 1 to 6, with recall twice as heavy (Popović, 2015)."""
