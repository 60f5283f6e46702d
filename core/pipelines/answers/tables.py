"""The table of LLM-retEval for a paper, and as plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...measures.answers import Scored
from ...tables import LATEX
from .casework import Failures
from .evaluation import Evaluation, Row

HEADER = ("run", "k", "Recall", "Precision", "F1", "LLM-retEval", "GPT-Eval")


def row_values(row: Row) -> dict[str, tuple[float | None, float | None]]:
    """Return mean and standard error of each measure of a row, by the name of its column."""
    told = row.conventional
    return {
        "Recall": told.recall,
        "Precision": told.precision,
        "F1": told.f1,
        "LLM-retEval": (row.reteval.mean, row.reteval.error),
        "GPT-Eval": (None, None) if row.gpteval is None else (row.gpteval.mean, row.gpteval.error),
    }


def told(evaluation: Evaluation, failed: Mapping[tuple[str, int], Failures]) -> dict[str, Any]:
    """Return the table as plain values, for JSON: choices, rows with counts of answers, and the ideal retriever.

    Args:
        failed: see `failures`.
    """
    return {
        "generator": evaluation.generator.name,
        "judge": evaluation.view.judge,
        "judge_model": None if evaluation.judge_model is None else evaluation.judge_model.name,
        "queries": len(evaluation.gold),
        "complete": evaluation.complete,
        "ideal": _scored(evaluation.ideal),
        "rows": [
            {"run": row.run, "k": row.k}
            | {name: {"mean": mean, "std_error": error} for name, (mean, error) in row_values(row).items()}
            | {
                "f1_of_means": row.conventional.f1_of_means,
                "reteval": _scored(row.reteval),
                "gpteval": _scored(row.gpteval),
                "failures": vars(failed[row.run, row.k]),
                "answers": {"written": row.answers, "failed": row.failed, "waiting": row.waiting},
            }
            for row in evaluation.rows
        ],
    }


def _scored(one: Scored | None) -> dict[str, Any] | None:
    return None if one is None else vars(one) | {"complete": one.complete}


def reteval_latex(evaluation: Evaluation, failed: Mapping[tuple[str, int], Failures], digits: int = 3) -> str:
    """Return the table as a LaTeX tabular like table 1 of llm-reteval, the best of each column and depth in bold.

    Args:
        failed: see `failures`.
        digits: after the point.
    """
    head = [*HEADER, "Recall failures", "LLM-retEval failures"]
    lines = ["\\begin{tabular}{lrrrrrrrr}", "\\hline", " & ".join(map(_latex, head)) + " \\\\", "\\hline"]
    names = HEADER[2:]
    for k in evaluation.view.ks:
        rows = [row for row in evaluation.rows if row.k == k]
        best = {
            name: max((mean for row in rows if (mean := row_values(row)[name][0]) is not None), default=None)
            for name in names
        }
        for row in rows:
            values = row_values(row)
            cells = [_cell(*values[name], best[name], digits) for name in names]
            counts = failed[row.run, row.k]
            cells += [str(counts.recall), str(counts.reteval)]
            lines.append(" & ".join([_latex(row.run), str(row.k), *cells]) + " \\\\")
        lines.append("\\hline")
    lines.append("\\end{tabular}")
    judge = evaluation.view.judge if evaluation.judge_model is None else evaluation.judge_model.name
    lines.append(
        f"% {len(evaluation.gold)} queries; answers by {_latex(evaluation.generator.name)}; answer check {judge}"
    )
    if not evaluation.complete:
        lines.append("% incomplete: missing or failed answers and comparisons are left out")
    return "\n".join(lines) + "\n"


def reteval_tsv(evaluation: Evaluation) -> str:
    """Return the table as TSV: means with their standard errors, and numbers of queries and answers."""
    names = HEADER[2:]
    head = ["run", "k", *(part for name in names for part in (name, f"{name} std error"))]
    lines = ["\t".join([*head, "queries", "answers", "failed", "waiting"])]
    for row in evaluation.rows:
        values = [number for name in names for number in row_values(row)[name]]
        numbers = ["" if number is None else f"{number:.6f}" for number in values]
        rests = map(str, (row.reteval.queries, row.answers, row.reteval.failed, row.reteval.waiting))
        lines.append("\t".join([" ".join(row.run.split()), str(row.k), *numbers, *rests]))
    return "\n".join(lines) + "\n"


def _cell(mean: float | None, error: float | None, best: float | None, digits: int) -> str:
    if mean is None:
        return "--"
    text = f"{mean:.{digits}f}"
    text = f"\\textbf{{{text}}}" if mean == best else text
    return text if error is None else f"{text} $\\pm$ {error:.{digits}f}"


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in " ".join(text.split()))
