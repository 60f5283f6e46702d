"""What an endpoint says of which model answered, beside the one that was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping

# The date, number or tag of a version behind a name; "mini" or ".1" make another model of it.
_VERSION = re.compile(r"[-@:_](?:latest|v\d+(?:\.\d+)*|(?:19|20)\d\d-?\d\d-?\d\d|\d{3,6})\Z")


def is_version_of(named: str, asked: str) -> bool:
    """Whether two names are one model's, of which one may say its version, as gpt-4o-2024-08-06, or its maker."""
    one, other = (name.strip().lower().rpartition("/")[2] for name in (named, asked))
    return one == other or _VERSION.sub("", one) == other or one == _VERSION.sub("", other)


def said_of_models(asked: str, answers: Mapping[str, int]) -> str:
    """A sentence on answers of another name than the model that was asked; empty where there are none.

    Args:
        asked: the model that was asked.
        answers: number of answers by the name that came with them.
    """
    others = {name: count for name, count in answers.items() if name != asked}
    if not others:
        return ""
    if all(is_version_of(name, asked) for name in others):
        named = " and ".join(sorted(others))
        # A version that was asked for and is not named may be another one.
        if _VERSION.search(asked.strip().lower()):
            return f"The endpoint reports the model {named}. {asked} is a version of it."
        return f"The endpoint reports the model {named}, a version of {asked}."
    named = ", ".join(f"{name} ({count:,})" for name, count in sorted(others.items(), key=lambda item: -item[1]))
    return (
        f"The endpoint reports a model other than {asked}: {named}. These grades are kept with a note. Check that you"
        " use the right model."
    )
