"""Checked answers of twelve systems to 301 questions of NQ-open (OpenQA-eval, Kamalloo et al. 2023)."""

import json
from dataclasses import dataclass
from pathlib import Path

from exam_workbench.measures.answers._answer_texts import normalise_text

SYSTEMS = (
    "NQ_ANCE-plus_FiD", "NQ_Contriever_FiD", "NQ_DPR", "NQ_EMDR2", "NQ_EviGen", "NQ_FiD", "NQ_FiD-KD",
    "NQ_GAR-plus_FiD", "NQ_R2D2", "NQ_Rocketv2_FiD", "NQ301_text-davinci-003_zeroshot",
    "NQ301_text-davinci-003_fewshot-n64",
)  # fmt: skip
"""The files of their answers."""


@dataclass(frozen=True)
class Answered:
    """An answer of a system, with the check by people."""

    system: str
    question: str
    answer: str
    gold: tuple[str, ...]
    people: bool


def answered(folder: Path) -> list[Answered]:
    """Return the answers of the twelve systems that people checked."""
    rows = (folder / "NQ301_human.tsv").read_text(encoding="utf-8").splitlines()[1:]
    cells = ([cell.strip().removeprefix('"').removesuffix('"') for cell in row.split("\t")] for row in rows)
    said = {(question, normalise_text(answer)): verdict == "Yes" for _, question, answer, verdict, *_ in cells}
    found = []
    for system in SYSTEMS:
        for line in (folder / f"{system}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            given = row["prediction"]
            answer = ", ".join(given) if isinstance(given, list) else given
            verdict = said.get((row["question"], normalise_text(answer)))
            if verdict is not None:
                found.append(Answered(system, row["question"], answer, tuple(row["answer"]), verdict))
    return found
