"""Commands on served projects: they go through the server, with the same effects and output."""

import http.client
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import cli
from exam_workbench.exchange import list_publications
from exam_workbench.operations import every_operation, opening
from exam_workbench.server import _operation_requests as operation_runs
from exam_workbench.store import find_door, make_door, open_project
from exam_workbench.store._opening import door_file
from tests.cli.test_reading_together import ARGUMENTS, held as held_elsewhere
from tests.made.endpoint_server import EndpointServer, Reply, Seen, well
from tests.made.projects import set_patience
from tests.made.refusals import kept_failures
from tests.made.requests import requested
from tests.server.api import Api
from tests.server.conftest import serve

Said = tuple[int, bytes, bytes]

Capture = pytest.CaptureFixture[bytes]


def said(path: Path, words: Sequence[str], capture: Capture) -> Said:
    capture.readouterr()
    code = cli.run_command([*words, "--project", str(path)])
    told = capture.readouterr()
    return code, told.out, told.err


def test_command_ends_silently_if_output_pipe_is_closed(held: dict[str, Path]) -> None:
    unread, output = os.pipe()
    os.close(unread)
    main = "from exam_workbench.cli import main; main()"
    command = [sys.executable, "-c", main, "status", "--project", str(held["read"])]
    done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    os.close(output)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.fixture(scope="module")
