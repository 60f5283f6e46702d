"""Killed processes: saved data stays, and nothing else remains."""

from __future__ import annotations

import pytest

from bench.kill import ACTS, drill
from tests.made.projects import examples


@pytest.mark.long
def test_kill_during_any_action_loses_and_leaves_nothing() -> None:
    said = list[str]()
    assert drill(examples(1), 23, said.append, longest=0.5) == []
    assert len([line for line in said if line.startswith("|") and line.split("|")[1].strip() in ACTS]) == len(ACTS)
