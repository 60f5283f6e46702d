"""The printer of the shell: what a command returns, as JSON or as lines, tables and notes."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from exam_workbench.cli.options import gathered_options, json_option, project_option
from exam_workbench.cli.printing import Output, at_most_one, on_project, printed
from exam_workbench.project import Project
from tests.made.refusals import refusal


def test_parts_are_printed_in_their_order_and_notes_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output({"a": 1}).line("head").table(("x",), [(1,)]).table(("y",), [("b",)])
    output.note("warning", "", None).table(("z",), []).text("a,b\n")
    output.print(as_json=False)
    assert tuple(capsys.readouterr()) == ("head\nx\n1\n\ny\nb\nz\na,b\n", "warning\n")


def test_json_is_printed_instead_of_all_parts(capsys: pytest.CaptureFixture[str]) -> None:
    Output({"ä": None}).line("head").note("warning").print(as_json=True)
    assert tuple(capsys.readouterr()) == ('{"ä": null}\n', "")


@pytest.mark.parametrize(
    ("result", "printed_texts"),
    [(Output({}).line("a").note("b"), ("a\n", "b\n")), ("saved", ("", "saved\n")), (None, ("", ""))],
)
def test_the_result_of_a_command_is_printed(result: Output | str | None, printed_texts: tuple[str, str]) -> None:
    command = click.command()(printed(lambda: result))
    run = CliRunner().invoke(command, [], catch_exceptions=False)
    assert (run.stdout, run.stderr) == printed_texts


def test_the_project_is_closed_when_its_result_is_printed(project: Project) -> None:
    seen: list[Project] = []

    class Late(Output):
        def print(self, as_json: bool) -> None:
            assert seen[0].closed
            super().print(as_json)

    @click.command()
    @project_option
    @json_option
    @on_project
    def name(project: Project) -> Output:
        seen.append(project)
        return Late({"name": project.name})

    project.close()
    run = CliRunner().invoke(name, ["--project", str(project.path), "--json"], catch_exceptions=False)
    assert run.stdout == f'{{"name": "{project.name}"}}\n'


def test_options_that_exclude_each_other_are_refused_before_the_command_runs() -> None:
    check = at_most_one(first="--first", second="--second", third="THIRD")
    command = check(lambda **given: given)
    for given in ({"first": None, "second": False, "third": ""}, {"first": 0, "second": None, "third": None}):
        assert command(**given) == given
    with refusal("options-exclude-each-other"):
        command(first=0, second=True, third=None)


def test_a_command_gets_the_values_of_gathered_options_as_one_argument() -> None:
    options = gathered_options(
        "span", lambda low, high: (low, high), click.option("--low", type=int), click.option("--high", default=9)
    )
    command = click.command()(click.option("--name")(options(lambda name, span: click.echo(f"{name} {span}"))))
    assert CliRunner().invoke(command, ["--low", "1", "--name", "a"]).stdout == "a (1, 9)\n"
    assert [one.name for one in command.params] == ["name", "low", "high"]
