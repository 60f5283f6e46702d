"""The place on the Disagreements screen, as in the address: sides, list, filters, order and case.

The address is written in one update, so that each step back matches a step of the person.
"""

from collections.abc import Iterable

import streamlit as st

from pages.parts.shared import address

NAMES = ("left", "right", "view", "order", "settled", "query", "cell", "case", "at")
"""Address parameters of this screen."""
WIDGETS = {"query": "query_listed", "view": "cases_shown"}
"""Keys of widgets whose address parameter has a different name, as on other screens."""
_HELD = "case before one"
"""Session key of the project and the case in which a person tries something while the address names
no case.
"""


def _address_places() -> address.ScreenPlaces:
    return address.places_of_screen("disagreements", NAMES)


def apply_address() -> bool:
    """Apply the address, or the place before another screen; call this before the sides are drawn.

    Returns:
        Whether the person came from another screen or place, so that the widgets must be set again.
    """
    places = _address_places()
    # Streamlit drops widget values once another screen is drawn. A place that was left earlier is
    # still there.
    anew = "left" not in st.session_state or address.is_new_screen()
    # When a person opens a passage, the browser records this screen with the passage's address,
    # which names no place. The kept place may be the one without filters.
    if anew and places.been and (not places.address_place or "passage" in st.query_params):
        return True
    came = places.apply_address("")
    if came:
        st.session_state.pop(_HELD, None)
    return came or anew


def place_part(name: str) -> str:
    """Return a part of the place; empty if it is not set."""
    return _address_places().part_of_place(name)


def keep_open(case: str) -> None:
    """Keep a case open even if its position in the queue changes; this is not a step for Back."""
    st.session_state[_HELD] = st.session_state.get("project"), case


def open_case() -> str:
    """Return the case to open; empty for the one at the position in the address."""
    project, held = st.session_state.get(_HELD, (None, ""))
    return place_part("case") or (held if project == st.session_state.get("project") else "")


def change_place(**parts: object) -> None:
    """Change the place; `write_address` writes it to the address.

    Args:
        parts: parts by name; empty values and None remove them.
    """
    if "case" in parts:
        st.session_state.pop(_HELD, None)
    here = _address_places()
    here.set(
        **here.present_place
        | {name: "" if value is None else str(value) for name, value in parts.items()}
    )


def write_address() -> None:
    """Write the place to the address in one step."""
    here = _address_places()
    if here.address_place != here.present_place or "passage" in st.query_params:
        address.write_parameters(
            {name: here.part_of_place(name) for name in (*NAMES, "passage", "question")}
        )


def set_widget(name: str, options: Iterable[str], default: str | None) -> None:
    """Set the widget of a choice from the address.

    Args:
        default: used if the address names no known option.
    """
    known = list(options)
    value = place_part(name)
    st.session_state[WIDGETS.get(name, name)] = value if value in known else default
