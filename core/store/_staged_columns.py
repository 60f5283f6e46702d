"""Python columns as tables for SQL, and columns of results as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._database import Connection

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def stage(cursor: Connection, name: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> None:
    """Create a temporary table from columns.

    Args:
        cursor: only its connection sees the table. The table replaces an older table of the same name.
        name: name of the temporary table.
        columns: values by column name, all of the same length.
        types: SQL type by column name, in the order of the columns.
    """
    with lent(cursor, "incoming", table_of(columns, types)):
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM incoming")


def table_of(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> pa.Table:
    """Return columns as an Arrow table.

    Args:
        columns: values by column name, all of the same length.
        types: SQL type by column name, in the order of the columns.
    """
    import pyarrow as pa

    return pa.table({column: pa.array(columns[column], type=arrow_type(types[column])) for column in types})


def numbered(**columns: NDArray[Any]) -> pa.Table:
    """Return columns of numbers as an Arrow table with their own types."""
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})


@contextmanager
def lent(cursor: Connection, name: str, table: pa.Table) -> Iterator[None]:
    """Make an Arrow table readable for SQL during a block, without a copy.

    Use it for data in many parts: a transaction keeps the data of all its temporary tables, even of
    replaced tables.
    """
    loan = _Loan(table)
    cursor.register(name, loan)
    try:
        yield
    finally:
        cursor.unregister(name)
        # The transaction keeps a registered object until it ends, so the object must release the table now.
        loan.table = None


class _Loan:
    """A stream of an Arrow table whose reference can be released."""

    def __init__(self, table: pa.Table) -> None:
        self.table: pa.Table | None = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream of the table's batches, as in Arrow's PyCapsule interface."""
        assert self.table is not None
        return self.table.__arrow_c_stream__(requested_schema)


_ARROW = {
    "VARCHAR": "string",
    "INTEGER": "int32",
    "TINYINT": "int8",
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "FLOAT": "float32",
    "BOOLEAN": "bool_",
    "BLOB": "binary",
}


def arrow_type(sql_type: str) -> pa.DataType:
    """Return the Arrow type for an SQL type, or for a list of it such as `FLOAT[]`."""
    import pyarrow as pa

    kind = getattr(pa, _ARROW[sql_type.removesuffix("[]")])()
    return pa.list_(kind) if sql_type.endswith("[]") else kind


def array_of(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> NDArray[Any]:
    """Return a column of numbers without missing values as an array. Its own `to_numpy` would import pandas."""
    import numpy as np
    import pyarrow as pa

    return np.from_dlpack(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
