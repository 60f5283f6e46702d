"""Texts of answers and passages: normalisation for comparisons, and scores of an answer against a right answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...text import stem, without_citations
from .._means import harmonic
from .._text_similarity import SIMILARITIES

NEAR = 0.9
"""The similarity from which two passages count as the same text (llm-reteval specification, sections 7 and 8)."""
SHINGLE = 5
"""Words per shingle."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_JOINED = re.compile(r"(?<=\w)['’](?=\w)|(?<=\d),(?=\d{3}(?!\d))|(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_POINT = r"(?<!\d)\.|\.(?!\d)"
_PUNCTUATION = re.compile(
    rf"{_POINT}|[!-\-/:-@\[-`{{-~¡«·»¿\u2010-\u2027\u2030-\u205e\u3001-\u301f！-／：-＠［-｀｛-･]"
)


@lru_cache(maxsize=50_000)
def plain(text: str) -> str:
    """Normalise a text: lower case, without citation marks and articles, words separated by one space.

    Punctuation separates words, except in words such as U.S., don't, 1,000 and 3.5. Source: after Rajpurkar et al.,
    SQuAD, EMNLP 2016. Their evaluation script deletes punctuation instead, so that "Paris/Lutetia" is one word.
    """
    words = _PUNCTUATION.sub(" ", _JOINED.sub("", without_citations(text).lower()))
    return " ".join(_ARTICLES.sub(" ", words).split())


def contains(text: str, part: str) -> bool:
    """Return whether a text contains the words of a part in sequence, both normalised by `plain`.

    False for a part without words.
    """
    wanted = plain(part)
    return bool(wanted) and f" {wanted} " in f" {plain(text)} "


def containing(passages: Sequence[str], answers: Sequence[str]) -> int | None:
    """Return the position, from 0, of the first passage that contains any of the answers; None without one."""
    return next((at for at, text in enumerate(passages) if any(contains(text, one) for one in answers)), None)


def shingles(text: str) -> frozenset[str]:
    """Return the runs of five words of a normalised text, or the whole text if it is shorter."""
    words = plain(text).split()
    return frozenset(" ".join(words[at : at + SHINGLE]) for at in range(max(len(words) - SHINGLE + 1, 1))) - {""}


def likeness(passages: Sequence[str], gold: Sequence[str], cosines: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """Return the similarity of each passage to each gold passage.

    The similarity is 1 if they are equal after normalisation. Otherwise it is the Jaccard similarity |A ∩ B| / |A ∪ B|
    of their shingles, or the cosine of their vectors if that is larger.
    Source: llm-reteval specification, sections 7 and 8 (case B).

    Args:
        passages, gold: p and g texts.
        cosines: cosines of their sentence vectors, (p, g); None compares only words.

    Returns:
        Numbers up to 1, (p, g). Texts without words have similarity 0.
    """
    left, right = [shingles(text) for text in passages], [shingles(text) for text in gold]
    found = np.zeros((len(passages), len(gold)))
    for row, one in enumerate(left):
        for column, other in enumerate(right):
            union = len(one | other)
            if plain(passages[row]) == plain(gold[column]):
                found[row, column] = float(bool(one))
            elif union:
                found[row, column] = len(one & other) / union
    return found if cosines is None else np.maximum(found, np.asarray(cosines, np.float64))


if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

Score = Callable[[str, str], float]
"""A function that scores an answer against one right answer, 0 to 1; higher is more similar."""


def exact_match(answer: str, reference: str) -> float:
    """Return 1 if both texts are equal after normalisation, else 0. Source: Rajpurkar et al., SQuAD, EMNLP 2016."""
    return float(plain(answer) == plain(reference))


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of shared words, 2 c / (a + r), for texts of a and r words with c words in common.

    A repeated word counts as often as both texts have it. Two texts without words are equal.
    Source: Rajpurkar et al., SQuAD, EMNLP 2016, their evaluation script.
    """
    return _shared(plain(answer), plain(reference))


def is_contained(answer: str, reference: str) -> float:
    """Return 1 if the answer contains the words of the right answer in sequence, else 0."""
    return float(contains(answer, reference))


def rouge_1(answer: str, reference: str) -> float:
    """Return ROUGE-1: F1 of lower-case words, articles included, split at every character that is not a letter or
    digit.

    Source: Lin, ROUGE, 2004; words as in the package rouge-score, but in all scripts.
    """
    return _shared(_lettered(answer), _lettered(reference))


def chrf(answer: str, reference: str) -> float:
    """Return chrF after normalisation: F-score of one to six characters in a row, recall twice as heavy (Popović,
    2015)."""
    return _chrf()(plain(answer), plain(reference))


def bleu(answer: str, reference: str) -> float:
    """Return BLEU of the normalised texts with up to four words, or as many as the answer has (effective order).

    Source: Papineni et al., BLEU, ACL 2002; sacrebleu's sentence score, with its exponential smoothing.
    """
    given, right = plain(answer), plain(reference)
    # Rounding can put the score of equal texts slightly above 100.
    return min(float(_bleu().sentence_score(given, [right]).score) / 100, 1.0) if given and right else 0.0


def meteor(answer: str, reference: str) -> float:
    """Return METEOR with exact and then stemmed matches: Fmean (1 - .5 (chunks / m)^3), Fmean = P R / (.9 P + .1 R).

    m is the number of matching words; P is m / (words of the answer), and R is m / (words of the reference). A chunk is
    a sequence of matches in the same order in both texts. Texts that match completely in one chunk score 1, as in the
    authors' program (Meteor 1.5). WordNet synonyms, the third stage of the original, are not used. Stems are from
    Snowball.
    Source: Banerjee and Lavie, METEOR, ACL workshop 2005, with the parameters of Lavie and Agarwal, WMT 2007.
    """
    ours, theirs = _lettered(answer).split(), _lettered(reference).split()
    pairs: dict[int, int] = {}
    for form in (str, stem):
        free: dict[str, list[int]] = {}
        for at in sorted(set(range(len(theirs))) - set(pairs.values())):
            free.setdefault(form(theirs[at]), []).append(at)
        for at, word in enumerate(ours):
            if at not in pairs and (places := free.get(form(word))):
                # Prefer the position that continues the chunk, if it is free.
                following = pairs.get(at - 1, -2) + 1
                pairs[at] = places.pop(places.index(following) if following in places else 0)
    if not pairs:
        return 0.0
    m = len(pairs)
    chunks = sum(pairs.get(at - 1) != place - 1 for at, place in pairs.items())
    if chunks == 1 and m == len(ours) == len(theirs):
        return 1.0
    precision, recall = m / len(ours), m / len(theirs)
    return precision * recall / (0.9 * precision + 0.1 * recall) * (1 - 0.5 * (chunks / m) ** 3)


def greedy_f1(answer: NDArray[np.float32], reference: NDArray[np.float32]) -> float:
    """Return BERTScore's F1 of two texts by the vectors of their tokens: 2 P R / (P + R).

    P is the mean over the answer's tokens of the largest cosine with a token of the reference. R is the same mean over
    the reference's tokens. Source: Zhang et al., BERTScore, ICLR 2020, section 3, without importance weighting (idf)
    and without rescaling.

    Args:
        answer, reference: unit vectors, (tokens, dimensions); a text without tokens scores 0.

    Returns:
        -1 to 1, in practice above 0.
    """
    if not len(answer) or not len(reference):
        return 0.0
    cosines = answer @ reference.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return harmonic(precision, recall) if precision > 0 and recall > 0 else 0.0


TEXT_SCORES: dict[str, Score] = {
    "em": exact_match,
    "f1": token_f1,
    "rouge1": rouge_1,
    "bleu": bleu,
    "chrf": chrf,
    "meteor": meteor,
    "contains": is_contained,
}
"""The scores that need only two texts, by the name of the answer check."""


def best(score: Score, answer: str, references: Sequence[str]) -> float | None:
    """Return the best score over several right answers; None without right answers, 0 for an empty answer."""
    if not references:
        return None
    return max(score(answer, one) for one in references) if answer.strip() else 0.0


def _shared(answer: str, reference: str) -> float:
    """Return the number of shared words as a share of the mean number of words.

    A repeated word counts as often as both texts have it.
    """
    given, right = Counter(answer.split()), Counter(reference.split())
    words = given.total() + right.total()
    return 2 * (given & right).total() / words if words else 1.0


def _lettered(text: str) -> str:
    text = without_citations(text).lower()
    return " ".join("".join(sign if sign.isalnum() else " " for sign in text).split())


@cache
def _chrf() -> Score:
    return SIMILARITIES["chrF"].scorer()


@cache
def _bleu() -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)
