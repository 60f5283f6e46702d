"""From the factors of the students, such as model and retrieval, to the parts that their ability is the sum of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from .model import Array, Flags, Indices

FLAT = "student"
"""The factor of a design in which every student has an ability of its own."""

# A contrast whose distance from what the rows of the design span is below this can be estimated.
_SPANNED = 1e-8


@dataclass(frozen=True)
class Factor:
    """One named component of a student.

    Args:
        levels: its values in the order in which they first appear; differences are taken from the first.
    """

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """Which parts add up to the ability of each student: theta = matrix @ parts.

    Args:
        factors: in the order of the columns.
        matrix: m students x all levels of all factors, 0 or 1, one level a factor for each student.
    """

    factors: tuple[Factor, ...]
    matrix: Array

    @property
    def flat(self) -> bool:
        """Whether every student has an ability of its own."""
        return [factor.name for factor in self.factors] == [FLAT]

    @property
    def columns(self) -> dict[str, slice]:
        """Where the levels of each factor are among the parts."""
        ends = np.cumsum([0, *(len(factor.levels) for factor in self.factors)]).tolist()
        return {factor.name: slice(ends[i], ends[i + 1]) for i, factor in enumerate(self.factors)}

    @property
    def rank(self) -> int:
        """How many numbers the abilities of the students are made of."""
        return len(self.matrix) if self.flat else int(np.linalg.matrix_rank(self.matrix))

    def of(self, students: Indices | Flags) -> Design:
        """The same parts, for some of the students."""
        return Design(self.factors, self.matrix[students])

    def centred(self, parts: Array) -> tuple[Array, Array]:
        """Parts with the mean of each factor's levels taken out, and the common level that these add up to.

        Parts are free up to constants that move between factors; what is left after this is not.

        Args:
            parts: ... x parts.

        Returns:
            (... x parts, ...).
        """
        out = np.array(parts, float)
        level: Array = np.zeros(out.shape[:-1])
        for at in self.columns.values():
            mean = out[..., at].mean(axis=-1)
            out[..., at] -= mean[..., None]
            level = level + mean
        return out, level


def flat_design(students: Sequence[str]) -> Design:
    """A design in which every student has an ability of its own."""
    return Design((Factor(FLAT, tuple(students)),), np.eye(len(students)))


def factor_design(factors: Mapping[str, Sequence[str]]) -> Design:
    """A design from the components of the students.

    Args:
        factors: by the name of a factor its level for each of the m students, all in the same order.

    Raises:
        InputError: there is no factor, they do not have as many students each, a factor has one level alone, or the
            students that there are cannot tell the components apart; it names those.
    """
    counts = {len(levels) for levels in factors.values()}
    if len(counts) != 1:
        raise InputError(
            "students-without-factors",
            "A factor has no level for an examinee.",
            "Give one level per examinee and factor.",
        )
    named = [Factor(name, tuple(dict.fromkeys(levels))) for name, levels in factors.items()]
    for factor in named:
        if len(factor.levels) < 2:
            raise InputError(
                "factor-with-one-level",
                f"Factor '{factor.name}' has too few levels for an effect: {', '.join(factor.levels) or 'none'}.",
                "Remove this factor.",
            )
    blocks = [
        np.array([[level == one for one in factor.levels] for level in factors[factor.name]], float) for factor in named
    ]
    design = Design(tuple(named), np.concatenate(blocks, axis=1))
    if mixed := inseparable(design):
        shown = ", ".join(f"{name} {level}" for name, level in mixed[:6]) + (" and more" if len(mixed) > 6 else "")
        raise InputError(
            "factors-not-separable",
            f"The effects of these components cannot be separated: {shown}.",
            "Add examinees with other combinations, remove a factor, or fit without factors.",
        )
    return design


def inseparable(design: Design) -> list[tuple[str, str]]:
    """The levels whose difference from the first of their factor the design says nothing of.

    A difference can be estimated where it is a combination of rows of the design. What hangs together is named
    together: a retrieval that one model alone used is named with that model.

    Returns:
        (factor, level), in the order of the columns.
    """
    if design.flat:
        return []
    # The rows that span what the students tell, orthonormal.
    _, sizes, rows = np.linalg.svd(design.matrix, full_matrices=False)
    rows = rows[sizes > sizes.max() * max(design.matrix.shape) * np.finfo(float).eps]
    mixed = []
    for factor, at in zip(design.factors, design.columns.values(), strict=True):
        for i in range(1, len(factor.levels)):
            contrast = np.zeros(design.matrix.shape[1])
            contrast[at.start], contrast[at.start + i] = -1, 1
            if np.linalg.norm(contrast - rows.T @ (rows @ contrast)) > _SPANNED:
                mixed.append((factor.name, factor.levels[i]))
    return mixed
