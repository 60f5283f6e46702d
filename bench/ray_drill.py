"""Drill of exam grade-plan on two local Ray nodes: a worker and a node are killed while it grades.

    python -m bench.ray_drill PROJECT [QUERIES]

Copies of the project are graded with an embedding grader that it does not have yet. One copy is graded in this
process, the other by plan, cluster and ingest. The grades must be the same, and no pair may be in the folder twice.
The drill counts pairs that workers began more than once, because a model behind an endpoint would bill them again.
Ray must be installed: pip install "exam-workbench[ray]".
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bench.figures import timed
from exam_workbench.graders import _plan_files as adapter, grade_plan, make_grader
from exam_workbench.graders._plan_files import GraderOnWorker
from exam_workbench.grading import Request, Scope, import_grade_files, run_job, write_missing
from exam_workbench.store import Project, open_project

SETTINGS = {"cuts": [0.31, 0.41, 0.51, 0.61, 0.71]}
"""Settings of a grader that no project has, so that every pair is missing."""
BEGUN = "EXAM_DRILL_BEGUN"
"""Environment variable with the folder in which every worker writes the names of the pairs that it begins."""
LOOK_SECONDS = 0.1


class WatchedWorker(GraderOnWorker):
    """A worker that records the pairs that it begins, so that repeated ones can be counted."""

    def __call__(self, table: Any) -> Any:
        with open(Path(os.environ[BEGUN], str(os.getpid())), "a", encoding="utf-8") as out:
            out.writelines(f"{name}\n" for name in table["custom_id"].to_pylist())
        return super().__call__(table)


def drill(scratch: Path, path: Path, queries: int = 3) -> bool:
    """Grade a project both ways in a folder and compare; return whether all checks pass."""
    here, there = (open_project(Path(shutil.copy(path, scratch / f"{name}.duckdb"))) for name in ("here", "there"))
    grader = make_grader("embedding", SETTINGS)
    names = [name for (name,) in here.rows("SELECT query_id FROM queries ORDER BY query_key LIMIT ?", [queries])]
    scope, plan, folder = Scope(queries=tuple(names)), scratch / "plan.parquet", scratch / "grades"
    alone, _ = timed(time.monotonic, run_job, here, grader, Request(scope), "drill")
    write_missing(there, grader, plan, 1, scope, parameters=SETTINGS)
    begun = scratch / "begun"
    begun.mkdir()
    os.environ[BEGUN] = str(begun)
    killed, seconds, done = _grade_with_kills(plan, folder, begun)
    files = sorted(folder.glob("*.parquet"))
    rows = [name for file in files for name in pq.read_table(file)["custom_id"].to_pylist()]
    taken = import_grade_files(there, grader, files, "drill")
    unlike = len(set(grades(here, grader.spec.fingerprint)) ^ set(grades(there, grader.spec.fingerprint)))
    for project in (here, there):
        project.close()
    starts = Counter(begun_pairs(begun))
    found = {
        "pairs": done.rows,
        "graded": taken.graded,
        "failed": taken.failed,
        "killed": ", ".join(killed),
        "pairs in the folder twice": len(rows) - len(set(rows)),
        "grades unlike those of one process": unlike,
        "pairs begun again": sum(starts.values()) - len(starts),
        "workers": len(list(begun.iterdir())),
        "seconds on the cluster": round(seconds),
        "seconds in one process": round(alone),
    }
    for what, value in found.items():
        print(f"{what}: {value:,}" if isinstance(value, int) else f"{what}: {value}", flush=True)
    return len(killed) == 2 and not unlike and len(rows) == len(set(rows)) == done.rows


def _grade_with_kills(plan: Path, folder: Path, begun: Path) -> tuple[list[str], float, adapter.GradedPlan]:
    """Grade on two nodes; kill a worker after a third of the pairs, and a node after two thirds."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    total, killed, over = pq.read_metadata(plan).num_rows, list[str](), threading.Event()

    def kill_worker() -> None:
        os.kill(int(max(begun.iterdir(), key=lambda file: file.stat().st_mtime).name), signal.SIGKILL)

    def watch() -> None:
        kills = [("a worker", kill_worker), ("a node", partial(nodes.remove_node, second, allow_graceful=False))]
        while len(killed) < len(kills) and not over.wait(LOOK_SECONDS):
            name, kill = kills[len(killed)]
            if (at := len(set(begun_pairs(begun)))) > (len(killed) + 1) / 3 * total:
                kill()
                killed.append(f"{name} at {at:,} pairs")

    watching = threading.Thread(target=watch)
    watching.start()
    adapter.GraderOnWorker = WatchedWorker  # type: ignore[misc]
    try:
        grade = partial(grade_plan, report=partial(print, flush=True))
        return killed, *timed(time.monotonic, grade, plan, folder, nodes.address, 2)
    finally:
        over.set()
        watching.join()
        nodes.shutdown()


def begun_pairs(folder: Path) -> list[str]:
    """Return the names of all pairs that workers began, once for each time."""
    return [name for file in folder.iterdir() for name in file.read_text(encoding="utf-8").split()]


def grades(project: Project, fingerprint: str) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, answer FROM grades JOIN graders USING (grader_key)"
        " WHERE fingerprint = ?",
        [fingerprint],
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        if not drill(Path(scratch), Path(sys.argv[1]), *map(int, sys.argv[2:])):
            raise SystemExit("The drill failed.")
