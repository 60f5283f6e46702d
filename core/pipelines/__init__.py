"""Exams for pipelines: multiple-choice items from a corpus, and what is known of them before anybody sits the exam."""

from __future__ import annotations

from core.pipelines.item_parsing import PARTS, ParsedItem, Part, Unparsed, parse_item, shuffle_seed, shuffled
from core.pipelines.items import EXAM, Item, exam_items, proposed_items, retire

__all__ = [
    "EXAM",
    "PARTS",
    "Item",
    "ParsedItem",
    "Part",
    "Unparsed",
    "exam_items",
    "parse_item",
    "proposed_items",
    "retire",
    "shuffle_seed",
    "shuffled",
]
