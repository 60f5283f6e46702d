"""The pairs of a job in blocks: which are out, and which have to go out again because their worker died with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.graders.base import Outcome, Pair, PairsToGrade
from core.types import Asked, Grade

BLOCK = 128
"""Pairs that go to a worker together: enough for batches of like length, few enough to lose little with a worker."""
TRIES = 3
"""Workers that may die with a block before it is halved, and with a single pair before that has failed."""
_WRITTEN = ("answer_key", "choices")
"""What `Asked.written` has beside the question."""

Row = dict[str, Any]
"""A block as it travels: its number, its pairs, and each of their texts once."""


@dataclass
class Block:
    """Pairs on their way, with their texts, and how many workers died with them."""

    number: int
    pairs: list[Pair]
    questions: Mapping[int, Asked]
    passages: Mapping[int, str]
    deaths: int = 0

    def row(self) -> Row:
        """The block as it travels; `read_row` reads it."""
        questions = sorted({question for question, _ in self.pairs})
        passages = sorted({passage for _, passage in self.pairs})
        return {
            "number": self.number,
            "pairs": [key for pair in self.pairs for key in pair],
            "questions": questions,
            "asked": [self.questions[key].written for key in questions],
            "passages": passages,
            "texts": [self.passages[key] for key in passages],
        }


def read_row(row: Row) -> Block:
    """A block that has travelled."""
    keys = row["pairs"]
    asked = (Asked.read(written, _WRITTEN) for written in row["asked"])
    return Block(
        row["number"],
        list(zip(keys[::2], keys[1::2], strict=True)),
        dict(zip(row["questions"], asked, strict=True)),
        dict(zip(row["passages"], row["texts"], strict=True)),
    )


class Blocks:
    """All blocks of a job.

    Args:
        chunks: its pairs with their texts, some thousand at a time; the next ones are taken where they are wanted.
    """

    def __init__(self, chunks: Iterable[PairsToGrade]) -> None:
        self._fresh = self._cut(chunks)
        self._ahead = next(self._fresh, None)
        self._number = 0
        self.out: dict[int, Block] = {}
        """The blocks that are out, by their numbers."""

    def _cut(self, chunks: Iterable[PairsToGrade]) -> Iterator[tuple[list[Pair], PairsToGrade]]:
        for texts in chunks:
            # Passage by passage: a worker that encodes, or keeps the beginnings of prompts, does each of them once.
            ordered = sorted(texts.pairs, key=lambda pair: pair[::-1])
            for at in range(0, len(ordered), BLOCK):
                yield ordered[at : at + BLOCK], texts

    @property
    def over(self) -> bool:
        """Whether nothing is out and nothing is left."""
        return not self.out and self._ahead is None

    def give(self, most: int) -> list[Block]:
        """Blocks that go out now, so that not more than so many are out."""
        given = []
        while self._ahead is not None and len(self.out) < most:
            pairs, texts = self._ahead
            given.append(self._put_out(pairs, texts.questions, texts.passages))
            self._ahead = next(self._fresh, None)
        return given

    def _put_out(
        self, pairs: Sequence[Pair], questions: Mapping[int, Asked], passages: Mapping[int, str], deaths: int = 0
    ) -> Block:
        block = Block(
            self._number,
            list(pairs),
            {question: questions[question] for question, _ in pairs},
            {passage: passages[passage] for _, passage in pairs},
            deaths,
        )
        self._number += 1
        self.out[block.number] = block
        return block

    def died(self, number: int) -> tuple[list[Block], list[Outcome]]:
        """A worker died with a block: what goes out again for it, and what has failed."""
        block = self.out[number]
        block.deaths += 1
        if block.deaths < TRIES:
            return [block], []
        del self.out[number]
        if len(block.pairs) == 1:
            return [], [(*block.pairs[0], Grade(None, "failed", reason=f"{TRIES} workers died with it"))]
        half = len(block.pairs) // 2
        return [
            self._put_out(pairs, block.questions, block.passages, TRIES - 1)
            for pairs in (block.pairs[:half], block.pairs[half:])
        ], []
