"""The Measures screen, and unknown wordings and compared queries on all screens."""

import itertools
import math
import re
import time
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from exam_workbench import bank
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy, compare
from exam_workbench.store import Project
from exam_workbench.study import MetaTable, cell_comparison, choose_rows, meta_table
from exam_workbench.types import Question
from pages.parts.boards import agreement_table
from tests.bank.test_unknown_words import BREAD, by_id
from tests.made.projects import fill, filled_project, judge
from tests.made.refusals import mentions
from tests.made.screens import Screen, numbers, shown_project, visit
from tests.study.test_meta_evaluation import BANK, GRADES as META_GRADES, JUDGED, RUNS

__all__ = ["by_id"]  # fixtures

# The same three systems, but one pair has failed.
GRADES = META_GRADES | {("What is B?", "p3"): None}
MARKUP = "<b>x</b> **y** :red[q]"


def three_systems(project: Project) -> None:
    """Fill a project with three systems, two judgment sources and a grader."""
    fill(project, BANK, GRADES, RUNS)
    judge(project, JUDGED, "assessors")
    judge(project, {pair: 0 for pair in JUDGED}, MARKUP)


looked_at = shown_project(three_systems)


def table(app: Screen) -> dict[str, Any]:
    """Return the table as shown: row names, fixed columns, and values by column title."""
    shown: dict[str, Any] = app.dataframe[0].value.to_dict("list")
    return shown


def select(app: Screen, row: int, column: str) -> Screen:
    """Click a cell of the table."""
    return app.select("agreements", cells=[[row, column]])


def opened(app: Screen) -> str:
    return app.note("compared-cell")


def test_table_shows_all_rows_and_computed_values(shared: Project) -> None:
    app = visit("measures")
    shown = table(app)
    expected = meta_table(shared, choose_rows(shared), ["assessors"])
    assert shown["Method"] == [row.name for row in expected.rows]
    assert shown["Min rating"] == [str(row.min_rating) for row in expected.rows]
    values = [row.cells[1].value("spearman") for row in expected.rows]
    assert shown["nDCG@10 ρ"] == pytest.approx([math.nan if v is None else v for v in values], nan_ok=True)
    best = [row for row, found in enumerate(expected.rows) if found.cells[1].marks["spearman"] == "best"]
    bold = re.findall(r"([^{}]+){\s*font-weight: 700", app.dataframe[0].proto.arrow_data.styler.styles)
    column = list(shown).index("nDCG@10 ρ")
    assert best and all(f"row{row}_col{column}" in "".join(bold) for row in best)
    # One pair has failed, so the share of graded pairs is below 100%.
    assert shown["Pairs"][0] == "88%"
    assert app.shows("legend", "0.05", "0.5")
    assert app.shows("undefined-cells")
    assert [element.proto.label for element in app.get("download_button")] == ["TSV", "LaTeX"]


def test_url_selects_rows_measures_and_correlations(shared: Project) -> None:
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
    assert shown["P@30 τ_AP"] == pytest.approx([math.nan if v is None else v for v in values], nan_ok=True)


