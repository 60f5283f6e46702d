"""Gold texts: n-EXAM, coverage normalised by the pool, ROUGE-1, chrF and lengths."""

from __future__ import annotations

import json
import math
import statistics
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exam_workbench.errors import FileError
from exam_workbench.exchange import Imported, Options, import_files
from exam_workbench.formats import Source
from exam_workbench.labels import (
    Leaderboard,
    Policy,
    System,
    compare,
    compare_boards,
    kendall_interval,
    leaderboard,
    order_systems,
)
from exam_workbench.labels._coverage import normalise_coverage
from exam_workbench.measures import SIMILARITIES, parse_measure
from exam_workbench.measures._correlation import rank_correlations
from exam_workbench.measures._means_and_tests import central_percentiles, defined_quotients, drawn_counts
from exam_workbench.records import gold_name, gold_texts, mark_gold, ranking_scores
from exam_workbench.store import Project, open_project
from exam_workbench.types import Question
from tests.made.projects import fill, filled_project, grade, judge
from tests.made.refusals import refusal
from tests.made.shell import exam_on

QUESTIONS = [Question(f"{q}{n}", q, f"{q} question {n}") for q in ("a", "b") for n in range(4)]
# The number of its query's four questions that each passage answers, from the first on.
ANSWERS = {"a1": 2, "a2": 3, "b1": 1, "b2": 2}
RUNS = {"good": {"a": ["a2", "a1"], "b": ["b2"]}, "poor": {"a": ["a1"]}}


def alike(measure: str, text: str, gold: str) -> float:
    """Return the similarity of two texts."""
    similarity = SIMILARITIES[measure]
    return similarity.scorer()(similarity.prepare(text), similarity.prepare(gold))


def ratings(passage_id: str, query_id: str, answered: int) -> dict[tuple[str, str], int | None]:
    return {(f"{query_id} question {n}", passage_id): 5 if n < answered else 0 for n in range(4)}


def fill_exam(project: Project) -> None:
    """Fill two queries of four questions: `good` covers 3/4 and 2/4, `poor` covers 2/4 and skips b."""
    grades = {pair: rating for p, n in ANSWERS.items() for pair, rating in ratings(p, p[0], n).items()}
    fill(project, QUESTIONS, grades, RUNS)


own = filled_project(fill_exam)


def import_gold(project: Project, *rows: dict[str, str]) -> Imported:
    source = Source("gold.jsonl", data="".join(json.dumps(row) + "\n" for row in rows).encode())
    return import_files(project, "responses", [source], "tester", Options(gold=True, replace=True))


def add_gold(project: Project, answered: dict[str, int]) -> None:
    """Import a gold text per query that answers the given number of its questions."""
    import_gold(project, *({"query_id": q, "text": f"The gold text of {q}."} for q in answered))
    grade(project, {pair: r for q, n in answered.items() for pair, r in ratings(f"gold/{q}/1", q, n).items()})


def rows_of(project: Project, measure: str, **policy: Any) -> dict[str, float]:
    return leaderboard(project, measure, policy=Policy(**policy), with_ungraded=True).scores


# n-EXAM


def test_n_exam_divides_summed_coverage_by_that_of_gold(own: Project) -> None:
    add_gold(own, {"a": 4, "b": 1})
    assert rows_of(own, "n-EXAM@20") == pytest.approx(
        {"good": (3 / 4 + 2 / 4) / (4 / 4 + 1 / 4), "poor": (2 / 4 + 0) / (4 / 4 + 1 / 4)}
    )
    # Ignoring skipped queries applies to both sums, and uses only common queries.
    assert rows_of(own, "n-EXAM@20", skipped="ignore") == pytest.approx({"good": 1.0, "poor": 0.5})
    judge(own, {("a", "a1"): 1})
    compared = compare(own, "n-EXAM@20", "judgments", policy=Policy(skipped="ignore"), against_measure="P@1")
    assert compared.board.query_ids == ["a"]
    assert compared.board.scores == pytest.approx({"good": (3 / 4) / (4 / 4), "poor": (2 / 4) / (4 / 4)})


def test_standard_errors_are_normalised_like_scores_and_give_stars(own: Project) -> None:
    add_gold(own, {"a": 4, "b": 2})
    board = leaderboard(own, "n-EXAM@20")
    error = statistics.stdev([0.75, 0.5]) / math.sqrt(2)
    assert board.std_errors["good"] == pytest.approx(error / 0.75)
    assert board.reference is not None
    assert (board.reference.run, board.reference.score) == ("gold", 1.0)
    assert board.reference.std_error == pytest.approx(statistics.stdev([1, 0.5]) / math.sqrt(2) / 0.75)
    # The gold's coverage is .75 with a standard error of .25: good (.625) is within it, poor (.25) is not.
    assert board.starred == {"good"}


def test_only_queries_with_gold_text_count(own: Project) -> None:
    add_gold(own, {"a": 2})
    board = leaderboard(own, "n-EXAM@20")
    assert board.query_ids == ["a"]
    assert board.scores == pytest.approx({"good": 1.5, "poor": 1.0})


