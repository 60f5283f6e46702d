"""Panels of numbers that lead to what is behind them: drawn in the browser by one small part of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlencode, urlsplit

import streamlit as st

from pages.parts.shared import screens
from pages.parts.shared.address import travelling
from pages.parts.shared.components import component

Block = dict[str, Any]
"""A part of a panel: a bar, systems with their intervals, lines of counts, or a sentence."""

MORE = 50
"""How many places a line of counts lists; the rest is said as a number."""

_panels = component("panels", "home/panels.css", "home/panels.js", html='<div class="panels"></div>')


def to(screen: str, **query: str | int) -> str:
    """The address of a screen, seen from any other; the project and what is chosen go along."""
    named = {"project": str(st.session_state["project"])} if st.session_state.get("project") else {}
    path = "" if screen == next(iter(screens.SCREENS)) else screen
    return f"{path or '.'}?{urlencode({**named, **travelling(), **query})}"


def draw(key: str, panels: Iterable[dict[str, Any]], framed: bool = True) -> None:
    """Draw panels side by side, as many as fit.

    Args:
        key: names the part among others on the screen.
        panels: as `panel` makes them.
        framed: whether each has a border of its own.
    """
    _panels(key=key, data={"panels": list(panels), "framed": framed}, on_go_change=lambda: follow_later(key))


def follow_later(key: str) -> None:
    """Note which link was clicked in a part of ours, for `follow`.

    Args:
        key: of the part, whose trigger `go` is the link's address.
    """
    st.session_state["go to"] = st.session_state[key]["go"]


def follow() -> None:
    """Go where a link leads that was clicked a moment ago; the run ends here then."""
    link = urlsplit(str(st.session_state.pop("go to", None) or ""))
    screen = next(iter(screens.SCREENS)) if link.path == "." else link.path
    if screen in screens.SCREENS:
        go(screen, {name: values[-1] for name, values in parse_qs(link.query).items()})


def go(screen: str, query: Mapping[str, str]) -> NoReturn:
    """Go to a screen; the run ends here.

    Args:
        query: what its address says beside what is chosen for every screen.
    """
    st.switch_page(f"pages/{screen}.py", query_params={**travelling(), **query})


def panel(
    title: str, blocks: Iterable[Block | None], address: str | None = None, about: str = "", wide: bool = False
) -> dict[str, Any]:
    """A panel with a title.

    Args:
        blocks: what is in it, from the top; None is left out.
        address: where the title leads.
        about: a few words beside the title.
        wide: whether it takes the room of two where there is any.
    """
    return {"title": title, "about": about, "wide": wide, "to": address, "blocks": [block for block in blocks if block]}


def text(words: str, tone: str = "", key: str = "") -> Block:
    """A sentence; `tone` is "", "strong" or "changed", and `key` tells it from others."""
    return {"kind": "text", "text": words, "tone": tone, "key": key}


def bar(label: str, parts: Iterable[tuple[str, int, str, str | None]]) -> Block:
    """A bar of parts, with a legend of those that are not empty.

    Args:
        label: what the whole is, for screen readers.
        parts: name, count, tone (a class of the style) and address of each.
    """
    shown = [
        {"name": name, "count": count, "shown": f"{count:,}", "tone": tone, "to": address}
        for name, count, tone, address in parts
        if count
    ]
    said = ", ".join(f"{part['shown']} {part['name']}" for part in shown)
    return {"kind": "bar", "label": f"{label}: {said}", "parts": shown}


def lines(found: Iterable[Mapping[str, Any] | None]) -> Block:
    """Lines of counts, as `count` makes them; None is left out."""
    return {"kind": "lines", "lines": [one for one in found if one]}


def count(
    number: int | str | None,
    words: str,
    address: str | None = None,
    tone: str = "",
    more: Iterable[tuple[str, int | None, str]] = (),
    aside: str = "",
    key: str = "",
) -> dict[str, Any]:
    """A number with what it counts.

    Args:
        number: None for a line of words alone.
        address: where the line leads.
        tone: "changed" or "failed" where the number says so.
        more: places that are behind the number, which the line opens to: text, count and address of each.
        aside: a few words after it.
        key: tells the line from others.
    """
    listed = list(more)
    places = [
        {"text": one, "to": where} | ({} if many is None else {"count": f"{many:,}"})
        for one, many, where in listed[:MORE]
    ]
    shown = {} if number is None else {"count": f"{number:,}" if isinstance(number, int) else number}
    rest = f"and {len(listed) - MORE:,} more" if len(listed) > MORE else ""
    return shown | {
        "text": words,
        "to": address,
        "tone": tone,
        "more": places,
        "rest": rest,
        "aside": aside,
        "key": key,
    }
