"""The printer of the shell: what a command returns, as JSON or as lines, tables and notes."""

from __future__ import annotations

from typing import Annotated

import pytest

from exam_workbench.errors import InputError
from exam_workbench.operations import registry
from exam_workbench.operations.describing import Argument, Gathered, Option
from exam_workbench.operations.opening import Opening
from exam_workbench.operations.output import Output, at_most_one, print_result
from exam_workbench.operations.registry import operation
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
    ("result", "texts"),
    [(Output({}).line("a").note("b"), ("a\n", "b\n")), ("saved", ("", "saved\n")), (None, ("", ""))],
)
def test_the_result_of_an_operation_is_printed(
    result: Output | str | None, texts: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    print_result(result, as_json=False)
    assert tuple(capsys.readouterr()) == texts


def test_an_operation_fails_after_its_result_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with refusal("wrong"):
        print_result(Output().line("a").failing(InputError("wrong", "Wrong.")), as_json=False)
    assert capsys.readouterr().out == "a\n"
    with refusal("wrong"):
        print_result(Output().note("a").failing(InputError("wrong", "Wrong.")), as_json=True)
    assert tuple(capsys.readouterr()) == ("", "")


def test_options_that_exclude_each_other_are_refused_before_the_operation_runs() -> None:
    check = at_most_one(first="--first", second="--second", third="THIRD")
    run = check(lambda **given: given)
    for given in ({"first": None, "second": False, "third": ""}, {"first": 0, "second": None, "third": None}):
        assert run(**given) == given
    with refusal("options-exclude-each-other"):
        run(first=0, second=True, third=None)


def span(
    *, low: Annotated[int, Option(least=0)], high: Annotated[int, Option(parse=lambda value: 2 * value)] = 9
) -> tuple[int, int]:
    return low, high


def test_an_operation_gets_the_values_of_gathered_options_as_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "OPERATIONS", {})

    @operation("try", act="organize")
    def try_it(*, name: Annotated[str, Argument()], both: Annotated[tuple[int, int], Gathered(span)]) -> object:
        return name, both

    made = registry.OPERATIONS["try"]
    assert [one.name for one in made.parameters] == ["name", "low", "high"]
    assert made.call({"name": "a", "low": 1}, Opening()) == ("a", (1, 18))
    with refusal("parameter-missing", "--low"):
        made.call({"name": "a"}, Opening())
