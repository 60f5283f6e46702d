"""Ray Data as far as a job on a cluster needs it: blocks stream through a pool of workers, and what comes is queued."""

from __future__ import annotations

import logging
import queue
import threading
import warnings
from importlib import import_module
from typing import Any

from core.errors import GradingError
from core.graders.cluster.blocks import Row
from core.graders.cluster.desk import Desk
from core.graders.cluster.worker import MadeOf, Worker, hand_out

AHEAD = 2
"""Blocks that a worker has at most, the one it is at and the next: more would only wait, in its memory."""
LEAVING_SECONDS = 30.0
"""For which the end of the stream is waited for: then its workers are free for another one."""


class StreamLost(GradingError):
    """A stream that gives nothing any more: what hands out its blocks is gone, or Ray Data gave up."""


class Stream:
    """A pipeline of Ray Data from a desk to workers and back, which runs until the desk hands out nothing more.

    Args:
        ray: the library, connected.
        fingerprint: of the grader.
        made_of: what `make_grader` takes.
        workers: how many, each a processor and so many `gpus`.
        place: of the folder for shards, or None.
        job: a word that no other job has.
    """

    def __init__(
        self,
        ray: Any,
        fingerprint: str,
        made_of: MadeOf,
        workers: int,
        gpus: float,
        place: str | None,
        job: str,
    ) -> None:
        data: Any = import_module("ray.data")
        scheduling: Any = import_module("ray.util.scheduling_strategies")
        # What hands out runs where this program does: it ends with it, and with nothing else.
        here = scheduling.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._ray = ray
        self.desk = ray.remote(num_cpus=0, scheduling_strategy=here)(Desk).remote(fingerprint)
        _set_up(data)
        with warnings.catch_warnings():
            # In Ray 2.64 some of what is asked for here gets other names. The version is pinned.
            warnings.simplefilter("ignore")
            handed_out = data.from_items([0], override_num_blocks=1).map_batches(
                hand_out, batch_size=None, batch_format="pyarrow", fn_kwargs={"desk": self.desk}, num_cpus=0,
                scheduling_strategy=here,
            )  # fmt: skip
            self._graded = handed_out.map_batches(
                Worker, batch_size=None, batch_format="pyarrow", fn_constructor_args=(self.desk, made_of, place, job),
                compute=data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=AHEAD),
                # A worker that died is made anew where there is room. What it had is handed out again from here, and
                # not by Ray Data, which would do it for ever, and would wait for this very worker.
                num_cpus=1, num_gpus=gpus or None, max_restarts=-1, max_task_retries=0,
            )  # fmt: skip
        self._came: queue.SimpleQueue[Row | Exception] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="Ray Data", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for table in self._graded.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
                for row in table.to_pylist():
                    self._came.put(row)
            self._came.put(
                StreamLost("cluster-lost", "Ray Data came to an end before the job did.", "Run it again for the rest.")
            )
        except Exception as error:
            self._came.put(error)

    def came(self, seconds: float) -> list[Row]:
        """What came back; waits so long for the first.

        Raises:
            StreamLost: nothing more can come.
        """
        rows: list[Row] = []
        try:
            one = self._came.get(timeout=seconds)
            while True:
                if isinstance(one, StreamLost):
                    raise one
                if isinstance(one, Exception):
                    raise StreamLost(
                        "cluster-lost",
                        f"Ray Data gave up: {last_line(one)}.",
                        "See the logs of the cluster, then grade what is missing.",
                    ) from one
                rows.append(one)
                one = self._came.get_nowait()
        except queue.Empty:
            return rows

    def end(self, wait: bool) -> None:
        """Hand out nothing more, and where it is waited for, let what runs come to its end."""
        try:
            self._ray.get(self.desk.turn.remote(over=True))
            if wait:
                self._thread.join(LEAVING_SECONDS)
        except self._ray.exceptions.RayError:
            # The desk is gone, and with it all that was to be ended.
            return


def _set_up(data: Any) -> None:
    """Let Ray Data pass every block on as it is, drop what is lost, and be quiet about it."""
    context = data.DataContext.get_current()
    context.target_max_block_size = 1
    context.max_errored_blocks = -1
    context.enable_progress_bars = False
    # Each loss is told there with its whole way through Ray; its log files keep it.
    for handler in logging.getLogger("ray.data").handlers:
        if handler.name == "console":
            handler.setLevel(logging.CRITICAL)


def last_line(error: BaseException) -> str:
    """What an error of Ray says in the end: before that it has the whole way to it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else type(error).__name__
