"""Texts of answers: their scores, and cases in which Recall and LLM-retEval differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...choices import AnswerCase
from ...grouping import group_pairs
from ...text import stem_word, without_citations
from .._intents import SIMILARITIES
from .._means_and_tests import harmonic_mean

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


NEAR = 0.9
"""The similarity from which two passages count as the same text (llm-reteval specification,
sections 7 and 8).
"""
SHINGLE = 5
"""Words per shingle."""

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_JOINED = re.compile(r"(?<=\w)['’](?=\w)|(?<=\d),(?=\d{3}(?!\d))|(?<=\b[^\W\d_])\.(?=[^\W\d_]\b)")
_POINT = r"(?<!\d)\.|\.(?!\d)"
_PUNCTUATION = re.compile(
    rf"{_POINT}|[!-\-/:-@\[-`{{-~¡«·»¿\u2010-\u2027\u2030-\u205e\u3001-\u301f！-／：-＠［-｀｛-･]"
)


@lru_cache(maxsize=50_000)
def normalise_text(text: str) -> str:
    """Normalise a text: lower case, without citation marks and articles, words separated by one
    space.

    Punctuation separates words, except in words such as U.S., don't, 1,000 and 3.5. Source: after
    Rajpurkar et al., SQuAD, EMNLP 2016. Their evaluation script deletes punctuation instead, so
    that "Paris/Lutetia" is one word.
    """
    words = _PUNCTUATION.sub(" ", _JOINED.sub("", without_citations(text).lower()))
    return " ".join(_ARTICLES.sub(" ", words).split())


def contains_words(text: str, part: str) -> bool:
    """Return whether a text contains the words of a part in sequence, both normalised by
    `normalise_text`.

    False for a part without words.
    """
    wanted = normalise_text(part)
    return bool(wanted) and f" {wanted} " in f" {normalise_text(text)} "


def find_containing(passages: Sequence[str], answers: Sequence[str]) -> int | None:
    """Return the position, from 0, of the first passage that contains any of the answers; None
    without one.
    """
    return next(
        (
            at
            for at, text in enumerate(passages)
            if any(contains_words(text, one) for one in answers)
        ),
        None,
    )


def make_shingles(text: str) -> frozenset[str]:
    """Return the runs of five words of a normalised text, or the whole text if it is shorter."""
    words = normalise_text(text).split()
    return frozenset(
        " ".join(words[at : at + SHINGLE]) for at in range(max(len(words) - SHINGLE + 1, 1))
    ) - {""}


def similarity_to_gold(
    passages: Sequence[str], gold: Sequence[str], cosines: NDArray[Any] | None = None
) -> NDArray[np.float64]:
    """Return the similarity of each passage to each gold passage.

    The similarity is 1 if they are equal after normalisation. Otherwise it is the Jaccard
    similarity |A ∩ B| / |A ∪ B| of their shingles, or the cosine of their vectors if that is
    larger.
    Source: llm-reteval specification, sections 7 and 8 (case B).

    Args:
        passages, gold: p and g texts.
        cosines: cosines of their sentence vectors, (p, g); None compares only words.

    Returns:
        Numbers up to 1, (p, g). Texts without words have similarity 0.
    """
    left, right = [make_shingles(text) for text in passages], [make_shingles(text) for text in gold]
    similarity = np.zeros((len(passages), len(gold)))
    for row, shingles_left in enumerate(left):
        for column, other in enumerate(right):
            union = len(shingles_left | other)
            if normalise_text(passages[row]) == normalise_text(gold[column]):
                similarity[row, column] = float(bool(shingles_left))
            elif union:
                similarity[row, column] = len(shingles_left & other) / union
    return (
        similarity if cosines is None else np.maximum(similarity, np.asarray(cosines, np.float64))
    )


Score = Callable[[str, str], float]
"""A function that scores an answer against one right answer, 0 to 1; higher is more similar."""


def exact_match(answer: str, reference: str) -> float:
    """Return 1 if both texts are equal after normalisation, else 0. Source: Rajpurkar et al.,
    SQuAD, EMNLP 2016.
    """
    return float(normalise_text(answer) == normalise_text(reference))


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of shared words, 2 c / (a + r), for texts of a and r words with c words in
    common.

    A repeated word counts as often as both texts have it. Two texts without words are equal.
    Source: Rajpurkar et al., SQuAD, EMNLP 2016, their evaluation script.
    """
    return _shared_word_share(normalise_text(answer), normalise_text(reference))


