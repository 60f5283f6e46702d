"""Review by people: effects of changes, disagreements between two sides, adjudication, and single
passages.
"""

from ..store import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__)
