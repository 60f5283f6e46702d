"""The injections, under the name by which tests know them."""

from exam_workbench.graders.reading.injections import INJECTIONS, Injection

__all__ = ["INJECTIONS", "Injection"]
