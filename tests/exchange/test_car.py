"""TREC CAR as in the papers: sections as queries, TQA questions, graded files by facet, coverage of unions."""

from __future__ import annotations

import pytest

from exam_workbench import bank
from exam_workbench.bank import find_grader
from exam_workbench.errors import Report
from exam_workbench.exchange import Options, graded_file, import_files
from exam_workbench.formats import Source, detect_kind
from exam_workbench.formats._source import Refused
from exam_workbench.formats.query_files import outline_of, read_queries
from exam_workbench.formats.question_bank_files import read_tqa
from exam_workbench.grading import make_plan
from exam_workbench.grading._needed_pairs import pairs_to_grade, with_texts
from exam_workbench.labels import Policy, add_override, basis, label_qrels, leaderboard, leaderboard_per
from exam_workbench.records import ranking_scores, source_judgments
from exam_workbench.review import ratings_effect, read_passage
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Query, Question, Ranked, Subtopic
from tests.labels.test_subtopics import BANK, RATINGS, RUNS
from tests.made import car
from tests.made.projects import SPEC, fill, filled_project, rankings
from tests.made.refusals import check_problem, coded, mentions, refusal

T1, T2, T3 = "tqa2:L_1/T_1", "tqa2:L_1/T_2", "tqa2:L_2/T_3"
JUDGE = GraderSpec("judge", "direct", "none", max_rating=1)


collection = filled_project(car.fill)


def labels(project: Project, grader: str | None = None) -> dict[str, dict[str, int]]:
    return label_qrels(project, basis(project, Policy(grader=grader)))


# Reading the public sources


@pytest.mark.parametrize(
    "page",
    [
        {"squid": "q", "title": "Page", "query_facets": [{"heading": "A", "heading_id": "q/a"}]},
        {"page_id": "q", "page_name": "Page", "skeleton": [{"para": "text"}, {"heading": "A", "headingId": "a"}]},
    ],
)
def test_outlines_of_other_tools_are_read(page: dict[str, object]) -> None:
    assert read_queries(car.jsonl("o.jsonl", [page]), Report()) == [Query("q", "Page", None, (Subtopic("a", "A"),))]


def test_outlines_become_queries_with_nested_subtopics(project: Project) -> None:
    inner = {"heading": "Hail", "headingId": "hail"}
    page = {
        "page_id": "q",
        "page_name": "P",
        "headings": [{"heading": "Rain", "headingId": "rain", "headings": [inner]}],
    }
    assert outline_of(page).subtopics == (Subtopic("rain", "Rain"), Subtopic("rain/hail", "Rain / Hail"))
    found = car.source("outlines.json", car.OUTLINES)
    assert detect_kind(found) == detect_kind(car.jsonl("outlines.jsonl", car.OUTLINES)) == "queries"
    assert import_files(project, "queries", [found], "ann").counts == {"queries": 2, "new queries": 2}
    rows = project.rows(
        "SELECT query_id, q.text, subtopic_id, s.text FROM subtopics s JOIN queries q USING (query_key)"
    )
    assert rows == [
        ("tqa2:L_1", "The water cycle", "T_1", "Evaporation"),
        ("tqa2:L_1", "The water cycle", "T_2", "Rain"),
        ("tqa2:L_2", "Volcanoes", "T_3", "Lava"),
    ]


INNER = [{"headingId": "i" * 300, "heading": "B"}]


@pytest.mark.parametrize(
    ("section", "fault"),
    [({"headingId": "o" * 300, "headings": INNER}, "is longer than"), ({"headingId": "q/"}, "is empty")],
)
def test_invalid_section_ids_are_refused(section: dict[str, object], fault: str) -> None:
    with pytest.raises(Refused, match=fault):
        outline_of({"page_id": "q", "page_name": "Q", "headings": [{**section, "heading": "A"}]})


def test_tqa_lessons_become_questions_with_answer_keys() -> None:
    found = car.source("tqa.json", car.LESSONS)
    assert detect_kind(found) == "bank"
    report = Report()
    (_, query, questions), (_, _, sailing) = read_tqa(found, report, 1, [(found.data or b"").decode()])
    assert query == Query("L_1", "The water cycle")
    assert questions == [
        Question(
            "NDQ_1", "L_1", "What drives the water cycle?", "choice", answer_key="the sun",
            choices=("the sun", "the moon"),
        ),
        Question("NDQ_2", "L_1", "Clouds are made of drops.", "choice", answer_key="true", choices=("true", "false")),
    ]  # fmt: skip
    assert sailing == [Question("NDQ_9", "L_9", "What is a jib?", answer_key="a sail")]
    assert [coded(note) for note in report.notes] == ["tqa.json:1 no-usable-items"]


