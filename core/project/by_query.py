"""Results that stand query by query, kept while a project is open: after a change only the queries that it touched are
worked out again.

What `Project.remember` keeps goes as a whole when anything is written. People rate by the hundred, and each rating
touches one query: here every part of a result is kept with a mark of what it was made of.
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
"""Results that are kept at most of a project; the oldest goes when one more comes."""


@dataclass(frozen=True)
class _Kept:
    """A part and its mark by query, and the objects that all of them were made of."""

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
    """The parts of a result by query, of which only those are made that differ from what was known.

    Nobody may change what is in a part: it is given again.

    Args:
        key: names the result together with everything that its parts depend on, but for `marks` and `made_of`.
        marks: by query, whatever differs where its part may: content, or a hash of it, and no number of the state.
        make: the parts of the queries that are asked for; all of them may be.
        made_of: what every part depends on, as it is remembered: all are made again once one of these is another
            object, as a table that was read anew.

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
