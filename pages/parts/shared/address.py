"""The address keeps the choices that hold on every screen: the project and the scoring settings.

Streamlit's own binding of widgets to the address removes parameters that a link brings from another
screen. It then writes them back, with one step of the history per choice. So Back would undo
choices that the person did not make. Here the address is read when the person follows a link. It is
written in one step when the choices differ from it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.parts.shared import components, streamlit_bridge

EVERYWHERE = (
    "project",
    "grader",
    "rating",
    "tau",
    "label",
    "weights",
    "measure",
    "against",
    "cutoff",
    "relevant",
)
"""The parameters that hold on every screen, each with the key of its widget."""


PLACES = 50
"""Number of steps on a screen by which a browser may be behind."""


@dataclass
class Address:
    """The state of a browser tab's address between runs.

    Args:
        screen: the latest screen.
        now: the parameters that were last read or written.
        before: the earlier parameters, which a delayed browser may still send.
        come: whether this run must read the address because the person followed a link or went
            back.
        moved: whether the previous run drew another screen.
    """

    screen: str = ""
    now: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    come: bool = False
    moved: bool = False


def read_address(screen: str) -> None:
    """Read the address once in a run, before any widget of `EVERYWHERE` is drawn.

    Args:
        screen: the open screen; a link from another screen without choices keeps the present ones.
    """
    state, in_address = _address_state(), kept_parameters()
    state.moved = screen != state.screen
    # A browser may still send the address from before the project was added to it.
    address_now = {name: state.now[name] for name in ("project",) if name in state.now} | in_address
    keeps = state.moved and bool(state.screen) and not in_address
    linked = state.moved or address_now not in (state.now, state.before)
    state.come = streamlit_bridge.went_back() or (linked and not keeps)
    state.screen = screen
    if state.come:
        state.before, state.now = state.now, address_now


def set_from_address(key: str, read: Callable[[str], Any], default: Any) -> None:
    """Set a widget from the address before it is drawn, if the person followed a link or went back.

    Args:
        read: converts a text of the address; raises KeyError or ValueError for an invalid one,
            which means the default.
        default: the value if the address has no such parameter.
    """
    state = _address_state()
    # Streamlit drops the value of a widget that was not drawn for a while, but the address still
    # has it.
    if state.come or key not in st.session_state:
        st.session_state[key] = default
        with suppress(KeyError, ValueError):
            st.session_state[key] = read(state.now[key])


def write_choices(choices: Mapping[str, str], usual: Mapping[str, str]) -> None:
    """Write the choices into the address, in one step; do nothing if it has them already.

    Defaults are left out, except those that are in the address already: removing them would be
    another step.

    Args:
        choices: the choices by parameter, as texts of the address.
        usual: the defaults.
    """
    state, present = _address_state(), kept_parameters()
    to_write = {
        key: text for key, text in choices.items() if key in present or text != usual.get(key)
    }
    write_parameters(to_write)
    if state.now != to_write:
        state.before, state.now = state.now, to_write


def write_parameters(parameters: Mapping[str, str]) -> None:
    """Write some parameters of a screen into the address in one step, and keep the others.

    Args:
        parameters: by name; empty values are removed from the address.
    """
    # An empty list removes a parameter in the same update; deleting it would be another step.
    to_write: dict[str, str | list[str]] = {
        name: value or []
        for name, value in parameters.items()
        if value != st.query_params.get(name, "")
    }
    if to_write:
        st.query_params.update(to_write)


@dataclass
class ScreenPlaces:
    """The latest places on a screen, as in its address; the last one is the present place.

    A delayed browser may still send an earlier one, which is not a step of the person.

    Args:
        names: the parameters of a place.
        home: the context of the places, such as the project.
    """

    names: Sequence[str]
    home: str = ""
    been: list[dict[str, str]] = field(default_factory=list)

    def apply_address(self, home: str) -> bool:
        """Apply the address if the person followed a link or went back; return if so."""
        place = self.address_place
        if (
            home == self.home
            and not streamlit_bridge.went_back()
            and place in self.been
            and not (place and is_new_screen())
        ):
            return False
        self.home, self.been = home, [place]
        return True

    @property
    def address_place(self) -> dict[str, str]:
        """The place in the address."""
        return {name: said for name in self.names if (said := st.query_params.get(name))}

    @property
    def present_place(self) -> dict[str, str]:
        """The present place."""
        return self.been[-1] if self.been else {}

    def part_of_place(self, name: str) -> str:
        """Return a part of the present place; empty if it has none."""
        return self.present_place.get(name, "")

    def go_to(self, **place: str) -> None:
        """Go to another place, by parameter, and write it into the address; empty values are left
        out.
        """
        write_parameters(self.set(**place))

    def change_parts(self, **said: str) -> None:
        """Change parts of the place as `go_to` does."""
        self.go_to(**self.present_place | said)

    def set(self, **place: str) -> dict[str, str]:
        """Go to another place without writing it; return it with all its parameters."""
        now = {name: value for name, value in place.items() if value}
        if now != self.present_place:
            self.been = [*self.been, now][-PLACES:]
        return {name: now.get(name, "") for name in self.names}


def places_of_screen(key: str, names: Sequence[str]) -> ScreenPlaces:
    """Return the places of a screen in this browser tab, by its key and parameters."""
    return st.session_state.setdefault(f"places of {key}", ScreenPlaces(names))


def is_new_screen() -> bool:
    """Return whether the previous run drew another screen."""
    return _address_state().moved


def begin_at(**place: str) -> None:
    """Write the shown place to the address if the person's link did not name all of it.

    It replaces the address without a step in the history. Back leads to the previous page, and a
    reload shows this place.

    Args:
        place: by parameter; empty values are removed.
    """
    components.draw("address", "place", {"values": place, "missing": False})


def name_project(name: str, screen: str) -> None:
    """Add the shown project to an address that names no project, so that it always leads to the
    same one.

    As with `begin_at`, it adds no step to the history. Call it in every run, so that elements keep
    their positions.

    Args:
        name: name of the project.
        screen: the open screen.
    """
    # With the screen, so that the browser is told again on the next one.
    data = {"values": {"project": name}, "missing": True, "screen": screen}
    components.draw("address", "place-project", data)
    if "project" not in st.query_params:
        # Links of this run then name the project, too. Setting it normally would add a step to the
        # history.
        streamlit_bridge.make_readable("project", name)


def link_parameters(**place: str | None) -> dict[str, str]:
    """Return the parameters of a link to a screen: the project, the choices that hold on every
    screen, and a place.

    Args:
        place: by parameter; None is left out.
    """
    project = st.session_state.get("project")
    return (
        ({"project": str(project)} if project else {})
        | kept_parameters()
        | {name: value for name, value in place.items() if value is not None}
    )


def screen_link(screen: str, **place: str | None) -> str:
    """Return a relative link to a screen, with the parameters of `link_parameters`."""
    return f"{'.' if screen == 'home' else screen}?{urlencode(link_parameters(**place))}"


def kept_parameters() -> dict[str, str]:
    """Return the parameters that links to other screens keep."""
    return {key: st.query_params[key] for key in EVERYWHERE if key in st.query_params}


def of_cell(cell: tuple[Iterable[int], Iterable[int]]) -> str:
    """Return a cell of the table of disagreements as a text for the address.

    Args:
        cell: the values of the rows and of the columns that it merges.
    """
    return ":".join(",".join(map(str, values)) for values in cell)


def _address_state() -> Address:
    return st.session_state.setdefault("address", Address())
