"""Agreement between people on the passages and questions that several people judged or rated, by pair and in total."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from ..measures import Coefficient, alpha_of, cohen_kappa, cross_table, krippendorff_alpha, weighted_kappa
from ..records import PREFIX, SCALE, visible
from ..store import Project
from ..types import RATINGS

Kind = Literal["judgments", "ratings"]
SCALES: Mapping[Kind, tuple[int, ...]] = {"judgments": tuple(SCALE), "ratings": tuple(RATINGS)}
"""By kind of values (judgments of passages, ratings of questions in passages), the possible values."""


@dataclass(frozen=True)
class OfPair:
    """Agreement between two people.

    Args:
        n: number of things (passages, or questions in passages) with a value from both.
        same: number of these things with equal values.
        kappa, weighted: Cohen's kappa, and kappa with quadratic weights.
        alpha: Krippendorff's alpha with ordinal distances.
    """

    left: str
    right: str
    n: int
    same: int
    kappa: Coefficient
    weighted: Coefficient
    alpha: Coefficient


@dataclass(frozen=True)
class BetweenPeople:
    """Agreement of people on one kind of values.

    Args:
        n: number of things (passages, or questions in passages) with values from two or more people.
        same: number of these things with only equal values.
        people: number of these things with a value from the person, by name.
        alpha: Krippendorff's alpha of all people, with ordinal distances; values can be missing.
        pairs: all pairs of people with common things, most common things first.
    """

    kind: Kind
    n: int
    same: int
    people: Mapping[str, int]
    alpha: Coefficient
    pairs: list[OfPair]


_VALUES: Mapping[Kind, str] = {
    "judgments": "SELECT [query_key, passage_key]::VARCHAR AS thing, substr(name, length($prefix) + 1) AS name,"
    " value::INTEGER AS value FROM {judgments} JOIN sources USING (source_key) JOIN queries USING (query_key)"
    " WHERE starts_with(name, $prefix) AND ($query IS NULL OR query_id = $query)",
    # An adjudicated rating is not a person's own rating.
    "ratings": "SELECT [question_text_key, passage_text_key]::VARCHAR AS thing, author AS name,"
    " arg_max(rating, override_key)::INTEGER AS value FROM {overrides} JOIN questions USING (question_key)"
    " JOIN queries USING (query_key) WHERE withdrawn_at IS NULL AND $prefix <> ''"
    " AND override_key NOT IN (SELECT override_key FROM adjudications WHERE override_key IS NOT NULL)"
    " AND ($query IS NULL OR query_id = $query) GROUP BY ALL",
}


def between_people(project: Project, query_id: str | None = None) -> list[BetweenPeople]:
    """Return the agreement of people on judgments and on ratings. Values hidden from the person of the handle are
    excluded.

    Source: Cohen 1960 and 1968, Krippendorff 2011; see `measures.agreement`.

    Args:
        query_id: restricts the values to this query; None for all.
    """
    return [_of_kind(project, kind, query_id) for kind in SCALES]


def _of_kind(project: Project, kind: Kind, query_id: str | None) -> BetweenPeople:
    given = _VALUES[kind].format(judgments=visible(project, "judgments"), overrides=visible(project, "overrides"))
    rows = project.rows(
        f"WITH given AS ({given}) SELECT thing, name, value FROM given"
        " WHERE thing IN (SELECT thing FROM given GROUP BY thing HAVING count(*) > 1) ORDER BY thing, name",
        {"prefix": PREFIX, "query": query_id},
    )
    things: dict[Hashable, dict[str, int]] = defaultdict(dict)
    for thing, name, value in rows:
        things[thing][name] = value
    names = sorted({name for values in things.values() for name in values})
    matrix = np.full((len(things), len(names)), np.nan)
    for row, values in enumerate(things.values()):
        for name, value in values.items():
            matrix[row, names.index(name)] = value
    pairs = [
        _of_pair(names[one], names[other], matrix[:, [one, other]], SCALES[kind])
        for one, other in combinations(range(len(names)), 2)
    ]
    return BetweenPeople(
        kind,
        len(things),
        sum(len(set(values.values())) == 1 for values in things.values()),
        {name: int((~np.isnan(matrix[:, at])).sum()) for at, name in enumerate(names)},
        krippendorff_alpha(matrix, "ordinal"),
        sorted((one for one in pairs if one.n), key=lambda one: -one.n),
    )


def _of_pair(left: str, right: str, values: np.ndarray, scale: tuple[int, ...]) -> OfPair:
    both = values[~np.isnan(values).any(axis=1)].astype(int)
    table = cross_table(both[:, 0], both[:, 1], scale, scale)
    same = int((both[:, 0] == both[:, 1]).sum())
    return OfPair(left, right, len(both), same, cohen_kappa(table), weighted_kappa(table), alpha_of(table))
