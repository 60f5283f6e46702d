"""What is known of answers under the choices of a view: of each query, of each run at each depth, and the table."""

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
"""The measures of the table, as people read them."""
AnswerState = Literal["answered", "failed", "waiting", "skipped"]


@dataclass(frozen=True)
class View:
    """Under which choices answers are looked at.

    Args:
        runs: all for None.
        ks: depths.
        generator: name of who answered; the one that was added last for None.
        temperature: of the draws from the gold passages.
        judge: name of the judge.
        judge_model: name of the model that compared, for a judge that asks one; the one that was added last for None.
        threshold: of the judge; its usual one for None.
        gold: which passages are gold.
        same_text: whether a passage counts as gold whose text is nearly that of a gold passage (case B).
        people: whether a person's verdict on an answer stands before the judge's comparison with the gold answers.
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
    """What is known of a query beside any run.

    Args:
        query: the query.
        passages: its gold passages.
        draws: the answers from them, equal ones once.
        failed: draws of which nothing usable came.
        goldeval: whether one of the draws is right by the gold answers (s); None where nobody knows.
    """

    query: AskedQuery
    passages: tuple[Read, ...]
    draws: tuple[str, ...]
    failed: int
    goldeval: Verdict


@dataclass(frozen=True)
class Line:
    """What is known of one query, run and depth.

    Args:
        passages: the top, the best first; those without a text by their ids.
        state: whether the run's answer is there, failed, waits, or the run skipped the query.
        answer: its words; None where it is not there.
        note: what should be known of it, as that the passages were shortened; or why it failed.
        found: Recall, Precision and F1.
        reteval: whether the answer says what a draw from gold says (e).
        gpteval: whether it is right by the gold answers or by a person (t).
        by_person: whether a person says so.
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
        gpteval: GPT-Eval@k, over the queries that have gold answers; None where no query has any.
        conventional: Recall@k, Precision@k and F1@k.
        answers: how many answers there are; `failed` and `waiting` of them are not.
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
    """All that is known under a view.

    Args:
        view: the choices, with the runs by name.
        generator: who answered.
        judge_model: who compared, for a judge that asks a model; None where none was asked.
        gold: by query id, of the queries that count: those with gold passages.
        lines: what is known of each run, depth and query.
        rows: the table.
        ideal: goldEval, what a retriever would reach that returns the gold passages and nothing else; None where no
            query has gold answers.
        pairs: everything that the judge compares.
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
        """Whether no answer and no comparison failed or waits."""
        return all(row.reteval.complete and not row.failed and not row.waiting for row in self.rows)

    def verdicts_of(self, what: Said, k: int) -> dict[str, dict[str, float | None]]:
        """The scores of queries at a depth by run and query id; None where it failed, absent where it waits."""
        return {run: numbers(self.lines[run, k], what) for run in self.view.runs or ()}


def query_values(lines: Mapping[str, Line], measure: Measured) -> dict[str, float | None]:
    """The scores of queries by a measure, by query id: None where it failed, absent where it waits, 0 where skipped."""
    if measure in ("LLM-retEval", "GPT-Eval"):
        return numbers(lines, "reteval" if measure == "LLM-retEval" else "gpteval")
    return {query_id: float(getattr(line.found, measure.lower())) for query_id, line in lines.items()}


def numbers(lines: Mapping[str, Line], what: Said) -> dict[str, float | None]:
    """What is said of queries as numbers, by query id: None where it failed, absent where it waits, 0 where skipped."""
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
