"""Limits on imported files: size, memory, special files and concurrent use."""

from __future__ import annotations

import csv
import gzip
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.errors import FileError
from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source, _source as source, read_small
from exam_workbench.formats._source import parse_json
from exam_workbench.limits import LIMITS, read_limit
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, new_project
from tests.made.refusals import refusal

ROOT = Path(__file__).resolve().parents[2]


SENTENCES = {
    ("FILE", "passages"): b"p1\ttext\n" * 3,
    ("EXPANDED", "passages"): gzip.compress(b"p1\ttext\n" * 3),
    ("MEMBERS", "passages"): b"".join(gzip.compress(b"p%d\ttext\n" % n) for n in range(12)),
    ("WHOLE", "queries"): b"q1\ttext\nq2\ttext\n",
    ("WHOLE_LINES", "queries"): b"".join(b"q%d\ttext\n" % n for n in range(20)),
    ("LINES", "passages"): b"".join(b"p%d\ttext\n" % n for n in range(20)),
    ("BLANK_LINES", "passages"): b"p1\ttext\n" + b"\n \n" * 10,
    ("REFUSED_LINES", "passages"): b"p1\ttext\n" + b"x\n" * 20,
    ("LINE", "passages"): b"p1\ta longer text\n",
    ("TREC_LINE", "qrels"): b"q1 0 a-passage 1\n",
    ("GRADED_LINE", "graded"): b'["q1", [{"paragraph_id": "p1", "text": "t"}]]\n',
    ("CELLS", "queries"): b"q1" + b"\ta" * 30 + b"\n",
    ("CELL", "bank"): b"query_id,text\nq1,a longer question\n",
    ("VALUES", "graded"): b'["q1", [' + b"{}," * 20 + b"{}]]\n",
    ("DEPTH", "passages"): b'{"passage_id": "p1", "text": "t", "more": ' + b"[" * 20 + b"]" * 20 + b"}\n",
    ("DEPTH", "graded"): b'["q1", [{"paragraph_id": "p1", "text": "t", "exam_grades": [{"llm": "m", "llm_options": '
    + b"[" * 20
    + b"]" * 20
    + b', "correctAnswered": ["a"], "wrongAnswered": []}]}]]\n',
    ("SYSTEMS", "runs"): b"".join(b"q1 Q0 p1 1 1 tag%d\n" % n for n in range(20)),
    ("IDS", "runs"): b"".join(b"q%d Q0 p1 1 1 tag\n" % n for n in range(20)),
    ("SMALL_FILE", "leaderboard"): b"run\tMAP\nsys\t0.5\n",
}


@pytest.fixture(autouse=True)
def longest_cell() -> Iterator[None]:
    """Restore the field size limit of the csv module, because imports change it for the whole process."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(("name", "kind"), SENTENCES)
def test_every_limit_is_enforced_and_can_be_set(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    import_files(project, "queries", [Source("q", data=b"q1\tquery\n")], "ann")
    monkeypatch.setenv(f"EXAM_LIMIT_{name}", "10")
    with pytest.raises(FileError) as error:
        import_files(project, kind, [Source("given", data=SENTENCES[name, kind])], "ann")
    said = "; ".join(map(str, error.value.problems))
    assert f"EXAM_LIMIT_{name}" in said and " 10 " in said
    assert said.startswith("given")


def test_graded_file_with_too_many_questions_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    grades = {"llm": "m", "correctAnswered": [f"q1/{n}" for n in range(11)], "wrongAnswered": []}
    line = json.dumps(["q1", [{"paragraph_id": "p1", "text": "t", "exam_grades": [grades]}]]).encode()
    monkeypatch.setenv("EXAM_LIMIT_IDS", "10")
    with refusal("too-many-questions", "given", "10", "EXAM_LIMIT_IDS"):
        import_files(project, "graded", [Source("given", data=line)], "ann")
    assert project.value("SELECT count(*) FROM queries") == 0
    monkeypatch.setenv("EXAM_LIMIT_IDS", "11")
    import_files(project, "graded", [Source("given", data=line)], "ann")
    assert project.value("SELECT count(*) FROM questions") == 11


def test_all_limits_are_tested_and_brackets_in_strings_are_ignored() -> None:
    assert {name for name, _ in SENTENCES} | {"RATIO"} >= {
        name for name in LIMITS if not name.startswith(("ENDPOINT", "REQUEST", "UPLOAD", "CALLS"))
    }
    assert parse_json(json.dumps({"text": "[{," * 1000})) == {"text": "[{," * 1000}


@pytest.mark.parametrize("value", ["0", "-3", "many", "1.5", "9" * 30])
def test_invalid_limit_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("EXAM_LIMIT_LINE", value)
    with refusal("invalid-limit", "EXAM_LIMIT_LINE"):
        read_limit("LINE")


@pytest.mark.parametrize(
    ("text", "values", "depth"),
    [
        ('{"a": [1, 2, {"b": "x,[{"}], "c": "\\\\"}', 7, 3),
        ('["\\"[[[[,,,", "\\\\\\"{", []]', 5, 2),
        ("[]", 2, 1),
        ("7", 1, 0),
    ],
)
def test_values_and_depth_ignore_strings(monkeypatch: pytest.MonkeyPatch, text: str, values: int, depth: int) -> None:
    json.loads(text)
    for block in (1, 3, 1 << 22):
        monkeypatch.setattr(source, "_BLOCK", block)
        assert source._json_shape(text.encode()) == (values, depth)


IMPORTS = """
import json, os, resource, signal, sys
from pathlib import Path
import duckdb, pyarrow
from exam_workbench.errors import WorkbenchError
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.store import open_project

