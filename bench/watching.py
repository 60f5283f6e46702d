"""Grading with its page open in a browser, beside grading that nobody watches: watching must not slow it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from core.exchange import make_demo
from core.grading import jobs
from core.project import open_project
from tests.soak.person import Person
from tests.soak.walk import Soak, seated, serving

LOOK = 0.5
"""Seconds between two looks whether the job is over."""


def watching(say: Callable[..., None]) -> None:
    """Seconds of one job of the demo, watched and not, each in a server of its own."""
    took = {watched: _seconds(watched) for watched in (False, True)}
    say(
        "grading the demo while its page is open",
        f"{took[True]:.0f} s",
        f"unwatched {took[False]:.0f} s",
        f"{took[True] / took[False]:.2f} x the time",
    )


def _seconds(watched: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), seed=0)
        soak.project.parent.mkdir()
        make_demo(soak.project, "bench", False, lambda line: None)
        with serving(soak) as (address, inside), seated(soak, "ann", address, inside) as seat:
            seat.thread.submit(_start, seat.person, watched).result()
            while not (inside.ask("job") or {}).get("over"):
                time.sleep(LOOK)
        project = open_project(soak.project)
        job = jobs(project)[0]
        project.close()
    if job.ended_at is None or job.state != "done":
        raise RuntimeError(f"The job is {job.state}: {job.message}")
    return (job.ended_at - job.started_at).total_seconds()


def _start(person: Person, watched: bool) -> None:
    person.come()
    person.go("Grading")
    person.button("Grade").first.click()
    person.page.get_by_role("button", name="Cancel").first.wait_for()
    if not watched:
        person.page.goto("about:blank")
