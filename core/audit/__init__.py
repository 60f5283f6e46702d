"""Audits: a few hundred judgments of a random sample correct the grader's leaderboard and bound its error."""

from __future__ import annotations

from .board import AuditBoard, audit_board, board_of
from .calibrating import Calibration, Share, accept_cut_points, calibration
from .circularity import Circularity, Role, circularity
from .dealing import Card, Hand, deal_ahead, give_back, left
from .designing import ALPHA, design, end_audit, end_batch, in_batches, texts
from .drawing import draw
from .elsewhere import sentence, sheet, take_in
from .forecasting import Forecast, forecast, told_apart, told_apart_of
from .foreseeing import foresee
from .methods import methods
from .publishing import audit_files, audited_by, notice, read_facts, under_way
from .records import AIMS, Aim, Audit, Batch, Goal, audits, batches, find_audit, open_batch
from .verdicts import Assessor, assessors, cannot_say, judge, look, scale, skip, take_back

__all__ = [
    "AIMS",
    "ALPHA",
    "Aim",
    "Assessor",
    "Audit",
    "AuditBoard",
    "Batch",
    "Calibration",
    "Card",
    "Circularity",
    "Forecast",
    "Goal",
    "Hand",
    "Role",
    "Share",
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
    "draw",
    "end_audit",
    "end_batch",
    "find_audit",
    "forecast",
    "foresee",
    "give_back",
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
