"""A drill of the vLLM back end: with the same model it gives the grades that the transformers back end gives.

    python -m bench.vllm_drill [WORKERS] [MODEL]

Every method grades pairs of texts by the transformers library, by vLLM here, and with WORKERS by vLLM on so many
workers of a Ray cluster on this computer; ratings, what was written, and why pairs failed have to be the same, and
confidences nearly. Without a MODEL these are two tiny causal models that are trained for it, one of them for chats.
vLLM has to be installed: docs/dependencies.md says how.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from core.graders import Cluster, Control, Pair, RayGrader, built_in, make_grader
from core.types import Asked, Grade
from tests.made.tiny_models import ANSWERS, FILLER, build_tiny_causal

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "self-rating": ("self-rating", {}),
    "self-rating of shortened passages": ("self-rating", {"max_tokens_in": 200}),
    "direct": ("direct", {}),
    "choice by letter": ("choice", {"by": "letter"}),
    "choice by likelihood": ("choice", {"by": "likelihood"}),
    "answer, checked by the model": ("answer", {"check": "model"}),
}
"""How a grader is made of a method."""
QUESTIONS = {
    key: Asked(f"which of them {words} ?", "oak", ("oak", "elm", "the red leaves of maple"))
    for key, words in enumerate(("is it", "may be used for it"))
}
COPIES = 4
"""Passages with each of the words that the tiny models know."""
NEAR = 1e-4
"""Confidences that differ by less are the same: two programs add up in different orders."""

Grades = dict[Pair, Grade]


def main(workers: int, model: Path | None) -> None:
    otherwise = 0
    with tempfile.TemporaryDirectory() as scratch:
        folders = [model] if model else [
            build_tiny_causal(Path(scratch) / ("chats" if chats else "goes-on"), chats) for chats in (False, True)
        ]  # fmt: skip
        print("| model | method | pairs | graded | where | otherwise | confidences | farthest apart |")
        print("| --- | --- | ---: | ---: | --- | ---: | ---: | ---: |")
        for folder, method in product(folders, METHODS):
            otherwise += compared(folder, method, workers)
    if otherwise:
        raise SystemExit("The drill failed.")


def compared(folder: Path, method: str, workers: int) -> int:
    """Grade with one method everywhere, and say what came of it; the number of pairs that are otherwise."""
    kind, settings = METHODS[method]
    settings = {"model": str(folder), "dtype": "float32", **settings}
    passages = texts(random.Random(1))
    expected = graded(kind, settings | {"back_end": "transformers", "device": "cpu"}, passages, 0)
    otherwise = 0
    for on in (0, workers) if workers else (0,):
        got = graded(kind, settings | {"back_end": "vllm"}, passages, on)
        if got.keys() != expected.keys():
            raise SystemExit(f"{len(got.keys() ^ expected.keys())} pairs are missing.")
        gaps = [apart(one, got[pair]) for pair, one in expected.items() if one.confidence is not None]
        unlike = sum(told(got[pair]) != told(one) for pair, one in expected.items()) + sum(gap > NEAR for gap in gaps)
        otherwise += unlike
        ratings = sum(one.rating is not None for one in expected.values())
        where = f"{on} workers" if on else "here"
        print(
            f"| {folder.name} | {method} | {len(expected):,} | {ratings:,} | {where} | {unlike:,}"
            f" | {len(gaps):,} | {max(gaps, default=0.0):.0e} |", flush=True,
        )  # fmt: skip
    return otherwise


def graded(kind: str, settings: dict[str, Any], passages: dict[int, str], workers: int) -> Grades:
    """Every question with every passage.

    Raises:
        SystemExit: a pair came back twice.
    """
    grader: Any = make_grader(kind, settings)
    if workers:
        grader = RayGrader(grader.spec, kind, settings, built_in(), Cluster(workers=workers))
    pairs = list(product(QUESTIONS, passages))
    began, control = time.process_time(), Control()
    came = [one for batch in grader.grade(QUESTIONS, passages, pairs, control) for one in batch]
    print(f"{settings['back_end']}: {time.process_time() - began:.1f} s, {asdict(control.usage)}", file=sys.stderr)
    if workers:
        grader.close()
    found = {(question, passage): grade for question, passage, grade in came}
    if len(found) < len(came):
        raise SystemExit(f"{len(came) - len(found)} pairs came back twice.")
    return found


def told(grade: Grade) -> tuple[Any, ...]:
    """What has to be the same. Likelihoods are kept with four digits, and compared as the confidence that they make."""
    raw = re.sub(r" -?\d+\.\d{4}\b", "", grade.raw or "")
    return grade.status, grade.rating, grade.answer, raw, grade.reason


def apart(one: Grade, other: Grade) -> float:
    """By how much their confidences differ; 1 where one of them has none."""
    return abs(one.confidence - other.confidence) if one.confidence and other.confidence else 1.0


def texts(dice: random.Random) -> dict[int, str]:
    """Passages of many lengths in the words of the tiny models, each with one that they answer by."""
    passages = {}
    for number, marker in enumerate(list(ANSWERS) * COPIES):
        words = dice.choices(FILLER[:40], k=5 + 37 * (number % 15))
        words.insert(dice.randrange(len(words)), marker)
        passages[100 + number] = " ".join(words)
    return passages


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else 0, Path(given[1]) if len(given) > 1 else None)
