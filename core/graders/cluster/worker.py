"""What runs on a worker of a cluster: a grader that was made there once, and grades block after block."""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from core.errors import WorkbenchError
from core.graders.base import Grader, Outcome, Pair
from core.graders.cluster.blocks import Block, Row, read_row
from core.graders.cluster.desk import Started
from core.graders.cluster.shards import Shard, ShardFolder, block_digest, read_shard, write_shard
from core.graders.control import NOTHING_USED, Control, Usage
from core.graders.kinds import make_grader
from core.graders.prompts.prompt import Prompt
from core.types import Asked, Grade

MadeOf = tuple[str, Mapping[str, Any], Mapping[str, Prompt]]
"""What `make_grader` takes."""


class Graders:
    """A grader that is made where it is.

    Args:
        kind, parameters, prompts: as `make_grader` takes them.
        folder: where shards lie; None for nowhere.
        job: a word that no other job has: what failed in this one is not asked again, what failed in others is.
    """

    def __init__(
        self,
        kind: str,
        parameters: Mapping[str, Any],
        prompts: Mapping[str, Prompt],
        folder: ShardFolder | None = None,
        job: str = "",
    ) -> None:
        self._grader: Grader = make_grader(kind, parameters, prompts)
        self._folder, self._job = folder, job

    @property
    def fingerprint(self) -> str:
        """Which grader it is: another version of a model on another computer would be another one."""
        return self._grader.spec.fingerprint

    def shard(self, block: Block) -> Shard:
        """Grade a block, but for what lies in the folder already, and put it there.

        Raises:
            GradingError: the grader cannot grade at all.
            InputError: the folder cannot be read or written.
        """
        digest = block_digest(self.fingerprint, block.questions, block.passages, block.pairs)
        shard = Shard(self.fingerprint, digest, self._job, [])
        known, usage = self._found(shard.name, block)
        missing = [pair for pair in block.pairs if pair not in known]
        if missing:
            outcomes, used = self.grade(block.questions, block.passages, missing)
            known |= {(question, passage): grade for question, passage, grade in outcomes}
            usage = usage.plus(used)
        shard = Shard(
            self.fingerprint, digest, self._job, [(*pair, known[pair]) for pair in block.pairs if pair in known], usage
        )
        if missing and self._folder is not None:
            self._folder.write(shard.name, write_shard(shard))
        return shard

    def _found(self, name: str, block: Block) -> tuple[dict[Pair, Grade], Usage]:
        """What lies in the folder of a block, with what it took."""
        content = None if self._folder is None else self._folder.read(name)
        if content is None:
            return {}, NOTHING_USED
        try:
            shard = read_shard(content)
        except ValueError:
            # It is made anew in the place of the damaged one.
            return {}, NOTHING_USED
        if len(shard.outcomes) != len(block.pairs):
            return {}, NOTHING_USED
        # Equal texts in the same order, though in another project they may have other keys.
        found = zip(block.pairs, (grade for _, _, grade in shard.outcomes), strict=True)
        again = shard.job != self._job
        known = {pair: grade for pair, grade in found if not (again and grade.rating is None)}
        # What another job used was counted when its shard was taken in.
        return known, NOTHING_USED if again else shard.usage

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair]
    ) -> tuple[list[Outcome], Usage]:
        """Grade pairs; a pair that breaks the grader has failed, with the reason, and the others have not.

        Raises:
            GradingError: the grader cannot grade at all.
        """
        control = Control(longest_wait=math.inf)
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


class Worker:
    """A worker of Ray Data: takes blocks as tables of one row, gives back shards likewise.

    Args:
        desk: the actor that hands blocks out, see `Desk`.
        made_of: what `Graders` takes.
        place: of the folder for shards; shards travel themselves for None.
    """

    def __init__(self, desk: Any, made_of: MadeOf, place: str | None, job: str) -> None:
        self._ray = import_module("ray")
        self._desk, self._name = desk, uuid.uuid4().hex
        context = self._ray.get_runtime_context()
        self._ask(desk.start.remote(Started(self._name, context.get_actor_id(), os.getpid(), context.current_actor)))
        self._folder = None if place is None else ShardFolder(place)
        try:
            self._graders = Graders(*made_of, self._folder, job)
            self._ask(desk.make_ready.remote(self._name, self._graders.fingerprint))
        except Exception as error:
            self._ask(desk.give_up.remote(*_said(error)))
            raise

    def __call__(self, table: Any) -> Any:
        """Grade the block of a table.

        Returns:
            A table of at most one row: none where the block is not to be graded here.
        """
        import pyarrow as pa

        rows = table.to_pylist()
        came = [self._came(row) for row in rows if self._ask(self._desk.claim.remote(row["number"], self._name))]
        return pa.Table.from_pylist(came, pa.schema([
            ("number", pa.int64()), ("name", pa.string()), ("shard", pa.large_binary()), ("fault", pa.string()),
            ("hint", pa.string()),
        ]))  # fmt: skip

    def _came(self, row: Row) -> Row:
        came: Row = {"number": row["number"], "name": "", "shard": None, "fault": None, "hint": ""}
        try:
            shard = self._graders.shard(read_row(row))
            came |= {"name": shard.name, "shard": write_shard(shard) if self._folder is None else None}
        except Exception as error:
            # Told, and not raised: what is raised is a lost block to Ray Data, and nobody would hear of it.
            came["fault"], came["hint"] = _said(error)
        self._ask(self._desk.finish.remote(row["number"], self._name))
        return came

    def _ask(self, ref: Any) -> Any:
        return self._ray.get(ref)


def _said(error: Exception) -> tuple[str, str]:
    """What was wrong, and what to do about it."""
    if isinstance(error, WorkbenchError):
        return error.message, error.hint
    return f"{type(error).__name__}: {error}", ""


def hand_out(table: Any, desk: Any) -> Iterator[Any]:
    """What the desk hands out, a table of one row for each block; runs as a task of Ray Data.

    Args:
        table: says nothing; Ray Data begins with one.
        desk: see `Desk`.
    """
    import pyarrow as pa

    ray = import_module("ray")
    keys = pa.large_list(pa.int32())
    schema = pa.schema([
        ("number", pa.int64()), ("pairs", keys), ("questions", keys), ("asked", pa.large_list(pa.string())),
        ("passages", keys), ("texts", pa.large_list(pa.string())),
    ])  # fmt: skip
    place = 0
    while (row := ray.get(desk.next.remote(place))) is not None:
        place += 1
        yield pa.Table.from_pylist([row], schema)
