"""Ratings of a line in the usual form are read, or refused, as in any other form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.errors import Report
from exam_workbench.formats import graded_files
from exam_workbench.formats._source import Refused, Source
from exam_workbench.formats.graded_files import read_graded
from tests.made.projects import examples

few = settings(max_examples=examples(40))
ONE = b'"self_ratings":[{"question_id":"q/0","self_rating":1}]'
INFO = {"prompt_class": "P", "is_self_rated": True}


def entry(ratings: list[Any], info: dict[str, Any] = INFO, key: str = "question_id") -> dict[str, Any]:
    rated = [{key: f"q/{number}", "self_rating": rating} for number, rating in enumerate(ratings)]
    return {"llm": "m", "llm_options": {}, "prompt_info": info, "prompt_type": "question", "self_ratings": rated}


def line(*entries: dict[str, Any], text: str = "text", compact: bool = True) -> bytes:
    passages = [{"paragraph_id": f"p{n}", "text": text, "exam_grades": [one]} for n, one in enumerate(entries)]
    return json.dumps(["q", passages], separators=(",", ":") if compact else None).encode()


def read(data: bytes) -> tuple[list[Any], list[str]]:
    report = Report()
    found = list(read_graded(Source("g.jsonl", data=data), report))
    return found, [str(problem) for problem in [*report.problems, *report.notes]]


def parsed(data: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Any], list[str]]:
    """The same as `read`, with all of every line parsed into objects of any keys."""

    def refuse(line: bytes) -> Any:
        raise Refused("not-in-form", "as if it were unusual")

    with monkeypatch.context() as only:
        only.setattr(graded_files, "parse_usual", refuse)
        return read(data)


UNUSUAL = {
    "a rating above the scale": line(entry([0, 5]), entry([0, 7])),
    "a rating of two digits": line(entry([0, 5]), entry([0, 12])),
    "no whole number": line(entry([0, 5]), entry([0, 1.5])),
    "no rating": line(entry([0, 5]), entry([0, None])),
    "a text for a rating": line(entry([0, 5]), entry([0, "3"])),
    "no ratings": line(entry([]), entry([0])),
    "a bracket in an id": line(entry([0, 5])).replace(b"q/1", b"q]1"),
    "a nugget among questions": line(entry([0, 5]), entry([0, 5], key="nugget_id")),
    "an id that is a number": line(entry([0, 5])).replace(b'"q/1"', b"7"),
    "an id with a NUL": line(entry([0, 5]), entry([1, 1])).replace(b"q/1", b"q\\u0000"),
    "an id with a NUL that another one takes the place of": line(entry([0, 5])).replace(
        b'"question_id":"q/1"', b'"question_id":"\\u0000","question_id":"q/1"'
    ),
    "an empty id": line(entry([0, 5])).replace(b"q/1", b""),
    "another sign where a digit was": line(entry([0, 5]), entry([0, 4])).replace(b":4}", b":x}"),
    "a digit more in an id": line(entry([0, 5]), entry([0, 4])).replace(b"q/1", b"q/2", 1),
    "a number for a list": line(entry([0, 5]) | {"self_ratings": 0}),
    "a list among what is kept as it is": line(entry([0, 5], INFO | entry([1, 2])), entry([0, 4])),
    "answers, too": line(entry([0, 5]) | {"answers": [["q/0", "because"], ["q/9", "no"]]}, entry([1, 1])),
    "ratings that do not count": line(
        entry([0, 5], INFO | {"is_self_rated": False}) | {"correctAnswered": ["q/0"], "wrongAnswered": ["q/1"]}
    ),
    "ratings that do not count, and nothing else": line(entry([0, 5], INFO | {"is_self_rated": False}), entry([1, 1])),
    "nobody says that they count": line(entry([0, 5], {"prompt_class": "P"}), entry([1, 1], {})),
    "nothing of the prompt": line(entry([0, 5]) | {"prompt_info": None, "llm_options": None}, entry([1, 1])),
    "a prompt that is a text": line(entry([0, 5]) | {"prompt_info": "P"}),
    "a prompt beyond the machine": line(entry([0, 5], INFO | {"seed": 2**70}), entry([1, 1])),
    "a number beyond belief in a prompt": line(entry([0, 5])).replace(b'"P"', b"1e999"),
    "a prompt in other words": line(entry([0, 5]), entry([1, 1])).replace(b'"P",', b'"P", ', 1),
    "several graders": line(entry([0, 5]), entry([1, 1], INFO | {"prompt_class": "Q"}), entry([2, 2])),
    "a model that is a list": line(entry([0, 5]) | {"llm": ["m"]}),
    "no model": line({key: value for key, value in entry([0, 5]).items() if key != "llm"}),
    "a type that is a list": line(entry([0, 5]) | {"prompt_type": ["question"]}),
    "a type of its own": line(entry([0, 5]) | {"prompt_type": "other"}, entry([1, 1])),
    "a type beyond the machine": line(entry([0, 5]) | {"prompt_type": 2**70}, entry([1, 1])),
    "a model beyond the machine": line(entry([0, 5]) | {"llm": 2**70}),
    "an answer beyond the machine": line(entry([0, 5]) | {"answers": [["q/0", 2**70]]}),
    "no type": line({key: value for key, value in entry([0, 5]).items() if key != "prompt_type"}, entry([1, 1])),
    "of ours what was asked": line(entry([0, 5]) | {"exam_workbench": {"asked": ["q/1", "q/2"]}}, entry([1, 1])),
    "of ours how sure": line(entry([0, 5]) | {"exam_workbench": {"confidence": [0.5, None]}}, entry([1, 1])),
    "of ours too much": line(entry([0, 5]) | {"exam_workbench": {"confidence": [0.5]}}, entry([1, 1])),
    "null for an entry": line(entry([0, 5])).replace(b'"exam_grades":[', b'"exam_grades":[null,'),
    "null for all entries": line(entry([0, 5])).replace(b'"exam_grades":[', b'"exam_grades":null,"x":['),
    "the same key twice": line(entry([0, 5])).replace(b'"llm":', ONE + b',"llm":'),
    "a text that looks like one": line(entry([0, 5]), text="," + ONE.decode()),
    "a key that ends like one": line(entry([0, 5]) | {'x"self_ratings': [{"question_id": "q/0", "self_rating": 1}]}),
    "cut off": line(entry([0, 5]), entry([0, 4]))[:-30],
    "no UTF-8": line(entry([0, 5]), entry([0, 4])).replace(b"text", b"te\xfft", 2),
}  # fmt: skip


@pytest.mark.parametrize("data", UNUSUAL.values(), ids=UNUSUAL)
def test_what_is_unusual_is_read_or_refused_as_by_the_parser(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(data) == parsed(data, monkeypatch)


def test_a_line_that_is_refused_names_no_grader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_SYSTEMS", "1")
    refused = line(entry([0, 5]), entry([1, 9]))
    one, other = line(entry([0, 5])), line(entry([0, 5], INFO | {"prompt_class": "Q"}))
    for data in (b"\n".join([refused, other]), b"\n".join([refused, one, other])):
        assert read(data) == parsed(data, monkeypatch)


@few
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=3), min_size=1, max_size=3),
    st.integers(0, 10_000),
    st.sampled_from([b"", b'"', b"]", b"\\", b"7", b"self_ratings", b'"self_ratings":[']),
)
def test_damage_anywhere_is_seen(ratings: list[list[int]], place: int, sign: bytes) -> None:
    data = line(*map(entry, ratings))
    place %= len(data)
    damaged = data[:place] + sign + data[place + 1 :]
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert read(damaged) == parsed(damaged, monkeypatch)
