"""A server whose secrets cannot be read, or that demands a login which they lack, lets nobody in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit import config
from streamlit.runtime.secrets import Secrets

from pages.parts.shared import login, visitor
from tests.made.refusals import refusal

AUTH = '[auth]\nclient_id = "workbench"\n'
Write = Callable[[str | None], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """A function that gives the server a file of secrets with this content; None for no file."""
    path = tmp_path / "secrets.toml"
    asked = config.get_option
    monkeypatch.setattr(config, "get_option", lambda name: [str(path)] if name == "secrets.files" else asked(name))
    monkeypatch.setattr(visitor.st, "get_option", config.get_option)
    monkeypatch.delenv(login.DEMAND_VARIABLE, raising=False)

    def write(content: str | None) -> None:
        monkeypatch.setattr(visitor.st, "secrets", Secrets())
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(content)

    return write


def test_secrets_that_cannot_be_read_are_not_taken_for_none(write: Write, tmp_path: Path) -> None:
    """Else a slip of the pen in them would open the server to everybody, with every right."""
    write(None)
    assert not login.is_required() and dict(visitor.server_secrets()) == {}
    write(AUTH)
    assert login.is_required()
    write("[auth]\nclient_id = workbench\n")
    asks: list[Callable[[], object]] = [login.is_required, login.current_identity, login.can_log_in, visitor.is_alone]
    for ask in asks:
        with refusal("secrets-unreadable", "secrets.toml"):
            ask()
    # A folder, as an older compose file made one where the file was forgotten.
    write(None)
    (tmp_path / "secrets.toml").mkdir()
    with refusal("secrets-unreadable", "secrets.toml"):
        login.is_required()


def test_where_a_login_is_demanded_nobody_comes_in_without_one(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write(None)
    login.can_log_in()
    monkeypatch.setenv(login.DEMAND_VARIABLE, "1")
    for content in None, "[endpoints.Lab]\nmodels = []\n":
        write(content)
        assert login.is_required()
        with refusal("no-login", "secrets.toml", "[auth]"):
            login.can_log_in()
    write(AUTH)
    login.can_log_in()
    monkeypatch.setenv(login.DEMAND_VARIABLE, "0")
    write(None)
    assert not login.is_required()
