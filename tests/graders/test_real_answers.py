"""Answers of a small real model, read by two readers who did not see the program's readings, and by the program."""

from __future__ import annotations

import json
from pathlib import Path

from tests.real_models import reading_of

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
