"""How much is believed of what an endpoint sends: a table of limits, each of which the environment can set."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from core.errors import InputError

PREFIX = "EXAM_LIMIT_"


@dataclass(frozen=True)
class Limit:
    """One limit.

    Args:
        name: what follows EXAM_LIMIT_ in the name of the environment variable that sets it.
        default: where that is not set.
        unit: what is counted.
        what: what is limited, as a phrase.
    """

    name: str
    default: int
    unit: str
    what: str


LIMITS: dict[str, Limit] = {
    limit.name: limit
    for limit in (
        Limit("ANSWER", 1 << 20, "bytes", "an answer of an endpoint, expanded"),
        Limit("KEPT_ANSWER", 20_000, "characters", "what is kept of an answer beside its grade"),
        Limit("CALL_TOKENS", 2_000_000, "tokens", "what an endpoint may report as read, or as written, by one call"),
    )
}
"""Every limit by its name."""


def limit(name: str) -> int:
    """What a limit is now: the environment's value, else the default.

    Args:
        name: a key of `LIMITS`.

    Raises:
        InputError: the environment has something else than a whole number from 1.
    """
    known = LIMITS[name]
    variable = PREFIX + name
    given = os.environ.get(variable, "").strip()
    if not given:
        return known.default
    if not re.fullmatch(r"0*[1-9][0-9]{0,17}", given):
        raise InputError(
            f"{variable} is {given[:40]!r}, which is no limit.", f"Set it to a whole number of {known.unit} from 1."
        )
    return int(given)
