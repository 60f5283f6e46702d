"""One case as a person reads it: question, both answers, both sets of passages with the answers marked in them."""

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
    """A passage as a person reads it beside an answer.

    Args:
        rank: its place in the run, from 1; 0 for a gold passage.
        parts: its text in pieces, those with the answer's words told apart; empty where there is no text.
        gold: whether it is a gold passage.
        judged: what the reader judged it; None where they have not.
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
        row: verdicts, proposal and what was confirmed.
        retrieved: the top k with the words of the run's answer marked.
        gold: the gold passages with the words of the answers from them marked.
    """

    row: CaseRow
    retrieved: list[ShownPassage]
    gold: list[ShownPassage]


def case_desk(project: Project, evaluation: Evaluation, query_id: str, run: str, k: int, author: str) -> CaseDesk:
    """One query of one run at one depth, with all its texts, whether it is a case or not.

    Args:
        author: whose judgments are shown.

    Raises:
        InputError: there is no such query, run or depth in the view.
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
    """A text in pieces, those told apart that are the words of an answer, whatever their case and what parts them."""
    patterns = [r"\W+".join(map(re.escape, words)) for answer in answers if (words := re.findall(r"\w+", answer))]
    if not patterns:
        return ((text, False),) if text else ()
    parts: list[Part] = []
    at = 0
    for hit in re.finditer(rf"(?<!\w)(?:{'|'.join(sorted(patterns, key=len, reverse=True))})(?!\w)", text, re.I):
        parts += [(text[at : hit.start()], False), (hit[0], True)]
        at = hit.end()
    return tuple(part for part in (*parts, (text[at:], False)) if part[0])
