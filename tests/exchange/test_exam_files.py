"""Import and lossless export of exams and of examinees' answers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.errors import FileError, InputError, Report
from exam_workbench.exams import Plan, add_student, answers_csv, exam_items, exam_json, examinee_responses, sit_by_rules
from exam_workbench.exchange import Imported, Options, import_files
from exam_workbench.formats import Source, detect_kind, exam_files
from exam_workbench.records import add_passages, list_examinees, put_retrieval, read_retrieval
from exam_workbench.store import Project
from exam_workbench.types import Passage, Question
from tests.made.exams import put_exam
from tests.made.projects import commit, new_project
from tests.made.refusals import refusal
from tests.made.shell import ShellOn

ITEMS: list[dict[str, Any]] = [
    {
        "question": "Which metric tells the total storage?",
        "documentation": "BucketSizeBytes is what tells the storage.",
        "choices": ["A) BucketSizeBytes", "B) ObjectVersionBytes", "C) NumberOfObjects", "D) Foam"],
        "correct_answer": "A) BucketSizeBytes",
        "retrieved_context": {"DPR": ["Foam is foam.", "BucketSizeBytes is what tells the storage."], "BM25": []},
    },
    {
        "question": "What is foam?",
        "documentation": "Foam is foam.",
        "choices": ["foam", "water", "wind", "salt"],
        "correct_answer": "D",
        "topic": "sea",
    },
]


def source(content: object) -> Source:
    return Source("exam.json", data=json.dumps(content).encode())


def test_exam_round_trips_and_book_contexts_are_ignored() -> None:
    assert detect_kind(source(ITEMS)) == "exam"
    report = Report()
    shuffled = ITEMS[1] | {"choices": ["water", "foam", "wind", "salt"]}
    found = exam_files.read_exam(source([*ITEMS, shuffled]), report)
    assert [note.code for note in report.notes] == ["duplicate-item"]
    assert [one.key for one in found] == ["BucketSizeBytes", "salt"] and report.count == 0
    out = io.StringIO()
    exam_files.write_exam(found, out)
    assert exam_files.read_exam(Source("again.json", data=out.getvalue().encode()), Report()) == found
    report = Report()
    contexts = {"open_book": ["Foam is foam."], "closed-book": [], "DPR": ["Foam is foam."]}
    (found,) = exam_files.read_exam(source([ITEMS[1] | {"retrieved_context": contexts}]), report)
    assert list(found.retrieved) == ["DPR"] and len(report.notes) == 2 and report.count == 0
    report = Report()
    item = {"question": "t", "choices": ["k", "Dt"], "correct_answer": "d", "documentation": "w"}
    assert exam_files.read_exam(Source("e.json", data=json.dumps([item]).encode()), report) == []
    assert report.problems[0].code == "no-usable-items"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"question": "x"}, ("not-a-list",)),
        ([], ("no-items",)),
        ([3], ("not-an-object", "1")),
        ([ITEMS[0] | {"question": " "}], ("empty-value", "1")),
        ([ITEMS[0] | {"question": "\x01 "}], ("empty-value", "1")),
        ([ITEMS[0] | {"retrieved_context": {"bm25": ["\x7f"]}}], ("empty-value", "1")),
        ([ITEMS[0] | {"choices": ["one"]}], ("invalid-choices", "1")),
        ([ITEMS[0] | {"retrieved_context": {"DPR": "x"}}], ("not-a-list", "1", "DPR")),
    ],
)
def test_invalid_exam_is_refused_completely(project: Project, content: object, reason: tuple[str, ...]) -> None:
    with refusal(*reason, kind=FileError):
        import_files(project, "exam", [source(content)], "ann")
    assert exam_items(project) == []


def test_items_keep_sources_and_different_retrieval_needs_new_name(project: Project) -> None:
    commit(project, add_passages, [Passage("foam-1", "Foam is foam.")])
    seen = import_files(project, "exam", [source(ITEMS)], "ann", preview=True).counts
    done = import_files(project, "exam", [source(ITEMS)], "ann").counts
    assert seen == done == {
        "items": 2, "new items": 2, "new queries": 1, "new passages": 1, "retrievals": 1, "bank version": 1,
    }  # fmt: skip
    first, second = exam_items(project, "exam")
    assert (first.key, first.source_text) == ("BucketSizeBytes", ITEMS[0]["documentation"])
    assert (second.topic, second.source_passage_id) == ("sea", "foam-1"), "a known text keeps its passage"
    with project.transaction() as cursor:
        assert read_retrieval(cursor, "DPR") == {
            first.question_id: [("foam-1", 2.0), (str(first.source_passage_id), 1.0)]
        }
    retired = bank.retire_questions([bank.saved_question(project, second.question_id)])
    bank.save_version(project, retired, "too easy", "ann")
    again = import_files(project, "exam", [source(ITEMS)], "ann")
    assert again.counts == {"items": 2, "new items": 0, "new queries": 0, "new passages": 0}
    assert [note.code for note in again.notes] == ["item-known", "item-retired"]
    assert second.question_id in again.notes[1].reason
    corrected = [ITEMS[0] | {"correct_answer": "D"}]
    new = ITEMS[1] | {"question": "What is new?"}
    for content in (corrected, [new, new | {"correct_answer": "wind"}]):
        with refusal("item-words-differ"):
            import_files(project, "exam", [source(content)], "ann")
    assert import_files(project, "exam", [source(corrected)], "ann", Options(source="keys")).counts["new items"] == 1
    other = [ITEMS[0] | {"retrieved_context": {"DPR": ["Foam is foam."]}}]
    with refusal("retrieval-differs"):
        import_files(project, "exam", [source(other)], "ann")
    import_files(project, "exam", [source(other)], "ann", Options(source="second"))
    with project.transaction() as cursor:
        assert len(read_retrieval(cursor, "second DPR")) == 1


def test_items_commands_import_list_check_and_retire(shell_on: ShellOn) -> None:
    exam = shell_on(lambda project: None)
    Path("exam.json").write_text(json.dumps(ITEMS))

    def run(*words: str) -> str:
        code, out, told = exam("items", *words)
        assert code == 0, told
        return out + told if words[0] == "retire" else out

    assert "new items: 2" in run("import", "exam.json")
    listed = json.loads(run("list", "--json"))["items"]
    assert [one["type"] for one in listed] == [["Which"], ["What"]]
    lines = [line.split("\t") for line in run("check").splitlines()]
    assert len(lines) == 3 and {len(line) for line in lines} == {len(lines[0])} and lines[0][0] == "item"
    run("set", listed[0]["question_id"], "--topic", "storage", "--bloom", "Applying")
    notes = [run("retire", listed[1]["question_id"], *more) for more in ((), ("--note", "too easy"), ("--note", "x"))]
    assert ["bank save" in note for note in notes] == [True, False, False] and "version 2" in notes[1]
    said = json.loads(run("statistics", "--no-filters", "--json"))
    assert (said["items"], said["retired"], said["topics"]) == (1, 1, {"storage": 1})
    assert json.loads(run("categories", "--json"))["bloom"] == {listed[0]["question_id"]: ["Applying"]}
    assert [item["active"] for item in json.loads(run("list", "--json"))["items"]] == [True, False]


def take(project: Project, kind: str, preview: bool = False, replace: bool = False, **files: str) -> Imported:
    """Import texts as files of the given names."""
    form = "jsonl" if kind == "lm-eval" else "csv"
    sources = [Source(f"{name}.{form}", data=text.encode()) for name, text in files.items()]
    return import_files(project, kind, sources, "ann", Options(replace=replace), preview)


def test_response_matrix_adds_items_that_get_their_wording_later(project: Project) -> None:
    text = "student,a,b\nx,1,0\ny,,1\n"
    told = take(project, "responses-matrix", preview=True, m=text)
    assert told.counts == {"students": 2, "answers": 3, "new answers": 3, "new items": 2, "bank version": 1}
    assert project.value("SELECT count(*) FROM students") == 0
    assert take(project, "responses-matrix", m=text).counts == told.counts
    found = examinee_responses(project)
    assert (found.names, found.items) == (["x", "y"], ["a", "b"])
    assert {(q.query_id, q.kind, q.text) for q in bank.list_questions(project)} == {("exam", "choice", None)}
    # Repeating the import adds nothing; a file with different answers is refused completely.
    assert take(project, "responses-matrix", m=text).counts["new answers"] == 0
    with refusal("answers-differ", "y", "1"):
        take(project, "responses-matrix", m="student,a,b,c\nz,1,1,1\ny,1,0,1\n")
    assert examinee_responses(project).names == ["x", "y"] and len(bank.list_questions(project)) == 2
    # The answers remain when an item gets its wording.
    row = {"question_id": "a", "query_id": "exam", "text": "Which?", "kind": "choice", "choices": ["p", "q"],
           "answer_key": "q"}  # fmt: skip
    import_files(project, "bank", [Source("bank.jsonl", data=json.dumps(row).encode() + b"\n")], "ann")
    assert bank.list_questions(project)[0].text == "Which?"
    assert examinee_responses(project).correct[0].tolist() == [1, 0]


def test_samples_match_items_by_wording(project: Project) -> None:
    first, *_ = put_exam(project, 2)
    docs = [
        {"id": "theirs", "question": first.text, "choices": list(first.choices), "gold": 1},
        {"id": "more", "question": "Which else?", "choices": ["p", "q"], "gold": 1},
    ]
    text = "".join(json.dumps({"doc": doc, "resps": [], "acc": 1, "acc_norm": 1}) + "\n" for doc in docs)
    counts = take(project, "lm-eval", samples_big=text, samples_small=text).counts
    assert counts == {"students": 2, "answers": 4, "new answers": 4, "new items": 1, "bank version": 2}
    found = examinee_responses(project)
    assert (found.names, found.items) == (["big", "small"], ["i1", "i2", "more"])
    assert found.correct[:, [0, 2]].tolist() == [[1, 1], [1, 1]]
    # The same wording with a different key is a different item.
    other = json.dumps({"doc": docs[0] | {"id": "unlike", "gold": 0}, "resps": [], "acc": 1, "acc_norm": 1}) + "\n"
    assert take(project, "lm-eval", samples_third=other).counts["new items"] == 1
    with refusal("duplicate-student", kind=FileError):
        take(project, "lm-eval", samples_new=text, new=text)


def test_components_are_imported_before_or_after_answers(project: Project) -> None:
    put_exam(project, 2)
    add_student(project, Plan("random", name="chance"), "ann")
    text = "student,llm,size\nchance,dice,none\nx,llama,7\n"
    (shown,) = take(project, "students", preview=True, c=text).replaced
    assert (shown.kind, shown.name, shown.gone) == ("components", "chance", 1)
    with refusal("would-replace", "chance", "--replace"):
        take(project, "students", c=text)
    with refusal("not-components", kind=FileError):
        take(project, "students", c="student,i1\nchance,1\n")
    with refusal("components-differ", "x", "model", "llama", "gpt"):
        take(project, "students", replace=True, c=text, d="student,llm\nx,gpt\n")
    counts = take(project, "students", replace=True, c=text).counts
    assert counts == {"students": 2, "new students": 1, "new components": 4}
    take(project, "responses-matrix", m="student,i1\nx,1\n")
    assert examinee_responses(project).factors == {
        "model": ["dice", "llama"], "retrieval": ["closed-book", "not stated"], "icl": ["ICL@0", "not stated"],
        "size": ["none", "7"],
    }  # fmt: skip
    again = take(project, "students", c="student,llm\nx,llama\n").counts
    assert again["new components"] == again["new students"] == 0


def test_retrieval_is_read_from_examinee_names(project: Project) -> None:
    put_exam(project, 2)
    names = {
        "gpt-4_open_book": ("gpt-4", "oracle"), "mistral:closed_book": ("mistral", "closed-book"),
        "Open-Book qwen": ("qwen", "oracle"), "llama (ClosedB)": ("llama", "closed-book"),
        "a_Oracle": ("a", "oracle"), "closedbook": (None, "closed-book"), "b openbook icl1": (None, "oracle"),
        "oracle-7b": (None, None), "notebook": (None, None), "openbookish": (None, None),
    }  # fmt: skip
    take(project, "students", c="student,model\ngpt-4_open_book,gpt-four\n")
    names["gpt-4_open_book"] = ("gpt-four", "oracle")
    text = "student,i1\n" + "".join(f"{name},1\n" for name in names)
    taken = take(project, "responses-matrix", m=text)
    assert len(taken.notes) == 7
    factors = {one.name: (one.factors.get("model"), one.factors.get("retrieval")) for one in list_examinees(project)}
    assert factors == names
    # A components file takes precedence over the name, also when answers are imported later.
    take(project, "students", c="student,retrieval\nmistral:closed_book,dpr\n")
    take(project, "responses-matrix", m="student,i2\nmistral:closed_book,1\n")
    row = json.dumps({"doc": {"id": "i1"}, "resps": [], "acc_norm": 1}) + "\n"
    take(project, "lm-eval", **{"samples_phi_open_book": row})
    retrievals = {one.name: one.factors.get("retrieval") for one in list_examinees(project)}
    assert retrievals["mistral:closed_book"] == "dpr" and retrievals["phi_open_book"] == "oracle"


def test_answers_that_conflict_with_project_are_refused(project: Project) -> None:
    put_exam(project, 2)
    add_student(project, Plan("random", name="chance"), "ann")
    with refusal("answers-made-here", "chance"):
        take(project, "responses-matrix", m="student,i1\nchance,1\n")
    bank.save_version(project, [Question("plain", "exam", "Why?")], "more", "ann")
    with refusal("item-without-choices", "plain", "m.csv"):
        take(project, "responses-matrix", m="student,plain\nx,1\n")


def samples(*rows: tuple[dict[str, object], int]) -> str:
    """Return a samples file of lm-eval: items with right or wrong answers, numbered from 0."""
    return "".join(
        json.dumps({"doc_id": at, "doc": doc, "resps": [], "acc": verdict, "acc_norm": verdict}) + "\n"
        for at, (doc, verdict) in enumerate(rows)
    )


def doc(words: str, key: int = 0, **more: object) -> dict[str, object]:
    return {"question": f"Which {words}?", "choices": [f"{words} {one}" for one in "abcd"], "answer": key, **more}


def test_answers_to_different_tasks_stay_separate(project: Project) -> None:
    tasks = {name: samples(*((doc(f"{name} {at}"), at % 2) for at in range(3))) for name in ("arxiv", "devops")}
    for name, text in tasks.items():
        assert take(project, "lm-eval", **{f"samples_{name}_m": text}).counts["new items"] == 3
    found = examinee_responses(project)
    assert found.correct.shape == (2, 6) and [int((row == row).sum()) for row in found.correct] == [3, 3]
    # Two tasks of one model belong to one examinee.
    files = [
        Source(f"out/model/samples_{name}_2024-07-01T10-11-12.123456.jsonl", data=text.encode())
        for name, text in tasks.items()
    ]
    counts = import_files(project, "lm-eval", files, "ann").counts
    assert (counts["new answers"], counts.get("new items")) == (6, None)
    assert examinee_responses(project, ["model"]).correct.tolist() == [[0, 1, 0, 0, 1, 0]]
    named = import_files(project, "lm-eval", files, "ann", Options(source="mine")).counts
    assert named["new answers"] == 6 and examinee_responses(project).names[-1] == "mine"
    with pytest.raises(FileError):
        import_files(project, "lm-eval", [files[0], files[0]], "ann")


def test_item_id_with_different_wording_is_refused(project: Project) -> None:
    take(project, "lm-eval", samples_a=samples((doc("metal", id="1"), 1)))
    for other in (doc("colour", id="1"), doc("metal", key=2, id="1")):
        with pytest.raises(InputError) as refusal:
            take(project, "lm-eval", samples_b=samples((other, 1)))
        assert "Which metal?" in refusal.value.message and str(other["question"]) in refusal.value.message
    assert examinee_responses(project).names == ["a"]
    # The same wording under a different id is the same item.
    assert "new items" not in take(project, "lm-eval", samples_c=samples((doc("metal", id="9"), 0))).counts


@pytest.mark.parametrize("facts", [{}, {"id": "theirs"}, {"answer": None}])
def test_exam_and_answers_import_in_any_order(tmp_path: Path, facts: dict[str, str | None]) -> None:
    answers = samples((doc("metal", 1, **facts), 1), (doc("colour"), 0))
    exam = json.dumps([
        {"question": f"Which {words}?", "choices": [f"{letter}) {words} {letter.lower()}" for letter in "ABCD"],
         "correct_answer": f"{words} {'abcd'[key]}", "documentation": f"Source of {words}"}
        for words, key in (("metal", 1), ("colour", 0), ("sound", 3))
    ])  # fmt: skip
    files = {
        "lm-eval": Source("samples_s.jsonl", data=answers.encode()),
        "exam": Source("exam.json", data=exam.encode()),
    }
    made = []
    for order in (("lm-eval", "exam"), ("exam", "lm-eval"), ("lm-eval", "exam", "lm-eval", "exam")):
        fresh = new_project(tmp_path / f"{'-'.join(order)}.duckdb")
        for kind in order:
            import_files(fresh, kind, [files[kind]], "ann")
        found = examinee_responses(fresh)
        facts = {item.text: (item.key, item.source_text) for item in exam_items(fresh)}
        right = {item.text: verdict for item, verdict in zip(exam_items(fresh), found.correct[0].tolist(), strict=True)}
        made.append((facts, {text: None if verdict != verdict else verdict for text, verdict in right.items()}))
        fresh.close()
    assert made[0] == made[1] == made[2]
    assert len(made[0][0]) == 3 and all(source for _, source in made[0][0].values())
    assert sorted(map(str, made[0][1].values())) == ["0.0", "1.0", "None"]


def test_exam_and_answers_round_trip(project: Project, fresh: Project, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        exam_json(project)
    first, *_ = put_exam(project, 5)
    with pytest.raises(InputError):
        answers_csv(project)
    commit(project, put_retrieval, "bm25", "file", {first.question_id: [("p2", 0.7), ("p1", 0.1)]}, "ann")
    add_student(project, Plan("longest", name="long"), "ann")
    sit_by_rules(project, "ann", lambda _: None)
    written, table = exam_json(project), answers_csv(project)
    for preview in (True, False):
        again = import_files(project, "exam", [Source("exam.json", data=written.encode())], "ann", preview=preview)
        assert again.counts == {"items": 5, "new items": 0, "new queries": 0, "new passages": 0}
    doubled = [Source(f"{name}.json", data=written.encode()) for name in ("exam", "copy")]
    told = import_files(fresh, "exam", doubled, "ann", preview=True)
    assert told.counts["items"] == 5 and [note.code for note in told.notes] == ["duplicate-item"]
    import_files(fresh, "exam", doubled[:1], "ann")
    facts = [
        sorted((item.text, item.choices, item.key, item.topic, item.source_text) for item in exam_items(each))
        for each in (project, fresh)
    ]
    assert facts[0] == facts[1] and len(facts[0]) == 5
    with fresh.transaction() as cursor:
        assert [len(ranking) for ranking in read_retrieval(cursor, "bm25").values()] == [2]
    assert exam_json(fresh) == written
    # Passages with equal texts are one context of the file.
    with project.transaction() as cursor:
        add_passages(cursor, [Passage(name, "the same") for name in ("s1", "s2", "s3")])
        put_retrieval(cursor, "same", "file", {first.question_id: [("s3", 0.7), ("s2", 0.1)]}, "ann")
    import_files(project, "exam", [Source("exam.json", data=exam_json(project).encode())], "ann")
    other = new_project(tmp_path / "other.duckdb")
    import_files(other, "responses-matrix", [Source("answers.csv", data=table.encode())], "ann")
    theirs, ours = examinee_responses(other), examinee_responses(project)
    assert (theirs.names, theirs.items) == (ours.names, ours.items)
    assert theirs.correct.tolist() == ours.correct.tolist()
    # The items of answers have no words until their exam is imported.
    late = new_project(tmp_path / "late.duckdb")
    matrix = f"student,{','.join(item.question_id for item in exam_items(fresh))}\nx,1,0,1,0,1\n"
    import_files(late, "responses-matrix", [Source("answers.csv", data=matrix.encode())], "ann")
    counts = import_files(late, "exam", [Source("exam.json", data=written.encode())], "ann").counts
    assert (counts["new items"], counts["questions get their words"]) == (0, 5)
    assert (exam_json(late), answers_csv(late)) == (written, matrix)


def fill_with_exam_and_board(project: Project) -> None:
    put_exam(project, 3)
    take(project, "responses-matrix", m="student,i1,i2\nx,1,0\n")
    import_files(project, "leaderboard", [Source("b.tsv", data=b"run\tAP\na\t0.5\nb\t0.25\n")], "ann")


def test_export_writes_leaderboards_exams_and_answers(shell_on: ShellOn) -> None:
    exam = shell_on(fill_with_exam_and_board)

    def export(what: str, file: str, *more: str) -> str:
        assert exam("export", what, "-o", file, *more)[0] == 0
        return Path(file).read_text()

    assert json.loads(export("leaderboard", "board.json", "--source", "b")) == {"AP": {"a": 0.5, "b": 0.25}}
    assert len(json.loads(export("exam", "exam.json"))) == len(json.loads(export("exam", "e.json", "--source", "exam")))
    assert export("responses-matrix", "answers.csv").splitlines() == ["student,i1,i2,i3", "x,1,0,"]
    assert exam("import", "leaderboard", "board.json")[0] == 0


def test_matrix_without_header_is_refused(project: Project) -> None:
    for text in ("x,1,0\ny,0,0\n", "x,1\n", "x\t1\t0\t1.0\n"):
        with pytest.raises(FileError):
            take(project, "responses-matrix", m=text)
    # Items may be named 1 and 0.
    assert take(project, "responses-matrix", m="student,1,0\nx,1,0\n").counts["new items"] == 2
