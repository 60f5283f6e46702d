"""Names of graders: every command accepts the names that commands print."""

from __future__ import annotations

import shlex
from dataclasses import replace

from exam_workbench.bank import (
    find_grader,
    grader_settings,
    how_to_grade,
    list_of_graders,
    remember_settings,
    save_named_grader,
)
from exam_workbench.graders import make_grader
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import SPEC, fill, filled_project, grade
from tests.made.refusals import refusal
from tests.made.shell import ShellOn, printed

ENDPOINT = {"back_end": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
A = Question("q1/a", "q1", "What is A?")
RUNS = {"sys": {"q1": ["p1", "p2"]}}


def grade_twice(project: Project) -> None:
    fill(project, [A], {("What is A?", "p1"): 4, ("What is A?", "p2"): 1}, RUNS)
    made = save_named_grader(project, "mine", "self-rating", ENDPOINT, "ann")
    grade(project, {("What is A?", "p1"): 2}, made.spec)


several = filled_project(grade_twice)
"""A project graded by two graders: one set up as `mine`, one known only by its grades."""


def test_every_name_finds_the_same_grader(several: Project) -> None:
    mine = next(one for one in list_of_graders(several) if one.also == ("mine",))
    for name in (mine.name, mine.fingerprint, "mine"):
        assert find_grader(several, name).spec.fingerprint == mine.fingerprint
        assert make_grader(*grader_settings(several, name)).spec.fingerprint == mine.fingerprint
    with refusal("ambiguous-grader", "self-rating", "test"):
        find_grader(several, "self-rating")
    assert grader_settings(several, "embedding") == ("embedding", {})
    with refusal("grader-without-grades", "--grader", "embedding"):
        find_grader(several, "embedding")


def test_grader_without_settings_gets_a_hint(several: Project) -> None:
    with refusal("unknown-grader-settings"):
        grader_settings(several, SPEC.name)
    assert "exam graders add" in how_to_grade(several, SPEC)
    mine = find_grader(several, "mine").spec
    command = how_to_grade(several, mine, "--run", "a run").removeprefix("Run: ")
    assert shlex.split(command) == ["exam", "grade", "--grader", mine.name, "--run", "a run"]


def test_duplicate_name_is_refused(several: Project) -> None:
    for name in ("embedding", SPEC.name):
        with refusal("name-taken"):
            save_named_grader(several, name, "self-rating", ENDPOINT, "ann")
    other = make_grader("self-rating", ENDPOINT | {"temperature": 1.0})
    remember_settings(several, other, "self-rating", ENDPOINT | {"temperature": 1.0}, "ann")
    remembered = next(one for one in list_of_graders(several) if one.fingerprint == other.spec.fingerprint)
    assert remembered.name not in {one.spec.name for one in (find_grader(several, None), find_grader(several, "mine"))}


def test_list_shows_default_and_usable_graders(several: Project) -> None:
    save_named_grader(several, "waiting", "self-rating", ENDPOINT | {"model": "other"}, "ann")
    found = {one.name: (one.shown, one.can_grade, one.grades) for one in list_of_graders(several)}
    assert found == {
        SPEC.name: (True, False, 2),
        find_grader(several, "mine").spec.name: (False, True, 1),
        "waiting": (False, True, 0),
    }


def test_commands_accept_and_print_names(several: Project, shell_on: ShellOn) -> None:
    made, exam = find_grader(several, "mine"), shell_on(grade_twice)
    listed = printed(exam("graders", "list", "--json"))["graders"]
    assert [(one["name"], one["also"]) for one in listed] == [(SPEC.name, []), (made.spec.name, ["mine"])]
    for name in ("mine", made.spec.name, made.spec.fingerprint):
        assert printed(exam("leaderboard", "--grader", name, "--json"))["systems"][0]["run"] == "sys"
        assert printed(exam("plan", "--grader", name, "--json"))["to_grade"] == 1
    assert "exam graders list" in exam.fails("unknown-grader", "leaderboard", "--grader", "nobody")
    hint = exam("unjudged", "--grader", "mine")[2]
    assert f"1 pair ungraded, 0 failed. Run: exam grade --grader '{made.spec.name}' --run sys" in hint


def test_grader_with_earlier_fingerprint_is_found_by_every_name(project: Project) -> None:
    """Earlier versions stored the default number format if it was given; this version never does."""
    fill(project, [A], {}, RUNS)
    now = save_named_grader(project, "mine", "choice", {"dtype": "float32", "device": "cpu"}, "ann").spec
    earlier = replace(now, parameters={**now.parameters, "dtype": "float32"})
    assert now.fingerprint != earlier.fingerprint
    grade(project, {("What is A?", "p1"): 1}, earlier)
    for name in ("mine", "choice", now.name, now.fingerprint, earlier.fingerprint):
        assert find_grader(project, name).spec.fingerprint == earlier.fingerprint
    assert [one.also for one in list_of_graders(project) if one.method == "choice"] == [("mine",)]
