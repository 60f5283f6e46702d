"""Agreement of labels, judgments and people, and the passages behind each cell."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import cohen_kappa_score

from exam_workbench import bank
from exam_workbench.labels import Policy, add_override, find_overrides, withdraw_by_key
from exam_workbench.measures import (
    CrossTable,
    alpha_of,
    cohen_kappa,
    cross_table,
    match_scales,
    merge_values,
    per_level,
    weighted_kappa,
)
from exam_workbench.measures._agreement import krippendorff_alpha
from exam_workbench.records import judging, judgment_sources
from exam_workbench.review import (
    Filters,
    Judgments,
    Labels,
    Person,
    case_of,
    list_disagreements,
    machine_labels,
    people,
    reopen_case,
    search_passages,
    settle_by_comment,
    side_agreement,
    table_csv,
    table_latex,
)
from exam_workbench.review._disagreements.label_agreement import Pair
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from tests.made import collections
from tests.made.projects import SPEC, fill, filled_project, grade, judge
from tests.made.refusals import refusal
from tests.made.shell import Run, printed

SELF_RATED = "flan-t5-large · QuestionSelfRatedUnanswerablePromptWithChoices"
RATINGS = (5, 4, 3, 2, 1, 0)


# --- coefficients -----------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(-2, 5), st.integers(-2, 5)), min_size=1, max_size=60))
def test_kappa_matches_scikit_learn_with_nan_as_undefined(pairs: list[tuple[int, int]]) -> None:
    left, right = zip(*pairs, strict=True)
    table = cross_table(left, right, range(5, -3, -1), range(-2, 6))
    for ours, weights in (
        (cohen_kappa(table), None),
        (weighted_kappa(table, "linear"), "linear"),
        (weighted_kappa(table, "quadratic"), "quadratic"),
    ):
        if set(left) == set(right) and len(set(left)) == 1:
            assert ours.value is None
            assert ours.undefined
        else:
            theirs = cohen_kappa_score(left, right, labels=range(-2, 6), weights=weights)
            assert ours.value == pytest.approx(theirs, abs=1e-12)
            assert ours.undefined is None
    # The kappa of a level compares one value with the rest.
    scale = range(5, -3, -1)
    for value, level in per_level(cross_table(left, right, scale, scale)).items():
        said = [a == value for a in left]
        same = [b == value or (value <= 0 and b <= 0) for b in right]
        if value not in left or (all(said) and all(same)):
            assert level.value is None
            assert level.undefined
        else:
            assert level.value == pytest.approx(cohen_kappa_score(said, same), abs=1e-12)


def test_all_coefficients_are_undefined_without_pairs() -> None:
    table = cross_table([], [], RATINGS, (3, 2, 1, 0))
    for found in (cohen_kappa(table), weighted_kappa(table), alpha_of(table), *per_level(table).values()):
        assert found.value is None
        assert found.undefined
    nobody = cross_table([], [], RATINGS, ())
    assert cohen_kappa(nobody).value is None
    assert set(level.value for level in per_level(nobody).values()) == {None}


nan = math.nan
# Krippendorff, Computing Krippendorff's alpha-reliability (2011): four observers, twelve units, and his results.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
)


def test_alpha_matches_krippendorffs_example() -> None:
    assert krippendorff_alpha(OBSERVERS.T).value == pytest.approx(0.815, abs=5e-4)


def test_alpha_skips_single_ratings_and_needs_pairs_and_variation() -> None:
    more = np.vstack([OBSERVERS.T, [[5, nan, nan, nan], [nan] * 4]])
    assert krippendorff_alpha(more) == krippendorff_alpha(OBSERVERS.T)
    for values in ([[nan, nan]], [[1, nan], [nan, 2]], [[3, 3], [3, 3]]):
        found = krippendorff_alpha(np.array(values))
        assert found.value is None and found.undefined


# --- matching values --------------------------------------------------------------------------------------------


def test_labels_match_judgments_as_in_the_papers() -> None:
    assert match_scales(RATINGS, (3, 2, 1, 0)) == {5: (3,), 4: (3,), 3: (2,), 2: (2,), 1: (2,), 0: (0,)}
    assert match_scales(RATINGS, (1, 0, -2)) == {5: (1,), 4: (1,), 3: (0, -2), 2: (0, -2), 1: (0, -2), 0: (0, -2)}
    assert match_scales((2, 1, 0), (0, -1)) == {2: (), 1: (), 0: (0, -1)}


@given(st.integers(1, 6), st.integers(1, 6))
def test_matching_of_scales_is_symmetric(top: int, other: int) -> None:
    one, two = range(top + 1), range(other + 1)
    there, back = match_scales(one, two), match_scales(two, one)
    assert {(a, b) for a in one for b in there[a]} == {(a, b) for b in two for a in back[b]}
    assert other in there[top]
    assert 0 in there[0]
    if top == other:
        assert there == {value: (value,) for value in one}


# --- merging ----------------------------------------------------------------------------------------------------


def test_merged_values_are_summed_and_named() -> None:
    rows, columns = (3, 2, 1, 0), (2, 1, 0, -2)
    members = [tuple((value,) for value in values) for values in (rows, columns)]
    table = CrossTable(rows, columns, np.arange(16).reshape(4, 4), *members)
    found = merge_values(table, [(3, 2), (1, 0)], [(2, 1), (0, -2)])
    assert found.counts.tolist() == [[0 + 1 + 4 + 5, 2 + 3 + 6 + 7], [8 + 9 + 12 + 13, 10 + 11 + 14 + 15]]
    assert (found.row_names, found.column_names) == (("2–3", "0–1"), ("1–2", "≤0"))
    assert found.row_members == ((3, 2), (1, 0))
    assert merge_values(table, [(3, 0), (2, 1)], [(2, 1, 0, -2), ()]).row_names == ("0, 3", "1–2")


# --- TREC DL 2023, as RUBRIC's program tabulates it -------------------------------------------------------------


@pytest.fixture(scope="module")
def dl23(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from collections.dl23(shared_data, tmp_path_factory)


Row = tuple[str, list[str], str, str]
"""One line of a table: label, cells (with boxes and bold type), total, kappa."""


def _rows(latex: str) -> list[Row]:
    """Return the rows of one LaTeX table, RUBRIC's or ours."""
    rows = []
    for line in latex.splitlines():
        plain = re.sub(r"%$|\\\\|\\bottomrule|\$|^&", "", line).replace("{-}", "-").strip()
        cells = [cell.strip() for cell in plain.split("&")]
        if re.match(r"[\d+-]+&", plain.replace(" ", "")):
            name, *counts, total, kappa = cells
            rows.append((name, counts, total, kappa))
    return rows


