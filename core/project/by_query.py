"""A cache of results by query while a project is open: after a change only the affected queries are recomputed.

`Project.remember` discards a whole result at each write. People rate hundreds of passages, and each
rating changes one query. So this cache keeps the part of each query with a mark of the part's inputs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from .project import Project

Q = TypeVar("Q", bound=Hashable)
T = TypeVar("T")

KEPT = 60
"""Largest number of cached results per project; the oldest is discarded first."""


@dataclass(frozen=True)
class _Kept:
    """The part and mark of each query, and the objects on which all parts depend."""

    parts: Mapping[Any, tuple[Hashable, Any]]
    made_of: tuple[object, ...]


_KEPT: WeakKeyDictionary[object, dict[Hashable, _Kept]] = WeakKeyDictionary()
_KEEPING = threading.Lock()


def by_query(
    project: Project,
    key: Hashable,
    marks: Mapping[Q, Hashable],
    make: Callable[[Sequence[Q]], Mapping[Q, T]],
    made_of: Sequence[object] = (),
) -> dict[Q, T]:
    """Return the parts of a result by query; compute only those whose mark changed.

    Callers must not change a part, because later calls return the same object.

    Args:
        key: identifies the result with everything that its parts depend on, except `marks` and `made_of`.
        marks: by query, a value that changes if its part may change: content or a hash, never a state number.
        make: computes the parts of the given queries, some or all.
        made_of: objects on which every part depends. All parts are computed again if one of these objects was replaced
            by another object, such as a table that was read again.

    Returns:
        The part of each query of `marks`, in their order.
    """
    with _KEEPING:
        results = _KEPT.setdefault(project.opened, {})
        before = results.get(key)
    known: Mapping[Any, tuple[Hashable, Any]] = {}
    if before is not None and all(old is new for old, new in zip(before.made_of, made_of, strict=True)):
        known = before.parts
    wanted = [query for query, mark in marks.items() if query not in known or known[query][0] != mark]
    made = make(wanted) if wanted else {}
    parts = {query: (mark, made[query] if query in made else known[query][1]) for query, mark in marks.items()}
    with _KEEPING:
        results.pop(key, None)
        results[key] = _Kept(parts, tuple(made_of))
        while len(results) > KEPT:
            results.pop(next(iter(results)))
    return {query: part for query, (_, part) in parts.items()}
