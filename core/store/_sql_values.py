"""SQL literals in place of parameters, Python columns as tables for SQL, and columns of results as
arrays.

DuckDB would import pandas at its first parameter, and most commands do not need pandas.
"""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection as Connection
    from numpy.typing import NDArray


Parameters = list[Any] | dict[str, Any] | None

ROWS_A_STATEMENT = 10_000
"""Rows of a temporary table that one statement writes."""

_LIST_TYPES = {str: "VARCHAR", int: "INTEGER", bool: "BOOLEAN"}
"""SQL types of the elements of lists that become literals."""

# A text or a quoted name is one token, so that a parameter sign inside it is ignored.
_TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\?|\$[A-Za-z_]\w*")


def quoted_text(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_path(path: Path | str) -> str:
    """Return a path as an SQL literal."""
    return quoted_text(str(path))


def as_pattern(path: Path) -> Path:
    """Escape a path for SQL functions that take patterns, so that it matches only itself."""
    return Path(glob.escape(str(path)))


def quoted_name(name: str) -> str:
    """Quote the name of a table or a column for SQL."""
    return '"' + name.replace('"', '""') + '"'


def written_in(sql: str, parameters: Parameters) -> tuple[str, Parameters]:
    """Write the values of parameters into a statement.

    Args:
        parameters: values by name, or in the order of the question marks.

    Returns:
        The statement and None; or both unchanged if a value cannot be a literal.
    """
    if not parameters:
        return sql, None
    named = isinstance(parameters, dict)
    literals = {
        (f"${name}" if named else name): sql_literal(value)
        for name, value in (
            parameters.items() if isinstance(parameters, dict) else enumerate(parameters)
        )
    }
    # Question marks may also be numbered; such statements keep their parameters.
    if None in literals.values() or not (named or _TOKEN.findall(sql).count("?") == len(literals)):
        return sql, parameters
    unused = iter(literals.values())

    def write_token(token: re.Match[str]) -> str:
        return str(next(unused) if token[0] == "?" else literals.get(token[0], token[0]))

    return _TOKEN.sub(write_token, sql), None


def sql_literal(value: Any) -> str | None:
    """Return a value as SQL of the type that it has as a parameter; None if it must stay a
    parameter.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if type(value) is int:
        return f"({value})"
    if type(value) is str:
        return None if "\0" in value else f"({quoted_text(value)}::VARCHAR)"
    if not isinstance(value, list | tuple):
        return None
    types = set(map(type, value))
    sql_type = _LIST_TYPES.get(types.pop()) if len(types) == 1 else None
    if sql_type is None or (sql_type == "INTEGER" and max(map(abs, value)) >= 2**31):
        return None
    return _json_list(value, sql_type)


def stage_columns(
    cursor: Connection, name: str, columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]
) -> None:
    """Create a temporary table from columns.

    The values travel as JSON: small imports need no Arrow, which takes longer to import than their
    work takes.

    Args:
        cursor: only its connection sees the table. The table replaces an older table of the same
            name.
        name: name of the temporary table.
        columns: values by column name, all of the same length.
        types: SQL type by column name, in the order of the columns.
    """
    into = f"CREATE OR REPLACE TEMP TABLE {name} AS"
    size = max(map(len, columns.values()))
    for start in range(0, max(size, 1), ROWS_A_STATEMENT):
        values = ", ".join(
            f"unnest({_json_list(columns[column][start : start + ROWS_A_STATEMENT], sql_type)})"
            f" AS {column}"
            for column, sql_type in types.items()
        )
        cursor.execute(f"{into} SELECT {values}")
        into = f"INSERT INTO {name}"


def _json_list(values: Sequence[Any], sql_type: str) -> str:
    # DuckDB reads a long list of literals twenty times slower than JSON.
    return f"CAST({quoted_text(json.dumps(values, allow_nan=False))}::JSON AS {sql_type}[])"


def stage_rows(
    cursor: Connection, name: str, rows: Sequence[Sequence[Any]], types: Mapping[str, str]
) -> None:
    """Create a temporary table as `stage_columns` does, from rows with their values in the order of
    the columns.
    """
    stage_columns(
        cursor, name, {column: [row[at] for row in rows] for at, column in enumerate(types)}, types
    )


def table_of(columns: Mapping[str, Sequence[Any]], types: Mapping[str, str]) -> pa.Table:
    """Return columns as an Arrow table.

    Args:
        columns: values by column name, all of the same length.
        types: SQL type by column name, in the order of the columns.
    """
    import pyarrow as pa

    return pa.table(
        {column: pa.array(columns[column], type=arrow_type(types[column])) for column in types}
    )


def number_table(**columns: NDArray[Any]) -> pa.Table:
    """Return columns of numbers as an Arrow table with their own types."""
    import pyarrow as pa

    return pa.table({name: pa.array(values) for name, values in columns.items()})


@contextmanager
def lend_table(cursor: Connection, name: str, table: pa.Table) -> Iterator[None]:
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
        # The transaction keeps a registered object until it ends, so the object must release the
        # table now.
        loan.table = None


class _Loan:
    """A stream of an Arrow table whose reference can be released."""

    def __init__(self, table: pa.Table) -> None:
        self.table: pa.Table | None = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream of the table's batches, as in Arrow's PyCapsule interface."""
        assert self.table is not None
        return self.table.__arrow_c_stream__(requested_schema)


class ParquetBuffer:
    """A file in which rows are buffered while they are read, so that memory does not limit their
    number.

    Args:
        file: the new Parquet file.
        schema: of its tables.
        use_dictionary: whether texts repeat within a row group.
    """

    def __init__(self, file: Path, schema: pa.Schema, use_dictionary: bool = False) -> None:
        import pyarrow.parquet as pq

        self._file = file
        self._writer = pq.ParquetWriter(
            file, schema, compression="lz4", use_dictionary=use_dictionary
        )

    def _write(self) -> None:
        """Write the waiting rows, if rows wait."""

    def close(self) -> None:
        """Write the remaining rows and finish the file."""
        self._write()
        self._writer.close()

    @property
    def relation(self) -> str:
        """SQL for the table of rows; valid after `close`."""
        return f"read_parquet({quoted_path(self._file)})"


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
    """Return a column of numbers without missing values as an array. Its own `to_numpy` would
    import pandas.
    """
    import numpy as np
    import pyarrow as pa

    return np.from_dlpack(
        column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    )
