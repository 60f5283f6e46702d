"""Print Markdown: tables 1 (a) and (b) of the original EXAM paper next to the results from its
table 4.

Usage: python docs/original-exam/compare.py
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from exam_workbench.errors import Report
from exam_workbench.formats import Source, read_boards
from exam_workbench.measures import Correlation, correlate_scores

HERE = Path(__file__).resolve().parent
Scores = Mapping[str, float]

# (row, column) of tables 1 (a) and 1 (b) -> (Spearman, Kendall), column by column as printed.
PUBLISHED = {
    ("nDCG20", "EXAM"): (0.74, 0.57),
    ("MAP", "EXAM"): (0.75, 0.57),
    ("Prec@R", "EXAM"): (0.74, 0.56),
    ("ROUGE", "EXAM"): (-0.09, -0.07),
    ("nDCG20", "Prec@R"): (0.94, 0.86),
    ("MAP", "Prec@R"): (0.94, 0.86),
    ("ROUGE", "Prec@R"): (-0.01, 0.00),
    ("nDCG20", "MAP"): (0.95, 0.88),
    ("ROUGE", "MAP"): (-0.07, -0.05),
    ("ROUGE", "nDCG20"): (-0.01, 0.00),
}
COEFFICIENTS = ("spearman", "kendall")
TITLES = ("Table 1 (a): Spearman's rank correlation", "Table 1 (b): Kendall's tau")

# EXAM by its finer column, n-EXAM (EXAM divided by a constant), and by the # columns, which have no
# ties.
SCORES = {"EXAM": "n-EXAM"}
RANKS = {"EXAM": "orig_EXAM_rank", "ROUGE": "orig_ROUGE_rank"}

CLOSE = 0.01
# Largest rounding error of a number printed with two decimals.
ROUNDING = 0.005
REPEATS = 2000
NORMAL_95 = 1.96
PAPER_REPEATS = 10
PAPERS = 100
# The error of EXAM is "about 0.01 or less" (table 4); n-EXAM divides EXAM by the 0.17 of the gold
# articles.
ERRORS = (0.005, 0.01)
GOLD = 0.17


class Pair(NamedTuple):
    """The correlation of two leaderboards under each way to treat ties.

    Attributes:
        ours: the mean over many random orders of tied systems.
        papers: means over ten random orders, as in the paper's cells, for many seeds.
        low, high: from the orders of tied systems that agree least and most.
        average: ties have average ranks.
        within: systems with overlapping error bars are tied, too, and in random order; for each of
            `ERRORS`.
    """

    ours: Correlation
    papers: Sequence[Correlation]
    low: Correlation
    high: Correlation
    average: Correlation
    within: Sequence[Correlation]


def boards(name: str) -> dict[str, dict[str, float]]:
    """Return the leaderboards of a file in this folder: measure -> run -> score."""
    report = Report()
    found = read_boards(Source.from_path(HERE / name), report)
    report.raise_if_refused()
    return {board.measure: {row.run: row.score for row in board.rows} for board in found}


def ordered(scores: Scores, other: Scores, sign: int) -> dict[str, float]:
    """Return a leaderboard whose ties are ordered as in another leaderboard (sign 1) or in reverse
    (sign -1).
    """
    runs = sorted(sorted(scores), key=lambda run: (scores[run], sign * other[run]))
    return {run: float(place) for place, run in enumerate(runs)}


def extreme(a: Scores, b: Scores, sign: int) -> Correlation:
    """Return the highest (sign 1) or lowest (sign -1) correlation over all orders of the tied
    systems.
    """
    first = ordered(a, b, sign)
    return correlate_scores(first, ordered(b, first, sign))


def study(table: Mapping[str, Scores], name_a: str, name_b: str) -> Pair:
    """Correlate two columns of table 4 in every way; columns of ranks have no error bars."""
    a, b = table[name_a], table[name_b]

    def errors(name: str, error: float) -> dict[str, float]:
        own = 0.0 if name.endswith("_rank") else error / GOLD if name == "n-EXAM" else error
        return dict.fromkeys(table[name], own)

    return Pair(
        correlate_scores(a, b, "random", REPEATS),
        [correlate_scores(a, b, "random", PAPER_REPEATS, seed) for seed in range(PAPERS)],
        extreme(a, b, -1),
        extreme(a, b, 1),
        correlate_scores(a, b),
        [
            correlate_scores(a, b, "random", REPEATS, 0, errors(name_a, e), errors(name_b, e))
            for e in ERRORS
        ],
    )


def value(found: Correlation, coefficient: str) -> float:
    """Return a coefficient; all those of table 4 are defined."""
    number: float = getattr(found, coefficient)
    return number


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table, the first column as text and the others as numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, rule, *rows))


def compared(pairs: Mapping[tuple[str, str], Pair], at: int) -> str:
    """Return the rows of one of the two tables, and a sentence with the number of reproduced cells.

    Args:
        at: 0 for Spearman, 1 for Kendall.
    """
    rows, close, drawn, possible = [], 0, 0, 0
    for cell, pair in pairs.items():
        published = PUBLISHED[cell][at]
        ours, low, high, average, *within = (
            value(found, COEFFICIENTS[at])
            for found in (pair.ours, pair.low, pair.high, pair.average, *pair.within)
        )
        spread = NORMAL_95 * float(
            np.std([value(found, COEFFICIENTS[at]) for found in pair.papers])
        )
        difference = f"{ours - published:+.3f}"
        is_close = abs(ours - published) <= CLOSE
        close += is_close
        drawn += abs(ours - published) <= spread + ROUNDING
        possible += low - ROUNDING <= published <= high + ROUNDING
        rows.append(
            [
                " × ".join(cell),
                f"{published:.2f}",
                f"{ours:z.3f}",
                difference if is_close else f"**{difference}**",
            ]
            + [f"{ours - spread:z.3f} to {ours + spread:z.3f}", f"{low:z.3f} to {high:z.3f}"]
            + [f"{number:z.3f}" for number in (average, *within)]
        )
    header = ["cell", "published", "ours", "difference", "ten repeats", "possible", "average ranks"]
    header += [f"ties within {error}" for error in ERRORS]
    return (
        f"**{TITLES[at]}**\n\n{markdown_table(header, rows)}\n\n"
        f"Ours is within {CLOSE} of the published cell in {close} of {len(rows)}. The published"
        f" cell, itself rounded, is in the range of ten repeats in {drawn}, and in that of what is"
        f" possible in {possible}."
    )


def gold_scores(table: Mapping[str, Scores]) -> tuple[float, float]:
    """Return the lowest and highest EXAM of the gold articles for which EXAM / gold rounds to
    n-EXAM for every system.
    """
    exam, normalised = table["EXAM"], table["n-EXAM"]
    low = max((exam[run] - ROUNDING) / (normalised[run] + ROUNDING) for run in exam)
    return low, min((exam[run] + ROUNDING) / (normalised[run] - ROUNDING) for run in exam)


def markdown() -> str:
    """Return both tables, from the printed scores and from the printed ranks if given, and the link
    between the columns.
    """
    table = boards("table4.tsv") | boards("table4-ranks.tsv")
    by_score = {
        cell: study(table, *(SCORES.get(name, name) for name in cell)) for cell in PUBLISHED
    }
    ranked = [cell for cell in PUBLISHED if RANKS.keys() & set(cell)]
    by_rank = {cell: study(table, *(RANKS.get(name, name) for name in cell)) for cell in ranked}
    low, high = gold_scores(table)
    return "\n\n".join(
        [
            "### From the printed scores",
            compared(by_score, 0),
            compared(by_score, 1),
            "### From the printed ranks of EXAM and ROUGE",
            compared(by_rank, 0),
            compared(by_rank, 1),
            "### EXAM and n-EXAM",
            f"With an EXAM of the gold articles between {low:.4f} and {high:.4f}, every printed"
            " n-EXAM is the printed EXAM beside it over that number, to rounding.",
        ]
    )


if __name__ == "__main__":
    print(markdown())
