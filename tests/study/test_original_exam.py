"""Table 4 of the original EXAM paper: import as six leaderboards, and the correlations of table 1."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from exam_workbench.cli import cli
from exam_workbench.measures import correlate_scores

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "background" / "original-exam.md"
TABLES = ROOT / "bench" / "results" / "2026-11-original-exam.md"
FOLDER = ROOT / "docs" / "original-exam"
MEASURES = ("EXAM", "n-EXAM", "Prec@R", "MAP", "nDCG20", "ROUGE")


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    """Load docs/original-exam/compare.py, which is a script outside any package."""
    spec = importlib.util.spec_from_file_location("original_exam_compare", FOLDER / "compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def in_a_new_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run `exam` at the root of the repository, on a project of the test."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EXAM_PROJECT", str(tmp_path / "original-exam.duckdb"))


def exam(*arguments: str) -> str:
    """Return the output of a command."""
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exception is None, result.exception
    return result.stdout


def column(name: str) -> dict[str, float]:
    with (FOLDER / "table4.tsv").open(encoding="utf-8", newline="") as file:
        return {row["run"]: float(row[name]) for row in csv.DictReader(file, delimiter="\t")}


@pytest.mark.usefixtures("in_a_new_project")
class TestCommands:
    def test_table_4_imports_as_six_leaderboards_of_sixteen_systems(self) -> None:
        exam("init")
        exam("import", "leaderboard", "docs/original-exam/table4.tsv")
        for name in MEASURES:
            board = json.loads(exam("leaderboard", "--source", f"table4 {name}", "--json"))
            assert board["measure"] == name
            assert {system["run"]: system["score"] for system in board["systems"]} == column(name)
            assert len(board["systems"]) == 16
        assert json.loads(exam("status", "--json"))["imported leaderboards"] == len(MEASURES)

    def test_n_exam_correlates_as_published_but_rouge_does_not(self) -> None:
        exam("init")
        exam("import", "leaderboard", "docs/original-exam/table4.tsv")
        official = [option for name in ("Prec@R", "MAP", "nDCG20") for option in ("--against", f"table4 {name}")]
        rows = [option for name in ("n-EXAM", "ROUGE") for option in ("--row", f"table4 {name}")]
        table = json.loads(exam("meta", *rows, *official, "--ties", "random", "--repeats", "1000", "--json"))
        assert [one["title"] for one in table["columns"]] == ["Prec@R", "MAP", "nDCG20"]
        ours, rouge = (row["cells"] for row in table["rows"])
        assert [cell["spearman"] for cell in ours] == pytest.approx([0.74, 0.75, 0.74], abs=0.01)
        # The paper prints .56 for Prec@R and .57 for nDCG20; both are within .01 of .567.
        assert [cell["kendall"] for cell in ours] == pytest.approx([0.57, 0.57, 0.56], abs=0.01)
        assert [cell["kendall"] for cell in ours] == pytest.approx([0.56, 0.57, 0.57], abs=0.01)
        assert all(abs(cell[name]) < 0.1 for cell in rouge for name in ("spearman", "kendall"))

    def test_page_commands_print_the_shown_output(self) -> None:
        (commands,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
        (shown,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
        lines = [shlex.split(line) for line in commands.replace("\\\n", " ").splitlines()]
        printed = [exam(*words[1:]) for words in lines if words[0] == "exam"]
        assert printed[-1] == shown


def test_rouge_correlates_with_exam_as_published_by_ranks(compare: ModuleType) -> None:
    """The # columns of table 4 rank by unrounded scores, so there are no ties."""
    ranks = compare.boards("table4-ranks.tsv")
    found = correlate_scores(ranks["orig_EXAM_rank"], ranks["orig_ROUGE_rank"])
    assert (round(found.spearman or 1, 2), round(found.kendall or 1, 2)) == compare.PUBLISHED["ROUGE", "EXAM"]


def test_random_tie_orders_stay_within_extremes(compare: ModuleType) -> None:
    table = compare.boards("table4.tsv")
    for a, b in (("n-EXAM", "MAP"), ("ROUGE", "nDCG20"), ("MAP", "Prec@R")):
        low, high = (compare.extreme(table[a], table[b], sign) for sign in (-1, 1))
        for seed in range(200):
            drawn = correlate_scores(table[a], table[b], ties="random", repeats=1, seed=seed)
            for coefficient in compare.COEFFICIENTS:
                least, found, most = (getattr(one, coefficient) for one in (low, drawn, high))
                assert least - 1e-9 <= found <= most + 1e-9


def test_results_page_shows_script_output(compare: ModuleType) -> None:
    assert compare.markdown() in TABLES.read_text(encoding="utf-8"), (
        "Run docs/original-exam/compare.py, and copy its output to bench/results/2026-11-original-exam.md."
    )


def test_page_has_published_and_computed_correlations(compare: ModuleType) -> None:
    rows = re.findall(r"^\| (\w+@?\w*) × (\S+) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    table = compare.boards("table4.tsv")
    assert len(rows) == len(compare.PUBLISHED)
    for row, against, cells in rows:
        a, b = (table[compare.SCORES.get(name, name)] for name in (row, against))
        found = correlate_scores(a, b, ties="random", repeats=20_000, seed=3)
        values = [cell.strip() for cell in cells.split("|")]
        assert (float(values[0]), float(values[2])) == compare.PUBLISHED[row, against]
        assert (float(values[1]), float(values[3])) == pytest.approx((found.spearman, found.kendall), abs=0.002)
