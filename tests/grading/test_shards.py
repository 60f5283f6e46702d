"""Shards of grades that the workers of a cluster left: taken in by whoever has the same texts, and by nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.errors import FileError
from core.graders import Shard, ShardFolder, Usage, block_digest, make_grader, write_shard
from core.grading import jobs, make_plan, pairs_to_grade, take_in_folder, take_in_shards, with_texts
from core.project import Project
from core.types import Grade, Question
from tests.made.projects import copy_of, fill
from tests.made.shell import printed, shell_on

QUESTIONS = [Question("q1/a", "q1", "Which A?"), Question("q2/c", "q2", "Which C?")]
GRADER = make_grader("embedding", {})
PRINT = GRADER.spec.fingerprint


def filled(project: Project) -> None:
    fill(project, QUESTIONS, {}, {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p4"]}})


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two shards of all that is missing; of each the last pair failed."""
    folder = tmp_path_factory.mktemp("shards")
    for project in copy_of(filled, folder):
        for pairs in pairs_to_grade(project, GRADER.spec, 1):
            texts = with_texts(project, GRADER.spec, pairs)
            block = block_digest(PRINT, texts.questions, texts.passages, pairs)
            said = [Grade(number, raw="said") for number in range(len(pairs) - 1)]
            grades = [*said, Grade(None, "failed", reason="gone")]
            outcomes = [(*pair, grade) for pair, grade in zip(pairs, grades, strict=True)]
            shard = Shard(PRINT, block, "job", outcomes, Usage(len(pairs), 100, 10))
            (folder / shard.name).write_bytes(write_shard(shard))
        yield folder


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    return shell_on(filled, tmp_path, monkeypatch, capsys)


def test_a_folder_of_shards_is_taken_in_once_however_often_it_is_given(exam: Any, shards: Path) -> None:
    taken = printed(exam("ingest", str(shards), "--json"))
    assert (taken["graded"], taken["failed"], taken["known"]) == (3, 2, 0)
    assert taken["usage"]["calls"] == 5
    again = printed(exam("ingest", *map(str, sorted(shards.glob("*.parquet"), reverse=True)), "--json"))
    assert (again["graded"], again["failed"], again["known"], again["usage"]["calls"]) == (0, 0, 3, 0)
    assert printed(exam("plan", "--json"))["failed"] == 2


def test_what_a_killed_job_left_is_taken_in_before_the_next_one_asks(shards: Path, tmp_path: Path) -> None:
    (tmp_path / "grades-other.parquet").write_bytes(b"of another grader")
    for path in shards.glob("*.parquet"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / f"grades-{PRINT}-damaged.parquet").write_bytes(b"PAR1")
    for project in copy_of(filled, tmp_path):
        found = take_in_folder(project, GRADER, ShardFolder(str(tmp_path)), "tester")
        assert (found.taken.graded, found.taken.failed, found.others) == (3, 2, 1)
        assert make_plan(project, GRADER.spec, 1).to_grade == 0
        (job,) = jobs(project)
        assert (job.state, job.total, job.calls) == ("done", 5, 5)


def test_shards_of_another_grader_or_of_other_texts_change_nothing(shards: Path, tmp_path: Path) -> None:
    other = make_grader("embedding", {"cuts": [0.1, 0.2, 0.3, 0.4, 0.5]})
    paths = sorted(shards.glob("*.parquet"))
    for project in copy_of(filled, tmp_path):
        with pytest.raises(FileError, match="grades of another grader"):
            take_in_shards(project, other, paths, "tester")
        block, wrong = "0" * 32, tmp_path / "wrong.parquet"
        for shard, reason in (
            (Shard(PRINT, block, "j", [(1, 1, Grade(2))]), "texts that this project does not have"),
            (Shard(PRINT, block, "j", [(999, 1, Grade(2))]), "texts that this project does not have"),
            (Shard(PRINT, block, "j", [(1, 1, Grade(6))]), "ratings above 5"),
        ):
            wrong.write_bytes(write_shard(shard))
            with pytest.raises(FileError, match=reason):
                take_in_shards(project, GRADER, [*paths, wrong], "tester")
        assert jobs(project) == []


def test_a_cluster_is_needed_for_shards_and_answers_are_taken_in_apart(exam: Any, shards: Path, tmp_path: Path) -> None:
    code, _, said = exam("grade", "--shards", "there")
    assert code == 2
    assert "--engine ray" in said
    (tmp_path / "answers.jsonl").write_text("{}")
    code, _, said = exam("ingest", str(shards), "answers.jsonl")
    assert code == 2
    assert "apart" in said
