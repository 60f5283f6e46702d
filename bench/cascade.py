"""The cascade on DL 2020: how near to the board of the expensive grader it comes, and whether it keeps its promise."""

from __future__ import annotations

import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from bench.audited import NUGGETS, QUESTIONS, _direct, _qrels, _run
from core.bank import bank_for
from core.exchange import import_files
from core.formats import Source
from core.graders import make_grader
from core.grading import Request, run_job
from core.labels import Policy, basis, ratings
from core.measures import make_evaluator
from core.measures.audit import linear_measure
from core.measures.cascade import (
    AGREEMENTS,
    PROMISES,
    Terms,
    agreeing,
    confidence,
    decide,
    draws,
    learn,
    priorities,
    weight,
)
from core.project import Project, create, open_project

Say = Callable[..., None]
Array = NDArray[np.float64]

MEASURE, WEIGHING, RELEVANT, TOP = "nDCG@10", "DCG@10", 2, 3
SHARES = (0.02, 0.05, 0.10, 0.20, 0.40)
LESSONS, TESTS = 100, 200
ALPHAS, DELTA = (0.05, 0.1, 0.2), 0.1
SPLITS = 200
REPEATS = 20
"""Samples over which the taus of the first table are means."""


@dataclass(frozen=True)
class World:
    """The pairs that both NIST and the large model judged, and the boards by them.

    Args:
        items: N (query id, passage id).
        expensive, nist: shape (N,), labels.
        weight, depth: shape (N,), what each weighs, and its best rank in any system (0 for none within the cutoff).
        cheap: features of each cheap grader by its name, shape (N, p).
    """

    items: list[tuple[str, str]]
    expensive: NDArray[np.int64]
    nist: NDArray[np.int64]
    weight: Array
    depth: NDArray[np.int64]
    tops: Mapping[str, Mapping[str, Mapping[str, float]]]
    cheap: Mapping[str, Array]

    def board(self, labels: NDArray[np.int64], chosen: NDArray[np.bool_] | None = None) -> Array:
        """The score of each system, means over all queries; what is not chosen has no label."""
        qrels: dict[str, dict[str, int]] = {}
        for at in np.flatnonzero(np.ones(len(labels), bool) if chosen is None else chosen).tolist():
            query, passage = self.items[at]
            qrels.setdefault(query, {})[passage] = int(labels[at])
        evaluate = make_evaluator([MEASURE], qrels)
        queries = len({query for query, _ in self.items})
        return np.array([sum(evaluate(run)[MEASURE].values()) / queries for run in self.tops.values()])


def world(shared: Path) -> World:
    """DL 2020 with its cheap graders: the embedding, FLAN-T5-large by questions, and eight sets of its labels."""
    folder = shared / "dl20"
    nist, large = _qrels(folder / "qrels-nist.txt"), _direct(folder)
    items = sorted(pair for pair in large if pair in nist)
    runs = {file.stem: _run(file) for file in sorted((folder / "runs").glob("*.run"))}
    discounts = linear_measure(WEIGHING).discounts() / len({query for query, _ in items})
    ranks: dict[tuple[str, str], list[int]] = defaultdict(list)
    for ranking in runs.values():
        for query, passages in ranking.items():
            for rank, passage in enumerate(passages[: len(discounts)], 1):
                ranks[query, passage].append(rank)
    sets = {file.stem: _qrels(file) for file in sorted((folder / "rubric-qrels").glob("*.qrel"))}
    flan = {name: np.array([found.get(pair, np.nan) for pair in items]) for name, found in sets.items()}
    questions, nuggets = flan[QUESTIONS], flan[NUGGETS]
    with embedded(shared) as project:
        by_embedding = _features(project, items)
    return World(
        items,
        np.array([large[pair] for pair in items]),
        np.array([max(0, nist[pair]) for pair in items]),
        np.array([weight({discounts[r - 1]: n for r, n in Counter(ranks[pair]).items()}, len(runs)) for pair in items]),
        np.array([min(ranks[pair], default=0) for pair in items]),
        # Nothing below the cutoff counts, and what no system has there is in no ranking.
        {
            run: {q: {p: -float(i) for i, p in enumerate(ps[:10])} for q, ps in found.items()}
            for run, found in runs.items()
        },
        {
            "embedding, 540 questions": by_embedding,
            "FLAN-T5-large, 540 questions": np.column_stack([questions, questions >= 4, questions**2]),
            "FLAN-T5-large, 8 label sets": np.column_stack([*flan.values(), questions**2, nuggets**2]),
        },
    )