def test_intervals_normalise_each_resample_if_skipped_queries_are_ignored() -> None:
    dice, policy, queries = np.random.default_rng(1), Policy(skipped="ignore"), [*"abcdefgh"]
    gold = dice.uniform(0.05, 1, 8)
    answered = dice.random((5, 8)) < 0.7
    covers = np.where(answered, gold * dice.random((5, 8)), 0)
    known = {f"s{i}": {queries[q]: covers[i, q] for q in np.flatnonzero(answered[i])} for i in range(5)}
    reference, fixed = dict(zip(queries, gold, strict=True)), dict(zip(known, range(5), strict=True))
    scores = normalise_coverage(known, reference, "ignore")
    systems = order_systems(scores, queries, policy)
    board = Leaderboard("n-EXAM", "exam", policy, systems, scores, queries, reference_coverage=reference)
    official = Leaderboard("P@1", "NIST", policy, [System(run, n, None, 0, 5 - n) for run, n in fixed.items()], {})
    means = defined_quotients(drawn_counts(8) @ covers.T, drawn_counts(8) @ (answered * gold).T)
    taus = rank_correlations("kendall", means, np.broadcast_to(np.arange(5.0), means.shape))
    assert kendall_interval(compare_boards(board, official)) == pytest.approx(central_percentiles(taus))


def test_cutoff_applies_to_run_but_not_to_gold_text(own: Project) -> None:
    add_gold(own, {"a": 4, "b": 4})
    words = "A sentence of the gold text that has eleven words here. " * 40
    import_gold(own, {"query_id": "a", "text": words}, {"query_id": "b", "text": "Short."})
    assert own.value("SELECT count(*) FROM gold_passages") == 5
    last = own.value("SELECT passage_id FROM gold_passages JOIN passages USING (passage_key) WHERE position = 4")
    grade(own, ratings(last, "a", 4))
    assert leaderboard(own, "n-EXAM@1").measure == "n-EXAM@1"
    assert rows_of(own, "n-EXAM@1") == pytest.approx({"good": 1.25, "poor": 0.5})


def test_gold_measures_are_refused_without_usable_gold_or_from_judgments(own: Project) -> None:
    for measure in ("n-EXAM", "ROUGE-1"):
        with refusal("no-gold-texts"):
            leaderboard(own, measure)
    import_gold(own, {"query_id": "a", "text": "Gold."})
    with refusal("gold-not-graded", "gold"):
        leaderboard(own, "n-EXAM")
    grade(own, ratings("gold/a/1", "a", 0))
    with refusal("gold-answers-nothing", "gold", "4"):
        leaderboard(own, "n-EXAM")
    judge(own, {("a", "a1"): 1})
    for measure in ("ROUGE-1", "chrF", "n-EXAM", "EXAM-Cover@20/pool"):
        with refusal("measure-not-from-judgments"):
            leaderboard(own, measure, "judgments")
    assert compare(own, "EXAM-Cover@20/pool", "judgments").official.measure == "nDCG@10"


# Normalisation by the pool


def test_coverage_is_normalised_by_pool_and_has_lengths(own: Project) -> None:
    board = leaderboard(own, "EXAM-Cover@1/pool")
    # The pool of a answers 3 of 4 questions, that of b 2 of 4.
    assert board.scores == pytest.approx({"good": 1.0, "poor": 0.5 / 1.25})
    assert (board.measure, board.reference and board.reference.run) == ("EXAM-Cover@1/pool", "pool")
    board = leaderboard(own, "EXAM-Cover@20")
    # Every passage is "text of ID", three words.
    assert {run: (n.words, n.passages) for run, n in board.lengths.items()} == {"good": (4.5, 1.5), "poor": (3.0, 1.0)}
    assert leaderboard(own, "EXAM-Cover@1").lengths["good"].words == 3.0
    system = board.as_dict()["systems"][0]
    assert (system["run"], system["words"], system["passages"]) == ("good", 4.5, 1.5)


@pytest.mark.parametrize(
    ("name", "standard"),
    [
        ("n-EXAM", "n-EXAM@20"),
        ("n-exam@5", "n-EXAM@5"),
        ("EXAM-Cover@5/gold", "n-EXAM@5"),
        ("EXAM-Cover/pool", "EXAM-Cover@20/pool"),
        ("Cover@3/pool", "EXAM-Cover@3/pool"),
        ("cover", "EXAM-Cover@20"),
        ("rouge-1@7", "ROUGE-1@7"),
    ],
)
def test_measure_names_are_standardised(name: str, standard: str) -> None:
    assert str(parse_measure(name)) == standard


# Gold texts


