"""The screens for generated answers: empty states, table, system choice, cases and answer checks."""

from dataclasses import replace
from typing import Any

import pytest

from exam_workbench import answers
from exam_workbench.jobs import current_job
from exam_workbench.measures import compare_evaluations
from exam_workbench.records import confirmed_cases, judging, queries_of
from exam_workbench.store import Project
from tests.answers.made import collection
from tests.made.answered import TOLD, put_answered, put_answers, put_verdicts
from tests.made.refusals import mentions
from tests.made.screens import Screen, named, numbers, shown_project, visit

CASE_A, CASE_C = "2|one|a", "2|one|c"


def put(project: Project) -> None:
    put_answered(project)
    put_verdicts(project)
    # The first evaluation caches the vectors of the texts.
    answers.list_cases(project, answers.evaluate_answers(project, answers.RetEvalChoices(ks=(2,), judge="contains")))
    answers.agreement_with_people(project, answers.people_verdicts(project), samples=10)


looked_at = shown_project(put)


def do(app: Screen, what: str, key: str = "answer-cases", **more: Any) -> Screen:
    return app.act(key, {"do": what, **more})


def test_answers_are_generated_without_model_and_fill_table(project: Project) -> None:
    for screen in "answers", "cases":
        assert visit(screen).shows("lacking")
    collection(project, TOLD, {"one": {name: one.top for name, one in TOLD.items()}})
    assert visit("cases").shows("no-answers")
    app = visit("answers")
    assert app.shows("no-answers") and app.shows("free-of-charge")
    to_ask = app.metric_of("metric to generate")
    app.press("answers begin")
    work = current_job(project, "answers")
    assert work is not None and work.wait(60) and work.progress.graded == int(to_ask)
    assert list(visit("answers").dataframe[0].value["k"]) == [1, 5, 10]
    app = visit("answers", view="Generate and compare")
    assert app.shows("all-answered")


def test_table_matches_evaluation_and_cells_list_queries(shared: Project) -> None:
    found = answers.evaluate_answers(shared, answers.RetEvalChoices(ks=(2,), judge="contains"))
    app = visit("answers")
    shown = app.dataframe[0].value.set_index("Run")
    for row in found.rows:
        assert shown.loc[row.run, "LLM-retEval"] == f"{row.reteval.mean:.3f} ± {row.reteval.error:.3f}"
        for name, mean in ("GPT-Eval", row.gpteval.mean), ("Recall", row.conventional.recall[0]):
            assert numbers(shown.loc[row.run, name])[0] == pytest.approx(mean, abs=5e-4)
    assert "700" not in app.dataframe[0].proto.arrow_data.styler.styles, "three queries cannot separate the runs"
    assert app.shows("ideal-retriever", "1.000")
    app = app.select("answers-grid", cells=[[list(shown.index).index("one"), "LLM-retEval"]])
    assert app.query_params["cell"] == "2|one|LLM-retEval"
    detail = app.dataframe[1].value
    assert list(detail["Score"]) == [0, 1, 1]
    app = app.select("queries of a score", rows=[0])
    assert "at=2%7Cone%7Cc" in app.page_links()[-1].query_string
    app = visit("answers", judge="f1", threshold="0.3", same="yes")
    assert app.shows("looking-at-answers", "Token F1", "0.30")
    alone = visit("answers", judge="f1", threshold="0.3")
    assert app.note("looking-at-answers") != alone.note("looking-at-answers")
    # The link opens the query even if it is not a case, with the same answer check.
    assert visit("cases", at="2|one|n").holds("answer-cases")["desks"]["2|one|n"]["answer"] == "Hamburg"


