"""Import of mutated project folders: refused without a trace, or with sound results."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from hypothesis import given, strategies as st

from tests.fuzz.checks import fuzzed
from tests.made.fuzz_parquet import check, copied, mutate


def test_unchanged_project_is_imported(shared_export: Path) -> None:
    assert check(shared_export) == ""


def test_mutated_project_is_refused_or_sound(shared_export: Path) -> None:
    @fuzzed(6)
    @given(st.randoms())
    def holds(random: Random) -> None:
        with tempfile.TemporaryDirectory() as made:
            changed = copied(shared_export, Path(made) / "out")
            mutate(changed, random)
            check(changed)

    holds()
