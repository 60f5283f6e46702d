"""`transformers serve` is an endpoint like any other: a tiny chat model behind it grades as it does in this process."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.graders import Control, make_grader
from exam_workbench.types import Asked, Grade
from tests.made.tiny_models import build_tiny_causal, shared_model

READY_SECONDS = 120
PASSAGES = {1: "silver", 2: "the clay", 3: "it is gold .", 4: "tin", 5: "iron in the scale", 6: "fog"}
QUESTIONS = {0: Asked("which part ?")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # What it is asked here it has learnt long before it knows the rest.
    return shared_model(tmp_path_factory, build_tiny_causal, chat_template=True, steps=80)


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """Where the command serves the model, in a thread of this process, which has loaded its libraries before."""
    from huggingface_hub import constants
    from transformers.cli.transformers import app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    command = ["serve", str(folder), "--host", "127.0.0.1", "--port", str(port), "--non-blocking"]
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


def test_a_model_behind_transformers_serve_rates_as_it_does_in_this_process(folder: Path, url: str) -> None:
    here = grades({"model": str(folder)})
    there = grades({"back_end": "openai", "model": str(folder), "base_url": url})
    assert set(there) == set(PASSAGES)
    assert {p: (g.rating, g.status) for p, g in there.items()} == {p: (g.rating, g.status) for p, g in here.items()}
    assert len({grade.rating for grade in there.values()}) > 2
