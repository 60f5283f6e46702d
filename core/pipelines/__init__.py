"""Exams for pipelines: multiple-choice items from a corpus, and what is known of them before anybody sits the exam."""

from __future__ import annotations

from core.pipelines.item_categories import (
    QUESTION_WORDS,
    UNCATEGORIZED,
    bloom,
    built_in_keywords,
    categories,
    keywords,
    question_types,
    read_keywords,
    set_keywords,
)
from core.pipelines.item_filters import (
    VALUE_COLUMNS,
    Checked,
    Hit,
    Likeness,
    Thresholds,
    Values,
    check,
    judged,
    kept_vectors,
    measure,
    usual_thresholds,
    value_row,
)
from core.pipelines.item_generation import Wanted, chunks_to_ask, generate_items, generation_price
from core.pipelines.item_parsing import PARTS, ParsedItem, Part, Unparsed, parse_item, shuffle_seed, shuffled
from core.pipelines.item_statistics import ExamStatistics, Making, making_of, statistics
from core.pipelines.items import EXAM, Item, exam_items, proposed_items, retire

__all__ = [
    "EXAM",
    "PARTS",
    "QUESTION_WORDS",
    "UNCATEGORIZED",
    "VALUE_COLUMNS",
    "Checked",
    "ExamStatistics",
    "Hit",
    "Item",
    "Likeness",
    "Making",
    "ParsedItem",
    "Part",
    "Thresholds",
    "Unparsed",
    "Values",
    "Wanted",
    "bloom",
    "built_in_keywords",
    "categories",
    "check",
    "chunks_to_ask",
    "exam_items",
    "generate_items",
    "generation_price",
    "judged",
    "kept_vectors",
    "keywords",
    "making_of",
    "measure",
    "parse_item",
    "proposed_items",
    "question_types",
    "read_keywords",
    "retire",
    "set_keywords",
    "shuffle_seed",
    "shuffled",
    "statistics",
    "usual_thresholds",
    "value_row",
]
