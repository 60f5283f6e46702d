"""The case table of LLM-retEval with a scripted model, from generation to confirmed cases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from exam_workbench.answers import (
    Evaluation,
    Failures,
    GeneratorPlan,
    Gold,
    JudgePlan,
    RetEvalChoices,
    WantedAnswers,
    case_desk,
    compare_answers,
    confirm_case,
    correlate_recall,
    count_failures,
    evaluate_answers,
    generate_answers,
    judge_as_relevant,
    list_cases,
    make_generator,
    make_judge,
    reteval_latex,
    reteval_values,
    take_back_case,
)
from exam_workbench.records import add_gold_answer, confirmed_cases, list_actions, queries_of, withdraw_gold_answer
from exam_workbench.store import Project
from tests.answers.made import Script, Told, collection
from tests.made.endpoint_server import EndpointServer
from tests.made.refusals import refusal

GOLD = "The ship was built in Hamburg by Blohm for the navy of the north, and it sailed for thirty long years."
RIGHT, WRONG, OTHER = ("Hamburg",), "Bremen", "Kiel"
ALL_RIGHT, ALL_WRONG = ("Hamburg", "Hamburg", "in Hamburg"), ("Bremen", "Bremen", "Bremen")

TOLD = {
    # r e t s = 0 1 1: another passage has the answer (A), a later version of the gold passage (B), no passage (K).
    "a": Told(GOLD, ("pa",), RIGHT, ALL_RIGHT, "Hamburg", {"pa": "A large ship left Hamburg in spring."}),
    "b": Told(GOLD, ("pb",), RIGHT, ALL_RIGHT, "Hamburg", {"pb": f"{GOLD} As of 2019 this was so."}),
    "kk": Told(GOLD, ("pk",), RIGHT, ALL_RIGHT, "Hamburg", {"pk": "Nothing is said of where it came from."}),
    # 1 0 0 1: distracted by a passage with another answer.
    "c": Told(GOLD, ("pc", "gold-c"), RIGHT, ALL_RIGHT, WRONG, {"pc": "Others say that Bremen built it."}),
    # 1 0 1 0: right, although no draw from the gold passage is. 1 0 0 0: no answer is right.
    "d": Told(GOLD, ("gold-d",), RIGHT, ALL_WRONG, "Hamburg"),
    "d2": Told(GOLD, ("gold-d2",), RIGHT, ALL_WRONG, OTHER),
    # 1 0 1 1: a right answer that is not among the draws (E), or a reworded draw that is called different (F).
    "e": Told(GOLD, ("gold-e",), ("Hamburg", "the Hanse"), ALL_RIGHT, "the Hanse"),
    "f": Told(GOLD, ("gold-f",), ("Hamburg", "Hamburg city"), ALL_RIGHT, "Hamburg city"),
    # 0 1 0 and 1 1 0: wrong, but called the same as a draw.
    "f2": Told(GOLD, ("pk",), RIGHT, ALL_RIGHT, WRONG),
    "f3": Told(GOLD, ("gold-f3",), RIGHT, ("Hamburg", WRONG, WRONG), WRONG),
    # 0 0: no disagreement.
    "n": Told(GOLD, ("pk",), RIGHT, ALL_RIGHT, OTHER),
}


class Confused(Script):
    """Accepts Bremen as equal to the draws of query f2, but not as a gold answer."""

    def _compared(self, seen):  # type: ignore[no-untyped-def]
        if "asked in f2?" in seen.prompt and "in Hamburg" in seen.prompt:
            self.same = {("Bremen", "Hamburg")}
        else:
            self.same = {("in Hamburg", "Hamburg")}
        return super()._compared(seen)


@pytest.fixture
def script() -> Script:
    return Confused(TOLD)


@pytest.fixture
def server(script: Script) -> Iterator[EndpointServer]:
    with EndpointServer(script) as running:
        yield running


def answered(project: Project, server: EndpointServer, told: dict[str, Told] = TOLD) -> Evaluation:
    """Generate, compare and evaluate answers with the scripted model."""
    collection(project, told, {"one": {name: one.top for name, one in told.items()}})
    settings = {"model": "m", "base_url": server.url, "attempts": 1}
    ready = make_generator(project, GeneratorPlan(settings))
    done = generate_answers(project, ready, WantedAnswers(ks=(2,)), "ann")
    assert (done.state, done.failed) == ("done", 0)
    view = RetEvalChoices(ks=(2,))
    judge = make_judge(project, JudgePlan("llm", settings))
    assert compare_answers(project, judge, evaluate_answers(project, view).pairs, "ann").state == "done"
    return evaluate_answers(project, view)


def test_every_row_of_the_case_table_gets_its_case(project: Project, server: EndpointServer, script: Script) -> None:
    evaluation = answered(project, server)
    assert evaluation.complete
    found = {row.line.query_id: row for row in list_cases(project, evaluation)}
    said = {
        name: "".join({True: "1", False: "0", None: "?"}[one] for one in vars(row.verdicts).values())
        for name, row in found.items()
    }
    assert said == {
        "a": "0111", "b": "0111", "kk": "0111", "c": "1001", "d": "1010", "d2": "1000", "e": "1011", "f": "1011",
        "f2": "0101", "f3": "1101",
    }  # fmt: skip
    assert {name: row.proposal.case for name, row in found.items()} == {
        "a": "A", "b": "B", "kk": "K", "c": "C", "d": "D", "d2": "D", "e": "E", "f": "F", "f2": "F", "f3": "F",
    }  # fmt: skip
    (counts,) = count_failures(project, evaluation).values()
    assert (counts.recall, counts.reteval, counts.confirmed) == (3, 6, 0), "K counts as a failure of neither measure"
    assert reteval_values(evaluation, count_failures(project, evaluation))["rows"][0]["failures"] == vars(counts)
    assert "& 3 & 6 \\\\" in reteval_latex(evaluation, count_failures(project, evaluation))
    assert found["c"].proposal.passage == 0 and "Bremen" not in found["c"].proposal.reason
    (row,) = evaluation.rows
    assert (row.conventional.recall[0], row.conventional.precision[0]) == (pytest.approx(6 / 11), pytest.approx(3 / 11))
    assert row.reteval.mean == pytest.approx(5 / 11) and row.reteval.queries == 11
    assert evaluation.ideal is not None and evaluation.ideal.mean == pytest.approx(9 / 11)
    (row,) = evaluate_answers(project, RetEvalChoices(ks=(2,), same_text=True)).rows
    assert row.conventional.recall[0] == pytest.approx(7 / 11), "the later version counts as gold"
    # Draws use seeds 1 to 3 at temperature 0.5; answers from the run use temperature 0.
    assert set(script.seeds) == {(0.0, None), (0.5, 1), (0.5, 2), (0.5, 3)}


def test_confirmed_case_feeds_back_and_can_be_withdrawn(project: Project, server: EndpointServer) -> None:
    told = {name: TOLD[name] for name in ("a", "e", "n", "d")}
    evaluation = answered(project, server, told)
    (before,) = correlate_recall(project, evaluation)
    confirm_case(project, evaluation, "a", "one", 2, "A", "ann", "the passage says it")
    with refusal("unknown-kind"):
        confirm_case(project, evaluation, "a", "one", 2, "Z", "ann")
    confirm_case(project, evaluation, "d", "one", 2, "C", "ann")
    assert list(count_failures(project, evaluation).values()) == [Failures(2, 1, 2)], "the confirmed case counts"
    (after,) = correlate_recall(project, evaluate_answers(project, RetEvalChoices(ks=(2,))))
    assert (before.refined.removed, after.refined.removed) == (0, 2)
    assert [row.line.query_id for row in list_cases(project, evaluation, only="A", to_do=True)] == []
    # Case A: the passage gets a judgment by ann, which counts if her source is chosen as gold.
    desk = case_desk(project, evaluation, "a", "one", 2, "ann")
    assert ("Hamburg", True) in desk.retrieved[0].parts and desk.gold[0].gold
    judge_as_relevant(project, desk.row, "pa", "ann")
    both = RetEvalChoices(ks=(2,), gold=Gold(("NIST", "assessor: ann")))
    assert evaluate_answers(project, both).lines["one", 2]["a"].found.has_gold
    assert case_desk(project, evaluation, "a", "one", 2, "ann").retrieved[0].judged == 2
    # Case E: the answer becomes a gold answer, and can be withdrawn.
    assert add_gold_answer(project, "e", "the Hanseatic port", "ann")
    assert not add_gold_answer(project, "e", "the Hanseatic port", "ann")
    assert next(one for one in queries_of(project) if one.query_id == "e").answers[-1] == "the Hanseatic port"
    withdraw_gold_answer(project, "e", "the Hanseatic port", "ann")
    assert next(one for one in queries_of(project) if one.query_id == "e").answers == ("Hamburg", "the Hanse")
    # Withdrawing your own case keeps its record and leaves the case of another person.
    confirm_case(project, evaluation, "a", "one", 2, "K", "bob")
    take_back_case(project, evaluation, "a", "one", 2, "ann")
    assert [one.case for one in confirmed_cases(project)] == ["C", "K"]
    assert project.rows("SELECT case_name FROM answer_cases ORDER BY case_key") == [("A",), ("C",), ("K",)]
    with refusal("no-own-case"):
        take_back_case(project, evaluation, "a", "one", 2, "ann")
    acts = {act.act: act.said for act in list_actions(project).acts}
    assert acts.keys() >= {"confirm case", "withdraw case", "start answers"}
    assert "the Hanseatic port" in acts["add gold answer"]
