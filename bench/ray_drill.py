"""Drills on a Ray cluster of two nodes: whatever is killed, the grades are those made here, and nothing is asked twice.

    python -m bench.ray_drill PROJECT [QUERIES] [DRILL ...]

    killed   a worker is killed at a third of the pairs, and a node at two thirds
    shards   the same, with shards in a folder
    deadly   a pair of texts takes every worker down that grades it
    desk     what hands out the blocks is killed at a third of the pairs
    driver   the program that started the job is killed in the middle, and the job is given again

Copies of the project are graded with a grader that it does not have yet, once here and once on the cluster. Without a
DRILL all are done. Ray has to be installed: pip install "exam-workbench[ray]".
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from bench.deadly import Word
from core.catalogue import prompts
from core.graders import Cluster, Control, Outcome, Pair, PairsToGrade, RayGrader, ShardFolder, make_grader, read_shard
from core.grading import Request, Scope, pairs_to_grade, run_job, take_in_folder
from core.project import Project, open_project

KIND, SETTINGS = "embedding", {"cuts": [0.31, 0.41, 0.51, 0.61, 0.71]}
"""A grader of its own for the drills, so that everything is missing."""
LEFT = 4
"""Shards that lie in the folder when the driver is killed, at least."""
Kill = Callable[[RayGrader, float], str | None]
"""Is told the share of pairs that came; what it killed, if anything."""


class Watched(RayGrader):
    """Counts what comes back, and lets something be killed meanwhile."""

    def __init__(self, total: int, kill: Kill, *made_of: Any) -> None:
        super().__init__(*made_of)
        self.total, self.kill = total, kill
        self.came: Counter[Pair] = Counter()
        self.killed: list[str] = []

    def grade_all(self, chunks: Iterable[PairsToGrade], control: Control) -> Iterator[list[Outcome]]:
        for batch in super().grade_all(chunks, control):
            self.came.update((question, passage) for question, passage, _ in batch)
            yield batch
            what = self.kill(self, len(self.came) / self.total)
            if what:
                self.killed.append(f"{what} at {len(self.came):,} pairs")


class Drills:
    """The drills on some queries of a project.

    Args:
        path: of the project, which is copied.
        queries: how many.
        scratch: a folder for the copies.
    """

    def __init__(self, path: Path, queries: int, scratch: Path) -> None:
        self.path, self.scratch = path, scratch
        with_all = self.copy("here")
        names = [name for (name,) in with_all.rows("SELECT query_id FROM queries ORDER BY query_key")][:queries]
        self.request = Request(Scope(queries=tuple(names)))
        grader = make_grader(KIND, SETTINGS)
        groups = pairs_to_grade(with_all, grader.spec, 1, self.request.scope)
        self.passages = [passage for group in groups for _, passage in group]
        final = run_job(with_all, grader, self.request, "drill")
        say("here", final.total, final.graded, final.failed, "nothing", 0, 0, final.seconds)
        self.expected, self.total = grades(with_all), final.total
        with_all.close()

    def copy(self, name: str) -> Project:
        return open_project(Path(shutil.copy(self.path, self.scratch / f"{name}.duckdb")))

    def killed(self, shards: str | None = None) -> bool:
        from ray.cluster_utils import Cluster as Nodes

        nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1})
        second = nodes.add_node(num_cpus=1)
        nodes.wait_for_nodes()

        def kill(grader: RayGrader, share: float) -> str | None:
            done = len(watched.killed)
            if share > 1 / 3 and not done and grader.processes:
                os.kill(grader.processes[0], signal.SIGKILL)
                return "a worker"
            if share > 2 / 3 and done == 1:
                nodes.remove_node(second, allow_graceful=False)
                return "a node"
            return None

        project = self.copy("there")
        watched = self.watched(project, kill, Cluster(nodes.address, 2, shards=shards))
        final = run_job(project, watched, self.request, "drill")
        watched.close()
        nodes.shutdown()
        got = grades(project)
        project.close()
        unlike = len(set(got) ^ set(self.expected))
        twice = sum(count > 1 for count in watched.came.values())
        name = "a worker and a node" + (", shards" if shards else "")
        say(name, final.total, final.graded, final.failed, ", ".join(watched.killed), twice, unlike, final.seconds)
        return len(watched.killed) == 2 and not twice and not unlike

    def shards(self) -> bool:
        folder = self.scratch / "shards"
        fine = self.killed(str(folder))
        lying = [pair for shard in found(folder) for pair in shard]
        print(f"pairs in shards: {len(lying):,}, of them twice: {len(lying) - len(set(lying)):,}", flush=True)
        return fine and len(lying) == len(set(lying)) == self.total

    def desk(self) -> bool:
        def kill(grader: RayGrader, share: float) -> str | None:
            if share < 1 / 3 or watched.killed or grader._course is None:
                return None
            grader._ray.kill(grader._course._stream.desk)
            return "the desk"

        project = self.copy("desk")
        watched = self.watched(project, kill, Cluster(workers=2))
        final = run_job(project, watched, self.request, "drill")
        watched.close()
        got = grades(project)
        project.close()
        unlike = len(set(got) ^ set(self.expected))
        twice = sum(count > 1 for count in watched.came.values())
        killed = ", ".join(watched.killed)
        say("the desk", final.total, final.graded, final.failed, killed, twice, unlike, final.seconds)
        return len(watched.killed) == 1 and not twice and not unlike

    def watched(self, project: Project, kill: Kill, cluster: Cluster) -> Watched:
        spec = make_grader(KIND, SETTINGS).spec
        return Watched(self.total, kill, spec, KIND, SETTINGS, prompts(project), cluster)

    def deadly(self) -> bool:
        project = self.copy("deadly")
        key = self.passages[len(self.passages) // 2]
        (((text,),)) = project.rows("SELECT text FROM passage_texts WHERE text_key = ?", [key])
        settings = {"word": Word(text)}
        spec = make_grader("deadly", settings).spec
        cluster = Cluster(workers=2)
        grader = Watched(self.total, lambda *_: None, spec, "deadly", settings, prompts(project), cluster)
        final = run_job(project, grader, self.request, "drill")
        grader.close()
        print(final.message, flush=True)
        failed = project.rows(
            "SELECT passage_text_key, reason FROM failures WHERE job_key = (SELECT max(job_key) FROM jobs)"
        )
        project.close()
        twice = sum(count > 1 for count in grader.came.values())
        say(
            "a deadly passage",
            final.total,
            final.graded,
            final.failed,
            "whoever met it",
            twice,
            "not compared",
            final.seconds,
        )
        print(f"failed: {Counter(reason for _, reason in failed)}", flush=True)
        hurt = self.passages.count(key)
        return {passage for passage, _ in failed} == {key} and final.failed == hurt and not twice

    def driver(self) -> bool:
        folder = self.scratch / "left"
        project = self.copy("driver")
        project.close()
        command = [sys.executable, "-m", "bench.ray_drill", "--job", str(project.path), str(folder)]
        first = subprocess.Popen([*command, *(self.request.scope.queries or ())])
        while len(list(folder.glob("*.parquet"))) < LEFT and first.poll() is None:
            time.sleep(0.2)
        first.kill()
        first.wait()
        project = open_project(project.path)
        grader = make_grader(KIND, SETTINGS)
        committed = project.value("SELECT count(*) FROM grades g JOIN graders USING (grader_key) WHERE fingerprint = ?",
                                  [grader.spec.fingerprint])  # fmt: skip
        before = found(folder)
        began = time.monotonic()
        taken = take_in_folder(project, grader, ShardFolder(str(folder)), "drill").taken
        watched = self.watched(project, lambda *_: None, Cluster(workers=2, shards=str(folder)))
        final = run_job(project, watched, self.request, "drill")
        watched.close()
        got = all_grades(project, grader.spec.fingerprint)
        project.close()
        lying = [pair for shard in found(folder) for pair in shard]
        unlike, twice = len(set(got) ^ set(self.expected)), len(lying) - len(set(lying))
        print(f"in shards when the driver died: {sum(map(len, before)):,}; of them committed: {committed:,};"
              f" taken in: {taken.graded + taken.failed:,}; asked after it: {final.total:,}", flush=True)  # fmt: skip
        say("the driver", self.total, len(got), final.failed, "the driver", twice, unlike, time.monotonic() - began)
        return not unlike and not twice and final.total == self.total - sum(map(len, before))


def found(folder: Path) -> list[list[Pair]]:
    """The pairs in the shards of a folder."""
    shards = [read_shard(path.read_bytes()) for path in folder.glob("*.parquet")]
    return [[(question, passage) for question, passage, _ in shard.outcomes] for shard in shards]


def say(drill: str, *columns: Any) -> None:
    """A row: drill, pairs, graded, failed, killed, twice, unlike, seconds."""
    *others, seconds = columns
    shown = [f"{one:,}" if isinstance(one, int) else str(one) for one in others]
    print(f"| {drill} | {' | '.join(shown)} | {seconds:.0f} s |", flush=True)


def grades(project: Project) -> list[tuple[Any, ...]]:
    """The grades of the last job, pair by pair."""
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, answer FROM grades"
        " WHERE job_key = (SELECT max(job_key) FROM jobs) ORDER BY ALL"
    )


def all_grades(project: Project, fingerprint: str) -> list[tuple[Any, ...]]:
    """The grades of a grader, pair by pair."""
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, answer FROM grades JOIN graders USING (grader_key)"
        " WHERE fingerprint = ? ORDER BY ALL",
        [fingerprint],
    )


def job(path: Path, folder: str, queries: tuple[str, ...]) -> None:
    """The job whose driver is killed."""
    project = open_project(path)
    spec = make_grader(KIND, SETTINGS).spec
    grader = RayGrader(spec, KIND, SETTINGS, prompts(project), Cluster(workers=2, shards=folder))
    run_job(project, grader, Request(Scope(queries=queries)), "drill")


def main(path: Path, *words: str) -> None:
    queries = int(words[0]) if words and words[0].isdigit() else 3
    wanted = [word for word in words if not word.isdigit()] or ["killed", "shards", "deadly", "desk", "driver"]
    print("| drill | pairs | graded | failed | killed | came or graded twice | unlike those made here | |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as scratch:
        drills = Drills(path, queries, Path(scratch))
        missed = [name for name in wanted if not getattr(drills, name)()]
    if missed:
        raise SystemExit(f"Failed: {', '.join(missed)}.")


if __name__ == "__main__":
    if sys.argv[1] == "--job":
        job(Path(sys.argv[2]), sys.argv[3], tuple(sys.argv[4:]))
    else:
        main(Path(sys.argv[1]), *sys.argv[2:])
