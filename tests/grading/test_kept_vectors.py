"""The vectors that a project keeps: what is encoded once is not encoded again, and no grade is another for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from exam_workbench import bank
from exam_workbench.bank import project_counts
from exam_workbench.cli import cli
from exam_workbench.exchange import export_project, import_project
from exam_workbench.graders import Kept, make_grader
from exam_workbench.graders._embedding import embedding_grader as embedding, minilm
from exam_workbench.graders._embedding.embedding_grader import EncodingCache
from exam_workbench.grading import (
    Request,
    _grade_storage as vector_storage,
    count_vectors,
    drop_vectors,
    run_job,
    start_job,
)
from exam_workbench.grading._grade_storage import ProjectVectors
from exam_workbench.jobs import Progress
from exam_workbench.store import Project, open_project
from exam_workbench.types import Question
from tests.made.engine_failure import break_database
from tests.made.projects import copy_of, fill

PASSAGES = {
    "p1": "Venus is the second planet. Its surface reaches about 465 degrees Celsius, hot enough to melt lead.",
    "p2": "The market opens at eight. Bring your own bags, and pay in cash. It closes when all is sold.",
    "p3": "Clouds of sulfuric acid hide the surface.",
}
HOT = Question("q1/a", "q1", "How hot does the surface of Venus get?")
HIDDEN = Question("q1/b", "q1", "What hides the surface of Venus?")


def fill_texts(project: Project) -> None:
    fill(project, [HOT, HIDDEN], {}, {"one": {"q1": list(PASSAGES)}})
    with project.transaction() as cursor:
        for name, text in PASSAGES.items():
            cursor.execute("UPDATE passage_texts SET text = ? WHERE text = ?", [text, f"text of {name}"])


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Project]:
    yield from copy_of(fill_texts, tmp_path)


@pytest.fixture(autouse=True)
def encoded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that the model was asked for, in a process that remembers none."""
    seen: list[str] = []
    encode = minilm.Encoder.encode

    def watched(self: minilm.Encoder, texts: list[str]) -> minilm.Vectors:
        seen.extend(texts)
        return encode(self, texts)

    forget(monkeypatch)
    monkeypatch.setattr(minilm.Encoder, "encode", watched)
    yield seen


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process begins."""
    monkeypatch.setattr(embedding, "_CACHE", EncodingCache(embedding.CACHE_BYTES))


def grade(project: Project, **more: object) -> Progress:
    final = run_job(project, make_grader("embedding", {}), Request(**more), "ann")  # type: ignore[arg-type]
    assert final.state == "done", final.message
    return final


def reword(project: Project, text: str) -> None:
    changed = [replace(q, text=text) if q.question_id == "q1/a" else q for q in bank.list_questions(project)]
    bank.save_version(project, changed, "reworded", "ann")


def stored(project: Project) -> list[tuple[object, ...]]:
    return project.rows(
        "SELECT q.text, p.text, rating, raw, answer, confidence FROM grades"
        " JOIN question_texts q ON q.text_key = question_text_key JOIN passage_texts p ON p.text_key = passage_text_key"
        " ORDER BY ALL"
    )


def test_regrading_a_reworded_question_encodes_that_question_alone(
    filled: Project, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(filled)
    assert set(PASSAGES.values()) < set(encoded)
    forget(monkeypatch)
    encoded.clear()
    reword(filled, "What temperature has Venus?")
    assert grade(filled).graded == len(PASSAGES)
    assert encoded == ["What temperature has Venus?"]


def test_a_trial_of_a_draft_uses_what_is_kept_and_keeps_its_question(
    filled: Project, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(filled)
    draft = replace(HOT, text="Is Venus warm?")
    forget(monkeypatch)
    encoded.clear()
    job = start_job(filled, make_grader("embedding", {}), Request(trial=(draft,)), "ann")
    assert job.wait(120) and job.progress.graded == len(PASSAGES)
    assert encoded == ["Is Venus warm?"]
    forget(monkeypatch)
    encoded.clear()
    # Other cut points are another grader, which has every text encoded already.
    other = make_grader("embedding", {"cuts": [0.1, 0.2, 0.3, 0.4, 0.5]})
    assert run_job(filled, other, Request(trial=(draft,)), "ann").graded == len(PASSAGES)
    assert encoded == []


def test_where_everything_is_kept_the_model_is_not_even_loaded(
    filled: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(filled)
    forget(monkeypatch)
    monkeypatch.setattr(minilm, "load_encoder", lambda folder: pytest.fail("the model was loaded"))
    other = make_grader("embedding", {"cuts": [0.1, 0.2, 0.3, 0.4, 0.5]})
    assert run_job(filled, other, Request(), "ann").graded == 2 * len(PASSAGES)


def test_grades_from_kept_vectors_are_those_of_fresh_ones(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [replace(HOT, text=text) for text in ("How warm is it?", "When does the market open?", "What hides it?")]
    with_kept, without = [], []
    for found in (with_kept, without):
        with filled.transaction() as cursor:
            cursor.execute("DELETE FROM grades")
        grade(filled)
        for question in others:
            forget(monkeypatch)
            if found is without:
                drop_vectors(filled)
            grade(filled, trial=(question,))
        found += stored(filled)
    assert with_kept == without
    assert len(with_kept) == (2 + len(others)) * len(PASSAGES)


def test_vectors_are_those_of_the_encoder_and_of_nothing_else(
    filled: Project, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(filled)
    fresh = minilm.load_encoder(minilm.model_folder()).encode(list(PASSAGES.values()))
    kept = filled.rows("SELECT vector FROM text_vectors WHERE role = 'passage'")
    for vector in fresh:
        assert min(abs(np.frombuffer(blob, np.float32) - vector).max() for (blob,) in kept) < 1e-5
    with filled.transaction() as cursor:
        cursor.execute("UPDATE text_vectors SET encoder = 'another model'")
    forget(monkeypatch)
    encoded.clear()
    reword(filled, "What temperature has Venus?")
    grade(filled)
    assert set(PASSAGES.values()) < set(encoded)
    assert {one.encoder for one in count_vectors(filled)} == {"another model", embedding.ENCODER}


def test_what_another_project_left_in_memory_is_kept_here_too(filled: Project, encoded: list[str]) -> None:
    grade(filled)
    drop_vectors(filled)
    encoded.clear()
    reword(filled, "What temperature has Venus?")
    grade(filled)
    assert encoded == ["What temperature has Venus?"]
    assert {(one.role, one.texts) for one in count_vectors(filled)} == {("passage", 3), ("question", 1)}


def test_each_text_is_kept_once(filled: Project) -> None:
    grade(filled)
    grade(filled, trial=(replace(HOT, text="Is Venus warm?"),))
    ProjectVectors(filled).put(embedding.ENCODER, "passage", {})
    assert filled.value("SELECT count(*) - count(DISTINCT (role, digest)) FROM text_vectors") == 0


def test_a_copy_of_the_project_leaves_vectors_out_and_grades_as_before(
    filled: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(filled)
    before = project_counts(filled)
    assert "text_vectors" not in export_project(filled, tmp_path / "copy", "ann")
    copy = import_project(tmp_path / "copy", tmp_path / "copied.duckdb")
    assert count_vectors(copy) == [] and project_counts(copy) == before
    forget(monkeypatch)
    for project in (copy, filled):
        reword(project, "What temperature has Venus?")
        grade(project)
    assert stored(copy) == stored(filled)
    copy.close()


def test_the_command_says_what_is_kept_and_drops_it(filled: Project) -> None:
    grade(filled)
    path = filled.path
    filled.close()
    shown = CliRunner().invoke(cli, ["vectors", "--project", str(path), "--json"])
    kept = {one["role"]: one["texts"] for one in json.loads(shown.output)["vectors"]}
    assert kept == {"passage": 3, "question": 2}
    dropped = CliRunner().invoke(cli, ["vectors", "--project", str(path), "--drop", "--json"])
    assert json.loads(dropped.output) == {"dropped": 5, "vectors": []}
    project = open_project(path)
    assert len(stored(project)) == 2 * len(PASSAGES)
    project.close()


def test_vectors_are_kept_though_the_engine_gives_up_while_they_are_written(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, failures = vector_storage.stage_columns, iter([True])

    def failing(*given: Any) -> None:
        if next(failures, False):
            break_database(project)
        stage(*given)

    monkeypatch.setattr(vector_storage, "stage_columns", failing)
    ProjectVectors(project).put("encoder", "question", {b"1" * 16: Kept(b"1234", b"")})
    assert [count.texts for count in count_vectors(project)] == [1]
    assert len(project.reopenings) == 1
