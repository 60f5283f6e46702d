"""The files that put the workbench on a server say what the documentation and the app take for granted."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from pages.parts.shared import ui

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"


def test_the_compose_file_has_a_proxy_a_health_check_and_a_volume() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    app, proxy = services["services"]["workbench"], services["services"]["proxy"]
    assert app["healthcheck"]["test"][0] == "CMD"
    compile(app["healthcheck"]["test"][3], "health check", "exec")
    assert any(one.startswith("projects:") for one in app["volumes"]) and "projects" in services["volumes"]
    # The app can be reached through the proxy alone.
    assert "ports" not in app and proxy["ports"] == ["80:80", "443:443"]
    assert proxy["depends_on"]["workbench"]["condition"] == "service_healthy"
    mounted = [Path(one.split(":")[0]).name for one in [*app["volumes"], *proxy["volumes"]] if one.startswith("./")]
    assert (DEPLOY / app["build"]["context"] / app["build"]["dockerfile"]).is_file()
    assert [name for name in mounted if not (DEPLOY / name).exists()] == ["secrets.toml"]


def test_the_proxy_passes_on_to_the_port_that_the_app_serves() -> None:
    caddy = (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert caddy.count("{") == caddy.count("}")
    assert "reverse_proxy workbench:8501" in caddy and "{$EXAM_HOST}" in caddy
    assert 'CMD ["exam", "serve", "--port", "8501"]' in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def test_the_example_of_secrets_has_what_a_login_needs_and_is_no_secret() -> None:
    example = tomllib.loads((DEPLOY / "secrets.example.toml").read_text(encoding="utf-8"))
    assert set(example["auth"]) == {
        "redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url",
    }  # fmt: skip
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()
    assert {"deploy/secrets.toml", "deploy/.env", ".streamlit/secrets.toml"} <= set(ignored)


def test_a_server_with_a_certificate_of_its_own_has_no_door_for_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS belongs to the proxy; what a door leads to is plain HTTP on this computer."""
    options: dict[str, object] = {"server.port": 8501, "server.address": "0.0.0.0", "server.baseUrlPath": "/exam/"}
    monkeypatch.setattr(ui.st, "get_option", options.get)
    assert ui._own_address() == "http://127.0.0.1:8501/exam"
    options["server.sslCertFile"] = "certificate.pem"
    assert ui._own_address() is None
