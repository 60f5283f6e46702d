"""Measures as values, and their scores of one run by trec_eval through ir_measures.

Every family of measures is a row in `FAMILIES`. A new family with a known basis needs only a
further row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import ir_measures
import numpy as np
from ir_measures.providers import registry as _providers

from ..errors import InputError, check_in_range
from ._means_and_tests import harmonic_mean

COVER = "EXAM-Cover"
SUPPORT_RECALL, SUPPORT_PRECISION, SUPPORTED_COVER = (
    "Support-Recall",
    "Support-Precision",
    "Supported-Cover",
)
MAX_CUTOFF = 100_000
"""The greatest cutoff of a measure that depends on the order of a ranking."""
DEEPEST = 2**31 - 1
"""The greatest cutoff of a measure that depends only on which passages are above it."""
DEFAULT_CUTOFF = 20

MeasureBasis = Literal[
    "labels", "intents", "coverage", "share of gold", "share of pool", "likeness", "citations"
]
"""The data that a measure is computed from. `labels`: a value for each passage. `intents`: the
questions that each passage answers. `coverage`: the weight of covered questions; `share of …`:
coverage divided by the coverage of the gold texts or of the whole pool. `likeness`: the similarity
of texts to gold texts. `citations`: the support of sentences by the passages that they cite."""


@dataclass(frozen=True)
class Family:
    """Measures that differ only in their cutoff and other parameters.

    Args:
        name: the text before the cutoff in the standard name; `{k}` marks a cutoff that is not at
            the end.
        basis: the data that they are computed from.
        description: their meaning for one query, in one line.
        citation: the source of their definition.
        offered: the cutoffs that screens and commands offer; the cutoff None is the whole ranking.
        binary: whether they distinguish only relevant and non-relevant passages. Then scores from
            labels depend on the min rating.
    """

    name: str
    basis: MeasureBasis
    description: str
    citation: str
    offered: tuple[int | None, ...] = ()
    binary: bool = False


@dataclass(frozen=True)
class Measure:
    """A measure. Its text form is its standard name, which `parse_measure` reads.

    Args:
        name: the standard name, such as nDCG@10, n-EXAM@20 or P(rel=2)@5.
        family: the family of the measure.
        cutoff: rank depth; None for the whole ranking.
    """

    name: str
    family: Family
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def basis(self) -> MeasureBasis:
        """The data that it is computed from."""
        return self.family.basis

    @property
    def depth(self) -> int:
        """The cutoff, for a measure that always has a cutoff."""
        return self.cutoff or DEFAULT_CUTOFF

    @property
    def ranks_passages(self) -> bool:
        """Whether it scores the order of passages, by their values or by the questions that they
        answer.
        """
        return self.basis in ("labels", "intents")

    @property
    def by_query_alone(self) -> bool:
        """Whether a query's score is independent of other queries, gold texts and the pool."""
        return self.ranks_passages or self.basis == "coverage"

    @property
    def takes_judgments(self) -> bool:
        """Whether it can be computed from judgments, not only from answered questions or gold
        texts.
        """
        return self.basis == "labels"

    @property
    def takes_grades(self) -> bool:
        """Whether it can be computed from grades of passages, unlike similarity to gold texts and
        citation support.
        """
        return self.basis not in ("likeness", "citations")

    @property
    def needed_depth(self) -> int | None:
        """Number of passages at the top of a run on which its score depends; None means all."""
        only_top = self.basis == "coverage" or (
            self.cutoff is not None and self.family.name in ("P", "RR", "Judged", "Success")
        )
        return self.depth if only_top else None

    @property
    def takes_min_rating(self) -> bool:
        """Whether its scores from grades depend on the min rating."""
        return self.family.binary if self.basis == "labels" else self.takes_grades


_BOOK = "van Rijsbergen: Information Retrieval, 1979"
_SYSTEMS = "Buckley and Voorhees: Retrieval System Evaluation, 2005"

