"""The verdict on a question of the bank: how it separates the systems that answer the questions of its query."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..measures import Array
from ..measures.item_response import item_rest

Verdict = Literal[
    "separates the top", "separates lower down", "universal", "hard", "redundant", "unclear", "not graded", "no systems"
]

UNIVERSAL = 0.8
"""If more than this share of the systems answers a question, it hardly separates systems."""
HARD = 0.1
"""If less than this share of the systems answers a question, it affects few systems."""
WEAK = 0.1
ALIKE = 0.9
FEWEST_EACH = 3
"""Two questions are compared only if at least this many systems answer each, and at least as many do not."""

MEANINGS: dict[Verdict, str] = {
    "separates the top": "at most half of the systems answer the question, mostly good ones",
    "separates lower down": "more than half of the systems answer the question, so it separates the weaker ones",
    "universal": "over 80% of the systems answer the question, so it separates few of them",
    "hard": "under 10% of the systems answer the question, so it changes few scores",
    "redundant": "the same systems answer an earlier question of the query (correlation .9 or more)",
    "unclear": "weak systems answer the question as often as good ones (correlation below .1)",
    "not graded": "no system has a usable grade for the question",
    "no systems": "the project has no runs",
}
SUGGESTIONS: dict[Verdict, str] = {
    "separates the top": "keep the question; more weight separates the best systems more",
    "separates lower down": "keep the question; more weight hardly affects the best systems",
    "universal": "retire the question, lower its weight, or make it harder",
    "hard": "check if any passage can answer the question",
    "redundant": "keep only one of the two questions, or halve both weights",
    "unclear": "check the wording and the passages that answer the question",
    "not graded": "grade the question first",
    "no systems": "import runs",
}


def question_verdicts(answers: Array) -> list[tuple[Verdict, int | None]]:
    """Return the verdict on each question of one query, by the rules of `docs/how-to/curate-questions.md`.

    Args:
        answers: systems x questions of positive weight, in their order: 1 answered at the min rating, 0 not answered,
            NaN without a usable grade.

    Returns:
        For each question, its verdict, and for a redundant question the column of the earlier question that it repeats.
    """
    alike, rest = _correlations(answers) >= ALIKE, item_rest(answers)
    found: list[tuple[Verdict, int | None]] = []
    for i, known_share in enumerate(answer_shares(answers)):
        same = next((other for other in range(i) if alike[i, other] and found[other][1] is None), None)
        share = -1.0 if known_share is None else known_share
        rules: list[tuple[bool, Verdict]] = [
            (len(answers) == 0, "no systems"),
            (known_share is None, "not graded"),
            (share > UNIVERSAL, "universal"),
            (share < HARD, "hard"),
            (same is not None, "redundant"),
            (bool(rest[i] < WEAK), "unclear"),
            (share <= 0.5, "separates the top"),
            (True, "separates lower down"),
        ]
        verdict = next(verdict for fits, verdict in rules if fits)
        found.append((verdict, same if verdict == "redundant" else None))
    return found


def answer_shares(answers: Array) -> list[float | None]:
    """Return, by question, the share of the examinees with a usable grade that answer it; None without examinees."""
    known = (~np.isnan(answers)).sum(axis=0)
    return [float(right / n) if n else None for right, n in zip(np.nansum(answers, axis=0), known, strict=True)]


def _correlations(answers: Array) -> Array:
    """Return the phi coefficient of every two questions over the systems with usable grades for both.

    It is 0 if fewer than `FEWEST_EACH` systems answer, or do not answer, either question.
    """
    seen = (~np.isnan(answers)).astype(float)
    right = np.nan_to_num(answers)
    both, each = seen.T @ seen, right.T @ seen
    spread = each * (both - each)
    enough = np.minimum(each, both - each) >= FEWEST_EACH
    covariance = both * (right.T @ right) - each * each.T
    phi: Array = np.zeros_like(both)
    np.divide(covariance, np.sqrt(spread * spread.T), out=phi, where=enough & enough.T)
    return phi
