"""What an audit must stand: machines that are wrong on purpose, looking again and again, more queries, ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import kendalltau

from bench.audited import RELEVANT, Array, Collection, Way, covered, missed, simulate
from core.measures.audit import (
    Pool,
    best,
    combined_weights,
    compare,
    estimates,
    group_bias,
    importance,
    level_at,
    linear_measure,
    machine_bias,
    pool_of,
    predict_batches,
    quality,
    shares,
    true_correlation,
)

Say = Callable[..., None]

REPEATS = 500


def adversarial(say: Say, held: Collection, budget: int = 400, repeats: int = REPEATS) -> None:
    """Machines that are wrong on purpose: labels upside down, and one that favours a third of the systems."""
    w, truth = held.weights.w, held.truth
    rng = np.random.default_rng(0)
    favoured = np.zeros(len(w), bool)
    favoured[rng.permutation(len(w))[: len(w) // 3]] = True
    # What the favoured rank high and the others do not gets the highest label.
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


def looking(say: Say, held: Collection, looks: int = 8, each: int = 50, repeats: int = REPEATS) -> None:
    """Looking after every batch, and stopping at the first statement: how often it is false."""
    w, truth = held.weights.w, held.truth
    first, second = np.triu_indices(len(w), 1)
    apart = truth[first] - truth[second]
    way = Way("", importance(w), pool_of(held.weights, held.columns), learn=True, batches=looks)
    wrong, made, shifted, naive, stops = [], [], [], [], []
    for seed in range(repeats):
        found = simulate(held, way, looks * each, seed)
        open_ = np.ones(len(apart), bool)
        false, off, plain = (np.zeros(len(apart), bool) for _ in range(3))
        when = np.full(len(apart), np.nan)
        for look in range(1, looks + 1):
            level = level_at(0.05, looks, look)
            told = compare(w, found.until(look), confidence=1 - level)
            claims = open_ & (told.p <= level)
            false |= claims & (np.sign(told.difference.value) != np.sign(apart))
            when[claims] = look * each
            open_ &= ~claims
            off |= missed(told.difference, apart)
            plain |= missed(compare(w, found.until(look)).difference, apart)
        for rows, one in ((wrong, false), (made, ~open_), (shifted, off), (naive, plain), (stops, when)):
            rows.append(one)
    by_pair = np.mean(wrong, axis=0)
    say(
        f"looking after each of {looks} batches of {each}: A is better than B",
        f"made for {np.mean(made):.0%} of pairs, after {np.nanmedian(stops):.0f} judgments in the median",
        f"false: {by_pair.mean():.4f} of audits, at worst {by_pair.max():.3f} (of {len(apart)} pairs)",
    )
    say(
        "the same, where a difference of its true size is called another",
        f"{np.mean(shifted):.4f}, at worst {np.mean(shifted, axis=0).max():.3f}",
        f"at .05 at every look {np.mean(naive):.3f}",
    )


def which_is_best(say: Say, held: Collection, budget: int = 400, repeats: int = REPEATS) -> None:
    """Which is best: how many may still be at the end, for batches that go on evenly and for such that follow them."""
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


def more_queries(say: Say, held: Collection, budget: int = 400, repeats: int = REPEATS) -> None:
    """Queries as a sample: they are drawn from the collection's with replacement, and its own scores are the truth."""
    weights, truth = held.weights, held.truth
    size = importance(weights.w)
    places = [np.flatnonzero([item[0] == query for item in weights.items]) for query in _queries(held)]
    rows = []
    for seed in range(repeats):
        chosen = np.random.default_rng(seed).integers(0, len(places), len(places))
        at = np.concatenate([places[query] for query in chosen])
        queries = np.repeat(np.arange(len(chosen)), [len(places[query]) for query in chosen])
        items = tuple((str(query), weights.items[i][1]) for query, i in zip(queries.tolist(), at.tolist(), strict=True))
        sample = Collection(
            replace(weights, items=items, w=weights.w[:, at]),
            held.gains[at],
            held.label[at],
            {name: values[at] for name, values in held.columns.items()},
        )
        pool = replace(pool_of(sample.weights, sample.columns), queries=queries)
        found = simulate(sample, Way("", size[at], pool), budget, seed).until(1)
        rows.append(
            [
                covered(estimates(sample.weights.w, found, variance="queries", queries=queries), truth),
                covered(estimates(sample.weights.w, found), truth),
            ]
        )
    say(
        f"more queries of their kind, {budget} judgments",
        f"intervals for queries: coverage {np.mean(rows, axis=0)[0]:.3f}",
        f"those for the pool, which are about these queries: {np.mean(rows, axis=0)[1]:.3f}",
    )


