"""Projects, bundles and activity that earlier versions made with cascades."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from exam_workbench.errors import InputError
from exam_workbench.exchange import (
    bundle_publication,
    check_project,
    export_project,
    import_project,
    list_publications,
    reproduce_bundle,
    reproduce_qrels,
)
from exam_workbench.labels import Policy
from exam_workbench.records import Sought, list_actions
from exam_workbench.store import Project, open_project
from tests.made.cascades import QUERIES, fill_planned
from tests.made.projects import copy_of
from tests.made.shell import printed, shell_on

TABLES = ("cascades", "cascade_passages")


@pytest.fixture
def planned(tmp_path: Path) -> Iterator[Project]:
    yield from copy_of(fill_planned, tmp_path)


def rows(project: Project) -> list[list[tuple[object, ...]]]:
    return [project.rows(f"FROM {table} ORDER BY ALL") for table in TABLES]


def test_a_cascade_stays_in_the_project_is_sound_and_goes_through_an_export(planned: Project, tmp_path: Path) -> None:
    before = rows(planned)
    assert len(before[0]) == 1 and len(before[1]) == len(QUERIES) * 8
    assert not any(check_project(planned).values())
    counts = export_project(planned, tmp_path / "out", "org")
    assert [counts[table] for table in TABLES] == [1, len(before[1])]
    import_project(tmp_path / "out", tmp_path / "again.duckdb")
    again = open_project(tmp_path / "again.duckdb")
    assert rows(again) == before and not any(check_project(again).values())
    again.close()


def test_the_activity_still_says_what_a_cascade_did(planned: Project) -> None:
    (act,) = [act for act in list_actions(planned, Sought()).acts if act.act == "plan cascade"]
    assert all(name in act.said for name in ("first", "cheap", "expensive")) and "passages" not in act.said


def test_a_bundle_with_a_cascade_is_refused_whole_and_its_qrels_are_the_same_again(planned: Project) -> None:
    policy = Policy(grader="expensive")
    packed = bundle_publication(
        planned, policy, "org", beside=lambda project: {"cascade-1.json": ("A cascade.", b"{}\n")}
    )
    plain = bundle_publication(planned, policy, "org")
    held, later = (zipfile.ZipFile(io.BytesIO(made)) for made in (packed, plain))
    manifest = json.loads(held.read("manifest.json"))
    assert [one["publication"] for one in list_publications(planned)][1] == manifest["publication"]
    state = planned.version()
    with pytest.raises(InputError):
        reproduce_bundle(planned, manifest, "bob")
    assert planned.version() == state
    assert reproduce_qrels(planned, manifest, "bob") == held.read(f"{planned.name}.qrels")
    assert reproduce_bundle(planned, json.loads(later.read("manifest.json")), "bob") == plain


def test_from_a_shell_an_old_bundle_is_listed_and_its_refusal_is_wrong_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(project: Project) -> None:
        fill_planned(project)
        bundle_publication(project, Policy(), "org", beside=lambda _: {"cascade-1.json": ("A cascade.", b"{}\n")})

    exam = shell_on(fill, tmp_path, monkeypatch, capsys)
    (manifest,) = printed(exam("publications", "--json"))["publications"]
    Path("m.json").write_text(json.dumps(manifest))
    assert exam("export", "bundle", "--manifest", "m.json", "-o", "out.zip")[0] == 2
    assert not Path("out.zip").exists()
    assert exam("export", "qrels", "--manifest", "m.json", "-o", "out.qrels")[0] == 0
    assert exam("check")[0] == 0
