"""The injections, under the name by which tests know them."""

from core.injections import INJECTIONS, Injection

__all__ = ["INJECTIONS", "Injection"]
