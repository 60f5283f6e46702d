"""Whether an agreement of labels with judgments is independent of the work on the question bank."""

from __future__ import annotations

from dataclasses import dataclass

from ...bank import latest_version
from ...records import for_confirming, hold_out
from ...store import Project
from ...text import how_many
from .label_agreement import Agreement, agreement
from .sides import Judgments, Labels, Side


@dataclass(frozen=True, eq=False)
class Confirmation:
    """How far an agreement of labels with judgments confirms the question bank.

    Args:
        held_out: the agreement on the judgments that are held out; None if no judgments are.
        version: the newest bank version when they were held out; 0 if no judgments are.
        tuned: whether no judgments are held out, and the bank was changed while people could see them.
    """

    held_out: Agreement | None
    version: int
    tuned: bool

    def __str__(self) -> str:
        if self.held_out is None:
            return "Tuned on these judgments: no judgments are held out." if self.tuned else ""
        found = self.held_out.merged.kappa
        kappa = f"undefined ({found.undefined})" if found.value is None else f"{found.value:.2f}"
        words = f"On {how_many(self.held_out.n, 'held-out judgments')}: κ merged {kappa}."
        if self.version > 1:
            words += f" Bank versions up to {self.version} may be tuned on them."
        return words


def confirmation(project: Project, left: Side, right: Side) -> Confirmation | None:
    """Return how far an agreement confirms the bank; None unless it is between labels and judgments.

    Raises:
        InputError: as for `agreement`.
    """
    if {type(left), type(right)} != {Labels, Judgments}:
        return None
    held, found = for_confirming(project), hold_out(project)
    if held is None or found is None:
        return Confirmation(None, 0, latest_version(project) > 1)
    return Confirmation(agreement(held, left, right), found.version, False)
