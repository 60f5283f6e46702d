"""Import of answers and of verdicts on answers: detection, refusals per line, and evaluation."""

from __future__ import annotations

import json

import duckdb
import pytest

from exam_workbench.answers import RetEvalChoices, agreement_with_people, evaluate_answers, people_verdicts
from exam_workbench.errors import FileError
from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source, detect_kind
from exam_workbench.records import add_queries, queries_of
from exam_workbench.store import Project
from exam_workbench.store.migrations import MIGRATIONS
from exam_workbench.types import Query
from tests.answers.made import Told, collection
from tests.made.projects import commit, reimported
from tests.made.refusals import refusal

GOLD = "The mill stood by the river."
TOLD = {
    "q1": Told(GOLD, ("gold-q1",), ("by the river",), ("", "", ""), ""),
    "q2": Told(GOLD, ("gold-q2",), ("a mill",), ("", "", ""), ""),
}


def source(rows: list[object], name: str = "elsewhere.jsonl") -> Source:
    return Source(name, data="".join(json.dumps(row) + "\n" for row in rows).encode())


def answer(query: str, run: str, text: str, **more: object) -> dict[str, object]:
    return {"query_id": query, "run": run, "answer": text} | more


@pytest.fixture
def filled(project: Project) -> Project:
    collection(project, TOLD, {"one": {"q1": ["gold-q1"]}, "two": {"q1": ["gold-q2"], "q2": ["gold-q2"]}})
    return project


ROWS = [
    answer("q1", "one", "By the river!", k=1), answer("q1", "gold", "by the river", draw=1),
    answer("q1", "gold", "the river", draw=2), answer("q2", "two", "a barn", k=1), answer("q2", "gold", "a mill"),
]  # fmt: skip


def test_imported_answers_are_evaluated(filled: Project) -> None:
    file = source(ROWS)
    assert detect_kind(file) == "answers"
    done = import_files(filled, "answers", [file], "ann")
    assert done.counts == {"answers": 5, "new answers": 5}
    assert import_files(filled, "answers", [file], "ann").counts == {"answers": 5, "new answers": 0}
    found = evaluate_answers(filled, RetEvalChoices(ks=(1,), judge="em"))
    assert found.gold["q1"].draws == ("by the river", "the river")
    one, two = found.rows
    # Run one skipped q2, which counts 0; run two has not answered q1 yet.
    assert (one.reteval.mean, one.reteval.skipped, one.reteval.waiting) == (0.5, 1, 0)
    assert (two.reteval.mean, two.reteval.waiting, two.waiting) == (0.0, 1, 1)
    assert found.lines["one", 1]["q1"].gpteval.yes is True
    with refusal("answers-differ", "1"):
        import_files(filled, "answers", [source([answer("q1", "one", "another", k=1)])], "ann")
    with refusal("unknown-query", "1", "q9"):
        import_files(filled, "answers", [source([answer("q9", "one", "x", k=1)])], "ann")
    # Export and import keep all of this.
    again = reimported(filled)
    assert evaluate_answers(again, RetEvalChoices(ks=(1,), judge="em")).rows == found.rows


def test_invalid_lines_are_reported_and_nothing_is_imported(filled: Project) -> None:
    bad = [answer("q1", "one", "x"), answer("q1", "one", "x", k=0), answer("q1", "one", " ", k=1),
           answer("q1", "gold", "x", draw="two"), ROWS[0], ROWS[0], ["no object"]]  # fmt: skip
    with pytest.raises(FileError) as refused:
        import_files(filled, "answers", [source(bad)], "ann")
    assert [problem.line for problem in refused.value.problems] == [1, 2, 3, 4, 6, 7]
    verdicts = [{"query_id": "q1", "answer": "x", "acceptable": said} for said in (True, "no", 2, None)]
    with pytest.raises(FileError) as refused:
        import_files(filled, "answer-verdicts", [source(verdicts)], "ann")
    assert [problem.line for problem in refused.value.problems] == [2, 3, 4]
    assert filled.value("SELECT count(*) FROM generators") == 0


def test_people_verdicts_override_the_answer_check_and_measure_its_agreement(filled: Project) -> None:
    import_files(filled, "answers", [source(ROWS)], "ann")
    said = [("q2", "a barn", "yes"), ("q2", "a mill", 1), ("q1", "by the river", True), ("q1", "a hill", "no")]
    rows: list[object] = [dict(zip(("query_id", "answer", "acceptable"), one, strict=True)) for one in said]
    done = import_files(filled, "answer-verdicts", [source(rows)], "ann", Options(source="people"))
    assert done.counts == {"verdicts": 4, "new verdicts": 4}
    line = evaluate_answers(filled, RetEvalChoices(ks=(1,), judge="em")).lines["two", 1]["q2"]
    assert line.by_person and line.gpteval.yes and line.reteval.yes is False
    (em,) = agreement_with_people(filled, people_verdicts(filled, "people"), ["em"], samples=20)
    against = em.against
    assert (against.yes_yes, against.yes_no, against.no_yes, against.no_no) == (2, 0, 1, 1)
    assert em.model is None and em.waiting == 0
    # The newest verdict on an answer counts.
    rows[0] = {"query_id": "q2", "answer": "a barn", "acceptable": False}
    again = import_files(filled, "answer-verdicts", [source(rows)], "ann", Options(source="people"))
    assert again.counts["new verdicts"] == 1
    assert evaluate_answers(filled, RetEvalChoices(ks=(1,), judge="em")).lines["two", 1]["q2"].gpteval.yes is False


def test_verdicts_belong_to_queries_not_to_their_wording(filled: Project) -> None:
    words = {one.query_id: one.text for one in queries_of(filled)}
    commit(filled, add_queries, [Query("q3", words["q2"], answer="a mill")], replace=False)
    said: list[object] = [{"query_id": "q2", "answer": "a barn", "acceptable": True}]
    import_files(filled, "answer-verdicts", [source(said)], "ann", Options(source="people"))
    assert [(one.query_id, one.acceptable) for one in people_verdicts(filled)] == [("q2", True)]
    other: list[object] = [{"query_id": "q3", "answer": "a barn", "acceptable": False}]
    import_files(filled, "answer-verdicts", [source(other)], "ann", Options(source="people"))
    commit(filled, add_queries, [Query("q2", "In other words?", answer="a mill")], replace=True)
    assert [(one.query_id, one.acceptable) for one in people_verdicts(filled)] == [("q2", True), ("q3", False)]


def test_migration_copies_verdicts_to_every_query_with_the_wording() -> None:
    step = dict(MIGRATIONS)["0028_verdicts_of_queries"]
    with duckdb.connect() as connection:
        for name, earlier in MIGRATIONS:
            if name == "0028_verdicts_of_queries":
                break
            earlier(connection)
        connection.execute("INSERT INTO question_texts VALUES (1, 'who?', NULL), (2, 'gone?', NULL)")
        connection.execute("INSERT INTO queries (query_key, query_id, text) VALUES (7, 'a', 'who?'), (8, 'b', 'who?')")
        for question in (1, 2):
            connection.execute("INSERT INTO answer_verdicts VALUES (?, 5, 'people', true, 'ann', now())", [question])
        step(connection)
        kept = connection.execute(
            "SELECT query_key, question_text_key, answer_text_key FROM answer_verdicts"
        ).fetchall()
    assert kept == [(7, 1, 5), (8, 1, 5), (None, 2, 5)]
