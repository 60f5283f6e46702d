"""Exam Workbench: curate exam questions, grade passages, derive labels and leaderboards.

import exam_workbench as ew

with ew.open("trec.duckdb") as project:
    print(project.leaderboard("EXAM-Cover@20"))
"""

import lazy_loader

__version__ = "0.2.0"
# Loaded late, because commands import this package too, and pandas loads slowly.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
