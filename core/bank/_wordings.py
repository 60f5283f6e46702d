"""Comparison of wordings: word differences, and questions that repeat another question exactly or
nearly.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ..grouping import group_pairs
from ..store import Project
from ..types import Question
from ._drafts import drafted_bank
from ._proposals import STATES, Proposal, list_proposals
from ._questions import readable_questions

LIKE = 0.4
"""Minimum share of the longer wording that both wordings have in common. Below it, a mixed display
is unreadable.
"""

Segment = tuple[Literal["same", "added", "removed"], str]


def word_difference(before: str, after: str) -> list[Segment]:
    """Return the words that were removed, added or kept, in reading order.

    The removed and kept parts, joined, are `before`. Wordings with less than `LIKE` in common are
    not divided.
    """
    old, new = (re.findall(r"\s+|\w+|[^\w\s]", text) for text in (before, after))
    segments: list[Segment] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            segments.append(("same", "".join(old[i:j])))
            continue
        if i < j:
            segments.append(("removed", "".join(old[i:j])))
        if k < m:
            segments.append(("added", "".join(new[k:m])))
    kept = sum(len(text) for tag, text in segments if tag == "same")
    if before and after and kept < LIKE * max(len(before), len(after)):
        return [("removed", before), ("added", after)]
    return segments


NEAR = 0.85
"""Cosine of two questions' embeddings from which the questions are near-duplicates."""
_EDGES = " .,:;!?…\"'`“”‘’«»„"


@dataclass(frozen=True)
class RepeatedWording:
    """The wording that a proposal repeats.

    Args:
        relation: `same` if the wordings differ at most in case, spaces and marks at the ends;
            `like` for a near-duplicate by the embedding model.
        of: kind of the repeated text: a question, a retired question, an open, accepted or rejected
            proposal, or an answer key.
        text: the repeated wording.
        cosine: cosine of the two embeddings; None for the same wording.
    """

    relation: Literal["same", "like"]
    of: str
    text: str
    cosine: float | None = None

    def __str__(self) -> str:
        if self.relation == "same":
            return f"same as {self.of}: {self.text}"
        return f"like {self.of} ({self.cosine:.2f}): {self.text}"


@dataclass(frozen=True)
class _KnownWording:
    """A known wording. `before` is the key if it is an open proposal: only later proposals can
    repeat it.
    """

    of: str
    text: str
    before: int = 0


