"""A bundle is made again from its manifest, to the byte, whatever was done to the project since."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from exam_workbench.errors import ProjectError
from exam_workbench.exchange import bundle_publication, publish_qrels, reproduce_bundle
from exam_workbench.exchange._publication import _WHAT
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.store import Project
from tests.exchange.test_publication import EDITS, JUDGE, Ran, earlier, exam, graded, later, unpacked  # noqa: F401
from tests.made.refusals import refusal


def manifest_of(packed: bytes) -> dict:
    return json.loads(unpacked(packed)["manifest.json"])


def test_later_work_does_not_change_a_bundle(later: Project) -> None:  # noqa: F811
    made = earlier().packed
    remade = reproduce_bundle(later, manifest_of(made), "bob")
    assert unpacked(remade) == unpacked(made)
    assert remade == made


def test_a_run_that_was_imported_anew_is_told_by_the_files_that_differ(graded: Project) -> None:  # noqa: F811
    made = bundle_publication(graded, Policy(), "ann")
    EDITS["a run is replaced"](graded)
    with refusal("bundle-differs", "leaderboard.tex", "leaderboard.tsv", kind=ProjectError):
        reproduce_bundle(graded, manifest_of(made), "bob")


def test_a_bundle_whose_readme_is_worded_differently_is_made_again(
    graded: Project,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as earlier_version:
        earlier_version.setitem(_WHAT, "bank.csv", "Other words of an earlier version.")
        made = unpacked(bundle_publication(graded, Policy(), "ann"))
    again = unpacked(reproduce_bundle(graded, json.loads(made["manifest.json"]), "bob"))
    assert {name for name in made if made[name] != again[name]} == {"README.txt"}


@pytest.mark.parametrize("asked", [1, 2, 4])
def test_a_bundle_states_the_min_rating_that_its_grader_is_cut_at(graded: Project, asked: int) -> None:  # noqa: F811
    effective = min(asked, JUDGE.max_rating)
    files = unpacked(bundle_publication(graded, Policy(grader="judge", min_rating=asked), "ann", binary=True))
    about_qrels = files["README.txt"].decode().split(".qrels\n")[1].splitlines()[0]
    assert re.findall(r"\d+", about_qrels) == ["0", "1", str(effective), "0"]
    assert json.loads(files["manifest.json"])["policy"]["min_rating"] == effective
    board = leaderboard(graded, "P@10", policy=Policy(grader="judge", min_rating=asked))
    assert board.as_dict()["policy"]["min_rating"] == effective


def test_a_publication_that_was_no_bundle_is_refused(graded: Project) -> None:  # noqa: F811
    manifest = publish_qrels(graded, Policy(), "ann").manifest
    with refusal("not-a-bundle"):
        reproduce_bundle(graded, manifest, "bob")


def test_the_command_line_makes_a_bundle_again(
    exam: Callable[..., Ran],  # noqa: F811
    tmp_path: Path,
) -> None:
    assert exam("export", "bundle", "-o", "first.zip").code == 0
    (tmp_path / "m.json").write_bytes(unpacked((tmp_path / "first.zip").read_bytes())["manifest.json"])
    assert exam("export", "bundle", "--manifest", "m.json", "-o", "second.zip").code == 0
    assert (tmp_path / "second.zip").read_bytes() == (tmp_path / "first.zip").read_bytes()
