"""The desk of a job on a cluster: blocks are handed out there, and it is known which worker has which.

It runs beside the program that started the job. Ray Data says when a block came, not when one is lost with its worker,
and hands out again without looking whether somebody has it; so every worker asks here before it grades a block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from core.graders.cluster.blocks import Row

NOTHING: Row = {"number": -1, "pairs": [], "questions": [], "asked": [], "passages": [], "texts": []}
"""In the place of a block that is settled."""


@dataclass(frozen=True)
class Started:
    """A worker that has started, and is making its grader.

    Args:
        worker: a word that no other one has; one that Ray starts anew has another one.
        actor: the number of its actor, which stays the same then.
        process: the number of its process.
        handle: to reach it.
    """

    worker: str
    actor: str
    process: int
    handle: Any


@dataclass
class News:
    """What there is to know.

    Args:
        started: workers that have started since it was asked last.
        ready: workers whose grader is ready.
        held: which worker has, or had, which block; those that are settled are left out.
        finished: those of them that are graded and on their way.
        broken, hint: why no grader could be made, and what to do; empty where one could.
    """

    started: list[Started] = field(default_factory=list)
    ready: set[str] = field(default_factory=set)
    held: dict[int, str] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    broken: str = ""
    hint: str = ""


class Desk:
    """One job's desk.

    Args:
        fingerprint: of the grader; a worker that has another one gets nothing.
    """

    def __init__(self, fingerprint: str) -> None:
        self._fingerprint = fingerprint
        self._given: dict[int, Row] = {}
        self._places: dict[int, list[int]] = {}
        self._count = 0
        self._news = News()
        self._dead: set[str] = set()
        self._over = self._stopped = False
        self._going, self._changed = asyncio.Event(), asyncio.Event()
        self._going.set()

    async def next(self, place: int) -> Row | None:
        """What was handed out as number so and so, waited for; None at the end.

        The same at whatever time it is asked for, since Ray begins anew where the task that asks is lost.
        """
        while place >= self._count and not self._over:
            self._changed.clear()
            await self._changed.wait()
        return self._given.get(place, NOTHING) if place < self._count else None

    async def start(self, started: Started) -> None:
        """A worker has started."""
        self._news.started.append(started)

    async def make_ready(self, worker: str, fingerprint: str) -> None:
        """A worker has its grader."""
        if fingerprint == self._fingerprint:
            self._news.ready.add(worker)
        else:
            self._news.broken = (
                "On a worker this grader is another one: its model, or this program, is not the same there."
            )
            self._news.hint = "Let all computers of the cluster have the same versions of both."

    async def give_up(self, reason: str, hint: str) -> None:
        """A worker cannot make the grader."""
        self._news.broken, self._news.hint = f"The grader cannot be made on a worker: {reason}", hint

    async def claim(self, number: int, worker: str) -> bool:
        """Whether a worker is to grade a block: nobody else has it, and the job goes on. Waits while it is paused."""
        await self._going.wait()
        free = number in self._places and number not in self._news.held
        if not free or self._stopped or worker in self._dead or worker not in self._news.ready:
            return False
        self._news.held[number] = worker
        return True

    async def finish(self, number: int, worker: str) -> None:
        """A worker has graded a block, and is about to give it back."""
        if self._news.held.get(number) == worker:
            self._news.finished.add(number)

    async def turn(
        self,
        given: Sequence[Row] = (),
        settled: Collection[int] = (),
        dead: Collection[str] = (),
        freed: Mapping[int, str] | None = None,
        going: bool = True,
        stopped: bool = False,
        over: bool = False,
    ) -> News:
        """Take what is new on the side of the program, and say what is new on the workers'.

        Args:
            given: blocks to hand out, perhaps once more: whoever has one keeps it.
            settled: blocks that nobody has to grade any more.
            dead: workers that get nothing any more.
            freed: blocks that are not theirs any more who have, or had them.
            going: whether workers may begin with blocks; where not, those that ask wait.
            stopped: whether none begins with any.
            over: whether nothing more is handed out.
        """
        for number in settled:
            self._forget(number)
            for place in self._places.pop(number, []):
                self._given.pop(place, None)
        for number, worker in (freed or {}).items():
            if self._news.held.get(number) == worker:
                self._forget(number)
        for row in given:
            self._given[self._count] = row
            self._places.setdefault(row["number"], []).append(self._count)
            self._count += 1
        self._dead.update(dead)
        self._over, self._stopped = over or self._over, stopped
        if going or stopped or over:
            self._going.set()
        else:
            self._going.clear()
        self._changed.set()
        news = self._news
        self._news = replace(news, started=[])
        return replace(news, ready=set(news.ready), held=dict(news.held), finished=set(news.finished))

    def _forget(self, number: int) -> None:
        self._news.held.pop(number, None)
        self._news.finished.discard(number)
