"""Compare how ratings and verdicts are read with how others read the same answers: every disagreement, by kind.

Run as `python -m bench.reading FOLDER`, where FOLDER holds the sets `dl20`, `dl23-llmjudge` and `openqa-eval`.
"""

from __future__ import annotations

import functools
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from core.graders import Parsed, parse_rating, parse_yes_no

SAME = "same"
EXPLAINED = "a rating and its explanation; the peer rates only a bare number"
DEFAULT_NUMBER = "digits in a word: the paper's default of 1, the peer's 0"
DEFAULT_WORDS = "words: the paper's default of 1, the peer's 0"
FAILED = "failed here"
OTHER = "another reading"
Answers = Iterator[tuple[str, int]]
"""What a model wrote, and the rating or verdict that the peer read in it."""


@dataclass
class Agreement:
    """How many answers were read like the peer read them, and the rest by kind, with how often each was written."""

    kinds: Counter[str] = field(default_factory=Counter)
    written: dict[str, Counter[tuple[str, int | None, int]]] = field(default_factory=dict)

    def add(self, kind: str, text: str, ours: int | None, theirs: int) -> None:
        """Count one answer."""
        self.kinds[kind] += 1
        if kind != SAME:
            self.written.setdefault(kind, Counter())[text, ours, theirs] += 1


def self_ratings(data: Path) -> Answers:
    """Self-ratings of FLAN-T5-large from 0 to 5, for questions and nuggets, as RUBRIC's program read them."""
    for passage in _passages(data / "dl23-llmjudge" / "graded.jsonl.gz"):
        for entry in passage["exam_grades"]:
            ratings = {row.get("question_id") or row["nugget_id"]: row for row in entry.get("self_ratings") or ()}
            for question, written in entry["answers"] if ratings else ():
                yield written, ratings[question]["self_rating"]


def umbrela(data: Path) -> Answers:
    """Direct grades from 0 to 3 by UMBRELA's prompt, as the file's authors read them."""
    for passage in _passages(data / "dl20" / "direct-grades-umbrela.jsonl.gz"):
        for entry in passage["grades"]:
            yield entry["answer"], entry["self_ratings"]


def verdicts(data: Path, judge: str) -> Answers:
    """What a judge wrote on whether answers to open questions are acceptable, as the set's authors read it."""
    lines = (data / "openqa-eval" / f"NQ301_{judge}.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        *_, acceptable, written = line.split("\t")
        yield written.strip('"'), int(acceptable == "Yes")


def compare_ratings(answers: Answers, top: int = 5) -> Agreement:
    """Read ratings and set each beside the peer's."""
    found = Agreement()
    # Most answers are one of a few words.
    read = functools.cache(functools.partial(parse_rating, top=top))
    for text, theirs in answers:
        parsed = read(text)
        found.add(_kind(text, parsed, theirs), text, parsed.rating, theirs)
    return found


def compare_verdicts(answers: Answers) -> Agreement:
    """Read verdicts and set each beside the authors' reading."""
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


def _print(name: str, found: Agreement, listed: int) -> None:
    print(f"\n{name}: {found.kinds.total():,} answers, {found.kinds[SAME]:,} read the same")
    for kind, count in found.kinds.most_common():
        for (text, ours, theirs), times in found.written.get(kind, Counter()).most_common(listed):
            print(f"  {kind} ({count:,}) | {times:,} x {' '.join(text.split())[:90]!r}: {ours} here, {theirs} there")


def main() -> None:
    """Print the disagreements of every set, the commonest wordings of each kind."""
    data = Path(sys.argv[1])
    _print("dl23-llmjudge, self-ratings 0 to 5", compare_ratings(self_ratings(data)), 1000)
    _print("dl20, UMBRELA's grades 0 to 3", compare_ratings(umbrela(data), top=3), 1000)
    for judge in ("gpt-4", "text-davinci-003"):
        _print(f"openqa-eval, verdicts of {judge}", compare_verdicts(verdicts(data, judge)), 1000)


if __name__ == "__main__":
    main()
