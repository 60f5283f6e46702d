"""Everything that a person may do, by name. A new function of a screen becomes an act here."""

from __future__ import annotations

from dataclasses import dataclass

from tests.soak import (
    acts_bank,
    acts_boards,
    acts_details,
    acts_files,
    acts_grading,
    acts_moving,
    acts_proposals,
    acts_review,
)
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


BANK, PASSAGES, BOARDS, DISAGREEMENTS = "Question bank", "Passages", "Leaderboard", "Disagreements"
GRADING, EXPORT, HOME = "Grading", "Export", "Home"
CHANGES, ACTIVITY = "Changes", "Activity"

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
    "save while typing": Act(acts_details.save_while_typing, 1, BANK),
    "duplicate": Act(acts_details.duplicate, 1, BANK),
    "move": Act(acts_details.move, 1.5, BANK),
    "split": Act(acts_details.split, 1, BANK),
    "merge": Act(acts_details.merge, 0.7, BANK),
    "paste a list": Act(acts_details.paste, 0.7, BANK),
    "several at once": Act(acts_details.several, 0.7, BANK),
    "bring back a wording": Act(acts_details.bring_back_wording, 1, BANK),
    "bring back a version": Act(acts_details.bring_back_version, 0.5, BANK),
    "accept a proposal": Act(acts_proposals.accept_proposal, 1, BANK),
    "reject a proposal": Act(acts_proposals.reject_proposal, 0.5, BANK),
    "put a proposal back": Act(acts_proposals.put_back_proposal, 0.5, BANK),
    "reword a proposal": Act(acts_proposals.reword_proposal, 0.7, BANK),
    "open another query": Act(acts_bank.open_query, 3, BANK),
    "try drafts": Act(acts_grading.try_drafts, 1, BANK),
    "grade": Act(acts_grading.grade, 5, GRADING),
    "stop a job": Act(acts_grading.stop, 1, GRADING),
    "pause a job": Act(acts_grading.pause, 1, GRADING),
    "wait for a job": Act(acts_grading.wait, 1, GRADING),
    "search": Act(acts_review.search, 2, PASSAGES),
    "list a query": Act(acts_review.narrow_to_query, 1, PASSAGES),
    "open a passage": Act(acts_review.open_passage, 3, PASSAGES),
    "turn": Act(acts_review.turn, 3, PASSAGES),
    "blind": Act(acts_review.blind, 0.5, PASSAGES),
    "judge": Act(acts_review.judge, 4, PASSAGES),
    "withdraw a judgment": Act(acts_review.withdraw_judgment, 2, PASSAGES),
    "override": Act(acts_review.override, 4, PASSAGES),
    "override without a reason": Act(acts_review.override_without_reason, 1, PASSAGES),
    "rate all 0": Act(acts_review.rate_all_0, 1, PASSAGES),
    "withdraw an override": Act(acts_review.withdraw_override, 2, PASSAGES),
    "settle": Act(acts_review.settle, 4, DISAGREEMENTS),
    "next case": Act(acts_review.next_case, 2, DISAGREEMENTS),
    "reopen": Act(acts_review.reopen, 1, DISAGREEMENTS),
    "order": Act(acts_review.order, 1, DISAGREEMENTS),
    "open a cell": Act(acts_review.cell, 1, DISAGREEMENTS),
    "change the policy": Act(acts_boards.change_policy, 3, BOARDS),
    "change the measure": Act(acts_boards.change_measure, 2, BOARDS),
    "change the view": Act(acts_boards.change_view, 1, BOARDS),
    "change the policy of the qrels": Act(acts_boards.change_policy, 1, EXPORT),
    "download qrels": Act(acts_files.download_qrels, 2, EXPORT),
    "download": Act(acts_files.download, 1, EXPORT),
    "publish": Act(acts_files.publish, 1, EXPORT),
    "publish a bundle": Act(acts_files.publish_bundle, 0.5, EXPORT),
    "qrels again": Act(acts_files.qrels_again, 1, EXPORT),
    "compare other states": Act(acts_boards.change_side, 2, CHANGES),
    "filter the acts": Act(acts_boards.filter_acts, 1.5, ACTIVITY),
    "look into another project": Act(acts_moving.second_project, 0.5),
    "import a bank": Act(acts_files.import_bank, 1, HOME),
    "import a query": Act(acts_files.import_query, 0.5, HOME),
    "import a run": Act(acts_files.import_run, 0.5, HOME),
    "import a wrong file": Act(acts_files.import_wrong, 1, HOME),
    "walk": Act(acts_moving.walk, 6),
    "reload": Act(acts_moving.reload, 1),
    "follow a link": Act(acts_moving.follow_link, 1),
    "go back": Act(acts_moving.go_back, 1),
    "narrow or wide": Act(acts_moving.resize, 0.5),
    "open a tab": Act(acts_moving.open_tab, 0.5),
    "other tab": Act(acts_moving.other_tab, 1),
    "close a tab": Act(acts_moving.close_tab, 0.5),
}
