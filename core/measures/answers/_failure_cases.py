"""Cases: why Recall and LLM-retEval differ on a query. A table proposes the case from four verdicts and the texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ._answer_texts import NEAR, containing, contains, plain

Case = Literal["A", "B", "C", "D", "E", "F", "K"]

CASES: dict[Case, str] = {
    "A": "A passage with the answer is not annotated as relevant",
    "B": "The searched passages contain another version of the gold passage",
    "C": "Other passages distracted the model from the gold passage",
    "D": "The model could not answer from the gold passages",
    "E": "The answer is right, but no answer from the gold passages agrees with it",
    "F": "The comparison of the two answers is wrong",
    "K": "Right from the model's own knowledge, without evidence",
}
"""The cases with their descriptions. A to F are from the paper (llm-reteval, section 4.1); K is ours."""

RECALL_FAILURES: tuple[Case, ...] = ("A", "B", "C")
"""Cases in which Recall is wrong about the retriever. The Refined set is the queries without such a confirmed case."""
RETEVAL_FAILURES: tuple[Case, ...] = ("D", "E", "F")
"""Cases in which LLM-retEval is wrong about the retriever."""

Verdict = bool | None
"""None means unknown: the comparison failed, or gold answers or passages are missing."""


@dataclass(frozen=True)
class Verdicts:
    """The four verdicts on a query, run and depth k. "The answer" is written from the run's top k.

    Args:
        recall: r, whether a gold passage is among the top k; None if no gold passage is known.
        reteval: e, whether the answer agrees with an answer from the gold passages; None if the comparison failed.
        gpteval: t, whether the answer is right by the gold answers or by a person's decision; None without both.
        goldeval: s, whether an answer from the gold passages is right by the gold answers; None without gold answers.
    """

    recall: Verdict
    reteval: Verdict
    gpteval: Verdict = None
    goldeval: Verdict = None

    @property
    def part(self) -> bool:
        """Whether there is a difference to explain: between Recall and LLM-retEval, or between LLM-retEval and the
        rightness of the answer."""
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
        similar: similarity of each passage to each gold passage, (k, gold passages), from `likeness`; None if not
            computed.
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

    case: Case | None
    reason: str
    others: tuple[Case, ...] = ()
    passage: int | None = None


def propose(verdicts: Verdicts, texts: Texts) -> Proposal:
    """Return the case of a query, by the first row of `ROWS` that its verdicts match.

    Source: llm-reteval, section 4.1; the table is that of its specification, section 8.
    """
    said = (verdicts.recall, verdicts.reteval, verdicts.gpteval, verdicts.goldeval)
    fitting = (row for row in ROWS if all(_fits(*pair) for pair in zip(row[0], said, strict=True)))
    _, decide = next(fitting)  # the last row fits all
    return decide(verdicts, texts)


def _fits(sign: str, verdict: Verdict) -> bool:
    return sign == "*" or sign == {True: "1", False: "0", None: "?"}[verdict]


def _evidence(verdicts: Verdicts, texts: Texts) -> Proposal:
    """No gold passage was retrieved, but the answer agrees with an answer from the gold passages."""
    if texts.similar is not None and texts.similar.size and texts.similar.max() >= NEAR:
        place = int(texts.similar.max(axis=1).argmax())
        alike = f"similarity {texts.similar.max():.2f}"
        return Proposal("B", f"Passage {place + 1} is almost identical to a gold passage ({alike}).", ("A",), place)
    place_of_answer = containing(texts.passages, [texts.answer, *texts.gold_answers])
    if place_of_answer is not None:
        has = "contains the answer but is not annotated as relevant"
        return Proposal("A", f"Passage {place_of_answer + 1} {has}.", ("K",), place_of_answer)
    if verdicts.gpteval is None:
        reason = "The answer matches one from the gold passages, but no retrieved passage contains it."
        return Proposal(None, f"{reason} Without gold answers, it is unknown if the answer is right.", ("A", "F"))
    return Proposal("K", "The answer is right, but no retrieved passage contains it.", ("A",))


def _distracted(verdicts: Verdicts, texts: Texts) -> Proposal:
    """A gold passage was retrieved, but the answer differs from the right answer from the gold passages."""
    place = containing(texts.passages, [texts.answer])
    reason = "The answer from the gold passages alone is right, but the answer from all passages is wrong."
    if place is None:
        return Proposal("C", f"{reason} No retrieved passage contains the wrong answer.", ("F",))
    return Proposal("C", f"{reason} Passage {place + 1} contains the wrong answer.", ("F",), place)


def _unable(verdicts: Verdicts, texts: Texts) -> Proposal:
    """No answer from the gold passages is right."""
    if verdicts.gpteval:
        return Proposal("D", "The answer is right, but no answer from the gold passages is right.", ("F",))
    return Proposal(
        "D", "A gold passage was retrieved, but no answer is right, not even from the gold passages alone.", ("F",)
    )


def _draws(verdicts: Verdicts, texts: Texts) -> Proposal:
    """The answer is right, but the comparison found it different from the answers from the gold passages."""
    same = _same_words(texts)
    if same is not None:
        return Proposal("F", f"The answer is right and {same}, but they were called different.", ("E",))
    if verdicts.goldeval is None:
        reason = "The answer is right but differs from those from the gold passages. It is unknown if those are right."
        return Proposal("E", reason, ("D", "F"))
    return Proposal("E", "The answer is right, but differs from a right answer made from the gold passages.", ("F",))


def _agreeing(verdicts: Verdicts, texts: Texts) -> Proposal:
    """The answer is wrong, but the comparison found that it agrees with an answer from the gold passages."""
    same = _same_words(texts)
    if verdicts.goldeval is False and same is not None:
        return Proposal("D", f"The answer is wrong and {same}. No answer from the gold passages is right.", ("F",))
    if verdicts.goldeval:
        reason = "The answer is wrong and one from the gold passages is right, but they were called the same."
        return Proposal("F", reason)
    return Proposal("F", "The answer is wrong but was called the same as one from the gold passages.", ("D",))


def _apart(verdicts: Verdicts, texts: Texts) -> Proposal:
    """A gold passage was retrieved, the answer differs from those from gold passages, and may be right or wrong."""
    same = _same_words(texts)
    if same is not None:
        return Proposal("F", f"The answer {same}, but they were called different.", ("C", "E"))
    found = _distracted(verdicts, texts)
    reason = "A gold passage was retrieved, but the answer differs from those from the gold passages."
    if found.passage is not None:
        reason += f" Passage {found.passage + 1} contains it."
    return Proposal("C", f"{reason} Without gold answers, it is unknown which is right.", ("E", "F"), found.passage)


def _wrong(verdicts: Verdicts, texts: Texts) -> Proposal:
    """A gold passage was retrieved, the answer is wrong, and the answers from gold passages may be right or wrong."""
    found = _distracted(verdicts, texts)
    reason = "A gold passage was retrieved, but the answer is wrong. The answers from gold passages are unchecked."
    return Proposal("C", reason, ("D", "F"), found.passage)


def _nothing(verdicts: Verdicts, texts: Texts) -> Proposal:
    if verdicts.reteval is None:
        return Proposal(None, "The answers were not compared, or the comparison failed.")
    if verdicts.recall is None:
        return Proposal(None, "The query has no known gold passage.")
    return Proposal(None, "Recall and LLM-retEval agree.")


ROWS: tuple[tuple[str, Callable[[Verdicts, Texts], Proposal]], ...] = (
    ("*?**", _nothing),
    ("011*", _evidence),
    ("1001", _distracted),
    ("*010", _unable),
    ("*011", _draws),
    ("010*", _agreeing),
    ("110*", _agreeing),
    ("1000", _unable),
    ("000*", _nothing),
    # Rows that the paper's table lacks: a value is unknown, or all values agree.
    ("*01?", _draws),
    ("100?", _wrong),
    ("?10*", _agreeing),
    ("01?*", _evidence),
    ("10?*", _apart),
    ("****", _nothing),
)
"""Patterns of r, e, t and s (1 yes, 0 no, ? unknown, * any), each with the function that proposes the case. The
first matching row counts. Source: llm-reteval specification, section 8."""


def _same_words(texts: Texts) -> str | None:
    """Return a phrase on the match of the answer and a draw: equal, or one contains the other. None without a match."""
    if any(plain(texts.answer) == plain(draw) and plain(draw) for draw in texts.draws):
        return "equals one from the gold passages"
    if any(contains(texts.answer, draw) or contains(draw, texts.answer) for draw in texts.draws):
        return "contains one from the gold passages, or is part of one"
    return None


def settled(case: Case, verdicts: Verdicts) -> tuple[Verdict, Verdict]:
    """Return the verdicts of Recall and LLM-retEval, corrected by a confirmed case.

    In the cases A, B and C, Recall failed: its verdict becomes the verdict of LLM-retEval. In the cases D, E and F,
    LLM-retEval failed: its verdict becomes whether the answer is right. If this is unknown, the cases E (a right answer
    is missing among the draws) and F (a wrong comparison) reverse the verdict. K changes nothing.

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
