"""Judges of answers beside people's verdicts, and retrieval of gold passages with some of them made to be missed."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.graders import unit_vectors
from core.measures import Interval, choosing
from core.measures.answers import (
    NEAR,
    Against,
    Retrieved,
    Tested,
    against_people,
    containing,
    conventional,
    halves_test,
    likeness,
    plain,
    retrieved,
)
from core.pipelines import BM25, JUDGES, accepts, judge_scores

SYSTEMS = (
    "ANCE-plus_FiD", "Contriever_FiD", "DPR", "EMDR2", "EviGen", "FiD", "FiD-KD", "GAR-plus_FiD", "R2D2",
    "Rocketv2_FiD",
)  # fmt: skip
MODELS = ("text-davinci-003_zeroshot", "text-davinci-003_fewshot-n64")
PUBLISHED = {"BEM": (3, 4), "text-davinci-003": (None, 2), "gpt-4": (2, 3)}
"""Machine judges whose verdicts come with the data: the columns of the answer and of the verdict. In one file the
answer follows the question in the same column."""
DEPTHS = (1, 5, 10)
MISSED, CHANGED = 0.2, 0.2
"""Shares of the gold passages that are taken out of the corpus, and that stand there in another version."""


@dataclass(frozen=True)
class Answered:
    """What a system answered to a question, with people's verdict and those of the published judges."""

    system: str
    question: str
    answer: str
    gold: tuple[str, ...]
    people: bool
    published: Mapping[str, bool | None]


def answers(say: Callable[..., None], shared: Path) -> None:
    """Print how well every judge agrees with people, and what is retrieved where gold passages are missed."""
    folders = shared / "openqa-eval", shared / "nq-open-gold"
    for folder, measure in zip(folders, (_judges, _retrieval), strict=True):
        if folder.exists():
            measure(say, folder)
        else:
            say("answers", f"left out: {folder} is not there")


def answered(folder: Path) -> list[Answered]:
    """The answers of the twelve systems that people have a verdict on."""
    machines = {
        name: {
            _key(row[1] + (row[text] if text else "")): {"Yes": True, "No": False}.get(row[verdict])
            for row in _rows(folder / f"NQ301_{name}.tsv")
        }
        for name, (text, verdict) in PUBLISHED.items()
    }
    said: dict[tuple[str, str], tuple[bool, dict[str, bool | None]]] = {}
    for row in _rows(folder / "NQ301_human.tsv"):
        verdicts = {name: known.get(_key(row[1] + row[2])) for name, known in machines.items()}
        said[row[1], plain(row[2])] = row[3] == "Yes", verdicts
    found = []
    for system in (*SYSTEMS, *MODELS):
        for line in (folder / f"NQ_{system}.jsonl" if system in SYSTEMS else folder / f"NQ301_{system}.jsonl").open(
            encoding="utf-8"
        ):
            row = json.loads(line)
            given = row["prediction"]
            answer = ", ".join(given) if isinstance(given, list) else given
            verdict = said.get((row["question"], plain(answer)))
            if verdict is not None:
                found.append(Answered(system, row["question"], answer, tuple(row["answer"]), *verdict))
    return found


def _key(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum())


def _rows(file: Path) -> list[list[str]]:
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    return [[cell.strip().removeprefix('"').removesuffix('"') for cell in line.split("\t")] for line in lines]


def _judges(say: Callable[..., None], folder: Path) -> None:
    rows = answered(folder)
    people, questions = [row.people for row in rows], [row.question for row in rows]
    pairs = [(row.answer, row.gold) for row in rows]
    say(
        "openqa-eval",
        f"{len(rows):,} answers of {len({row.system for row in rows})} systems to {len(set(questions))} questions",
        f"people accept {np.mean(people):.3f}",
    )
    print("| judge | threshold | accuracy | kappa | precision | recall | seconds |\n| --- " + "| --- " * 6 + "|")
    tables = {"people": _by_system(rows, people)}
    tested: dict[str, Tested | None] = {}
    for name, judge in JUDGES.items():
        if judge.needs == "model":
            continue
        start = time.perf_counter()
        scores = judge_scores(name, pairs)
        took = time.perf_counter() - start
        verdicts = [accepts(name, score) for score in scores]
        tables[name] = _by_system(rows, verdicts)
        _print(f"`{name}`", f"{judge.threshold:g}", against_people(verdicts, people, questions), f"{took:.1f}")
        if judge.graded:
            tested[name] = halves_test(scores, people, judge.threshold, questions)
    for name in PUBLISHED:
        verdicts = [row.published[name] for row in rows]
        tables[name] = _by_system(rows, verdicts)
        _print(f"{name}, published", "", against_people(verdicts, people, questions), "")
    print("\n| judge | chosen on half | kappa on the other half | at the usual threshold | accuracy | at the usual |")
    print("| --- " * 6 + "|")
    for name, one in tested.items():
        if one is not None:
            cells = one.tested.kappa, one.usual.kappa, one.tested.accuracy, one.usual.accuracy
            print(f"| `{name}` | {one.threshold:.2f} | {' | '.join(map(_shown, cells))} |")
    found = choosing(tables)
    print("\n| evaluation | best system | its share | Kendall with people | same choice as people | what it loses |")
    print("| --- " * 6 + "|")
    beside = {one.one: one for one in found.pairings if one.other == "people"}
    for one in found.choices:
        best = one.chosen[0]
        cells = [one.evaluation, " and ".join(one.chosen), f"{one.scores[best][0]:.3f} ± {one.scores[best][1]:.3f}"]
        if one.evaluation in beside:
            pairing = beside[one.evaluation]
            cells += [_shown(pairing.kendall), f"{pairing.same_chance:.2f} of resamples", _shown(pairing.loss)]
        print(f"| {' | '.join([*cells, '', '', ''][:6])} |")


def _by_system(rows: Sequence[Answered], verdicts: Sequence[bool | None]) -> dict[str, dict[str, float | None]]:
    """Verdicts by system and question; an answer that people have no verdict on counts for nobody."""
    every = {row.question for row in rows}
    table: dict[str, dict[str, float | None]] = {row.system: dict.fromkeys(every) for row in rows}
    for row, verdict in zip(rows, verdicts, strict=True):
        table[row.system][row.question] = None if verdict is None else float(verdict)
    return table


def _print(name: str, threshold: str, found: Against, seconds: str) -> None:
    cells = map(_shown, (found.accuracy, found.kappa, found.precision, found.recall))
    print(f"| {name} | {threshold} | {' | '.join(cells)} | {seconds} |", flush=True)


def _shown(one: Interval) -> str:
    if one.value is None:
        return "undefined"
    return f"{one.value:.3f}" + ("" if one.low is None else f" ({one.low:.3f} to {one.high:.3f})")


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


def _retrieval(say: Callable[..., None], folder: Path) -> None:
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
        for retriever in ("bm25", "embedding"):
            places = ranked(known, retriever, max(DEPTHS))
            for k in DEPTHS:
                *found, answered_alone = _measured(known, places, k)
                one, *same = map(conventional, found)
                cells = [_mean(one.recall), _mean(one.precision), _mean(one.f1), f"{one.f1_of_means:.3f}"]
                cells += [*(_mean(other.recall) for other in same), f"{answered_alone:.3f}"]
                print(f"| {retriever} | {k} | {' | '.join(cells)} |", flush=True)


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
