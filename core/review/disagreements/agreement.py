"""Agreement of labels with judgments, of graders and of people: tables, coefficients, and what is behind them."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from core.bank import latest_version
from core.measures import (
    Coefficient,
    CrossTable,
    alpha_of,
    cohen_kappa,
    cross_table,
    halves,
    matching,
    merge,
    per_level,
    weighted_kappa,
)
from core.project import Project
from core.review.disagreements.sides import Rater, Side, match
from core.tables import LATEX

if TYPE_CHECKING:
    import pandas as pd

Order = Literal["worst", "left", "right"]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well two sides agree on what both have.

    Args:
        kappa: Cohen's, of the values as they are; where the scales differ, look at `merged` and `per_level`.
        weighted_kappa: the same with quadratic weights.
        per_level: kappa of each value on the left against the rest, by value.
        alpha: Krippendorff's, ordinal, of the values as they are.
        n: number of pairs that both sides have: (query, passage), or (question, passage) beside a person.
        left_only, right_only: numbers of pairs that only one side has. They are in no table: missing is not zero.
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
        """What tells the sides apart in few words: label and judgment or, where both give the same, their owners."""
        sides = (self.left, self.right)
        if self.left.noun != self.right.noun:
            return (self.left.noun, self.right.noun)
        if self.left.owner != self.right.owner:
            return (self.left.owner, self.right.owner)
        if self.left.by_itself != self.right.by_itself:
            one, other = (f"{side.owner} {'by itself' if side.by_itself else 'with overrides'}" for side in sides)
            return (one, other)
        return ("left", "right")

    @property
    def merged(self) -> Agreement:
        """The same with either side cut in two at its threshold.

        By default that is labels 4-5 and 0-3 against judgments above 0 and the rest (exam-plus-plus, table 4).
        """
        groups = [halves(rater.scale, rater.threshold) for rater in (self.left, self.right)]
        return _of(self.left, self.right, merge(self.table, *groups), self.left_only, self.right_only)

    def as_dict(self) -> dict[str, Any]:
        """The agreement as plain values, as `--json` prints it; `undefined` says why a value is None."""
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
    """Cross-tabulate two sides and say how well they agree (exam-plus-plus, table 4).

    Args:
        left: gives the rows.
        right: gives the columns.
        queries: ids of the only queries that count; all for None.

    Raises:
        InputError: there is no such grader, version, source or person, or the sides cannot be compared.
    """
    found = match(project, left, right)
    pairs = found.of(queries)
    left_only, right_only = (
        sum(count for query, count in counts.items() if queries is None or query in queries)
        for counts in (found.left_only, found.right_only)
    )
    table = cross_table(pairs["left"], pairs["right"], found.left.scale, found.right.scale)
    return _of(found.left, found.right, table, left_only, right_only)


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
    """A passage with what the two sides say of it, or of it and a question where one of them is a person.

    Texts that the project does not have are None; without a question, so are its id and text.
    """

    query_id: str
    query_text: str
    passage_id: str
    passage_text: str | None
    question_id: str | None
    question_text: str | None
    left: int
    right: int


@dataclass(frozen=True)
class Listing:
    """Some pairs out of `total`."""

    total: int
    pairs: list[Pair]


def cell_passages(
    project: Project,
    left: Side,
    right: Side,
    row_value: int | Collection[int],
    column_value: int | Collection[int],
    limit: int = 50,
    offset: int = 0,
    queries: Collection[str] | None = None,
) -> Listing:
    """The pairs behind one cell of the cross table, in the order of the left side (for labels: the pool's).

    Args:
        row_value, column_value: the cell's values; several for a cell of a merged table (`row_members`).
        queries: as for `agreement`.

    Raises:
        InputError: as for `agreement`.
    """
    pairs = match(project, left, right).of(queries)
    rows, columns = ([value] if isinstance(value, int) else list(value) for value in (row_value, column_value))
    return _listing(project, pairs[pairs["left"].isin(rows) & pairs["right"].isin(columns)], limit, offset)


def disagreements(
    project: Project,
    left: Side,
    right: Side,
    order: Order = "worst",
    limit: int = 50,
    offset: int = 0,
    queries: Collection[str] | None = None,
) -> Listing:
    """The pairs on which two sides disagree, the worst first.

    Two values agree where `matching` says so. Their distance is that of their shares of either scale's top (below
    0 counts as 0), so that label 0 beside the highest judgment is as bad as label 5 beside the lowest.

    Args:
        order: `worst`; or `left` or `right` for only those where this side is the higher one, worst first.
        queries: as for `agreement`.

    Raises:
        InputError: as for `agreement`.
    """
    found = match(project, left, right)
    pairs = found.of(queries)
    values = pairs["left"].to_numpy(), pairs["right"].to_numpy()
    agree = np.zeros(len(pairs), dtype=bool)
    for value, counterparts in matching(found.left.scale, found.right.scale).items():
        agree |= (values[0] == value) & np.isin(values[1], counterparts)
    shares = [
        np.maximum(side, 0) / max((*rater.scale, 1))
        for side, rater in zip(values, (found.left, found.right), strict=True)
    ]
    # Rounded, so that 1/5 beside 3/3 is exactly as far as 4/5 beside 0.
    surplus = np.round(shares[0] - shares[1], 9)
    distance = {"worst": np.abs(surplus), "left": surplus, "right": -surplus}[order]
    listed = np.flatnonzero(~agree & ((distance > 0) | (order == "worst")))
    worst_first = listed[np.argsort(-distance[listed], kind="stable")]
    return _listing(project, pairs.iloc[worst_first], limit, offset)


def _listing(project: Project, pairs: pd.DataFrame, limit: int, offset: int) -> Listing:
    shown = pairs.iloc[offset : offset + limit]
    queries = _texts(project, "queries", "query_id", shown)
    passages = _texts(project, "passages LEFT JOIN passage_texts USING (text_key)", "passage_id", shown)
    questions: dict[str, str | None] = {}
    if "question_id" in shown:
        source = "bank_at($version) JOIN questions USING (question_key) JOIN question_texts USING (text_key)"
        questions = _texts(project, source, "question_id", shown, version=latest_version(project))
    return Listing(
        len(pairs),
        [
            Pair(
                query_id=row["query_id"],
                query_text=queries[row["query_id"]] or row["query_id"],
                passage_id=row["passage_id"],
                passage_text=passages[row["passage_id"]],
                question_id=row.get("question_id"),
                question_text=questions.get(row.get("question_id", "")),
                left=int(row["left"]),
                right=int(row["right"]),
            )
            for row in shown.to_dict("records")
        ],
    )


def _texts(project: Project, source: str, column: str, shown: pd.DataFrame, **parameters: int) -> dict[str, str | None]:
    sql = f"SELECT {column}, text FROM {source} WHERE {column} IN (SELECT unnest($ids))"
    return dict(project.rows(sql, {"ids": shown[column].tolist(), **parameters}))


def table_csv(found: Agreement, merged: bool = False) -> str:
    """The cross table as CSV: a line for each value on the left, with its total and its kappa against the rest.

    Args:
        merged: take `Agreement.merged`.
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
    """Name, counts, total and kappa of each row."""
    table = found.table
    kappas = found.per_level.values()
    return list(zip(table.row_names, table.counts.tolist(), table.row_totals, kappas, strict=True))


def table_latex(found: Agreement, merged: bool = False) -> str:
    """The cross table as a LaTeX tabular that needs no package.

    A line for each value on the left with its total and its kappa against the rest; cells that count as agreement
    are boxed, and the highest count of each column is bold.

    Args:
        merged: take `Agreement.merged`.
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
