"""The audited leaderboard as a component: intervals on one scale, next to the machine's scores and their bias."""

from typing import Any

from exam_workbench.audit import AuditBoard
from pages.parts.shared import charts
from pages.parts.shared.components import ACTING, component
from pages.parts.shared.html import as_shown

KEY = "audited"

_component = component("audited_board", *ACTING, "audit/board.css", "audit/board.js")


def draw(board: AuditBoard) -> None:
    """Draw the leaderboard; a click on a system shows its differences from the others."""
    _component(key=KEY, data=shown(board))


def shown(board: AuditBoard) -> dict[str, Any]:
    """Return the data of a leaderboard for the browser."""
    runs = [one.run for one in board.systems]
    names, short = charts.short_names(runs, 34), charts.short_names(runs)
    return {
        "measure": board.measure,
        "confidence": board.confidence,
        # Pairs are separated at the level of the whole leaderboard, after the correction.
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
