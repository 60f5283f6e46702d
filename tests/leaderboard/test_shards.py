"""Boards over Parquet shards: the same labels and scores as in a project, whatever the order, and clear refusals."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest
from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import InputError
from core.exchange import export_shards
from core.labels import Policy
from core.leaderboard import Shards, leaderboard, shard_board, shards
from core.project import engine_config, spill_folder
from core.types import Question
from tests.made.projects import examples, fill, new_project
from tests.made.refusals import refusal

HTTPFS = bool(
    duckdb.execute("SELECT installed FROM duckdb_extensions() WHERE extension_name = 'httpfs'").fetchall()[0][0]
)
"""Whether this computer has the extension; nothing here fetches it."""
MEASURES = ("nDCG@3", "AP", "P@5", "RR")


def exported(folder: Path, files: str = "grades/*.parquet") -> Shards:
    return Shards(str(folder / files), str(folder / "runs.parquet"), str(folder / "questions.parquet"))


@given(
    seed=st.integers(0, 10_000),
    rule=st.sampled_from(["max", "support:2", "mean"]),
    weighted=st.booleans(),
    measure=st.sampled_from(MEASURES),
)
@settings(max_examples=examples(3), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_scores_as_the_project(
    seed: int, rule: str, weighted: bool, measure: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dice, folder = random.Random(seed), tmp_path_factory.mktemp("shards")
    queries = [f"q{i}" for i in range(dice.randint(1, 4))]
    questions = [
        Question(f"{q}/{n}", q, f"{n} of {q}?", weight=dice.choice((-1.0, 0.0, 0.5, 1.0)), active=dice.random() < 0.9)
        for q in queries
        for n in range(3)
    ]
    passages = [f"p{i}" for i in range(6)]
    ratings = {
        (one.text, p): None if dice.random() < 0.2 else dice.randint(0, 5)
        for one in questions
        for p in passages
        if dice.random() < 0.8
    }
    runs = {
        f"run {r}": {q: dice.sample(passages, dice.randint(1, 6)) for q in queries if dice.random() < 0.8}
        for r in range(3)
    }
    project = new_project(folder / "some.duckdb")
    fill(project, questions, ratings, runs)  # type: ignore[arg-type]
    policy = Policy(
        label=rule, weighted=weighted, min_rating=dice.randint(1, 5), skipped=dice.choice(("zero", "ignore"))
    )
    try:
        board = leaderboard(project, measure, policy=policy)
    except InputError:
        with pytest.raises(InputError):
            export_shards(project, folder / "out", "ann", policy)
        return
    export_shards(project, folder / "out", "ann", policy)
    found = shard_board(exported(folder / "out"), measure, policy, "500MB")
    assert [vars(one) for one in found.board.systems] == [vars(one) for one in board.systems]
    assert {run: scores for run, scores in found.board.per_query.items()} == board.per_query
    project.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of a small project, and the same grades in three files in another order."""
    made = tmp_path_factory.mktemp("some")
    project = new_project(made / "some.duckdb")
    questions = [Question(f"q{i}/a", f"q{i}", f"What of q{i}?") for i in range(4)]
    ratings = {(f"What of q{i}?", f"p{j}"): (i * 3 + j * 5) % 6 for i in range(4) for j in range(5)}
    runs = {
        name: {f"q{i}": [f"p{(i * k + j) % 5}" for j in range(5)] for i in range(4)} for k, name in ((1, "a"), (3, "b"))
    }
    fill(project, questions, ratings, runs)
    assert export_shards(project, made / "out", "ann") == {"grades": 20, "questions": 4, "runs": 40}
    with refusal("file-exists"):
        export_shards(project, made / "out", "ann")
    project.close()
    (made / "out" / "parts").mkdir()
    for part in range(3):
        duckdb.execute(
            f"COPY (SELECT * FROM '{made}/out/grades/*.parquet' WHERE hash(passage_id, query_id) % 3 = {part}"
            f" ORDER BY hash(passage_id)) TO '{made}/out/parts/{part}.parquet'"
        )
    return made / "out"


def test_any_cut_and_order_of_the_shards_gives_one_board_some_queries_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = shard_board(exported(folder), "nDCG@3")
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(shards, "BATCH", 10)
    parts = shard_board(exported(folder, "parts/*.parquet"), "nDCG@3", report=lambda *n: told.append(n), spill=folder)
    assert parts.board.systems == whole.board.systems and parts.labels == whole.labels == 20
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert not [path for path in folder.iterdir() if path.name.startswith("exam")], "nothing is left behind"


class Store(MemoryFileSystem):
    """An object store that speaks fsspec's interface, as s3fs does; its objects lie in memory."""

    protocol = "s3"
    root_marker = "/"


@pytest.mark.skipif(HTTPFS, reason="the engine's own extension comes first")
def test_shards_in_an_object_store_give_the_board_of_those_in_a_folder(folder: Path) -> None:
    register_implementation("s3", Store, clobber=True)
    store = Store()
    for path in folder.rglob("*.parquet"):
        store.pipe_file(f"s3://bucket/{path.relative_to(folder)}", path.read_bytes())
    there = Shards("s3://bucket/parts/*.parquet", "s3://bucket/runs.parquet", "s3://bucket/questions.parquet")
    far, near = shard_board(there, "nDCG@3"), shard_board(exported(folder), "nDCG@3")
    assert far.board.systems == near.board.systems and far.labels == near.labels == 20
    with refusal("cannot-read-shards", "s3://bucket/none"):
        shard_board(Shards("s3://bucket/none.parquet", there.runs), "nDCG@3")


def test_what_cannot_be_read_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(place: Shards, measure: str = "nDCG@3", memory: str | None = None) -> str:
        with pytest.raises(InputError) as error:
            shard_board(place, measure, memory=memory)
        return str(error.value)

    good = exported(folder)
    assert "cannot be read" in refused(exported(folder, "none/*.parquet"))
    assert "no column question_id, rating" in refused(Shards(good.runs, good.runs))
    assert "no measure of labels" in refused(good, "EXAM-Cover@5")
    assert "no amount of memory" in refused(good, memory="plenty")
    duckdb.execute(f"COPY (SELECT * REPLACE (9 AS rating) FROM '{good.grades}') TO '{folder}/wrong.parquet'")
    assert "a rating 9" in refused(exported(folder, "wrong.parquet"))
    duckdb.execute(f"COPY (FROM '{good.questions}' UNION ALL FROM '{good.questions}') TO '{folder}/twice.parquet'")
    assert "occur twice" in refused(Shards(good.grades, good.runs, f"{folder}/twice.parquet"))
    if not HTTPFS:
        assert "httpfs" in refused(Shards("r2://bucket/*.parquet", good.runs))
    monkeypatch.setenv("EXAM_MEMORY", "700MB")
    assert engine_config()["memory_limit"] == "700MB"
    monkeypatch.setenv("EXAM_SPILL", str(folder / "nowhere"))
    with pytest.raises(InputError):
        spill_folder()
