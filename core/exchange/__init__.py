"""Import, export, publication, Parquet and demo: exchange of files with a project."""

from ..store import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__)
