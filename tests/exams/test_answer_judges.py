"""Answer checks: scores, the best of several gold answers, and agreement with people."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_workbench.answers._answer_checks import JUDGES, accepts_score, answer_judge, judge_scores
from exam_workbench.graders import load_encoder, model_folder
from exam_workbench.measures.answers import against_people
from tests.made.openqa_answers import answered
from tests.made.refusals import refusal

ASKED = [name for name, judge in JUDGES.items() if judge.needs == "model"]


@pytest.mark.parametrize("name", [name for name in JUDGES if name not in ASKED])
def test_answer_check_separates_right_wrong_and_empty_answers(name: str) -> None:
    right, wrong = ("Bobby Scott", ["Bob Russell", "bobby scott"]), ("the capital of Peru", ["Bobby Scott"])
    scores = judge_scores(name, [right, wrong, ("anything", []), right, ("", ["Bobby Scott"])])
    assert scores[0] == scores[3] == pytest.approx(1)
    assert [accepts_score(name, one) for one in scores] == [True, False, None, True, False]
    assert scores[4] == 0 and 0 <= (scores[1] or 0) < JUDGES[name].threshold <= JUDGES[name].top


def test_scores_do_not_depend_on_order_or_batch() -> None:
    pairs = [("Tulsa", ["Tulsa, Oklahoma"]), ("1901", ["December 1901", "1902"]), ("Röntgen", ["X-rays " * 30])]
    for name in ("embedding", "bertscore"):
        together = judge_scores(name, pairs)
        assert [judge_scores(name, [pair])[0] for pair in reversed(pairs)] == pytest.approx(together[::-1], abs=1e-5)


def test_answer_check_by_model_needs_a_model() -> None:
    assert ASKED == ["llm", "graded"]
    with refusal("answer-judge-needs-model"):
        judge_scores("llm", [])
    with refusal("unknown-answer-judge") as caught:
        answer_judge("rouge")
    assert "rouge1" in caught.value.hint
    assert accepts_score("graded", 4) and not accepts_score("graded", 3) and accepts_score("graded", 3, threshold=3)


def test_token_vectors_exclude_special_tokens() -> None:
    encoder = load_encoder(model_folder())
    one, none, long = encoder.token_vectors(["Tulsa, Oklahoma", "", "word " * 400])
    assert len(one) == 3 and len(none) == 0 and len(long) == 254
    assert (one**2).sum(axis=1) == pytest.approx(1, abs=1e-5)


def test_agreement_on_real_answers_matches_the_benchmark(shared_data: Path) -> None:
    documented = {"em": 0.469, "f1": 0.542, "contains": 0.551}
    rows = answered(shared_data / "openqa-eval")
    people = [row.people for row in rows]
    assert len(rows) == 3548 and len({row.question for row in rows}) == 301 and len({row.system for row in rows}) == 12
    pairs = [(row.answer, row.gold) for row in rows]
    said = {name: [accepts_score(name, one) for one in judge_scores(name, pairs)] for name in documented}
    kappas = {name: against_people(verdicts, people, samples=1).kappa.value for name, verdicts in said.items()}
    assert kappas == {name: pytest.approx(kappa, abs=5e-4) for name, kappa in documented.items()}
