"""LLM-retEval: scores of runs at depths by generated answers, with Recall, Precision, F1 and
EXAM-Cover.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..bank import label_graders
from ..choices import GOLD_TEMPERATURE
from ..errors import InputError
from ..exams import kept_vectors
from ..labels import Policy, basis, leaderboard, list_labels
from ..measures import Table
from ..measures.answers import (
    NEAR,
    Conventional,
    GoldRetrieval,
    ScoredMean,
    mean_retrieval_scores,
    score_outcomes,
    score_retrieval,
    similarity_to_gold,
)
from ..records import (
    GOLD_RUN,
    AnswerModel,
    AnswerPlace,
    Generated,
    answer_models,
    answer_verdicts,
    find_answer_model,
    generated_of,
    split_response,
)
from ..store import Project, cached
from ._answer_checks import WAITING, Pair, Verdict, answer_judge, check_results, make_pair
from ._answer_contexts import (
    USUAL_GOLD,
    AskedQuery,
    ContextPassage,
    Gold,
    asked_queries,
    context_of,
    gold_passages,
    named_runs,
    passage_id_of,
    passage_texts,
    top_passages,
)
from ._answer_generation import KS

Said = Literal["recall", "reteval", "gpteval"]
Measured = Literal["LLM-retEval", "GPT-Eval", "Recall", "Precision", "F1"]
"""The measures of the table, with their names for people."""
AnswerState = Literal["answered", "failed", "waiting", "skipped"]


@dataclass(frozen=True)
class RetEvalChoices:
    """The choices under which answers are evaluated.

    Args:
        runs: None for all.
        ks: depths.
        generator: name of the generator; None for the last added one.
        temperature: of the draws from the gold passages.
        judge: name of the answer check.
        judge_model: name of the model for an answer check with a model; None for the last added
            one.
        threshold: of the answer check; None for its default.
        gold: the choice of gold passages.
        same_text: whether a passage with nearly the text of a gold passage counts as gold (case B).
        people: whether a person's verdict on an answer takes precedence over the comparison with
            the gold answers.
    """

    runs: tuple[str, ...] | None = None
    ks: tuple[int, ...] = KS
    generator: str | None = None
    temperature: float = GOLD_TEMPERATURE
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
    passages: tuple[ContextPassage, ...]
    draws: tuple[str, ...]
    failed: int
    goldeval: Verdict


@dataclass(frozen=True)
class EvaluatedAnswer:
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
    passages: tuple[ContextPassage | str, ...]
    state: AnswerState
    answer: str | None
    note: str | None
    found: GoldRetrieval
    reteval: Verdict
    gpteval: Verdict
    by_person: bool = False


Lines = Mapping[tuple[str, int], Mapping[str, EvaluatedAnswer]]
"""By run and depth, and by query id."""


@dataclass(frozen=True)
class RetEvalRow:
    """One run at one depth.

    Args:
        reteval: LLM-retEval@k.
        gpteval: GPT-Eval@k, over the queries that have gold answers; None if no query has any.
        conventional: Recall@k, Precision@k and F1@k.
        answers: number of answers, in addition to the `failed` and `waiting` ones.
    """

    run: str
    k: int
    reteval: ScoredMean
    gpteval: ScoredMean | None
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
        ideal: goldEval, the score of a retriever that returns exactly the gold passages; None if no
            query has gold answers.
        pairs: all comparisons of the answer check.
    """

    view: RetEvalChoices
    generator: AnswerModel
    judge_model: AnswerModel | None
    gold: Mapping[str, GoldSide]
    lines: Lines
    rows: list[RetEvalRow]
    ideal: ScoredMean | None
    pairs: list[Pair] = field(repr=False)

    @property
    def key(self) -> Hashable:
        """Its identity, for results that are cached."""
        return self.view, self.generator.key, tuple(self.rows), self.ideal

    @property
    def complete(self) -> bool:
        """Whether every answer and comparison is known: none failed or waits."""
        return all(row.reteval.complete and not row.failed and not row.waiting for row in self.rows)

    def verdicts_of(self, what: Said, k: int) -> dict[str, dict[str, float | None]]:
        """Return the scores of queries at a depth by run and query id; None if failed, absent if
        waiting.
        """
        return {run: verdict_numbers(self.lines[run, k], what) for run in self.view.runs or ()}


