"""Names of measures, policies and sources: as commands, links and scripts hand them on."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from core.errors import WorkbenchError
from core.labels import Policy
from core.leaderboard import leaderboard
from core.measures import MEASURES, parse_measure
from tests.fuzz import mutations, oracles
from tests.fuzz.bench import Bench
from tests.fuzz.inputs import Input

NAMES = (
    *MEASURES, "EXAM-Cover", "EXAM-Cover@5", "Cover@1", "n-EXAM@5", "EXAM-Cover@3/pool", "ROUGE-1@5", "chrF@5",
    "P(rel=2)@5",
    "SetF(beta=0.5)", "nDCG(dcg='exp-log2')@5", "AP(rel=0)", "AP(judged_only=True)", "Success@1", "infAP", "P@0",
    "P@-1",
    "nDCG@100000", "nDCG@100001", "P@99999999999999999999", "n-EXAM@99999999999999999999",
    "EXAM-Cover@99999999999999999999",
    "SetF(beta=1e999)", "alpha_nDCG(alpha=2)@5", "ERR@20", "RBP(p=1)", "map", "recall@10", "__import__('os')@1",
)  # fmt: skip
LARGE = (-(2**63), -1, 0, 1, 2, 5, 6, 20, 2**31, 2**63, 10**30)


def a_name(random: Random) -> Input:
    """A measure and a policy, mostly spoilt."""
    measure = random.choice(NAMES)
    if random.random() < 0.5:
        at = random.randrange(len(measure) + 1)
        measure = measure[:at] + mutations.a_text(random) + measure[at + random.randint(0, 3) :]
    policy: dict[str, Any] = {
        "grader": random.choice(("test grader", mutations.a_text(random))),
        "bank_version": random.choice(LARGE),
        "min_rating": random.choice(LARGE),
        "cutoff": random.choice(LARGE),
        "label": random.choice(
            ("max", "mean", "support:2", "support:0", f"support:{10**30}", mutations.a_text(random))
        ),
        "min_judgment": random.choice(LARGE),
        "weighted": random.random() < 0.5,
    }
    chosen = {name: policy[name] for name in policy if random.random() < 0.12}
    source = random.choice(("exam", "exam", "assessors", "official", mutations.a_text(random)))
    return Input("names", (), {"text": measure, "policy": chosen, "source": source, "ask": random.random() < 0.15})


def use_name(bench: Bench, sent: Input) -> bool:
    """Look the measure up, and ask for the board; whether there is such a thing."""
    given = sent.given
    try:
        policy = Policy(**given["policy"])
        if not given["ask"]:
            again = parse_measure(str(parse_measure(given["text"])))
            if str(parse_measure(given["text"])) != str(again):
                raise oracles.Broken("a measure's standard name names another measure", given["text"])
            return True
        found = leaderboard(bench.rehearsal, given["text"], given["source"], policy)
    except WorkbenchError as error:
        oracles.refused_well(error)
        return False
    try:
        json.dumps(found.as_dict(), allow_nan=False)
    except ValueError as error:
        raise oracles.Broken("a leaderboard has a number that is none", given) from error
    return True
