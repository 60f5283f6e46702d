"""Measures of a ranking, means, correlation, agreement and tests: numbers from numbers, without
project or SQL.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
