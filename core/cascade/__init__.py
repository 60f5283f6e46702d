"""The cascade: a cheap grader for all passages, an expensive one where it is unsure and the board would feel it."""

from __future__ import annotations

from core.cascade.boards import Boards, boards
from core.cascade.calibrating import Calibration, calibrate
from core.cascade.facts import Facts, gather
from core.cascade.labels import CascadeLabels, Labelled, cascade_labels, labels_tsv
from core.cascade.planning import ALPHA, DELTA, SAMPLE, plan
from core.cascade.publishing import cascade_files
from core.cascade.records import Cascade, cascades, find_cascade
from core.cascade.running import Part, Portion, grader_of, portions, request_of, run

__all__ = [
    "ALPHA",
    "DELTA",
    "SAMPLE",
    "Boards",
    "Calibration",
    "Cascade",
    "CascadeLabels",
    "Facts",
    "Labelled",
    "Part",
    "Portion",
    "boards",
    "calibrate",
    "cascade_files",
    "cascade_labels",
    "cascades",
    "find_cascade",
    "gather",
    "grader_of",
    "labels_tsv",
    "plan",
    "portions",
    "request_of",
    "run",
]
