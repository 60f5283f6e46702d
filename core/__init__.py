"""Exam Workbench: curate exam questions, grade passages, derive labels and leaderboards.

import exam_workbench as ew

with ew.open("trec.duckdb") as project:
    print(project.leaderboard("EXAM-Cover@20"))
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"
__all__ = ["Policy", "Project", "WorkbenchError", "create", "demo", "measure", "open"]

if TYPE_CHECKING:
    from .errors import WorkbenchError
    from .face import Project, create, demo, measure, open
    from .labels import Policy

_HOMES = {"Policy": ".labels", "WorkbenchError": ".errors"}


def __getattr__(name: str) -> Any:
    # Imported late, because commands import this package too, and pandas loads slowly.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, ".face"), __name__), name)