def query_values(
    lines: Mapping[str, EvaluatedAnswer], measure: Measured
) -> dict[str, float | None]:
    """Return the scores of queries by a measure, by query id: None if failed, absent if waiting, 0
    if skipped.
    """
    if measure in ("LLM-retEval", "GPT-Eval"):
        return verdict_numbers(lines, "reteval" if measure == "LLM-retEval" else "gpteval")
    return {
        query_id: float(getattr(line.found, measure.lower())) for query_id, line in lines.items()
    }


def verdict_numbers(lines: Mapping[str, EvaluatedAnswer], what: Said) -> dict[str, float | None]:
    """Return verdicts on queries as numbers, by query id: None if failed, absent if waiting, 0 if
    skipped.
    """
    values: dict[str, float | None] = {}
    if what == "recall":
        return {query_id: float(line.found.has_gold) for query_id, line in lines.items()}
    for query_id, line in lines.items():
        verdict: Verdict = getattr(line, what)
        if line.state == "skipped":
            values[query_id] = 0.0
        elif verdict.state != "waiting":
            values[query_id] = _verdict_number(verdict)
    return values


@cached()
def evaluate_answers(project: Project, view: RetEvalChoices) -> Evaluation:
    """Evaluate the answers under a view, cached until its data changes; no model is asked and
    nothing is written.

    The answer from the top k is right by retEval_k(q) if the answer check finds it among the draws
    from the gold passages. It is right by gptEval_k(q) if it agrees with the gold answers. A draw
    that agrees with them makes goldEval(q) right. Source: llm-reteval specification, section 4. A
    failed answer has no comparison: it is left out and counted, as is a failed comparison.

    Raises:
        InputError: a run, source, answer check or generator is unknown.
        GradingError: the encoder cannot be loaded.
    """
    generator = find_answer_model(project, "generator", view.generator)
    runs = tuple(named_runs(project, view.runs))
    if not view.ks or min(view.ks) < 1:
        raise InputError(
            "depth-out-of-range", "A depth is missing or below 1.", "Use depths k of 1 or more."
        )
    gold = gold_passages(project, view.gold)
    queries = [query for query in asked_queries(project) if query.query_id in gold]
    if not queries:
        raise InputError(
            "no-gold-texts",
            "No query has gold passages with texts.",
            "Import their texts, or choose another source.",
        )
    generated = _AnswersByContext(generated_of(project, generator.key), view.temperature)
    ranked = top_passages(project, runs, max(view.ks))
    drawn = {
        entry.query_id: generated.draws(entry, context_of(gold[entry.query_id]))
        for entry in queries
    }
    answered = {
        (run, k, query.query_id): generated.from_run(
            query, run, k, context_of(ranked[run].get(query.query_id, [])[:k])
        )
        for run in runs
        for k in view.ks
        for query in queries
    }
    model = _judge_model(project, view)
    judged = _Comparisons()
    for query in queries:
        draws = drawn[query.query_id][0]
        for draw in draws:
            judged.add(query, draw, query.answers)
        for run, k in product(runs, view.ks):
            if (answer := answered[run, k, query.query_id]) is not None and answer.text is not None:
                judged.add(query, answer.text, draws)
                judged.add(query, answer.text, query.answers)
    judged.found = check_results(project, view.judge, list(judged.pairs), model, view.threshold)
    sides = {
        query.query_id: GoldSide(
            query,
            tuple(gold[query.query_id]),
            *drawn[query.query_id],
            judged.goldeval(query, drawn[query.query_id][0]),
        )
        for query in queries
    }
    same = _near_copies(project, ranked, gold) if view.same_text else {}
    people = answer_verdicts(project) if view.people else {}
    lines = {
        (run, k): {
            query.query_id: _make_line(
                query,
                run,
                k,
                ranked[run].get(query.query_id, [])[:k],
                answered[run, k, query.query_id],
                sides[query.query_id],
                judged,
                people,
                same.get(query.query_id),
            )
            for query in queries
        }
        for run, k in product(runs, view.ks)
    }
    with_people = {key for key, _ in people}
    answers = [query.query_id for query in queries if query.answers or query.key in with_people]
    rows = [_make_row(run, k, lines[run, k], answers) for run, k in product(runs, view.ks)]
    ideal = None
    if with_answers := [entry.query_id for entry in queries if entry.answers]:
        told = {query_id: sides[query_id].goldeval for query_id in with_answers}
        ideal = score_outcomes(
            {q: _verdict_number(entry) for q, entry in told.items() if entry.state != "waiting"},
            with_answers,
        )
    return Evaluation(
        replace(view, runs=runs),
        generator,
        model,
        sides,
        lines,
        rows,
        ideal,
        list(judged.pairs),
    )


