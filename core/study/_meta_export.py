"""Export of meta-evaluation tables for papers and spreadsheets: LaTeX and TSV, with a caption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..choices import META_COEFFICIENTS
from ..labels import queries_with_ungraded
from ..tables import escape_latex, tsv_text
from ..text import first_few
from ._meta_table import NEAR, POOR, Cell, MetaTable

TITLES = {"spearman": "Spearman", "kendall": "Kendall", "tau_ap": "tau_AP"}
_SHORT = {"spearman": "$\\rho$", "kendall": "$\\tau$", "tau_ap": "$\\tau_{AP}$"}
UNDEFINED = "†"
_MARKED = {
    "best": "\\textbf{{\\textit{{{}}}}}",
    "near": "\\textbf{{{}}}",
    "poor": "\\textcolor{{gray}}{{{}}}",
}
"""The text of a value in LaTeX, by its mark."""


def make_caption(
    table: MetaTable, best: str = "in bold", near: str = "marked", poor: str = "grey"
) -> str:
    """Return the caption of a table: a few sentences about its content and its marks.

    Args:
        best, near, poor: phrases for the marks of the best value of a column, of equally good
            values, and of poor values; empty without the mark.
    """
    official = list(dict.fromkeys(column.against for column in table.columns))
    ties = "average ranks" if table.ties == "average" else "mean over random orders"
    itself = any("itself" in cell.marks.values() for row in table.rows for cell in row.cells)
    counts = list(dict.fromkeys(row.queries for row in table.rows if row.queries))
    left_out = dict.fromkeys(
        query
        for row in table.rows
        for cell in row.cells
        if cell.queries is not None and cell.queries.left_out
        for query in cell.queries.ungraded
    )
    shares = {row.name: row.usable / row.needed for row in table.rows if row.usable < row.needed}
    sentences = (
        (True, f"Rank correlation with {', '.join(official)} (ties: {ties})."),
        (True, f"The best value of each column is {best}."),
        (near, f"Values within {NEAR} of the best are {near}."),
        (True, f"Values below {POOR} are {poor}."),
        (itself, "Rows of the official source are not marked."),
        (
            counts,
            f"Queries: {counts[0] if len(counts) == 1 else 'see each row'}. “4 of 5 / 93” means 4"
            " common queries, of 5 of the row and 93 of the official leaderboard. “5 / 93” means"
            " that each uses its own queries. “?” means unknown.",
        ),
        (
            left_out,
            f"Left out of the rows that have not graded them: {queries_with_ungraded(left_out)}.",
        ),
        (
            table.samples,
            f"Intervals: 95%, from {table.samples} resamples of the queries. Resampling lowers"
            " correlations, so a value may lie at or above the end of its interval.",
        ),
        (
            shares,
            "Graded share of the needed pairs:"
            f" {', '.join(f'{n} {s:.0%}' for n, s in shares.items())}.",
        ),
        (
            table.left_out,
            f"Excluded (no system on the official leaderboard): {', '.join(table.left_out)}.",
        ),
        (
            table.reasons(),
            f"{UNDEFINED} means undefined. The first leaderboard is that of the row, the"
            " second the official.",
        ),
    )
    return " ".join(sentence for applies, sentence in sentences if applies)


def meta_tsv(table: MetaTable, coefficients: Sequence[str] = META_COEFFICIENTS) -> str:
    """Return the table as TSV with full precision. The cell of an undefined value is empty, the
    last column has the reason.

    Args:
        coefficients: some of `META_COEFFICIENTS`.
    """
    ends = ("", " low", " high") if table.samples else ("",)
    header = ["row", "min_rating", "needed_pairs", "usable_pairs", "queries"]
    header += [
        f"{c.title} {name}{end}" for c in table.columns for name in coefficients for end in ends
    ]
    lines = []
    for row in table.rows:
        cells: list[Any] = [row.name, row.min_rating, row.needed, row.usable, row.queries]
        for cell in row.cells:
            for name in coefficients:
                interval = (cell.intervals.get(name) or (None, None)) if table.samples else ()
                cells += [cell.value(name), *interval]
        reasons = [
            f"{column.title}: {cell.correlation.undefined}"
            for column, cell in zip(table.columns, row.cells, strict=True)
            if cell.correlation.undefined
        ]
        lines.append([*cells, " ".join(reasons)])
    return tsv_text([*header, "undefined"], lines)


def meta_latex(table: MetaTable, coefficients: Sequence[str] = META_COEFFICIENTS) -> str:
    """Return the table as a LaTeX tabular in the manner of exam-plus-plus, table 3.

    Args:
        coefficients: some of `META_COEFFICIENTS`.

    Returns:
        A tabular. A comment before it explains its marks and names the package that it needs.
    """
    width = len(coefficients)
    heads = [
        f"\\multicolumn{{{width}}}{{c}}{{{_escape_latex(column.title)}}}"
        for column in table.columns
    ]
    names = [_SHORT[name] for _ in table.columns for name in coefficients]
    lines = [
        f"% {' '.join(make_caption(table, 'in bold italics', 'in bold').split())}".replace(
            UNDEFINED, "$\\dagger$"
        ),
        "% Needs \\usepackage{xcolor}.",
        f"\\begin{{tabular}}{{lrr{'r' * width * len(table.columns)}}}",
        "\\hline",
        " & ".join(["", "", "", *heads]) + " \\\\",
        " & ".join(["Evaluation method", "Min rating", "Queries", *names]) + " \\\\",
        "\\hline",
    ]
    for row in table.rows:
        rating = "" if row.min_rating is None else str(row.min_rating)
        cells = [_latex_cell(cell, name) for cell in row.cells for name in coefficients]
        lines.append(
            " & ".join([_escape_latex(row.name), rating, _escape_latex(row.queries), *cells])
            + " \\\\"
        )
    lines += ["\\hline", "\\end{tabular}"]
    reasons = (f"{reason} ({first_few(where, '; ')})" for reason, where in table.reasons().items())
    lines += [f"% $\\dagger$ {' '.join(reason.split())}" for reason in reasons]
    return "\n".join(lines) + "\n"


def _latex_cell(cell: Cell, name: str) -> str:
    value, mark = cell.value(name), cell.marks[name]
    if value is None:
        return "$\\dagger$"
    text = f"{value:.3f}"
    text = f"${text}$" if value < 0 else text
    if interval := cell.intervals.get(name):
        text += f" [{interval[0]:z.2f}, {interval[1]:z.2f}]"
    return _MARKED.get(mark, "{}").format(text)


def _escape_latex(text: str) -> str:
    return escape_latex(" ".join(text.split()))
