"""What answers cover stands under the name of the run that they were written from, beside LLM-retEval of it."""

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


def test_what_answers_cover_is_said_of_the_retriever_that_they_come_from(project: Project) -> None:
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
    # Answers of both runs to two of the queries are the same word.
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
    # Both have the retriever's name, so that one can be asked how far it chooses as the other does.
    beside = next(pair for pair in found.pairings if (pair.one, pair.other) == (COVER, "LLM-retEval@2"))
    assert beside.same_choice and beside.loss.value == 0


def test_an_answer_that_waits_is_no_wrong_one(project: Project) -> None:
    put_answered(project)
    with project.transaction() as cursor:
        cursor.execute(
            "DELETE FROM generated_answers WHERE run = 'two' AND question_text_key ="
            " (SELECT text_key FROM question_texts WHERE text = ?)",
            [question("c")],
        )
    evaluation = evaluate_answers(project, RetEvalChoices(ks=(2,), judge="contains"))
    assert waiting_runs(evaluation, 2) == {"two": 1}
    # What is known of it is of the others alone: it cannot be set beside a run that answered all.
    tables = choice_tables(evaluation, 2)
    assert list(tables["LLM-retEval@2"]) == ["one"] and list(tables["Recall@2"]) == ["one", "two"]
    assert compare_evaluations(tables, "common", samples=50).runs == ["one"]
