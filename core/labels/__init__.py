"""Labels, coverage and leaderboards from grades: in SQL, and in memory for one query."""

from ..store import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__)
