"""Comparing two states equals computing both in full, and names the cause of each flip."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pandas as pd
import pytest

from exam_workbench import bank
from exam_workbench.errors import InputError
from exam_workbench.labels import Policy, add_override, basis, compare, leaderboard, list_labels
from exam_workbench.records import mark_gold
from exam_workbench.review import changes, flips_csv, state_changes, version_edits, why_label
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from tests.made.projects import examples, fill, filled_project, grade, judge, new_project, read_project
from tests.made.refusals import mentions, refusal

OTHER = GraderSpec("other grader", "answer", "none")
JUDGE = GraderSpec("direct judge", "direct", "none", max_rating=3)
PASSAGES = ["p0", "p1", "p2", "p3"]
QUERIES = ["q1", "q2"]
WORDS = ["A?", "B?", "C?"]
PARTS = ("bank_version", "grader", "label", "weighted", "overrides")


def a_bank(dice: Random, note: str) -> list[Question]:
    return [
        Question(
            f"{query}/{i}",
            query,
            f"{query} {dice.choice(WORDS)}",
            weight=dice.choice([-1.0, 0.5, 1.0, 2.0]),
            active=dice.random() < 0.8,
            note=note,
        )
        for query in QUERIES
        for i in range(3)
    ]


def draw(dice: Random, project: Project) -> None:
    """Fill two queries with three bank versions, two graders that rated most pairs, judgments and overrides."""
    asked = [
        Question(f"{query}/{words}", query, f"{query} {words}", active=False) for query in QUERIES for words in WORDS
    ]
    pairs = [(question.text or "", passage) for question in asked for passage in PASSAGES]
    runs = {run: {query: dice.sample(PASSAGES, 3) for query in QUERIES} for run in ("a", "b", "c")}
    fill(project, asked, {pair: dice.randint(0, 5) for pair in pairs if dice.random() < 0.8}, runs)
    grade(project, {pair: dice.choice([None, 0, 2, 4, 5]) for pair in pairs if dice.random() < 0.8}, OTHER)
    judge(project, {(query, passage): dice.randint(0, 2) for query in QUERIES for passage in PASSAGES})
    for number in range(3):
        new = a_bank(dice, f"version {number}")
        bank.save_version(project, new, "drawn", "tester")
        question = dice.choice(new).question_id
        add_override(project, question, dice.choice(PASSAGES), dice.randint(0, 5), "seen", "ann")


def a_policy(dice: Random) -> Policy:
    return Policy(
        grader=dice.choice([None, "other grader"]),
        bank_version=dice.choice([0, 2, 3, None]),
        min_rating=dice.randint(2, 5),
        cutoff=dice.randint(1, 3),
        label=dice.choice(["max", "mean", "support:2"]),
        weighted=dice.random() < 0.5,
        overrides=dice.random() < 0.5,
    )


def labels_of(project: Project, policy: Policy) -> dict[tuple[str, str], int | None]:
    table = list_labels(project, basis(project, policy))
    return {
        (query, passage): None if pd.isna(label) else int(label)
        for query, passage, label in zip(table["query_id"], table["passage_id"], table["label"], strict=True)
    }


@pytest.fixture(scope="module", params=range(examples(2)))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, int]]:
    """A read-only project and the seed that it was drawn with."""
    made = new_project(tmp_path_factory.mktemp("drawn") / "drawn.duckdb")
    draw(Random(request.param), made)
    yield made, request.param
    made.close()


def test_state_changes_match_full_computation_of_both_states(drawn):
    project, seed = drawn
    dice = Random(f"policies {seed}")
    for _ in range(5):
        before, after, measure = a_policy(dice), a_policy(dice), dice.choice(["EXAM-Cover", "nDCG@10"])
        found = state_changes(project, before, after, measure)
        old, new = labels_of(project, before), labels_of(project, after)
        differing = {pair: (old.get(pair), new.get(pair)) for pair in {**old, **new} if old.get(pair) != new.get(pair)}
        assert {(f.query_id, f.passage_id): (f.before, f.after) for f in found.flips} == differing
        for policy, board in ((before, found.board_before), (after, found.board_after)):
            if any(label is not None for label in labels_of(project, policy).values()):
                assert board is not None
                assert board.systems == leaderboard(project, measure, policy=policy, with_ungraded=True).systems
            else:
                assert board is None
                assert found.no_board
        assert all(flip.causes for flip in found.flips)
        for part in PARTS:
            moved_alone(project, found, part)


def moved_alone(project: Project, found, part: str) -> None:
    """Check that a policy part is a cause if it alone moves a label or moves it back."""
    old, new = found.before, found.after
    if getattr(old, part) == getattr(new, part):
        return
    there = labels_of(project, replace(old, **{part: getattr(new, part)}))
    back = labels_of(project, replace(new, **{part: getattr(old, part)}))
    word = {"grader": "grader", "label": "label rule", "weighted": "weights", "overrides": "override"}.get(part)
    for flip in found.flips:
        pair = (flip.query_id, flip.passage_id)
        named = (
            word in flip.causes if word else bool(set(flip.causes) - {"grader", "label rule", "weights", "override"})
        )
        if there.get(pair) != flip.before or back.get(pair) != flip.after:
            assert named, (part, flip)
        elif named:
            # It moves nothing alone, so it must act together with another cause.
            assert len(flip.causes) > 1, (part, flip)


def test_bank_version_comparison_names_same_questions_as_impact(drawn):
    project, seed = drawn
    dice = Random(f"policies {seed}")
    policy = a_policy(dice)
    old, new = replace(policy, bank_version=3), replace(policy, bank_version=4)
    impact = changes(project, "EXAM-Cover", old, version_edits(project, 3, 4))
    found = state_changes(project, old, new, "EXAM-Cover")
    assert [(c.query_id, c.passage_id, c.before, c.after, c.questions) for c in impact.labels] == [
        (f.query_id, f.passage_id, f.before, f.after, f.questions) for f in found.flips
    ]
    assert {change.question_id for change, _ in found.questions} == set(impact.edited)


BANK = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q1/c", "q1", "C?", weight=2.0)]
GRADES = {("A?", "p1"): 5, ("A?", "p2"): 1, ("B?", "p1"): 2, ("B?", "p2"): 4, ("C?", "p1"): 0, ("C?", "p2"): 3}
RUNS = {"x": {"q1": ["p1"]}, "y": {"q1": ["p2"]}, "z": {"q1": ["p1", "p2"]}}
NOW = Policy()
THEN = Policy(bank_version=1)


def fill_small(project: Project) -> None:
    fill(project, BANK, GRADES, RUNS)
    judge(project, {("q1", "p1"): 1, ("q1", "p2"): 0})


small = read_project(fill_small)
own = filled_project(fill_small)


def told(found) -> list[tuple[object, ...]]:
    return [(f.passage_id, f.before, f.after, f.causes, f.questions) for f in found.flips]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (replace(BANK[0], active=False), [("p1", 5, 2, ("retired",), ("q1/a",))]),
        (replace(BANK[0], text="A, then?"), [("p1", 5, 2, ("reworded",), ("q1/a",))]),
        (replace(BANK[0], weight=-1.0), [("p1", 5, 2, ("reweighted",), ("q1/a",))]),
        (replace(BANK[0], note="checked"), []),
    ],
)
def test_flip_names_change_and_question(own, edit, expected):
    bank.save_version(own, [edit], "edited", "ann")
    assert told(state_changes(own, THEN, NOW, "EXAM-Cover")) == expected


def test_added_and_restored_questions_are_distinguished(own):
    bank.save_version(own, [replace(BANK[0], active=False)], "without A", "ann")
    bank.save_version(own, [BANK[0], Question("q1/d", "q1", "B? ", weight=3.0)], "A again, and another B", "ann")
    grown = state_changes(own, Policy(bank_version=2), NOW, "EXAM-Cover")
    assert told(grown) == [("p1", 2, 5, ("restored",), ("q1/a",))]
    assert {change.question_id: change.kinds for change, _ in grown.questions} == {
        "q1/a": ("restored",),
        "q1/d": ("added",),
    }


def test_override_is_named_with_its_question(own):
    add_override(own, "q1/b", "p2", 0, "says nothing of B", "ann")
    found = state_changes(own, replace(NOW, overrides=False), NOW, "EXAM-Cover")
    assert told(found) == [("p2", 4, 3, ("override",), ("q1/b",))]
    assert found.differing == ("overrides",)


def test_grader_and_label_rule_are_separate_causes(own):
    grade(own, {pair: 1 for pair in GRADES}, OTHER)
    other = state_changes(own, NOW, Policy(grader="other grader"), "nDCG@10")
    assert told(other) == [("p1", 5, 1, ("grader",), ()), ("p2", 4, 1, ("grader",), ())]
    rule = state_changes(own, NOW, Policy(label="mean"), "nDCG@10")
    assert told(rule) == [("p1", 5, 2, ("label rule",), ()), ("p2", 4, 3, ("label rule",), ())]


def test_bank_changes_do_not_affect_direct_grader(own):
    with own.transaction() as cursor:
        cursor.execute("INSERT INTO question_texts VALUES (nextval('keys'), 'query q1', NULL)")
    grade(own, {("query q1", "p1"): 3}, JUDGE)
    bank.save_version(own, [replace(BANK[0], active=False)], "without A", "ann")
    same = state_changes(own, Policy(grader="direct judge", bank_version=1), Policy(grader="direct judge"), "AP")
    assert (same.flips, same.questions) == ([], [])
    mixed = state_changes(own, THEN, Policy(grader="direct judge"), "AP")
    assert ("p1", 5, 3) in [(f.passage_id, f.before, f.after) for f in mixed.flips]
    assert all("grader" in f.causes for f in mixed.flips)


def test_min_rating_changes_relevance_but_no_labels(small):
    found = state_changes(small, Policy(min_rating=5), Policy(min_rating=4), "EXAM-Cover")
    assert (found.flips, found.relevance, found.differing) == ([], 1, ("min rating",))


def test_state_without_leaderboard_still_has_labels(small):
    found = state_changes(small, Policy(bank_version=0), NOW, "nDCG@10", "assessors")
    assert told(found) == [
        ("p1", None, 5, ("added",), ("q1/a", "q1/b", "q1/c")),
        ("p2", None, 4, ("added",), ("q1/a", "q1/b", "q1/c")),
    ]
    assert found.board_before is None
    assert mentions(found.no_board, "0")
    assert [(s.rank_before, s.run) for s in found.systems] == [(None, "z"), (None, "x"), (None, "y")]


def test_comparison_includes_shift_in_correlation(own):
    bank.save_version(own, [replace(BANK[0], active=False)], "without A", "ann")
    found = state_changes(own, THEN, NOW, "nDCG@10", "assessors")
    assert found.shift is not None
    assert [s.rank_before for s in found.systems] != [s.rank_after for s in found.systems]


def test_ungraded_pairs_are_counted_not_zero(own):
    bank.save_version(own, [replace(BANK[0], text="A, exactly?")], "reworded", "ann")
    ((flip),) = state_changes(own, THEN, NOW, "EXAM-Cover").flips
    assert (flip.after, flip.open_pairs) == (2, 1)


def test_flip_details_show_ratings_of_both_states(own):
    bank.save_version(own, [replace(BANK[0], text="A, exactly?"), replace(BANK[1], active=False)], "new", "ann")
    rows = why_label(own, THEN, NOW, "q1", "p1")
    assert [(r.question_id, r.text, r.before, r.after, r.graded) for r in rows] == [
        ("q1/a", "A, exactly?", 5, None, False),
        ("q1/b", "B?", 2, None, True),
        ("q1/c", "C?", 0, 0, True),
    ]
    with refusal("unknown-passage", "p9"):
        why_label(own, THEN, NOW, "q1", "p9")


def test_unknown_measure_and_version_are_refused(small):
    with pytest.raises(InputError):
        state_changes(small, NOW, NOW, "no such measure")
    with refusal("unknown-bank-version", "9"):
        state_changes(small, Policy(bank_version=9), NOW, "AP")


@pytest.mark.parametrize("measure", ["n-EXAM", "ROUGE-1", "chrF@1", "EXAM-Cover/pool", "alpha_nDCG"])
def test_states_are_compared_on_every_measure(own, measure):
    mark_gold(own, "z", "ann")
    found = state_changes(own, Policy(), Policy(min_rating=2), measure)
    boards = [leaderboard(own, measure, policy=policy).scores for policy in (Policy(), Policy(min_rating=2))]
    assert [{s.run: s.score_before for s in found.systems}, {s.run: s.score_after for s in found.systems}] == boards


@pytest.mark.parametrize("measure", ["alpha_nDCG", "alpha_nDCG@10", "ERR_IA"])
def test_measure_not_from_judgments_is_compared_with_ndcg(small, measure):
    found = compare(small, measure, "judgments")
    assert (found.board.measure.partition("@")[0], found.official.measure) == (measure.partition("@")[0], "nDCG@10")


def test_flips_csv_escapes_formulas(project):
    fill(project, [Question("=q", "q1", "A?"), Question("b", "q1", "B?")], {("A?", "+p"): 5, ("B?", "+p"): 1}, {})
    judge(project, {("q1", "+p"): 1})
    bank.save_version(project, [Question("=q", "q1", "A?", active=False)], "without", "ann")
    found = state_changes(project, THEN, NOW, "AP")
    rows = list(csv.reader(io.StringIO(flips_csv(project, found))))
    assert rows[0][:4] == ["query_id", "query", "passage_id", "label_before"]
    assert rows[1] == ["q1", "query q1", "'+p", "5", "1", "retired", "'=q", "0"]
