"""Columns of Python as tables that SQL works on as sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .database import Connection

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def stage(cursor: Connection, name: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> None:
    """Make a temporary table of columns, so that SQL can work on them as a set.

    Args:
        cursor: where the table is to be seen; an older one of that name is replaced.
        name: name of the temporary table.
        columns: values by column name, all of one length.
        types: SQL type by column name, in the order of the columns.
    """
    with lent(cursor, "incoming", table_of(columns, types)):
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM incoming")


def table_of(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> pa.Table:
    """Columns as an Arrow table.

    Args:
        columns: values by column name, all of one length.
        types: SQL type by column name, in the order of the columns.
    """
    import pyarrow as pa

    return pa.table({column: pa.array(columns[column], type=arrow_type(types[column])) for column in types})


def numbered(**columns: NDArray[Any]) -> pa.Table:
    """Columns of numbers as an Arrow table of their own types."""
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})


@contextmanager
def lent(cursor: Connection, name: str, table: pa.Table) -> Iterator[None]:
    """Let SQL read an Arrow table under a name for a while, without a copy.

    For what comes in many parts: a transaction keeps what all its temporary tables held, those replaced as well.
    """
    loan = _Loan(table)
    cursor.register(name, loan)
    try:
        yield
    finally:
        cursor.unregister(name)
        # The transaction keeps to its end what was registered in it, too: let that be no more than an empty hand.
        loan.table = None


class _Loan:
    """An Arrow table that is read as a stream, for as long as it is there."""

    def __init__(self, table: pa.Table) -> None:
        self.table: pa.Table | None = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream of the table's batches, as Arrow's PyCapsule interface has it."""
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
    """Arrow's type for one of SQL, or for a list of them, such as `FLOAT[]`."""
    import pyarrow as pa

    kind = getattr(pa, _ARROW[sql_type.removesuffix("[]")])()
    return pa.list_(kind) if sql_type.endswith("[]") else kind
