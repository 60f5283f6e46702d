"""The injections, under the name that tests use."""

from exam_workbench.graders._reading.injections import INJECTIONS, Injection

__all__ = ["INJECTIONS", "Injection"]
