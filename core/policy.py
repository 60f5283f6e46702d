"""The policy: everything that turns grades into labels and scores."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from core.errors import InputError
from core.types import MAX_RATING, MAX_WEIGHT

Skipped = Literal["zero", "ignore"]

LARGEST = 2**31 - 1
"""The largest number in a policy: tables and trec_eval hold no larger ones."""


@dataclass(frozen=True)
class Policy:
    """What turns grades into labels and scores.

    Args:
        grader: name or fingerprint; the project's default for None.
        bank_version: the newest for None.
        min_rating: the rating from which a question counts as answered (tau), 1 to 5.
        cutoff: rank depth of EXAM-Cover.
        label: `max`, `support:M` or `mean`.
        weighted: whether the questions' weights count; if not, 1 stands for each positive weight
            and -1 for each negative.
        skipped: whether a query that a run skipped scores zero or is ignored.
        min_judgment: the judgment from which a passage counts as relevant in binary measures.
        overrides: whether people's ratings replace the machine's.
    """

    grader: str | None = None
    bank_version: int | None = None
    min_rating: int = 4
    cutoff: int = 20
    label: str = "max"
    weighted: bool = True
    skipped: Skipped = "zero"
    min_judgment: int = 1
    overrides: bool = True

    def __post_init__(self) -> None:
        # A number of thousands of digits cannot be part of a message.
        for name in ("min_rating", "cutoff", "min_judgment", "bank_version"):
            if not -LARGEST <= (getattr(self, name) or 0) <= LARGEST:
                raise InputError(
                    f"The {name.replace('_', ' ')} is out of range.", f"Use a whole number up to {LARGEST:,}."
                )
        if not 1 <= self.min_rating <= MAX_RATING:
            raise InputError(f"The min rating {self.min_rating} is out of range.", f"Use 1 to {MAX_RATING}.")
        if self.cutoff < 1:
            raise InputError(f"The cutoff {self.cutoff} is out of range.", "Use a whole number from 1.")
        if self.skipped not in ("zero", "ignore"):
            raise InputError(f"'{self.skipped}' says nothing of skipped queries.", "Use zero or ignore.")
        label_sql(self.label, self.weighted)

    def as_dict(self) -> dict[str, Any]:
        """The policy as plain values, as it is written into JSON output."""
        return asdict(self)


def weight_sql(weighted: bool) -> str:
    """The weight that counts, as SQL over a column `weight`.

    A project may be older than the bound that every door has for weights: what lies beyond it counts as the bound, so
    that a sum is a number.
    """
    return f"least(greatest(weight, {-MAX_WEIGHT}), {MAX_WEIGHT})" if weighted else "sign(weight)"


HALF = 0.5 + 1e-9
"""What is added before a mean is rounded down: the sums of decimal weights fall short of an exact half by a hair."""


def label_sql(rule: str, weighted: bool = True) -> str:
    """The label of one passage as an SQL aggregate over the rows of its pairs.

    Only questions of positive weight take part: an "avoid" question never raises a label, and
    weight 0 keeps a question out. A passage without a usable rating has no label (NULL).

    Args:
        rule: `max`, `support:M` (the highest level that at least M questions reach) or `mean`
            (the weighted mean, rounded half up).

    Raises:
        InputError: there is no such rule.
    """
    usable = "rating IS NOT NULL AND weight > 0"
    if rule == "max":
        return "max(rating) FILTER (weight > 0)"
    if rule == "mean":
        weight = weight_sql(weighted)
        return f"floor(sum({weight} * rating) FILTER ({usable}) / sum({weight}) FILTER ({usable}) + {HALF})::TINYINT"
    if found := re.fullmatch(r"support:([1-9]\d*)", rule):
        levels = " ".join(
            f"WHEN count(*) FILTER (rating >= {level} AND weight > 0) >= {found[1]} THEN {level}"
            for level in range(MAX_RATING, 0, -1)
        )
        return f"(CASE WHEN count(*) FILTER ({usable}) = 0 THEN NULL {levels} ELSE 0 END)::TINYINT"
    raise InputError(f"There is no label rule '{rule}'.", "Use max, support:M (as support:2) or mean.")
