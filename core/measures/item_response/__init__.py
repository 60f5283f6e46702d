"""Item response theory: ability of examinees and information of items, from right and wrong
answers. Only numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