def is_contained(answer: str, reference: str) -> float:
    """Return 1 if the answer contains the words of the right answer in sequence, else 0."""
    return float(contains_words(answer, reference))


def rouge_1(answer: str, reference: str) -> float:
    """Return ROUGE-1: F1 of lower-case words, articles included, split at every character that is
    not a letter or digit.

    Source: Lin, ROUGE, 2004; words as in the package rouge-score, but in all scripts.
    """
    return _shared_word_share(_only_letters(answer), _only_letters(reference))


def score_chrf(answer: str, reference: str) -> float:
    """Return chrF after normalisation: F-score of one to six characters in a row, recall twice as
    heavy (Popović, 2015)."""
    return _chrf_scorer()(normalise_text(answer), normalise_text(reference))


def score_bleu(answer: str, reference: str) -> float:
    """Return BLEU of the normalised texts with up to four words, or as many as the answer has
    (effective order).

    Source: Papineni et al., BLEU, ACL 2002; sacrebleu's sentence score, with its exponential
    smoothing.
    """
    answer_text, right = normalise_text(answer), normalise_text(reference)
    # Rounding can put the score of equal texts slightly above 100.
    return (
        min(float(_bleu_scorer().sentence_score(answer_text, [right]).score) / 100, 1.0)
        if answer_text and right
        else 0.0
    )


def score_meteor(answer: str, reference: str) -> float:
    """Return METEOR with exact and then stemmed matches: Fmean (1 - .5 (chunks / m)^3), with
    Fmean = P R / (.9 P + .1 R).

    m is the number of matching words; P is m / (words of the answer), and R is m / (words of the
    reference). A chunk is a sequence of matches in the same order in both texts. Texts that match
    completely in one chunk score 1, as in the authors' program (Meteor 1.5). WordNet synonyms, the
    third stage of the original, are not used. Stems are from Snowball.
    Source: Banerjee and Lavie, METEOR, ACL workshop 2005, with the parameters of Lavie and Agarwal,
    WMT 2007.
    """
    ours, reference_words = _only_letters(answer).split(), _only_letters(reference).split()
    pairs: dict[int, int] = {}
    for form in (str, stem_word):
        free = group_pairs(
            (form(reference_words[at]), at)
            for at in sorted(set(range(len(reference_words))) - set(pairs.values()))
        )
        for at, word in enumerate(ours):
            if at not in pairs and (places := free.get(form(word))):
                # Prefer the position that continues the chunk, if it is free.
                following = pairs.get(at - 1, -2) + 1
                pairs[at] = places.pop(places.index(following) if following in places else 0)
    if not pairs:
        return 0.0
    m = len(pairs)
    chunks = sum(pairs.get(at - 1) != place - 1 for at, place in pairs.items())
    if chunks == 1 and m == len(ours) == len(reference_words):
        return 1.0
    precision, recall = m / len(ours), m / len(reference_words)
    return precision * recall / (0.9 * precision + 0.1 * recall) * (1 - 0.5 * (chunks / m) ** 3)


def greedy_f1(answer: NDArray[np.float32], reference: NDArray[np.float32]) -> float:
    """Return BERTScore's F1 of two texts by the vectors of their tokens: 2 P R / (P + R).

    P is the mean over the answer's tokens of the largest cosine with a token of the reference. R is
    the same mean over the reference's tokens. Source: Zhang et al., BERTScore, ICLR 2020, section
    3, without importance weighting (idf) and without rescaling.

    Args:
        answer, reference: unit vectors, (tokens, dimensions); a text without tokens scores 0.

    Returns:
        -1 to 1, in practice above 0.
    """
    if not len(answer) or not len(reference):
        return 0.0
    cosines = answer @ reference.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return harmonic_mean(precision, recall) if precision > 0 and recall > 0 else 0.0


