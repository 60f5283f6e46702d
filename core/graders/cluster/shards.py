"""Parquet shards of grades: what a worker made of a block of pairs, as bytes, in a folder or in an object store."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from core.atomic_files import write_file
from core.errors import InputError
from core.graders.base import Outcome, Pair
from core.graders.control import NOTHING_USED, Usage
from core.types import Asked, Grade, Status

FORMAT = 1
"""Version of the form of a shard."""
KEY = b"exam-workbench"
"""Under which a shard says in its metadata what it is."""
DIGEST = 32
"""Hexadecimal digits of what a block is known by."""
SUFFIX = ".parquet"
MOST_ROWS = 1_000_000
"""Rows that a shard may have: it is read whole."""


@dataclass(frozen=True)
class Shard:
    """The grades of a block of pairs.

    Args:
        fingerprint: of the grader.
        block: digest of the block, see `block_digest`.
        job: of the job that made it, a word that no other one has.
        outcomes: the pairs in the order of the block, each with its grade.
        usage: what they took.
    """

    fingerprint: str
    block: str
    job: str
    outcomes: list[Outcome]
    usage: Usage = NOTHING_USED

    @property
    def name(self) -> str:
        """Of its file: the grader and the block, so that the same block has the same name whoever grades it."""
        return shard_name(self.fingerprint, self.block)


def shard_name(fingerprint: str, block: str) -> str:
    """The name of the file with a grader's grades of a block."""
    return f"grades-{fingerprint}-{block}{SUFFIX}"


def block_digest(
    fingerprint: str, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair]
) -> str:
    """What a block is known by: a hash of the grader and of the texts of its pairs, in order.

    Args:
        questions, passages: the texts by the keys that `pairs` names.

    Raises:
        KeyError: a pair names a text that is not there.
    """
    asked = {key: hashlib.sha256(one.written.encode()).digest() for key, one in questions.items()}
    read = {key: hashlib.sha256(text.encode()).digest() for key, text in passages.items()}
    whole = hashlib.sha256(fingerprint.encode())
    for question, passage in pairs:
        whole.update(asked[question] + read[passage])
    return whole.hexdigest()[:DIGEST]


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            ("question_text_key", pa.int32()),
            ("passage_text_key", pa.int32()),
            ("rating", pa.int8()),
            ("status", pa.string()),
            ("answer", pa.string()),
            ("confidence", pa.float64()),
            ("raw", pa.string()),
            ("reason", pa.string()),
            ("note", pa.string()),
            ("distribution", pa.list_(pa.float64())),
        ]
    )


def write_shard(shard: Shard) -> bytes:
    """A shard as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    said = {
        "format": FORMAT,
        "grader": shard.fingerprint,
        "block": shard.block,
        "job": shard.job,
        "usage": asdict(shard.usage),
    }
    schema = _schema().with_metadata({KEY: json.dumps(said).encode()})
    names = schema.names[2:]
    columns: list[list[Any]] = [[question for question, _, _ in shard.outcomes], [one[1] for one in shard.outcomes]]
    columns += [[getattr(grade, name) for _, _, grade in shard.outcomes] for name in names]
    out = io.BytesIO()
    pq.write_table(pa.table(columns, schema=schema), out, compression="zstd")
    return out.getvalue()


def read_shard(content: bytes) -> Shard:
    """Read a shard.

    Raises:
        ValueError: it is none, or damaged; with the reason.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(io.BytesIO(content)) as file:
            said = json.loads((file.schema_arrow.metadata or {}).get(KEY, b"null"))
            if not isinstance(said, dict) or said.get("format") != FORMAT:
                raise ValueError("it is no shard of grades of this version")
            if file.metadata.num_rows > MOST_ROWS:
                raise ValueError(f"it has more than {MOST_ROWS:,} rows")
            rows = file.read(columns=_schema().names).cast(_schema()).to_pylist()
        usage = Usage(**said["usage"])
        outcomes = [_outcome(row) for row in rows]
        # Numbers that are none would be found only when they are added up.
        if not all(type(one) in (int, float) and 0 <= one < math.inf for one in asdict(usage).values()):
            raise ValueError("what it used is not given in numbers")
        return Shard(str(said["grader"]), str(said["block"]), str(said["job"]), outcomes, usage)
    except (pa.ArrowException, OSError, KeyError, TypeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"it cannot be read as a shard of grades ({type(error).__name__}: {error})") from error


