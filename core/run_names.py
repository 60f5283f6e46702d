"""Short, distinct names of runs, for charts and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .grouping import group_pairs

NAME_LENGTH = 22
LEFT_OUT = 4
"""Least length of a common beginning that is left out."""
FAMILY_SHARE = 70
"""Largest percentage of a shortened name that its family takes."""
ELLIPSIS = "…"
BETWEEN = "_-+./: "
WORD = re.compile(rf"[^{re.escape(BETWEEN)}]+[{re.escape(BETWEEN)}]*|[{re.escape(BETWEEN)}]+")
"""A word of a name with the separators after it."""


def short_names(names: Iterable[str], length: int = NAME_LENGTH) -> dict[str, str]:
    """Return short, distinct names of runs by their full names.

    A common beginning is left out, unless all names fit. If a name is still too long, some of its
    words are left out, but not its family: another name that it begins with. The first to go are
    those that are most common among names with the same first word. The shortened name stays
    unique. An ellipsis marks each gap.

    Args:
        length: characters for a name; exceeded only if the name would be ambiguous.
    """
    return dict(_short_names(tuple(dict.fromkeys(names)), length))


@lru_cache(maxsize=64)
def _short_names(whole: tuple[str, ...], length: int) -> dict[str, str]:
    shared = _common_beginning(whole) if any(len(name) > length for name in whole) else 0
    shortened = {name: (ELLIPSIS if shared else "") + name[shared:] for name in whole}
    words = {name: WORD.findall(name[shared:]) for name in whole}
    times = Counter(word for parts in words.values() for word in _bare_words(parts))
    near = Counter(
        (parts[0], word) for parts in words.values() for word in _bare_words(parts) if parts
    )
    for name, parts in words.items():
        common = [
            (near[parts[0], word.strip(BETWEEN)], times[word.strip(BETWEEN)]) for word in parts
        ]
        others = {_bare_letters(short) for other, short in shortened.items() if other != name}
        kept = _words_of_family(name[shared:], {other[shared:] for other in whole}, length)
        shortened[name] = _without_common(
            parts, common, length, bool(shared), others, shortened[name], kept
        )
    shortened = {
        # The middle is cut, since names of runs often differ at their end.
        name: short
        if len(short) <= length
        else short[: length // 3 + 1].rstrip(ELLIPSIS)
        + ELLIPSIS
        + short[length // 3 + 2 - length :].lstrip(ELLIPSIS)
        for name, short in shortened.items()
    }
    for alike in _group_alike(shortened):
        # If that is not enough, names are shown around the first character that differs.
        part = next(
            (at for at, signs in enumerate(zip(*alike, strict=False)) if len(set(signs)) > 1), 0
        )
        apart = max(part - 2, 0)
        shortened |= {
            name: f"{name[:5]}{ELLIPSIS}{name[apart:][:8]}{ELLIPSIS}{name[-7:]}" for name in alike
        }
    return shortened | {name: name for alike in _group_alike(shortened) for name in alike}


def _common_beginning(names: Sequence[str]) -> int:
    """Return the length of the common beginning, up to the end of a word; 0 if it is too short to
    leave out.
    """
    if len(names) < 2:
        return 0
    first, last = min(names), max(names)
    # The alphabetically first and last name share only what all names share. At least one character
    # of each name is kept.
    most = min(map(len, names)) - 1
    shared = first[: next((at for at in range(most) if first[at] != last[at]), most)]
    end = max((shared.rfind(sign) for sign in BETWEEN), default=-1) + 1
    return end if end >= LEFT_OUT else 0


def _words_of_family(name: str, names: set[str], length: int) -> int:
    """Return the number of words of the longest other name that a name begins with, if it leaves
    room; else 1.
    """
    ends = [
        end
        for end in range(length * FAMILY_SHARE // 100, 0, -1)
        if name[end : end + 1] in set(BETWEEN)
    ]
    return next((len(WORD.findall(name[:end])) for end in ends if name[:end] in names), 1)


def _bare_words(words: list[str]) -> set[str]:
    """Return the words of a name without separators."""
    return {word.strip(BETWEEN) for word in words}


def _bare_letters(name: str) -> str:
    """Return a name without separators, as two shortened names must differ in more than those."""
    return "".join(sign for sign in name if sign not in BETWEEN + ELLIPSIS)


def _without_common(
    words: list[str],
    common: list[tuple[int, int]],
    length: int,
    begun: bool,
    others: set[str],
    whole: str,
    stay: int,
) -> str:
    """Return a name without as many of its words as needed, most common first, from the left.

    Args:
        common: per word, how many names with the same first word contain it, and how many such
            names exist.
        begun: whether the beginning is left out already.
        others: the letters of the other shortened names.
        whole: the name without further gaps.
        stay: number of words at the beginning that are not left out.
    """
    kept_words, shortest = dict(enumerate(words)), whole
    for at in sorted(range(stay, len(words)), key=lambda at: (-common[at][0], at)):
        if len(shortest) <= length or common[at][1] < 2:
            break
        fewer = {place: word for place, word in kept_words.items() if place != at}
        shorter = ELLIPSIS * begun
        for place in range(len(words)):
            shorter += fewer.get(place, "" if shorter.endswith(ELLIPSIS) else ELLIPSIS)
        if _bare_letters(shorter) not in others and len(shorter) < len(shortest):
            kept_words, shortest = fewer, shorter
    return shortest


def _group_alike(short_names: Mapping[str, str]) -> list[list[str]]:
    """Return groups of names that would look the same."""
    groups = group_pairs((short, name) for name, short in short_names.items())
    return [group for group in groups.values() if len(group) > 1]
