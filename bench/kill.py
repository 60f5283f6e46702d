"""Kill a process with -9 at random moments of its work, again and again, and look whether anything is lost.

Usage: python bench/kill.py [--times N] [--seed N]

A process of its own works on a project and sends a line after each act that was committed: a draft, a saved bank, an
override, a judgment, an import, a batch of grades, an upgrade of an older project, a backup, a publication. It is
killed; then another one opens the project again, runs `exam check`, and looks for every act that was acknowledged,
those of earlier rounds too.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from core import bank
from core.exchange import check, import_files, publications, publish, reproduce
from core.formats import Source
from core.graders import Control, Outcome, Pair
from core.grading import Progress, Request, close_interrupted, run_job
from core.labels import Policy, override
from core.project import Project, backup, create, judging, migrations, open_project, verify
from core.types import Asked, Grade, GraderSpec, Question

ROUNDS_A_PROJECT = 40
"""After so many rounds a new project is begun, so that each round stays short."""
LONGEST = 1.2
"""Seconds of work after which a process is killed at the latest."""
QUERIES, PASSAGES = 4, 12
OLD = 14
"""Migrations that the older project has seen."""

Ack = tuple[str, list[Any]]


class Quick:
    """A grader that needs no model: the rating of a pair is its numbers' sum, in batches of five."""

    def __init__(self, name: str) -> None:
        self.spec = GraderSpec(name, "self-rating", name)

    def grade(
        self,
        questions: Mapping[int, Asked],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control | None = None,
    ) -> Iterator[list[Outcome]]:
        for at in range(0, len(pairs), 5):
            yield [(q, p, Grade((q + p) % 6, "graded")) for q, p in pairs[at : at + 5]]


def begin(folder: Path) -> None:
    """Make the project to be worked on, and an older one to be upgraded."""
    every = migrations.MIGRATIONS
    migrations.MIGRATIONS = every[:OLD]
    try:
        old = create(folder / "old.duckdb")
        with old.transaction() as cursor:
            cursor.execute(
                "INSERT INTO queries SELECT nextval('keys'), 'q' || i, 'old ' || i, NULL, NULL FROM range(1, 400) t(i)"
            )
        old.close()
    finally:
        migrations.MIGRATIONS = every
    project = create(folder / "drill.duckdb")
    rows = [f"q{q} Q0 q{q}-{p} {p} {100 - p} one" for q in range(QUERIES) for p in range(1, PASSAGES)]
    queries = "".join(json.dumps({"query_id": f"q{q}", "text": f"query {q}"}) + "\n" for q in range(QUERIES))
    passages = "".join(f"q{q}-{p}\ttext of passage {q} {p}\n" for q in range(QUERIES) for p in range(1, PASSAGES))
    import_files(project, "queries", [Source("q.jsonl", data=queries.encode())], "drill")
    import_files(project, "passages", [Source("p.tsv", data=passages.encode())], "drill")
    import_files(project, "runs", [Source("one.run", data="\n".join(rows).encode() + b"\n")], "drill")
    # One question of each query stays as it is, so that there is always a label to be published.
    asked = [
        Question(f"q{q}/{name}", f"q{q}", f"What of {q}, {name}?") for q in range(QUERIES) for name in ("0", "kept")
    ]
    bank.save(project, asked, "begin", "drill")
    run_job(project, Quick("first grader"), Request(), "drill")
    project.close()


def work(folder: str, seed: int, acks: Connection) -> None:
    """Do one act after the other, each acknowledged once it is committed, until the process is killed."""
    dice, place = random.Random(seed), Path(folder)
    try:
        project = open_project(place / "drill.duckdb")
        close_interrupted(project)
        for number in count():
            kind = dice.choice(tuple(ACTS))
            acks.send(("begun", kind))
            acks.send((kind, ACTS[kind](project, f"{seed}-{number}", dice, lambda *said: acks.send(said))))
    except Exception as error:
        acks.send(("failed", [f"{type(error).__name__}: {error}"]))
        raise


