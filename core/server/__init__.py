"""The server of the screens: health check, API, and the doors through which commands find an open
project.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
