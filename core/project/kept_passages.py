"""Passages that were read from files and wait to be written: in a file of their own, whatever their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..text import all_clean, all_plain, clean_text, fault_of_id
from ..types import Passage
from .staging import table_of
from .values import quoted_path

if TYPE_CHECKING:
    import pyarrow as pa

PASSAGES_A_BATCH = 5_000
CHARACTERS_A_BATCH = 1 << 21

_COLUMNS = {"row": "INTEGER", "passage_id": "VARCHAR", "text": "VARCHAR", "given": "VARCHAR"}


class PassageFiles:
    """Passages of files, kept as they are read. Each has a number: how many came before it.

    Args:
        folder: for the file that keeps them.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        self.rows = 0
        """How many were taken."""
        self.faulty: set[str] = set()
        """Ids among them that could not stand in qrels."""
        self.unclean = False
        """Whether a text was not as `clean_text` has it."""
        self._file = folder / "passages.parquet"
        # Texts hardly ever come again next to each other: a dictionary of them would be made in vain.
        schema = passage_table([], 0).schema
        self._writer = pq.ParquetWriter(self._file, schema, compression="lz4", use_dictionary=False)
        self._waiting: list[Passage] = []
        self._held = 0

    def take(self, passages: Iterable[Passage]) -> None:
        """Keep passages; of one whose text is empty the id alone."""
        for passage in passages:
            self._waiting.append(passage)
            self.rows += 1
            self._held += len(passage.text)
            if len(self._waiting) >= PASSAGES_A_BATCH or self._held >= CHARACTERS_A_BATCH:
                self._write()

    def close(self) -> None:
        """Write them out; no more are taken."""
        self._write()
        self._writer.close()

    @property
    def relation(self) -> str:
        """What SQL reads as a table of them, as `passage_table` has it; once they are written out."""
        return f"read_parquet({quoted_path(self._file)})"

    def _write(self) -> None:
        if self._waiting:
            table = passage_table(self._waiting, self.rows - len(self._waiting))
            self.unclean |= table["given"].null_count < len(table)
            self.faulty.update(_faulty_ids([passage.passage_id for passage in self._waiting]))
            self._writer.write_table(table)
        self._waiting, self._held = [], 0


def passage_table(passages: Sequence[Passage], start: int) -> pa.Table:
    """Passages as a table: `row`, `passage_id`, `text` (NULL where it is empty), and `given`, the text as it came where
    it is not as `clean_text` has it.

    Args:
        start: the first one's row.
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
    # Halves of surrogate pairs cannot stand in a table; no project has them.
    return text if text.encode(errors="ignore").decode() == text else None


def _faulty_ids(ids: Sequence[str]) -> Iterator[str]:
    """Ids of passages that could not stand in qrels."""
    return iter(()) if not ids or all_plain(ids) else (one for one in ids if fault_of_id(one, one_column=True))
