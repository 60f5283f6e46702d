"""Readiness for LLM-retEval, default answer check, requested runs and depths, and significant leads."""

from __future__ import annotations

from exam_workbench.answers import (
    GeneratorPlan,
    RetEvalChoices,
    WantedAnswers,
    answer_check_verdicts,
    asked_for,
    clear_best,
    evaluate_answers,
    generate_answers,
    make_generator,
    missing_data,
    reteval_tsv,
    usual_judge,
)
from exam_workbench.records import add_gold_answer, find_answer_model
from exam_workbench.store import Project
from tests.answers.made import Told, collection, put_run
from tests.made.answered import put_answered

LONG = "The ship was built in Hamburg, by the yard of Blohm, for a navy of the north."


def test_missing_data_latest_request_and_default_check_follow_the_project(project: Project) -> None:
    found = missing_data(project)
    assert found.is_blocking and found.queries and found.runs and found.gold and found.answers
    put_answered(project)
    found = missing_data(project)
    assert not found.is_blocking and not found.answers
    put_run(project, "three", {"a": ["pa"]})
    assert asked_for(project, find_answer_model(project, "generator")) == (("one", "two"), (2,))
    ready = make_generator(project, GeneratorPlan(rule="nearest-sentence"))
    generate_answers(project, ready, WantedAnswers(("three", "one"), (1,), from_gold=False), "ann")
    assert asked_for(project, find_answer_model(project, "generator")) == (("one", "three"), (1,))
    # The default answer check depends on the length of the gold answers.
    assert usual_judge(project) == "contains"
    for name in ("a", "c", "n"):
        add_gold_answer(project, name, LONG, "ann")
        add_gold_answer(project, name, f"{LONG} It sailed.", "ann")
    assert usual_judge(project) == "embedding"


def test_only_significant_leads_are_marked(project: Project) -> None:
    told = {f"q{at}": Told("Hamburg built it.", ("px",), ("Hamburg",), ("Hamburg",) * 3, "") for at in range(12)}
    told["q0"] = Told("Hamburg built it.", ("px",), ("Hamburg",), ("Hamburg",) * 3, "", {"px": "Nobody knows."})
    runs = {"right": {name: [f"gold-{name}"] for name in told}, "wrong": {name: ["px"] for name in told}}
    collection(project, told, runs)
    ready = make_generator(project, GeneratorPlan(rule="nearest-sentence"))
    generate_answers(project, ready, WantedAnswers(ks=(1,)), "ann")
    evaluation = evaluate_answers(project, RetEvalChoices(ks=(1,), judge="contains"))
    best = clear_best(project, evaluation)
    assert best[1, "Recall"] == best[1, "LLM-retEval"] == "right"
    alone = evaluate_answers(project, RetEvalChoices(("right",), (1,), judge="contains"))
    assert clear_best(project, alone) == {}
    # The answer check of an evaluation can replace the verdicts of people.
    assert {one.acceptable for one in answer_check_verdicts(project, evaluation)} == {True, False}
    head, *rows = (line.split("\t") for line in reteval_tsv(evaluation).splitlines())
    assert [dict(zip(head, row, strict=True))["Recall"] for row in rows] == ["1.000000", "0.000000"]
