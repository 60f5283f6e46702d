"""Graders: all methods of grading, with their models and prompts. No grader knows a project."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
