"""Graders by an audit: roles of models, the choice of a grader, and cards."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import graders, grading
from ..bank import (
    StoredGrader,
    find_grader,
    flip_rates,
    grader_drift,
    label_graders,
    latest_version,
)
from ..choices import PROBED_PAIRS
from ..errors import InputError
from ..labels import DEFAULT_POLICY, Policy, basis, label_qrels, usual_min_judgment
from ..measures import Array, Flags, known_or_none
from ..measures.audit import (
    batch_shares as shares_of_batches,
    clustered_interval,
    combined_weights,
    compare_graders,
    cross_fitted,
    relevant_shares,
    weighted_kappas,
)
from ..records import judgment_sources, run_names, source_judgments, stated_families
from ..store import Project, as_act, cached, log_action
from ..text import first_few
from ._audit_data import basis_of, columns_of, estimate_gains, gather_facts, labels_of
from ._audit_records import Audit, find_audits, list_batches

_STEMS = (
    ("flan", "flan-t5"),
    ("t5", "t5"),
    ("gpt", "gpt"),
    ("chatgpt", "gpt"),
    ("davinci", "gpt"),
    ("claude", "claude"),
    ("llama", "llama"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("gemma", "gemma"),
    ("gemini", "gemini"),
    ("qwen", "qwen"),
    ("deepseek", "deepseek"),
    ("phi", "phi"),
    ("command", "command"),
    ("minilm", "minilm"),
    (r"o[1-9]\Z", "gpt"),
)
"""Patterns of the beginning of model names, or of their parts between separators, each with its
family.
"""


def family_of(model: str) -> str:
    """Return the family of a model by its name, such as "gpt" for openai/gpt-4o-mini.

    For an unknown family, return the name without maker and size.

    Args:
        model: name of the model in a grader or a draft.
    """
    name = model.strip().lower().rpartition("/")[2].partition("@")[0]
    words = [word for word in re.split(r"[-_.: ]+", name) if word]
    known = (family for word in words for stem, family in _STEMS if re.match(stem, word))
    unsized = "-".join(word for word in words if not any(sign.isdigit() for sign in word))
    return next(known, unsized or name)


@dataclass(frozen=True)
class Role:
    """A part of the evaluation and the model families behind it.

    Args:
        name: name of the run or the grader; empty for the questions.
        models: names of the models in the data of the project.
        families: the families that a person stated, or else the families of `models`; None if
            unknown.
        stated: whether a person stated the families.
    """

    name: str
    models: tuple[str, ...]
    families: tuple[str, ...] | None
    stated: bool

    @property
    def description(self) -> str:
        """The families as a phrase."""
        if self.families is None:
            return "not stated"
        return ", ".join(self.families) or "no model"


@dataclass(frozen=True)
class Circularity:
    """The roles of models in an evaluation.

    Args:
        questions, grader: the models behind the questions, and behind the grader; the grader's name
            is empty without grades.
        runs: the models of each system.
        kin: the systems that use a model family of the grader or of the questions.
        warnings: sentences about model families with two roles; empty without such families.
    """

    questions: Role
    grader: Role
    runs: list[Role]
    kin: tuple[str, ...]
    warnings: list[str]

    @property
    def description(self) -> str:
        """The roles as one or two sentences."""
        unstated = sum(run.families is None for run in self.runs)
        rest = (
            f" Systems without stated models: {unstated:,} of {len(self.runs):,}."
            if unstated
            else ""
        )
        return (
            f"Models of questions: {self.questions.description}. Models of the grader:"
            f" {self.grader.description}.{rest}"
        )


@as_act("see boards")
def find_circularity(
    project: Project, policy: Policy = DEFAULT_POLICY, runs: Sequence[str] = ()
) -> Circularity:
    """Return the roles of models on the grader's leaderboard.

    Args:
        policy: names the grader.
        runs: the systems; empty for all.

    Raises:
        InputError: the grader is unknown.
    """
    grader = _grader_role(project, policy) if label_graders(project) else Role("", (), None, False)
    questions = _questions_role(project)
    stated = stated_families(project, "run")
    roles = [Role(run, (), stated.get(run), run in stated) for run in runs or run_names(project)]
    families = {*(grader.families or ()), *(questions.families or ())}
    kin = tuple(role.name for role in roles if families.intersection(role.families or ()))
    return Circularity(
        questions, grader, roles, kin, _circularity_warnings(questions, grader, roles)
    )


def _grader_role(project: Project, policy: Policy) -> Role:
    spec = basis(project, policy).grader.spec
    named = stated_families(project, "grader").get(spec.fingerprint)
    return Role(
        spec.name,
        (spec.model,),
        named if named is not None else (family_of(spec.model),),
        named is not None,
    )


def _questions_role(project: Project) -> Role:
    models = tuple(
        model
        for (model,) in project.rows(
            "SELECT model FROM generations WHERE generation_key IN (SELECT generation_key"
            " FROM proposals WHERE state = 'accepted') GROUP BY model ORDER BY min(generation_key)"
        )
    )
    stated = stated_families(project, "questions").get("")
    if stated is None and models:
        return Role("", models, tuple(dict.fromkeys(map(family_of, models))), False)
    return Role("", models, stated, stated is not None)


def _circularity_warnings(questions: Role, grader: Role, runs: Sequence[Role]) -> list[str]:
    warnings = []
    wrote, graded = set(questions.families or ()), set(grader.families or ())
    if both := sorted(wrote & graded):
        warnings.append(
            f"{' and '.join(both)} wrote questions and also graded passages against them."
        )
    for role, families in (("graded the passages", graded), ("wrote the questions", wrote)):
        for family in sorted(families):
            using = [run.name for run in runs if family in (run.families or ())]
            if using:
                warnings.append(f"{family} {role}, and is also used by {first_few(using)}.")
    return warnings


@dataclass(frozen=True)
class ScoredGrader:
    """A grader, scored by an audit.

    Args:
        labelled: share of the audit's passages that have a label of the grader.
        correlation: Pearson's correlation of its leaderboard with the audited leaderboard.
        kept: whether no other grader is significantly better.
        behind, low, high: correlation of the chosen grader minus this one, with the interval; None
            if unknown.
    """

    grader: str
    fingerprint: str
    labelled: float
    correlation: float
    kept: bool
    behind: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class GraderChoice:
    """The graders with a leaderboard that is not constant, by falling correlation, and the one to
    choose.
    """

    audit: str
    measure: str
    confidence: float
    judged: int
    chosen: str
    graders: list[ScoredGrader]

    @property
    def description(self) -> str:
        """The result in two sentences."""
        kept_graders = [one.grader for one in self.graders if one.kept]
        if len(self.graders) == 1:
            return (
                f"Only {self.chosen} has labels. Grade the pool with another grader, or import"
                " labels, to compare."
            )
        if len(kept_graders) == 1:
            return f"Choose {self.chosen}. It is better than every other grader."
        return (
            f"Choose {self.chosen}. Graders that are not separated from the best:"
            f" {', '.join(kept_graders)}."
        )


@cached()
def choose_grader(project: Project, audit: Audit) -> GraderChoice:
    """Compare all graders of the project by the judgments of one audit; see `compare_graders`.

    Each grader has the audit's label rule, bank version and min rating on its own scale. Judgments
    are predicted from all graders, so that the audited scores favour none of them. A passage
    without a label has the gain 0.

    Raises:
        InputError: no batch is finished, or fewer than 3 systems differ.
    """
    facts = gather_facts(project, audit)
    w, kept_values, machines = facts.weights.w, [], []
    for stored in label_graders(project):
        values = labels_of(project, audit, stored.spec.fingerprint, facts.weights.items)
        least = basis_of(project, audit, stored.spec.fingerprint).min_rating
        own = replace(facts, labels=values, top_rating=stored.spec.max_rating, min_rating=least)
        scores = w @ own.machine
        # No correlation is defined for a constant leaderboard, such as that of a grader without
        # labels here.
        if scores.std() > 1e-12:
            kept_values.append((stored.spec, float((~np.isnan(values)).mean())))
            machines.append(scores)
    prints = [spec.fingerprint for spec, _ in kept_values]
    estimated = estimate_gains(
        replace(facts, columns=columns_of(project, audit, prints, facts.weights.items))
    )
    if estimated is None:
        raise InputError(
            "audit-without-batch",
            f"Audit '{audit.name}' has no judged batch yet.",
            audit.next_step,
        )
    if len(w) < 3 or not kept_values or (w @ estimated.corrected.gains).std() <= 1e-12:
        raise InputError(
            "too-few-systems",
            "A choice of a grader needs 3 systems with different scores.",
            "Judge more passages, or audit more systems.",
        )
    compared = compare_graders(w, np.array(machines), estimated.corrected, facts.alpha)
    rows = [
        ScoredGrader(
            spec.name,
            spec.fingerprint,
            share,
            float(compared.value[i]),
            bool(compared.kept[i]),
            *(
                known_or_none(bounds[i])
                for bounds in (compared.behind.value, compared.behind.low, compared.behind.high)
            ),
        )
        for i, (spec, share) in enumerate(kept_values)
    ]
    rows.sort(key=lambda row: (-row.correlation, row.grader))
    chosen = kept_values[compared.chosen][0].name
    return GraderChoice(
        audit.name, audit.measure_title, 1 - facts.alpha, estimated.corrected.judged, chosen, rows
    )


@dataclass(frozen=True)
class GraderCard:
    """The card of a grader.

    Args:
        content: its numbers, see `make_card`.
        stale: names of what changed since: judgments, questions, overrides, probe or grades.
    """

    grader: str
    author: str
    made_at: datetime
    content: Mapping[str, Any]
    stale: list[str]

    @property
    def description(self) -> str:
        """Agreement and state of the card, in sentences."""
        agreement, unsampled = self.content["agreement"], self.content.get("unsampled")
        if agreement is None:
            sentence = "Not calibrated: no audit has judged passages with its labels."
        else:
            blind = (
                "Calibrated with blind judgments"
                if agreement["blind"]
                else "Not calibrated: labels were revealed"
            )
            sentence = (
                f"{blind} ({agreement['judged']:,}). Kappa"
                f" {_format_rate(agreement['kappa'])}, predicted from the other queries."
            )
        if unsampled is not None:
            sentence += (
                f" Judgments by {unsampled['source']} that were not sampled by an audit"
                f" ({unsampled['judged']:,}, relevant from {unsampled['min_judgment']}):"
                f" kappa {_format_rate(unsampled['kappa'])}, predicted from the other queries."
            )
        changed = f" Stale: {', '.join(self.stale)} changed." if self.stale else ""
        return f"{sentence} Card of {self.made_at:%Y-%m-%d}.{changed}"

    def as_dict(self) -> dict[str, Any]:
        """Return the card as plain values, as `--json` prints it."""
        return {**vars(self), "says": self.description}


def _format_rate(rate: Mapping[str, Any]) -> str:
    interval = "" if rate["low"] is None else f" [{rate['low']:z.2f}, {rate['high']:z.2f}]"
    return "undefined" if rate["value"] is None else f"{rate['value']:z.2f}{interval}"


def find_card(project: Project, grader: StoredGrader) -> GraderCard | None:
    """Return the newest card of a grader; None without one."""
    rows = project.rows(
        "SELECT content, marks, author, made_at FROM grader_cards WHERE grader_key = ?"
        " ORDER BY grader_card_key DESC LIMIT 1",
        [grader.key],
    )
    if not rows:
        return None
    content, marks, author, made_at = rows[0]
    before, now = json.loads(marks), _input_marks(project, grader)
    stale = [name for name, value in now.items() if before.get(name) != value]
    return GraderCard(grader.spec.name, author, made_at, json.loads(content), stale)


def make_card(project: Project, grader: StoredGrader, author: str) -> GraderCard:
    """Make and store the card of a grader.

    Its content: bank version; agreement with the judgments of the newest audit with a finished
    batch, as kappa, share relevant by label, and kappa by system; the same without systems for
    judgments that no audit sampled; shares of failed and defaulted pairs; share of ratings that
    were the same when asked again; flip rates; calls and cost.
    """
    defaulted = project.value(
        "SELECT count(*) FROM grades WHERE grader_key = ? AND defaulted", [grader.key]
    )
    ((calls, cost),) = project.rows(
        "SELECT sum(calls)::BIGINT, sum(cost) FROM jobs WHERE kind = 'grading' AND subject_key = ?",
        [grader.key],
    )
    grade_count, watched = grader.grades + grader.failures, grader_drift(project, grader.spec)
    content = {
        "bank_version": latest_version(project),
        "agreement": _audit_agreement(project, grader),
        "unsampled": _unsampled_agreement(project, grader),
        "failed": grader.failures / grade_count if grade_count else None,
        "defaulted": defaulted / grade_count if grade_count else None,
        "consistent": None if watched is None else 1 - watched.changed / watched.pairs,
        "flips": [
            {
                "change": one.change,
                "pairs": one.pairs,
                "share": one.share,
                "low": one.low,
                "high": one.high,
            }
            for one in flip_rates(project, grader.spec)
        ],
        "calls": calls,
        "cost": cost,
    }
    with project.transaction(act="organize", author=author) as cursor:
        cursor.execute(
            "INSERT INTO grader_cards VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP)",
            [grader.key, json.dumps(content), json.dumps(_input_marks(project, grader)), author],
        )
        log_action(cursor, author, "make card", grader=grader.spec.name)
    return cast(GraderCard, find_card(project, grader))


def probe_robustness(
    project: Project,
    grader: graders.Grader,
    author: str,
    control: graders.Control,
    pairs: int = PROBED_PAIRS,
) -> GraderCard:
    """Probe a grader, and return the card that it then gets.

    Args, raises: as for `grading.probe_grader`.
    """
    grading.probe_grader(project, grader, author, control, pairs)
    return make_card(project, find_grader(project, grader.spec.fingerprint), author)


def _input_marks(project: Project, grader: StoredGrader) -> dict[str, Any]:
    """Return numbers that change with the inputs of a card."""
    ((judged, judgments, override_hash, withdrawn, probes),) = project.rows(
        "SELECT (SELECT count(*) FROM audit_verdicts), (SELECT sum(hash(j))::VARCHAR"
        " FROM judgments j), (SELECT coalesce(max(override_key), 0) FROM overrides),"
        " (SELECT count(*) FROM overrides WHERE withdrawn_at IS NOT NULL),"
        " (SELECT count(*) FROM probe_answers WHERE grader_key = $grader)",
        {"grader": grader.key},
    )
    return {
        "judgments": [judged, judgments],
        "questions": latest_version(project),
        "overrides": [override_hash, withdrawn],
        "probe": probes,
        "grades": [grader.grades, grader.failures],
    }


def _audit_agreement(project: Project, grader: StoredGrader) -> dict[str, Any] | None:
    """Return the agreement with the newest audit with a finished batch; None without one, or
    without labels in it.
    """
    finished: list[Audit] = [
        one
        for one in find_audits(project)
        if any(batch.done for batch in list_batches(project, one))
    ]
    if not finished:
        return None
    estimated = estimate_gains(gather_facts(project, finished[-1]))
    assert estimated is not None
    facts, w = estimated.facts, estimated.facts.weights
    labels = labels_of(project, finished[-1], grader.spec.fingerprint, w.items)
    weight, _ = combined_weights(
        estimated.batches, shares_of_batches(estimated.planned[: len(estimated.batches)])
    )
    judged = np.flatnonzero(~np.isnan(labels) & ~np.isnan(facts.judged) & (weight > 0))
    if not len(judged):
        return None
    rates = _Rates(
        labels[judged],
        facts.judged[judged] >= max(Policy.min_judgment, facts.min_judgment),
        weight[judged],
        estimated.pool.queries[judged],
    )
    return {
        "audit": finished[-1].name,
        "blind": not any(batch.looked for batch in facts.batches),
        "by_system": {
            run: rates.clustered(weighted_kappas, w.w[i, judged] > 0)
            for i, run in enumerate(w.systems)
        },
        **rates.as_dict(),
    }


def _unsampled_agreement(project: Project, grader: StoredGrader) -> dict[str, Any] | None:
    """Return the agreement with the judgments of the first source; None without a passage that has
    both.

    These passages are not a random sample for the grader, so the numbers hold for them alone.
    """
    sources = judgment_sources(project)
    if not sources:
        return None
    base, judged = (
        basis(project, replace(DEFAULT_POLICY, grader=grader.spec.name)),
        source_judgments(project, sources[0]),
    )
    rows = [
        (label, judged[query][passage], place)
        for place, (query, labels) in enumerate(label_qrels(project, base).items())
        for passage, label in labels.items()
        if passage in judged.get(query, {})
    ]
    if not rows:
        return None
    levels, values, queries = (np.array(column) for column in zip(*rows, strict=True))
    least = usual_min_judgment(project)
    rates = _Rates(levels, values >= least, np.ones(len(rows)), queries)
    return {"source": sources[0], "min_judgment": least, **rates.as_dict()}


@dataclass(frozen=True, eq=False)
class _Rates:
    """Agreement of labels with judgments, cross-fitted by query.

    Args:
        levels: the labels.
        relevant: whether each is relevant by its judgment.
        weights: inverse probabilities of the sample.
        queries: number of the query of each.
    """

    levels: Array
    relevant: Flags
    weights: Array
    queries: NDArray[np.int64]

    @cached_property
    def _predicted(self) -> Flags:
        return cross_fitted(self.levels, self.relevant, self.weights, self.queries)

    def clustered(self, value: Any, at: Flags) -> dict[str, float | int | None]:
        """Return a rate over some pairs, with its interval and their number."""
        rate = clustered_interval(
            value, self.weights[at], self._predicted[at], self.relevant[at], self.queries[at]
        )
        return vars(rate) | {"judged": int(at.sum())}

    def as_dict(self) -> dict[str, Any]:
        """Return the number of pairs, kappa, and the share relevant by label."""
        levels = self.levels
        return {
            "judged": len(levels),
            "kappa": self.clustered(weighted_kappas, np.ones(len(levels), bool)),
            "by_label": {
                str(int(level)): self.clustered(relevant_shares, levels == level)
                for level in np.unique(levels)
            },
        }
