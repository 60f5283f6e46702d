"""Which view of a screen is on: one row of choices, the same on every screen that has some."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from pages.parts.shared import address


def choose(views: Sequence[str], names: Callable[[str], str] = str) -> str:
    """Draw the choice of a view, which the address names; the first one is what it leaves out.

    Args:
        views: by their names in the address.
        names: what a view is called on the screen.
    """
    # Another screen has other views under the same parameter.
    address.own("view", views)
    return str(
        st.segmented_control(
            "View", views, default=views[0], format_func=names, key="view", required=True, bind="query-params",
            label_visibility="collapsed",
        )
    )  # fmt: skip
