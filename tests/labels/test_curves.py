"""Coverage curves against the leaderboard at each cutoff, and intent-aware measures by hand."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from exam_workbench.labels import Policy, complete_curves, cover_curves, leaderboard
from exam_workbench.labels._official_comparison import board_over
from exam_workbench.measures import Answers, make_intent_evaluator, parse_measure
from exam_workbench.measures._intents import make_alpha_ndcg, make_err_ia, make_ndcg_ia
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, grade, only_read
from tests.made.refusals import refusal

WEIGHTS = {"A?": 2.0, "B?": 1.0, "C?": 0.5, "avoid": -1.5, "off": 0.0}


def _fill(seed: int, project: Project) -> None:
    """Fill two queries with weighted and avoided questions, failed and ungraded pairs, and a run that skips one."""
    dice = random.Random(seed)
    bank = [
        Question(f"{query}/{text}", query, f"{query} {text}", weight=weight)
        for query in ("q1", "q2")
        for text, weight in WEIGHTS.items()
    ]
    passages = [f"p{i}" for i in range(9)]
    runs = {
        run: {query: dice.sample(passages, 7) for query in queries}
        for run, queries in {"full": ("q1", "q2"), "short": ("q2",), "other": ("q1", "q2")}.items()
    }
    ratings = {
        (question.text, passage): dice.choice([None, 0, 1, 2, 3, 4, 5])
        for question in bank
        for passage in passages
        if question.text and dice.random() < 0.8
    }
    fill(project, bank, ratings, runs)


@pytest.fixture(scope="module", params=range(3))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from only_read(partial(_fill, request.param), tmp_path_factory.mktemp("curves"))


@pytest.mark.parametrize("policy", [Policy(), Policy(weighted=False, min_rating=2), Policy(skipped="ignore")])
def test_each_point_equals_leaderboard_score_at_that_cutoff(drawn: Project, policy: Policy) -> None:
    found = cover_curves(drawn, policy, max_k=9)
    queries = leaderboard(drawn, "EXAM-Cover@9", policy=policy).query_ids
    for k in range(1, 10):
        board = board_over(leaderboard(drawn, f"EXAM-Cover@{k}", policy=policy, with_ungraded=True), queries)
        assert {c.run: c.scores[k - 1] for c in found.curves} == pytest.approx(board.scores)
        for curve in found.curves:
            assert curve.std_errors[k - 1] == pytest.approx(board.std_errors[curve.run])
            assert curve.queries == next(s.queries for s in board.systems if s.run == curve.run)


def test_curves_cover_requested_runs_to_a_depth(project: Project) -> None:
    _fill(1, project)
    found = cover_curves(project, max_k=3, runs=["other", "full"])
    assert [curve.run for curve in found.curves] == ["other", "full"]
    assert all(len(curve.scores) == len(curve.std_errors) == 3 for curve in found.curves)
    assert found.pool_depth == 20
    assert found.as_dict()["curves"][0]["run"] == "other"
    with refusal("depth-out-of-range", "0"):
        cover_curves(project, max_k=0)
    with refusal("unknown-run", "nobody"):
        cover_curves(project, runs=["nobody"])


def test_curves_stop_below_three_complete_queries(project: Project) -> None:
    passages = [f"p{i}" for i in range(15)]
    queries = [f"q{i}" for i in range(5)]
    fill(
        project,
        [Question(query, query, f"{query}?") for query in queries],
        {(f"{query}?", passage): 4 for query in queries[:2] for passage in passages[:12]},
        {"run": dict.fromkeys(queries, passages)},
    )
    found = complete_curves(project, Policy(), 15)
    assert found.board.few_complete and (found.max_k, len(found.board.query_ids)) == (15, 5), "no query is complete"
    assert complete_curves(project, Policy(), 12).board.few_complete, "two are complete"
    grade(project, {(f"{queries[2]}?", passage): 4 for passage in passages[:12]})
    found = complete_curves(project, Policy(cutoff=12), 15)
    assert not found.board.few_complete and (found.max_k, found.board.query_ids) == (12, queries[:3])


INTENTS = {"q": Answers(["p1", "p2", "p3"], np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], bool))}
RUN = {"q": {"p1": 3.0, "p3": 2.0, "p2": 1.0}}


def test_err_ia_matches_hand_calculation() -> None:
    """A is answered at ranks 1 and 3, B at 3, C never; a perfect ranking always answers both."""
    a = 1 / 1 * 1 / 2 + 1 / 3 * 1 / 4
    b = 1 / 3 * 1 / 2
    perfect = 1 / 2 + 1 / 2 * 1 / 4 + 1 / 3 * 1 / 8
    assert make_err_ia(INTENTS, 3)(RUN) == {"q": pytest.approx((a + b) / 2 / perfect)}
    everything = {"q": Answers(["p1", "p2", "p3"], np.ones((3, 2), bool))}
    assert make_err_ia(everything, 3)(RUN) == {"q": pytest.approx(1.0)}
    # A is answered at ranks 1 and 3, B at 2, C never. ndeval's best ranking answers A and B at every rank.
    rows = Answers(["p1", "p2", "p3"], np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0]], bool))
    evaluate = make_intent_evaluator(parse_measure("ERR_IA@20"), {"q": rows})
    best = sum(2 * 0.5**above / (above + 1) for above in range(20))
    assert evaluate({"q": {"p1": 3.0, "p2": 2.0, "p3": 1.0}})["q"] == pytest.approx((1 + 1 / 2 + 0.5 / 3) / best)


def test_ndcg_ia_matches_hand_calculation() -> None:
    a = (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    b = (1 / math.log2(4)) / 1
    assert make_ndcg_ia(INTENTS, 3)(RUN) == {"q": pytest.approx((a + b + 0) / 3)}
    one = {"q": Answers(INTENTS["q"].passages, INTENTS["q"].answered[:, :1])}
    found = make_ndcg_ia(one, 3)(RUN)
    assert found == pytest.approx(make_alpha_ndcg(one, 3, alpha=0.0)(RUN))


def test_scores_need_intents_and_depend_only_on_ranks_of_answers() -> None:
    for make in (make_err_ia, make_ndcg_ia):
        assert make(INTENTS, 5)({"q": {}, "other": {"p1": 1.0}}) == {}
        assert make({"q": Answers(["p1"], np.zeros((1, 1), bool))}, 5)(RUN) == {"q": 0.0}
    intents = {"q": Answers([f"p{i}" for i in range(6)], np.eye(6, dtype=bool))}
    evaluate = make_intent_evaluator(parse_measure("nDCG_IA@10"), intents)
    orders = itertools.permutations(range(6))
    assert len({evaluate({"q": {f"p{i}": 9.0 - rank for rank, i in enumerate(order)}})["q"] for order in orders}) == 1


@pytest.mark.parametrize("name", ["ERR_IA@3", "nDCG_IA@3", "alpha_nDCG@3"])
def test_intent_aware_measures_score_leaderboards(project: Project, name: str) -> None:
    bank = [Question("q/A", "q", "A"), Question("q/B", "q", "B"), Question("q/C", "q", "C")]
    ratings = {("A", "p1"): 5, ("B", "p1"): 1, ("C", "p1"): 0, ("A", "p2"): 4, ("B", "p2"): 5, ("B", "p3"): 2}
    fill(project, bank, ratings, {"x": {"q": ["p1", "p3", "p2"]}, "y": {"q": ["p3"]}})
    measure = parse_measure(name)
    assert measure.basis == "intents" and measure.cutoff == 3 and str(measure) == name
    expected = make_intent_evaluator(measure, INTENTS)(RUN)["q"]
    assert leaderboard(project, name).scores == {"x": pytest.approx(expected), "y": 0.0}


@pytest.mark.parametrize("name", ["nDCG_IA@0", "nDCG_IA@x", "ERR_IA@0", "nDCG_IA(rel=2)@3"])
def test_invalid_intent_aware_measures_are_refused(name: str) -> None:
    with refusal("unknown-measure"):
        parse_measure(name)
