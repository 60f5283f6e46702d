"""The view of one case: question, both answers, and both sets of passages with the answers marked in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...project import Project, judging
from .casework import CaseRow, case_at
from .contexts import Read, passage_id_of, passage_texts
from .evaluation import Evaluation

Part = tuple[str, bool]
"""A piece of a text, and whether it has the words of the answer."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage as it is shown next to an answer.

    Args:
        rank: its place in the run, from 1; 0 for a gold passage.
        parts: its text in pieces, with those that have the answer's words marked; empty without a text.
        gold: whether it is a gold passage.
        judged: the reader's judgment; None if it is missing.
    """

    passage_id: str
    rank: int
    parts: tuple[Part, ...]
    gold: bool
    judged: int | None


@dataclass(frozen=True)
class CaseDesk:
    """Everything that a person needs to decide one case.

    Args:
        row: verdicts, proposal and confirmations.
        retrieved: the top k with the words of the run's answer marked.
        gold: the gold passages with the words of the answers from them marked.
    """

    row: CaseRow
    retrieved: list[ShownPassage]
    gold: list[ShownPassage]


def case_desk(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str) -> CaseDesk:
    """Return one query of one run at one depth, with all its texts, whether it is a case or not.

    Args:
        author: whose judgments are shown.

    Raises:
        InputError: the query, run or depth is not in the view.
    """
    row = case_at(project, evaluation, query_id, run, k)
    line, side = row.line, row.side
    ids = {one.passage_id for one in side.passages}
    keys = {one.text_key for one in (*line.passages, *side.passages) if isinstance(one, Read)}
    texts = passage_texts(project, keys)

    def shown(one: Read | str, rank: int, answers: Sequence[str]) -> ShownPassage:
        name = passage_id_of(one)
        parts = marked(texts[one.text_key], answers) if isinstance(one, Read) else ()
        judged = judging.own_judgment(project, query_id, name, author) if author.strip() else None
        return ShownPassage(name, rank, parts, name in ids, judged)

    answers = [line.answer] if line.answer else []
    return CaseDesk(
        row,
        [shown(one, rank, answers) for rank, one in enumerate(line.passages, 1)],
        [shown(one, 0, side.draws) for one in side.passages],
    )


def marked(text: str, answers: Sequence[str]) -> tuple[Part, ...]:
    """Split a text into pieces and mark those that match an answer's words, ignoring case and punctuation."""
    patterns = [r"\W+".join(map(re.escape, words)) for answer in answers if (words := re.findall(r"\w+", answer))]
    if not patterns:
        return ((text, False),) if text else ()
    parts: list[Part] = []
    at = 0
    for hit in re.finditer(rf"(?<!\w)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\w)", text, re.I):
        parts += [(text[at : hit.start()], False), (hit[0], True)]
        at = hit.end()
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])
