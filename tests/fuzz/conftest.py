"""The project of the property tests, made once per process."""

from collections.abc import Iterator

import pytest

from tests.fuzz.checks import Bench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("bench"))
    yield made
    made.rehearsal.close()
