"""Valid small files of every form that can be imported, about the queries and passages of the fuzzer's project."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz import mutations

QUERIES = ("q0", "q1", "q2", "q9")
"""The first three are in the project."""
PASSAGES = tuple(f"p{n}" for n in range(8))
"""The first six are in the project."""


@dataclass(frozen=True)
class Form:
    """One form that a kind of file may have.

    Args:
        kind: as `core.formats.KINDS_OF_FILE` calls it.
        name: a usual name of such a file.
        make: a text; or JSON values, one a line; or one JSON value over any number of lines.
    """

    kind: str
    name: str
    make: Callable[[Random], Any]


@dataclass(frozen=True)
class Whole:
    """One JSON value that is the whole file."""

    value: Any


def _query(random: Random) -> str:
    return random.choices(QUERIES, (5, 4, 3, 1))[0]


def _words(random: Random) -> str:
    return " ".join(random.choices(("why", "do", "tides", "rise", "the", "moon", "sea", "is", "Öl", "5", "at"), k=5))


def _queries_tsv(random: Random) -> str:
    header = random.choice(("", "query_id\ttext\n"))
    return header + "".join(f"{q}\t{_words(random)}{random.choice(('', chr(9) + 'what counts'))}\n" for q in QUERIES)


def _queries_rows(random: Random) -> list[Any]:
    return [
        {
            random.choice(("query_id", "qid", "id")): q,
            "text": _words(random),
            "narrative": _words(random),
            "answer": _words(random),
            "subtopics": [{"subtopic_id": f"{q}/s{n}", "text": _words(random)} for n in range(2)],
        }
        for q in QUERIES
    ]


def _page(random: Random, query: str) -> dict[str, Any]:
    sections = [
        {"headingId": f"h{n}", "heading": _words(random), "headings": [{"headingId": "in", "heading": "inner"}]}
        for n in range(2)
    ]
    return {"page_id": query, "page_name": _words(random), "headings": sections}


def _facets(random: Random, query: str) -> dict[str, Any]:
    facets = [{"heading_id": f"{query}/f{n}", "heading": _words(random)} for n in range(2)]
    return {"squid": query, "title": _words(random), "query_facets": facets}


def _ranking(random: Random) -> str:
    tags = random.choice((("fresh",), ("fresh", "other"), ("r1",)))
    return "".join(
        f"{q} Q0 {p} {rank} {9.5 - rank} {tag}\n"
        for tag in tags
        for q in random.sample(QUERIES[:3], 2)
        for rank, p in enumerate(random.sample(PASSAGES, 3), 1)
    )


def _judged(random: Random) -> str:
    return "".join(f"{q} 0 {p} {random.randint(-1, 3)}\n" for q in QUERIES[:3] for p in random.sample(PASSAGES, 2))


def _bank_rows(random: Random) -> list[Any]:
    rows = []
    for number in range(3):
        query = _query(random)
        row: dict[str, Any] = {
            "query_id": query,
            "question_id": f"{query}/x{number}",
            "text": _words(random),
            "kind": random.choice(("question", "nugget", "choice")),
            "weight": random.choice((1, 0.5, -1, 0)),
            "active": random.random() < 0.8,
            "subtopic_id": f"{query}/s1",
            "answer_key": _words(random),
            "choices": ["sun", "moon"],
            "note": "why",
            "query_text": _words(random),
        }
        rows.append({name: row[name] for name in row if name in ("query_id", "text") or random.random() < 0.6})
    return rows


def _bank_csv(random: Random) -> str:
    mark = random.choice((",", ",", ";", "\t"))
    names = ["query_id", "question_id", "text", "kind", "weight", "active", "answer_key", "choices", "note"]
    lines = [mark.join(names)]
    for number in range(3):
        query = _query(random)
        cells = [
            query,
            f"{query}/c{number}",
            '"Why, say ""who""?"',
            "question",
            "1.5",
            "true",
            "'=key",
            "a|b",
            '"two\nlines"',
        ]
        lines.append(mark.join(cells))
    return "\n".join(lines) + "\n"


def _rubric_rows(random: Random) -> list[Any]:
    of = random.choice(("question", "nugget"))
    items = [
        {f"{of}_id": f"q1/r{n}", f"{of}_text": _words(random), "gold_answer": "B", "choices": {"A": "sun", "B": "moon"}}
        for n in range(2)
    ]
    if of == "nugget":
        items = [{name: item[name] for name in ("nugget_id", "nugget_text")} for item in items]
    facet = {"facet_id": "q1/s0"} if random.random() < 0.5 else {}
    return [{"query_id": "q1", "query_text": "Tides / Moon", random.choice(("items", "questions")): items, **facet}]


def _nugget_map(random: Random) -> Whole:
    return Whole({q: {f"n{n}": {"text": _words(random), "relevance": n} for n in range(2)} for q in QUERIES[:2]})


def _lessons(random: Random) -> Whole:
    def part(text: str) -> dict[str, str]:
        return {"processedText": text, "rawText": text}

    questions = {
        f"NDQ_{n}": {
            "answerChoices": {"a": part("sun"), "b": part("moon")},
            "beingAsked": part(_words(random)),
            "correctAnswer": part("b"),
        }
        for n in range(2)
    }
    lesson = {"globalID": _query(random), "lessonName": "Tides", "questions": {"nonDiagramQuestions": questions}}
    return Whole([lesson])


def _graded_rows(random: Random) -> list[Any]:
    query = _query(random)
    ids = [f"{query}/x0", f"{query}/g1"]
    entry: dict[str, Any] = {
        "correctAnswered": ids[:1],
        "wrongAnswered": ids[1:],
        "answers": [[one, "because"] for one in ids],
        "llm": "some/model",
        "llm_options": {"temperature": 0},
        "prompt_info": {"prompt_class": "SelfRate", "is_self_rated": True, "prompt_style": "x"},
        "exam_ratio": 0.5,
        "self_ratings": [{"question_id": one, "self_rating": random.randint(0, 5)} for one in ids],
        "prompt_type": "question",
    }
    if random.random() < 0.3:
        entry = {name: value for name, value in entry.items() if name != "self_ratings"} | {"prompt_info": {}}
    if random.random() < 0.3:
        spec: dict[str, Any] = {"name": "mine", "method": "self-rating", "model": "m", "prompt": "p", "prompt_hash": ""}
        spec |= {"parameters": {}, "kinds": ["question"], "max_rating": 5}
        entry["prompt_info"] = {**(entry["prompt_info"] or {}), "exam_workbench": spec}
        entry["exam_workbench"] = {
            "asked": ids,
            "confidence": [0.5, None],
            "raw": ["5", None],
            "defaulted": [False, True],
        }
    direct = {
        "correctAnswered": True,
        "answer": "Yes",
        "llm": "judge",
        "llm_options": {},
        "prompt_info": {"prompt_class": "Thomas", "is_self_rated": True},
        "self_ratings": 2,
        "prompt_type": "direct_grading",
    }
    passages = []
    for place, name in enumerate(random.sample(PASSAGES, 2), 1):
        data = {
            "judgments": [{"paragraphId": name, "query": query, "relevance": place, "titleQuery": "Tides"}],
            "rankings": [
                {"method": "theirs", "paragraphId": name, "queryId": query, "rank": place, "score": 1 / place}
            ],
            "exam_workbench": {"query": {"text": "Tides"}, "questions": _bank_rows(random)[:1]},
        }
        if random.random() < 0.7:
            del data["exam_workbench"]
        text = f"text of {name}"
        passages.append(
            {"paragraph_id": name, "text": text, "paragraph_data": data, "exam_grades": [entry], "grades": [direct]}
        )
    return [[query, passages]]


def _rag_rows(random: Random) -> list[Any]:
    sentences = [{"text": f"{_words(random)}.", "citations": [0, 1]} for _ in range(2)]
    return [
        {
            "run_id": "writer",
            "topic_id": query,
            "topic": _words(random),
            "references": ["p1", "d2"],
            "answer": sentences,
        }
        for query in QUERIES[:2]
    ]


def _plain_rows(random: Random) -> list[Any]:
    return [
        {"query_id": query, "run": "plain", "text": f"{_words(random)}. {_words(random)}."} for query in QUERIES[:2]
    ]


def _board_tsv(random: Random) -> str:
    return "run\tAP\tAP std_error\tnDCG\n" + "".join(f"r{n}\t0.{n}5\t0.01\t{n / 7}\n" for n in range(1, 4))


def _board_rubric(random: Random) -> str:
    rows = "".join(f"r{n}\t0.{n}\t+/-\t0.02\t{n}\n" for n in range(1, 4))
    table = (
        f"method\texam\t+/-\texam-std\torig_map_rank\n{rows}_overall_\t0.2\t+/-\t0.1\t\nspearman\t0.9\nmin_rating\t%s\n"
    )
    return (table % 4) + random.choice(("", table % 5))


def _answers(random: Random, separator: str) -> str:
    rows = [("student", "i1", "i2"), *((name, *random.choices(("1", "0", ""), k=2)) for name in ("big", "small"))]
    return "".join(separator.join(row) + "\n" for row in rows)


def _samples(random: Random) -> list[dict[str, Any]]:
    return [
        {
            "doc_id": number,
            "doc": {"id": f"d{number}", "question": f"Which is {number}?", "choices": ["a", "b"], "gold": number % 2},
            "resps": [[["-1.5", "False"]], [["-0.5", "True"]]],
            "acc": random.choice((0.0, 1.0)),
            "acc_norm": random.choice((0.0, 1.0)),
        }
        for number in range(3)
    ]


def _exam(random: Random) -> Whole:
    choices = ["A) clay", "B) sand", "C) chalk", "D) flint"]
    return Whole(
        [
            {
                "question": f"{_words(random)}, and which of them is number {number}?",
                "choices": choices,
                "correct_answer": random.choice(choices),
                "documentation": _words(random),
                "retrieved_context": {"bm25": [_words(random)]},
            }
            for number in range(3)
        ]
    )


def _generated(random: Random) -> list[dict[str, Any]]:
    from_runs = [
        {"query_id": f"q{number}", "run": "r1", "k": random.choice((1, 5)), "draw": 1, "answer": _words(random)}
        for number in range(3)
    ]
    return [*from_runs, {"query_id": "q0", "run": "gold", "draw": 2, "answer": _words(random)}]


def _answer_verdicts(random: Random) -> list[dict[str, Any]]:
    return [
        {"query_id": f"q{number}", "answer": _words(random), "acceptable": random.choice((True, False, "yes", 0))}
        for number in range(3)
    ]


FORMS: tuple[Form, ...] = (
    Form("queries", "queries.tsv", _queries_tsv),
    Form("queries", "queries.jsonl", _queries_rows),
    Form("queries", "queries.json", lambda random: Whole({query: _words(random) for query in QUERIES})),
    Form("queries", "outlines.jsonl", lambda random: [_page(random, query) for query in QUERIES[1:]]),
    Form("queries", "outlines.json", lambda random: Whole([_facets(random, query) for query in QUERIES[1:]])),
    Form("passages", "passages.tsv", lambda random: "".join(f"{p}\ttext of {p}\n" for p in PASSAGES)),
    Form("passages", "corpus.jsonl", lambda random: [{"docid": p, "text": f"text of {p}"} for p in PASSAGES]),
    Form("runs", "fresh.run", _ranking),
    Form("qrels", "fresh.qrels", _judged),
    Form("bank", "bank.jsonl", _bank_rows),
    Form("bank", "bank.csv", _bank_csv),
    Form("bank", "questions.jsonl", _rubric_rows),
    Form("bank", "nuggets.json", _nugget_map),
    Form("bank", "tqa.json", _lessons),
    Form("graded", "graded.jsonl", _graded_rows),
    Form("responses", "rag.jsonl", _rag_rows),
    Form("responses", "plain.jsonl", _plain_rows),
    Form("responses", "map.json", lambda random: Whole({q: {"w": _words(random), "v": "Yes."} for q in QUERIES[:2]})),
    Form("leaderboard", "board.tsv", _board_tsv),
    Form("leaderboard", "rubric.tsv", _board_rubric),
    Form(
        "leaderboard", "board.json", lambda random: Whole({"AP": {"r1": 0.5, "r2": 0.25}, "nDCG": {"r1": 1, "r3": 0}})
    ),
    Form("responses-matrix", "answers.csv", lambda random: _answers(random, ",")),
    Form("responses-matrix", "answers.tsv", lambda random: _answers(random, "\t")),
    Form("lm-eval", "samples_big.jsonl", _samples),
    Form("exam", "exam.json", _exam),
    Form("answers", "answers.jsonl", _generated),
    Form("answer-verdicts", "verdicts.jsonl", _answer_verdicts),
    Form("students", "components.csv", lambda random: "student,LLM,icl\nbig,llama,ICL@0\nsmall,,ICL@1\n"),
)

SOUND = 0.04
"""Share of files in which nothing is spoilt: they show that what holds of accepted files is looked at."""


def a_file(form: Form, random: Random) -> tuple[str, bytes]:
    """A file of a form by dice: name and content, spoilt once or several times in most cases."""
    content = form.make(random)
    name = mutations.a_name(form.name, random)
    if random.random() < SOUND:
        return form.name, _written(content, random, {}).encode()
    where = random.choices(("value", "line", "bytes", "packed", "bomb"), (60, 15, 20, 8, 0.03))[0]
    raws: dict[str, str] = {}
    times = 1 + int(random.expovariate(0.9))
    if where == "value" and not isinstance(content, str):
        for _ in range(times):
            content = _spoilt(content, random, raws)
    text = _written(content, random, raws)
    if where == "value" and isinstance(content, str):
        for _ in range(times):
            text = mutations.spoil_cell(text, random)
    if where == "line":
        for _ in range(times):
            text = mutations.spoil_lines(text, random)
    data = mutations.encode(text, random)
    if where == "bytes":
        for _ in range(times):
            data = mutations.spoil_bytes(data, random)
        if random.random() < 0.1:
            data = random.choice(mutations.OTHERS) + data
    if where == "bomb":
        return name, mutations.bomb(data, random)
    if where == "packed":
        return random.choice((name, name + ".gz")), mutations.pack(data, random)
    return name, data


def _spoilt(content: Any, random: Random, raws: dict[str, str]) -> Any:
    if isinstance(content, Whole):
        return Whole(mutations.spoil_value(content.value, random, raws))
    spoilt = mutations.spoil_value(content, random, raws)
    return spoilt if isinstance(spoilt, list) else [spoilt]


def _written(content: Any, random: Random, raws: dict[str, str]) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Whole):
        text = mutations.json_text(content.value, random, raws)
        return text.replace(", ", ",\n") if random.random() < 0.3 else text
    return "".join(mutations.json_text(row, random, raws) + "\n" for row in content)
