"""Import of mutated project folders: refused without a trace, or with sound results."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, strategies as st

from tests.fuzz.checks import fuzzed
from tests.made.fuzz_parquet import check, copied, exported, mutate
from tests.made.once import made_once


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "exported project", exported)


def test_unchanged_project_is_imported(folder: Path) -> None:
    assert check(folder) == ""


def test_mutated_project_is_refused_or_sound(folder: Path) -> None:
    @fuzzed(6)
    @given(st.randoms())
    def holds(random: Random) -> None:
        with tempfile.TemporaryDirectory() as made:
            changed = copied(folder, Path(made) / "out")
            mutate(changed, random)
            check(changed)

    holds()
