"""Cases A to F: the case table, unknown verdicts, confirmed cases, and the order of review."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exam_workbench.choices import ANSWER_CASES
from exam_workbench.measures import NewScore, compare_evaluations, rank_stakes
from exam_workbench.measures.answers import (
    RECALL_FAILURES,
    RETEVAL_FAILURES,
    Texts,
    Verdicts,
    corrected_verdicts,
    propose_case,
    similarity_to_gold,
)

YES, NO, UNKNOWN = True, False, None
OLDER = (
    "The first Nobel Prize in Physics went to Wilhelm Conrad Röntgen . As of 2017 it has been awarded to 206 people ."
)
NEWER = "The first Nobel prize in physics went to Wilhelm Conrad Röntgen. As of 2017, it has been awarded to 206 people"
TULSA = "In Tulsa, Oklahoma, greasers are a gang of tough teens."
HORN = "The Horn of Africa is a peninsula in Northeast Africa."
NIGER = "Nigeria is the largest producer; crude oil comes from the delta basin."

right = Texts("Tulsa, Oklahoma", [HORN, TULSA], ["Tulsa"], ["Tulsa"])
unbacked = Texts("Tulsa, Oklahoma", [HORN], ["Tulsa"], ["Tulsa"])
distracted = Texts("Horn of Africa", [NIGER, HORN], ["Nigeria, delta basin"], ["Nigeria"])
other = Texts("Ross Elliott", [HORN], ["Peter Hansen"], ["Peter Hansen", "Ross Elliott"])
same = Texts("The delta basin", [NIGER], ["Nigeria, delta basin"], ["delta basin"])
ROWS = [
    # recall, reteval, gpteval, goldeval; texts; case; the passage that the reason names
    ((NO, YES, YES, YES), right, "A", 1),
    ((NO, YES, YES, NO), unbacked, "K", None),
    ((YES, NO, NO, YES), distracted, "C", 1),
    ((YES, NO, NO, YES), other, "C", None),
    ((NO, NO, YES, NO), other, "D", None),
    ((YES, NO, YES, NO), other, "D", None),
    ((NO, NO, YES, YES), other, "E", None),
    ((YES, NO, YES, YES), other, "E", None),
    ((YES, NO, YES, YES), same, "F", None),
    ((NO, YES, NO, YES), other, "F", None),
    ((NO, YES, NO, NO), other, "F", None),
    ((NO, YES, NO, NO), same, "D", None),
    ((YES, YES, NO, YES), other, "F", None),
    ((YES, YES, NO, NO), same, "D", None),
    ((YES, NO, NO, NO), distracted, "D", None),
    ((NO, NO, NO, YES), other, None, None),
    ((NO, NO, NO, NO), other, None, None),
    ((YES, YES, YES, YES), same, None, None),
]


@pytest.mark.parametrize(("verdicts", "texts", "case", "passage"), ROWS)
def test_every_row_of_the_table_has_its_case(verdicts, texts, case, passage) -> None:
    found = propose_case(Verdicts(*verdicts), texts)
    assert (found.case, found.passage) == (case, passage)
    assert found.reason.endswith(".") and case not in found.others
    assert passage is None or f"assage {passage + 1} " in found.reason


def test_version_of_the_gold_passage_takes_precedence_over_case_a() -> None:
    passages = [HORN, NEWER]
    texts = Texts("Röntgen", passages, ["Röntgen"], ["Röntgen"], similarity_to_gold(passages, [OLDER]))
    found = propose_case(Verdicts(NO, YES, YES, YES), texts)
    assert (found.case, found.passage, found.others) == ("B", 1, ("A",))
    # Two numbers of a long passage differ: word 5-grams tell the versions apart, vectors do not.
    apart = similarity_to_gold([OLDER.replace("2017", "2016").replace("206", "203")], [OLDER])
    assert 0.2 < apart[0, 0] < 0.9
    assert similarity_to_gold([OLDER], [OLDER + " more"], np.array([[0.97]]))[0, 0] == 0.97
    assert similarity_to_gold([""], [""])[0, 0] == 0


def test_without_gold_answers_proposals_use_only_texts() -> None:
    def case(recall: bool | None, reteval: bool | None, texts: Texts) -> tuple[str | None, tuple[str, ...]]:
        found = propose_case(Verdicts(recall, reteval), texts)
        return found.case, found.others

    alike = Texts("x", [NEWER], ["x"], similar=similarity_to_gold([NEWER], [OLDER]))
    assert case(NO, YES, alike) == ("B", ("A",))
    assert case(NO, YES, right) == ("A", ("K",))
    assert case(NO, YES, Texts("Tulsa", [HORN], ["Tulsa"]))[0] is None
    assert case(YES, NO, distracted) == ("C", ("E", "F"))
    assert case(YES, NO, same)[0] == "F"
    assert case(NO, NO, other)[0] is case(YES, YES, other)[0] is case(YES, None, other)[0] is None
    assert not Verdicts(YES, None).part and Verdicts(YES, NO).part and not Verdicts(NO, NO).part
    assert Verdicts(NO, NO, YES).part


def test_every_combination_of_verdicts_has_a_reason() -> None:
    for said in product((YES, NO, UNKNOWN), repeat=4):
        found = propose_case(Verdicts(*said), other)
        assert found.reason and (found.case is None or found.case in ANSWER_CASES)
        # Failed comparisons and agreements never get a case.
        assert found.case is None or Verdicts(*said).part, said
        if Verdicts(*said).part and None not in said:
            assert found.case is not None, said


def test_confirmed_case_corrects_the_wrong_verdict() -> None:
    part = Verdicts(NO, YES, YES, YES)
    assert [corrected_verdicts(case, part) for case in RECALL_FAILURES] == [(YES, YES)] * 3
    assert corrected_verdicts("K", part) == (NO, YES)
    assert corrected_verdicts("C", Verdicts(YES, NO, NO, YES)) == (NO, NO)
    wrong = Verdicts(YES, NO, YES, NO)
    assert [corrected_verdicts(case, wrong) for case in RETEVAL_FAILURES] == [(YES, YES)] * 3
    unknown = Verdicts(YES, NO)
    assert [corrected_verdicts(case, unknown) for case in RETEVAL_FAILURES] == [(YES, NO), (YES, YES), (YES, YES)]


def test_cases_that_change_the_choice_rank_first() -> None:
    queries = [f"q{n}" for n in range(10)]
    recall = {
        run: {query: float(at < hits) for at, query in enumerate(queries)}
        for run, hits in {"best": 6, "next": 5, "last": 2}.items()
    }
    recall["last"]["q9"] = None
    tables = {"Recall@5": recall}

    def gain(run: str, *missed: str) -> list[NewScore]:
        return [NewScore("Recall@5", run, query, 1.0) for query in missed]

    found = rank_stakes(
        tables, [gain("last", "q3"), gain("next", "q9"), gain("best", "q9"), gain("next", "q8", "q9"), []]
    )
    assert [one.at for one in found] == [3, 1, 0, 4, 2]
    assert [one.chooses_another for one in found] == [True, True, False, False, False]
    assert found[0].swaps == 1 and found[0].closing == 1 and found[-1].closing == pytest.approx(-1)


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=4, max_size=4), min_size=2, max_size=4),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from([0.0, 1.0])), min_size=1, max_size=4),
)
def test_stake_matches_a_full_recomputation(
    rows: list[list[float | None]], changes: list[tuple[int, int, float]]
) -> None:
    table = {f"run{at}": {f"q{column}": one for column, one in enumerate(row)} for at, row in enumerate(rows)}
    corrected = {run: dict(row) for run, row in table.items()}
    for run, query, score in dict(((run, query), (run, query, score)) for run, query, score in changes).values():
        corrected[f"run{run}"][f"q{query}"] = score
    new = [
        NewScore("R", run, query, corrected[run][query] or 0.0)
        for run, row in table.items()
        for query in row
        if corrected[run][query] != row[query]
    ]
    (found,) = rank_stakes({"R": table}, [new])
    # Skip runs without any score: a comparison never chooses them, but stakes count them as 0.
    if all(any(one is not None for one in row.values()) for row in table.values()):
        before, after = (compare_evaluations({"R": one}, samples=1).choices[0].chosen for one in (table, corrected))
        assert found.chooses_another == (sorted(before) != sorted(after))
