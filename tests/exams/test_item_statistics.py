"""Exam statistics before any answers: baselines, lengths, question words, topics and Bloom levels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exam_workbench import bank
from exam_workbench.bank import set_categories
from exam_workbench.errors import FileError
from exam_workbench.exams import Item, categorize_items, exam_items, set_keywords, summarize_items
from exam_workbench.exams._item_filters import bloom_levels, built_in_keywords, project_keywords, question_types
from exam_workbench.records import add_queries
from exam_workbench.store import Project
from exam_workbench.types import Query, Question
from tests.exams.test_item_filters import check, counted
from tests.made.projects import commit, filled_project
from tests.made.refusals import refusal


def item(at: int, choices: tuple[str, ...], key: int | None, text: str = "What is it?", **more: object) -> Item:
    right = None if key is None else choices[key]
    return replace(Item(f"exam/{at}", "exam", text, choices, right), **more)  # type: ignore[arg-type]


ITEMS = [
    item(1, ("one", "three", "two"), 0, topic="sea"),
    item(2, ("longest", "b", "c"), 0, "Which is it, and when?", topic="sea"),
    item(3, ("same", "size", "x"), 1),
    item(4, ("a", "b", "c"), None),
    item(5, ("a", "b", "c"), 2, active=False),
]


def test_baselines_give_the_accuracy_of_guessing() -> None:
    said = summarize_items(ITEMS)
    assert (said.items, said.without_key, said.retired) == (3, 1, 1)
    assert (said.fixed_answer, said.fixed_letter) == (pytest.approx(2 / 3), "A")
    # Items 2 and 3: a key that ties for the longest choice counts.
    assert said.longest_answer == pytest.approx(2 / 3)
    assert said.question_length == pytest.approx((11 + 22 + 11) / 3)
    assert said.question_types == {"What": 2, "Which": 1, "When": 1}
    assert said.topics == {"sea": 2, "": 1}
    assert said.making is said.filtered is said.kept is None, "values that were not computed are None, not zero"
    none = summarize_items([])
    assert (none.items, none.fixed_answer, none.fixed_letter) == (0, None, None)
    assert none.longest_answer is none.question_length is None


def test_filtered_items_are_counted_by_rule() -> None:
    double = item(6, ("all of the above", "x", "x"), 1)
    said = summarize_items([*ITEMS, double], checked=check([*ITEMS, double], encode=counted))
    assert said.filtered is not None
    assert (said.filtered["duplicate choices"], said.filtered["all or none"], said.filtered["no key"]) == (1, 1, 1)
    assert said.kept is not None and said.kept + len({4, 6}) <= 5


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("Which of the following is it?", ("Uncategorized",)),
        ("Name the layers, and explain why they were compared.", ("Remembering", "Understanding", "Analyzing")),
        ("Which commands would you use to solve this?", ("Applying",)),
        ("What should be designed next?", ("Creating",)),
        ("Which evaluation is it?", ("Uncategorized",)),
    ],
)
def test_question_gets_the_levels_of_its_keywords(text: str, levels: tuple[str, ...]) -> None:
    assert bloom_levels(text) == levels


def test_question_words_are_found_anywhere_or_as_whole_words() -> None:
    assert question_types("Somewhat later, WHERE does it show?") == ("What", "How", "Where")
    assert question_types("Somewhat later, WHERE does it show?", whole_word=True) == ("Where",)
    assert question_types("Is it?") == ("Uncategorized",)


def fill_exam(project: Project) -> None:
    commit(project, add_queries, [Query("exam", "Exam")], replace=True)
    made = [
        Question(f"exam/{at}", "exam", text, "choice", answer_key="a", choices=("a", "b"))
        for at, text in enumerate(("Explain what it is.", "Zap it, when?"))
    ]
    bank.save_version(project, made, "made", "ann")


exam = filled_project(fill_exam)


def test_categories_can_be_overridden_and_reset(exam: Project) -> None:
    items = exam_items(exam)
    assert categorize_items(exam, items)["bloom"] == {"exam/0": ("Understanding",), "exam/1": ("Uncategorized",)}
    set_categories(exam, ["exam/1"], "bloom", ["Creating"], "ann")
    set_categories(exam, ["exam/1"], "question type", ["Why"], "ann")
    by = categorize_items(exam, items)
    assert (by["bloom"]["exam/1"], by["question type"]["exam/1"]) == (("Creating",), ("Why",))
    set_categories(exam, ["exam/1"], "bloom", None, "ann")
    assert categorize_items(exam, items)["bloom"]["exam/1"] == ("Uncategorized",)
    with refusal("unknown-category-scheme", "colour"):
        set_categories(exam, ["exam/1"], "colour", ["red"], "ann")  # type: ignore[arg-type]


def test_project_keywords_replace_built_in_keywords(exam: Project) -> None:
    set_keywords(exam, "Zapping: [zap]\n", "ann")
    assert project_keywords(exam) == {"Zapping": ("zap",)}
    assert categorize_items(exam, exam_items(exam))["bloom"]["exam/1"] == ("Zapping",)
    set_keywords(exam, None, "ann")
    for text in ("", "- a", "a: b", "a: []", "a: [1]", "a: [b", "a: &x [b]\nc: *x", "1: [a]"):
        with pytest.raises(FileError):
            set_keywords(exam, text, "ann", "mine.yaml")
        assert project_keywords(exam) == built_in_keywords(), text
