"""Groups of systems that are not separated on a leaderboard."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from exam_workbench.store import Project
from exam_workbench.study import Difference, group_alike, remembered_pairs
from exam_workbench.study._system_significance import NO_QUERIES, NO_SPREAD, SAME, compare_all
from tests.study.test_significance import board_of, random_scores

FOUR = board_of({run: {"q": score} for run, score in zip("abcd", (0.9, 0.8, 0.7, 0.6), strict=True)})


def pairs(differ: Sequence[str], undefined: str | None = None) -> list[Difference]:
    """Return all pairs of four systems, of which only the named pairs differ."""
    return [
        Difference(run, other, 0.1, None, 9, None if undefined else 0.5,
                   None if undefined else 0.01 if run + other in differ else 0.5, undefined)
        for at, run in enumerate("abcd") for other in "abcd"[at + 1 :]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("differ", "groups"),
    [
        ([], [(0, 3)]),
        (["ab", "ac", "ad", "bc", "bd", "cd"], []),
        (["ad"], [(0, 2), (1, 3)]),
        (["bc"], [(0, 1), (2, 3)]),
    ],
)
def test_group_ends_before_any_two_members_differ(differ: list[str], groups: list[tuple[int, int]]) -> None:
    found = group_alike(FOUR, pairs(differ))
    assert found.groups == groups
    apart = {frozenset(pair) for pair in differ} | {frozenset(run) for run in "abcd"}
    assert found.of == {run: [other for other in "abcd" if {run, other} not in apart] for run in "abcd"}


def test_identical_systems_are_grouped_but_untested_ones_are_not() -> None:
    assert group_alike(FOUR, pairs([], SAME)).groups == [(0, 3)]
    assert group_alike(FOUR, pairs([], SAME)).untested == []
    for why in (NO_SPREAD, NO_QUERIES):
        found = group_alike(FOUR, pairs([], why))
        assert found.groups == []
        assert found.untested == [why]


@given(st.integers(1, 12), st.integers(2, 12), st.integers(0, 10_000))
def test_groups_are_the_longest_stretches_without_a_difference(systems: int, queries: int, seed: int) -> None:
    board = board_of(random_scores(systems, queries, seed))
    compared = compare_all(board)
    found = group_alike(board, compared)
    order = [system.run for system in board.systems]
    stretches = [
        (first, last)
        for first in range(len(order))
        for last in range(first + 1, len(order))
        if all(set(order[first : last + 1]) - {run} <= set(found.of[run]) for run in order[first : last + 1])
    ]
    longest = [(a, b) for a, b in stretches if not any((c, d) != (a, b) and c <= a and b <= d for c, d in stretches)]
    assert found.groups == longest
    for row in compared:
        assert not (row.differs and row.against in found.of[row.run])


def test_pairs_are_retested_over_other_queries(project: Project) -> None:
    board = board_of(random_scores(3, 6, 1))
    fewer = dataclasses.replace(board, query_ids=board.query_ids[:3])
    assert {row.queries for row in remembered_pairs(project, board, "t")} == {6}
    assert {row.queries for row in remembered_pairs(project, fewer, "t")} == {3}
