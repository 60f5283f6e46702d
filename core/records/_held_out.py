"""Judgments that are held out: the impact of an edit never reads them, and they confirm the agreement later."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass

from ..errors import InputError
from ..store import Project, log, put_setting, setting

HOLD_OUT = "hold_out"
HOLD_OUT_FORM = r'\{"share": [0-9.e-]+, "seed": -?[0-9]+, "version": [0-9]+\}'
"""The name of the setting, and a regular expression for its values."""


@dataclass(frozen=True)
class HoldOut:
    """The judgments that are held out.

    Args:
        share: probability that a judged passage of a query is held out, decided once for each passage by the seed.
            So later judgments do not move a passage.
        seed: of the choice.
        version: the newest bank version when it was set; earlier edits may rest on these judgments.
    """

    share: float
    seed: int
    version: int


def hold_out(project: Project) -> HoldOut | None:
    """Return which judgments are held out; None for no judgments."""
    found = setting(project, HOLD_OUT)
    return None if found is None else HoldOut(**json.loads(found))


def set_hold_out(project: Project, share: float, author: str, seed: int | None = None) -> HoldOut | None:
    """Hold out a random share of the judgments of each query, and return it.

    Args:
        share: below 1; 0 holds out no judgments.
        seed: of the choice; None for a random one.

    Raises:
        InputError: the share or the seed is out of range.
    """
    if not 0 <= share < 1:
        raise InputError("share-out-of-range", f"Invalid share {share:g}.", "Use a number from 0 to below 1.")
    number = random.SystemRandom().randrange(10**6) if seed is None else seed
    with project.transaction(author=author) as cursor:
        versions = cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()
        found = HoldOut(share, number, versions[0][0]) if share else None
        put_setting(cursor, HOLD_OUT, json.dumps(asdict(found)) if found else None)
        log(cursor, author, "hold out judgments", share=share, **({"seed": number} if share else {}))
    return found


def for_tuning(project: Project) -> Project:
    """Return a handle of the project that reads no judgments that are held out."""
    found = hold_out(project)
    return project if found is None else project.judged_by_part((found.share, found.seed, False))


def for_confirming(project: Project) -> Project | None:
    """Return a handle of the project that reads only judgments that are held out; None if no judgments are."""
    found = hold_out(project)
    return None if found is None else project.judged_by_part((found.share, found.seed, True))
