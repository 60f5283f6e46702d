"""The audit on collections that are judged in full: judgments are revealed only as they are drawn, and counted."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from core.measures.audit import (
    Batch,
    Corrected,
    Estimates,
    Pool,
    Weights,
    best,
    chances,
    combined_weights,
    compare,
    composite,
    correct,
    draw,
    estimates,
    expected_spread,
    group_bias,
    importance,
    level_at,
    linear_measure,
    machine_bias,
    planned_chances,
    pool_of,
    predict_batches,
    quality,
    rank_weights,
    shares,
)

Array = NDArray[np.float64]
Say = Callable[..., None]

REPEATS = 500
BUDGETS = (100, 200, 400, 800)
RELEVANT = 2
QUESTIONS = "QuestionSelfRatedUnanswerablePromptWithChoices"
NUGGETS = "NuggetSelfRatedPrompt"


@dataclass(frozen=True)
class Collection:
    """A collection of which every pooled passage has a judgment.

    Args:
        weights: of its systems.
        gains: shape (N,), what people say of each passage.
        label: shape (N,), what the machine says, in the unit of gains; NaN where it says nothing.
        columns: the machine's features.
    """

    weights: Weights
    gains: Array
    label: Array
    columns: Mapping[str, Array]

    @property
    def truth(self) -> Array:
        """The score of each system on the board that is judged in full."""
        return self.weights.w @ self.gains

    @property
    def machine(self) -> Array:
        """The gain that the machine's label stands for; none where it gave none."""
        return np.nan_to_num(self.label)


@dataclass(frozen=True)
class Way:
    """One way to audit.

    Args:
        name: for the table.
        size: what chances are proportional to; ones for a uniform sample.
        pool: what predictions are made of.
        learn: whether later batches use what earlier ones showed.
        batches: how many the budget is drawn in.
        one_share: whether a batch has the same share in the estimate of every passage, as a comparison.
        contenders: whether later batches are about the differences of those that may still be the best.
    """

    name: str
    size: Array
    pool: Pool
    learn: bool = False
    batches: int = 1
    one_share: bool = False
    contenders: bool = False


def dl20(shared: Path, measure: str, condensed: bool = False) -> Collection:
    """The 54 judged queries of TREC DL 2020, 24 runs, question ratings by FLAN-T5-large.

    Args:
        measure: a linear one.
        condensed: whether passages that NIST did not judge are taken out of the rankings, instead of counting as 0.
    """
    folder = shared / "dl20"
    judged = _qrels(folder / "qrels-nist.txt")
    runs = {file.stem: _run(file) for file in sorted((folder / "runs").glob("*.run"))}
    if condensed:
        runs = {
            run: {query: [one for one in ranked if (query, one) in judged] for query, ranked in ranking.items()}
            for run, ranking in runs.items()
        }
    rated = {
        "questions": _qrels(folder / "rubric-qrels" / f"{QUESTIONS}.qrel"),
        "nuggets": _qrels(folder / "rubric-qrels" / f"{NUGGETS}.qrel"),
    }
    columns = {f"{name} label": found for name, found in rated.items()}
    return _collection(runs, judged, columns, measure)


def dl23(shared: Path, measure: str) -> Collection:
    """The 25 queries of LLMJudge, 16 systems made for tests, question ratings by FLAN-T5-large."""
    folder = shared / "dl23-llmjudge"
    judged = _qrels(folder / "qrels-nist.txt")
    runs = {file.stem: _run(file) for file in sorted((folder / "runs").glob("*.run"))}
    columns: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
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


def _collection(
    runs: Mapping[str, Mapping[str, list[str]]],
    judged: Mapping[tuple[str, str], int],
    columns: Mapping[str, Mapping[tuple[str, str], float]],
    measure: str,
) -> Collection:
    """Unjudged passages count as 0, as trec_eval takes them."""
    linear = linear_measure(measure)
    weights = rank_weights(runs, linear, sorted({query for query, _ in judged}))
    gains = np.array([max(0, judged.get(item, 0)) for item in weights.items], float)
    found = {name: np.array([values.get(item, np.nan) for item in weights.items]) for name, values in columns.items()}
    label = found["questions label"] * 3 / 5
    if linear.binary:
        gains = (gains >= RELEVANT).astype(float)
        label = np.where(np.isnan(label), np.nan, found["questions label"] >= 4)
    for name in [name for name in found if name.endswith("label")]:
        found[f"{name} squared"] = found[name] ** 2
    return Collection(weights, gains, label, found)


