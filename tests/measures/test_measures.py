"""Measures: trec_eval's own numbers, real runs, and inputs that crash trec_eval."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from exam_workbench.errors import InputError
from exam_workbench.measures import (
    MEASURES,
    Answers,
    bars_overlap,
    make_evaluator,
    make_intent_evaluator,
    mean_and_standard_error,
    parse_measure,
    system_score,
    trec_order,
)
from exam_workbench.measures._intents import make_alpha_ndcg
from exam_workbench.measures._measure_families import FAMILIES, MeasureScores, Qrels, RunScores
from tests.made.refusals import refusal

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
# Standard name: trec_eval's name.
TREC_NAMES = {
    "AP": "map",
    "Rprec": "Rprec",
    "RR": "recip_rank",
    "Bpref": "bpref",
    "nDCG": "ndcg",
    "infAP": "infAP",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetF": "set_F",
    "SetAP": "set_map",
    **{f"P@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"R@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"nDCG@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    **{f"AP@{k}": f"map_cut_{k}" for k in CUTOFFS},
    **{f"Success@{k}": f"success_{k}" for k in (1, 5, 10)},
}


def evaluate(measures: list[str], qrels: Qrels, run: RunScores, min_rating: int = 1) -> MeasureScores:
    """Evaluate one run on qrels."""
    return make_evaluator(measures, qrels, min_rating)(run)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, passage, value = line.split()
        qrels[query][passage] = int(value)
    return qrels


def read_run(path: Path) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, _, passage, _, score, _ = line.split()
        run[query][passage] = float(score)
    return run


def read_expected(path: Path) -> dict[str, dict[str, float]]:
    """trec_eval's output: its measure name -> query id (or all) -> value."""
    expected: dict[str, dict[str, float]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        measure, query, value = line.split()
        if measure != "runid" and not measure.startswith("relstring"):
            expected[measure][query] = float(value)
    return expected


@pytest.mark.parametrize(
    ("qrels_file", "output", "min_rating"), [("qrels.test", "out.test.aq", 1), ("qrels.rel_level", "out.test.aql", 2)]
)
def test_measures_match_trec_eval_output(shared_data: Path, qrels_file: str, output: str, min_rating: int) -> None:
    """Per query and on average, for binary qrels and for graded ones with -1 at trec_eval -l 2."""
    folder = shared_data / "trec-eval"
    expected = read_expected(folder / output)
    qrels, run = read_qrels(folder / qrels_file), read_run(folder / "results.test")
    scores = evaluate(list(TREC_NAMES), qrels, run, min_rating)
    for name, trec_name in TREC_NAMES.items():
        assert scores[name].keys() == {"301", "302", "303"}
        for query, value in scores[name].items():
            assert value == pytest.approx(expected[trec_name][query], abs=5.1e-5), (name, query)
        mean, _ = mean_and_standard_error(scores[name].values())
        assert mean == pytest.approx(expected[trec_name]["all"], abs=5.1e-5), name
    for cutoff in (5, 10, 20):
        judged = evaluate([f"Judged@{cutoff}"], qrels, run)[f"Judged@{cutoff}"]
        assert judged == {q: pytest.approx(1 - expected[f"unj_{cutoff}"][q], abs=5.1e-5) for q in scores["AP"]}


def test_system_scores_match_a_reference_leaderboard(shared_data: Path) -> None:
    """The reference numbers are means over all 25 queries: `random2_miss5` tells zero from ignore."""
    folder = shared_data / "dl23-llmjudge"
    reference = json.loads((folder / "reference" / "scores-ndcg10.json").read_text())
    qrels = read_qrels(folder / "qrels-nist.txt")
    evaluator = make_evaluator(["nDCG@10"], qrels)
    for name, expected in reference.items():
        per_query = evaluator(read_run(folder / "runs" / f"{name}.run"))["nDCG@10"]
        mean, _, n = system_score(per_query, list(qrels), "zero")
        assert n == 25
        assert mean == pytest.approx(expected, abs=5.1e-5), name
        if name == "random2_miss5":
            ignoring, _, answered = system_score(per_query, list(qrels), "ignore")
            assert answered == 20
            assert ignoring == pytest.approx(expected * 25 / 20, abs=1e-4)


def test_min_rating_affects_only_binary_measures_without_a_level() -> None:
    qrels = {"q": {"a": 1, "b": 3}}
    run = {"q": {"a": 2.0, "b": 1.0}}
    names = ["RR", "P@5", "nDCG"]
    lenient, strict = evaluate(names, qrels, run), evaluate(names, qrels, run, min_rating=2)
    assert (lenient["RR"]["q"], strict["RR"]["q"]) == (1.0, 0.5)
    assert (lenient["P@5"]["q"], strict["P@5"]["q"]) == (0.4, 0.2)
    assert lenient["nDCG"] == strict["nDCG"]
    qrels = {"q": {"a": 1, "b": 2, "c": 3}}
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    scores = evaluate(["P(rel=2)@5", "P@5"], qrels, run, min_rating=3)
    assert scores == {"P(rel=2)@5": {"q": 0.4}, "P@5": {"q": 0.2}}


def test_rr_with_a_cutoff_is_0_below_the_cutoff() -> None:
    ranking = {"q": {f"d{rank:02}": 100.0 - rank for rank in range(1, 16)}}
    for rank in (1, 3, 9, 10, 11, 15):
        values = {"d15": 1, f"d{rank:02}": 2}
        scores = evaluate(["RR", "MRR@10", "RR(rel=2)@10", "RR@3", "RR(rel=3)@10"], {"q": values}, ranking)
        deep, shallow = (1 / rank if rank <= cutoff else 0.0 for cutoff in (10, 3))
        found = {name: by_query["q"] for name, by_query in scores.items()}
        assert found.pop("RR") == pytest.approx(1 / rank)
        assert found == {
            "RR@10": pytest.approx(deep), "RR(rel=2)@10": pytest.approx(deep), "RR@3": pytest.approx(shallow),
            "RR(rel=3)@10": 0.0,
        }  # fmt: skip
    # The min rating also applies to the measure with a cutoff.
    strict = evaluate(["RR@10"], {"q": {"d01": 1, "d02": 2}}, ranking, min_rating=2)
    assert strict == {"RR@10": {"q": 0.5}}


def test_only_queries_with_qrels_and_passages_are_scored_to_their_length() -> None:
    qrels = {"both": {"a": 1}, "not run": {"a": 1}, "empty answer": {"a": 1}, "no labels": {}}
    run = {"both": {"a": 1.0}, "not judged": {"a": 1.0}, "empty answer": {}, "no labels": {"a": 1.0}}
    scores = evaluate(["AP", "Judged@10"], qrels, run)
    assert scores == {"AP": {"both": 1.0}, "Judged@10": {"both": 1.0}}
    run = {"q": {"a": 4.0, "b": 3.0, "c": 2.0, "z": 1.0}}
    scores = evaluate(["Judged@2", "Judged@10"], {"q": {"a": 0, "b": 5, "c": 1}}, run)
    assert scores == {"Judged@2": {"q": 1.0}, "Judged@10": {"q": 0.75}}


def test_query_with_only_negative_judgments_or_no_relevant_passage_scores_zero() -> None:
    """pytrec_eval ends the process on such a query."""
    qrels = {"q": {"a": -2, "b": -1}, "r": {"a": -2, "b": 1}}
    run = {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 2.0, "b": 1.0}}
    scores = evaluate(["AP", "nDCG", "Bpref", "P@5", "Judged@10"], qrels, run)
    assert {per_query["q"] for per_query in scores.values()} == {0.0}
    assert scores["AP"]["r"] == 0.5
    assert scores["Bpref"]["r"] == 1.0
    assert scores["Judged@10"]["r"] == 0.5
    scores = evaluate(["AP", "nDCG@10", "Rprec", "R@100"], {"q": {"a": 0}}, {"q": {"a": 1.0}}, min_rating=5)
    assert all(per_query == {"q": 0.0} for per_query in scores.values())


