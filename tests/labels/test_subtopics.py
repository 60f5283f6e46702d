"""Leaderboards by subtopic, checked by hand and against sums in plain Python."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest

from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.grading import make_plan
from exam_workbench.labels import Policy, basis, leaderboard, leaderboard_per
from exam_workbench.labels._leaderboard_variants import coverage_by_topic, mean_over_subtopics, topic_labels
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import SPEC, fill, grade, judge, read_project
from tests.made.refusals import refusal

BANK = [
    Question("q1/a", "q1", "A?", subtopic_id="s1"),
    Question("q1/b", "q1", "B?", subtopic_id="s1"),
    Question("q1/c", "q1", "C?", subtopic_id="s2"),
    Question("q2/d", "q2", "D?"),
]
RATINGS = {("A?", "p1"): 5, ("B?", "p1"): 0, ("C?", "p1"): 2, ("A?", "p2"): 1, ("C?", "p2"): 4, ("D?", "p3"): 5}
RUNS = {"x": {"q1": ["p1"], "q2": ["p3"]}, "y": {"q1": ["p2"]}}


filled = read_project(lambda project: fill(project, BANK, RATINGS, RUNS))


def scores_of(board) -> dict[str, float]:
    return {system.run: system.score for system in board.systems}


def test_coverage_is_averaged_per_subtopic_or_topic(filled: Project) -> None:
    board = leaderboard_per(filled, "EXAM-Cover@5", with_ungraded=True, per="subtopic")
    assert board.per_query["x"] == {"q1": pytest.approx((1 / 2 + 0) / 2), "q2": 1.0}
    assert board.per_query["y"] == {"q1": pytest.approx((0 + 1) / 2)}
    assert scores_of(board) == {"x": pytest.approx(0.625), "y": pytest.approx(0.25)}
    assert board.query_ids == ["q1", "q2"]
    # The mean over topics weighs all topics equally.
    board = leaderboard_per(filled, "EXAM-Cover@5", with_ungraded=True, per="topic")
    assert board.query_ids == ["q1/s1", "q1/s2", "q2"]
    assert scores_of(board) == {"x": pytest.approx((0.5 + 0 + 1) / 3), "y": pytest.approx(1 / 3)}
    assert {system.run: system.queries for system in board.systems} == {"x": 3, "y": 3}
    # Skipped topics can be ignored.
    board = leaderboard_per(filled, "EXAM-Cover@5", with_ungraded=True, per="topic", policy=Policy(skipped="ignore"))
    assert scores_of(board) == {"x": pytest.approx(0.5), "y": pytest.approx(0.5)}
    assert mean_over_subtopics({"q/1": 1.0}, {"q/1": "q", "q/2": "q"}, "zero") == {"q": 0.5}
    assert mean_over_subtopics({"q/1": 1.0}, {"q/1": "q", "q/2": "q"}, "ignore") == {"q": 1.0}
    with refusal("unknown-mean", "facet"):
        leaderboard_per(filled, "AP", per="facet")  # type: ignore[arg-type]


def test_union_leaves_out_queries_with_a_topic_that_waits_for_grades(project: Project) -> None:
    asked = [Question(f"{query}/{part}", query, f"{query}{part}?", subtopic_id=part) for query in "ab" for part in "st"]
    runs = {run: {f"{query}/{part}": [f"{run}{query}"] for query in "ab" for part in "st"} for run in "xy"}
    fill(project, asked, {(f"a{part}?", f"{run}a"): 5 * (run == "x") for part in "st" for run in "xy"}, runs)
    board = leaderboard_per(project, "EXAM-Cover@2", per="union")
    assert (board.query_ids, board.ungraded, scores_of(board)) == (["a"], {"b": 4}, {"x": 1, "y": 0})
    by_query, by_topic = (leaderboard_per(project, "EXAM-Cover@2", per=per) for per in ("subtopic", "topic"))
    assert (by_query.query_ids, by_query.ungraded) == (["a"], {"b": 4})
    assert (by_topic.query_ids, by_topic.ungraded) == (["a/s", "a/t"], {"b/s": 2, "b/t": 2})
    every = leaderboard_per(project, "EXAM-Cover@2", per="union", with_ungraded=True)
    assert (every.query_ids, scores_of(every)) == (["a", "b"], {"x": 0.5, "y": 0})


def test_topics_wait_for_grades_of_their_query(project: Project) -> None:
    fill(project, BANK, {("D?", "p3"): 5}, RUNS)
    for measure in ("EXAM-Cover@5", "P@1"):
        board = leaderboard_per(project, measure, per="topic")
        assert (board.query_ids, board.ungraded) == (["q2"], {"q1/s1": 6, "q1/s2": 6})


def test_subtopic_labels_come_from_its_questions_only(filled: Project) -> None:
    assert topic_labels(filled, basis(filled, Policy())) == {
        "q1/s1": {"p1": 5, "p2": 1},
        "q1/s2": {"p1": 2, "p2": 4},
        "q2": {"p3": 5},
    }
    found = leaderboard_per(filled, "P@1", per="topic").per_query
    assert found == {"x": {"q1/s1": 1.0, "q1/s2": 0.0, "q2": 1.0}, "y": {"q1/s1": 0.0, "q1/s2": 1.0}}
    assert leaderboard_per(filled, "alpha_nDCG@5", per="topic").per_query["y"] == {"q1/s1": 0.0, "q1/s2": 1.0}


def test_topics_in_runs_and_qrels_use_subtopic_questions(project: Project) -> None:
    """Import turns `q1/s1` into a query, and plans, labels and leaderboards treat it as one."""
    fill(project, BANK, {}, {})
    run = b"q1/s1 Q0 p1 1 2 sections\nq1/s2 Q0 p1 1 2 sections\nq1/s2 Q0 p2 2 1 sections\n"
    for kind, name, data in (
        ("passages", "passages.tsv", b"p1\ttext of p1\np2\ttext of p2\np3\ttext of p3\n"),
        ("runs", "sections.run", run),
        ("qrels", "sections.qrels", b"q1/s1 0 p1 1\nq1/s2 0 p1 0\nq1/s2 0 p2 1\n"),
    ):
        import_files(project, kind, [Source(name, data=data)], "ann")
    assert make_plan(project, SPEC, 1).needed == 2 * 1 + 1 * 2
    grade(project, {key: rating for key, rating in RATINGS.items() if key[0] != "D?"})
    assert coverage_by_topic(project, basis(project, Policy()), 5) == {"sections": {"q1/s1": 0.5, "q1/s2": 1.0}}
    # The topics of q1 replace it; q2 has a question, but no run answers it.
    plain = leaderboard(project, "EXAM-Cover@5")
    assert plain.query_ids == ["q2", "q1/s1", "q1/s2"]
    assert scores_of(plain) == {"sections": pytest.approx((0 + 0.5 + 1) / 3)}
    assert scores_of(leaderboard_per(project, "EXAM-Cover@5", per="subtopic")) == {"sections": pytest.approx(0.375)}
    official = leaderboard_per(project, "P@1", "judgments", per="subtopic")
    assert official.per_query == {"sections": {"q1": 0.5}}


def test_unknown_topic_is_refused(project: Project) -> None:
    fill(project, BANK, {}, {})
    run = Source("sections.run", data=b"q1/s1 Q0 p1 1 2 sections\nq1/s9 Q0 p1 1 2 sections\n")
    with refusal("unknown-query", "q1/s9"):
        import_files(project, "runs", [run], "ann")
    assert project.value("SELECT count(*) FROM queries WHERE query_id = 'q1/s1'") == 0


def test_subtopics_and_queries_share_judgments_and_rankings(project: Project) -> None:
    fill(project, BANK, RATINGS, RUNS)
    # Judgments of queries score the same by subtopic.
    judge(project, {("q1", "p1"): 1, ("q2", "p3"): 0})
    for per in ("query", "subtopic", "topic"):
        assert scores_of(leaderboard_per(project, "P@1", "judgments", per=per)) == {"x": 0.5, "y": 0.0}
    import_files(project, "runs", [Source("z.run", data=b"q1 Q0 p1 1 2 z\nq1/s2 Q0 p2 1 2 z\n")], "ann")
    for measure in ("EXAM-Cover@5", "P@1"):
        found = leaderboard_per(project, measure, per="topic").per_query["z"]
        assert found == {"q1/s1": 0.5 if measure != "P@1" else 1.0, "q1/s2": 1.0}


def test_car_coverage_by_subtopic_matches_plain_sums(project: Project, shared_data: Path) -> None:
    """8,551 questions, generated runs and grades, against sums in plain Python."""
    import_files(project, "bank", [Source.from_path(shared_data / "car-y3" / "car-questions.jsonl.gz")], "ann")
    rows = project.rows(
        "SELECT query_id, subtopic_id, question_key, t.text FROM question_revisions JOIN questions USING (question_key)"
        " JOIN queries USING (query_key) JOIN question_texts t USING (text_key) ORDER BY question_key"
    )
    dice = random.Random(3)
    queries = sorted({query for query, *_ in rows})
    names = ("good", "bad", "partial")
    runs = {run: {query: [f"{query}:{dice.randrange(12)}:{i}" for i in range(3)] for query in queries} for run in names}
    for query in queries[:20]:
        del runs["partial"][query]
    fill(project, [], {}, runs)
    best: dict[tuple[str, str, str], dict[int, int]] = defaultdict(dict)
    ratings = {}
    for query, _, _, text in rows:
        for run in names:
            for passage in runs[run].get(query, []):
                ratings.setdefault((text, passage), dice.randrange(6))
    for query, subtopic, question, text in rows:
        for run in names:
            top = [ratings[text, p] for p in runs[run].get(query, [])[:2]]
            if top:
                best[run, query, subtopic][question] = max(top)
    grade(project, ratings)
    expected = {
        run: {
            f"{query}/{subtopic}": sum(rating >= 4 for rating in found.values()) / len(found)
            for (name, query, subtopic), found in best.items()
            if name == run
        }
        for run in names
    }
    board = leaderboard_per(project, "EXAM-Cover@2", per="topic")
    assert len(board.query_ids) == len(expected["good"]) == len({(q, s) for q, s, *_ in rows})
    for run in names:
        assert board.per_query[run] == pytest.approx(expected[run])
    by_subtopic = leaderboard_per(project, "EXAM-Cover@2", per="subtopic")
    assert len(by_subtopic.query_ids) == len(queries)
    for run, score in scores_of(by_subtopic).items():
        of_query = [
            [value for topic, value in expected[run].items() if topic.startswith(f"{query}/")] for query in queries
        ]
        assert score == pytest.approx(sum(sum(v) / len(v) for v in of_query if v) / len(queries))
