"""A scrolled and searchable list to choose from, such as the queries of the question bank."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pages.parts.shared import actions


@dataclass(frozen=True)
class Mark:
    """A symbol next to a text of the list.

    Args:
        says: its meaning, for the tooltip and screen readers.
    """

    kind: Literal["changed", "alert"]
    sign: str
    says: str


@dataclass(frozen=True)
class Pick:
    """An entry of the list.

    Args:
        href: link relative to the screen.
        about: a remark in small type.
    """

    id: str
    text: str
    href: str
    about: str = ""
    marks: tuple[Mark, ...] = ()


def picked(key: str) -> str | None:
    """Return the latest choice in a list that is not marked as taken; call this before the list is drawn."""
    acts = actions.asked_of(key).acts
    return str(acts[-1]["choice"]) if acts else None


def take(key: str) -> None:
    """Mark all choices as taken, after acting on the latest one."""
    actions.asked_of(key).acts.clear()


def draw(key: str, label: str, find: str, none: str, picks: Sequence[Pick], chosen: str) -> None:
    """Draw a list.

    Args:
        label: title of the list.
        find: placeholder of the search box.
        none: message if no entry matches.
        chosen: the id of the chosen entry.
    """
    data = {
        "label": label,
        "find": find,
        "none": none,
        "chosen": chosen,
        "rows": [asdict(pick) for pick in picks],
    }
    actions.asked_of(key).draw("picks", data)
