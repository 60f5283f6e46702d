"""Access to keys, endpoints and models: keys per host, visitors' limits and shared servers."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_workbench import graders
from exam_workbench.bank import grader_again, list_of_graders, save_named_grader, set_price
from exam_workbench.bank._saved_graders import fingerprints_of
from exam_workbench.cli import cli
from exam_workbench.errors import GradingError, InputError, WorkbenchError
from exam_workbench.graders import _access as access
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.graders._local.loading import model_identity
from exam_workbench.grading import Request, run_job
from exam_workbench.jobs import trial_control
from exam_workbench.store import Project
from exam_workbench.types import GraderInput, GraderSpec, Question
from tests.made.endpoint_server import EndpointServer, chat
from tests.made.projects import fill
from tests.made.refusals import check_error, mentions, refusal

SECRET = "not-for-anybody-else-0123456789"
OURS = '[endpoints.Ours]\nbase_url = "{}"\nkey_variable = "MY_DB_PASSWORD"\n'
SOUND = '[endpoints.A]\nbase_url = "https://a.example"\n'
HEADERS = {"Host": "localhost:8501", "Origin": "http://localhost:8501"}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("EXAM_", "OPENAI_")) or name in access.WELL_KNOWN:
            monkeypatch.delenv(name)
    monkeypatch.setenv("MY_DB_PASSWORD", SECRET)


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that configures endpoints as a server owner does."""

    def write(toml: str) -> None:
        (tmp_path / "endpoints.toml").write_text(toml)
        monkeypatch.setenv("EXAM_ENDPOINTS", str(tmp_path / "endpoints.toml"))

    return write


def asked(server: EndpointServer, who: graders.Access = graders.OWNER, model: str = "m", **parameters: object) -> str:
    """Grade one pair at an endpoint with the given access; return the authorization header received."""
    with graders.use_access(who):
        grader = graders.make_grader("self-rating", {"model": model, "base_url": server.url, **parameters})
    # Outside `use_access`, because jobs make calls in threads without an access.
    grade = graders.try_pair(grader, GraderInput("What is gold?"), "Gold is a metal.").grade
    assert grade.rating is not None
    return server.seen[-1].headers["authorization"]


