"""All charts as Altair charts: functions from plain data, for screens, notebooks and printed
figures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