Say = Callable[..., None]


def _draft(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    # A person of its own, so that no later act takes the draft's place.
    bank.put_draft(project, f"ann {name}", Question("q0/0", "q0", f"Drafted {name}?"))
    return [f"ann {name}", f"Drafted {name}?"]


def _save(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    query = f"q{dice.randrange(QUERIES)}"
    bank.save(project, [Question(f"{query}/{dice.randrange(3)}", query, f"Saved {name}?")], name, "ann")
    return [name, f"Saved {name}?"]


def _override(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    return [override(project, "q0/0", f"q0-{dice.randrange(1, PASSAGES)}", dice.randrange(6), name, "ann"), name]


def _judge(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    value = dice.randrange(4)
    judging.judge(project, "q0", "q0-1", value, f"ann {name}")
    return [judging.source_of(f"ann {name}"), value]


def _import(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    lines = "".join(f"new-{name}-{i}\tnew text {name} {i}\n" for i in range(2_000))
    import_files(project, "passages", [Source("new.tsv", data=lines.encode())], "ann")
    return [f"new-{name}-", 2_000]


def _grade(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    def report(progress: Progress) -> None:
        if progress.graded:
            say("grade", [f"grader {name}", progress.graded])

    final = run_job(project, Quick(f"grader {name}"), Request(), "ann", report)
    return [f"grader {name}", final.graded]


def _migrate(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    folder = project.path.parent / f"old-{name}"
    folder.mkdir()
    path = folder / "old.duckdb"
    shutil.copyfile(project.path.with_name("old.duckdb"), path)
    say("copied", [str(path)])
    open_project(path).close()
    return [str(path)]


def _backup(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    versions = len(bank.versions(project))
    return [str(backup(project, project.path.parent / "kept").path), versions]


def _publish(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    return [publish(project, Policy(grader="first grader"), "ann", note=name).manifest]


ACTS: dict[str, Callable[[Project, str, random.Random, Say], list[Any]]] = {
    "draft": _draft,
    "save": _save,
    "override": _override,
    "judge": _judge,
    "import": _import,
    "grade": _grade,
    "migrate": _migrate,
    "backup": _backup,
    "publish": _publish,
}


def look(folder: str, known: list[Ack], said: Connection) -> None:
    """Open the project as a restart does, check it, and send what is wrong or lost as sentences; then end."""
    lost: list[str] = []
    try:
        project = open_project(Path(folder) / "drill.duckdb")
        close_interrupted(project)
        # Once more, so that nothing is left out of the check for a log that was just read.
        project.close()
        project = open_project(project.path)
        lost += [str(one) for findings in check(project).values() for one in findings]
        for kind, what in known:
            if not SEEN[kind](project, *what):
                lost.append(f"{kind} {str(what)[:200]} was acknowledged and is not there")
        project.close()
    except Exception as error:
        lost.append(f"{type(error).__name__}: {error}")
    said.send(lost)


def _has(sql: str) -> Callable[..., bool]:
    return lambda project, *what: project.value(sql, list(what)) is not None


def _backup_is_whole(project: Project, path: str, versions: int) -> bool:
    verify(Path(path))
    copy = open_project(Path(path), read_only=True)
    found = len(bank.versions(copy))
    copy.close()
    return found == versions


def _is_upgraded(project: Project, path: str) -> bool:
    open_project(Path(path)).close()
    old = open_project(Path(path))
    queries, wrong = old.value("SELECT count(*) FROM queries"), any(check(old).values())
    old.close()
    return queries == 399 and not wrong


SEEN: dict[str, Callable[..., bool]] = {
    "draft": _has("SELECT 1 FROM drafts WHERE author = ? AND contains(content, ?)"),
    "save": _has("SELECT 1 FROM bank_versions WHERE note = ? AND EXISTS (FROM question_texts WHERE text = ?)"),
    "override": _has("SELECT 1 FROM overrides WHERE override_key = ? AND reason = ?"),
    "judge": _has("SELECT 1 FROM judgments JOIN sources USING (source_key) WHERE name = ? AND value = ?"),
    "import": _has("SELECT 1 FROM (SELECT count(*) AS n FROM passages WHERE starts_with(passage_id, ?)) WHERE n = ?"),
    "grade": _has("SELECT 1 FROM (SELECT count(*) AS n FROM grades JOIN graders USING (grader_key) WHERE name = ?)"
                  " WHERE n >= ?"),
    "copied": _is_upgraded,
    "migrate": _is_upgraded,
    "backup": _backup_is_whole,
    "publish": lambda project, manifest: manifest in publications(project) and bool(reproduce(project, manifest, "d")),
}  # fmt: skip
"""By the kind of an act, whether what was acknowledged of it is there."""
ONCE = ("copied", "migrate", "backup", "publish")
"""Kinds that are looked at after their own round alone; `exam check` makes every publication again in each."""


def drill(times: int, seed: int, say: Callable[[str], None] = print) -> list[str]:
    """Kill so many times; what was lost or wrong, a sentence each."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bench.kill"])
    dice, lost = random.Random(seed), []
    kinds: Counter[str] = Counter()
    acknowledged: Counter[str] = Counter()
    started = time.monotonic()
    place = tempfile.TemporaryDirectory(prefix="kill-")
    known: list[Ack] = []
    for number in range(times):
        if number % ROUNDS_A_PROJECT == 0:
            place.cleanup()
            place = tempfile.TemporaryDirectory(prefix="kill-")
            known = []
            begin(Path(place.name))
        told, under_way = _killed(context, place.name, seed * 100_000 + number, dice)
        failed = [f"an act failed before anybody killed it: {what[0]}" for kind, what in told if kind == "failed"]
        told = [one for one in told if one[0] != "failed"]
        kinds[under_way] += 1
        acknowledged.update(kind for kind, _ in told)
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=look, args=(place.name, known + told, sending))
        process.start()
        sending.close()
        try:
            wrong = receiving.recv()
        except EOFError:
            wrong = ["the process that looked died"]
        process.join()
        wrong += failed
        lost += [f"round {number}, killed during {under_way}: {one}" for one in wrong]
        known += [one for one in told if one[0] not in ONCE]
        if (number + 1) % 25 == 0 or wrong:
            say(f"{number + 1} kills in {time.monotonic() - started:.0f} s, {sum(acknowledged.values()):,} acts"
                f" acknowledged, {len(lost)} lost or wrong")  # fmt: skip
            for one in lost[len(lost) - len(wrong) :]:
                say(f"  {one}")
    place.cleanup()
    say("killed during: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()))
    say("acknowledged: " + ", ".join(f"{kind} {n}" for kind, n in acknowledged.most_common()))
    return lost


def _killed(context: Any, folder: str, seed: int, dice: random.Random) -> tuple[list[Ack], str]:
    """Let a process work for a random time and kill it: what it acknowledged, and what it was about."""
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(folder, seed, sending))
    process.start()
    sending.close()
    if dice.random() < 0.95:
        # Mostly it is at work by then; otherwise it is killed while it opens the project.
        receiving.poll(30)
    time.sleep(dice.random() * LONGEST)
    # One that failed by itself is there no more.
    process.kill()
    process.join()
    told: list[Ack] = []
    under_way = "opening"
    try:
        while True:
            kind, what = receiving.recv()
            if kind == "begun":
                under_way = what
            else:
                told.append((kind, what))
    except (EOFError, OSError):
        pass
    finally:
        receiving.close()
    return told, under_way


def killed(say: Callable[..., None]) -> None:
    """A short drill among the other measurements."""
    lost = drill(25, 17, lambda line: say("kill", line))
    say("kill", f"{len(lost)} lost or wrong")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=17)
    given = parser.parse_args()
    wrong = drill(given.times, given.seed, lambda line: print(line, flush=True))
    print(f"{given.times} kills, {len(wrong)} losses")
    sys.exit(bool(wrong))
