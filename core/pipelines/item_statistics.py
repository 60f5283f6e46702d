"""Statistics of an exam before it is taken: origin and categories of its items, and the accuracy of guessing."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_uppercase
from typing import Final

from ..bank import SCHEMES, STATES, item_categories, proposals
from ..errors import FileError, Problem
from ..plain_yaml import read_yaml
from ..project import Project, log
from .item_filters import Checked, last_acceptance
from .item_generation import PARTS, Part, Unparsed, parse_item
from .items import Item

UNCATEGORIZED: Final = "Uncategorized"
QUESTION_WORDS: Final = ("Which", "What", "How", "When", "Why", "Where")
_SETTING = "bloom keywords"
_HINT = "Write a word list for each level: 'Remembering: [define, list, name]'."

Keywords = Mapping[str, Sequence[str]]
"""Words in their base form, by level."""


@functools.cache
def built_in_keywords() -> dict[str, tuple[str, ...]]:
    """Return the keywords that come with the program, by level from Remembering to Creating."""
    file = Path(__file__).parent / "bloom.yaml"
    return read_keywords(file.read_text(encoding="utf-8"), file.name)


def read_keywords(text: str, file: str) -> dict[str, tuple[str, ...]]:
    """Read keywords from YAML: levels with lists of words.

    Args:
        file: its name, for messages.

    Raises:
        FileError: it is unreadable, or not a mapping of levels to words.
    """
    data = read_yaml(text, file, _HINT)
    if not isinstance(data, dict) or not data:
        raise FileError([Problem(file, None, "invalid-keywords", "it is not a mapping of levels to word lists")], _HINT)
    for level, found in data.items():
        sound = isinstance(level, str) and level.strip() and isinstance(found, list) and found
        if not sound or not all(isinstance(word, str) and word.strip() for word in found):
            raise FileError([Problem(file, None, "invalid-keywords", f"level '{level!s:.40}' has no word list")], _HINT)
    return {level: tuple(dict.fromkeys(word.strip().lower() for word in found)) for level, found in data.items()}


def keywords(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the keywords of a project: its own if people wrote some, else the built-in ones."""
    text = project.value("SELECT value FROM settings WHERE name = ?", [_SETTING])
    return built_in_keywords() if text is None else read_keywords(text, _SETTING)


def set_keywords(project: Project, text: str | None, author: str, file: str = _SETTING) -> None:
    """Set a project's own keywords, as YAML; None restores the built-in ones.

    Raises:
        FileError: see `read_keywords`.
    """
    if text is not None:
        read_keywords(text, file)
    with project.transaction() as cursor:
        cursor.execute("DELETE FROM settings WHERE name = ?", [_SETTING])
        if text is not None:
            cursor.execute("INSERT INTO settings VALUES (?, ?)", [_SETTING, text])
        log(cursor, author, "set bloom keywords", levels=0 if text is None else len(read_keywords(text, file)))


def bloom(question: str, words: Keywords | None = None) -> tuple[str, ...]:
    """Return the levels of Bloom's taxonomy whose keywords occur in a question, or `Uncategorized`.

    Source: exam-generation-irt, appendix C. The authors search the verbs found by a parser. This function searches the
    lemmas of all words, so that a noun such as "list" counts as well. "The following" is ignored: it occurs in most
    multiple-choice questions and has no meaning for this.

    Args:
        words: keywords by level; None for the built-in ones.
    """
    import simplemma

    said = re.findall(r"[A-Za-z]+", re.sub(r"\bthe following\b", " ", question, flags=re.IGNORECASE))
    found = {form for word in said for form in (word.lower(), simplemma.lemmatize(word, lang="en").lower())}
    levels = built_in_keywords() if words is None else words
    return tuple(level for level, some in levels.items() if found.intersection(some)) or (UNCATEGORIZED,)


def question_types(question: str, whole_word: bool = False) -> tuple[str, ...]:
    """Return the question words of a question, searched as the authors do: anywhere in it, ignoring case.

    Args:
        whole_word: whether to ignore "what" within "somewhat".
    """
    lower = question.lower()
    searched = set(re.findall(r"[a-z]+", lower)) if whole_word else lower
    return tuple(word for word in QUESTION_WORDS if word.lower() in searched) or (UNCATEGORIZED,)


def categories(
    project: Project, items: Sequence[Item], whole_word: bool = False
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the categories of items by scheme and question id: those that people set, else the computed ones."""
    words = keywords(project)
    by_hand = {scheme: item_categories(project, scheme) for scheme in SCHEMES}
    return {
        "bloom": {i.question_id: by_hand["bloom"].get(i.question_id) or bloom(i.text, words) for i in items},
        "question type": {
            i.question_id: by_hand["question type"].get(i.question_id) or question_types(i.text, whole_word)
            for i in items
        },
    }


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
