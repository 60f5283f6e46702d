"""A short run of the fuzzer with fixed dice, and that it notices what it looks for. `make fuzz` runs a long one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from core.formats import queries
from core.graders import Parsed
from tests.fuzz import answers, oracles, round_trip, runner
from tests.fuzz.bench import Bench
from tests.fuzz.editing import ACTS
from tests.fuzz.inputs import Input, shrunk, stored
from tests.fuzz.kinds import KINDS
from tests.fuzz.limits import MEMORY
from tests.fuzz.worker import ROOT, made, send
from tests.made.projects import examples

SEED = 51
INPUTS = examples(100)


class Boundless:
    """In place of limits, which would hold for the process of all tests."""

    def around_one(self) -> AbstractContextManager[None]:
        return nullcontext()


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("before"))
        made = Bench(tmp_path_factory.mktemp("bench"))
        yield made
        made.rehearsal.close()


def sending(bench: Bench, kind: str, data: bytes, **given: Any) -> str | None:
    """Import a file, and say what the fuzzer finds wrong with that."""
    options = {"source": None, "skip_unknown": True, "gold": False}
    thorough = {"options": options, "preview": False, "door": True, "deep": False, **given}
    _, failure = send(bench, Boundless(), Input(kind, (("some.file", data),), thorough))  # type: ignore[arg-type]
    return None if failure is None else failure.name


def test_nothing_that_should_not_is_accepted_or_breaks_something(tmp_path: Path) -> None:
    said: list[str] = []
    result = runner.run(INPUTS, SEED, tmp_path, say=said.append)
    assert not result.failures, said
    assert sum(result.sent.values()) == INPUTS
    assert set(result.sent) == set(KINDS), "every kind has its share"
    assert result.peak < MEMORY


def test_the_same_seed_makes_the_same_inputs() -> None:
    kinds = list(KINDS)
    assert [made(7, number, kinds) for number in range(40)] == [made(7, number, kinds) for number in range(40)]
    assert made(7, 0, kinds) != made(8, 0, kinds)


def test_an_input_is_kept_and_read_back(tmp_path: Path) -> None:
    sent = Input("runs", (("a\nb.run", b"\x00\xff"), ("c", b"")), {"text": "\udcff\x1f", "number": 2**70})
    sent.store(tmp_path / "kept")
    assert stored(tmp_path / "kept") == sent


def test_an_input_that_fails_is_made_smaller() -> None:
    sent = Input("runs", (("f", b"good line\n" * 20 + b"BAD" + b"good line\n" * 20),))
    assert shrunk(sent, lambda smaller: b"BAD" in smaller.files[0][1], 1000).files == (("f", b"BAD"),)


def test_good_files_are_accepted_and_bad_ones_refused(bench: Bench) -> None:
    assert sending(bench, "queries", b"q7\tsome words\n", deep=True) is None
    assert sending(bench, "queries", b"q7\n") is None
    oracles.unchanged(bench, bench.rehearsal)


def test_a_preview_of_a_good_file_is_accepted(bench: Bench) -> None:
    assert sending(bench, "queries", b"q7\tsome words\n", preview=True) is None
    oracles.unchanged(bench, bench.rehearsal)


@pytest.mark.parametrize("act", ACTS)
def test_every_edit_that_people_make_is_accepted(bench: Bench, act: str) -> None:
    given = {
        "act": act,
        "fields": {"note": "a note"},
        "text": "What is it?\nWho is it?",
        "number": 1,
        "author": "ann",
        "deep": False,
    }
    assert send(bench, Boundless(), Input("editing", (), given)) == (True, None)  # type: ignore[arg-type]
    oracles.unchanged(bench, bench.rehearsal)


def test_another_error_than_ours_is_a_failure(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "_is_row", lambda line: {}["header"])
    assert sending(bench, "queries", b'{"q7": "some words"}\n') == "KeyError in core/formats/queries.py:_read"


def test_what_an_input_leaves_behind_is_a_failure(bench: Bench) -> None:
    with bench.copy() as project:
        oracles.unchanged(bench, project)
        with project.transaction() as cursor:
            cursor.execute("UPDATE queries SET text = 'another' WHERE query_id = 'q0'")
        with pytest.raises(oracles.Broken, match="queries"):
            oracles.unchanged(bench, project)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ("UPDATE passages SET passage_id = 'two words' WHERE passage_id = 'p1'", "an id breaks the columns"),
        ("UPDATE queries SET query_id = 'q' || chr(160) WHERE query_id = 'q1'", "an id breaks the columns"),
        ("UPDATE runs SET name = 'r' || chr(7) WHERE name = 'r1'", "an id or a name has a control sign"),
        ("UPDATE queries SET text = 'a' || chr(31) || 'b'", "a text has a control sign"),
        ("UPDATE question_texts SET text = 'a' || chr(30) || 'b'", "what was asked has a control sign"),
        ("UPDATE question_revisions SET weight = 'nan'::DOUBLE", "a number is not finite"),
        ("UPDATE rankings SET score = 'inf'::DOUBLE", "a number is not finite"),
        ("UPDATE grades SET rating = 99", "a rating is off the scale"),
    ],
)
def test_what_nothing_could_be_done_with_is_a_failure(bench: Bench, change: str, rule: str) -> None:
    with bench.copy() as project:
        oracles.sound(project)
        with project.transaction() as cursor:
            cursor.execute(change)
        with pytest.raises(oracles.Broken, match=rule):
            oracles.sound(project)


def test_the_project_goes_out_and_comes_again_and_a_number_that_is_none_does_not(bench: Bench) -> None:
    with bench.copy() as project:
        oracles.goes_out(project)
        oracles.comes_again(project)
        with project.transaction() as cursor:
            cursor.execute("UPDATE board_scores SET score = 'nan'::DOUBLE")
        with pytest.raises(oracles.Broken, match="a leaderboard has a number that is none"):
            oracles.goes_out(project)


def test_a_file_that_says_something_else_when_it_was_written_is_a_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _ = round_trip.ROUND_TRIPS["qrels"]
    half = lambda rows, out: round_trip.write_qrels(rows[1:], out)  # noqa: E731
    monkeypatch.setitem(round_trip.ROUND_TRIPS, "qrels", (reader, (("half.qrels", half),)))
    assert sending(bench, "qrels", b"q0 0 p0 1\nq0 0 p1 1\n") == (
        "what we write as qrels says something else when it is read [qrels]"
    )


@pytest.mark.parametrize(
    "message", ["two\nlines", "a\x1bcolour", "a\u2028separator", "half \udcff", "long" * oracles.LONGEST_MESSAGE]
)
def test_a_message_that_nobody_can_read_is_a_failure(message: str) -> None:
    with pytest.raises(oracles.Broken):
        oracles.one_bounded_line(message)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("no number at all", Parsed(3, "graded")),
        ("45", Parsed(4, "graded")),
        ("4", Parsed(4, "failed", "x")),
        ("4", Parsed(7, "graded")),
    ],
)
def test_an_invented_rating_is_a_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, text: str, read: Parsed
) -> None:
    sent = Input("ratings", (), {"text": text, "more": "", "complete": True, "top": 5})
    assert send(bench, Boundless(), sent)[1] is None  # type: ignore[arg-type]
    monkeypatch.setattr(answers, "parse_rating", lambda *asked, **more: read)
    assert send(bench, Boundless(), sent)[1] is not None  # type: ignore[arg-type]


LIMITED = """
import sys, time
from tests.fuzz import limits
limits.MEMORY, limits.ADDRESS_SPACE = 16 << 20, 256 << 20
limits.CPU_SECONDS, limits.CLOCK_SECONDS = map(float, sys.argv[2:])
try:
    with limits.Limits().around_one():
        exec(sys.argv[1])
