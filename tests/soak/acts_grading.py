"""Acts of grading: starting a job, stopping it, pausing it, walking away from it, a trial of drafts."""

from __future__ import annotations

import re
from contextlib import suppress

from playwright.sync_api import TimeoutError, expect

from tests.soak.person import PATIENCE, Broken, NotNow, Person

ENDED = re.compile(r"^Last (job|trial) (done|cancelled)")
RUNS_ALREADY = "A grading job is running already"
DEADLINE = 10 * PATIENCE
"""Milliseconds that a job may take on a busy machine."""
HESITATION = 5_000
"""Milliseconds after which a button that is about to go is let go."""


def grade(person: Person) -> str:
    """Grade what is missing; then wait for the end, stop it, or walk away."""
    if not person.there(person.button("Grade")):
        raise NotNow
    missing = person.facts("plan")["missing"]
    person.warned += [RUNS_ALREADY]
    _press_or_late(person, "Grade")
    if person.there(person.page.get_by_text(RUNS_ALREADY)):
        return "somebody else was quicker"
    person.expected = ["start job"]
    then = person.random.choice(["wait", "wait", "stop", "walk away"])
    if then == "walk away":
        person.go("Leaderboard")
        return f"{missing} pairs, not waited for"
    if then == "stop":
        _stop(person)
    return f"{missing} pairs: {_end(person)}"


def stop(person: Person) -> str:
    """Stop a job that runs, whoever started it."""
    if not person.there(person.button("Cancel")):
        raise NotNow
    _stop(person)
    return _end(person)


def pause(person: Person) -> str:
    """Pause a job that runs, and resume it."""
    pausing = person.button("Pause")
    if not person.there(pausing):
        raise NotNow
    _press_or_late(person, "Pause")
    resume = person.button("Resume")
    expect(resume.or_(person.page.get_by_text(ENDED)).first).to_be_visible(timeout=DEADLINE)
    if person.there(resume):
        resume.first.click()
        return "paused and resumed"
    return "it had ended"


def wait(person: Person) -> str:
    """Wait for a job that runs."""
    if not person.there(person.button("Cancel")):
        raise NotNow
    return _end(person)


def try_drafts(person: Person) -> str:
    """Grade one's drafts before they are saved, on the Question bank."""
    if not person.there(person.button("Grade them as a trial")):
        raise NotNow
    person.warned += [RUNS_ALREADY]
    before = person.facts("job")
    person.press("Grade them as a trial")
    if person.there(person.page.get_by_text(RUNS_ALREADY)):
        return "a job was running"
    person.expected = ["start job"]
    if person.facts("job") == before:
        raise Broken("A trial was started, and no job runs")
    expect(person.button("Cancel the trial")).to_have_count(0, timeout=DEADLINE)
    person.quiet()
    return str(person.facts("job")["state"])


def _press_or_late(person: Person, name: str) -> None:
    with person.drawn():
        person.button(name).first.click()


def _stop(person: Person) -> None:
    """Press Cancel, unless the job ends before."""
    cancel = person.button("Cancel")
    expect(cancel.or_(person.page.get_by_text(ENDED)).first).to_be_visible(timeout=DEADLINE)
    if person.there(cancel) and cancel.first.is_enabled():
        with suppress(TimeoutError):
            cancel.first.click(timeout=HESITATION)


def _end(person: Person) -> str:
    """Wait for the end of the job, and read how it was."""
    said = person.page.get_by_text(ENDED).first
    expect(said).to_be_visible(timeout=DEADLINE)
    person.quiet()
    return said.inner_text()
