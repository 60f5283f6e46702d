"""A small collection for answers: questions with gold answers and passages, runs, and a model that follows a script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query
from tests.made.endpoint_server import Reply, Seen, chat
from tests.made.projects import judge


@dataclass(frozen=True)
class Told:
    """One query of the collection.

    Args:
        gold: text of its gold passage.
        top: ids of the passages that the run retrieves, best first; the gold passage is gold-QUERY.
        answers: its gold answers.
        draws: the model's answers from the gold passage, one per draw.
        answer: its answer from the top of the run.
    """

    gold: str
    top: Sequence[str]
    answers: tuple[str, ...]
    draws: tuple[str, str, str]
    answer: str
    others: Mapping[str, str] = field(default_factory=dict)


def question(query_id: str) -> str:
    return f"What is asked in {query_id}?"


def collection(project: Project, told: Mapping[str, Told], runs: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
    """Add queries, passages, judgments (source NIST) and runs to a project."""
    with project.transaction() as cursor:
        add_queries(
            cursor,
            [
                Query(name, question(name), answer=one.answers[0] if one.answers else None,
                      further_answers=one.answers[1:])
                for name, one in told.items()
            ],
            replace=False,
        )  # fmt: skip
        passages = {f"gold-{name}": one.gold for name, one in told.items()}
        for one in told.values():
            passages |= one.others
        add_passages(cursor, [Passage(name, text) for name, text in passages.items()])
    judge(project, {(name, f"gold-{name}"): 1 for name in told}, "NIST")
    for run, rankings in runs.items():
        put_run(project, run, rankings)


def put_run(project: Project, run: str, rankings: Mapping[str, Sequence[str]]) -> None:
    lines = [
        f"{name} Q0 {passage} {rank} {100 - rank} {run}"
        for name, ranking in rankings.items()
        for rank, passage in enumerate(ranking, 1)
    ]
    import_files(project, "runs", [Source(f"{run}.run", data="\n".join(lines).encode())], "ann")


class Script:
    """A scripted model behind an endpoint, which records its prompts.

    Args:
        told: the collection.
        same: pairs (answer, reference) that it accepts although their wording differs.
        apart: pairs that it rejects although their wording is the same.
    """

    def __init__(
        self, told: Mapping[str, Told], same: Sequence[tuple[str, str]] = (), apart: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.told = told
        self.same, self.apart = set(same), set(apart)
        self.asked: list[str] = []
        self.seeds: list[tuple[object, object]] = []

    def __call__(self, seen: Seen) -> Reply:
        self.asked.append(seen.prompt)
        if "Ground-truth answers:" in seen.prompt:
            return self._compared(seen)
        (name,) = re.findall(r"Question: What is asked in (\w+)\?", seen.prompt)[:1]
        self.seeds.append((seen.body.get("temperature"), seen.body.get("seed")))
        one = self.told[name]
        if seen.body["temperature"]:
            return chat(one.draws[int(seen.body["seed"]) - 1])
        return chat(one.answer)

    def _compared(self, seen: Seen) -> Reply:
        block, prediction = re.findall(
            r"Ground-truth answers:\s*(.*?)\nPrediction:\s*(.*?)\n\nAnswer", seen.prompt, re.DOTALL
        )[0]
        references = [line.removeprefix("- ") for line in block.strip().splitlines()]
        answer = re.sub(r"</?[\w-]+>", "", prediction).strip()
        yes = any(
            (answer == one or (answer, one) in self.same) and (answer, one) not in self.apart for one in references
        )
        word = "Yes" if yes else "No"
        return chat(json.dumps({"answer": word}) if seen.wants_json else word)
