"""The graders that can be made by name, and how to make one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from core.errors import InputError
from core.graders.base import Grader
from core.types import GraderSpec


@dataclass(frozen=True)
class GraderKind:
    """A way of grading that a person can choose.

    Args:
        name: what the command line and the activity log call it.
        title: what screens call it.
        about: what it is and what it is not, in one sentence.
        make: builds a grader from parameters (JSON values by name); raises InputError for others
            than it knows. Models load at the first grade, not here.
        settable: names of the parameters of its spec that `make` takes.
    """

    name: str
    title: str
    about: str
    make: Callable[[Mapping[str, Any]], Grader]
    settable: tuple[str, ...] = ()


def _make_embedding(parameters: Mapping[str, Any]) -> Grader:
    from core.graders.embedding import EmbeddingGrader

    return EmbeddingGrader(**_known("embedding", parameters, "cuts"))


def _known(grader: str, parameters: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The parameters as keyword arguments, once all of them are ones that the grader has."""
    strange = sorted(set(parameters) - set(names))
    if strange:
        raise InputError(
            f"The grader {grader} has no parameter {', '.join(map(repr, strange))}.",
            f"It takes: {', '.join(names)}.",
        )
    return dict(parameters)


GRADERS: dict[str, GraderKind] = {
    "embedding": GraderKind(
        name="embedding",
        title="Embedding (MiniLM)",
        about=(
            "Rates a passage by the similarity of its meaning to the question with a small model on this "
            "computer, without key or network; it measures similarity and is not a reader, so it cannot "
            "tell a right answer from a wrong one on the same subject."
        ),
        make=_make_embedding,
        settable=("cuts",),
    ),
}


def remake_grader(spec: GraderSpec) -> Grader | None:
    """The grader that gave a project its grades, ready to go on.

    Returns:
        A grader of the same fingerprint; None where its grades were imported, or its model is another.
    """
    kind = GRADERS.get(spec.method)
    if kind is None:
        return None
    grader = kind.make({name: spec.parameters[name] for name in kind.settable if name in spec.parameters})
    return grader if grader.spec.fingerprint == spec.fingerprint else None


def make_grader(name: str, parameters: Mapping[str, Any]) -> Grader:
    """Make a grader by name.

    Args:
        name: a key of `GRADERS`.
        parameters: its parameters by name; empty for the defaults.

    Returns:
        The grader; no model is loaded yet.

    Raises:
        InputError: no grader has this name, or a parameter is unknown or out of range.
    """
    kind = GRADERS.get(name)
    if kind is None:
        raise InputError(f"There is no grader {name!r}.", f"Known graders: {', '.join(sorted(GRADERS))}.")
    return kind.make(parameters)
