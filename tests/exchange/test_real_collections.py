"""Real collections: scores of reference programs, and responses of TREC RAG 2024 and iKAT 2024."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from exam_workbench.errors import Report
from exam_workbench.exchange import Group, exporting, import_groups
from exam_workbench.formats import BankFile, Source, detect_kind, read_bank
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.records import count_words, response_runs
from exam_workbench.records._responses import PASSAGE_WORDS
from exam_workbench.store import Project, open_project
from exam_workbench.types import Query, Question
from tests.made import collections
from tests.made.projects import citations
from tests.made.refusals import check_problem, coded
from tests.made.shell import exam_on

SELF_RATED = "flan-t5-large · QuestionSelfRatedUnanswerablePromptWithChoices"


@pytest.fixture(scope="module")
def dl23(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    yield from collections.dl23(shared_data, tmp_path_factory)


def test_graded_file_is_complete_and_labels_match_rubric(dl23: Project, shared_data: Path) -> None:
    assert dl23.value("SELECT count(*) FROM pool") == 7263
    assert dl23.value("SELECT count(*) FROM runs") == 16
    assert dl23.value("SELECT count(*) FROM queries") == 25
    assert dl23.value("SELECT count(*) FROM judgments") == 7263
    assert dl23.value("SELECT count(*) FROM rankings") == 37_250
    # Texts with several passage ids are graded once; this query counts them per passage.
    per_passage = dl23.rows(
        "SELECT method, count(*) FROM (SELECT query_key, text_key AS asked FROM questions JOIN question_texts"
        " ON placeholder = question_id UNION ALL SELECT query_key, t.text_key FROM queries JOIN question_texts t"
        " USING (text)) JOIN pool USING (query_key)"
        " JOIN grades ON (question_text_key, passage_text_key) = (asked, pool.text_key)"
        " JOIN graders USING (grader_key) GROUP BY name, method ORDER BY ALL"
    )
    assert per_passage == [
        ("answer", 71_785), ("answer", 72_630), ("direct", 7_263), ("self-rating", 71_785), ("self-rating", 72_630),
    ]  # fmt: skip
    with_answers = "SELECT count(*) FROM grades WHERE answer IS NOT NULL"
    assert dl23.value(with_answers) >= 250_000
    from exam_workbench import bank

    found = bank.list_questions(dl23, query_id="q18")
    assert len(found) == 20
    assert all(question.text is None and question.question_id.startswith("q18/") for question in found)
    reference = (shared_data / "dl23-llmjudge/reference/eval-rated.qrels").read_text()
    assert exporting.qrels_text(dl23, Policy(grader=SELF_RATED)) == reference


@pytest.mark.parametrize("tau", [1, 2, 3, 4, 5])
def test_coverage_and_standard_error_match_rubric(dl23: Project, shared_data: Path, tau: int) -> None:
    policy = Policy(grader=SELF_RATED, min_rating=tau, skipped="ignore")
    found = {s.run: s for s in leaderboard(dl23, "EXAM-Cover@20", policy=policy).systems}
    with (shared_data / f"dl23-llmjudge/reference/eval-cover-min{tau}.tsv").open() as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["method"] != "_overall_"]
    assert {row["method"] for row in rows} == set(found)
    for row in rows:
        system = found[row["method"]]
        assert f"{system.score:.3f} {system.std_error:.3f}" == f"{row['ExamCover']} {row['std-err']}"


def test_official_ndcg_matches_trec_eval_and_skipped_queries_lower_scores(dl23: Project, shared_data: Path) -> None:
    policies = [Policy(grader=SELF_RATED, skipped=skipped) for skipped in ("zero", "ignore")]
    zero, ignored = (leaderboard(dl23, "EXAM-Cover@20", policy=policy).scores for policy in policies)
    assert zero["random2_miss5"] < ignored["random2_miss5"]
    assert zero["bm25l"] == ignored["bm25l"]
    expected = json.loads((shared_data / "dl23-llmjudge/reference/scores-ndcg10.json").read_text())
    found = leaderboard(dl23, "nDCG@10", "judgments").scores
    assert {run: round(score, 4) for run, score in found.items()} == expected


QUESTIONS = Path(__file__).parents[2] / "docs" / "rag" / "questions.jsonl"


# Maps of nuggets


def nuggets(text: str) -> tuple[BankFile, Report]:
    report = Report()
    return read_bank(Source("nuggets.json", data=text.encode()), report), report


def test_nugget_map_becomes_bank_weighted_by_relevance() -> None:
    entries = {"q1": {"[1]": {"text": " A fact. ", "relevance": "2"}, "[7]": {"text": "Another."}}, "q2": {}}
    for text in (
        json.dumps(entries),
        json.dumps(entries, indent=4).replace("\n", "\r\n"),
        json.dumps(entries, indent=1),
    ):
        bank, report = nuggets(text)
        assert bank.questions == [
            Question("q1/[1]", "q1", "A fact.", "nugget", 2.0),
            Question("q1/[7]", "q1", "Another.", "nugget", 1.0),
        ]
        assert bank.queries == [Query("q1", ""), Query("q2", "")]
        assert not report.problems
        (note,) = report.notes
        check_problem(note, "nuggets.json queries-without-nuggets", "1")
    _, report = nuggets('{\n  "q": {\n    "a": {"text": "t",}\n  }\n}')
    (problem,) = report.problems
    assert coded(problem) == "nuggets.json:3 invalid-json"
    _, report = nuggets('{"q": ' * 1010 + "1" + "}" * 1010)
    (problem,) = report.problems
    check_problem(problem, "nuggets.json:1 limit-exceeded", "64", "EXAM_LIMIT_DEPTH")


@pytest.mark.parametrize(
    ("nugget", "said"),
    [
        ('{"relevance": 1}', ("value-missing",)),
        ('{"text": " "}', ("empty-value",)),
        ('"t"', ("not-an-object",)),
        ('{"text": "t", "relevance": "high"}', ("weight-out-of-range", "high", "1,000,000")),
        ('{"text": "t", "relevance": "inf"}', ("weight-out-of-range", "inf", "1,000,000")),
        ('{"text": "t", "relevance": -1.5}', ("weight-out-of-range", "-1.5", "1,000,000")),
        ('{"text": "t", "relevance": true}', ("weight-out-of-range", "True", "1,000,000")),
        ('{"text": "t"}, "a": {"text": "u"}', ("duplicate-nugget",)),
    ],
)
def test_invalid_nugget_is_reported_with_query_and_id(nugget: str, said: tuple[str, ...]) -> None:
    _, report = nuggets(f'{{"q": {{"a": {nugget}}}}}')
    (problem,) = report.problems
    code, *values = said
    check_problem(problem, f"nuggets.json {code}", "q", "a", *values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"q": {"a": {"text": "t"}}, "q": {"b": {"text": "u"}}}', ("nuggets.json duplicate-query", "q")),
        ('{"q": {"a": {"text": "t"}}, "r": []}', ("nuggets.json not-an-object", "r")),
        ('{"q": {}}', ("nuggets.json nothing-found",)),
    ],
)
def test_invalid_query_in_nugget_map_is_reported(text: str, said: tuple[str, ...]) -> None:
    _, report = nuggets(text)
    (problem,) = report.problems
    check_problem(problem, *said)


def test_nuggets_add_queries_for_responses_and_texts_may_follow(project: Project) -> None:
    bank = Source("nuggets.json", data=b'{"q": {"a": {"text": "A fact.", "relevance": 3}}}')
    responses = Source("responses.json", data=b'{"q": {"one": "A fact.", "two": "Nothing."}}')
    groups = [Group(kind, [source]) for kind, source in (("responses", responses), ("bank", bank))]
    assert [done.kind for done in import_groups(project, groups, "tester", preview=True)] == ["bank", "responses"]
    assert project.value("SELECT count(*) FROM queries") == 0
    import_groups(project, groups, "tester")
    assert project.rows("SELECT query_id, text FROM queries") == [("q", "q")]
    assert [run.run for run in response_runs(project)] == ["one", "two"]
    import_groups(project, [Group("queries", [Source("q.json", data=b'{"q": "what is it"}')])], "tester")
    assert project.rows("SELECT query_id, text FROM queries") == [("q", "what is it")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"q": {"a": {"text": "t", "relevance": "1"}}}', "bank"),
        ('{\n "q": {},\n "r": {\n  "a": {\n   "relevance": 1,\n   "text": "t"}}}', "bank"),
        ('{"q": {"a": "t"}}', "responses"),
        ('{"AP": {"a": 0.5}}', "leaderboard"),
        ('{"q": "t"}', "queries"),
    ],
)
def test_json_maps_are_detected_by_content(text: str, kind: str) -> None:
    assert detect_kind(Source("m.json", data=text.encode())) == kind


# TREC RAG 2024: one system, 60 queries, questions for five of them


def passages(project: Project) -> dict[str, list[tuple[str, str]]]:
    """Return ids and texts of the only system's passages, in rank order, by query."""
    found: dict[str, list[tuple[str, str]]] = {}
    for query_id, passage_id, text in project.rows(
        "SELECT query_id, passage_id, t.text FROM rankings JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) JOIN passage_texts t ON t.text_key = passages.text_key"
        " ORDER BY query_key, rank"
    ):
        found.setdefault(query_id, []).append((passage_id, text))
    return found