# Interpolated precision is left out: pytrec_eval's numbers differ from trec_eval's own at some
# levels of recall.
FAMILIES = (
    Family(
        "AP",
        "labels",
        "Mean of the precision at every relevant passage",
        "Harman: TREC-1, 1992",
        (None,),
        True,
    ),
    Family(
        "nDCG",
        "labels",
        "Graded gain discounted by log2 of the rank, as a share of the best possible",
        "Järvelin and Kekäläinen: TOIS 20(4), 2002",
        (None, 10, 20),
    ),
    Family(
        "Rprec",
        "labels",
        "Precision at the rank that equals the number of relevant passages",
        _SYSTEMS,
        (None,),
        True,
    ),
    Family(
        "RR",
        "labels",
        "Reciprocal rank of the first relevant passage",
        "Kantor and Voorhees: TREC-5, 1996",
        (None, 10),
        True,
    ),
    Family(
        "P", "labels", "Share of the top k ranks with a relevant passage", _BOOK, (5, 10, 20), True
    ),
    Family(
        "R",
        "labels",
        "Share of the relevant passages that are in the top k",
        _BOOK,
        (10, 20, 100),
        True,
    ),
    Family("F1", "labels", "Harmonic mean of P and R at the same rank", _BOOK, (5, 10), True),
    Family(
        "Bpref",
        "labels",
        "How rarely judged non-relevant passages precede relevant ones, ignoring unjudged passages",
        "Buckley and Voorhees: SIGIR 2004",
        (None,),
        True,
    ),
    Family(
        "Judged", "labels", "Share of the top k passages that have a value", "trec_eval: unj", (10,)
    ),
    Family(
        "infAP",
        "labels",
        "AP estimated from a sampled pool (-1: not judged)",
        "Yilmaz and Aslam: CIKM 2006",
        binary=True,
    ),
    Family(
        "Success",
        "labels",
        "1 if the top k contain a relevant passage, else 0",
        _SYSTEMS,
        binary=True,
    ),
    Family(
        "SetP", "labels", "Share of all retrieved passages that are relevant", _BOOK, binary=True
    ),
    Family(
        "SetR",
        "labels",
        "Share of the relevant passages that were retrieved at any rank",
        _BOOK,
        binary=True,
    ),
    Family("SetF", "labels", "Weighted harmonic mean of SetP and SetR", _BOOK, binary=True),
    Family("SetAP", "labels", "SetP times SetR", _SYSTEMS, binary=True),
    Family(
        "alpha_nDCG",
        "intents",
        "Gain that shrinks with every repeated answer to the same question,"
        " relative to a greedy ideal",
        "Clarke et al.: SIGIR 2008",
        (10, 20),
    ),
    Family(
        "ERR_IA",
        "intents",
        "Expected reciprocal rank at which a reader stops, averaged over the questions",
        "Chapelle et al.: CIKM 2009",
        (20,),
    ),
    Family(
        "nDCG_IA",
        "intents",
        "nDCG of the passages that answer a question, averaged over the questions",
        "Agrawal et al.: WSDM 2009",
        (20,),
    ),
    Family(
        COVER,
        "coverage",
        "Weight of the questions that the top k passages answer, as a share of all",
        "Farzi and Dietz: exam-plus-plus, equation 1",
        (20,),
    ),
    Family(
        "n-EXAM",
        "share of gold",
        "EXAM-Cover divided by the coverage of the gold passages",
        "Sander and Dietz: original-exam, section 3.1.3",
        (20,),
    ),
    Family(
        f"{COVER}@{{k}}/pool",
        "share of pool",
        "EXAM-Cover divided by the coverage of the whole pool",
        "after original-exam, section 3.1.3",
        (20,),
    ),
    Family(
        "ROUGE-1",
        "likeness",
        "F1 of the words shared by the top k passages and the gold passage",
        "Lin: ROUGE, 2004",
        (20,),
    ),
    Family(
        "chrF",
        "likeness",
        "F-score of the characters shared by the top k passages and the gold passage",
        "Popović: WMT 2015",
        (20,),
    ),
    Family(
        SUPPORT_RECALL,
        "citations",
        "Mean over all sentences of the best weight among their first k citations",
        "after the support task of TREC RAG 2024",
        (None,),
    ),
    Family(
        SUPPORT_PRECISION,
        "citations",
        "Mean weight of the first k citations of each sentence",
        "after the support task of TREC RAG 2024",
        (None,),
    ),
    Family(
        SUPPORTED_COVER,
        "citations",
        "Share of the questions that a sentence with a supporting citation answers",
        "after exam-plus-plus, equation 1",
        (None,),
    ),
)
_FAMILIES = {family.name: family for family in FAMILIES}

