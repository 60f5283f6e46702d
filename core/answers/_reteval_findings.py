"""Findings of LLM-retEval: cases for people to confirm, correlations, agreement with people, and
tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from ..choices import ANSWER_CASES, UNANNOTATED_JUDGMENT, AnswerCase
from ..errors import InputError, check_known, unknown_name
from ..grouping import group_pairs
from ..measures import ConfirmationEffect, NewScore, Table, compare_evaluations, rank_stakes
from ..measures.answers import (
    RECALL_FAILURES,
    RETEVAL_FAILURES,
    CheckAgreement,
    Proposal,
    QueryCorrelation,
    ScoredMean,
    TestedThreshold,
    Texts,
    ThresholdAgreement,
    Verdicts,
    against_people,
    corrected_verdicts,
    correlate_queries,
    halves_test,
    propose_case,
    threshold_curve,
)
from ..records import (
    AnswerModel,
    CasePlace,
    ConfirmedCase,
    answer_models,
    answer_texts,
    answer_verdicts,
    confirmed_cases,
    judging,
    record_case,
    recorded_jobs,
    run_names,
    withdraw_case,
)
from ..store import Project, as_name, cached
from ..tables import escape_latex
from ..text import how_many
from ._answer_checks import JUDGES, AnswerJudge, Pair, check_results, make_pair
from ._answer_contexts import (
    ContextPassage,
    asked_queries,
    gold_sources,
    named_runs,
    passage_id_of,
    passage_texts,
    ranking_runs,
)
from ._answer_generation import KS
from ._reteval import (
    EvaluatedAnswer,
    Evaluation,
    GoldSide,
    Measured,
    PassageSimilarity,
    RetEvalRow,
    query_values,
    verdict_numbers,
)


@dataclass(frozen=True)
class CaseRow:
    """A query on which Recall and LLM-retEval, or the checks of the answer, disagree.

    Args:
        line: the query, run and depth, with the answer and its checks.
        side: the gold passages and the answers from them.
        verdicts: the four verdicts behind the proposal.
        proposal: the case that they suggest, with reasons.
        confirmed: the cases that people confirmed.
        stake: the effect of confirming the proposal on the choice of a run; None with a single run
            or without a case.
    """

    line: EvaluatedAnswer
    side: GoldSide
    verdicts: Verdicts
    proposal: Proposal
    confirmed: tuple[ConfirmedCase, ...] = ()
    stake: ConfirmationEffect | None = None

    @property
    def case(self) -> str | None:
        """The case that counts: the last confirmed one, else the proposed one."""
        return self.confirmed[-1].case if self.confirmed else self.proposal.case


@cached()
def list_cases(
    project: Project,
    evaluation: Evaluation,
    run: str | None = None,
    k: int | None = None,
    only: str | None = None,
    to_do: bool = False,
) -> list[CaseRow]:
    """Return the cases of a view, first those whose confirmation would affect the choice of a run
    most; cached until their data changes.

    Args:
        run, k: only of this run, or at this depth; None for all.
        only: only those whose confirmed, else proposed, case has this letter.
        to_do: only unconfirmed cases.

    Raises:
        InputError: the run, the depth or the letter is unknown.
    """
    check_known("unknown-kind", "case", ANSWER_CASES, only)
    rows = _case_rows(project, evaluation, _matching_places(evaluation, run, k))
    rows = [
        row for row in rows if (only is None or row.case == only) and not (to_do and row.confirmed)
    ]
    return _order_by_stake(evaluation, rows)


@dataclass(frozen=True)
class Failures:
    """Failures of either measure for a run at a depth (llm-reteval, table 1); confirmed cases take
    precedence over proposed.

    Args:
        recall: queries with a case A, B or C.
        reteval: queries with a case D, E or F.
        confirmed: how many of both a person confirmed; the others are proposed.
    """

    recall: int = 0
    reteval: int = 0
    confirmed: int = 0


@cached()
def count_failures(project: Project, evaluation: Evaluation) -> dict[tuple[str, int], Failures]:
    """Return the numbers of failures by run and depth, cached until their data changes.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    by_place = dict.fromkeys(evaluation.lines, Failures())
    for row in _case_rows(project, evaluation, list(evaluation.lines)):
        recall, reteval = row.case in RECALL_FAILURES, row.case in RETEVAL_FAILURES
        place = row.line.run, row.line.k
        before, seen = by_place[place], bool(row.confirmed) and (recall or reteval)
        by_place[place] = Failures(
            before.recall + recall, before.reteval + reteval, before.confirmed + seen
        )
    return by_place


