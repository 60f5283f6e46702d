"""Backups, and renaming, removing and restoring projects."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from exam_workbench import bank, records, store
from exam_workbench.bank import put_grader
from exam_workbench.errors import InputError, NotAllowed, ProjectError, WorkbenchError
from exam_workbench.exchange import check_project, list_publications, publish_qrels, reproduce_qrels
from exam_workbench.labels import Policy
from exam_workbench.store import _backups as backup_schedule
from exam_workbench.store._backups import verify_backup
from exam_workbench.types import Question
from tests.made.fuzz_parquet import A, fill_most
from tests.made.projects import SPEC, commit, file_of, made_project
from tests.made.refusals import mentions, refusal
from tests.records.test_bad_files import damage


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXAM_PROJECTS_DIR", str(tmp_path))
    monkeypatch.delenv("EXAM_PROJECT", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a project, a backup and a copy from before a restore; to be copied."""
    path = tmp_path_factory.mktemp("restored") / "some.duckdb"
    made_project(path, fill_most).close()
    with_backup = store.open_project(path)
    made = store.back_up_project(with_backup)
    with_backup.close()
    store.restore_backup(made.path, path, "ann")
    return path.parent


@pytest.fixture
def project(restored: Path, folder: Path) -> store.Project:
    """An open project with a backup and a copy from before a restore."""
    shutil.copytree(restored, folder, dirs_exist_ok=True)
    return store.open_project(folder / "some.duckdb")