def test_rows_appear_as_they_are_scored(shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[tuple[int, set[str]]] = []
    draw = agreement_table.draw

    def note(found: MetaTable, *given: Any, **options: Any) -> None:
        draw(found, *given, **options)
        drawn.append((len(found.rows), set(options)))

    # Each clock call adds a second, so the table is redrawn after every row on any machine.
    monkeypatch.setattr(agreement_table, "draw", note)
    monkeypatch.setattr(time, "monotonic", itertools.count().__next__)
    rows = choose_rows(shared, min_ratings=[1, 4])
    app = visit("measures", ratings=["1", "4"], ties="random")
    assert [count for count, _ in drawn] == list(range(1, len(rows) + 1))
    assert len(table(app)["Method"]) == len(rows)


def test_cell_shows_both_leaderboards_and_links_to_the_screen(shared: Project) -> None:
    app = select(visit("measures", ratings=["3"]), 0, "AP ρ")
    assert all(mentions(opened(app), value) for value in ("AP of test grader, min rating 3", "AP of assessors"))
    assert app.metric_of("metric systems") == "3"
    compared = cell_comparison(shared, choose_rows(shared, min_ratings=[3])[0],
                               meta_table(shared, choose_rows(shared), ["assessors"]).columns[0])  # fmt: skip
    assert dict(app.board()["Score"]) == compared.board.scores
    assert dict(app.board()["Official Score"]) == compared.official.scores
    assert app.query_params["cell"] == "0,0"
    query = dict(parse_qsl(app.page_links()[-1].query_string))
    assert (query["measure"], query["tau"], query["against"]) == ("AP", "3", "assessors")

    del query["project"]
    app = visit("leaderboard", **query)
    chosen = {box.key: box.value for box in app.selectbox}
    assert (chosen["tau"], chosen["label"], chosen["measure"]) == (3, "max", "AP")

    app = visit("measures", ratings=["1"])
    detail = opened(select(app, table(app)["Method"].index(MARKUP), "AP ρ"))
    assert mentions(detail, "Undefined") and 3 in numbers(detail), "an undefined cell gives its reason"
    assert MARKUP in detail
    app = select(visit("measures", ratings=["3"], cell="0,0"), 0, "nDCG@10 ρ")
    assert mentions(opened(app), "nDCG@10 of test grader")
    assert not opened(app.select("agreements")) and not opened(select(app, 0, "Method"))
    for cell in "99,0", "x", "-1,0", "1":
        assert not opened(visit("measures", cell=cell)), cell
    assert visit("measures", measures=["nonsense"]).errors() == ["unknown-measure"]


def test_heat_map_keeps_values_and_intervals_are_optional(shared: Project) -> None:
    app = visit("measures", shape="Heat map")
    assert "rgba(59, 115, 185, 0.60)" in app.dataframe[0].proto.arrow_data.styler.styles, "a correlation of 1"
    assert "font-weight: 700" in app.dataframe[0].proto.arrow_data.styler.styles, "the best values, as in its caption"
    assert app.dataframe[0].value.equals(visit("measures").dataframe[0].value)
    app = visit("measures", rows=["test grader"], measures=["nDCG@10"], ratings=["4"], intervals="true")
    (interval,) = table(app)["nDCG@10 ρ, 95%"]
    assert " to " in interval
    assert app.shows("legend")


def test_imported_leaderboards_are_compared(project: Project) -> None:
    content = b"run\tours\ttheirs\nx\t1\t1\ny\t2\t3\nz\t3\t2\n"
    import_files(project, "leaderboard", [Source("boards.tsv", data=content)], "ann")
    app = visit("measures", against="boards theirs")
    shown = table(app)
    assert shown["theirs ρ"] == pytest.approx([0.5, 1])
    assert "Min rating" not in shown
    title = opened(select(app, 0, "theirs ρ"))
    assert mentions(title, "ours of boards ours") and mentions(title, "theirs of boards theirs")


def test_judgments_without_runs_are_reported(project: Project) -> None:
    fill(project, BANK, {}, {})
    judge(project, JUDGED)
    assert visit("measures").errors() == ["no-runs"]


SYSTEMS = [f"s{i}" for i in range(5)]
QUERIES = [f"q{i}" for i in range(6)]


@filled_project
def part(project: Project) -> None:
    """Six queries: three have questions, five have judgments, and two have both."""
    passages = ["a", "b", "c", "d"]
    dice = np.random.default_rng(5)
    runs = {run: {q: [str(p) for p in dice.permutation(passages)] for q in QUERIES} for run in SYSTEMS}
    ratings = {(f"{q}?", p): int(dice.integers(0, 6)) for q in QUERIES[:3] for p in passages}
    fill(project, [Question(f"{q}/1", q, f"{q}?") for q in QUERIES[:3]], ratings, runs)
    judge(project, {(q, p): int(dice.integers(0, 3)) for q in QUERIES[1:] for p in passages}, "NIST")


@pytest.mark.parametrize("over", ["common", "own"])
def test_leaderboard_names_the_compared_queries(part: Project, over: str) -> None:
    app = visit("leaderboard", over_queries=over)
    found = compare(part, "nDCG@10", "NIST", queries=over)
    assert app.metric_of("metric Spearman") == f"{found.correlation.spearman:.3f}"
    assert found.queries.description in app.plain_texts()
    shown = app.board()
    assert dict(shown["Score"]) == pytest.approx(found.board.scores)
    assert dict(shown["Official Score"]) == pytest.approx(found.official.scores)


def test_screens_count_queries_of_each_correlation(part: Project) -> None:
    app = visit("measures", measures="nDCG@10")
    assert set(table(app)["Queries"]) == {"2 of 3 / 5", "5"}
    assert {2, 3, 5} <= set(numbers(opened(select(app, 0, "nDCG@10 ρ"))))
    bank.save_version(part, [Question("q1/1", "q1", "q2?")], "reworded", "ann")
    assert {2, 3, 5} <= set(numbers(visit("changes", from_version="1", to_version="2").note("about-change")))


def test_screens_mark_unknown_wordings(by_id: Project) -> None:
    asked = visit("passages", query="q1", passage="p1").holds("question-ratings")["questions"]
    assert "q1/bread (words not known)" in [one["words"] for one in asked]
    app = visit("question_bank", query="q1")
    row = app.rows()[0]
    assert row["lost"]
    assert row["text"] is None
    # Entering only spaces keeps the wording unknown and creates no draft.
    app.edit(None, text="  ")
    assert not bank.list_drafts(by_id, "ann")
    app.edit(None, text="How do I bake bread?")
    assert bank.list_drafts(by_id, "ann")[row["id"]].question.text == "How do I bake bread?"
    bank.save_version(by_id, [replace(BREAD, text="How do I bake bread?")], "clearer", "ann")
    app = visit("changes", from_version="1", to_version="2", differs="Questions")
    assert "words not known" in app.plain_texts() + app.markup()
