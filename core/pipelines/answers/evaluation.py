"""Results of evaluating answers under the choices of a view: by query, by run and depth, and the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...measures.answers import Conventional, Retrieved, Scored
from ...project import AnswerModel
from .comparing import Pair, Verdict
from .contexts import USUAL_GOLD, AskedQuery, Gold, Read
from .generating import KS, TEMPERATURE

Said = Literal["recall", "reteval", "gpteval"]
Measured = Literal["LLM-retEval", "GPT-Eval", "Recall", "Precision", "F1"]
"""The measures of the table, with their names for people."""
AnswerState = Literal["answered", "failed", "waiting", "skipped"]


@dataclass(frozen=True)
class View:
    """The choices under which answers are evaluated.

    Args:
        runs: None for all.
        ks: depths.
        generator: name of the generator; None for the last added one.
        temperature: of the draws from the gold passages.
        judge: name of the answer check.
        judge_model: name of the model for an answer check with a model; None for the last added one.
        threshold: of the answer check; None for its default.
        gold: the choice of gold passages.
        same_text: whether a passage with nearly the text of a gold passage counts as gold (case B).
        people: whether a person's verdict on an answer takes precedence over the comparison with the gold answers.
    """

    runs: tuple[str, ...] | None = None
    ks: tuple[int, ...] = KS
    generator: str | None = None
    temperature: float = TEMPERATURE
    judge: str = "llm"
    judge_model: str | None = None
    threshold: float | None = None
    gold: Gold = USUAL_GOLD
    same_text: bool = False
    people: bool = True


@dataclass(frozen=True)
class GoldSide:
    """The data of a query that does not depend on a run.

    Args:
        query: the query.
        passages: its gold passages.
        draws: the distinct answers from them.
        failed: draws without a usable answer.
        goldeval: whether a draw is right by the gold answers (s); its `yes` is None if unknown.
    """

    query: AskedQuery
    passages: tuple[Read, ...]
    draws: tuple[str, ...]
    failed: int
    goldeval: Verdict


@dataclass(frozen=True)
class Line:
    """The data of one query, run and depth.

    Args:
        passages: the top, the best first; those without a text by their ids.
        state: whether the run's answer exists, failed or waits, or the run skipped the query.
        answer: its words; None without an answer.
        note: a remark on it, such as that the passages were shortened; or why it failed.
        found: Recall, Precision and F1.
        reteval: whether the answer agrees with a draw from gold (e).
        gpteval: whether it is right by the gold answers or by a person (t).
        by_person: whether a person gave this verdict.
    """

    query_id: str
    run: str
    k: int
    passages: tuple[Read | str, ...]
    state: AnswerState
    answer: str | None
    note: str | None
    found: Retrieved
    reteval: Verdict
    gpteval: Verdict
    by_person: bool = False


Lines = Mapping[tuple[str, int], Mapping[str, Line]]
"""By run and depth, and by query id."""


@dataclass(frozen=True)
class Row:
    """One run at one depth.

    Args:
        reteval: LLM-retEval@k.
        gpteval: GPT-Eval@k, over the queries that have gold answers; None if no query has any.
        conventional: Recall@k, Precision@k and F1@k.
        answers: number of answers, in addition to the `failed` and `waiting` ones.
    """

    run: str
    k: int
    reteval: Scored
    gpteval: Scored | None
    conventional: Conventional
    answers: int
    failed: int
    waiting: int


@dataclass(frozen=True)
class Evaluation:
    """All results under a view.

    Args:
        view: the choices, with the runs by name.
        generator: the generator.
        judge_model: the model of the answer check; None without a model.
        gold: by query id, of the queries that count: those with gold passages.
        lines: results of each run, depth and query.
        rows: the table.
        ideal: goldEval, the score of a retriever that returns exactly the gold passages; None if no query has gold
            answers.
        pairs: all comparisons of the answer check.
    """

    view: View
    generator: AnswerModel
    judge_model: AnswerModel | None
    gold: Mapping[str, GoldSide]
    lines: Lines
    rows: list[Row]
    ideal: Scored | None
    pairs: list[Pair] = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether every answer and comparison is known: none failed or waits."""
        return all(row.reteval.complete and not row.failed and not row.waiting for row in self.rows)

    def verdicts_of(self, what: Said, k: int) -> dict[str, dict[str, float | None]]:
        """Return the scores of queries at a depth by run and query id; None if failed, absent if waiting."""
        return {run: numbers(self.lines[run, k], what) for run in self.view.runs or ()}


def query_values(lines: Mapping[str, Line], measure: Measured) -> dict[str, float | None]:
    """Return the scores of queries by a measure, by query id: None if failed, absent if waiting, 0 if skipped."""
    if measure in ("LLM-retEval", "GPT-Eval"):
        return numbers(lines, "reteval" if measure == "LLM-retEval" else "gpteval")
    return {query_id: float(getattr(line.found, measure.lower())) for query_id, line in lines.items()}


def numbers(lines: Mapping[str, Line], what: Said) -> dict[str, float | None]:
    """Return verdicts on queries as numbers, by query id: None if failed, absent if waiting, 0 if skipped."""
    found: dict[str, float | None] = {}
    for query_id, line in lines.items():
        if what == "recall":
            found[query_id] = float(line.found.any)
            continue
        verdict: Verdict = getattr(line, what)
        if line.state == "skipped":
            found[query_id] = 0.0
        elif verdict.state != "waiting":
            found[query_id] = None if verdict.yes is None else float(verdict.yes)
    return found
