"""CSV for spreadsheets: cells that a spreadsheet would take for a formula are neutralised."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from core.text import disarmed


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV; None gives an empty cell.

    Args:
        rows: as many cells each as the header has. Texts that begin like a formula get an apostrophe
            in front, numbers stay as they are.
    """
    out = io.StringIO()
    # The csv module quotes a carriage return inside a cell only where line ends have one too.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([disarmed(cell) if isinstance(cell, str) else cell for cell in row])
    return out.getvalue()