TEXT_SCORES: dict[str, Score] = {
    "em": exact_match,
    "f1": token_f1,
    "rouge1": rouge_1,
    "bleu": score_bleu,
    "chrf": score_chrf,
    "meteor": score_meteor,
    "contains": is_contained,
}
"""The scores that need only two texts, by the name of the answer check."""


def best_score(score: Score, answer: str, references: Sequence[str]) -> float | None:
    """Return the best score over several right answers; None without right answers, 0 for an empty
    answer.
    """
    if not references:
        return None
    return max(score(answer, one) for one in references) if answer.strip() else 0.0


def _shared_word_share(answer: str, reference: str) -> float:
    """Return the number of shared words as a share of the mean number of words.

    A repeated word counts as often as both texts have it.
    """
    given, right = Counter(answer.split()), Counter(reference.split())
    words = given.total() + right.total()
    return 2 * (given & right).total() / words if words else 1.0


def _only_letters(text: str) -> str:
    text = without_citations(text).lower()
    return " ".join("".join(sign if sign.isalnum() else " " for sign in text).split())


@cache
def _chrf_scorer() -> Score:
    return SIMILARITIES["chrF"].scorer()


@cache
def _bleu_scorer() -> BLEU:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)


RECALL_FAILURES: tuple[AnswerCase, ...] = ("A", "B", "C")
"""Cases in which Recall is wrong about the retriever. The Refined set is the queries without such a
confirmed case.
"""
RETEVAL_FAILURES: tuple[AnswerCase, ...] = ("D", "E", "F")
"""Cases in which LLM-retEval is wrong about the retriever."""

Verdict = bool | None
"""None means unknown: the comparison failed, or gold answers or passages are missing."""


@dataclass(frozen=True)
class Verdicts:
    """The four verdicts on a query, run and depth k. "The answer" is written from the run's top k.

    Args:
        recall: r, whether a gold passage is among the top k; None if no gold passage is known.
        reteval: e, whether the answer agrees with an answer from the gold passages; None if the
            comparison failed.
        gpteval: t, whether the answer is right by the gold answers or by a person's decision; None
            without both.
        goldeval: s, whether an answer from the gold passages is right by the gold answers; None
            without gold answers.
    """

    recall: Verdict
    reteval: Verdict
    gpteval: Verdict = None
    goldeval: Verdict = None

    @property
    def part(self) -> bool:
        """Whether there is a difference to explain: between Recall and LLM-retEval, or between
        LLM-retEval and the rightness of the answer."""
        known = self.reteval is not None
        return known and (
            (self.recall is not None and self.recall != self.reteval)
            or (self.gpteval is not None and self.gpteval != self.reteval)
        )


@dataclass(frozen=True)
class Texts:
    """The texts behind the verdicts.

    Args:
        answer: the answer from the top k.
        passages: the top k, best first.
        draws: the answers from the gold passages.
        gold_answers: the right answers, if any.
        similar: similarity of each passage to each gold passage, (k, gold passages), from
            `similarity_to_gold`; None if not computed.
    """

    answer: str
    passages: Sequence[str] = ()
    draws: Sequence[str] = ()
    gold_answers: Sequence[str] = ()
    similar: NDArray[np.float64] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Proposal:
    """The case that the verdicts and texts of a query suggest; a person confirms or changes it.

    Args:
        case: None if no case is proposed.
        reason: the reason for the case, as a sentence.
        others: further cases that the same verdicts allow, the most likely first.
        passage: position in the top k, from 0, of the passage that the reason mentions.
    """

    case: AnswerCase | None
    reason: str
    others: tuple[AnswerCase, ...] = ()
    passage: int | None = None


