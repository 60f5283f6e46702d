"""The rating that counts for each pair: a person's override before the grader's grade, if the policy counts
overrides."""

from __future__ import annotations

from ..bank import bank_for
from ..types import ANSWERED, MAX_RATING, SEPARATOR
from .basis import Basis

GRADED = "(SELECT question_text_key, passage_text_key, rating FROM grades WHERE grader_key = $grader)"
"""The grades of a grader, as a subquery over $grader."""


def ratings(base: Basis) -> str:
    """Return the rating that counts for each pair of texts, as a subquery over $grader: a person's before the
    grader's."""
    if not base.overridden:
        return GRADED
    people = overriding(base)
    return (
        f"(FROM {GRADED} g WHERE NOT EXISTS (SELECT * FROM {people} o WHERE o.question_text_key ="
        " g.question_text_key AND o.passage_text_key = g.passage_text_key)"
        f" UNION ALL FROM {people})"
    )


def overriding(base: Basis) -> str:
    """Return people's ratings of pairs of texts on the grader's scale, as a subquery with the columns of `ratings`."""
    top = base.grader.spec.max_rating
    # The same as `GraderSpec.on_scale`.
    given = "rating" if top == MAX_RATING else f"least({top:d}, rating * {top:d} // {ANSWERED})::TINYINT AS rating"
    people = f"(SELECT question_text_key, passage_text_key, {given} FROM current_overrides)"
    if base.grader.spec.reads:
        # A person rates the question; this grader is asked the question together with its answer key.
        separator = f"chr({ord(SEPARATOR)})"
        people = (
            f"(SELECT a.text_key AS question_text_key, passage_text_key, {given} FROM current_overrides o"
            " JOIN question_texts t ON t.text_key = o.question_text_key JOIN question_texts a"
            f" ON contains(a.text, {separator}) AND split_part(a.text, {separator}, 1) = t.text)"
        )
    return people


def graded_pairs(base: Basis) -> str:
    """Return every needed pair with the rating that counts, as a query over $version and $grader.

    Its columns are query_key, passage_key, position, question_key, weight, rating (NULL without a usable grade).
    """
    return (
        "SELECT p.query_key, p.passage_key, p.position, b.question_key, b.weight, g.rating"
        f" FROM pool p JOIN {bank_for(base.grader.spec)} b USING (query_key)"
        f" LEFT JOIN {ratings(base)} g ON g.question_text_key = b.text_key AND g.passage_text_key = p.text_key"
    )
