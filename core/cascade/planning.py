"""Planning a cascade: which graders, what is promised, what each passage weighs, and the sample that will tell."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace

import numpy as np

from core.bank import without_answered_by_topic
from core.cascade.records import Cascade, find_cascade
from core.catalogue import find_grader, named_graders, prompts, put_grader
from core.errors import InputError
from core.graders import make_grader
from core.labels import Policy, basis, label_qrels
from core.measures.audit import LinearMeasure, linear_measure
from core.measures.cascade import AGREEMENTS, PROMISES, Agreement, Promise, draws, weight
from core.project import Cursor, Project, as_name, log, stage
from core.types import GraderSpec

ALPHA, DELTA = 0.1, 0.1
SAMPLE = 300
"""Draws of the sample where nobody says otherwise."""
LEARNING = 1 / 3
"""The part of the sample from which it is learnt what the cheap grader's ratings stand for; the rest tests."""
LARGEST_SAMPLE = 1_000_000
LARGEST_SEED = 2**31 - 1


def plan(
    project: Project,
    name: str,
    cheap: str,
    expensive: str,
    measure: str = "DCG@10",
    policy: Policy | None = None,
    *,
    sample: int = SAMPLE,
    alpha: float = ALPHA,
    delta: float = DELTA,
    agreement: Agreement = "relevance",
    promise: Promise = "all",
    seed: int | None = None,
    author: str,
) -> Cascade:
    """Plan a cascade and draw its sample. Nothing is asked yet.

    What stands at which rank now decides what a passage weighs from now on. Overrides do not count.

    Args:
        name: of the cascade.
        cheap: a grader that has graded, of whose labels most are kept.
        expensive: a grader that has graded, or that is set up under a name.
        measure: P@k, DCG@k, RBP(p=0.8)@k; nDCG@k weighs passages as DCG@k does.
        policy: how grades become labels; its grader does not count. The default policy for None.
        sample: draws, by weight and with replacement, a third to learn from and the rest to test with.
        alpha, delta: at most alpha of the board's weight disagrees, but for a chance of delta.
        agreement: whether labels agree on one side of the min rating (`relevance`), or where they are equal (`label`).
        promise: see `core.measures.cascade.PROMISES`.
        seed: decides the sample; one is made for None.

    Raises:
        InputError: a name that is empty or taken, a measure whose weights are not given by ranks, an unknown grader,
            one grader twice, no labels, or a number out of range.
    """
    if not (name := as_name(name)):
        raise InputError("empty-name", "The cascade has no name.", "Give it one.")
    linear = linear_measure(measure.removeprefix("n") if measure.startswith("nDCG") else measure)
    _check(sample, alpha, delta, agreement, promise)
    given = replace(policy or Policy(), overrides=False)
    first = basis(project, replace(given, grader=cheap))
    spec = _spec_of(project, expensive)
    if spec.fingerprint in first.grader.spec.fingerprints:
        raise InputError("same-graders", "The cheap grader and the expensive one are the same.", "Name two graders.")
    resolved = replace(
        given,
        grader=spec.fingerprint,
        bank_version=first.version,
        min_rating=spec.min_rating(given.min_rating),
    )
    queries = without_answered_by_topic(project, label_qrels(project, first))
    if not queries:
        raise InputError(
            "grader-without-grades",
            f"'{first.grader.spec.name}' has not graded any passage of the pool.",
            "Let it grade first: exam grade",
        )
    seed = secrets.randbelow(LARGEST_SEED) if seed is None else seed
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(
            "seed-out-of-range", "The seed is out of range.", f"Use a whole number from 0 to {LARGEST_SEED:,}."
        )
    with project.transaction() as cursor:
        if cursor.execute("SELECT 1 FROM cascades WHERE name = ?", [name]).fetchall():
            raise InputError("name-taken", f"There is a cascade '{name}' already.", "Give this one another name.")
        put_grader(cursor, spec)
        key = cursor.execute(
            "INSERT INTO cascades VALUES (nextval('keys'), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now()::TIMESTAMP)"
            " RETURNING cascade_key",
            [name, linear.name, json.dumps(resolved.as_dict()), first.grader.spec.fingerprint, agreement, promise,
             alpha, delta, seed, as_name(author)],
        ).fetchall()[0][0]  # fmt: skip
        passages = _put_passages(cursor, key, linear, queries, sample, seed)
        log(cursor, author, "plan cascade", name=name, cheap=first.grader.spec.name, expensive=spec.name,
            passages=passages)  # fmt: skip
    return find_cascade(project, name)


def _check(sample: int, alpha: float, delta: float, agreement: str, promise: str) -> None:
    if not 3 <= sample <= LARGEST_SAMPLE:
        raise InputError(
            "sample-out-of-range", f"A sample of {sample:,} is out of range.", f"Use 3 to {LARGEST_SAMPLE:,} draws."
        )
    for what, number in (("alpha", alpha), ("delta", delta)):
        if not 0 < number < 1:
            raise InputError("share-out-of-range", f"{what} is not between 0 and 1.", "Use a share such as 0.1.")
    if agreement not in AGREEMENTS or promise not in PROMISES:
        raise InputError(
            "unknown-promise",
            "What is promised is unknown.",
            f"Agreement is {' or '.join(AGREEMENTS)}; of {' or '.join(PROMISES)}.",
        )


def _spec_of(project: Project, name: str) -> GraderSpec:
    """A grader that has graded, or one that is set up and has not."""
    try:
        return find_grader(project, name).spec
    except InputError:
        for named in named_graders(project):
            if named.name == name:
                return make_grader(named.kind, named.parameters, prompts(project)).spec
        raise


def _put_passages(cursor: Cursor, key: int, measure: LinearMeasure, queries: list[str], sample: int, seed: int) -> int:
    """Freeze what each passage weighs, draw the sample, and say how many passages there are."""
    discounts = measure.discounts()
    systems = cursor.execute("SELECT count(*) FROM runs").fetchall()[0][0]
    # In the order of ids, so that the same seed draws the same passages in a copy whose keys are others.
    weighed = cursor.execute(
        "SELECT query_key, passage_key, rank, count(*), query_id, passage_id FROM rankings"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
        " SEMI JOIN pool USING (query_key, passage_key)"
        " WHERE rank <= ? AND text_key IS NOT NULL AND list_contains(?, query_id) GROUP BY ALL"
        " ORDER BY query_id, passage_id, rank",
        [measure.cutoff, queries],
    ).fetchall()
    at: dict[tuple[int, int], dict[float, int]] = {}
    depth: dict[tuple[int, int], int] = {}
    for query, passage, rank, times, _, _ in weighed:
        at.setdefault((query, passage), {})[float(discounts[rank - 1])] = times
        depth.setdefault((query, passage), rank)
    weights = np.array([weight(found, systems) for found in at.values()]) / len(queries)
    drawn = draws(weights, sample, seed)
    lessons = round(sample * LEARNING)
    learned, tested = (np.bincount(part, minlength=len(weights)) for part in (drawn[:lessons], drawn[lessons:]))
    columns = {
        "query_key": [query for query, _ in at],
        "passage_key": [passage for _, passage in at],
        "weight": weights.tolist(),
        "depth": list(depth.values()),
        "learned": learned.tolist(),
        "tested": tested.tolist(),
    }
    types = dict.fromkeys(columns, "INTEGER") | {"weight": "DOUBLE"}
    stage(cursor, "new_cascade_passages", columns, types)
    cursor.execute("INSERT INTO cascade_passages SELECT ?, * FROM new_cascade_passages", [key])
    return len(weights)