def test_broken_lessons_are_refused_and_outlines_name_sections(project: Project) -> None:
    lessons = [
        {"globalID": "L_1", "lessonName": "A", "questions": {"nonDiagramQuestions": {"NDQ_1": {"beingAsked": 3}}}}
    ]
    with refusal("not-a-text", "L_1", "NDQ_1"):
        import_files(project, "bank", [car.source("tqa.json", lessons)], "ann")
    lessons[0]["globalID"] = "L\u00a01"
    with refusal("invalid-id", "1"):
        import_files(project, "bank", [car.source("tqa.json", lessons)], "ann")
    with refusal("not-a-list"):
        import_files(project, "bank", [car.source("tqa.json", [{"x": 1}])], "ann")
    import_files(project, "graded", [car.graded()], "ann")
    assert _texts(project)[T1] == "tqa2:L_1 / T_1"
    import_files(project, "queries", [car.source("outlines.json", car.OUTLINES)], "ann")
    assert _texts(project)[T1] == "The water cycle / Evaporation"


def test_bank_questions_match_car_queries_and_subtopics(collection: Project) -> None:
    asked = {q.question_id: q.query_id for q in bank.list_questions(collection)}
    assert asked["NDQ_1"] == "tqa2:L_1"
    assert "NDQ_9" not in asked, "the project has no query for its lesson, and the import skips unknown queries"
    assert detect_kind(car.jsonl("car.jsonl", car.BANK)) == "bank"
    texts = {q.question_id: (q.text, q.subtopic_id) for q in bank.list_questions(collection)}
    assert texts[f"{T1}/how"] == ("How does water rise?", "T_1")


# Questions, sections and graders


def test_page_questions_apply_to_sections_and_direct_grading_uses_titles(
    collection: Project,
) -> None:
    per_section = {T1: 3, T2: 3}
    found = {
        query: count
        for query, count in collection.rows(
            "SELECT query_id, count(*) FROM pool JOIN queries USING (query_key) GROUP BY query_id ORDER BY query_id"
        )
    }
    assert found == {T1: 3, T2: 3}, "all passages belong to sections; the page itself has none"
    # The two TQA questions apply to both sections, each section question to one; the passages are shared.
    assert make_plan(collection, SPEC, bank.latest_version(collection)).needed == 3 * 2 + 3 + 3
    for topic in per_section:
        desk = read_passage(collection, Policy(), topic, "p1")
        assert {one.question.question_id for one in desk.asked} >= {"NDQ_1", "NDQ_2"}
        assert len(desk.asked) == 3
    rated = find_grader(collection, None).spec.name
    assert labels(collection, rated) == {T1: {"p1": 5, "p2": 1, "p3": 5}, T2: {"p1": 5, "p2": 5, "p3": 4}}
    version = bank.latest_version(collection)
    assert make_plan(collection, JUDGE, version).needed == 3, "one title and three passages, for all sections together"
    (pairs,) = pairs_to_grade(collection, JUDGE, version)
    assert [asked.text for asked in with_texts(collection, JUDGE, pairs).questions.values()] == ["The water cycle"]
    judged = next(name for (name,) in collection.rows("SELECT name FROM graders WHERE method = 'direct'"))
    assert labels(collection, judged) == {T1: {"p1": 1, "p2": 0, "p3": 1}, T2: {"p1": 1, "p2": 0, "p3": 1}}


@pytest.mark.parametrize("measure", ["AP", "EXAM-Cover@2", "alpha_nDCG@10"])
def test_override_preview_matches_its_effect(collection: Project, measure: str) -> None:
    for question in ("NDQ_2", f"{T1}/how"):
        foretold = ratings_effect(collection, measure, Policy(), "p2", {question: (0, 5)})
        assert foretold.before.scores == leaderboard(collection, measure).scores
        add_override(collection, question, "p2", 5, "it does", "ann")
        assert foretold.after.scores == leaderboard(collection, measure).scores


def _texts(project: Project) -> dict[str, str]:
    return dict(project.rows("SELECT query_id, text FROM queries"))


# Graded files by facet


def test_measures_use_facets_and_ranks_of_graded_file(collection: Project) -> None:
    assert rankings(collection) == {
        run: [Ranked(topic, *row) for topic, ranking in by_topic.items() for row in ranking]
        for run, by_topic in car.RANKED.items()
    }
    assert source_judgments(collection, "judgments") == {
        T1: {"p1": 1, "p2": 0, "p3": 0},
        T2: {"p1": 1, "p2": 0, "p3": 0},
    }
    # In run one, p2 has rank 3 and rank 2 is unknown; in run two, it is first despite tied scores.
    assert leaderboard(collection, "RR", "judgments", Policy()).per_query == {
        "one": {T1: 1.0, T2: 0.0},
        "two": {T1: 0.5, T2: 0.0},
    }
    found = ranking_scores(collection)["one"][T1]
    assert (found["p1"], found["p2"], len(found)) == (-1.0, -3.0, 3)
    cover = leaderboard(collection, "EXAM-Cover@2").per_query
    assert cover["one"][T1] == pytest.approx(2 / 3), "p2, at rank 3, is not among the top two"


