"""Parts of screens that run in the browser.

A desk is a list of items, the open item, and a person's actions, each with a key. The component
`desk` draws all of them: `kind` in its data names the content. Further fields that all kinds share:

- `taken`: number of the latest action that the server has taken.
- `home`: if it changes, the browser starts again, because unsent text and actions belong to the
  former one.
- `rows`, `first`, `total`, `page`: a page of the list, the number of items before it, of all, and
  of a full page.
- `open`: the open item. Kinds that lead on before the server answers get the next items, too.
- `said`: the result of the last action, with the action that undoes it; `error`: why an action
  failed.

The browser sends actions as `acts`: each has a rising number as `id`, its name as `do`, and further
values. It sends an action again until `taken` confirms it. A key presses the button that names it
in `aria-keyshortcuts`.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from pages.parts.shared import look, streamlit_bridge

_PARTS = Path(__file__).parents[1]
_SHARED = ("shared/elements", "shared/desk")
COMPONENTS = {
    "desk": (
        *_SHARED,
        "review/cases",
        "review/passages",
        "review/ratings",
        "review/decisions",
        "shared/judging",
        "answers/answers",
        "bank/channel",
        "bank/questions",
        "bank/bar",
    ),
    "table": (
        *_SHARED,
        "shared/scale",
        "shared/queries",
        "shared/leaderboard",
        "shared/picks",
        "home/panels",
    ),
    "page": ("shared/elements", "shared/desk", "shared/page", "home/tour"),
}
"""The scripts and style sheets of each component, below pages/parts."""


def _join_files(name: str, suffix: str) -> str:
    files = (_PARTS / f"{file}{suffix}" for file in COMPONENTS[name])
    return "\n".join(file.read_text(encoding="utf-8") for file in files if file.exists())


_DRAWS: dict[str, Callable[..., Any]] = {}
"""The component that draws each kind of content."""
for _name in COMPONENTS:
    _js = f"{streamlit_bridge.SCRIPT}\n{_join_files(_name, '.js')}"
    _drawn = st.components.v2.component(
        _name, css=f"{look.SCALE}\n{_join_files(_name, '.css')}", js=_js
    )
    _DRAWS |= dict.fromkeys(re.findall(r"^KINDS\.(\w+) =", _js, re.MULTILINE), _drawn)


def draw(kind: str, key: str, data: dict[str, Any], **callbacks: Callable[[], None]) -> Any:
    """Draw the content of a kind, and return its state.

    Args:
        callbacks: called after events of the browser, such as `on_open_change`.
    """
    return _DRAWS[kind](key=key, data={"kind": kind, **data}, **callbacks)
