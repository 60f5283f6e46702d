"""Answers of a small real model, read by two readers who did not see the program's readings, and by the program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.made.endpoint_calls import key
from tests.made.endpoint_server import EndpointServer, chat
from tests.real_models import main, reading_of

__all__ = ["key"]

RECORDED = [
    json.loads(line) for line in Path(__file__).with_name("real_answers.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Answers of SmolLM2-135M-Instruct to pairs of the demo, at three temperatures, from both back ends."""
READ_OTHERWISE = {"a9c624d8353a", "d67fa2c2248b", "902d6561fb94", "6b6bb865838c", "2a3f46e5c7b7"}
"""Ids of answers that the program fails or defaults, although both readers see a verdict or a denial."""


def test_real_answers_are_read_as_two_readers_read_them() -> None:
    agreed = {one["id"]: one for one in RECORDED if len(set(one["readings"])) == 1}
    assert (len(RECORDED), len(agreed)) == (209, 207)
    assert {one["back_end"] for one in RECORDED} == {"local", "endpoint"}
    wrong = {name for name, one in agreed.items() if reading_of(one)[0] != one["readings"][0]}
    assert wrong <= READ_OTHERWISE
    # No value is read that the readers do not see.
    assert {reading_of(agreed[name])[1] for name in wrong} <= {"failed", "defaulted"}


def test_the_command_counts_failed_defaulted_and_wrong_readings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers, readings = tmp_path / "answers.jsonl", tmp_path / "readings.jsonl"
    with EndpointServer(lambda seen: chat("It is unclear.")) as server:
        given = [f"{server.url}", "--name", "m", "--pairs", "2", "-o", str(answers)]
        main(given)
        records = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
        rated = [one for one in records if one["case"] == "self-rating self-rating"]
        told = [{"id": one["id"], "reading": reading} for one, reading in zip(rated, ("none", "3"), strict=True)]
        readings.write_text("".join(json.dumps(one) + "\n" for one in told), encoding="utf-8")
        capsys.readouterr()
        main([*given, "--readings", str(readings)])
    rows = {line[:30].strip(): line[30:].split() for line in capsys.readouterr().out.splitlines()}
    assert rows["case"] == ["answers", "failed", "defaulted", "checked", "wrong"]
    assert rows["self-rating self-rating"] == ["2", "0", "2", "2", "1"]
    assert rows["choice"] == ["2", "2", "0", "0", "0"]
