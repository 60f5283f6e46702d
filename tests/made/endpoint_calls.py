"""Calls to an endpoint in tests: pairs of questions and passages, and a back end that sends them."""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from exam_workbench.graders import Call, Control, Outcome, Pair, Prompt, Steps, extend_access, use_access
from exam_workbench.graders._endpoint.endpoint_back_end import EndpointBackEnd
from exam_workbench.types import Grade
from tests.made.endpoint_server import Behaviour, EndpointServer

KEY = "sk-test-0123456789abcdef0123456789abcdef"
RATE = Prompt("rate", "Rate", "self-rating", "Question: {question}\nPassage: {context}\nRating:", "rating", "ours")
FREE = Prompt("free", "Free", "answer", "Answer as JSON: {question}", "text", "ours")
SCALE = ("0", "1", "2", "3", "4", "5")


def fast_clock() -> float:
    """Return the time of a clock that runs 1,000 times as fast, so that waiting takes little time."""
    return time.monotonic() * 1000


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set an API key that is easy to find if it leaks."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Fail a test that leaves a thread running."""
    before = set(threading.enumerate())
    yield
    assert [thread.name for thread in set(threading.enumerate()) - before] == []


def answering(behave: Behaviour) -> Any:
    """Return a fixture: an endpoint that answers with `behave`."""

    @pytest.fixture
    def server() -> Iterator[EndpointServer]:
        with EndpointServer(behave) as running:
            yield running

    return server


def make(server: EndpointServer, **options: Any) -> EndpointBackEnd:
    with use_access(extend_access(server.url, "OPENAI_API_KEY")):
        return EndpointBackEnd("m", server.url, "OPENAI_API_KEY", **({"clock": fast_clock} | options))


def question(i: int) -> Call:
    return Call(RATE, {"question": f"q{i}?", "context": f"Passage {i}."}, "rating", options=SCALE, max_tokens=8)


def prompt(i: int) -> str:
    return f"Question: q{i}?\nPassage: Passage {i}.\nRating:"


def rated(call: Call) -> Steps:
    """Ask once and read a rating, from JSON or from plain text."""
    completion = yield call
    if completion.error is not None:
        return Grade(None, "failed", reason=completion.error)
    if not completion.complete:
        return Grade(None, "failed", raw=completion.text, reason="cut off")
    found = re.fullmatch(r'\{"rating": ?(\d+)\}|(\d)', completion.text)
    number = int(found[1] or found[2]) if found else -1
    if number not in range(6):
        return Grade(None, "failed", raw=completion.text, reason="no rating")
    note = f"shortened by {completion.shortened}" if completion.shortened else None
    return Grade(number, raw=completion.text, note=note)


def pairs(n: int) -> Iterator[tuple[Pair, Steps]]:
    return (((i, 1000 + i), rated(question(i))) for i in range(n))


def drive(end: EndpointBackEnd, work: Iterable[tuple[Pair, Steps]], control: Control | None = None) -> dict[int, Grade]:
    """Return all grades by question; each pair must come only once."""
    outcomes: list[Outcome] = []
    for batch in end.drive(work, control or Control()):
        outcomes += batch
    assert len({(q, p) for q, p, _ in outcomes}) == len(outcomes)
    return {q: grade for q, _, grade in outcomes}


def only(grades: dict[int, Grade]) -> Grade:
    assert len(grades) == 1
    return grades[0]


def until(condition: Callable[[], object]) -> None:
    """Wait until another thread makes a condition true."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.005)