@pytest.fixture(scope="module")
def reference(shared_data: Path) -> dict[tuple[str, str], list[Row]]:
    """Return RUBRIC's tables by minimum number of supporting questions and name."""
    text = (shared_data / "dl23-llmjudge/reference/ia-rated-rel2.tex").read_text().replace("%\n", "\n")
    found: dict[tuple[str, str], list[Row]] = {}
    for section in text.split(r"\section{Min Answers= ")[1:]:
        for name, body in re.findall(r"\\begin\{sideways\}(\w+)(.*?)\\end\{tabu\}", section, re.DOTALL):
            found[section[0], name] = _rows(body)
    return found


def _of_labels(project: Project, min_answers: str):
    policy = Policy(grader=SELF_RATED, label="max" if min_answers == "1" else f"support:{min_answers}")
    return side_agreement(project, Labels(policy), Judgments())


@pytest.mark.parametrize("min_answers", ["1", "2", "5"])
def test_labels_against_nist_match_rubrics_table(dl23, reference, min_answers) -> None:
    found = _of_labels(dl23, min_answers)
    expected = reference[min_answers, "GRADED"]
    assert [len(row[1]) for row in expected] == [4] * 6
    assert _rows(table_latex(found)) == expected
    assert (found.n, found.left_only, found.right_only) == (7263, 0, 0)


MERGED = {
    "MERGE": ([(5, 4), (3, 2, 1), (0,)], [(3,), (2,), (1, 0)]),
    "LENIENT": ([(5, 4, 3, 2, 1), (0,)], [(3, 2), (1, 0)]),
    "STRICT": ([(5, 4), (3, 2, 1, 0)], [(3, 2), (1, 0)]),
}


@pytest.mark.parametrize(("min_answers", "name"), list(itertools.product(["1", "2", "5"], MERGED)))
def test_merged_tables_match_rubrics(dl23, reference, min_answers, name) -> None:
    table = merge_values(_of_labels(dl23, min_answers).table, *MERGED[name])
    rows = [
        ([str(count) for count in counts], str(total), f"{kappa.value:.2g}")
        for counts, total, kappa in zip(table.counts.tolist(), table.row_totals, per_level(table).values(), strict=True)
    ]
    plain = [
        ([re.sub(r"\\\w+|[{}]", "", c) for c in cells], total, kappa)
        for _, cells, total, kappa in reference[min_answers, name]
    ]
    assert rows == plain


