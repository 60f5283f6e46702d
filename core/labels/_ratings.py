"""The rating that counts for each pair: the override if the policy counts overrides, or else the grade."""

from __future__ import annotations

from ..bank import bank_for
from ..types import ANSWERED, MAX_RATING, SEPARATOR
from ._basis import Basis
from ._rules import parse_cuts


def counted_rating(base: Basis) -> str:
    """Return the rating of a stored grade under the policy's rating rule, as SQL over the columns of `grades`.

    `written` is the grader's own rating. `expected` computes the expected rating under the stored probabilities, and
    counts the cut points that it reaches. The default cut points are .5, 1.5, and so on. The embedding grader uses the
    cosine instead of the expected rating. A grade without probabilities keeps its written rating.
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


def graded(base: Basis) -> str:
    """Return the ratings of the grader, as a subquery over $grader."""
    columns = f"question_text_key, passage_text_key, {counted_rating(base)} AS rating"
    return f"(SELECT {columns} FROM grades WHERE grader_key = $grader)"


def ratings(base: Basis) -> str:
    """Return the rating that counts for each pair of texts, as a subquery over $grader; overrides precede grades."""
    if not base.overridden:
        return graded(base)
    people = overriding(base)
    return (
        f"(FROM {graded(base)} g WHERE NOT EXISTS (SELECT * FROM {people} o WHERE o.question_text_key ="
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
        # A person rates a question, but this grader reads it together with its answer key. So compare only the first
        # part of its texts.
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
