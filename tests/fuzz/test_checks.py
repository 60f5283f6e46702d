"""Tests that the conditions detect planted faults."""

import pytest

from exam_workbench.errors import InputError
from exam_workbench.store import Project
from tests.fuzz.checks import Bench, Hang, goes_out, in_time, one_line
from tests.made.projects import commit


@pytest.mark.parametrize(
    "change",
    [
        "passages SET passage_id = 'two words' WHERE passage_id = 'p1'",
        "queries SET query_id = 'q' || chr(160) WHERE query_id = 'q1'",
        "runs SET name = 'r' || chr(7) WHERE name = 'r1'", "queries SET text = 'a' || chr(31) || 'b'",
        "question_texts SET text = 'a' || chr(30) || 'b'", "question_revisions SET weight = 'nan'::DOUBLE",
        "rankings SET score = 'inf'::DOUBLE", "grades SET rating = 99",
    ],
)  # fmt: skip
def test_changes_and_unusable_values_are_detected(bench: Bench, change: str) -> None:
    changed = []

    def act(project: Project) -> None:
        commit(project, f"UPDATE {change}")
        changed.append(bench.content(project) != bench.before)

    with pytest.raises(AssertionError):
        bench.tries(act)
    assert changed == [True] and bench.content(bench.rehearsal) == bench.before


def test_partial_commit_and_export_of_non_finite_number_are_detected(bench: Bench) -> None:
    def half(project: Project) -> None:
        commit(project, "UPDATE queries SET text = 'half'")
        raise InputError("refused-half", "The second half is refused.")

    with pytest.raises(AssertionError):
        bench.tries(half)
    assert bench.content(bench.rehearsal) == bench.before
    with bench.copy() as project:
        commit(project, "UPDATE board_scores SET score = 'nan'::DOUBLE")
        with pytest.raises((AssertionError, ValueError)):
            goes_out(project)


def test_unreadable_messages_and_hangs_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    for message in ("two\nlines", "a\x1bcolour", "a\u2028separator", "half \udcff", "long" * 999):
        with pytest.raises(AssertionError):
            one_line(message)
    monkeypatch.setattr("tests.fuzz.checks.CPU_SECONDS", 0.05)
    with pytest.raises(Hang), in_time():
        while True:
            pass
