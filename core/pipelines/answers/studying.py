"""How far LLM-retEval and Recall say the same, which run each chooses, and how far judges agree with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import InputError, unknown_name
from ...measures import Table
from ...measures.answers import (
    RECALL_FAILURES,
    Against,
    Point,
    QueryCorrelation,
    Tested,
    against_people,
    correlate_queries,
    halves_test,
    threshold_curve,
)
from ...project import AnswerModel, Project, answer_models, answer_texts, answer_verdicts, confirmed_cases
from ...text import how_many
from ..answer_judges import JUDGES, AnswerJudge
from .casework import cases
from .comparing import Pair, pair, verdicts
from .contexts import asked_queries
from .evaluation import Evaluation, Measured, numbers, query_values

Refined = Literal["confirmed", "proposed"]


@dataclass(frozen=True)
class Correlation:
    """Spearman between Recall and LLM-retEval over the queries of a run at a depth.

    Args:
        every: over all queries with gold passages ("ALL").
        refined: without those where Recall is wrong: cases A, B, C.
        by: whether these were confirmed by people, or only proposed.
    """

    run: str
    k: int
    every: QueryCorrelation
    refined: QueryCorrelation
    by: Refined


def correlations(project: Project, evaluation: Evaluation, by: Refined = "confirmed") -> list[Correlation]:
    """Spearman between what Recall and LLM-retEval say of each query, by run and depth (llm-reteval, table 2).

    Args:
        by: whether the refined set leaves out confirmed cases A, B and C, or proposed ones as well.
    """
    found = []
    if by == "proposed":
        told = [(row.line.query_id, row.line.run, row.line.k, row.case) for row in cases(project, evaluation)]
    else:
        told = [(one.query_id, one.run, one.k, one.case) for one in confirmed_cases(project, evaluation.generator.key)]
    # Of several people's cases the last one counts.
    counts = {(query_id, run, k): case for query_id, run, k, case in told}
    for (run, k), lines in evaluation.lines.items():
        removed = [
            query_id for (query_id, *place), case in counts.items() if place == [run, k] and case in RECALL_FAILURES
        ]
        recall, reteval = numbers(lines, "recall"), numbers(lines, "reteval")
        found.append(
            Correlation(run, k, correlate_queries(recall, reteval), correlate_queries(recall, reteval, removed), by)
        )
    return found


def choice_tables(evaluation: Evaluation, k: int) -> dict[str, Table]:
    """The scores of queries at a depth by every measure that is known of it, to choose runs by.

    Returns:
        Tables by the name of the measure, such as Recall@5 and LLM-retEval@5; GPT-Eval over the queries with gold
        answers alone. A run of which answers or comparisons wait is not in the table of a measure that needs them: what
        is known of it is of some queries, which may be the easy ones. See `waiting_runs`.

    Raises:
        InputError: the depth is not looked at.
    """
    if k not in evaluation.view.ks:
        raise unknown_name("unknown-depth", "depth", k, evaluation.view.ks)
    every = list(evaluation.gold)
    with_answers = [query_id for query_id in every if evaluation.gold[query_id].query.answers]
    told: dict[Measured, list[str]] = {
        "Recall": every, "Precision": every, "F1": every, "LLM-retEval": every, "GPT-Eval": with_answers,
    }  # fmt: skip
    tables = {f"{measure}@{k}": _table(evaluation, k, measure, queries) for measure, queries in told.items() if queries}
    return {name: table for name, table in tables.items() if table}


def _table(evaluation: Evaluation, k: int, measure: Measured, queries: Sequence[str]) -> Table:
    """Scores by run and query; None where one failed, which is not the 0 of a query that a run skipped."""
    found: dict[str, dict[str, float | None]] = {}
    for run in evaluation.view.runs or ():
        lines = evaluation.lines[run, k]
        values = query_values(lines, measure)
        if all(query_id in values for query_id in queries):
            found[run] = {query_id: values[query_id] for query_id in queries}
    return found


def waiting_runs(evaluation: Evaluation, k: int) -> dict[str, int]:
    """Of how many queries the answer or its comparison waits at a depth, by run; whole runs are not there."""
    told = {
        run: len(lines) - len(numbers(lines, "reteval")) for (run, at), lines in evaluation.lines.items() if at == k
    }
    return {run: count for run, count in told.items() if count}


@dataclass(frozen=True)
class PeopleSaid:
    """What people say of one answer to a question that has right answers.

    Args:
        query_id: of the question.
        acceptable: whether most of them hold it for right.
    """

    query_id: str
    pair: Pair
    acceptable: bool


def verdict_sources(project: Project) -> list[tuple[str, int]]:
    """Who says of answers whether they are right: each source with the number of its verdicts."""
    found: dict[str, int] = {}
    for said in answer_verdicts(project).values():
        for source in said:
            found[source] = found.get(source, 0) + 1
    return list(found.items())


def people_said(project: Project, source: str | None = None) -> list[PeopleSaid]:
    """The answers of which people say whether they are right, of queries with gold answers.

    Args:
        source: only this one; for None all, where most of them count and those with as many for as against do not.

    Raises:
        InputError: there are none; says whether verdicts are missing, or gold answers, or that people are divided.
    """
    texts, known = answer_texts(project), answer_verdicts(project, source)
    asked = {query.key: query for query in asked_queries(project) if query.answers}
    found = []
    for (key, answer), said in known.items():
        yes = sum(said.values())
        if key in asked and 2 * yes != len(said):
            query = asked[key]
            found.append(
                PeopleSaid(query.query_id, pair(query.text, texts[answer], query.answers), 2 * yes > len(said))
            )
    if found:
        return found
    verdicts = how_many(sum(map(len, known.values())), "human answer checks")
    if not known:
        raise InputError(
            "no-human-verdicts",
            "No human answer checks yet.",
            "Import them: exam import answer-verdicts FILE.",
        )
    if not any(key in asked for key, _ in known):
        raise InputError(
            "no-verdicts-with-gold",
            f"{verdicts}, but none for a query with gold answers.",
            "Import queries as JSONL with query_id, text and answers: exam import queries FILE.",
        )
    raise InputError(
        "undecided-verdicts",
        f"{verdicts}, but right and wrong are equally frequent for every answer.",
        "Choose one assessor, or import more checks: exam import answer-verdicts FILE.",
    )


def said_in_file(project: Project, said: Sequence[tuple[str, str, bool]]) -> list[PeopleSaid]:
    """The same from verdicts that the project does not hold.

    Args:
        said: query id, answer, and whether it is acceptable.

    Raises:
        InputError: none is of a query with gold answers.
    """
    asked = {query.query_id: query for query in asked_queries(project) if query.answers}
    found = [
        PeopleSaid(query_id, pair(asked[query_id].text, answer, asked[query_id].answers), acceptable)
        for query_id, answer, acceptable in said
        if query_id in asked
    ]
    if not found:
        raise InputError(
            "no-verdicts-with-gold",
            "No human answer check is for a query with gold answers.",
            "Import the queries with their gold answers.",
        )
    return found


@dataclass(frozen=True)
class AgreementRow:
    """How far one judge agrees with people.

    Args:
        judge: its row of the table of judges.
        model: who was asked; None for one that computes.
        against: at its threshold.
        threshold: that one.
        waiting: answers that it was not asked about yet; they are left out.
        curve: at other thresholds; empty where its scores are yes and no alone.
        tested: at the best threshold of one half of the questions, on the other half; None likewise, or with too few.
    """

    judge: AnswerJudge
    model: str | None
    against: Against
    threshold: float
    waiting: int
    curve: list[Point]
    tested: Tested | None


def agreement(
    project: Project,
    said: Sequence[PeopleSaid],
    judges: Sequence[str] | None = None,
    thresholds: Mapping[str, float] | None = None,
    samples: int = 1000,
) -> list[AgreementRow]:
    """How far judges agree with people on the same answers; intervals resample questions.

    Args:
        said: see `people_said`.
        judges: their names; for None all, those that ask a model only where one was asked.
        thresholds: by judge, in the place of the usual one.
        samples: of the bootstrap.

    Raises:
        InputError: there is no such judge.
        GradingError: the encoder cannot be loaded.
    """
    if strange := [name for name in judges or () if name not in JUDGES]:
        raise unknown_name("unknown-answer-judge", "answer check", strange[0], JUDGES)
    found = []
    models = answer_models(project, "judge")
    for name, judge in JUDGES.items():
        if judges is not None and name not in judges:
            continue
        asked: list[AnswerModel | None] = [None]
        if judge.needs == "model":
            asked = [one for one in models if one.parameters.get("judge") == name]
        threshold = (thresholds or {}).get(name, judge.threshold)
        found += [_agreement(project, said, judge, model, threshold, samples) for model in asked]
    return found


def _agreement(
    project: Project,
    said: Sequence[PeopleSaid],
    judge: AnswerJudge,
    model: AnswerModel | None,
    threshold: float,
    samples: int,
) -> AgreementRow:
    told = verdicts(project, judge.name, [one.pair for one in said], model, threshold)
    known = [one for one in said if told[one.pair].state != "waiting"]
    people = [one.acceptable for one in known]
    questions = [one.query_id for one in known]
    scores = [told[one.pair].score for one in known]
    yes = [None if (verdict := told[one.pair].yes) is None else int(verdict) for one in known]
    return AgreementRow(
        judge,
        None if model is None else model.name,
        against_people(yes, people, questions, samples=samples),
        threshold,
        len(said) - len(known),
        threshold_curve(scores, people) if judge.graded and known else [],
        halves_test(scores, people, threshold, questions, samples=samples) if judge.graded and known else None,
    )
