"""Gold passages of NQ-open as a corpus in which some of them are missed: what is retrieved, and which cases follow."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.graders import unit_vectors
from core.measures import Interval
from core.measures.answers import (
    NEAR,
    RECALL_FAILURES,
    Retrieved,
    Texts,
    Verdicts,
    containing,
    contains,
    conventional,
    correlate_queries,
    likeness,
    propose,
    retrieved,
    score,
)
from core.pipelines import BM25, accepts, judge_scores

DEPTHS = (1, 5, 10)
MISSED, CHANGED = 0.2, 0.2
"""Shares of the gold passages that are taken out of the corpus, and that stand there in another version."""


@dataclass(frozen=True)
class Corpus:
    """Gold passages with what is searched in their place.

    Args:
        ids, texts: of the passages that are searched.
        gold: by question, the id of its gold passage, which may not be among them.
        gold_texts: by id.
        answers: by question.
    """

    ids: list[str]
    texts: list[str]
    gold: dict[str, str]
    gold_texts: dict[str, str]
    answers: dict[str, list[str]]


def corpus(folder: Path, missed: float, changed: float, seed: int = 0) -> Corpus:
    """The gold passages of NQ-open as what is searched, of which some are missing or stand there in another version.

    The other version has another id and says a later year, as the dumps of an encyclopedia differ.
    """
    rows = json.loads((folder / "test_dataset.json").read_text(encoding="utf-8"))
    gold_texts = {str(row["idx_gold_in_corpus"]): row["text"] for row in rows}
    order = sorted(gold_texts)
    random.Random(seed).shuffle(order)
    gone, other = int(missed * len(order)), int((missed + changed) * len(order))
    kept = [(one, gold_texts[one]) for one in order[other:]]
    kept += [(f"{one} of 2019", f"{gold_texts[one]} As of 2019 this was so .") for one in order[gone:other]]
    kept.sort()
    return Corpus(
        [one for one, _ in kept],
        [text for _, text in kept],
        {row["question"]: str(row["idx_gold_in_corpus"]) for row in rows},
        gold_texts,
        {row["question"]: row["answers"] for row in rows},
    )


def ranked(known: Corpus, retriever: str, depth: int) -> dict[str, list[int]]:
    """For every question the places of the best passages, by BM25 or by the sentence encoder."""
    questions = list(known.gold)
    if retriever == "bm25":
        index = BM25(known.texts)
        scores = (index.scores(question) for question in questions)
    else:
        scores = iter(unit_vectors(questions) @ unit_vectors(known.texts).T)
    return {
        question: np.argsort(-row, kind="stable")[:depth].tolist()
        for question, row in zip(questions, scores, strict=True)
    }


def retrieval(say: Callable[..., None], folder: Path) -> None:
    header = (
        "run", "k", "Recall@k", "Precision@k", "F1@k", "F1 of means", "Recall@k, same words", "same words or vectors",
        "no gold passage, but a gold answer",
    )  # fmt: skip
    for what, missed, changed in (("all gold passages", 0.0, 0.0), ("some made to be missed", MISSED, CHANGED)):
        known = corpus(folder, missed, changed)
        say(
            f"nq-open-gold, {what}",
            f"{len(known.gold):,} questions, {len(known.ids):,} passages of {len(known.gold_texts):,} gold ones",
        )
        print(f"| {' | '.join(header)} |\n{'| --- ' * len(header)}|")
        rankings = {retriever: ranked(known, retriever, max(DEPTHS)) for retriever in ("bm25", "embedding")}
        for retriever, places in rankings.items():
            for k in DEPTHS:
                *found, answered_alone = _measured(known, places, k)
                one, *same = map(conventional, found)
                cells = [_mean(one.recall), _mean(one.precision), _mean(one.f1), f"{one.f1_of_means:.3f}"]
                cells += [*(_mean(other.recall) for other in same), f"{answered_alone:.3f}"]
                print(f"| {retriever} | {k} | {' | '.join(cells)} |", flush=True)
        print(f"\n| {' | '.join(CASES_HEADER)} |\n{'| --- ' * len(CASES_HEADER)}|")
        for retriever, places in rankings.items():
            for k in DEPTHS:
                print(f"| {retriever} | {k} | {' | '.join(_cases(known, places, k))} |", flush=True)


def _measured(
    known: Corpus, places: Mapping[str, Sequence[int]], k: int
) -> tuple[list[Retrieved], list[Retrieved], list[Retrieved], float]:
    """What was retrieved by id, by nearly the same words, and by these or vectors; and the share of the questions of
    which no gold passage was, but a passage that has a gold answer in its words (case A at most)."""
    by_id, by_words, by_both, alone = [], [], [], 0
    vectors = unit_vectors(known.texts)
    golden = dict(zip(known.gold_texts, unit_vectors(list(known.gold_texts.values())), strict=True))
    for question, found in places.items():
        gold = known.gold[question]
        ids = [known.ids[at] for at in found[:k]]
        texts = [known.texts[at] for at in found[:k]]
        words = likeness(texts, [known.gold_texts[gold]])[:, 0]
        both = np.maximum(words, vectors[found[:k]] @ golden[gold])
        by_id.append(retrieved(ids, {gold}, k))
        for recalled, alike in ((by_words, words), (by_both, both)):
            same = {one: [gold] for one, value in zip(ids, alike, strict=True) if value >= NEAR}
            recalled.append(retrieved(ids, {gold}, k, same))
        alone += not by_both[-1].any and containing(texts, known.answers[question]) is not None
    return by_id, by_words, by_both, alone / len(places)


def _mean(found: tuple[float | None, float | None]) -> str:
    return f"{found[0]:.3f} ± {found[1]:.3f}"


CASES_HEADER = ("run", "k", "Recall@k", "LLM-retEval@k", "GPT-Eval@k", "ρ", "ρ without A, B, C", *"ABCDEFK")


def read_aloud(passages: Sequence[str], answers: Sequence[str]) -> str:
    """The answer of a reader that knows a right answer when it meets one: the first in the passages, or nothing."""
    for text in passages:
        for answer in answers:
            if contains(text, answer):
                return answer
    return "unanswerable"


def _cases(known: Corpus, places: Mapping[str, Sequence[int]], k: int) -> list[str]:
    """Scores, correlation and proposed cases of a run where that reader answers and exact match compares."""
    vectors = unit_vectors(known.texts)
    golden = dict(zip(known.gold_texts, unit_vectors(list(known.gold_texts.values())), strict=True))
    texts = {query: [known.texts[at] for at in found[:k]] for query, found in places.items()}
    said = {query: read_aloud(texts[query], known.answers[query]) for query in places}
    draws = {query: read_aloud([known.gold_texts[known.gold[query]]], known.answers[query]) for query in places}
    compared = {
        name: [accepts("em", one) for one in judge_scores("em", pairs)]
        for name, pairs in {
            "e": [(said[query], [draws[query]]) for query in places],
            "t": [(said[query], known.answers[query]) for query in places],
            "s": [(draws[query], known.answers[query]) for query in places],
        }.items()
    }
    recall, cases = {}, {}
    for at, (query, found) in enumerate(places.items()):
        gold = known.gold[query]
        recall[query] = retrieved([known.ids[place] for place in found[:k]], {gold}, k).any
        similar = likeness(texts[query], [known.gold_texts[gold]], vectors[found[:k]] @ golden[gold][:, None])
        verdicts = Verdicts(recall[query], *(compared[name][at] for name in "ets"))
        if verdicts.part:
            behind = Texts(said[query], texts[query], [draws[query]], known.answers[query], similar)
            cases[query] = propose(verdicts, behind).case
    numbers = {name: dict(zip(places, map(float, values), strict=True)) for name, values in compared.items()}
    numbers["r"] = {query: float(value) for query, value in recall.items()}
    refined = [query for query, case in cases.items() if case in RECALL_FAILURES]
    counts = Counter(cases.values())
    return [
        *(f"{score(numbers[name], places).mean:.3f}" for name in "ret"),
        *(_rho(correlate_queries(numbers["r"], numbers["e"], removed).spearman) for removed in ((), refined)),
        *(str(counts[case]) for case in "ABCDEFK"),
    ]


def _rho(one: Interval) -> str:
    return "undefined" if one.value is None else f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"
