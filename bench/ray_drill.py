"""A drill on a Ray cluster of two nodes: a worker is killed in mid-job, then a node; the grades are those made here.

    python -m bench.ray_drill PROJECT [QUERIES]

Copies of the project are graded with a grader that it does not have yet, once here and once on the cluster. Ray has to
be installed: pip install "exam-workbench[ray]".
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ray.cluster_utils import Cluster as Nodes

from core.catalogue import prompts
from core.graders import Cluster, Control, Outcome, Pair, RayGrader, make_grader
from core.grading import Progress, Request, Scope, run_job
from core.project import Project, open_project
from core.types import Asked

SETTINGS: dict[str, dict[str, Any]] = {"embedding": {"cuts": [0.31, 0.41, 0.51, 0.61, 0.71]}}
"""A grader of its own for the drill, so that everything is missing."""


class Watched(RayGrader):
    """Counts what comes back, and kills a worker at a third of the pairs and a node at two thirds."""

    def __init__(self, total: int, kill_node: Any, *made_of: Any) -> None:
        super().__init__(*made_of)
        self.total, self.kill_node = total, kill_node
        self.came: Counter[Pair] = Counter()
        self.killed: list[str] = []

    def grade(
        self, questions: Mapping[int, Asked], passages: Mapping[int, str], pairs: Sequence[Pair], control: Control
    ) -> Iterator[list[Outcome]]:
        for batch in super().grade(questions, passages, pairs, control):
            self.came.update((question, passage) for question, passage, _ in batch)
            yield batch
            share = len(self.came) / self.total
            if share > 1 / 3 and not self.killed:
                os.kill(self.processes[0], signal.SIGKILL)
                self.killed.append(f"a worker at {len(self.came):,} pairs")
            elif share > 2 / 3 and len(self.killed) == 1:
                self.kill_node()
                self.killed.append(f"a node at {len(self.came):,} pairs")


def main(path: Path, queries: int) -> None:
    ((kind, parameters),) = SETTINGS.items()
    with tempfile.TemporaryDirectory() as folder:
        here, there = (Path(shutil.copy(path, Path(folder) / f"{name}.duckdb")) for name in ("here", "there"))
        local = open_project(here)
        names = [name for (name,) in local.rows("SELECT query_id FROM queries ORDER BY query_key")][:queries]
        request = Request(Scope(queries=tuple(names)))
        began = time.monotonic()
        final = run_job(local, make_grader(kind, parameters), request, "drill")
        say("here", final, time.monotonic() - began)
        expected = grades(local)
        local.close()
        nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1})
        second = nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes()
        project = open_project(there)
        grader = Watched(
            final.total, lambda: nodes.remove_node(second, allow_graceful=False),
            make_grader(kind, parameters).spec, kind, parameters, prompts(project), Cluster(nodes.address, 2),
        )  # fmt: skip
        began = time.monotonic()
        final = run_job(project, grader, request, "drill")
        say("two nodes", final, time.monotonic() - began)
        got = grades(project)
        project.close()
        grader.close()
        nodes.shutdown()
    print(f"killed: {', '.join(grader.killed)}")
    print(f"pairs that came back twice: {sum(count > 1 for count in grader.came.values())}")
    print(f"pairs: {len(expected):,} here, {len(got):,} there; not in both: {len(set(expected) ^ set(got)):,}")
    if got != expected or len(grader.killed) < 2 or max(grader.came.values()) > 1:
        raise SystemExit("The drill failed.")


def say(where: str, final: Progress, seconds: float) -> None:
    print(f"{where}: {final.state}, {final.graded:,} graded, {final.failed:,} failed, {seconds:.1f} s {final.message}")


def grades(project: Project) -> list[tuple[Any, ...]]:
    """The grades of the last job, pair by pair."""
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, answer FROM grades"
        " WHERE job_key = (SELECT max(job_key) FROM jobs) ORDER BY ALL"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 4)