def test_graded_file_round_trips(collection: Project, fresh: Project) -> None:
    whole = graded_file(collection)
    import_files(fresh, "graded", [Source("g.jsonl.gz", data=whole)], "ann")
    for per in ("query", "subtopic", "topic", "union"):
        board = leaderboard_per(collection, "EXAM-Cover@2", per=per)
        assert leaderboard_per(fresh, "EXAM-Cover@2", per=per).per_query == board.per_query
    for measure in ("AP", "nDCG@10", "RR"):
        for source in ("exam", "judgments"):
            again = leaderboard(fresh, measure, source)
            assert again.per_query == leaderboard(collection, measure, source).per_query
    assert graded_file(fresh) == whole


def test_repeated_passage_keeps_its_better_rank(project: Project) -> None:
    entry = {"method": "r", "paragraphId": "p", "queryId": "q", "rank": 7, "score": 1.0}
    data = {"judgments": [], "rankings": [entry, entry | {"rank": 2}, entry | {"queryId": "other", "rank": 4}]}
    line = ["q", [{"paragraph_id": "p", "text": "t", "paragraph_data": data}]]
    done = import_files(project, "graded", [car.jsonl("g.jsonl", [line])], "ann")
    assert project.rows("SELECT rank FROM rankings") == [(2,)]
    assert [note.code for note in done.notes] == ["repeated-passage", "foreign-facet"]


@pytest.mark.parametrize(("stated", "kept"), [([0, 1, 5], [1, 2, 6]), ([2, 2, 9], [1, 2, 3])])
def test_invalid_ranks_are_renumbered(project: Project, stated: list[int], kept: list[int]) -> None:
    """Ranks from 0 are shifted by one; ranks with duplicates are renumbered in order."""
    passages = [
        {
            "paragraph_id": f"p{at}",
            "text": "t",
            "paragraph_data": {"rankings": [{"method": "r", "queryId": "q", "rank": rank, "score": -at}]},
        }
        for at, rank in enumerate(stated)
    ]
    import_files(project, "graded", [car.jsonl("g.jsonl", [["q", passages]])], "ann")
    assert project.rows("SELECT rank FROM rankings JOIN passages USING (passage_key) ORDER BY passage_id") == [
        (rank,) for rank in kept
    ]


# Coverage of the union of a page's sections


def test_only_coverage_is_computed_on_union_of_sections(collection: Project) -> None:
    """Equation 1: any of the top k of any section may answer any question of the page."""
    board = leaderboard_per(collection, "EXAM-Cover@1", per="union")
    assert board.query_ids == ["tqa2:L_1"]
    # In run one, p1 and p3 answer three of four questions; in run two, p2 answers one.
    assert board.per_query == {"one": {"tqa2:L_1": 0.75}, "two": {"tqa2:L_1": 0.25}}
    assert (board.needed, board.usable) == (12, 12)
    deeper = leaderboard_per(collection, "EXAM-Cover@2", per="union", policy=Policy(min_rating=5))
    assert deeper.per_query == {"one": {"tqa2:L_1": 0.5}, "two": {"tqa2:L_1": 0.75}}
    with refusal("measure-needs-order", "AP"):
        leaderboard_per(collection, "AP", per="union")


def test_union_of_query_without_sections_is_the_query(project: Project) -> None:
    fill(project, BANK, RATINGS, RUNS)
    whole = leaderboard(project, "EXAM-Cover@5")
    union = leaderboard_per(project, "EXAM-Cover@5", per="union")
    assert (union.per_query, union.query_ids) == (whole.per_query, whole.query_ids)


# Import notes and names


def test_whole_runs_replace_runs_from_graded_file(collection: Project) -> None:
    runs = [Source(f"{name}.run", data=f"{T1} Q0 p3 1 2.0 {name}\n".encode()) for name in ("one", "two")]
    done = import_files(collection, "runs", runs, "ann", Options(replace=True))
    (note,) = done.notes
    check_problem(note, "one.run runs-replaced", "one", "two")
    assert ranking_scores(collection) == {name: {T1: {"p3": 2.0}} for name in ("one", "two")}
    again = import_files(collection, "graded", [car.graded()], "ann")
    (kept,) = (note for note in again.notes if note.code == "run-kept" and mentions(note.reason, "one.run"))
    assert mentions(kept.reason, "one.run")