def normalise_wording(text: str) -> str:
    """Return a wording in lower case (NFKC, case folded), without extra spaces and without marks at
    its ends.
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_EDGES)


def find_repeats(
    project: Project, author: str, query_id: str, near: bool = False
) -> dict[int, RepeatedWording]:
    """Return the wordings that the open proposals of a query repeat.

    Proposals are compared with the questions in the person's drafts, with decided proposals, and
    with earlier open proposals. An answer key is compared with other answer keys of its question.

    Args:
        near: whether to search for near-duplicates with the embedding model, too.

    Returns:
        Repeats by proposal key. The same wording is preferred to a near-duplicate.

    Raises:
        GradingError: the embedding model cannot be loaded.
    """
    every = list_proposals(project, query_id, STATES)
    opened = [proposal for proposal in every if proposal.state == "open"]
    repeats: dict[int, RepeatedWording] = {}
    questions = list(_worded_questions(project, author, query_id, every))
    for proposal in opened:
        if proposal.kind == "answer key":
            answer_keys = list(_answer_keys(project, author, proposal, every))
        else:
            answer_keys = questions
        wording = normalise_wording(proposal.text)
        # Only open proposals have an order. A decided one may be reopened, so its age says nothing.
        earlier = (one for one in answer_keys if one.before < proposal.key)
        same = next((one for one in earlier if normalise_wording(one.text) == wording), None)
        if same is not None:
            repeats[proposal.key] = RepeatedWording("same", same.of, same.text)
    if near:
        rest = [
            proposal
            for proposal in opened
            if proposal.kind != "answer key" and proposal.key not in repeats
        ]
        repeats |= _similar_repeats(rest, questions)
    return repeats


def _worded_questions(
    project: Project, author: str, query_id: str, every: Sequence[Proposal]
) -> Iterator[_KnownWording]:
    for question in readable_questions(project, drafted_bank(project, author, query_id)):
        if question.text and question.text.strip():
            yield _KnownWording(
                "a question" if question.active else "a retired question", question.text
            )
    yield from _worded_proposals([proposal for proposal in every if proposal.kind != "answer key"])


def _answer_keys(
    project: Project, author: str, proposal: Proposal, every: Sequence[Proposal]
) -> Iterator[_KnownWording]:
    for question in readable_questions(project, drafted_bank(project, author, proposal.query_id)):
        if question.question_id == proposal.question_id and question.answer_key:
            yield _KnownWording("the answer key", question.answer_key)
    yield from _worded_proposals(
        [p for p in every if p.kind == "answer key" and p.question_id == proposal.question_id]
    )


def _worded_proposals(every: Sequence[Proposal]) -> Iterator[_KnownWording]:
    for state, of in (("accepted", "an accepted proposal"), ("rejected", "a rejected proposal")):
        # Include the model's wording, because a repeated request may return it again.
        for proposal in [proposal for proposal in every if proposal.state == state]:
            yield from (
                _KnownWording(of, text)
                for text in dict.fromkeys((proposal.text, proposal.original))
            )
    yield from (
        _KnownWording("an open proposal", p.text, p.key) for p in every if p.state == "open"
    )


def _similar_repeats(
    opened: Sequence[Proposal], wordings: Sequence[_KnownWording]
) -> dict[int, RepeatedWording]:
    if not opened or not wordings:
        return {}
    # Import late: the model and its libraries are slow to load and rarely needed here.
    from ..graders import text_similarities

    cosines = text_similarities(
        [*(proposal.text for proposal in opened), *(wording.text for wording in wordings)]
    )
    repeats = {}
    for row, proposal in enumerate(opened):
        fitting = [
            (float(cosine), wording)
            for cosine, wording in zip(cosines[row, len(opened) :], wordings, strict=True)
            if wording.before < proposal.key
        ]
        nearest = max(fitting, key=lambda pair: pair[0], default=None)
        if nearest is not None and nearest[0] >= NEAR:
            repeats[proposal.key] = RepeatedWording(
                "like", nearest[1].of, nearest[1].text, nearest[0]
            )
    return repeats


def same_wordings(questions: Sequence[Question]) -> dict[str, Question]:
    """Return active questions that repeat another active question: by question id, the first
    question that they repeat.

    Questions with the same words but other choices, or another subtopic, are not repetitions.
    """
    worded = [
        (normalise_wording(question.text or ""), question)
        for question in questions
        if question.active
    ]
    alike = group_pairs(
        ((wording, question.choices), question) for wording, question in worded if wording
    )
    repeats = {}
    for same in alike.values():
        for question in same:
            other = next(
                (one for one in same if one is not question and _of_one_subtopic(one, question)),
                None,
            )
            if other is not None:
                repeats[question.question_id] = other
    return repeats


def _of_one_subtopic(question: Question, other: Question) -> bool:
    """Return whether both questions can be asked together. A question without a subtopic belongs to
    the whole query.
    """
    return question.subtopic_id == other.subtopic_id or not (
        question.subtopic_id and other.subtopic_id
    )


def near_duplicates(
    questions: Sequence[Question], threshold: float = NEAR
) -> dict[str, tuple[Question, float]]:
    """Return active questions that nearly repeat another active question, by the embedding model.

    Args:
        threshold: cosine from which two questions are near-duplicates.

    Returns:
        By question id, the nearest other question and the cosine.

    Raises:
        GradingError: the model cannot be loaded.
    """
    from ..graders import text_similarities

    worded = [
        question for question in questions if question.active and (question.text or "").strip()
    ]
    cosines = text_similarities([question.text or "" for question in worded])
    for place in range(len(worded)):
        cosines[place, place] = -1.0
    nearest = [int(row.argmax()) for row in cosines]
    return {
        question.question_id: (worded[at], float(row[at]))
        for question, at, row in zip(worded, nearest, cosines, strict=True)
        if row[at] >= threshold
    }