def _outcome(row: dict[str, Any]) -> Outcome:
    question, passage = row.pop("question_text_key"), row.pop("passage_text_key")
    if question is None or passage is None:
        raise ValueError("a row names no pair")
    if row["status"] not in get_args(Status) or (row["rating"] is None) != (row["status"] == "failed"):
        raise ValueError("a rating does not go with its status")
    if row["rating"] is not None and row["rating"] < 0:
        raise ValueError("a rating is below 0")
    if row["distribution"] is not None:
        row["distribution"] = tuple(row["distribution"])
    return question, passage, Grade(**row)


def is_shard(path: Path) -> bool:
    """Whether a file is a shard of grades, of whatever version, as far as its metadata say."""
    if path.suffix != SUFFIX:
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return KEY in (pq.read_schema(path).metadata or {})
    except (pa.ArrowException, OSError):
        return False


class ShardFolder:
    """Where shards lie: a folder that all computers share, or a place in an object store.

    Args:
        place: its path, or its address such as s3://bucket/grades, which the package of fsspec for it reads.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._store: Any = None
        self._root = place
        if "://" in place:
            try:
                self._store, self._root = import_module("fsspec").url_to_fs(place)
            except (ImportError, ValueError) as error:
                raise InputError(
                    "cannot-read-file",
                    f"{place} cannot be opened: {error}.",
                    "Name a folder, or install the package of fsspec for it.",
                ) from error

    def make(self) -> None:
        """See that it is there.

        Raises:
            InputError: it cannot be made.
        """
        try:
            if self._store is not None:
                self._store.makedirs(self._root, exist_ok=True)
            else:
                Path(self._root).mkdir(parents=True, exist_ok=True)
        except Exception as error:
            # Every store has errors of its own; the place is what one can do something about.
            raise InputError(
                "cannot-write-file", f"{self.place} cannot be made: {error}.", "Name another folder."
            ) from error

    def names(self, fingerprint: str) -> list[str]:
        """The names of the shards of a grader that lie there, in order.

        Raises:
            InputError: it cannot be looked into.
        """
        beginning = shard_name(fingerprint, "").removesuffix(SUFFIX)
        try:
            if self._store is not None:
                self._store.invalidate_cache()
                found = [one.rsplit("/", 1)[-1] for one in self._store.ls(self._root, detail=False)]
            else:
                found = os.listdir(self._root)
        except Exception as error:
            raise InputError(
                "cannot-read-file", f"{self.place} cannot be read: {error}.", "Name another folder."
            ) from error
        return sorted(name for name in found if name.startswith(beginning) and name.endswith(SUFFIX))

    def read(self, name: str) -> bytes | None:
        """A shard; None where there is none of this name.

        Raises:
            InputError: it cannot be read.
        """
        try:
            if self._store is not None:
                return bytes(self._store.cat_file(f"{self._root}/{name}"))
            return Path(self._root, name).read_bytes()
        except FileNotFoundError:
            return None
        except Exception as error:
            raise InputError(
                "cannot-read-file", f"{self.place}/{name} cannot be read: {error}.", "Name another folder."
            ) from error

    def write(self, name: str, content: bytes) -> None:
        """Put a shard there, whole or not at all; one of the same name gives way to it.

        Raises:
            InputError, ProjectError: it cannot be written.
        """
        if self._store is None:
            write_file(Path(self._root, name), content)
            return
        try:
            self._store.pipe_file(f"{self._root}/{name}", content)
        except Exception as error:
            raise InputError(
                "cannot-write-file", f"{self.place}/{name} cannot be written: {error}.", "Name another folder."
            ) from error
