"""The injections, under the name by which tests know them."""

from core.graders import INJECTIONS
from core.graders.reading.injections import Injection

__all__ = ["INJECTIONS", "Injection"]
