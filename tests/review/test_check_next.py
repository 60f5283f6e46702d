"""The check-next queue: the effect of each disagreement equals a full recomputation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from statistics import fmean

import pytest

from exam_workbench.labels import Policy, add_override, basis, label_qrels
from exam_workbench.measures import make_evaluator
from exam_workbench.records import ranking_scores, source_judgments
from exam_workbench.review import Check, Judgments, Labels, Person, Side, list_disagreements, machine_labels
from exam_workbench.review._disagreements.check_next import check_next, disagreeing_pairs
from exam_workbench.review._disagreements.label_agreement import match_sides
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import SPEC, fill, grade, judge, only_read
from tests.made.refusals import refusal

OTHER = GraderSpec("other grader", "self-rating", "another")
QUERIES = ("q1", "q2", "q3")


def fill_noisy(seed: int, project: Project) -> None:
    """Fill three queries of nine passages, four runs (one skips a query), two graders and two sources."""
    dice = random.Random(seed)
    questions = [Question(f"{query}/{name}", query, f"{query} {name}?") for query in QUERIES for name in "ab"]
    pools = {query: [f"{query}-p{i}" for i in range(9)] for query in QUERIES}
    runs = {
        run: {query: dice.sample(pool, 6) for query, pool in pools.items() if (run, query) != ("r3", "q2")}
        for run in ("r1", "r2", "r3", "r4")
    }
    pairs = [(question.text or "", passage) for question in questions for passage in pools[question.query_id]]
    fill(project, questions, {pair: dice.choice([None, *range(6)]) for pair in pairs}, runs, SPEC)
    grade(project, {pair: dice.randrange(6) for pair in pairs}, OTHER)
    judged = [(query, passage) for query, pool in pools.items() for passage in pool[:8]]
    judge(project, {pair: dice.randrange(4) for pair in judged}, "NIST")
    judge(project, {pair: dice.randrange(-1, 2) for pair in judged}, "strict")


@pytest.fixture(scope="module", params=[1, 2])
def noisy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from only_read(partial(fill_noisy, request.param), tmp_path_factory.mktemp("noisy"))


def means(project: Project, qrels: dict[str, dict[str, int]], measure: str, threshold: int) -> dict[str, float]:
    """Compute the score of every system from scratch."""
    found = {
        run: make_evaluator([measure], qrels, threshold)(ranking)[measure]
        for run, ranking in ranking_scores(project).items()
    }
    return {run: fmean(scores.get(query, 0.0) for query in qrels) for run, scores in found.items()}


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Compute Cohen's kappa of binary values from its definition."""
    n = len(pairs)
    same = sum(a == b for a, b in pairs) / n
    left, right = (sum(pair[side] for pair in pairs) / n for side in (0, 1))
    chance = left * right + (1 - left) * (1 - right)
    return None if chance == 1 else (same - chance) / (1 - chance)


def brute_force(
    project: Project, left: Side, right: Side, check: Check, measure: str, qrels: dict[str, dict[str, int]], giving: int
) -> tuple[float, int, int, float | None]:
    """Return shift, systems moved, swaps and change of kappa by full recomputation.

    Args:
        giving: 0 if the left side gives way, 1 if the right side does.
    """
    found = match_sides(project, left, right)
    thresholds = (found.left.threshold, found.right.threshold)
    row = found.pairs.iloc[check.row]
    changed = {query: dict(values) for query, values in qrels.items()}
    changed[row["query_id"]][row["passage_id"]] = check.target
    before, after = (means(project, values, measure, thresholds[giving]) for values in (qrels, changed))
    swaps = sum(
        (before[a] - before[b]) * (after[a] - after[b]) < 0
        for a, b in combinations(before, 2)
        if min(abs(before[a] - before[b]), abs(after[a] - after[b])) > 1e-12
    )
    values = [list(pair) for pair in zip(found.pairs["left"], found.pairs["right"], strict=True)]
    kappas = []
    for _ in range(2):
        kappas.append(kappa([(one >= thresholds[0], other >= thresholds[1]) for one, other in values]))
        values[check.row][giving] = check.target
    shift = sum(abs(after[run] - before[run]) for run in before)
    moved = sum(abs(after[run] - before[run]) > 1e-12 for run in before)
    return shift, moved, swaps, None if None in kappas else kappas[1] - kappas[0]  # type: ignore[operator]


SIDES: list[tuple[str, Side, Side, int]] = [
    ("labels against judgments", Labels(Policy()), Judgments("NIST"), 0),
    ("judgments against labels", Judgments("NIST"), Labels(Policy(min_rating=3, label="mean")), 1),
    ("labels against binary judgments", Labels(Policy()), Judgments("strict"), 0),
    ("grader against grader", machine_labels(Policy(), "test grader"), machine_labels(Policy(), "other grader"), 0),
    ("judgments against judgments", Judgments("strict"), Judgments("NIST", 2), 0),
]


