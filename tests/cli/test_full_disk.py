"""Full disks: every writing command reports the problem, keeps existing files and leaves no partial ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exam_workbench.exchange import bundle_publication, bundle_sizes, list_publications, publish_qrels, reproduce_qrels
from exam_workbench.labels import Policy
from exam_workbench.records import list_actions
from exam_workbench.store import Project
from tests.made.fuzz_parquet import exported, fill_most
from tests.made.projects import file_of, made_project

DRILL = """
import contextlib, gzip, io, json, os, resource, shutil, sys, zipfile
from pathlib import Path
from exam_workbench.atomic_files import PREFIX
from exam_workbench.cli import run_command
from exam_workbench.exchange import check_project, list_publications
from exam_workbench.store import open_project

os.environ["EXAM_PROJECT"] = "some.duckdb"
sys.dont_write_bytecode = True
Path("new.tsv").write_text("".join(f"new-{i}\\t{i} {'word ' * 50}\\n" for i in range(5000)))
ACTS = [
    "import passages new.tsv", "bank edit q1/a --text Changed? --note x",
    "judgments set q1 p1 1", "overrides set q1/a p1 2 --reason r", "tokens add robot --role viewer", "backup",
    "restore whole.duckdb", "init --project fresh.duckdb", "import project exported --project fresh.duckdb",
    "export qrels -o old.qrels --save-manifest manifest.json", "export bundle -o old.zip", "export bank -o old.jsonl",
    "export graded -o old.gz", "export runs -o runs.zip", "export project -o all.zip", "export project -o all",
    "export grades -o grades",
]
OLD = ("old.qrels", "old.zip", "old.jsonl", "old.gz")
def is_whole(name):
    content = Path(name).read_bytes()
    if content == b"good":
        return True
    if name.endswith(".zip"):
        return zipfile.ZipFile(name).testzip() is None
    content = gzip.decompress(content) if name.endswith(".gz") else content
    return content.endswith(b"\\n")

unlimited = resource.RLIM_INFINITY
before = set(os.listdir())
published = 1
for act in ACTS:
    for limit in (50, os.stat("some.duckdb").st_size + 1000):
        for name in OLD:
            Path(name).write_text("good")
        said, out = io.StringIO(), io.StringIO()
        # No file may grow beyond this: what a full disk says, but with a reason of its own.
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited))
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(out):
            code = run_command(act.split())
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
        left = [one.name for one in Path().rglob("*") if one.name.startswith((".", PREFIX)) or one.suffix == ".tmp"]
        project = open_project(Path("some.duckdb"))
        now = len(list_publications(project))
        made, published = now - published, now
        project.close()
        cut = [name for name in OLD if not is_whole(name)]
        print(json.dumps([act, limit, code, said.getvalue(), made, cut, left]))
        for name in {*os.listdir()} - before - {"new.tsv"} - {*OLD}:
            shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
project = open_project(Path("some.duckdb"))
assert not any(check_project(project).values())
"""


def test_writing_commands_report_full_disk_and_keep_files(tmp_path: Path) -> None:
    for name in ("some.duckdb", "whole.duckdb"):
        file_of(fill_most).write(tmp_path / name)
    exported(tmp_path / "exported")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2]), "EXAM_AUTHOR": "ann"}
    done = subprocess.run(
        [sys.executable, "-c", DRILL], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    full = set()
    for act, limit, code, said, made, cut, left in map(json.loads, done.stdout.splitlines()):
        told = [line for line in said.splitlines() if line.startswith("exam:")]
        assert (cut, left) == ([], []), (act, limit, said)
        assert len(told) == (code != 0) and "Error" not in said, (act, limit, said)
        assert made == (code == 0 and ("manifest" in act or "bundle" in act)), (act, limit)
        if code:
            assert code == 1 and "full" in said, (act, limit, said)
            full.add(act)
    assert len(full) == 17, full


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return made_project(tmp_path / "some.duckdb", fill_most)


def test_undelivered_exports_are_not_recorded(project: Project) -> None:
    """Publications, bundles and reproduced qrels are recorded only after their files are written."""
    (manifest,) = list_publications(project)
    before = project.version(), len(list_actions(project).acts)
    seen = list[int]()

    def fail(content: object) -> None:
        seen.append(len(list_publications(project)))
        raise OSError(28, "full")

    for act in (
        lambda: publish_qrels(project, Policy(), "ann", deliver=fail),
        lambda: bundle_publication(project, Policy(), "ann", deliver=fail),
        lambda: reproduce_qrels(project, manifest, "ann", fail),
    ):
        with pytest.raises(OSError):
            act()
    assert seen == [1, 1, 1] and list_publications(project) == [manifest] and bundle_sizes(project) == {}
    assert (project.version(), len(list_actions(project).acts)) == before
    delivered = list[bytes]()
    packed = bundle_publication(project, Policy(), "ann", deliver=delivered.append)
    assert delivered == [packed] and len(list_publications(project)) == 2 and len(bundle_sizes(project)) == 1
