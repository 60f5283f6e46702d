"""The Leaderboard screen: the scores of what was chosen, the official board beside it, and one system's queries."""

from __future__ import annotations

import pytest

from core.labels import Policy
from core.leaderboard import compare, leaderboard, per_query_scores
from core.project import Project, gold_name
from pages.parts.boards.system import table_key
from pages.parts.shared.charts import short_names
from tests.made.projects import fill, judge
from tests.made.screens import (
    JUDGED,
    QUESTIONS,
    RATINGS,
    RUNS,
    as_text,
    board,
    charts,
    choose,
    looked_at,
    metric,
    named,
    press,
    said,
    served,
    shared,
    small,
    sound,
    visit,
)

__all__ = ["looked_at", "served", "shared", "small"]

CHOICES = [
    ({"Measure": "AP"}, "AP", Policy()),
    ({"Measure": "AP", "Min rating": 3}, "AP", Policy(min_rating=3)),
    ({"Label": "Supported by 2 questions"}, "nDCG@10", Policy(label="support:2")),
    ({"Label": "Weighted mean"}, "nDCG@10", Policy(label="mean")),
    ({"Label": "Weighted mean", "Weights": False}, "nDCG@10", Policy(label="mean", weighted=False)),
    ({"Measure": "EXAM-Cover"}, "EXAM-Cover", Policy()),
    ({"Measure": "EXAM-Cover", "Weights": False}, "EXAM-Cover", Policy(weighted=False)),
    ({"Measure": "EXAM-Cover", "Cutoff": 1}, "EXAM-Cover", Policy(cutoff=1)),
]


