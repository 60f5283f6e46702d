"""A made-up collection in the format of TREC CAR Y3: two pages, their sections, runs and grades by section."""

import gzip
import json
from collections.abc import Iterable, Mapping
from typing import Any

from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source
from exam_workbench.store import Project

OUTLINES = [
    {
        "page_id": "tqa2:L_1",
        "page_name": "The water cycle",
        "headings": [
            {"heading": "Evaporation", "headingId": "T_1", "headings": []},
            {"heading": "Rain", "headingId": "T_2", "headings": []},
        ],
    },
    {"page_id": "tqa2:L_2", "page_name": "Volcanoes", "headings": [{"heading": "Lava", "headingId": "T_3"}]},
]


def _asked(text: str, right: str, **choices: str) -> dict[str, Any]:
    """Return a question of a lesson with its answer choices."""
    return {
        "answerChoices": {
            letter: {"processedText": choice, "rawText": f"{letter}. {choice}"} for letter, choice in choices.items()
        },
        "beingAsked": {"processedText": text, "rawText": f"1. {text}"},
        "correctAnswer": {"processedText": right, "rawText": right},
        "questionType": "Multiple Choice",
    }


LESSONS = [
    {
        "globalID": "L_1",
        "lessonName": "The water cycle",
        "questions": {
            "diagramQuestions": {"DQ_1": {"beingAsked": {"processedText": "Which arrow shows rain?"}}},
            "nonDiagramQuestions": {
                "NDQ_1": _asked("What drives the water cycle?", "a", a="the sun", b="the moon"),
                "NDQ_2": _asked("Clouds are made of drops.", "True", a="true", b="false"),
                "NDQ_3": _asked("What is left out?", "e", a="x", b="y"),
            },
        },
    },
    {
        "globalID": "L_9",
        "lessonName": "Sailing",
        "questions": {"nonDiagramQuestions": {"NDQ_9": _asked("What is a jib?", "a sail")}},
    },
]

RATED = {
    "p1": {"NDQ_1": 5, "NDQ_2": 0, "tqa2:L_1/T_1/how": 4, "tqa2:L_1/T_2/why": 0},
    "p2": {"NDQ_1": 1, "NDQ_2": 0, "tqa2:L_1/T_1/how": 0, "tqa2:L_1/T_2/why": 5},
    "p3": {"NDQ_1": 0, "NDQ_2": 4, "tqa2:L_1/T_1/how": 5, "tqa2:L_1/T_2/why": 0},
}
"""Rating of each question of the first page, by passage."""

RANKED = {
    "one": {"tqa2:L_1/T_1": [("p1", 1, 9.0), ("p2", 3, 7.0)], "tqa2:L_1/T_2": [("p3", 1, 5.0)]},
    "two": {"tqa2:L_1/T_1": [("p2", 1, 1.0), ("p1", 2, 1.0)], "tqa2:L_1/T_2": [("p2", 1, 4.0), ("p3", 2, 4.0)]},
}
"""Passage, rank and score, by run and topic. One run lacks a rank in between; the other's scores are tied."""


def source(name: str, content: Any) -> Source:
    return Source(name, data=json.dumps(content).encode())


def jsonl(name: str, rows: Iterable[Any]) -> Source:
    return Source(name, data="".join(json.dumps(row) + "\n" for row in rows).encode())


def graded(name: str = "car.jsonl.gz", rated: Mapping[str, Mapping[str, int]] = RATED) -> Source:
    """Return the graded file of the first page, with ratings and direct grades."""
    passages = [_passage(passage, ratings) for passage, ratings in rated.items()]
    return Source(name, data=gzip.compress((json.dumps(["tqa2:L_1", passages]) + "\n").encode()))


def _passage(passage: str, ratings: Mapping[str, int]) -> dict[str, Any]:
    info = {"prompt_class": "QuestionSelfRated", "is_self_rated": True}
    return {
        "paragraph_id": passage,
        "text": f"Text of {passage}.",
        "paragraph_data": {
            "judgments": [
                {"paragraphId": passage, "query": topic, "relevance": int(passage == "p1"), "titleQuery": "tqa2:L_1"}
                for topic in ("tqa2:L_1/T_1", "tqa2:L_1/T_2")
            ],
            "rankings": [
                {"method": run, "paragraphId": passage, "queryId": topic, "rank": rank, "score": score}
                for run, by_topic in RANKED.items()
                for topic, ranking in by_topic.items()
                for named, rank, score in ranking
                if named == passage
            ],
        },
        "exam_grades": [
            {
                "correctAnswered": [question for question, rating in ratings.items() if rating],
                "wrongAnswered": [question for question, rating in ratings.items() if not rating],
                "answers": [],
                "llm": "a model",
                "llm_options": {},
                "prompt_info": info,
                "prompt_type": "question",
                "self_ratings": [{"question_id": q, "self_rating": rating} for q, rating in ratings.items()],
            }
        ],
        "grades": [
            {
                "correctAnswered": passage != "p2",
                "answer": "",
                "llm": "a model",
                "llm_options": {},
                "prompt_info": {"prompt_class": "Sun", "is_self_rated": False},
                "prompt_type": "direct_grading",
            }
        ],
    }


BANK = [
    {
        "query_id": "tqa2:L_1",
        "facet_id": facet,
        "query_text": f"The water cycle / {heading}",
        "questions": [{"query_id": "tqa2:L_1", "question_id": f"tqa2:L_1/{facet}/{name}", "question_text": text}],
    }
    for facet, heading, name, text in (
        ("T_1", "Evaporation", "how", "How does water rise?"),
        ("T_2", "Rain", "why", "Why does it rain?"),
    )
]
"""Questions by section, in the format of the appendix of EXAM++: texts under `questions`."""


def fill(project: Project) -> None:
    """Import the outlines, the questions of people, the questions by section, and the graded file."""
    import_files(project, "queries", [source("outlines.json", OUTLINES)], "ann")
    import_files(project, "bank", [source("tqa.json", LESSONS)], "ann", Options(skip_unknown=True))
    import_files(project, "bank", [jsonl("car.jsonl", BANK)], "ann")
    import_files(project, "graded", [graded()], "ann")
