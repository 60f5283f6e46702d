"""Audits: judgments of a random sample correct a machine's leaderboard, with valid intervals. Only
numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
