"""A grader on the workers of a Ray cluster: pairs stream to them through Ray Data, shards of grades come back.

Each worker has one model, for the whole job. What a worker was at when it died is asked again of another one; nothing
that came back is asked twice, and a pair with which workers die again and again has failed, and not the job.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from core.errors import GradingError
from core.graders.base import Outcome, Pair, PairsToGrade
from core.graders.cluster.blocks import Blocks
from core.graders.cluster.course import Course
from core.graders.cluster.shards import ShardFolder
from core.graders.cluster.stream import Stream, StreamLost
from core.graders.control import Control
from core.graders.prompts.prompt import Prompt
from core.types import Asked, GraderSpec

STREAMS = 3
"""Streams in a row that are lost before anything comes, until the cluster is given up."""


@dataclass(frozen=True)
class Cluster:
    """Where the workers are.

    Args:
        address: of a Ray cluster that this computer belongs to, as head:6379; None for one on this computer alone, for
            the time of the job.
        workers: how many; None for one a GPU, or where there is none, a processor of the cluster.
        gpus: of each worker; below 1 where several share one. None for 1 where the cluster has any, else 0.
        shards: a folder that all its computers share, or an address in an object store, where workers put what they
            graded, a Parquet file a block; None where that comes back through Ray alone.
    """

    address: str | None = None
    workers: int | None = None
    gpus: float | None = None
    shards: str | None = None


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
        self._course: Course | None = None

    @property
    def spec(self) -> GraderSpec:
        """What identifies the grader."""
        return self._spec

    @property
    def processes(self) -> list[int]:
        """The processes of the workers that have started, by their numbers on their computers."""
        return [] if self._course is None else [one.process for one in self._course.living.values()]

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        """Grade pairs on the workers; as `Grader.grade` says."""
        return self.grade_all([PairsToGrade(questions, passages, pairs)], control)

    def grade_all(self, chunks: Iterable[PairsToGrade], control: Control) -> Iterator[list[Outcome]]:
        """Grade the pairs of a whole job, so that no worker waits for others between chunks.

        Args:
            chunks: the pairs, some thousand at a time; the next ones are taken where workers want them, and forgotten
                when they came back.
            control: is asked before blocks go out.

        Yields:
            As `Grader.grade`.

        Raises:
            GradingError: Ray is not installed, the cluster is not there, the grader cannot be made on a worker, or is
                another one there.
            InputError: the folder for shards cannot be made, or what workers write there is not seen here.
        """
        blocks = Blocks(chunks)
        if blocks.over:
            return
        place = self._cluster.shards
        folder = None if place is None else ShardFolder(place)
        if folder is not None:
            folder.make()
        workers, gpus = self._connect()
        job, lost = uuid.uuid4().hex, 0
        while not (blocks.over or control.stopping):
            stream = Stream(self._ray, self._spec.fingerprint, self._made_of, workers, gpus, place, job)
            ended = False
            try:
                self._course = Course(self._ray, stream, workers, blocks, control, folder)
                for batch in self._course.run():
                    lost = 0 if batch else lost
                    yield batch
                ended = True
                return
            except StreamLost:
                lost += 1
                if lost == STREAMS:
                    raise
                control.report("the stream to the workers was lost; another one is begun")
                # Its workers are in the way of the new ones until they are gone.
                for one in self._course.living.values() if self._course else ():
                    self._ray.kill(one.handle)
            finally:
                # What holds on to workers keeps them from ending.
                self._course = None
                stream.end(wait=ended)

    def _connect(self) -> tuple[int, float]:
        """Join the cluster; how many workers there are to be, and how many GPUs each has."""
        # Nobody is told that this program ran.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            raise GradingError(
                "package-missing", f"Ray cannot be loaded ({error}).", 'Install it: pip install "exam-workbench[ray]"'
            ) from error
        try:
            if not ray.is_initialized():
                # Without an address Ray looks for any cluster on this computer, of whomever, even one that died.
                ray.init(
                    self._cluster.address or "local", include_dashboard=None if self._cluster.address else False,
                    logging_level="ERROR", log_to_driver=False,
                )  # fmt: skip
        except Exception as error:
            # Whatever is in the way of a connection, it is the address that one can do something about.
            raise GradingError(
                "cluster-lost",
                f"The Ray cluster cannot be joined ({type(error).__name__}: {error}).",
                "See that --address is right, as head:6379, and that this computer belongs to it.",
            ) from error
        # It prints there what happens to workers, in the middle of what a command prints; the job tells of it itself.
        printing: Any = import_module("ray._private.worker")
        printing.print_to_stdstream = lambda *given, **named: None
        self._ray = ray
        there = ray.cluster_resources()
        gpus = self._cluster.gpus
        if gpus is None:
            gpus = 1.0 if there.get("GPU") else 0.0
        wanted = self._cluster.workers or max(int(there.get("GPU", 0) / gpus if gpus else there.get("CPU", 1)), 1)
        return wanted, gpus

    def close(self) -> None:
        """Leave the cluster, and let the workers end."""
        if self._ray is not None:
            self._ray.shutdown()
            self._ray = None
