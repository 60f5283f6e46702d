"""Studies of measures, graders, questions and systems: correlation, selection, significance,
unjudged, diagnosis.
"""

from ..store import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__)
