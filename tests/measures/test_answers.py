"""Answer measures: text and retrieval scores, correlation by query, agreement with people, and system choice."""

from __future__ import annotations

import itertools
import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import spearmanr

from exam_workbench.choices import ANSWER_CASES
from exam_workbench.errors import InputError
from exam_workbench.measures import (
    SIMILARITIES,
    NewScore,
    cohen_kappa,
    compare_evaluations,
    cross_table,
    make_evaluator,
    rank_stakes,
    system_score,
)
from exam_workbench.measures._means_and_tests import harmonic_mean
from exam_workbench.measures.answers import (
    RECALL_FAILURES,
    RETEVAL_FAILURES,
    TEXT_SCORES,
    Texts,
    Verdicts,
    against_people,
    best_score,
    corrected_verdicts,
    correlate_queries,
    greedy_f1,
    halves_test,
    mean_retrieval_scores,
    propose_case,
    score_outcomes,
    score_retrieval,
    similarity_to_gold,
    threshold_curve,
)
from exam_workbench.measures.answers._answer_scores import best_threshold
from exam_workbench.measures.answers._answer_texts import contains_words, normalise_text
from tests.made.refusals import mentions

words = st.lists(st.sampled_from(["the", "Röntgen", "1901", "x-ray", "U.S.", "won", "it"]), max_size=6).map(" ".join)


# Answers


@pytest.mark.parametrize(
    ("judge", "answer", "reference", "value"),
    [
        ("em", "The  Beatles!", "beatles", 1),
        ("em", "Beatles band", "beatles", 0),
        ("f1", "the Washington area", "Washington metropolitan area", 0.8),
        ("rouge1", "the Washington area", "Washington metropolitan area", 2 / 3),
        ("f1", "o'neal", "O Neal", 0),
        ("rouge1", "o'neal", "O Neal", 1),
        ("contains", "It was written by Bobby Scott.", "bobby scott", 1),
        ("contains", "a party", "art", 0),
        ("contains", "1901", "in 1901", 0),
        ("bleu", "Bobby Scott", "bobby scott", 1),
        ("meteor", "the cat sat on the mat", "on the mat sat the cat", 0.5),
        ("meteor", "the cat sat on the mat", "the cat sat on the mat", 1),
        (
            "meteor",
            "the cat was sat on the mat",
            "the cat sat on the mat",
            pytest.approx(0.9836 * (1 - 0.5 / 27), abs=1e-4),
        ),
        ("meteor", "jumping dogs", "a dog jumps", pytest.approx((2 / 3) / (0.9 + 0.1 * 2 / 3) / 2)),
        ("meteor", "automobile", "car", 0),
        ("chrf", "bobby scot", "Bobby Scott", pytest.approx(0.86, abs=0.04)),
    ],
)
def test_text_scores_match_known_values(judge: str, answer: str, reference: str, value: float) -> None:
    assert TEXT_SCORES[judge](answer, reference) == value


def test_rouge_1_matches_the_package() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    program, of_lemmas = RougeScorer(["rouge1"]), SIMILARITIES["ROUGE-1"].scorer()
    one, other = "The Apollo 11 mission's crew, 1969", "crew of the Apollo-11 in 1969"
    assert TEXT_SCORES["rouge1"](one, other) == pytest.approx(program.score(other, one)["rouge1"].fmeasure)
    for text, gold in itertools.product(("", "a", "a b a c", "c a a a d e d", "f g h i j k l"), repeat=2):
        assert of_lemmas(text, gold) == program.score(gold, text)["rouge1"].fmeasure


@given(words, words)
def test_scores_are_shares_and_one_for_equal_texts(one: str, other: str) -> None:
    for name, compare in TEXT_SCORES.items():
        assert 0 <= compare(one, other) <= 1
        assert not normalise_text(one) or compare(one, one) == pytest.approx(1), name
    assert not normalise_text(one) or contains_words(f"so {one} then", one)


