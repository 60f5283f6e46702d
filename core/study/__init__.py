"""Studies of measures, graders, questions and systems: correlation, selection, significance, unjudged, diagnosis."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
