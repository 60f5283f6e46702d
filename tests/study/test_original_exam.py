"""Table 4 of the original EXAM paper: import as six leaderboards, and the correlations of table 1."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType

import pytest

from exam_workbench.measures import correlate_scores
from tests.made.shell import Run, printed

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "background" / "original-exam.md"
TABLES = ROOT / "bench" / "results" / "2026-11-original-exam.md"
FOLDER = ROOT / "docs" / "original-exam"


@pytest.fixture(scope="module")
def compare() -> ModuleType:
    """Load docs/original-exam/compare.py, which is a script outside any package."""
    spec = importlib.util.spec_from_file_location("original_exam_compare", FOLDER / "compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_commands_print_the_shown_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: Run) -> None:
    """The commands import table 4 and print the published correlations of n-EXAM and ROUGE."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("EXAM_PROJECT", str(tmp_path / "original-exam.duckdb"))
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    lines = [shlex.split(line) for line in block.replace("\\\n", " ").splitlines()]
    told = [commands(*words[1:]) for words in lines if words[0] == "exam"]
    assert told[-1][:2] == (0, shown)
    assert printed(commands("status", "--json"))["imported leaderboards"] == 6


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