def _case_rows(
    project: Project, evaluation: Evaluation, places: Sequence[tuple[str, int]]
) -> list[CaseRow]:
    """Return the cases of some runs and depths, in no particular order."""
    confirmed = confirmed_cases(project, evaluation.generator.key)
    confirmed_places = {(one.query_id, one.run, one.k) for one in confirmed}
    parting = [
        line
        for place in places
        for line in evaluation.lines[place].values()
        if line.answer is not None
        and (
            verdicts_of(line, evaluation.gold[line.query_id]).part
            or (line.query_id, line.run, line.k) in confirmed_places
        )
    ]
    return _make_case_rows(project, evaluation, parting, confirmed)


def _make_case_rows(
    project: Project,
    evaluation: Evaluation,
    lines: Sequence[EvaluatedAnswer],
    confirmed: Sequence[ConfirmedCase],
) -> list[CaseRow]:
    """Return lines with their verdicts, proposals and confirmations."""
    cases_of_place = group_pairs(((case.query_id, case.run, case.k), case) for case in confirmed)
    verdicts = [verdicts_of(line, evaluation.gold[line.query_id]) for line in lines]
    near = [line for line, own in zip(lines, verdicts, strict=True) if _may_be_near(line, own)]
    # All passages are read and encoded in one go.
    alike = PassageSimilarity(
        project,
        {
            passage
            for line in near
            for passage in (*_with_texts(line), *evaluation.gold[line.query_id].passages)
        },
    )
    texts = passage_texts(
        project, {passage.text_key for line in lines for passage in _with_texts(line)}
    )
    rows = []
    for line, own in zip(lines, verdicts, strict=True):
        side = evaluation.gold[line.query_id]
        behind = Texts(
            line.answer or "",
            [
                texts.get(passage.text_key, "") if isinstance(passage, ContextPassage) else ""
                for passage in line.passages
            ],
            side.draws,
            side.query.answers,
            alike.compare(_with_texts(line), side.passages) if _may_be_near(line, own) else None,
        )
        confirmations = tuple(cases_of_place.get((line.query_id, line.run, line.k), ()))
        rows.append(CaseRow(line, side, own, propose_case(own, behind), confirmations))
    return rows


def _with_texts(line: EvaluatedAnswer) -> list[ContextPassage]:
    return [passage for passage in line.passages if isinstance(passage, ContextPassage)]


def _may_be_near(line: EvaluatedAnswer, verdicts: Verdicts) -> bool:
    # A passage without a text has no similarity. So all passages need texts, to keep similarities
    # and ranks aligned.
    whole = len(_with_texts(line)) == len(line.passages) > 0
    return bool(verdicts.reteval and not verdicts.recall and whole)


def verdicts_of(line: EvaluatedAnswer, side: GoldSide) -> Verdicts:
    """Return the four verdicts r, e, t and s of a query, run and depth."""
    return Verdicts(line.found.has_gold, line.reteval.yes, line.gpteval.yes, side.goldeval.yes)


def _matching_places(
    evaluation: Evaluation, run: str | None, k: int | None
) -> list[tuple[str, int]]:
    places = [
        (name, depth)
        for name, depth in evaluation.lines
        if run in (None, name) and k in (None, depth)
    ]
    if not places:
        raise unknown_name(
            "unknown-run",
            "run or depth",
            f"{run or 'any run'}@{k or 'any depth'}",
            map("{0[0]}@{0[1]}".format, evaluation.lines),
        )
    return places