class TestLeaderboard:
    def test_the_choices_matter(self, shared: Project) -> None:
        boards = {str(leaderboard(shared, measure, "exam", policy).scores) for _, measure, policy in CHOICES}
        assert len(boards) == len(CHOICES)

    @pytest.mark.parametrize(("choices", "measure", "policy"), CHOICES)
    def test_it_shows_the_scores_of_what_was_chosen(
        self, shared: Project, choices: dict[str, object], measure: str, policy: Policy
    ) -> None:
        app = visit("leaderboard")
        for label, value in choices.items():
            choose(app, label, value)
        expected = leaderboard(shared, measure, "exam", policy)
        shown = board(app)
        assert shown[expected.measure].to_dict() == pytest.approx(expected.scores)
        assert shown["± error"].to_dict() == pytest.approx(expected.std_errors)
        assert shown.index.tolist() == [system.run for system in expected.systems]

    def test_the_official_board_and_the_correlation_stand_beside_it(self, shared: Project) -> None:
        app = visit("leaderboard")
        choose(app, "Measure", "AP")
        choose(app, "Judged ≥", 2)
        expected = compare(shared, "AP", "assessors", policy=Policy(min_judgment=2))
        assert expected.official.scores != compare(shared, "AP", "assessors").official.scores
        assert board(app)["Official AP"].to_dict() == pytest.approx(expected.official.scores)
        assert metric(app, "Spearman") == f"{expected.correlation.spearman:.3f}"
        assert metric(app, "Kendall") == f"{expected.correlation.kendall:.3f}"
        assert metric(app, "tau_AP") == f"{expected.correlation.tau_ap:.3f}"
        assert metric(app, "Pearson") == f"{expected.correlation.pearson:.3f}"
        assert metric(app, "Systems") == "4"

    def test_a_correlation_of_two_systems_is_undefined_and_says_why(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, {run: RUNS[run] for run in ("good", "poor")})
        judge(project, JUDGED)
        app = visit("leaderboard")
        assert "undefined" in app.info[0].value
        assert "at least 3" in app.info[0].value
        assert not app.metric
        assert len(board(app)) == 2

    def test_without_an_official_board_it_stands_alone(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS)
        app = visit("leaderboard")
        assert not app.metric
        assert board(app)["nDCG@10"].to_dict() == pytest.approx(leaderboard(project, "nDCG@10").scores)
        assert not [name for name in board(app) if "fficial" in name]

    def test_the_official_board_can_be_put_away(self, shared: Project) -> None:
        app = choose(visit("leaderboard"), "Official board", "No official board")
        assert not app.metric
        assert not [name for name in board(app) if "fficial" in name]

    def test_it_says_how_many_pairs_the_labels_rest_on(self, shared: Project) -> None:
        assert "17 of 18 needed pairs (94.4%); missing: 1 failed." in said(visit("leaderboard"))

    def test_a_system_shows_that_nobody_has_labelled_all_of_its_top(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS | {"new": {"q1": ["p1", "p9"]}})
        app = visit("leaderboard")
        assert board(app)["Labelled"].to_dict() == dict.fromkeys(RUNS, 1.0) | {"new": 0.5}
        assert "3 ungraded, 1 failed. What to grade next stands under" in said(app)

    def test_a_run_is_chosen_to_stand_for_the_gold_texts_and_measures_by_them_are_offered(self, small: Project) -> None:
        app = visit("leaderboard")
        assert "n-EXAM" not in named(app.selectbox, "Measure").options
        run = leaderboard(small, "nDCG@10").systems[0].run
        app.selectbox("gold run").set_value(run)
        app = press(sound(app.run()), "Let it stand for the gold texts")
        assert gold_name(small) == run
        app = choose(app, "Measure", "n-EXAM")
        assert f"within the standard error of {run}" in said(app)
        app.selectbox("gold run").set_value("None")
        press(sound(app.run()), "Nothing is gold")
        assert gold_name(small) is None

    def test_another_measure_can_be_typed(self, shared: Project) -> None:
        app = visit("leaderboard", measure="P@2")
        assert board(app)["P@2"].to_dict() == pytest.approx(leaderboard(shared, "P@2").scores)

    def test_an_unknown_measure_gives_a_sentence(self, shared: Project) -> None:
        app = visit("leaderboard", measure="goodness")
        assert "goodness" in as_text(app.error[0].value)
        assert len(board(app)) == len(RUNS)

    def test_a_link_carries_the_choices(self, shared: Project) -> None:
        app = visit("leaderboard", project=shared.name, measure="AP", tau="3", label="Supported by 2 questions")
        expected = leaderboard(shared, "AP", "exam", Policy(min_rating=3, label="support:2"))
        assert board(app)["AP"].to_dict() == pytest.approx(expected.scores)

    def test_a_score_can_be_followed_down_to_the_passages(self, shared: Project) -> None:
        app = visit("leaderboard")
        app.session_state["systems"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
        sound(app.run())
        best = leaderboard(shared, "nDCG@10").systems[0].run
        assert f"{best}, query by query" in said(app)
        found, official = (leaderboard(shared, "nDCG@10", source) for source in ("exam", "assessors"))
        scores = per_query_scores(shared, found, official, best)
        app.session_state[table_key(best, scores)] = {"selection": {"rows": [0], "columns": [], "cells": []}}
        sound(app.run())
        assert "text of p1" in said(app)
        assert "label 5 · judged 2 · What is A?" in as_text(
            next(c.value for c in app.caption if c.value.startswith("label 5"))
        )
        places = [(link.proto.page, link.proto.query_string) for link in app.main.get("page_link")]
        asked = scores[0].query_id
        for screen in ("question_bank", "disagreements"):
            assert any(page == screen and f"query={asked}" in query for page, query in places)
        read = [query for page, query in places if page == "passages"]
        assert read
        assert all(f"query={asked}" in query and "passage=p" in query for query in read)

    def test_queries_stand_with_the_greatest_loss_against_the_official_board_first(self, shared: Project) -> None:
        app = visit("leaderboard")
        app.session_state["systems"] = {"selection": {"rows": [1], "columns": [], "cells": []}}
        sound(app.run())
        found, official = (leaderboard(shared, "nDCG@10", source) for source in ("exam", "assessors"))
        run = found.systems[1].run
        table = next(table.value for table in app.dataframe if "Difference" in table.value)
        losses = table["nDCG@10"] - table["Official nDCG@10"]
        assert table["Difference"].tolist() == pytest.approx(losses.tolist())
        assert table["Difference"].is_monotonic_increasing
        mine, theirs = found.per_query[run], official.per_query[run]
        assert table["Difference"].iloc[0] == pytest.approx(min(mine[query] - theirs[query] for query in mine))

    def test_coverage_as_a_share_of_the_pool_can_be_typed_and_shows_lengths(self, shared: Project) -> None:
        app = visit("leaderboard", measure="EXAM-Cover@2/pool")
        expected = leaderboard(shared, "EXAM-Cover@2/pool")
        shown = board(app)
        assert shown["EXAM-Cover@2/pool"].to_dict() == pytest.approx(expected.scores)
        assert shown["Passages"].to_dict() == {run: length.passages for run, length in expected.lengths.items()}
        assert {run for run, star in shown["\N{BLACK STAR}"].items() if star} == expected.starred
        assert "Official nDCG@10" in shown
        assert len(charts(app)) == 3
        for view, drawn in {"All boards": 1, "Two boards": 2, "Two systems": 1, "Significance": 1}.items():
            app = visit("leaderboard", measure="EXAM-Cover@2/pool", view=view)
            assert not app.error
            assert len(charts(app)) == drawn

    def test_measures_of_gold_texts_say_that_there_are_none(self, shared: Project) -> None:
        for measure in ("n-EXAM@20", "ROUGE-1@20"):
            assert "There are no gold texts" in as_text(visit("leaderboard", measure=measure).error[0].value)


def test_charts_cut_long_names_of_runs_and_still_tell_them_apart() -> None:
    names = ["team_gpt4o_fusion_rerank", "team_gpt4o_nonp_fusion_rerank", "bm25", "x" * 40 + "a" + "x" * 20, "x" * 61]
    shown = short_names(names)
    assert len(set(shown.values())) == len(names)
    assert shown["bm25"] == "bm25"
    assert max(map(len, shown.values())) <= 22