def read_elsewhere(apart: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project that another process keeps open for reading, so that it cannot be written."""
    path = Path(shutil.copy(apart, tmp_path_factory.mktemp("read") / "some.duckdb"))
    with held_elsewhere(path, "read"):
        yield path


# Excluded: `graders test` would load a grader twice, each backup has another name, and `audit graders` needs
# more systems than the project has.
@pytest.mark.parametrize(
    "command",
    [
        one.name
        for one in every_operation()
        if one.may_read and one.name not in ("graders test", "backup", "audit graders")
    ],
)
def test_reading_prints_the_same_through_server(
    read_elsewhere: Path, held: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture, command: str
) -> None:
    set_patience(monkeypatch, 0.0)
    given = ARGUMENTS.get(command, ())
    if command == "prompts show":
        given = (said(read_elsewhere, ["prompts", "list"], capsysbinary)[1].decode().splitlines()[1].split()[0],)
    words = [*command.split(), *given]
    here = said(read_elsewhere, words, capsysbinary)
    assert here[0] == 0
    assert said(held["read"], words, capsysbinary) == here


def test_server_of_another_version_is_refused(
    held: dict[str, Path], monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    monkeypatch.setattr(opening, "__version__", "0.0.1")
    failures = kept_failures(monkeypatch)
    code, output, _ = said(held["read"], ["status"], capsysbinary)
    assert (code, output, [error.code for error in failures]) == (1, b"", ["version-mismatch"])


def test_qrels_are_exported_through_server(
    apart: Path, changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    # Exports are recorded, so this test uses its own copy and leaves `apart` unchanged.
    own = shutil.copy(apart, tmp_path / "some.duckdb")
    here = said(own, ["export", "qrels", "-o", "here.txt"], capsysbinary)
    there = said(changed, ["export", "qrels", "-o", "there.txt"], capsysbinary)
    assert there == (here[0], here[1], here[2].replace(b"here.txt", b"there.txt"))
    assert Path("there.txt").read_bytes() == Path("here.txt").read_bytes() != b""
    assert said(changed, ["export", "qrels", "-o", "-"], capsysbinary)[1] == Path("here.txt").read_bytes()
    whole = said(changed, ["export", "project", "-o", "folder"], capsysbinary)
    assert whole[0] == 0 and not Path("folder/tokens.parquet").exists()
    assert json.loads(Path("folder/manifest.json").read_bytes())["tables"]
    refused = said(changed, ["export", "qrels", "-o", "nowhere/there.txt"], capsysbinary)
    assert refused[0] == 2 and b"nowhere/there.txt" in refused[2]


def test_files_and_guidelines_go_through_server(
    changed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXAM_AUTHOR", "anna")
    Path("later.run").write_text("q1 Q0 p2 1 2.0 later\nq1 Q0 p1 2 1.0 later\n", encoding="utf-8")
    Path("broken.run").write_text("q1 Q0 p2 1 much later\n", encoding="utf-8")
    assert said(changed, ["import", "runs", "later.run"], capsysbinary)[0] == 0
    assert b"later" in said(changed, ["runs", "list"], capsysbinary)[1]
    newest = json.loads(said(changed, ["activity", "--limit", "1", "--json"], capsysbinary)[1])
    assert "anna" in json.dumps(newest)
    for number, unusual in enumerate(("läufe, 50 %.run", 'a "run"\n')):
        Path(unusual).write_text(f"q1 Q0 p2 1 2.0 unusual{number}\n", encoding="utf-8")
        imported = json.loads(said(changed, ["import", "runs", unusual, "--json"], capsysbinary)[1])
        assert imported["counts"]["runs"] == 1 and (number or imported["files"] == [unusual])
    assert said(changed, ["judgments", "set", "q1", "p1", "0", "--author", " "], capsysbinary)[0] == 2
    refused = said(changed, ["import", "runs", "broken.run"], capsysbinary)
    assert refused[0] == 2 and refused[2].startswith(b"exam: broken.run:1")
    missing = said(changed, ["import", "runs", "./missing.run"], capsysbinary)
    assert missing[0] == 2 and b"exam: missing.run" in missing[2] and b"/tmp" not in missing[2]
    Path("mine.txt").write_text("Read first.\n", encoding="utf-8")
    Path("latin.txt").write_bytes(b"\xe9t\xe9")

    def shown() -> bytes:
        return said(changed, ["guidelines", "show"], capsysbinary)[1].strip()

    def set_from(name: str, content: bytes = b"") -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return said(changed, ["guidelines", "set", name], capsysbinary)[0]

    assert set_from("mine.txt") == 0 and shown() == b"Read first."
    assert set_from("-", "Then judge: é.".encode()) == 0 and shown() == "Then judge: é.".encode()
    # Unreadable input changes nothing.
    assert [set_from(name, b"\xe9") for name in ("missing.txt", "latin.txt", "-", ".")] == [2] * 4
    assert shown() == "Then judge: é.".encode()
    assert set_from("-") == 0 and shown() == b""
    Path("outcomes").mkdir()
    Path("outcomes/0.parquet").write_bytes(b"PAR1")
    code, _, told = said(changed, ["ingest", "outcomes"], capsysbinary)
    assert code == 2 and b"outcomes" in told and b"FOLDER/*.parquet" in told and b"/tmp" not in told


def test_stale_connection_files_are_ignored_and_guidelines_need_no_server(
    apart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    path = tmp_path / "some.duckdb"
    path.write_bytes(apart.read_bytes())
    door = door_file(path)
    named = {"project": str(path.resolve()), "file": ""}
    content = {"address": "http://127.0.0.1:9", "token": "t", "process": os.getppid(), **named}
    for content_now, mode in (
        (content, 0o600),
        (content, 0o644),
        *(({**content, "process": process}, 0o600) for process in (2**22 + 1, 2**40, 2**70)),
        ("x", 0o600),
    ):
        door.write_text(json.dumps(content_now), encoding="utf-8")
        door.chmod(mode)
        assert said(path, ["status"], capsysbinary)[0] == 0
    door.chmod(0o644)
    assert find_door(path) is None
    path = Path(shutil.copy(apart, tmp_path / "some.duckdb"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Read first.")))
    assert said(path, ["guidelines", "set", "-"], capsysbinary)[0] == 0
    assert said(path, ["guidelines", "show"], capsysbinary)[1].strip() == b"Read first."


def test_copied_connection_file_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    path.write_bytes(b"a project")
    made = make_door(path, "http://127.0.0.1:9")
    assert find_door(path) == made is not None
    copies = shutil.copytree(tmp_path, tmp_path / "copies")
    assert door_file(copies / path.name).exists() and find_door(copies / path.name) is None
    # The project is still the same if its folder is renamed or its file is replaced.
    assert find_door(tmp_path.rename(tmp_path.with_name("moved")) / path.name) == made
    tmp_path.with_name("moved").rename(tmp_path)
    path.unlink()
    path.write_bytes(b"as it was before")
    assert find_door(path) == made


def test_killed_server_loses_nothing(apart: Path, tmp_path: Path, capsysbinary: Capture) -> None:
    path = tmp_path / "some.duckdb"
    path.write_bytes(apart.read_bytes())
    process = serve(path)
    assert said(path, ["judgments", "set", "q1", "p1", "0"], capsysbinary)[0] == 0
    process.kill()
    process.wait()
    assert door_file(path).exists()
    assert b"ungraded" not in said(path, ["status"], capsysbinary)[1]
    project = open_project(path)
    assert project.value("SELECT count(*) FROM activity WHERE act LIKE '%judg%'")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Make SIGINT interrupt this process, even if a background shell made it ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_server_job_and_keeps_its_grades(
    held: dict[str, Path], capsysbinary: Capture, interruptible: None
) -> None:
    """The process gets SIGINT while the server calls a model for it."""

    def slowly(seen: Seen) -> Reply:
        if len(server.seen) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        # A busy machine may take seconds to deliver the interrupt, and the job must not finish before.
        return replace(well(seen), delay=0.3)

    with EndpointServer(slowly) as server:
        grader = ("--grader", "self-rating", "--model", "m", "--base-url", server.url, "--concurrency", "1")
        code, _, told = said(held["stopped"], ["grade", *grader], capsysbinary)
        asked = len(server.seen)
        assert code == 1 and told.count(f" {asked} ".encode()) == 2, told
        # The job has ended, and only the pairs without a call are missing.
        door = find_door(held["stopped"])
        assert door is not None
        job = Api(held["stopped"]).get("jobs/current", door.token)
        assert job["state"] == "cancelled" and 3 <= job["graded"] == asked < job["total"]
        planned = json.loads(said(held["stopped"], ["plan", "--json", *grader[:6]], capsysbinary)[1])
        assert planned["known"] == asked and len(server.seen) == asked, planned


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which commands run."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def on_record(path: Path, capture: Capture) -> tuple[int, int]:
    """Return the number of publications and the number of the latest action."""
    published = json.loads(said(path, ["publications", "--json"], capture)[1])["publications"]
    (newest,) = json.loads(said(path, ["activity", "--limit", "1", "--json"], capture)[1])["acts"]
    return len(published), int(newest["number"])


def test_file_that_cannot_be_written_is_not_recorded(
    held: dict[str, Path], elsewhere: Path, capsysbinary: Capture
) -> None:
    """Each export through the server leaves no record if its path is refused, and one if it is written."""
    path = held["placed"]
    publish = ["export", "qrels", "--save-manifest"]
    assert said(path, [*publish, "kept.json", "-o", "kept.qrels"], capsysbinary)[0] == 0
    assert said(path, ["export", "bundle", "-o", "kept.zip"], capsysbinary)[0] == 0
    assert zipfile.is_zipfile("kept.zip")
    Path("kept-too.json").write_bytes(zipfile.ZipFile("kept.zip").read("manifest.json"))
    commands = {
        "a publication": ([*publish, "{}.json", "-o", "{}.qrels"], 1),
        "its manifest": ([*publish, "{}.json", "-o", "qrels"], 1),
        "its qrels": ([*publish, "manifest.json", "-o", "{}"], 1),
        "a bundle": (["export", "bundle", "-o", "{}.zip"], 1),
        "qrels": (["export", "qrels", "-o", "{}"], 0),
        "qrels again": (["export", "qrels", "--manifest", "kept.json", "-o", "{}"], 0),
        "a bundle again": (["export", "bundle", "--manifest", "kept-too.json", "-o", "{}"], 0),
        "a bank": (["export", "bank", "-o", "{}.csv"], 0),
        "a board": (["export", "leaderboard", "--form", "tot", "-o", "{}.txt"], 0),
        "everything": (["export", "project", "-o", "{}.zip"], 0),
        "a sheet": (["audit", "export", "-o", "{}.tsv"], 0),
    }
    for number, (name, (words, published)) in enumerate(commands.items()):
        before, there = on_record(path, capsysbinary), sorted(os.listdir())
        code, _, told = said(path, [word.replace("{}", "nowhere/new") for word in words], capsysbinary)
        assert (code, told.count(b"exam: ")) == (2, 1) and b"nowhere/new" in told, (name, told)
        assert (on_record(path, capsysbinary), sorted(os.listdir())) == (before, there), name
        assert said(path, [word.replace("{}", f"new{number}") for word in words], capsysbinary)[0] == 0, name
        after = on_record(path, capsysbinary)
        assert (after[0] - before[0], after[1] > before[1]) == (published, True), name
        assert len(os.listdir()) > len(there), name
    assert Path("new0.qrels").read_bytes() == Path("kept.qrels").read_bytes() == Path("new4").read_bytes() != b""


def test_only_caller_confirms_files_and_vanishing_leaves_no_record(
    held: dict[str, Path], capsysbinary: Capture
) -> None:
    path = held["placed"]
    api, before = Api(path), on_record(path, capsysbinary)
    token = api.ask("POST", "/api/v1/tokens/add", api.door.token, {"name": "other", "role": "organizer"})[1]
    assert api.ask("GET", "/api/v1/status", token.decode().strip())[0] == 200
    given = {"what": "qrels", "output": "qrels", "save_manifest": "manifest"}
    # An export with a token needs no confirmation, because the response contains the files.
    assert api.send("export", given, token.decode().strip(), {"number": "its own"})[0] == 0
    published = on_record(path, capsysbinary)[0]
    assert published == before[0] + 1
    owner = {"Authorization": f"Bearer {api.door.token}", "X-Exam-Shell": json.dumps({"number": "its own"})}
    for end in ("POST", "DELETE", ""):
        connection = http.client.HTTPConnection(str(api.place.hostname), api.place.port, timeout=60)
        connection.request("POST", "/api/v1/export", json.dumps(given), owner)
        answer = connection.getresponse()
        while "place" not in json.loads(answer.readline()):
            continue
        for method in ("POST", "DELETE"):
            assert api.ask(method, "/api/v1/run/its%20own", token.decode().strip())[0] == 400
            assert api.ask(method, "/api/v1/run/another", api.door.token)[0] == 400
        if end:
            assert api.ask(end, "/api/v1/run/its%20own", api.door.token)[0] == 200
            assert json.loads(answer.read().splitlines()[-1])["exit"] == (end == "DELETE")
        connection.close()
        answer.close()
        # The next change waits until this export has ended.
        assert said(path, ["judgments", "set", "q1", "q1p1", "0"], capsysbinary)[0] == 0
        assert on_record(path, capsysbinary)[0] == published + 1, end


def test_unconfirmed_file_is_not_recorded(attacked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operation_runs, "PLACING_SECONDS", 0.0)
    project = open_project(Path(shutil.copy(attacked, tmp_path / "some.duckdb")))
    before, over, codes, given = project.version(), threading.Event(), list[int](), list[str]()

    def end(code: int, files: Mapping[str, Path]) -> None:
        codes.append(code)
        over.set()

    asked = operation_runs.OperationRequest(
        *requested(["export", "bundle", "-o", "some.zip"]), project, "ann", owner=True
    )
    operation_runs.RunningOperation(asked, lambda *_: None, end, given.extend)
    assert over.wait(60) and codes == [1] and given == ["some.zip"]
    assert list_publications(project) == [] and project.version() == before