# Spellings of families that ir_measures does not know, or only with a cutoff; the first is the
# standard one.
_SPELLINGS = tuple(
    (
        re.compile(pattern.replace("@k", r"(?:@([1-9]\d*))?"), re.IGNORECASE),
        _FAMILIES[name],
        deepest,
    )
    for pattern, name, deepest in (
        ("(?:EXAM-)?Cover@k", COVER, DEEPEST),
        ("n-EXAM@k", "n-EXAM", DEEPEST),
        ("(?:EXAM-)?Cover@k/gold", "n-EXAM", DEEPEST),
        ("(?:EXAM-)?Cover@k/pool", f"{COVER}@{{k}}/pool", DEEPEST),
        ("ROUGE-1@k", "ROUGE-1", DEEPEST),
        ("chrF@k", "chrF", DEEPEST),
        ("(?:alpha|α)_nDCG@k", "alpha_nDCG", MAX_CUTOFF),
        ("ERR_IA@k", "ERR_IA", MAX_CUTOFF),
        ("nDCG_IA@k", "nDCG_IA", MAX_CUTOFF),
        ("F1@k", "F1", MAX_CUTOFF),
        *(
            (f"{name}@k", name, MAX_CUTOFF)
            for name in (SUPPORT_RECALL, SUPPORT_PRECISION, SUPPORTED_COVER)
        ),
    )
)

# trec_eval aborts the whole process on some values out of range, so they must not reach it.
_IN_RANGE: dict[str, Callable[[Any], bool]] = {
    "cutoff": lambda v: type(v) is int and 1 <= v <= MAX_CUTOFF,
    "rel": lambda v: type(v) is int and 1 <= v <= DEEPEST,
    "judged_only": lambda v: type(v) is bool,
    "relative": lambda v: type(v) is bool,
    "beta": lambda v: isinstance(v, float) and 0 < v < math.inf,
    "dcg": lambda v: v == "log2",
}

_OURS = {"Judged": frozenset({"cutoff"}), "RR": frozenset({"cutoff", "rel"})}
"""Measures that this package computes if they have a cutoff, with their allowed parameters."""


def _make_measure(family: Family, cutoff: int | None) -> Measure:
    if cutoff is None:
        return Measure(family.name, family)
    name = family.name.format(k=cutoff) if "{k}" in family.name else f"{family.name}@{cutoff}"
    return Measure(name, family, cutoff)


MEASURES: dict[str, Measure] = {
    str(measure): measure
    for family in FAMILIES
    for measure in (_make_measure(family, cutoff) for cutoff in family.offered)
}
"""The measures that screens and commands offer, by standard name."""


