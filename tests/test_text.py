"""Allowed characters of texts, names and ids, and messages of one bounded line."""

import io

import pytest
from hypothesis import given, strategies as st

from exam_workbench import errors
from exam_workbench.formats import Source, read_boards, write_board_tsv
from exam_workbench.text import clean_text, fault_of_id, free_name, how_many, one_line


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("two\n\tlines", "two\n\tlines"),
        ("a\x1fb\x00c\x1b[2J\x7f", "a b c [2J "),
        ("a\r\nb\rc", "a\nb\nc"),
        ("half \ud83d of a sign", "half   of a sign"),
        ("\x0b\x0c", "  "),
        ("donâ\x80\x99t", "donâ\x80\x99t"),
        ("\u202bעברית\u202c \u200f‎", "\u202bעברית\u202c \u200f‎"),
        ("a\u2028b\u00a0c", "a\u2028b\u00a0c"),
    ],
)
def test_only_control_characters_become_blanks(given: str, kept: str) -> None:
    assert clean_text(given) == kept


@given(st.text())
def test_clean_text_is_unchanged_and_can_be_stored(text: str) -> None:
    once = clean_text(text)
    assert clean_text(once) == once
    assert once.encode().decode() == once and "\x1f" not in once and "\r" not in once


@pytest.mark.parametrize(
    ("name", "in_a_column", "elsewhere"),
    [
        ("q1/é-漢.7", None, None),
        ("two words", "white space", None),
        ("a\u00a0b", "white space", None),
        ("a\u3000b", "white space", None),
        ("a\tb", "control", "control"),
        ("a\nb", "control", "control"),
        ("a\x1fb", "control", "control"),
        ("a\x85b", "control", "control"),
        ("a\u2028b", "control", "control"),
        ("\ufeffq", "control", "control"),
        ("5\u202e1", "control", "control"),
        ("\ud800", "control", "control"),
        ("\u3000", "empty", "empty"),
        ("", "empty", "empty"),
    ],
)
def test_ids_reject_control_characters_and_white_space_in_columns(
    name: str, in_a_column: str | None, elsewhere: str | None
) -> None:
    for fault, wanted in ((fault_of_id(name, one_column=True), in_a_column), (fault_of_id(name), elsewhere)):
        assert (fault is None) == (wanted is None) and (wanted or "") in (fault or "")


def test_long_line_loses_its_middle() -> None:
    line = one_line("the cell '" + "x" * 10_000_000 + "' is\nno\x1b number", 100)
    assert line.startswith("the cell 'xx") and line.endswith("' is no number") and len(line) <= 100
    assert one_line("a" * 100, 100) == "a" * 100
    assert len(one_line("a" * 101, 100)) <= 100
    assert one_line("a" * 101) == "a" * 101


def test_message_of_error_and_problem_is_one_bounded_line() -> None:
    cell = "1\r\n2\x1b[31m" + "9" * 10_000_000
    refused = errors.InputError("score-not-finite", f"The score {cell!s} is no number", f"Mend {cell}\nand try again.")
    shown = [str(refused), *map(str, refused.args), refused.message, refused.hint]
    assert refused.message.startswith("The score 1 2 [31m999") and refused.message.endswith("9 is no number.")
    assert all("\n" not in one and "\x1b" not in one and len(one) <= 2 * errors.LONGEST_MESSAGE + 2 for one in shown)
    problem = errors.Problem(
        "a\nb.run" * 1000, 3, "not-a-number", "the score '" + "x\n" * 10_000_000 + "' is not a number"
    )
    assert len(str(problem)) < 2 * errors.LONGEST_REASON and "\n" not in str(problem)
    assert problem.reason.endswith("' is not a number")
    error = errors.FileError([problem], "Mend it.")
    assert isinstance(error, errors.WorkbenchError) and len(str(error)) < 2 * errors.LONGEST_MESSAGE


FORMULA = "=cmd|'/C calc'!A0"


def test_formulas_in_leaderboards_are_escaped_and_read_back() -> None:
    out = io.StringIO()
    names = [FORMULA, "-1+1", "@sum", "+run", "'=quoted", "plain"]
    write_board_tsv("=AP", [(at, name, -0.5, 0.1, 3) for at, name in enumerate(names, 1)], out)
    cells = [cell for line in out.getvalue().splitlines() for cell in line.split("\t")]
    assert {cell for cell in cells if cell[0] in "=+-@"} == {"-0.5"}, "a number stays a number"
    report = errors.Report()
    (board,) = read_boards(Source("b.tsv", data=out.getvalue().encode()), report)
    assert [row.run for row in board.rows] == names and board.measure == "=AP" and not report.problems


@pytest.mark.parametrize(
    ("number", "things", "said"),
    [
        (2, "sources", "2 sources"),
        (1, "sources", "1 source"),
        (1, "queries", "1 query"),
        (1, "passages of responses", "1 passage of responses"),
        (0, "judgments", "0 judgments"),
        (1234, "ranked passages", "1,234 ranked passages"),
    ],
)
def test_how_many_inflects_the_noun(number: int, things: str, said: str) -> None:
    assert how_many(number, things) == said


def test_taken_name_gets_the_next_free_number() -> None:
    taken = {"audit", "audit 2"}
    assert free_name("audit", taken, "{} {}") == "audit 3"
    assert free_name("{0}", {"{0}"}) == "{0}-2"
    assert free_name("new", taken) == "new"