def test_binary_and_transposed_tables_match_rubrics(dl23, reference) -> None:
    found = side_agreement(dl23, Labels(Policy(grader=SELF_RATED)), Judgments(threshold=2))
    expected = reference["1", "STRICT"]
    ours = _rows(table_latex(found.merged))
    assert [row[0] for row in ours] == ["4--5", "0--3"]
    assert [row[1:] for row in ours] == [row[1:] for row in expected]
    found = side_agreement(dl23, Judgments(), Labels(Policy(grader=SELF_RATED)))
    assert (str(found.left), str(found.right)) == ("judgments", f"labels of {SELF_RATED}")
    # With judgments as rows, the same cells are boxed: 3 matches 5 and 4.
    assert _rows(table_latex(found))[0][1][:3] == [r"\fbox{185}", r"\fbox{392}", "22"]


def test_worst_disagreements_of_either_side_come_first(dl23) -> None:
    sides = Labels(Policy(grader=SELF_RATED)), Judgments()

    def listed(**how: Any) -> list[Pair]:
        return [row.pair for row in list_disagreements(dl23, *sides, **{"limit": 10_000, **how}).rows]

    found = listed()
    extremes = 290 + 86
    assert {(pair.left, pair.right) for pair in found[:extremes]} == {(5, 0), (0, 3)}
    next_worst = found[extremes : extremes + 1657 + 4]
    assert {(pair.left, pair.right) for pair in next_worst} == {(4, 0), (1, 3)}
    boxed = 185 + 392 + 12 + 6 + 1 + 2300
    assert len(found) == 7263 - boxed
    assert listed(limit=1) == found[:1]
    too_low = listed(order="right")
    assert {(pair.left, pair.right) for pair in too_low[:86]} == {(0, 3)}
    assert all(pair.left / 5 < pair.right / 3 for pair in too_low)
    too_high = listed(order="left")
    assert {(pair.left, pair.right) for pair in too_high[:290]} == {(5, 0)}
    assert len(too_low) + len(too_high) == len(found)


# --- small projects ---------------------------------------------------------------------------------------------

A, B = Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")
OTHER = GraderSpec("other grader", "self-rating", "other")


def fill_small(project: Project) -> None:
    """Fill one query with five passages: p4 failed, p5 is ungraded but judged, p3 is not judged."""
    ratings = {("A?", "p1"): 5, ("B?", "p1"): 2, ("A?", "p2"): 0, ("B?", "p2"): 1, ("A?", "p3"): 3, ("A?", "p4"): None}
    fill(project, [A, B], ratings, {"run": {"q1": ["p1", "p2", "p3", "p4", "p5"]}})
    judge(project, {("q1", "p1"): 2, ("q1", "p2"): 0, ("q1", "p4"): 0, ("q1", "p5"): 2})


own = filled_project(fill_small)


def test_pairs_missing_on_one_side_are_counted_not_zero(own: Project) -> None:
    found = side_agreement(own, Labels(Policy()), Judgments())
    assert (found.n, found.left_only, found.right_only) == (2, 1, 2)
    assert found.table.columns == (2, 0)
    assert found.table.counts.sum(axis=1).tolist() == [1, 0, 0, 0, 1, 0]
    assert side_agreement(own, Labels(Policy()), Judgments(), queries=["q1", "another"]).kappa == found.kappa
    only = side_agreement(own, Labels(Policy()), Judgments(), queries=["another"])
    assert (only.n, only.left_only, only.right_only) == (0, 0, 0)
    assert only.kappa.value is None
    mean = side_agreement(own, Labels(Policy(label="mean")), Judgments())
    assert mean.table.row_totals == [0, 1, 0, 0, 1, 0]
    header, *rows = csv.reader(io.StringIO(table_csv(found)))
    assert header == ["label", "2", "0", "total", "kappa"]
    assert rows[0] == ["5", "1", "0", "1", "1.0"]
    assert rows[1] == ["4", "0", "0", "0", ""]
    assert [row[0] for row in csv.reader(io.StringIO(table_csv(found.merged)))] == ["label", "4–5", "0–3"]


