"""Statistics of an exam before it is taken: the origin of its items, and the accuracy of guessing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from ..bank import STATES, proposals
from ..project import Project
from .item_acceptance import last_acceptance
from .item_categories import question_types
from .item_filters import Checked
from .item_parsing import PARTS, Part, Unparsed, parse_item
from .items import Item


@dataclass(frozen=True)
class Making:
    """Numbers of items that models wrote from passages, by outcome.

    Args:
        candidates: answers received.
        unparsed: answers without a valid item; in `by_part`, an answer may count for several parts.
        no_answer: requests without an answer, as after a failure of the endpoint.
        filtered: proposals that broke a rule when the passing ones were accepted, and are not accepted; None if that
            was never done.
        accepted: proposals that a person accepted.
        rejected: others that a person rejected.
        undecided: the rest.
    """

    candidates: int
    unparsed: int
    by_part: dict[Part, int]
    no_answer: int
    filtered: int | None
    accepted: int
    rejected: int
    undecided: int

    @property
    def table(self) -> list[tuple[str, int | None]]:
        """The first rows of table 4 of exam-generation-irt, with further ones so that the numbers add up."""
        parts = [(f"unparsed: {part}", count) for part, count in self.by_part.items() if count]
        return [
            ("candidates", self.candidates), ("unparsed", self.unparsed), *parts, ("filtered", self.filtered),
            ("accepted", self.accepted), ("rejected", self.rejected), ("undecided", self.undecided),
            ("without an answer", self.no_answer),
        ]  # fmt: skip


@dataclass(frozen=True)
class ExamStatistics:
    """Statistics of an exam (exam-generation-irt, table 4).

    Args:
        making: of items that models wrote; None without any, as for an imported exam.
        items: active items that have a key.
        without_key: items without a right choice; they cannot be used.
        retired: items that a person retired.
        filtered: how many items break each rule; None if they were not checked.
        kept: how many break no rule; None likewise.
        fixed_answer: the largest share of keys at one letter, which is the accuracy of always giving that letter; None
            without items.
        fixed_letter: that letter.
        longest_answer: the share of items whose key is at least as long, in characters, as every choice.
        question_length: mean characters of a question.
        question_types: items by the question words that they have; an item may have several.
        topics: items by topic; those without one under "".
    """

    making: Making | None
    items: int
    without_key: int
    retired: int
    filtered: dict[str, int] | None
    kept: int | None
    fixed_answer: float | None
    fixed_letter: str | None
    longest_answer: float | None
    question_length: float | None
    question_types: dict[str, int] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)


def making_of(project: Project, query_id: str | None = None) -> Making | None:
    """Return the outcomes of the items that models wrote for an exam, parsed again; None if no model was asked.

    Args:
        query_id: the exam; None for all.
    """
    rows = project.rows(
        "SELECT raw, reason FROM generations JOIN queries USING (query_key) WHERE kind = 'item'"
        " AND ($query_id::VARCHAR IS NULL OR query_id = $query_id)",
        {"query_id": query_id},
    )
    if not rows:
        return None
    came = [(raw, reason) for raw, reason in rows if reason is None or raw]
    failed = [parse_item(raw) for raw, reason in came if reason is not None]
    parts = Counter(part for one in failed if isinstance(one, Unparsed) for part in one.parts)
    acceptance = last_acceptance(project, query_id)
    fell = set(acceptance.fell) if acceptance else set()
    states = Counter(
        "filtered" if one.key in fell and one.state != "accepted" else one.state
        for one in proposals(project, query_id, STATES)
        if one.kind == "item"
    )
    return Making(
        len(came), len(failed), {part: parts[part] for part in PARTS}, len(rows) - len(came),
        states["filtered"] if acceptance else None, states["accepted"], states["rejected"], states["open"],
    )  # fmt: skip


def statistics(
    items: Sequence[Item], making: Making | None = None, checked: Sequence[Checked] | None = None
) -> ExamStatistics:
    """Return statistics of items. Retired items and those without a key are only counted.

    Args:
        making: see `making_of`.
        checked: see `item_filters.judged`; entries for other items are ignored.
    """
    good = [item for item in items if item.active and item.key is not None]
    filtered = kept = None
    if checked is not None:
        ids = {item.question_id for item in items if item.active}
        of_these = [one for one in checked if one.item.question_id in ids]
        filtered = dict(Counter(rule for one in of_these for rule in {str(hit.rule) for hit in one.hits}).most_common())
        kept = sum(not one.hits for one in of_these)
    places = Counter(item.key_position for item in good)
    letter, most = min(places.items(), key=lambda one: (-one[1], one[0] or 0)) if places else (None, 0)
    longest = sum(len(item.key or "") >= max(map(len, item.choices)) for item in good)
    n = len(good)
    return ExamStatistics(
        making,
        n,
        sum(item.active and item.key is None for item in items),
        sum(not item.active for item in items),
        filtered,
        kept,
        most / n if n else None,
        None if letter is None else ascii_uppercase[letter],
        longest / n if n else None,
        sum(len(item.text) for item in good) / n if n else None,
        dict(Counter(word for item in good for word in question_types(item.text)).most_common()),
        dict(Counter(item.topic or "" for item in good).most_common()),
    )
