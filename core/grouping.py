"""Rows as lists by key, and as values by two keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

First = TypeVar("First")
Second = TypeVar("Second")
Value = TypeVar("Value")


def group_pairs(pairs: Iterable[tuple[First, Value]]) -> dict[First, list[Value]]:
    """Return the values of each key; keys and values are in the order of the pairs."""
    groups: dict[First, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def nest_triples(
    triples: Iterable[tuple[First, Second, Value]],
) -> dict[First, dict[Second, Value]]:
    """Return the values by their two keys, in the order of the triples; the last value of equal
    keys counts.
    """
    values: dict[First, dict[Second, Value]] = {}
    for first, second, value in triples:
        values.setdefault(first, {})[second] = value
    return values
