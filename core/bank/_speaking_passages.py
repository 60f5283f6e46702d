"""Pooled passages that address the grader."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from ..grouping import group_pairs
from ..injection_signs import ANY, repeatable_form
from ..store import Project
from ..types import GraderSpec
from ._asked_questions import bank_for
from ._questions import latest_version

Place = tuple[int, int]
"""Keys of a query and of a passage in its pool."""
Asked = frozenset[tuple[str, bool]]
"""Normalised questions of a query to search for in texts, each with whether it has a question mark.
"""


@dataclass
class _SearchCache:
    """Cached results for an open project. A text never changes, so each text is searched once.

    `repeats` has, for each query, the questions that were searched and the passages that repeat a
    question.
    """

    upto: int = 0
    texts: frozenset[int] = frozenset()
    pool: str = ""
    of: tuple[object, ...] = ()
    places: frozenset[Place] = frozenset()
    repeats: dict[int, tuple[Asked, frozenset[Place]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_QUESTIONS = GraderSpec("any", "self-rating", "", kinds=("question",))
"""Selects questions, not nuggets: a passage may contain a nugget word for word."""


_REPEATING = (
    "WITH said_questions AS MATERIALIZED"
    "  (SELECT unnest($queries) AS query_key, unnest($said) AS said, unnest($asks) AS asks)"
    " SELECT DISTINCT query_key, passage_key"
    " FROM (SELECT query_key, passage_key, lower(text) AS lowered,"
    "  contains(text, '?') AS has_mark FROM pool JOIN passage_texts USING (text_key)"
    # Most questions have a question mark and most passages have none, so few passages are joined.
    "  WHERE query_key IN (SELECT query_key FROM said_questions)"
    "   AND (has_mark OR query_key IN (SELECT query_key FROM said_questions WHERE NOT asks)))"
    " JOIN said_questions USING (query_key)"
    " WHERE (has_mark OR NOT asks) AND contains(lowered, said)"
)


def speaking_passages(project: Project, version: int | None = None) -> frozenset[Place]:
    """Return the pooled passages that address the grader or repeat a question of their query.

    The first call searches all texts, which takes seconds for a large pool; later calls search only
    new texts.

    Args:
        version: bank version of the questions; None for the newest.
    """
    version = latest_version(project) if version is None else version
    search_cache = project.cached("speaking passages", _SearchCache, frozenset())
    with search_cache.lock:
        upto, pool = project.rows(
            "SELECT (SELECT coalesce(max(text_key), 0) FROM passage_texts), (SELECT"
            " (count(*), bit_xor(hash(query_key, passage_key, text_key)))::VARCHAR FROM pool)"
        )[0]
        if upto > search_cache.upto:
            new = project.rows(
                "SELECT text_key FROM passage_texts WHERE text_key > ? AND text_key <= ?"
                " AND regexp_matches(text, ?)",
                [search_cache.upto, upto, ANY],
            )
            search_cache.texts, search_cache.upto = (
                search_cache.texts.union(key for (key,) in new),
                upto,
            )
        if pool != search_cache.pool:
            search_cache.repeats, search_cache.pool = {}, pool
        if search_cache.of != (version, pool, upto):
            _find_repeats(project, version, search_cache.repeats)
            repeating = (places for _, places in search_cache.repeats.values())
            search_cache.places = _speaking_places(project, search_cache.texts).union(*repeating)
            search_cache.of = version, pool, upto
        return search_cache.places


def _speaking_places(project: Project, texts: frozenset[int]) -> frozenset[Place]:
    if not texts:
        return frozenset()
    return frozenset(
        project.rows(
            "SELECT query_key, passage_key FROM pool WHERE list_contains(?, text_key)",
            [sorted(texts)],
        )
    )


def _find_repeats(
    project: Project, version: int, repeats: dict[int, tuple[Asked, frozenset[Place]]]
) -> None:
    """Find the pooled passages that contain a question of their query word for word.

    Args:
        repeats: the questions and the passages found so far, by query key; updated in place. Only
            queries with changed questions are searched.
    """
    texts = project.rows(
        f"SELECT query_key, text FROM {bank_for(_QUESTIONS)} JOIN question_texts USING (text_key)"
        " WHERE text IS NOT NULL",
        {"version": version},
    )
    asked = group_pairs(
        (query, (form, "?" in text)) for query, text in texts if (form := repeatable_form(text))
    )
    forms = {query: frozenset(asked.get(query, ())) for query in {**repeats, **asked}}
    changed = {
        query: of_query
        for query, of_query in forms.items()
        if query not in repeats or repeats[query][0] != of_query
    }
    rows = [(query, *form) for query, of_query in changed.items() for form in of_query]
    parameters = {
        name: [row[i] for row in rows] for i, name in enumerate(("queries", "said", "asks"))
    }
    repeating = project.rows(_REPEATING, parameters) if rows else []
    places = group_pairs((place[0], place) for place in repeating)
    repeats.update(
        (query, (of_query, frozenset(places.get(query, ())))) for query, of_query in changed.items()
    )
