"""Grading on the workers of a cluster, as far as it goes without one; bench/ray_drill.py drills it on two nodes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import GradingError
from core.graders import (
    Cluster,
    Control,
    Pair,
    PairsToGrade,
    RayGrader,
    Shard,
    ShardFolder,
    Usage,
    built_in,
    make_grader,
    read_shard,
    write_shard,
)
from core.graders.cluster.blocks import BLOCK, TRIES, Block, Blocks, read_row
from core.graders.cluster.desk import NOTHING, Desk, Started
from core.graders.cluster.worker import Graders
from core.types import Asked, Grade

QUESTIONS = {1: Asked("What is gold?"), 2: Asked("What is tin?", "a metal", ("a metal", "a gas"))}
PASSAGES = {7: "Gold is a metal.", 8: "Tin is a metal, too."}
PAIRS = [(1, 7), (2, 8), (2, 7)]


def made(folder: ShardFolder | None = None, job: str = "job") -> Graders:
    return Graders("embedding", {}, built_in(), folder, job)


def test_a_worker_gives_the_grades_that_the_grader_gives_here() -> None:
    worker, here = made(), make_grader("embedding", {})
    expected = [one for batch in here.grade(QUESTIONS, PASSAGES, PAIRS, Control()) for one in batch]
    travelled = read_row(Block(3, PAIRS, QUESTIONS, PASSAGES).row())
    assert (travelled.number, travelled.questions) == (3, QUESTIONS)
    shard = read_shard(write_shard(worker.shard(travelled)))
    assert [one[:2] for one in shard.outcomes] == PAIRS
    assert sorted(shard.outcomes, key=lambda one: one[:2]) == sorted(expected, key=lambda one: one[:2])
    assert worker.fingerprint == shard.fingerprint == here.spec.fingerprint


def test_a_pair_that_breaks_the_grader_has_failed_and_the_others_have_not() -> None:
    outcomes, _ = made().grade(QUESTIONS, PASSAGES, [*PAIRS, (1, 9)])
    assert {(question, passage) for question, passage, grade in outcomes if grade.rating is not None} == set(PAIRS)
    (reason,) = [grade.reason for _, passage, grade in outcomes if passage == 9]
    assert reason == "the grader broke: KeyError: 9"


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    grader = RayGrader(make_grader("embedding", {}).spec, "embedding", {}, built_in(), Cluster())
    assert list(grader.grade(QUESTIONS, PASSAGES, [], Control())) == []
    with pytest.raises(GradingError, match="Ray cannot be loaded") as refused:
        next(iter(grader.grade(QUESTIONS, PASSAGES, PAIRS, Control())))
    assert 'pip install "exam-workbench[ray]"' in refused.value.hint


@pytest.mark.parametrize("store", ["folder", "memory"])
def test_what_lies_in_the_folder_is_not_graded_again_but_for_what_failed_in_another_job(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ShardFolder(str(tmp_path / "shards") if store == "folder" else "memory://shards")
    folder.make()
    block = Block(0, [*PAIRS, (1, 9)], QUESTIONS, {**PASSAGES, 9: ""})
    first = made(folder).shard(block)
    assert folder.names(first.fingerprint) == [first.name]
    asked: list[Pair] = []
    grade = Graders.grade

    def counted(self: Graders, *given: object) -> object:
        asked.extend(given[2])  # type: ignore[call-overload]
        return grade(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Graders, "grade", counted)
    failed = [one[:2] for one in first.outcomes if one[2].rating is None]
    assert failed == [(1, 9)]
    assert made(folder).shard(block).outcomes == first.outcomes
    assert asked == []
    assert made(folder, "another").shard(block).outcomes == first.outcomes
    assert asked == failed
    folder.write(first.name, b"damaged")
    assert made(folder).shard(block).outcomes == first.outcomes
    assert read_shard(folder.read(first.name) or b"").outcomes == first.outcomes


@given(
    st.lists(
        st.builds(
            Grade,
            st.integers(0, 5),
            st.sampled_from(["graded", "defaulted"]),
            st.none() | st.text(),
            st.none() | st.floats(0, 1),
            note=st.none() | st.text(),
            distribution=st.none() | st.tuples(*[st.floats(0, 1)] * 6),
        )
        | st.builds(Grade, st.none(), st.just("failed"), raw=st.text(), reason=st.text()),
        max_size=4,
    )
)
def test_a_shard_reads_back_as_it_was_written(grades: list[Grade]) -> None:
    shard = Shard("f", "b", "j", [(number, 7, grade) for number, grade in enumerate(grades)], Usage(3, 200, 10, 0.5))
    assert read_shard(write_shard(shard)) == shard


def test_a_shard_that_is_none_or_says_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be read as a shard"):
        read_shard(b"PAR1 no")
    for grade in (Grade(None, "graded"), Grade(3, "failed"), Grade(-1)):
        with pytest.raises(ValueError, match="rating"):
            read_shard(write_shard(Shard("f", "b", "j", [(1, 7, grade)])))


@pytest.mark.parametrize("deadly", [0, 77, 2 * BLOCK + 1])
def test_a_pair_with_which_workers_die_fails_alone_after_some_deaths(deadly: int) -> None:
    pairs = [(1, passage) for passage in range(2 * BLOCK + 2)]
    texts = dict.fromkeys(range(len(pairs)), "words")
    blocks = Blocks([PairsToGrade(QUESTIONS, texts, pairs[:200]), PairsToGrade(QUESTIONS, texts, pairs[200:])])
    graded: list[Pair] = []
    failed: list[tuple[int, int, Grade]] = []
    deaths = 0
    while not blocks.over:
        for block in [*blocks.out.values()] or blocks.give(2):
            if (1, deadly) in block.pairs:
                deaths += 1
                failed += blocks.died(block.number)[1]
            else:
                graded += blocks.out.pop(block.number).pairs
    assert [(one[1], one[2].reason) for one in failed] == [(deadly, f"{TRIES} workers died with it")]
    assert sorted([*graded, (1, deadly)]) == pairs
    assert deaths <= TRIES + BLOCK.bit_length() - 1


def test_the_desk_gives_a_block_to_one_worker_and_to_another_only_when_that_is_gone() -> None:
    async def day() -> None:
        desk = Desk("fine")
        row = Block(0, PAIRS, QUESTIONS, PASSAGES).row()
        waiting = asyncio.create_task(desk.next(0))
        await desk.start(Started("a", "1", 11, None))
        assert not await desk.claim(0, "a")
        for worker in ("a", "b"):
            await desk.make_ready(worker, "fine")
        news = await desk.turn([row])
        assert ([one.worker for one in news.started], news.ready) == (["a"], {"a", "b"})
        assert await waiting == row
        assert [await desk.claim(0, worker) for worker in ("a", "b", "a")] == [True, False, False]
        # Handed out once more while somebody has it, it stays theirs.
        assert (await desk.turn([row])).held == {0: "a"}
        assert not await desk.claim(0, "b")
        await desk.turn([row], dead=["a"], freed={0: "a"})
        assert [await desk.claim(0, worker) for worker in ("a", "b")] == [False, True]
        await desk.finish(0, "b")
        assert (await desk.turn()).finished == {0}
        assert (await desk.turn(settled=[0])).held == {}
        assert await desk.next(1) == NOTHING
        assert not await desk.claim(0, "b")
        await desk.turn(over=True)
        assert await desk.next(3) is None

    asyncio.run(day())


def test_the_desk_lets_nobody_begin_while_a_job_is_paused_or_stops() -> None:
    async def day() -> None:
        desk = Desk("fine")
        await desk.make_ready("a", "fine")
        await desk.turn([Block(number, PAIRS, QUESTIONS, PASSAGES).row() for number in range(2)], going=False)
        claim = asyncio.create_task(desk.claim(0, "a"))
        await asyncio.sleep(0)
        assert not claim.done()
        await desk.turn()
        assert await claim
        await desk.turn(stopped=True, going=False)
        assert not await desk.claim(1, "a")
        await desk.make_ready("b", "otherwise")
        assert "another one" in (await desk.turn()).broken

    asyncio.run(day())
