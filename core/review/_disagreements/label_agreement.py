"""Agreement of labels with judgments, between graders, and between people: tables, coefficients, and their pairs."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ...measures import (
    Coefficient,
    CrossTable,
    alpha_of,
    cohen_kappa,
    cross_table,
    halves,
    merge,
    per_level,
    weighted_kappa,
)
from ...store import Project
from ...tables import LATEX
from .sides import Rater, Side, match


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of two sides on the pairs that both have.

    Args:
        kappa: Cohen's kappa of the unchanged values. If the scales differ, use `merged` and `per_level`.
        weighted_kappa: Cohen's kappa with quadratic weights.
        per_level: kappa of each value on the left against all other values, by value.
        alpha: Krippendorff's ordinal alpha of the unchanged values.
        n: number of pairs that both sides have: (query, passage), or (question, passage) if a side is a person.
        left_only, right_only: numbers of pairs that only one side has. Tables do not include them: missing is not zero.
    """

    left: Rater
    right: Rater
    table: CrossTable
    kappa: Coefficient
    weighted_kappa: Coefficient
    per_level: dict[int, Coefficient]
    alpha: Coefficient
    n: int
    left_only: int
    right_only: int

    @property
    def names(self) -> tuple[str, str]:
        """Short names of the sides: the kinds of their values, such as label and judgment; the owners if equal."""
        sides = (self.left, self.right)
        if self.left.noun != self.right.noun:
            return (self.left.noun, self.right.noun)
        if self.left.owner != self.right.owner:
            return (self.left.owner, self.right.owner)
        if self.left.by_itself != self.right.by_itself:
            one, other = (
                f"{side.owner} {'without overrides' if side.by_itself else 'with overrides'}" for side in sides
            )
            return (one, other)
        return ("left", "right")

    @property
    def merged(self) -> Agreement:
        """The agreement after the values of each side are merged into two groups, divided at its threshold.

        The default is labels 4–5 and 0–3 against judgments above 0 and up to 0 (exam-plus-plus, table 4).
        """
        groups = [halves(rater.scale, rater.threshold) for rater in (self.left, self.right)]
        return _of(self.left, self.right, merge(self.table, *groups), self.left_only, self.right_only)

    def as_dict(self) -> dict[str, Any]:
        """Return the agreement as plain values, as `--json` prints it; `undefined` says why a value is None."""
        table = self.table
        whole = {"kappa": self.kappa, "weighted_kappa": self.weighted_kappa, "alpha": self.alpha}
        levels = dict(zip(table.row_names, self.per_level.values(), strict=True))
        reasons = whole | {f"per_level {name}": found for name, found in levels.items()}
        return {
            "left": str(self.left),
            "right": str(self.right),
            "table": {"rows": table.row_names, "columns": table.column_names, "counts": table.counts.tolist()},
            **{name: found.value for name, found in whole.items()},
            "per_level": {name: found.value for name, found in levels.items()},
            "n": self.n,
            "left_only": self.left_only,
            "right_only": self.right_only,
            "undefined": {name: found.undefined for name, found in reasons.items() if found.undefined},
        }


def agreement(project: Project, left: Side, right: Side, queries: Collection[str] | None = None) -> Agreement:
    """Cross-tabulate two sides and compute their agreement (exam-plus-plus, table 4).

    Args:
        left: the side whose values are the rows.
        right: the side whose values are the columns.
        queries: ids of the queries that count; None for all.

    Raises:
        InputError: a grader, version, source or person is unknown, or the sides cannot be compared.
    """
    found = match(project, left, right)

    def compute() -> Agreement:
        pairs = found.of(queries)
        left_only, right_only = (
            sum(count for query, count in counts.items() if queries is None or query in queries)
            for counts in (found.left_only, found.right_only)
        )
        table = cross_table(pairs["left"], pairs["right"], found.left.scale, found.right.scale)
        return _of(found.left, found.right, table, left_only, right_only)

    # The key has the whole sides, because labels depend on parts of a policy that a `Rater` does not show.
    key = ("agreement of", left, right, None if queries is None else frozenset(queries))
    return project.cached(key, compute)


def _of(left: Rater, right: Rater, table: CrossTable, left_only: int, right_only: int) -> Agreement:
    return Agreement(
        left=left,
        right=right,
        table=table,
        kappa=cohen_kappa(table),
        weighted_kappa=weighted_kappa(table),
        per_level=per_level(table),
        alpha=alpha_of(table),
        n=table.n,
        left_only=left_only,
        right_only=right_only,
    )


@dataclass(frozen=True)
class Pair:
    """A passage with the values of two sides; with a question if a side is a person.

    Missing texts are None. Without a question, its id and text are None.
    """

    query_id: str
    query_text: str
    passage_id: str
    passage_text: str | None
    question_id: str | None
    question_text: str | None
    left: int
    right: int


def table_csv(found: Agreement, merged: bool = False) -> str:
    """Return the cross table as CSV, with a line for each value on the left, its total and its kappa (`per_level`).

    Args:
        merged: whether to use `Agreement.merged`.
    """
    found = found.merged if merged else found
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    table = found.table
    writer.writerow([found.left.noun, *table.column_names, "total", "kappa"])
    for name, counts, total, kappa in _rows(found):
        writer.writerow([name, *counts, total, "" if kappa.value is None else repr(kappa.value)])
    return out.getvalue()


def _rows(found: Agreement) -> list[tuple[str, list[int], int, Coefficient]]:
    table = found.table
    kappas = found.per_level.values()
    return list(zip(table.row_names, table.counts.tolist(), table.row_totals, kappas, strict=True))


def table_latex(found: Agreement, merged: bool = False) -> str:
    """Return the cross table as a LaTeX tabular that needs no package.

    It has a line for each value on the left, with its total and its kappa (`per_level`). Cells that count as agreement
    are boxed, and the highest count of each column is bold.

    Args:
        merged: whether to use `Agreement.merged`.
    """
    found = found.merged if merged else found
    table = found.table
    highest = table.counts.max(axis=0, initial=0)
    width = len(table.columns)
    heading = str(found.right)
    heading = _latex(heading[0].upper() + heading[1:])
    lines = [
        f"\\begin{{tabular}}{{l{'r' * width}rr}}",
        "\\hline",
        f" & \\multicolumn{{{width}}}{{c}}{{{heading}}} & & \\\\",
        " & ".join([found.left.noun.capitalize(), *map(_latex, table.column_names), "Total", "Cohen's $\\kappa$ \\\\"]),
        "\\hline",
    ]
    for (name, counts, total, kappa), boxes in zip(_rows(found), table.agreeing, strict=True):
        cells = [
            f"\\textbf{{{count}}}" if count == most > 0 else str(count)
            for count, most in zip(counts, highest, strict=True)
        ]
        cells = [f"\\fbox{{{cell}}}" if box else cell for cell, box in zip(cells, boxes, strict=True)]
        lines.append(" & ".join([_latex(name), *cells, str(total), _two_digits(kappa.value)]) + " \\\\")
    return "\n".join([*lines, "\\hline", "\\end{tabular}", ""])


def _latex(text: str) -> str:
    marks = LATEX | {"–": "--", "≤": "$\\le$"}
    return "".join(marks.get(character, character) for character in text)


def _two_digits(value: float | None) -> str:
    if value is None:
        return "--"
    return "$0$" if abs(value) < 1e-4 else f"${value:.2g}$"
