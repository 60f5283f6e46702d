"""Kill a process with -9 during each kind of act; check for lost acts, damage and leftover files.

Usage: python bench/kill.py [--each N] [--seed N]

A process repeats one kind of act on a project and acknowledges each committed act until it is killed.
Another process opens the project, runs `exam check`, looks for every acknowledged act of all rounds, reads the written
files, and looks for leftovers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas  # noqa: F401  (Loaded once for all processes, and not by the first act of each.)
import pyarrow.parquet  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from exam_workbench import bank, exchange, store
from exam_workbench.atomic_files import PREFIX, write_file
from exam_workbench.formats import Source
from exam_workbench.graders import Control, Outcome, Pair
from exam_workbench.grading import Request, run_job
from exam_workbench.jobs import Progress
from exam_workbench.labels import Policy, add_override
from exam_workbench.operations.export import ExportRequest
from exam_workbench.records import close_interrupted, judging
from exam_workbench.store import Project, migrations, open_project
from exam_workbench.types import Grade, GraderInput, GraderSpec, Question

ROUNDS_A_PROJECT = 40
"""Rounds in one project; a new project keeps the rounds short."""
QUERIES, PASSAGES = 4, 12
OUT = "out"
"""Folder for exported files."""
OLD = 14
"""Number of migrations that the older project has had."""

Ack = tuple[str, list[Any]]


class Quick:
    """A grader without a model, which yields batches of five; a rating is the sum of both keys modulo 6."""

    def __init__(self, name: str) -> None:
        self.spec = GraderSpec(name, "self-rating", name)

    def grade(
        self,
        questions: Mapping[int, GraderInput],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control | None = None,
    ) -> Iterator[list[Outcome]]:
        for at in range(0, len(pairs), 5):
            yield [(q, p, Grade((q + p) % 6, "graded")) for q, p in pairs[at : at + 5]]


def begin(folder: Path) -> None:
    """Make the project of the drill, a closed copy of it, and an older project for the upgrades."""
    with patch.object(migrations, "MIGRATIONS", migrations.MIGRATIONS[:OLD]):
        old = store.create_project(folder / "old.duckdb")
        with old.transaction() as cursor:
            cursor.execute(
                "INSERT INTO queries SELECT nextval('keys'), 'q' || i, 'old ' || i, NULL, NULL FROM range(1, 400) t(i)"
            )
        old.close()
    project = store.create_project(folder / "drill.duckdb")
    pairs = [(q, p) for q in range(QUERIES) for p in range(1, PASSAGES)]
    files = {
        "queries": "".join(json.dumps({"query_id": f"q{q}", "text": f"query {q}"}) + "\n" for q in range(QUERIES)),
        "passages": "".join(f"q{q}-{p}\ttext of passage {q} {p}\n" for q, p in pairs),
        "runs": "".join(f"q{q} Q0 q{q}-{p} {p} {100 - p} one\n" for q, p in pairs),
    }
    for kind, content in files.items():
        exchange.import_files(project, kind, [Source(kind, data=content.encode())], "drill")
    # One question of each query is never edited, so that there are always labels to publish.
    asked = [
        Question(f"q{q}/{name}", f"q{q}", f"What of {q}, {name}?") for q in range(QUERIES) for name in ("0", "kept")
    ]
    bank.save_version(project, asked, "begin", "drill")
    run_job(project, Quick("first grader"), Request(), "drill")
    project.close()
    shutil.copyfile(project.path, folder / "whole.duckdb")
    (folder / OUT).mkdir()


def work(folder: str, seed: int, kind: str, acks: Connection) -> None:
    """Repeat one kind of action and acknowledge each committed action, until the process is killed."""
    dice, place = random.Random(seed), Path(folder)
    try:
        project = open_project(place / "drill.duckdb")
        close_interrupted(project)
        for number in count():
            acks.send(("begun", [number]))
            acks.send((kind, ACTS[kind](project, f"{seed}-{number}", dice, lambda *said: acks.send(said))))
    except Exception as error:
        acks.send(("failed", [f"{type(error).__name__}: {error}"]))
        raise


Say = Callable[..., None]


def _draft(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    # Each draft gets its own person, so that no later action replaces it.
    bank.put_draft(project, f"ann {name}", Question("q0/0", "q0", f"Drafted {name}?"))
    return [f"ann {name}", f"Drafted {name}?"]


def _save(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    query = f"q{dice.randrange(QUERIES)}"
    bank.save_version(project, [Question(f"{query}/{dice.randrange(3)}", query, f"Saved {name}?")], name, "ann")
    return [name, f"Saved {name}?"]


def _override(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    return [add_override(project, "q0/0", f"q0-{dice.randrange(1, PASSAGES)}", dice.randrange(6), name, "ann"), name]


def _judge(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    value = dice.randrange(4)
    judging.judge_passage(project, "q0", "q0-1", value, f"ann {name}")
    return [judging.source_of(f"ann {name}"), value]


def _import(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    lines = "".join(f"new-{name}-{i}\tnew text {name} {i}\n" for i in range(2_000))
    exchange.import_files(project, "passages", [Source("new.tsv", data=lines.encode())], "ann")
    return [f"new-{name}-", 2_000]


def _grade(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    def report(progress: Progress) -> None:
        if progress.graded:
            say("grade", [f"grader {name}", progress.graded])

    final = run_job(project, Quick(f"grader {name}"), Request(), "ann", report)
    return [f"grader {name}", final.graded]


def _migrate(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    path = _copied(project, "old.duckdb", f"old-{name}")
    say("copied", [str(path)])
    open_project(path).close()
    return [str(path)]


def _copied(project: Project, file: str, folder: str) -> Path:
    """Copy a file next to the project into a new folder."""
    (project.path.parent / folder).mkdir()
    return Path(shutil.copy(project.path.with_name(file), project.path.parent / folder))


def _backup(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    versions = len(bank.list_versions(project))
    return [str(store.back_up_project(project).path), versions]


def _restore(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    path = _copied(project, "whole.duckdb", f"restored-{name}")
    say("placed", [str(path)])
    store.restore_backup(project.path.with_name("whole.duckdb"), path, "ann")
    return [str(path)]


def _publish(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    out = project.path.parent / OUT
    policy = Policy(grader="first grader")
    asked = ExportRequest(
        str(out / f"{name}.qrels"), "exam", False, "nDCG@10", policy, None, out / f"{name}.json", name, False
    )
    return [exchange.publish_qrels(project, policy, "ann", note=name, deliver=asked.deliver_both).manifest]


def _export(project: Project, name: str, dice: random.Random, say: Say) -> list[Any]:
    out = project.path.parent / OUT
    write_file(out / "bank.jsonl", exchange.bank_jsonl(project).encode())
    target = out / (f"{name}.zip" if dice.random() < 0.5 else name)
    exchange.export_project(project, target, "ann")
    return [str(target)]


EVERY = (_draft, _save, _override, _judge, _import, _grade, _migrate, _backup, _restore, _publish, _export)
ACTS: dict[str, Callable[[Project, str, random.Random, Say], list[Any]]] = {act.__name__[1:]: act for act in EVERY}


def look(folder: str, known: list[Ack]) -> list[str]:
    """Open and check the project as after a restart; return faults and losses as sentences."""
    lost: list[str] = []
    try:
        with closing(_reopened(Path(folder) / "drill.duckdb")) as project:
            close_interrupted(project)
            lost += [str(one) for findings in exchange.check_project(project).values() for one in findings]
            for kind, what in known:
                if not SEEN[kind](project, *what):
                    lost.append(f"{kind} {str(what)[:200]} was acknowledged and is not there")
            lost += _wrong_files(project)
        lost += [f"{one} was left" for one in Path(folder).rglob("*") if _is_leftover(one)]
    except Exception as error:
        lost.append(f"{type(error).__name__}: {error}")
    return lost


def _wrong_files(project: Project) -> Iterator[str]:
    """Yield faults of exported files, acknowledged or not: incomplete files, and publications without their file."""
    out = project.path.parent / OUT
    for manifest in exchange.list_publications(project):
        file = out / f"{manifest['note']}.qrels"
        if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != manifest["qrels"]["sha256"]:
            yield f"publication {manifest['publication']} has no such file"
    for file in list(out.iterdir()):
        if file.suffix == ".json":
            json.loads(file.read_bytes())
        elif file.name == "bank.jsonl":
            [json.loads(line) for line in file.read_bytes().splitlines()]
        elif file.name.startswith(PREFIX):
            # The next write to this folder removes all of them; a publication has two.
            write_file(out / "next.json", b"{}")
        elif file.suffix != ".qrels":
            with tempfile.TemporaryDirectory() as folder:
                exchange.import_project(file, Path(folder) / "again.duckdb").close()
            shutil.rmtree(file) if file.is_dir() else file.unlink()


def _is_leftover(path: Path) -> bool:
    return path.name.startswith((".", PREFIX)) or path.name.endswith((".tmp", ".making", ".part"))


def _has(sql: str) -> Callable[..., bool]:
    return lambda project, *what: project.value(sql, list(what)) is not None


def _backup_is_whole(project: Project, path: str, versions: int) -> bool:
    store.verify_backup(Path(path))
    with closing(open_project(Path(path), read_only=True)) as copy:
        return len(bank.list_versions(copy)) == versions


def _is_upgraded(project: Project, path: str) -> bool:
    return _is_sound(path, "SELECT 1 FROM queries HAVING count(*) = 399")


def _is_restored(project: Project, path: str) -> bool:
    for copy in store.list_earlier_copies(Path(path)):
        store.verify_backup(copy.path)
    return _is_sound(path, "SELECT 1")


def _is_sound(path: str, sql: str) -> bool:
    """Return whether `exam check` finds no fault in a project, and a query finds a row."""
    with closing(_reopened(Path(path))) as project:
        return not any(exchange.check_project(project).values()) and project.value(sql) is not None


def _reopened(path: Path) -> Project:
    """Open a project twice, since `exam check` is incomplete right after an opening that read the log."""
    open_project(path).close()
    return open_project(path)


def _is_published(project: Project, manifest: dict[str, Any]) -> bool:
    return manifest in exchange.list_publications(project) and bool(exchange.reproduce_qrels(project, manifest, "d"))


SEEN: dict[str, Callable[..., bool]] = {
    "draft": _has("SELECT 1 FROM drafts WHERE author = ? AND contains(content, ?)"),
    "save": _has("SELECT 1 FROM bank_versions WHERE note = ? AND EXISTS (FROM question_texts WHERE text = ?)"),
    "override": _has("SELECT 1 FROM overrides WHERE override_key = ? AND reason = ?"),
    "judge": _has("SELECT 1 FROM judgments JOIN sources USING (source_key) WHERE name = ? AND value = ?"),
    "import": _has("SELECT 1 FROM passages WHERE starts_with(passage_id, ?) HAVING count(*) = ?"),
    "grade": _has("SELECT 1 FROM grades JOIN graders USING (grader_key) WHERE name = ? HAVING count(*) >= ?"),
    "copied": _is_upgraded,
    "migrate": _is_upgraded,
    "backup": _backup_is_whole,
    "placed": _is_restored,
    "restore": _is_restored,
    "export": lambda project, path: True,
    "publish": _is_published,
}
"""For each kind of action, a check that an acknowledged action is in the project."""
ONCE = ("copied", "migrate", "backup", "placed", "restore", "publish", "export")
"""Kinds that are checked after their own round only; `exam check` reproduces publications in each round."""


def drill(each: int, seed: int, say: Callable[[str], None] = print, longest: float = 2.0) -> list[str]:
    """Kill a process `each` times during each kind of action; return all losses and faults as sentences.

    Args:
        say: gets each fault at once, and the lines of a table at the end.
        longest: latest time of a kill, in seconds of work.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["bench.kill"])
    dice, faults = random.Random(seed), list[str]()
    kills, acknowledged = Counter[str](), Counter[str]()
    kinds = list(ACTS) * each
    for first in range(0, len(kinds), ROUNDS_A_PROJECT):
        with tempfile.TemporaryDirectory(prefix="kill-") as place:
            known: list[Ack] = []
            begin(Path(place))
            for number, kind in enumerate(kinds[first : first + ROUNDS_A_PROJECT], first):
                acts = _killed(context, place, seed * 100_000 + number, kind, dice, longest)
                done = [act for act in acts if act[0] in SEEN]
                kills[kind] += any(name == "begun" for name, _ in acts)
                acknowledged[kind] += sum(name == kind for name, _ in done)
                wrong = [f"an act failed before the kill: {what[0]}" for name, what in acts if name == "failed"]
                wrong += _looked(context, place, known + done)
                known += [act for act in done if act[0] not in ONCE]
                for fault in wrong:
                    faults.append(f"round {number}, killed during {kind}: {fault}")
                    say(faults[-1])
    say("| act | kills | of these during an act | acts acknowledged |\n| --- | --- | --- | --- |")
    for kind in ACTS:
        say(f"| {kind} | {each} | {kills[kind]} | {acknowledged[kind]} |")
    return faults


def _looked(context: Any, folder: str, known: list[Ack]) -> list[str]:
    """Check the project in a new process; return the faults."""
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(look, folder, known).result()
        except BrokenProcessPool:
            return ["the process that looked died"]


def _killed(context: Any, folder: str, seed: int, kind: str, dice: random.Random, longest: float) -> list[Ack]:
    """Run a process for a random time and kill it; return its messages."""
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(folder, seed, kind, sending))
    process.start()
    sending.close()
    if dice.random() < 0.95:
        # Most processes are killed during an action, a few while they open the project.
        receiving.poll(30)
    time.sleep(dice.random() * longest)
    process.kill()
    process.join()
    messages: list[Ack] = []
    with receiving, suppress(EOFError, OSError):
        while True:
            messages.append(receiving.recv())
    return messages


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=17)
    given = parser.parse_args()
    wrong = drill(given.each, given.seed, lambda line: print(line, flush=True))
    print(f"{given.each * len(ACTS)} kills, {len(wrong)} lost, wrong or left")
    sys.exit(bool(wrong))
