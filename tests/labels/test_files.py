"""Leaderboards from Parquet files: the same scores as the project for any split of files, and refusals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from exam_workbench.errors import InputError
from exam_workbench.exchange import export_grades
from exam_workbench.labels import GradeFiles, Policy, leaderboard, leaderboard_of_files
from exam_workbench.records import add_job, end_job, refresh_pool, set_pool_depth
from exam_workbench.store._engine import engine_config, spill_folder
from exam_workbench.types import Question
from tests.made.projects import examples, fill, list_passages, new_project
from tests.made.shell import ShellOn, printed


def exported(folder: Path, pattern: str = "grades/*.parquet") -> GradeFiles:
    return GradeFiles(str(folder / pattern), str(folder / "runs.parquet"), str(folder / "questions.parquet"))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=examples(3), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_file_scores_match_project_scores(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    dice, folder = random.Random(seed), tmp_path_factory.mktemp("files")
    rule, weighted = dice.choice(("max", "support:2", "mean")), dice.random() < 0.5
    measure = dice.choice(("nDCG@3", "AP", "P@3", "RR"))
    queries = [f"q{i}" for i in range(dice.randint(1, 4))]
    questions = [
        Question(f"{q}/{n}", q, f"{n} of {q}?", weight=dice.choice((-1.0, 0.0, 0.5, 1.0)), active=dice.random() < 0.9)
        for q in queries
        for n in range(3)
    ]
    passages, graded = [f"p{i}" for i in range(6)], dice.choice((0.8, 0.95, 1))
    ratings = {
        (one.text, p): None if dice.random() < 0.2 else dice.randint(0, 5)
        for one in questions
        for p in [*passages, "p6"]
        if dice.random() < graded
    }
    runs = {
        f"run {r}": {q: dice.sample(passages, dice.randint(1, 6)) for q in queries if dice.random() < 0.8}
        for r in range(3)
    }
    project = new_project(folder / "some.duckdb")
    fill(project, questions, ratings, runs)  # type: ignore[arg-type]
    with project.transaction() as cursor:
        # Some runs are deeper than the pool, p0 has no text, and no run ranks p6.
        set_pool_depth(cursor, dice.randint(1, 6), "ann")
        cursor.execute("UPDATE passages SET text_key = NULL WHERE passage_id = 'p0'")
        list_passages(cursor, [(queries[0], "p6")])
        if dice.random() < 0.2:
            grader = project.value("SELECT grader_key FROM graders")
            end_job(cursor, add_job(cursor, "grading", grader, {}, 1, "ann"), "imported", "")
        refresh_pool(cursor)
    policy = Policy(
        label=rule, weighted=weighted, min_rating=dice.randint(1, 5), skipped=dice.choice(("zero", "ignore"))
    )
    try:
        board = leaderboard(project, measure, policy=policy)
    except InputError:
        with pytest.raises(InputError):
            export_grades(project, folder / "out", "ann", policy)
        return
    export_grades(project, folder / "out", "ann", policy)
    found = leaderboard_of_files(exported(folder / "out"), measure, policy, "500MB")
    assert [vars(one) for one in found.board.systems] == [vars(one) for one in board.systems]
    assert (found.board.per_query, found.board.query_ids) == (board.per_query, board.query_ids)
    project.close()


def filled(project: Any) -> None:
    questions = [Question(f"q{i}/a", f"q{i}", f"What of q{i}?") for i in range(4)]
    ratings = {(f"What of q{i}?", f"p{j}"): (i * 3 + j * 5) % 6 for i in range(4) for j in range(5)}
    runs = {
        name: {f"q{i}": [f"p{(i * k + j) % 5}" for j in range(5)] for i in range(4)} for k, name in ((1, "a"), (3, "b"))
    }
    fill(project, questions, ratings, runs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Export a small project, and split its grades into three reordered files."""
    made = tmp_path_factory.mktemp("some")
    project = new_project(made / "some.duckdb")
    filled(project)
    assert export_grades(project, made / "out", "ann") == {"grades": 20, "questions": 4, "runs": 40}
    with pytest.raises(InputError):
        export_grades(project, made / "out", "ann")
    project.close()
    (made / "out" / "parts").mkdir()
    for part in range(3):
        duckdb.execute(
            f"COPY (SELECT * FROM '{made}/out/grades/*.parquet' WHERE hash(passage_id, query_id) % 3 = {part}"
            f" ORDER BY hash(passage_id)) TO '{made}/out/parts/{part}.parquet'"
        )
    return made / "out"


