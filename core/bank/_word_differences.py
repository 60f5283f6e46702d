"""Word-level differences between two wordings."""

from __future__ import annotations

import difflib
import re
from typing import Literal

LIKE = 0.4
"""Minimum share of the longer wording that both wordings have in common. Below it, a mixed display is unreadable."""

Segment = tuple[Literal["same", "added", "removed"], str]


def word_difference(before: str, after: str) -> list[Segment]:
    """Return the words that were removed, added or kept, in reading order.

    The removed and kept parts, joined, are `before`. Wordings with less than `LIKE` in common are not divided.
    """
    old, new = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (before, after))
    found: list[Segment] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(old[i:j])))
            continue
        if i < j:
            found.append(("removed", "".join(old[i:j])))
        if k < m:
            found.append(("added", "".join(new[k:m])))
    kept = sum(len(text) for tag, text in found if tag == "same")
    if before and after and kept < LIKE * max(len(before), len(after)):
        return [("removed", before), ("added", after)]
    return found
