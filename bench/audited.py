"""Collections with full judgments, and simulated audits that reveal only the judgments of drawn passages."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytrec_eval
from numpy.typing import NDArray

from exam_workbench.audit._audit_plan import weights_from
from exam_workbench.measures import audit as audits
from exam_workbench.measures.audit import Batch, CorrectedGains, Estimates, Pool, Weights, passage_importance, pool_of

Array = NDArray[np.float64]

Item = tuple[str, str]
"""Query and passage."""

RELEVANT = 2
QUESTIONS = "QuestionSelfRatedUnanswerablePromptWithChoices"
NUGGETS = "NuggetSelfRatedPrompt"


@dataclass(frozen=True)
class Collection:
    """A collection with a judgment for every pooled passage.

    Args:
        weights: weights of the passages in the score of each system.
        gains: shape (N,), gains from people's judgments.
        label: shape (N,), the machine's labels in the unit of gains; NaN if it gave none.
        columns: the machine's features.
    """

    weights: Weights
    gains: Array
    label: Array
    columns: Mapping[str, Array]

    @property
    def truth(self) -> Array:
        """The score of each system by full judgments."""
        return self.weights.w @ self.gains

    @property
    def apart(self) -> Array:
        """The difference of the scores for each pair of systems, as `compare_all_systems` orders them."""
        first, second = np.triu_indices(len(self.truth), 1)
        return self.truth[first] - self.truth[second]

    @property
    def pool(self) -> Pool:
        """The features of rankings and of the machine, for the predictions."""
        return pool_of(self.weights, self.columns)

    @property
    def machine(self) -> Array:
        """The machine's labels as gains; 0 if it gave no label."""
        return np.nan_to_num(self.label)


@dataclass(frozen=True)
class Way:
    """One way to audit.

    Args:
        name: shown in the table.
        size: the chances of passages are proportional to it; ones for a uniform sample.
        pool: features for the predictions.
        learn: whether later batches use the judgments of earlier ones.
        batches: number of batches that share the budget.
        one_share: whether a batch has the same share in the estimate of every passage, for comparison.
        contenders: whether later batches estimate differences between systems that may still be the best.
    """

    name: str
    size: Array
    pool: Pool
    learn: bool = False
    batches: int = 1
    one_share: bool = False
    contenders: bool = False


@dataclass(frozen=True)
class Drawn:
    """A simulated audit: its batches, their plan, predictions, and the revealed gains."""

    batches: list[Batch]
    planned: Array
    predicted: Array
    gains: Array

    def until(self, t: int) -> CorrectedGains:
        """Return the corrected gains after the first t batches."""
        return audits.correct_gains(self.batches[:t], self.planned, self.gains, self.predicted[:t])


def dl20(shared: Path, measure: str, condensed: bool = False) -> Collection:
    """Return the 54 judged queries of TREC DL 2020 with 24 runs and question ratings by FLAN-T5-large.

    Args:
        measure: a linear measure.
        condensed: remove passages without a NIST judgment from the rankings; otherwise they count as 0.
    """
    folder = shared / "dl20"
    judged, runs = _read(folder, condensed)
    kinds = {"questions label": QUESTIONS, "nuggets label": NUGGETS}
    rated = {name: _qrels(folder / "rubric-qrels" / f"{kind}.qrel") for name, kind in kinds.items()}
    return _collection(runs, judged, rated, measure)


def dl23(shared: Path, measure: str) -> Collection:
    """Return the 25 queries of LLMJudge with 16 systems made for tests and question ratings by FLAN-T5-large."""
    folder = shared / "dl23-llmjudge"
    judged, runs = _read(folder)
    columns: dict[str, dict[Item, float]] = defaultdict(dict)
    with gzip.open(folder / "graded.jsonl.gz", "rt", encoding="utf-8") as lines:
        for query, passages in map(json.loads, lines):
            for passage in passages:
                for given in passage["exam_grades"]:
                    if not given.get("self_ratings"):
                        continue
                    name = "questions" if given["prompt_info"]["prompt_class"] == QUESTIONS else "nuggets"
                    ratings = np.array([one["self_rating"] for one in given["self_ratings"]], float)
                    facts = {"label": ratings.max(), "mean": ratings.mean(), "answered": (ratings >= 4).sum()}
                    facts["mean square"] = (ratings**2).mean()
                    for what, value in facts.items():
                        columns[f"{name} {what}"][query, passage["paragraph_id"]] = float(value)
    return _collection(runs, judged, columns, measure)


def label_sets(shared: Path, items: Sequence[Item]) -> dict[str, Array]:
    """Return the labels of all graders of `dl20` for these passages: eight by FLAN-T5-large, and UMBRELA's; NaN if
    missing.
    """
    folder = shared / "dl20"
    found = {file.stem: _qrels(file) for file in sorted((folder / "rubric-qrels").glob("*.qrel"))}
    found["UMBRELA"] = {}
    with gzip.open(folder / "direct-grades-umbrela.jsonl.gz", "rt", encoding="utf-8") as lines:
        for query, passages in map(json.loads, lines):
            found["UMBRELA"] |= {(query, one["paragraph_id"]): one["grades"][0]["self_ratings"] for one in passages}
    return {name: np.array([labels.get(item, np.nan) for item in items]) for name, labels in found.items()}


