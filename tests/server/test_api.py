"""The API: tokens, permissions of roles, and no access to files of the server."""

import hashlib
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Annotated

import pytest
import yaml

from exam_workbench import cli
from exam_workbench.errors import NotAllowed, WorkbenchError
from exam_workbench.operations import every_operation, find_operation
from exam_workbench.operations.describing import Argument, Option
from exam_workbench.operations.registry import operation
from exam_workbench.records import make_token, withdraw_token
from exam_workbench.server._access_control import Visitor, check_host, check_rate
from exam_workbench.server._api_requests import request_parameters
from exam_workbench.store import Project, open_project
from tests.made.browser import ROOT
from tests.made.refusals import refusal
from tests.server.api import Api


def test_only_known_tokens_and_host_names_are_accepted(api: Api, tokens: dict[str, str]) -> None:
    for token in ("", "exam_", "exam_" + "x" * 43, "x" * 5000, tokens["viewer"][:-1]):
        for path in ("status", "openapi.json", "door", "bank/list", "jobs/current"):
            status, content = api.ask("GET", f"/api/v1/{path}", token)
            assert status == 401 and set(json.loads(content)) == {"code", "message", "hint"}
    assert api.ask("GET", "/healthz")[0] == 200
    check_host("[::1]:8501", ["exam.example"])
    check_host("EXAM.example", ["exam.example"])
    check_host("lab.exam.example:8501", ["*.exam.example"])
    check_host("whatever", ["*"])
    for host in "localhost.evil.example:8501", "localhost:8501/healthz?", "localhost:80@evil.example", "", ":8501":
        with pytest.raises(NotAllowed):
            check_host(host, ["localhost"])
    compose = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    program, option, code = compose["services"]["workbench"]["healthcheck"]["test"][1:]
    assert (program, option) == ("python", "-c") and "localhost:8501/healthz" in code
    exec(code.replace("8501", str(api.place.port)))
    with pytest.raises(OSError):
        exec(code.replace("8501", str(api.place.port)).replace("healthz", "api/v1/status"))