def test_ties_are_broken_as_in_trec_eval() -> None:
    """Equal scores are ordered by descending id; differences beyond single precision are ignored."""
    scores = {"a": 1.000000001, "c": 1.0, "b": 1.0, "d": 0.5}
    assert trec_order(scores, 3) == ["c", "b", "a"]
    ranks = {passage: evaluate(["RR"], {"q": {passage: 1}}, {"q": scores})["RR"]["q"] for passage in scores}
    assert ranks == pytest.approx({"c": 1.0, "b": 1 / 2, "a": 1 / 3, "d": 1 / 4})


def test_every_listed_measure_prints_its_name_and_computes() -> None:
    qrels, run = {"q": {"a": 2, "b": 0}}, {"q": {"a": 2.0, "b": 1.0}}
    for name, measure in MEASURES.items():
        assert str(measure) == name and parse_measure(name) == measure
        assert measure.family.description and measure.family.citation
        if measure.basis == "intents":
            intents = {"q": Answers(["a"], np.ones((1, 1), bool))}
            found = make_intent_evaluator(measure, intents)(run)["q"]
            # ERR_IA is normalised by a general upper bound, not by the ideal of the collection.
            assert found == 1.0 if name != "ERR_IA@20" else 0 < found < 1
        elif measure.basis == "labels":
            assert list(evaluate([name], qrels, run)) == [name]


