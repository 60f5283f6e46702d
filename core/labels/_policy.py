"""The scoring settings."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import InputError, check_in_range, check_rules
from ..store import Project, as_act, read_setting
from ..text import one_line
from ..types import MAX_RATING


@dataclass(frozen=True)
class LabelRule:
    """The rule that turns the ratings of a passage into its label.

    Args:
        kind: `max`, `support` (the highest level that at least `support` questions reach) or `mean`
            (the weighted mean, rounded half up).
    """

    kind: Literal["max", "support", "mean"]
    support: int = 1


_RULES = {"max": LabelRule("max"), "mean": LabelRule("mean")}


def parse_rule(name: str) -> LabelRule:
    """Return the label rule with a name: `max`, `support:M` or `mean`.

    Raises:
        InputError: unknown rule.
    """
    if name in _RULES:
        return _RULES[name]
    if found := re.fullmatch(r"support:([1-9]\d*)", name):
        return LabelRule("support", int(found[1]))
    raise InputError(
        "unknown-label-rule",
        f"Unknown label rule '{name}'.",
        "Use max, mean or support:M (such as support:2).",
    )


def parse_cuts(name: str) -> tuple[float, ...] | None:
    """Return the cut points of a rating rule: None for `written`, empty for `expected`, or those of
    `expected:C1,C2,…`.

    Raises:
        InputError: unknown rule, or the cut points are not ascending numbers.
    """
    if name == "written":
        return None
    rule, colon, stated = name.partition(":")
    try:
        cuts = tuple(float(cut) for cut in stated.split(",")) if colon else ()
    except ValueError:
        cuts = (math.nan,)
    if rule != "expected" or not all(map(math.isfinite, cuts)) or sorted(set(cuts)) != list(cuts):
        raise InputError(
            "unknown-rating-rule",
            f"Unknown rating rule '{one_line(name, 60)}'.",
            "Use written, expected, or expected:C1,C2,C3,C4,C5 with ascending cut points.",
        )
    return cuts


Skipped = Literal["zero", "ignore"]

LARGEST = 2**31 - 1
"""The largest number in a policy: tables and trec_eval cannot hold larger ones."""
SETTING_OF_MIN_JUDGMENT = "min_judgment"


@dataclass(frozen=True)
class Policy:
    """The scoring settings.

    Args:
        grader: name or fingerprint; None means the project's default.
        bank_version: None means the newest.
        min_rating: the rating from which a question counts as answered (tau), 1 to 5.
        cutoff: rank depth of EXAM-Cover.
        label: `max`, `support:M` or `mean`.
        weighted: whether the questions' weights count. If not, each positive weight counts as 1 and
            each negative weight as -1.
        skipped: whether a query that a run skipped scores zero or is ignored.
        min_judgment: the judgment from which a passage counts as relevant in binary measures.
        overrides: whether people's ratings replace the grader's.
        rating: `written`, `expected` or `expected:C1,C2,…`; see `counted_rating`.
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
    rating: str = "written"

    def __post_init__(self) -> None:
        # A number with thousands of digits must not get into a message.
        for name in ("min_rating", "cutoff", "min_judgment", "bank_version"):
            check_in_range(
                "setting-out-of-range",
                name.replace("_", " ").capitalize(),
                f"Use a whole number up to {LARGEST:,}.",
                -LARGEST <= (getattr(self, name) or 0) <= LARGEST,
            )
        check_rules(
            (
                not 1 <= self.min_rating <= MAX_RATING,
                InputError(
                    "min-rating-out-of-range",
                    f"Min rating {self.min_rating} is out of range.",
                    f"Use a number from 1 to {MAX_RATING}.",
                ),
            ),
            (
                self.cutoff < 1,
                InputError(
                    "cutoff-out-of-range",
                    f"Cutoff {self.cutoff} is out of range.",
                    "Use a whole number from 1.",
                ),
            ),
            (
                self.skipped not in ("zero", "ignore"),
                InputError(
                    "unknown-skipped",
                    f"Unknown rule '{self.skipped}' for skipped queries.",
                    "Available: zero, ignore.",
                ),
            ),
        )
        parse_rule(self.label)
        parse_cuts(self.rating)

    @property
    def rule(self) -> LabelRule:
        """The label rule."""
        return parse_rule(self.label)

    def as_dict(self) -> dict[str, Any]:
        """Return the policy as plain values, for JSON output and manifests; without `rating` if it
        is the default.
        """
        values = asdict(self)
        if self.rating == Policy.rating:
            del values["rating"]
        return values


DEFAULT_POLICY = Policy()


@as_act("see boards")
def usual_min_judgment(project: Project) -> int:
    """Return the default min judgment of a project: the min judgment of the collection imported
    last, or else 1.
    """
    stored = read_setting(project, SETTING_OF_MIN_JUDGMENT)
    return Policy.min_judgment if stored is None else int(stored)