def test_reading_prints_same_output_as_cli(
    api: Api, tokens: dict[str, str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert cli.run_command(["leaderboard", "--json", "--measure=AP", "--project", str(api.path)]) == 0
    printed = capsysbinary.readouterr().out
    assert api.ask("GET", "/api/v1/leaderboard?measure=AP", tokens["viewer"]) == (200, printed)


def test_token_acts_under_its_name_with_rights_of_its_role(api: Api, tokens: dict[str, str]) -> None:
    given = {"query_id": "q1", "passage_id": "p1", "value": 1}
    status, content = api.ask("POST", "/api/v1/judgments/set", tokens["viewer"], given)
    assert (status, json.loads(content)["code"]) == (403, "role-needed")
    # Refusals, wrong use and unknown members have their own codes and do not count as missing rights.
    for command, body, code in (
        ("judgments/set", given | {"query_id": "q9"}, "unknown-query"),
        ("export", {"what": "nothing"}, "invalid-value"),
        ("people/remove", {"identity": "x@x.org"}, "unknown-member"),
    ):
        status, content = api.ask("POST", f"/api/v1/{command}", tokens["organizer"], body)
        assert (status, json.loads(content)["code"]) == (400, code), content
    status, content = api.ask("POST", "/api/v1/judgments/set", tokens["assessor"], given)
    assert status == 200, content
    assert "token a assessor" in json.dumps(api.get("activity?limit=1", tokens["assessor"]))
    assert api.ask("POST", "/api/v1/tokens/add", tokens["assessor"], {"name": "more", "role": "viewer"})[0] == 403
    assert api.ask("POST", "/api/v1/jobs", tokens["assessor"], {})[0] == 403


def test_token_is_hashed_and_can_be_revoked(api: Api, tokens: dict[str, str], apart: Path, tmp_path: Path) -> None:
    given = {"name": "short", "role": "viewer"}
    made = api.ask("POST", "/api/v1/tokens/add", api.door.token, given)[1].decode().strip()
    assert api.ask("GET", "/api/v1/status", made)[0] == 200
    assert api.ask("POST", "/api/v1/tokens/revoke", api.door.token, {"name": "short"})[0] == 200
    assert api.ask("GET", "/api/v1/status", made)[0] == 401
    listed = api.get("tokens/list", tokens["organizer"])["tokens"]
    assert [one["name"] for one in listed if one["withdrawn_at"]] == ["short"]
    path = tmp_path / "p.duckdb"
    path.write_bytes(apart.read_bytes())
    project = open_project(path)
    text = make_token(project, "one", "viewer", "olga")
    withdraw_token(project, "one", "olga")
    project.close()
    assert text.encode() not in path.read_bytes()


def test_forms_send_files_and_all_written_files_are_returned(api: Api, tokens: dict[str, str]) -> None:
    form = (
        b"--b\r\nContent-Disposition: form-data; name=kind\r\n\r\nruns\r\n"
        b'--b\r\nContent-Disposition: form-data; name=files; filename="../sent.run"\r\n\r\n'
        b"q1 Q0 p1 1 2.0 sent\n\r\n--b--\r\n"
    )
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    status, content = api.ask("POST", "/api/v1/import", tokens["organizer"], form, kind)
    assert status == 200 and json.loads(content)["counts"], content
    assert "sent" in [one["run"] for one in api.get("leaderboard", tokens["viewer"])["systems"]]
    # A backup is one file; qrels with their manifest and a folder of tables come as a zip.

    def answer(path: str, **given: str) -> bytes:
        status, content = api.ask("POST", f"/api/v1/{path}", tokens["organizer"], given)
        assert status == 200, content
        return content

    for name in "folder", "some.duckdb":
        assert answer("backup", output=name)[8:12] == b"DUCK"
    published = unzipped(answer("export", what="qrels", output="a/some", save_manifest="b/some")).values()
    manifest, qrels = sorted(published, key=lambda content: not content.startswith(b"{"))
    assert hashlib.sha256(qrels).hexdigest() == json.loads(manifest)["qrels"]["sha256"]
    board = unzipped(answer("export", what="leaderboard", output="a/some.eval.txt", form="ir_measures"))
    assert {Path(name).name for name in board} == {"some.eval.txt", "some.eval.measures.yml"}
    tables = unzipped(answer("export", what="project", output="folder"))
    assert {"manifest.json", "queries.parquet"} < {Path(name).name for name in tables}


def unzipped(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_bad_requests_get_error_messages(api: Api, tokens: dict[str, str]) -> None:
    token = tokens["organizer"]
    asked: list[tuple[str, str, object]] = [
        ("GET", "leaderboard?measure=x", None), ("GET", "leaderboard?nonsense=1", None), ("GET", "nothing", None),
        ("GET", "leaderboard?min_rating=--help", None), ("POST", "leaderboard", b"{"), ("POST", "leaderboard", [1]),
        ("POST", "run", b"x"), ("POST", "run/1", b"x"), ("DELETE", "run/1", None), ("POST", "jobs/current/pause", None),
        ("GET", "..%2f..", None), ("POST", "jobs", {"grader": "nobody"}),
    ]  # fmt: skip
    for method, path, body in asked:
        status, content = api.ask(method, f"/api/v1/{path}", token, body)
        assert 400 <= status < 500 and json.loads(content)["message"], (path, status, content)
    before = api.get("pool", token)
    for path in ("judgments/set", "pool?depth=3", "vectors?drop=true"):
        status, content = api.ask("GET", f"/api/v1/{path}", token)
        assert (status, json.loads(content)["code"]) == (405, "not-a-reading-command")
    assert api.get("pool", token) == before
    size = {"Content-Length": str(1 << 60)}
    assert api.ask("POST", "/api/v1/import", token, b"", size)[0] == 413


def test_invalid_and_huge_values_are_refused_with_a_code(api: Api, tokens: dict[str, str]) -> None:
    token = tokens["organizer"]
    for given, code in (
        ({"min_rating": "4.5"}, "invalid-value"), ({"min_rating": [1, 2, "x"]}, "invalid-value"),
        ({"per": "passage"}, "invalid-value"), ({"queries": "perhaps"}, "invalid-value"),
        ({"measures": "AP"}, "unknown-parameter"), ({"author": "olga"}, "unknown-parameter"),
        ({"measure": "AP\ud800"}, "invalid-value"),
    ):  # fmt: skip
        status, content = api.ask("POST", "/api/v1/leaderboard", token, given)
        assert (status, json.loads(content)["code"]) == (400, code), (given, content)
    status, content = api.ask("POST", "/api/v1/judgments/set", token, {"query_id": "q1"})
    assert (status, json.loads(content)["code"]) == (400, "parameter-missing")
    # Numbers are also valid ids and names.
    assert json.loads(api.ask("POST", "/api/v1/passages", token, {"words": 7})[1])["passages"] == []
    against, most = {"against": "assessors", "ties": "random"}, 2**31 - 1
    asked: list[tuple[str, dict[str, object]]] = [
        ("meta-evaluation", {**against, "samples": most}), ("meta-evaluation", {**against, "repeats": most}),
        ("irt/fit", {"bootstrap": most}), ("audit/design", {"name": "n", "looks": most}),
        ("significance", {"permutations": most}), ("passages", {"has_label": 10**400}),
        ("passages", {"judgment": 2**31}),
        ("leaderboard", {"measure": "AP(rel=99999999999)"}),
    ]  # fmt: skip
    for path, given in asked:
        status, content = api.ask("POST", f"/api/v1/{path}", tokens["organizer"], given)
        assert status == 400, (path, given, status, content)
    # Names that are invalid on the server are accepted, because the files are written by the client.
    for name in ("x" * 70_000, "what?", "\u202e", "a/b/../.."):
        status, content = api.ask("POST", "/api/v1/export", tokens["organizer"], {"what": "qrels", "output": name})
        assert status == 200 and content.startswith(b"q1 0 p1 ")
        assert api.ask("POST", "/api/v1/backup", tokens["organizer"], {"output": name})[0] == 200


def test_request_with_project_path_or_broken_form_is_refused(api: Api, tokens: dict[str, str], tmp_path: Path) -> None:
    fields = b"&".join(b"measure=AP" for _ in range(300_000))
    part = b'--b\r\nContent-Disposition: form-data; name="queries"\r\n\r\nq1\r\n'
    form, url = "multipart/form-data", "application/x-www-form-urlencoded"
    for kind, body in (
        (form, b"--b--"), (f"{form}; boundary=b", part * 1500 + b"--b--"), (f"{form}; boundary=b", b"no form at all"),
        (f"{form}; boundary=b", b"--b\r\nContent-Type: x\r\n\r\nno name\r\n--b--"), (url, fields),
        ("multipart/mixed; boundary=b", part + b"--b--"), (f"{form}; boundary={'b' * 300}", part),
        (f"{url}; x=", fields), ("application/json", json.dumps({"queries": ["q1"] * 300_000}).encode()),
    ):  # fmt: skip
        for path in ("leaderboard", "work/done", "run", "jobs"):
            status, content = api.ask("POST", f"/api/v1/{path}", tokens["organizer"], body, {"Content-Type": kind})
            assert status == 400 and json.loads(content)["message"], (path, kind, status, content)
    other = tmp_path / "other.duckdb"
    for token in (tokens["organizer"], api.door.token):
        for name in ("project", "project_path", "opening"):
            status, content = api.ask("POST", "/api/v1/status", token, {name: str(other)})
            assert (status, json.loads(content)["code"]) == (400, "unknown-parameter")
        # The command line sends the path of its project, but the server opens nothing by it.
        assert api.send("status", {}, token, {"project": str(other)})[0] == 0
    assert not other.exists()


def test_file_parameters_must_declare_their_use() -> None:
    """A request may only read and write its own files; see `Parameter`."""

    def leak(*, file: Annotated[Path, Argument()]) -> None:
        pass

    def leak_several(*, files: Annotated[tuple[Path, ...], Option()] = ()) -> None:
        pass

    for leaking in (leak, leak_several):
        with pytest.raises(TypeError):
            operation("leak", act="organize")(leaking)
    assert find_operation("leak") is None
    for one in every_operation():
        for parameter in request_parameters(one):
            said = f"{parameter.option.help} {parameter.option.metavar or ''}"
            names = ("file", "files", "output", "path", "folder")
            if not one.at_shell and (re.search("File|FILE|FOLDER|PATH", said) or parameter.name in names):
                assert parameter.option.file is not None, (one.name, parameter.name)


def test_routes_are_described_and_cli_only_operations_refused(api: Api, tokens: dict[str, str]) -> None:
    described = api.get("openapi.json", tokens["viewer"])
    paths = described["paths"]
    assert {"get", "post"} == set(paths["/api/v1/leaderboard"]) and "get" not in paths["/api/v1/judgments/set"]
    measure = next(one for one in paths["/api/v1/leaderboard"]["get"]["parameters"] if one["name"] == "measure")
    assert {"type": "string"} in measure["schema"]["anyOf"]
    names = [one["operationId"] for path in paths.values() for one in path.values()]
    assert len(names) == len(set(names))
    # `restore` replaces a project file and needs the command line; `bank restore` only saves a bank version.
    codes = {
        **dict.fromkeys(("restore", "serve", "grade-plan", "file-leaderboard"), "needs-a-shell"),
        **dict.fromkeys(("bank/nothing", "bank/restore/more"), "unknown-command"),
        "bank/restore": "parameter-missing",
    }
    for path, code in codes.items():
        assert json.loads(api.ask("POST", f"/api/v1/{path}", tokens["organizer"], {})[1])["code"] == code


def test_token_requests_per_minute_are_limited(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_REQUESTS", "3")
    visitor = Visitor(project, "token x", "counted here")
    for _ in range(3):
        check_rate(visitor, now=60.0)
    with refusal("too-many-requests", kind=WorkbenchError):
        check_rate(visitor, now=119.0)
    check_rate(visitor, now=120.0)
