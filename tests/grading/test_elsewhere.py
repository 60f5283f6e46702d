"""Grading elsewhere: what is missing goes out as a file, and the answers of any engine come in as grades."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exam_workbench.errors import FileError
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.graders import Grader, extend_access, make_grader, use_access
from exam_workbench.grading import Request, import_answer_files, make_plan, run_job, write_missing
from exam_workbench.grading._offline_grading import TakenIn
from exam_workbench.jobs import find_jobs
from exam_workbench.records import add_passages
from exam_workbench.store import Project
from exam_workbench.types import Passage, Question
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat
from tests.made.projects import fill, new_project
from tests.made.refusals import refusal

QUESTIONS = [Question("q1/a", "q1", "Which A?"), Question("q1/b", "q1", "Which B?"), Question("q2/c", "q2", "Which C?")]
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p4"]}}
KEYED = [Question("q1/a", "q1", "Which A?", answer_key="apple"), Question("q1/b", "q1", "Which B?", answer_key="pear")]


def words(prompt: str) -> str:
    """What the model says of a prompt: always the same of the same words."""
    if "apple" in prompt or "pear" in prompt:
        return "Yes" if len(prompt) % 2 else "No"
    return str(len(prompt) % 6)


def behave(seen: Seen) -> Reply:
    return chat(words(seen.prompt), model="m")


def engine(path: Path, out: Path, skip: int = -1) -> Path:
    """Answer a batch file as a batch endpoint does, in another order; one call may expire."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answered = []
    for at, row in enumerate(rows):
        if at == skip:
            answered.append({"custom_id": row["custom_id"], "response": None, "error": {"code": "batch_expired"}})
            continue
        body = json.loads(behave(Seen(row["body"]["messages"][-1]["content"], 1, row["body"], {})).content)
        answered.append({"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}, "error": None})
    out.write_text("".join(json.dumps(row) + "\n" for row in reversed(answered)))
    return out


def rater(kind: str = "self-rating", **parameters: Any) -> Grader:
    with use_access(extend_access("http://localhost:9/v1", None)):
        return make_grader(
            kind,
            {
                "model": "m",
                "back_end": "openai",
                "base_url": "http://localhost:9/v1",
                "structured": "text",
                **parameters,
            },
        )


def grades(project: Project) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT q.text, p.text, rating, defaulted, answer, raw, note FROM grades g"
        " JOIN question_texts q ON q.text_key = question_text_key"
        " JOIN passage_texts p ON p.text_key = passage_text_key ORDER BY ALL"
    )


@pytest.fixture
def made(tmp_path: Path) -> Iterable[Callable[[list[Question]], Project]]:
    projects: list[Project] = []

    def make(questions: list[Question] = QUESTIONS) -> Project:
        projects.append(new_project(tmp_path / f"{len(projects)}.duckdb"))
        fill(projects[-1], questions, {}, RUNS)
        return projects[-1]

    yield make
    for project in projects:
        project.close()


def take(project: Project, grader: Grader, *paths: Path) -> TakenIn:
    return import_answer_files(project, grader, [Source.of(path) for path in paths], "tester")


def test_answers_from_elsewhere_are_the_grades_that_the_endpoint_would_have_given(
    made: Callable[..., Project], tmp_path: Path
) -> None:
    here, there = made(), made()
    with EndpointServer(behave) as server:
        run_job(here, rater(base_url=server.url), Request(), "tester")
    grader = rater()
    assert write_missing(there, grader, tmp_path / "calls.jsonl", 1).calls == 8
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl")
    taken = take(there, grader, answers)
    assert (taken.graded + taken.failed, taken.unanswered, taken.unmatched) == (8, 0, 0)
    assert grades(there) == grades(here) != []
    assert (taken.usage.calls, taken.usage.input_tokens, taken.usage.output_tokens) == (8, 80, 40)
    (job,) = find_jobs(there)
    assert (job.state, job.total, job.done, job.calls) == ("done", 8, taken.graded, 8)


def test_any_order_any_number_of_times_gives_the_same(made: Callable[..., Project], tmp_path: Path) -> None:
    projects = [made(), made()]
    grader = rater()
    write_missing(projects[0], grader, tmp_path / "calls.jsonl", 1)
    lines = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl").read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:3]), ("b", lines[3:6]), ("c", lines[2:])):
        (tmp_path / name).write_text("".join(part))
    for project, order in zip(projects, ("abcab", "cba"), strict=True):
        write_missing(project, grader, tmp_path / "again.jsonl", 1)
        for name in order:
            take(project, grader, tmp_path / name)
    assert grades(projects[0]) == grades(projects[1])
    assert make_plan(projects[0], grader.spec, 1).to_grade == 0
    before = len(find_jobs(projects[0]))
    again = take(projects[0], grader, tmp_path / "answers.jsonl")
    assert (again.graded, again.failed, again.known) == (0, 0, 8)
    assert len(find_jobs(projects[0])) == before


def test_what_expired_is_missing_still_and_what_was_refused_is_failed(
    made: Callable[..., Project], tmp_path: Path
) -> None:
    project, grader = made(), rater()
    write_missing(project, grader, tmp_path / "calls.jsonl", 1)
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl", skip=0)
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    rows[0]["response"] = {"status_code": 400, "body": {"error": {"message": "too long"}}}
    rows[1]["response"] = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = take(project, grader, answers)
    assert (taken.graded, taken.failed, taken.unanswered) == (5, 1, 2)
    planned = make_plan(project, grader.spec, 1)
    assert (planned.known, planned.failed, planned.to_grade) == (5, 1, 2)
    assert "too long" in project.value("SELECT reason FROM failures")
    assert write_missing(project, grader, tmp_path / "rest.jsonl", 1).calls == 2


@pytest.mark.parametrize("most", [70, 1])
def test_a_call_that_was_too_long_is_planned_again_with_a_shorter_passage(
    made: Callable[..., Project], tmp_path: Path, most: int
) -> None:
    project, grader = made(), rater()
    with project.transaction() as cursor:
        add_passages(cursor, [Passage("long", "word " * 120)])
    import_files(project, "runs", [Source("more.run", data=b"q2 Q0 long 1 9 more\n")], "ann")
    said = "This model's maximum context length is 100 tokens. However, your messages resulted in 210 tokens."
    answers: list[Path] = []
    counts = []
    for number in range(4):
        calls = tmp_path / f"{number}.jsonl"
        counts.append(write_missing(project, grader, calls, 1, answers=[Source.of(path) for path in answers]).calls)
        sent = {row["custom_id"]: row["body"]["messages"][-1]["content"] for row in map(json.loads, calls.open())}
        rows = [json.loads(line) for line in engine(calls, tmp_path / f"answers-{number}.jsonl").open()]
        for row in rows:
            if sent[row["custom_id"]].count("word") > most:
                row["response"] = {"status_code": 400, "body": {"error": {"message": said}}}
        answers.append(tmp_path / f"answers-{number}.jsonl")
        answers[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = take(project, grader, *answers)
    # Of 600 characters 300 are kept, then 150; a rest below 80 says nothing.
    fits = most > 1
    assert counts == ([9, 1, 0, 0] if fits else [9, 1, 1, 0])
    assert (taken.graded, taken.failed, taken.unfinished) == ((9, 0, 0) if fits else (8, 1, 0))
    if fits:
        assert [note for *_, text, _, _, _, _, note in grades(project) if text and "word" in text and note] != []
    else:
        assert said[:30] in project.value("SELECT reason FROM failures")


@pytest.mark.parametrize(
    ("response", "times"),
    [
        ({"status_code": 413, "body": {}}, 2),
        ({"status_code": 400, "body": {"error": {"message": "Bad request"}}}, 1),
        ({"status_code": 200, "body": {"error": {"code": 400, "message": "Provider returned error"}}}, 1),
    ],
)
def test_a_refusal_that_does_not_mention_length_is_planned_again_with_a_shorter_passage(
    made: Callable[..., Project], tmp_path: Path, response: dict[str, object], times: int
) -> None:
    project, grader = made(), rater()
    with project.transaction() as cursor:
        add_passages(cursor, [Passage("long", "word " * 400)])
    import_files(project, "runs", [Source("more.run", data=b"q2 Q0 long 1 9 more\n")], "ann")
    answers: list[Path] = []
    for number in range(times + 1):
        calls = tmp_path / f"{number}.jsonl"
        assert write_missing(project, grader, calls, 1, answers=[Source.of(path) for path in answers]).calls
        sent = {row["custom_id"]: row["body"]["messages"][-1]["content"] for row in map(json.loads, calls.open())}
        rows = [json.loads(line) for line in engine(calls, tmp_path / f"answers-{number}.jsonl").open()]
        for row in rows:
            if sent[row["custom_id"]].count("word") > 400 * 0.5 ** (times - 0.5):
                row["response"] = response
        answers.append(tmp_path / f"answers-{number}.jsonl")
        answers[-1].write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = take(project, grader, *answers)
    assert (taken.graded, taken.failed, taken.unfinished) == (9, 0, 0)


def test_a_rate_limit_inside_a_success_is_asked_again(made: Callable[..., Project], tmp_path: Path) -> None:
    project, grader = made(), rater()
    write_missing(project, grader, tmp_path / "calls.jsonl", 1)
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl")
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    rows[0]["response"] = {"status_code": 200, "body": {"error": {"code": 429, "message": "slow down"}}}
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = take(project, grader, answers)
    assert (taken.graded, taken.failed, taken.unanswered) == (7, 0, 1)


def test_a_method_that_asks_twice_is_planned_twice(made: Callable[..., Project], tmp_path: Path) -> None:
    here, there = made(KEYED), made(KEYED)
    with EndpointServer(behave) as server:
        run_job(here, rater("answer", check="model", base_url=server.url), Request(), "tester")
    grader = rater("answer", check="model")
    assert write_missing(there, grader, tmp_path / "1.jsonl", 1).calls == 6
    first = engine(tmp_path / "1.jsonl", tmp_path / "first.jsonl")
    taken = take(there, grader, first)
    assert taken.unfinished == 6 - taken.graded - taken.failed > 0
    rest = write_missing(there, grader, tmp_path / "2.jsonl", 1, answers=[Source.of(first)])
    assert rest.calls == taken.unfinished
    second = engine(tmp_path / "2.jsonl", tmp_path / "second.jsonl")
    assert take(there, grader, second, first).unfinished == 0
    assert grades(there) == grades(here) != []


def test_parquet_goes_out_and_comes_back_with_the_words_alone(made: Callable[..., Project], tmp_path: Path) -> None:
    project, other, grader = made(), made(), rater()
    write_missing(other, grader, tmp_path / "calls.jsonl", 1)
    take(other, grader, engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"))
    assert write_missing(project, grader, tmp_path / "pairs.parquet", 1).calls == 8
    rows = pq.read_table(tmp_path / "pairs.parquet").to_pylist()
    for row in rows:
        row["answer"] = words(json.loads(row["body"])["messages"][-1]["content"])
    pq.write_table(pa.Table.from_pylist(rows[:-1]), tmp_path / "shard.parquet")
    assert take(project, grader, tmp_path / "shard.parquet").graded == 7
    rows[-1] |= {"answer": None, "error": "out of memory"}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "shard.parquet")
    assert take(project, grader, tmp_path / "shard.parquet").failed == 1
    assert set(grades(project)) < set(grades(other))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"custom_id": 3}', "unknown-call"),
        ('{"custom_id": "a.b.c.d", "answer": "4"}', "unknown-call"),
        ('{"custom_id": "000000000000.1.2.0", "answer": "4"}', "unknown-call"),
        ("MINE.99999.99999.0", "unknown-texts"),
        ("[1]", "not-an-object"),
        ("GOOD", ""),
    ],
)
def test_one_bad_row_changes_nothing_and_is_named(
    made: Callable[..., Project], tmp_path: Path, line: str, code: str
) -> None:
    project, grader = made(), rater()
    write_missing(project, grader, tmp_path / "calls.jsonl", 1)
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl")
    if line.startswith("MINE"):
        line = json.dumps({"custom_id": line.replace("MINE", grader.spec.fingerprint[:12]), "answer": "4"})
    if line != "GOOD":
        answers.write_text(answers.read_text() + line + "\n")
        with refusal(code, "answers.jsonl:9", kind=FileError):
            take(project, grader, answers)
        assert grades(project) == [] and find_jobs(project) == []
    else:
        assert take(project, grader, answers).graded == 8


def test_answers_to_what_is_not_asked_are_told_and_kept_out(made: Callable[..., Project], tmp_path: Path) -> None:
    project = made()
    write_missing(project, rater(), tmp_path / "calls.jsonl", 1)
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl")
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    for row in rows:
        row["custom_id"] = row["custom_id"][:-1] + ("0" if row["custom_id"][-1] != "0" else "1")
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taken = take(project, rater(), answers)
    assert (taken.graded, taken.unmatched) == (0, 8)


def test_every_order_of_the_calls_of_a_pair_ends_in_one_grade(made: Callable[..., Project], tmp_path: Path) -> None:
    results = []
    for order in itertools.permutations(("first", "second")):
        project, grader = made(KEYED), rater("answer", check="model")
        write_missing(project, grader, tmp_path / "1.jsonl", 1)
        first = engine(tmp_path / "1.jsonl", tmp_path / "first")
        write_missing(project, grader, tmp_path / "2.jsonl", 1, answers=[Source.of(first)])
        engine(tmp_path / "2.jsonl", tmp_path / "second")
        take(project, grader, *(tmp_path / name for name in order))
        results.append(grades(project))
    assert results[0] == results[1] != []
