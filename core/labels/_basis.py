"""The basis of every score: a policy, its rules and resolved names, and the ratings that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bank import StoredGrader, bank_for, check_version, find_grader
from ..errors import InputError
from ..store import Project, as_act
from ..types import ANSWERED, MAX_RATING, MAX_WEIGHT, SEPARATOR, Question
from ._policy import LabelRule, Policy, parse_cuts

MISSING = -1
"""Value for a pair without a usable grade, and for a passage without a label."""

Ratings = NDArray[np.int8]

HALF = 0.5 + 1e-9
"""Added to a mean before it is rounded down, because sums of decimal weights can be slightly below
an exact half.
"""


def weight_sql(weighted: bool) -> str:
    """Return the weight that counts, as SQL over a column `weight`.

    Weights beyond the bound count as the bound, so that sums stay finite. Such weights occur in
    projects that are older than the check at import.
    """
    return f"least(greatest(weight, {-MAX_WEIGHT}), {MAX_WEIGHT})" if weighted else "sign(weight)"


def weights_of(questions: Sequence[Question], weighted: bool) -> NDArray[np.float64]:
    """Return the weights of questions that count, with the bounds of `weight_sql`."""
    return weights_that_count(
        np.array([question.weight for question in questions], float), weighted
    )


def weights_that_count(bank_weights: NDArray[np.float64], weighted: bool) -> NDArray[np.float64]:
    """Return the weights that count for given weights of the bank."""
    weights: NDArray[np.float64] = np.clip(bank_weights, -MAX_WEIGHT, MAX_WEIGHT)
    return weights if weighted else np.sign(weights)


def label_sql(rule: LabelRule, weighted: bool = True) -> str:
    """Return the label of one passage as an SQL aggregate over the rows of its pairs.

    Only questions of positive weight count. So an "avoid" question never raises a label, and weight
    0 excludes a question. A passage without a usable rating has no label (NULL).
    """
    usable = "rating IS NOT NULL AND weight > 0"
    if rule.kind == "max":
        return "max(rating) FILTER (weight > 0)"
    if rule.kind == "mean":
        weight = weight_sql(weighted)
        return (
            f"floor(sum({weight} * rating) FILTER ({usable}) / sum({weight}) FILTER ({usable}) +"
            f" {HALF})::TINYINT"
        )
    levels = " ".join(
        f"WHEN count(*) FILTER (rating >= {level} AND weight > 0) >= {rule.support} THEN {level}"
        for level in range(MAX_RATING, 0, -1)
    )
    return f"(CASE WHEN count(*) FILTER ({usable}) = 0 THEN NULL {levels} ELSE 0 END)::TINYINT"


def labels_of(ratings: Ratings, weights: NDArray[np.float64], rule: LabelRule) -> Ratings:
    """Return the label of each passage, by the same rules as `label_sql`.

    Args:
        ratings: p x r.
        weights: r weights; only questions of positive weight count.

    Returns:
        p labels, MISSING if no question of positive weight has a usable grade.
    """
    ratings, weights = ratings[:, weights > 0], weights[weights > 0]
    usable = ratings != MISSING
    none = ~usable.any(axis=1)
    if rule.kind == "mean":
        given = np.where(usable, ratings, 0)
        total = (usable * weights).sum(axis=1)
        mean = (given * weights).sum(axis=1) / np.where(none, 1.0, total)
        labels: Ratings = np.floor(mean + HALF).astype(np.int8)
    elif rule.kind == "max":
        labels = ratings.max(axis=1, initial=MISSING)
    else:
        labels = np.zeros(len(ratings), np.int8)
        for level in range(1, MAX_RATING + 1):
            labels[(ratings >= level).sum(axis=1) >= rule.support] = level
    labels[none] = MISSING
    return labels


def coverage_of(
    ratings: Ratings, weights: NDArray[np.float64], top: Sequence[int], tau: int
) -> float:
    """Return EXAM-Cover of one ranking, by the same definition as `labels.coverage_scores`.

    Args:
        ratings: p x r.
        weights: r weights, at least one above 0.
        top: rows of the passages down to the cutoff.
        tau: min rating.

    Returns:
        Between 0 and 1.
    """
    answered = ratings[list(top)].max(axis=0, initial=MISSING) >= tau
    return float(covered_shares(answered[:, None], weights)[0])


def covered_shares(
    answered: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the answered questions over the positive weight of all, never below 0.

    Sums run from the least weight to the greatest, so that the result is exactly equal for any
    order of the questions.

    Args:
        answered: r questions x n.
        weights: r weights, at least one above 0.

    Returns:
        n shares.
    """
    order = np.argsort(weights)
    weights = weights[order]
    # Cumulative sums add one after another. A sum along an axis would add in an order that depends
    # on the shape.
    total = np.cumsum(weights[weights > 0])[-1]
    gained = np.cumsum(np.where(answered[order], weights[:, None], 0.0), axis=0)[-1]
    shares: NDArray[np.float64] = np.maximum(0.0, gained / total)
    return shares


