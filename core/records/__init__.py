"""The tables of a project: a module per group of tables, with all statements that write them."""

from ..store import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__)
