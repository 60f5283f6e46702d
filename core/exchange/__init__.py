"""Import, export, publication, Parquet and demo: exchange of files with a project."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