def propose_case(verdicts: Verdicts, texts: Texts) -> Proposal:
    """Return the case of a query, by the first row of `ROWS` that its verdicts match.

    Source: llm-reteval, section 4.1; the table is that of its specification, section 8.
    """
    found = (verdicts.recall, verdicts.reteval, verdicts.gpteval, verdicts.goldeval)
    signs = [{True: "1", False: "0", None: "?"}[verdict] for verdict in found]
    # The last row fits all.
    decide = next(
        row[1]
        for row in ROWS
        if all(own in ("*", sign) for own, sign in zip(row[0], signs, strict=True))
    )
    return decide(verdicts, texts)


def _missing_evidence(verdicts: Verdicts, texts: Texts) -> Proposal:
    """No gold passage was retrieved, but the answer agrees with one from the gold passages."""
    if texts.similar is not None and texts.similar.size and texts.similar.max() >= NEAR:
        place = int(texts.similar.max(axis=1).argmax())
        alike = f"similarity {texts.similar.max():.2f}"
        return Proposal(
            "B",
            f"Passage {place + 1} is almost identical to a gold passage ({alike}).",
            ("A",),
            place,
        )
    place_of_answer = find_containing(texts.passages, [texts.answer, *texts.gold_answers])
    if place_of_answer is not None:
        has = "contains the answer but is not annotated as relevant"
        return Proposal("A", f"Passage {place_of_answer + 1} {has}.", ("K",), place_of_answer)
    if verdicts.gpteval is None:
        reason = (
            "The answer matches one from the gold passages, but no retrieved passage contains it."
        )
        return Proposal(
            None,
            f"{reason} Without gold answers, it is unknown if the answer is right.",
            ("A", "F"),
        )
    return Proposal("K", "The answer is right, but no retrieved passage contains it.", ("A",))


def _distracted_answer(verdicts: Verdicts, texts: Texts) -> Proposal:
    """A gold passage was retrieved, but the answer differs from the right answer from the gold
    passages.
    """
    place = find_containing(texts.passages, [texts.answer])
    reason = (
        "The answer from the gold passages alone is right, but the answer from"
        " all passages is wrong."
    )
    if place is None:
        return Proposal("C", f"{reason} No retrieved passage contains the wrong answer.", ("F",))
    return Proposal("C", f"{reason} Passage {place + 1} contains the wrong answer.", ("F",), place)


def _unable_model(verdicts: Verdicts, texts: Texts) -> Proposal:
    """No answer from the gold passages is right."""
    reason = (
        "The answer is right, but no answer from the gold passages is right."
        if verdicts.gpteval
        else "A gold passage was retrieved, but no answer is right, not even from the gold"
        " passages alone."
    )
    return Proposal("D", reason, ("F",))


def _differing_draws(verdicts: Verdicts, texts: Texts) -> Proposal:
    """The answer is right, but the comparison found it different from the answers from the gold
    passages.
    """
    same = _same_words(texts)
    if same is not None:
        return Proposal(
            "F", f"The answer is right and {same}, but they were called different.", ("E",)
        )
    if verdicts.goldeval is None:
        reason = (
            "The answer is right but differs from those from the gold passages. It is unknown if"
            " those are right."
        )
        return Proposal("E", reason, ("D", "F"))
    return Proposal(
        "E",
        "The answer is right, but differs from a right answer made from the gold passages.",
        ("F",),
    )


def _false_agreement(verdicts: Verdicts, texts: Texts) -> Proposal:
    """The answer is wrong, but the comparison found that it agrees with an answer from the gold
    passages.
    """
    same = _same_words(texts)
    if verdicts.goldeval is False and same is not None:
        return Proposal(
            "D",
            f"The answer is wrong and {same}. No answer from the gold passages is right.",
            ("F",),
        )
    if verdicts.goldeval:
        reason = (
            "The answer is wrong and one from the gold passages is right, but they"
            " were called the same."
        )
        return Proposal("F", reason)
    return Proposal(
        "F", "The answer is wrong but was called the same as one from the gold passages.", ("D",)
    )


