"""The Leaderboard screen: scores, official leaderboard, queries of a system, budgets, and sealed questions."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from exam_workbench import bank, jobs
from exam_workbench.graders import make_grader
from exam_workbench.grading import make_plan
from exam_workbench.jobs import current_job
from exam_workbench.labels import Policy, compare, cover_curves, kendall_interval, leaderboard, per_query_scores
from exam_workbench.records import gold_name, sealed_questions, set_pool_depth
from exam_workbench.run_names import short_names
from exam_workbench.store import Project
from exam_workbench.study import group_alike, judged_shares, to_grade
from exam_workbench.study._system_significance import compare_all
from exam_workbench.types import Question
from pages.parts.shared.ui import as_number
from tests.bank.test_seals import put
from tests.made.projects import commit, fill, filled_project, judge
from tests.made.screens import DEADLINE, JUDGED, QUESTIONS, RATINGS, RUNS, Screen, named, numbers, visit


class TestLeaderboard:
    def test_scores_follow_the_scoring_settings_and_link(self, shared: Project) -> None:
        app = visit("leaderboard", project=shared.name, measure="AP", tau="3", label="Supported by 2 questions")
        expected = leaderboard(shared, "AP", "exam", Policy(min_rating=3, label="support:2"))
        assert app.board()["Score"].to_dict() == pytest.approx(expected.scores)
        app, measure, policy = visit("leaderboard"), "nDCG@10", Policy()
        steps: list[tuple[str, object, dict[str, Any]]] = [
            ("label", "support:2", {"label": "support:2"}),
            ("label", "mean", {"label": "mean"}),
            ("weights", False, {"weighted": False}),
            ("Measure", "AP", {}),
            ("Min rating", 3, {"min_rating": 3}),
            ("label", "max", {"label": "max"}),
            ("Measure", "EXAM-Cover", {}),
            ("weights", True, {"weighted": True}),
            ("Cutoff", 1, {"cutoff": 1}),
        ]
        for key, value, changed in steps:
            app.choose(key, value)
            measure = str(value) if key == "Measure" else measure
            policy = replace(policy, **changed)
            expected = leaderboard(shared, measure, "exam", policy)
            shown = app.board()
            assert shown["Score"].to_dict() == pytest.approx(expected.scores), key
            assert shown["± error"].to_dict() == pytest.approx(expected.std_errors), key
            assert shown.index.tolist() == [system.run for system in expected.systems], key

    def test_official_scores_and_correlations_are_shown(self, shared: Project) -> None:
        app = visit("leaderboard")
        app.choose("measure", "AP")
        app.choose("relevant", 2)
        expected = compare(shared, "AP", "assessors", policy=Policy(min_judgment=2))
        assert expected.official.scores != compare(shared, "AP", "assessors").official.scores
        assert app.board()["Official Score"].to_dict() == pytest.approx(expected.official.scores)
        assert app.metric_of("metric Spearman") == f"{expected.correlation.spearman:.3f}"
        assert app.metric_of("metric Kendall") == f"{expected.correlation.kendall:.3f}"
        assert app.metric_of("metric tau_AP") == f"{expected.correlation.tau_ap:.3f}"
        assert app.metric_of("metric Pearson") == f"{expected.correlation.pearson:.3f}"
        assert app.metric_of("metric systems") == "4"
        interval = kendall_interval(expected)
        assert interval is not None and numbers(app.note("kendall-interval"))[-2:] == pytest.approx(
            [abs(bound) for bound in interval], abs=5e-4
        )

    def test_comparing_systems_across_measures_shows_a_warning(self, shared: Project) -> None:
        app = visit("leaderboard", view="Two systems")
        assert not app.shows("different-boards")
        second = next(box for box in app.selectbox if box.label == "Second leaderboard")
        other = next(name for name in second.options if "AP" in name and "nDCG" not in name)
        second.set_value(other)
        assert app.run().shows("different-boards")

    def test_correlation_of_two_systems_is_undefined(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, {run: RUNS[run] for run in ("good", "poor")})
        judge(project, JUDGED)
        app = visit("leaderboard")
        assert app.shows("undefined", 3)
        assert not app.metric
        assert len(app.board()) == 2

    def test_share_of_labelled_top_passages_is_shown(self, project: Project) -> None:
        fill(project, QUESTIONS, RATINGS, RUNS | {"new": {"q1": ["p1", "p9"]}})
        app = visit("leaderboard")
        # Without an official leaderboard, there are no official columns.
        assert not app.metric
        assert app.board()["Score"].to_dict() == pytest.approx(leaderboard(project, "nDCG@10").scores)
        assert not [name for name in app.board() if "fficial" in name]
        assert app.board()["Top 20 labelled"].to_dict() == dict.fromkeys(RUNS, 1.0) | {"new": 0.5}
        assert {3, 1} <= set(numbers(app.note("rests-on")))

    def test_choosing_a_gold_run_offers_gold_measures(self, small: Project) -> None:
        app = visit("leaderboard")
        assert "n-EXAM" not in named(app.selectbox, "measure").options
        run = leaderboard(small, "nDCG@10").systems[0].run
        app = app.choose("gold run", run).press("set gold")
        assert gold_name(small) == run
        app = app.choose("measure", "n-EXAM")
        assert app.shows("starred", run)
        app.choose("gold run", "None").press("set gold")
        assert gold_name(small) is None

    def test_queries_awaiting_grades_are_not_compared(self, small: Project) -> None:
        new = [Question(f"{query}/new", query, f"What else of {query}?") for query in ("q1", "q2")]
        bank.save_version(small, new, "", "ann")
        app = visit("leaderboard")
        assert app.shows("no-common-queries", 2)
        assert len(app.holds("systems")["board"]["systems"]) == 4

    def test_numbers_of_queries_have_the_order_of_the_two_leaderboards(self, small: Project) -> None:
        judge(small, {("q1", "p1"): 1}, "half")
        app = visit("leaderboard", view="Two boards")
        first = named(app.selectbox, "first board")
        first.set_value(next(option for option in first.options if "half" in option))
        assert numbers(app.run().note("compared-queries")) == [1, 1, 2]

    def test_changed_queries_or_a_running_job_show_a_notice(
        self, small: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = visit("leaderboard")
        assert not app.shows("queries-changed")
        bank.save_version(small, [Question("q1/new", "q1", "What else?")], "", "ann")
        assert {2, 1} <= set(numbers(app.run().note("queries-changed")))
        assert not visit("leaderboard").shows("queries-changed"), "a newly opened screen has no earlier state"
        monkeypatch.setattr(jobs, "current_job", lambda project, family: SimpleNamespace(over=False))
        assert visit("leaderboard").shows("queries-changed")

    def test_unknown_measure_or_system_in_link_is_reported(self, shared: Project) -> None:
        app = visit("leaderboard", measure="goodness", followed="nobody")
        app.check_refused("unknown-measure", "goodness")
        assert len(app.board()) == len(RUNS)
        assert app.shows("unknown-system", "nobody")
        assert app.holds("systems")["open"] == ""
        for measure in ("n-EXAM@20", "ROUGE-1@20"):
            visit("leaderboard", measure=measure).check_refused("no-gold-texts")

    def test_link_sets_the_options_of_each_view(self, shared: Project) -> None:
        app = visit("leaderboard", ties="random")
        assert named(app.get("button_group"), "ties").value == "random"
        app = visit("leaderboard", view="By budget", **{"curves of": ["poor", "good"]})
        assert named(app.multiselect, "curves of").value == ["poor", "good"]
        app = visit("leaderboard", sorted="-run").tell("systems", "sort", "score")
        assert (app.query_params["sorted"], app.holds("systems")["sorted"]) == ("score", "score")
        assert "sorted" not in app.tell("systems", "sort", "").query_params
        second = named(visit("leaderboard", view="All boards", system="good").selectbox, "system's board").options[-1]
        app = visit("leaderboard", view="All boards", system="good", **{"system's board": second})
        assert named(app.selectbox, "system's board").value == second

    def test_system_opens_its_queries_and_passages_until_closed(self, shared: Project) -> None:
        found, official = (leaderboard(shared, "nDCG@10", source) for source in ("exam", "assessors"))
        best = found.systems[0].run
        app = visit("leaderboard").tell("systems", "open", best)
        opened = app.holds("systems")["detail"]
        scores = per_query_scores(shared, found, official, best)
        assert opened["run"] == best
        assert [(row["id"], row["score"], row["official"]) for row in opened["queries"]] == [
            (row.query_id, pytest.approx(row.score), pytest.approx(row.official)) for row in scores
        ]
        assert opened["passages"] is None
        differences = [row["score"] - row["official"] for row in opened["queries"]]
        assert differences == sorted(differences), "the query with the largest loss comes first"
        asked = scores[0].query_id
        opened = app.tell("systems", "ask", asked).holds("systems")["detail"]
        first = opened["passages"][0]
        assert (first["text"], first["label"], first["judgment"]) == ("text of p1", 5, 2)
        assert first["question"] == "What is A?"
        for href, screen in zip([link["href"] for link in opened["links"]], ("question_bank", "disagreements"),
                                strict=True):  # fmt: skip
            assert href == f"{screen}?project={shared.name}&query={asked}"
        for row in opened["passages"]:
            assert row["link"].startswith(f"passages?project={shared.name}&query={asked}&passage=p")
        app = visit("leaderboard", followed="fair", asked="q1")
        held = app.holds("systems")
        assert (held["open"], held["detail"]["asked"]) == ("fair", "q1")
        app = app.tell("systems", "open", "good")
        assert (app.query_params["followed"], "asked" in app.query_params) == ("good", False)
        held = app.tell("systems", "open", "").holds("systems")
        assert (held["open"], held["detail"], "followed" in app.query_params) == ("", None, False)

    def test_summary_lists_all_facts_and_groups_unseparated_systems(self, shared: Project) -> None:
        app = visit("leaderboard")
        mine = compare(shared, "nDCG@10", "assessors").board
        expected = group_alike(mine, compare_all(mine))
        held = app.holds("systems")["board"]
        assert [tuple(group) for group in held["groups"]] == expected.groups
        runs = [system["run"] for system in held["systems"]]
        assert {run: [runs[at] for at in held["alike"][place]] for place, run in enumerate(runs)} == expected.of
        assert app.shows("told-apart")
        assert held["domain"] == held["official"]["domain"]
        for source in ("exam", "assessors"):
            for system in leaderboard(shared, "nDCG@10", source).systems:
                assert held["domain"][0] < system.score - (system.std_error or 0)
                assert system.score + (system.std_error or 0) < held["domain"][1]
        held = visit("leaderboard", measure="EXAM-Cover").holds("systems")["board"]
        assert held["domain"] != held["official"]["domain"]
        assert {94, 17, 18} <= set(numbers(app.note("rests-on")))
        parts = ["separation", "queries", "agreement", "grading", "auditing"]
        assert [name for name in parts if app.shows(f"summary {name}")] == parts
        app = app.choose("against", "No official board")
        assert not app.shows("summary agreement") and app.shows("summary grading")
        assert len(visit("leaderboard", view="Sample size").charts()) == 1, "two queries are too few to sample"
        assert not app.metric
        assert not [name for name in app.board() if "fficial" in name]

    def test_typed_pool_coverage_measure_shows_run_lengths(self, shared: Project) -> None:
        app = visit("leaderboard", measure="EXAM-Cover@2/pool")
        expected = leaderboard(shared, "EXAM-Cover@2/pool")
        shown = app.board()
        assert shown["Score"].to_dict() == pytest.approx(expected.scores)
        assert shown["Passages"].to_dict() == {run: length.passages for run, length in expected.lengths.items()}
        assert {run for run, star in shown["\N{BLACK STAR}"].items() if star} == expected.starred
        assert app.holds("systems")["board"]["official"]["title"] == "assessors nDCG@10"
        drawn_by = {"All boards": 1, "Two boards": 2, "Two systems": 1, "Significance": 1, "Sample size": 0}
        for view, drawn in drawn_by.items():
            app = visit("leaderboard", measure="EXAM-Cover@2/pool", view=view)
            assert not app.error
            assert len(app.charts()) == drawn


def test_number_rounded_to_zero_has_no_sign() -> None:
    assert [as_number(value) for value in (-0.0001, -0.5, None)] == ["0.000", "-0.500", "–"]


class TestNames:
    def test_shortened_names_stay_unique(self) -> None:
        names = ["team_gpt4o_fusion_rerank", "team_gpt4o_nonp_fusion_rerank", "bm25", "x" * 40 + "a" + "x" * 20,
                 "x" * 61]  # fmt: skip
        shown = short_names(names)
        assert len(set(shown.values())) == len(names)
        assert shown["bm25"] == "bm25"
        assert max(map(len, shown.values())) <= 22

    def test_common_prefix_is_omitted_from_long_names(self) -> None:
        names = ["lab-2024/bm25", "lab-2024/dense", "lab-2024/dense_2"]
        assert list(short_names(names, 15).values()) == ["…bm25", "…dense", "…dense_2"]
        assert list(short_names(names).values()) == names, "all names fit unshortened"
        splade = "SPLADE_P_P_ENSEMBLE_DISTIL+"
        long = [f"{splade}output_v2_aug_vicuna_7b_4096_20", f"{splade}vicuna-7b-checkpoint-800_4096_100", "REP_LLAMA"]
        assert not any("……" in name for name in short_names(long).values())
        assert list(short_names(["run_1", "run_1_a"], 6).values()) == ["…1", "…1_a"]
        assert short_names(["a_b", "a_c_of_many_words"], 10)["a_b"] == "a_b", "the common prefix is too short to omit"

    def test_distinguishing_words_are_kept(self) -> None:
        tails = ("v1_reranked_top_100", "v2_reranked_top_100", "v1_reranked_top_20")
        shown = short_names([f"{system}_of_the_team_{tail}" for system in ("dense", "sparse") for tail in tails], 20)
        assert [name.split("_")[0] for name in shown.values()] == ["dense"] * 3 + ["sparse"] * 3
        for name, short in shown.items():
            assert len(short) <= 20
            assert ("v2" in short, "20" in short.removeprefix("…")) == ("v2" in name, name.endswith("_20"))
        # So is the name of a family.
        families = ("BM25", "BM25_RM3", "OPEN_AI_ADA2")
        names = [f"{family}{tail}" for family in families for tail in ("", "+output_v2_4096_100", "+output_v2_4096_20")]
        for name, short in short_names(names, 20).items():
            assert short.startswith(name.partition("+")[0]) and len(short) <= 20

    @given(st.lists(st.text("ab_-", min_size=1, max_size=40), max_size=12, unique=True), st.integers(8, 40))
    def test_short_names_are_unique_and_not_empty(self, names: list[str], length: int) -> None:
        shown = short_names(names, length)
        assert len(set(shown.values())) == len(names)
        assert all(shown.values())


def test_budget_view_shows_every_system_in_a_fixed_color(shared: Project) -> None:
    app = visit("leaderboard", project=shared.name, view="By budget")
    order = sorted(cover_curves(shared).curves, key=lambda curve: -curve.scores[19])
    assert app.multiselect[0].value == [curve.run for curve in order]
    assert len(app.charts()) == 1
    assert not app.shows("pool-ends")
    table = judged_table(app).set_index("Run")
    shares = {(share.run, share.source): share.judged for share in judged_shares(shared, Policy(), 20)}
    assert table["Exam labels"].to_dict() == {run: shares[run, "exam"] for run in RUNS}
    assert table["assessors"].to_dict() == {run: shares[run, "assessors"] for run in RUNS}
    assert app.shows("choose-system")
    before = colours(app)
    assert len(set(before.values())) == len(RUNS)
    app = app.choose("tau", 1)
    assert list(colours(app)) != list(before), "the legend follows the order of the leaderboard"
    assert colours(app) == before
    assert colours(app.choose("curves of", ["poor", "bad"])) == {run: before[run] for run in ("poor", "bad")}
    after = colours(app.choose("curves of", ["fair", "bad", "poor", "good"]))
    assert {run: after[run] for run in ("poor", "bad")} == {run: before[run] for run in ("poor", "bad")}
    assert len(set(after.values())) == len(RUNS)


def judged_table(app: Screen) -> pd.DataFrame:
    return next(t.value for t in app.dataframe if "Exam labels" in t.value)


def colours(app: Screen) -> dict[str, str]:
    """Return the color of each line by run."""
    scale = app.charts()[0]["layer"][1]["encoding"]["color"]["scale"]
    return dict(zip(scale["domain"], scale["range"], strict=True))


def test_budget_view_reports_shallow_pools_and_incomplete_queries(small: Project) -> None:
    commit(small, set_pool_depth, 1, "ann")
    assert visit("leaderboard", project=small.name, view="By budget").shows("pool-ends", 1)
    bank.save_version(small, [Question("q1/new", "q1", "What else?")], "", "ann")
    app = visit("leaderboard", project=small.name, view="By budget")
    assert app.shows("few-complete", 3) and not app.charts()


def test_fully_graded_project_asks_for_no_system(project: Project) -> None:
    fill(project, QUESTIONS, {key: rating or 0 for key, rating in RATINGS.items()}, RUNS)
    app = visit("leaderboard", project=project.name, view="By budget")
    assert app.shows("all-graded")
    assert not app.shows("choose-system")


def select(app: Screen, key: str, row: int) -> Screen:
    """Click a row of a table and rerun the screen."""
    chosen: dict[str, Any] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    app.session_state[key] = chosen
    return app.run()


def test_grading_one_system_covers_only_its_ungraded_top(project: Project) -> None:
    spec = make_grader("embedding", {}).spec
    fill(project, QUESTIONS, {("What is A?", "p1"): 4}, RUNS, spec)
    app = visit("leaderboard", project=project.name, view="By budget")
    ungraded = [to_grade(project, Policy(), run, 20).ungraded for run in judged_table(app)["Run"]]
    row = min((row for row, n in enumerate(ungraded) if n), key=ungraded.__getitem__)
    run, lacking, missing = judged_table(app)["Run"][row], ungraded[row], make_plan(project, spec, 1).to_grade
    assert 0 < lacking < missing
    app = select(app, "judged systems", row)
    listed = next(t.value for t in app.dataframe if "Passage" in t.value)
    assert listed["Ungraded pairs"].sum() == lacking
    assert listed["Rank"].is_monotonic_increasing
    assert "passages" in select(app, f"next of {run}", 0).links()
    assert "passages" not in select(app, f"next of {run}", len(listed)).links(), "the table has become shorter"
    app = app.press("grade unjudged")
    job = current_job(project)
    assert job is not None
    assert job.wait(DEADLINE)
    assert job.progress.graded == lacking
    app.run()
    assert app.shows("top-graded")
    assert to_grade(project, Policy(), run, 20).ungraded == 0
    assert make_plan(project, spec, 1).to_grade == missing - lacking


def test_imported_grader_cannot_run_here(project: Project) -> None:
    fill(project, QUESTIONS, {("What is A?", "p1"): 4}, RUNS)
    app = select(visit("leaderboard", project=project.name, view="By budget"), "judged systems", 0)
    assert app.shows("no-grader-here")


filled = filled_project(put)


def test_questions_are_sealed_compared_and_unsealed(filled: Project) -> None:
    app = visit("leaderboard", view="Sealed questions").press("seal")
    assert len(sealed_questions(filled)) == 24
    assert app.shows("sealed") and len(app.dataframe[0].value) == 4
    rows = visit("question_bank", query="q1").holds("questions")["rows"]
    hidden = {row["id"] for row in rows if "Secret" not in row["text"]}
    assert hidden == {one for one in sealed_questions(filled) if one.startswith("q1/")}
    assert not [text for q in bank.list_questions(filled) if q.question_id in hidden and (text := q.text) in repr(rows)]
    app = visit("leaderboard", view="Sealed questions").press("open seals")
    assert sealed_questions(filled) == frozenset() and not app.shows("sealed")
