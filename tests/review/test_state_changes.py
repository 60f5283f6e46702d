"""Comparing two states equals computing both in full, and the impact of an edit equals saving it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pandas as pd
import pytest

from exam_workbench import bank
from exam_workbench.errors import InputError
from exam_workbench.labels import Leaderboard, Policy, add_override, basis, compare, leaderboard, list_labels
from exam_workbench.records import add_queries, mark_gold
from exam_workbench.review import changes, flips_csv, state_changes, version_edits, why_label
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Query, Question
from tests.made.projects import commit, examples, fill, filled_project, grade, judge, new_project, read_project
from tests.made.refusals import mentions, refusal

OTHER = GraderSpec("other grader", "answer", "none")
JUDGE = GraderSpec("direct judge", "direct", "none", max_rating=3)
PASSAGES = ["p0", "p1", "p2", "p3"]
QUERIES = ["q1", "q2"]
WORDS = ["A?", "B?", "C?"]
PARTS = ("bank_version", "grader", "label", "weighted", "overrides")


def a_bank(dice: Random, note: str | None = None, words: Sequence[str] = WORDS) -> list[Question]:
    return [
        Question(
            f"{query}/{i}",
            query,
            f"{query} {dice.choice(words)}",
            weight=dice.choice([-1.0, 0.0, 0.5, 1.0, 2.0]),
            active=dice.random() < 0.8,
            note=note,
        )
        for query in QUERIES
        for i in range(dice.randint(1, 4))
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


Labels = dict[tuple[str, str], int | None]


def differing(old: Labels, new: Labels) -> dict[tuple[str, str], tuple[int | None, int | None]]:
    """Return old and new label of each passage whose label differs."""
    return {pair: (old.get(pair), new.get(pair)) for pair in {**old, **new} if old.get(pair) != new.get(pair)}


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
        assert {(f.query_id, f.passage_id): (f.before, f.after) for f in found.flips} == differing(old, new)
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


def test_shift_and_added_and_restored_questions_are_reported(own):
    bank.save_version(own, [replace(BANK[0], active=False)], "without A", "ann")
    found = state_changes(own, THEN, NOW, "nDCG@10", "assessors")
    apart = [compare(own, "nDCG@10", "assessors", policy=policy).correlation.spearman for policy in (THEN, NOW)]
    assert found.shift is not None and [found.shift.before, found.shift.after] == apart
    assert apart[0] != apart[1]
    assert [s.rank_before for s in found.systems] != [s.rank_after for s in found.systems]
    bank.save_version(own, [BANK[0], Question("q1/d", "q1", "B? ", weight=3.0)], "A again, and another B", "ann")
    grown = state_changes(own, Policy(bank_version=2), NOW, "EXAM-Cover")
    assert told(grown) == [("p1", 2, 5, ("restored",), ("q1/a",))]
    assert {change.question_id: change.kinds for change, _ in grown.questions} == {
        "q1/a": ("restored",),
        "q1/d": ("added",),
    }


def test_override_grader_and_label_rule_are_separate_causes(own):
    grade(own, {pair: 1 for pair in GRADES}, OTHER)
    other = state_changes(own, NOW, Policy(grader="other grader"), "nDCG@10")
    assert told(other) == [("p1", 5, 1, ("grader",), ()), ("p2", 4, 1, ("grader",), ())]
    rule = state_changes(own, NOW, Policy(label="mean"), "nDCG@10")
    assert told(rule) == [("p1", 5, 2, ("label rule",), ()), ("p2", 4, 3, ("label rule",), ())]
    add_override(own, "q1/b", "p2", 0, "says nothing of B", "ann")
    found = state_changes(own, replace(NOW, overrides=False), NOW, "EXAM-Cover")
    assert told(found) == [("p2", 4, 3, ("override",), ("q1/b",))]
    assert found.differing == ("overrides",)


def test_bank_changes_do_not_affect_direct_grader(own):
    commit(own, "INSERT INTO question_texts VALUES (nextval('keys'), 'query q1', NULL)")
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
    # Judgments have no questions, so nDCG stands for measures of intents.
    for measure in ("alpha_nDCG", "alpha_nDCG@10", "ERR_IA"):
        boards = compare(small, measure, "judgments")
        names = boards.board.measure.partition("@")[0], boards.official.measure
        assert names == (measure.partition("@")[0], "nDCG@10")


def test_state_without_leaderboard_still_has_labels(small):
    found = state_changes(small, Policy(bank_version=0), NOW, "nDCG@10", "assessors")
    assert told(found) == [
        ("p1", None, 5, ("added",), ("q1/a", "q1/b", "q1/c")),
        ("p2", None, 4, ("added",), ("q1/a", "q1/b", "q1/c")),
    ]
    assert found.board_before is None
    assert mentions(found.no_board, "0")
    assert [(s.rank_before, s.run) for s in found.systems] == [(None, "z"), (None, "x"), (None, "y")]
    with pytest.raises(InputError):
        state_changes(small, NOW, NOW, "no such measure")
    with refusal("unknown-bank-version", "9"):
        state_changes(small, Policy(bank_version=9), NOW, "AP")


def test_flip_details_show_ratings_and_ungraded_pairs(own):
    bank.save_version(own, [replace(BANK[0], text="A, exactly?")], "reworded", "ann")
    ((flip),) = state_changes(own, THEN, NOW, "EXAM-Cover").flips
    assert (flip.after, flip.open_pairs) == (2, 1)
    bank.save_version(own, [replace(BANK[1], active=False)], "without B", "ann")
    rows = why_label(own, THEN, NOW, "q1", "p1")
    assert [(r.question_id, r.text, r.before, r.after, r.graded) for r in rows] == [
        ("q1/a", "A, exactly?", 5, None, False),
        ("q1/b", "B?", 2, None, True),
        ("q1/c", "C?", 0, 0, True),
    ]
    with refusal("unknown-passage", "p9"):
        why_label(own, THEN, NOW, "q1", "p9")


def test_states_are_compared_on_every_measure(own):
    mark_gold(own, "z", "ann")
    for measure in ("n-EXAM", "ROUGE-1", "chrF@1", "EXAM-Cover/pool", "alpha_nDCG"):
        found = state_changes(own, NOW, Policy(min_rating=2), measure)
        before, after = (leaderboard(own, measure, policy=policy).scores for policy in (NOW, Policy(min_rating=2)))
        assert {s.run: s.score_before for s in found.systems} == before
        assert {s.run: s.score_after for s in found.systems} == after


def test_flips_csv_escapes_formulas(project):
    fill(project, [Question("=q", "q1", "A?"), Question("b", "q1", "B?")], {("A?", "+p"): 5, ("B?", "+p"): 1}, {})
    judge(project, {("q1", "+p"): 1})
    bank.save_version(project, [Question("=q", "q1", "A?", active=False)], "without", "ann")
    found = state_changes(project, THEN, NOW, "AP")
    rows = list(csv.reader(io.StringIO(flips_csv(project, found))))
    assert rows[0][:4] == ["query_id", "query", "passage_id", "label_before"]
    assert rows[1] == ["q1", "query q1", "'+p", "5", "1", "retired", "'=q", "0"]


# The impact of an edit equals saving it and recomputing everything


FIVE = [f"p{i}" for i in range(5)]
WORDINGS = ["A?", "B?", "C?", "D?", "never graded?"]
WEIGHTS = [-1.0, 0.0, 0.5, 1.0, 2.0]
MEASURES = ["EXAM-Cover", "AP", "nDCG@10", "alpha_nDCG@10"]


def _bank(dice: Random) -> dict[str, list[Question]]:
    found = a_bank(dice, words=WORDINGS)
    return {query: [question for question in found if question.query_id == query] for query in QUERIES}


def _ratings(dice: Random) -> dict[tuple[str, str], int | None]:
    pairs = [(f"{q} {w}", p) for q in QUERIES for w in WORDINGS[:-1] for p in FIVE]
    return {pair: dice.choice([None, 0, 1, 2, 3, 4, 5]) for pair in pairs if dice.random() < 0.8}


def _runs(dice: Random) -> dict[str, dict[str, list[str]]]:
    return {
        run: {
            query: dice.sample(FIVE, dice.randint(1, len(FIVE))) for query in dice.sample(QUERIES, dice.randint(1, 2))
        }
        for run in ("a", "b", "c")
    }


def a_rule(dice: Random) -> Policy:
    return Policy(
        min_rating=dice.randint(1, 5),
        cutoff=dice.randint(1, 3),
        label=dice.choice(["max", "mean", "support:2"]),
        weighted=dice.random() < 0.5,
        skipped=dice.choice(["zero", "ignore"]),
    )


@pytest.mark.parametrize("seed", range(examples(4)))
def test_impact_equals_saving_and_recomputing(project, seed):
    dice = Random(seed)
    # Inactive questions register every wording, so that all can be graded.
    wordings = [Question(f"{q}/{w}", q, f"{q} {w}", active=False) for q in QUERIES for w in WORDINGS]
    old = _bank(dice)
    fill(project, [*old["q1"], *old["q2"], *wordings], _ratings(dice), _runs(dice))
    # Filling a project is slow, so the second edit builds on the first.
    for _ in range(2):
        new = _bank(dice)
        saved = {query: bank.list_questions(project, query_id=query) for query in QUERIES}
        edits = {query: _with_the_rest(new[query], saved[query]) for query in QUERIES}
        _edit_and_compare(project, edits, a_rule(dice))


def _edit_and_compare(project: Project, edits: dict[str, list[Question]], policy: Policy) -> set[str]:
    """Check the impact of edits on every measure, and return the queries whose labels changed."""
    version = bank.latest_version(project)
    state = replace(policy, bank_version=version)
    found = {measure: _or_none(lambda m=measure: changes(project, m, state, edits)) for measure in MEASURES}
    before = labels_of(project, state)
    bank.save_version(project, [q for questions in edits.values() for q in questions], "new", "tester")
    changed = differing(before, labels_of(project, policy))
    for measure in MEASURES:
        board = _or_none(lambda m=measure: leaderboard(project, m, policy=policy, with_ungraded=True))
        impact = found[measure]
        if impact is None:
            assert not any(before.values())
            continue
        assert {(c.query_id, c.passage_id): (c.before, c.after) for c in impact.labels} == changed
        if board is None:
            assert set(labels_of(project, policy).values()) == {None}
        else:
            _same(impact.after, board)
        between = changes(project, measure, state, version_edits(project, version, bank.latest_version(project)))
        assert between.labels == impact.labels
    return {query for query, _ in changed}


def _or_none(compute):
    try:
        return compute()
    except InputError as error:
        assert error.code == "nothing-graded"
        return None


def _with_the_rest(new: list[Question], saved: list[Question]) -> list[Question]:
    ids = {question.question_id for question in new}
    return [*new, *(question for question in saved if question.question_id not in ids)]


def _same(a: Leaderboard, b: Leaderboard) -> None:
    assert {s.run: (pytest.approx(s.score), s.queries, s.rank) for s in a.systems} == {
        s.run: (s.score, s.queries, s.rank) for s in b.systems
    }
    assert (a.needed, a.usable, a.ungraded) == (b.needed, b.usable, b.ungraded)
    assert sorted(a.query_ids) == sorted(b.query_ids)


@pytest.mark.parametrize("seed", range(examples(3)))
def test_impact_equals_saving_and_recomputing_for_topics(project, seed):
    """Questions also move between subtopics; one topic has its own questions and a subtopic."""
    dice = Random(seed)
    topics = ["q1/a", "q1/b", "q2/a", "q1/a/c"]
    asked = [Question(f"other {words}", "q3", words, active=False) for words in WORDINGS]

    def drawn() -> list[Question]:
        return [
            replace(
                question, query_id=query, question_id=f"{query} {i}", subtopic_id=dice.choice([None, "a", "b", "a/c"])
            )
            for query in (*QUERIES, "q1/a")
            for i, question in enumerate(dice.choices(asked, k=6))
        ]

    def active(questions: list[Question]) -> list[Question]:
        return [replace(q, active=dice.random() < 0.8, weight=dice.choice(WEIGHTS)) for q in questions]

    commit(project, add_queries, [Query(query, query) for query in (*QUERIES, *topics)], replace=True)
    places = [*topics, *QUERIES[seed % 3 :]]
    runs = {run: {query: dice.sample(FIVE, 3) for query in dice.sample(places, len(places) - 1)} for run in "abc"}
    pairs = [(words, passage) for words in WORDINGS[:-1] for passage in FIVE]
    ratings = {pair: dice.choice([None, 0, 1, 2, 3, 4, 5]) for pair in pairs if dice.random() < 0.8}
    fill(project, [*active(drawn()), *asked], ratings, runs)
    edits: dict[str, list[Question]] = {}
    for question in active(drawn()):
        edits.setdefault(question.query_id, []).append(question)
    del edits[dice.choice(list(edits))]
    assert _edit_and_compare(project, edits, Policy(cutoff=2)) & set(topics)


ASKED = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?"), Question("q1/c", "q1", "C?")]
TIES = {("A?", "p1"): 5, ("A?", "p2"): 1, ("B?", "p1"): 2, ("B?", "p2"): 4, ("C?", "p1"): 0, ("C?", "p2"): 4}


ties = read_project(lambda project: fill(project, ASKED, TIES, RUNS))


def test_flip_names_the_questions_that_alone_or_jointly_cause_it(ties):
    found = changes(ties, "EXAM-Cover", Policy(), {"q1": [replace(ASKED[0], active=False), *ASKED[1:]]})
    assert [(c.passage_id, c.before, c.after, c.questions) for c in found.labels] == [("p1", 5, 2, ("q1/a",))]
    off = [ASKED[0], replace(ASKED[1], active=False), replace(ASKED[2], active=False)]
    found = changes(ties, "EXAM-Cover", Policy(), {"q1": off})
    assert [(c.passage_id, c.before, c.after, c.questions) for c in found.labels] == [("p2", 4, 1, ("q1/b", "q1/c"))]


def test_reworded_question_is_unknown_until_graded(ties):
    found = changes(ties, "EXAM-Cover", Policy(), {"q1": [replace(ASKED[0], text="A, exactly?"), *ASKED[1:]]})
    assert (found.to_grade, found.known, found.undecided) == (2, 4, 2)
    assert [(c.before, c.after, c.unknown) for c in found.labels] == [(5, 2, 1)]
    assert (found.pending, found.known_part.labels) == ({"q1": 2}, [])
    # The known part excludes movement that depends on missing grades.
    assert found.after.scores != found.before.scores
    assert found.settled == found.before and not any(
        one.score_before != one.score_after for one in found.known_part.systems
    )
    retired = [replace(ASKED[0], active=False), *ASKED[1:]]
    assert changes(ties, "EXAM-Cover", Policy(), {"q1": retired}).pending == {}


def test_known_changes_are_separate_from_pending_queries(tmp_path):
    project = new_project(tmp_path / "two.duckdb")
    asked = [Question(f"{query}/{letter}", query, f"{query} {letter}?") for query in QUERIES for letter in "AB"]
    ratings = {
        (question.text or "", passage): 5 * (place == at % 2)
        for at, question in enumerate(asked)
        for place, passage in enumerate(("p0", "p1"))
    }
    fill(project, asked, ratings, {"a": {"q1": ["p0"], "q2": ["p0"]}, "b": {"q1": ["p1"], "q2": ["p1"]}})
    retire = [replace(asked[0], active=False), asked[1]]
    reword = [asked[2], replace(asked[3], text="new words?", weight=3.0)]
    both = changes(project, "EXAM-Cover@1", Policy(), {"q1": retire, "q2": reword})
    assert both.pending == {"q2": 2}
    alone = changes(project, "EXAM-Cover@1", Policy(), {"q1": retire})
    assert both.settled.scores == alone.after.scores != both.after.scores
    assert both.known_part.labels == alone.labels and both.known_part.systems == alone.systems
    assert {change.query_id for change in both.labels} == {"q1", "q2"}


@pytest.mark.parametrize(("rule", "undecided"), [("max", 1), ("support:2", 2), ("mean", 2)])
def test_label_that_missing_ratings_cannot_change_is_decided(ties, rule: str, undecided: int):
    # p1 keeps the 5 of its first question regardless of the second; p2 has a 4.
    reworded = [ASKED[0], replace(ASKED[1], text="B, exactly?"), ASKED[2]]
    found = changes(ties, "EXAM-Cover", Policy(label=rule), {"q1": reworded})
    assert (found.to_grade, found.undecided) == (2, undecided)


def test_notes_change_nothing_and_pool_measures_are_refused(ties):
    edited = [replace(q, note="checked", answer_key="x", subtopic_id="s") for q in ASKED]
    found = changes(ties, "EXAM-Cover", Policy(), {"q1": edited})
    assert (found.edited, found.labels) == ((), [])
    assert found.before == found.after
    retired = [replace(question, active=False) for question in bank.list_questions(ties, 1, "q1")]
    with refusal("measure-not-predictable") as refused:
        changes(ties, "EXAM-Cover@20/pool", Policy(), {"q1": retired})
    assert "EXAM-Cover" in refused.value.hint
