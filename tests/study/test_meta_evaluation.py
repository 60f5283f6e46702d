"""The meta-evaluation table: real collections, published values, rows, marks and output formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from click.testing import CliRunner
from scipy import stats

from exam_workbench import bank
from exam_workbench.choices import META_COEFFICIENTS
from exam_workbench.cli import cli
from exam_workbench.errors import InputError
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.measures import correlate_scores
from exam_workbench.records import ranking_scores, write_board
from exam_workbench.store import Project
from exam_workbench.study import (
    Cell,
    MetaTable,
    cell_comparison,
    choose_rows,
    list_methods,
    make_caption,
    meta_latex,
    meta_table,
    meta_tsv,
)
from exam_workbench.study._meta_table import Row, TableRow
from exam_workbench.types import Board, BoardRow, GraderSpec, Question
from tests.made import collections
from tests.made.projects import commit, fill, filled_project, grade, judge, read_project
from tests.made.refusals import mentions, refusal
from tests.made.shell import exam_on

# trec_eval's name of each measure.
TREC = {
    "AP": "map",
    "nDCG@10": "ndcg_cut_10",
    "nDCG@20": "ndcg_cut_20",
    "RR": "recip_rank",
    "P@20": "P_20",
    "Rprec": "Rprec",
}

BANK = [
    Question("q1/a", "q1", "What is A?"),
    Question("q1/b", "q1", "What is B?"),
    Question("q2/c", "q2", "What is C?"),
]
GRADES: dict[tuple[str, str], int | None] = {
    ("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is A?", "p3"): 0,
    ("What is B?", "p1"): 3, ("What is B?", "p2"): 4, ("What is B?", "p3"): 1,
    ("What is C?", "p4"): 4, ("What is C?", "p5"): 2,
}  # fmt: skip
RUNS = {
    "x": {"q1": ["p1", "p2", "p3"], "q2": ["p4", "p5"]},
    "y": {"q1": ["p2", "p3", "p1"], "q2": ["p4", "p5"]},
    "z": {"q1": ["p3", "p2", "p1"], "q2": ["p5", "p4"]},
}
JUDGED = {("q1", "p1"): 2, ("q1", "p2"): 1, ("q1", "p3"): 0, ("q2", "p4"): 1, ("q2", "p5"): 0}


def fill_small(project: Project) -> None:
    """Fill three systems, two sources of judgments and a grader."""
    fill(project, BANK, GRADES, RUNS)
    judge(project, JUDGED, "assessors")
    judge(project, {pair: 0 for pair in JUDGED}, "nothing found")


small = read_project(fill_small)
own = filled_project(fill_small)


def row_of(table: MetaTable, name: str, min_rating: int | None = None) -> TableRow:
    return next(row for row in table.rows if row.name == name and min_rating in (None, row.min_rating))


def numbers(cell: Cell) -> list[float | None]:
    return [cell.value(name) for name in META_COEFFICIENTS]


def levels(project: Project, source: str) -> tuple[int, ...]:
    """Return the min ratings 1, 3 and 5 on a source's scale, and the next one above it."""
    highest = project.value("SELECT max(value) FROM judgments JOIN sources USING (source_key) WHERE name = ?", [source])
    reached = [level for level in (1, 3, 5) if level <= highest]
    return (1, 3, 5)[: len(reached) + 1]


