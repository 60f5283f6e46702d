"""The policy: the scoring settings that turn grades into labels and scores."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ..errors import InputError
from ..store import Project, as_act, setting
from ..types import MAX_RATING
from ._rules import LabelRule, parse_cuts, parse_rule

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
        weighted: whether the questions' weights count. If not, each positive weight counts as 1 and each negative
            weight as -1.
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
            if not -LARGEST <= (getattr(self, name) or 0) <= LARGEST:
                raise InputError(
                    "setting-out-of-range",
                    f"{name.replace('_', ' ').capitalize()} is out of range.",
                    f"Use a whole number up to {LARGEST:,}.",
                )
        if not 1 <= self.min_rating <= MAX_RATING:
            raise InputError(
                "min-rating-out-of-range",
                f"Min rating {self.min_rating} is out of range.",
                f"Use a number from 1 to {MAX_RATING}.",
            )
        if self.cutoff < 1:
            raise InputError(
                "cutoff-out-of-range", f"Cutoff {self.cutoff} is out of range.", "Use a whole number from 1."
            )
        if self.skipped not in ("zero", "ignore"):
            raise InputError(
                "unknown-skipped", f"Unknown rule '{self.skipped}' for skipped queries.", "Available: zero, ignore."
            )
        parse_rule(self.label)
        parse_cuts(self.rating)

    @property
    def rule(self) -> LabelRule:
        """The label rule."""
        return parse_rule(self.label)

    def as_dict(self) -> dict[str, Any]:
        """Return the policy as plain values, for JSON output and manifests; without `rating` if it is the default."""
        values = asdict(self)
        if self.rating == Policy.rating:
            del values["rating"]
        return values


@as_act("see boards")
def usual_min_judgment(project: Project) -> int:
    """Return the default min judgment of a project: the min judgment of the collection imported last, or else 1."""
    stored = setting(project, SETTING_OF_MIN_JUDGMENT)
    return Policy.min_judgment if stored is None else int(stored)
