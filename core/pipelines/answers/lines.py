"""Single requested answers: their contexts, and the joining of answers from single passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...graders import unanswerable
from ...project import AnswerPlace, Generated
from .contexts import AskedQuery
from .generators import Order, ReadyGenerator

ONE_BY_ONE: Order = "one by one"


@dataclass(frozen=True)
class Line:
    """A requested answer."""

    query: AskedQuery
    context: tuple[int, ...]
    temperature: float
    draw: int
    seed: int | None


def wanted_place(line: Line) -> tuple[str, tuple[int, ...], float, int]:
    """Return the identity of an answer by the words of its query, which may not have a key yet."""
    return line.query.text, line.context, line.temperature, line.draw


def place_of(line: Line, keys: Mapping[str, int]) -> AnswerPlace:
    """Return the identity under which an answer is kept.

    Args:
        keys: of the words of queries.
    """
    return keys[line.query.text], line.context, line.temperature, line.draw


def parts_of(ready: ReadyGenerator, line: Line) -> list[Line]:
    """Return the answers from single passages that an answer is made of; empty if all passages are in one prompt."""
    if ready.order != ONE_BY_ONE or len(line.context) == 1:
        return []
    return [replace(line, context=(key,)) for key in line.context]


def join(place: AnswerPlace, parts: Sequence[Generated], seed: int | None = None) -> Generated:
    """Join the answers given passage by passage: the last one that is not "unanswerable" counts.

    Source: llm-reteval specification, section 4.1; the paper allows it but does not say how answers are joined. If
    every part is unanswerable, so is the whole. If a part failed, so has the whole: the part might have been the last
    answer.

    Args:
        place: of the answer.
        parts: the answers from its passages, the best passage first.
    """
    if lost := [part for part in parts if part.text is None]:
        reason = f"{len(lost)} of {len(parts)} passages failed: {lost[0].reason}"
        return Generated(place, None, reason, seed, sum(part.shortened for part in parts))
    said = [(rank, part.text) for rank, part in enumerate(parts, 1) if part.text and not unanswerable(part.text)]
    rank, text = said[-1] if said else (None, parts[-1].text)
    note = (
        "no passage contains an answer"
        if rank is None
        else f"from passage {rank} of {len(parts)}, of which {len(said)} gave an answer"
    )
    return Generated(place, text, None, seed, sum(part.shortened for part in parts), note)
