"""Atomic and private file writes, and removal of the leftovers of killed processes."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from exam_workbench import atomic_files
from exam_workbench.errors import InputError, ProjectError
from tests.made.fuzz_parquet import fill_most
from tests.made.projects import file_of
from tests.made.refusals import refusal

ROOT = Path(__file__).resolve().parents[1]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_file_is_replaced_whole_or_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "out.qrels"
    atomic_files.write_file(path, b"first")
    path.chmod(0o640)
    for error in (OSError(errno.ENOSPC, "full"), OSError(errno.EDQUOT, "full"), OSError(errno.EFBIG, "full")):
        with refusal("disk-full", str(tmp_path), kind=ProjectError), atomic_files.replace_file(path) as made:
            made.write_bytes(b"half of the sec")
            raise error
    with pytest.raises(InputError), atomic_files.replace_file(path) as made:
        raise OSError(errno.EIO, "broken")
    with pytest.raises(ValueError), atomic_files.replace_file(path) as made:
        made.write_bytes(b"half of the sec")
        raise ValueError
    assert (path.read_bytes(), mode(path)) == (b"first", 0o640)
    atomic_files.write_file(path, b"second")
    assert (path.read_bytes(), mode(path)) == (b"second", 0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    atomic_files.write_file(link, b"third")
    assert link.is_symlink() and path.read_bytes() == b"third"
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "new")
    atomic_files.write_file(dangling, b"fourth")
    assert dangling.is_symlink() and (tmp_path / "new").read_bytes() == b"fourth"
    assert {one.name for one in tmp_path.iterdir()} == {"out.qrels", "link", "dangling", "new"}


def test_unwritable_paths_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "out", tmp_path / ("n" * 300), Path("/proc/none")):
        with pytest.raises(InputError):
            atomic_files.write_file(path, b"x")
    assert list(tmp_path.iterdir()) == []


def test_file_in_unwritable_folder_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"first")
    number = path.stat().st_ino
    allowed = os.access
    monkeypatch.setattr(atomic_files.os, "access", lambda at, want: Path(at) != tmp_path and allowed(at, want))
    atomic_files.write_file(path, b"second")
    assert (path.read_bytes(), path.stat().st_ino) == (b"second", number)


def test_pipes_and_standard_output_receive_content(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = list[bytes]()
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    atomic_files.write_file(pipe, b"through the pipe")
    reader.join()
    assert read == [b"through the pipe"] and pipe.is_fifo()
    write = (
        "from pathlib import Path; from exam_workbench.atomic_files import write_file; "
        "write_file(Path('/dev/stdout'), b'out')"
    )
    for target in (subprocess.PIPE, (tmp_path / "shown").open("wb")):
        done = subprocess.run([sys.executable, "-c", write], stdout=target, cwd=ROOT, check=True)
        assert (done.stdout or (tmp_path / "shown").read_bytes()) == b"out"
        if target is not subprocess.PIPE:
            target.close()  # type: ignore[union-attr]


def test_put_new_never_overwrites_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, path = tmp_path / "made", tmp_path / "taken"
    made.write_bytes(b"made")
    path.write_bytes(b"theirs")

    def no_links(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no links")

    for with_links in (True, False):
        with monkeypatch.context() as disk:
            if not with_links:
                disk.setattr(atomic_files.os, "link", no_links)
            assert not atomic_files.put_new(made, path) and path.read_bytes() == b"theirs"
            assert atomic_files.put_new(made, tmp_path / f"free-{with_links}")
    assert (tmp_path / "free-False").read_bytes() == b"made" and not made.exists()


def test_created_file_never_replaces_another(tmp_path: Path) -> None:
    path, broken, taken = tmp_path / "new" / "file", tmp_path / "broken", InputError("taken", "Taken.")
    broken.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError), atomic_files.create_file(broken, taken):
        raise AssertionError("the path is taken")
    with pytest.raises(InputError), atomic_files.create_file(path, taken) as made:
        made.write_bytes(b"ours")
        path.write_bytes(b"theirs")
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"theirs"]


HOLD = """
import sys, time
from pathlib import Path
from exam_workbench.atomic_files import WorkingFolder
folder = WorkingFolder(Path(sys.argv[1]))
(folder.path / "texts").write_text("secret")
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_cleanup_removes_folders_of_ended_processes_and_keeps_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine").write_text("mine")
    place = tmp_path / "place"
    place.mkdir()
    (place / f"{atomic_files.PREFIX}link").symlink_to(outside)
    (place / f"{atomic_files.PREFIX}file").write_text("a file")
    begin = [sys.executable, "-c", HOLD, str(place)]
    process = subprocess.Popen(begin, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None and process.stdin is not None
    made = Path(process.stdout.readline().strip())
    inner = made / "link"
    inner.symlink_to(outside)
    assert mode(made) == 0o700
    atomic_files.remove_leftovers(place)
    with atomic_files.WorkingFolder(place) as own:
        atomic_files.remove_leftovers(place)
        assert made.exists() and own.exists(), "both are in use"
    assert not own.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    process.stdin.close()
    with atomic_files.WorkingFolder(place):
        assert not made.exists(), "a new working folder removes leftovers"
    assert {one.name for one in place.iterdir()} == {f"{atomic_files.PREFIX}link", f"{atomic_files.PREFIX}file"}
    assert (outside / "mine").read_text() == "mine"


def test_working_folder_retries_locking_and_works_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, refused = atomic_files._lock_folder, [BlockingIOError(), FileNotFoundError()]

    def taken(folder: Path) -> int:
        if refused and folder.parent == tmp_path:
            raise refused.pop()
        return lock(folder)

    monkeypatch.setattr(atomic_files, "_lock_folder", taken)
    with atomic_files.WorkingFolder(tmp_path) as folder:
        assert folder.is_dir() and refused == []

    def none(folder: Path) -> int:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(atomic_files, "_lock_folder", none)
    with atomic_files.WorkingFolder(tmp_path) as folder:
        atomic_files.remove_leftovers(tmp_path)
        assert folder.is_dir()
    assert not folder.exists()


MODES = """
import os, sys
from pathlib import Path
os.umask(0o022)
from exam_workbench.cli import main
def exam(*words):
    sys.argv = ["exam", *words]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, words
os.environ["EXAM_PROJECT"] = "some.duckdb"
exam("init", "--project", "new/project.duckdb")
exam("bank", "edit", "q1/a", "--text", "Reworded?", "--note", "x")
exam("backup")
exam("export", "bank", "-o", "bank.jsonl")
exam("export", "project", "-o", "out/project")
exam("restore", str(next(Path("backups").iterdir())), "--project", "back.duckdb")
from exam_workbench.store import open_project, Project
from exam_workbench.atomic_files import WorkingFolder
project = open_project(Path("some.duckdb"))
with project.transaction() as cursor:
    cursor.execute("UPDATE queries SET text = text || '!'")
print(oct(os.stat("some.duckdb.wal").st_mode & 0o777))
for name in ("new/project.duckdb", next(Path("backups").iterdir()), "back.duckdb"):
    print(oct(os.stat(name).st_mode & 0o777))
for name in ("bank.jsonl", "out", "out/project", "out/project/manifest.json", "out/project/queries.parquet"):
    print(oct(os.stat(name).st_mode & 0o777))
project.close()
"""


@pytest.mark.parametrize(("group", "private"), [("", "0o600"), ("1", "0o660")])
def test_projects_and_backups_are_private_and_exports_follow_the_umask(
    tmp_path: Path, group: str, private: str
) -> None:
    file_of(fill_most).write(tmp_path / "some.duckdb")
    env = {**os.environ, "EXAM_GROUP_FILES": group, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", MODES], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stdout.splitlines() if line.startswith("0o")]
    assert found == [private] * 4 + ["0o644", "0o755", "0o755", "0o644", "0o644"]


def test_moved_and_new_folders_follow_the_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic_files, "_umask", 0o027)
    with atomic_files.WorkingFolder(tmp_path) as working:
        (working / "made" / "inner").mkdir(parents=True)
        (working / "made" / "inner" / "file").write_text("x")
        atomic_files.move_into_place(working / "made", tmp_path / "out")
    atomic_files.make_folder(tmp_path / "one" / "two")
    modes = [mode(tmp_path / name) for name in ("out", "out/inner", "out/inner/file", "one", "one/two")]
    assert modes == [0o750, 0o750, 0o640, 0o750, 0o750]


WRITES = re.compile(r"\btempfile\b|\.write_(?:bytes|text)\(|\bos\.(?:replace|rename|link)\(|\bshutil\.(?:copy|move)")
ELSEWHERE = {
    # In a temporary folder.
    "core/autojudge.py": 2,
    # Within a working folder or `replace_file`, or the complete copy that another process writes there.
    "core/operations/console.py": 1,
    "core/exchange/_parquet.py": 3,
    # Standard input, before it is sent.
    "core/cli/through.py": 3,
    "core/store/_backups.py": 2,
    "core/store/_opening.py": 2,
    "core/server/_api_requests.py": 1,
}


def test_direct_file_writes_are_limited_to_known_modules() -> None:
    found = {}
    for folder in ("core", "pages"):
        for file in (ROOT / folder).rglob("*.py"):
            if (times := len(WRITES.findall(file.read_text()))) and file.name != "atomic_files.py":
                found[str(file.relative_to(ROOT))] = times
    assert found == ELSEWHERE
