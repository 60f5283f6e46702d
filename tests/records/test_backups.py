"""Backups while people work, kept in number, never over a file; restored with the replaced file kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.errors import InputError, ProjectError, WorkbenchError
from exam_workbench.exchange import check_project, list_publications, publish_qrels, reproduce_qrels
from exam_workbench.labels import Policy
from exam_workbench.records import list_actions
from exam_workbench.store import (
    Project,
    Schedule,
    _backups as backup_schedule,
    back_up_project,
    find_backups,
    find_backups as listed,
    find_schedule,
    keep_backups,
    last_failure,
    list_earlier_copies,
    migrations,
    open_project,
    restore_backup,
    set_backup_schedule,
)
from exam_workbench.store._backups import verify_backup
from exam_workbench.types import Question
from tests.made.fuzz_parquet import A, fill_most
from tests.made.projects import file_of, made_project
from tests.made.refusals import mentions, refusal
from tests.records.test_bad_files import damage


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    made = in_use(tmp_path)
    yield made
    made.close()


def in_use(folder: Path) -> Project:
    """A project that says of itself that it is open, as one does in which somebody works."""
    made_project(folder / "some.duckdb", fill_most).close()
    return open_project(folder / "some.duckdb")


def words(path: Path) -> str:
    project = open_project(path, read_only=True)
    try:
        return bank.list_questions(project, query_id="q1")[0].text
    finally:
        project.close()


OPEN = "import duckdb, sys; duckdb.connect(sys.argv[1]); print('opened')"


def test_a_backup_is_the_project_of_one_moment_and_lets_go_of_no_lock(project: Project) -> None:
    bank.save_version(project, [Question("q1/a", "q1", "In the log?")], "newest", "ann")
    made = back_up_project(project, author="ann")
    assert made.path.parent == project.path.parent / "backups"
    assert [one.name for one in made.path.parent.iterdir()] == [made.path.name]
    assert words(made.path) == "In the log?"
    copy = open_project(made.path)
    assert not copy.not_closed and not any(check_project(copy).values())
    copy.close()
    other = subprocess.run([sys.executable, "-c", OPEN, str(project.path)], capture_output=True, text=True, check=False)
    assert "opened" not in other.stdout and "lock" in other.stderr
    newest = list_actions(project).acts[0]
    assert newest.act == "export backup" and mentions(newest.said, made.path.name)


def test_opening_a_project_once_more_lets_go_of_no_lock(project: Project) -> None:
    assert project.value("SELECT 1") == 1
    open_project(project.path).close()
    other = subprocess.run([sys.executable, "-c", OPEN, str(project.path)], capture_output=True, text=True, check=False)
    assert "opened" not in other.stdout and "lock" in other.stderr


def test_people_write_while_backups_are_made_and_each_holds_what_was_saved_before_it(project: Project) -> None:
    saved, stop = [0], threading.Event()

    def work() -> None:
        while not stop.is_set():
            bank.save_version(project, [Question("q1/a", "q1", f"Wording {saved[0] + 1}?")], "", "ann")
            saved[0] += 1

    worker = threading.Thread(target=work)
    worker.start()
    try:
        found = []
        for _ in range(3):
            before = saved[0]
            found.append((before, back_up_project(project).path))
    finally:
        stop.set()
        worker.join()
    for before, path in found:
        verify_backup(path)
        said = words(path)
        assert before == 0 or int(said.removeprefix("Wording ").rstrip("?")) >= before


def test_names_go_on_in_order_and_only_the_newest_are_kept_although_the_clock_goes_back(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = project.path.parent / "elsewhere"
    folder.mkdir()
    (folder / "notes.duckdb").write_text("not ours")
    tomorrow = folder / f"some-{datetime.now() + timedelta(days=1):%Y%m%d-%H%M%S}.duckdb"
    file_of(fill_most).write(tomorrow)
    first = back_up_project(project, folder, keep=2)
    assert [one.path for one in listed(project.path, folder)] == [first.path, tomorrow]
    second = back_up_project(project, folder, keep=2)
    assert [one.path for one in listed(project.path, folder)] == [second.path, first.path]
    assert (folder / "notes.duckdb").read_text() == "not ours"


def test_a_backup_never_takes_the_place_of_a_file(project: Project) -> None:
    target = project.path.with_name("mine.duckdb")
    assert back_up_project(project, target).path == target
    before = target.read_bytes()
    with refusal("file-exists", "mine.duckdb"):
        back_up_project(project, target)
    with refusal("backups-out-of-range"):
        back_up_project(project, keep=0)
    assert target.read_bytes() == before


def test_what_is_damaged_makes_no_backup_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hurt.duckdb"
    file_of(fill_most).write(path)
    damage(path, "activity", "detail")
    project = open_project(path)
    with refusal("damaged-backup", kind=ProjectError):
        back_up_project(project)
    project.close()
    assert list((tmp_path / "backups").iterdir()) == []


def test_the_restore_drill(tmp_path: Path) -> None:
    """The project is destroyed, its backup restored, and what was published comes out again to the byte."""
    project = in_use(tmp_path)
    published = publish_qrels(project, Policy(grader="test grader", bank_version=1), "ann")
    made = back_up_project(project).path
    project.close()
    damage(project.path, "grades", "rating")
    (hurt := project.path).with_name("some.duckdb.wal").write_bytes(b"of the damaged one")
    before = hurt.read_bytes()
    done = restore_backup(made, hurt, "ann")
    assert done.kept is not None and done.kept.read_bytes() == before
    assert done.kept.with_name(f"{done.kept.name}.wal").read_bytes() == b"of the damaged one"
    project = open_project(hurt)
    assert not any(check_project(project).values())
    (manifest, _) = list_publications(project)
    assert reproduce_qrels(project, manifest, "ann") == published.qrels_bytes
    said = [act.said for act in list_actions(project).acts]
    assert any(mentions(one, made.name) and mentions(one, done.kept.name) for one in said)
    assert [one.path for one in list_earlier_copies(hurt)] == [done.kept]
    project.close()


BAD: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.unlink(), "no-such-file"),
    (lambda path: path.write_bytes(path.read_bytes()[:100_000]), "damaged-project"),
    (lambda path: path.write_text("hello" * 2000), "not-a-project"),
    (lambda path: damage(path, "grades", "rating"), "damaged-backup"),
    (lambda path: path.with_name("b.duckdb.wal").write_bytes(b"x"), "backup-with-log"),
]


@pytest.mark.parametrize(("make", "code"), BAD)
def test_what_is_no_whole_backup_is_not_restored_and_the_project_stays(
    tmp_path: Path, make: Callable[[Path], object], code: str
) -> None:
    path, made = tmp_path / "some.duckdb", tmp_path / "b.duckdb"
    for one in (path, made):
        file_of(fill_most).write(one)
    before = path.read_bytes()
    make(made)
    with refusal(code, kind=WorkbenchError):
        restore_backup(made, path, "ann")
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} <= {"some.duckdb", "b.duckdb", "b.duckdb.wal"}


def test_a_project_that_is_open_is_not_replaced(project: Project) -> None:
    made = back_up_project(project)
    with refusal("project-in-use", kind=ProjectError):
        restore_backup(made.path, project.path, "ann")
    with refusal("invalid-restore-place"):
        restore_backup(made.path, made.path, "ann")


def test_an_older_backup_is_restored_and_upgraded_and_a_newer_one_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = back_up_project(project).path
    project.close()
    odd = ("0999_odd", lambda connection: connection.execute("CREATE TABLE odd (odd INTEGER)"))
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, odd))
        restore_backup(made, project.path, "ann")
        assert {one.why for one in list_earlier_copies(project.path)} == {"before an upgrade", "before a restore"}
        again = open_project(project.path)
        assert again.value("SELECT count(*) FROM odd") == 0
        new = back_up_project(again).path
        again.close()
    with refusal("newer-version", kind=ProjectError):
        restore_backup(new, project.path.with_name("other.duckdb"), "ann")


def test_a_backup_is_due_after_its_hours_whatever_the_clock_does() -> None:
    now = datetime(2026, 1, 2, 12)
    daily = Schedule(24, 3)
    for hours, wanted in ((23, False), (24, True), (-5, True)):
        assert backup_schedule.is_backup_due(daily, now - timedelta(hours=hours), now) is wanted
    assert backup_schedule.is_backup_due(daily, None, now)
    assert not backup_schedule.is_backup_due(Schedule(), None, now)


def test_backups_are_made_by_themselves_while_something_changes_and_a_failure_is_told(project: Project) -> None:
    assert find_schedule(project) == Schedule()
    assert set_backup_schedule(project, Schedule(6, 2), "ann") and not set_backup_schedule(
        project, Schedule(6, 2), "ann"
    )
    keep_backups(project)
    keeping = backup_schedule._keeping[project]
    now = datetime.now()
    assert keeping.look(now) is not None and keeping.look(now) is None
    later = now + timedelta(hours=7)
    assert keeping.look(later) is None, "nothing has changed"
    bank.save_version(project, [Question("q1/a", "q1", "Changed?")], "", "ann")
    assert keeping.look(later) is not None
    bank.save_version(project, [A], "", "ann")
    for one in find_backups(project.path):
        one.path.unlink()
    folder = project.path.parent / "backups"
    folder.rmdir()
    folder.write_text("in the way")
    assert keeping.look(later + timedelta(hours=7)) is None
    assert last_failure(project)
    project.close()
    assert not keeping._thread.is_alive()


@pytest.mark.parametrize(("hours", "keep"), [(-1, 3), (1, 0), (10**6, 3)])
def test_a_schedule_out_of_range_is_refused(hours: int, keep: int) -> None:
    with pytest.raises(InputError):
        Schedule(hours, keep)