def _order_by_stake(evaluation: Evaluation, rows: Sequence[CaseRow]) -> list[CaseRow]:
    """Return the cases, those with the highest stake first. Confirmed cases and those without a
    proposal follow.
    """
    open_ = [row for row in rows if row.proposal.case is not None and not row.confirmed]
    rest = [row for row in rows if row.proposal.case is None or row.confirmed]
    if len(evaluation.view.runs or ()) < 2 or not open_:
        return [*open_, *rest]
    tables = {}
    for k in evaluation.view.ks:
        tables[f"Recall@{k}"] = evaluation.verdicts_of("recall", k)
        tables[f"LLM-retEval@{k}"] = evaluation.verdicts_of("reteval", k)
    weighed = rank_stakes(tables, [_corrected_scores(evaluation, row) for row in open_])
    return [*(replace(open_[stake.at], stake=stake) for stake in weighed), *rest]


def _corrected_scores(evaluation: Evaluation, row: CaseRow) -> list[NewScore]:
    """Return the scores that a confirmation would correct. A case A raises every run with the
    passage.
    """
    case, line = row.proposal.case, row.line
    recall, reteval = corrected_verdicts(case, row.verdicts)
    corrections = []
    if reteval is not None and reteval != row.verdicts.reteval:
        corrections.append(
            NewScore(f"LLM-retEval@{line.k}", line.run, line.query_id, float(reteval))
        )
    if recall is not None and recall != row.verdicts.recall:
        runs = {line.run}
        if case == "A" and row.proposal.passage is not None:
            passage = passage_id_of(line.passages[row.proposal.passage])
            runs |= {
                run
                for (run, k), lines in evaluation.lines.items()
                if k == line.k and passage in map(passage_id_of, lines[line.query_id].passages)
            }
        corrections += [
            NewScore(f"Recall@{line.k}", run, line.query_id, float(recall)) for run in sorted(runs)
        ]
    return corrections


def case_at(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int) -> CaseRow:
    """Return one query of one run at one depth with its verdicts and proposal.

    Raises:
        InputError: the query, run or depth is not in the view.
    """
    _matching_places(evaluation, run, k)
    line = evaluation.lines[run, k].get(query_id)
    if line is None:
        raise InputError(
            "query-without-gold",
            f"Query {query_id} does not exist or has no gold passages.",
            "Choose a query from the table.",
        )
    return _make_case_rows(
        project, evaluation, [line], confirmed_cases(project, evaluation.generator.key)
    )[0]


def check_case(case: str) -> AnswerCase:
    """Return the letter of a case.

    Raises:
        InputError: it is unknown.
    """
    check_known("unknown-kind", "case", ANSWER_CASES, case)
    return next(letter for letter in ANSWER_CASES if letter == case)


def confirm_case(
    project: Project,
    evaluation: Evaluation,
    query_id: str,
    run: str,
    k: int,
    case: str,
    author: str,
    note: str = "",
) -> int:
    """Confirm a case, the proposed one or another; an earlier confirmation by the same person is
    withdrawn.

    Returns:
        Its key.

    Raises:
        InputError: the case is unknown, or the query, run or depth is not in the view.
    """
    letter = check_case(case)
    row = case_at(project, evaluation, query_id, run, k)
    return record_case(
        project,
        place_of_case(evaluation, query_id, run, k),
        letter,
        row.proposal.case or "",
        note,
        author,
    )


def unseen_by(row: CaseRow, author: str, seen_keys: Collection[int]) -> list[ConfirmedCase]:
    """Return other people's confirmations of a case that the author had not seen when confirming
    it.

    Args:
        seen_keys: keys of the confirmations that the author saw.
    """
    return [
        one for one in row.confirmed if one.author != as_name(author) and one.key not in seen_keys
    ]


def take_back_case(
    project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str
) -> None:
    """Withdraw the author's confirmation of a case.

    Raises:
        InputError: this person has not confirmed a case there.
    """
    withdraw_case(project, place_of_case(evaluation, query_id, run, k), author)


def place_of_case(evaluation: Evaluation, query_id: str, run: str, k: int) -> CasePlace:
    """Return the key under which a case is stored."""
    return CasePlace(query_id, run, k, evaluation.generator.key, evaluation.generator.name)


