"""The two sides of an agreement (labels, judgments, or a person's ratings), and the matching of their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from ...bank import latest_version
from ...errors import InputError, unknown_name
from ...labels import Basis, Policy, basis, graded_pairs, labels
from ...records import PREFIX, SCALE, blind_judgments, find_source, sources, visible
from ...store import Project
from ...types import RATINGS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Labels:
    """The labels under a policy. If the other side is a person, the grader's own ratings of questions are used."""

    policy: Policy


@dataclass(frozen=True)
class Judgments:
    """The judgments of a source; `judgments` means the first one. See `Rater` for `threshold`.

    With `blind`, these are the first blind judgments of an assessor, see `project.blind_judgments`.
    """

    source: str = "judgments"
    threshold: int = 1
    blind: bool = False


@dataclass(frozen=True)
class Person:
    """The ratings that a person gave in overrides. See `Rater` for `threshold`."""

    author: str
    threshold: int = 4


Side: TypeAlias = Labels | Judgments | Person


def machine(policy: Policy, grader: str | None = None) -> Labels:
    """Return a grader's own labels, without overrides.

    Use it to compare two graders: overrides apply to both and would count as agreement.

    Args:
        grader: name of the grader; None for the policy's grader.
    """
    return Labels(replace(policy, grader=grader or policy.grader, overrides=False))


def people(project: Project) -> list[str]:
    """Return the names of all people with an override that is not withdrawn."""
    return [
        author
        for (author,) in project.rows(
            f"SELECT DISTINCT author FROM {visible(project, 'overrides')} WHERE withdrawn_at IS NULL ORDER BY 1"
        )
    ]


@dataclass(frozen=True)
class Rater:
    """A side with its names resolved.

    Args:
        noun: the kind of its values: label, judgment or rating.
        owner: name of the grader, the source or the person.
        scale: all possible values, highest first.
        threshold: the value from which a passage counts as relevant, or a question as answered.
        by_itself: whether the side is a grader's labels without overrides.
    """

    noun: str
    owner: str
    scale: tuple[int, ...]
    threshold: int
    by_itself: bool = False

    def __str__(self) -> str:
        # The default name of a source of judgments is judgments.
        return self.owner if self.owner == f"{self.noun}s" else f"{self.noun}s of {self.owner}"


@dataclass(frozen=True, eq=False)
class Matched:
    """The values of two sides for the same things.

    Args:
        pairs: a row for each pair that both sides have, in the order of the left side: query_id, passage_id, left,
            right, and question_id if a side is a person.
        left_only, right_only: by query id, the number of pairs that only this side has.
    """

    left: Rater
    right: Rater
    pairs: pd.DataFrame
    left_only: Mapping[str, int]
    right_only: Mapping[str, int]

    def of(self, queries: Collection[str] | None) -> pd.DataFrame:
        """Return the pairs of some queries; all for None."""
        return self.pairs if queries is None else self.pairs[self.pairs["query_id"].isin(list(queries))]


Values: TypeAlias = "tuple[pd.DataFrame, dict[str, int]]"
"""A side's values (query_id, passage_id, value, and question_id for a person), and their number by query id."""


@dataclass(frozen=True)
class _Resolved:
    rater: Rater
    key: Hashable
    values: Callable[[], Values]


def match(project: Project, left: Side, right: Side) -> Matched:
    """Match the values of two sides by passage, or by question and passage if a side is a person.

    Raises:
        InputError: a grader, version, source or person is unknown, or the sides cannot be compared.
    """
    sides = (left, right)
    about_questions = any(isinstance(side, Person) for side in sides)
    if about_questions and any(isinstance(side, Judgments) for side in sides):
        raise InputError(
            "sides-not-comparable",
            "Ratings of a person cannot be compared with judgments.",
            "Compare the person with a grader or another person.",
        )
    bases = {side: basis(project, side.policy) for side in sides if isinstance(side, Labels)}
    version = next((base.version for base in bases.values()), latest_version(project))

    def resolve(side: Side) -> _Resolved:
        if isinstance(side, Judgments):
            return _judgments(project, side)
        if isinstance(side, Person):
            return _person(project, side, version)
        if about_questions:
            return _ratings(project, replace(bases[side], overridden=False))
        return _labels(project, bases[side])

    one, other = resolve(left), resolve(right)

    def compute() -> tuple[pd.DataFrame, list[dict[str, int]]]:
        (left_values, left_counts), (right_values, right_counts) = one.values(), other.values()
        keys = [column for column in left_values if column != "value"]
        pairs = left_values.rename(columns={"value": "left"}).merge(
            right_values.rename(columns={"value": "right"}), on=keys
        )
        both = _counted(pairs)[1]
        alone = [{q: n - both.get(q, 0) for q, n in counts.items()} for counts in (left_counts, right_counts)]
        return pairs, alone

    pairs, alone = project.cached(("agreement", one.key, other.key), compute)
    return Matched(one.rater, other.rater, pairs, *alone)