def kibibytes(name):
    return int(open("/proc/self/status").read().split(name + ":")[1].split()[0])

def imported(path, kind, file, seconds):
    project = open_project(Path(path))
    # What a small import takes of the libraries is no memory of the large one.
    import_files(project, "passages", [Source("small.tsv", data=b"small\\ttext\\n")], "ann")
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    # Nor does it wait for ever for something.
    signal.alarm(120)
    base, said = kibibytes("VmRSS"), "imported"
    try:
        import_files(project, kind, [Source.from_path(file)], "ann")
    except WorkbenchError as error:
        said = str(error)
    return said, (kibibytes("VmHWM") - base) // 1024

for line in sys.stdin:
    if not (child := os.fork()):
        print(json.dumps(imported(*json.loads(line))), flush=True)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(json.dumps(("it was ended", 0)), flush=True)
"""

Apart = Callable[[str, Path], tuple[str, int]]


@pytest.fixture(scope="module")
def importer() -> Iterator[subprocess.Popen[str]]:
    """Yield a process with loaded libraries that forks a child for each import."""
    with subprocess.Popen(
        [sys.executable, "-c", IMPORTS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        yield process


@pytest.fixture
def imported_apart(importer: subprocess.Popen[str], tmp_path: Path) -> Apart:
    """Return a function that imports in a child process with 20 CPU seconds; gives its message and MiB."""

    def run(kind: str, file: Path) -> tuple[str, int]:
        new_project(tmp_path / "p.duckdb").close()
        assert importer.stdin is not None and importer.stdout is not None
        importer.stdin.write(json.dumps([str(tmp_path / "p.duckdb"), kind, str(file), 20]) + "\n")
        importer.stdin.flush()
        said, peak = json.loads(importer.stdout.readline())
        return said, peak

    return run


def test_compressed_newlines_are_refused_but_empty_members_read(imported_apart: Apart, tmp_path: Path) -> None:
    file = tmp_path / "newlines.gz"
    file.write_bytes(gzip.compress(b"p1\ttext\n" + b"\n" * (60 << 20), 1))
    said, peak = imported_apart("passages", file)
    assert "1,000,000" in said
    assert peak < 200
    file = tmp_path / "members.gz"
    file.write_bytes(gzip.compress(b"p1\ttext\n") + gzip.compress(b"") * 100_000)
    said, _ = imported_apart("passages", file)
    assert said == "imported"


@pytest.mark.parametrize(("kind", "unit"), [("graded", b"{},"), ("passages", b"[1],")])
def test_long_line_takes_limited_memory(imported_apart: Apart, tmp_path: Path, kind: str, unit: bytes) -> None:
    file = tmp_path / "long.jsonl.gz"
    megabytes = 20
    file.write_bytes(gzip.compress(b'["q1", [' + unit * ((megabytes << 20) // len(unit)) + b"{}]]\n", 1))
    said, peak = imported_apart(kind, file)
    assert said.startswith(f"{file}:1: ")
    assert peak < 5 * megabytes + 100


@pytest.mark.parametrize("what", ["device", "pipe", "socket", "folder"])
def test_special_files_are_refused(project: Project, tmp_path: Path, what: str) -> None:
    path = tmp_path / "it"
    held = None
    # The operating system refuses to open a socket, so no kind is named.
    named = "device" if what == "socket" else what
    if what == "device":
        path = Path("/dev/zero")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "socket":
        held = socket.socket(socket.AF_UNIX)
        held.bind(str(path))
    else:
        path.mkdir()
    for kind in ("passages", "queries", "runs", "qrels", "bank", "graded", "responses", "leaderboard"):
        with refusal("unreadable-file", str(path), named, kind=FileError):
            import_files(project, kind, [Source.from_path(path)], "ann")
    with refusal("cannot-read-file", named):
        read_small(path)
    if held is not None:
        held.close()


@pytest.mark.parametrize("preview", [False, True])
def test_drafts_can_be_saved_during_import(project: Project, monkeypatch: pytest.MonkeyPatch, preview: bool) -> None:
    """The source blocks halfway until a draft is saved, so a save that waits for the import fails."""
    fill(project, [Question("a", "q1", "A?")], {}, {"sys": {"q1": ["p1"]}})
    reading, saved = threading.Event(), threading.Event()

    def slow(given: Source, limits: source.Limits):
        yield b"p7\tone\n"
        reading.set()
        assert saved.wait(30), "no draft was saved during the import"
        yield b"p8\ttwo\n"

    monkeypatch.setattr(source, "_expand_content", slow)
    with ThreadPoolExecutor(1) as other:
        done = other.submit(import_files, project, "passages", [Source("s", data=b"")], "ann", Options(), preview)
        assert reading.wait(30)
        bank.put_draft(project, "bob", Question("a", "q1", "A, reworded?"))
        saved.set()
    assert done.result().counts == {"new passages": 2}
    assert project.value("SELECT count(*) FROM drafts") == 1
    assert project.value("SELECT count(*) FROM passages WHERE passage_id = 'p8'") == (0 if preview else 1)


def test_preview_does_not_wait_for_writers(project: Project) -> None:
    fill(project, [Question("a", "q1", "A?")], {}, {"sys": {"q1": ["p1"]}})
    with ThreadPoolExecutor(1) as other, project.transaction() as cursor:
        cursor.execute("DELETE FROM pool")
        done = other.submit(import_files, project, "qrels", [Source("s", data=b"q1 0 p9 1\n")], "ann", preview=True)
        assert done.result(60).counts
