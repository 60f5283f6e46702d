"""Deployment files that agree with the documentation and the app: compose files, image, proxy and workflows."""

import re
import tomllib
from pathlib import Path

import click
import pytest
import yaml
from streamlit.config import get_config_options

from exam_workbench.cli import cli
from exam_workbench.limits import LIMITS
from exam_workbench.types import Question
from pages.parts.shared import login, ui
from tests.made.browser import free_port, running
from tests.made.projects import fill, new_project
from tests.made.visitor import Visitor

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
TEAM, ONE = (
    yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8")) for name in ("compose.yaml", "one-person.yaml")
)
APP, PROXY = TEAM["services"]["workbench"], TEAM["services"]["proxy"]
IMAGE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_compose_file_has_proxy_health_check_and_volumes() -> None:
    app, proxy = APP, PROXY
    assert app["healthcheck"]["test"][0] == "CMD"
    compile(app["healthcheck"]["test"][3], "health check", "exec")
    # The app can only be reached through the proxy.
    assert "ports" not in app and proxy["ports"] == ["80:80", "443:443", "443:443/udp"]
    assert proxy["depends_on"]["workbench"]["condition"] == "service_healthy"
    assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).is_file()
    volumes = dict(one.split(":")[:2] for one in [*app["volumes"], *proxy["volumes"]] if isinstance(one, str))
    assert {name for name in volumes if not name.startswith("./")} == set(TEAM["volumes"])
    assert (DEPLOY / "Caddyfile").is_file() and volumes["./Caddyfile"] == "/etc/caddy/Caddyfile"
    # Without the secrets file the start must fail: Docker would otherwise create a folder in its place.
    [secrets] = [one for one in app["volumes"] if isinstance(one, dict)]
    assert (secrets["source"], secrets["read_only"]) == ("./secrets.toml", True)
    assert secrets["bind"] == {"create_host_path": False}


def test_compose_file_and_image_use_same_paths() -> None:
    image = dict(line.split(" ", 1) for line in IMAGE.splitlines())
    volume, program = image["VOLUME"], image["WORKDIR"]
    assert image["ENV"] == f"EXAM_PROJECTS_DIR={volume}" and f"--home-dir {volume}" in IMAGE
    assert f"projects:{volume}" in APP["volumes"]
    # The rest of the file system is read-only, so temporary files go to /tmp.
    assert APP["read_only"] and "scratch:/tmp" in APP["volumes"]
    [secrets] = [one for one in APP["volumes"] if isinstance(one, dict)]
    assert secrets["target"] == f"{program}/.streamlit/secrets.toml"
    assert image["EXPOSE"] == APP["expose"][0] == "8501"


def test_proxy_forwards_to_port_of_the_app_and_accepts_its_uploads() -> None:
    caddy = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert caddy.count("{") == caddy.count("}")
    assert "reverse_proxy workbench:8501" in caddy and "{$EXAM_HOST}" in caddy
    assert 'CMD ["exam", "serve", "--port", "8501"]' in IMAGE
    allowed = re.search(r"max_size (\d+)MB", caddy)
    # A megabyte of Caddy is 1,000,000 bytes, and a form adds lines around a file.
    assert allowed is not None and int(allowed[1]) * 10**6 > LIMITS["UPLOAD"].default + 10**6


def test_container_settings_are_read_by_the_program() -> None:
    given = APP["environment"]
    assert APP["env_file"] == ".env" and given[login.DEMAND_VARIABLE] == "1"
    known = {option.env_var for option in get_config_options().values()}
    assert {name for name in given if name.startswith("STREAMLIT_")} <= known
    named = {*re.findall(r"\b(EXAM_[A-Z_]*[A-Z])\b", _section()), *(name for name in given if name.startswith("EXAM_"))}
    # Only the compose file and the proxy read EXAM_HOST.
    assert "EXAM_HOST" in PROXY["environment"]
    program = [path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*.py")]
    read = "".join(path.read_text(encoding="utf-8") for path in program)
    assert {name for name in named - {"EXAM_HOST"} if f'"{name}"' not in read} == set()


def test_documented_deployment_steps_match_the_files() -> None:
    section = _section()
    assert "chown 10001 secrets.toml" in section and "useradd --uid 10001" in IMAGE
    assert APP["build"]["args"] == {"TORCH_INDEX": "${TORCH_INDEX:-}"}
    assert "ARG TORCH_INDEX=\n" in IMAGE and "`TORCH_INDEX=`" in section
    given = re.findall(r"docker compose (?:exec|run)[-\w ]*? workbench exam ([^`\n]+)", section)
    assert len(given) >= 6
    for words in given:
        command: click.Command = cli
        with click.Context(command) as context:
            for word in words.split():
                if not isinstance(command, click.Group):
                    break
                command = command.get_command(context, word) or pytest.fail(f"exam {words} is no command")


def _section() -> str:
    """Return the section of the guide about the first deployment."""
    page = (ROOT / "docs" / "how-to" / "run-a-team-server.md").read_text(encoding="utf-8")
    return page.partition("## From a blank machine to a login\n")[2]


def test_example_secrets_have_login_keys_and_real_ones_are_ignored() -> None:
    example = tomllib.loads((DEPLOY / "secrets.example.toml").read_text(encoding="utf-8"))
    assert set(example["auth"]) == {
        "redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url",
    }  # fmt: skip
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"deploy/secrets.toml", "deploy/.env", ".streamlit/secrets.toml"} <= set(ignored)