def test_split_order_and_batches_do_not_change_leaderboard(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = leaderboard_of_files(exported(folder), "nDCG@3")
    told: list[tuple[int, int]] = []
    monkeypatch.setattr("exam_workbench.labels._parquet_leaderboards.BATCH", 10)
    parts = leaderboard_of_files(
        exported(folder, "parts/*.parquet"), "nDCG@3", report=lambda *n: told.append(n), spill=folder
    )
    assert parts.board.systems == whole.board.systems and parts.labels == whole.labels == 20
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert not [path for path in folder.iterdir() if path.name.startswith("exam")], "temporary files are left behind"
    without = leaderboard_of_files(GradeFiles(exported(folder).grades, exported(folder).runs), "nDCG@3")
    assert without.board.systems == whole.board.systems, "questions with weight 1 need no file"


def test_ungraded_queries_are_left_out_if_questions_are_known(folder: Path) -> None:
    good, old = exported(folder), f"{folder}/old runs.parquet"
    duckdb.execute(f"COPY (SELECT * EXCLUDE (gradable) FROM '{good.runs}') TO '{old}'")
    duckdb.execute(
        f"COPY (SELECT * FROM '{good.grades}' WHERE NOT (query_id = 'q2' AND passage_id = 'p1'))"
        f" TO '{folder}/some grades.parquet'"
    )
    half = GradeFiles(f"{folder}/some grades.parquet", old, good.questions)
    plain = leaderboard_of_files(half, "nDCG@3").board
    assert (plain.query_ids, plain.ungraded, plain.left_out) == (["q0", "q1", "q3"], {"q2": 1}, {"q2"})
    assert all(scores.keys() == {"q0", "q1", "q3"} for scores in plain.per_query.values())
    whole = leaderboard_of_files(half, "nDCG@3", with_ungraded=True).board
    assert (whole.query_ids, whole.ungraded) == (["q0", "q1", "q2", "q3"], {"q2": 1})
    unknown = leaderboard_of_files(GradeFiles(half.grades, half.runs), "nDCG@3").board
    assert (unknown.query_ids, unknown.ungraded) == (["q0", "q1", "q2", "q3"], {})


def test_unusable_files_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(place: GradeFiles, measure: str = "nDCG@3", memory: str | None = None) -> None:
        with pytest.raises(InputError):
            leaderboard_of_files(place, measure, memory=memory)

    good = exported(folder)
    refused(exported(folder, "none/*.parquet"))
    refused(GradeFiles(good.runs, good.runs))
    refused(good, "EXAM-Cover@5")
    refused(good, memory="plenty")
    refused(GradeFiles("s3://bucket/*.parquet", good.runs))
    duckdb.execute(f"COPY (SELECT * REPLACE (9 AS rating) FROM '{good.grades}') TO '{folder}/wrong.parquet'")
    refused(exported(folder, "wrong.parquet"))
    duckdb.execute(f"COPY (FROM '{good.questions}' UNION ALL FROM '{good.questions}') TO '{folder}/twice.parquet'")
    refused(GradeFiles(good.grades, good.runs, f"{folder}/twice.parquet"))
    duckdb.execute(f"COPY (FROM '{good.questions}' WHERE false) TO '{folder}/none.parquet'")
    refused(GradeFiles(good.grades, good.runs, f"{folder}/none.parquet"))
    monkeypatch.setenv("EXAM_MEMORY", "700MB")
    assert engine_config()["memory_limit"] == "700MB"
    monkeypatch.setenv("EXAM_SPILL", str(folder / "nowhere"))
    with pytest.raises(InputError):
        spill_folder()


def test_commands_export_grades_and_show_file_leaderboard(shell_on: ShellOn) -> None:
    exam = shell_on(filled)
    assert exam("export", "grades", "-o", "out")[0] == 0
    assert exam("export", "grades", "-o", "-")[0] == 2
    options = ("--grades", "out/grades/*.parquet", "--runs", "out/runs.parquet", "--questions", "out/questions.parquet")
    found = printed(exam("file-leaderboard", *options, "--measure", "nDCG@3", "--json"))
    shown = printed(exam("leaderboard", "--measure", "nDCG@3", "--json"))
    assert (found["grades"], found["failed"], found["labels"]) == (20, 0, 20)
    assert found["systems"] == shown["systems"]