class TestTrecDeepLearning2020:
    @pytest.fixture(scope="class")
    @classmethod
    def dl20(cls, shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
        """Yield 24 runs with NIST judgments and eight sources of labels."""
        yield from collections.dl20(shared_data, tmp_path_factory)

    @pytest.fixture(scope="class")
    @classmethod
    def table(cls, dl20: Project) -> MetaTable:
        """Return the table of every source at the min ratings of `levels`."""
        rows = [Row(name, Policy(min_judgment=level)) for name in list_methods(dl20) for level in levels(dl20, name)]
        return meta_table(dl20, rows, ["NIST"], list(TREC))

    def test_cells_match_pytrec_eval_and_scipy(self, table: MetaTable, shared_data: Path) -> None:
        folder = shared_data / "dl20"
        runs = {}
        for file in sorted((folder / "runs").glob("*.run")):
            with file.open() as lines:
                runs[file.name.removesuffix(".run")] = pytrec_eval.parse_run(lines)

        def judged(name: str) -> dict[str, dict[str, int]]:
            with (folder / ("qrels-nist.txt" if name == "NIST" else f"rubric-qrels/{name}.qrel")).open() as lines:
                return pytrec_eval.parse_qrel(lines)

        def means(qrels: dict[str, dict[str, int]], level: int) -> dict[str, dict[str, float]]:
            """Return mean scores by measure and run; a skipped query scores 0."""
            program = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()), relevance_level=level)
            found: dict[str, dict[str, float]] = {name: {} for name in TREC.values()}
            for run, ranking in runs.items():
                scores = program.evaluate(ranking)
                for name in TREC.values():
                    total = sum(scores[query][name] for query in qrels if query in scores)
                    found[name][run] = round(total / len(qrels), 12)
            return found

        sources = {name: judged(name) for name in {row.name for row in table.rows}}
        nist = means(sources["NIST"], 1)
        assert len({row.name for row in table.rows}) == 9 and len(table.rows) > 9 * 2
        undefined = []
        for row in table.rows:
            assert row.min_rating is not None
            expected = means(sources[row.name], row.min_rating)
            for cell, column in zip(row.cells, table.columns, strict=True):
                name = TREC[column.measure]
                ours = [expected[name][run] for run in sorted(runs)]
                theirs = [nist[name][run] for run in sorted(runs)]
                if len(set(ours)) == 1:
                    undefined.append((row.name, row.min_rating, column.measure))
                    assert cell.correlation.undefined and numbers(cell) == [None] * 3
                    continue
                spearman, kendall = stats.spearmanr(ours, theirs)[0], stats.kendalltau(ours, theirs)[0]
                assert numbers(cell)[:2] == [pytest.approx(spearman), pytest.approx(kendall)], (row.name, column)
        # Binary graders have no relevant passages at min rating 3.
        assert ("HELM", 3, "AP") in undefined
        assert ("QuestionSelfRatedUnanswerablePromptWithChoices", 5, "AP") not in undefined
        known = row_of(table, "QuestionSelfRatedUnanswerablePromptWithChoices").cells[1]
        assert [round(value or 0, 3) for value in numbers(known)[:2]] == [0.957, 0.855]

    def test_runs_sharing_tag_are_named_by_file(self, dl20: Project, shared_data: Path) -> None:
        ranked = dict(dl20.rows("SELECT name, count(*) FROM rankings JOIN runs USING (run_key) GROUP BY name"))
        assert ranked == {path.stem: 5_400 for path in (shared_data / "dl20/runs").glob("*.run")}
        assert dl20.value("SELECT count(*) FROM questions") == 540

    def test_chosen_rows_stop_at_top_of_each_scale(self, dl20: Project) -> None:
        rows = choose_rows(dl20, ["HELM", "NIST", "Thomas"], [1, 3, 4, 5])
        assert [(row.source, row.policy.min_judgment) for row in rows] == [
            ("HELM", 1), ("NIST", 1), ("NIST", 3), ("Thomas", 1), ("Thomas", 3), ("Thomas", 4), ("Thomas", 5),
        ]  # fmt: skip


