"""Judges of answers beside people's verdicts, and beside the published machine judges."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.missed_gold import retrieval
from core.measures import Interval, choosing
from core.measures.answers import (
    Against,
    Tested,
    against_people,
    halves_test,
    plain,
)
from core.pipelines import JUDGES, accepts, judge_scores

SYSTEMS = (
    "ANCE-plus_FiD", "Contriever_FiD", "DPR", "EMDR2", "EviGen", "FiD", "FiD-KD", "GAR-plus_FiD", "R2D2",
    "Rocketv2_FiD",
)  # fmt: skip
MODELS = ("text-davinci-003_zeroshot", "text-davinci-003_fewshot-n64")
PUBLISHED = {"BEM": (3, 4), "text-davinci-003": (None, 2), "gpt-4": (2, 3)}
"""Machine judges whose verdicts come with the data: the columns of the answer and of the verdict. In one file the
answer follows the question in the same column."""


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
    for folder, measure in zip(folders, (_judges, retrieval), strict=True):
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
