"""Comparison of the model that an endpoint names in its answers with the requested one."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Date, number or tag of a version at the end of a name; "mini" or ".1" name another model.
_VERSION = re.compile(r"[-@:_](?:latest|v\d+(?:\.\d+)*|(?:19|20)\d\d-?\d\d-?\d\d|\d{3,6})\Z")


def is_version_of(named: str, asked: str) -> bool:
    """Return whether two names mean the same model. One may have a version, such as gpt-4o-2024-08-06, or a maker."""
    one, other = (name.strip().lower().rpartition("/")[2] for name in (named, asked))
    return one == other or _VERSION.sub("", one) == other or one == _VERSION.sub("", other)


def said_of_models(asked: str, answers: Mapping[str, int]) -> str:
    """Return a sentence about answers from models with another name than the requested one; empty without any.

    Args:
        asked: the requested model.
        answers: number of answers by the name in them.
    """
    others = {name: count for name, count in answers.items() if name != asked}
    if not others:
        return ""
    if all(is_version_of(name, asked) for name in others):
        named = " and ".join(sorted(others))
        # If a version was requested and the endpoint names none, it may be another version.
        if _VERSION.search(asked.strip().lower()):
            return f"The endpoint reports the model {named}. {asked} is a version of it."
        return f"The endpoint reports the model {named}, a version of {asked}."
    named = ", ".join(f"{name} ({count:,})" for name, count in sorted(others.items(), key=lambda item: -item[1]))
    return (
        f"The endpoint reports a model other than {asked}: {named}. These grades are kept with a note. Check that you"
        " use the right model."
    )
