"""Labels, coverage and leaderboards from grades under a policy, in SQL and in memory for one query."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
