"""EXAM-Cover of generated answers, listed under the run that they were written from."""

from __future__ import annotations

from exam_workbench.answers import (
    RetEvalChoices,
    answers_as_responses,
    choice_tables,
    cover_tables,
    evaluate_answers,
    waiting_runs,
)
from exam_workbench.answers._reteval import cover_of_answers
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.measures import compare_evaluations
from exam_workbench.records import find_answer_model
from exam_workbench.store import Project
from exam_workbench.study import boards_to_choose_by, compare_choices
from exam_workbench.types import Question
from tests.answers.made import question
from tests.made.answered import TOLD, put_answered
from tests.made.projects import grade, import_bank
from tests.made.refusals import refusal

COVER = "EXAM-Cover of answers@2 by test grader"


def passage(project: Project, system: str, query_id: str) -> str:
    ((found,),) = project.rows(
        "SELECT passage_id FROM rankings JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) WHERE name = ? AND query_id = ?",
        [system, query_id],
    )
    return str(found)


def test_answer_coverage_is_reported_for_the_retrieval_run(project: Project) -> None:
    put_answered(project)
    import_bank(
        project, [Question(f"{name}/{at}", name, f"Question {at} of {name}?") for name in TOLD for at in (1, 2)]
    )
    evaluation = evaluate_answers(project, RetEvalChoices(ks=(2,), judge="contains"))
    assert cover_tables(project, evaluation, 2) == {}
    reader = find_answer_model(project, "generator")
    for name in ("two words", " ", "a\tb", ""):
        with refusal("invalid-name"):
            answers_as_responses(project, reader, "one", 2, "ann", name)
    one, _ = answers_as_responses(project, reader, "one", 2, "ann", "otherwise")
    two, _ = answers_as_responses(project, reader, "two", 2, "ann")
    assert cover_tables(project, evaluation, 2) == {}, "nothing is graded"
    # For two queries, both runs have the same answer, so one grade serves both.
    rated = {(f"Question {at} of a?", passage(project, one, "a")): 5 * (2 - at) for at in (1, 2)}
    rated |= {(f"Question {at} of n?", passage(project, two, "n")): 5 for at in (1, 2)}
    rated |= {(f"Question {at} of c?", passage(project, two, "c")): 5 for at in (1, 2)}
    grade(project, rated)
    evaluation = evaluate_answers(project, evaluation.view)
    # One answer of run one is not graded yet.
    assert cover_of_answers(project, evaluation, 2, Policy()) == {"two": {"a": 0.5, "c": 1.0, "n": 1.0}}
    grade(project, {(f"Question {at} of c?", passage(project, one, "c")): 0 for at in (1, 2)})
    table = cover_of_answers(project, evaluation, 2, Policy())
    assert table == {"one": {"a": 0.5, "c": 0.0, "n": 1.0}, "two": {"a": 0.5, "c": 1.0, "n": 1.0}}
    board = leaderboard(project, "EXAM-Cover@20", policy=Policy())
    assert [board.per_query[one][name] for name in "ac"] == [0.5, 0.0]
    tables = choice_tables(evaluation, 2) | cover_tables(project, evaluation, 2)
    found = compare_choices(project, boards_to_choose_by(project, 2), Policy(), tables, 50).found
    assert found.runs == ["one", "two"]
    chosen = {choice.evaluation: (choice.chosen, choice.failed) for choice in found.choices}
    assert {"NIST: nDCG@10", "EXAM-Cover@2 by test grader"} < set(chosen)
    assert chosen[COVER] == (["two"], 0) and chosen["LLM-retEval@2"][0] == ["two"]
    # Both tables use the names of the runs, so their choices can be compared.
    beside = next(pair for pair in found.pairings if (pair.one, pair.other) == (COVER, "LLM-retEval@2"))
    assert beside.same_choice and beside.loss.value == 0


def test_missing_answer_does_not_count_as_wrong(project: Project) -> None:
    put_answered(project)
    with project.transaction() as cursor:
        cursor.execute(
            "DELETE FROM generated_answers WHERE run = 'two' AND question_text_key ="
            " (SELECT text_key FROM question_texts WHERE text = ?)",
            [question("c")],
        )
    evaluation = evaluate_answers(project, RetEvalChoices(ks=(2,), judge="contains"))
    assert waiting_runs(evaluation, 2) == {"two": 1}
    # Run two lacks an answer, so it cannot be compared with a complete run.
    tables = choice_tables(evaluation, 2)
    assert list(tables["LLM-retEval@2"]) == ["one"] and list(tables["Recall@2"]) == ["one", "two"]
    assert compare_evaluations(tables, samples=50).runs == ["one"]