@contextmanager
def embedded(shared: Path) -> Iterator[Project]:
    """A project of DL 2020 that the embedding grader has graded; the one that EXAM_DL20 names, or one made now."""
    if named := os.environ.get("EXAM_DL20"):
        project = open_project(Path(named), read_only=True)
        yield project
        project.close()
        return
    folder = shared / "dl20"
    with tempfile.TemporaryDirectory() as made:
        project = create(Path(made) / "dl20.duckdb")
        for kind, names in (
            ("queries", ["dl20-queries.json"]),
            ("passages", ["passages.jsonl.gz"]),
            ("qrels", ["qrels-nist.txt"]),
            ("bank", ["dl20-questions.jsonl.gz"]),
        ):
            import_files(project, kind, [Source.of(folder / name) for name in names], "bench")
        run_job(project, make_grader("embedding", {}), Request(), "bench")
        yield project
        project.close()


def _features(project: Project, items: list[tuple[str, str]]) -> Array:
    """Label, mean rating, mean square, how many answered: what a cascade of a project takes."""
    base = basis(project, Policy(grader="embedding"))
    known = {
        (query, passage): values
        for query, passage, *values in project.rows(
            f"SELECT query_id, passage_id, {base.label_sql}, avg(rating), avg(rating * rating),"
            f" count(*) FILTER (rating >= {base.min_rating:d}) FROM {ratings(base)} g"
            f" JOIN {bank_for(base.grader.spec)} b ON b.text_key = g.question_text_key"
            " JOIN pool p ON p.query_key = b.query_key AND p.text_key = g.passage_text_key"
            " JOIN queries q ON q.query_key = p.query_key JOIN passages USING (passage_key) GROUP BY ALL",
            base.parameters,
        )
    }
    return np.array([known.get(pair, [np.nan] * 4) for pair in items], float)


def cascade(say: Say, shared: Path) -> None:
    """Print the tables of the cascade."""
    if not (shared / "dl20").exists():
        say("cascade", f"left out: {shared / 'dl20'} is not there")
        return
    held = world(shared)
    full, official = held.board(held.expensive), held.board(held.nist)
    weighing = held.depth > 0
    say(
        "dl20: labels by a large model (0-3)",
        f"{len(held.items):,} pairs, {len(held.tops)} systems",
        f"{weighing.sum():,} ({weighing.mean():.1%}) in some top 10",
        f"tau to NIST {_tau(full, official):.3f}",
    )
    _baseline(say, held, full, official)
    for name in held.cheap:
        _orders(say, held, name, full, official)
    for name in held.cheap:
        _promises(say, held, name, full, official)


def _tau(first: Array, second: Array) -> float:
    return float(kendalltau(first, second)[0])


def _baseline(say: Say, held: World, full: Array, official: Array) -> None:
    """What the expensive grader's labels of the union of the systems' top k alone give."""
    for depth in (1, 2, 3, 5, 7, 10):
        chosen = (held.depth > 0) & (held.depth <= depth)
        board = held.board(held.expensive, chosen)
        taus = f"to the full board {_tau(board, full):.3f}", f"to NIST {_tau(board, official):.3f}"
        say(f"baseline: the union of the top {depth}", f"{chosen.mean():.1%} of the pairs", *taus)