def files(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


def texts(path: Path) -> list[str | None]:
    with closing(store.open_project(path, read_only=True)) as project:
        return [one.text for one in bank.list_questions(project)]


def acts(path: Path) -> list[str]:
    with closing(store.open_project(path, read_only=True)) as project:
        return [one.act for one in records.list_actions(project).acts]


def test_removed_project_is_fully_restored(project: store.Project, folder: Path) -> None:
    asked, before = [one.text for one in bank.list_questions(project)], files(folder)
    removed = records.remove_project(project, "ann")
    assert project.closed and not list(folder.glob("*.duckdb*")) and not list(folder.glob("backups/*"))
    assert [one.name for one in records.removed_projects()] == ["some"] and records.removed_projects() == [removed]
    path = records.restore_removed(removed, "bob")
    assert path == folder / "some.duckdb" and texts(path) == asked
    assert files(folder) == before and not records.removed_projects()
    assert acts(path)[:2] == ["restore removed project", "remove project"]
    again = store.open_project(path)
    removed = records.remove_project(again, "ann")
    made_project(folder / "Some.duckdb", fill_most).close()
    before = files(folder)
    with refusal("project-exists"):
        records.restore_removed(removed, "ann")
    assert files(folder) == before


REFUSED_NAMES = [
    ("", "empty-name"), ("../x", "invalid-name"), ("..", "invalid-name"), ("/etc/x", "invalid-name"),
    ("a\\b", "invalid-name"), ("a\x00b", "invalid-name"), ("a\x1b[31mb", "invalid-name"), ("a\nb", "invalid-name"),
    ("a\x7fb", "invalid-name"), ("a\u202eb", "invalid-name"), ("a\ud800b", "invalid-name"), ("nul", "reserved-name"),
    ("x" * 300, "name-too-long"), ("\N{SNOWMAN}" * 70, "name-too-long"), ("some", "project-exists"),
    ("OTHER", "project-exists"),
]  # fmt: skip


def test_refused_move_changes_nothing_and_similar_projects_stay(
    project: store.Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_project(folder / "other.duckdb", fill_most).close()
    before = files(folder)
    for name, code in REFUSED_NAMES:
        with refusal(code):
            records.rename_project(project, name, "ann")
        assert files(folder) == before and not project.closed
    with monkeypatch.context() as start, refusal("project-not-movable"):
        start.setenv("EXAM_PROJECT", str(project.path))
        records.remove_project(project, "ann")
    with monkeypatch.context() as elsewhere, refusal("project-not-movable"):
        elsewhere.setenv("EXAM_PROJECTS_DIR", str(folder / "elsewhere"))
        records.rename_project(project, "new", "ann")
    assert bank.list_questions(project) and not project.closed
    for name in ("some-two", "some.duckdb.before-x", "some.more"):
        near = made_project(folder / f"{name}.duckdb", fill_most)
        store.back_up_project(near)
        near.close()
    others = {name for name in files(folder) if "some-two" in name or "some.duckdb.before-x" in name or "more" in name}
    records.remove_project(project, "ann")
    assert others <= files(folder)


def test_project_with_running_job_or_failing_disk_is_not_moved(
    project: store.Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rename = files(folder), Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "some.duckdb":
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    commit(project, lambda cursor: records.add_job(cursor, "grading", put_grader(cursor, SPEC), {}, 1, "ann"))
    for act in (lambda: records.rename_project(project, "new", "ann"), lambda: records.remove_project(project, "ann")):
        with refusal("job-running", kind=ProjectError):
            act()
    assert before <= files(folder) and not project.closed
    commit(project, "DELETE FROM jobs")
    monkeypatch.setattr(Path, "rename", failing)
    with refusal("cannot-write-file"):
        records.rename_project(project, "new", "ann")
    assert files(folder) == before


def test_renamed_project_keeps_copies_and_backups(project: store.Project, folder: Path) -> None:
    asked, before = [one.text for one in bank.list_questions(project)], files(folder)
    path = records.rename_project(project, " our track ", "ann")
    assert path == folder / "our-track.duckdb" and project.closed
    assert files(folder) == {name.replace("some", "our-track") for name in before}
    assert texts(path) == asked
    assert len(store.find_backups(path)) == len(store.list_earlier_copies(path)) == 1
    assert acts(path)[0] == "rename project"


def test_only_organizers_rename_remove_and_restore(project: store.Project, folder: Path) -> None:
    records.set_member(project, "olga@x.org", "organizer", "ann")
    records.set_member(project, "eve@x.org", "assessor", "ann")
    eve, olga = project.acting_as("eve@x.org"), project.acting_as("olga@x.org")
    for act in (lambda: records.rename_project(eve, "new", "eve"), lambda: records.remove_project(eve, "eve")):
        with refusal("role-needed", kind=NotAllowed):
            act()
    removed = records.remove_project(olga, "olga")
    with refusal("role-needed", kind=NotAllowed):
        records.restore_removed(removed, "eve", "eve@x.org")
    with refusal("no-role", kind=NotAllowed):
        records.restore_removed(removed, "x", "x@x.org")
    assert records.restore_removed(removed, "olga", "olga@x.org").exists()


def test_open_cursor_delays_removal(project: store.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.store._database.LAST_WRITE", 0.01)
    with project.cursor(), refusal("project-busy", kind=ProjectError):
        records.remove_project(project, "ann")
    assert bank.list_questions(project)
    records.remove_project(project, "ann")
    with refusal("project-closed", kind=ProjectError), project.cursor():
        pass


@pytest.fixture
def used(tmp_path: Path) -> store.Project:
    """An open project, as in daily use."""
    file_of(fill_most).write(tmp_path / "some.duckdb")
    return store.open_project(tmp_path / "some.duckdb")


def test_backup_is_a_snapshot_and_keeps_the_lock(used: store.Project) -> None:
    bank.save_version(used, [Question("q1/a", "q1", "In the log?")], "newest", "ann")
    made = store.back_up_project(used, author="ann")
    assert made.path.parent == used.path.parent / "backups"
    assert [one.name for one in made.path.parent.iterdir()] == [made.path.name]
    assert texts(made.path)[0] == "In the log?"
    copy = store.open_project(made.path)
    assert not copy.not_closed and not any(check_project(copy).values())
    copy.close()

    def check_lock() -> None:
        opens = [sys.executable, "-c", "import duckdb, sys; duckdb.connect(sys.argv[1]); print('opened')"]
        other = subprocess.run([*opens, str(used.path)], capture_output=True, text=True, check=False)
        assert other.stdout == "" and "lock" in other.stderr

    check_lock()
    newest = records.list_actions(used).acts[0]
    assert newest.act == "export backup" and mentions(newest.said, made.path.name)
    assert used.value("SELECT 1") == 1
    store.open_project(used.path).close()
    check_lock()
    target = used.path.with_name("mine.duckdb")
    assert store.back_up_project(used, target).path == target
    before = target.read_bytes()
    with refusal("file-exists", "mine.duckdb"):
        store.back_up_project(used, target)
    with refusal("backups-out-of-range"):
        store.back_up_project(used, keep=0)
    assert target.read_bytes() == before


def test_backups_during_writes_hold_all_earlier_saves(used: store.Project) -> None:
    saved, stop = [0], threading.Event()

    def work() -> None:
        while not stop.is_set():
            bank.save_version(used, [Question("q1/a", "q1", f"Wording {saved[0] + 1}?")], "", "ann")
            saved[0] += 1

    with ThreadPoolExecutor(1) as worker:
        worker.submit(work)
        try:
            found = [(saved[0], store.back_up_project(used).path) for _ in range(3)]
        finally:
            stop.set()
    for before, path in found:
        verify_backup(path)
        said = str(texts(path)[0])
        assert before == 0 or int(said.removeprefix("Wording ").rstrip("?")) >= before


def test_damaged_project_makes_no_backup_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "hurt.duckdb"
    file_of(fill_most).write(path)
    damage(path, "activity", "detail")
    project = store.open_project(path)
    with refusal("damaged-backup", kind=ProjectError):
        store.back_up_project(project)
    project.close()
    assert list((tmp_path / "backups").iterdir()) == []


def test_restored_backup_reproduces_publications(used: store.Project) -> None:
    project = used
    published = publish_qrels(project, Policy(grader="test grader", bank_version=1), "ann")
    made = store.back_up_project(project).path
    project.close()
    damage(project.path, "grades", "rating")
    (hurt := project.path).with_name("some.duckdb.wal").write_bytes(b"of the damaged one")
    before = hurt.read_bytes()
    done = store.restore_backup(made, hurt, "ann")
    assert done.kept is not None and done.kept.read_bytes() == before
    assert done.kept.with_name(f"{done.kept.name}.wal").read_bytes() == b"of the damaged one"
    project = store.open_project(hurt)
    assert not any(check_project(project).values())
    (manifest, _) = list_publications(project)
    assert reproduce_qrels(project, manifest, "ann") == published.qrels_bytes
    said = [act.said for act in records.list_actions(project).acts]
    assert any(mentions(one, made.name) and mentions(one, done.kept.name) for one in said)
    assert [one.path for one in store.list_earlier_copies(hurt)] == [done.kept]


BAD: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.unlink(), "no-such-file"),
    (lambda path: path.write_bytes(path.read_bytes()[:100_000]), "damaged-project"),
    (lambda path: path.write_text("hello" * 2000), "not-a-project"),
    (lambda path: damage(path, "grades", "rating"), "damaged-backup"),
    (lambda path: path.with_name("b.duckdb.wal").write_bytes(b"x"), "backup-with-log"),
]


@pytest.mark.parametrize(("make", "code"), BAD)
def test_bad_backup_is_not_restored(tmp_path: Path, make: Callable[[Path], object], code: str) -> None:
    path, made = tmp_path / "some.duckdb", tmp_path / "b.duckdb"
    for one in (path, made):
        file_of(fill_most).write(one)
    before = path.read_bytes()
    make(made)
    with refusal(code, kind=WorkbenchError):
        store.restore_backup(made, path, "ann")
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} <= {"some.duckdb", "b.duckdb", "b.duckdb.wal"}


def test_old_backups_are_deleted_and_open_project_is_not_replaced(
    used: store.Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = store.back_up_project(used)
    with refusal("project-in-use", kind=ProjectError):
        store.restore_backup(made.path, used.path, "ann")
    with refusal("invalid-restore-place"):
        store.restore_backup(made.path, made.path, "ann")
    folder = used.path.parent / "elsewhere"
    folder.mkdir()
    (folder / "notes.duckdb").write_text("not ours")
    tomorrow = folder / f"some-{datetime.now() + timedelta(days=1):%Y%m%d-%H%M%S}.duckdb"
    file_of(fill_most).write(tomorrow)
    first = store.back_up_project(used, folder, keep=2)
    assert [one.path for one in store.find_backups(used.path, folder)] == [first.path, tomorrow]
    second = store.back_up_project(used, folder, keep=2)
    assert [one.path for one in store.find_backups(used.path, folder)] == [second.path, first.path]
    assert (folder / "notes.duckdb").read_text() == "not ours"


def test_older_backup_is_upgraded_and_newer_refused(used: store.Project, monkeypatch: pytest.MonkeyPatch) -> None:
    made = store.back_up_project(used).path
    used.close()
    odd = ("0999_odd", lambda connection: connection.execute("CREATE TABLE odd (odd INTEGER)"))
    with monkeypatch.context() as newer:
        newer.setattr(store.migrations, "MIGRATIONS", (*store.migrations.MIGRATIONS, odd))
        store.restore_backup(made, used.path, "ann")
        assert {one.why for one in store.list_earlier_copies(used.path)} == {"before an upgrade", "before a restore"}
        again = store.open_project(used.path)
        assert again.value("SELECT count(*) FROM odd") == 0
        new = store.back_up_project(again).path
        again.close()
    with refusal("newer-version", kind=ProjectError):
        store.restore_backup(new, used.path.with_name("other.duckdb"), "ann")


def test_backup_is_due_even_if_clock_is_set_back() -> None:
    now = datetime(2026, 1, 2, 12)
    daily = store.Schedule(24, 3)
    for hours, wanted in ((23, False), (24, True), (-5, True)):
        assert backup_schedule.is_backup_due(daily, now - timedelta(hours=hours), now) is wanted
    assert backup_schedule.is_backup_due(daily, None, now)
    assert not backup_schedule.is_backup_due(store.Schedule(), None, now)
    for hours, keep in ((-1, 3), (1, 0), (10**6, 3)):
        with pytest.raises(InputError):
            store.Schedule(hours, keep)


def test_scheduled_backups_follow_changes_and_failures_are_reported(used: store.Project) -> None:
    assert store.find_schedule(used) == store.Schedule()
    assert store.set_backup_schedule(used, store.Schedule(6, 2), "ann") and not store.set_backup_schedule(
        used, store.Schedule(6, 2), "ann"
    )
    store.keep_backups(used)
    keeping = backup_schedule._keeping[used]
    now = datetime.now()
    assert keeping.back_up_if_due(now) is not None and keeping.back_up_if_due(now) is None
    later = now + timedelta(hours=7)
    assert keeping.back_up_if_due(later) is None, "nothing has changed"
    bank.save_version(used, [Question("q1/a", "q1", "Changed?")], "", "ann")
    assert keeping.back_up_if_due(later) is not None
    bank.save_version(used, [A], "", "ann")
    for one in store.find_backups(used.path):
        one.path.unlink()
    folder = used.path.parent / "backups"
    folder.rmdir()
    folder.write_text("in the way")
    assert keeping.back_up_if_due(later + timedelta(hours=7)) is None
    assert store.last_failure(used)
    used.close()
    assert not keeping._thread.is_alive()
