"""CSV and TSV for spreadsheets: cells that begin like a formula are made harmless."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from .text import TURNING, with_escapes


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV; None gives an empty cell.

    Args:
        rows: as many cells each as the header has. A text that begins like a formula gets an
            apostrophe in front. Numbers stay as they are.
    """
    out = io.StringIO()
    # The csv module quotes a carriage return inside a cell only if line ends contain one too.
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(
        [disarm_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return out.getvalue()


def tsv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as TSV; None gives an empty cell.

    Args:
        rows: as many cells each as the header has. A text is put on one line, and gets an
            apostrophe in front if it begins like a formula. Numbers keep their full precision.
    """
    return "".join("\t".join(map(_tsv_cell, row)) + "\n" for row in chain([header], rows))


def _tsv_cell(value: object) -> str:
    if value is None:
        return ""
    return disarm_cell(" ".join(value.split())) if isinstance(value, str) else repr(value)


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: "\\" + c for c in "&%$#_{}"},
}
"""LaTeX of characters that have a meaning there."""


def escape_latex(text: str) -> str:
    """Return a text for LaTeX."""
    return "".join(LATEX.get(character, character) for character in text)


_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_TURNED = re.compile(rf"(?<!\\)(?:(\\*)([{TURNING}])|(\\+)(?=u20(?:2[a-e]|6[6-9])))")
_WRITTEN = re.compile(r"(?<!\\)(\\+)u(20(?:2[a-e]|6[6-9]))")


def disarm_cell(cell: str) -> str:
    """Return a text for a cell of a CSV or TSV file that no spreadsheet reads as a formula.

    A text that looks like a formula gets an apostrophe in front. Characters that turn the direction
    of writing are written as in JSON. Backslashes before them, or before such a code, are doubled,
    so that `rearm_cell` is exact.
    """
    cell = _TURNED.sub(
        lambda found: (found[3] or found[1]) * 2 + with_escapes(found[2] or ""), cell
    )
    return "'" + cell if _FORMULA.match(cell) else cell


def rearm_cell(cell: str) -> str:
    """Return the text that `disarm_cell` received."""
    cell = cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
    return _WRITTEN.sub(_restore_sign, cell)


def _restore_sign(written: re.Match[str]) -> str:
    half, odd = divmod(len(written[1]), 2)
    return "\\" * half + (chr(int(written[2], 16)) if odd else f"u{written[2]}")