@dataclass(frozen=True)
class Basis:
    """A policy with resolved names: the input of every score.

    Args:
        policy: the policy with the effective min rating, which is on the grader's own scale.
        overridden: whether the project has overrides and the policy counts them.
    """

    policy: Policy
    grader: StoredGrader
    version: int
    overridden: bool

    @property
    def min_rating(self) -> int:
        """The effective min rating."""
        return self.policy.min_rating

    @property
    def key(self) -> tuple[object, ...]:
        """A cache key for labels: all settings that determine them."""
        return (*self.rated, self.version, self.policy.label, self.policy.weighted, self.overridden)

    @property
    def rated(self) -> tuple[int, str]:
        """A cache key for the grader's ratings: all settings that determine them."""
        return self.grader.key, self.policy.rating

    @property
    def label_sql(self) -> str:
        """The label of one passage as an SQL aggregate over the rows of its pairs."""
        return label_sql(self.policy.rule, self.policy.weighted)

    @property
    def parameters(self) -> dict[str, Any]:
        """The values of the SQL parameters $version and $grader."""
        return {"version": self.version, "grader": self.grader.key}


@as_act("see boards")
def check_rating_rule(project: Project, grader: StoredGrader, rule: str) -> None:
    """Refuse a rating rule that the stored grades of a grader do not allow.

    Raises:
        InputError: the grader has no probabilities, or the rule does not have a cut point for each
            rating above 0.
    """
    cuts = parse_cuts(rule)
    if cuts is None:
        return
    top = grader.spec.max_rating
    embedding = grader.spec.method == "embedding"
    if (cuts or embedding) and len(cuts) != top:
        raise InputError(
            "wrong-number-of-cut-points",
            f"Rating rule '{rule}' has {len(cuts)} cut points; grader"
            f" '{grader.spec.name}' needs {top}.",
            f"Give one cut point for each rating from 1 to {top}, such as expected:"
            + ",".join(f"{0.3 + 0.1 * i:.1f}" if embedding else f"{i + 0.5}" for i in range(top))
            + ".",
        )
    if not embedding and not project.value(
        "SELECT EXISTS (FROM grades WHERE grader_key = ? AND distribution IS NOT NULL)",
        [grader.key],
    ):
        raise InputError(
            "no-probabilities",
            f"Grader '{grader.spec.name}' stored no probabilities of ratings.",
            "Use --rating-rule written, or a grader with probabilities: a local model, or an"
            " endpoint with logprobs.",
        )


@as_act("see boards")
def basis(project: Project, policy: Policy) -> Basis:
    """Return a policy with its grader and bank version resolved.

    Raises:
        InputError: unknown grader or version.
    """
    grader = find_grader(project, policy.grader)
    if grader.spec.rates_citations:
        raise InputError(
            "grader-of-citations",
            f"Grader '{grader.spec.name}' rates citations, not passages.",
            "Choose another grader (--grader), or see exam support show.",
        )
    # The question of a direct grader is the query itself, while an override belongs to a question.
    overridden = (
        policy.overrides
        and grader.spec.method != "direct"
        and bool(project.value("SELECT count(*) FROM current_overrides"))
    )
    check_rating_rule(project, grader, policy.rating)
    effective = replace(policy, min_rating=grader.spec.min_rating(policy.min_rating))
    return Basis(effective, grader, check_version(project, policy.bank_version), overridden)


