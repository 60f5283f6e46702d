"""A cache of results by query while a project is open: after a change only the affected queries are recomputed.

`Project.cached` discards a whole result at each write. People rate hundreds of passages, and each
rating changes one query. So this cache keeps each part of a result with a mark of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._project import Project

Q = TypeVar("Q", bound=Hashable)
T = TypeVar("T")


@dataclass
class _Kept:
    """The mark and part of each query, and the objects on which all parts depend. They are replaced together."""

    content: tuple[Mapping[Any, tuple[Hashable, Any]], tuple[object, ...]] = field(default=({}, ()))


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
    kept = project.cached(("by query", key), _Kept, reads=frozenset())
    known, before = kept.content
    if len(before) != len(made_of) or any(old is not new for old, new in zip(before, made_of, strict=True)):
        known = {}
    wanted = [query for query, mark in marks.items() if query not in known or known[query][0] != mark]
    made = make(wanted) if wanted else {}
    parts = {query: (mark, made[query] if query in made else known[query][1]) for query, mark in marks.items()}
    kept.content = parts, tuple(made_of)
    return {query: part for query, (_, part) in parts.items()}
