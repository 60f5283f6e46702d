"""Replay of audits on collections with full judgments: coverage, interval width and order of systems for each way to
audit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bench.audited import Array, Collection, Way, covered, dl20, dl23, made, missed, simulate, ways
from exam_workbench.measures import audit as audits

BUDGETS = (100, 200, 400, 800)
REPEATS, LOOKS = 500, 8


def audit(shared: Path, tiny: bool) -> None:
    """Print the tables of the replay; with `tiny`, use a generated collection instead of the real ones."""
    if tiny:
        _replay(made(), "generated", (20,), 2)
        return
    if not (shared / "dl20").exists():
        raise SystemExit(f"No collections at {shared}. The replay needs the judgments of dl20 and dl23-llmjudge.")
    _replay(dl20(shared, "DCG@10"), "dl20, DCG@10", BUDGETS, REPEATS)
    for title, held in (
        ("dl20, P@10", dl20(shared, "P@10")),
        ("dl20, RBP(p=0.8)@10", dl20(shared, "RBP(p=0.8)@10")),
        ("dl20 without unjudged passages, DCG@10", dl20(shared, "DCG@10", condensed=True)),
    ):
        chosen = ways(held)
        table(held, title, [chosen[1], chosen[5]], BUDGETS, REPEATS)
    held = dl23(shared, "DCG@10")
    table(held, "dl23, DCG@10", ways(held), BUDGETS, REPEATS)


def _replay(held: Collection, title: str, budgets: Sequence[int], repeats: int) -> None:
    table(held, title, ways(held), budgets, repeats)
    budget = budgets[len(budgets) // 2]
    adversarial(held, budget, repeats)
    looking(held, each=max(2, budget // 8), repeats=repeats)
    which_is_best(held, budget, repeats)
    correlations(held, budgets, repeats)


def say(what: str, *facts: str) -> None:
    """Print one line of results."""
    print(f"{what:<58}" + "   ".join(facts), flush=True)


def simulated(repeats: int, once: Callable[[int], Sequence[float]]) -> tuple[Array, Array]:
    """Return median and mean of each value of a simulation, over its seeds; values that are NaN are left out."""
    rows = np.array([once(seed) for seed in range(repeats)], float)
    return np.nanmedian(rows, axis=0), np.nanmean(rows, axis=0)


def table(held: Collection, title: str, chosen: Sequence[Way], budgets: Sequence[int], repeats: int) -> None:
    """Print coverage, median interval width and Kendall's tau for every way and budget."""
    truth, w, apart = held.truth, held.weights.w, held.apart
    machine = w @ held.machine
    say(
        f"{title}: {len(w)} systems, {held.weights.queries} queries, {len(held.gains):,} passages",
        f"scores {truth.min():.2f} to {truth.max():.2f}; machine alone: tau {kendalltau(machine, truth)[0]:.3f}",
    )

    def once(way: Way, budget: int, seed: int) -> Sequence[float]:
        corrected = simulate(held, way, budget, seed).until(way.batches)
        told, pairs = audits.estimate_sums(w, corrected), audits.compare_all_systems(w, corrected)
        return (
            np.median(told.width),
            covered(told, truth),
            np.median(pairs.difference.width),
            covered(pairs.difference, apart),
            kendalltau(told.value, truth)[0],
            kendalltau(audits.composite_scores(machine, told.value, told.error), truth)[0],
            corrected.judged,
            ((pairs.adjusted <= 0.05) & (np.sign(pairs.difference.value) != np.sign(apart))).any(),
        )

    for way in chosen:
        for budget in [budget for budget in budgets if budget < len(held.gains)]:
            median, mean = simulated(repeats, partial(once, way, budget))
            say(
                f"{way.name}, {budget}",
                f"width {median[0]:.3f} ({mean[1]:.3f})",
                f"difference {median[2]:.3f} ({mean[3]:.3f})",
                f"tau {median[4]:.3f}",
                f"composite {median[5]:.3f}",
                f"judged {mean[6]:.0f}",
                f"a false pair {mean[7]:.3f}",
            )


