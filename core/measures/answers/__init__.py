"""Measures of answers: scores against right answers, retrieval, cases, correlation over queries,
and answer checks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