def counted_rating(base: Basis) -> str:
    """Return the rating of a stored grade under the policy's rating rule, as SQL over the columns
    of `grades`.

    `written` is the grader's own rating. `expected` computes the expected rating under the stored
    probabilities, and counts the cut points that it reaches. The default cut points are .5, 1.5,
    and so on. The embedding grader uses the cosine instead of the expected rating. A grade without
    probabilities keeps its written rating.
    """
    cuts = parse_cuts(base.policy.rating)
    if cuts is None:
        return "rating"
    if base.grader.spec.method == "embedding":
        value = "try_cast(raw AS DOUBLE)"
    else:
        # DuckDB counts the elements of a list from 1.
        weighed = "list_sum(list_transform(distribution, lambda p, i: p::DOUBLE * (i - 1)))"
        value = f"round({weighed} / nullif(list_sum(distribution), 0), 4)"
    halves = [rating + 0.5 for rating in range(base.grader.spec.max_rating)]
    reached = [f"({value} >= {cut!r})::TINYINT" for cut in cuts or halves]
    return f"coalesce({' + '.join(reached)}, rating)::TINYINT"


def graded_sql(base: Basis) -> str:
    """Return the ratings of the grader, as a subquery over $grader."""
    columns = f"question_text_key, passage_text_key, {counted_rating(base)} AS rating"
    return f"(SELECT {columns} FROM grades WHERE grader_key = $grader)"


def ratings(base: Basis) -> str:
    """Return the rating that counts for each pair of texts, as a subquery over $grader; overrides
    precede grades.
    """
    if not base.overridden:
        return graded_sql(base)
    people = overriding_sql(base)
    return (
        f"(FROM {graded_sql(base)} g"
        f" WHERE NOT EXISTS (SELECT * FROM {people} o WHERE o.question_text_key ="
        " g.question_text_key AND o.passage_text_key = g.passage_text_key)"
        f" UNION ALL FROM {people})"
    )


def overriding_sql(base: Basis) -> str:
    """Return people's ratings of pairs of texts on the grader's scale, as a subquery with the
    columns of `ratings`.
    """
    top = base.grader.spec.max_rating
    # The same as `GraderSpec.on_scale`.
    rating_sql = (
        "rating"
        if top == MAX_RATING
        else f"least({top:d}, rating * {top:d} // {ANSWERED})::TINYINT AS rating"
    )
    people = f"(SELECT question_text_key, passage_text_key, {rating_sql} FROM current_overrides)"
    if base.grader.spec.reads:
        # A person rates a question, but this grader reads it together with its answer key. So
        # compare only the first part of its texts.
        separator = f"chr({ord(SEPARATOR)})"
        people = (
            f"(SELECT a.text_key AS question_text_key, passage_text_key, {rating_sql}"
            " FROM current_overrides o"
            " JOIN question_texts t ON t.text_key = o.question_text_key JOIN question_texts a"
            f" ON contains(a.text, {separator}) AND split_part(a.text, {separator}, 1) = t.text)"
        )
    return people


def graded_pairs(base: Basis) -> str:
    """Return every needed pair with the rating that counts, as a query over $version and $grader.

    Its columns are query_key, passage_key, position, question_key, weight, rating (NULL without a
    usable grade).
    """
    return (
        "SELECT p.query_key, p.passage_key, p.position, b.question_key, b.weight, g.rating"
        f" FROM pool p JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        f" LEFT JOIN {ratings(base)} g ON g.question_text_key = b.text_key"
        " AND g.passage_text_key = p.text_key"
    )