def test_every_family_and_spelling_is_parsed() -> None:
    for family in FAMILIES:
        name = {"P": "P@5", "R": "R@5", "Judged": "Judged@5", "Success": "Success@5"}.get(family.name, family.name)
        assert parse_measure(name.format(k=7)).family == family
    assert parse_measure("P@30").cutoff == 30
    assert parse_measure(" nDCG@5 ").name == "nDCG@5"
    assert parse_measure("MAP").name == "AP"
    assert parse_measure("Recall@7").name == "R@7"
    assert parse_measure("alpha_nDCG@7").basis == "intents"


@pytest.mark.parametrize("name", ["EXAM-Cover", "n-EXAM", "Cover/pool", "ROUGE-1", "chrF", "alpha_nDCG", "ERR_IA"])
def test_given_cutoff_applies_to_measures_that_need_one(name: str) -> None:
    assert (parse_measure(name).cutoff, parse_measure(name, 5).cutoff) == (20, 5)
    assert parse_measure(str(parse_measure(name, 5)), 9).cutoff == 5


def test_measures_declare_their_inputs_and_intents_need_no_qrels() -> None:
    said = {name: (m.takes_judgments, m.takes_grades, m.takes_min_rating) for name, m in MEASURES.items()}
    assert said["AP"] == (True, True, True)
    assert said["nDCG@10"] == (True, True, False)
    assert said["alpha_nDCG@10"] == said["EXAM-Cover@20"] == said["n-EXAM@20"] == (False, True, True)
    assert said["ROUGE-1@20"] == (False, False, False)
    with refusal("unknown-measure"):
        evaluate(["alpha_nDCG@10"], {"q": {"a": 1}}, {"q": {"a": 1.0}})
    with refusal("min-rating-out-of-range"):
        evaluate(["AP"], {"q": {"a": 1}}, {"q": {"a": 1.0}}, min_rating=0)


@pytest.mark.parametrize(
    "name",
    [
        "", "XX@10", "P", "P@0", "P@-1", "P@True", "P@'5'", "P@1000000000000", "P_5", "RR@0", "ERR@10",
        "RR(judged_only=True)@5",
        "IPrec@0.1", "P(rel=0)@5", "P(rel=2", "nDCG(dcg='exp-log2')@10", "alpha_nDCG@0", "Judged",
        "\0", "__import__('os').getcwd()", "NumRet", "P@5, nDCG", "(" * 90, "P@" + "9" * 5000,
    ],
)  # fmt: skip
def test_unknown_measures_are_refused_with_examples(name: str) -> None:
    with pytest.raises(InputError) as refusal:
        parse_measure(name)
    assert "nDCG@10" in refusal.value.hint
    assert len(str(refusal.value)) < 450