class TestPublishedLeaderboards:
    @pytest.mark.parametrize(
        ("stem", "spearman", "kendall", "within"),
        [
            ("leaderboard-car-genq-self-rating-4", 0.869, 0.687, 0.0005),
            ("leaderboard-car-tqa-cc-verified", 0.937, 0.841, 0.0005),
            # Its scores are rounded, which ties some systems.
            ("leaderboard-car-tqa-squad2-verified", 0.838, 0.687, 0.015),
        ],
    )
    def test_car_y3_correlations_match_published_values(
        self, project: Project, shared_data: Path, stem: str, spearman: float, kendall: float, within: float
    ) -> None:
        import_files(project, "leaderboard", [Source.from_path(shared_data / "car-y3" / f"{stem}.tsv")], "tester")
        rows = choose_rows(project, [f"{stem} exam"])
        table = meta_table(project, rows, [f"{stem} orig_TREC_leaderboard_rank"])
        (cell,) = table.rows[0].cells
        assert cell.correlation.systems == 16
        assert numbers(cell)[:2] == [pytest.approx(spearman, abs=within), pytest.approx(kendall, abs=within)]
        assert table.rows[0].min_rating is None


class TestRows:
    def test_grader_has_row_per_min_rating_rule_and_version(self, own: Project) -> None:
        bank.save_version(own, [replace(BANK[0], active=False)], "without A", "tester")
        rows = choose_rows(own, ["exam"], [1, 4], ["max", "mean"], [1, 2])
        table = meta_table(own, rows, ["assessors"], ["AP"])
        assert [(row.name, row.min_rating) for row in table.rows] == [
            (f"test grader{rule}, bank version {version}", level)
            for version in (1, 2) for rule in ("", ", label mean") for level in (1, 4)
        ]  # fmt: skip
        for row in table.rows:
            board = leaderboard(own, "AP", "exam", row.row.policy)
            expected = correlate_scores(board.scores, leaderboard(own, "AP", "assessors").scores)
            assert row.cells[0].correlation == expected

    def test_cells_match_leaderboards_of_every_measure(self, small: Project) -> None:
        names = ["AP", "nDCG@10", "EXAM-Cover@2", "alpha_nDCG@10"]
        table = meta_table(small, choose_rows(small, ["exam"], [3]), ["assessors"], names)
        for column, cell in zip(table.columns, table.rows[0].cells, strict=True):
            board = leaderboard(small, column.measure, "exam", table.rows[0].row.policy)
            other = leaderboard(small, column.against_measure, "assessors")
            assert cell.correlation == correlate_scores(board.scores, other.scores)
        # Judgments do not cover questions, so measures of questions are compared with nDCG@10.
        assert [column.against_measure for column in table.columns] == ["AP", "nDCG@10", "nDCG@10", "nDCG@10"]

    def test_grader_has_one_row_on_a_short_scale_and_no_value_without_grades(self, own: Project) -> None:
        spec = GraderSpec("judge", "direct", "none", kinds=("question",), max_rating=1)
        grade(own, {("What is A?", "p1"): 1}, spec)
        rows = choose_rows(own, ["judge"], [1, 3, 5], ["max", "mean"], [None, 1])
        assert [row.policy.min_rating for row in rows] == [1]
        bank.save_version(own, [replace(question, text=f"{question.text}?") for question in BANK], "reworded", "ann")
        table = meta_table(own, choose_rows(own, ["exam"], [4]), ["assessors"], ["AP"])
        assert table.rows[0].cells[0].correlation.undefined

    def test_all_methods_with_a_common_system_are_rows_by_default(self, own: Project) -> None:
        assert list_methods(own) == ["test grader", "assessors", "nothing found"]
        for name, first in (("theirs", "foreign"), ("partly", next(iter(ranking_scores(own))))):
            content = f"run\tscore\n{first}\t1\nelse\t2\nother\t3\n".encode()
            import_files(own, "leaderboard", [Source(f"{name}.tsv", data=content)], "tester")
        assert list_methods(own) == ["test grader", "assessors", "nothing found", "theirs", "partly"]
        rows = choose_rows(own, min_ratings=[1])
        assert [row.source for row in rows] == ["exam", "assessors", "nothing found", "theirs", "partly"]
        table = meta_table(own, rows, ["assessors"], ["AP"])
        assert [row.name for row in table.rows] == ["test grader", "assessors", "nothing found", "partly"]
        assert table.left_out == ("theirs",) and table.as_dict()["left_out"] == ["theirs"]
        assert "theirs" in make_caption(table) and "theirs" in meta_latex(table)
        # If it is the only row, it stays and gives the reason.
        alone = meta_table(own, choose_rows(own, ["theirs"]), ["assessors"], ["AP"])
        assert ([row.name for row in alone.rows], alone.left_out) == (["theirs"], ())

    def test_unknown_names_and_min_ratings_are_refused(self, small: Project) -> None:
        with refusal("unknown-grader", "nobody"):
            choose_rows(small, ["nobody"])
        with refusal("min-rating-out-of-range"):
            choose_rows(small, ["assessors"], [6])
        with refusal("unknown-source", "nobody"):
            meta_table(small, choose_rows(small), ["nobody"])