def test_best_reference_counts_and_token_vectors_match_greedily() -> None:
    assert best_score(TEXT_SCORES["em"], "Bob", ["Ann", "bob"]) == 1
    assert best_score(TEXT_SCORES["em"], "Bob", []) is None
    assert best_score(TEXT_SCORES["em"], " ", ["the"]) == 0
    one, other = np.eye(3, dtype=np.float32)[:2], np.eye(3, dtype=np.float32)[1:2]
    assert greedy_f1(one, other) == pytest.approx(2 * 0.5 / 1.5)
    assert greedy_f1(one[:0], other) == 0


# Recall, Precision and F1


def test_retrieval_scores_match_figure_1_count_near_copies_and_follow_labels() -> None:
    found = score_retrieval(["a", "b", "gold", "c", "d", "e"], {"gold"}, 5)
    assert (found.recall, found.precision, found.f1) == (1, 0.2, pytest.approx(1 / 3))
    assert found.places == (2,) and found.has_gold
    assert score_retrieval([], {"gold"}, 5).f1 == 0
    same = {"copy": ["g1"], "other copy": ["g1"], "stranger": ["not gold"]}
    found = score_retrieval(["copy", "other copy", "stranger", "g2"], {"g1", "g2"}, 4, same)
    assert (found.recall, found.precision, found.places) == (1, 0.75, (0, 1, 3))
    assert score_retrieval(["copy"], {"g1"}, 1).recall == 0
    with pytest.raises(InputError):
        score_retrieval(["a"], set(), 5)
    qrels = {"q": {"a": 2, "b": 1, "c": 0}, "none": {"a": 0}}
    run = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}, "none": {"a": 1.0}}
    found = make_evaluator(["F1@2", "P@2", "R@2"], qrels)(run)
    assert found["F1@2"] == {"q": 0.5, "none": 0}
    assert found["F1@2"]["q"] == harmonic_mean(found["P@2"]["q"], found["R@2"]["q"])
    assert make_evaluator(["F1@1"], qrels, min_rating=2)(run)["F1@1"]["q"] == 1


@pytest.mark.parametrize(
    ("k", "recall", "precision", "f1"), [(1, 0.498, 0.498, 0.498), (5, 0.792, 0.158, 0.264), (10, 0.865, 0.0865, 0.157)]
)
def test_table_1_follows_from_recall_with_one_gold_passage(k: int, recall: float, precision: float, f1: float) -> None:
    hits = round(recall * 1000)
    found = mean_retrieval_scores([score_retrieval(["g" if at < hits else "x"], {"g"}, k) for at in range(1000)])
    assert found.recall[0] == pytest.approx(recall, abs=5e-4)
    assert found.precision[0] == pytest.approx(recall / k) == pytest.approx(precision, abs=5e-4)
    assert found.f1_of_means == pytest.approx(f1, abs=6e-4)
    assert found.f1[0] == pytest.approx(recall * 2 / (k + 1))


# Scores


def test_failed_comparisons_are_left_out_and_skipped_queries_are_zero() -> None:
    found = score_outcomes(
        {"q1": 1.0, "q2": 0.0, "q3": None, "q5": 1.0, "no gold": 1.0}, ["q1", "q2", "q3", "q4", "q5", "q6"], ["q5"]
    )
    assert (found.mean, found.queries, found.failed, found.skipped, found.waiting) == (1 / 3, 3, 1, 1, 2)
    assert found.error == pytest.approx(system_score({"q1": 1.0}, ["q1", "q2", "q5"], "zero")[1] or 0)
    assert not found.complete and score_outcomes({"q1": 1.0}, ["q1"]).complete
    assert score_outcomes({}, []).mean is None
    found = correlate_queries({"a": 1, "b": 0, "c": None, "d": 1}, {"a": 1, "b": 0, "c": 1, "e": 0})
    assert (found.queries, found.unknown, found.spearman.value) == (2, 3, pytest.approx(1))
    assert "0" in (correlate_queries({}, {}).spearman.undefined or "")


# Correlation by query


