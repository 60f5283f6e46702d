"""Categories of items: levels of Bloom's taxonomy, by keywords, and question words."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ..bank import SCHEMES, item_categories
from ..errors import FileError, Problem
from ..plain_yaml import read_yaml
from ..project import Project, log
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
    if whole_word:
        found = set(re.findall(r"[a-z]+", lower))
        return tuple(word for word in QUESTION_WORDS if word.lower() in found) or (UNCATEGORIZED,)
    return tuple(word for word in QUESTION_WORDS if word.lower() in lower) or (UNCATEGORIZED,)


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
