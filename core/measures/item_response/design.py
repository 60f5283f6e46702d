"""The design of examinees: factors such as model and retrieval become parts that add up to ability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from .model import Array, Flags, Indices

FLAT = "student"
"""The factor of a design in which every examinee has an ability of its own."""

# A contrast can be estimated if its distance from the span of the design's rows is below this.
_SPANNED = 1e-8


@dataclass(frozen=True)
class Factor:
    """One named component of an examinee.

    Args:
        levels: its values in order of first appearance; differences are taken from the first.
    """

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """The parts that add up to the ability of each examinee: theta = matrix @ parts.

    Args:
        factors: in the order of the columns.
        matrix: m examinees x all levels of all factors, 0 or 1, one level per factor for each examinee.
    """

    factors: tuple[Factor, ...]
    matrix: Array

    @property
    def flat(self) -> bool:
        """Whether every examinee has an ability of its own."""
        return [factor.name for factor in self.factors] == [FLAT]

    @property
    def columns(self) -> dict[str, slice]:
        """The positions of each factor's levels among the parts."""
        ends = np.cumsum([0, *(len(factor.levels) for factor in self.factors)]).tolist()
        return {factor.name: slice(ends[i], ends[i + 1]) for i, factor in enumerate(self.factors)}

    @property
    def rank(self) -> int:
        """The number of independent numbers that determine the abilities."""
        return len(self.matrix) if self.flat else int(np.linalg.matrix_rank(self.matrix))

    def of(self, students: Indices | Flags) -> Design:
        """Return the design of some of the examinees, with the same parts."""
        return Design(self.factors, self.matrix[students])

    def centred(self, parts: Array) -> tuple[Array, Array]:
        """Return parts without the mean of each factor's levels, and the sum of these means, the common level.

        Parts are determined only up to constants that move between factors; centred parts are unique.

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
    """Return a design in which every examinee has an ability of its own."""
    return Design((Factor(FLAT, tuple(students)),), np.eye(len(students)))


def factor_design(factors: Mapping[str, Sequence[str]]) -> Design:
    """Return a design from the components of the examinees.

    Args:
        factors: for each factor's name, its level for each of the m examinees, all in the same order.

    Raises:
        InputError: the factors are missing, their lengths differ, a factor has only one level, or the components
            cannot be separated; the message names them.
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
    """Return the levels whose difference from the first level of their factor cannot be estimated.

    A difference can be estimated if it is a combination of rows of the design. Confounded levels are named together:
    a retrieval that only one model used is named with that model.

    Returns:
        (factor, level), in the order of the columns.
    """
    if design.flat:
        return []
    # An orthonormal basis of the rows of the design.
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
