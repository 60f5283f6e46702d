"""Everything that a person may do, by name. A new function of a screen becomes an act here."""

from __future__ import annotations

from dataclasses import dataclass

from tests.soak import acts_bank, acts_moving
from tests.soak.person import Doing


@dataclass(frozen=True)
class Act:
    """One thing that a person may do.

    Args:
        weight: how likely it is, against the others.
        screen: where it is done, by its name in the menu; anywhere for None.
    """

    do: Doing
    weight: float
    screen: str | None = None


BANK = "Question bank"

ACTS = {
    "reword": Act(acts_bank.reword, 8, BANK),
    "add": Act(acts_bank.add, 4, BANK),
    "weigh": Act(acts_bank.weigh, 4, BANK),
    "retire or restore": Act(acts_bank.retire_or_restore, 2, BANK),
    "take back": Act(acts_bank.take_back, 2, BANK),
    "undo": Act(acts_bank.undo, 3, BANK),
    "redo": Act(acts_bank.redo, 3, BANK),
    "save": Act(acts_bank.save, 4, BANK),
    "save without a note": Act(acts_bank.save_without_note, 1, BANK),
    "discard all": Act(acts_bank.discard_all, 0.5, BANK),
    "settle a conflict": Act(acts_bank.settle_conflict, 10, BANK),
    "open another query": Act(acts_bank.open_query, 3, BANK),
    "walk": Act(acts_moving.walk, 6),
    "reload": Act(acts_moving.reload, 1),
    "follow a link": Act(acts_moving.follow_link, 1),
    "go back": Act(acts_moving.go_back, 1),
    "narrow or wide": Act(acts_moving.resize, 0.5),
}