def test_responses_keep_citations_and_are_graded_and_scored(project: Project, shared_data: Path) -> None:
    answers, exam = shared_data / "rag" / "rag24-answers-gpt-4o.jsonl", partial(exam_on, project)
    assert (detect_kind(Source.from_path(answers)), detect_kind(Source.from_path(QUESTIONS))) == ("responses", "bank")
    imported = exam("import", "responses", str(answers), "--json")
    assert imported["notes"] == []
    assert (imported["counts"]["runs"], imported["counts"]["responses"]) == (1, 60)
    banked = exam("import", "bank", str(QUESTIONS), "--json")
    assert banked["counts"] == {
        "questions": 50,
        "new questions": 50,
        "changed questions": 0,
        "new queries": 0,
        "bank version": 1,
    }
    assert exam("grade", "--json")["state"] == "done"
    rag = open_project(project.path)
    rows = {row["topic_id"]: row for row in map(json.loads, answers.open())}
    found = passages(rag)
    assert found.keys() == rows.keys()
    for topic, row in rows.items():
        ids, texts = zip(*found[topic], strict=True)
        assert list(ids) == [f"{row['run_id']}/{topic}/{n}" for n in range(1, len(ids) + 1)]
        assert " ".join(texts) == " ".join(s["text"].strip() for s in row["answer"] if s["text"].strip())
        cited = [cited for passage_id in ids for cited in citations(rag, passage_id)]
        assert cited == [
            tuple(row["references"][n] for n in s["citations"]) for s in row["answer"] if s["text"].strip()
        ]
    sizes = [count_words(text) for parts in found.values() for _, text in parts]
    assert len(sizes) > 120
    assert max(sizes) <= PASSAGE_WORDS + 30 and min(sizes) >= 40
    ratings: dict[str, dict[str, list[int]]] = {}
    for query_id, question_id, rating in rag.rows(
        "SELECT query_id, question_id, rating FROM questions JOIN queries USING (query_key)"
        " JOIN question_revisions r USING (question_key) JOIN pool USING (query_key)"
        " JOIN grades g ON g.question_text_key = r.text_key AND g.passage_text_key = pool.text_key"
    ):
        ratings.setdefault(query_id, {}).setdefault(question_id, []).append(rating)
    expected = {
        query_id: sum(max(of_question) >= 4 for of_question in by_question.values()) / len(by_question)
        for query_id, by_question in ratings.items()
    }
    board = leaderboard(rag, "EXAM-Cover@20")
    (scores,) = board.per_query.values()
    assert len(expected) == 5 and all(0 <= score <= 1 for score in expected.values())
    assert scores == pytest.approx(expected)
    assert board.systems[0].score == pytest.approx(sum(expected.values()) / 5)
    assert 0 < board.systems[0].score < 1
    asked = rag.rows("SELECT query_id, count(*) FROM questions JOIN queries USING (query_key) GROUP BY 1")
    rag.close()
    assert sorted(count for _, count in asked) == [10] * 5
    planned = exam("plan", "--json")
    assert planned["needed"] == planned["known"] == sum(10 * len(found[topic]) for topic, _ in asked)
    assert planned["failed"] == planned["to_grade"] == 0
    (system,) = exam("leaderboard", "--measure", "EXAM-Cover@20", "--json")["systems"]
    assert system["words"] == pytest.approx(sum(row["response_length"] for row in rows.values()) / 60)
    (run,) = exam("responses", "--json")["runs"]
    assert system["passages"] == pytest.approx(run["passages"] / 60)
    sentences = [sentence for row in rows.values() for sentence in row["answer"]]
    assert run["words"] == sum(row["response_length"] for row in rows.values())
    assert run["cited"] == sum(bool(sentence["citations"]) for sentence in sentences)
    assert run["sentences"] == sum(bool(sentence["text"].strip()) for sentence in sentences)


