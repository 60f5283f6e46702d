"""The tables of a project: a module for each group of tables, with all statements that write them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