class TestKeysPerHost:
    @pytest.mark.parametrize("variable", ["MY_DB_PASSWORD", "HOME", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"])
    def test_key_variables_go_only_to_their_hosts(self, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
        monkeypatch.setenv(variable, SECRET)
        with EndpointServer() as server:
            assert asked(server, key_variable=variable) == "Bearer no-key"
        for who in (graders.OWNER, graders.VISITOR):
            with pytest.raises(GradingError) as refused:
                access.key_for("https://mine.example/v1", "m", variable, who)
            assert SECRET not in str(refused.value)

    @pytest.mark.parametrize(
        "name", ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_CUSTOM_HEADERS", "OPENAI_ADMIN_KEY", "OPENAI_API_KEY"]
    )
    def test_client_variables_go_only_to_openai(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        monkeypatch.setenv(name, f"X-Gateway: {SECRET}" if name == "OPENAI_CUSTOM_HEADERS" else SECRET)
        with EndpointServer() as server:
            asked(server)
            assert SECRET not in str(server.seen[-1].headers)
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            asked(server)
            assert (SECRET in str(server.seen[-1].headers)) == (name != "OPENAI_ADMIN_KEY")

    @pytest.mark.parametrize(
        ("address", "variable"),
        [
            ("https://api.openai.com/v1", "OPENAI_API_KEY"),
            ("https://API.OpenAI.com:443/v1/", None),
            ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
        ],
    )
    def test_known_key_goes_to_its_host(self, monkeypatch: Any, address: str, variable: str | None) -> None:
        monkeypatch.setenv(variable or "OPENAI_API_KEY", SECRET)
        assert access.key_for(address, "m", variable, graders.OWNER).key == SECRET

    def test_lookalike_addresses_get_no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        for address in (
            "http://api.openai.com/v1",  # not encrypted
            "https://api.openai.com:8443/v1",
            "https://api.openai.com.mine.example/v1",
            "https://mine.example/api.openai.com/v1",
            "https://api.openai.com\\.mine.example/v1",
            "https://api.openai.com\t.mine.example/v1",
            "https://api.groq.com/openai/v1",
        ):
            with pytest.raises(WorkbenchError):
                access.key_for(address, "m", "OPENAI_API_KEY", graders.OWNER)

    def test_keys_go_only_to_their_addresses_and_one_module_reads_them(self) -> None:
        who = graders.Access(any_address=True, typed={"https://mine.example:443": SECRET})
        assert access.key_for("https://mine.example/v1", "m", None, who).key == SECRET
        for other in ("http://mine.example/v1", "https://mine.example:8443/v1", "https://other.example/v1"):
            with pytest.raises(GradingError):
                access.key_for(other, "m", None, who)
        assert SECRET not in repr(who) + repr(access.key_for("https://mine.example/v1", "m", None, who))
        who = graders.extend_access("https://mine.example/v1", "MY_DB_PASSWORD")
        assert access.key_for("https://mine.example/v1", "m", "MY_DB_PASSWORD", who).key == SECRET
        with pytest.raises(GradingError):
            access.key_for("https://other.example/v1", "m", "MY_DB_PASSWORD", who)
        with pytest.raises(GradingError):
            access.key_for("https://mine.example/v1", "m", "HOME", who)
        root = Path(access.__file__).resolve().parents[2]
        sources = [*(root / "core").rglob("*.py"), *(root / "pages").rglob("*.py"), root / "app.py"]
        readers = {path.name for path in sources if re.search(r"\bfind_key\b", path.read_text(encoding="utf-8"))}
        assert readers == {"_access.py"}


class TestVisitorAccess:
    def test_visitors_use_offered_endpoints_within_limits(self, offer: Any) -> None:
        named = {"key_variable": "MY_DB_PASSWORD"}
        with EndpointServer() as ours, EndpointServer() as other:
            offer(OURS.format(ours.url) + 'models = ["m", "n"]\nin_flight = 2')
            assert asked(ours, graders.VISITOR) == f"Bearer {SECRET}"
            assert asked(ours, graders.VISITOR, **named) == f"Bearer {SECRET}"
            assert asked(ours, graders.OWNER, extra={"seed": 1}) == f"Bearer {SECRET}"
            with refusal("model-not-offered", "Ours", "m, n", kind=GradingError):
                asked(ours, graders.VISITOR, model="expensive")
            with refusal("invalid-further-fields"):
                asked(ours, graders.VISITOR, extra={"seed": 1})
            for parameters in ({}, named):
                with refusal("address-not-offered", "Ours", kind=GradingError):
                    asked(other, graders.VISITOR, **parameters)
            with refusal("address-not-offered", kind=GradingError):
                asked(ours, graders.VISITOR, key_variable="HOME")
            who = graders.extend_access(ours.url, "MY_DB_PASSWORD")
            found = access.key_for(ours.url, "m", "MY_DB_PASSWORD", who).offered
            assert found is not None and found.in_flight == 2
            with refusal("model-not-offered", "Ours", kind=GradingError):
                asked(ours, who, model="large", **named)
            assert (len(ours.seen), len(other.seen)) == (3, 0)

    def test_trials_respect_the_owners_caps(self, offer: Any, project: Project) -> None:
        with EndpointServer() as ours:
            start = OURS.format(ours.url)
            question = GraderInput("What is gold?", "a metal")
            offer(start + "max_cost = 0")
            made = graders.make_grader("self-rating", {"model": "m", "base_url": ours.url})
            with refusal("no-price", "m"):
                trial_control(project, made)
            set_price(project, "m", graders.Price(1, 1), "ann")
            with refusal("call-limit-reached", kind=GradingError):
                graders.try_pair(made, question, "Gold is a metal.", trial_control(project, made))
            assert not ours.seen
            with refusal("call-limit-reached", kind=GradingError):
                graders.try_injections(made, question, control=trial_control(project, made))
            assert not ours.seen
            offer(start + "max_calls = 1")
            two_calls = graders.make_grader("answer", {"model": "m", "base_url": ours.url, "check": "model"})
            ours.behave = lambda seen: chat("silver")
            with refusal("call-limit-reached", "1", kind=GradingError):
                graders.try_pair(two_calls, question, "Gold is a metal.", trial_control(project, two_calls))
            assert len(ours.seen) == 1

    def test_visitors_get_no_environment_keys(self, offer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        offer('[endpoints.Ours]\nbase_url = "http://gpu.example:8000/v1"')
        assert access.key_for("http://gpu.example:8000/v1/", "m", None, graders.VISITOR).key is None
        end = EndpointBackEnd("m", "http://gpu.example:8000/v1")
        assert end._key() == "no-key", "a remote endpoint without a key must be usable"
        monkeypatch.setenv("OPENAI_API_KEY", SECRET)
        with refusal("address-not-offered", kind=GradingError):
            access.key_for("https://api.openai.com/v1", "m", "OPENAI_API_KEY", graders.VISITOR)

    def test_jobs_respect_the_owners_limits(self, project: Project, offer: Any) -> None:
        questions = [Question(f"q1/{n}", "q1", f"What is {n}?") for n in range(12)]
        fill(project, questions, {}, {"one": {"q1": ["p1"]}})
        latency = 0.05
        with EndpointServer(latency=latency) as server:
            offer(f'[endpoints.Ours]\nbase_url = "{server.url}"\nin_flight = 2\nmax_calls = 5\nmax_cost = 0.5')
            with graders.use_access(graders.VISITOR):
                grader = graders.make_grader("self-rating", {"model": "m", "base_url": server.url})
            with refusal("no-price"):
                run_job(project, grader, Request(), "ann")
            set_price(project, "m", graders.Price(0.01, 0.01), "ann")
            final = run_job(project, grader, Request(max_calls=1000, concurrency=64), "ann")
            assert final.state == "stopped" and len(server.seen) == 5
            begun = sorted(seen.at for seen in server.seen)
            assert all(third - first >= 0.9 * latency for first, third in zip(begun, begun[2:], strict=False))
            run_job(project, grader, Request(max_calls=2), "ann")
            assert len(server.seen) == 7, "a request may set a lower limit"


class TestEndpointSetup:
    def test_a_file_or_secrets_offer_endpoints(
        self, offer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "e.json").write_text('{"endpoints": {"A": {"base_url": "https://a.example/v1", "in_flight": 3}}}')
        monkeypatch.setenv("EXAM_ENDPOINTS", str(tmp_path / "e.json"))
        (one,) = graders.offered_endpoints()
        assert (one.name, one.in_flight, one.models) == ("A", 3, ())
        monkeypatch.setenv("EXAM_ENDPOINTS", "/somewhere/private.toml")
        with pytest.raises(InputError) as refused:
            graders.offered_endpoints()
        assert "/somewhere" not in str(refused.value)
        tables = {"A": {"base_url": "https://a.example/v1"}, "B": {"base_url": "https://b.example/v1"}}
        monkeypatch.setattr(access.providers, "endpoints", lambda: tables)
        offer('[endpoints.B]\nbase_url = "https://b2.example/v1"\n[endpoints.C]\nbase_url = "https://c.example/v1"')
        assert [(one.name, one.base_url) for one in graders.offered_endpoints()] == [
            ("A", "https://a.example/v1"), ("B", "https://b2.example/v1"), ("C", "https://c.example/v1"),
        ]  # fmt: skip
        assert graders.same_address("https://A.example/v1/", "https://a.example:443/v1")
        assert not graders.same_address("https://a.example/v1", "http://a.example/v1")
        assert not graders.same_address("https://a.example/v1", "https://a.example/v2")

    @pytest.mark.parametrize(
        ("toml", "value"),
        [
            ("base_url = 1", "[endpoints.NAME]"),
            ("[endpoints.A]", "base_url"),
            ('[endpoints.A]\nbase_url = "https://me:SECRETWORD@a.example"', "'A'"),
            (SOUND + 'key = "SECRETWORD"', "key"),
            (SOUND + 'key_variable = "sk-SECRETWORD"', "key_variable"),
            (SOUND + "in_flight = 0", "in_flight"),
            (SOUND + "max_cost = nan", "max_cost"),
            (SOUND + 'models = "SECRETWORD"', "models"),
            ("[endpoints.A]\nbase_url = SECRETWORD", "EXAM_ENDPOINTS"),
        ],
    )
    def test_error_names_setting_but_not_value(self, offer: Any, toml: str, value: str) -> None:
        offer(toml)
        code = "cannot-read-endpoints" if value == "EXAM_ENDPOINTS" else "invalid-endpoint"
        with refusal(code, value) as refused:
            graders.offered_endpoints()
        assert "SECRETWORD" not in str(refused.value)


class TestStoredGraders:
    """Anyone may have written a project, so its settings bind no key to a host."""

    def test_stored_grader_gets_no_other_key_address_or_model(self, project: Project) -> None:
        fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
        with EndpointServer() as server:
            parameters = {"model": "m", "base_url": server.url, "key_variable": "MY_DB_PASSWORD"}
            spec = save_named_grader(project, "mine", "self-rating", parameters, "ann").spec
            again = grader_again(project, spec)
            assert again is not None and run_job(project, again, Request(), "ann").graded == 1
        assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer no-key"]
        remote = parameters | {"model": "remote", "base_url": "https://mine.example/v1"}
        again = grader_again(project, save_named_grader(project, "remote", "self-rating", remote, "ann").spec)
        assert again is not None
        final = run_job(project, again, Request(), "ann")
        assert final.state == "failed"
        assert mentions(final.message, "MY_DB_PASSWORD") and mentions(final.message, "mine.example")
        spec = GraderSpec(
            "x", "self-rating", "anybody/huge-model", "self-rating", parameters={"back_end": "transformers"}
        )
        with graders.use_access(graders.VISITOR):
            assert graders.find_remaking_parameters(spec) is None
            with refusal("model-not-offered"):
                graders.make_grader("self-rating", {"model": "anybody/huge-model"})


class TestLocalModels:
    def model(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        return folder

    def refusal(self, name: str) -> str:
        with graders.use_access(graders.VISITOR), pytest.raises(WorkbenchError) as refused:
            model_identity(name)
        return str(refused.value)

    def test_visitors_cannot_probe_paths(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        root = tmp_path / "models"
        self.model(root / "ours")
        self.model(tmp_path / "private" / "model")
        (root / "way-out").symlink_to(tmp_path / "private")
        monkeypatch.setenv("EXAM_MODEL_FOLDERS", str(root))
        monkeypatch.chdir(tmp_path)
        tried = [
            "/etc", "/nowhere", "~", "~root", "private/model", "no/where", str(tmp_path), str(tmp_path / "none"),
            str(tmp_path / "private" / "model"), f"{root}/../private/model", f"{root}/way-out/model",
            f"{root}/way-out/none", str(root) + "x", "google/flan-t5-large", "", "a\0b", f"{root}/a\0b",
        ]  # fmt: skip
        assert len({self.refusal(name) for name in tried}) == 1
        with graders.use_access(graders.VISITOR):
            assert model_identity(str(root / "ours")).startswith("ours@sha256:")
        assert model_identity(str(tmp_path / "private" / "model")).startswith("model@sha256:"), "owner: allowed"

    def test_allowed_models_are_offered(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        ours = self.model(tmp_path / "a" / "ours")
        self.model(tmp_path / "b" / "too")
        monkeypatch.setenv("EXAM_MODEL_FOLDERS", f"{tmp_path / 'a'}{os.pathsep}{tmp_path / 'gone'}")
        monkeypatch.setenv("EXAM_HUB_MODELS", "google/flan-t5-large, google/flan-t5-small")
        assert graders.offered_models() == ["google/flan-t5-large", "google/flan-t5-small", str(ours)]
        with graders.use_access(graders.VISITOR):
            assert model_identity("google/flan-t5-small") == "google/flan-t5-small"

    @pytest.mark.parametrize("revision", ["../../../../etc", "/etc/passwd", "a/../b", "a\nb"])
    def test_revision_cannot_reach_other_files(self, revision: str) -> None:
        with refusal("invalid-revision"):
            graders.make_grader("self-rating", {"model": "google/flan-t5-large", "revision": revision})


LOCAL: dict[str, Any] = {
    "address": "localhost", "hosts": ["localhost", "127.0.0.1", "::1"], "signs_in": False, "headers": HEADERS,
    "peer": None,
}  # fmt: skip
CONTAINER = LOCAL | {"address": "0.0.0.0", "peer": "172.18.0.1"}


class TestUnsharedLocalhost:
    @pytest.mark.parametrize(
        "facts",
        [
            {"hosts": []},
            {"hosts": ["localhost", "exam.example"]},
            {"signs_in": True},
            {"headers": {}},
            {"headers": HEADERS | {"Host": "exam.example"}},
            {"headers": HEADERS | {"Origin": "https://exam.example"}},
            *({"headers": HEADERS | {name: "x"}} for name in access.FORWARDED),
        ],
    )
    def test_any_sign_of_other_people_means_shared(
        self, monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any]
    ) -> None:
        assert not graders.unshared_localhost(**LOCAL | facts)
        monkeypatch.setenv("EXAM_SHARED", "0")
        assert not graders.unshared_localhost(**CONTAINER | facts)

    @pytest.mark.parametrize(
        ("facts", "unshared"),
        [
            ({}, True),
            ({"address": "127.0.0.1", "peer": "127.0.0.1"}, True),
            ({"headers": {"Host": "[::1]:8501", "Origin": "http://[::1]:8501"}, "peer": "::1"}, True),
            ({"address": None}, False),
            ({"address": "0.0.0.0"}, False),
            ({"address": "exam.example"}, False),
            ({"hosts": ["*"]}, False),
            ({"peer": "192.0.2.7"}, False),
            ({"headers": HEADERS | {"Host": ""}}, False),
            ({"headers": HEADERS | {"Origin": "null"}}, False),
            ({"headers": {"Host": "localhost"}}, False),
        ],
    )
    def test_only_a_single_local_person_is_unshared(self, facts: dict[str, Any], unshared: bool) -> None:
        assert graders.unshared_localhost(**LOCAL | facts) == unshared

    @pytest.mark.parametrize(
        ("value", "local", "container"),
        [("1", False, False), ("yes", False, False), ("0", True, True), ("no", True, True), ("", True, False),
         (" ", True, False)],
    )  # fmt: skip
    def test_owner_can_declare_server_shared_or_unshared(
        self, monkeypatch: pytest.MonkeyPatch, value: str, local: bool, container: bool
    ) -> None:
        monkeypatch.setenv("EXAM_SHARED", value)
        assert (graders.unshared_localhost(**LOCAL), graders.unshared_localhost(**CONTAINER)) == (local, container)


def test_grader_uses_access_of_its_creator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access.providers, "access", lambda: graders.VISITOR)
    with EndpointServer() as server:
        assert asked(server, graders.OWNER) == "Bearer no-key"
        with refusal("address-not-offered", kind=GradingError):
            asked(server, access.current_access())
    monkeypatch.setattr(access.providers, "key", {"THE_KEY": SECRET, "OPENAI_API_KEY": SECRET}.get)
    assert access.key_for("https://api.openai.com/v1", "m", None, graders.OWNER).key == SECRET
    with refusal("no-key-for-address", kind=GradingError):
        access.key_for("https://mine.example/v1", "m", "THE_KEY", graders.OWNER)


def test_typed_key_is_never_stored_or_reported(project: Project, tmp_path: Path) -> None:
    fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
    lines: list[str] = []
    with EndpointServer() as server:
        origin = server.url.removesuffix("/v1")
        with graders.use_access(graders.Access(any_address=True, typed={origin: SECRET})):
            parameters = {"model": "m", "base_url": server.url}
            grader = graders.make_grader("self-rating", parameters)
            save_named_grader(project, "mine", "self-rating", parameters, "ann")
        run_job(project, grader, Request(), "ann", control=graders.Control(report=lines.append))
    assert server.seen[0].headers["authorization"] == f"Bearer {SECRET}"
    tables = [name for (name,) in project.rows("SELECT table_name FROM information_schema.tables")]
    stored = "".join(str(project.rows(f'SELECT * FROM "{name}"')) for name in tables)
    assert SECRET not in stored + str(lines) + grader.spec.fingerprint + str(grader.spec) + repr(vars(grader.back_end))
    project.close()
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


class TestCommandLine:
    @pytest.fixture
    def run(self, project: Project) -> Any:
        fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
        project.close()

        def run(*arguments: str) -> Any:
            return CliRunner().invoke(cli, [*arguments, "--project", str(project.path)])

        return run

    def test_address_and_key_options_apply_to_one_command(self, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        with EndpointServer() as server:
            both = ("--base-url", server.url, "--set", "key_variable=MY_DB_PASSWORD")
            saved = run("graders", "add", "mine", "--grader", "self-rating", "--model", "m", *both)
            assert saved.exit_code == 0, saved.output
            for more in (both, (), ("--set", "key_variable=HOME"), ("--base-url", server.url)):
                tried = run("graders", "test", "--grader", "mine", *more)
                assert tried.exit_code == 0, tried.output
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            named = ("--back-end", "openai", "--model", "m", "--set", "key_variable=MY_DB_PASSWORD")
            assert run("graders", "test", "--grader", "self-rating", *named).exit_code == 0
        sent = [seen.headers["authorization"] for seen in server.seen]
        assert sent == [f"Bearer {SECRET}", *["Bearer no-key"] * 3, f"Bearer {SECRET}"]

    def test_generating_follows_key_rules_and_refusal_gives_fix(self, run: Any) -> None:
        address = ("--model", "m", "--base-url", "https://mine.example/v1")
        found = run("graders", "test", "--grader", "self-rating", *address)
        assert found.exit_code == 1
        check_error(found.exception, "no-key-for-address", "mine.example")
        assert "--base-url URL --set key_variable=NAME" in str(found.exception)
        with EndpointServer(lambda seen: chat('{"questions": ["Why?"]}')) as server:
            asked = ("generate", "--all", "--model", "m", "--base-url", server.url)
            for more in (("--key-variable", "MY_DB_PASSWORD"), ()):
                assert run(*asked, *more).exit_code == 0
        assert [seen.headers["authorization"] for seen in server.seen] == [f"Bearer {SECRET}", "Bearer no-key"]


@pytest.mark.parametrize(
    "name", ["{}/loop", "{}/loop/x", "{}/" + "x" * 300, "{}/" + "y" * 5000, "~nobody-of-that-name/model"]
)
def test_unreadable_or_unknown_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.setenv("EXAM_MODEL_FOLDERS", f"{tmp_path}:{tmp_path / 'loop'}")
    for who in (graders.VISITOR, graders.OWNER):
        with graders.use_access(who), pytest.raises(WorkbenchError):
            graders.make_grader("self-rating", {"model": name.format(tmp_path)})
    assert graders.offered_models() == []


def test_saved_grader_without_folder_does_not_break_lists(project: Project, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    project.write(
        lambda cursor: cursor.execute(
            "INSERT INTO named_graders VALUES ('mine', 'self-rating', ?, 'ann', now()::TIMESTAMP)",
            [f'{{"model": "{folder}"}}'],
        )
    )
    assert [one.name for one in list_of_graders(project)] == ["mine"]
    assert fingerprints_of(project, "mine") == ()
    gone = GraderSpec("g", "self-rating", "gone@sha256:abc", parameters={"back_end": "transformers"})
    assert grader_again(project, gone) is None
