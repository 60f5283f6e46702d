"""Plain records that carry data from files into a project and from a project to screens."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["question", "nugget", "choice"]
KINDS: tuple[Kind, ...] = ("question", "nugget", "choice")

Status = Literal["graded", "defaulted", "failed"]

MAX_RATING = 5
RATINGS = range(MAX_RATING + 1)
MAX_WEIGHT = 1_000_000.0
"""Largest absolute weight of a question: sums of such weights stay exact enough to compare."""
ANSWERED = 4
"""The rating from which an assessor considers the question answered."""


@dataclass(frozen=True)
class Subtopic:
    """A facet of a query."""

    subtopic_id: str
    text: str


@dataclass(frozen=True)
class Query:
    """An information need.

    `answer` is its complete correct answer, if known; `further_answers` are equally correct.
    """

    query_id: str
    text: str
    narrative: str | None = None
    subtopics: tuple[Subtopic, ...] = ()
    answer: str | None = None
    further_answers: tuple[str, ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """Every known correct answer, `answer` first."""
        return () if self.answer is None else (self.answer, *self.further_answers)


@dataclass(frozen=True)
class Passage:
    """A piece of text of paragraph size."""

    passage_id: str
    text: str


class Ranked(NamedTuple):
    """One line of a run: a passage at a rank (from 1) with a score, for a query.

    A tuple, since files have millions of them.
    """

    query_id: str
    passage_id: str
    rank: int
    score: float


@dataclass(frozen=True, eq=False)
class RankedColumns(Mapping[str, list[Ranked]]):
    """The rankings of several runs for one query, in columns, since files have millions of lines.

    It also reads as a mapping from a run's name to its ranking.

    Args:
        runs, passages: names and ids.
        run, passage: positions in these lists. The four columns have the same length; a run has
            each passage once.
    """

    query_id: str
    runs: list[str]
    passages: list[str]
    run: NDArray[np.int32]
    passage: NDArray[np.int32]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]

    def __getitem__(self, name: str) -> list[Ranked]:
        """Return the ranking of a run, in the order of its ranks."""
        if name not in self.runs:
            raise KeyError(name)
        (rows,) = (self.run == self.runs.index(name)).nonzero()
        rows = rows[self.rank[rows].argsort(kind="stable")]
        columns = (column[rows].tolist() for column in (self.passage, self.rank, self.score))
        return [
            Ranked(self.query_id, self.passages[place], rank, score)
            for place, rank, score in zip(*columns, strict=True)
        ]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the runs."""
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


@dataclass(frozen=True)
class Judgment:
    """A relevance value for (query, passage), as read from qrels."""

    query_id: str
    passage_id: str
    value: int


@dataclass(frozen=True)
class Question:
    """One entry of a question bank, in one wording.

    `text` is None if a file names a question by id only. A `weight` of 0 keeps it out of every
    score; a negative weight marks something that a response should not contain. `position` orders
    the questions of a query. It is not compared, so questions at different positions can be equal.
    """

    question_id: str
    query_id: str
    text: str | None
    kind: Kind = "question"
    weight: float = 1.0
    active: bool = True
    subtopic_id: str | None = None
    answer_key: str | None = None
    choices: tuple[str, ...] = ()
    note: str | None = None
    position: int | None = field(default=None, compare=False)

    @property
    def shown_text(self) -> str:
        """The text that people see: the words, or the id if the words are empty. If the words are
        unknown, the text says so."""
        return (
            f"{self.question_id} (words not known)"
            if self.text is None
            else self.text or self.question_id
        )


SEPARATOR = "\x1f"
"""Separates the parts of the asked text of a grader that reads more than the question. `clean_text`
removes it.
"""


@dataclass(frozen=True)
class GraderInput:
    """The input of a grader about a passage.

    A grader that checks answers also reads the answer key; one that chooses also reads the choices.
    For these graders a new key makes a new pair to grade, as a new wording does for every grader.
    """

    text: str
    answer_key: str = ""
    choices: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str, reads: Sequence[str]) -> GraderInput:
        """Split the text that `GraderSpec.asked_text` joined.

        Args:
            reads: the grader's `GraderSpec.reads`.
        """
        # Questions of projects from earlier versions may contain the separator, so the text is
        # split from the end.
        question, *rest = text.rsplit(SEPARATOR, len(reads)) if reads else [text]
        return cls(
            question, rest[0] if rest else "", tuple(json.loads(rest[1])) if len(rest) > 1 else ()
        )

    @property
    def written(self) -> str:
        """All parts in one text, which `read` splits for a grader that reads key and choices."""
        return SEPARATOR.join(
            (self.text, self.answer_key, json.dumps(list(self.choices), ensure_ascii=False))
        )


@dataclass(frozen=True)
class BoardRow:
    """One system on an imported leaderboard."""

    run: str
    score: float
    std_error: float | None = None
    rank: float | None = None


