"""When the engine refuses all further work the project is opened again, and nobody's committed work is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from exam_workbench import bank
from exam_workbench.errors import EngineError, ProjectError
from exam_workbench.graders import Control, Outcome, Pair
from exam_workbench.grading import Request, run_job
from exam_workbench.jobs import Progress, find_jobs
from exam_workbench.records import end_job
from exam_workbench.store import Cursor, Project, _database as database, open_project
from exam_workbench.types import Asked, Grade, GraderSpec, Question
from tests.made.engine_failure import break_database, give_up, give_up_at_commit
from tests.made.projects import fill, new_project
from tests.made.refusals import refusal

QUESTIONS = [Question("q1/a", "q1", "A?"), Question("q1/b", "q1", "B?")]
PASSAGES = [f"p{i}" for i in range(6)]


@pytest.fixture
def filled(project: Project) -> Project:
    fill(project, QUESTIONS, {("A?", "p0"): 4}, {"one": {"q1": PASSAGES}})
    return project


def test_the_engine_is_made_to_refuse_everything(filled: Project):
    break_database(filled)
    with pytest.raises(duckdb.FatalException, match="invalidated"):
        filled._database._connection.execute("SELECT 1")


def test_after_the_engine_gave_up_all_that_was_committed_is_there_and_work_goes_on(filled: Project):
    break_database(filled)
    assert [question.text for question in bank.list_questions(filled)] == ["A?", "B?"]
    assert filled.value("SELECT rating FROM grades") == 4
    bank.save_version(filled, [Question("q1/c", "q1", "C?")], "after it", "ann")
    assert [version.note for version in bank.list_versions(filled)] == ["after it", "made for a test"]
    assert ["checkpoint" in one.reason for one in filled.reopenings] == [True]
    filled.close()
    again = open_project(filled.path)
    assert [question.text for question in bank.list_questions(again)] == ["A?", "B?", "C?"]
    again.close()


def test_what_only_reads_is_repeated_where_it_was_hit(filled: Project):
    tries: list[int] = []

    def work(cursor: Cursor) -> int:
        tries.append(1)
        if len(tries) == 1:
            give_up(cursor)
        return int(cursor.execute("SELECT count(*) FROM grades").fetchall()[0][0])

    assert filled.read(work) == 1
    assert len(tries) == 2


def test_a_question_at_which_the_engine_gives_up_every_time_is_an_error_with_a_next_step_and_others_go_on(
    filled: Project,
):
    with refusal("database-failed", kind=EngineError):
        filled.read(give_up)
    assert filled.value("SELECT rating FROM grades") == 4


def test_a_change_that_was_hit_is_undone_and_that_is_said(filled: Project):
    with (
        refusal("change-not-saved", kind=EngineError),
        filled.transaction() as cursor,
    ):
        cursor.execute("DELETE FROM grades")
        # Somebody else's work, at which the engine gives up.
        break_database(filled)
        filled.rows("SELECT 1")
    assert filled.value("SELECT count(*) FROM grades") == 1


def test_a_change_at_whose_very_end_the_engine_gave_up_says_that_it_may_be_there(filled: Project):
    with (
        refusal("change-in-doubt", kind=EngineError),
        filled.transaction() as cursor,
    ):
        cursor.execute("INSERT INTO settings VALUES ('a', '1')")
        give_up_at_commit(cursor)
    assert filled.value("SELECT value FROM settings WHERE name = 'a'") == "1"


def test_a_block_that_is_under_way_in_another_thread_ends_before_the_file_is_opened_again(filled: Project):
    inside, broken = threading.Event(), threading.Event()
    seen: list[object] = []

    def other() -> None:
        def work(cursor: Cursor) -> int:
            first = not inside.is_set()
            inside.set()
            if first:
                assert broken.wait(60)
            return len(cursor.execute("FROM grades").fetchall())

        seen.append(filled.read(work))

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(60)
    break_database(filled)
    broken.set()
    assert filled.value("SELECT count(*) FROM grades") == 1
    thread.join(60)
    assert seen == [1]
    assert len(filled.reopenings) == 1


class OneByOne:
    """A grader that gives a grade at a time, and lets the engine give up before the third."""

    def __init__(self, project: Project) -> None:
        self.spec = GraderSpec("one by one", "self-rating", "another model")
        self.project = project

    def grade(
        self,
        questions: Mapping[int, Asked],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control | None = None,
    ) -> Iterator[list[Outcome]]:
        for number, (question, passage) in enumerate(pairs):
            if number == 2:
                break_database(self.project)
            yield [(question, passage, Grade(3, "graded"))]


def test_a_job_goes_on_and_every_grade_is_kept_once(filled: Project, monkeypatch: pytest.MonkeyPatch):
    reported: list[Progress] = []
    monkeypatch.setattr("exam_workbench.jobs._job_run.COMMIT_SECONDS", 0.0)
    final = run_job(filled, OneByOne(filled), Request(), "ann", reported.append)
    assert (final.state, final.graded, final.failed) == ("done", 12, 0)
    assert len(reported) > 3
    assert filled.value("SELECT count(*) FROM grades") == 1 + 12
    assert [(job.state, job.done) for job in find_jobs(filled)] == [("done", 12)]
    assert len(filled.reopenings) == 1


def test_grades_that_were_committed_after_all_are_not_counted_twice(filled: Project):
    class Hit(OneByOne):
        def grade(self, *arguments: object, **more: object) -> Iterator[list[Outcome]]:
            pairs = arguments[2]
            assert isinstance(pairs, Sequence)
            filled.read(give_up_at_commit)
            yield [(question, passage, Grade(None, "failed", reason="odd")) for question, passage in pairs]

    final = run_job(filled, Hit(filled), Request(), "ann")
    assert (final.state, final.failed) == ("done", 12)
    assert filled.value("SELECT count(*) FROM failures") == 12
    assert [(job.state, job.failed) for job in find_jobs(filled)] == [("done", 12)]


def test_the_end_of_a_job_that_is_on_record_is_not_recorded_again(filled: Project):
    final = run_job(filled, OneByOne(filled), Request(), "ann")
    (job,) = find_jobs(filled)
    with filled.transaction() as cursor:
        assert not end_job(cursor, job.key, "failed", "once more")
    assert [(one.state, one.ended_at) for one in find_jobs(filled)] == [(final.state, job.ended_at)]


def test_where_the_file_cannot_be_opened_again_that_is_said_and_tried_again_later(
    filled: Project, monkeypatch: pytest.MonkeyPatch
):
    def refuse(path: Path, read_only: bool = False) -> Cursor:
        raise ProjectError("project-in-use", f"{path} is open in another process.")

    break_database(filled)
    with monkeypatch.context() as patched:
        patched.setattr(database, "open_connection", refuse)
        with refusal("project-in-use", kind=ProjectError):
            filled.rows("SELECT 1")
    assert filled.value("SELECT rating FROM grades") == 4


def test_a_project_that_is_only_read_is_opened_again_too(tmp_path: Path):
    new_project(tmp_path / "read.duckdb").close()
    project = open_project(tmp_path / "read.duckdb", read_only=True)
    tries: list[int] = []

    def work(cursor: Cursor) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise duckdb.InternalException("INTERNAL Error: odd")
        return len(tries)

    assert project.read(work) == 2
    assert [one.reason for one in project.reopenings] == ["INTERNAL Error: odd"]
    project.close()
