"""The course of a job on a cluster: blocks go out, shards come back, and what was lost with a worker goes out again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from core.errors import GradingError, InputError
from core.graders.base import Outcome
from core.graders.cluster.blocks import Blocks, Row
from core.graders.cluster.desk import News, Started
from core.graders.cluster.shards import ShardFolder, read_shard
from core.graders.cluster.stream import AHEAD, Stream, StreamLost, last_line
from core.graders.control import Control

MOST_DEATHS = 50
"""Workers in a row that die before anything comes back, until the cluster is given up; twice all of them if more."""
BEAT_SECONDS = 1.0
"""An empty batch is given this often, so that the caller can commit and show what it has."""
UNREACHED = 5
"""Beats in a row in which a worker cannot be reached, until it is held for dead."""
QUIET = 15
"""Beats in which nothing comes and nobody is at anything, until what is out goes out again."""


class Course:
    """One job's course.

    Args:
        ray: the library, connected.
        stream: to the workers and back.
        workers: how many there are to be.
        blocks: all of the job's.
        control: its reins.
        folder: where the workers put shards; None where shards travel themselves.
    """

    def __init__(
        self, ray: Any, stream: Stream, workers: int, blocks: Blocks, control: Control, folder: ShardFolder | None
    ) -> None:
        self._ray, self._stream, self._blocks, self._control = ray, stream, blocks, control
        self._folder = folder
        # Beside what the workers have, one for each is on its way to them or back.
        self._most = workers * (AHEAD + 1)
        self.living: dict[str, Started] = {}
        """The workers that have started and have not died, as far as is known."""
        self._pings: dict[str, Any] = {}
        self._next_ping = 0.0
        self._unreached: dict[str, int] = {}
        # What is out from a stream that was lost goes out again.
        self._given = list(blocks.out.values())
        self._settled: list[int] = []
        self._dead: list[str] = []
        self._freed: dict[int, str] = {}
        # A node takes all of its workers with it at once.
        self._most_deaths = max(MOST_DEATHS, 2 * workers)
        self._deaths = 0
        self._last_error = "nothing is known of why"
        self._quiet = 0

    def run(self) -> Iterator[list[Outcome]]:
        """Batches of outcomes as they come, empty ones in between.

        Raises:
            GradingError: the grader cannot be made on a worker, is another one there, or cannot go on; or workers die
                one after the other.
            StreamLost: the job can go on with a new stream.
        """
        while not self._blocks.over:
            if not (self._control.stopping or self._control.paused):
                self._given += self._blocks.give(self._most)
            news = self._turn()
            batch = self._look(news)
            came = self._take()
            if self._over(news, bool(came)):
                yield batch + came
                return
            yield batch + came

    def _turn(self) -> News:
        stopped = self._control.stopping
        # What came since it was held for lost is not handed out any more.
        given = [block.row() for block in self._given if block.number in self._blocks.out]
        try:
            news: News = self._ray.get(
                self._stream.desk.turn.remote(
                    given, self._settled, self._dead, self._freed, going=not self._control.paused, stopped=stopped
                )
            )
        except self._ray.exceptions.RayError as error:
            raise StreamLost(
                "cluster-lost", f"What hands out the blocks is gone: {last_line(error)}.", "Grade what is missing."
            ) from error
        self._given, self._settled, self._dead, self._freed = [], [], [], {}
        if news.broken:
            raise GradingError("worker-failed", news.broken, news.hint)
        return news

    def _take(self) -> list[Outcome]:
        """The outcomes of the shards that came."""
        outcomes: list[Outcome] = []
        for row in self._stream.came(BEAT_SECONDS):
            block = self._blocks.out.get(row["number"])
            if block is None:
                # It was held for lost, and another worker has graded it meanwhile.
                continue
            if row["fault"] is not None:
                raise GradingError("worker-failed", f"The grader cannot go on: {row['fault']}", row["hint"])
            try:
                shard = read_shard(self._content(row))
            except ValueError as error:
                raise GradingError(
                    "worker-failed", f"What a worker gave for a block cannot be used: {error}."
                ) from error
            if not {(question, passage) for question, passage, _ in shard.outcomes} <= set(block.pairs):
                raise GradingError("worker-failed", "A worker gave grades of other pairs than it was given.")
            outcomes += shard.outcomes
            self._control.add(shard.usage)
            del self._blocks.out[block.number]
            self._settled.append(block.number)
            self._deaths = 0
        return outcomes

    def _content(self, row: Row) -> bytes:
        if self._folder is None:
            return bytes(row["shard"])
        content = self._folder.read(row["name"])
        if content is None:
            raise InputError(
                "folder-not-shared",
                f"A worker wrote {row['name']}, and it is not in {self._folder.place}.",
                "Name a folder that all computers of the cluster share, or an object store.",
            )
        return content

    def _look(self, news: News) -> list[Outcome]:
        """See who has started and who has died; the pairs that have failed because of that."""
        for one in news.started:
            for before in [old for old in self.living.values() if old.actor == one.actor]:
                self._bury(before.worker)
            self.living[one.worker] = one
        self._ping()
        failed: list[Outcome] = []
        lost = {number for number, worker in news.held.items() if worker not in self.living}
        for number in sorted(lost & self._blocks.out.keys() - news.finished):
            again, broken = self._blocks.died(number)
            self._given += again
            failed += broken
            if number in self._blocks.out:
                self._freed[number] = news.held[number]
            else:
                self._settled.append(number)
        if self._dead:
            # What waited for a worker that died is lost as well, and nothing says what that was.
            self._again(self._blocks.out.keys() - news.held.keys())
        return failed

    def _again(self, numbers: set[int]) -> None:
        given = {block.number for block in self._given}
        self._given += [self._blocks.out[number] for number in sorted(numbers - given)]

    def _ping(self) -> None:
        """Ask those who live whether they do, once a beat: an answer comes between two blocks, an error at once."""
        if time.monotonic() < self._next_ping:
            return
        self._next_ping = time.monotonic() + BEAT_SECONDS
        for name, one in list(self.living.items()):
            if name not in self._pings:
                self._pings[name] = one.handle.__ray_ready__.remote()
            elif self._ray.wait([self._pings[name]], timeout=0)[0]:
                try:
                    self._ray.get(self._pings.pop(name))
                    self._unreached.pop(name, None)
                except self._ray.exceptions.RayError as error:
                    self._last_error = last_line(error)
                    # One that has just started anew may not be reached yet.
                    self._unreached[name] = self._unreached.get(name, 0) + 1
                    if self._unreached[name] >= UNREACHED:
                        self._bury(name)

    def _bury(self, name: str) -> None:
        """A worker has died."""
        self.living.pop(name)
        self._pings.pop(name, None)
        self._unreached.pop(name, None)
        self._dead.append(name)
        self._control.report("a worker of the cluster died; what it had is handed out again")
        self._deaths += 1
        if self._deaths > self._most_deaths:
            raise GradingError(
                "worker-failed",
                f"{self._deaths} workers died one after the other, the last one with: {self._last_error}.",
                "See the logs of the cluster, then grade what is missing.",
            )

    def _over(self, news: News, came: bool) -> bool:
        """Whether nothing more comes of a job that stops; in one that goes on, ask again for what does not come."""
        at_it = any(
            worker in self.living and number in self._blocks.out and number not in news.finished
            for number, worker in news.held.items()
        )
        idle = not (came or at_it or self._control.paused)
        self._quiet = self._quiet + 1 if idle and news.ready & self.living.keys() else 0
        if self._control.stopping:
            return idle and (not news.finished & self._blocks.out.keys() or self._quiet >= UNREACHED)
        if self._quiet >= QUIET:
            self._quiet = 0
            self._freed |= news.held
            self._again(set(self._blocks.out))
        return False