def adversarial(held: Collection, budget: int, repeats: int) -> None:
    """Print the effect of inverted labels, and of labels that favour a third of the systems."""
    w, truth = held.weights.w, held.truth
    rng = np.random.default_rng(0)
    favoured = np.zeros(len(w), bool)
    favoured[rng.permutation(len(w))[: len(w) // 3]] = True
    # Passages that the favoured systems rank high and the others rank low get the highest label.
    theirs = w[favoured].mean(axis=0) > 2 * w[~favoured].mean(axis=0)
    highest = np.nanmax(held.label)

    def once(turned: Collection, way: Way, seed: int) -> Sequence[float]:
        corrected = simulate(turned, way, budget, seed).until(1)
        told = audits.estimate_sums(w, corrected)
        bias = audits.machine_bias(w, turned.machine, corrected)
        group = audits.group_bias(w, turned.machine, corrected, favoured)
        return (
            np.median(told.width),
            covered(told, truth),
            covered(bias, w @ turned.machine - truth),
            ((bias.low > 0) | (bias.high < 0)).mean(),
            group.value[0],
            group.low[0] > 0,
        )

    for name, label in (
        ("labels upside down", highest - held.label),
        ("favours a third of the systems", np.where(theirs, highest, held.label)),
    ):
        turned = replace(held, label=label, columns={"label": label, "label squared": label**2})
        way = Way(name, audits.passage_importance(w), turned.pool)
        median, mean = simulated(repeats, partial(once, turned, way))
        say(
            f"{name}, {budget} judgments",
            f"width {median[0]:.3f}, coverage {mean[1]:.3f}",
            f"machine alone: tau {kendalltau(w @ turned.machine, truth)[0]:.3f}",
            f"bias covered {mean[2]:.3f}, shown for {mean[3]:.0%} of systems",
            f"bias of the favoured third {mean[4]:+.2f}, above 0 in {mean[5]:.0%} of audits",
        )


def looking(held: Collection, each: int, repeats: int) -> None:
    """Print how often a statement is false if an assessor looks after every batch and stops at the first statement."""
    w, apart = held.weights.w, held.apart
    way = Way("", audits.passage_importance(w), held.pool, learn=True, batches=LOOKS)
    false, shifted, naive = np.zeros((3, repeats, len(apart)), bool)
    stops = np.full((repeats, len(apart)), np.nan)
    for seed in range(repeats):
        found = simulate(held, way, LOOKS * each, seed)
        for look in range(1, LOOKS + 1):
            level = audits.level_at(0.05, LOOKS, look)
            told = audits.compare_all_systems(w, found.until(look), confidence=1 - level)
            claims = np.isnan(stops[seed]) & (told.p <= level)
            false[seed] |= claims & (np.sign(told.difference.value) != np.sign(apart))
            stops[seed, claims] = look * each
            shifted[seed] |= missed(told.difference, apart)
            naive[seed] |= missed(audits.compare_all_systems(w, found.until(look)).difference, apart)
    say(
        f"looking after each of {LOOKS} batches of {each}: A is better than B",
        f"made for {np.isfinite(stops).mean():.0%} of pairs, after {np.nanmedian(stops):.0f} judgments in the median",
        f"false: {false.mean():.4f} of audits, at worst {false.mean(axis=0).max():.3f} (of {len(apart)} pairs)",
    )
    say(
        "the same, where a difference of its true size is called another",
        f"{shifted.mean():.4f}, at worst {shifted.mean(axis=0).max():.3f}",
        f"at .05 at every look {naive.mean():.3f}",
    )


def which_is_best(held: Collection, budget: int, repeats: int) -> None:
    """Print how many systems may still be the best after an audit, for three ways to draw batches."""
    w, winner = held.weights.w, int(np.argmax(held.truth))
    top = np.argsort(-held.truth)[:6]
    rows, columns = np.triu_indices(len(top), 1)
    apart = w[top[rows]] - w[top[columns]]

    def once(way: Way, seed: int) -> Sequence[float]:
        corrected = simulate(held, way, budget, seed).until(way.batches)
        left = audits.decide_best(w, corrected, 0.05).systems
        return len(left), winner not in left, np.median(audits.estimate_sums(apart, corrected).width)

    for_differences = audits.passage_importance(w, "differences")
    for way in (
        Way("one batch", audits.passage_importance(w), held.pool),
        Way("one batch for differences", for_differences, held.pool),
        Way("4 batches that follow the contenders", for_differences, held.pool, batches=4, contenders=True),
    ):
        median, mean = simulated(repeats, partial(once, way))
        say(
            f"which is best, {way.name}, {budget}",
            f"left {median[0]:.0f} of {len(w)} in the median, {mean[0]:.1f} on average",
            f"the best one left out {mean[1]:.3f}",
            f"width of differences among the first six {median[2]:.3f}",
        )


def correlations(held: Collection, budgets: Sequence[int], repeats: int) -> None:
    """Print estimates of the correlation between the machine's leaderboard and the leaderboard from full judgments."""
    w = held.weights.w
    machine = w @ held.machine
    true = np.corrcoef(machine, held.truth)[0, 1]
    way = Way("", audits.passage_importance(w), held.pool)

    def once(budget: int, seed: int) -> Sequence[float]:
        found = simulate(held, way, budget, seed).until(1)
        told = audits.true_correlation(machine, w, found)
        undefined = np.isnan(told.value)
        within = np.nan if undefined else told.low <= true <= told.high
        return told.value, told.high - told.low, within, np.corrcoef(machine, w @ found.gains)[0, 1], undefined

    for budget in budgets:
        median, mean = simulated(repeats, partial(once, budget))
        say(
            f"correlation with full judgments, {true:.3f}, from {budget}",
            f"median {median[0]:.3f}, width {median[1]:.3f}, coverage {mean[2]:.3f}",
            f"with the audited scores {median[3]:.3f}",
            f"undefined {mean[4]:.1%}",
        )
