"""Answers of ten systems to the questions of NQ-open: ability by retriever and reader beside plain accuracy."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.measures import holm, randomisation_test
from core.measures.answers import TEXT_SCORES, best
from core.measures.item_response import Analysis, Bounded, analyse, design_of, ranking

# Kamalloo et al., Evaluating Open-Domain Question Answering in the Era of Large Language Models, ACL 2023, table 1.
SYSTEMS: Mapping[str, tuple[str, str]] = {
    "DPR": ("DPR", "extractive"),
    "FiD": ("DPR", "FiD"),
    "EviGen": ("DPR", "EviGen"),
    "ANCE-plus_FiD": ("ANCE+", "FiD"),
    "Contriever_FiD": ("Contriever", "FiD"),
    "EMDR2": ("EMDR2", "FiD"),
    "FiD-KD": ("FiD-KD", "FiD"),
    "GAR-plus_FiD": ("GAR+", "FiD"),
    "Rocketv2_FiD": ("RocketQAv2", "FiD"),
    "R2D2": ("R2D2", "R2D2"),
}
REPEATS = 100


def answers(folder: Path) -> tuple[list[str], NDArray[np.float64]]:
    """Questions, and the systems' answers to them by exact match: systems x questions, NaN where one has none."""
    right: dict[str, dict[str, bool]] = {}
    for system in SYSTEMS:
        lines = (folder / f"NQ_{system}.jsonl").read_text(encoding="utf-8").splitlines()
        for row in map(json.loads, lines):
            given = row["prediction"] if isinstance(row["prediction"], list) else [row["prediction"]]
            right.setdefault(row["question"], {})[system] = any(
                best(TEXT_SCORES["em"], one, row["answer"]) for one in given
            )
    table = [[float(known[system]) if system in known else np.nan for known in right.values()] for system in SYSTEMS]
    return list(right), np.array(table)


def openqa(say: Callable[..., None], shared: Path) -> None:
    """Print abilities of the systems and of their components with intervals, beside accuracy."""
    folder = shared / "openqa-eval"
    if not folder.exists():
        say("openqa", f"left out: {folder} is not there")
        return
    questions, table = answers(folder)
    names = list(SYSTEMS)
    flat = analyse(names, questions, table, model="2pl", bootstrap=REPEATS)
    by_accuracy = [row.student for row in sorted(flat.students, key=lambda row: -(row.accuracy or 0))]
    rows = {row.student: row for row in flat.students}
    by_ability = sorted(rows, key=lambda name: -rows[name].ability.value)
    said = f"{len(names)} systems x {len(questions):,} questions, 2pl"
    say(said, f"log-likelihood {flat.statistics.log_likelihood:.0f}", f"RMSE {flat.statistics.rmse.mean:.3f}")
    differences = np.stack([table[names.index(a)] - table[names.index(b)] for a, b in pairwise(by_accuracy)], axis=1)
    corrected = holm(randomisation_test(differences).tolist())
    for i, name in enumerate(by_accuracy):
        row = rows[name]
        apart = "" if not i else f"p {corrected[i - 1]:.3f} from the one above"
        place = f"place {by_ability.index(name) + 1} by ability {_shown(row.ability)}"
        say(f"  {i + 1}. {name}", f"accuracy {row.accuracy:.3f} +/- {row.accuracy_error:.3f}", place, apart)
    accuracy = np.array([rows[name].accuracy for name in names])
    ability = np.array([rows[name].ability.value for name in names])
    say("  Spearman of ability and accuracy", f"{ranking(accuracy, ability):.3f}")
    factors = {name: dict(zip(("retriever", "reader"), levels, strict=True)) for name, levels in SYSTEMS.items()}
    try:
        design_of(names, factors)
    except InputError as refused:
        say("  by retriever and reader, all ten", str(refused))
    kept = [i for i, name in enumerate(names) if name != "R2D2"]
    some = [names[i] for i in kept]
    _components(say, analyse(some, questions, table[kept], factors, "2pl", bootstrap=REPEATS, held_out=False))


def _components(say: Callable[..., None], found: Analysis) -> None:
    say(f"  without R2D2: {len(found.students)} systems by retriever and reader")
    for row in found.components:
        beside = "the first" if row.difference is None else f"{_shown(row.difference)} beside the first"
        say(f"    {row.factor} {row.level}", f"accuracy {row.accuracy:.3f} of {row.students}", beside)


def _shown(number: Bounded) -> str:
    bounds = "" if number.low is None else f" [{number.low:+.2f}, {number.high:+.2f}]"
    return f"{number.value:+.2f}{bounds}"
