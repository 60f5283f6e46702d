"""The table of LLM-retEval: runs by depth with every measure and its error; a cell opens its queries."""

from typing import Any
from urllib.parse import urlencode

import streamlit as st

from exam_workbench.measures.answers import Scored
from exam_workbench.pipelines import (
    Evaluation,
    Line,
    Measured,
    RetEvalRow,
    clear_best,
    failures,
    query_values,
    reteval_latex,
    reteval_tsv,
    row_values,
)
from exam_workbench.project import Project
from pages.parts.answers import desk
from pages.parts.shared import address, components, html, ui

KEY = "answers-grid"
MEASURES: dict[Measured, str] = {
    "LLM-retEval": "The answer from the top k passages matches an answer from the gold passages",
    "GPT-Eval": "The answer is right according to the gold answers or an assessor",
    "Recall": "Share of the gold passages that are in the top k",
    "Precision": "Share of the top k passages that are gold",
    "F1": "Harmonic mean of Recall and Precision per query",
}
QUERIES = 400
"""Largest number of queries shown in an open cell."""

_component = components.component("table_of_answers", *components.ACTING, "answers/grid.css", "answers/grid.js")


def view(project: Project, evaluation: Evaluation) -> None:
    """Draw the table with its downloads, and its missing values."""
    _missing(evaluation)
    _table(project, evaluation)
    st.caption(
        "Means over queries ± one standard error. A bold score is the best of its depth in at least 95% of resamples.",
        help="A query that a run skipped counts as 0. Failed and waiting queries are left out.",
    )
    failed = failures(project, evaluation)
    st.markdown("**Failures**")
    st.dataframe(
        {
            "Run": [run for run, _ in failed],
            "k": [k for _, k in failed],
            "Recall failures (A–C)": [one.recall for one in failed.values()],
            "LLM-retEval failures (D–F)": [one.reteval for one in failed.values()],
            "Confirmed": [one.confirmed for one in failed.values()],
        },
        hide_index=True,
    )
    st.caption("Queries by confirmed case, else by proposed case. The Cases screen lists them.")
    with st.container(horizontal=True):
        name = f"{project.name}-reteval"
        st.download_button(
            "LaTeX", reteval_latex(evaluation, failed), f"{name}.tex", icon=":material/download:", on_click="ignore"
        )
        st.download_button("TSV", reteval_tsv(evaluation), f"{name}.tsv", icon=":material/download:", on_click="ignore")


def _missing(evaluation: Evaluation) -> None:
    rows = evaluation.rows
    waiting, failed = sum(row.waiting for row in rows), sum(row.failed for row in rows)
    compare = sum(row.reteval.waiting - row.waiting for row in rows)
    unread = sum(row.reteval.failed - row.failed for row in rows)
    said = [
        f"{what}: {number:,}"
        for number, what in (
            (waiting, "answers to generate"), (failed, "failed answers"),
            (compare, "comparisons to make"), (unread, "failed comparisons"),
        )
        if number > 0
    ]  # fmt: skip
    if said:
        st.caption(
            f":material/info: Incomplete ({', '.join(said)}). Missing values are left out, not counted as wrong."
        )


@st.fragment
def _table(project: Project, evaluation: Evaluation) -> None:
    asked = components.asked_of(KEY)
    for act in asked.each():
        if act["do"] == "query":
            st.switch_page("pages/cases.py", query_params=act["there"])
        address.say({"cell": str(act["cell"])})
    _component(key=KEY, data=shown(project, evaluation) | {"taken": asked.taken}, on_acts_change=asked.note)


def shown(project: Project, evaluation: Evaluation) -> dict[str, Any]:
    """Return the data for the browser: a block per depth with its runs by LLM-retEval, and the queries of the open
    cell.
    """
    best = clear_best(project, evaluation)
    told = [name for name in MEASURES if name != "GPT-Eval" or any(row.gpteval for row in evaluation.rows)]
    wanted = str(st.query_params.get("cell", ""))
    return {
        "measures": [{"name": name, "says": MEASURES[name]} for name in told],
        "blocks": [_block(evaluation, k, told, best) for k in evaluation.view.ks],
        "ideal": _ideal(evaluation.ideal),
        "open": wanted,
        "detail": _detail(project, evaluation, wanted),
    }


def _block(evaluation: Evaluation, k: int, told: list[str], best: dict[tuple[int, str], str]) -> dict[str, Any]:
    rows = [row for row in evaluation.rows if row.k == k]
    # A run with waiting queries is never at the top: the finished ones may be the easy ones.
    rows.sort(
        key=lambda row: (row.reteval.waiting > 0, -(-1.0 if row.reteval.mean is None else row.reteval.mean), row.run)
    )
    return {
        "k": k,
        "rows": [
            {
                "run": html.as_shown(row.run),
                "cells": [
                    {
                        "id": desk.id_of(name, row.run, k),
                        "mean": row_values(row)[name][0],
                        "error": row_values(row)[name][1],
                        "best": best.get((k, name)) == row.run,
                    }
                    for name in told
                ],
                "rests": _rests(row),
            }
            for row in rows
        ],
    }


def _rests(row: RetEvalRow) -> str:
    said = [(row.reteval.failed, "failed"), (row.reteval.waiting, "waiting"), (row.reteval.skipped, "skipped")]
    return ", ".join(f"{number:,} {what}" for number, what in said if number)


def _ideal(found: Scored | None) -> dict[str, Any] | None:
    if found is None or found.mean is None:
        return None
    error = "" if found.error is None else f" ± {found.error:.3f}"
    return {
        "mean": found.mean,
        "says": f"Ideal retriever: answers from gold passages only are right for {found.mean:.3f}{error} of the"
        f" {found.queries:,} queries with gold answers (GPT-Eval).",
    }


def _detail(project: Project, evaluation: Evaluation, cell: str) -> dict[str, Any] | None:
    place = desk.place_of(cell)
    if place is None or (place[1], place[2]) not in evaluation.lines or place[0] not in MEASURES:
        return None
    measure, run, k = place
    known = query_values(evaluation.lines[run, k], measure)
    lines = [(known.get(line.query_id), line) for line in evaluation.lines[run, k].values()]
    lines.sort(key=lambda one: -1.0 if one[0] is None else one[0])
    return {
        "cell": cell,
        "title": html.as_shown(f"{measure}@{k} of {run}"),
        "rows": [
            {
                "query": html.as_shown(evaluation.gold[line.query_id].query.text),
                "value": None if value is None else f"{value:.2f}".removesuffix(".00"),
                "why": _why(line, measure),
                "answer": html.as_shown(line.answer or ""),
                "draw": html.as_shown(next(iter(evaluation.gold[line.query_id].draws), "")),
                "there": (there := {"project": project.name, **desk.there(line.query_id, run, k)}),
                "href": "cases?" + urlencode(there),
            }
            for value, line in lines[:QUERIES]
        ],
        "more": max(0, len(lines) - QUERIES),
    }


def _why(line: Line, measure: str) -> str:
    if line.state == "skipped":
        return "The run has no passage for the query."
    if measure not in ("LLM-retEval", "GPT-Eval"):
        places = ", ".join(str(place + 1) for place in line.found.places)
        return f"Ranks of gold passages: {places}." if places else "No gold passage in the top k."
    verdict = line.reteval if measure == "LLM-retEval" else line.gpteval
    if verdict.state != "known":
        return ui.shortened(verdict.reason or "Waiting.", 120)
    return "Result from an assessor." if measure == "GPT-Eval" and line.by_person else ""
