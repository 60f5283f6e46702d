"""Parquet files of pairs to grade and of grades, for workers without a project."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from ..atomic_files import written
from ..errors import InputError
from ..types import Asked, Grade, Status
from .control import NOTHING_USED, Tokens, Usage, used_by
from .prompts.prompt import Prompt, read_prompt, write_prompt

FORMAT = 1
"""Version of the format of a plan."""
KEY = b"exam-workbench plan"
"""Key of a plan's description in the metadata of its file."""
ROWS = 4096
"""Number of rows of a file that are in memory together."""


@dataclass(frozen=True)
class PlannedGrader:
    """The grader of a plan: arguments of `make_grader`, and the required fingerprint."""

    kind: str
    parameters: Mapping[str, Any]
    prompts: Mapping[str, Prompt]
    fingerprint: str


@dataclass(frozen=True)
class NamedGrade:
    """A row of a file of grades.

    Args:
        name: name of the pair: the plan's custom_id.
        usage: usage of the batch of pairs, in its first row; zero in the others.
        line: number of the row, from 1.
    """

    name: str
    grade: Grade
    usage: Usage
    line: int


def write_pairs(pairs: Iterable[tuple[str, Asked, str]], grader: PlannedGrader, path: Path) -> int:
    """Write pairs with their texts to a file for workers.

    Args:
        pairs: name, question and passage of each; written as they arrive.
        grader: stored in the file's metadata, without the name of a key variable.
        path: a Parquet file.

    Returns:
        The number of pairs.

    Raises:
        InputError, ProjectError: see `atomic_files.written`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = asdict(grader) | {
        "format": FORMAT,
        "parameters": _without_keys(grader.parameters),
        "prompts": {name: write_prompt(prompt) for name, prompt in grader.prompts.items()},
    }
    texts = [(name, pa.string()) for name in ("custom_id", "question", "answer_key", "passage")]
    schema = pa.schema([*texts, ("choices", pa.list_(pa.string()))], {KEY: json.dumps(about).encode()})
    number, waiting = 0, iter(pairs)
    with written(path) as made, pq.ParquetWriter(made, schema) as out:
        while batch := list(islice(waiting, ROWS)):
            rows = [
                {"custom_id": name, "question": asked.text, "answer_key": asked.answer_key, "passage": passage,
                 "choices": list(asked.choices)}
                for name, asked, passage in batch
            ]  # fmt: skip
            out.write_table(pa.Table.from_pylist(rows, schema))
            number += len(batch)
    return number


def _without_keys(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without the key variable: a plan may come from another person, who must not choose the key
    to send."""
    return {name: value for name, value in parameters.items() if name != "key_variable"}


def planned_grader(path: Path) -> PlannedGrader | None:
    """Read the grader of a plan; None for a plan of calls, which names no grader.

    Raises:
        InputError: the file is not a plan of this version.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        schema = pq.read_schema(path)
        about = json.loads((schema.metadata or {}).get(KEY, b"null"))
        if about is None and {"custom_id", "body"} <= set(schema.names):
            return None
        if about["format"] != FORMAT:
            raise ValueError(f"its format {about['format']} is unknown")
        prompts = {name: read_prompt(text, name) for name, text in about["prompts"].items()}
        return PlannedGrader(about["kind"], _without_keys(about["parameters"]), prompts, about["fingerprint"])
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "not-a-plan", f"{path} is not a plan: {error}.", "Write one: exam plan -o FILE.parquet"
        ) from error


def grade_columns(names: Sequence[str], grades: Sequence[Grade], usage: Usage) -> Any:
    """Return grades as an Arrow table, for a file that `read_grades` reads.

    Args:
        names: names of the pairs, as many as `grades`; at least one.
        usage: usage of all of them together.
    """
    import pyarrow as pa

    used = (usage.calls, usage.input_tokens, usage.output_tokens)
    rows = [
        {"custom_id": name, **asdict(grade)} | dict(zip(_USED, used if row == 0 else (0, 0, 0), strict=True))
        for row, (name, grade) in enumerate(zip(names, grades, strict=True))
    ]
    return pa.Table.from_pylist(rows, _grade_schema())


_USED = ("calls", "input_tokens", "output_tokens")


def _grade_schema() -> Any:
    import pyarrow as pa

    texts = [(name, pa.string()) for name in ("custom_id", "status", "answer", "raw", "reason", "note")]
    numbers = [("confidence", pa.float64()), ("distribution", pa.list_(pa.float64()))]
    return pa.schema([*texts, ("rating", pa.int8()), *numbers, *((name, pa.int64()) for name in _USED)])


def holds_grades(path: Path) -> bool:
    """Return whether a file has the columns of grades."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return path.suffix == ".parquet" and {"custom_id", "status"} <= set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return False


def read_grades(path: Path) -> Iterator[list[NamedGrade]]:
    """Yield the grades of a file in lists of up to `ROWS` rows.

    Raises:
        ValueError: the file or a row is unreadable; the message has the reason.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    line = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS, columns=_grade_schema().names):
                rows = pa.Table.from_batches([batch]).select(_grade_schema().names).cast(_grade_schema()).to_pylist()
                yield [_named_grade(row, line + number) for number, row in enumerate(rows, start=1)]
                line += len(rows)
    except (pa.ArrowException, OSError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(f"the file has no readable grades ({type(error).__name__}: {error})") from error


def _named_grade(row: dict[str, Any], line: int) -> NamedGrade:
    name, used = row.pop("custom_id"), [row.pop(column) or 0 for column in _USED]
    if row["status"] not in get_args(Status) or (row["rating"] is None) != (row["status"] == "failed"):
        raise ValueError(f"row {line}: the rating does not fit its status")
    if not isinstance(name, str) or min(used) < 0 or (row["rating"] or 0) < 0:
        raise ValueError(f"row {line}: the custom_id is missing, or a number is below 0")
    if row["distribution"] is not None:
        row["distribution"] = tuple(row["distribution"])
    usage = used_by(used[0], Tokens(*used[1:]), 0.0) if any(used) else NOTHING_USED
    return NamedGrade(name, Grade(**row), usage, line)
