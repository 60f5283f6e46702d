"""Passages that were read from files and wait to be written: in a file of their own, whatever their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from core.project.staging import table_of
from core.types import Passage

PASSAGES_A_BATCH = 20_000
CHARACTERS_A_BATCH = 1 << 25

_COLUMNS = {"passage_id": "VARCHAR", "text": "VARCHAR"}


def in_batches(passages: Iterable[Passage]) -> Iterator[list[Passage]]:
    """Passages in lists that are bounded by their number and by the length of their texts."""
    batch: list[Passage] = []
    held = 0
    for passage in passages:
        batch.append(passage)
        held += len(passage.text)
        if len(batch) >= PASSAGES_A_BATCH or held >= CHARACTERS_A_BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


class PassageFiles:
    """Passages of files, kept as they are read.

    Args:
        folder: for the file that keeps them.
    """

    def __init__(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        self._file = folder / "passages.parquet"
        self._writer = pq.ParquetWriter(self._file, table_of({name: [] for name in _COLUMNS}, _COLUMNS).schema)

    def take(self, passages: Iterable[Passage]) -> None:
        """Keep passages."""
        for batch in in_batches(passages):
            columns = {"passage_id": [p.passage_id for p in batch], "text": [p.text for p in batch]}
            self._writer.write_table(table_of(columns, _COLUMNS))

    def close(self) -> None:
        """Write them out; no more are taken."""
        self._writer.close()

    def passages(self) -> Iterator[Passage]:
        """All that were kept, in their order."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self._file) as kept:
            for at in range(kept.num_row_groups):
                columns = kept.read_row_group(at).to_pydict()
                yield from map(Passage, columns["passage_id"], columns["text"])