def judge_as_relevant(
    project: Project, row: CaseRow, passage_id: str, author: str, value: int = UNANNOTATED_JUDGMENT
) -> None:
    """Judge a retrieved passage as relevant: it answers the query but was not annotated (case A).

    This is an ordinary judgment: its source is the person, and it can be withdrawn
    (`judging.withdraw_judgment`).

    Raises:
        InputError: the passage is not among the top k, or the value is out of range.
    """
    check_known("passage-not-read", "passage", map(passage_id_of, row.line.passages), passage_id)
    note = f"case A of {row.line.run} at {row.line.k}"
    judging.judge_passage(project, row.line.query_id, passage_id, value, author, note)


MarkedPart = tuple[str, bool]
"""A piece of a text, and whether it has the words of the answer."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage as it is shown next to an answer.

    Args:
        rank: its place in the run, from 1; 0 for a gold passage.
        parts: its text in pieces, with those that have the answer's words marked; empty without a
            text.
        gold: whether it is a gold passage.
        judged: the reader's judgment; None if it is missing.
    """

    passage_id: str
    rank: int
    parts: tuple[MarkedPart, ...]
    gold: bool
    judged: int | None


@dataclass(frozen=True)
class CaseDesk:
    """Everything that a person needs to decide one case.

    Args:
        row: verdicts, proposal and confirmations.
        retrieved: the top k with the words of the run's answer marked.
        gold: the gold passages with the words of the answers from them marked.
    """

    row: CaseRow
    retrieved: list[ShownPassage]
    gold: list[ShownPassage]


def case_desk(
    project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str
) -> CaseDesk:
    """Return one query of one run at one depth, with all its texts, whether it is a case or not.

    Args:
        author: whose judgments are shown.

    Raises:
        InputError: the query, run or depth is not in the view.
    """
    row = case_at(project, evaluation, query_id, run, k)
    line, side = row.line, row.side
    ids = {passage.passage_id for passage in side.passages}
    keys = {
        passage.text_key
        for passage in (*line.passages, *side.passages)
        if isinstance(passage, ContextPassage)
    }
    texts = passage_texts(project, keys)

    def show_passage(
        passage: ContextPassage | str, rank: int, answers: Sequence[str]
    ) -> ShownPassage:
        name = passage_id_of(passage)
        parts = (
            mark_answers(texts[passage.text_key], answers)
            if isinstance(passage, ContextPassage)
            else ()
        )
        judged = judging.own_judgment(project, query_id, name, author) if author.strip() else None
        return ShownPassage(name, rank, parts, name in ids, judged)

    answers = [line.answer] if line.answer else []
    return CaseDesk(
        row,
        [show_passage(passage, rank, answers) for rank, passage in enumerate(line.passages, 1)],
        [show_passage(passage, 0, side.draws) for passage in side.passages],
    )


def mark_answers(text: str, answers: Sequence[str]) -> tuple[MarkedPart, ...]:
    """Split a text into pieces and mark those that match an answer's words, ignoring case and
    punctuation.
    """
    patterns = [
        r"\W+".join(map(re.escape, words))
        for answer in answers
        if (words := re.findall(r"\w+", answer))
    ]
    if not patterns:
        return ((text, False),) if text else ()
    parts: list[MarkedPart] = []
    at = 0
    for hit in re.finditer(
        rf"(?<!\w)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\w)", text, re.I
    ):
        parts += [(text[at : hit.start()], False), (hit[0], True)]
        at = hit.end()
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])


Refined = Literal["confirmed", "proposed"]


@dataclass(frozen=True)
class Correlation:
    """Spearman between Recall and LLM-retEval over the queries of a run at a depth.

    Args:
        every: over all queries with gold passages ("ALL").
        refined: without those on which Recall is wrong: cases A, B, C.
        by: whether these were confirmed by people, or only proposed.
    """

    run: str
    k: int
    every: QueryCorrelation
    refined: QueryCorrelation
    by: Refined


