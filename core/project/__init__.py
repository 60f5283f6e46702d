"""The DuckDB file of a project: its activity log and its collection (queries, passages, runs, judgments, …)."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