@lru_cache(maxsize=500)
def parse_measure(name: str, cutoff: int = DEFAULT_CUTOFF) -> Measure:
    """Return the measure with a name.

    Args:
        name: a standard name (nDCG@10, EXAM-Cover@20, ROUGE-1@5) or another spelling that
            ir_measures knows (MAP, Recall@10), with any cutoff.
        cutoff: used if the measure always has a cutoff and the name does not state it.

    Returns:
        The measure; its standard name can differ from the argument.

    Raises:
        InputError: an unknown measure, a bad parameter, or a measure that trec_eval cannot compute.
    """
    if len(name) <= 100:
        for pattern, family, deepest in _SPELLINGS:
            if match := pattern.fullmatch(name.strip()):
                if not match[1] and family.basis == "citations":
                    return _make_measure(family, None)
                depth = int(match[1] or cutoff)
                check_in_range(
                    "cutoff-out-of-range",
                    f"The cutoff of '{name[:60]}'",
                    f"Use {deepest:,} or less.",
                    depth <= deepest,
                )
                return _make_measure(family, depth)
    measure = trec_measure(name)
    family = _FAMILIES[str(measure.NAME)]
    return Measure(str(measure), family, measure.params.get("cutoff"))


def trec_measure(name: str) -> Any:
    """Return ir_measures' object for the name of a measure of labels.

    Raises:
        InputError: the measure is unknown, or trec_eval cannot compute it.
    """
    if len(name) > 100:
        raise _unknown_measure(name)
    try:
        measure = ir_measures.parse_measure(name.strip())
        by_trec_eval = _providers["pytrec_eval"].supports(measure)
    except (ValueError, NameError, AssertionError, TypeError, AttributeError) as reason:
        raise _unknown_measure(name) from reason
    family = _FAMILIES.get(str(measure.NAME))
    parameters: dict[str, Any] = measure.params
    # Both are computed here: ir_measures' own Judged is another measure, and trec_eval has no
    # cutoff for RR.
    allowed = _OURS.get(family.name, frozenset()) if family else frozenset()
    ours = "cutoff" in parameters and parameters.keys() <= allowed
    in_range = all(key in _IN_RANGE and _IN_RANGE[key](value) for key, value in parameters.items())
    if family is None or family.basis != "labels" or not (ours or by_trec_eval) or not in_range:
        raise _unknown_measure(name)
    return measure


def _unknown_measure(name: str) -> InputError:
    return InputError(
        "unknown-measure",
        f"Unknown measure '{name[:60]}'.",
        f"Available: {', '.join(MEASURES)}. Other cutoffs work too, as in P@30.",
    )


Qrels = Mapping[str, Mapping[str, int]]
"""query id -> passage id -> relevance value"""

RunScores = Mapping[str, Mapping[str, float]]
"""query id -> passage id -> retrieval score (Python floats)"""

MeasureScores = dict[str, dict[str, float]]
"""measure name -> query id -> score"""


def trec_order(scores: Mapping[str, float], depth: int) -> list[str]:
    """Return the top of a ranking as trec_eval orders it, regardless of the ranks in the run's
    file.

    Args:
        scores: retrieval score by passage id.
        depth: maximum number of passages to return.

    Returns:
        Passage ids by falling score, equal scores by falling passage id. Scores are compared in
        single precision, as in trec_eval (9.0).
    """
    single = np.fromiter(scores.values(), dtype=np.float32, count=len(scores)).tolist()
    # Most rankings are in order already, which makes sorting fast.
    ranked = sorted(zip(single, scores, strict=True), reverse=True)
    return [passage for _, passage in ranked[:depth]]


