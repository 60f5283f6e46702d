"""Preview of the effect of an override on a disagreement."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ...labels import Policy
from ...measures import matching
from ...store import Project
from .._passages.passage_details import label_with, read_passage
from .disagreement_queue import Giving
from .label_agreement import Pair
from .sides import Labels, Person, Side, match


@dataclass(frozen=True)
class Outcome:
    """The effect of an override on a pair.

    Args:
        before, after: the label under the policy, without and with the override; None for no label.
        also: other questions that also support the label `after`, highest rating first.
        left, right: the new values of the sides; None for a side without a label.
        agrees: whether the sides would then agree.
    """

    before: int | None
    after: int | None
    also: tuple[Giving, ...]
    left: int | None
    right: int | None
    agrees: bool


def outcome(
    project: Project,
    left: Side,
    right: Side,
    pair: Pair,
    policy: Policy,
    question_ids: Collection[str],
    rating: int,
    author: str,
) -> Outcome:
    """Return the effect of a planned override on a pair, without storing it.

    Args:
        policy: the policy of the label.
        question_ids: the questions that all get the rating.
        author: the author of the override. If the author is a side, the rating is the new value of this side.

    Raises:
        InputError: as for `review.agreement` and `review.read_passage`.
    """
    found = match(project, left, right)

    def says(side: Side, value: int) -> int | None:
        if isinstance(side, Person):
            return rating if side.author == author and pair.question_id in question_ids else value
        # A grader's value stays if overrides do not count, or if the other side is a person.
        if not isinstance(side, Labels) or not side.policy.overrides or pair.question_id is not None:
            return value
        desk = read_passage(project, side.policy, pair.query_id, pair.passage_id)
        return label_with(project, side.policy, desk, dict.fromkeys(question_ids, rating))

    values = says(left, pair.left), says(right, pair.right)
    same = matching(found.left.scale, found.right.scale)
    desk = read_passage(project, policy, pair.query_id, pair.passage_id)
    after = label_with(project, policy, desk, dict.fromkeys(question_ids, rating))
    others = [
        Giving(one.question.question_id, one.question.shown, one.rating)
        for one in desk.asked
        if after and policy.label != "mean" and one.counts and one.question.weight > 0
        if one.question.question_id not in question_ids and one.rating is not None and one.rating >= after
    ]
    also = tuple(sorted(others, key=lambda one: -one.rating))
    agrees = values[0] is not None and values[1] in same.get(values[0], ())
    return Outcome(desk.label, after, also, *values, agrees)
