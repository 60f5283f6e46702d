"""Retriever selection: accuracy of a grader, and whether its leaderboards choose the same system as
judgments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..choices import SELECTION_MEASURES, SELECTION_TOP_K
from ..errors import InputError, check_in_range
from ..grouping import nest_triples
from ..labels import (
    DEFAULT_POLICY,
    Leaderboard,
    Policy,
    Queries,
    QueryChoice,
    align_boards,
    basis,
    failed_pairs,
    label_board,
    label_qrels,
    leaderboard,
)
from ..measures import trec_order
from ..records import Qrels, find_source, imported_leaderboards, ranking_scores, source_judgments
from ..store import Project

NEEDED = 3
"""Minimum number of systems for a meaningful choice between them."""

Pairs = set[tuple[str, str]]


@dataclass(frozen=True)
class Classification:
    """Confusion counts of a grader's labels, with the judgments as the truth.

    Args:
        true_positive, false_positive, false_negative, true_negative: numbers of (query, passage).
        unlabelled: number of passages without a label.
        unjudged: number of labelled passages without a judgment.
    """

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int
    unlabelled: int
    unjudged: int

    @property
    def compared(self) -> int:
        """Number of passages with a label and a judgment."""
        return self.true_positive + self.false_positive + self.false_negative + self.true_negative

    @property
    def precision(self) -> float | None:
        """Share of the passages labelled relevant that are relevant; None without passages labelled
        relevant.
        """
        return _ratio_or_none(self.true_positive, self.true_positive + self.false_positive)

    @property
    def recall(self) -> float | None:
        """Share of the relevant passages that are labelled relevant; None without relevant
        passages.
        """
        return _ratio_or_none(self.true_positive, self.true_positive + self.false_negative)

    @property
    def f1(self) -> float | None:
        """F1, the harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN)."""
        return _ratio_or_none(
            2 * self.true_positive,
            2 * self.true_positive + self.false_positive + self.false_negative,
        )

    @property
    def accuracy(self) -> float | None:
        """Share of the passages on which both sides agree; None if nothing was compared."""
        return _ratio_or_none(self.true_positive + self.true_negative, self.compared)

    def as_dict(self) -> dict[str, Any]:
        """Return counts and coefficients as plain values."""
        return {
            **asdict(self),
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "accuracy": self.accuracy,
        }


@dataclass(frozen=True)
class VerdictCounts:
    """Numbers of distinct (query, passage) in the top k of any run, by the grader's result.

    Args:
        yes: labelled relevant.
        no: labelled not relevant.
        unreadable: graded, but without a readable reply.
        ungraded: never graded.
    """

    yes: int
    no: int
    unreadable: int
    ungraded: int

    @property
    def shares(self) -> dict[str, float | None]:
        """Shares of yes, no and unreadable among graded passages; None without graded ones."""
        asked = self.yes + self.no + self.unreadable
        return {
            name: _ratio_or_none(getattr(self, name), asked) for name in ("yes", "no", "unreadable")
        }

    def as_dict(self) -> dict[str, Any]:
        """Return counts and shares as plain values."""
        return {**asdict(self), "shares": self.shares}


@dataclass(frozen=True)
class MeasureChoice:
    """One measure on both leaderboards.

    Args:
        judge, truth: scores by the grader's labels and by the judgments, by run, for the runs that
            both leaderboards have.
        best_by_judge, best_by_truth: the runs with the greatest score; several if they are tied.
        pearson: None if one of the leaderboards is constant.
    """

    measure: str
    judge: dict[str, float]
    truth: dict[str, float]
    best_by_judge: list[str]
    best_by_truth: list[str]
    pearson: float | None

    @property
    def same_choice(self) -> bool:
        """Whether the judgments also choose every run that the grader chooses."""
        return set(self.best_by_judge) <= set(self.best_by_truth)


@dataclass(frozen=True)
class Selection:
    """Whether a grader can replace judgments for choosing a retriever.

    Args:
        overall: confusion counts over the distinct passages in the top k of any run.
        per_run: confusion counts over the top k of each run.
        retriever: by run, its precision in the top k by the grader's labels, and by the judgments;
            None if no value is known.
        choices: the choices by each measure.
        pearson: correlation over all measures and systems, each measure standardised; None if and
            only if undefined.
        undefined: why the correlation is undefined.
        verdicts: the grader's results, including unreadable results.
        unreadable_no: whether unreadable results count as no in all other fields.
        queries: the queries over which the leaderboards of the grader and of the judgments are
            compared.
    """

    grader: str
    against: str
    top_k: int
    policy: Policy
    overall: Classification
    per_run: dict[str, Classification]
    retriever: dict[str, tuple[float | None, float | None]]
    choices: list[MeasureChoice]
    pearson: float | None
    undefined: str | None
    verdicts: VerdictCounts
    unreadable_no: bool
    queries: Queries

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, as `--json` prints it."""
        return {
            "grader": self.grader,
            "against": self.against,
            "top_k": self.top_k,
            "policy": self.policy.as_dict(),
            "overall": self.overall.as_dict(),
            "per_run": {run: found.as_dict() for run, found in self.per_run.items()},
            "retriever_precision": {
                run: {"judge": judge, "truth": truth}
                for run, (judge, truth) in self.retriever.items()
            },
            "measures": [
                {**asdict(choice), "same_choice": choice.same_choice} for choice in self.choices
            ],
            "pearson": self.pearson,
            "undefined": self.undefined,
            "verdicts": self.verdicts.as_dict(),
            "unreadable_no": self.unreadable_no,
            "queries": self.queries.as_dict(),
        }


