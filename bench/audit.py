"""The audit on collections that are judged in full: coverage, width and order, beside what else one could do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from bench.audit_checks import (
    REPEATS,
    adversarial,
    correlations,
    label_rates,
    looking,
    more_queries,
    ratio,
    which_is_best,
)
from bench.audited import Collection, Way, covered, dl20, dl23, simulate, ways
from core.measures.audit import compare, composite, estimates

Say = Callable[..., None]

BUDGETS = (100, 200, 400, 800)


def table(say: Say, held: Collection, title: str, chosen: Sequence[Way] | None = None, repeats: int = REPEATS) -> None:
    """Coverage, median width and Kendall's tau for every way and budget."""
    truth, w = held.truth, held.weights.w
    first, second = np.triu_indices(len(w), 1)
    apart = truth[first] - truth[second]
    machine = w @ held.machine
    say(
        f"{title}: {len(w)} systems, {held.weights.queries} queries, {len(held.gains):,} passages",
        f"scores {truth.min():.2f} to {truth.max():.2f}; machine alone: tau {kendalltau(machine, truth)[0]:.3f}",
    )
    for way in chosen or ways(held):
        for budget in BUDGETS:
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


def audit(say: Say, shared: Path) -> None:
    """Print the tables of the audit."""
    if not (shared / "dl20").exists():
        say("audit", f"left out: {shared / 'dl20'} is not there")
        return
    held = dl20(shared, "DCG@10")
    table(say, held, "dl20, DCG@10")
    adversarial(say, held)
    looking(say, held)
    which_is_best(say, held)
    more_queries(say, held)
    ratio(say, held)
    label_rates(say, held)
    correlations(say, held)
    for name in ("P@10", "RBP(p=0.8)@10"):
        other = dl20(shared, name)
        table(say, other, f"dl20, {name}", [ways(other)[1], ways(other)[5]])
    for large in (False, True):
        other = dl20(shared, "DCG@10", condensed=True, large=large)
        title = f"dl20 without unjudged passages, DCG@10{', a large model' if large else ''}"
        table(say, other, title, [ways(other)[1], ways(other)[5]])
    later = dl23(shared, "DCG@10")
    table(say, later, "dl23, DCG@10")