def _qrels(file: Path) -> dict[tuple[str, str], int]:
    rows = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    return {(query, passage): int(value) for query, _, passage, value in rows}


def _run(file: Path) -> dict[str, list[str]]:
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        query, _, passage, _, score, _ = line.split()
        found[query].append((-float(score), passage))
    return {query: [passage for _, passage in sorted(rows, key=lambda row: row[0])] for query, rows in found.items()}


def ways(held: Collection) -> list[Way]:
    """The ways to audit that the table sets side by side."""
    weights, n = held.weights, len(held.gains)
    size = importance(weights.w)
    alike = np.ones(n)
    full = pool_of(weights, held.columns)
    # Plain prediction-powered inference: the machine's features alone, no queries, nothing of the rankings.
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


@dataclass(frozen=True)
class Drawn:
    """What one simulated audit came to: the batches, their plan, predictions, and the gains that were revealed."""

    batches: list[Batch]
    planned: Array
    predicted: Array
    gains: Array

    def until(self, t: int) -> Corrected:
        """What stands after the first t batches."""
        return correct(self.batches[:t], self.planned, self.gains, self.predicted[:t])


def simulate(held: Collection, way: Way, budget: float, seed: int) -> Drawn:
    """One audit: batches are drawn, and the judgments of what was drawn are revealed."""
    n, each = len(held.gains), budget / way.batches
    floor = 1.0 if np.ptp(way.size) == 0 else 0.1
    planned = planned_chances(way.size, [each] * way.batches, floor)
    if way.one_share:
        planned = np.full_like(planned, 1e-9)
    known, size = np.zeros(n, bool), way.size
    gains = np.full(n, np.nan)
    batches: list[Batch] = []
    for t in range(way.batches):
        chance = chances(size, each, floor, ~known)
        drawn = draw(chance, seed, t + 1, held.weights.items)
        batches.append(Batch(chance, drawn, drawn, known))
        known = known | drawn
        gains[drawn] = held.gains[drawn]
        if (way.learn or way.contenders) and t + 1 < way.batches:
            predicted = predict_batches(way.pool, batches, planned, gains)
            size = way.size
            if way.contenders:
                left = best(held.weights.w, correct(batches, planned, gains, predicted), 0.05).systems
                size = importance(held.weights.w[list(left)], "differences") if len(left) > 1 else size
            size = size * expected_spread(way.pool, batches, planned, gains, predicted)
    return Drawn(batches, planned, predict_batches(way.pool, batches, planned, gains), gains)


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
                        _covered(told, truth),
                        np.median(pairs.difference.width),
                        _covered(pairs.difference, apart),
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


def _missed(told: Estimates, truth: Array) -> NDArray[np.bool_]:
    """Which intervals do not hold the truth."""
    return (truth < told.low - 1e-9) | (told.high + 1e-9 < truth)


def _covered(told: Estimates, truth: Array) -> float:
    """The share of intervals that hold the truth; what differs by rounding alone counts as held."""
    return float(1 - _missed(told, truth).mean())


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
                    _covered(told, truth),
                    _covered(bias, w @ turned.machine - truth),
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
            off |= _missed(told.difference, apart)
            plain |= _missed(compare(w, found.until(look)).difference, apart)
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
    label_rates(say, held)
    for name in ("P@10", "RBP(p=0.8)@10"):
        other = dl20(shared, name)
        table(say, other, f"dl20, {name}", [ways(other)[1], ways(other)[5]])
    condensed = dl20(shared, "DCG@10", condensed=True)
    table(say, condensed, "dl20 without unjudged passages, DCG@10", [ways(condensed)[1], ways(condensed)[5]])
    later = dl23(shared, "DCG@10")
    table(say, later, "dl23, DCG@10")
