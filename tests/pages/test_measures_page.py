"""The Measures screen in Streamlit's own test harness: the table, the heat map, and the boards behind a cell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.exchange import import_files
from core.formats import Source
from core.labels import Policy
from core.project import Project
from core.study import choose_rows, meta_table
from tests.made.projects import fill, judge
from tests.made.screens import charts, looking_at, served, shared, sound, visit
from tests.study.test_meta_evaluation import BANK, JUDGED, RUNS
from tests.study.test_meta_evaluation import GRADES as META_GRADES

__all__ = ["served", "shared"]


# The same three systems, but one pair has failed.
GRADES = META_GRADES | {("What is B?", "p3"): None}
MARKUP = "<b>x</b> **y** :red[q]"


def three_systems(project: Project) -> None:
    """Three systems, two sources of judgments and a grader."""
    fill(project, BANK, GRADES, RUNS)
    judge(project, JUDGED, "assessors")
    judge(project, {pair: 0 for pair in JUDGED}, MARKUP)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with looking_at(tmp_path_factory.mktemp("shared"), three_systems) as project:
        yield project


def said(app: AppTest) -> str:
    kinds = ("title", "subheader", "markdown", "text", "caption", "info", "error")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind)).replace("\\", "")


def select(app: AppTest, row: int, column: str) -> AppTest:
    """Click a cell of the table."""
    app.session_state["agreements"] = {"selection": {"rows": [], "columns": [], "cells": [(row, column)]}}
    return sound(app.run())


def links(app: AppTest) -> list[str]:
    return [element.proto.query_string for element in app.main.get("page_link")]


def test_the_table_has_a_row_for_everything_and_the_numbers_of_the_core(shared: Project) -> None:
    app = visit("measures")
    shown = app.dataframe[0].value
    table = meta_table(shared, choose_rows(shared), ["assessors"])
    assert list(shown["Method"]) == [row.name for row in table.rows]
    assert list(shown["Min rating"]) == [str(row.min_rating) for row in table.rows]
    expected = [row.cells[1].value("spearman") for row in table.rows]
    assert list(shown["nDCG@10 ρ"]) == ["†" if value is None else f"{value:.3f}" for value in expected]
    # One of the six pairs of the first query failed.
    assert shown["Pairs"][0] == "88%"
    assert "within 0.05" in said(app) and "below 0.5 grey" in said(app)
    assert "judgments cannot give it" in said(app)


def test_the_address_chooses_rows_measures_and_correlations(shared: Project) -> None:
    app = visit(
        "measures", rows=["test grader"], measures=["P@30"], ratings=["2", "5"], coefficients=["tau_AP"], relevant="2"
    )
    shown = app.dataframe[0].value
    assert [c for c in shown.columns if c not in ("Method", "Min rating", "Queries", "Pairs")] == ["P@30 τ_AP"]
    assert list(shown["Min rating"]) == ["2", "5"]
    official = Policy(min_judgment=2)
    table = meta_table(shared, choose_rows(shared, ["test grader"], [2, 5], policy=official), ["assessors"], ["P@30"],
                       official=official)  # fmt: skip
    expected = [row.cells[0].value("tau_ap") for row in table.rows]
    assert list(shown["P@30 τ_AP"]) == ["†" if value is None else f"{value:.3f}" for value in expected]


def test_a_cell_opens_to_its_two_boards_and_leads_to_the_leaderboard(shared: Project) -> None:
    app = select(visit("measures", ratings=["3"]), 0, "AP ρ")
    assert "AP of test grader, min rating 3, against AP of assessors" in said(app)
    found = {metric.label: metric.value for metric in app.metric}
    assert found["Systems"] == "3"
    (link,) = [query for query in links(app) if "measure=AP" in query]
    assert "tau=3" in link and "against=assessors" in link

    app = visit("leaderboard", grader="test grader", tau="3", label="Best rating", measure="AP", against="assessors")
    chosen = {box.label: box.value for box in app.selectbox}
    assert (chosen["Min rating"], chosen["Label"], chosen["Measure"]) == (3, "max", "AP")


def test_a_cell_without_a_value_says_why(shared: Project) -> None:
    app = visit("measures", ratings=["1"])
    row = list(app.dataframe[0].value["Method"]).index(MARKUP)
    app = select(app, row, "AP τ")
    assert "Undefined: All 3 common systems are tied" in said(app)
    assert MARKUP in said(app)


def test_the_heat_map_shows_the_same_numbers(shared: Project) -> None:
    app = visit("measures", view="Heat map")
    assert not app.dataframe
    (chart,) = charts(app)
    assert chart["layer"]


def test_intervals_come_when_asked_for(shared: Project) -> None:
    app = visit("measures", rows=["test grader"], measures=["nDCG@10"], ratings=["4"], intervals="true")
    assert "[" in app.dataframe[0].value["nDCG@10 ρ"][0]
    assert "resamples of the queries" in said(app)


def test_imported_boards_are_compared_with_an_imported_board(project: Project) -> None:
    content = b"run\tours\ttheirs\nx\t1\t1\ny\t2\t3\nz\t3\t2\n"
    import_files(project, "leaderboard", [Source("boards.tsv", data=content)], "ann")
    app = visit("measures", against="boards theirs")
    shown = app.dataframe[0].value
    assert list(shown["theirs ρ"]) == ["0.500", "1.000"]
    assert "Min rating" not in shown.columns
    app = select(app, 0, "theirs ρ")
    assert "ours of boards ours, against theirs of boards theirs" in said(app)


def test_downloads_hold_the_table(shared: Project) -> None:
    app = visit("measures")
    assert [element.proto.label for element in app.get("download_button")] == ["TSV", "LaTeX"]


def test_a_project_without_an_official_board_says_what_to_do(project: Project) -> None:
    assert "Import judgments or an official leaderboard" in said(visit("measures"))


def test_judgments_without_runs_say_what_is_missing(project: Project) -> None:
    fill(project, BANK, {}, {})
    judge(project, JUDGED)
    assert "There are no runs to rank" in said(visit("measures"))


def test_choosing_nothing_or_something_unknown_is_answered_with_a_sentence(shared: Project) -> None:
    assert "not a measure that the workbench can compute" in said(visit("measures", measures=["nonsense"]))
