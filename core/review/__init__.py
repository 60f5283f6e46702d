"""Review by people: effects of changes, disagreements between two sides, adjudication, and single passages."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