class TestCells:
    def marks(self, project: Project, scores: dict[str, dict[str, float]]) -> dict[str, str]:
        for name, board in scores.items():
            commit(project, write_board, Board(name, "MAP", [BoardRow(run, score) for run, score in board.items()]))
        table = meta_table(project, choose_rows(project), ["official"])
        return {row.name: row.cells[0].marks["kendall"] for row in table.rows}

    def test_marks_distinguish_best_plain_and_poor(self, project: Project) -> None:
        runs = "abcdefgh"

        def board(order: str) -> dict[str, float]:
            return {run: float(-place) for place, run in enumerate(order)}

        found = self.marks(
            project,
            {
                "official": board(runs),
                "copy": board(runs),
                "one swap": board("bacdefgh"),
                "another swap": board("acbdefgh"),
                "three swaps": board("badcfegh"),
                "reversed": board(runs[::-1]),
                "constant": dict.fromkeys(runs, 1.0),
            },
        )
        assert found == {
            "official": "itself",
            # The same ranks under another name do not compete either.
            "copy": "itself",
            "one swap": "best",
            "another swap": "best",
            "three swaps": "plain",
            "reversed": "poor",
            "constant": "undefined",
        }

    def test_values_within_005_of_best_are_near(self, project: Project) -> None:
        runs = [f"r{number:02}" for number in range(20)]

        def swapped(pairs: int) -> dict[str, float]:
            order = list(runs)
            for at in range(pairs):
                order[2 * at], order[2 * at + 1] = order[2 * at + 1], order[2 * at]
            return {run: float(-place) for place, run in enumerate(order)}

        # A swap of neighbours costs 2 / 190 of Kendall's tau: four more cost .042, six more .063.
        found = self.marks(project, {"official": swapped(0), "1": swapped(1), "5": swapped(5), "7": swapped(7)})
        assert found == {"official": "itself", "1": "best", "5": "near", "7": "plain"}

    def test_undefined_cell_has_reason_and_no_value(self, small: Project) -> None:
        table = meta_table(small, choose_rows(small, min_ratings=[4]), ["assessors"], ["AP", "EXAM-Cover@20"])
        reasons = table.reasons()
        tied = next(cells for reason, cells in reasons.items() if mentions(reason, "3"))
        assert "nothing found, min rating 1: AP" in tied
        assert any(mentions(reason, "EXAM-Cover@20") for reason in reasons), reasons
        assert row_of(table, "nothing found").cells[0].value("spearman") is None

    def test_intervals_enclose_value_and_random_ties_are_repeatable(self, small: Project) -> None:
        rows = choose_rows(small, ["exam"], [4])
        (plain,) = meta_table(small, rows, ["assessors"], ["nDCG@10"]).rows[0].cells
        assert plain.intervals == {}
        (cell,) = meta_table(small, rows, ["assessors"], ["nDCG@10"], samples=200).rows[0].cells
        interval, value = cell.intervals["spearman"], cell.value("spearman")
        assert interval is not None and value is not None
        assert -1 <= interval[0] <= value <= interval[1] <= 1
        options: dict[str, Any] = {"measures": ["AP"], "ties": "random", "repeats": 50}
        once, again = (meta_table(small, rows, ["assessors"], **options).rows[0].cells[0] for _ in range(2))
        assert once == again
        assert meta_table(small, rows, ["assessors"], within_error=True, **options).rows[0].cells[0] != once
        with refusal("ties-with-standard-errors"):
            meta_table(small, rows, ["assessors"], within_error=True)

    def test_cell_opens_its_two_leaderboards(self, small: Project) -> None:
        table = meta_table(small, choose_rows(small, ["assessors"], [2]), ["assessors"], ["AP"])
        (row,), (column,) = table.rows, table.columns
        found = cell_comparison(small, row.row, column)
        assert found.board == leaderboard(small, "AP", "assessors", Policy(min_judgment=2))
        assert found.official == leaderboard(small, "AP", "assessors")
        assert found.correlation == row.cells[0].correlation


