"""Files of AutoJudge and Nuggetizer: nugget banks, topics, grades, reports and leaderboards."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import yaml

from exam_workbench import bank, exchange
from exam_workbench.choices import LEADERBOARD_FORMS
from exam_workbench.errors import FileError
from exam_workbench.exchange._integrity import check_project
from exam_workbench.formats import Source, detect_kind
from exam_workbench.labels import Policy, leaderboard, nugget_board
from exam_workbench.measures import nugget_scores
from exam_workbench.records import add_queries, imported_leaderboards, queries_of
from exam_workbench.store import Project
from exam_workbench.types import Query, Question, Subtopic
from tests.exchange.test_importing import unchanged
from tests.made.projects import fill, filled_project, made_project, unpacked
from tests.made.refusals import coded, refusal
from tests.made.shell import ShellOn, printed

TEA = {
    "query_id": "tea",
    "title_query": "why does green tea turn bitter",
    "full_query": "A beginner asks.",
    "format_version": "v3",
    "nugget_bank": {
        "At what temperature is green tea brewed?": {
            "question": "At what temperature is green tea brewed?",
            "question_id": hashlib.md5(b"At what temperature is green tea brewed?").hexdigest(),
            "query_id": "tea",
            "answers": {
                "70 °C": {"answer": "70 °C", "references": [{"doc_id": "d1"}]},
                "80 °C": {"answer": "80 °C", "references": ["d2"]},
            },
            "importance": 2,
            "quality": "high",
            "references": [{"doc_id": "d1", "text": "Not too hot."}],
            "creator": [{"is_human": True, "assessor_id": "ann"}, {"is_human": False, "llm_model": "m/1"}],
            "sub_nuggets": [{"question": "And white tea?", "query_id": "tea", "importance": "should"}],
        },
        "How long?": {"question": "How long?", "question_id": "tea-2", "importance": "failed", "answers": []},
    },
    "claim_bank": {
        "Boiling water makes it bitter": {"claim": "Boiling water makes it bitter", "importance": "must_have"},
        "Sugar helps": {"claim": "Sugar helps", "importance": "avoid"},
    },
}
RAGTIME = {
    "metadata": {"team_id": "t", "topic_id": "tea", "run_id": "r", "run_desc": "d"},
    "format_version": "RAGTIME26",
    "nugget_bank": [
        {
            "question": "At what temperature is green tea brewed?",
            "aggregator_type": "AND",
            "answers": [{"answer": "70 °C", "references": ["d1"]}, {"answer": "80 °C"}],
            "importance": "okay",
        },
        {"question": "How long?"},
    ],
}
ENTRY = {"question": "Why?"}
OWN = [
    Question("q1/a", "q1", "What is A?", weight=1.5, subtopic_id="s1", note="important\nReferences: d1 d2\nAuthor: bo"),
    Question("q1/b", "q1", "B is so", kind="nugget", answer_key="B", weight=0.25),
    Question("q1/c", "q1", "What is A?", kind="nugget", active=False, weight=2.0),
    Question("q1/again", "q1", "What is A?", answer_key="yes; no", active=False),
    Question("q2/c", "q2", "Which one?", kind="choice", weight=-0.5, answer_key="x", choices=("x", "y"), note="n"),
    Question("q2/zero", "q2", "Null?", weight=0.0),
]


def take(project: Project, kind: str, content: object, name: str = "file.jsonl", **options: Any) -> exchange.Imported:
    lines = content if isinstance(content, list) else [content]
    text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
    return exchange.import_files(project, kind, [Source(name, data=text.encode())], "ann", exchange.Options(**options))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def fill_own(project: Project) -> None:
    with project.transaction() as cursor:
        texts = [Query("q1", "first", "Why?\n\nBecause.", (Subtopic("s1", "Facet one"),)), Query("q2", "second")]
        add_queries(cursor, texts, replace=True)
    bank.save_version(project, OWN, "made", "ann")


own = filled_project(fill_own)
"""A project whose bank uses every field."""


def kept(project: Project) -> list[tuple[Any, ...]]:
    return [
        (q.text, q.kind, q.weight, q.active, q.subtopic_id, q.answer_key, q.note) for q in bank.list_questions(project)
    ]


def test_v3_bank_is_imported(project: Project):
    parent = "At what temperature is green tea brewed?"
    expected = [
        (parent, "question", 2.0, True, None, "70 °C; 80 °C", "References: d1 d2\nAuthor: ann\nModel: m/1"),
        ("And white tea?", "question", 0.5, True, parent, None, None),
        ("How long?", "question", 1.0, False, None, None, None),
        ("Boiling water makes it bitter", "nugget", 1.0, True, None, None, None),
        ("Sugar helps", "nugget", -1.0, True, None, None, None),
    ]
    done = take(project, "bank", TEA)
    assert kept(project) == expected
    assert {note.code for note in done.notes} >= {"sub-nugget", "nugget-inactive", "unknown-field"}
    (query,) = queries_of(project)
    assert query == Query("tea", TEA["title_query"], "A beginner asks.", (Subtopic(parent, parent),))
    # Hashes of the text are not used as ids, because several questions may share them.
    assert [q.question_id for q in bank.list_questions(project)][2] == "tea-2"
    assert all(q.question_id.startswith("tea") for q in bank.list_questions(project))
    # The same bank as one object over several lines, or with lists instead of maps.
    assert "bank version" not in take(project, "bank", json.dumps(TEA, indent=2)).counts
    listed = {**TEA, "nugget_bank": list(TEA["nugget_bank"].values())}
    assert "bank version" not in take(project, "bank", listed).counts


def test_ragtime_bank_is_imported(project: Project):
    done = take(project, "bank", [RAGTIME])
    assert kept(project) == [
        ("At what temperature is green tea brewed?", "question", 0.5, True, None, "70 °C; 80 °C", "References: d1"),
        ("How long?", "question", 1.0, True, None, None, None),
    ]
    assert "aggregator-ignored" in {note.code for note in done.notes}


def test_exact_values_take_precedence_over_format_values(project: Project):
    ours = {"id": "tea/x", "weight": 0.3, "kind": "choice", "choices": ["a", "b"], "active": False, "subtopic": "s"}
    entry = {"question": "Which?", "importance": 7, "answers": ["a"], "metadata": {"exam_workbench": ours}}
    take(project, "bank", {"query_id": "tea", "nugget_bank": {"Which?": entry}})
    assert bank.list_questions(project) == [
        Question("tea/x", "tea", "Which?", "choice", 0.3, False, "s", "a", ("a", "b"))
    ]


def test_formats_are_detected() -> None:
    assigned = {"query": "q", "qid": "1", "nuggets": [{"text": "t", "importance": "okay", "assignment": "support"}]}
    grade_line = {"run_id": "r", "query_id": "q", "nugget_id": "n", "question": "x", "grade": 1}
    cases = [
        (json.dumps(TEA), "bank"),
        (json.dumps(TEA, indent=2), "bank"),
        (json.dumps(RAGTIME), "bank"),
        (json.dumps(RAGTIME, indent=1), "bank"),
        (json.dumps({**RAGTIME, "nugget_bank": [ENTRY | {"answers": [{"answer": "x" * 70_000}]}]}), "bank"),
        (json.dumps(assigned), "graded"),
        (json.dumps(grade_line), "graded"),
        (json.dumps({"request_id": "1", "title": "t", "problem_statement": "p", "limit": 10}), "queries"),
    ]
    for text, kind in cases:
        assert detect_kind(Source("some.jsonl", data=text.encode())) == kind, text[:80]


@pytest.mark.parametrize("form", ["v3", "nuggetizer", "ragtime26"])
def test_bank_round_trips_through_each_format(own: Project, form: str, fresh: Project):
    unfit = {"ragtime26": ("q1/b", "q1/c"), "nuggetizer": ("q2/c",)}.get(form, ())
    if unfit:
        with refusal("form-without-place", *unfit):
            exchange.bank_in_form(own, form)
        rest = [one for one in OWN if one.question_id in unfit]
        fitting = [Question(q.question_id, q.query_id, q.text, weight=abs(q.weight)) for q in rest]
        bank.save_version(own, fitting, "made to fit", "ann")
    text = exchange.bank_in_form(own, form)
    version = bank.latest_version(own)
    assert "bank version" not in take(own, "bank", text).counts
    assert bank.latest_version(own) == version
    take(fresh, "bank", text)
    # The v3 format stores questions and claims separately, so their order differs.
    by_id = attrgetter("question_id")
    assert sorted(bank.list_questions(fresh), key=by_id) == sorted(bank.list_questions(own), key=by_id)
    if form == "v3":
        assert queries_of(fresh) == queries_of(own)


def test_exported_bank_has_fields_of_other_tools(own: Project):
    first, second = lines(exchange.bank_in_form(own, "v3"))
    assert (first["query_id"], first["title_query"], first["full_query"]) == ("q1", "first", "Why?\n\nBecause.")
    entry = first["nugget_bank"]["What is A?"]
    # Other tools cannot read a weight of 1.5.
    assert "importance" not in entry and entry["metadata"]["exam_workbench"]["weight"] == 1.5
    assert entry["question_id"] == hashlib.md5(b"What is A?").hexdigest()
    assert entry["references"] == [{"doc_id": "d1"}, {"doc_id": "d2"}]
    assert entry["creator"] == [{"is_human": True, "assessor_id": "bo"}]
    assert len(first["nugget_bank"]) == 2 and set(first["claim_bank"]) == {"B is so", "What is A?"}
    assert first["claim_bank"]["What is A?"]["importance"] == "failed"
    assert second["nugget_bank"]["Null?"]["importance"] == 0
    bank.save_version(own, [Question("q2/c", "q2", "Which one?", active=False)], "no avoid", "ann")
    nuggets = [one for line in lines(exchange.bank_in_form(own, "nuggetizer")) for one in line["nuggets"]]
    assert [one["importance"] for one in nuggets] == ["vital", "okay", "failed", "failed", "failed", "failed"]


BAD_BANKS = [
    ({"query_id": "q", "nugget_bank": 5}, "not-a-list"),
    ({"query_id": "q", "nugget_bank": ["x"]}, "not-an-object"),
    ({"query_id": "q", "nugget_bank": [{"answers": []}]}, "value-missing"),
    ({"query_id": "q", "nugget_bank": [{"question": 1}]}, "not-a-text"),
    ({"query_id": "q", "nugget_bank": [{"question": "a", "claim": "b"}]}, "two-texts"),
    ({"query_id": "q", "nugget_bank": [ENTRY], "nuggets": []}, "two-banks"),
    ({"nugget_bank": [ENTRY]}, "value-missing"),
    ({"query_id": ["q"], "nugget_bank": [ENTRY]}, "invalid-id"),
    ({"query_id": "q", "title_query": {}, "nugget_bank": [ENTRY]}, "not-a-text"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "query_id": "p"}]}, "question-of-two-queries"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "importance": 10**40}]}, "weight-out-of-range"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "importance": "9" * 400}]}, "weight-out-of-range"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "importance": "NaN"}]}, "weight-out-of-range"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "importance": [1]}]}, "not-a-number"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "importance": "urgent"}]}, "not-a-number"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "importance": True}]}, "not-a-number"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "answers": 3}]}, "not-a-list"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "answers": [3]}]}, "not-a-text"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "references": [{}]}]}, "id-missing"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "creator": ["ann"]}]}, "not-an-object"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "sub_nuggets": "x"}]}, "not-a-list"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "metadata": {"exam_workbench": 1}}]}, "not-an-object"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "metadata": {"exam_workbench": {"weight": "x"}}}]}, "not-a-number"),
    ({"query_id": "q", "nugget_bank": [{**ENTRY, "metadata": {"exam_workbench": {"active": 1}}}]}, "not-a-flag"),
    ({"query_id": "q", "metadata": {"exam_workbench": {"subtopics": 1}}, "nugget_bank": [ENTRY]}, "not-a-list"),
    ({"query_id": "q", "nugget_bank": []}, "nothing-found"),
]


def refuse(project: Project, kind: str, content: object, said: str, **options: Any) -> None:
    """Check that a file is refused with the given problem first."""
    with pytest.raises(FileError) as caught:
        raise AssertionError(f"not refused: {content}, {take(project, kind, content, **options)}")
    assert coded(caught.value.problems[0]) == said, str(caught.value)


def test_invalid_banks_and_grades_change_nothing(project: Project) -> None:
    with unchanged(project):
        for row, code in BAD_BANKS:
            # A valid line comes first, except in the file that must contain nothing.
            given = [row] if code == "nothing-found" else [{**RAGTIME, "metadata": {"topic_id": "fine"}}, row]
            refuse(project, "bank", given, f"file.jsonl {code}" if len(given) == 1 else f"file.jsonl:2 {code}")
        refuse(project, "bank", json.dumps(TEA, indent=2)[:-3], "file.jsonl:1 invalid-json")
    take(project, "responses", RESPONSE)
    bank.save_version(project, [Question("n1", "q1", "Why?")], "made", "ann")
    with unchanged(project):
        for row, code in BAD_GRADES:
            refuse(project, "graded", [a_grade(), row], f"file.jsonl:2 {code}")
        docs = [a_grade(doc_id="d", passage="one"), a_grade(doc_id="d", passage="two", nugget_id="n2", question="How?")]
        refuse(project, "graded", docs, "file.jsonl:2 contradicting-lines")
        news = [a_grade(nugget_id="new", question="New?"), a_grade(nugget_id="new", question="Other?")]
        refuse(project, "graded", news, "file.jsonl:2 unknown-question")
        refuse(project, "graded", "{broken\n", "file.jsonl:1 invalid-json")
        refuse(project, "graded", {"qid": "q1", "nuggets": []}, "file.jsonl nothing-found")


TOPIC = {"request_id": "7", "title": "tea", "problem_statement": "Why bitter?", "background": "A beginner.\n\nAsks."}


def test_topics_round_trip(project: Project):
    plain = {"request_id": "8", "title": "coffee"}
    given = {**TOPIC, "topic_id": "7", "narrative_id": 7, "limit": 900, "collection_ids": ["c"], "own": {"a": None}}
    take(project, "queries", [given, plain])
    assert queries_of(project) == [Query("7", "tea", "Why bitter?\n\nA beginner.\n\nAsks."), Query("8", "coffee")]
    assert lines(exchange.queries_jsonl(project, as_topics=True)) == [given, plain]
    take(project, "queries", exchange.queries_jsonl(project, as_topics=True))
    take(project, "queries", exchange.queries_jsonl(project))
    assert len(queries_of(project)) == 2
    take(project, "queries", {"query_id": "7", "text": "green tea", "narrative": "Why bitter?"}, replace=True)
    assert lines(exchange.queries_jsonl(project, as_topics=True))[0] == {
        key: value for key, value in given.items() if key != "background"
    } | {"title": "green tea"}
    refuse(project, "queries", [plain, {**TOPIC, "topic_id": "9"}], "file.jsonl:2 differing-ids")


IMPORTANCE = {
    "q1": {"A is": "vital", "B is": "vital", "C is": "okay", "D is": "okay", "E is": "failed"},
    "q2": {"F is": "okay", "G is": "okay"},
}


def assigned(run: str, qid: str, text: str, *assignments: str) -> dict[str, Any]:
    """Return a response with an assignment of each nugget of its query."""
    nuggets = [
        {"text": nugget, "importance": importance, "assignment": assignment}
        for (nugget, importance), assignment in zip(IMPORTANCE[qid].items(), assignments, strict=True)
    ]
    return {"query": f"about {qid}", "qid": qid, "answer_text": text, "run_id": run, "nuggets": nuggets}


ASSIGNED = [
    assigned("one", "q1", "A and some B.", "support", "partial_support", "support", "not_support", "partial_support"),
    assigned("one", "q2", "Nothing.", "partial_support", "not_support"),
    assigned("two", "q1", "B alone.", "not_support", "support", "not_support", "not_support", "not_support"),
]


def test_assignments_become_grades_of_an_imported_grader(project: Project):
    done = take(project, "graded", ASSIGNED, source="nuggetizer")
    assert (done.counts["new grades"], done.counts["runs"], done.counts["questions"]) == (12, 2, 7)
    version = bank.latest_version(project)
    again = take(project, "graded", ASSIGNED, source="nuggetizer")
    assert again.counts.get("new grades", 0) == 0 and bank.latest_version(project) == version
    assert [(q.text, q.kind, q.weight, q.active) for q in bank.list_questions(project)[3:6]] == [
        ("D is", "nugget", 0.5, True),
        ("E is", "nugget", 1.0, False),
        ("F is", "nugget", 0.5, True),
    ]
    policy = Policy(grader="imported: nuggetizer")
    rows = {row.run: row for row in nugget_board(project, policy)}
    assert (rows["one"].queries, rows["one"].nuggets, rows["two"].queries) == (2, 7, 1)
    one, two = rows["one"].scores, rows["two"].scores
    assert (one.strict_vital, one.strict_all) == ((1 / 2 + 0) / 2, (2 / 5 + 0) / 2)
    assert (one.vital, one.all) == ((1.5 / 2 + 0) / 2, (3 / 5 + 0.5 / 2) / 2)
    assert (two.strict_vital, two.strict_all, two.vital, two.all) == (1 / 2, 1 / 5, 1 / 2, 1 / 5)
    # Coverage weights nuggets by 1 and 0.5, and only full support counts as answered.
    scores = leaderboard(project, "EXAM-Cover@20", "exam", policy).scores
    assert scores == {"one": pytest.approx((1.5 / 3 + 0) / 2), "two": pytest.approx((1 / 3 + 0) / 2)}
    # Assignments imported later do not change the bank's weights and wordings.
    edited = [Question(q.question_id, q.query_id, q.text, q.kind, 3.0) for q in bank.list_questions(project)]
    bank.save_version(project, edited, "weights", "ann")
    take(project, "graded", ASSIGNED, source="other")
    assert bank.list_questions(project) == edited


def test_passage_assignments_become_grades(project: Project):
    nuggets = [{"text": "A is", "importance": "vital", "assignment": "support", "reasoning": "It says so."}]
    row = {"text": "about a", "qid": "q1", "candidate_text": "A it is.", "docid": "d1", "nuggets": nuggets}
    done = take(project, "graded", [row, {**row, "nuggets": [{"text": "B is", "importance": "okay"}, *nuggets]}])
    assert done.counts["new grades"] == 1 and "nugget-unassigned" in {note.code for note in done.notes}
    assert project.rows("SELECT text, raw, rating FROM grades JOIN passage_texts ON text_key = passage_text_key") == [
        ("A it is.", "It says so.", 2)
    ]
    assert queries_of(project) == [Query("q1", "about a")]
    with refusal("no-grades", "imported: file"):
        nugget_board(project, Policy())


def a_grade(**more: Any) -> dict[str, Any]:
    row = {"run_id": "sys", "query_id": "q1", "nugget_id": "n1", "question": "Why?", "grade": 4, "reasoning": "r"}
    return row | {"confidence": 0.5, "addressed_quote": "so"} | more


RESPONSE = {"query_id": "q1", "run": "sys", "topic": "about q1", "text": "It is so."}


def test_grades_of_responses_and_passages_are_imported(project: Project):
    take(project, "responses", RESPONSE)
    long = " ".join(f"Sentence number {n} has some words in it." for n in range(40))
    take(project, "responses", {**RESPONSE, "run": "long", "text": long})
    asked = [Question("q1/x", "q1", "Why?", kind="nugget", weight=2.0), Question("q1/y", "q1", "When?")]
    bank.save_version(project, asked, "made", "ann")
    hashed = hashlib.md5(b"Why?").hexdigest()
    rows = [
        a_grade(nugget_id=hashed),
        a_grade(nugget_id="q1/x", question=None, run_id="long", grade=2.0),
        a_grade(nugget_id="q1/y", question=None, grade=1),
        a_grade(nugget_id="n2", question="How?", grade=None, confidence=None),
    ]
    done = take(project, "graded", rows, "panel.jsonl")
    assert (done.counts["new grades"], done.counts["failed"]) == (3, 1)
    assert "grade-of-several-passages" in {note.code for note in done.notes}
    assert [(q.question_id, q.weight) for q in bank.list_questions(project)] == [
        ("q1/x", 2.0),
        ("q1/y", 1.0),
        ("n2", 1.0),
    ]
    found = project.rows(
        "SELECT q.text, p.text, rating, round(confidence, 3), answer, raw, name FROM grades"
        " JOIN graders USING (grader_key)"
        " JOIN passage_texts p ON p.text_key = passage_text_key"
        " JOIN question_texts q ON q.text_key = question_text_key ORDER BY rating"
    )
    assert found == [
        ("When?", "It is so.", 1, 0.5, "so", "r", "imported: panel"),
        ("Why?", long, 2, 0.5, "so", "r", "imported: panel"),
        ("Why?", "It is so.", 4, 0.5, "so", "r", "imported: panel"),
    ]
    paragraphs = [
        a_grade(doc_id="d1", passage="First.", paragraph_idx=0),
        a_grade(doc_id="d1", passage="Second.", paragraph_idx=1, grade=0),
        a_grade(doc_id="d2", passage="Only one.", paragraph_idx=0, grade=1),
    ]
    take(project, "graded", paragraphs, "docs.jsonl")
    pooled = project.rows("SELECT passage_id FROM pool JOIN passages USING (passage_key) ORDER BY 1")
    assert {("d1/0",), ("d1/1",), ("d2",)} <= set(pooled)


def test_grades_round_trip(project: Project, fresh: Project):
    ratings = {("Why?", "p1"): 5, ("Why?", "p2"): None}
    fill(project, [Question("q1/a", "q1", "Why?")], ratings, {"sys": {"q1": ["p1", "p2"]}})
    with refusal("no-grades"):
        exchange.nugget_grades_jsonl(project, Policy(), of_passages=False)
    (row,) = lines(exchange.nugget_grades_jsonl(project, Policy(), of_passages=True))
    graded = a_grade(nugget_id=md5("Why?"), grade=5, reasoning="", confidence=None, addressed_quote="")
    assert row == graded | {"doc_id": "p1", "passage": "text of p1", "paragraph_idx": 0}
    take(fresh, "graded", row)
    assert fresh.rows("SELECT passage_id, rating FROM grades, passages") == [("p1", 5)]
    take(fresh, "responses", RESPONSE)
    take(fresh, "graded", a_grade(), "panel.jsonl")
    policy = Policy(grader="imported: panel")
    (again,) = lines(exchange.nugget_grades_jsonl(fresh, policy, of_passages=False))
    assert (again["run_id"], again["grade"], again["reasoning"], again["confidence"]) == ("sys", 4, "r", 0.5)


BAD_GRADES = [
    (a_grade(grade=6), "invalid-rating"),
    (a_grade(grade=10**40), "invalid-rating"),
    (a_grade(grade=2.5), "invalid-rating"),
    (a_grade(grade=True), "invalid-rating"),
    (a_grade(grade="4"), "invalid-rating"),
    (a_grade(confidence=1.5), "invalid-confidence"),
    (a_grade(confidence="high"), "invalid-confidence"),
    (a_grade(reasoning=["r"]), "not-a-text"),
    (a_grade(question=5), "not-a-text"),
    (a_grade(nugget_id=None, question=None), "id-missing"),
    (a_grade(nugget_id="strange", question=None), "unknown-question"),
    (a_grade(nugget_id="n1", question="Whence?"), "unknown-question"),
    (a_grade(run_id="none"), "unknown-response"),
    (a_grade(run_id=None), "value-missing"),
    (a_grade(query_id=None), "value-missing"),
    (a_grade(doc_id={"a": 1}), "invalid-id"),
    (a_grade(passage=3), "not-a-text"),
    (a_grade(nuggets=[]), "two-grades"),
    ({"run_id": "sys", "query_id": "q1", "nugget_id": "n1", "question": "Why?"}, "invalid-rating"),
    ({"qid": "q1", "run_id": "sys", "nuggets": {}}, "not-a-list"),
    ({"qid": "q1", "run_id": "sys", "nuggets": [{"text": "a", "assignment": "yes"}]}, "unknown-assignment"),
    ({"qid": "q1", "run_id": "sys", "nuggets": [{"text": "a", "assignment": [1]}]}, "unknown-assignment"),
    ({"qid": "q1", "run_id": "sys", "nuggets": [{"assignment": "support"}]}, "value-missing"),
    (a_grade(grade=3), "contradicting-lines"),
]


def test_commands_exchange_files(tmp_path: Path, shell_on: ShellOn):
    exam = shell_on(fill_own)
    assert exam("export", "bank", "--form", "v3", "-o", "bank.jsonl")[0] == 0
    assert printed(exam("import", "bank", "bank.jsonl", "--json"))["counts"].get("bank version") is None
    assert exam("export", "queries", "--form", "autojudge", "-o", "topics.jsonl")[0] == 0
    assert lines((tmp_path / "topics.jsonl").read_text())[0]["background"] == "Because."
    exam.fails("options-exclude-each-other", "export", "queries", "--form", "v3", "-o", "x")
    exam.fails("options-exclude-each-other", "export", "runs", "--form", "v3", "-o", "x")
    exam.fails("form-without-place", "export", "bank", "--form", "ragtime26", "-o", "x")
    (tmp_path / "judge.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ASSIGNED))
    before = printed(exam("import", "graded", "judge.jsonl", "--preview", "--json"))["counts"]
    assert printed(exam("import", "graded", "judge.jsonl", "--json"))["counts"] == before
    rows = printed(exam("nugget-scores", "--json"))["runs"]
    assert [(row["run"], row["nuggets"], row["strict_vital"]) for row in rows] == [("one", 7, 0.25), ("two", 5, 0.5)]
    exam.fails("no-grades", "export", "nugget-grades", "-o", "x")
    assert exam("export", "nugget-doc-grades", "-o", "docs.jsonl")[0] == 0
    # Retired nuggets are not exported.
    assert len((tmp_path / "docs.jsonl").read_text().splitlines()) == 10
    assert printed(exam("import", "graded", "docs.jsonl", "--json"))["counts"]["new grades"] == 10
    assert not (tmp_path / "x").exists()


def test_nugget_scores_need_assignments(project: Project):
    take(project, "responses", RESPONSE)
    take(project, "graded", a_grade(), source="judgments")
    with refusal("not-assignments", "imported: file"):
        nugget_board(project, Policy(grader="imported: file"))
    assert nugget_board(project, Policy()) == []
    assert nugget_scores([]) == nugget_scores([(True, 0)])


MATE = {**RAGTIME, "metadata": {**RAGTIME["metadata"], "topic_id": "mate"}}


def test_banks_of_other_tools_round_trip_and_pass_checks(project: Project) -> None:
    take(project, "bank", [TEA, MATE])
    assert lines(exchange.bank_in_form(project, "v3"))[0] == TEA
    claims = [one for one in bank.list_questions(project) if one.kind == "nugget"]
    bank.save_version(project, [replace(one, kind="question") for one in claims], "no claims", "ann")
    assert lines(exchange.bank_in_form(project, "ragtime26"))[1] == MATE
    take(project, "queries", {**TOPIC, "limit": 900})
    take(project, "bank", TEA)
    assert not any(check_project(project).values())


def test_edited_questions_of_imported_bank_are_exported_with_own_values(project: Project, fresh: Project):
    take(project, "bank", [TEA])
    parent, _, second, claim, _ = bank.list_questions(project)
    added = Question("new", "tea", second.text, weight=3.0)
    bank.save_version(project, [replace(parent, text="How hot?"), replace(claim, weight=0.25), added], "edits", "ann")
    text = exchange.bank_in_form(project, "v3")
    (row,) = lines(text)
    assert row["claim_bank"].pop(claim.text)["metadata"]["exam_workbench"]["weight"] == 0.25
    assert row["claim_bank"] == {"Sugar helps": TEA["claim_bank"]["Sugar helps"]}
    assert [one["is_human"] for one in row["nugget_bank"].pop("How hot?")["creator"]] == [True, False]
    # A sub-nugget is exported separately if its parent changed.
    assert row["nugget_bank"].pop("And white tea?")["metadata"]["exam_workbench"]["subtopic"] == parent.text
    assert row["nugget_bank"].pop("How long?") == TEA["nugget_bank"]["How long?"]
    assert [entry["importance"] for entry in row["nugget_bank"].values()] == [3]
    take(fresh, "bank", text)
    by_id = attrgetter("question_id")
    assert sorted(bank.list_questions(fresh), key=by_id) == sorted(bank.list_questions(project), key=by_id)
    take(project, "queries", [{"query_id": "tea", "text": "tea or mate"}], replace=True)
    assert lines(exchange.bank_in_form(project, "v3"))[0]["title_query"] == "tea or mate"


def report(run: str, *texts: str, **more: Any) -> dict[str, Any]:
    sentences = [{"text": text, "citations": {"d2": 80.0, "d1": 20.0}, "metadata": {"n": 1}} for text in texts]
    metadata = {"team_id": "t", "run_id": run, "topic_id": "q1", "narrative": "why is it so", "type": "automatic"}
    documents = {
        "d1": {"id": "d1", "title": "One", "text": "The first document.", "url": "https://example.org"},
        "d2": {"id": "d2", "title": "", "text": "The second."},
        "d3": {"id": "d3", "text": ""},
    }
    return {"metadata": metadata, "responses": sentences, "documents": documents, "ranking": []} | more


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def without_ours(row: dict[str, Any]) -> dict[str, Any]:
    sentences = []
    for sentence in row["responses"]:
        evaldata = {key: value for key, value in sentence.get("evaldata", {}).items() if key != "exam_workbench"}
        rest = {key: value for key, value in sentence.items() if key != "evaldata"}
        sentences.append(rest | ({"evaldata": evaldata} if evaldata else {}))
    return row | {"responses": sentences}


def test_responses_beyond_track_limits_are_noted(project: Project) -> None:
    topic = {"request_id": "q1", "title": "first", "word_limit": 5, "collection_ids": ["ragtime/2/eng"]}
    take(project, "queries", topic, replace=True)
    sentences = [{"text": "One two three.", "citations": ["d1", "d2", "d3", "d4"]}, {"text": "Four five six."}]
    done = take(project, "responses", report("a", responses=sentences))
    assert [note.code for note in done.notes].count("beyond-track-limit") == 3
    take(project, "queries", {"request_id": "q1", "title": "first", "limit": 4}, replace=True)
    done = take(project, "responses", report("b", "one two three"))
    assert [note.code for note in done.notes].count("beyond-track-limit") == 1


def test_reports_round_trip_with_questions_answered_per_sentence(project: Project) -> None:
    given = [report("a", "It is so.", " ", "Because."), report("b", "Nobody knows.")]
    given[1]["responses"][0]["evaldata"] = {"theirs": 1}
    done = take(project, "responses", given)
    assert done.counts["responses"] == 2
    # Documents become passages that start with the title; d3 has no text.
    texts = dict(project.rows("SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"))
    assert (texts["d1"], texts["d2"]) == ("One The first document.", "The second.") and "d3" not in texts
    bank.save_version(project, [Question("q1/a", "q1", "Why?")], "made", "ann")
    take(project, "graded", [a_grade(run_id="a", nugget_id="q1/a", question=None, grade=5)], "panel.jsonl")
    policy = Policy(grader="imported: panel")
    first, second = lines(exchange.reports_jsonl(project, policy))
    assert [without_ours(row) for row in (first, second)] == given
    evaldata = [one.get("evaldata", {}).get("exam_workbench") for one in first["responses"]]
    assert evaldata == [{"questions": ["Why?"], "rating": 5}, None, {"questions": ["Why?"], "rating": 5}]
    assert second["responses"][0]["evaldata"] == {"theirs": 1, "exam_workbench": {"questions": [], "rating": None}}
    # Exported reports can be imported again.
    take(project, "responses", exchange.reports_jsonl(project, policy), replace=True)
    assert lines(exchange.reports_jsonl(project, policy)) == [first, second]
    # Plain responses become reports.
    take(project, "responses", {"query_id": "q1", "run": "c", "answer": [{"text": "So.", "citations": ["d1"]}]})
    plain = lines(exchange.reports_jsonl(project, policy))[2]
    assert plain["metadata"]["run_id"] == "c" and plain["responses"][0]["citations"] == ["d1"]
    refuse(project, "responses", report("d", "x", documents=[1]), "file.jsonl:1 not-an-object")
    refuse(project, "responses", report("d", "x", documents={"d1": {"text": 5}}), "file.jsonl:1 not-a-text")


def test_judgments_may_name_responses_by_md5_of_text(project: Project) -> None:
    long = [f"Sentence number {n} has some words in it." for n in range(40)]
    take(project, "responses", [report("a", "It is so.", "Because."), report("long", *long)])
    names = [md5("It is so. Because."), md5(" ".join(long)), md5("unknown")]
    done = take(project, "qrels", "".join(f"q1 0 {name} {at}\n" for at, name in enumerate(names)), "j.qrels")
    assert "unknown-response" in {note.code for note in done.notes}
    found = project.rows("SELECT passage_id, value FROM judgments JOIN passages USING (passage_key) ORDER BY value")
    assert found == [("a/q1/1", 0), ("long/q1", 1), (names[2], 2)]


def test_nuggets_with_documents_are_imported_and_exported(project: Project) -> None:
    given = {"Why?": ["OR", {"OPEN_ENDED_ANSWER": ["p1"]}], "When?": ["AND", {"now": ["p2"], "then": []}]}
    for indent in (None, 4):
        take(project, "bank", json.dumps(given, indent=indent), "nuggets_q1.json")
        assert [(q.query_id, q.text, q.answer_key, q.note) for q in bank.list_questions(project)] == [
            ("q1", "Why?", None, "References: p1"),
            ("q1", "When?", "now; then", "References: p2"),
        ]
    refuse(project, "bank", '{"Why?": ["OR", {}], "When?": ["OR"]}', "file.jsonl:1 not-a-list")
    ratings = {("Why?", "p1"): 5, ("Why?", "p2"): None, ("When?", "p1"): 3, ("When?", "p2"): 4}
    fill(project, bank.list_questions(project), ratings, {"sys": {"q1": ["p1", "p2"]}})
    ((name, content),) = unpacked(exchange.nugget_docs_zip(project, Policy())).items()
    assert name == "nuggets_q1.json"
    assert json.loads(content) == {
        "Why?": ["OR", {"OPEN_ENDED_ANSWER": ["p1"]}],
        "When?": ["OR", {"OPEN_ENDED_ANSWER": ["p2"]}],
    }


QUESTIONS = [Question(f"q{n}/{m}", f"q{n}", f"What is {n}{m}?") for n in (1, 2, 3) for m in "abc"]
RATINGS = {(question.text, f"p{n}"): (3 * at + 2 * n) % 6 for at, question in enumerate(QUESTIONS) for n in range(1, 5)}
RUNS = {
    "one": {"q1": ["p1"], "q2": ["p2", "p1"], "q3": ["p3"]},
    "two": {"q1": ["p3", "p4"], "q2": ["p4"], "q3": ["p2"]},
    "three": {"q1": ["p2", "p1"], "q3": ["p4", "p1"]},
    "four": {"q1": ["p4"], "q2": ["p1"], "q3": ["p1"]},
}
MEASURE = "EXAM-Cover@2"


def fill_all(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)


def test_leaderboard_round_trips_through_each_format(tmp_path: Path) -> None:
    project = made_project(tmp_path / "p.duckdb", fill_all)
    for skipped in ("zero", "ignore"):
        board = leaderboard(project, MEASURE, policy=Policy(min_rating=3, skipped=skipped))
        by_query = {run: dict(scores) for run, scores in board.per_query.items()}
        if skipped == "zero":
            by_query["three"]["q2"] = 0.0
        for form in LEADERBOARD_FORMS:
            content, measures = exchange.board_in_form(board, form)
            assert yaml.safe_load(measures) == {"measures": [{"name": MEASURE, "dtype": "float"}]}
            sources = [Source("b.eval.txt", data=content)]
            if form == "trec_eval":
                files = unpacked(content)
                assert files.keys() == RUNS.keys()
                sources = [Source(f"eval/{name}", data=data) for name, data in files.items()]
            done = exchange.import_files(
                project, "leaderboard", sources, "ann", exchange.Options("back", form=form, replace=True)
            )
            assert done.counts == {"leaderboards": 1, "systems": 4, "values by query": sum(map(len, by_query.values()))}
            again = leaderboard(project, MEASURE, "back")
            assert (again.measure, again.scores, again.per_query) == (MEASURE, board.scores, by_query), form
            # The imported leaderboard exports the same bytes.
            assert exchange.board_in_form(again, form)[0] == content or skipped == "ignore"
        lines = exchange.board_in_form(board, "ir_measures")[0].decode().splitlines()
        last = [at for at, line in enumerate(lines) if line.split("\t")[1] == "all"]
        runs = [line.split("\t")[0] for line in lines]
        assert last == [max(at for at, run in enumerate(runs) if run == each) for each in dict.fromkeys(runs)]


def test_files_per_run_are_merged_and_duplicate_runs_refused(tmp_path: Path) -> None:
    project = made_project(tmp_path / "p.duckdb", fill_all)
    files = [Source(name, data=f"map\tq1\t{x}\nmap\tq2\t.5\nP_5\tq1\t{x}\nP_5\tq2\t0\n".encode())
             for name, x in (("a", 0.25), ("b", 0.75))]  # fmt: skip
    exchange.import_files(project, "leaderboard", files, "ann", exchange.Options("track"))
    assert [*imported_leaderboards(project)] == [("track map", "map"), ("track P_5", "P_5")]
    assert leaderboard(project, "AP", "track map").scores == {"b": 0.625, "a": 0.375}
    assert leaderboard(project, "AP", "track map").per_query["a"] == {"q1": 0.25, "q2": 0.5}
    twice = [files[0], Source("other/a.txt", data=files[1].data)]
    with refusal("duplicate-run", "a", kind=FileError):
        exchange.import_files(project, "leaderboard", twice, "ann", exchange.Options("again"))
    assert len(imported_leaderboards(project)) == 2


def test_commands_export_leaderboard_formats_and_chosen_correlations(shell_on: ShellOn) -> None:
    exam = shell_on(fill_all)
    words = ("export", "leaderboard", "--measure", MEASURE, "--min-rating", "3")
    assert exam(*words, "--form", "ir_measures", "-o", "X.eval.txt")[0] == 0
    assert yaml.safe_load(Path("X.eval.measures.yml").read_text())["measures"][0]["name"] == MEASURE
    assert exam(*words, "--form", "jsonl", "-o", "-")[1].count("\n") == 16
    exam.fails("options-exclude-each-other", "export", "bank", "--form", "tot", "-o", "x")
    exam.fails("options-exclude-each-other", "import", "queries", "--form", "tot", "X.eval.txt")
    assert exam("import", "leaderboard", "X.eval.txt", "--form", "ir_measures", "--name", "theirs")[0] == 0
    exam.fails("form-differs", "import", "leaderboard", "X.eval.txt", "--form", "tot", "--name", "wrong")
    asked = ("correlate", "--measure", MEASURE, "--min-rating", "2", "--against", "theirs")
    plain = exam(*asked, "--json")[1]
    more = exam(*asked, "--correlation", "tau_gap", "--correlation", "kendall@3", "--correlation", "kendall", "--json")[
        1
    ]
    known = json.loads(plain)
    assert json.loads(more) == known | {key: json.loads(more)[key] for key in ("tau_gap", "kendall@3")}
    assert "tau_gap" not in known and -1 <= json.loads(more)["tau_gap"] <= 1
    assert "tauap_b" in exam(*asked, "--correlation", "tauap_b")[1]
    exam.fails("unknown-correlation", *asked, "--correlation", "tau")
    assert printed(exam(*asked, "--json")) == known
