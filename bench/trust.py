"""Studies with known answers: choice of a grader, changed models, sealed questions, and repairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bench.audit import simulated
from bench.audited import Array, Collection, Way, dl20, label_sets, made, simulate
from bench.figures import header, row
from exam_workbench.grading import AGAIN, SENTINELS
from exam_workbench.measures._means_and_tests import (
    DRIFT_ALARM,
    SEALED_LEVEL,
    RepairTest,
    drift_evidence,
    level_of_test,
    noise_bound,
    rewording_test,
    sealed_test,
)
from exam_workbench.measures.audit import compare_graders, passage_importance, pool_of


def graders(shared: Path, tiny: bool) -> None:
    """Print how well 400 judgments choose among nine graders: the set, the chosen grader, and its regret."""
    held = made() if tiny else dl20(shared, "DCG@10")
    w = held.weights.w
    sets = {"a": held.label, "b": held.gains} if tiny else label_sets(shared, held.weights.items)
    quality = {name: np.corrcoef(w @ np.nan_to_num(sets[name]), held.truth)[0, 1] for name in sets}
    ordered = sorted(quality, key=lambda name: -quality[name])
    print("Correlation with full judgments: " + ", ".join(f"{name} {quality[name]:.3f}" for name in ordered))
    header("graders | drawn for | best in the set | mean size | regret | random | ratio | regret in tau | random")
    sizes = {"scores": passage_importance(w), "differences": passage_importance(w, "differences")}
    for left_out in range(1 if tiny else 3):
        chosen = {name: sets[name] for name in ordered[left_out:]}
        for aim, size in sizes.items():
            _choices(held, chosen, aim, size, 2 if tiny else 500)


def _choices(held: Collection, sets: dict[str, Array], aim: str, size: Array, repeats: int) -> None:
    w, truth = held.weights.w, held.truth
    machines = np.array([w @ np.nan_to_num(labels) for labels in sets.values()])
    columns = sets | {f"{name} squared": labels**2 for name, labels in sets.items()}
    way = Way("", size, pool_of(held.weights, columns))
    budget = min(400, len(held.gains) // 3)
    quality = np.array([np.corrcoef(scores, truth)[0, 1] for scores in machines])
    tau = np.array([kendalltau(scores, truth)[0] for scores in machines])
    lost, lost_in_tau = quality.max() - quality, tau.max() - tau

    def once(seed: int) -> Sequence[float]:
        found = compare_graders(w, machines, simulate(held, way, budget, seed).until(1))
        return found.kept[np.argmin(lost)], found.kept.sum(), lost[found.chosen], lost_in_tau[found.chosen]

    best, kept, regret, regret_in_tau = simulated(repeats, once)[1]
    random = lost.mean()
    regrets = (f"{regret:.4f}", f"{random:.4f}", f"{regret / random:.2f}")
    in_tau = (f"{regret_in_tau:.3f}", f"{lost_in_tau.mean():.3f}")
    row(len(machines), aim, f"{best:.1%}", f"{kept:.2f}", *regrets, *in_tau)


def drift(shared: Path, tiny: bool) -> None:
    """Print false alarms and delays of the drift watch for two meanings of 2 % noise, and swaps of 10 to 40 %."""
    header("noise | changed by the swap | runs | alarm within 50 calls | median delay | 95 % of delays | any alarm")
    for noise in ("2 % of repeated answers", "2 % of all answers"):
        for swapped in (0.0, 0.4, 0.3, 0.2, 0.1):
            runs, calls = (10_000, 500) if not swapped else (1_000, 2_000)
            delays = _delays(20 if tiny else runs, calls, swapped, noise.endswith("all answers"))
            heard = np.isfinite(delays)
            told = [f"{np.quantile(delays, share, method='lower'):.0f}" for share in (0.5, 0.95)]
            row(noise, f"{swapped:.0%}", len(delays), f"{(delays <= 50).mean():.1%}", *told, f"{heard.mean():.2%}")


def _delays(runs: int, calls: int, swapped: float, odd_firsts: bool, noise: float = 0.02) -> np.ndarray:
    """Return the number of calls until the alarm, in checks of 10 calls; infinite without one."""
    dice = np.random.default_rng(1)
    found = np.full(runs, np.inf)
    for run in range(runs):
        # A first answer that was noise itself differs from almost all later ones.
        odd = (dice.random(SENTINELS) < noise) & odd_firsts
        differs = np.where(odd, 1 - noise, noise)
        bound = noise_bound(int((dice.random(SENTINELS) < differs).sum()), SENTINELS)
        differs[dice.permutation(SENTINELS)[: round(swapped * SENTINELS)]] = 1 - noise
        checks = []
        for _ in range(calls // AGAIN):
            asked = differs[dice.choice(SENTINELS, AGAIN, replace=False)]
            checks.append((AGAIN, int((dice.random(AGAIN) < asked).sum())))
        alarms = np.flatnonzero(drift_evidence(checks, bound) >= DRIFT_ALARM)
        if len(alarms):
            found[run] = (alarms[0] + 1) * AGAIN
    return found


def sealed(shared: Path, tiny: bool) -> None:
    """Print how often a system that learnt the public questions is flagged, and honest systems by mistake."""
    header("queries | sealed of 10 | mean coverage | gain | replays | cheat flagged | leaderboards with an honest one")
    for queries, each, level, gain in (
        *((54, each, 0.5, 0.5) for each in (2, 3, 4)),
        *((54, 3, level, gain) for level, gain in ((0.5, 0.25), (0.85, 0.5), (0.85, 0.25))),
        *((10, 3, 0.5, gain) for gain in (0.5, 0.25)),
        *((54, 3, level, 0.0) for level in (0.5, 0.85)),
    ):
        repeats = 2 if tiny else 200
        _, (flagged, wrong, cover) = simulated(repeats, partial(_leak, queries, each, level, gain))
        caught = f"{flagged:.1%}" if gain else "–"
        row(queries, each, f"{cover:.2f}", f"{gain:.0%}", repeats, caught, f"{wrong:.1%}")


def _leak(queries: int, each: int, level: float, gain: float, seed: int) -> tuple[bool, bool, float]:
    """Return whether the cheat is flagged, whether an honest system is, and the honest mean coverage.

    24 systems answer 10 questions per query by a logistic model with abilities, and difficulties of queries and
    questions. The first gains a share of the public questions that it had missed.
    """
    dice = np.random.default_rng(seed)
    ability, query = dice.normal(0, 0.5, (24, 1, 1)), dice.normal(0, 0.7, (queries, 1))
    question = dice.normal(0, 1.2, (queries, 10))
    chance = 1 / (1 + np.exp(-(1.3 * np.log(level / (1 - level)) + ability + query + question)))
    answered = dice.random(chance.shape) < chance
    cover = float(answered.mean())
    flags = np.argsort(dice.random((queries, 10)), axis=1) < each
    answered[0] |= ~flags & (dice.random((queries, 10)) < gain)
    found = sealed_test(list(answered.transpose(1, 0, 2)), [np.ones(10)] * queries, list(flags))
    honest = found.adjusted[1:] if gain else found.adjusted
    return bool(found.adjusted[0] <= SEALED_LEVEL), bool((honest <= SEALED_LEVEL).any()), cover


def repair(shared: Path, tiny: bool) -> None:
    """Print how often random rewordings are accepted, and planted repairs, at the level of a question's first test."""
    header("pairs | wordings | random accepted of 500 | planted accepted of 500 | planted chosen")
    dice = np.random.default_rng(1)
    for pairs in (80, 100, 120, 200):
        for wordings in (1, 5):
            random, planted = (
                [_reworded(pairs, wordings, share, dice) for _ in range(2 if tiny else 500)] for share in (0.0, 0.3)
            )
            accepted = [sum(bool(one.accepted) for one in found) for found in (random, planted)]
            row(pairs, wordings, *accepted, sum(one.chosen == 0 for one in planted))


def _reworded(pairs: int, wordings: int, gain: float, dice: np.random.Generator) -> RepairTest:
    """Test wordings that change a fifth of the answers at random; with `gain`, the first repairs this share of pairs.

    The present wording is right about 60 % of the pairs. A repair makes 5 % of the pairs wrong.
    """
    before = np.arange(pairs) < round(0.6 * pairs)
    dice.shuffle(before)
    after = np.where(dice.random((wordings, pairs)) < 0.2, dice.random((wordings, pairs)) < 0.6, before)
    if gain:
        wrong = dice.random(pairs)
        after[0] = np.where(before, wrong >= 0.05 / 0.6, wrong < gain / 0.4)
    return rewording_test(before, after, np.arange(pairs) % 2 == 1, level_of_test(1))