class TestOutput:
    def test_tsv_has_full_numbers_reasons_for_missing_ones_and_no_formula(self, small: Project) -> None:
        table = meta_table(small, choose_rows(small, min_ratings=[4]), ["assessors"], ["AP"])
        found = list(csv.DictReader(io.StringIO(meta_tsv(table)), delimiter="\t"))
        assert [line["row"] for line in found] == [row.name for row in table.rows]
        assert float(found[0]["AP spearman"]) == table.rows[0].cells[0].value("spearman")
        assert found[0]["needed_pairs"] == str(table.rows[0].needed)
        assert found[2]["AP kendall"] == ""
        assert mentions(found[2]["undefined"], "AP") and mentions(found[2]["undefined"], "3")
        columns = [replace(column, against="a\n\\input{x}", title="=cmd()") for column in table.columns]
        hostile = replace(table, rows=[replace(row, name="=cmd()") for row in table.rows], columns=columns)
        lines = [line.split("\t") for line in meta_tsv(hostile).splitlines()]
        assert {line[0] for line in lines[1:]} == {"'=cmd()"} and lines[0][5].startswith("'=cmd()")
        assert not [line for line in meta_latex(hostile).splitlines() if "input{x}" in line and line[0] != "%"]

    def test_latex_marks_best_and_undefined_and_escapes_names(self, own: Project) -> None:
        judge(own, {**JUDGED, ("q1", "p3"): 1}, "50%_model & co")
        table = meta_table(own, choose_rows(own, min_ratings=[1]), ["assessors"], ["AP"])
        found = meta_latex(table, ["spearman", "kendall"])
        assert r"\multicolumn{2}{c}{AP}" in found
        assert r"50\%\_model \& co & 1 &" in found
        assert "nothing found & 1 & 2 & $\\dagger$ & $\\dagger$ \\\\" in found
        assert "\\textbf{\\textit{" in found

    def test_command_prints_table_in_every_format(self, own: Project) -> None:
        command = ("meta-evaluation", "--against", "assessors", "--measure", "AP")
        printed = partial(exam_on, own, *command, "--min-rating", "4")
        columns = printed().splitlines()[0].split()
        assert columns == ["row", "min", "rating", "queries", "AP", "Spearman", "AP", "Kendall", "AP", "tau_AP"]
        assert printed("--latex").rstrip().splitlines()[0].startswith("% Rank correlation with assessors")
        assert printed("--tsv", "--coefficient", "kendall").splitlines()[0].split("\t")[4:] == [
            "queries", "AP kendall", "undefined",
        ]  # fmt: skip
        found = printed("--json", "--row", "exam", "--bootstrap", "20")
        assert found["samples"] == 20
        (row,) = found["rows"]
        assert (row["name"], row["min_rating"]) == ("test grader", 4)
        assert set(row["cells"][0]["intervals"]) == set(META_COEFFICIENTS)
        refused = CliRunner().invoke(cli, [*command, "--project", str(own.path), "--tsv", "--json"])
        assert isinstance(refused.exception, InputError)
