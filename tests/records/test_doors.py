"""Control characters in texts and ids: files, screens, commands and scripts are checked alike."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank, records
from exam_workbench.bank import save_named_grader
from exam_workbench.cli import run_command
from exam_workbench.errors import FileError
from exam_workbench.exchange import exporting, graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.grading import Request, run_job
from exam_workbench.labels import add_override, find_overrides, withdraw_by_key
from exam_workbench.store import Project
from exam_workbench.types import (
    Board,
    BoardRow,
    Grade,
    GraderInput,
    GraderSpec,
    Judgment,
    Passage,
    Query,
    Question,
    Ranked,
)
from tests.made.projects import commit, fill, filled_project, module_project, new_project
from tests.made.refusals import coded, refusal

DIRTY = "Which \x1fis\x00 it?\x1b\r\nSay \ud83dthe letter."
CLEAN = "Which  is  it? \nSay  the letter."
QUESTION = Question("q/1", "q", DIRTY, answer_key="r\x1fise", choices=("f\x1fall", "r\x1fise"), note="n\x1fote")
READING = GraderSpec("checks answers", "answer", "none", parameters={"reads": ["answer_key"]}, max_rating=1)


def put_question(project: Project) -> None:
    fill(project, [Question("q/0", "q", "Why?")], {}, {"run": {"q": ["p1", "p2"]}})


project = filled_project(put_question)


unchanged = module_project(put_question)
"""The same project, shared by tests that must not change it."""


class Recorder:
    """A grader that gives every pair the same rating and remembers the question and the passage's text."""

    def __init__(self, spec: GraderSpec, rating: int = 1) -> None:
        self.spec, self.rating = spec, rating
        self.asked: list[tuple[GraderInput, str]] = []

    def grade(self, questions, passages, pairs, control):
        self.asked += [(questions[question], passages[passage]) for question, passage in pairs]
        yield [(question, passage, Grade(self.rating)) for question, passage in pairs]


def asked_of(project: Project, spec: GraderSpec) -> set[GraderInput]:
    """Run a job to completion and return the inputs that it graded."""
    grader = Recorder(spec)
    assert run_job(project, grader, Request(), "ann").state == "done"
    return {question for question, _ in grader.asked}


READS = ([], ["answer_key"], ["answer_key", "choices"])


def test_question_with_control_characters_is_graded_clean(project: Project) -> None:
    bank.save_version(project, [QUESTION], "a note\x1f", "ann")
    saved = bank.list_questions(project, query_id="q")[-1]
    assert (saved.text, saved.answer_key, saved.choices, saved.note) == (CLEAN, "r ise", ("f all", "r ise"), "n ote")
    for reads in READS:
        wanted = GraderInput(CLEAN, *(("r ise", ("f all", "r ise"))[: len(reads)]))
        assert wanted in asked_of(project, replace(READING, parameters={"reads": reads}))


def test_raw_question_of_earlier_version_is_graded_unchanged(project: Project) -> None:
    bank.save_version(project, [replace(QUESTION, answer_key="rise", choices=("fall", "rise"))], "", "ann")
    old = "Which \x1fis it?"
    commit(project, "UPDATE question_texts SET text = ? WHERE text = ?", [old, CLEAN])
    for reads in READS:
        asked = asked_of(project, replace(READING, parameters={"reads": reads}))
        assert GraderInput(old, *(("rise", ("fall", "rise"))[: len(reads)])) in asked
    # Another weight does not change the wording, so the grades stay.
    kept = bank.list_questions(project, query_id="q")[-1]
    bank.save_version(project, [replace(kept, weight=2.0)], "", "ann")
    assert bank.list_questions(project, query_id="q")[-1].text == old
    import_files(project, "graded", [Source("g.jsonl.gz", data=graded_file(project))], "ann")
    assert bank.list_questions(project, query_id="q")[-1].text == old


