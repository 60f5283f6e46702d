"""What people changed and did not save, splitting and merging, and finding passages, from the shell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.store import as_name, open_project
from tests.cli.test_cli import Exam, exam, refused  # noqa: F401
from tests.cli.test_cli_people import A, B, shell  # noqa: F401

FOR_ANN = "What is A for ann?"


@pytest.fixture
def edited(shell: Exam, tmp_path: Path) -> Exam:  # noqa: F811
    """`exam` on a project in which ann and bob have changed the same question, and ann another one."""
    project = open_project(tmp_path / "p.duckdb")
    bank.put_drafts(project, "ann", [replace(A, text=FOR_ANN), replace(B, weight=2.0)])
    bank.put_draft(project, "bob", replace(A, active=False))
    project.close()
    return shell


def listed(exam: Exam) -> dict[tuple[str, str], tuple[list[str], bool]]:  # noqa: F811
    found = exam("bank", "drafts", "--json").json["drafts"]
    return {(one["author"], one["question"]["question_id"]): (one["done"], one["conflict"]) for one in found}


def test_drafts_of_everybody_are_listed(edited: Exam) -> None:
    assert listed(edited) == {
        ("ann", "q1/a"): (["reworded"], False),
        ("ann", "q1/b"): (["reweighted"], False),
        ("bob", "q1/a"): (["retired"], False),
    }
    for who, shown in ("ann", True), ("bob", False):
        assert (FOR_ANN in edited("bank", "drafts", "--who", who).out) == shown


def test_drafts_made_under_another_name_are_saved_and_a_conflict_is_settled(edited: Exam) -> None:
    assert edited("bank", "save", "--note", "mine", "--author", "ann").code == 0
    assert listed(edited) == {("bob", "q1/a"): (["reworded", "retired"], True)}
    refused(edited("bank", "save", "--note", "his", "--author", "bob"), 2, "exam bank resolve", error="open-conflicts")
    refused(edited("bank", "resolve", "q1/b", "--keep", "mine", "--author", "bob"), 2, "q1/b", error="unknown-draft")
    assert edited("bank", "resolve", "q1/a", "--keep", "theirs", "--author", "bob").code == 0
    assert listed(edited) == {}
    (newest, *_) = edited("bank", "list", "--versions", "--json").json["versions"]
    assert (newest["author"], newest["note"]) == ("ann", "mine")


def test_drafts_are_discarded_by_name_or_all_and_nobody_elses(edited: Exam) -> None:
    refused(edited("bank", "discard", "--author", "ann"), 2, "--all", error="option-missing")
    refused(edited("bank", "discard", "q1/a", "q1/zzz", "--author", "ann"), 2, "q1/zzz", error="unknown-draft")
    assert len(listed(edited)) == 3
    assert edited("bank", "discard", "q1/a", "--author", "ann").code == 0
    assert set(listed(edited)) == {("ann", "q1/b"), ("bob", "q1/a")}
    assert edited("bank", "discard", "--all", "--author", "ann").code == 0
    assert set(listed(edited)) == {("bob", "q1/a")}


def test_a_question_is_split_and_two_are_merged(shell: Exam) -> None:  # noqa: F811
    new = shell("bank", "split", "q1/a", "--into", "What is A1?", "--into", "What is A2?", "--note", "n", "--json")
    split = new.json["questions"]
    known = {one["question_id"]: one for one in shell("bank", "list", "--json").json["questions"]}
    assert [known[one]["text"] for one in split] == ["What is A1?", "What is A2?"]
    assert not known["q1/a"]["active"]
    assert [known[one]["weight"] for one in split] == [known["q1/a"]["weight"] / 2] * 2
    merged = shell("bank", "merge", *split, "--into", "What are the As?", "--note", "n", "--json").json["question"]
    known = {one["question_id"]: one for one in shell("bank", "list", "--json").json["questions"]}
    assert {one["text"] for one in known.values() if one["active"]} == {"What are the As?", "What is B?"}
    assert known[merged]["active"]
    refused(shell("bank", "split", "q1/b", "--into", "Only one?", "--note", "n"), 2, error="too-few-questions")
    refused(shell("bank", "merge", "q1/b", "--into", "All?", "--note", "n"), 2, error="too-few-questions")


@pytest.mark.parametrize(
    ("sought", "found"),
    [
        ((), ["p1", "p2"]),
        (("TEXT of p2",), ["p2"]),
        (("--label-is", "5"), ["p1"]),
        (("--label-is", "none"), []),
        (("--rating", "0"), ["p2"]),
        (("--state", "failed"), ["p2"]),
        (("--judgment", "1"), ["p2"]),
        (("--source", "nist", "--judgment", "none"), []),
        (("--flagged",), ["p1", "p2"]),
        (("--run", "other", "--depth", "1"), ["p2"]),
        (("--unjudged-by", "nist"), []),
        (("--overridden",), []),
        (("--limit", "1", "--page", "2"), ["p2"]),
    ],
)
def test_passages_are_found(shell: Exam, sought: tuple[str, ...], found: list[str]) -> None:  # noqa: F811
    assert [one["passage_id"] for one in shell("passages", *sought, "--json").json["passages"]] == found


@pytest.mark.parametrize(
    ("sought", "error"),
    [
        (("--query", "q9"), "no-pooled-passages"),
        (("--run", "nope"), "unknown-run"),
        (("--source", "nope"), "unknown-source"),
        (("--label-is", "much"), "invalid-value"),
    ],
)
def test_what_is_not_there_cannot_be_sought(shell: Exam, sought: tuple[str, ...], error: str) -> None:  # noqa: F811
    refused(shell("passages", *sought), 2, sought[1], error=error)


def test_judgments_of_the_first_source_are_shown_where_none_is_named(shell: Exam) -> None:  # noqa: F811
    shown = shell("passages", "--json").json["passages"]
    assert shown == shell("passages", "--source", "nist", "--json").json["passages"]
    assert any(one["judgment"] is not None for one in shown)


@pytest.mark.parametrize("command", [("plan",), ("grade",), ("grade", "--dry-run"), ("disagreements", "list")])
def test_a_query_that_is_not_there_is_not_taken_for_one_of_which_nothing_is_left(
    shell: Exam,  # noqa: F811
    command: tuple[str, ...],
) -> None:
    refused(shell(*command, "--query", "nope"), 2, "nope", error="unknown-query")


def test_an_override_of_the_present_wording_stays_its_makers(shell: Exam) -> None:  # noqa: F811
    made = shell("overrides", "set", "q1/a", "p1", "2", "--reason", "vague", "--author", "ann", "--json")
    refused(shell("overrides", "confirm", str(made.json["override"]), "--author", "bob"), 2, str(made.json["override"]))
    (one,) = shell("overrides", "list", "--json").json["overrides"]
    assert (one["key"], one["author"]) == (made.json["override"], "ann")


def test_a_name_has_no_signs_that_nobody_sees() -> None:
    assert as_name(" Ann\x07\u200b  Łucja\nMüller\t") == "Ann Łucja Müller"
