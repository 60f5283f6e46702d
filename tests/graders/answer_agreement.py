"""Answers of models in public collections, read here and by the people who published them."""

from __future__ import annotations

import functools
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from exam_workbench.graders._reading.parsing import Parsed, parse_rating, parse_yes_no

SAME = "same"
EXPLAINED = "a rating and its explanation; the peer rates only a bare number"
DEFAULT_NUMBER = "digits in a word: the paper's default of 1, the peer's 0"
DEFAULT_WORDS = "words: the paper's default of 1, the peer's 0"
FAILED = "failed here"
OTHER = "another reading"
Answers = Iterator[tuple[str, int]]
"""Pairs of a model's answer and the rating or verdict that the published reading gives it."""


@dataclass
class Agreement:
    """Counts of answers by kind of agreement, and the texts of the answers that are read differently."""

    kinds: Counter[str] = field(default_factory=Counter)
    written: dict[str, Counter[tuple[str, int | None, int]]] = field(default_factory=dict)

    def add(self, kind: str, text: str, ours: int | None, theirs: int) -> None:
        """Count one answer."""
        self.kinds[kind] += 1
        if kind != SAME:
            self.written.setdefault(kind, Counter())[text, ours, theirs] += 1


def self_ratings(data: Path) -> Answers:
    """Self-ratings 0-5 of FLAN-T5-large for questions and nuggets, as RUBRIC's program reads them."""
    for passage in _passages(data / "dl23-llmjudge" / "graded.jsonl.gz"):
        for entry in passage["exam_grades"]:
            ratings = {row.get("question_id") or row["nugget_id"]: row for row in entry.get("self_ratings") or ()}
            for question, written in entry["answers"] if ratings else ():
                yield written, ratings[question]["self_rating"]


def umbrela(data: Path) -> Answers:
    """Direct grades 0-3 of UMBRELA's prompt, as the authors of the file read them."""
    for passage in _passages(data / "dl20" / "direct-grades-umbrela.jsonl.gz"):
        for entry in passage["grades"]:
            yield entry["answer"], entry["self_ratings"]


def verdicts(data: Path, judge: str) -> Answers:
    """Verdicts of a judge about answers to open questions, as the authors of the data read them."""
    lines = (data / "openqa-eval" / f"NQ301_{judge}.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        *_, acceptable, written = line.split("\t")
        yield written.strip('"'), int(acceptable == "Yes")


def compare_ratings(answers: Answers, top: int = 5) -> Agreement:
    """Compare the rating of each answer with the published one."""
    found = Agreement()
    # Most answers are one of a few words.
    read = functools.cache(functools.partial(parse_rating, top=top))
    for text, theirs in answers:
        parsed = read(text)
        found.add(_kind(text, parsed, theirs), text, parsed.rating, theirs)
    return found


def compare_verdicts(answers: Answers) -> Agreement:
    """Compare the verdict of each answer with the published one."""
    found = Agreement()
    for text, theirs in answers:
        parsed = parse_yes_no(text)
        kind = FAILED if parsed.rating is None else SAME if parsed.rating == theirs else OTHER
        found.add(kind, text, parsed.rating, theirs)
    return found


def _kind(text: str, parsed: Parsed, theirs: int) -> str:
    if parsed.rating == theirs:
        return SAME
    if parsed.status == "failed":
        return FAILED
    if theirs == 0 and parsed.status == "defaulted":
        return DEFAULT_NUMBER if any(character.isdigit() for character in text) else DEFAULT_WORDS
    return EXPLAINED if theirs == 0 and text.startswith(f"{parsed.rating}: ") else OTHER


def _passages(file: Path) -> Iterator[dict]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from json.loads(line)[1]