def test_gold_texts_are_pooled_and_replaced_but_not_systems(own: Project) -> None:
    with refusal("duplicate-gold-text", "gold.jsonl:2", kind=FileError):
        import_gold(own, {"query_id": "a", "run": "x", "text": "One."}, {"query_id": "a", "run": "y", "text": "Two."})
    assert gold_name(own) is None
    done = import_gold(own, {"query_id": "a", "text": "Gold of a."}, {"query_id": "b", "text": "Gold of b."})
    assert done.counts == {"gold texts": 2, "passages of gold texts": 2}
    assert list(ranking_scores(own)) == ["good", "poor"]
    assert gold_texts(own) == {"a": "Gold of a.", "b": "Gold of b."}
    assert own.value("SELECT count(*) FROM pool JOIN passages USING (passage_key) WHERE passage_id LIKE 'gold/%'") == 2
    import_gold(own, {"query_id": "a", "text": "New."})
    assert gold_texts(own) == {"a": "New."}


def test_run_marked_as_gold_stays_a_system(own: Project) -> None:
    import_gold(own, {"query_id": "a", "text": "Gold."})
    mark_gold(own, "good", "tester")
    assert gold_name(own) == "good" and list(gold_texts(own)) == ["a", "b"]
    board = leaderboard(own, "n-EXAM@20")
    assert board.scores == pytest.approx({"good": 1.0, "poor": 0.4}) and board.starred == {"good"}
    mark_gold(own, None, "tester")
    assert gold_name(own) is None
    assert own.value("SELECT count(*) FROM pool") == 3
    with refusal("unknown-run", "bad"):
        mark_gold(own, "bad", "tester")


# ROUGE-1


@pytest.mark.parametrize(
    ("text", "gold", "expected"),
    [
        # Lemmas: cat, sit, mat on both sides.
        ("The cat sat on the mat.", "A cat sits on mats!", 1.0),
        # rise twice, water, tide against water, rise three times: 3 of 4 and 3 of 4 words.
        ("Rising water, rising tides", "water rises and rises and rises", 3 / 4),
        # All four words of the gold text, among seven.
        ("Photosynthesis turns light into sugar; plants need light.", "Light is what plants turn into sugar.", 8 / 11),
        ("nothing in common", "at all", 0.0),
        ("", "words", 0.0),
    ],
)
def test_rouge_1_counts_common_lemmas(text: str, gold: str, expected: float) -> None:
    assert alike("ROUGE-1", text, gold) == pytest.approx(expected)


def test_chrf_counts_common_character_n_grams() -> None:
    assert alike("chrF", "Light is sugar.", "Light is sugar.") == pytest.approx(1.0)
    # The text has 3 of a, b, c, d; 2 of ab, bc, cd; 1 of abc, bcd; and no longer n-grams.
    recall = (3 / 4 + 2 / 3 + 1 / 2) / 3
    assert alike("chrF", "abc", "abcd") == pytest.approx(5 * 1 * recall / (4 * 1 + recall))
    assert alike("chrF", "", "abcd") == alike("chrF", "xyz", "") == 0.0


def test_rouge_joins_top_passages_of_run_into_one_text(own: Project) -> None:
    import_gold(own, {"query_id": "a", "text": "Text of a1."}, {"query_id": "b", "text": "Something else."})
    board = leaderboard(own, "ROUGE-1")
    # good on a is "text a2 text a1" against "text a1": 2 of 4 and 2 of 2 words; on b it shares none.
    assert board.per_query["good"] == pytest.approx({"a": 2 * 2 / (4 + 2), "b": 0.0})
    assert board.scores == pytest.approx({"good": 1 / 3, "poor": 1 / 2})
    assert (board.measure, board.source) == ("ROUGE-1@20", "gold")
    assert rows_of(own, "ROUGE-1@1")["good"] == pytest.approx(1 / 4)
    by_character = leaderboard(own, "chrF@1")
    assert (by_character.measure, by_character.source) == ("chrF@1", "gold")
    assert by_character.per_query["good"]["a"] == pytest.approx(alike("chrF", "text of a2", "Text of a1."))


# Commands


def test_commands_mark_gold_and_print_stars_and_lengths(own: Project, tmp_path: Path) -> None:
    run = partial(exam_on, own)
    assert run("gold", "--json") == {"gold": None, "queries": []}
    assert run("gold", "good", "--json") == {
        "gold": "good",
        "queries": [{"query": "a", "words": 6}, {"query": "b", "words": 3}],
    }
    printed = run("leaderboard", "--measure", "n-EXAM@20", "--json")
    assert [(s["run"], s["starred"], s["words"], s["passages"]) for s in printed["systems"]] == [
        ("good", True, 4.5, 1.5),
        ("poor", False, 3.0, 1.0),
    ]
    assert printed["reference"]["run"] == "good"
    assert "good *" in run("leaderboard", "--measure", "n-EXAM@20")
    assert run("gold", "--none", "--json")["gold"] is None

    (tmp_path / "gold.jsonl").write_text('{"query_id": "a", "text": "Gold."}\n')
    assert "gold texts: 1" in run("import", "responses", str(tmp_path / "gold.jsonl"), "--gold")
    reopened = open_project(own.path)
    assert gold_name(reopened) == "gold"
