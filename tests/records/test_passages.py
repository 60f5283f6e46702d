"""Passages and their texts: what is the same text, and what is not."""

from __future__ import annotations

import pytest

from exam_workbench.records import PassageFiles, _writing_passages as writing_passages, add_kept_passages, add_passages
from exam_workbench.store import Project
from exam_workbench.text import all_clean, clean_text
from exam_workbench.types import Passage
from tests.made.refusals import refusal

TEXTS = {"a": "one", "b": "two", "c": "one", "d": "six", "e": "two", "f": "three"}


def stored(project: Project) -> dict[str, str]:
    return dict(project.rows("SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"))


@pytest.mark.parametrize("number", [writing_passages.HASH, "length({}.text)"])
def test_each_text_is_kept_once_whatever_texts_have_one_number(
    project: Project, monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    monkeypatch.setattr(writing_passages, "HASH", number)
    monkeypatch.setattr(writing_passages, "COMPARED", 2)
    files = PassageFiles(project.working_folder)
    files.take(Passage(*one) for one in TEXTS.items())
    files.take([Passage("g", ""), Passage("a", "one"), Passage("b", "")])
    files.close()
    with project.transaction() as cursor:
        assert add_passages(cursor, [Passage("z", "two"), Passage("y", "ten")]) == 2
        written = add_kept_passages(cursor, files)
        assert add_passages(cursor, [Passage("g", "ten"), Passage("x", "six")]) == 2
    assert stored(project) == TEXTS | {"z": "two", "y": "ten", "g": "ten", "x": "six"}
    assert sorted(project.rows("SELECT text FROM passage_texts")) == [
        ("one",),
        ("six",),
        ("ten",),
        ("three",),
        ("two",),
    ]
    assert written.new == len(TEXTS)
    key_of = dict(project.rows("SELECT passage_id, passage_key FROM passages"))
    assert written.keys.tolist() == [key_of[one] for one in [*TEXTS, "g", "a", "b"]]
    # In the order in which they first come; what has no text comes after what has one.
    assert sorted(key_of, key=key_of.__getitem__) == ["z", "y", *TEXTS, "g", "x"]
    text_of = dict(project.rows("SELECT passage_id, text_key FROM passages"))
    assert written.text_keys.tolist() == [*(text_of[one] for one in TEXTS), 0, text_of["a"], text_of["b"]]


@pytest.mark.parametrize("sign", [chr(code) for code in range(160)] + ["\ud83d", "\u200f", "\U0001f600"])
def test_texts_that_are_looked_at_together_are_clean_when_each_is(sign: str) -> None:
    assert all_clean(["first", f"a{sign}b"]) == (clean_text(f"a{sign}b") == f"a{sign}b")


def test_a_passage_with_two_texts_is_refused_by_its_name(project: Project) -> None:
    with refusal("passage-with-two-texts", "b"), project.transaction() as cursor:
        add_passages(cursor, [Passage("a", "x"), Passage("b", "x"), Passage("a", "x"), Passage("b", "y")])
    assert stored(project) == {}
