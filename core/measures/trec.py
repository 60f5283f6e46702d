"""Measures of one run against qrels: trec_eval's through ir_measures, and Judged@k here."""

from __future__ import annotations

import heapq
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ir_measures
import numpy as np
from ir_measures.providers import registry as _providers

from core.errors import InputError

Qrels = Mapping[str, Mapping[str, int]]
"""query id -> passage id -> relevance value"""

RunScores = Mapping[str, Mapping[str, float]]
"""query id -> passage id -> retrieval score (Python floats)"""

MeasureScores = dict[str, dict[str, float]]
"""measure name -> query id -> score"""

MAX_CUTOFF = 100_000


@dataclass(frozen=True)
class MeasureInfo:
    """A measure; printed, it is its standard name.

    Args:
        name: standard name, such as nDCG@10.
        description: what it says of one query, one line.
        citation: where it was defined.
        binary: whether it needs to know which passages are relevant, so that min rating matters.
        needs_intents: whether it is computed from answered questions instead of qrels.
        cutoff: rank depth, None where the whole ranking counts.
    """

    name: str
    description: str
    citation: str
    binary: bool = True
    needs_intents: bool = False
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name


_BOOK = "van Rijsbergen: Information Retrieval, 1979"
_SYSTEMS = "Buckley and Voorhees: Retrieval System Evaluation, 2005"

# One row a measure; parameters such as the cutoff come from the name that was asked for. Interpolated
# precision is left out: pytrec_eval's numbers differ from trec_eval's own at some levels of recall.
_ROWS = (
    MeasureInfo("AP", "Mean of the precision at every relevant passage", "Harman: TREC-1, 1992"),
    MeasureInfo(
        "nDCG",
        "Graded gain discounted by log2 of the rank, as a share of the best possible",
        "Järvelin and Kekäläinen: TOIS 20(4), 2002",
        binary=False,
    ),
    MeasureInfo("Rprec", "Precision at the rank that equals the number of relevant passages", _SYSTEMS),
    MeasureInfo("RR", "One over the rank of the first relevant passage", "Kantor and Voorhees: TREC-5, 1996"),
    MeasureInfo("P", "Share of the top k ranks that hold a relevant passage", _BOOK),
    MeasureInfo("R", "Share of the relevant passages that are in the top k", _BOOK),
    MeasureInfo(
        "Bpref",
        "How seldom judged non-relevant passages precede relevant ones; unjudged ones do not count",
        "Buckley and Voorhees: SIGIR 2004",
    ),
    MeasureInfo("Judged", "Share of the top k passages that have a value", "trec_eval: unj", binary=False),
    MeasureInfo(
        "alpha_nDCG",
        "Gain that falls with every repeated answer to the same question, as a share of a greedy ideal",
        "Clarke et al.: SIGIR 2008",
        binary=False,
        needs_intents=True,
    ),
    MeasureInfo(
        "ERR_IA",
        "Chance-weighted reciprocal rank at which a reader's question is answered, averaged over the questions",
        "Chapelle et al.: CIKM 2009",
        binary=False,
        needs_intents=True,
    ),
    MeasureInfo(
        "nDCG_IA",
        "nDCG of the passages that answer a question, averaged over the questions",
        "Agrawal et al.: WSDM 2009",
        binary=False,
        needs_intents=True,
    ),
    MeasureInfo("infAP", "AP estimated from a sampled pool (-1: not judged)", "Yilmaz and Aslam: CIKM 2006"),
    MeasureInfo("Success", "1 where the top k hold a relevant passage, else 0", _SYSTEMS),
    MeasureInfo("SetP", "Share of all retrieved passages that are relevant", _BOOK),
    MeasureInfo("SetR", "Share of the relevant passages that were retrieved at any rank", _BOOK),
    MeasureInfo("SetF", "Weighted harmonic mean of SetP and SetR", _BOOK),
    MeasureInfo("SetAP", "SetP times SetR", _SYSTEMS),
)
_FAMILIES = {row.name: row for row in _ROWS}
_OURS = {"Judged", *(row.name for row in _ROWS if row.needs_intents)}

_STANDARD_NAMES = (
    "AP", "nDCG", "nDCG@10", "nDCG@20", "Rprec", "RR", "P@5", "P@10", "P@20", "R@10", "R@20", "R@100",
    "Bpref", "Judged@10", "alpha_nDCG@10", "alpha_nDCG@20", "ERR_IA@20", "nDCG_IA@20",
)  # fmt: skip

# trec_eval aborts the whole process on some values out of range, so none may reach it.
_IN_RANGE: dict[str, Callable[[Any], bool]] = {
    "cutoff": lambda v: type(v) is int and 1 <= v <= MAX_CUTOFF,
    "rel": lambda v: type(v) is int and v >= 1,
    "judged_only": lambda v: type(v) is bool,
    "relative": lambda v: type(v) is bool,
    "beta": lambda v: isinstance(v, float) and 0 < v < math.inf,
    "dcg": lambda v: v == "log2",
}


def parse_measure(name: str) -> MeasureInfo:
    """Find the measure that a name stands for.

    Args:
        name: a standard name (nDCG@10) or another spelling that ir_measures knows (MAP, Recall@10),
            with any cutoff.

    Returns:
        The measure; its `name` is the standard name, which can differ from the argument.

    Raises:
        InputError: no such measure, a bad parameter, or one that trec_eval cannot compute.
    """
    return _parse(name)[0]


