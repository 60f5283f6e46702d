"""Models that visitors of a shared server may use on the screens: only those that its owner offers."""

import json
from pathlib import Path

import pytest

from exam_workbench.bank import save_named_grader
from exam_workbench.graders import _access as access
from exam_workbench.jobs import current_job
from exam_workbench.store import Project
from exam_workbench.types import Question
from pages.parts.shared import visitor
from tests.made.endpoint_server import EndpointServer
from tests.made.projects import commit, fill
from tests.made.screens import DEADLINE, Screen, keyed, named, visit

SECRET = "not-for-anybody-else-0123456789"


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a shared server with secrets in its environment."""
    monkeypatch.setattr(visitor, "is_alone", lambda: False)
    for name in (*access.WELL_KNOWN, "OPENAI_BASE_URL", "EXAM_ENDPOINTS", "EXAM_MODEL_FOLDERS", "EXAM_HUB_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("MY_DB_PASSWORD", SECRET)


@pytest.fixture
def asked(project: Project) -> Project:
    fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
    return project


def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    (tmp_path / "e.toml").write_text(
        f'[endpoints.Ours]\nbase_url = "{url}"\nkey_variable = "MY_KEY"\nmodels = ["mini"]'
    )
    monkeypatch.setenv("EXAM_ENDPOINTS", str(tmp_path / "e.toml"))
    monkeypatch.setenv("MY_KEY", "the-key-for-ours")


def nothing_to_type(app: Screen) -> bool:
    return not any(keyed(app.text_input, key) for key in ("base_url", "model", "key", "verify_model"))


def can(app: Screen, *keys: str) -> bool:
    """Return whether a screen has a button with one of these keys."""
    return any(keyed(app.button, key) for key in keys)


def test_screens_without_offered_models_have_no_model_fields(asked: Project) -> None:
    app = visit("grading").choose("setup", "Self-rating")
    app.check_refused("no-model-offered")
    assert nothing_to_type(app)
    app.choose("back_end", "openai")
    app.check_refused("no-endpoint-offered")
    assert nothing_to_type(app) and not can(app, "ask", "grade", "save")
    app = visit("prompts", prompt="self-rating")
    assert "Question: What is gold?" in "\n".join(str(block.value) for block in app.code)
    toggle = named(app.toggle, "with a model")
    toggle.set_value(True)
    app.run()
    app.check_refused("no-model-offered")
    assert nothing_to_type(app)
    app = visit("exam")
    assert app.errors() == ["no-model-offered"]
    assert nothing_to_type(app)
    assert not can(app, "writer begin")


def test_visitor_chooses_an_offered_endpoint_with_its_key(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EndpointServer() as server:
        offer(tmp_path, monkeypatch, server.url)
        app = visit("grading").choose("setup", "Self-rating").choose("back_end", "openai")
        assert [named(app.selectbox, key).options for key in ("endpoint", "model of Ours")] == [["Ours"], ["mini"]]
        assert nothing_to_type(app)
        app.press("grade")
        job = current_job(asked)
        assert job is not None and job.wait(DEADLINE) and job.progress.graded == 1
    assert [seen.headers["authorization"] for seen in server.seen] == ["Bearer the-key-for-ours"]
    assert "the-key-for-ours" not in app.run().said()


def test_saved_grader_cannot_use_unoffered_models_or_fields(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAM_HUB_MODELS", "google/flan-t5-large")
    insert = "INSERT OR REPLACE INTO named_graders VALUES ('came along', 'self-rating', ?, 'bob', now()::TIMESTAMP)"
    with EndpointServer() as ours, EndpointServer() as other:
        offer(tmp_path, monkeypatch, ours.url)
        endpoint = {"model": "mini", "base_url": ours.url}
        for parameters, code in (
            (endpoint | {"base_url": other.url, "key_variable": "MY_DB_PASSWORD"}, "address-not-offered"),
            (endpoint | {"extra": {"seed": 1}}, "invalid-further-fields"),
            # The refusal does not reveal if a path exists.
            ({"model": "/etc"}, "model-not-offered"),
            ({"model": "/nowhere/at/all"}, "model-not-offered"),
            ({"model": "anybody/huge-model"}, "model-not-offered"),
        ):
            commit(asked, insert, [json.dumps(parameters)])
            app = visit("grading", setup="came along (saved)")
            assert app.errors() == [code], parameters
            assert not can(app, "ask", "grade")
        assert not other.seen and not ours.seen


def test_visitor_cannot_set_further_fields_or_exceed_the_cap(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EndpointServer() as ours:
        offer(tmp_path, monkeypatch, ours.url)
        with (tmp_path / "e.toml").open("a") as file:
            file.write("\nmax_calls = 1\nmax_cost = 0")
        app = visit("grading").choose("setup", "Self-rating").choose("back_end", "openai")
        assert not keyed(app.text_input, "extra")
        assert app.press("ask").errors() == ["no-price"] and not ours.seen


def test_question_suggestions_use_only_offered_endpoints(
    asked: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EndpointServer() as ours, EndpointServer() as other:
        parameters = {"model": "mini", "base_url": other.url, "key_variable": "MY_DB_PASSWORD"}
        save_named_grader(asked, "came along", "self-rating", parameters, "ann")
        app = visit("question_bank", query="q1").press("suggest questions")
        assert app.errors()[-1] == "no-endpoint-offered"
        assert not can(app, "ask for questions") and nothing_to_type(app)
        offer(tmp_path, monkeypatch, ours.url)
        app.press("suggest questions")
        assert named(app.selectbox, "endpoint").options == ["Ours"] and nothing_to_type(app)
        one = named(app.button, "ask for questions")
        one.click()
        # The harness reruns whole screens, so a dialog stays open only if its button is pressed again.
        app.press("suggest questions")
    assert [seen.headers["authorization"] for seen in ours.seen] == ["Bearer the-key-for-ours"] and not other.seen
