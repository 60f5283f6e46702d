"""Cached results with the tables that they were read from, and the versions of these tables.

Each commit raises the version of the tables that it wrote. A cached result is valid as long as no
table that it was read from has a higher version. Only one process writes to a file, so the versions
of this process are enough.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from ._sql_values import Parameters, written_in

COLLECTION = frozenset(
    {
        "queries",
        "subtopics",
        "passages",
        "passage_texts",
        "runs",
        "rankings",
        "ranked_runs",
        "responses",
        "response_sentences",
        "listed",
        "pool",
        "gold_passages",
        "gold_runs",
    }
)
"""Queries, passages and runs."""
BANK = frozenset({"bank_versions", "questions", "question_texts", "question_revisions", "items"})
"""Saved questions and items in all versions."""
GRADES = frozenset({"graders", "named_graders", "grades", "failures"})
ASKED = COLLECTION | BANK
"""Behind the pairs that a grader is asked."""
JUDGMENTS = frozenset({"judgments", "sources", "doubles", "double_turns", "adjudications"})
"""Judgments, and what hides them while a double assignment is open."""
LABELS = ASKED | GRADES | {"current_overrides"}
"""Behind labels and coverage, in which nothing is hidden from anyone."""
SCORES = frozenset(
    {
        *LABELS,
        *JUDGMENTS,
        "overrides",
        "settlings",
        "support_values",
        "boards",
        "board_scores",
        "board_query_scores",
        "settings",
        "prompts",
        "proposals",
        "model_families",
        "audits",
        "audit_batches",
        "audit_chances",
        "audit_ends",
        "audit_looks",
        "audit_queries",
        "audit_ranks",
        "audit_runs",
        "audit_verdicts",
        "cascades",
        "cascade_passages",
        "students",
        "student_factors",
        "answers",
        "item_categories",
        "proposed_items",
        "retrievals",
        "retrieved",
        "generations",
        "generators",
        "generated_answers",
        "answer_texts",
        "answer_judges",
        "answer_verdicts",
        "answer_cases",
        "comparisons",
        "freezes",
        "frozen_queries",
        "jobs",
        "call_batches",
        "call_batch_pairs",
        "kept_replies",
        "sentinel_answers",
        "seals",
        "probe_answers",
        "grader_cards",
        "repairs",
    }
)
"""All tables from which results are computed. The others hold drafts, activity, people and replaced
content.
"""

HIDING = frozenset({"judgments", "overrides", "support_values", "activity", "settlings"})
"""Tables with rows that may be hidden from some people, see `visible_rows`."""

_SENTENCES = ("responses", "runs", "rankings", "passages", "passage_texts", "response_sentences")
_HELD_SUPPORT = ("support_values", *_SENTENCES, "question_texts", "doubles", "double_turns")
VIEWS = {
    "current_overrides": ("overrides", "questions", "doubles", "double_turns"),
    "held_overrides": ("overrides", "questions", "doubles", "double_turns"),
    "double_people": ("double_turns",),
    "standing_adjudications": ("adjudications", "overrides"),
    "settled_cases": (
        *("settlings", "overrides", "questions", "question_revisions", "passages"),
        *("doubles", "double_turns"),
    ),
    "personal_support": ("support_values",),
    "sentences": _SENTENCES,
    "cited": (*_SENTENCES, "question_texts"),
    "held_support": _HELD_SUPPORT,
    "current_support": _HELD_SUPPORT,
    "bank_at": ("question_revisions",),
    "all_subtopics": ("subtopics", "question_revisions", "questions"),
    "topics": ("subtopics", "question_revisions", "questions", "queries"),
    "answered_by_topic": ("subtopics", "question_revisions", "questions", "queries", "rankings"),
    "places": ("subtopics", "question_revisions", "questions", "queries"),
    "titles": ("subtopics", "question_revisions", "questions", "queries"),
    "sent_pairs": ("call_batch_pairs", "call_batches", "kept_replies", "jobs"),
}
"""The tables behind each view and each macro of the schema."""

_WORD = re.compile(r"[a-z][a-z_0-9]+")
_WRITTEN = re.compile(
    r"\b(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM|MERGE INTO|TRUNCATE|ALTER TABLE)\s+\"?(\w+)"
)
# Tables are made and dropped only for the time of a transaction.
_WRITES_NOTHING = re.compile(
    r"\s*(?:SELECT|FROM|WITH|COPY|CREATE (?:OR REPLACE )?TEMP|DROP TABLE)\b"
)

EVERY = ""
"""Stands for all tables, in versions."""
MISSING = object()
"""Stands for a result that is not cached."""


@functools.lru_cache(100)
def with_views(names: frozenset[str]) -> frozenset[str]:
    """Add the tables behind the views and macros among some names."""
    return names.union(*map(VIEWS.__getitem__, VIEWS.keys() & names))


@functools.lru_cache(4_000)
def tables_read(sql: str) -> frozenset[str]:
    """Return the words of a statement that may name tables, with the tables behind its views and
    macros.
    """
    return with_views(frozenset(_WORD.findall(sql)))


def tables_written(sql: str) -> frozenset[str]:
    """Return the tables that a statement writes; `EVERY` if that is unknown."""
    if names := _WRITTEN.findall(sql):
        return frozenset(names)
    return frozenset() if _WRITES_NOTHING.match(sql) else frozenset({EVERY})


@dataclass(eq=False)
class Cache:
    """Results by key, each with the version of its tables; the result that was not used for longest
    is discarded first.

    Args:
        most: largest number of results.
    """

    most: int
    _kept: dict[Hashable, tuple[int, Any]] = field(default_factory=dict, init=False)
    _keeping: threading.Lock = field(default_factory=threading.Lock, init=False)

    def find(self, key: Hashable, version: int) -> Any:
        """Return the result of a key if it has this version, else `MISSING`."""
        entry = self._kept.get(key)
        if entry is None or entry[0] != version:
            return MISSING
        self.keep(key, version, entry[1])
        return entry[1]

    def keep(self, key: Hashable, version: int, result: Any) -> None:
        """Keep a result as the latest."""
        with self._keeping:
            self._kept.pop(key, None)
            self._kept[key] = version, result
            while len(self._kept) > self.most:
                self._kept.pop(next(iter(self._kept)))


@dataclass(eq=False)
class NotedCursor:
    """A cursor that reports each statement before it runs, and writes its parameters into it (see
    `values`).
    """

    _cursor: Any
    _note: Callable[[str], None]

    def execute(self, sql: str, parameters: Parameters = None) -> Any:
        self._note(sql)
        return self._cursor.execute(*written_in(sql, parameters))

    def executemany(self, sql: str, *more: Any) -> Any:
        self._note(sql)
        return self._cursor.executemany(sql, *more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)
