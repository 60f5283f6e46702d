"""Replay of audits on collections with full judgments: coverage, interval width and order of systems for each way to
audit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bench.audited import Collection, Way, covered, dl20, dl23, made, missed, simulate, ways
from exam_workbench.measures.audit import (
    best,
    compare,
    composite,
    estimates,
    group_bias,
    importance,
    level_at,
    machine_bias,
    pool_of,
    true_correlation,
)

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
    for name in ("P@10", "RBP(p=0.8)@10"):
        _two_ways(dl20(shared, name), f"dl20, {name}")
    _two_ways(dl20(shared, "DCG@10", condensed=True), "dl20 without unjudged passages, DCG@10")
    held = dl23(shared, "DCG@10")
    table(held, "dl23, DCG@10", ways(held), BUDGETS, REPEATS)


def _replay(held: Collection, title: str, budgets: Sequence[int], repeats: int) -> None:
    table(held, title, ways(held), budgets, repeats)
    budget = budgets[len(budgets) // 2]
    adversarial(held, budget, repeats)
    looking(held, each=max(2, budget // 8), repeats=repeats)
    which_is_best(held, budget, repeats)
    correlations(held, budgets, repeats)


def _two_ways(held: Collection, title: str) -> None:
    chosen = ways(held)
    table(held, title, [chosen[1], chosen[5]], BUDGETS, REPEATS)


def say(what: str, *facts: str) -> None:
    """Print one line of results."""
    print(f"{what:<58}" + "   ".join(facts), flush=True)


def table(held: Collection, title: str, chosen: Sequence[Way], budgets: Sequence[int], repeats: int) -> None:
    """Print coverage, median interval width and Kendall's tau for every way and budget."""
    truth, w = held.truth, held.weights.w
    first, second = np.triu_indices(len(w), 1)
    apart = truth[first] - truth[second]
    machine = w @ held.machine
    say(
        f"{title}: {len(w)} systems, {held.weights.queries} queries, {len(held.gains):,} passages",
        f"scores {truth.min():.2f} to {truth.max():.2f}; machine alone: tau {kendalltau(machine, truth)[0]:.3f}",
    )
    for way in chosen:
        for budget in budgets:
            if budget >= len(held.gains):
                continue
            rows = []
            for seed in range(repeats):
                found = simulate(held, way, budget, seed)
                corrected = found.until(way.batches)
                told, pairs = estimates(w, corrected), compare(w, corrected)
                ordered = composite(machine, told.value, told.error)
                rows.append(
                    (
                        np.median(told.width),
                        covered(told, truth),
                        np.median(pairs.difference.width),
                        covered(pairs.difference, apart),
                        kendalltau(told.value, truth)[0],
                        kendalltau(ordered, truth)[0],
                        corrected.judged,
                        ((pairs.adjusted <= 0.05) & (np.sign(pairs.difference.value) != np.sign(apart))).any(),
                    )
                )
            median, mean = np.median(rows, axis=0), np.mean(rows, axis=0)
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
    machines = {
        "labels upside down": np.where(np.isnan(held.label), np.nan, np.nanmax(held.label) - held.label),
        "favours a third of the systems": np.where(theirs, np.nanmax(held.label), held.label),
    }
    for name, label in machines.items():
        turned = replace(held, label=label, columns={"label": label, "label squared": label**2})
        way = Way(name, importance(w), pool_of(held.weights, turned.columns))
        rows = []
        for seed in range(repeats):
            corrected = simulate(turned, way, budget, seed).until(1)
            told = estimates(w, corrected)
            bias = machine_bias(w, turned.machine, corrected)
            group = group_bias(w, turned.machine, corrected, favoured)
            seen = (bias.low > 0) | (bias.high < 0)
            rows.append(
                (
                    np.median(told.width),
                    covered(told, truth),
                    covered(bias, w @ turned.machine - truth),
                    seen.mean(),
                    group.value[0],
                    group.low[0] > 0,
                )
            )
        mean = np.mean(rows, axis=0)
        say(
            f"{name}, {budget} judgments",
            f"width {np.median([row[0] for row in rows]):.3f}, coverage {mean[1]:.3f}",
            f"machine alone: tau {kendalltau(w @ turned.machine, truth)[0]:.3f}",
            f"bias covered {mean[2]:.3f}, shown for {mean[3]:.0%} of systems",
            f"bias of the favoured third {mean[4]:+.2f}, above 0 in {mean[5]:.0%} of audits",
        )


