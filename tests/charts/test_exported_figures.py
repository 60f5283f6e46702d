"""Exported figures: file formats, content and agreement with the leaderboards."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair
import pytest
from click.testing import CliRunner

import exam_workbench as ew
from exam_workbench import cli
from exam_workbench.audit import Goal, design_audit
from exam_workbench.charts import FORMATS, leaderboard_chart, system_scatter
from exam_workbench.labels import Leaderboard, Policy
from exam_workbench.labels._leaderboard import System
from exam_workbench.operations.export import ENDINGS, FIGURES as OFFERED
from exam_workbench.operations.project_report import FIGURES, FigureRequest, draw_figure
from exam_workbench.records import list_actions
from exam_workbench.store import Project, open_project
from exam_workbench.study import SystemPoint
from tests.made.projects import commit, let_go, made_project
from tests.made.refusals import refusal
from tests.made.screens import put_small
from tests.pages.test_exam_screens import put_sat

HOSTILE = "</script><b>'\"\\ Ω"
STARTS = {".pdf": b"%PDF", ".png": b"\x89PNG", ".svg": b"<svg", ".json": b"{"}


def fill_all(project: Project) -> None:
    """Leaderboards, one system with a hostile name, an exam with examinees, and an audit."""
    put_small(project)
    put_sat(project, "item")
    commit(project, "UPDATE runs SET name = ? WHERE name = 'fair'", [HOSTILE])
    design_audit(project, "first", "P@3", Goal("best"), seed=1, author="org")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("figures")
    project = made_project(folder / "p.duckdb", fill_all)
    project.close()
    yield folder / "p.duckdb"
    let_go(folder)


def export(path: Path, *words: str) -> None:
    given = ["export", "figure", *words, "--project", str(path)]
    result = CliRunner().invoke(cli.cli, given, catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output


def rows_of(chart: Any, layer: int) -> list[dict[str, Any]]:
    """The data of a layer, after validation against Vega-Lite's schema."""
    spec = chart.to_dict()
    altair.LayerChart.validate(spec)
    found: list[dict[str, Any]] = spec["datasets"][spec["layer"][layer].get("data", spec.get("data"))["name"]]
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_figures_export_as_svg_with_escaped_names(path: Path, tmp_path: Path, name: str) -> None:
    export(path, name, "-o", str(tmp_path / "f.svg"))
    drawn = ElementTree.parse(tmp_path / "f.svg")
    assert not list(drawn.iter("{http://www.w3.org/2000/svg}script"))
    shown = {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert len(shown) > 3
    if name in ("leaderboard", "leaderboards", "coverage"):
        assert HOSTILE in shown


@pytest.mark.parametrize("ending", STARTS)
def test_file_extension_sets_format_and_export_is_logged(path: Path, tmp_path: Path, ending: str) -> None:
    export(path, "leaderboard", "-o", str(tmp_path / f"board{ending.upper()}"), "--width", "200")
    assert (tmp_path / f"board{ending.upper()}").read_bytes().startswith(STARTS[ending])
    project = open_project(path)
    assert list_actions(project).acts[0].act == "export figure leaderboard"
    project.close()
    if ending == ".json":
        spec = json.loads((tmp_path / "board.JSON").read_text())
        altair.LayerChart.validate(spec)
        assert spec["width"] == 200


def test_command_offers_every_figure_and_file_format() -> None:
    assert set(OFFERED) == set(FIGURES)
    assert set(ENDINGS) == set(FORMATS) == set(STARTS)


def test_unknown_extension_or_system_writes_nothing(path: Path, tmp_path: Path) -> None:
    with refusal("unknown-ending", "board.docx"):
        export(path, "leaderboard", "-o", str(tmp_path / "board.docx"))
    with refusal("unknown-system", "missing"):
        export(path, "queries", "--run", "missing", "-o", str(tmp_path / "f.svg"))
    assert list(tmp_path.iterdir()) == []


def test_figures_without_data_are_refused(project: Project) -> None:
    with refusal("unknown-figure", "pie"):
        draw_figure(project, "pie", FigureRequest())
    for name in "examinees", "topics":
        with refusal("empty-figure", name):
            draw_figure(project, name, FigureRequest())


def test_notebook_figure_matches_leaderboard_scores(path: Path) -> None:
    with ew.open(path) as project:
        chart = project.figure("leaderboards", ["nDCG@10", "AP"], min_rating=2)
        scores = dict(zip(*(project.leaderboard("AP", min_rating=2)[name] for name in ("run", "score")), strict=True))
    rows = rows_of(chart, 2)
    assert len({row["board"] for row in rows}) == 3
    assert {row["run"]: row["score"] for row in rows if row["board"].endswith("AP")} == scores


def test_brackets_join_unseparated_systems_without_overlap() -> None:
    systems = [System(name, 9 - place, 1.0, 0, place) for place, name in enumerate("abcde", 1)]
    groups = [(0, 2), (1, 3), (3, 4)]
    rows = rows_of(leaderboard_chart(Leaderboard("AP", "made", Policy(), systems, {}), groups), 2)
    assert [(row["run"], row["last"], row["lane"]) for row in rows] == [("a", "c", 0), ("b", "d", 1), ("d", "e", 0)]


def test_scatter_plot_omits_overlapping_names() -> None:
    apart = [SystemPoint(f"s{at}", at, 0.1, at, (at * 7) % 10, 0.1, 1) for at in range(10)]
    same = [SystemPoint(name, 5.0, None, 1, 9.5, None, 1) for name in ("first", "second", "third", "fourth", "fifth")]
    rows = rows_of(system_scatter([*apart, *same], "x", "y", marked="fifth"), 2)
    named = {row["run"] for row in rows if row["side"] is not None}
    assert {point.run for point in apart} <= named
    assert "fifth" in named and not {point.run for point in same} <= named
