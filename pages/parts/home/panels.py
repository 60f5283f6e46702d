"""Panels of numbers that link to their details, drawn in the browser by a small component."""

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
"""Largest number of places that a line of counts lists; the rest is a number."""

_panels = component("panels", "home/panels.css", "home/panels.js", html='<div class="panels"></div>')


def to(screen: str, **query: str | int) -> str:
    """Return a relative link to a screen, with the project and the choices that hold on all screens."""
    named = {"project": str(st.session_state["project"])} if st.session_state.get("project") else {}
    path = "" if screen == next(iter(screens.SCREENS)) else screen
    return f"{path or '.'}?{urlencode({**named, **travelling(), **query})}"


def draw(key: str, panels: Iterable[dict[str, Any]], framed: bool = True) -> None:
    """Draw panels side by side, as many as fit.

    Args:
        key: key of the component.
        panels: made by `panel`.
        framed: whether each panel has a border.
    """
    _panels(key=key, data={"panels": list(panels), "framed": framed}, on_go_change=lambda: follow_later(key))


def follow_later(key: str) -> None:
    """Note a clicked link of a component for `follow`.

    Args:
        key: of the component, whose trigger `go` is the address of the link.
    """
    st.session_state["go to"] = st.session_state[key]["go"]


def follow() -> None:
    """Follow the link that was just clicked, if any; this ends the run."""
    link = urlsplit(str(st.session_state.pop("go to", None) or ""))
    screen = next(iter(screens.SCREENS)) if link.path == "." else link.path
    if screen in screens.SCREENS:
        go(screen, {name: values[-1] for name, values in parse_qs(link.query).items()})


def go(screen: str, query: Mapping[str, str]) -> NoReturn:
    """Switch to a screen; this ends the run.

    Args:
        query: parameters of its address, added to the choices that hold on all screens.
    """
    st.switch_page(f"pages/{screen}.py", query_params={**travelling(), **query})


def panel(
    title: str, blocks: Iterable[Block | None], address: str | None = None, about: str = "", wide: bool = False
) -> dict[str, Any]:
    """Return a panel with a title.

    Args:
        blocks: contents from the top; None is left out.
        address: link of the title.
        about: a few words next to the title.
        wide: whether it is twice as wide if the window allows it.
    """
    return {"title": title, "about": about, "wide": wide, "to": address, "blocks": [block for block in blocks if block]}


def text(words: str, tone: str = "", key: str = "") -> Block:
    """Return a sentence; `tone` is "", "strong" or "changed", and `key` distinguishes it from others."""
    return {"kind": "text", "text": words, "tone": tone, "key": key}


def bar(label: str, parts: Iterable[tuple[str, int, str, str | None]]) -> Block:
    """Return a bar of parts, with a legend of the non-empty ones.

    Args:
        label: describes the whole for screen readers.
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
    """Return lines of counts made by `count`; None is left out."""
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
    """Return a line with a number and its meaning.

    Args:
        number: None for a line of words only.
        address: link of the line.
        tone: "changed" or "failed" for a coloured number.
        more: places behind the number, listed when the line is opened: text, count and address of each.
        aside: a few words after it.
        key: distinguishes the line from others.
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