def test_drafts_collections_and_reasons_are_cleaned(project: Project) -> None:
    question = Question("q/new", "q", "")
    bank.put_draft(project, "ann", question)
    bank.change_draft(project, "ann", question, "text", DIRTY, over="")
    assert bank.list_drafts(project, "ann")["q/new"].question.text == CLEAN
    bank.change_draft(project, "ann", question, "text", "Better?", over=DIRTY)
    bank.save_drafts(project, "ann", "note \ud83d\x1f")
    assert bank.list_questions(project, query_id="q")[-1].text == "Better?"
    with project.transaction() as cursor:
        records.add_queries(cursor, [Query("q2", DIRTY, DIRTY, answer=DIRTY)], replace=True)
        records.add_passages(cursor, [Passage("p9", DIRTY)])
        records.add_passages(cursor, [Passage("p9", DIRTY)])  # the same text again is accepted
    assert project.rows("SELECT text, narrative, answer FROM queries WHERE query_id = 'q2'") == [(CLEAN,) * 3]
    assert project.rows("SELECT text FROM passages JOIN passage_texts USING (text_key) WHERE passage_id = 'p9'") == [
        (CLEAN,)
    ]
    add_override(project, "q/0", "p1", 3, "so\x1f it\ud83d is", "a\x1fnn")
    assert find_overrides(project)[0].reason == "so  it  is"
    assert records.source_of("An\nn\x1f") == records.source_of("An n")
    with refusal("empty-reason"):
        add_override(project, "q/0", "p1", 3, "\x1f\x00", "ann")
    key = add_override(project, "q/0", "p2", 3, "it is", "an\udcffn")
    withdraw_by_key(project, key, "bo\udcffb")
    assert project.rows("SELECT author, withdrawn_by FROM overrides WHERE override_key = ?", [key]) == [
        ("an n", "bo b")
    ]
    bank.save_version(project, [Question("q/0", "q", "How?")], "", "an\udcffn")
    assert bank.question_history(project, "q/0")[0].author == "an n"
    save_named_grader(project, "my\x1f\ngrader", "embedding", {}, "ann")
    assert project.rows("SELECT name FROM named_graders") == [("my grader",)]


def test_earlier_passages_are_accepted_and_blank_text_is_none(project: Project) -> None:
    old = "two\r\nlines"
    with project.transaction() as cursor:
        cursor.execute("UPDATE passage_texts SET text = ? WHERE text = 'text of p1'", [old])
        assert records.add_passages(cursor, [Passage("p1", old)]) == 0
    assert project.value("SELECT text FROM passages JOIN passage_texts USING (text_key) WHERE passage_id = 'p1'") == old
    blank = Question("q/0", "q", "Why?", answer_key="\x1f", choices=("\x00", "this"), note="\x1f \x00")
    bank.save_version(project, [blank], "", "ann")
    found = bank.list_questions(project)[0]
    assert (found.answer_key, found.choices, found.note) == (None, ("this",), None)
    # The exported bank can be imported again.
    import_files(project, "bank", [Source("b.jsonl", data=exporting.bank_jsonl(project).encode())], "ann")
    with project.transaction() as cursor:
        assert records.write_judgments(cursor, "Ann Müller", [Judgment("q", "p1", 1)]) == 1
        records.clear_runs(cursor, [("my run", "my run", "my run.txt")])
    bank.save_version(project, [Question("q 1", "q", "Why so?")], "", "ann")
    assert {source for (source,) in project.rows("SELECT name FROM sources")} == {"Ann Müller"}


# No file can contain the last name.
BAD = ("a b", "a\tb", "a\nb", "a\x1fb", "a\u00a0b", "a\u202eb", "a\ud800b")


@pytest.mark.parametrize("name", BAD)
def test_invalid_ids_are_refused_in_scripts(unchanged: Project, name: str) -> None:
    before = unchanged.rows("SELECT count(*) FROM passages") + unchanged.rows("SELECT count(*) FROM queries")
    doors = (
        lambda cursor: records.add_queries(cursor, [Query(name, "text")], replace=True),
        lambda cursor: records.add_passages(cursor, [Passage(name, "text")]),
        lambda cursor: records.write_judgments(cursor, "source", [Judgment("q", name, 1)]),
        lambda cursor: records.write_runs(cursor, {"run": [Ranked("q", name, 1, 1.0)]}, []),
    )
    for door in doors:
        with refusal("invalid-name"), unchanged.transaction() as cursor:
            door(cursor)
    assert before == unchanged.rows("SELECT count(*) FROM passages") + unchanged.rows("SELECT count(*) FROM queries")


@pytest.mark.parametrize("name", BAD[:-1])
@pytest.mark.parametrize("text", ["", "text"])
def test_invalid_passage_ids_in_files_are_refused(unchanged: Project, tmp_path: Path, name: str, text: str) -> None:
    files = records.PassageFiles(tmp_path)
    files.add([Passage("p", "text"), Passage(name, text)])
    files.close()
    before = unchanged.rows("SELECT count(*) FROM passages")
    with refusal("invalid-name"), unchanged.transaction() as cursor:
        records.add_kept_passages(cursor, files)
    assert before == unchanged.rows("SELECT count(*) FROM passages")


