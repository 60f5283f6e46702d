"""Charts of leaderboards."""

import hashlib
import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd
import streamlit as st

from exam_workbench.leaderboard import Leaderboard

Spec = dict[str, Any]


GREY = "#737b87"
ACCENT = "#3b73b9"
ROW_HEIGHT = 22
NAME_LENGTH = 22
LEFT_OUT = 4
"""Minimum length of a common beginning that is left out."""
ELLIPSIS = "…"
BETWEEN = "_-+./: "
WORD = re.compile(rf"[^{re.escape(BETWEEN)}]+[{re.escape(BETWEEN)}]*|[{re.escape(BETWEEN)}]+")
"""A word of a name with the separators after it."""
# Space for a name of that length and a rank on either side, as long as some width is left for the lines.
SLOPE_ENDS = [{"expr": "min(160, width * 0.46)"}, {"expr": "width - min(160, width * 0.46)"}]
PADDING = {"left": 5, "right": 14, "top": 5, "bottom": 20}
"""Space around a chart; the last number of an axis may extend to the right."""
TITLE_LENGTH = 24
TITLE_LINE = 14


def short_names(names: Iterable[str], length: int = NAME_LENGTH) -> dict[str, str]:
    """Return short, distinct names of runs by their full names.

    A common beginning is left out, unless all names fit. If a name is still too long, some of its words are left out.
    The first to go are those that are most common among names with the same first word. The shortened name stays
    unique. An ellipsis marks each gap.

    Args:
        length: characters for a name; exceeded only if the name would be ambiguous.
    """
    return dict(_short_names(tuple(dict.fromkeys(names)), length))


@lru_cache(maxsize=64)
def _short_names(whole: tuple[str, ...], length: int) -> dict[str, str]:
    shared = _beginning(whole) if any(len(name) > length for name in whole) else 0
    shown = {name: (ELLIPSIS if shared else "") + name[shared:] for name in whole}
    words = {name: WORD.findall(name[shared:]) for name in whole}
    times = Counter(word for found in words.values() for word in _bare(found))
    near = Counter((found[0], word) for found in words.values() for word in _bare(found) if found)
    for name, found in words.items():
        common = [(near[found[0], word.strip(BETWEEN)], times[word.strip(BETWEEN)]) for word in found]
        others = {_letters(said) for other, said in shown.items() if other != name}
        shown[name] = _without_common(found, common, length, bool(shared), others, shown[name])
    shown = {
        # The middle is cut, since names of runs often differ at their end.
        name: said
        if len(said) <= length
        else f"{said[: length // 3 + 1].rstrip(ELLIPSIS)}{ELLIPSIS}{said[length // 3 + 2 - length :].lstrip(ELLIPSIS)}"
        for name, said in shown.items()
    }
    for alike in _alike(shown):
        # If that is not enough, names are shown around the first character that differs.
        part = next((at for at, signs in enumerate(zip(*alike, strict=False)) if len(set(signs)) > 1), 0)
        apart = max(part - 2, 0)
        shown |= {name: f"{name[:5]}{ELLIPSIS}{name[apart:][:8]}{ELLIPSIS}{name[-7:]}" for name in alike}
    for alike in _alike(shown):
        shown |= {name: name for name in alike}
    return shown


def _beginning(names: Sequence[str]) -> int:
    """Return the length of the common beginning, up to the end of a word; 0 if it is too short to leave out."""
    if len(names) < 2:
        return 0
    first, last = min(names), max(names)
    # The alphabetically first and last name have the same beginning only if all names have it. At least one character
    # of each name is kept.
    most = min(map(len, names)) - 1
    shared = first[: next((at for at in range(most) if first[at] != last[at]), most)]
    end = max((shared.rfind(sign) for sign in BETWEEN), default=-1) + 1
    return end if end >= LEFT_OUT else 0


def _bare(words: list[str]) -> set[str]:
    """Return the words of a name without separators."""
    return {word.strip(BETWEEN) for word in words}


def _letters(name: str) -> str:
    """Return a name without separators, as two shortened names must differ in more than those."""
    return "".join(sign for sign in name if sign not in BETWEEN + ELLIPSIS)


def _without_common(
    words: list[str], common: list[tuple[int, int]], length: int, begun: bool, others: set[str], whole: str
) -> str:
    """Return a name without its most common words, as few as needed; among equals the left word goes first.

    The first word always stays.

    Args:
        common: per word, how many names with the same first word contain it, and how many such names exist.
        begun: whether the beginning is left out already.
        others: the letters of the other shortened names.
        whole: the name without further gaps.
    """
    kept, said = dict(enumerate(words)), whole
    for at in sorted(range(1, len(words)), key=lambda at: (-common[at][0], at)):
        if len(said) <= length or common[at][1] < 2:
            break
        fewer = {place: word for place, word in kept.items() if place != at}
        shorter = ELLIPSIS * begun
        for place in range(len(words)):
            shorter += fewer.get(place, "" if shorter.endswith(ELLIPSIS) else ELLIPSIS)
        if _letters(shorter) not in others and len(shorter) < len(said):
            kept, said = fewer, shorter
    return said


