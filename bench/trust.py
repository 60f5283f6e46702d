"""Studies with known answers: the choice of a grader by one audit."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

import numpy as np
from scipy.stats import kendalltau

from bench.audited import Collection, Way, dl20, label_sets, made, simulate
from exam_workbench.measures.audit import compare_graders, importance, pool_of

Aim = Literal["scores", "differences"]


def row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def graders(shared: Path, tiny: bool) -> None:
    """Print how well 400 judgments choose among nine graders: the set, the chosen grader, and its regret."""
    held = made() if tiny else dl20(shared, "DCG@10")
    sets = {"a": held.label, "b": held.gains} if tiny else label_sets(shared, held.weights.items)
    machines = {name: held.weights.w @ np.nan_to_num(labels) for name, labels in sets.items()}
    quality = {name: float(np.corrcoef(scores, held.truth)[0, 1]) for name, scores in machines.items()}
    ordered = sorted(quality, key=lambda name: -quality[name])
    print("Correlation with full judgments: " + ", ".join(f"{name} {quality[name]:.3f}" for name in ordered))
    row("graders", "drawn for", "best in the set", "mean size", "regret", "random", "ratio", "regret in tau", "random")
    row(*["---"] * 9)
    for left_out in range(1 if tiny else 3):
        names = ordered[left_out:]
        columns = {f"label {name}": sets[name] for name in names}
        columns |= {f"squared {name}": sets[name] ** 2 for name in names}
        for aim in get_args(Aim):
            _choices(held, np.array([machines[name] for name in names]), columns, aim, 2 if tiny else 500)


def _choices(held: Collection, machines: np.ndarray, columns: dict[str, np.ndarray], aim: Aim, repeats: int) -> None:
    w, truth = held.weights.w, held.truth
    quality = np.array([np.corrcoef(scores, truth)[0, 1] for scores in machines])
    budget = min(400, len(held.gains) // 3)
    tau = np.array([kendalltau(scores, truth)[0] for scores in machines])
    way = Way("", importance(w, aim), pool_of(held.weights, columns))
    rows = []
    for seed in range(repeats):
        found = compare_graders(w, machines, simulate(held, way, budget, seed).until(1))
        held_best = found.kept[np.argmax(quality)]
        rows.append((held_best, found.kept.sum(), quality.max() - quality[found.chosen], tau.max() - tau[found.chosen]))
    best, size, regret, in_tau = np.mean(rows, axis=0)
    random = (quality.max() - quality).mean()
    row(
        len(machines), aim, f"{best:.1%}", f"{size:.2f}", f"{regret:.4f}", f"{random:.4f}", f"{regret / random:.2f}",
        f"{in_tau:.3f}", f"{(tau.max() - tau).mean():.3f}",
    )  # fmt: skip
