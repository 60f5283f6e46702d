"""The audit: a few hundred judgments of a random sample correct the machine's leaderboard, and say how sure it is."""

from __future__ import annotations

from core.audit.board import AuditBoard, audit_board, board_of, difference
from core.audit.calibrating import (
    Calibration,
    LabelMeaning,
    LabelQuality,
    MinRating,
    Share,
    accept_cut_points,
    calibration,
)
from core.audit.circularity import Circularity, Role, circularity, family_of
from core.audit.dealing import LEASE, Card, Hand, deal_ahead, give_back, hand, left
from core.audit.designing import ALPHA, Texts, design, end_audit, end_batch, in_batches, texts
from core.audit.drawing import draw
from core.audit.elsewhere import Sheet, TakenIn, sentence, sheet, take_in
from core.audit.facts import Drawn, Facts, gather
from core.audit.forecasting import Forecast, Width, forecast, told_apart, told_apart_of
from core.audit.foreseeing import foresee
from core.audit.methods import methods
from core.audit.publishing import audit_files, audited_by, notice, read_facts, under_way
from core.audit.records import AIMS, Aim, Audit, Batch, Goal, audits, batches, find_audit, open_batch
from core.audit.rows import AuditedSystem, Difference, Favour
from core.audit.statements import Statement
from core.audit.verdicts import Assessor, Look, Verdict, assessors, cannot_say, judge, look, scale, skip, take_back

__all__ = [
    "AIMS",
    "ALPHA",
    "LEASE",
    "Aim",
    "Assessor",
    "Audit",
    "AuditBoard",
    "AuditedSystem",
    "Batch",
    "Calibration",
    "Card",
    "Circularity",
    "Difference",
    "Drawn",
    "Facts",
    "Favour",
    "Forecast",
    "Goal",
    "Hand",
    "LabelMeaning",
    "LabelQuality",
    "Look",
    "MinRating",
    "Role",
    "Share",
    "Sheet",
    "Statement",
    "TakenIn",
    "Texts",
    "Verdict",
    "Width",
    "accept_cut_points",
    "assessors",
    "audit_board",
    "audit_files",
    "audited_by",
    "audits",
    "batches",
    "board_of",
    "calibration",
    "cannot_say",
    "circularity",
    "deal_ahead",
    "design",
    "difference",
    "draw",
    "end_audit",
    "end_batch",
    "family_of",
    "find_audit",
    "forecast",
    "foresee",
    "gather",
    "give_back",
    "hand",
    "in_batches",
    "judge",
    "left",
    "look",
    "methods",
    "notice",
    "open_batch",
    "read_facts",
    "scale",
    "sentence",
    "sheet",
    "skip",
    "take_back",
    "take_in",
    "texts",
    "told_apart",
    "told_apart_of",
    "under_way",
]
