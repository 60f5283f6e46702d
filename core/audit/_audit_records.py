"""Stored audits and batches: plans, drawn passages, and progress."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, get_args

from ..choices import AuditAim
from ..errors import InputError, check_rules, unknown_name
from ..labels import Policy
from ..measures.audit import linear_measure
from ..store import Project


@dataclass(frozen=True)
class Goal:
    """The goal of an audit.

    Args:
        aim: see `AuditAim`.
        first, second: the two runs, for `pair`.
        half_width: half-width of the interval of every score, for `width`.
        budget: number of judgments, for `budget`.

    Raises:
        InputError: the aim is unknown, or a field is missing or out of range.
    """

    aim: AuditAim
    first: str | None = None
    second: str | None = None
    half_width: float | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        needs = {
            "best": (),
            "pair": ("first", "second"),
            "width": ("half_width",),
            "budget": ("budget",),
        }
        required = needs.get(self.aim, ())
        check_rules(
            (
                self.aim not in needs,
                InputError(
                    "unknown-audit-goal",
                    f"Unknown audit goal '{self.aim}'.",
                    f"Available: {', '.join(get_args(AuditAim))}.",
                ),
            ),
            (
                any(getattr(self, name) is None for name in required),
                InputError(
                    "incomplete-goal",
                    f"The goal '{self.aim}' is incomplete.",
                    f"Give {' and '.join(f'--{name}' for name in required)}.".replace("_", "-"),
                ),
            ),
            (
                self.aim == "pair" and self.first == self.second,
                InputError(
                    "system-compared-with-itself",
                    f"The goal compares '{self.first}' with itself.",
                    "Name two different systems.",
                ),
            ),
            (
                self.half_width is not None and not 0 < self.half_width < float("inf"),
                InputError(
                    "width-out-of-range",
                    f"Half width {self.half_width} is out of range.",
                    "Use a number above 0.",
                ),
            ),
            (
                self.budget is not None and self.budget < 1,
                InputError(
                    "budget-out-of-range",
                    f"Budget {self.budget} is out of range.",
                    "Use a number of judgments from 1.",
                ),
            ),
        )

    @property
    def description(self) -> str:
        """The goal as a phrase."""
        return {
            "best": "which system is best",
            "pair": f"whether {self.first} is better than {self.second}",
            "width": f"every score within ±{self.half_width:g}" if self.half_width else "",
            "budget": f"a budget of {self.budget:,} judgments" if self.budget else "",
        }[self.aim]

    def as_dict(self) -> dict[str, Any]:
        """Return the goal as plain values, without missing fields."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Audit:
    """The plan of an audit.

    Args:
        measure: stored name of the measure. Audits of earlier versions have the name of the
            weights, such as DCG@10.
        policy: policy of the grader's leaderboard: the grader by its fingerprint, a fixed bank
            version, no overrides.
        graders: fingerprints of the graders whose ratings predict judgments; the policy's grader is
            first.
        source: source of its judgments, which are from 0 to `highest`.
        batch_size: planned number of passages per batch.
        looks: number of batches over which the error alpha is spent.
        runs, queries: its systems and queries, in order.
        ended: whether a person ended the audit.
    """

    key: int
    name: str
    measure: str
    policy: Policy
    graders: tuple[str, ...]
    goal: Goal
    source: str
    highest: int
    batch_size: int
    looks: int
    alpha: float
    seed: int
    author: str
    made_at: datetime
    runs: tuple[str, ...]
    queries: tuple[str, ...]
    ended: bool = False

    @property
    def measure_title(self) -> str:
        """The name of the measure's score, for all stored names."""
        return linear_measure(self.measure).title

    @property
    def option(self) -> str:
        """The option of commands that names this audit."""
        return f"--audit {shlex.quote(self.name)}"

    @property
    def next_step(self) -> str:
        """The command that leads to passages to judge, as a hint."""
        if self.ended:
            return "Plan another audit: exam audit design NAME"
        return f"Draw a batch: exam audit draw {self.option}"

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, as `--json` prints it."""
        return {
            **vars(self),
            "measure": self.measure_title,
            "policy": self.policy.as_dict(),
            "goal": self.goal.as_dict(),
        }


@dataclass(frozen=True)
class Batch:
    """Passages that were drawn together.

    Args:
        number: from 1 within the audit.
        size: expected number of drawn passages; `drawn` is the actual number.
        known: number of passages that were judged before.
        doubled: number of drawn passages that a second person is to judge.
        frame: number of passages that could be drawn.
        judged, cannot_say, skipped: numbers of drawn passages by their last verdict in the first
            turn.
        judged_twice: number of passages that a second person has judged.
        ended: whether a person ended the batch before all passages were judged.
        design: how the chances were computed.
    """

    key: int
    audit_key: int
    number: int
    size: int
    seed: int
    author: str
    drawn_at: datetime
    frame: int
    drawn: int
    known: int
    doubled: int
    judged: int
    cannot_say: int
    skipped: int
    judged_twice: int
    ended: bool
    design: Mapping[str, Any] = field(default_factory=dict)

    @property
    def open(self) -> int:
        """Number of drawn passages that are skipped or have no verdict yet."""
        return self.drawn - self.judged - self.cannot_say

    @property
    def done(self) -> bool:
        """Whether nothing is left to judge: all passages were judged, or the batch was ended."""
        return self.ended or not self.open

    def as_dict(self) -> dict[str, Any]:
        """Return the batch as plain values, as `--json` prints it."""
        return {**vars(self), "design": dict(self.design), "open": self.open, "done": self.done}


LAST_SAID = (
    "(FROM audit_verdicts QUALIFY row_number() OVER"
    " (PARTITION BY batch_key, query_key, passage_key, turn ORDER BY verdict_key DESC) = 1)"
)
"""SQL for the last verdict on every passage in every turn."""


def find_audits(project: Project) -> list[Audit]:
    """Return every audit, in the order of planning."""
    return [
        Audit(
            key=key,
            name=name,
            measure=measure,
            policy=Policy(**json.loads(policy)),
            graders=tuple(graders),
            goal=Goal(**json.loads(goal)),
            source=source,
            highest=highest,
            batch_size=batch_size,
            looks=looks,
            alpha=alpha,
            seed=seed,
            author=author,
            made_at=made_at,
            runs=tuple(runs),
            queries=tuple(queries),
            ended=ended,
        )
        for (
            key,
            name,
            measure,
            policy,
            graders,
            goal,
            source,
            highest,
            batch_size,
            looks,
            alpha,
            seed,
            author,
            made_at,
            runs,
            queries,
            ended,
        ) in project.rows(
            "SELECT a.*, r.names, q.ids, EXISTS (FROM audit_ends e"
            " WHERE e.audit_key = a.audit_key AND e.batch_key IS NULL) FROM audits a"
            " JOIN (SELECT audit_key, list(name ORDER BY position) AS names FROM audit_runs"
            " JOIN runs USING (run_key) GROUP BY 1) r USING (audit_key)"
            " JOIN (SELECT audit_key, list(query_id ORDER BY position) AS ids FROM audit_queries"
            " JOIN queries USING (query_key) GROUP BY 1) q USING (audit_key) ORDER BY audit_key"
        )
    ]


def find_audit(project: Project, name: str | None = None) -> Audit:
    """Return an audit.

    Args:
        name: None selects the newest audit that has not ended, or else the newest audit.

    Raises:
        InputError: the name is unknown, or the project has no audits.
    """
    audits = find_audits(project)
    if name is not None:
        candidates = [audit for audit in audits if audit.name == name]
    else:
        candidates = [audit for audit in audits if not audit.ended] or audits
    if candidates:
        return candidates[-1]
    if name is None:
        raise InputError(
            "no-audit", "No audits yet.", "Plan an audit: exam audit design NAME --measure DCG@10"
        )
    raise unknown_name("unknown-audit", "audit", name, [audit.name for audit in audits])


def list_batches(project: Project, audit: Audit) -> list[Batch]:
    """Return the batches of an audit, in order, with their progress."""
    return [
        Batch(*(*row[:-1], json.loads(row[-1])))
        for row in project.rows(
            "WITH said AS MATERIALIZED (SELECT batch_key, turn, said, count(*) AS n"
            f" FROM {LAST_SAID} GROUP BY ALL)"
            " SELECT b.batch_key, audit_key, number, b.size, seed, b.author, drawn_at, count(*),"
            " count(*) FILTER (drawn), count(known), count(*) FILTER (doubled),"
            + "".join(
                " coalesce((SELECT sum(n)::BIGINT FROM said s"
                f" WHERE s.batch_key = b.batch_key AND turn = {turn} AND said = '{said}'), 0),"
                for turn, said in ((1, "judged"), (1, "cannot say"), (1, "skipped"), (2, "judged"))
            )
            + " EXISTS (FROM audit_ends e WHERE e.batch_key = b.batch_key), design"
            " FROM audit_batches b JOIN audit_chances USING (batch_key) WHERE audit_key = ?"
            " GROUP BY ALL ORDER BY number",
            [audit.key],
        )
    ]


def open_batch(project: Project, audit: Audit) -> Batch | None:
    """Return the batch that is open for judging; None without one."""
    found = list_batches(project, audit)
    return found[-1] if found and not found[-1].done else None