def _parse(name: str) -> tuple[MeasureInfo, Any]:
    """The measure of a name, and ir_measures' object for it."""
    unknown = InputError(
        f"'{name[:60]}' is not a measure that the workbench can compute.",
        f"Known are {', '.join(_STANDARD_NAMES)}; another cutoff works too, as in P@30.",
    )
    if len(name) > 100:
        raise unknown
    # ir_measures has no such measure.
    if (own := re.fullmatch(r"nDCG_IA@([1-9]\d*)", name.strip())) and int(own[1]) <= MAX_CUTOFF:
        return replace(_FAMILIES["nDCG_IA"], name=own[0], cutoff=int(own[1])), None
    try:
        measure = ir_measures.parse_measure(name.strip())
        by_trec_eval = _providers["pytrec_eval"].supports(measure)
    except (ValueError, NameError, AssertionError, TypeError, AttributeError) as reason:
        raise unknown from reason
    family = _FAMILIES.get(str(measure.NAME))
    parameters: dict[str, Any] = measure.params
    ours = family is not None and family.name in _OURS and set(parameters) == {"cutoff"}
    in_range = all(key in _IN_RANGE and _IN_RANGE[key](value) for key, value in parameters.items())
    if family is None or not (ours or by_trec_eval) or not in_range:
        raise unknown
    return replace(family, name=str(measure), cutoff=parameters.get("cutoff")), measure


MEASURES: dict[str, MeasureInfo] = {name: parse_measure(name) for name in _STANDARD_NAMES}
"""The measures that screens and commands offer, by standard name."""


def trec_order(scores: Mapping[str, float], depth: int) -> list[str]:
    """The top of a ranking as trec_eval sees it, whatever rank the run's file claims.

    Args:
        scores: retrieval score by passage id.
        depth: how many passages to return at most.

    Returns:
        Passage ids by falling score, equal scores by falling passage id. Scores that are equal in
        single precision are equal, since trec_eval (9.0) stores them so.
    """
    single = np.fromiter(scores.values(), dtype=np.float32, count=len(scores)).tolist()
    return [passage for _, passage in heapq.nlargest(depth, zip(single, scores, strict=True))]


def make_evaluator(measures: Sequence[str], qrels: Qrels, min_rating: int = 1) -> Callable[[RunScores], MeasureScores]:
    """Read the qrels once, to evaluate many runs on them.

    Args:
        measures: measure names, as `parse_measure` takes them.
        qrels: relevance values. As in trec_eval, a negative value counts as not judged.
        min_rating: the lowest value that is relevant for binary measures, at least 1. A measure
            whose name says its own level, as in P(rel=2)@5, keeps it.

    Returns:
        A function from a run to {standard name: {query id: score}} over the queries that are both
        in the qrels and answered by the run (with at least one passage).

    Raises:
        InputError: an unknown measure, one that needs intents, or a min rating below 1.
    """
    if min_rating < 1:
        raise InputError(f"A min rating of {min_rating} would make every passage relevant.", "Use 1 or more.")
    trec: dict[str, Any] = {}
    judged: dict[str, int] = {}
    names: list[str] = []
    for name in measures:
        info, measure = _parse(name)
        if info.needs_intents:
            raise InputError(f"{info} is computed from answered questions, not from qrels.")
        names.append(info.name)
        if measure.NAME == "Judged" and info.cutoff is not None:
            judged[info.name] = info.cutoff
        elif info.binary and "rel" not in measure.params:
            trec[info.name] = measure(rel=min_rating)
        else:
            trec[info.name] = measure
    usable = {query: _harmless(values) for query, values in qrels.items() if values}
    program = _providers["pytrec_eval"].evaluator(list(dict.fromkeys(trec.values())), usable)

    def evaluate_run(run: RunScores) -> MeasureScores:
        answered = {query: dict(scores) for query, scores in run.items() if scores and query in usable}
        by_measure: dict[Any, dict[str, float]] = {measure: {} for measure in trec.values()}
        for metric in program.iter_calc(answered):
            # ir_measures also reports its default for queries that the run skipped.
            if metric.query_id in answered:
                by_measure[metric.measure][metric.query_id] = metric.value
        shares = _judged_shares(judged, qrels, answered)
        return {name: by_measure[trec[name]] if name in trec else shares[name] for name in names}

    return evaluate_run


def evaluate(measures: Sequence[str], qrels: Qrels, run: RunScores, min_rating: int = 1) -> MeasureScores:
    """Evaluate one run; for several runs on the same qrels use `make_evaluator`.

    Args, returns, raises: as there.
    """
    return make_evaluator(measures, qrels, min_rating)(run)


def _harmless(values: Mapping[str, int]) -> dict[str, int]:
    """A copy that trec_eval survives: it crashes where all values of a query are negative.

    Nothing is relevant in such a query, so that every score is 0 with zeros in their place, too.
    """
    lift = max(values.values()) < 0
    return {passage: 0 if lift else int(value) for passage, value in values.items()}


def _judged_shares(cutoffs: Mapping[str, int], qrels: Qrels, run: RunScores) -> MeasureScores:
    """Judged@k, with trec_eval's order and its sense of judged.

    ir_measures' own breaks ties the other way round and counts negative values. A ranking shorter
    than k is measured at its length.
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