def test_table_2_at_depth_1_is_reproduced_from_its_counts() -> None:
    groups = {"both": 1333, "recall": 106, "reteval": 539, "neither": 911}
    kinds = [kind for kind, number in groups.items() for _ in range(number)]
    recall = {f"q{at}": float(kind in ("both", "recall")) for at, kind in enumerate(kinds)}
    reteval = {f"q{at}": float(kind in ("both", "reteval")) for at, kind in enumerate(kinds)}
    assert round(sum(recall.values()) / 2889, 3) == 0.498 and round(sum(reteval.values()) / 2889, 3) == 0.648
    found = correlate_queries(recall, reteval)
    assert round(found.spearman.value or 0, 2) == 0.58
    assert (found.spearman.low or 0) < 0.58 < (found.spearman.high or 0)
    parts = {kind: [f"q{at}" for at, one in enumerate(kinds) if one == kind] for kind in groups}
    refined = correlate_queries(recall, reteval, parts["reteval"][:452] + parts["recall"][:48])
    assert round(refined.spearman.value or 0, 3) == 0.875 and (refined.queries, refined.removed) == (2389, 500)


@given(st.lists(st.tuples(st.sampled_from([0, 0.5, 1]), st.sampled_from([0, 0.25, 1])), min_size=3, max_size=30))
def test_correlation_by_query_matches_scipy(pairs: list[tuple[float, float]]) -> None:
    one, other = ({f"q{at}": pair[side] for at, pair in enumerate(pairs)} for side in (0, 1))
    found = correlate_queries(one, other, samples=20).spearman
    if len(set(one.values())) == 1 or len(set(other.values())) == 1:
        assert found.value is None and found.undefined
        return
    assert found.value == pytest.approx(spearmanr(list(one.values()), list(other.values())).statistic)


# Agreement with people


def test_agreement_with_people_skips_failures_and_resamples_answers_together() -> None:
    said = [1, 1, 0, 0, 1, None, 0, 1]
    people = [True, False, False, True, True, True, False, True]
    found = against_people(said, people)
    pairs = [(int(a), int(b)) for a, b in zip(said, people, strict=True) if a is not None]
    table = cross_table([a for a, _ in pairs], [b for _, b in pairs], (1, 0), (1, 0))
    assert found.kappa.value == pytest.approx(cohen_kappa(table).value)
    assert (found.answers, found.failed, found.yes_yes, found.no_yes) == (7, 1, 3, 1)
    assert (found.accuracy.value, found.precision.value, found.recall.value) == (5 / 7, 0.75, 0.75)
    for one in (found.accuracy, found.precision, found.recall):
        assert (one.low or 0) <= (one.value or 0) <= (one.high or 0)
    never = against_people([0, 0], [True, False])
    assert never.precision.value is None and never.precision.undefined and never.kappa.value == 0
    assert against_people([], []).accuracy.undefined
    people, said = [True, False] * 100, [1.0] * 100 + [0.0] * 100
    alone = against_people(said, people)
    together = against_people(said, people, [at // 20 for at in range(200)])
    assert together.accuracy.value == alone.accuracy.value
    assert (together.recall.low or 0) < (alone.recall.low or 0)


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]), st.booleans()), min_size=1, max_size=30))
def test_threshold_curve_matches_verdicts_at_each_threshold(pairs: list[tuple[float, bool]]) -> None:
    scores, people = [one for one, _ in pairs], [truth for _, truth in pairs]
    curve = threshold_curve(scores, people)
    for point in curve:
        found = against_people([one >= point.threshold for one in scores], people, samples=1)
        assert point.accuracy == pytest.approx(found.accuracy.value)
        assert point.precision == found.precision.value and point.recall == found.recall.value
    chosen = best_threshold(scores, people)
    kappas = [
        against_people([one >= limit for one in scores], people, samples=1).kappa.value for limit in (*scores, math.inf)
    ]
    known = [kappa for kappa in kappas if kappa is not None]
    assert (chosen is None) == (not known)
    if chosen is not None:
        found = against_people([one >= chosen for one in scores], people, samples=1)
        assert found.kappa.value == pytest.approx(max(known))


