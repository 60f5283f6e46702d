"""Differences of Windows that any system can test: file names, errors and functions."""

import ast
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exam_workbench import atomic_files, cli
from exam_workbench.errors import ProjectError
from exam_workbench.exchange import exporting
from exam_workbench.locations import is_reserved
from exam_workbench.operations import serve
from exam_workbench.operations.opening import Opening
from exam_workbench.store import Project
from exam_workbench.store._engine import check_kind, explain_opening_error
from exam_workbench.types import Question
from tests.made.projects import fill
from tests.made.refusals import check_error, refusal

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [ROOT / "app.py", *(ROOT / "core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
UNIX_ONLY = {
    ("os", name)
    for name in ("chown", "fork", "geteuid", "killpg", "mkfifo", "O_CLOEXEC", "O_NONBLOCK", "sysconf", "uname")
} | {("signal", name) for name in ("SIGALRM", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGUSR1", "alarm", "pause")}
IN_USE = (
    'IO Error: Cannot open file "C:\\work\\gold.duckdb": The process cannot access the file because it is being used by'
    " another process.\r\n\r\nFile is already open in \nC:\\Python\\python.exe (PID {})"
)


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("CON", True), ("aux.txt", True), ("nul.tar.gz", True), ("Com1", True), ("lpt9.run", True), ("prn .x", True),
        ("COM²", True), ("console", False), ("com10", False), ("my-aux", False), ("_con", False), ("", False),
    ],
)  # fmt: skip
def test_device_names_are_reserved(name: str, reserved: bool) -> None:
    assert is_reserved(name) is reserved


def test_zipped_runs_have_valid_distinct_names(project: Project) -> None:
    ranking = {"q1": ["p1"]}
    runs = dict.fromkeys(["aux", "_aux", "Nul.v2", "a:b", 'a"b', "../up", "..\\up", "Ünï"], ranking)
    fill(project, [Question("q1/a", "q1", "What is gold?")], {}, runs)
    with zipfile.ZipFile(io.BytesIO(exporting.runs_zip(project))) as archive:
        names = archive.namelist()
        assert archive.read("_up.run") == b"q1 Q0 p1 1 999.0 ../up\n"
    known = ["_Nul.v2", "_aux-2", "_aux", "_up-2", "_up", "a_b-2", "a_b", "Ünï"]
    assert sorted(names) == [f"{name}.run" for name in known]


def test_error_for_project_in_use_names_the_process(tmp_path: Path) -> None:
    error = duckdb.IOException(IN_USE.format(os.getpid()))
    check_error(explain_opening_error(tmp_path / "gold.duckdb", error), "project-in-use", str(os.getpid()))


def test_sharing_violation_is_left_to_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gold.duckdb"
    path.touch()
    denied = PermissionError(13, "Permission denied")

    def refuse(*_: Any, **__: Any) -> None:
        raise denied

    monkeypatch.setattr(Path, "open", refuse)
    with refusal("cannot-read-file", kind=ProjectError):
        check_kind(path)
    denied.winerror = 32  # type: ignore[attr-defined]
    check_kind(path)


def test_backup_of_open_project_is_refused_with_reason(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backups = sys.modules["exam_workbench.store._backups"]
    denied = subprocess.CompletedProcess([], 1, "", "13\n")
    monkeypatch.setattr(backups.subprocess, "run", lambda *_, **__: denied)
    with pytest.raises(PermissionError):
        backups._copy_project(project, tmp_path / "copy.duckdb")
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(ProjectError) as error:
            backups._copy_project(project, tmp_path / "copy.duckdb")
    check_error(error.value, "backup-of-open-file", str(project.path))


def test_file_is_replaced_on_system_without_owners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "chown")
    (tmp_path / "a.txt").write_text("old", encoding="utf-8")
    atomic_files.write_file(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"


def test_redirected_output_is_utf8_for_any_code_page() -> None:
    code = (
        "import click; from exam_workbench import cli; cli.run_command = lambda words: click.echo('Grüße ≥ 金');"
        " raise SystemExit(cli.main())"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment, check=True)
    assert done.stdout.split() == ["Grüße".encode(), "≥".encode(), "金".encode()]


def test_command_expands_file_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "b.run", "a.run", "c.txt":
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    words = ["import", "runs", "*.run", "--note", "what?", "c.txt"]
    assert cli.expand_patterns(words) == ["import", "runs", "a.run", "b.run", "--note", "what?", "c.txt"]


def test_serve_runs_app_as_subprocess_and_returns_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows cannot replace a process; the command waits for the app, also after Ctrl+C."""
    started: list[list[str]] = []
    ignored: list[tuple[object, object]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        started.append(command)
        return subprocess.CompletedProcess(command, 3)

    module = sys.modules["exam_workbench.operations.serve"]
    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(module.signal, "signal", lambda *words: ignored.append(words))
    monkeypatch.chdir(ROOT)
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(SystemExit) as end:
            serve.serve(Opening(), port=8501)
    assert end.value.code == 3 and started[0][-2:] == ["--server.port", "8501"]
    assert ignored == [(module.signal.SIGINT, module.signal.SIG_IGN)]


def test_modules_use_no_unix_only_functions() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), f"{node.value.id}.{node.attr}")
        for path in PROGRAM
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in UNIX_ONLY
    }
    assert found == set()


def test_text_files_are_opened_with_an_encoding() -> None:
    """Windows would otherwise use an old code page."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in PROGRAM
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _opens_text(node)
    ]
    # This module reads /proc/cpuinfo, which only Linux has.
    assert [place for place in found if not place.startswith("core/graders/_local/loading.py")] == []


def _opens_text(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("read_text", "write_text"):
        return not any(word.arg == "encoding" for word in call.keywords) and len(call.args) < 1 + (name[0] == "w")
    modes = [word.value for word in call.args if isinstance(word, ast.Constant) and isinstance(word.value, str)]
    if name != "open" or not isinstance(call.func, ast.Name):
        return False
    return not any("b" in mode for mode in modes[-1:]) and not any(word.arg == "encoding" for word in call.keywords)


def test_repository_file_names_are_valid_on_windows() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone of git")
    files = listed.stdout.decode().split("\0")[:-1]
    bad = [file for file in files if set(file) & set('\\:*?"<>|') or any(map(is_reserved, file.split("/")))]
    assert files and bad == []
    lower = [file.lower() for file in files]
    assert len(lower) == len(set(lower))
