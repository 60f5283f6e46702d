"""Exams for pipelines: items, the students that sit them, and what their answers say."""

from __future__ import annotations

from core.pipelines.abilities import AnswerTable, abilities, answer_table, shorter
from core.pipelines.background import BackgroundSitting, current_sitting, start_sitting
from core.pipelines.boards import (
    LEAST,
    TESTS,
    Comparison,
    Grid,
    Row,
    Score,
    Test,
    TopicRow,
    best_classical,
    by_topic,
    compare,
    exam_board,
    grid,
)
from core.pipelines.items import EXAM, Item, exam_items
from core.pipelines.responses import UNSTATED, Responses, responses
from core.pipelines.retrievals import (
    DEPTH,
    RETRIEVERS,
    Retrieval,
    Retriever,
    import_retrieval,
    make_retrieval,
    retrievals,
)
from core.pipelines.sheets import Standing, standing
from core.pipelines.sitting import Reins, Sit, sit
from core.pipelines.sittings import Sitting, sittings
from core.pipelines.students import NORMALISE, RULES, Plan, add_student

__all__ = [
    "DEPTH",
    "EXAM",
    "LEAST",
    "NORMALISE",
    "RETRIEVERS",
    "RULES",
    "TESTS",
    "UNSTATED",
    "AnswerTable",
    "BackgroundSitting",
    "Comparison",
    "Grid",
    "Item",
    "Plan",
    "Reins",
    "Responses",
    "Retrieval",
    "Retriever",
    "Row",
    "Score",
    "Sit",
    "Sitting",
    "Standing",
    "Test",
    "TopicRow",
    "abilities",
    "add_student",
    "answer_table",
    "best_classical",
    "by_topic",
    "compare",
    "current_sitting",
    "exam_board",
    "exam_items",
    "grid",
    "import_retrieval",
    "make_retrieval",
    "responses",
    "retrievals",
    "shorter",
    "sit",
    "sittings",
    "standing",
    "start_sitting",
]
