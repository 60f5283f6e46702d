"""What is chosen for every screen stands in the address: the project, and what makes labels and scores.

Streamlit's own binding of widgets to the address takes away what a link brings from another screen, and writes it back
one step of the browser's history a choice: Back would take choices back that nobody made. Here an address is read when
somebody came by it, and written in one step when a choice differs from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.state import get_session_state

# What Streamlit writes into an address is a step of the browser's history.
_name = st.components.v2.component(
    "name_the_place",
    js="""
export default function ({ data }) {
  const here = new URL(window.location.href);
  for (const [name, value] of Object.entries(data))
    if (value) here.searchParams.set(name, value);
    else here.searchParams.delete(name);
  window.history.replaceState(window.history.state, "", here);
}
""",
)

# Whoever came without naming a project made no step when it is named; where one is named nothing is written over.
_name_project = st.components.v2.component(
    "name_the_project",
    js="""
export default function ({ data }) {
  const here = new URL(window.location.href);
  if (here.searchParams.has("project")) return;
  here.searchParams.set("project", data.project);
  window.history.replaceState(window.history.state, "", here);
}
""",
)

EVERYWHERE = ("project", "grader", "tau", "label", "weights", "measure", "against", "cutoff", "relevant")
"""The parameters that hold on every screen, each with the key of its widget."""


PLACES = 50
"""Of so many steps on a screen a browser may be behind."""


@dataclass
class Address:
    """What this module knows of a browser tab from one run to the next.

    Args:
        screen: that was on last.
        now: the parameters as they were read or written last.
        before: as they were before that: a browser that is behind may still send these.
        come: whether the run that is on came by an address, so that it is read.
        moved: whether another screen was on before.
    """

    screen: str = ""
    now: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] = field(default_factory=dict)
    come: bool = False
    moved: bool = False


def arrive(screen: str) -> None:
    """Look at the address once in a run, before any widget of `EVERYWHERE` is drawn.

    Args:
        screen: that is on; a link to another one that says nothing of the choices leaves them as they are.
    """
    here, given = _here(), travelling()
    back = went_back()
    moved = screen != here.screen
    # A browser may still send an address as it was before the project was named in it.
    known = {name: here.now[name] for name in ("project",) if name in here.now} | given
    here.come = back or (known not in (here.now, here.before)) or (moved and bool(given))
    if moved and not given and not back and here.screen:
        here.come = False
    here.moved, here.screen = moved, screen
    if here.come:
        here.before, here.now = here.now, known


def take(key: str, read: Callable[[str], Any], default: Any) -> None:
    """Let a widget that is about to be drawn hold what the address says, where somebody came by it.

    Args:
        read: the value for a text of the address; raises ValueError for one that means nothing, which is the default.
        default: what the address leaves out.
    """
    here = _here()
    # What a widget held that was not drawn for a while is gone, and still stands in the address.
    if not here.come and key in st.session_state:
        if here.moved:
            # Where it stands elsewhere on this screen, it is another widget: the key alone hands it what was chosen.
            st.session_state[key] = st.session_state[key]
        return
    try:
        st.session_state[key] = read(here.now[key]) if key in here.now else default
    except ValueError:
        st.session_state[key] = default


def own(key: str, options: Iterable[str]) -> None:
    """Forget what a widget of the same name held on another screen, before this screen's is drawn.

    Args:
        options: of this screen's.
    """
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)


def write(said: Mapping[str, str], usual: Mapping[str, str]) -> None:
    """Write what is chosen into the address, in one step; nothing where it says so already.

    A default is left out, but for a choice that stands there: taking it away would be a step of its own.

    Args:
        said: what is chosen, by parameter, as the address says it.
        usual: the defaults.
    """
    here, there = _here(), travelling()
    wanted = {key: text for key, text in said.items() if key in there or text != usual.get(key)}
    if changed := {key: text for key, text in wanted.items() if there.get(key) != text}:
        st.query_params.update(changed)
    if here.now != wanted:
        here.before, here.now = here.now, wanted


def say(said: Mapping[str, str]) -> None:
    """Let the address say some things of one screen in one step, beside all else that it says.

    Args:
        said: by name; what is empty is taken out of the address.
    """
    # Of a list of nothing nothing stands in the address; to delete a name would be a step of its own.
    wanted: dict[str, str | list[str]] = {
        name: value or [] for name, value in said.items() if value != st.query_params.get(name, "")
    }
    if wanted:
        st.query_params.update(wanted)


@dataclass
class Places:
    """Where one was on a screen, as its address named it, now the last of them.

    A browser that is behind still sends an earlier one: that is no step of anybody.

    Args:
        home: what the places are in, such as the project.
    """

    home: str = ""
    been: list[dict[str, str]] = field(default_factory=list)

    def come(self, home: str, given: dict[str, str]) -> bool:
        """Take over what the address says in this run where somebody came by it; whether that is so.

        Args:
            given: the parameters of the screen.
        """
        if home == self.home and not went_back() and given in self.been and not (given and arrived()):
            return False
        self.home, self.been = home, [given]
        return True

    @property
    def now(self) -> dict[str, str]:
        """The place in which one is."""
        return self.been[-1] if self.been else {}

    def go(self, place: Mapping[str, str], names: Iterable[str]) -> None:
        """Be in another place, and let the address say so.

        Args:
            place: by parameter; what is empty is left out.
            names: all parameters of the screen.
        """
        now = {name: value for name, value in place.items() if value}
        if now != self.now:
            self.been = [*self.been, now][-PLACES:]
        say({name: now.get(name, "") for name in names})

    def stay(self, place: Mapping[str, str], names: Iterable[str]) -> None:
        """Be where one is, or in another place because nobody named one or it is gone: no step of anybody.

        The address says it in the stead of what it said. To be called in every run, so that nothing moves when it is
        done.

        Args: as for `go`.
        """
        now = {name: value for name, value in place.items() if value}
        if now != self.now:
            self.been = [*self.been, now][-PLACES:]
        begin_at(**{name: now.get(name, "") for name in names})


def places(key: str) -> Places:
    """Those of a screen in this browser tab."""
    return st.session_state.setdefault(f"places of {key}", Places())


def arrived() -> bool:
    """Whether another screen was on before this run."""
    return _here().moved


def went_back() -> bool:
    """Whether this run is there because somebody went back or forth in the browser."""
    return bool(getattr(get_script_run_ctx(), "is_history_navigation", False))


def read_as(**place: str) -> None:
    """Let this run find in the address what does not stand there; that it comes to stand there is left to `begin_at`.

    On the way to another screen the browser notes this one with the address of that one: whoever comes back would be
    anywhere.

    Args:
        place: by parameter; what is empty is left as it is.
    """
    with get_session_state().query_params() as here:
        for name, value in place.items():
            if value:
                here.set_with_no_forward_msg(name, value)


def begin_at(**place: str) -> None:
    """Let the address name the place that is shown to somebody who came without naming all of it.

    It is no step of theirs: Back leads to where they came from, and the page loaded anew shows the same place.

    Args:
        place: by parameter; what is empty is taken out.
    """
    _name(key="place", data=place)


def name_project(name: str, screen: str) -> None:
    """Let an address that names no project name the one that is shown, so that it leads to the same one ever after.

    It is no step of anybody, as with `begin_at`. To be called in every run, so that nothing moves when it is done.

    Args:
        name: of the project.
        screen: that is on.
    """
    _name_project(key="place-project", data={"project": name, "screen": screen})
    if "project" not in st.query_params:
        # Links and what else is written in this run name it, too; to set it would be a step of the browser's history.
        with get_session_state().query_params() as here:
            here.set_with_no_forward_msg("project", name)


def travelling() -> dict[str, str]:
    """What goes along to another screen, as the address says it."""
    return {key: st.query_params[key] for key in EVERYWHERE if key in st.query_params}


def of_cell(cell: tuple[Iterable[int], Iterable[int]]) -> str:
    """A cell of the table of disagreements as an address names it.

    Args:
        cell: the values of the rows and of the columns that it merges.
    """
    return ":".join(",".join(map(str, values)) for values in cell)


def _here() -> Address:
    return st.session_state.setdefault("address", Address())