def _orders(say: Say, held: World, name: str, full: Array, official: Array) -> None:
    """Kendall's tau at each share escalated, by what decides who is; the lessons count in the share."""
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    alone: list[tuple[float, float]] = []
    x, n = held.cheap[name], len(held.items)
    dice = np.random.default_rng(0)
    for seed in range(REPEATS):
        lessons = draws(held.weight, LESSONS, seed)
        model = learn(x[lessons], held.expensive[lessons], TOP)
        given = model.labels(x)
        sure = confidence(model.chances(x), given, "label", RELEVANT)
        doubt = priorities(np.ones(n), sure)
        # What weighs nothing comes last, in the order of doubt.
        orders = {
            "weight x doubt": held.weight * np.minimum(doubt, 1) + 1e-9 * doubt,
            "doubt alone": doubt,
            "weight alone": held.weight + 1e-9 * doubt,
            "at random": dice.random(n),
        }
        board = held.board(given)
        alone.append((_tau(board, full), _tau(board, official)))
        for share in SHARES:
            for what, order in orders.items():
                order = np.where(np.bincount(lessons, minlength=n) > 0, np.inf, order)
                escalated = np.zeros(n, bool)
                escalated[np.argsort(-order, kind="stable")[: round(share * n)]] = True
                board = held.board(np.where(escalated, held.expensive, given))
                found.setdefault((what, share), []).append((_tau(board, full), _tau(board, official)))
    # The baseline at the same number of pairs: best ranks first, at random within a rank; the rest has no label.
    for share in SHARES:
        for _ in range(REPEATS):
            order = np.where(held.depth > 0, -held.depth, -99) + dice.random(n)
            chosen = np.zeros(n, bool)
            chosen[np.argsort(-order)[: round(share * n)]] = True
            board = held.board(held.expensive, chosen)
            found.setdefault(("baseline, best ranks first", share), []).append(
                (_tau(board, full), _tau(board, official))
            )
    to_full, to_nist = np.mean(alone, axis=0)
    say(f"{name}: nothing escalated", f"to the full board {to_full:.3f}", f"to NIST {to_nist:.3f}")
    for what in dict.fromkeys(what for what, _ in found):
        for at, other in enumerate(("the full board", "NIST")):
            cells = []
            for share in SHARES:
                taus = np.array(found[what, share])[:, at]
                cells.append(f"{share:.0%} {taus.mean():.3f} ± {taus.std(ddof=1):.3f}")
            say(f"{name}: {what}, tau to {other}", *cells)


def _promises(say: Say, held: World, name: str, full: Array, official: Array) -> None:
    """Over many random samples: how often more of the weight disagrees than was promised, and what that took."""
    x, n = held.cheap[name], len(held.items)
    whole = held.weight.sum()
    for agreement in AGREEMENTS:
        for promise in PROMISES:
            for alpha in ALPHAS:
                terms = Terms(TOP, RELEVANT, agreement, promise, alpha, DELTA)
                broken, shares, taus, risks = np.zeros(2, int), [], [], []
                for seed in range(SPLITS):
                    drawn = draws(held.weight, LESSONS + TESTS, 1_000 + seed)
                    learned, tested = (np.bincount(part, minlength=n) for part in (drawn[:LESSONS], drawn[LESSONS:]))
                    done = decide(x, held.expensive.astype(float), held.weight, held.depth > 0, learned, tested, terms)
                    below = (held.depth > 0) & (done.priority <= done.guarantee.chosen.threshold)
                    wrong = ~agreeing(done.stands_for, held.expensive, agreement, RELEVANT)
                    # By the threshold alone, as the theorem has it, and by the labels, where the sample is known, too.
                    for at, kept in enumerate((below, below & ~done.escalated)):
                        of = whole if promise == "all" else held.weight[kept].sum()
                        risk = held.weight[kept & wrong].sum() / of if of else 0.0
                        broken[at] += risk > alpha
                    risks.append(risk)
                    shares.append(done.escalated.mean())
                    if seed < REPEATS:
                        board = held.board(done.labels(held.expensive.astype(float)))
                        taus.append((_tau(board, full), _tau(board, official)))
                to_full, to_nist = np.mean(taus, axis=0)
                say(
                    f"{name}: {agreement}, of {promise}, alpha {alpha:g}",
                    f"broken by the threshold in {broken[0]} of {SPLITS}, by the labels in {broken[1]}",
                    f"disagree on average {np.mean(risks):.3f}",
                    f"escalated {np.mean(shares):.1%} of all pairs",
                    f"tau to the full board {to_full:.3f}",
                    f"to NIST {to_nist:.3f}",
                )