@dataclass(frozen=True)
class Board:
    """A leaderboard from a file: systems with their scores by one measure.

    Args:
        per_query: score by query by system, if the file has them.
        apart: the cells that distinguish rows of the same system, of which the first row counts.
    """

    name: str
    measure: str
    rows: list[BoardRow]
    per_query: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GraderSpec:
    """The identity of a grader: method, model, prompt and parameters.

    Args:
        name: its name for people; not part of the fingerprint.
        method: a name of `graders.GRADERS`, or human.
        model: model name, or the checksum that pins it.
        prompt: name of the prompt; empty if the method uses no prompt.
        prompt_hash: SHA-256 of the prompt's content; empty if unknown.
        parameters: everything else that changes a rating; JSON values only.
        kinds: the kinds of question that it can grade.
        max_rating: top of its scale (5; direct graders keep their own).
    """

    name: str
    method: str
    model: str
    prompt: str = ""
    prompt_hash: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    kinds: tuple[Kind, ...] = KINDS
    max_rating: int = MAX_RATING

    @property
    def rates_citations(self) -> bool:
        """Whether it rates how far cited passages support sentences, and not how passages answer
        questions.
        """
        return self.method.startswith("support")

    @property
    def imported(self) -> bool:
        """Whether it is the grader of imported labels."""
        return "imported" in self.parameters

    def on_scale(self, rating: int) -> int:
        """Convert an assessor's rating, 0 to 5, to this grader's scale.

        On a shorter scale, 4 and 5 (the question is answered) become the top. Lower ratings are
        scaled in proportion and rounded down: on a scale of 0 and 1, only 4 and 5 become 1.
        """
        return (
            rating
            if self.max_rating == MAX_RATING
            else min(self.max_rating, rating * self.max_rating // ANSWERED)
        )

    def min_rating(self, requested: int) -> int:
        """Return the effective min rating: the requested one, or the top of this grader's scale if
        that is lower.
        """
        return min(requested, self.max_rating)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (16 hex digits) of everything that changes a rating."""
        return self._hash_with(self.parameters)

    @cached_property
    def fingerprints(self) -> tuple[str, ...]:
        """The fingerprint, and the one that another version uses for the same grader.

        Earlier versions recorded the default number format of a local model only if a person had
        named it.
        """
        if (
            self.parameters.get("back_end") != "transformers"
            or self.parameters.get("dtype", "float32") != "float32"
        ):
            return (self.fingerprint,)
        named = {**self.parameters, "dtype": "float32"}
        unnamed = {name: value for name, value in named.items() if name != "dtype"}
        return self.fingerprint, self._hash_with(unnamed if "dtype" in self.parameters else named)

    @property
    def in_form(self) -> bool:
        """Whether the data of a file describes a grader: texts, names of kinds, a scale, and the
        names in `reads`.
        """
        texts = (self.name, self.method, self.model, self.prompt, self.prompt_hash)
        if not all(isinstance(text, str) for text in texts) or not (self.name and self.method):
            return False
        if (
            not isinstance(self.parameters, dict)
            or not self.kinds
            or not set(self.kinds) <= set(KINDS)
        ):
            return False
        reads = self.parameters.get("reads", [])
        return (
            isinstance(reads, list | tuple)
            and all(isinstance(name, str) for name in reads)
            and type(self.max_rating) is int
            and 1 <= self.max_rating <= MAX_RATING
        )

    def _hash_with(self, parameters: dict[str, Any]) -> str:
        identity = [
            self.method,
            self.model,
            self.prompt,
            self.prompt_hash,
            parameters,
            sorted(self.kinds),
            self.max_rating,
        ]
        canonical = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @property
    def takes(self) -> tuple[Kind, ...]:
        """The kinds of question that it can be asked. A grader of questions also takes
        multiple-choice ones.
        """
        return (
            (*self.kinds, "choice")
            if "question" in self.kinds and "choice" not in self.kinds
            else self.kinds
        )

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of its inputs in addition to the question: none, `answer_key`, or `answer_key`
        and `choices`.
        """
        return tuple(self.parameters.get("reads", ()))

    def asked_text(self, question: Question) -> str | None:
        """Return the text that this grader grades; None if the question lacks an input of the
        grader.
        """
        text = question.text.strip() if question.text else None
        if not self.reads or text is None:
            return text
        if not question.answer_key or ("choices" in self.reads and not question.choices):
            return None
        parts = [text, question.answer_key]
        if "choices" in self.reads:
            parts.append(json.dumps(list(question.choices), ensure_ascii=False))
        return SEPARATOR.join(parts)


@dataclass(frozen=True)
class Grade:
    """A grader's result for one (question, passage).

    `rating` is None exactly if `status` is failed. `answer` is the extracted answer or, for a
    grader that only rates, the model's output. `confidence` is between 0 and 1. `distribution`
    holds the probability of each rating from 0 to the top of the scale. `raw` is the model's
    output. `reason` says why a pair failed. `note` holds remarks, for example that the passage was
    shortened.
    """

    rating: int | None
    status: Status = "graded"
    answer: str | None = None
    confidence: float | None = None
    raw: str | None = None
    reason: str | None = None
    note: str | None = None
    distribution: tuple[float, ...] | None = None


def entropy(chances: Sequence[float]) -> float:
    """Return the entropy of a distribution in bits: 0 if one rating is certain."""
    return sum(-chance * math.log2(chance) for chance in chances if chance > 0)


@dataclass(frozen=True, slots=True)
class GradeDetail:
    """The parts of a grade in a file except rating and answer; the fields are those of `Grade`."""

    defaulted: bool = False
    confidence: float | None = None
    raw: str | None = None
    reason: str | None = None
    note: str | None = None


@dataclass
class GradeColumns:
    """Many grades of one grader in columns of equal length, as files carry them.

    `details` holds further data by row; rows without any are absent.
    """

    grader: GraderSpec
    question_ids: list[str] = field(default_factory=list)
    passage_ids: list[str] = field(default_factory=list)
    ratings: list[int | None] = field(default_factory=list)
    answers: list[str | None] = field(default_factory=list)
    details: dict[int, GradeDetail] = field(default_factory=dict)


@dataclass(eq=False)
class GradeBlocks:
    """Grades of one grader in blocks, one per passage, as a line of a file has them: files have
    millions.

    Equal to `GradeColumns` with the same content.

    Args:
        passage_ids: one passage per block.
        question_ids: the questions asked about it; blocks may share one list.
        ratings: their ratings.
        answers: their answers, or None.
        details: as in `GradeColumns`, by row of all blocks together.
        size: number of rows of all blocks.
    """

    grader: GraderSpec
    passage_ids: list[str] = field(default_factory=list)
    question_ids: list[list[str]] = field(default_factory=list)
    ratings: list[list[int | None]] = field(default_factory=list)
    answers: list[list[str | None] | None] = field(default_factory=list)
    details: dict[int, GradeDetail] = field(default_factory=dict)
    size: int = 0

    def add(
        self,
        passage_id: str,
        question_ids: list[str],
        ratings: list[int | None],
        answers: list[str | None] | None,
    ) -> None:
        """Add a block; its lists are stored without a copy."""
        self.passage_ids.append(passage_id)
        self.question_ids.append(question_ids)
        self.ratings.append(ratings)
        self.answers.append(answers)
        self.size += len(question_ids)

    def columns(self) -> GradeColumns:
        """Return the same grades, row by row."""
        sizes = list(map(len, self.question_ids))
        return GradeColumns(
            self.grader,
            list(chain.from_iterable(self.question_ids)),
            [one for one, size in zip(self.passage_ids, sizes, strict=True) for _ in range(size)],
            list(chain.from_iterable(self.ratings)),
            [
                one
                for given, size in zip(self.answers, sizes, strict=True)
                for one in given or [None] * size
            ],
            self.details,
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, GradeBlocks):
            other = other.columns()
        return self.columns() == other


@dataclass
class GradedQuery:
    """One line of an Autograder/RUBRIC file: a query, its passages and all data about them.

    `rankings` maps a run's name to its ranking of this query. Rankings of a facet have the name
    `query/facet`; judgments may be of facets, too. Grades of direct graders carry the query id in
    place of a question id. `questions` names every question that a grade refers to.
    """

    query: Query
    passages: list[Passage] = field(default_factory=list)
    judgments: list[Judgment] = field(default_factory=list)
    rankings: Mapping[str, Sequence[Ranked]] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)
    grades: Sequence[GradeColumns | GradeBlocks] = field(default_factory=list)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text, from character `begin` up to `end`, with the ids of the documents that
    it cites.
    """

    begin: int
    end: int
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Response:
    """A response: the text that one system wrote for one query.

    Args:
        run: the name of the system in the file; the file's own name if the file names no system.
        query_text: the query's words, if the file has them.
        sentences: as the file splits the text; empty if it is plain text.
        file, line: its source; the line of a JSON map is unknown.
        documents: passages that it cites, if the file has their texts.
        report: the unchanged object, if it is a report of AutoJudge.
    """

    run: str
    query_id: str
    text: str
    query_text: str | None = None
    sentences: tuple[Sentence, ...] = ()
    file: str = ""
    line: int | None = None
    documents: tuple[Passage, ...] = ()
    report: dict[str, Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class KeptObject:
    """An unchanged object of another tool's file.

    Args:
        name: the run of a report; else empty.
    """

    form: str
    query_id: str
    name: str
    content: dict[str, Any]


Act = Literal["override", "edit", "dispute", "comment", "reopen"]

Said = Literal["judged", "cannot say", "skipped", "taken back"]
SAID: tuple[Said, ...] = ("judged", "cannot say", "skipped", "taken back")
"""The decisions of an assessor of an audit about a passage: `skipped` leaves it for later, or for
another assessor.
"""
