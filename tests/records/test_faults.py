"""Faults on the real thing: an upgrade that fails half-way, a clock that goes back, a disk that is full."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from exam_workbench import bank
from exam_workbench.audit import Goal, design_audit, draw_batch, list_audit_assessors
from exam_workbench.bank import put_draft, save_drafts
from exam_workbench.errors import ProjectError
from exam_workbench.exchange import check_project, list_publications, publish_qrels, reproduce_qrels
from exam_workbench.graders import Control, Outcome, Pair
from exam_workbench.grading import Request, run_job
from exam_workbench.jobs import find_jobs
from exam_workbench.labels import Policy, add_override
from exam_workbench.records import find_token, find_tokens, list_actions, make_token
from exam_workbench.store import Project, migrations, open_project
from exam_workbench.types import Asked, Grade, GraderSpec
from tests.made.audits import deal, fill_audited
from tests.made.fuzz_parquet import A, fill_most
from tests.made.projects import file_of, made_project
from tests.made.refusals import refusal


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = made_project(tmp_path / "some.duckdb", fill_most)
    yield made
    made.close()


def breaks(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE half (way INTEGER)")
    connection.execute("DELETE FROM grades")
    connection.execute("INSERT INTO nowhere VALUES (1)")


def test_an_upgrade_that_fails_half_way_leaves_everything_and_names_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.duckdb"
    file_of(fill_most).write(path)
    before = path.read_bytes()
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("0999_breaks", breaks)))
        for copy in ("old.duckdb.before-0999_breaks", "old.duckdb.before-0999_breaks-2"):
            with refusal("upgrade-failed", str(copy), kind=ProjectError):
                open_project(path)
            assert path.with_name(copy).read_bytes() == before
    project = open_project(path)
    assert not any(check_project(project).values())
    assert project.value("SELECT count(*) FROM grades") == 3
    project.close()


LATER = (
    "UPDATE activity SET happened_at = happened_at + INTERVAL 2 DAY; UPDATE bank_versions SET saved_at = saved_at +"
    " INTERVAL 2 DAY; UPDATE overrides SET made_at = made_at + INTERVAL 2 DAY; UPDATE publications SET published_at ="
    " published_at + INTERVAL 2 DAY"
)


def test_a_clock_that_was_put_back_changes_no_order_and_nothing_that_counts(project: Project) -> None:
    with project.transaction() as cursor:
        # What was done so far was done under a clock that was two days ahead of the one from here on.
        for statement in LATER.split(";"):
            cursor.execute(statement)
    put_draft(project, "ann", replace(A, text="Said after it?"))
    save_drafts(project, "ann", "after it")
    assert [version.version for version in bank.list_versions(project)] == [3, 2, 1]
    assert bank.list_questions(project, query_id="q1")[0].text == "Said after it?"
    add_override(project, "q1/a", "p1", 0, "after it", "bob")
    counts = "SELECT rating FROM current_overrides JOIN question_texts ON text_key = question_text_key WHERE text = ?"
    assert project.rows(counts, ["Said after it?"]) == [(0,)]
    final = run_job(project, Threes(), Request(), "ann")
    assert final.state == "done" and final.seconds >= 0
    assert find_jobs(project)[0].state == "done"
    publish_qrels(project, Policy(), "ann", note="after it")
    newest, oldest = list_publications(project)
    assert newest["note"] == "after it" and reproduce_qrels(project, oldest, "ann")
    assert [act.act for act in list_actions(project).acts[:2]] == ["reproduce qrels", "publish qrels"]
    assert not any(check_project(project).values())


def test_after_the_clock_was_put_back_tokens_are_seen_in_use_and_no_query_stays_held(tmp_path: Path) -> None:
    """What was used or held under a clock two days ahead is neither in use nor held for two days more."""
    project = made_project(tmp_path / "audited.duckdb", fill_audited)
    audit = design_audit(project, "a", "P@3", Goal("best"), batch_size=12, seed=3, author="org")
    draw_batch(project, audit, "org")
    text = make_token(project, "robot", "viewer", "ann")
    assert find_token(project, text) and deal(project, audit, "ann")
    held = [one.name for one in list_audit_assessors(project, audit) if one.query_id]
    with project.transaction() as cursor:
        cursor.execute("UPDATE tokens SET used_at = used_at + INTERVAL 2 DAY")
        cursor.execute(
            "UPDATE audit_claims SET claimed_at = claimed_at + INTERVAL 2 DAY, until = until + INTERVAL 2 DAY"
        )
    assert find_token(project, text)
    (token,) = find_tokens(project)
    assert token.used_at is not None and token.used_at < datetime.now() + timedelta(hours=1)
    assert held == ["ann"] and not [one for one in list_audit_assessors(project, audit) if one.query_id]
    dealt = {deal(project, audit, name).query.query_id for name in ("bob", "cara")}  # type: ignore[union-attr]
    assert len(dealt) == 2
    project.close()


class Threes:
    """Gives every pair the rating 3, one at a time."""

    spec = GraderSpec("threes", "self-rating", "threes")

    def grade(
        self,
        questions: Mapping[int, Asked],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control | None = None,
    ) -> Iterator[list[Outcome]]:
        for question, passage in pairs:
            yield [(question, passage, Grade(3, "graded"))]


FULL = """
import resource, sys
from pathlib import Path
from exam_workbench.errors import WorkbenchError
from exam_workbench.store import back_up_project, open_project

project = open_project(Path(sys.argv[1]))
# No file may grow beyond this: what a full disk says, but with a reason of its own.
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    print(back_up_project(project).path)
except WorkbenchError as error:
    print(error.code)
grades = project.value("SELECT count(*) FROM grades")
project.close()
print(grades, list(Path(sys.argv[1]).parent.rglob(".exam-work-*")))
"""


def test_where_the_disk_is_full_a_backup_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    file_of(fill_most).write(path)
    before = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    said, then = done.stdout.splitlines()
    assert said == "disk-full"
    assert then == "3 []"
    assert path.read_bytes() == before
