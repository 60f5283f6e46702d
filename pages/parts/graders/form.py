"""The widgets of a grader's parameters, which keep only deviations from the defaults."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import streamlit as st


class Form:
    """The widgets of a grader's parameters; `values` has those that differ from the defaults.

    Args:
        prefix: begins the keys of the widgets, so that every grader has its own values.
        stored: initial parameters.
    """

    def __init__(self, prefix: str, stored: Mapping[str, Any]) -> None:
        self.prefix, self.stored, self.values = prefix, stored, dict[str, Any]()

    def keep(self, name: str, value: Any, default: Any = None) -> Any:
        """Keep a value, unless it is the default and was not stored; return it."""
        if value not in (None, "") and (value != default or name in self.stored):
            self.values[name] = value
        return value

    def options(self, name: str, about: str | None = None) -> dict[str, Any]:
        """Return the options of every widget: its own key, its help, and persistence across screens."""
        return {"key": f"{self.prefix} {name}", "persist_state": "session", "help": about}

    def beside(self, choice: str, fits: bool) -> Self:
        """Return the form for parameters that depend on a choice; each choice has its own values and defaults.

        Args:
            fits: whether the stored parameters belong to this choice.
        """
        dependent = type(self)(f"{self.prefix}/{choice}", self.stored if fits else {})
        dependent.values = self.values
        return dependent

    def text(self, name: str, label: str, default: str = "", about: str | None = None) -> str:
        """Draw a line of text and return it; an empty one means the default."""
        given = st.text_input(
            label, str(self.stored.get(name, "")), placeholder=default or None, **self.options(name, about)
        )
        return str(self.keep(name, given.strip()) or default)

    def number(self, name: str, label: str, default: Any, low: Any, high: Any, about: str | None = None) -> None:
        """Draw a number; it may be empty if the default is None."""
        given = st.number_input(label, low, high, self.stored.get(name, default), **self.options(name, about))
        self.keep(name, given, default)

    def select(
        self, name: str, label: str, values: Sequence[str], default: str, names: Mapping[str, str] | None = None,
        about: str | None = None,
    ) -> str:  # fmt: skip
        """Draw a choice of a value and return it."""
        start = self.stored.get(name, default)
        index = list(values).index(start) if start in values else 0
        picked = st.selectbox(
            label, values, index, lambda value: (names or {}).get(value, value), **self.options(name, about)
        )
        return str(self.keep(name, picked, default))

    def check(self, name: str, label: str, default: bool, about: str | None = None) -> None:
        """Draw a checkbox."""
        self.keep(name, st.checkbox(label, bool(self.stored.get(name, default)), **self.options(name, about)), default)
