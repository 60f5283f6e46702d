"""EXAM-Cover as a measure of ir_measures, which also scores runs that the project does not have."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import ir_measures
import numpy as np
from numpy.typing import NDArray

from ..bank import questions
from ..errors import InputError
from ..measures import COVER, parse_measure, trec_order
from ..store import Project, cache
from ..text import first_few
from ..types import Question
from . import MISSING, Basis, Policy, Ratings, basis, coverage_of, grades_table, weights_of


class _MeanOfKnown(ir_measures.MeanAgg):
    """The mean over the queries that have a value."""

    def add(self, value: float) -> None:
        if not math.isnan(value):
            super().add(value)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class _Graded:
    """The ratings of a query with p passages and r questions.

    Args:
        rows: row by passage id.
        ratings: p x r ratings.
        ungraded: p x r flags of the pairs that were never graded.
        weights: r weights.
    """

    rows: dict[str, int]
    ratings: Ratings
    ungraded: NDArray[np.bool_]
    weights: NDArray[np.float64]


def coverage_measure(project: Project, name: str, settings: Mapping[str, Any]) -> Any:
    """Return EXAM-Cover as a measure of ir_measures for any run, from the questions and grades of a project.

    Its value is NaN for a query without questions or with ungraded pairs; means leave such queries out.

    Args:
        settings: fields of `Policy`. They are part of the measure's name.

    Raises:
        InputError: the name is not EXAM-Cover, or the settings are invalid.
    """
    policy = Policy(**settings)
    wanted = parse_measure(name, policy.cutoff)
    if wanted.basis != "coverage":
        raise InputError(
            "not-a-coverage-measure",
            f"{wanted} is not a measure of coverage.",
            "Use EXAM-Cover@20. For a measure of labels, use the labels of the project as qrels.",
        )
    usual = {
        field.name: ir_measures.measures.ParamInfo(default=field.default)  # type: ignore[no-untyped-call]
        for field in fields(Policy)
    }

    class _Coverage(ir_measures.Measure):
        __name__ = NAME = COVER
        SUPPORTED_PARAMS = usual
        DEFAULT = math.nan
        RUN_INPUTS = ("query_id", "doc_id", "score")
        QREL_INPUTS = ("query_id",)

        def runtime_impl(self, qrels: Any, run: Any) -> Iterator[ir_measures.Metric]:
            ranked = {
                query: dict(zip(part["doc_id"], part["score"], strict=True)) for query, part in run.groupby("query_id")
            }
            for query, value in _values(project, basis(project, Policy(**self.params)), qrels["query_id"], ranked):
                yield ir_measures.Metric(query, self, value)

        def aggregator(self) -> _MeanOfKnown:
            return _MeanOfKnown()  # type: ignore[no-untyped-call]

    return _Coverage(**{**settings, "cutoff": wanted.depth})  # type: ignore[no-untyped-call]


def _values(
    project: Project, base: Basis, judged: Iterable[str], ranked: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, float]]:
    """Yield the coverage of each query that has one; a warning names the queries with ungraded pairs."""
    graded = project.cached(("graded by query", base.key), lambda: _graded(project, base), cache.LABELS)
    waiting = []
    for query in dict.fromkeys([*judged, *ranked]):
        known = graded.get(query)
        if known is None or not (known.weights > 0).any():
            continue
        if query not in ranked:
            if base.policy.skipped == "zero":
                yield query, 0.0
            continue
        top = trec_order(ranked[query], base.policy.cutoff)
        rows = [known.rows[passage] for passage in top if passage in known.rows]
        if len(rows) < len(top) or known.ungraded[rows][:, known.weights != 0].any():
            waiting.append(query)
        else:
            yield query, coverage_of(known.ratings, known.weights, rows, base.min_rating) or 0.0
    if waiting:
        warnings.warn(
            f"Queries with ungraded pairs are left out ({len(waiting):,}): {first_few(waiting)}."
            " Add the run to the project, and grade it.",
            stacklevel=2,
        )


def _graded(project: Project, base: Basis) -> dict[str, _Graded]:
    asked = {question.question_id: question for question in questions(project, base.version)}
    found = {}
    for query, part in grades_table(project, base).groupby("query_id"):
        ratings, states = (
            part.pivot(index="doc_id", columns="question_id", values=name) for name in ("rating", "state")
        )
        found[str(query)] = _Graded(
            {passage: row for row, passage in enumerate(ratings.index)},
            ratings.to_numpy(np.int8, na_value=MISSING),
            (states == "ungraded").to_numpy(),
            # The question of a direct grader is the query itself.
            weights_of([asked.get(name) or Question(name, name, "") for name in ratings.columns], base.policy.weighted),
        )
    return found
