"""A grader on the workers of a Ray cluster: blocks of pairs go out, outcomes come back, and whoever dies is replaced.

Each worker has one model. What a worker was at when it died is asked again of another one; nothing that came back is
asked twice, and a pair with which workers die again and again has failed, and not the job.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from core.errors import GradingError, WorkbenchError
from core.graders.base import Grader, Outcome, Pair
from core.graders.control import Control, Usage
from core.graders.kinds import make_grader
from core.graders.prompts.prompt import Prompt
from core.types import Asked, Grade, GraderSpec

BLOCK = 128
"""Pairs that go to a worker together: enough for batches of like length, few enough to lose little with a worker."""
AHEAD = 2
"""Blocks that a worker has at most, the one it is at and the next: more would only wait, in its memory."""
TRIES = 3
"""Workers that may die with a block before it is halved, and with a single pair before that has failed."""
MOST_DEATHS = 50
"""Workers in a row that die before one grades anything, until the cluster is given up."""
BEAT_SECONDS = 1.0
"""An empty batch is given this often, so that the caller can commit and show what it has."""


@dataclass(frozen=True)
class Cluster:
    """Where the workers are.

    Args:
        address: of a Ray cluster, as ray://head:10001 or head:6379; None for one on this computer, for the time of the
            job.
        workers: how many; None for one a GPU, or where there is none, a processor of the cluster.
        gpus: of each worker; below 1 where several share one. None for 1 where the cluster has any, else 0.
    """

    address: str | None = None
    workers: int | None = None
    gpus: float | None = None


@dataclass
class _Block:
    """Pairs on their way, and how many workers died with them."""

    pairs: list[Pair]
    deaths: int = 0


@dataclass
class _Worker:
    """A worker that is ready, with the blocks that it has by the reference of what is to come."""

    actor: Any
    blocks: dict[Any, _Block] = field(default_factory=dict)


class Graders:
    """What runs on a worker: the grader, made there."""

    def __init__(self, kind: str, parameters: Mapping[str, Any], prompts: Mapping[str, Prompt]) -> None:
        self._grader: Grader = make_grader(kind, parameters, prompts)

    def fingerprint(self) -> str:
        """Which grader it is: another version of a model on another computer would be another one."""
        return self._grader.spec.fingerprint

    def process(self) -> int:
        """The number of its process."""
        return os.getpid()

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair]
    ) -> tuple[list[Outcome], Usage]:
        """Grade pairs; a pair that breaks the grader has failed, with the reason, and the others have not.

        Raises:
            GradingError: the grader cannot grade at all.
        """
        control = Control()
        try:
            return self._all(questions, passages, pairs, control), control.usage
        except WorkbenchError:
            raise
        except Exception as error:
            if len(pairs) == 1:
                reason = f"the grader broke: {type(error).__name__}: {error}"
                return [(*pairs[0], Grade(None, "failed", reason=reason))], control.usage
        found: list[Outcome] = []
        usage = control.usage
        for pair in pairs:
            outcomes, used = self.grade(questions, passages, [pair])
            found += outcomes
            usage = usage.plus(used)
        return found, usage

    def _all(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> list[Outcome]:
        return [one for batch in self._grader.grade(questions, passages, pairs, control) for one in batch]


class RayGrader:
    """Gives the pairs of a grader to the workers of a cluster.

    Args:
        spec: what identifies the grader; each worker's has to be the same.
        kind, parameters, prompts: as `make_grader` takes them, on every worker.
        cluster: where the workers are.
    """

    def __init__(
        self,
        spec: GraderSpec,
        kind: str,
        parameters: Mapping[str, Any],
        prompts: Mapping[str, Prompt],
        cluster: Cluster,
    ) -> None:
        self._spec = spec
        self._made_of = (kind, dict(parameters), dict(prompts))
        self._cluster = cluster
        self._ray: Any = None
        self._starting: dict[Any, Any] = {}
        self._workers: list[_Worker] = []
        self._deaths = 0

    @property
    def spec(self) -> GraderSpec:
        """What identifies the grader."""
        return self._spec

    @property
    def processes(self) -> list[int]:
        """The processes of the workers that are ready, by their numbers on their computers."""
        return list(self._ray.get([worker.actor.process.remote() for worker in self._workers]))

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs on the workers; as `Grader.grade` says.

        Raises:
            GradingError: Ray is not installed, the cluster is not there, the grader cannot be made on a worker, or is
                another one there.
        """
        self._connect()
        # Passage by passage: a worker that encodes, or keeps the beginnings of prompts, does each of them once.
        ordered = sorted(pairs, key=lambda pair: pair[::-1])
        waiting = deque(_Block(ordered[at : at + BLOCK]) for at in range(0, len(ordered), BLOCK))
        while waiting or any(worker.blocks for worker in self._workers):
            self._send(waiting, questions, passages, control)
            if control.stopping and not any(worker.blocks for worker in self._workers):
                return
            refs = [*self._starting, *(ref for worker in self._workers for ref in worker.blocks)]
            done, _ = self._ray.wait(refs, num_returns=1, timeout=BEAT_SECONDS) if refs else ([], [])
            batch: list[Outcome] = []
            for ref in done:
                batch += self._begun(ref) if ref in self._starting else self._came(ref, waiting, control)
            yield batch

    def _connect(self) -> None:
        """Join the cluster, and let its workers start."""
        if self._ray is not None:
            return
        # Nobody is told that this program ran.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise GradingError(
                f"Ray cannot be loaded ({error}).", 'Install it: pip install "exam-workbench[ray]"'
            ) from error
        try:
            if not ray.is_initialized():
                ray.init(
                    self._cluster.address, include_dashboard=None if self._cluster.address else False,
                    logging_level="ERROR", log_to_driver=False,
                )  # fmt: skip
        except Exception as error:
            # Whatever is in the way of a connection, it is the address that one can do something about.
            raise GradingError(
                f"The Ray cluster cannot be joined ({type(error).__name__}: {error}).", "See that --address is right."
            ) from error
        self._ray = ray
        there = ray.cluster_resources()
        gpus = self._cluster.gpus
        if gpus is None:
            gpus = 1.0 if there.get("GPU") else 0.0
        wanted = self._cluster.workers or max(int(there.get("GPU", 0) / gpus if gpus else there.get("CPU", 1)), 1)
        # One that died is not made anew by Ray: where its node is gone, it might wait for another one for ever.
        self._make = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=0)(Graders)
        for _ in range(wanted):
            self._start()

    def _start(self) -> None:
        actor = self._make.remote(*self._made_of)
        self._starting[actor.fingerprint.remote()] = actor

    def _begun(self, ref: Any) -> list[Outcome]:
        """A worker that was starting is ready, or will never be."""
        actor = self._starting.pop(ref)
        try:
            fingerprint = self._ray.get(ref)
        except self._ray.exceptions.RayActorError as error:
            if isinstance(error, self._ray.exceptions.ActorDiedError) and "creation task" in str(error):
                raise GradingError(f"The grader cannot be made on a worker: {_last_line(error)}.") from error
            self._died(error)
            return []
        if fingerprint != self._spec.fingerprint:
            raise GradingError(
                "On a worker this grader is another one: its model, or this program, is not the same there.",
                "Let all computers of the cluster have the same versions of both.",
            )
        self._workers.append(_Worker(actor))
        return []

    def _send(
        self, waiting: deque[_Block], questions: Mapping[int, Asked], passages: Mapping[int, str], control: Control
    ) -> None:
        """Give blocks to workers that have room for them, to the one with the fewest first."""
        while waiting and self._workers and not control.stopping and not control.paused:
            worker = min(self._workers, key=lambda one: len(one.blocks))
            if len(worker.blocks) >= AHEAD:
                return
            block = waiting.popleft()
            ref = worker.actor.grade.remote(
                {question: questions[question] for question, _ in block.pairs},
                {passage: passages[passage] for _, passage in block.pairs},
                block.pairs,
            )
            worker.blocks[ref] = block

    def _came(self, ref: Any, waiting: deque[_Block], control: Control) -> list[Outcome]:
        """What a worker gave for a block; where it died instead, what it had goes to others."""
        worker = next((one for one in self._workers if ref in one.blocks), None)
        if worker is None:
            # Of one that died a moment ago: its blocks are waiting already.
            return []
        try:
            outcomes, used = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            raise GradingError(f"The grader cannot go on: {_last_line(error)}.") from error
        except self._ray.exceptions.RayError as error:
            self._workers.remove(worker)
            self._died(error)
            return self._again(worker, waiting)
        del worker.blocks[ref]
        self._deaths = 0
        control.add(used)
        return list(outcomes)

    def _again(self, worker: _Worker, waiting: deque[_Block]) -> list[Outcome]:
        """Let others have what a dead worker had. It was at the first of its blocks, which alone may be to blame."""
        failed: list[Outcome] = []
        first, *others = worker.blocks.values()
        waiting.extendleft(others)
        first.deaths += 1
        if first.deaths < TRIES:
            waiting.appendleft(first)
        elif len(first.pairs) == 1:
            failed.append((*first.pairs[0], Grade(None, "failed", reason=f"{TRIES} workers died with it")))
        else:
            half = len(first.pairs) // 2
            waiting.extendleft(_Block(pairs, TRIES - 1) for pairs in (first.pairs[half:], first.pairs[:half]))
        return failed

    def _died(self, error: Exception) -> None:
        """Start another worker in the place of one that died."""
        self._deaths += 1
        if self._deaths > MOST_DEATHS:
            raise GradingError(
                f"{self._deaths} workers died one after the other, the last one with: {_last_line(error)}.",
                "See the logs of the cluster, then grade what is missing.",
            )
        self._start()

    def close(self) -> None:
        """Leave the cluster, and let the workers end."""
        if self._ray is not None:
            self._ray.shutdown()
            self._ray, self._workers, self._starting = None, [], {}


def _last_line(error: Exception) -> str:
    """What an error of Ray says in the end: before that it has the whole way to it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else type(error).__name__
