"""Item quality criteria, detection of planted faults, and shorter exams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from exam_workbench.choices import ITEM_CRITERIA, ItemCriterion
from exam_workbench.measures.item_response import (
    GRID,
    analyse_responses,
    answer_probability,
    design_of,
    improve_items,
    item_rest,
    mean_information,
    plant_faults,
)
from exam_workbench.measures.item_response._exam_improvement import FAULTS, link_scale
from exam_workbench.measures.item_response._fit_statistics import item_worth
from exam_workbench.measures.item_response._response_fits import fit_responses
from tests.made.answers import correlation, exam, students
from tests.made.refusals import mentions, refusal

NAMES = [f"item {i:03}" for i in range(148)]
BAD = 22


def with_bad_items(seed: int) -> np.ndarray:
    """Return answers to 148 items, the first 22 of which are answered at random."""
    made = exam(148, seed)
    rng = np.random.default_rng(1000 + seed)
    made.responses[:, :BAD] = rng.random((63, BAD)) < rng.uniform(0.25, 0.6, BAD)
    return made.responses


@pytest.fixture(scope="module")
def found_bad() -> dict[ItemCriterion, int]:
    """Count the bad items among the lowest 22, by criterion."""
    made = exam(148, 3)
    rows = item_worth(with_bad_items(3), fit_responses(with_bad_items(3), made.design, starts=1), NAMES)
    bad = set(NAMES[:BAD])
    return {
        criterion: len(bad & {row.item for row in sorted(rows, key=lambda row: row.sort_key(criterion))[:BAD]})
        for criterion in ITEM_CRITERIA
    }


def test_information_and_item_rest_find_randomly_answered_items(found_bad: dict[ItemCriterion, int]) -> None:
    # By chance, the lowest 22 of 148 items would include 3.3 bad items.
    assert found_bad["information"] >= 11
    assert found_bad["item-rest"] >= 8


def test_each_item_fault_has_a_distinct_reason() -> None:
    made = exam(40, seed=2)
    faults = {
        "key": (made.theta < 0.2).astype(float),
        "easy": np.ones(63),
        "hopeless": np.zeros(63),
        "given away": np.tile([1.0, 0.0, 1.0], 21),
        "unanswered": np.full(63, np.nan),
    }
    reasons = set()
    for fault, answers in faults.items():
        made.responses[:, 0] = answers
        told = item_worth(made.responses, fit_responses(made.responses, made.design, starts=1), NAMES[:40])[0]
        reasons.add(told.reason)
        assert (told.item_rest is None) == (fault in ("easy", "hopeless", "unanswered"))
        assert (told.accuracy is None) == (fault == "unanswered")
    assert len(reasons - {""}) == len(faults)


def test_planted_faults_are_found_without_changing_the_answers() -> None:
    made = exam(148, seed=4)
    made.responses[:9, :40] = np.nan
    before = made.responses.copy()
    found = {row.fault: row for row in plant_faults(made.responses, made.design, NAMES)}
    assert np.array_equal(before, made.responses, equal_nan=True) and list(found) == list(FAULTS)
    for row in found.values():
        assert (row.items, row.planted, row.last) == (
            148,
            15,
            30,
        ) and row.planted * row.last / row.items == pytest.approx(3.04, abs=0.01)
        assert max(row.found.values()) > 2 * 3.04, row.fault
    # The paper's criterion misses wrong keys; the other two find most of them.
    wrong = found["key wrong"].found
    assert wrong["d"] < 3 and wrong["information"] > 11 and wrong["item-rest"] > 11


def test_item_rest_is_the_correlation_with_the_other_answers() -> None:
    answers = exam(12, seed=1).responses
    answers[4, 3] = answers[9, 0] = np.nan
    for i, found in enumerate(item_rest(answers)):
        seen = ~np.isnan(answers[:, i])
        rest = np.nanmean(np.delete(answers[seen], i, axis=1), axis=1)
        assert found == pytest.approx(correlation(answers[seen, i], rest))


def test_exam_is_shortened_stepwise_without_changing_answers() -> None:
    answers = with_bad_items(5)
    before = answers.copy()
    found = improve_items(answers, exam(148).design, NAMES, drop=20, steps=2)
    assert np.array_equal(answers, before)
    assert [step.items for step in found.steps] == [148, 118, 94]
    assert [len(step.dropped) for step in found.steps] == [30, 24, 0]
    assert len({row.item for row in found.retire}) == 54 and found.stopped == ""
    assert found.steps[0].ranking == 1 and (found.steps[-1].ranking or 0) > 0.9
    # On a common scale, the remaining items are more informative, because they were chosen for it.
    assert found.steps[-1].information > found.steps[0].information
    assert found.steps[0].curve.shape == GRID.shape
    assert found.held_out is not None and found.held_out.students == 32
    assert found.held_out.dropped == 54 and (found.held_out.ranking or 0) > 0.8
    lowest = item_worth(answers, fit_responses(answers, exam(148).design), NAMES)
    assert {row.item for row in found.steps[0].dropped} == {
        row.item for row in sorted(lowest, key=lambda row: row.information)[:30]
    }


def test_exam_is_not_shortened_below_thirty_items() -> None:
    made = exam(36, seed=4)
    found = improve_items(made.responses, made.design, NAMES[:36], drop=10, steps=9, criterion="d")
    assert found.steps[-1].items == 32 and len(found.retire) == 4
    assert mentions(found.stopped, "32")
    short = improve_items(made.responses[:, :20], made.design, NAMES[:20])
    assert short.retire == [] and mentions(short.stopped, "20")


def test_equal_items_are_retired_in_id_order() -> None:
    made = exam(40, seed=4)
    answers = np.repeat(made.responses[:, :1], 40, axis=1)
    names = [f"item {i:03}" for i in reversed(range(40))]
    dropped = improve_items(answers, made.design, names, 10, 1, "item-rest").retire
    assert [row.item for row in dropped] == ["item 000", "item 001", "item 002", "item 003"]


@pytest.mark.parametrize("drop", [0.0, -1.0, 100.0])
def test_drop_share_of_nothing_or_everything_is_refused(drop: float) -> None:
    made = exam(40)
    with refusal("share-out-of-range"):
        improve_items(made.responses, made.design, NAMES[:40], drop)


def test_few_examinees_give_no_held_out_half() -> None:
    made = exam(40)
    few = made.responses[:8]
    assert improve_items(few, design_of(list("abcdefgh"), None), NAMES[:40], steps=1).held_out is None


def test_rescaled_fit_has_the_same_chances() -> None:
    made = exam(40)
    found = fit_responses(made.responses, made.design, starts=1)
    theta, items = link_scale(found, 3 * found.theta + 1)
    assert theta == pytest.approx(3 * found.theta + 1)
    assert answer_probability(theta, items) == pytest.approx(found.chances)
    assert mean_information(items, theta) * 9 == pytest.approx(mean_information(found.items, found.theta))
    level = replace(found, theta=np.zeros(63))
    assert link_scale(level, found.theta)[1].d == pytest.approx(found.items.d)


def test_analysis_record_has_all_results() -> None:
    made = exam(30, seed=6)
    names = [f"s{i}" for i in range(63)]
    levels = students()
    factors = {name: {factor: levels[factor][i] for factor in levels} for i, name in enumerate(names)}
    whole = analyse_responses(names, NAMES[:30], made.responses, factors, bootstrap=4)
    said = whole.as_dict()
    assert [row["level"] for row in said["components"] if row["factor"] == "icl"] == ["0", "1", "2"]
    assert said["components"][0]["students"] == 21
    assert said["students"][0]["answered"] == 30 and said["students"][0]["ability"]["low"] is not None
    assert {"d", "d_error", "information", "item_rest", "reason"} <= set(said["items"][0])
    assert said["remarks"] == []
    d, b, g, theta = (row[1:] for row in whole.statistics.table[3:])
    assert d == (whole.statistics.d.mean, whole.statistics.d.sd) and theta[0] == whole.statistics.theta.mean
    assert (b[1], g[1]) == (whole.statistics.b.sd, whole.statistics.g.sd)
    for number, remarked in ((29, 1), (30, 0)):
        few = analyse_responses(
            names[:number], NAMES[:30], made.responses[:number], model="2pl", bootstrap=0, held_out=False
        )
        assert len(few.remarks) == remarked
    flat = analyse_responses(names[:5], NAMES[:30], made.responses[:5], estimator="paper", bootstrap=0, held_out=False)
    assert flat.components == [] and flat.students[0].ability.low is None and flat.statistics.held_out is None
    assert mentions(flat.remarks[0], "5")
    assert any(mentions(remark, "paper") for remark in flat.remarks)
    with refusal("students-without-factors", "s62", "1"):
        design_of(names, {name: factors[name] for name in names[:-1]})