def make_evaluator(
    measures: Sequence[str], qrels: Qrels, min_rating: int = 1
) -> Callable[[RunScores], MeasureScores]:
    """Read the qrels once, to evaluate many runs on them.

    Args:
        measures: measure names, as `parse_measure` accepts them.
        qrels: relevance values. As in trec_eval, a negative value counts as not judged.
        min_rating: the lowest value that is relevant for binary measures, at least 1. A measure
            with a level in its name, as in P(rel=2)@5, uses that level.

    Returns:
        A function from a run to {standard name: {query id: score}}, for the queries in the qrels
        with at least one passage in the run.

    Raises:
        InputError: a measure is unknown or not computed from qrels, or the min rating is below 1.
    """
    if min_rating < 1:
        raise InputError(
            "min-rating-out-of-range",
            f"Min rating {min_rating} would make every passage relevant.",
            "Use 1 or more.",
        )
    parsed = [parse_measure(name) for name in measures]
    judged: dict[str, int] = {}
    computed: dict[str, tuple[list[Any], Callable[..., float] | None]] = {}
    for measure in parsed:
        if measure.family.name == "Judged" and measure.cutoff is not None:
            judged[measure.name] = measure.cutoff
        else:
            computed[measure.name] = _trec_parts(measure, min_rating)
    needed = dict.fromkeys(part for parts, _ in computed.values() for part in parts)
    usable = {query: _without_crash_case(values) for query, values in qrels.items() if values}
    program: Any = _providers["pytrec_eval"].evaluator(list(needed), usable)

    def evaluate_run(run: RunScores) -> MeasureScores:
        # trec_eval accepts only dictionaries.
        answered = {
            query: scores if type(scores) is dict else dict(scores)
            for query, scores in run.items()
            if scores and query in usable
        }
        by_measure: dict[Any, dict[str, float]] = {}
        # Each part of `program` calls trec_eval once. `program` itself is slower, because it builds
        # a measure's name three times per number. It would also add queries that the run skipped.
        for part in program.invokers:
            numbers = part.evaluator.evaluate(answered)
            for name, (measure, _) in part.measure_map.items():
                by_measure[measure] = {query: scores[name] for query, scores in numbers.items()}
        judged_share = _judged_shares(judged, qrels, answered)
        for name, (parts, combine) in computed.items():
            first, *others = (by_measure[part] for part in parts)
            judged_share[name] = first
            if combine is not None:
                judged_share[name] = {
                    query: combine(score, *(other[query] for other in others))
                    for query, score in first.items()
                }
        return {measure.name: judged_share[measure.name] for measure in parsed}

    return evaluate_run


def _trec_parts(measure: Measure, min_rating: int) -> tuple[list[Any], Callable[..., float] | None]:
    """Return the measures of trec_eval that a measure is computed from, and the function of their
    scores; None for the score of the only one.
    """
    names = [measure.name]
    combine: Callable[..., float] | None = None
    if measure.family.name == "F1":
        names, combine = [f"P@{measure.depth}", f"R@{measure.depth}"], harmonic_mean
    elif measure.family.name == "RR" and measure.cutoff is not None:
        # RR@k is RR if the first relevant passage is among the top k, else 0.
        names, combine = [measure.name.partition("@")[0]], partial(_cut_reciprocal, measure.cutoff)
    parts = [trec_measure(name) for name in names]
    if measure.family.binary:
        parts = [part if "rel" in part.params else part(rel=min_rating) for part in parts]
    return parts, combine


def _cut_reciprocal(cutoff: int, score: float) -> float:
    return score if score >= 1 / cutoff else 0.0


def _without_crash_case(values: Mapping[str, int]) -> dict[str, int]:
    """Return values without a case that crashes trec_eval: a query with only negative values gets
    zeros instead.

    This does not change scores. Such a query has no relevant passages, so every score is 0 in both
    cases.
    """
    lift = max(values.values()) < 0
    return {passage: 0 if lift else int(value) for passage, value in values.items()}


def _judged_shares(cutoffs: Mapping[str, int], qrels: Qrels, run: RunScores) -> MeasureScores:
    """Return Judged@k, with trec_eval's order and its definition of judged.

    ir_measures' own version breaks ties in the opposite direction and counts negative values. For a
    ranking shorter than k, the divisor is its length.
    """
    shares: MeasureScores = {name: {} for name in cutoffs}
    if not cutoffs:
        return shares
    deepest = max(cutoffs.values())
    for query, scores in run.items():
        known = [qrels[query].get(passage, -1) >= 0 for passage in trec_order(scores, deepest)]
        for name, cutoff in cutoffs.items():
            top = known[:cutoff]
            shares[name][query] = sum(top) / len(top)
    return shares
