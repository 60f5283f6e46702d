"""The audited board as one component of our own: intervals on one scale, the machine's scores and bias beside them."""

from __future__ import annotations

from typing import Any

from exam_workbench.audit import AuditBoard
from pages.parts.shared import charts
from pages.parts.shared.components import ACTING, component
from pages.parts.shared.html import as_shown

KEY = "audited"

_component = component("audited_board", *ACTING, "audit/board.css", "audit/board.js")


def draw(board: AuditBoard) -> None:
    """Draw the board; a system opens to what it is beside the others."""
    _component(key=KEY, data=shown(board))


def shown(board: AuditBoard) -> dict[str, Any]:
    """What the browser gets of a board."""
    runs = [one.run for one in board.systems]
    names, short = charts.short_names(runs, 34), charts.short_names(runs)
    return {
        "measure": board.measure,
        "confidence": board.confidence,
        # Pairs are told apart at the level of the whole board, after the correction.
        "level": 1 - board.confidence,
        "missed": board.missed,
        "groups": board.groups,
        "systems": [
            vars(one) | {"name": as_shown(names[one.run]), "short": as_shown(short[one.run])} for one in board.systems
        ],
        "differences": [
            (one.first, one.second, one.value, one.low, one.high, one.adjusted) for one in board.differences
        ],
    }