@cached()
def correlate_recall(
    project: Project, evaluation: Evaluation, by: Refined = "confirmed"
) -> list[Correlation]:
    """Correlate Recall with LLM-retEval over queries, by Spearman, for each run and depth
    (llm-reteval, table 2); cached until their data changes.

    Args:
        by: whether the refined set leaves out confirmed cases A, B and C, or proposed ones as well.
    """
    rows = []
    if by == "proposed":
        case_places = [
            (row.line.query_id, row.line.run, row.line.k, row.case)
            for row in list_cases(project, evaluation)
        ]
    else:
        case_places = [
            (confirmed.query_id, confirmed.run, confirmed.k, confirmed.case)
            for confirmed in confirmed_cases(project, evaluation.generator.key)
        ]
    # If several people confirmed a case, the last one counts.
    counts = {(query_id, run, k): case for query_id, run, k, case in case_places}
    for (run, k), lines in evaluation.lines.items():
        removed = [
            query_id
            for (query_id, *place), case in counts.items()
            if place == [run, k] and case in RECALL_FAILURES
        ]
        recall, reteval = verdict_numbers(lines, "recall"), verdict_numbers(lines, "reteval")
        rows.append(
            Correlation(
                run,
                k,
                correlate_queries(recall, reteval),
                correlate_queries(recall, reteval, removed),
                by,
            )
        )
    return rows


def choice_tables(evaluation: Evaluation, k: int) -> dict[str, Table]:
    """Return the scores of queries at a depth by every available measure, to choose runs by.

    Returns:
        Tables by the name of the measure, such as Recall@5 and LLM-retEval@5; GPT-Eval only over
        the queries with gold answers. A run with waiting answers or comparisons is left out of
        measures that need them. Its known scores may be those of easy queries. See `waiting_runs`.

    Raises:
        InputError: the depth is not in the view.
    """
    check_known("unknown-depth", "depth", evaluation.view.ks, k)
    every = list(evaluation.gold)
    with_answers = [query_id for query_id in every if evaluation.gold[query_id].query.answers]
    measured: dict[Measured, list[str]] = {
        "Recall": every,
        "Precision": every,
        "F1": every,
        "LLM-retEval": every,
        "GPT-Eval": with_answers,
    }
    tables = {
        f"{measure}@{k}": _score_table(evaluation, k, measure, queries)
        for measure, queries in measured.items()
        if queries
    }
    return {name: table for name, table in tables.items() if table}


def _score_table(
    evaluation: Evaluation, k: int, measure: Measured, queries: Sequence[str]
) -> Table:
    """Return scores by run and query; None if failed, unlike the 0 of a skipped query."""
    table: dict[str, dict[str, float | None]] = {}
    for run in evaluation.view.runs or ():
        values = query_values(evaluation.lines[run, k], measure)
        if all(query_id in values for query_id in queries):
            table[run] = {query_id: values[query_id] for query_id in queries}
    return table


def waiting_runs(evaluation: Evaluation, k: int) -> dict[str, int]:
    """Return, for each incomplete run, the number of queries with a waiting answer or comparison at
    a depth.
    """
    waiting = {
        run: len(lines) - len(verdict_numbers(lines, "reteval"))
        for (run, at), lines in evaluation.lines.items()
        if at == k
    }
    return {run: count for run, count in waiting.items() if count}


@dataclass(frozen=True)
class PeopleVerdict:
    """People's verdict on an answer to a question that has right answers.

    Args:
        query_id: of the question.
        acceptable: whether most people consider it right.
    """

    query_id: str
    pair: Pair
    acceptable: bool


def verdict_sources(project: Project) -> list[tuple[str, int]]:
    """Return the sources of people's verdicts on answers, with the number of verdicts of each."""
    return list(
        Counter(source for said in answer_verdicts(project).values() for source in said).items()
    )


def people_verdicts(project: Project, source: str | None = None) -> list[PeopleVerdict]:
    """Return the answers with people's verdicts, of queries with gold answers.

    Args:
        source: only this one; for None the majority of all, without answers on which people are
            evenly split.

    Raises:
        InputError: there are no such answers. The message says whether verdicts or gold answers are
            missing, or people are evenly split.
    """
    texts, people_values = answer_texts(project), answer_verdicts(project, source)
    questions_by_key = {query.key: query for query in asked_queries(project) if query.answers}
    checked = []
    for (key, answer), by_person in people_values.items():
        yes = sum(by_person.values())
        if key in questions_by_key and 2 * yes != len(by_person):
            query = questions_by_key[key]
            checked.append(
                PeopleVerdict(
                    query.query_id,
                    make_pair(query.text, texts[answer], query.answers),
                    2 * yes > len(by_person),
                )
            )
    if checked:
        return checked
    verdicts = how_many(sum(map(len, people_values.values())), "human answer checks")
    if not people_values:
        raise InputError(
            "no-human-verdicts",
            "No human answer checks yet.",
            "Import them: exam import answer-verdicts FILE.",
        )
    if not any(key in questions_by_key for key, _ in people_values):
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


