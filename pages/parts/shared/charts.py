"""Charts of leaderboards."""

from __future__ import annotations

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import pandas as pd
import streamlit as st

from exam_workbench.leaderboard import Leaderboard
from pages.parts.shared.vega import Spec, chart, either, layer, number, word

GREY = "#737b87"
ACCENT = "#3b73b9"
ROW_HEIGHT = 22
NAME_LENGTH = 22
LEFT_OUT = 4
"""So many signs that all names begin with are worth leaving out."""
ELLIPSIS = "…"
BETWEEN = "_-+./: "
WORD = re.compile(rf"[^{re.escape(BETWEEN)}]+[{re.escape(BETWEEN)}]*|[{re.escape(BETWEEN)}]+")
"""A word of a name with the signs after it."""
# Room for a name of that length and a rank on either side, as long as the lines keep some.
SLOPE_ENDS = [{"expr": "min(160, width * 0.46)"}, {"expr": "width - min(160, width * 0.46)"}]
PADDING = {"left": 5, "right": 14, "top": 5, "bottom": 20}
"""Around a chart; the last number of an axis may reach into what is at the right."""
TITLE_LENGTH = 24
TITLE_LINE = 14


def short_names(names: Iterable[str], length: int = NAME_LENGTH) -> dict[str, str]:
    """The names of runs as there is room for them, by the whole ones: long ones are told apart by where they differ.

    What all names begin with is left out, unless all have room as they are. Of a name that is still too long those
    words go first that most of the names with the same first word have too, as long as the name stays one of its own;
    what is left out is an ellipsis.

    Args:
        length: signs that a name may take; more only where it would be taken for another one.
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
        # Names of runs often differ at their end: what is cut is the middle.
        name: said
        if len(said) <= length
        else f"{said[: length // 3 + 1].rstrip(ELLIPSIS)}{ELLIPSIS}{said[length // 3 + 2 - length :].lstrip(ELLIPSIS)}"
        for name, said in shown.items()
    }
    for alike in _alike(shown):
        # Where that is not enough, they are shown from the place where they part.
        part = next((at for at, signs in enumerate(zip(*alike, strict=False)) if len(set(signs)) > 1), 0)
        apart = max(part - 2, 0)
        shown |= {name: f"{name[:5]}{ELLIPSIS}{name[apart:][:8]}{ELLIPSIS}{name[-7:]}" for name in alike}
    for alike in _alike(shown):
        shown |= {name: name for name in alike}
    return shown


def _beginning(names: Sequence[str]) -> int:
    """How many signs all names begin with, up to the end of a word; 0 where these are too few to leave out."""
    if len(names) < 2:
        return 0
    first, last = min(names), max(names)
    # What the first and the last in the order of the alphabet share, all share; of each name something stays.
    most = min(map(len, names)) - 1
    shared = first[: next((at for at in range(most) if first[at] != last[at]), most)]
    end = max((shared.rfind(sign) for sign in BETWEEN), default=-1) + 1
    return end if end >= LEFT_OUT else 0


def _bare(words: list[str]) -> set[str]:
    """The words of a name without the signs between them."""
    return {word.strip(BETWEEN) for word in words}


def _letters(name: str) -> str:
    """A name without the signs between its words, in which alone two names should not differ."""
    return "".join(sign for sign in name if sign not in BETWEEN + ELLIPSIS)


def _without_common(
    words: list[str], common: list[tuple[int, int]], length: int, begun: bool, others: set[str], whole: str
) -> str:
    """A name without as many of its words as needed, the most common first, from the left; the first word stays.

    Args:
        common: how many names with the same first word have each word too, and how many in all.
        begun: whether the beginning is left out already.
        others: the letters of how other names are shown.
        whole: how the name is shown where nothing goes.
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
    """Groups of names that are shown as the same."""
    groups: dict[str, list[str]] = {}
    for name, said in shown.items():
        groups.setdefault(said, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def name_labels(names: Iterable[str]) -> str:
    """An expression that lets an axis or a legend of runs show `short_names`."""
    return f"{json.dumps(short_names(names))}[datum.label]"


def ink() -> str:
    """The colour of text in the theme that the person uses."""
    return "#d5d9df" if st.context.theme.type == "dark" else "#3a4250"


def faint() -> str:
    """The colour of what is there but says nothing, in the theme that the person uses."""
    return "#30363b" if st.context.theme.type == "dark" else "#e3e6e9"


def slope(
    first: Leaderboard,
    second: Leaderboard,
    marked: str | None = None,
    titles: tuple[str, str] = ("Official", "Exam"),
) -> Spec:
    """The order of the systems on two boards, the first at the left, a line a system.

    Args:
        marked: the run to point out.
        titles: what the boards are called; two different words.
    """
    left = {s.run: s.rank for s in first.systems}
    right = {s.run: s.rank for s in second.systems}
    common = [run for run in right if run in left]
    # Tied systems share a rank but get a place each, so that no name covers another.
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
    # Each title ends above the dots of its board and goes on in a new line, so that long ones do not meet.
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
