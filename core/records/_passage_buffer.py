"""Passages read from files and not stored yet. They are buffered in a file, so memory does not limit their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..store import quoted_path, table_of
from ..text import all_clean, all_plain, clean_text, fault_of_id
from ..types import Passage

if TYPE_CHECKING:
    import pyarrow as pa

PASSAGES_A_BATCH = 5_000
CHARACTERS_A_BATCH = 1 << 21

_COLUMNS = {"row": "INTEGER", "passage_id": "VARCHAR", "text": "VARCHAR", "given": "VARCHAR"}


class PassageFiles:
    """Passages of files, buffered while they are read. Each has a row number, counted from 0.

    Args:
        folder: folder of the buffer file.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        self.rows = 0
        """Number of passages so far."""
        self.faulty: set[str] = set()
        """Passage ids that are not valid in qrels."""
        self.unclean = False
        """Whether `clean_text` would change any text."""
        self._file = folder / "passages.parquet"
        # Texts rarely repeat within a row group, so a dictionary would not save space.
        schema = passage_table([], 0).schema
        self._writer = pq.ParquetWriter(self._file, schema, compression="lz4", use_dictionary=False)
        self._waiting: list[Passage] = []
        self._held = 0

    def take(self, passages: Iterable[Passage]) -> None:
        """Add passages. A passage with an empty text is known only by its id."""
        for passage in passages:
            self._waiting.append(passage)
            self.rows += 1
            self._held += len(passage.text)
            if len(self._waiting) >= PASSAGES_A_BATCH or self._held >= CHARACTERS_A_BATCH:
                self._write()

    def close(self) -> None:
        """Write the remaining passages and finish the file."""
        self._write()
        self._writer.close()

    @property
    def relation(self) -> str:
        """SQL for the table of passages, with the columns of `passage_table`; valid after `close`."""
        return f"read_parquet({quoted_path(self._file)})"

    def _write(self) -> None:
        if self._waiting:
            table = passage_table(self._waiting, self.rows - len(self._waiting))
            self.unclean |= table["given"].null_count < len(table)
            self.faulty.update(_faulty_ids([passage.passage_id for passage in self._waiting]))
            self._writer.write_table(table)
        self._waiting, self._held = [], 0


def passage_table(passages: Sequence[Passage], start: int) -> pa.Table:
    """Return passages as a table: `row`, `passage_id`, `text` and `given`.

    `text` is NULL for an empty text. `given` is the original text if `clean_text` changes it, else
    NULL.

    Args:
        start: row number of the first passage.
    """
    texts = [passage.text for passage in passages]
    columns: dict[str, Sequence[Any]] = {
        "row": range(start, start + len(passages)),
        "passage_id": [passage.passage_id for passage in passages],
        "text": texts,
        "given": [None] * len(texts),
    }
    if not all_clean(texts):
        clean = list(map(clean_text, texts))
        columns |= {"text": clean, "given": list(map(_given, texts, clean))}
    columns["text"] = [text or None for text in columns["text"]]
    return table_of(columns, _COLUMNS)


def _given(text: str, clean: str) -> str | None:
    if text == clean:
        return None
    # A table cannot hold halves of surrogate pairs, and no project has any.
    return text if text.encode(errors="ignore").decode() == text else None


def _faulty_ids(ids: Sequence[str]) -> Iterator[str]:
    return iter(()) if not ids or all_plain(ids) else (one for one in ids if fault_of_id(one, one_column=True))