def compare_selection(
    project: Project,
    against: str = "judgments",
    policy: Policy = DEFAULT_POLICY,
    top_k: int = SELECTION_TOP_K,
    measures: Sequence[str] = SELECTION_MEASURES,
    unjudged_zero: bool = False,
    unreadable_no: bool = False,
    queries: QueryChoice = "common",
) -> Selection:
    """Compare a grader's labels with judgments for the selection of a retriever.

    A passage is relevant for the grader if its label is at least the policy's min rating. It is
    relevant in truth if its judgment is at least the policy's min judgment. Only passages in the
    runs' top k with both values are compared.

    Source: llm-judge-retriever-selection, "Do LLMs know what is relevant?" and "Correlation of
    Information".

    Args:
        against: name of a source of judgments.
        policy: names the grader.
        top_k: number of passages of each run and query to use.
        measures: measures of labels for both leaderboards.
        unjudged_zero: whether a passage without a judgment is non-relevant in truth. This fits
            judgments that list only relevant passages, as in the source. Otherwise such a passage
            is left out and counted.
        unreadable_no: whether a passage with an unreadable result is non-relevant for the grader
            (label 0), in the classification and on leaderboards. Otherwise it has no label.
        queries: the queries over which the leaderboards are compared; see `labels.align_boards`.

    Raises:
        InputError: the source, grader or a measure is unknown, nothing is graded, or the depth is
            below 1.
    """
    check_in_range("depth-out-of-range", f"Depth {top_k}", "Use 1 or more.", top_k >= 1)
    base = basis(project, policy)
    source = find_source(project, against)
    if source in dict(imported_leaderboards(project)):
        raise InputError(
            "source-without-judgments",
            f"The imported leaderboard {source} has no judgments.",
            "Use a source of judgments, such as imported qrels.",
        )
    qrels = label_qrels(project, base)
    failed = project.rows(
        f"SELECT DISTINCT query_id, passage_id FROM ({failed_pairs(base)})"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)",
        base.parameters,
    )
    # Graded, but without a label.
    unreadable = {
        (query, passage) for query, passage in failed if passage not in qrels.get(query, {})
    }
    judged_relevant = _relevant_flags(qrels, base.min_rating)
    if unreadable_no:
        qrels = _with_zeros(qrels, unreadable)
    by_judge = _relevant_flags(qrels, base.min_rating)
    in_truth = _relevant_flags(source_judgments(project, source), policy.min_judgment)
    tops = {run: _top_pairs(ranking, top_k) for run, ranking in ranking_scores(project).items()}
    looked_at: Pairs = set().union(*tops.values())
    if unjudged_zero:
        in_truth = {pair: False for pairs in tops.values() for pair in pairs} | in_truth
    pairs = [
        align_boards(
            label_board(project, name, policy, qrels)
            if unreadable_no
            else leaderboard(project, name, "exam", policy, with_ungraded=True),
            leaderboard(project, name, source, policy),
            queries,
        )
        for name in measures
    ]
    choices = [_make_choice(judge, truth) for judge, truth, _ in pairs]
    pearson, undefined = standardised_pearson([(choice.judge, choice.truth) for choice in choices])
    return Selection(
        base.grader.spec.name,
        source,
        top_k,
        base.policy,
        classify_pairs(looked_at, by_judge, in_truth),
        {run: classify_pairs(found, by_judge, in_truth) for run, found in tops.items()},
        {
            run: (_relevant_share(found, by_judge), _relevant_share(found, in_truth))
            for run, found in tops.items()
        },
        choices,
        pearson,
        undefined,
        _count_verdicts(looked_at, judged_relevant, unreadable),
        unreadable_no,
        pairs[0][2],
    )


