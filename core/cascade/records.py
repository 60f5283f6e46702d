"""Cascades as they are kept: plans, each with an identity of its own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.errors import InputError
from core.labels import Policy
from core.measures.cascade import Agreement, Promise
from core.project import Project
from core.text import first_few


@dataclass(frozen=True)
class Cascade:
    """A plan, as it was made. Its labels are a function of it and of the grades of both graders.

    Args:
        measure: linear in the gains of passages; gives what each passage weighs.
        policy: how grades become labels: the expensive grader by its fingerprint, the bank version decision, without
            overrides. The cheap grader's labels are made in the same way.
        cheap: fingerprint of the grader that grades all.
        agreement: when two labels agree.
        promise: of what the agreement is a share.
        alpha, delta: the share that may disagree, and the chance that it is more.
        seed: of the sample.
    """

    key: int
    name: str
    measure: str
    policy: Policy
    cheap: str
    agreement: Agreement
    promise: Promise
    alpha: float
    delta: float
    seed: int
    author: str
    made_at: datetime

    @property
    def expensive(self) -> str:
        """Fingerprint of the grader that is asked again."""
        return self.policy.grader or ""

    @property
    def fingerprint(self) -> str:
        """SHA-256 (16 hex digits) over all that its labels depend on beside grades, the pool and the frozen weights."""
        identity = [
            self.measure, self.policy.as_dict(), self.cheap, self.agreement, self.promise, self.alpha, self.delta,
            self.seed,
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain values, as `--json` prints it."""
        return {**vars(self), "policy": self.policy.as_dict(), "fingerprint": self.fingerprint}


def cascades(project: Project) -> list[Cascade]:
    """Every cascade, in the order in which they were planned."""
    return [
        Cascade(key, name, measure, Policy(**json.loads(policy)), *rest)
        for key, name, measure, policy, *rest in project.rows("SELECT * FROM cascades ORDER BY cascade_key")
    ]


def find_cascade(project: Project, name: str | None = None) -> Cascade:
    """The cascade of that name; the newest for None.

    Raises:
        InputError: there is none.
    """
    known = cascades(project)
    if found := [one for one in known if name in (None, one.name)]:
        return found[-1]
    if name is None:
        raise InputError(
            "no-cascade", "No cascade was planned yet.", "Plan one: exam cascade plan NAME --cheap G --expensive G"
        )
    names = first_few([one.name for one in known])
    raise InputError(
        "unknown-cascade",
        f"There is no cascade '{name}'.",
        f"There are: {names}." if known else "None was planned yet.",
    )
