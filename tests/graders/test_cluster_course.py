"""The course of a job on a cluster whose workers die at any moment: every pair comes, once, and a deadly one fails.

The workers and what carries blocks to them are played in this process; the desk and the course are the real ones.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.graders import Control, Pair, PairsToGrade, Shard, Usage, write_shard
from core.graders.cluster import course
from core.graders.cluster.blocks import Blocks, Row, read_row
from core.graders.cluster.course import Course
from core.graders.cluster.desk import Desk, Started
from core.types import Asked, Grade

QUESTIONS = {1: Asked("What?")}
DEADLY = (1, 130)


class Lost(Exception):
    """What Ray raises for a worker that is gone."""


class Played:
    """A cluster in this process: as `Stream` gives it, with dice for what goes wrong.

    Args:
        workers: how many.
        dice: says who is next, and who dies of what.
        deaths: workers that die before they begin with a block, in the middle, or with its grades on the way.
        gone: whether the last worker is never started anew, as where its node is lost.
    """

    def __init__(self, workers: int, dice: random.Random, deaths: int, gone: bool) -> None:
        self.loop = asyncio.new_event_loop()
        self.real, self.dice, self.deaths, self.gone = Desk("print"), dice, deaths, gone
        self.desk = SimpleNamespace(turn=SimpleNamespace(remote=lambda *a, **k: self.ask(self.real.turn(*a, **k))))
        self.place, self.made = 0, 0
        self.alive: dict[str, str] = {}
        self.queues: dict[str, list[Row]] = {}
        self.graded: Counter[Pair] = Counter()
        self.exceptions = SimpleNamespace(RayError=Lost)
        for actor in range(workers):
            self.start(str(actor))

    def ask(self, what: Any) -> Any:
        return self.loop.run_until_complete(what)

    def get(self, answer: Any) -> Any:
        if isinstance(answer, str) and answer not in self.alive:
            raise Lost("it is gone")
        return answer

    def wait(self, refs: list[Any], timeout: float) -> tuple[list[Any], list[Any]]:
        return refs, []

    def start(self, actor: str) -> None:
        self.made += 1
        name = f"worker {self.made}"
        handle = SimpleNamespace(__ray_ready__=SimpleNamespace(remote=lambda: name))
        self.alive[name], self.queues[name] = actor, []
        self.ask(self.real.start(Started(name, actor, self.made, handle)))
        self.ask(self.real.make_ready(name, "print"))

    def die(self, name: str) -> None:
        actor = self.alive.pop(name)
        del self.queues[name]
        if actor == "0" or not self.gone:
            self.start(actor)

    def came(self, seconds: float) -> list[Row]:
        """One worker has its turn: it takes what is handed out, and grades a block."""
        name = self.dice.choice(sorted(self.alive))
        while len(self.queues[name]) < 2 and self.place < self.real._count:
            self.queues[name].append(self.ask(self.real.next(self.place)))
            self.place += 1
        if not self.queues[name]:
            return []
        row = self.queues[name].pop(0)
        fate = self.dice.choice(["fine", "before", "middle", "after"]) if self.deaths else "fine"
        self.deaths -= fate != "fine"
        if fate == "before":
            self.die(name)
            return []
        if not self.ask(self.real.claim(row["number"], name)):
            return []
        block = read_row(row)
        if fate == "middle" or DEADLY in block.pairs:
            self.die(name)
            return []
        self.graded.update(block.pairs)
        self.ask(self.real.finish(row["number"], name))
        if fate == "after":
            self.die(name)
            return []
        outcomes = [(*pair, Grade(3)) for pair in block.pairs]
        shard = write_shard(Shard("print", "block", "job", outcomes, Usage(len(outcomes))))
        return [{"number": row["number"], "name": "", "shard": shard, "fault": None, "hint": ""}]


@given(st.integers(1, 3), st.integers(0, 6), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_whoever_dies_every_pair_comes_once(
    workers: int, deaths: int, gone: bool, deadly: bool, dice: random.Random
) -> None:
    pairs = [(1, passage) for passage in range(300) if deadly or (1, passage) != DEADLY]
    texts = {passage: "words" for _, passage in pairs}
    played = Played(workers, dice, deaths, gone)
    control = Control()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "BEAT_SECONDS", 0.0)
        blocks = Blocks([PairsToGrade(QUESTIONS, texts, pairs[:200]), PairsToGrade(QUESTIONS, texts, pairs[200:])])
        run = Course(played, played, workers, blocks, control, None).run()  # type: ignore[arg-type]
        outcomes = [one for batch in run for one in batch]
    played.loop.close()
    assert sorted(one[:2] for one in outcomes) == pairs
    assert [one[:2] for one in outcomes if one[2].rating is None] == ([DEADLY] if deadly else [])
    assert control.usage.calls == len(pairs) - deadly
    # What is graded twice was on its way back when its worker died.
    assert sum(played.graded.values()) - len(played.graded) <= 128 * deaths


def test_a_job_that_is_stopped_takes_in_what_is_under_way_and_asks_no_more() -> None:
    pairs = [(1, passage) for passage in range(2000) if (1, passage) != DEADLY]
    played, control = Played(2, random.Random(1), 0, False), Control()
    blocks = Blocks([PairsToGrade(QUESTIONS, {passage: "words" for _, passage in pairs}, pairs)])
    came = 0
    for batch in Course(played, played, 2, blocks, control, None).run():  # type: ignore[arg-type]
        came += len(batch)
        if came:
            control.cancel()
    played.loop.close()
    assert came == sum(played.graded.values()) == 128
