"""Parquet columns of unusual types: nested, decimal, zoned times, dictionaries, extensions, invalid texts."""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

_UTC = datetime(2026, 1, 1)


def _invalid(rows: int) -> pa.Array:
    """Return texts that are not valid UTF-8, as careless writers produce them."""
    raw = pa.array([b"\xff\xfe\xc3("] * rows, pa.binary())
    return pa.Array.from_buffers(pa.string(), rows, raw.buffers())


def _of(value: Any, type_: pa.DataType | None = None) -> Callable[[int], pa.Array]:
    return lambda rows: pa.array([value] * rows, type_)


ODD: dict[str, Callable[[int], pa.Array]] = {
    "list": _of(["a"]),
    "list of lists": _of([[1], None, []]),
    "fixed list": _of([1, 2], pa.list_(pa.int32(), 2)),
    "struct": _of({"a": 1, "b": {"c": ["x"]}}),
    "map": _of([("a", 1)], pa.map_(pa.string(), pa.int32())),
    "decimal": _of(Decimal("1.50"), pa.decimal128(38, 2)),
    "large decimal": _of(Decimal("9" * 70), pa.decimal256(76, 0)),
    "zoned": _of(_UTC, pa.timestamp("us", "Europe/Berlin")),
    "nanoseconds": _of(1_700_000_000_000_000_001, pa.timestamp("ns")),
    "seconds": _of(_UTC, pa.timestamp("s")),
    "beyond all years": _of((1 << 63) - 1, pa.timestamp("us")),
    "date": _of(date(2026, 1, 1)),
    "day beyond all years": _of((1 << 31) - 1, pa.date32()),
    "time": _of(time(1, 2, 3, 4)),
    "duration": _of(timedelta(1)),
    "dictionary": lambda rows: pa.array(["a"] * rows).dictionary_encode(),
    "dictionary of numbers": lambda rows: pa.array([1] * rows).dictionary_encode(),
    "huge": _of((1 << 64) - 1, pa.uint64()),
    "small": _of(-128, pa.int8()),
    "half": _of(1.5, pa.float16()),
    "no number": _of(float("nan")),
    "bytes": _of(b"\xff\x00"),
    "fixed bytes": _of(b"abcd", pa.binary(4)),
    "large text": _of("a", pa.large_string()),
    "text view": _of("a", pa.string_view()),
    "invalid text": _invalid,
    "null": _of(None, pa.null()),
    "boolean": _of(True),
    "identifier": lambda rows: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * rows, pa.binary(16))),
    "json": lambda rows: pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}'] * rows)),
    "nothing": _of(None, pa.string()),
}
