"""Grading plans on other machines: workers, files and grade imports (bench/ray_drill.py tests a cluster)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from exam_workbench import graders, grading
from exam_workbench.errors import FileError, GradingError, InputError
from exam_workbench.formats import PARQUET, Source
from exam_workbench.graders._plan_files import (
    KEY,
    GraderOnWorker,
    _set_damaged_aside,
    check_vllm_calls,
    grade_columns,
    planned_grader,
    vllm_reply,
    vllm_request,
)
from exam_workbench.grading._needed_pairs import pairs_to_grade
from exam_workbench.grading._offline_grading import ReplyImport
from exam_workbench.jobs import find_jobs
from exam_workbench.store import Project, open_project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made.projects import fill, filled_project, made_project
from tests.made.refusals import refusal
from tests.made.shell import ShellOn, printed

QUESTIONS = [
    Question("q1/a", "q1", "Which A?", answer_key="gold"),
    Question("q2/c", "q2", "Which C?", "choice", answer_key="tin", choices=("tin", "zinc")),
]
CALLS = {"model": "m", "back_end": "openai", "base_url": "http://localhost:9/v1"}


def filled(project: Project) -> None:
    fill(project, QUESTIONS, {}, {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p4"]}})


project = filled_project(filled)


def grades(project: Project) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, defaulted, answer, raw FROM grades ORDER BY ALL"
    )


def planned(project: Project, grader: graders.Grader, path: Path, **parameters: Any) -> pa.Table:
    grading.write_missing(project, grader, path, 1, parameters=parameters)
    return pq.read_table(path)


def test_worker_gives_single_process_grades_in_any_file_order(project: Project, tmp_path: Path) -> None:
    grader = graders.make_grader("embedding", {})
    plan = tmp_path / "plan.parquet"
    table = planned(project, grader, plan, key_variable="SECRET")
    assert table.num_rows == 5 and b"SECRET" not in plan.read_bytes()
    passages = table["passage"].to_pylist()
    assert [text for text, before in zip(passages, [None, *passages], strict=False) if text != before] == sorted(
        set(passages), key=passages.index
    ), "pairs must be grouped by passage"
    made = planned_grader(plan)
    assert made is not None and made.fingerprint == grader.spec.fingerprint
    worker = GraderOnWorker(made)
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    pq.write_table(worker(table.slice(0, 3)), files[0])
    pq.write_table(worker(table.slice(2)), files[1])
    assert worker(table.slice(0, 0)).num_rows == 0
    assert all(map(graders.holds_grades, files)) and not graders.holds_grades(plan)
    taken = grading.import_grade_files(project, grader, files, "ann")
    assert (taken.graded, taken.failed, taken.known) == (5, 0, 1)
    before, count = grades(project), len(find_jobs(project))
    again = grading.import_grade_files(project, grader, files[::-1], "ann")
    assert (again.graded, again.known, len(find_jobs(project))) == (0, 6, count)
    assert grading.make_plan(project, grader.spec, 1).to_grade == 0
    other = made_project(tmp_path / "other" / "test.duckdb", filled)
    grading.run_job(other, grader, grading.Request(), "ann")
    assert grades(other) == before != []


def test_answer_keys_and_choices_reach_the_worker(project: Project, tmp_path: Path) -> None:
    class Echo:
        def grade(self, questions: Any, passages: Any, pairs: Any, control: Any) -> Iterator[Any]:
            control.add(graders.Usage(len(pairs), 100, 10))
            if any(passages[passage].startswith("words of p2") or "p2" in passages[passage] for _, passage in pairs):
                raise KeyError("p2")
            yield [
                (q, p, Grade(1, answer=json.dumps([questions[q].answer_key, *questions[q].choices]))) for q, p in pairs
            ]

    grader = graders.make_grader("choice", CALLS)
    local = graders.make_grader("embedding", {})
    table = planned(project, local, tmp_path / "plan.parquet")
    assert grader.spec.reads and not local.spec.reads
    worker = GraderOnWorker.__new__(GraderOnWorker)
    worker._grader = Echo()  # type: ignore[assignment]
    rows = table.to_pylist()
    for row in rows:
        row |= {"answer_key": "tin", "choices": ["tin", "zinc"]}
    done = worker(pa.Table.from_pylist(rows, table.schema)).to_pylist()
    assert {row["answer"] for row in done if row["rating"] == 1} == {'["tin", "tin", "zinc"]'}
    failed = [row for row in done if row["rating"] is None]
    assert [(row["status"], "KeyError" in row["reason"]) for row in failed] == [("failed", True)]
    assert sum(row["calls"] for row in done) > 0


def test_rows_without_valid_grades_of_the_plan_and_other_fingerprints_are_refused(
    project: Project, tmp_path: Path
) -> None:
    grader = graders.make_grader("embedding", {})
    table = planned(project, grader, tmp_path / "plan.parquet")
    name = table["custom_id"][0].as_py()
    good = grade_columns([name], [Grade(2)], graders.NOTHING_USED)
    file = tmp_path / "grades.parquet"
    cases = [
        grade_columns([name[:-1] + ("0" if name[-1] != "0" else "1")], [Grade(2)], graders.NOTHING_USED),
        grade_columns([name], [Grade(6)], graders.NOTHING_USED),
        grade_columns([name], [Grade(None)], graders.NOTHING_USED),
        grade_columns([name], [Grade(3, "failed")], graders.NOTHING_USED),
        grade_columns(["0" * 12 + ".1.2.3"], [Grade(2)], graders.NOTHING_USED),
        grade_columns(["nonsense"], [Grade(2)], graders.NOTHING_USED),
        good.drop_columns(["rating"]),
    ]
    for case in cases:
        pq.write_table(
            pa.concat_tables([good, case], promote_options="default") if case.num_columns == good.num_columns else case,
            file,
        )
        with pytest.raises(FileError):
            grading.import_grade_files(project, grader, [file], "ann")
    assert find_jobs(project) == []
    pq.write_table(good, file)
    assert grading.import_grade_files(project, grader, [file], "ann").graded == 1
    planned(project, graders.make_grader("embedding", {}), tmp_path / "plan.parquet", cuts=[0.1, 0.2, 0.3, 0.4, 0.5])
    made = planned_grader(tmp_path / "plan.parquet")
    assert made is not None
    with pytest.raises(GradingError):
        GraderOnWorker(made)


@given(
    st.lists(
        st.builds(
            Grade,
            st.integers(0, 5),
            st.sampled_from(["graded", "defaulted"]),
            st.none() | st.text(),
            st.none() | st.floats(0, 1),
            note=st.none() | st.text(),
            distribution=st.none() | st.tuples(*[st.floats(0, 1)] * 6),
        )
        | st.builds(Grade, st.none(), st.just("failed"), raw=st.text(), reason=st.text()),
        min_size=1,
        max_size=4,
    )
)
def test_grades_survive_a_round_trip(tmp_path_factory: pytest.TempPathFactory, grades: list[Grade]) -> None:
    file = tmp_path_factory.getbasetemp() / "grades.parquet"
    pq.write_table(grade_columns([f"a{n}" for n in range(len(grades))], grades, graders.Usage(3, 200, 10)), file)
    (rows,) = graders.read_grades(file)
    assert [row.grade for row in rows] == grades
    assert [row.usage for row in rows] == [graders.Usage(3, 200, 10), *[graders.NOTHING_USED] * (len(grades) - 1)]


def test_hostile_plan_sets_no_key_and_malformed_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.parquet"

    def described(about: bytes) -> None:
        schema = pa.schema([("custom_id", pa.string())], {KEY: about})
        pq.write_table(pa.table({"custom_id": ["a"]}, schema), plan)

    parameters = {"back_end": "openai", "base_url": "http://localhost:1/v1", "key_variable": "HOME"}
    about = {"format": 1, "kind": "self-rating", "parameters": parameters, "prompts": {}, "fingerprint": "f"}
    described(json.dumps(about).encode())
    made = planned_grader(plan)
    assert made is not None and made.parameters == {"back_end": "openai", "base_url": "http://localhost:1/v1"}
    for about in (b"[" * 100_000, b"{", b"3", b'{"format": 1, "prompts": 3}', b'{"format": 9}'):
        described(about)
        with refusal("not-a-plan"):
            planned_grader(plan)


def test_non_plans_are_refused_and_damaged_files_set_aside(project: Project, tmp_path: Path, monkeypatch: Any) -> None:
    grader = graders.make_grader("embedding", {})
    for name in ("calls.jsonl", "calls"):
        with pytest.raises(InputError):
            grading.write_missing(project, grader, tmp_path / name, 1)
    plan = tmp_path / "plan.parquet"
    with pytest.raises(InputError):
        grading.write_missing(project, grader, plan, 1, answers=[Source.from_path(str(plan))])
    for content in (b"", b"PAR1"):
        plan.write_bytes(content)
        with pytest.raises(InputError):
            planned_grader(plan)
    pq.write_table(pa.table({"custom_id": ["a"]}), plan)
    with pytest.raises(InputError):
        planned_grader(plan)
    planned(project, grader, plan)
    folder = tmp_path / "grades"
    folder.mkdir()
    (folder / f"half{PARQUET}").write_bytes(b"PAR1")
    told: list[str] = []
    _set_damaged_aside(folder, told.append)
    assert [path.name for path in folder.iterdir()] == ["half.damaged"] and len(told) == 1
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(GradingError) as refused:
        graders.grade_plan(plan, folder)
    assert "exam-workbench[ray]" in refused.value.hint
    pq.write_table(pa.table({"other": [1]}), folder / "other.parquet")
    with pytest.raises(InputError):
        graders.grade_plan(plan, folder)


def test_calls_convert_to_vllm_rows_and_back_to_answers(project: Project, tmp_path: Path) -> None:
    grader = graders.make_grader("self-rating", CALLS)
    plan = tmp_path / "calls.parquet"
    grading.write_missing(project, grader, plan, 1, grading.Scope())
    assert planned_grader(plan) is None
    check_vllm_calls(plan)
    rows = pq.read_table(plan).to_pylist()
    asked = [vllm_request(row) for row in rows]
    assert [row["custom_id"] for row in asked] == [row["custom_id"] for row in rows]
    assert [row["messages"] for row in asked] == [json.loads(row["body"])["messages"] for row in rows]
    assert all(row["sampling_params"]["max_tokens"] == row["limit"] > 0 for row in asked)
    assert all("json" in row["sampling_params"].get("structured_outputs", {"json": 0}) for row in asked)
    done = [
        row | {"generated_text": "4", "num_generated_tokens": 2, "num_input_tokens": 9, "__inference_error__": ""}
        for row in asked
    ]
    done[0] |= {"__inference_error__": "ValueError: too long"}
    pq.write_table(pa.Table.from_pylist([vllm_reply(row) for row in done[1:] + done[:1]]), tmp_path / "replies.parquet")
    taken = grading.import_answer_files(project, grader, [Source.from_path(str(tmp_path / "replies.parquet"))], "ann")
    assert (taken.graded + taken.failed, taken.unmatched, taken.usage.input_tokens) == (5, 0, 36)
    cut = vllm_reply(done[1] | {"num_generated_tokens": done[1]["limit"]})
    assert json.loads(cut["response"])["choices"][0]["finish_reason"] == "length"
    body = {"model": "m", "messages": [], "max_completion_tokens": 5, "tools": []}
    with pytest.raises(InputError):
        vllm_request({"custom_id": "a", "body": json.dumps(body)})
    pq.write_table(
        pa.table({"custom_id": ["a"], "body": [json.dumps({"model": "m", "prompt": "a", "max_tokens": 5})]}), plan
    )
    with pytest.raises(InputError):
        check_vllm_calls(plan)


@pytest.mark.parametrize("kind", ["self-rating", "answer", "choice", "direct", "extractive"])
def test_removed_vllm_back_end_names_alternatives(kind: str) -> None:
    given = {"back_end": "vllm", "model": "m"}
    if kind == "extractive":
        given = {"verify_back_end": "vllm", "check": "model"}
    with pytest.raises(InputError) as refused:
        graders.make_grader(kind, given)
    assert "openai" in refused.value.hint and "grade-plan" in refused.value.hint


def test_commands_plan_and_import_a_job(shell_on: ShellOn) -> None:
    exam = shell_on(filled)
    assert printed(exam("plan", "-o", "plan.parquet", "--json"))["calls"] == 5
    made = planned_grader(Path("plan.parquet"))
    assert made is not None
    Path("out").mkdir()
    pq.write_table(GraderOnWorker(made)(pq.read_table("plan.parquet")), "out/a.parquet")
    # No rows are missing, so no cluster is needed.
    assert printed(exam("grade-plan", "plan.parquet", "-o", "out", "--json")) == {"rows": 5, "before": 5, "done": 5}
    assert printed(exam("ingest", "out", "--json"))["graded"] == 5
    Path("answers.jsonl").write_text("{}")
    Path("empty").mkdir()
    for words in (("ingest", "out/a.parquet", "answers.jsonl"), ("ingest", "empty"), ("grade-plan", "x", "-o", "out")):
        assert exam(*words)[0] == 2


def test_cluster_grades_only_missing_rows_of_a_plan(project: Project, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    grader = graders.make_grader("embedding", {})
    table = planned(project, grader, tmp_path / "plan.parquet")
    made = planned_grader(tmp_path / "plan.parquet")
    assert made is not None
    (tmp_path / "out").mkdir()
    pq.write_table(GraderOnWorker(made)(table.slice(0, 2)), tmp_path / "out" / "a.parquet")
    done = graders.grade_plan(tmp_path / "plan.parquet", tmp_path / "out", workers=1)
    assert (done.rows, done.before, done.done) == (5, 2, 5)
    files = sorted((tmp_path / "out").glob("*.parquet"))
    assert sum(pq.read_metadata(file).num_rows for file in files) == 5
    assert grading.import_grade_files(project, grader, files, "ann").graded == 5


def test_grader_of_removed_back_end_stays_listed(tmp_path: Path, shell_on: ShellOn) -> None:
    model, parameters = "some/model@main", {"model": "some/model", "back_end": "vllm"}
    spec = GraderSpec(
        "Old (model, by vLLM)", "self-rating", model, parameters={"back_end": "vllm", "dtype": "bfloat16"}
    )

    def before(project: Project) -> None:
        filled(project)
        (pairs, *_) = pairs_to_grade(project, spec, 1)
        taking = ReplyImport(project, cast(graders.Grader, SimpleNamespace(spec=spec)), "ann")
        taking.take_outcomes([(*pair, Grade(3)) for pair in pairs], graders.NOTHING_USED)
        taking.end()
        with project.transaction() as cursor:
            cursor.execute(
                "INSERT INTO named_graders (name, kind, parameters, made_at, author) VALUES (?, ?, ?, now(), ?)",
                ["old", spec.method, json.dumps(parameters), "ann"],
            )

    exam = shell_on(before)
    listed = printed(exam("graders", "list", "--json"))
    assert spec.fingerprint in json.dumps(listed) and "old" in json.dumps(listed)
    assert graders.find_remaking_parameters(spec) is None
    assert exam("grade", "--grader", "old")[0] == 2
    assert printed(exam("check", "--json"))
    assert exam("leaderboard", "--json")[0] == 0
    project = open_project(tmp_path / "some.duckdb")
    assert grading.usual_settings(project)["back_end"] == "transformers"