@dataclass
class _AnswersByContext:
    """The answers of a generator by their contexts; imported answers by run and depth."""

    _known: Mapping[AnswerPlace, Generated]
    _temperature: float
    _draws: dict[tuple[int, tuple[int, ...] | tuple[str, int]], list[Generated]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        for (question, context, *_), one in self._known.items():
            self._draws.setdefault((question, context), []).append(one)

    def from_run(
        self, query: AskedQuery, run: str, k: int, context: tuple[int, ...]
    ) -> Generated | None:
        """Return the answer from the top k of a run; None if it is missing."""
        answered = self._known.get((query.text_key, context, 0.0, 1)) if context else None
        imported = [
            one for one in self._draws.get((query.text_key, (run, k)), []) if one.place[3] == 1
        ]
        return answered or (imported[0] if imported else None)

    def draws(self, query: AskedQuery, context: tuple[int, ...]) -> tuple[tuple[str, ...], int]:
        """Return the distinct answers from the gold passages, and how many failed.

        Answers at the view's temperature are used, else imported ones, else those at another
        temperature.
        """
        every = self._draws.get((query.text_key, context), []) + self._draws.get(
            (query.text_key, (GOLD_RUN, 0)), []
        )
        for temperature in dict.fromkeys(
            (self._temperature, None, *sorted({drawn.place[2] or 0.0 for drawn in every}))
        ):
            some = sorted(
                (drawn for drawn in every if drawn.place[2] == temperature),
                key=lambda drawn: drawn.place[3],
            )
            if some:
                texts = tuple(dict.fromkeys(drawn.text for drawn in some if drawn.text is not None))
                return texts, sum(drawn.text is None for drawn in some)
        return (), 0


def _judge_model(project: Project, view: RetEvalChoices) -> AnswerModel | None:
    """Return the model of a view's answer check; None without one."""
    if answer_judge(view.judge).needs != "model":
        return None
    judges = [
        one for one in answer_models(project, "judge") if one.parameters.get("judge") == view.judge
    ]
    if view.judge_model is None:
        return judges[-1] if judges else None
    model = find_answer_model(project, "judge", view.judge_model)
    if model not in judges:
        raise InputError(
            "answer-judge-of-another-kind",
            f"Answer check '{model.name}' is not of the kind {view.judge}.",
            f"Use --judge {model.parameters.get('judge')}.",
        )
    return model


@dataclass
class _Comparisons:
    """All comparisons, collected first so that they are checked in one go."""

    pairs: dict[Pair, None] = field(default_factory=dict)
    found: Mapping[Pair, Verdict] = field(default_factory=dict)

    def add(self, query: AskedQuery, answer: str, references: Sequence[str]) -> None:
        if references:
            self.pairs[make_pair(query.text, answer, references)] = None

    def find_verdict(self, query: AskedQuery, answer: str, references: Sequence[str]) -> Verdict:
        return self.found[make_pair(query.text, answer, references)] if references else WAITING

    def goldeval(self, query: AskedQuery, draws: Sequence[str]) -> Verdict:
        """Return yes if any draw is right, and no if all are known to be wrong."""
        found = [self.find_verdict(query, draw, query.answers) for draw in draws]
        return next(
            (one for state in (True, None) for one in found if one.yes is state),
            found[0] if found else WAITING,
        )


def _make_line(
    query: AskedQuery,
    run: str,
    k: int,
    passages: Sequence[ContextPassage | str],
    answer: Generated | None,
    side: GoldSide,
    judged: _Comparisons,
    people: Mapping[tuple[int, int], Mapping[str, bool]],
    same: Mapping[str, list[str]] | None,
) -> EvaluatedAnswer:
    ids = [passage_id_of(one) for one in passages]
    hits = score_retrieval(ids, [one.passage_id for one in side.passages], k, same)
    imported = answer is not None and isinstance(answer.place[1][0], str)
    state: AnswerState = "waiting"
    if not passages and not imported:
        state = "skipped"
    elif answer is not None:
        state = "answered" if answer.text is not None else "failed"
    text = answer.text if answer is not None and state == "answered" else None
    note = None if answer is None else answer.note or answer.reason
    reteval = gpteval = WAITING
    if state == "failed":
        reteval = gpteval = Verdict(None, None, "failed", f"No answer: {note}.")
    by_person = None
    if text is not None and answer is not None:
        no_draw = Verdict(None, None, "failed", "No answer from the gold passages.")
        reteval = (
            no_draw
            if side.failed and not side.draws
            else judged.find_verdict(query, text, side.draws)
        )
        gpteval = judged.find_verdict(query, text, query.answers)
        by_person = _by_people(people.get((query.key, answer.text_key), {}))
    if by_person is not None:
        gpteval = Verdict(by_person)
    return EvaluatedAnswer(
        query.query_id,
        run,
        k,
        tuple(passages),
        state,
        text,
        note,
        hits,
        reteval,
        gpteval,
        by_person is not None,
    )


def _by_people(verdicts: Mapping[str, bool]) -> bool | None:
    """Return the majority of people's verdicts on an answer; None without verdicts or if they are
    evenly split.
    """
    yes = sum(verdicts.values())
    return None if 2 * yes == len(verdicts) else 2 * yes > len(verdicts)


def _verdict_number(verdict: Verdict) -> float | None:
    return None if verdict.yes is None else float(verdict.yes)


def _make_row(
    run: str, k: int, lines: Mapping[str, EvaluatedAnswer], with_answers: Sequence[str]
) -> RetEvalRow:
    skipped = [query_id for query_id, line in lines.items() if line.state == "skipped"]
    gpteval = score_outcomes(
        verdict_numbers(lines, "gpteval"),
        with_answers,
        [one for one in skipped if one in set(with_answers)],
    )
    states = [line.state for line in lines.values()]
    return RetEvalRow(
        run,
        k,
        score_outcomes(verdict_numbers(lines, "reteval"), lines.keys(), skipped),
        gpteval if with_answers else None,
        mean_retrieval_scores([line.found for line in lines.values()]),
        states.count("answered"),
        states.count("failed"),
        states.count("waiting"),
    )


def _near_copies(
    project: Project,
    ranked: Mapping[str, Mapping[str, Sequence[ContextPassage | str]]],
    gold: Mapping[str, Sequence[ContextPassage]],
) -> dict[str, dict[str, list[str]]]:
    """Return, by query, the retrieved passages with nearly the text of gold passages, and the ids
    of these.
    """
    copies: dict[str, dict[str, list[str]]] = {}
    retrieved_too = {
        query_id: {
            passage
            for run in ranked.values()
            for passage in run.get(query_id, [])
            if isinstance(passage, ContextPassage)
        }
        for query_id in gold
    }
    every = {passage for reads in retrieved_too.values() for passage in reads} | {
        passage for reads in gold.values() for passage in reads
    }
    encoded = PassageSimilarity(project, every)
    for query_id, right in gold.items():
        others = sorted(
            retrieved_too[query_id] - set(right),
            key=lambda passage: (passage.text_key, passage.passage_id),
        )
        alike = encoded.compare(others, right)
        copies[query_id] = {
            other.passage_id: [
                passage.passage_id
                for passage, value in zip(right, row, strict=True)
                if value >= NEAR
            ]
            for other, row in zip(others, alike.tolist(), strict=True)
            if max(row) >= NEAR
        }
    return copies


class PassageSimilarity:
    """Similarities of passages, encoded in one go.

    Args:
        reads: all passages that will be compared.
    """

    def __init__(self, project: Project, reads: Collection[ContextPassage]) -> None:
        self._texts = passage_texts(project, {one.text_key for one in reads})
        self._rows = {key: row for row, key in enumerate(self._texts)}
        self._vectors = kept_vectors(project)(list(self._texts.values())) if self._texts else None

    def compare(
        self, passages: Sequence[ContextPassage], gold: Sequence[ContextPassage]
    ) -> NDArray[np.float64]:
        """Return the similarities, (passages, gold): the greater of word overlap and
        all-MiniLM-L6-v2.
        """
        ours, gold_keys = ([one.text_key for one in some] for some in (passages, gold))
        cosines = None
        if self._vectors is not None:
            left, right = (
                self._vectors[[self._rows[key] for key in keys]] for keys in (ours, gold_keys)
            )
            cosines = left @ right.T
        return similarity_to_gold(
            [self._texts[key] for key in ours], [self._texts[key] for key in gold_keys], cosines
        )


COVER = "EXAM-Cover"


def cover_tables(
    project: Project, evaluation: Evaluation, k: int, policy: Policy | None = None
) -> dict[str, Table]:
    """Return EXAM-Cover of the answers at a depth by every grader that has graded some of them with
    the question bank.

    See `cover_of_answers`.

    Returns:
        Tables by name, such as "EXAM-Cover of answers@5 by NAME".
    """
    # Direct graders grade no questions, so they cannot score coverage.
    names = [
        one.spec.name
        for one in label_graders(project)
        if one.grades and one.spec.method != "direct"
    ]
    tables = {
        f"{COVER} of answers@{k} by {name}": cover_of_answers(
            project, evaluation, k, replace(policy or Policy(), grader=name)
        )
        for name in names
    }
    return {name: table for name, table in tables.items() if table}


def cover_of_answers(project: Project, evaluation: Evaluation, k: int, policy: Policy) -> Table:
    """Return EXAM-Cover of the answer to each query, under the name of the run whose top passages
    it is from.

    `answers_as_responses` makes responses with systems of their own. Coverage depends only on an
    answer's words, so any graded response to the query with the same words scores it. Thus it can
    be compared with LLM-retEval of the retriever (llm-reteval specification, section 13),
    independently of the systems' names.

    Args:
        evaluation: its runs, depths, queries and generator.
        k: one of its depths.
        policy: the grader, min rating, weights; its cutoff is how many passages of a response
            count.

    Returns:
        Scores by run and query. None if the answer failed; 0 if the run skipped the query. A run
        with a waiting or ungraded answer is left out.

    Raises:
        InputError: the grader or version is unknown, or nothing is graded.
    """
    graded = _graded_responses(project, policy)
    if not graded:
        return {}
    board = leaderboard(project, f"{COVER}@{policy.cutoff}", "exam", policy)
    covered_queries = set(board.query_ids)
    # By the state of a missing answer, or by the query and the texts of an answer's parts.
    scores: dict[str | tuple[str, tuple[str, ...]], float | None] = {
        "skipped": 0.0 if policy.skipped == "zero" else None,
        "failed": None,
    }
    scores |= {
        place: board.per_query[system][place[0]]
        for place, system in graded.items()
        if place[0] in board.per_query.get(system, {})
    }
    by_run: dict[str, dict[str, float | None]] = {}
    for run in evaluation.view.runs or ():
        places = {
            query_id: line.state
            if line.answer is None
            else (query_id, tuple(part.text for part in split_response(line.answer)))
            for query_id, line in evaluation.lines[run, k].items()
            if query_id in covered_queries
        }
        if places and scores.keys() >= set(places.values()):
            by_run[run] = {query_id: scores[place] for query_id, place in places.items()}
    return by_run


def _graded_responses(project: Project, policy: Policy) -> dict[tuple[str, tuple[str, ...]], str]:
    """Return the system of each response for which a question was graded, by query and the texts of
    its passages.
    """
    table = list_labels(project, basis(project, policy))
    usable = table[table["usable"] > 0]
    graded = set(zip(usable["query_id"], usable["passage_id"], strict=True))
    return {
        (query_id, tuple(texts)): system
        for system, query_id, ids, texts in project.rows(
            "SELECT name, query_id, list(passage_id ORDER BY rank), list(x.text ORDER BY rank)"
            " FROM rankings SEMI JOIN responses USING (run_key, query_key)"
            " JOIN runs USING (run_key) JOIN queries USING (query_key)"
            " JOIN passages p USING (passage_key) JOIN passage_texts x ON x.text_key = p.text_key"
            " GROUP BY run_key, name, query_key, query_id ORDER BY run_key, query_key"
        )
        if any((query_id, one) in graded for one in ids)
    }