def _relevant_flags(qrels: Qrels, threshold: int) -> dict[tuple[str, str], bool]:
    return {
        (query, passage): label >= threshold
        for query, labels in qrels.items()
        for passage, label in labels.items()
    }


def _with_zeros(qrels: Qrels, pairs: Pairs) -> Qrels:
    labels = [(query, *pair) for query, of_query in qrels.items() for pair in of_query.items()]
    zeros = [(query, passage, 0) for query, passage in sorted(pairs)]
    return nest_triples([*labels, *zeros])


def _count_verdicts(
    looked_at: Pairs, judged_relevant: Mapping[tuple[str, str], bool], unreadable: Pairs
) -> VerdictCounts:
    verdicts = [judged_relevant[pair] for pair in looked_at if pair in judged_relevant]
    failed = len(looked_at & unreadable)
    return VerdictCounts(
        sum(verdicts),
        len(verdicts) - sum(verdicts),
        failed,
        len(looked_at) - len(verdicts) - failed,
    )


def classify_pairs(
    pairs: Pairs, by_judge: Mapping[tuple[str, str], bool], in_truth: Mapping[tuple[str, str], bool]
) -> Classification:
    """Count how a grader classifies (query, passage) pairs.

    Args:
        by_judge, in_truth: whether a pair is relevant; pairs without a value are absent.
    """
    labelled = [pair for pair in pairs if pair in by_judge]
    counts = Counter((by_judge[pair], in_truth[pair]) for pair in labelled if pair in in_truth)
    return Classification(
        counts[True, True],
        counts[True, False],
        counts[False, True],
        counts[False, False],
        len(pairs) - len(labelled),
        len(labelled) - counts.total(),
    )


def standardised_pearson(
    measures: Sequence[tuple[Mapping[str, float], Mapping[str, float]]],
) -> tuple[float | None, str | None]:
    """Return the Pearson correlation over all measures and systems, each measure standardised on
    each side.

    To standardise a measure, its mean over the systems is subtracted, and the result is divided by
    its standard deviation over the systems. Otherwise the correlation would mostly show that P is
    smaller than Success on both sides. Source: llm-judge-retriever-selection, "Correlation of
    Information".

    Args:
        measures: for each measure, score by run on both sides: by the grader, and in truth.

    Returns:
        (correlation, None), or (None, why it is undefined). A measure that is constant on either
        side is left out.
    """
    left: list[float] = []
    right: list[float] = []
    systems = min((len(judge.keys() & truth.keys()) for judge, truth in measures), default=0)
    if systems < NEEDED:
        return None, f"the leaderboards have {systems} common systems, but {NEEDED} are needed"
    for judge, truth in measures:
        runs = sorted(judge.keys() & truth.keys())
        x, y = (np.array([side[run] for run in runs]) for side in (judge, truth))
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            left.extend((x - x.mean()) / x.std())
            right.extend((y - y.mean()) / y.std())
    if not left:
        return None, "on one of the leaderboards, all systems have the same score by every measure"
    return float(np.corrcoef(left, right)[0, 1]), None


def _make_choice(judge: Leaderboard, truth: Leaderboard) -> MeasureChoice:
    runs = [run for run in judge.scores if run in truth.scores]
    x, y = ({run: board.scores[run] for run in runs} for board in (judge, truth))
    return MeasureChoice(
        judge.measure, x, y, _best_runs(x), _best_runs(y), standardised_pearson([(x, y)])[0]
    )


def _best_runs(scores: Mapping[str, float]) -> list[str]:
    best = max(scores.values(), default=0.0)
    return [run for run, score in scores.items() if score == best]


def _top_pairs(ranking: Mapping[str, Mapping[str, float]], depth: int) -> Pairs:
    return {
        (query, passage)
        for query, scores in ranking.items()
        for passage in trec_order(scores, depth)
    }


def _relevant_share(pairs: Pairs, relevant: Mapping[tuple[str, str], bool]) -> float | None:
    known = [relevant[pair] for pair in pairs if pair in relevant]
    return _ratio_or_none(sum(known), len(known))


def _ratio_or_none(part: int, whole: int) -> float | None:
    return part / whole if whole else None