@pytest.mark.parametrize("name", [name for name in BAD if name not in ("a b", "a\u00a0b")] + ["\u3000"])
def test_names_with_control_characters_are_refused(unchanged: Project, name: str) -> None:
    doors = (
        lambda cursor: records.clear_runs(cursor, [(name, "tag", "file")]),
        lambda cursor: records.write_judgments(cursor, name, [Judgment("q", "p1", 1)]),
        lambda cursor: records.write_board(cursor, Board(name, "AP", [BoardRow("run", 1.0)])),
        lambda cursor: records.write_board(cursor, Board("board", "AP", [BoardRow(name, 1.0)])),
        lambda cursor: bank.save_questions(cursor, [Question(name, "q", "Why?")], "", "ann"),
        lambda cursor: bank.save_questions(cursor, [Question("q/2", "q", "W?", subtopic_id=name)], "", "ann"),
    )
    for door in doors:
        with refusal("invalid-name"), unchanged.transaction() as cursor:
            door(cursor)
    with refusal("invalid-name"):
        bank.put_draft(unchanged, "ann", Question("q/0", "q", "Why?", subtopic_id=name))


FILES = {
    "queries": lambda name: json.dumps({"query_id": name, "text": "t"}),
    "passages": lambda name: json.dumps({"passage_id": name, "text": "t"}),
    "bank": lambda name: json.dumps({"query_id": name, "question_id": "x", "text": "t"}),
    "graded": lambda name: json.dumps(
        ["q", [{"paragraph_id": name, "text": "t", "paragraph_data": {}, "exam_grades": []}]]
    ),
    "responses": lambda name: json.dumps({"run": "r", "query_id": name, "text": "t"}),
}


@pytest.mark.parametrize("kind", FILES)
def test_file_with_invalid_ids_is_refused_line_by_line(unchanged: Project, kind: str) -> None:
    rows = "\n".join(FILES[kind](name) for name in ("fine", "a b", "a\u00a0b", "a\tb"))
    with pytest.raises(FileError) as refused:
        import_files(unchanged, kind, [Source("f.jsonl", data=rows.encode())], "ann")
    problems = refused.value.problems
    assert [coded(problem) for problem in problems] == [f"f.jsonl:{line} invalid-id" for line in (2, 3, 4)]
    assert "a b" in problems[0].reason


@pytest.mark.parametrize("kind", ["qrels", "runs"])
def test_no_break_space_in_trec_file_is_refused_with_line(unchanged: Project, kind: str) -> None:
    lines = {"qrels": "q 0 p1 1\nq 0 p\u00a02 1\n", "runs": "q Q0 p1 1 2.0 t\nq Q0 p\u00a02 2 1.0 t\n"}[kind]
    with refusal("invalid-id", "p\\xa02", "f:2", kind=FileError):
        import_files(unchanged, kind, [Source("f", data=lines.encode())], "ann")


def test_control_characters_in_imported_texts_are_cleaned(project: Project) -> None:
    bank_file = json.dumps({"query_id": "q", "question_id": "q/7", "text": "A\x1fB?", "answer_key": "k\x1f"})
    import_files(project, "bank", [Source("b.jsonl", data=bank_file.encode())], "ann")
    passages = "p7\ta\x1fb\u0085c"
    import_files(project, "passages", [Source("p.tsv", data=passages.encode())], "ann")
    answer = [{"text": "One.\r\n", "citations": []}, {"text": "T\r\nwo\x1f.", "citations": ["d1"]}]
    responses = json.dumps({"run": "r", "query_id": "q", "answer": answer})
    import_files(project, "responses", [Source("r.jsonl", data=responses.encode())], "ann")
    assert bank.list_questions(project, query_id="q")[-1].text == "A B?"
    texts = dict(project.rows("SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"))
    assert texts["p7"] == "a b\x85c" and texts["r/q/1"] == "One. T\nwo ."
    ((begin, end, cited),) = project.rows(
        "SELECT begins, ends, citations FROM response_sentences JOIN passages USING (passage_key)"
        " WHERE passage_id = 'r/q/1' AND position = 2"
    )
    assert (texts["r/q/1"][begin:end], cited) == ("T\nwo .", ["d1"])


def test_graded_file_with_control_characters_keeps_grades(project: Project, tmp_path: Path) -> None:
    bank.save_version(project, [replace(QUESTION, text="Why  so?")], "", "ann")
    asked_of(project, READING)
    text = gzip.decompress(exporting.graded_file(project)).decode().replace("Why  so?", "Why \\u001fso?")
    other = new_project(tmp_path / "other.duckdb")
    import_files(other, "graded", [Source("g.jsonl", data=text.encode())], "ann")
    grades = "SELECT t.text FROM grades JOIN question_texts t ON t.text_key = question_text_key ORDER BY 1"
    assert set(other.rows(grades)) == {("Why  so?\x1fr ise",)}


def test_non_text_argument_prints_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "\udcff\x1b[2J" + "a" * 5000
    assert run_command(["overrides", "set", "q1/a", "p1", "3", "--reason", reason]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "\x1b" not in said and len(said) < 1500
