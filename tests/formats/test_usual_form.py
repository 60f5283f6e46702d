"""Parser of graded lines in the usual form: same results as the general parser."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.errors import Report
from exam_workbench.formats import graded_files
from exam_workbench.formats._graded_form import parse_usual
from exam_workbench.formats._source import Refused, Source
from exam_workbench.formats.graded_files import read_graded
from exam_workbench.types import RankedColumns
from tests.made.projects import examples

few = settings(max_examples=examples(40))


def entry(method: Any = "run-1", rank: Any = 1, score: Any = 2.5, **more: Any) -> dict[str, Any]:
    return {"method": method, "paragraphId": "p", "queryId": "q", "rank": rank, "score": score, **more}


def line(*lists: list[dict[str, Any]], text: str = "text", compact: bool = True) -> bytes:
    passages = [
        {"paragraph_id": f"p{n}", "text": text, "paragraph_data": {"rankings": entries}}
        for n, entries in enumerate(lists)
    ]
    return json.dumps(["q", passages], separators=(",", ":") if compact else None).encode()


def read(data: bytes) -> tuple[list[Any], list[str]]:
    report = Report()
    found = [
        replace(query, rankings={run: query.rankings[run] for run in query.rankings})
        for query in read_graded(Source("g.jsonl", data=data), report)
    ]
    return found, [str(problem) for problem in [*report.problems, *report.notes]]


def parsed(data: bytes) -> tuple[list[Any], list[str]]:
    """Do the same as `read`, with the general parser only."""

    def refuse(line: bytes) -> Any:
        raise Refused("not-in-form", "as if it were unusual")

    with pytest.MonkeyPatch.context() as only:
        only.setattr(graded_files, "parse_usual", refuse)
        return read(data)


ONE = b'"self_ratings":[{"question_id":"q/0","self_rating":1}]'
INFO = {"prompt_class": "P", "is_self_rated": True}


def rated(ratings: list[Any], info: dict[str, Any] = INFO, key: str = "question_id") -> dict[str, Any]:
    listed = [{key: f"q/{number}", "self_rating": rating} for number, rating in enumerate(ratings)]
    return {
        "llm": "m",
        "llm_options": {},
        "prompt_info": info,
        "prompt_type": "question",
        "self_ratings": listed,
    }


def graded(*entries: dict[str, Any], text: str = "text") -> bytes:
    passages = [{"paragraph_id": f"p{n}", "text": text, "exam_grades": [one]} for n, one in enumerate(entries)]
    return json.dumps(["q", passages], separators=(",", ":")).encode()


TWO = [entry("b", 3, 0.1), entry("a", 1, 7)]


def test_usual_parser_is_not_tried_after_valid_unusual_line(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[bytes] = []

    def counted(one: bytes) -> Any:
        tried.append(one)
        return parse_usual(one)

    monkeypatch.setattr(graded_files, "parse_usual", counted)
    unusual, refused = line([entry(queryId="q/f")]), line([entry(rank="1")])
    for lines, read_as_usual in ([line(TWO), refused, line(TWO)], 3), ([line(TWO), unusual, line(TWO)], 2):
        tried.clear()
        first, *_ = read_graded(Source("g.jsonl", data=b"\n".join(lines)), Report())
        assert isinstance(first.rankings, RankedColumns), "objects for each ranked passage would take long"
        assert len(tried) == read_as_usual


UNUSUAL = {
    "blanks after commas and colons": line(TWO, [], [entry("a", 2, -1e-3)], compact=False),
    "another field": line([entry(more=1)], TWO),
    "no UTF-8 in another field": line([entry(more="x")], TWO).replace(b'"x"', b'"\xff"'),
    "half a sign in another field": line([entry(more="x")], TWO).replace(b'"x"', b'"\\ud800"'),
    "a NUL character in another field": line([entry(more="x")], TWO).replace(b'"x"', b'"\\u0000"'),
    "an id beyond the machine": line(TWO).replace(b'"p0"', str(2**70).encode()),
    "an id that is a number": line(TWO).replace(b'"p0"', b"7").replace(b'"q",', b"12,", 1),
    "a fraction for an id": line(TWO).replace(b'"p0"', b"7.5"),
    "a relevance beyond the machine": line(TWO).replace(
        b'"rankings":', b'"judgments":[{"relevance":%d}],"rankings":' % 2**70
    ),
    "a judgment beyond belief": line(TWO).replace(
        b'"rankings":', b'"judgments":[{"relevance":1,"x":1e999}],"rankings":'
    ),
    "a question of ours beyond the machine": line(TWO).replace(
        b'"rankings":',
        b'"exam_workbench":{"questions":[{"query_id":"q","question_id":"a","text":"b","weight":%d}]},"rankings":'
        % 2**70,
    ),
    "nothing of ours": line(TWO).replace(b'"rankings":', b'"exam_workbench":null,"rankings":'),
    "ours twice": line(TWO).replace(b'"rankings":', b'"exam_workbench":{},"exam_workbench":{"query":7},"rankings":'),
    "a passage with a number": line(TWO).replace(b'"text":', b'"more":1.5,"text":'),
    "a passage with an object": line(TWO).replace(b'"text":', b'"more":{"rankings":[]},"text":'),
    "a passage with a paragraph": line(TWO).replace(b'"text":', b'"paragraph":{"x":1},"text":'),
    "a passage that is a text": line(TWO).replace(b"[{\"para", b"[\"x\",{\"para"),
    "an object for a text": line(TWO).replace(b'"text":"text"', b'"text":{}'),
    "an object for a list": line(TWO).replace(b'"rankings":[', b'"rankings":{},"x":['),
    "an object for grades": line(TWO).replace(b'"text":', b'"exam_grades":{"a":1},"text":'),
    "three things": line(TWO)[:-1] + b",1]",
    "very deep": line(TWO).replace(b'"text":', b'"exam_grades":' + b"[" * 1500 + b"]" * 1500 + b',"text":'),
    "a field with a list": line([entry(more=[1, {}])], TWO),
    "a facet": line([entry(queryId="q/f")], TWO),
    "another query": line([entry(queryId="r")], TWO),
    "no query": line([{"method": "a", "rank": 1, "score": 2}], TWO),
    "no rank": line([{"method": "a", "score": 2}], TWO),
    "a rank of null": line([entry(rank=None)], TWO),
    "a rank that is a text": line([entry(rank="1")], TWO),
    "a rank with a point": line([entry(rank=1.0)], TWO),
    "a rank that is true": line([entry(rank=True)], TWO),
    "a rank beyond belief": line([entry(rank=2**40)], TWO),
    "a rank beyond the machine": line([entry(rank=2**70)], TWO),
    "a score that is a text": line([entry(score="2")], TWO),
    "a score beyond belief": line([entry(score=10**400)], TWO),
    "no number for a score": line([entry(score=float("nan"))], TWO),
    "an infinite score": line([entry(score=float("inf"))], TWO),
    "a name that is a number": line([entry(7)], TWO),
    "a name with a space": line([entry("a b")], TWO),
    "an empty name": line([entry("")], TWO),
    "a name in other letters": line([entry("ä")], TWO),
    "a name that is escaped": line([entry("a")]).replace(b'"a"', b'"\\u0061"'),
    "a name with a bracket": line([entry("a]")], TWO),
    "a name like what parts entries": line([entry("a},{b")], TWO),
    "a name with the end of a list": line([entry('"rankings":[')], TWO),
    "a run twice": line([entry("a"), entry("a", 2)], TWO),
    "a passage twice": line(TWO, TWO).replace(b"p1", b"p0"),
    "entries that are not parted": line(TWO).replace(b"},{", b"}{"),
    "entries parted twice": line(TWO).replace(b"},{", b"},,{"),
    "a comma at the end": line(TWO).replace(b"}]}", b"},]}"),
    "a number among entries": line(TWO).replace(b"},{", b"},7,{"),
    "the same key twice": line(TWO).replace(b'"rank":3', b'"rank":3,"rank":4'),
    "a number with a zero before": line(TWO).replace(b'"rank":3', b'"rank":03'),
    "a sign that is none": line(TWO).replace(b'"a"', b'"\x01"'),
    "a tabulator between": line(TWO).replace(b"},{", b"},\t{"),
    "null for an entry": line([None], TWO),  # type: ignore[list-item]
    "null before an entry": line([None, entry()], TWO),  # type: ignore[list-item]
    "null in every list": line([None], [None]),  # type: ignore[list-item]
    "a blank list and a comma too few": line(TWO, []).replace(b"},{", b"}{").replace(b"[]", b"[ ]"),
    "a tabulator for a list and for a comma": line(TWO, []).replace(b"},{", b"}\t{").replace(b"[]", b"[\t]"),
    "an entry in two lists": line(TWO, TWO).replace(b'"rank":1', b'"x":[],"rank":1', 1),
    "a blank list": line(TWO, []).replace(b"[]", b"[ ]"),
    "a text for a list": line(TWO).replace(b'"rankings":[', b'"rankings":"x","more":['),
    "lists in both forms": line(TWO, TWO).replace(b'"rankings":[', b'"rankings": [', 1),
    "a list where none is looked for": line(TWO).replace(b'"text":', b'"rankings":[],"text":'),
    "a text that looks like one": line(TWO, text='"rankings":[' + json.dumps(TWO)),
    "cut off": line(TWO)[:-30],
    "no UTF-8": line(TWO).replace(b'"a"', b'"\xff"'),
    "half a sign": line([entry("a")]).replace(b'"a"', b'"\\ud800"'),
    "a rating above the scale": graded(rated([0, 5]), rated([0, 7])),
    "a rating of two digits": graded(rated([0, 5]), rated([0, 12])),
    "no whole number": graded(rated([0, 5]), rated([0, 1.5])),
    "no rating": graded(rated([0, 5]), rated([0, None])),
    "a text for a rating": graded(rated([0, 5]), rated([0, "3"])),
    "no ratings": graded(rated([]), rated([0])),
    "a bracket in an id": graded(rated([0, 5])).replace(b"q/1", b"q]1"),
    "a nugget among questions": graded(rated([0, 5]), rated([0, 5], key="nugget_id")),
    "an id that is a number in ratings": graded(rated([0, 5])).replace(b'"q/1"', b"7"),
    "an id with a NUL": graded(rated([0, 5]), rated([1, 1])).replace(b"q/1", b"q\\u0000"),
    "an id with a NUL that another one takes the place of": graded(rated([0, 5])).replace(
        b'"question_id":"q/1"', b'"question_id":"\\u0000","question_id":"q/1"'
    ),
    "an empty id": graded(rated([0, 5])).replace(b"q/1", b""),
    "another sign where a digit was": graded(rated([0, 5]), rated([0, 4])).replace(b":4}", b":x}"),
    "a digit more in an id": graded(rated([0, 5]), rated([0, 4])).replace(b"q/1", b"q/2", 1),
    "a number for a list": graded(rated([0, 5]) | {"self_ratings": 0}),
    "a list among what is kept as it is": graded(rated([0, 5], INFO | rated([1, 2])), rated([0, 4])),
    "answers, too": graded(rated([0, 5]) | {"answers": [["q/0", "because"], ["q/9", "no"]]}, rated([1, 1])),
    "ratings that do not count": graded(
        rated([0, 5], INFO | {"is_self_rated": False}) | {"correctAnswered": ["q/0"], "wrongAnswered": ["q/1"]}
    ),
    "ratings that do not count, alone": graded(rated([0, 5], INFO | {"is_self_rated": False}), rated([1, 1])),
    "nobody says that they count": graded(rated([0, 5], {"prompt_class": "P"}), rated([1, 1], {})),
    "nothing of the prompt": graded(rated([0, 5]) | {"prompt_info": None, "llm_options": None}, rated([1, 1])),
    "a prompt that is a text": graded(rated([0, 5]) | {"prompt_info": "P"}),
    "a prompt beyond the machine": graded(rated([0, 5], INFO | {"seed": 2**70}), rated([1, 1])),
    "a number beyond belief in a prompt": graded(rated([0, 5])).replace(b'"P"', b"1e999"),
    "a prompt in other words": graded(rated([0, 5]), rated([1, 1])).replace(b'"P",', b'"P", ', 1),
    "several graders": graded(rated([0, 5]), rated([1, 1], INFO | {"prompt_class": "Q"}), rated([2, 2])),
    "a model that is a list": graded(rated([0, 5]) | {"llm": ["m"]}),
    "no model": graded({key: value for key, value in rated([0, 5]).items() if key != "llm"}),
    "a type that is a list": graded(rated([0, 5]) | {"prompt_type": ["question"]}),
    "a type of its own": graded(rated([0, 5]) | {"prompt_type": "other"}, rated([1, 1])),
    "a type beyond the machine": graded(rated([0, 5]) | {"prompt_type": 2**70}, rated([1, 1])),
    "a model beyond the machine": graded(rated([0, 5]) | {"llm": 2**70}),
    "an answer beyond the machine": graded(rated([0, 5]) | {"answers": [["q/0", 2**70]]}),
    "no type": graded({key: value for key, value in rated([0, 5]).items() if key != "prompt_type"}, rated([1, 1])),
    "of ours what was asked": graded(rated([0, 5]) | {"exam_workbench": {"asked": ["q/1", "q/2"]}}, rated([1, 1])),
    "of ours how sure": graded(rated([0, 5]) | {"exam_workbench": {"confidence": [0.5, None]}}, rated([1, 1])),
    "of ours too much": graded(rated([0, 5]) | {"exam_workbench": {"confidence": [0.5]}}, rated([1, 1])),
    "null for an entry in ratings": graded(rated([0, 5])).replace(b'"exam_grades":[', b'"exam_grades":[null,'),
    "null for all entries": graded(rated([0, 5])).replace(b'"exam_grades":[', b'"exam_grades":null,"x":['),
    "the same key twice in ratings": graded(rated([0, 5])).replace(b'"llm":', ONE + b',"llm":'),
    "a text that looks like one in ratings": graded(rated([0, 5]), text="," + ONE.decode()),
    "a key that ends like one": graded(rated([0, 5]) | {'x"self_ratings': [{"question_id": "q/0", "self_rating": 1}]}),
    "cut off in ratings": graded(rated([0, 5]), rated([0, 4]))[:-30],
    "no UTF-8 in ratings": graded(rated([0, 5]), rated([0, 4])).replace(b"text", b"te\xfft", 2),
}  # fmt: skip


@pytest.mark.parametrize("data", UNUSUAL.values(), ids=UNUSUAL)
def test_usual_and_general_parser_agree_on_unusual_lines(data: bytes) -> None:
    assert read(data) == parsed(data)


def test_smallest_64_bit_integer_is_refused_as_rank() -> None:
    # Its absolute value does not fit into 64 bits.
    for one in (read, parsed):
        found, said = one(line([entry(rank=-(2**63))]))
        assert not found and "rank" in said[0]


RANKED_LINES = st.lists(
    st.lists(st.builds(entry, st.sampled_from("abc"), st.integers(-2, 9)), max_size=3), min_size=1, max_size=3
).map(lambda lists: line(*lists))
GRADED_LINES = st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=3), min_size=1, max_size=3).map(
    lambda ratings: graded(*map(rated, ratings))
)
SIGNS = (b"", b'"', b"]", b"[", b"\\", b"7", b"{", b"}", b",", b".", b"e", b"},{")


@few
@given(
    RANKED_LINES,
    GRADED_LINES,
    st.integers(0, 10_000),
    st.sampled_from([*SIGNS, b"rankings", b'"rankings":[', b"self_ratings", b'"self_ratings":[']),
)
def test_parsers_agree_on_damaged_lines(rankings: bytes, ratings: bytes, place: int, sign: bytes) -> None:
    for data in (rankings, ratings):
        at = place % len(data)
        damaged = data[:at] + sign + data[at + 1 :]
        assert read(damaged) == parsed(damaged)


def test_refused_line_adds_no_grader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_LIMIT_SYSTEMS", "1")
    refused = graded(rated([0, 5]), rated([1, 9]))
    one, other = graded(rated([0, 5])), graded(rated([0, 5], INFO | {"prompt_class": "Q"}))
    for data in (b"\n".join([refused, other]), b"\n".join([refused, one, other])):
        assert read(data) == parsed(data)
