"""The command about the cached vectors of the embedding grader."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from ..grading import count_vectors, drop_vectors
from ..store import Project
from .console import counted
from .describing import Option
from .output import Output
from .registry import operation


@operation("vectors", act="organize", reads=lambda given: not given["drop"])
def vectors(
    project: Project,
    *,
    drop: Annotated[bool, Option(help="Delete all vectors; grading computes them again.")] = False,
) -> Output:
    """Count the cached vectors of the embedding grader, or delete them.

    Without this cache, reworded questions are graded more slowly. The ratings are the same.
    """
    dropped = drop_vectors(project) if drop else 0
    found = count_vectors(project)
    output = Output({"dropped": dropped, "vectors": [asdict(one) for one in found]})
    if drop:
        return output.note(
            f"Deleted the vectors of {counted(dropped, 'text')}. The file reuses their space as it grows."
        )
    if not found:
        return output.note("No cached vectors. The embedding grader has not graded in this project yet.")
    return output.table(
        ("kind", "texts", "size", "encoder"),
        [(one.role, one.texts, f"{one.size / 1e6:.1f} MB", one.encoder) for one in found],
    )
