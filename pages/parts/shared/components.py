"""Parts of screens that run in the browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

_PARTS = Path(__file__).parents[1]
ACTING = ("shared/making.css", "shared/making.js")
"""Files that precede those of a component that reports actions (`pages.parts.shared.acting`)."""


def component(name: str, *files: str, html: str | None = None) -> Callable[..., Any]:
    """Return a component that runs in the browser.

    Args:
        name: unique in the app.
        files: style sheets and scripts, as paths below pages/parts, in loading order.
        html: initial content.
    """
    css, js = (
        "\n".join((_PARTS / file).read_text(encoding="utf-8") for file in files if file.endswith(suffix))
        for suffix in (".css", ".js")
    )
    return st.components.v2.component(name, html=html, css=css or None, js=js)
