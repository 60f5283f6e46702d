"""Agreement of parsed answers with published readings and two readers."""

from __future__ import annotations

import functools
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.graders._reading.parsing import Parsed, parse_rating, parse_yes_no
from tests.real_models import reading_of

SAME = "same"
EXPLAINED = "a rating and its explanation; the peer rates only a bare number"
DEFAULT_NUMBER = "digits in a word: the paper's default of 1, the peer's 0"
DEFAULT_WORDS = "words: the paper's default of 1, the peer's 0"
FAILED = "failed here, and 0 by the peer"
OTHER = "another reading"
Answers = Iterator[tuple[str, int]]
"""Pairs of a model's answer and its published rating."""


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


def verdicts(data: Path, judge: str) -> list[str]:
    """Return the verdicts that a model wrote on answers to open questions."""
    lines = (data / "openqa-eval" / f"NQ301_{judge}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.rpartition("\t")[2].strip('"') for line in lines[1:]]


def compare_ratings(answers: Answers, top: int = 5) -> Counter[str]:
    """Count answers by the kind of agreement between their rating and the published one."""
    # Cached, because most answers repeat the same few words.
    read = functools.cache(functools.partial(parse_rating, top=top))
    return Counter(_kind(text, read(text), theirs) for text, theirs in answers)


def _kind(text: str, parsed: Parsed, theirs: int) -> str:
    if parsed.rating == theirs:
        return SAME
    if theirs != 0:
        return OTHER
    if parsed.status == "failed":
        return FAILED
    if parsed.status == "defaulted":
        return DEFAULT_NUMBER if any(character.isdigit() for character in text) else DEFAULT_WORDS
    return EXPLAINED if text.startswith(f"{parsed.rating}: ") else OTHER


def _passages(file: Path) -> Iterator[dict]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield from json.loads(line)[1]


def test_published_ratings_match_their_authors_readings(shared_data: Path) -> None:
    assert compare_ratings(self_ratings(shared_data)) == {
        SAME: 143_793, FAILED: 328, DEFAULT_NUMBER: 15, DEFAULT_WORDS: 232, EXPLAINED: 47,
    }  # fmt: skip
    assert compare_ratings(umbrela(shared_data), top=3) == {SAME: 11_385}


@pytest.mark.parametrize(("judge", "unread"), [("gpt-4", 9), ("text-davinci-003", 0)])
def test_only_doubtful_verdicts_of_real_models_fail(shared_data: Path, judge: str, unread: int) -> None:
    found = [parse_yes_no(text).rating for text in verdicts(shared_data, judge)]
    assert len(found) >= 1489 and found.count(None) == unread


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
