"""The question bank: questions, drafts, proposals, saving; and the catalogue of graders, prompts and prices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