def _unexplained_difference(verdicts: Verdicts, texts: Texts) -> Proposal:
    """A gold passage was retrieved, the answer differs from those from gold passages, and may be
    right or wrong.
    """
    same = _same_words(texts)
    if same is not None:
        return Proposal("F", f"The answer {same}, but they were called different.", ("C", "E"))
    distraction = _distracted_answer(verdicts, texts)
    reason = (
        "A gold passage was retrieved, but the answer differs from those from the gold passages."
    )
    if distraction.passage is not None:
        reason += f" Passage {distraction.passage + 1} contains it."
    return Proposal(
        "C",
        f"{reason} Without gold answers, it is unknown which is right.",
        ("E", "F"),
        distraction.passage,
    )


def _wrong_answer(verdicts: Verdicts, texts: Texts) -> Proposal:
    """A gold passage was retrieved, the answer is wrong, and the answers from gold passages may be
    right or wrong.
    """
    distraction = _distracted_answer(verdicts, texts)
    reason = (
        "A gold passage was retrieved, but the answer is wrong. The answers from gold"
        " passages are unchecked."
    )
    return Proposal("C", reason, ("D", "F"), distraction.passage)


def _no_case(verdicts: Verdicts, texts: Texts) -> Proposal:
    reasons = (
        (verdicts.reteval is None, "The answers were not compared, or the comparison failed."),
        (verdicts.recall is None, "The query has no known gold passage."),
        (True, "Recall and LLM-retEval agree."),
    )
    return Proposal(None, next(reason for applies, reason in reasons if applies))


ROWS: tuple[tuple[str, Callable[[Verdicts, Texts], Proposal]], ...] = (
    ("*?**", _no_case),
    ("011*", _missing_evidence),
    ("1001", _distracted_answer),
    ("*010", _unable_model),
    ("*011", _differing_draws),
    ("010*", _false_agreement),
    ("110*", _false_agreement),
    ("1000", _unable_model),
    ("000*", _no_case),
    # Rows that the paper's table lacks: a value is unknown, or all values agree.
    ("*01?", _differing_draws),
    ("100?", _wrong_answer),
    ("?10*", _false_agreement),
    ("01?*", _missing_evidence),
    ("10?*", _unexplained_difference),
    ("****", _no_case),
)
"""Patterns of r, e, t and s (1 yes, 0 no, ? unknown, * any), each with the function that proposes
the case. The first matching row counts. Source: llm-reteval specification, section 8."""


def _same_words(texts: Texts) -> str | None:
    """Return a phrase on the match of the answer and a draw: equal, or one contains the other. None
    without a match.
    """
    if any(
        normalise_text(texts.answer) == normalise_text(draw) and normalise_text(draw)
        for draw in texts.draws
    ):
        return "equals one from the gold passages"
    if any(
        contains_words(texts.answer, draw) or contains_words(draw, texts.answer)
        for draw in texts.draws
    ):
        return "contains one from the gold passages, or is part of one"
    return None


def corrected_verdicts(case: AnswerCase | None, verdicts: Verdicts) -> tuple[Verdict, Verdict]:
    """Return the verdicts of Recall and LLM-retEval, corrected by a confirmed case.

    In the cases A, B and C, Recall failed: its verdict becomes the verdict of LLM-retEval. In the
    cases D, E and F, LLM-retEval failed: its verdict becomes whether the answer is right. If this
    is unknown, the cases E (a right answer is missing among the draws) and F (a wrong comparison)
    reverse the verdict. K, or no case, changes nothing.

    Returns:
        (recall, reteval).
    """
    if case in RECALL_FAILURES:
        return verdicts.reteval, verdicts.reteval
    if case in RETEVAL_FAILURES:
        if verdicts.gpteval is not None:
            return verdicts.recall, verdicts.gpteval
        if case != "D" and verdicts.reteval is not None:
            return verdicts.recall, not verdicts.reteval
    return verdicts.recall, verdicts.reteval
