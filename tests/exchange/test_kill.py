"""A process that is killed amid any kind of act loses nothing that was saved, and leaves nothing behind."""

from __future__ import annotations

import pytest

from bench.kill import ACTS, drill
from tests.made.projects import examples


@pytest.mark.long
def test_a_kill_amid_each_kind_of_act_loses_and_leaves_nothing() -> None:
    said = list[str]()
    assert drill(examples(1), 23, said.append, longest=0.5) == []
    assert len([line for line in said if line.startswith("|") and line.split("|")[1].strip() in ACTS]) == len(ACTS)
