"""People's desk: what a change does, where sides part, one passage."""

from __future__ import annotations

from core.review.changes.causes import QuestionChange, why_label
from core.review.changes.impact import Changes, Edits, LabelChange, changes, version_edits, why
from core.review.changes.override_effect import Effect, override_labels, ratings_effect
from core.review.changes.rescoring import SystemChange
from core.review.changes.states import LabelFlip, StateChanges, flips_csv, state_changes
from core.review.disagreements import settling
from core.review.disagreements.agreement import Agreement, agreement, table_csv, table_latex
from core.review.disagreements.check_next import Check, CheckNext
from core.review.disagreements.queue import Cell, Giving, Order, Outcome, Queue, Row, outcome, queue
from core.review.disagreements.record import (
    NO_REASON,
    Case,
    Settling,
    acts,
    disputes,
    disputes_csv,
    record,
    record_csv,
    settled,
)
from core.review.disagreements.settling import (
    case_of,
    reopen,
    settle_by_comment,
    settle_by_dispute,
    settle_by_edit,
    settle_by_override,
    side_name,
)
from core.review.disagreements.sides import Judgments, Labels, Person, Side, machine, people
from core.review.my_work import Share, Work, my_work, shares
from core.review.passages.desk import AskedQuestion, Desk, Said, label_with, read_passage, strongest_first
from core.review.passages.gaps import strays, uncovered
from core.review.passages.marks import Segment, Span, find_answer, segments
from core.review.passages.search import NONE, Filters, Found, Listed, State, search, where_to_begin
from core.review.presence import Presence
from core.review.standing import (
    Agreeing,
    Leading,
    ToCurate,
    Waiting,
    agreeing,
    leading,
    stale_overrides,
    to_curate,
)

__all__ = [
    "NONE",
    "NO_REASON",
    "Agreeing",
    "Agreement",
    "AskedQuestion",
    "Case",
    "Cell",
    "Changes",
    "Check",
    "CheckNext",
    "Desk",
    "Edits",
    "Effect",
    "Filters",
    "Found",
    "Giving",
    "Judgments",
    "LabelChange",
    "LabelFlip",
    "Labels",
    "Leading",
    "Listed",
    "Order",
    "Outcome",
    "Person",
    "Presence",
    "QuestionChange",
    "Queue",
    "Row",
    "Said",
    "Segment",
    "Settling",
    "Share",
    "Side",
    "Span",
    "State",
    "StateChanges",
    "SystemChange",
    "ToCurate",
    "Waiting",
    "Work",
    "acts",
    "agreeing",
    "agreement",
    "case_of",
    "changes",
    "disputes",
    "disputes_csv",
    "find_answer",
    "flips_csv",
    "label_with",
    "leading",
    "machine",
    "my_work",
    "outcome",
    "override_labels",
    "people",
    "queue",
    "ratings_effect",
    "read_passage",
    "record",
    "record_csv",
    "reopen",
    "search",
    "segments",
    "settle_by_comment",
    "settle_by_dispute",
    "settle_by_edit",
    "settle_by_override",
    "settled",
    "settling",
    "shares",
    "side_name",
    "stale_overrides",
    "state_changes",
    "strays",
    "strongest_first",
    "table_csv",
    "table_latex",
    "to_curate",
    "uncovered",
    "version_edits",
    "where_to_begin",
    "why",
    "why_label",
]
