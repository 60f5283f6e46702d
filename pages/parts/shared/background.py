"""Work that goes on in the background of the app while a screen looks on: how far it is, and its reins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import streamlit as st

from core.project import Project
from pages.parts.shared import presses, ui

PACE = 1.0
"""Seconds between two looks."""
LOG_LINES = 30


class Work(Protocol):
    """What goes on, or has ended."""

    over: bool


class Reins(Protocol):
    """What pauses, resumes and cancels it."""

    @property
    def paused(self) -> bool: ...
    @property
    def cancelled(self) -> bool: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def cancel(self) -> None: ...


Some = TypeVar("Some", bound=Work)


def accompany(
    project: Project,
    current: Callable[[Project], Some | None],
    draw: Callable[[Some], None],
    ended: Callable[[Some], None],
) -> None:
    """The work that goes on, looked at again and again, or how the last of this server ended; nothing for none.

    Args:
        current: finds the work of a project.
        draw: draws it while it goes on, with `box`.
        ended: draws how it ended.
    """
    work = current(project)
    if work is None:
        return
    if work.over:
        ended(work)
    else:
        st.fragment(_look, run_every=PACE)(project, current, draw)


def _look(project: Project, current: Callable[[Project], Some | None], draw: Callable[[Some], None]) -> None:
    work = current(project)
    if work is None or work.over:
        st.rerun()
        return
    draw(work)


def box(
    who: str, done: int, total: int, things: str, reins: Reins, facts: str = "", failures: Sequence[str] = ()
) -> None:
    """How far work is, with buttons that pause, resume and cancel it.

    Args:
        who: the model or student at work, as it is.
        things: what is counted, in the plural.
        facts: more about it, as Markdown.
        failures: lines about calls that failed, the last one last.
    """
    with st.container(border=True):
        st.progress(done / total if total else 0.0, text=f"{ui.plain(who)}: {done:,} of {total:,} {things}")
        if facts:
            st.caption(facts)
        with st.container(horizontal=True):
            if reins.paused:
                if presses.button("Resume", icon=":material/play_arrow:"):
                    reins.resume()
            elif presses.button("Pause", icon=":material/pause:", disabled=reins.cancelled):
                reins.pause()
            if presses.button("Cancel", icon=":material/stop:", disabled=reins.cancelled):
                reins.cancel()
        if failures:
            with st.expander("Calls that failed, the last ones"):
                st.code("\n".join(failures[-LOG_LINES:]), language=None, wrap_lines=True)