def test_alpha_ndcg_by_hand() -> None:
    """Two passages answer r1 and r2, one answers r3: the ideal puts the new question second."""
    intents = {"q": Answers(["a", "b", "c"], np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], bool))}
    ideal = 2 + 1 / math.log2(3) + 2 * 0.5 / math.log2(4)
    best = make_alpha_ndcg(intents, 10)({"q": {"a": 3.0, "c": 2.0, "b": 1.0}})
    assert best["q"] == pytest.approx(1.0)
    repeats = make_alpha_ndcg(intents, 10)({"q": {"a": 3.0, "b": 2.0, "x": 1.5, "c": 1.0}})
    assert repeats["q"] == pytest.approx((2 + 1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    cut = make_alpha_ndcg(intents, 1)({"q": {"c": 3.0, "a": 1.0}})
    assert cut["q"] == pytest.approx(1 / 2)
    forgiving = make_alpha_ndcg(intents, 2, alpha=0.0)({"q": {"a": 2.0, "b": 1.0}})
    assert forgiving["q"] == pytest.approx(1.0)
    answered = {"nothing answered": False, "skipped": True, "empty": True}
    intents = {query: Answers(["a"], np.array([[yes]])) for query, yes in answered.items()}
    run = {"nothing answered": {"a": 1.0}, "empty": {}, "unknown": {"a": 1.0}}
    assert make_alpha_ndcg(intents, 10)(run) == {"nothing answered": 0.0}
    relevant = {"a": 1, "c": 1, "f": 1}
    run = {"q": {passage: float(-i) for i, passage in enumerate("abcdefg")}}
    intents = {"q": Answers([*"abcdefg"], np.array([[passage in relevant] for passage in "abcdefg"]))}
    expected = evaluate(["nDCG@5"], {"q": relevant}, run)["nDCG@5"]["q"]
    assert make_alpha_ndcg(intents, 5, alpha=0.0)(run)["q"] == pytest.approx(expected)
    # The ideal breaks ties as NIST's ndeval: after c, each other passage adds 1.5; after a, b would add 2.
    intents = {"q": Answers(["a", "b", "c"], np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]], bool))}
    ideal = 2 + 1.5 / math.log2(3) + 1.5 / 2
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = 2 + 2 / math.log2(3) + 1 / 2
    assert make_alpha_ndcg(intents, 3)(run)["q"] == pytest.approx(found / ideal)
    assert make_alpha_ndcg(intents, 3)({"q": {"c": 3.0, "b": 2.0, "a": 1.0}})["q"] == pytest.approx(1.0)


def test_mean_and_error_count_only_listed_queries_and_touching_bars_overlap() -> None:
    assert mean_and_standard_error([]) == (None, None)
    assert mean_and_standard_error([0.5]) == (0.5, None)
    assert mean_and_standard_error([0.1, 0.1, 0.1]) == (pytest.approx(0.1), pytest.approx(0.0, abs=1e-15))
    mean, error = mean_and_standard_error([1.0, 2.0, 3.0, 4.0])
    assert mean == 2.5
    assert error == pytest.approx(math.sqrt(5 / 3 / 4))
    per_query = {"q1": 1.0, "q2": 0.5, "other": 0.0}
    mean, error, n = system_score(per_query, ["q1", "q2", "q3"], "zero")
    assert (mean, n) == (0.5, 3)
    assert error == pytest.approx(0.5 / math.sqrt(3))
    assert system_score(per_query, ["q1", "q2", "q3"], "ignore")[::2] == (0.75, 2)
    assert system_score({}, ["q1"], "ignore") == (None, None, 0)
    assert bars_overlap(0.94, 0.005, 0.93, 0.005)
    assert bars_overlap(0.93, 0.005, 0.94, 0.005)
    assert bars_overlap(0.17, 0.01, 0.15, 0.01)
    assert not bars_overlap(0.95, 0.005, 0.93, 0.005)
    assert bars_overlap(0.5, None, 0.5, None)
    assert not bars_overlap(0.5, None, 0.51, None)
