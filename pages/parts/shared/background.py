"""Work that goes on in the background of the app while a screen looks on: how far it is, and its reins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

import streamlit as st

from exam_workbench.graders import Awaited
from exam_workbench.grading import LONGEST_PATIENCE, Progress, Request
from exam_workbench.pipelines import Background
from exam_workbench.project import Project
from pages.parts.shared import presses, ui

PACE = 1.0
"""Seconds between two looks."""
LOG_LINES = 30
MINUTE = 60
STOPPED = {"cancelled": "Cancelled", "stopped": "Stopped at its limit", "done": "Done"}
"""How a step ended that did not break, in words."""


class Work(Protocol):
    """What goes on, or has ended."""

    over: bool


class Reins(Protocol):
    """What pauses, resumes and cancels it."""

    @property
    def paused(self) -> bool: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def awaited(self) -> Awaited | None: ...
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


def accompany_steps(project: Project, current: Callable[[Project], Background | None], again: str) -> None:
    """As `accompany`, for work in steps that asks students, generators or judges: the same box, and the same end.

    Args:
        current: finds the work of a project.
        again: where to begin again, as "Sit the exam".
    """
    accompany(project, current, _watch_step, partial(_steps_ended, again=again))


def _watch_step(work: Background) -> None:
    now = work.progress
    failed = f":red[**{now.failed:,} failed**] · " if now.failed else ""
    left = f"{ui.duration(now.seconds_left)} left" if now.seconds_left is not None else "starting"
    box(work.who, now.done, now.total, work.things, work.reins, f"{failed}{left}", list(work.log))


def _steps_ended(work: Background, again: str) -> None:
    for name, end in work.ended.items():
        if end.state != "done" or end.failed:
            _step_ended(name, end, work.things, again)
    if not work.ended and work.progress.message:
        st.error(ui.plain(work.progress.message), icon=":material/error:")


def _step_ended(name: str, end: Progress, things: str, again: str) -> None:
    said = f"{ui.plain(name)}: {end.graded:,} {things}, {end.failed:,} failed, in {ui.duration(end.seconds)}."
    more = f" {ui.plain(end.message)}" if end.message else ""
    # Where somebody or a cap stopped it, the message says how to go on.
    rest = f" Start again under “{again}” to get the missing answers." if end.state == "failed" else ""
    box = st.container(key=f"ended {end.state} {name}")
    draw, icon = (box.error, "error") if end.state == "failed" else (box.warning, "info")
    draw(f"{STOPPED.get(end.state, 'Failed')}: {said}{more}{rest}", icon=f":material/{icon}:")


def standing_still(reins: Reins) -> str:
    """Why work does not go on now, as Markdown: stopping, paused, waiting for an endpoint; empty where it goes on."""
    if reins.cancelled:
        return "Cancelling. Calls that are already running finish first."
    if reins.paused:
        return "**Paused**. Calls that were already running finish and count."
    if (waits := reins.awaited) is None:
        return ""
    until = "" if waits.until is None else f" It stops waiting at {waits.until:%H:%M}."
    return (
        f"**Waiting for the endpoint**, next try at {waits.next_try:%H:%M}: {ui.plain(waits.reason)}."
        f" The job continues automatically.{until}"
    )


def choose_patience(key: str, seconds: float = Request.patience) -> float:
    """For how many seconds a job waits for an endpoint that is gone, as whoever begins it says.

    Args:
        key: of the widget.
        seconds: where they say nothing.
    """
    minutes = st.number_input(
        "Wait for the endpoint (minutes)", 0, round(LONGEST_PATIENCE / MINUTE), round(seconds / MINUTE), key=key,
        persist_state="session",
        help="If the endpoint is unavailable, the job waits this long. It continues when the endpoint is back.",
    )  # fmt: skip
    return float(MINUTE * minutes)


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
        if still := standing_still(reins):
            st.container(key="standing-still").markdown(still)
        if facts:
            st.caption(facts)
        with st.container(horizontal=True):
            if reins.paused:
                if presses.button("Resume", icon=":material/play_arrow:", key="resume work"):
                    reins.resume()
            elif presses.button("Pause", icon=":material/pause:", disabled=reins.cancelled, key="pause work"):
                reins.pause()
            if presses.button("Cancel", icon=":material/stop:", disabled=reins.cancelled, key="cancel work"):
                reins.cancel()
        if failures:
            with st.expander("Last failed calls"):
                st.code("\n".join(failures[-LOG_LINES:]), language=None, wrap_lines=True)