def test_run_without_score_is_below_a_run_with_score_0(shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    found = answers.evaluate_answers(shared, answers.RetEvalChoices(ks=(2,), judge="contains"))
    first, second = sorted(found.rows, key=lambda row: row.run)[:2]
    means = ((first, None), (second, 0.0))
    rows = [replace(row, reteval=replace(row.reteval, mean=mean, waiting=0)) for row, mean in means]
    monkeypatch.setattr(answers, "evaluate_answers", lambda *_: replace(found, rows=rows))
    monkeypatch.setattr(answers, "clear_best", lambda *_: {})
    assert list(visit("answers").dataframe[0].value["Run"]) == [second.run, first.run]


def test_all_evaluations_and_correlations_are_listed(shared: Project) -> None:
    app = visit("answers", view="Which evaluation chooses which system")
    words = app.dataframe[0].value["Evaluation"].tolist()
    tables = answers.choice_tables(
        answers.evaluate_answers(shared, answers.RetEvalChoices(ks=(2,), judge="contains")), 2
    )
    for choice in compare_evaluations(tables).choices:
        assert choice.evaluation in words
    assert "NIST: nDCG@10" in words and numbers(app.note("compared-over"))[0] == 3
    correlations = visit("answers", view="Correlation").dataframe[0].value
    assert correlations[["Run", "k"]].values.tolist()[0] == ["one", 2]


def test_all_listed_cases_are_loaded_with_their_content(shared: Project) -> None:
    data = visit("cases").holds("answer-cases")
    assert [row["id"] for row in data["rows"]] == [CASE_A, CASE_C] and data["open"] == CASE_A
    assert set(data["desks"]) == {CASE_A, CASE_C}
    # Here a different run would be chosen, so the stake has no share of a gap.
    assert data["rows"][0]["stake"] and not numbers(data["rows"][0]["stake"])
    first = data["desks"][CASE_A]
    assert first["proposed"] == "A" and first["reason"]
    assert ["Hamburg", True] in first["retrieved"][0]["parts"] and first["retrieved"][0]["pointed"]
    only = visit("cases", case="C").holds("answer-cases")
    assert [row["id"] for row in only["rows"]] == [CASE_C]
    app = visit("cases").choose("cases case", "C")
    assert app.holds("answer-cases")["rows"] == only["rows"] and app.query_params["case"] == "C"
    empty = visit("cases", case="B").holds("answer-cases")
    assert not empty["rows"] and empty["empty"]


def test_confirming_case_opens_next_can_be_undone_and_names_conflicts(project: Project) -> None:
    put_answered(project)
    assert visit("judges").shows("no-verdicts")
    app = do(visit("cases"), "confirm", case=CASE_A, letter="A", note="it says so", next=CASE_C)
    data = app.holds("answer-cases")
    assert data["open"] == CASE_C and [row["id"] for row in data["rows"]] == [CASE_C]
    assert app.query_params["at"] == CASE_C, "a reloaded page must show the same case"
    (one,) = confirmed_cases(project)
    assert (one.case, one.proposed, one.note, one.author) == ("A", "A", "it says so", "ann")
    app = do(app, **{"what": "take back", "case": data["said"]["undo"]["case"]})
    assert not confirmed_cases(project)
    assert app.holds("answer-cases")["open"] == CASE_A
    refused = do(app, "confirm", case=CASE_A, letter="Z").holds("answer-cases")
    assert refused["error"]["code"] == "unknown-kind" and not confirmed_cases(project)
    app = visit("cases", show="all")
    view = answers.RetEvalChoices(ks=(2,), judge="contains")
    key = answers.confirm_case(
        project, answers.evaluate_answers(project, view), "a", "one", 2, "C", "emma", "it says otherwise"
    )
    seen = [one["key"] for one in app.holds("answer-cases")["desks"][CASE_A]["confirmed"]]
    app = do(app, "confirm", case=CASE_A, letter="F", seen=seen)
    words = app.holds("answer-cases")["said"]["words"]
    assert mentions(words, "emma C")
    assert [(one.author, one.case) for one in confirmed_cases(project)] == [("emma", "C"), ("ann", "F")]
    # No notice if the other confirmation has already been seen.
    assert key in [one["key"] for one in app.holds("answer-cases")["desks"][CASE_A]["confirmed"]]
    app = do(app, "confirm", case=CASE_A, letter="A", seen=[key])
    assert not mentions(app.holds("answer-cases")["said"]["words"], "emma")


def test_case_adds_and_removes_judgments_and_gold_answers(project: Project) -> None:
    put_answered(project)
    app = do(visit("cases"), "judge", case=CASE_A, passage="pa")
    assert judging.own_judgment(project, "a", "pa", "ann") == 2
    assert app.holds("answer-cases")["desks"][CASE_A]["retrieved"][0]["judged"] == 2
    # If ann's judgments count as gold, the retriever found a relevant passage.
    app = visit("cases", gold="NIST\nassessor: ann", at=CASE_A)
    assert app.holds("answer-cases")["desks"][CASE_A]["verdicts"][0]["value"] is True
    app = do(app, "unjudge", case=CASE_A, passage="pa")
    assert judging.own_judgment(project, "a", "pa", "ann") is None
    app = do(app, "add answer", case=CASE_C)
    answers = {query.query_id: query.answers for query in queries_of(project)}
    assert answers["c"] == ("Hamburg", "Bremen")
    undo = app.holds("answer-cases")["said"]["undo"]
    do(app, "remove answer", case=undo["case"], answer=undo["answer"])
    assert {query.query_id: query.answers for query in queries_of(project)} == answers | {"c": ("Hamburg",)}


def test_answer_checks_are_compared_with_people(shared: Project) -> None:
    app = visit("judges")
    rows = app.dataframe[0].value.set_index("Answer check")
    assert {"Exact match", "Token F1"} <= set(rows.index) and 0.4 in rows["Best threshold"].round(2).tolist()
    assert numbers(app.note("verdicts-held"))[:2] == [3, 67]
    assert len(app.charts()) == 1
    app = named(app.slider, "limit").set_value(0.0).run()
    assert app.metric_of("metric recall") == "1.000"


def test_answer_checks_are_compared_without_runs(project: Project) -> None:
    collection(project, TOLD, {})
    put_answers(project, [{"query_id": "a", "run": "gold", "draw": 1, "answer": "Hamburg"}])
    put_verdicts(project)
    app = visit("judges")
    assert not app.error and numbers(app.note("verdicts-held"))[:2] == [3, 67]


def test_verdicts_without_gold_answers_are_refused(project: Project) -> None:
    collection(project, {name: replace(one, answers=()) for name, one in TOLD.items()}, {})
    put_verdicts(project)
    visit("judges").check_refused("no-verdicts-with-gold", 6)