def _queries(held: Collection) -> list[str]:
    return sorted({query for query, _ in held.weights.items})


def ratio(say: Say, held: Collection, budgets: Sequence[int] = (200, 400, 800), repeats: int = REPEATS) -> None:
    """nDCG as a ratio with the ideal gain estimated too: whether its intervals hold.

    The ideal gain of a query is the sum over levels l of D(n_l), n_l being how many of its pool have at least the level
    and D the sum of the first discounts. Levels are estimated like gains, and the variance comes by linearisation.
    """
    way = Way("", importance(held.weights.w), pool_of(held.weights, held.columns))
    levels = range(1, int(held.gains.max()) + 1)
    reached = np.array([held.gains >= level for level in levels], float)
    truth, _ = _ratios(held, way.pool, reached)
    for budget in budgets:
        rows = []
        for seed in range(repeats):
            found = simulate(held, way, budget, seed)
            batch = found.batches[0]
            weight = batch.drawn / batch.chances
            predicted = np.array([predict_batches(way.pool, found.batches, found.planned, one)[0] for one in reached])
            value, slopes = _ratios(held, way.pool, predicted + weight * (reached - predicted))
            residuals = np.einsum("lsi,li->si", slopes, reached - predicted)
            error = np.sqrt(residuals**2 @ (batch.drawn * (1 - batch.chances) / batch.chances**2))
            rows.append(
                (np.median(3.92 * error), (np.abs(value - truth) <= 1.96 * error).mean(), (value - truth).mean())
            )
        say(
            f"nDCG@10 by ratio, {budget}",
            f"width {np.median(rows, axis=0)[0]:.3f}, coverage {np.mean(rows, axis=0)[1]:.3f}",
            f"bias {np.mean(rows, axis=0)[2]:+.3f}",
        )


def _ratios(held: Collection, pool: Pool, reached: Array) -> tuple[Array, Array]:
    """The nDCG of each system from estimated levels (L, N), and its derivatives by these, (L, S, N)."""
    w, queries = held.weights.w, held.weights.queries
    discounts = linear_measure("DCG@10").discounts()
    ends = np.concatenate([[0.0], np.cumsum(discounts)])
    slope = np.append(discounts, 0.0)
    member = (pool.queries[:, None] == np.arange(queries)).astype(float)
    counts = np.clip(reached @ member, 0, None)
    ideal = np.interp(counts, np.arange(len(ends)), ends).sum(axis=0)
    # A query of which nothing relevant was found has no ratio; it gets that of one passage.
    ideal = np.maximum(ideal, discounts[0])
    gained = (w * reached.sum(axis=0)) @ member
    value: Array = (gained / ideal).sum(axis=1)
    down = slope[np.minimum(counts.astype(int), len(discounts))]
    by_ideal = (gained / ideal**2)[None] * down[:, None]
    slopes = (w / ideal[pool.queries])[None] - by_ideal[:, :, pool.queries]
    return value, slopes


def correlations(
    say: Say, held: Collection, budgets: Sequence[int] = (100, 200, 400, 800), repeats: int = REPEATS
) -> None:
    """The correlation of the machine's board with the fully judged one, as the audit estimates it."""
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


def label_rates(say: Say, held: Collection, budget: int = 400, repeats: int = REPEATS) -> None:
    """Precision, recall, accuracy and kappa of the labels: how often their intervals hold."""
    way = Way("", importance(held.weights.w), pool_of(held.weights, held.columns))
    label, n = held.columns["questions label"], len(held.gains)
    whole = quality(label, held.gains, np.ones(n), np.zeros(n), label_from=4, judgment_from=RELEVANT)
    names = ("precision", "recall", "accuracy", "kappa")
    for kind, chosen in (("our design", way), ("uniform", replace(way, size=np.ones(n)))):
        rows = []
        for seed in range(repeats):
            found = simulate(held, chosen, budget, seed)
            weight, spread = combined_weights(found.batches, shares(found.planned))
            rates = quality(label, found.gains, weight, spread, label_from=4, judgment_from=RELEVANT)
            pairs = [(getattr(rates, name), getattr(whole, name).value) for name in names]
            rows.append([(rate.low <= true <= rate.high, rate.high - rate.low) for rate, true in pairs])
        held_, width = np.mean(rows, axis=0)[:, 0], np.median(rows, axis=0)[:, 1]
        say(
            f"labels, {kind}, {budget} judgments",
            *(
                f"{name} {getattr(whole, name).value:.2f}: width {width[i]:.2f} ({held_[i]:.3f})"
                for i, name in enumerate(names)
            ),
        )