def test_overrides_count_in_labels_but_not_between_graders(own: Project) -> None:
    grade(own, {("A?", "p2"): 0, ("B?", "p2"): 3}, OTHER)
    add_override(own, "q1/a", "p2", 5, "It says so.", "Ann")
    assert side_agreement(own, Labels(Policy()), Judgments()).table.counts[0, 1] == 1
    assert side_agreement(own, Labels(Policy(overrides=False)), Judgments()).table.counts[0, 1] == 0
    machines = machine_labels(Policy(grader="test grader")), machine_labels(Policy(), "other grader")
    listed = list_disagreements(own, *machines, cell=([1], [3])).rows
    assert [(row.pair.left, row.pair.right) for row in listed] == [(1, 3)]
    assert side_agreement(own, *machines).n == 1
    # New grades show at once.
    grade(own, {("A?", "p5"): 4})
    assert side_agreement(own, Labels(Policy()), Judgments()).n == 3


def test_grader_and_person_are_compared_by_rating(own: Project) -> None:
    add_override(own, "q1/a", "p1", 5, "Right.", "Ann")
    add_override(own, "q1/b", "p1", 4, "It answers this too.", "Ann")
    add_override(own, "q1/a", "p4", 1, "Hardly.", "Ann")
    add_override(own, "q1/b", "p2", 0, "No.", "Bob")
    found = side_agreement(own, Labels(Policy()), Person("Ann"))
    assert (str(found.left), str(found.right)) == ("ratings of test grader", "ratings of Ann")
    # The grader's own 2 is paired with Ann's 4. A failure is not a rating; Ann did not rate three of its five.
    assert (found.n, found.left_only, found.right_only) == (2, 3, 1)
    worst = list_disagreements(own, Labels(Policy()), Person("Ann"))
    assert worst.total == 1
    pair = worst.rows[0].pair
    assert (pair.question_id, pair.question_text, pair.passage_id) == ("q1/b", "B?", "p1")
    assert (pair.left, pair.right, pair.query_text) == (2, 4, "query q1")


def test_grader_and_person_are_compared_on_topics(project: Project) -> None:
    asked = [Question("a/1", "a", "A?", subtopic_id="s"), Question("a/2", "a", "B?"), Question("b/1", "b", "C?")]
    runs = {"x": {"a/s": ["p1", "p2"], "a": ["p2"], "b": ["p1"]}}
    fill(project, asked, {(q.text, p): 5 for q in asked for p in ("p1", "p2")}, runs)
    for question, passage, rating in (("a/1", "p1", 5), ("a/1", "p2", 5), ("a/2", "p1", 0), ("b/1", "p1", 5)):
        add_override(project, question, passage, rating, "So it is.", "Ann")
    sides = Labels(Policy()), Person("Ann")
    found = side_agreement(project, *sides)
    assert (found.n, found.left_only, found.right_only) == (4, 1, 0)
    (pair,) = (row.pair for row in list_disagreements(project, *sides).rows)
    assert (pair.query_id, pair.question_id, pair.passage_id) == ("a/s", "a/2", "p1")
    # The case stays settled if the query pools the passage too.
    settle_by_comment(project, case_of(project, *sides, pair), "agreed to differ", "Ann")
    judge(project, {("a", "p1"): 1})
    assert not list_disagreements(project, *sides).rows
    (row,) = list_disagreements(project, *sides, show_settled=True, case=("a/s", "p1", "a/2")).rows
    assert row.pair.query_id == "a" and row.settling and row.settling.settled
    reopen_case(project, case_of(project, *sides, row.pair), "", "Ann")
    assert len(list_disagreements(project, *sides).rows) == 1


def test_people_are_compared_on_latest_ratings_in_force(own: Project) -> None:
    for author, rating in (("Ann", 1), ("Ann", 4), ("Bob", 4)):
        add_override(own, "q1/a", "p1", rating, "So it is.", author)
    add_override(own, "q1/b", "p1", 0, "No.", "Ann")
    add_override(own, "q1/b", "p1", 5, "Oops.", "Bob")
    withdraw_by_key(own, find_overrides(own)[0].key, "Bob")
    found = side_agreement(own, Person("Ann"), Person("Bob"))
    assert (found.n, found.left_only, found.right_only) == (1, 1, 0)
    assert found.table.counts[1, 1] == 1
    assert found.kappa.value is None
    assert people(own) == ["Ann", "Bob"]
    # Ratings of an older wording are not compared.
    bank.save_version(own, [Question("q1/a", "q1", "A, reworded?")], "clearer", "Ann")
    assert side_agreement(own, Labels(Policy()), Person("Ann")).n == 1
    before = side_agreement(own, Labels(Policy(bank_version=1)), Person("Ann"))
    assert before.n == 2
    with refusal("person-without-ratings", "Ann"):
        side_agreement(own, Labels(Policy()), Person("nobody"))
    with refusal("sides-not-comparable"):
        side_agreement(own, Judgments(), Person("Ann"))
    with refusal("unknown-source", "assessors"):
        side_agreement(own, Labels(Policy()), Judgments("NIST"))