def made(queries: int = 6, runs: int = 5) -> Collection:
    """Return a small generated collection whose labels differ from the judgments by at most one step."""
    dice = np.random.default_rng(0)
    judged = {(f"q{q}", f"p{p}"): int(dice.integers(0, 4)) for q in range(queries) for p in range(20)}
    rated = {item: int(np.clip(value + dice.integers(-1, 2), 0, 3) * 5 / 3) for item, value in judged.items()}
    rankings: dict[str, dict[str, list[str]]] = {}
    for run in range(runs):
        # Later runs rank closer to the judgments, so that the systems differ.
        noise = {item: value + dice.normal(0, 3 / (run + 1)) for item, value in judged.items()}
        rankings[f"run{run}"] = {
            f"q{q}": sorted((f"p{p}" for p in range(20)), key=lambda p, q=q: -noise[f"q{q}", p]) for q in range(queries)
        }
    return _collection(rankings, judged, {"questions label": rated, "nuggets label": rated}, "DCG@10")


def _collection(
    runs: Mapping[str, Mapping[str, list[str]]],
    judged: Mapping[Item, int],
    columns: Mapping[str, Mapping[Item, float]],
    measure: str,
) -> Collection:
    """Unjudged passages count as 0, as in trec_eval."""
    linear = audits.linear_measure(measure)
    queries = {query for query, _ in judged}
    ranks = [
        (run, query, passage, rank)
        for run, ranking in runs.items()
        for query in queries
        for rank, passage in enumerate(ranking.get(query, ())[: linear.cutoff], 1)
    ]
    weights = weights_from(ranks, list(runs), linear, len(queries))
    gains = np.array([max(0, judged.get(item, 0)) for item in weights.items], float)
    found = {name: np.array([values.get(item, np.nan) for item in weights.items]) for name, values in columns.items()}
    label = found["questions label"] * 3 / 5
    if linear.binary:
        gains = (gains >= RELEVANT).astype(float)
        label = np.where(np.isnan(label), np.nan, found["questions label"] >= 4)
    for name in [name for name in found if name.endswith("label")]:
        found[f"{name} squared"] = found[name] ** 2
    return Collection(weights, gains, label, found)


def _qrels(file: Path) -> dict[Item, int]:
    rows = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {(query, passage): int(value) for query, _, passage, value in rows}


def _read(folder: Path, condensed: bool = False) -> tuple[dict[Item, int], dict[str, dict[str, list[str]]]]:
    """Return the judgments of a collection, and for each run and query the passages by falling score."""
    judged, runs = _qrels(folder / "qrels-nist.txt"), {}
    for file in sorted((folder / "runs").glob("*.run")):
        with file.open(encoding="utf-8") as lines:
            scores = pytrec_eval.parse_run(lines)
        runs[file.stem] = {
            query: [one for one in sorted(own, key=own.get, reverse=True) if not condensed or (query, one) in judged]
            for query, own in scores.items()
        }
    return judged, runs


def ways(held: Collection) -> list[Way]:
    """Return the ways to audit that the table compares."""
    weights, n = held.weights, len(held.gains)
    size = passage_importance(weights.w)
    alike = np.ones(n)
    full = held.pool
    # Plain prediction-powered inference: the machine's features alone, without queries and rankings.
    machine = pool_of(replace(weights, w=np.ones((1, n))), held.columns)
    plain = replace(machine, queries=np.zeros(n, np.int64))
    nothing = replace(plain, x=np.empty((n, 0)))
    rankings = pool_of(weights, {})
    return [
        Way("uniform, no machine", alike, nothing),
        Way("uniform, prediction (PPI)", alike, plain),
        Way("uniform, our prediction", alike, full),
        Way("by rank weight, no machine", size, nothing),
        Way("by rank weight, rankings alone", size, rankings),
        Way("our design", size, full),
        Way("our design, 4 batches of one share", size, full, batches=4, one_share=True),
        Way("our design, 4 batches", size, full, batches=4),
        Way("our design, 4 that learn", size, full, learn=True, batches=4),
    ]


def simulate(held: Collection, way: Way, budget: float, seed: int) -> Drawn:
    """Simulate an audit: draw batches and reveal the judgments of the drawn passages."""
    n, each = len(held.gains), budget / way.batches
    floor = 1.0 if np.ptp(way.size) == 0 else 0.1
    planned = audits.planned_chances(way.size, [each] * way.batches, floor)
    if way.one_share:
        planned = np.full_like(planned, 1e-9)
    known, size = np.zeros(n, bool), way.size
    gains = np.full(n, np.nan)
    batches: list[Batch] = []
    for t in range(way.batches):
        chance = audits.inclusion_chances(size, each, floor, ~known)
        drawn = audits.draw_sample(chance, seed, t + 1, held.weights.items)
        batches.append(Batch(chance, drawn, drawn, known))
        known = known | drawn
        gains[drawn] = held.gains[drawn]
        if (way.learn or way.contenders) and t + 1 < way.batches:
            predicted = audits.predict_batches(way.pool, batches, planned, gains)
            size = way.size
            if way.contenders:
                corrected = audits.correct_gains(batches, planned, gains, predicted)
                left = audits.decide_best(held.weights.w, corrected, 0.05).systems
                size = passage_importance(held.weights.w[list(left)], "differences") if len(left) > 1 else size
            size = size * audits.expected_spread(way.pool, batches, planned, gains, predicted)
    return Drawn(batches, planned, audits.predict_batches(way.pool, batches, planned, gains), gains)


def missed(told: Estimates, truth: Array) -> NDArray[np.bool_]:
    """Return a mask of the intervals that miss the truth."""
    return (truth < told.low - 1e-9) | (told.high + 1e-9 < truth)


def covered(told: Estimates, truth: Array) -> float:
    """Return the share of intervals that contain the truth; rounding errors do not count as a miss."""
    return float(1 - missed(told, truth).mean())
