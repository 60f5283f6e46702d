"""The Measures screen in Streamlit's own test harness: the table, the heat map, and the boards behind a cell."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy
from exam_workbench.store import Project
from exam_workbench.study import MetaTable, cell_comparison, choose_rows, meta_table
from pages.parts.boards import agreement_table
from tests.made.projects import fill, judge
from tests.made.refusals import mentions
from tests.made.screens import errors, holds, looking_at, numbers, shows, tell, visit
from tests.study.test_meta_evaluation import BANK, GRADES as META_GRADES, JUDGED, RUNS

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


def table(app: AppTest) -> dict[str, Any]:
    """The table as a person sees it: names of rows, what stands beside them, and the numbers by column."""
    held = holds(app, "agreements")["table"]
    heads = [(at, name, f"{head['title']} {sign['sign']}") for at, head in enumerate(held["heads"])
             for name, sign in enumerate(head["signs"])]  # fmt: skip
    return (
        {"Method": [row["name"] for row in held["rows"]]}
        | {column["title"]: [row["fixed"][column["title"]] for row in held["rows"]] for column in held["fixed"]}
        | {title: [row["cells"][at][name]["said"] for row in held["rows"]] for at, name, title in heads}
    )


def select(app: AppTest, row: int, measure: int) -> AppTest:
    """Click a cell of the table."""
    return tell(app, "agreements", "pick", [row, measure])


def opened(app: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = holds(app, "agreements")["detail"]
    return found


def test_the_table_has_a_row_for_everything_and_the_numbers_of_the_core(shared: Project) -> None:
    app = visit("measures")
    shown = table(app)
    expected = meta_table(shared, choose_rows(shared), ["assessors"])
    assert shown["Method"] == [row.name for row in expected.rows]
    assert shown["Min rating"] == [str(row.min_rating) for row in expected.rows]
    values = [row.cells[1].value("spearman") for row in expected.rows]
    assert shown["nDCG@10 ρ"] == ["†" if value is None else f"{value:.3f}" for value in values]
    marks = [row["cells"][1][0]["mark"] for row in holds(app, "agreements")["table"]["rows"]]
    assert marks == [row.cells[1].marks["spearman"] for row in expected.rows]
    # One of the six pairs of the first query failed.
    assert shown["Pairs"][0] == "88%"
    assert shows(app, "legend", "0.05", "0.5")
    assert shows(app, "undefined-cells")


def test_the_address_chooses_rows_measures_and_correlations(shared: Project) -> None:
    shown = table(
        visit("measures", rows=["test grader"], measures=["P@30"], ratings=["2", "5"], coefficients=["tau_AP"],
              relevant="2")
    )  # fmt: skip
    assert [column for column in shown if column not in ("Method", "Min rating", "Queries", "Pairs")] == ["P@30 τ_AP"]
    assert shown["Min rating"] == ["2", "5"]
    official = Policy(min_judgment=2)
    expected = meta_table(shared, choose_rows(shared, ["test grader"], [2, 5], policy=official), ["assessors"],
                          ["P@30"], official=official)  # fmt: skip
    values = [row.cells[0].value("tau_ap") for row in expected.rows]
    assert shown["P@30 τ_AP"] == ["†" if value is None else f"{value:.3f}" for value in values]


def test_rows_come_as_they_are_scored(shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, set[str]]] = []
    draw = agreement_table.draw

    def note(found: MetaTable, *given: Any, **options: Any) -> None:
        draw(found, *given, **options)
        drawn.append((len(found.rows), set(options)))

    # However fast the machine is, every row is late.
    monkeypatch.setattr(agreement_table, "draw", note)
    monkeypatch.setattr(time, "monotonic", itertools.count().__next__)
    rows = choose_rows(shared, min_ratings=[1, 4])
    app = visit("measures", ratings=["1", "4"], ties="random")
    assert [count for count, _ in drawn] == list(range(1, len(rows) + 1))
    assert len(table(app)["Method"]) == len(rows)


def test_a_cell_opens_to_its_two_boards_and_leads_to_the_leaderboard(shared: Project) -> None:
    app = select(visit("measures", ratings=["3"]), 0, 0)
    detail = opened(app)
    assert all(mentions(detail["title"], value) for value in ("AP of test grader, min rating 3", "AP of assessors"))
    assert "3" in [fact["value"] for fact in detail["facts"]]
    compared = cell_comparison(shared, choose_rows(shared, min_ratings=[3])[0],
                               meta_table(shared, choose_rows(shared), ["assessors"]).columns[0])  # fmt: skip
    systems = detail["board"]["systems"]
    assert {system["run"]: system["score"] for system in systems} == compared.board.scores
    assert {system["run"]: system["official"]["score"] for system in systems} == compared.official.scores
    assert app.query_params["cell"] == "0,0"
    query = dict(parse_qsl(urlsplit(detail["href"]).query))
    assert (query["measure"], query["tau"], query["against"]) == ("AP", "3", "assessors")

    del query["project"]
    app = visit("leaderboard", **query)
    chosen = {box.key: box.value for box in app.selectbox}
    assert (chosen["tau"], chosen["label"], chosen["measure"]) == (3, "max", "AP")

    app = select(select(visit("measures", ratings=["3"], cell="0,0"), 0, 1), 0, 1)
    assert opened(app)["place"] == [0, 1]
    assert opened(tell(app, "agreements", "pick", [])) is None


@pytest.mark.parametrize("cell", ["99,0", "x", "-1,0", "1"])
def test_an_address_that_names_no_cell_opens_none(shared: Project, cell: str) -> None:
    assert opened(visit("measures", cell=cell)) is None


def test_a_cell_without_a_value_says_why(shared: Project) -> None:
    app = visit("measures", ratings=["1"])
    row = table(app)["Method"].index(MARKUP)
    detail = opened(select(app, row, 0))
    assert numbers(detail["undefined"])[0] == 3
    assert MARKUP in detail["title"]


def test_the_heat_map_shows_the_same_numbers(shared: Project) -> None:
    app = visit("measures", shape="Heat map")
    assert holds(app, "agreements")["table"]["heat"]
    assert table(app) == table(visit("measures"))


def test_intervals_come_when_asked_for(shared: Project) -> None:
    app = visit("measures", rows=["test grader"], measures=["nDCG@10"], ratings=["4"], intervals="true")
    (row,) = holds(app, "agreements")["table"]["rows"]
    assert " to " in row["cells"][0][0]["interval"]
    assert shows(app, "legend")


def test_imported_boards_are_compared_with_an_imported_board(project: Project) -> None:
    content = b"run\tours\ttheirs\nx\t1\t1\ny\t2\t3\nz\t3\t2\n"
    import_files(project, "leaderboard", [Source("boards.tsv", data=content)], "ann")
    app = visit("measures", against="boards theirs")
    shown = table(app)
    assert shown["theirs ρ"] == ["0.500", "1.000"]
    assert "Min rating" not in shown
    title = opened(select(app, 0, 0))["title"]
    assert mentions(title, "ours of boards ours") and mentions(title, "theirs of boards theirs")


def test_downloads_hold_the_table(shared: Project) -> None:
    app = visit("measures")
    assert [element.proto.label for element in app.get("download_button")] == ["TSV", "LaTeX"]


def test_judgments_without_runs_say_what_is_missing(project: Project) -> None:
    fill(project, BANK, {}, {})
    judge(project, JUDGED)
    assert errors(visit("measures")) == ["no-runs"]


def test_choosing_nothing_or_something_unknown_is_answered_with_a_sentence(shared: Project) -> None:
    assert errors(visit("measures", measures=["nonsense"])) == ["unknown-measure"]