except BaseException as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("work", "processor", "clock", "said"),
    [
        ("pass", 10, 100, ""),
        ("while True: pass", 0.2, 100, "TookTooLong more than 0.2 s of the processor"),
        ("time.sleep(100)", 10, 0.2, "TookTooLong more than 0.2 s on the clock"),
        ("bytearray(64 << 20)", 10, 100, "TookTooMuch"),
        ("bytearray(512 << 20)", 10, 100, "MemoryError"),
    ],
)
def test_time_and_memory_of_the_process_are_limited(work: str, processor: float, clock: float, said: str) -> None:
    command = [sys.executable, "-c", LIMITED, work, str(processor), str(clock)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.stdout.startswith(said) and (said or not done.stdout) and not done.stderr


TELLS = """
import os, sys
begin, end = int(sys.argv[1]), int(sys.argv[2])
for number in range(begin, end):
    print('{"begin": %d, "kind": "names"}' % number, flush=True)
    if number == 1:
        os.kill(os.getpid(), 9)
    print('{"end": %d, "accepted": true, "peak": 5, "cpu": 0.1}' % number, flush=True)
"""


def test_a_process_that_dies_is_a_failure_and_another_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def process(folder: Path, out: Path, *options: object) -> subprocess.Popen[str]:
        begin, end = options[options.index("--begin") + 1], options[options.index("--end") + 1]
        return subprocess.Popen([sys.executable, "-c", TELLS, str(begin), str(end)], stdout=subprocess.PIPE, text=True)

    monkeypatch.setattr(runner, "_process", process)
    result = runner.run(4, SEED, tmp_path, ["names"], say=lambda line: None)
    (failure,) = result.failures
    assert failure == "the process ended (SIGKILL) [names]"
    assert (result.sent["names"], result.accepted["names"]) == (4, 3)
    (kept,) = (folder for folder in tmp_path.iterdir() if folder.is_dir())
    assert stored(kept) == made(SEED, 1, ["names"])