def looking(held: Collection, each: int, repeats: int) -> None:
    """Print how often a statement is false if an assessor looks after every batch and stops at the first statement."""
    w, truth = held.weights.w, held.truth
    first, second = np.triu_indices(len(w), 1)
    apart = truth[first] - truth[second]
    way = Way("", importance(w), pool_of(held.weights, held.columns), learn=True, batches=LOOKS)
    wrong, claimed, shifted, naive, stops = [], [], [], [], []
    for seed in range(repeats):
        found = simulate(held, way, LOOKS * each, seed)
        open_ = np.ones(len(apart), bool)
        false, off, plain = (np.zeros(len(apart), bool) for _ in range(3))
        when = np.full(len(apart), np.nan)
        for look in range(1, LOOKS + 1):
            level = level_at(0.05, LOOKS, look)
            told = compare(w, found.until(look), confidence=1 - level)
            claims = open_ & (told.p <= level)
            false |= claims & (np.sign(told.difference.value) != np.sign(apart))
            when[claims] = look * each
            open_ &= ~claims
            off |= missed(told.difference, apart)
            plain |= missed(compare(w, found.until(look)).difference, apart)
        for rows, one in ((wrong, false), (claimed, ~open_), (shifted, off), (naive, plain), (stops, when)):
            rows.append(one)
    by_pair = np.mean(wrong, axis=0)
    say(
        f"looking after each of {LOOKS} batches of {each}: A is better than B",
        f"made for {np.mean(claimed):.0%} of pairs, after {np.nanmedian(stops):.0f} judgments in the median",
        f"false: {by_pair.mean():.4f} of audits, at worst {by_pair.max():.3f} (of {len(apart)} pairs)",
    )
    say(
        "the same, where a difference of its true size is called another",
        f"{np.mean(shifted):.4f}, at worst {np.mean(shifted, axis=0).max():.3f}",
        f"at .05 at every look {np.mean(naive):.3f}",
    )


def which_is_best(held: Collection, budget: int, repeats: int) -> None:
    """Print how many systems may still be the best after an audit, for three ways to draw batches."""
    w, winner = held.weights.w, int(np.argmax(held.truth))
    top = np.argsort(-held.truth)[:6]
    rows, columns = np.triu_indices(len(top), 1)
    pool = pool_of(held.weights, held.columns)
    even = Way("one batch", importance(w), pool)
    differences = Way("one batch for differences", importance(w, "differences"), pool)
    follow = Way("4 batches that follow the contenders", importance(w, "differences"), pool, batches=4, contenders=True)
    for way in (even, differences, follow):
        found = []
        for seed in range(repeats):
            corrected = simulate(held, way, budget, seed).until(way.batches)
            left = best(w, corrected, 0.05).systems
            told = estimates(w[top[rows]] - w[top[columns]], corrected)
            found.append((len(left), winner not in left, np.median(told.width)))
        median, mean = np.median(found, axis=0), np.mean(found, axis=0)
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
    way = Way("", importance(w), pool_of(held.weights, held.columns))
    for budget in budgets:
        rows = []
        for seed in range(repeats):
            found = simulate(held, way, budget, seed).until(1)
            told = true_correlation(machine, w, found)
            rows.append(
                (
                    told.value,
                    told.high - told.low,
                    told.low <= true <= told.high,
                    np.corrcoef(machine, w @ found.gains)[0, 1],
                )
            )
        median = np.nanmedian(rows, axis=0)
        defined = np.array([row[2] for row in rows if np.isfinite(row[0])])
        say(
            f"correlation with full judgments, {true:.3f}, from {budget}",
            f"median {median[0]:.3f}, width {median[1]:.3f}, coverage {defined.mean():.3f}",
            f"with the audited scores {median[3]:.3f}",
            f"undefined {1 - len(defined) / repeats:.1%}",
        )
