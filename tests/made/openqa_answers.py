"""Checked answers of twelve systems to 301 questions of NQ-open (OpenQA-eval, Kamalloo et al. 2023)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from exam_workbench.measures.answers._answer_texts import normalise_text

SYSTEMS = (
    "ANCE-plus_FiD", "Contriever_FiD", "DPR", "EMDR2", "EviGen", "FiD", "FiD-KD", "GAR-plus_FiD", "R2D2",
    "Rocketv2_FiD",
)  # fmt: skip
MODELS = ("text-davinci-003_zeroshot", "text-davinci-003_fewshot-n64")
PUBLISHED = {"BEM": (3, 4), "text-davinci-003": (None, 2), "gpt-4": (2, 3)}
"""Published automatic answer checks: the columns of the answer and of the check. None if column 1
holds question and answer.
"""


@dataclass(frozen=True)
class Answered:
    """An answer of a system, with the checks by people and the published automatic checks."""

    system: str
    question: str
    answer: str
    gold: tuple[str, ...]
    people: bool
    published: Mapping[str, bool | None]


def answered(folder: Path) -> list[Answered]:
    """Return the answers of the twelve systems that people checked."""
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
        said[row[1], normalise_text(row[2])] = row[3] == "Yes", verdicts
    found = []
    for system in (*SYSTEMS, *MODELS):
        for line in (folder / f"NQ_{system}.jsonl" if system in SYSTEMS else folder / f"NQ301_{system}.jsonl").open(
            encoding="utf-8"
        ):
            row = json.loads(line)
            given = row["prediction"]
            answer = ", ".join(given) if isinstance(given, list) else given
            verdict = said.get((row["question"], normalise_text(answer)))
            if verdict is not None:
                found.append(Answered(system, row["question"], answer, tuple(row["answer"]), *verdict))
    return found


def _key(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isalnum())


def _rows(file: Path) -> list[list[str]]:
    lines = file.read_text(encoding="utf-8").splitlines()[1:]
    return [[cell.strip().removeprefix('"').removesuffix('"') for cell in line.split("\t")] for line in lines]