# iKAT 2024: 19 systems, human nuggets


def test_ikat_responses_are_ranked_by_human_nuggets(project: Project, shared_data: Path) -> None:
    exam = partial(exam_on, project)
    responses = shared_data / "rag" / "automatic_responses.json"
    gold = shared_data / "rag" / "gold_nuggets_human_deduplicated.json"
    assert (detect_kind(Source.from_path(responses)), detect_kind(Source.from_path(gold))) == ("responses", "bank")
    texts, by_query = json.loads(responses.read_text()), json.loads(gold.read_text())
    banked = exam("import", "bank", str(gold), "--json")
    assert banked["counts"]["questions"] == sum(map(len, by_query.values()))
    assert banked["counts"]["new queries"] == len(by_query)
    imported = exam("import", "responses", str(responses), "--json")
    assert (imported["counts"]["runs"], imported["counts"]["responses"]) == (19, 19 * len(texts))
    listed = exam("bank", "list", "--query", "0_2", "--json")["questions"]
    assert {q["kind"] for q in listed} == {"nugget"}
    assert [(q["text"], q["weight"]) for q in listed] == [
        (nugget["text"].strip(), float(nugget["relevance"])) for nugget in by_query["0_2"].values()
    ]
    exam("grade", "--query", "0_2")
    board = exam("leaderboard", "--measure", "EXAM-Cover@20", "--min-rating", "3", "--json")
    assert len(board["systems"]) == 19
    scores = [system["score"] for system in board["systems"]]
    assert scores == sorted(scores, reverse=True) and scores[0] > scores[-1]
    assert 0 < board["pairs"]["usable"] < board["pairs"]["needed"]
    words: dict[str, list[int]] = {}
    for by_run in texts.values():
        for run, text in by_run.items():
            words.setdefault(run, []).append(len(text.split()))
    assert {s["run"]: s["words"] for s in board["systems"]} == pytest.approx(
        {run: sum(counts) / len(counts) for run, counts in words.items()}, rel=0.001
    )