def test_one_person_container_is_published_on_localhost_only() -> None:
    [name], app = ONE["services"], ONE["services"]["workbench"]
    assert name == "workbench" and app["ports"] == ["127.0.0.1:${PORT:-8501}:8501"]
    # No other container can reach the server: no network is shared, and this file has no other service.
    assert not {"networks", "network_mode"} & {*ONE, *app}
    assert ONE["name"] != TEAM["name"], "the volumes of a team are not those of one person"
    same = "image", "build", "healthcheck", "read_only", "cap_drop", "security_opt"
    assert {key: app[key] for key in same} == {key: APP[key] for key in same}
    assert app["volumes"] == ["projects:/var/lib/exam", "scratch:/tmp"] and set(ONE["volumes"]) == {
        "projects",
        "scratch",
    }
    known = {option.env_var for option in get_config_options().values()}
    assert set(app["environment"]) <= known | {"EXAM_SHARED"}


def test_one_person_container_gives_full_access_without_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command of the image runs with the environment of the compose file."""
    project = new_project(tmp_path / "gold.duckdb")
    fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
    project.close()
    for name, value in ONE["services"]["workbench"]["environment"].items():
        monkeypatch.setenv(name, value)
    # The tests recognize a started server by its welcome message.
    monkeypatch.delenv("STREAMLIT_LOGGER_HIDE_WELCOME_MESSAGE")
    monkeypatch.setenv("STREAMLIT_BROWSER_SERVER_ADDRESS", "localhost")
    port = free_port()
    command = ["-c", "from exam_workbench.cli import main; main()", "serve", "--port", str(port)]
    with running(command, port, tmp_path, tmp_path / "log") as server:
        visitor = Visitor(server.address)
        for host, status in {"localhost": 200, "127.0.0.1": 200, "exam.example": 403, "172.18.0.2": 403}.items():
            assert visitor.ask("/", Host=f"{host}:{port}").status == status, host
        with visitor.open("grading", "project=gold&setup=Self-rating") as tab:
            assert tab.widget("setup/self-rating//transformers model").default == ""
            assert not tab.box("error")
        if Path("/proc/net/tcp").exists():
            lines = map(str.split, Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:])
            listening = {place for _, place, _, state, *_ in lines if state == "0A" and place.endswith(f":{port:04X}")}
            assert listening == {f"00000000:{port:04X}"}


def test_workflows_have_few_permissions_and_pinned_actions() -> None:
    workflows = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert set(workflows) >= {"ci", "image"}
    for name, text in workflows.items():
        workflow = yaml.safe_load(text)
        assert set(workflow["permissions"]) <= {"contents"}, name
        for words in re.findall(r"uses: (\S+)", text):
            assert re.search(r"@v\d+\.\d+\.\d+$", words), words
        assert set(re.findall(r"secrets\.(\w+)", text)) <= {"GITHUB_TOKEN"}, name
        for script in (step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]):
            # Names of tags and branches are untrusted text, which must not become part of a command.
            assert "${{" not in script, name
    image = yaml.safe_load(workflows["image"])
    # YAML 1.1 reads the key `on` as true.
    assert image[True] == {"push": {"tags": ["v*"]}}
    assert image["jobs"]["image"]["permissions"] == {"contents": "read", "packages": "write"}
    assert "--file deploy/Dockerfile" in workflows["image"]
    assert any(step.get("run") == ".ci/run" for step in yaml.safe_load(workflows["ci"])["jobs"]["check"]["steps"])


def test_server_with_own_certificate_has_no_address_for_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS belongs to the proxy; commands reach the server by plain HTTP on this computer."""
    options: dict[str, object] = {"server.port": 8501, "server.address": "0.0.0.0", "server.baseUrlPath": "/exam/"}
    monkeypatch.setattr(ui.st, "get_option", options.get)
    assert ui._own_address() == "http://127.0.0.1:8501/exam"
    options["server.sslCertFile"] = "certificate.pem"
    assert ui._own_address() is None