def _counted(frame: pd.DataFrame) -> Values:
    return frame, {str(query): count for query, count in frame["query_id"].value_counts().items()}


def _labels(project: Project, base: Basis) -> _Resolved:
    def values() -> Values:
        found = labels(project, base).dropna(subset=["label"])
        return _counted(found[["query_id", "passage_id"]].assign(value=found["label"].astype("int64")))

    return _Resolved(_grader(base, "label"), ("labels", base.key), values)


def _ratings(project: Project, base: Basis) -> _Resolved:
    rated = f"({graded_pairs(base)}) JOIN queries USING (query_key)"

    def values() -> Values:
        # There may be millions of ratings, so only those with a person's rating too are matched.
        frame = project.table(
            f"SELECT query_id, passage_id, question_id, rating::INTEGER AS value FROM {rated}"
            " JOIN passages USING (passage_key) JOIN questions USING (question_key)"
            f" SEMI JOIN {visible(project, 'overrides')} USING (question_key, passage_key) WHERE rating IS NOT NULL"
            " ORDER BY queries.query_key, position, question_key",
            base.parameters,
        ).to_pandas()
        counts = project.rows(f"SELECT query_id, count(rating) FROM {rated} GROUP BY 1", base.parameters)
        return frame, dict(counts)

    return _Resolved(_grader(base, "rating"), ("ratings", *base.rated, base.version), values)


def _grader(base: Basis, noun: str) -> Rater:
    scale = tuple(range(base.grader.spec.max_rating, -1, -1))
    return Rater(noun, base.grader.spec.name, scale, base.min_rating, not base.overridden)


def _judgments(project: Project, side: Judgments) -> _Resolved:
    source = find_source(project, side.source)
    if source not in sources(project):
        raise InputError(
            "source-without-judgments",
            f"The imported leaderboard '{source}' has no judgments.",
            "Use a source of judgments, or import one: exam import qrels FILE",
        )
    judged = f"{visible(project, 'judgments')} JOIN sources USING (source_key)"
    scale = [
        value
        for (value,) in project.rows(f"SELECT DISTINCT value FROM {judged} WHERE name = ? ORDER BY 1 DESC", [source])
    ]
    if source.startswith(PREFIX):
        # Values that an assessor has not used yet are on the scale too.
        scale = sorted({*scale, *SCALE}, reverse=True)

    def values() -> Values:
        frame = project.table(
            f"SELECT query_id, passage_id, value::INTEGER AS value FROM {judged} JOIN queries USING (query_key)"
            " JOIN passages USING (passage_key) WHERE name = ? ORDER BY query_key, passage_key",
            [source],
        ).to_pandas()
        return _counted(frame)

    if not side.blind:
        return _Resolved(Rater("judgment", source, tuple(scale), side.threshold), ("judgments", source), values)
    first = blind_judgments(project, source.removeprefix(PREFIX)) if source.startswith(PREFIX) else {}

    def blind_values() -> Values:
        # Only pairs that still have a judgment, and that this handle reads.
        frame, _ = values()
        pairs = list(zip(frame["query_id"], frame["passage_id"], strict=True))
        known = frame[[pair in first for pair in pairs]]
        return _counted(known.assign(value=[first[pair] for pair in pairs if pair in first]))

    rater = Rater("judgment", f"{source}, first blind", tuple(scale), side.threshold)
    return _Resolved(rater, ("blind judgments", source, frozenset(first.items())), blind_values)


def _person(project: Project, side: Person, version: int) -> _Resolved:
    known = people(project)
    if side.author not in known:
        raise unknown_name("person-without-ratings", "author of overrides", side.author, known)

    def values() -> Values:
        # A rating of an older wording does not apply to the current question.
        frame = project.table(
            "SELECT query_id, passage_id, question_id, arg_max(rating, override_key)::INTEGER AS value"
            f" FROM {visible(project, 'overrides')}"
            " o JOIN bank_at($version) r USING (question_key) JOIN questions USING (question_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
            " WHERE author = $author AND withdrawn_at IS NULL AND o.question_text_key = r.text_key"
            " GROUP BY query_key, passage_key, question_key, query_id, passage_id, question_id"
            " ORDER BY query_key, passage_key, question_key",
            {"author": side.author, "version": version},
        ).to_pandas()
        return _counted(frame)

    rater = Rater("rating", side.author, tuple(reversed(RATINGS)), side.threshold)
    return _Resolved(rater, ("person", side.author, version), values)