def _alike(shown: Mapping[str, str]) -> list[list[str]]:
    """Return groups of names that would look the same."""
    groups: dict[str, list[str]] = {}
    for name, said in shown.items():
        groups.setdefault(said, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def name_labels(names: Iterable[str]) -> str:
    """Return a Vega expression with which an axis or a legend of runs shows `short_names`."""
    return f"{json.dumps(short_names(names))}[datum.label]"


def ink() -> str:
    """Return the colour of text in the person's theme."""
    return "#d5d9df" if st.context.theme.type == "dark" else "#3a4250"


def faint() -> str:
    """Return the colour of decorations in the person's theme."""
    return "#30363b" if st.context.theme.type == "dark" else "#e3e6e9"


def slope(
    first: Leaderboard,
    second: Leaderboard,
    marked: str | None = None,
    titles: tuple[str, str] = ("Official", "Exam"),
) -> Spec:
    """Return a chart of the order of the systems on two leaderboards, with a line per system.

    Args:
        marked: the run to highlight.
        titles: titles of the left and right leaderboard, which must differ.
    """
    left = {s.run: s.rank for s in first.systems}
    right = {s.run: s.rank for s in second.systems}
    common = [run for run in right if run in left]
    # Tied systems share a rank but get separate positions, so that names do not overlap.
    places = {
        titles[0]: sorted(common, key=lambda run: (left[run], right[run])),
        titles[1]: sorted(common, key=lambda run: (right[run], left[run])),
    }
    short = short_names(common)
    rows = [
        {
            "run": run,
            "board": board,
            "place": place,
            "name": f"{short[run]}  {left[run]}" if board == titles[0] else f"{right[run]}  {short[run]}",
            "move": left[run] - right[run],
            "marked": run == marked,
        }
        for board, order in places.items()
        for place, run in enumerate(order, 1)
    ]
    table = pd.DataFrame(rows, columns=["run", "board", "place", "name", "move", "marked"])
    # Each title is wrapped and ends above the dots of its leaderboard, so that long titles do not meet.
    align = either("datum.index == 0", "right", "left")
    wrapped = {title: textwrap.wrap(title, TITLE_LENGTH) for title in titles}
    further_lines = TITLE_LINE * (max(map(len, wrapped.values())) - 1)
    boards = {
        "labelAngle": 0, "labelLimit": 0, "labelAlign": align, "orient": "top", "domain": False, "ticks": False,
        "grid": False, "labelExpr": f"{json.dumps(wrapped)}[datum.label]", "labelPadding": 16 + further_lines,
        "labelLineHeight": TITLE_LINE,
    }  # fmt: skip
    base = {
        "x": word("board", sort=list(places), title=None, axis=boards, scale={"range": SLOPE_ENDS}),
        "y": number("place", scale={"reverse": True, "zero": False, "nice": False}, axis=None),
        "color": either("datum.marked", ACCENT, GREY),
        "tooltip": [word("run", title="Run"), number("move", title=f"Ranks gained in {titles[1]}")],
        "detail": word("run"),
    }
    named = base | {"text": word("name"), "color": either("datum.marked", ACCENT, ink())}
    return chart(
        table,
        layer("line", base | {"strokeWidth": either("datum.marked", 3, 1.3)}, point=True),
        *(
            layer("text", named, only=f"datum.board === {json.dumps(board)}", align=side, dx=dx)
            for board, side, dx in zip(titles, ("right", "left"), (-9, 9), strict=True)
        ),
        height=ROW_HEIGHT * max(3, len(common)) + further_lines + 50,
    )


SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
CLICKED = "clicked"
"""Name of the layer whose marks can be clicked."""


def word(field: str, **options: object) -> Spec:
    """Return a channel that shows a column of names."""
    return {"field": field, "type": "nominal", **options}


def number(field: str, **options: object) -> Spec:
    """Return a channel that shows a column of numbers."""
    return {"field": field, "type": "quantitative", **options}


def constant(value: object) -> Spec:
    """Return a channel with the same value for every mark."""
    return {"value": value}


def either(test: str, value: object, otherwise: object) -> Spec:
    """Return a channel with one value if a test holds and another value otherwise."""
    return {"condition": {"test": test, "value": value}, "value": otherwise}


def layer(mark: str, encoding: Spec, only: str | None = None, **options: object) -> Spec:
    """Return a layer of marks of one kind.

    Args:
        only: filter expression for the rows; None for all rows.
        options: properties of the mark.
    """
    found: Spec = {"mark": {"type": mark, **options}, "encoding": encoding}
    return found if only is None else found | {"transform": [{"filter": only}]}


def clickable(marks: Spec) -> Spec:
    """Return the layer with its marks made clickable."""
    return marks | {"name": CLICKED}


def selection(name: str, *fields: str, bind: str | None = None, **options: object) -> Spec:
    """Return a selection of these columns' values by a click on the clickable layer.

    Args:
        bind: another place to click, such as the legend.
    """
    found: Spec = {"name": name, "select": {"type": "point", "fields": list(fields), **options}, "views": [CLICKED]}
    return found if bind is None else found | {"bind": bind}


def chart(table: pd.DataFrame, *layers: Spec, **options: object) -> Spec:
    """Return a chart of layers over one table; a layer made by `over` uses its own table."""
    tables = _named(table)
    drawn = []
    for marks in layers:
        tables |= marks.get("datasets", {})
        drawn.append({key: value for key, value in marks.items() if key != "datasets"})
    return {"$schema": SCHEMA, "data": {"name": next(iter(tables))}, "datasets": tables, "layer": drawn, **options}


def over(table: pd.DataFrame, marks: Spec) -> Spec:
    """Return a layer that uses another table than the rest of its chart."""
    tables = _named(table)
    return marks | {"data": {"name": next(iter(tables))}, "datasets": tables}


def _named(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Name a table after its content, since the browser makes a chart again only if its table's name changes."""
    return {hashlib.sha256(table.to_json().encode()).hexdigest()[:32]: table}
