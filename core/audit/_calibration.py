"""Calibration of labels by an audit's judgments: the meaning of each label, and proposed min
ratings and cut points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..bank import save_named_grader
from ..errors import InputError
from ..labels import basis, graded_pairs
from ..measures.audit import (
    LabelMeaning,
    Quality,
    Threshold,
    balanced_threshold,
    batch_shares,
    combined_weights,
    cut_points,
    estimate_quality,
    label_meanings,
    quality_by_threshold,
)
from ..store import Project
from ..types import MAX_RATING
from ._audit_data import AuditNumbers, Estimation, Values, estimate_gains, gather_facts
from ._audit_records import Audit

LEAST_STEP = 0.005
"""Minimum distance of neighbouring cut points."""
LOWEST_SHARE = 0.05
"""Share of the pool below the lowest cut point. It can differ if the other cut points leave no
room.
"""


@dataclass(frozen=True)
class Calibration:
    """Proposals from an audit's judgments. They have no effect until a person accepts them.

    Args:
        quality: accuracy of the current labels.
        meanings: people's judgments by rising label.
        min_rating: the policy's min rating.
        min_ratings: accuracy for every possible min rating.
        balanced: the min rating with the smallest difference of precision and recall; None if
            undefined.
        cuts: current cut points of the embedding grader; empty for another grader.
        new_cuts: cut points fitted to the judgments: the min rating begins at the similarity that
            separates relevant judgments. Empty if they cannot be fitted.
        why_no_cuts: why cut points cannot be fitted, as a sentence; empty if they can.
    """

    quality: Quality
    meanings: list[LabelMeaning]
    min_rating: int
    min_ratings: list[Threshold]
    balanced: int | None
    cuts: tuple[float, ...] = ()
    new_cuts: tuple[float, ...] = ()
    why_no_cuts: str = field(default="")


def label_quality(facts: AuditNumbers, estimated: Estimation | None) -> Quality | None:
    """Return the accuracy of the labels; None before a batch is done, or if no judged passage has a
    label.
    """
    sample = _judged_sample(facts, estimated)
    if sample is None:
        return None
    return estimate_quality(
        facts.labels,
        *sample,
        label_from=facts.min_rating,
        judgment_from=facts.min_judgment,
        confidence=1 - facts.alpha,
    )


def _judged_sample(
    facts: AuditNumbers, estimated: Estimation | None
) -> tuple[Values, Values, Values] | None:
    """Return judgments, their weights, and their contributions to variances; None if no judged
    passage has a label.
    """
    if estimated is None:
        return None
    weight, spread = combined_weights(
        estimated.batches, batch_shares(estimated.planned[: len(estimated.batches)])
    )
    judged = np.where(weight > 0, facts.judged, np.nan)
    if not (~np.isnan(judged) & ~np.isnan(facts.labels)).any():
        return None
    return judged, weight, spread


def calibrate_labels(project: Project, audit: Audit) -> Calibration:
    """Return the calibration of a grader's labels by the judgments of its audit.

    Raises:
        InputError: no judged passage of a finished batch has a label.
    """
    facts = gather_facts(project, audit)
    found = estimate_gains(facts)
    sample, now = _judged_sample(facts, found), label_quality(facts, found)
    if sample is None or now is None:
        raise InputError(
            "no-judged-labels",
            "No finished batch has a judged passage with a label.",
            "Finish judging a batch first.",
        )
    confidence = 1 - facts.alpha
    levels = [float(value) for value in range(facts.top_judgment + 1)]
    judged, weight, _ = sample
    # A judgment below 0 is not relevant, as 0 is.
    sample = (np.maximum(judged, 0.0), weight, sample[2])
    meant = label_meanings(facts.labels, *sample, levels, confidence)
    tried = quality_by_threshold(
        facts.labels, *sample, judgment_from=facts.min_judgment, confidence=confidence
    )
    even = balanced_threshold(tried)
    cuts, new_cuts, why = _find_cuts(project, audit, facts, sample[0], weight)
    balance = None if even is None else even.rating
    return Calibration(now, meant, facts.min_rating, tried, balance, cuts, new_cuts, why)


def _find_cuts(
    project: Project, audit: Audit, facts: AuditNumbers, judged: Values, weight: Values
) -> tuple[tuple[float, ...], tuple[float, ...], str]:
    spec = basis(project, audit.policy).grader.spec
    if spec.method != "embedding":
        return (), (), "Only the embedding grader has cut points."
    now = tuple(float(cut) for cut in spec.parameters.get("cuts", ()))
    cosines = _highest_cosines(project, audit, facts)
    levels = [float(value) for value in range(max(1, facts.min_judgment), facts.top_judgment + 1)]
    if not levels or np.isnan(cosines).all() or not (~np.isnan(cosines) & ~np.isnan(judged)).any():
        return now, (), "No passage with a similarity was judged."
    cuts = cut_points(cosines, judged, weight, levels)
    if not np.isfinite(cuts[0]):
        return now, (), "No passage was judged relevant, or similarity does not predict relevance."
    fitted = rating_cuts(cuts, facts.min_rating, cosines[~np.isnan(cosines)])
    return (
        now,
        fitted,
        "" if fitted else "The fitted cut points are outside the range of similarities.",
    )


def rating_cuts(by_level: Sequence[float], min_rating: int, cosines: Values) -> tuple[float, ...]:
    """Return five cut points of ratings from the cut points of judgments.

    The cut point of the min rating is the cut point of the first relevant judgment. So a label
    counts as relevant from exactly this similarity. The cut points of higher ratings are spread
    evenly up to the highest finite cut point. The cut points of lower ratings are spread evenly
    down to the `LOWEST_SHARE` quantile of similarities.

    Args:
        by_level: cut points of the relevant judgments, rising or equal; infinite if unknown.
        min_rating: 1 to 5.
        cosines: similarities of the pool, for the lowest cut point.

    Returns:
        Five rising numbers rounded to four decimals, between -1 and 1; empty without room for them.
    """
    relevant = by_level[0]
    highest = max((cut for cut in by_level if np.isfinite(cut)), default=relevant)
    above, below = MAX_RATING - min_rating, min_rating - 1
    top = max(highest, relevant + above * LEAST_STEP)
    lowest = min(float(np.quantile(cosines, LOWEST_SHARE)), relevant - below * LEAST_STEP)
    cuts = [
        *(np.linspace(lowest, relevant, below + 1)[:-1].tolist() if below else []),
        relevant,
        *(np.linspace(relevant, top, above + 1)[1:].tolist() if above else []),
    ]
    rounded = tuple(round(float(cut), 4) for cut in cuts)
    rising = all(one < other for one, other in pairwise(rounded))
    return rounded if rising and rounded[0] > -1 and rounded[-1] < 1 else ()


def _highest_cosines(project: Project, audit: Audit, facts: AuditNumbers) -> Values:
    """Return each passage's highest similarity to a question of its query, as the embedding grader
    stored it.
    """
    base = basis(project, audit.policy)
    rows = project.rows(
        f"SELECT query_id, passage_id, max(try_cast(g.raw AS DOUBLE)) FROM ({graded_pairs(base)}) n"
        " JOIN question_revisions r ON r.question_key = n.question_key"
        " AND r.version = (SELECT max(version) FROM"
        "  question_revisions o WHERE o.question_key = n.question_key AND o.version <= $version)"
        " JOIN passages p USING (passage_key) JOIN queries USING (query_key) JOIN grades g ON"
        " g.grader_key = $grader AND g.question_text_key = r.text_key"
        " AND g.passage_text_key = p.text_key WHERE n.weight > 0 GROUP BY ALL",
        base.parameters,
    )
    known = {(query, passage): cosine for query, passage, cosine in rows}
    return np.array([known.get(item) for item in facts.weights.items], float)


def accept_cut_points(project: Project, audit: Audit, name: str, author: str) -> tuple[float, ...]:
    """Save the embedding grader with the proposed cut points as a new grader, without grades, under
    a new name.

    Returns:
        The cut points.

    Raises:
        InputError: no cut points are proposed, or another grader already has this name.
    """
    calibrated = calibrate_labels(project, audit)
    if not calibrated.new_cuts:
        raise InputError(
            "no-cut-points",
            f"No cut points to accept. {calibrated.why_no_cuts}",
            "Judge more passages, or keep the grader.",
        )
    save_named_grader(project, name, "embedding", {"cuts": list(calibrated.new_cuts)}, author)
    return calibrated.new_cuts
