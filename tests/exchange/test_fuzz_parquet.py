"""Imported projects with something wrong in them are refused in a sentence, or all that they lead to is sound."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.made.fuzz_parquet import check, copied, exported, mutate
from tests.made.once import made_once
from tests.made.projects import examples

SEEDS = range(examples(5))
"""A few; `make fuzz` goes on from there."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "exported project", exported)


def test_what_is_not_changed_is_imported(folder: Path) -> None:
    assert check(folder) == ""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_project_with_something_wrong_is_refused_or_sound(folder: Path, tmp_path: Path, seed: int) -> None:
    changed = copied(folder, tmp_path / "out")
    mutate(changed, Random(seed))
    check(changed)
