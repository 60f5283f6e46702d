"""CSV for spreadsheets: cells that a spreadsheet would take for a formula are neutralised."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence


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


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}


_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def disarmed(cell: str) -> str:
    """A text for a cell of a CSV or TSV file: one that a spreadsheet would take for a formula gets an apostrophe."""
    return "'" + cell if _FORMULA.match(cell) else cell


def rearmed(cell: str) -> str:
    """What `disarmed` was given for a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