def match_verdicts(
    project: Project, verdicts: Sequence[tuple[str, str, bool]]
) -> list[PeopleVerdict]:
    """Return the same as `people_verdicts`, from verdicts that are not in the project.

    Args:
        verdicts: query id, answer, and whether it is acceptable.

    Raises:
        InputError: no verdict is about a query with gold answers.
    """
    questions_by_id = {query.query_id: query for query in asked_queries(project) if query.answers}
    checked = [
        PeopleVerdict(
            query_id,
            make_pair(questions_by_id[query_id].text, answer, questions_by_id[query_id].answers),
            acceptable,
        )
        for query_id, answer, acceptable in verdicts
        if query_id in questions_by_id
    ]
    if not checked:
        raise InputError(
            "no-verdicts-with-gold",
            "No human answer check belongs to a query with gold answers.",
            "Import the queries with their gold answers.",
        )
    return checked


@dataclass(frozen=True)
class AgreementRow:
    """Agreement of one answer check with people.

    Args:
        judge: the answer check.
        model: its model; None for a computed check.
        against: agreement at its threshold.
        threshold: the check's own threshold.
        waiting: answers without a verdict by the model; they are left out.
        curve: agreement at other thresholds; empty if its scores are only yes and no.
        tested: agreement on one half of the questions at the best threshold of the other half. None
            if its scores are only yes and no, or with too few questions.
    """

    judge: AnswerJudge
    model: str | None
    against: CheckAgreement
    threshold: float
    waiting: int
    curve: list[ThresholdAgreement]
    tested: TestedThreshold | None


def agreement_with_people(
    project: Project,
    human_checks: Sequence[PeopleVerdict],
    judges: Sequence[str] | None = None,
    samples: int = 1000,
) -> list[AgreementRow]:
    """Return the agreement of answer checks with people on the same answers; intervals resample
    questions.

    Args:
        human_checks: see `people_verdicts`.
        judges: their names; None for all, those with a model only if it was asked.
        samples: of the bootstrap.

    Raises:
        InputError: an answer check is unknown.
        GradingError: the encoder cannot be loaded.
    """
    check_known("unknown-answer-judge", "answer check", JUDGES, *(judges or ()))
    rows = []
    models = answer_models(project, "judge")
    for name, judge in JUDGES.items():
        if judges is not None and name not in judges:
            continue
        asked: list[AnswerModel | None] = [None]
        if judge.needs == "model":
            asked = [one for one in models if one.parameters.get("judge") == name]
        rows += [_agreement_row(project, human_checks, judge, model, samples) for model in asked]
    return rows


def _agreement_row(
    project: Project,
    human_checks: Sequence[PeopleVerdict],
    judge: AnswerJudge,
    model: AnswerModel | None,
    samples: int,
) -> AgreementRow:
    results = check_results(project, judge.name, [check.pair for check in human_checks], model)
    finished = [check for check in human_checks if results[check.pair].state != "waiting"]
    people = [check.acceptable for check in finished]
    questions = [check.query_id for check in finished]
    scores = [results[check.pair].score for check in finished]
    yes = [
        None if (verdict := results[check.pair].yes) is None else int(verdict) for check in finished
    ]
    return AgreementRow(
        judge,
        None if model is None else model.name,
        against_people(yes, people, questions, samples=samples),
        judge.threshold,
        len(human_checks) - len(finished),
        threshold_curve(scores, people) if judge.graded and finished else [],
        halves_test(scores, people, judge.threshold, questions, samples=samples)
        if judge.graded and finished
        else None,
    )


SHORT = 5
"""Greatest number of words of a gold answer that counts as a phrase, which can occur within a
sentence.
"""
SAMPLES = 1000
SURE = 0.95
"""Share of the resamples in which a run has to lead for a clear lead."""


