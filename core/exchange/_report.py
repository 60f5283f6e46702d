"""A report as one HTML file: text, tables and figures, without scripts or other files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Args:
        rows: texts and numbers; None for a missing value. Numbers with a fraction have `digits`
            decimals.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 4


@dataclass(frozen=True)
class Figure:
    """A figure of a report.

    Args:
        svg: an SVG image that this program drew; it is included unchanged, except for its ids.
    """

    caption: str
    svg: str


@dataclass(frozen=True)
class Section:
    """A section of a report, or a query with its questions.

    Args:
        parts: paragraphs, lists (tuples of texts), tables and figures.
    """

    title: str
    parts: Sequence[str | tuple[str, ...] | Table | Figure]


STYLE = """
:root { color-scheme: light; }
body { max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem; color: #1f2428; background: #fff;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p, figcaption, li { max-width: 60rem; }
.lead { font-size: 1.1rem; font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.93rem; font-variant-numeric: tabular-nums;
  margin: 0.8rem 0; }
caption { text-align: left; color: #59626b; padding-bottom: 0.3rem; }
th, td { padding: 0.2rem 0.7rem; border-bottom: 1px solid #e1e5e8; text-align: left;
  vertical-align: top; }
/* Headings break between words, for narrow columns of numbers; names break only if they must. */
th { font-weight: 600; vertical-align: bottom; overflow-wrap: normal; } .n { text-align: right; }
td:not(.n) { min-width: 8rem; overflow-wrap: break-word; } td.n { white-space: nowrap; }
@media (max-width: 62rem) { table { font-size: 0.85rem; } th, td { padding: 0.2rem 0.4rem; }
  td:not(.n) { min-width: 12rem; overflow-wrap: anywhere; } }
figure { margin: 1.2rem 0; break-inside: avoid; } figcaption { color: #59626b; font-size: 0.93rem; }
svg { max-width: 100%; height: auto; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Content security policy: the browser runs no script and loads nothing, whatever the texts
contain.
"""


def report_html(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return a report as HTML. All texts are escaped.

    Args:
        lead: the first sentences.
    """
    body = "".join(_section_html(section, number) for number, section in enumerate(sections))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1 dir="auto">{escape(title)}</h1>\n<p class="lead"'
        f' dir="auto">{escape(lead)}</p>\n{body}</body>\n</html>\n'
    )


def _section_html(section: Section, number: int) -> str:
    parts = "".join(
        _part_html(part, f"f{number}-{place}-") for place, part in enumerate(section.parts)
    )
    return f'<section>\n<h2 dir="auto">{escape(section.title)}</h2>\n{parts}</section>\n'


def _part_html(part: str | tuple[str, ...] | Table | Figure, prefix: str) -> str:
    if isinstance(part, str):
        return f'<p dir="auto">{escape(part)}</p>\n'
    if isinstance(part, Table):
        return "".join(_table_html(part))
    if isinstance(part, Figure):
        # Ids of one image must not be those of another one.
        svg = re.sub(r'(\bid="|url\(#)', rf"\g<1>{prefix}", part.svg)
        return f"<figure>{svg}<figcaption>{escape(part.caption)}</figcaption></figure>\n"
    items = "".join(f'<li dir="auto">{escape(item)}</li>' for item in part)
    return f"<ul>{items}</ul>\n"


def _table_html(table: Table) -> Iterator[str]:
    numbers = [
        all(not isinstance(row[place], str) for row in table.rows)
        for place in range(len(table.head))
    ]
    kinds = [' class="n"' if number else "" for number in numbers]
    yield (
        '<div class="scroll"><table><caption'
        f' dir="auto">{escape(table.caption)}</caption>\n<thead><tr>'
    )
    yield from (
        f"<th{kind} scope=col>{escape(name)}</th>"
        for name, kind in zip(table.head, kinds, strict=True)
    )
    yield "</tr></thead>\n<tbody>\n"
    for row in table.rows:
        cells = (
            f'<td{kind} dir="auto">{_cell_html(value, table.digits)}</td>'
            for value, kind in zip(row, kinds, strict=True)
        )
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</tbody></table></div>\n"


def _cell_html(value: Cell, digits: int) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:z.{digits}f}"
    # Long names of systems may break after these signs.
    return re.sub(r"([_+])", r"\1<wbr>", escape(value)) if isinstance(value, str) else f"{value:,}"
