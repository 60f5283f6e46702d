"""The question bank: questions, drafts, proposals, saving; and the catalogue of graders, prompts
and prices.
"""

from ..store import attach_face

__getattr__, __dir__, __all__ = attach_face(__name__, __file__)
