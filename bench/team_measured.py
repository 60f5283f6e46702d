"""What was measured of a team at work, and the tables that say it."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from bench.tab import Refused


@dataclass
class Measured:
    """What was measured with so many sessions.

    Args:
        took: seconds of each time that an act was done, by act.
        wrong: acts that failed, as sentences, by act.
        broken: what is lost, there twice, or found by the check.
        doubly: ratings and judgments that were given in double assignments.
        begin, full, peak, end: memory of the server in bytes: before anybody came, once all had opened the app, at
            most, and before it was stopped.
        server, clients: seconds of the processor that the server took, and the sessions and commands together.
        seconds: by the clock.
    """

    sessions: int
    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    broken: list[str] = field(default_factory=list)
    doubly: int = 0
    begin: int = 0
    full: int = 0
    peak: int = 0
    end: int = 0
    server: float = 0.0
    clients: float = 0.0
    seconds: float = 0.0

    @contextmanager
    def timed(self, act: str) -> Iterator[None]:
        """Time an act; one that fails is counted by itself and stops nobody."""
        began = time.monotonic()
        try:
            yield
        except Refused as error:
            self.wrong[act].append(str(error)[:500])
        except Exception as error:
            self.wrong[act].append(f"{type(error).__name__}: {error}"[:500])
        else:
            self.took[act].append(time.monotonic() - began)


def table(runs: Sequence[Measured]) -> str:
    """The figures in Markdown: p50 and p95 of each act in milliseconds, with how often; then what held."""
    acts = sorted({act for one in runs for act in (*one.took, *one.wrong)})
    head = "| act: p50 / p95 ms (times) | " + " | ".join(f"{one.sessions} sessions" for one in runs) + " |"
    lines = [head, "| --- |" + " ---: |" * len(runs)]
    lines += [f"| {act} | " + " | ".join(_cell(one, act) for one in runs) + " |" for act in acts]
    lines += ["", "| | " + " | ".join(f"{one.sessions} sessions" for one in runs) + " |", lines[1]]
    facts: dict[str, Callable[[Measured], str]] = {
        "seconds by the clock": lambda one: f"{one.seconds:,.0f}",
        "acts": lambda one: f"{sum(map(len, one.took.values())):,}",
        "acts that failed": lambda one: f"{sum(map(len, one.wrong.values())):,}",
        "lost, twice there, or found by exam check": lambda one: f"{len(one.broken):,}",
        "given in double assignments": lambda one: f"{one.doubly:,}" if one.doubly else "–",
        "server's memory before anybody came, MB": lambda one: f"{one.begin / 1e6:,.0f}",
        "with all sessions open, MB": lambda one: f"{one.full / 1e6:,.0f}",
        "at most, MB": lambda one: f"{one.peak / 1e6:,.0f}",
        "at the end, MB": lambda one: f"{one.end / 1e6:,.0f}",
        "for each session when opened, MB": lambda one: f"{(one.full - one.begin) / 1e6 / one.sessions:,.1f}",
        "for each session at most, MB": lambda one: f"{(one.peak - one.begin) / 1e6 / one.sessions:,.1f}",
        "for each session more than the fewest, at most, MB": lambda one: _more(one, runs[0]),
        "server's share of one processor": lambda one: f"{one.server / one.seconds:.0%}",
        "share of the sessions and commands": lambda one: f"{one.clients / one.seconds:.0%}",
    }
    lines += [f"| {name} | " + " | ".join(map(fact, runs)) + " |" for name, fact in facts.items()]
    said = [f"- {one.sessions} sessions: {sentence}" for one in runs for sentence in one.broken]
    said += [
        f"- {one.sessions} sessions, {act}, {len(told)}×: {told[0]}" for one in runs for act, told in one.wrong.items()
    ]
    return "\n".join([*lines, "", *said]).rstrip() + "\n"


def _more(one: Measured, fewest: Measured) -> str:
    """What a further session takes, so that what all share does not count."""
    further = one.sessions - fewest.sessions
    return f"{(one.peak - fewest.peak) / 1e6 / further:,.1f}" if further else "–"


def _cell(one: Measured, act: str) -> str:
    took, failed = sorted(one.took.get(act, ())), len(one.wrong.get(act, ()))
    if not took:
        return f"{failed} failed" if failed else "–"
    p95 = took[min(len(took) - 1, int(0.95 * len(took)))]
    words = f"{statistics.median(took) * 1000:,.0f} / {p95 * 1000:,.0f} ({len(took)})"
    return words + (f", {failed} failed" if failed else "")