@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "P@5"])
@pytest.mark.parametrize(("left", "right", "giving"), [s[1:] for s in SIDES], ids=[s[0] for s in SIDES])
def test_effect_of_each_disagreement_matches_recomputation(
    noisy: Project, left: Side, right: Side, giving: int, measure: str
) -> None:
    side = (left, right)[giving]
    qrels = (
        label_qrels(noisy, basis(noisy, side.policy))
        if isinstance(side, Labels)
        else source_judgments(noisy, side.source)
    )  # type: ignore[union-attr]
    found = check_next(noisy, left, right, measure)
    assert found.side == ("left", "right")[giving]
    assert len(found.checks) == found.disagreements == disagreeing_pairs(match_sides(noisy, left, right)).sum() > 5
    for check in found.checks:
        shift, moved, swaps, change = brute_force(noisy, left, right, check, measure, qrels, giving)
        assert (check.moved, check.swaps) == (moved, swaps)
        assert check.shift == pytest.approx(shift, abs=1e-9)
        assert check.kappa == (None if change is None else pytest.approx(change, abs=1e-12))


def test_checks_are_ordered_by_swaps_then_shift_or_by_kappa(noisy: Project) -> None:
    checks = check_next(noisy, Labels(Policy()), Judgments("NIST"), "nDCG@10").checks
    assert [(-one.swaps, -one.shift) for one in checks] == sorted((-one.swaps, -one.shift) for one in checks)
    assert checks[0].swaps > 0
    checks = check_next(noisy, Labels(Policy()), Judgments("NIST"), "nDCG@10", "kappa").checks
    changes = [abs(one.kappa or 0) for one in checks]
    assert changes == pytest.approx(sorted(changes, reverse=True))
    assert changes[0] > 0
    with refusal("not-a-label-measure", "EXAM-Cover"):
        check_next(noisy, Labels(Policy()), Judgments("NIST"), "EXAM-Cover")
    with refusal("not-a-label-measure"):
        check_next(noisy, Labels(Policy()), Judgments("NIST"), "alpha_nDCG@10")


def test_limited_checks_try_passages_that_runs_return(noisy: Project) -> None:
    sides = Labels(Policy()), Judgments("NIST")
    few, all_of_them = (check_next(noisy, *sides, "nDCG@10", tried=tried) for tried in (4, 500))
    assert (len(few.checks), few.disagreements) == (4, len(all_of_them.checks))
    pairs = match_sides(noisy, *sides).pairs
    returned = {p for by_query in ranking_scores(noisy).values() for scores in by_query.values() for p in scores}
    assert all(pairs["passage_id"].iat[one.row] in returned for one in few.checks)
    assert {one.row for one in few.checks} <= {one.row for one in all_of_them.checks}


def test_target_is_nearest_agreeing_value(noisy: Project) -> None:
    sides = Labels(Policy()), Judgments("NIST")
    judged = match_sides(noisy, *sides).pairs["right"].tolist()
    targets = {(one.value, judged[one.row]): one.target for one in check_next(noisy, *sides, "AP").checks}
    # Judgment 3 of 3 matches labels 4 and 5, 2 matches 1 to 3, 0 matches 0. 1 matches none; a third of 5 rounds to 2.
    expected = {(5, 0): 0, (0, 3): 4, (1, 3): 4, (0, 2): 1, (5, 2): 3, (4, 2): 3, (5, 1): 2, (0, 1): 2, (2, 0): 0}
    common = expected.keys() & targets.keys()
    assert len(common) >= 5
    assert {cell: targets[cell] for cell in common} == {cell: expected[cell] for cell in common}


def test_queue_pages_follow_check_order(noisy: Project) -> None:
    sides = Labels(Policy()), Judgments("NIST")
    checks = check_next(noisy, *sides, "nDCG@10").checks
    pages = [list_disagreements(noisy, *sides, "board", limit=4, offset=offset) for offset in (0, 4)]
    assert [row.check for page in pages for row in page.rows] == checks[:8]
    pairs = match_sides(noisy, *sides).pairs
    assert [row.pair.passage_id for row in pages[1].rows] == [pairs["passage_id"].iat[one.row] for one in checks[4:8]]
    assert pages[0].total == len(checks)


def test_people_and_projects_without_runs_are_refused(project: Project) -> None:
    fill(project, [Question("a", "q1", "A?")], {("A?", "p1"): 5}, {})
    judge(project, {("q1", "p1"): 0})
    with refusal("no-runs"):
        check_next(project, Labels(Policy()), Judgments(), "AP")
    add_override(project, "a", "p1", 5, "read it", "ann")
    with refusal("person-without-leaderboard"):
        check_next(project, Labels(Policy()), Person("ann"), "AP")
