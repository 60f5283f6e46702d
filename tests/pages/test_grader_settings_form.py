"""The settings of a grader on the Grading screen and on the command line: what is chosen there is what is kept."""

from __future__ import annotations

import json

from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

from exam_workbench.bank import named_graders
from exam_workbench.cli import cli
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill
from tests.made.screens import choose, enter, keyed, named, press, served, visit

__all__ = ["served"]  # fixture

PAIR = ([Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})


def form(title: str) -> AppTest:
    """The screen with a new grader of a kind."""
    return visit("grading", setup=title)


def kept(app: AppTest, project: Project) -> dict[str, object]:
    """What is kept of the grader that is set up."""
    press(enter(app, "setup name", "mine"), "setup save")
    (found,) = named_graders(project)
    return found.parameters


def test_beams_and_the_last_line_of_the_prompt_are_set_on_the_screen(project: Project) -> None:
    fill(project, *PAIR)
    app = enter(form("Self-rating"), "num_beams", 5)
    enter(app, "cue", "Score:")
    assert kept(app, project) == {"back_end": "transformers", "num_beams": 5, "cue": "Score:"}


def test_plain_completions_are_chosen_for_an_endpoint(project: Project) -> None:
    fill(project, *PAIR)
    app = choose(form("Self-rating"), "back_end", "Endpoint")
    choose(app, "model", "base")
    enter(app, "api", "Plain completions")
    assert kept(app, project) == {"back_end": "openai", "model": "base", "api": "completions"}


def test_a_choice_by_likelihood_is_divided_as_chosen_and_has_no_beams(project: Project) -> None:
    fill(project, *PAIR)
    app = form("Multiple choice")
    assert not keyed(app.number_input, "num_beams")
    enter(app, "normalise", "characters")
    assert kept(app, project) == {"back_end": "transformers", "normalise": "characters"}
    choose(app, "setup", "Multiple choice")
    choose(app, "by", "letter")
    assert not keyed(app.selectbox, "normalise")
    assert named(app.number_input, "num_beams").value == 1


def test_every_setting_has_an_option_of_the_command_line(project: Project) -> None:
    path = project.path
    project.close()

    def save(name: str, *options: str) -> int:
        return CliRunner().invoke(cli, ["graders", "add", name, "--project", str(path), *options]).exit_code

    assert save("a", "--grader", "self-rating", "--dtype", "bfloat16", "--num-beams", "5", "--cue", "none") == 0
    assert save("b", "--grader", "choice", "--normalise", "characters") == 0
    url = ["--base-url", "http://localhost:1/v1", "--model", "m"]
    assert save("c", "--grader", "self-rating", *url, "--api", "completions") == 0
    assert save("d", "--grader", "self-rating", *url, "--num-beams", "5") != 0
    listed = CliRunner().invoke(cli, ["graders", "list", "--project", str(path), "--json"])
    assert {one["name"]: one["parameters"] for one in json.loads(listed.output)["graders"]} == {
        "a": {"dtype": "bfloat16", "num_beams": 5, "cue": "none"},
        "b": {"normalise": "characters"},
        "c": {"base_url": "http://localhost:1/v1", "model": "m", "api": "completions"},
    }