def test_threshold_is_tested_on_held_out_questions() -> None:
    dice = np.random.default_rng(0)
    questions = [at // 4 for at in range(400)]
    people = [bool(one) for one in dice.random(400) < 0.5]
    scores = [0.3 + 0.1 * truth + 0.02 * noise for truth, noise in zip(people, dice.standard_normal(400), strict=True)]
    found = halves_test(scores, people, 0.8, questions)
    assert found is not None and 0.32 < found.threshold < 0.38
    assert found.chosen_on == found.tested_on == 200
    assert (found.tested.accuracy.value or 0) > 0.95 and found.usual.yes_yes == 0
    assert found == halves_test(scores, people, 0.8, questions)
    assert halves_test([1.0], [True], 0.5) is None


# Choice of a system


def board(**hits: float) -> dict[str, dict[str, float | None]]:
    return {run: {f"q{at:02}": float(at < share * 20) for at in range(20)} for run, share in hits.items()}


def test_different_choices_report_their_loss() -> None:
    nist, judge = board(a=0.9, b=0.5, c=0.2), board(a=0.5, b=0.8, c=0.2, d=1)
    judge["c"]["q00"] = None
    found = compare_evaluations({"NIST": nist, "judge": judge})
    assert found.runs == ["a", "b", "c"]
    assert [one.chosen for one in found.choices] == [["a"], ["b"]]
    assert found.choices[1].failed == 1 and found.choices[1].scores["c"][0] == pytest.approx(3 / 19)
    assert sum(found.choices[0].chance.values()) == pytest.approx(1) and found.choices[0].chance["a"] > 0.9
    by_judge = next(one for one in found.pairings if (one.one, one.other) == ("judge", "NIST"))
    assert not by_judge.same_choice and by_judge.same_chance < 0.1
    assert by_judge.loss.value == pytest.approx(0.4) and (by_judge.loss.low or 0) > 0
    assert by_judge.kendall.value == pytest.approx(1 / 3)


def test_evaluations_use_common_queries_with_skipped_as_zero() -> None:
    one, other = board(a=1, b=0.5), board(a=0.5, b=0.5)
    del other["a"]["q00"]
    other = {run: {query: one for query, one in row.items() if query < "q10"} for run, row in other.items()}
    common = compare_evaluations({"one": one, "other": other})
    assert [choice.queries for choice in common.choices] == [10, 10]
    assert common.choices[1].chosen == ["b"]
    assert common.pairings[0].kendall.value is None and mentions(common.pairings[0].kendall.undefined or "", "3")
    with pytest.raises(InputError):
        compare_evaluations({"one": one, "other": {"z": {"q": 1.0}}})
    with pytest.raises(InputError):
        compare_evaluations({"one": one, "other": {"a": {"elsewhere": 1.0}}})


@pytest.mark.parametrize(
    "mark",
    ["[1]", " [1, 2]", "[1][3]", " [2-4]", "[^1^]", "【4†source】", "⁶", "¹²", "<sup>1</sup>", " [citation:3]",
     " [doc 2, doc 3]", "[[1]](https://example.org/a)", "[d_v2.1_doc_12#4]", "[citation needed]"],
)  # fmt: skip
def test_citation_marks_are_removed_from_answers(mark: str) -> None:
    answer = f"Lake Chad{mark}. It lies{mark} in Africa."
    assert normalise_text(answer) == normalise_text("Lake Chad. It lies in Africa.")
    for name in ("em", "f1", "rouge1", "bleu", "chrf"):
        assert TEXT_SCORES[name](f"Lake Chad{mark}.", "Lake Chad") == 1, name
    assert TEXT_SCORES["contains"](answer, "lake chad")


def test_punctuation_splits_words_except_in_numbers_and_abbreviations() -> None:
    assert contains_words("Paris-born people say Paris/Lutetia", "Lutetia") and contains_words(
        "It was 1665–1666", "1666"
    )
    assert normalise_text("the U.S. Army") == "us army" and normalise_text("don’t") == normalise_text("don't") == "dont"
    assert (
        normalise_text("1,000 km²") == "1000 km²"
        and normalise_text("10⁶") == "10⁶"
        and not contains_words("It is 3.5", "3")
    )
    assert normalise_text("[1]") == "1", "a citation mark alone is kept"


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
