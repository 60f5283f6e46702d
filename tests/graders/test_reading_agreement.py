"""Agreement of parsed answers with published readings and two readers."""

from __future__ import annotations

import functools
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from exam_workbench.graders._reading.parsing import Parsed, parse_rating, parse_yes_no
from tests.real_models import reading_of

SAME = "same"
EXPLAINED = "a rating and its explanation; the peer rates only a bare number"
DEFAULT_NUMBER = "digits in a word: the paper's default of 1, the peer's 0"
DEFAULT_WORDS = "words: the paper's default of 1, the peer's 0"
FAILED = "failed here"
OTHER = "another reading"
Answers = Iterator[tuple[str, int]]
"""Pairs of a model's answer and its published rating or verdict."""


@dataclass
class Agreement:
    """Counts of answers by kind of agreement, and the texts of answers with different readings."""

    kinds: Counter[str] = field(default_factory=Counter)
    written: dict[str, Counter[tuple[str, int | None, int]]] = field(default_factory=dict)

    def add(self, kind: str, text: str, ours: int | None, theirs: int) -> None:
        """Count one answer."""
        self.kinds[kind] += 1
        if kind != SAME:
            self.written.setdefault(kind, Counter())[text, ours, theirs] += 1


def self_ratings(data: Path) -> Answers:
    """Yield self-ratings 0-5 of FLAN-T5-large for questions and nuggets, as read by RUBRIC's program."""
    for passage in _passages(data / "dl23-llmjudge" / "graded.jsonl.gz"):
        for entry in passage["exam_grades"]:
            ratings = {row.get("question_id") or row["nugget_id"]: row for row in entry.get("self_ratings") or ()}
            for question, written in entry["answers"] if ratings else ():
                yield written, ratings[question]["self_rating"]


def umbrela(data: Path) -> Answers:
    """Yield direct grades 0-3 of UMBRELA's prompt, as read by the authors of the file."""
    for passage in _passages(data / "dl20" / "direct-grades-umbrela.jsonl.gz"):
        for entry in passage["grades"]:
            yield entry["answer"], entry["self_ratings"]


def verdicts(data: Path, judge: str) -> Answers:
    """Yield verdicts of a model on answers to open questions, as read by the authors of the data."""
    lines = (data / "openqa-eval" / f"NQ301_{judge}.tsv").read_text(encoding="utf-8").splitlines()
    for line in lines[1:]:
        *_, acceptable, written = line.split("\t")
        yield written.strip('"'), int(acceptable == "Yes")


def compare_ratings(answers: Answers, top: int = 5) -> Agreement:
    """Compare the rating of each answer with the published one."""
    found = Agreement()
    # Cached, because most answers repeat the same few words.
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


def test_published_ratings_match_their_authors_readings(shared_data: Path) -> None:
    found = compare_ratings(self_ratings(shared_data))
    assert found.kinds == {SAME: 143_793, FAILED: 328, DEFAULT_NUMBER: 15, DEFAULT_WORDS: 232, EXPLAINED: 47}
    for kind in (DEFAULT_NUMBER, DEFAULT_WORDS):
        assert {(ours, theirs) for _, ours, theirs in found.written[kind]} == {(1, 0)}
    assert {theirs for _, _, theirs in found.written[FAILED]} == {0}
    assert all(len(text) > len("4: ") for text, _, _ in found.written[EXPLAINED])
    assert compare_ratings(umbrela(shared_data), top=3).kinds == {SAME: 11_385}


@pytest.mark.parametrize(("judge", "unread"), [("gpt-4", 9), ("text-davinci-003", 0)])
def test_only_doubtful_verdicts_of_real_models_fail(shared_data: Path, judge: str, unread: int) -> None:
    found = compare_verdicts(verdicts(shared_data, judge))
    assert found.kinds.total() >= 1489
    assert found.kinds[FAILED] == unread


RECORDED = [
    json.loads(line) for line in Path(__file__).with_name("real_answers.jsonl").read_text(encoding="utf-8").splitlines()
]
"""Answers of SmolLM2-135M-Instruct to pairs of the demo, at three temperatures, from both back ends."""
READ_OTHERWISE = {"a9c624d8353a", "d67fa2c2248b", "902d6561fb94", "6b6bb865838c", "2a3f46e5c7b7"}
"""Ids of answers that the parser fails or defaults, although both readers see a verdict or a denial."""


def test_real_answers_match_both_readers() -> None:
    agreed = {one["id"]: one for one in RECORDED if len(set(one["readings"])) == 1}
    assert (len(RECORDED), len(agreed)) == (209, 207)
    assert {one["back_end"] for one in RECORDED} == {"local", "endpoint"}
    wrong = {name for name, one in agreed.items() if reading_of(one)[0] != one["readings"][0]}
    assert wrong <= READ_OTHERWISE
    # The parser reads no value that the readers do not see.
    assert {reading_of(agreed[name])[1] for name in wrong} <= {"failed", "defaulted"}