def test_constant_judgments_and_names_of_sources_are_handled(own: Project) -> None:
    judge(own, {("q1", "p1"): 0, ("q1", "p2"): 0}, "strict")
    assert side_agreement(own, Labels(Policy()), Judgments("strict")).kappa.value == 0.0
    alone = side_agreement(own, Judgments("strict"), Judgments("strict"))
    assert alone.kappa.value is None
    assert "same value" in str(alone.kappa.undefined)
    assert judgment_sources(own) == ["assessors", "strict"]
    judge(own, {("q1", "p1"): 1, ("q1", "p2"): -1}, "A & B_1")
    found = table_latex(side_agreement(own, Labels(Policy()), Judgments("A & B_1")).merged)
    assert r"Judgments of A \& B\_1" in found
    assert found.count(r"\\" + "\n") == 4


# --- the command ------------------------------------------------------------------------------------------------


def test_command_prints_agreement_as_json_table_or_file(
    own: Project, monkeypatch: pytest.MonkeyPatch, commands: Run
) -> None:
    exam = commands
    monkeypatch.setenv("EXAM_PROJECT", str(own.path))
    grade(own, {("A?", "p1"): 1}, OTHER)
    add_override(own, "q1/a", "p1", 5, "So it is.", "Ann")
    expected = side_agreement(own, Labels(Policy(grader=SPEC.name)), Judgments()).as_dict()
    own.close()
    agreement = ("agreement", "--grader", SPEC.name)
    told = printed(exam(*agreement, "--json"))
    assert told == json.loads(json.dumps(expected)) | {"tuned": False, "held_out": False}
    assert told["table"] == {
        "rows": ["5", "4", "3", "2", "1", "0"],
        "columns": ["2", "0"],
        "counts": [[1, 0], [0, 0], [0, 0], [0, 0], [0, 1], [0, 0]],
    }
    assert told["per_level"]["4"] is None and told["undefined"]["per_level 4"]
    assert (told["n"], told["left_only"], told["right_only"]) == (2, 1, 2)
    merged = printed(exam(*agreement, "--json", "--merged", "--min-rating", "1"))
    assert merged["table"] == {"rows": ["1–5", "0"], "columns": ["2", "0"], "counts": [[1, 1], [0, 0]]}
    for option, name, left, right in (
        ("--against-grader", "other grader", "labels of test grader", "labels of other grader"),
        ("--against-person", "Ann", "ratings of test grader", "ratings of Ann"),
    ):
        found = printed(exam(*agreement, "--json", option, name))
        assert (found["left"], found["right"], found["n"]) == (left, right, 1)
    code, out, err = exam(*agreement, "--source", "assessors")
    assert code == 0
    assert out.splitlines()[2].split() == ["5", "1", "0", "1", "1.0000"]
    assert "Cohen's kappa: " in out
    assert re.findall(r"\d+", err)[:3] == ["2", "1", "2"]
    for option, start in (("--latex", r"\begin{tabular}"), ("--csv", "label,2,0,total")):
        code, out, err = exam(*agreement, option)
        assert (code, err) == (0, "")
        assert out.startswith(start)
    for arguments in (("--latex", "--csv"), ("--source", "assessors", "--against-grader", "test grader")):
        exam.fails("options-exclude-each-other", *agreement, *arguments)


def test_labels_can_be_compared_with_first_blind_judgments(own: Project) -> None:
    places = [(row.query_id, row.passage_id) for row in search_passages(own, None, Filters(), 3).rows]
    for at, place in enumerate(places):
        judging.judge_passage(own, *place, 0, "ann", blind=at > 0)
        judging.judge_passage(own, *place, 3, "ann", blind=False)
    now, first = (
        side_agreement(own, Labels(Policy()), Judgments("assessor: ann", blind=blind)) for blind in (False, True)
    )
    assert now.table.counts[:, 1:].sum() == 0 and first.table.counts[:, :-1].sum() == 0
    assert first.n + first.right_only == len(places) - 1
