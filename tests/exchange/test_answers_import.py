"""Importing what students answered elsewhere: items are found or made, facts stay, components are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.errors import FileError, InputError
from exam_workbench.exams import Plan, add_student, exam_items, examinee_responses
from exam_workbench.exchange import Imported, Options, import_files
from exam_workbench.formats import Source
from exam_workbench.records import list_examinees
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.exams import put_exam
from tests.made.projects import new_project
from tests.made.refusals import refusal


def take(project: Project, kind: str, folder: Path, preview: bool = False, **files: str) -> Imported:
    """Import files by name."""
    sources = []
    for name, text in files.items():
        path = folder / f"{name}.{'jsonl' if kind == 'lm-eval' else 'csv'}"
        path.write_text(text)
        sources.append(Source.of(path))
    return import_files(project, kind, sources, "ann", preview=preview)


def test_a_matrix_of_items_that_nobody_knows_brings_them(project: Project, tmp_path: Path) -> None:
    text = "student,a,b\nx,1,0\ny,,1\n"
    told = take(project, "responses-matrix", tmp_path, preview=True, m=text)
    assert told.counts == {"students": 2, "answers": 3, "new answers": 3, "new items": 2, "bank version": 1}
    assert project.value("SELECT count(*) FROM students") == 0
    assert take(project, "responses-matrix", tmp_path, m=text).counts == told.counts
    found = examinee_responses(project)
    assert (found.names, found.items) == (["x", "y"], ["a", "b"])
    assert {(q.query_id, q.kind, q.text) for q in bank.list_questions(project)} == {("exam", "choice", None)}
    # Once more says nothing new; other answers are refused, and nothing of that file is kept.
    assert take(project, "responses-matrix", tmp_path, m=text).counts["new answers"] == 0
    with refusal("answers-differ", "y", "1"):
        take(project, "responses-matrix", tmp_path, m="student,a,b,c\nz,1,1,1\ny,1,0,1\n")
    assert examinee_responses(project).names == ["x", "y"] and len(bank.list_questions(project)) == 2


def test_answers_stay_when_their_items_get_words(project: Project, tmp_path: Path) -> None:
    take(project, "responses-matrix", tmp_path, m="student,a\nx,1\n")
    row = {"question_id": "a", "query_id": "exam", "text": "Which?", "kind": "choice", "choices": ["p", "q"],
           "answer_key": "q"}  # fmt: skip
    (tmp_path / "bank.jsonl").write_text(json.dumps(row) + "\n")
    import_files(project, "bank", [Source.of(tmp_path / "bank.jsonl")], "ann")
    assert bank.list_questions(project)[0].text == "Which?"
    assert examinee_responses(project).correct.tolist() == [[1]]


def test_samples_find_items_by_their_words(project: Project, tmp_path: Path) -> None:
    first, *_ = put_exam(project, 2)
    docs = [
        {"id": "theirs", "question": first.text, "choices": list(first.choices), "gold": 1},
        {"id": "more", "question": "Which else?", "choices": ["p", "q"], "gold": 1},
    ]
    text = "".join(json.dumps({"doc": doc, "resps": [], "acc": 1, "acc_norm": 1}) + "\n" for doc in docs)
    counts = take(project, "lm-eval", tmp_path, samples_big=text, samples_small=text).counts
    assert counts == {"students": 2, "answers": 4, "new answers": 4, "new items": 1, "bank version": 2}
    found = examinee_responses(project)
    assert (found.names, found.items) == (["big", "small"], ["i1", "i2", "more"])
    assert found.correct[:, [0, 2]].tolist() == [[1, 1], [1, 1]]
    # The same words with another key are another item.
    other = json.dumps({"doc": docs[0] | {"id": "unlike", "gold": 0}, "resps": [], "acc": 1, "acc_norm": 1}) + "\n"
    assert take(project, "lm-eval", tmp_path, samples_third=other).counts["new items"] == 1
    with refusal("duplicate-student", kind=FileError):
        take(project, "lm-eval", tmp_path, samples_new=text, new=text)


def test_components_are_told_of_students_before_and_after_they_sat(project: Project, tmp_path: Path) -> None:
    put_exam(project, 2)
    add_student(project, Plan("random", name="chance"), "ann")
    counts = take(project, "students", tmp_path, c="student,llm,size\nchance,dice,none\nx,llama,7\n").counts
    assert counts == {"students": 2, "new students": 1, "new components": 4}
    take(project, "responses-matrix", tmp_path, m="student,i1\nx,1\n")
    assert examinee_responses(project).factors == {
        "model": ["dice", "llama"], "retrieval": ["closed-book", "not stated"], "icl": ["ICL@0", "not stated"],
        "size": ["none", "7"],
    }  # fmt: skip
    again = take(project, "students", tmp_path, c="student,llm\nx,llama\n").counts
    assert again["new components"] == again["new students"] == 0


def test_names_of_examinees_that_say_open_or_closed_book_are_read(project: Project, tmp_path: Path) -> None:
    put_exam(project, 2)
    names = {
        "gpt-4_open_book": ("gpt-4", "oracle"), "mistral:closed_book": ("mistral", "closed-book"),
        "Open-Book qwen": ("qwen", "oracle"), "llama (ClosedB)": ("llama", "closed-book"),
        "a_Oracle": ("a", "oracle"), "closedbook": (None, "closed-book"), "b openbook icl1": (None, "oracle"),
        "oracle-7b": (None, None), "notebook": (None, None), "openbookish": (None, None),
    }  # fmt: skip
    take(project, "students", tmp_path, c="student,model\ngpt-4_open_book,gpt-four\n")
    names["gpt-4_open_book"] = ("gpt-four", "oracle")
    text = "student,i1\n" + "".join(f"{name},1\n" for name in names)
    taken = take(project, "responses-matrix", tmp_path, m=text)
    assert len(taken.notes) == 7
    factors = {one.name: (one.factors.get("model"), one.factors.get("retrieval")) for one in list_examinees(project)}
    assert factors == names
    # A file of components corrects a name, and answers that come later leave it.
    take(project, "students", tmp_path, c="student,retrieval\nmistral:closed_book,dpr\n")
    take(project, "responses-matrix", tmp_path, m="student,i2\nmistral:closed_book,1\n")
    row = json.dumps({"doc": {"id": "i1"}, "resps": [], "acc_norm": 1}) + "\n"
    take(project, "lm-eval", tmp_path, **{"samples_phi_open_book": row})
    retrievals = {one.name: one.factors.get("retrieval") for one in list_examinees(project)}
    assert retrievals["mistral:closed_book"] == "dpr" and retrievals["phi_open_book"] == "oracle"


def test_what_does_not_fit_the_project_is_refused(project: Project, tmp_path: Path) -> None:
    put_exam(project, 2)
    add_student(project, Plan("random", name="chance"), "ann")
    with refusal("answers-made-here", "chance"):
        take(project, "responses-matrix", tmp_path, m="student,i1\nchance,1\n")
    bank.save_version(project, [Question("plain", "exam", "Why?")], "more", "ann")
    with refusal("item-without-choices", "plain", "m.csv"):
        take(project, "responses-matrix", tmp_path, m="student,plain\nx,1\n")


def samples(*rows: tuple[dict[str, object], int]) -> str:
    """A file of the harness: documents with verdicts, numbered from 0."""
    return "".join(
        json.dumps({"doc_id": at, "doc": doc, "resps": [], "acc": verdict, "acc_norm": verdict}) + "\n"
        for at, (doc, verdict) in enumerate(rows)
    )


def doc(words: str, key: int = 0, **more: object) -> dict[str, object]:
    return {"question": f"Which {words}?", "choices": [f"{words} {one}" for one in "abcd"], "answer": key, **more}


def test_answers_to_one_task_are_no_answers_to_another(project: Project, tmp_path: Path) -> None:
    tasks = {name: samples(*((doc(f"{name} {at}"), at % 2) for at in range(3))) for name in ("arxiv", "devops")}
    for name, text in tasks.items():
        assert take(project, "lm-eval", tmp_path, **{f"samples_{name}_m": text}).counts["new items"] == 3
    found = examinee_responses(project)
    assert found.correct.shape == (2, 6)
    assert [int((row == row).sum()) for row in found.correct] == [3, 3]
    # One model, two tasks: one examinee, in one import or in two.
    files = []
    for name, text in tasks.items():
        path = tmp_path / "out" / "model" / f"samples_{name}_2024-07-01T10-11-12.123456.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        files.append(Source.of(path))
    counts = import_files(project, "lm-eval", files, "ann").counts
    assert (counts["new answers"], counts.get("new items")) == (6, None)
    assert examinee_responses(project, ["model"]).correct.tolist() == [[0, 1, 0, 0, 1, 0]]
    named = import_files(project, "lm-eval", files, "ann", Options(source="mine")).counts
    assert named["new answers"] == 6 and examinee_responses(project).names[-1] == "mine"
    with pytest.raises(FileError):
        import_files(project, "lm-eval", [files[0], files[0]], "ann")


def test_an_id_with_other_words_is_refused_and_both_are_named(project: Project, tmp_path: Path) -> None:
    take(project, "lm-eval", tmp_path, samples_a=samples((doc("metal", id="1"), 1)))
    for other in (doc("colour", id="1"), doc("metal", key=2, id="1")):
        with pytest.raises(InputError) as refusal:
            take(project, "lm-eval", tmp_path, samples_b=samples((other, 1)))
        assert "Which metal?" in refusal.value.message and str(other["question"]) in refusal.value.message
    assert examinee_responses(project).names == ["a"]
    # The same words under another id are the same item.
    assert "new items" not in take(project, "lm-eval", tmp_path, samples_c=samples((doc("metal", id="9"), 0))).counts


@pytest.mark.parametrize("ids", [{}, {"id": "theirs"}])
def test_an_exam_and_its_answers_come_in_any_order(tmp_path: Path, ids: dict[str, str]) -> None:
    answers = samples((doc("metal", 1, **ids), 1), (doc("colour"), 0))
    exam = json.dumps([
        {"question": f"Which {words}?", "choices": [f"{letter}) {words} {letter.lower()}" for letter in "ABCD"],
         "correct_answer": f"{words} {'abcd'[key]}", "documentation": f"Source of {words}"}
        for words, key in (("metal", 1), ("colour", 0), ("sound", 3))
    ])  # fmt: skip
    made = []
    for order in (("lm-eval", "exam"), ("exam", "lm-eval"), ("lm-eval", "exam", "lm-eval", "exam")):
        fresh = new_project(tmp_path / f"{'-'.join(order)}.duckdb")
        for kind in order:
            file = Source(
                "samples_s.jsonl" if kind == "lm-eval" else "exam.json",
                data=(answers if kind == "lm-eval" else exam).encode(),
            )
            import_files(fresh, kind, [file], "ann")
        found = examinee_responses(fresh)
        facts = {item.text: (item.key, item.source_text) for item in exam_items(fresh)}
        right = {item.text: verdict for item, verdict in zip(exam_items(fresh), found.correct[0].tolist(), strict=True)}
        made.append((facts, {text: None if verdict != verdict else verdict for text, verdict in right.items()}))
        fresh.close()
    assert made[0] == made[1] == made[2]
    assert len(made[0][0]) == 3 and all(source for _, source in made[0][0].values())
    assert sorted(map(str, made[0][1].values())) == ["0.0", "1.0", "None"]
