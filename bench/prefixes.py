"""How much of what is read was read with the prompt before, by prompt and by order of the calls.

    python -m bench.prefixes PROJECT [QUERIES]

Nothing is asked, and a copy of the project is looked at. Tokens are estimated at four characters each.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from core.bank import latest_version
from core.graders import PairsToGrade, ReadingGrader, built_in, make_grader
from core.grading import Scope, first_prompt, pairs_to_grade, read_before, with_texts
from core.project import Project, open_project

KINDS = ("self-rating", "answer", "direct")
BLOCK = 16
"""Tokens by which vLLM keeps the beginnings of prompts."""


def main(path: Path, queries: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = open_project(Path(shutil.copy(path, folder)))
        orders = "the job's | by question | by passage | at random"
        print(f"| method | prompt | fenced | tokens a call | {orders} | the job's, from 1,024 tokens |")
        print("| --- | --- | --- " + "| ---: " * 6 + "|")
        for kind in KINDS:
            for prompt in sorted(
                one.name for one in built_in().values() if one.use == kind and "question" in one.kinds
            ):
                for fence in (False, True):
                    if line := row(project, kind, prompt, fence, queries):
                        print(line)
        project.close()


def row(project: Project, kind: str, prompt: str, fence: bool, queries: int) -> str:
    parameters = {
        "model": "m",
        "back_end": "openai",
        "base_url": "http://localhost:9/v1",
        "prompt": prompt,
        "fence": fence,
    }
    grader = make_grader(kind, parameters)
    assert isinstance(grader, ReadingGrader)
    groups, texts = pairs_of(project, grader, queries)
    if not groups:
        # As a prompt that reads the answer to a query, which this collection has none of.
        return ""
    said = {pair: first_prompt(grader, texts, pair) for group in groups for pair in group}
    orders = (
        [pair for group in groups for pair in grader.ordered(group)],
        [pair for group in groups for pair in sorted(group)],
        [pair for group in groups for pair in sorted(group, key=lambda pair: pair[::-1])],
        random.Random(0).sample(list(said), len(said)),
    )
    shares = [read_before([said[pair] for pair in order], BLOCK, BLOCK) for order in orders]
    shares.append(read_before([said[pair] for pair in orders[0]]))
    mean = sum(len(text) // 4 + 1 for text in said.values()) / len(said)
    cells = " | ".join(f"{share:.0%}" for share in shares)
    return f"| {kind} | {prompt} | {'yes' if fence else 'no'} | {mean:.0f} | {cells} |"


def pairs_of(project: Project, grader: ReadingGrader, queries: int) -> tuple[list[list[tuple[int, int]]], PairsToGrade]:
    """The pairs of the first queries, whether they are graded or not, with their texts."""
    asks = grader.spec if grader.spec.method == "direct" else replace(grader.spec, parameters={})
    names = [name for (name,) in project.rows("SELECT query_id FROM queries ORDER BY query_key")][:queries]
    groups = pairs_to_grade(project, asks, latest_version(project), Scope(queries=tuple(names)))
    texts = with_texts(project, asks, [pair for group in groups for pair in group])
    if grader.spec.method == "answer":
        # The prompt of the first call does not read the key that the answer is checked with.
        texts.questions.update({key: replace(asked, answer_key="key") for key, asked in texts.questions.items()})
    return groups, texts


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 6)