@dataclass(frozen=True)
class MissingData:
    """The data that LLM-retEval needs and a project lacks.

    Args:
        queries: no query has words.
        runs: the project has no runs.
        gold: the project has no gold passages.
        answers: no query has gold answers, so that GPT-Eval and cases that rest on them stay
            unknown.
    """

    queries: bool
    runs: bool
    gold: bool
    answers: bool

    @property
    def is_blocking(self) -> bool:
        """Whether nothing can be done yet."""
        return self.queries or self.runs or self.gold


def missing_data(project: Project) -> MissingData:
    """Return the missing data for LLM-retEval (specification, section 2)."""
    queries = asked_queries(project)
    return MissingData(
        not queries,
        not ranking_runs(project),
        not gold_sources(project),
        not any(query.answers for query in queries),
    )


def asked_for(project: Project, generator: AnswerModel) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the runs and depths for which a generator has answered, or was asked to.

    Returns:
        Runs in the project's order and depths, rising; all runs and the usual depths if nothing is
        known.
    """
    runs: dict[str, None] = {}
    ks: set[int] = set()
    run_options = named_runs(project, None)
    for job in recorded_jobs(project, "generating", subject=generator.key):
        named = job.request.get("runs")
        runs |= dict.fromkeys(run_options if named is None else named)
        ks |= set(job.request.get("ks", ())) if named != [] else set()
    for run, k in project.rows(
        "SELECT DISTINCT run, k FROM generated_answers"
        " WHERE generator_key = ? AND run IS NOT NULL AND k > 0",
        [generator.key],
    ):
        runs[run] = None
        ks.add(k)
    every = dict.fromkeys((*run_options, *run_names(project)))
    return tuple(run for run in every if run in runs) or tuple(run_options), tuple(sorted(ks)) or KS


def usual_judge(project: Project) -> str:
    """Return the default answer check: the last one with a model, else one that fits the project's
    gold answers.

    Short phrases are searched for in the answers. Whole sentences, and answers without gold ones,
    are compared by meaning.
    """
    asked = [one.parameters.get("judge") for one in answer_models(project, "judge")]
    if asked and asked[-1] is not None:
        return str(asked[-1])
    lengths = [len(answer.split()) for query in asked_queries(project) for answer in query.answers]
    return "contains" if lengths and median(lengths) <= SHORT else "embedding"


@cached()
def clear_best(project: Project, evaluation: Evaluation) -> dict[tuple[int, str], str]:
    """Return the run that leads clearly by a measure at a depth.

    Returns:
        By depth and name of the measure without it, such as (5, "Recall"): the run that is chosen
        alone, in at least `SURE` of the resamples of queries; absent without a clear lead.
    """
    return {
        (k, choice.evaluation.removesuffix(f"@{k}")): choice.chosen[0]
        for k in evaluation.view.ks
        # Each measure over its own runs: a run that waits for answers may still lead by Recall.
        for name, table in choice_tables(evaluation, k).items()
        if len(table) > 1
        for choice in compare_evaluations({name: table}, samples=SAMPLES).choices
        if len(choice.chosen) == 1 and choice.chance.get(choice.chosen[0], 0.0) >= SURE
    }


def answer_check_verdicts(project: Project, evaluation: Evaluation) -> list[PeopleVerdict]:
    """Return the verdicts of an evaluation's answer check in the form of people's verdicts, to
    compare other checks with it.

    Pairs without a usable verdict are left out. The question takes the place of the query id.
    """
    results = check_results(
        project,
        evaluation.view.judge,
        evaluation.pairs,
        evaluation.judge_model,
        evaluation.view.threshold,
    )
    return [
        PeopleVerdict(one[0], one, verdict.yes)
        for one, verdict in results.items()
        if verdict.yes is not None
    ]


HEADER = ("run", "k", "Recall", "Precision", "F1", "LLM-retEval", "GPT-Eval")


def row_values(row: RetEvalRow) -> dict[str, tuple[float | None, float | None]]:
    """Return mean and standard error of each measure of a row, by the name of its column."""
    retrieval = row.conventional
    return {
        "Recall": retrieval.recall,
        "Precision": retrieval.precision,
        "F1": retrieval.f1,
        "LLM-retEval": (row.reteval.mean, row.reteval.error),
        "GPT-Eval": (None, None) if row.gpteval is None else (row.gpteval.mean, row.gpteval.error),
    }


def reteval_values(
    evaluation: Evaluation, failed: Mapping[tuple[str, int], Failures]
) -> dict[str, Any]:
    """Return the table as plain values, for JSON: choices, rows with counts of answers, and the
    ideal retriever.

    Args:
        failed: see `count_failures`.
    """
    return {
        "generator": evaluation.generator.name,
        "judge": evaluation.view.judge,
        "judge_model": None if evaluation.judge_model is None else evaluation.judge_model.name,
        "queries": len(evaluation.gold),
        "complete": evaluation.complete,
        "ideal": _score_fields(evaluation.ideal),
        "rows": [
            {"run": row.run, "k": row.k}
            | {
                name: {"mean": mean, "std_error": error}
                for name, (mean, error) in row_values(row).items()
            }
            | {
                "f1_of_means": row.conventional.f1_of_means,
                "reteval": _score_fields(row.reteval),
                "gpteval": _score_fields(row.gpteval),
                "failures": vars(failed[row.run, row.k]),
                "answers": {"written": row.answers, "failed": row.failed, "waiting": row.waiting},
            }
            for row in evaluation.rows
        ],
    }


def _score_fields(score: ScoredMean | None) -> dict[str, Any] | None:
    return None if score is None else vars(score) | {"complete": score.complete}


def reteval_latex(evaluation: Evaluation, failed: Mapping[tuple[str, int], Failures]) -> str:
    """Return the table as a LaTeX tabular like table 1 of llm-reteval, the best of each column and
    depth in bold.

    Args:
        failed: see `count_failures`.
    """
    head = [*HEADER, "Recall failures", "LLM-retEval failures"]
    lines = [
        "\\begin{tabular}{lrrrrrrrr}",
        "\\hline",
        " & ".join(map(escape_latex, head)) + " \\\\",
        "\\hline",
    ]
    names = HEADER[2:]
    for k in evaluation.view.ks:
        rows = [row for row in evaluation.rows if row.k == k]
        best = {
            name: max(
                (mean for row in rows if (mean := row_values(row)[name][0]) is not None),
                default=None,
            )
            for name in names
        }
        for row in rows:
            values = row_values(row)
            cells = [_latex_cell(*values[name], best[name]) for name in names]
            counts = failed[row.run, row.k]
            cells += [str(counts.recall), str(counts.reteval)]
            lines.append(
                " & ".join([escape_latex(" ".join(row.run.split())), str(row.k), *cells]) + " \\\\"
            )
        lines.append("\\hline")
    lines.append("\\end{tabular}")
    judge = evaluation.view.judge if evaluation.judge_model is None else evaluation.judge_model.name
    generator = escape_latex(" ".join(evaluation.generator.name.split()))
    lines.append(f"% {len(evaluation.gold)} queries; answers by {generator}; answer check {judge}")
    if not evaluation.complete:
        lines.append("% incomplete: missing or failed answers and comparisons are left out")
    return "\n".join(lines) + "\n"


def reteval_tsv(evaluation: Evaluation) -> str:
    """Return the table as TSV: means with their standard errors, and numbers of queries and
    answers.
    """
    names = HEADER[2:]
    head = ["run", "k", *(part for name in names for part in (name, f"{name} std error"))]
    lines = ["\t".join([*head, "queries", "answers", "failed", "waiting"])]
    for row in evaluation.rows:
        values = [number for name in names for number in row_values(row)[name]]
        numbers = ["" if number is None else f"{number:.6f}" for number in values]
        rests = map(
            str, (row.reteval.queries, row.answers, row.reteval.failed, row.reteval.waiting)
        )
        lines.append("\t".join([" ".join(row.run.split()), str(row.k), *numbers, *rests]))
    return "\n".join(lines) + "\n"


def _latex_cell(mean: float | None, error: float | None, best: float | None) -> str:
    if mean is None:
        return "--"
    text = f"{mean:.3f}"
    text = f"\\textbf{{{text}}}" if mean == best else text
    return text if error is None else f"{text} $\\pm$ {error:.3f}"
