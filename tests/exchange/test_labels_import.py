"""Labels that a model made elsewhere: grades of an imported grader, and never judgments."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench.bank import find_grader, label_graders
from exam_workbench.errors import FileError
from exam_workbench.exchange import Options, _file_import as file_import, import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy, basis, label_qrels, leaderboard
from exam_workbench.records import judgment_sources, source_judgments
from exam_workbench.store import Project
from tests.made.projects import grade
from tests.made.refusals import refusal
from tests.made.shell import printed, shell_on

QUERIES = "q1\tfirst query\nq2\tsecond query\n"
PASSAGES = "p1\ttext one\np2\ttext two\np3\ttext three\np4\ttext one\n"
RUNS = {
    "good": "q1 Q0 p1 1 2.5 good\nq1 Q0 p2 2 1.5 good\nq2 Q0 p3 1 7 good\n",
    "poor": "q1 Q0 p2 1 2.5 poor\nq2 Q0 p2 1 7 poor\nq2 Q0 p3 2 6 poor\n",
    "bad": "q1 Q0 p2 1 2.5 bad\nq2 Q0 p2 1 7 bad\n",
}
QRELS = "q1 0 p1 2\nq1 0 p2 0\nq2 0 p3 1\nq2 0 p2 0\n"
LABELS = "q1 0 p1 3\nq1 0 p2 0\nq2 0 p2 1\nq2 0 p3 2\n"


def take(project: Project, kind: str, content: str, name: str = "given", **options) -> file_import.Imported:
    return import_files(project, kind, [Source(name, data=content.encode())], "tester", Options(**options))


def fill(project: Project) -> None:
    take(project, "queries", QUERIES, "queries.tsv")
    take(project, "passages", PASSAGES, "passages.tsv")
    take(project, "qrels", QRELS, "NIST.qrels")
    for name, run in RUNS.items():
        take(project, "runs", run, f"{name}.run")


def rows(project: Project) -> list[object]:
    """What an import of labels could change."""
    tables = ("graders", "grades", "jobs", "listed", "pool", "judgments", "activity", "question_texts")
    return [project.rows(f"SELECT * FROM {table} ORDER BY ALL") for table in tables]


def test_labels_become_grades_on_their_own_scale_and_no_judgments(project: Project) -> None:
    fill(project)
    done = take(project, "labels", LABELS + "q1 0 unknown 3\n", "u.qrels", source="umbrela")
    assert done.counts == {"labels": 4, "new grades": 4}
    assert [note.code for note in done.notes] == ["no-passage-text"]
    spec = find_grader(project, "umbrela").spec
    assert (spec.method, spec.max_rating, spec.parameters) == ("direct", 3, {"imported": "labels"})
    base = basis(project, Policy(grader="umbrela"))
    assert label_qrels(project, base) == {"q1": {"p1": 3, "p2": 0}, "q2": {"p2": 1, "p3": 2}}
    # The usual min rating is the top of the scale.
    assert base.min_rating == 3
    assert judgment_sources(project) == ["NIST"] and source_judgments(project, "NIST")["q1"] == {"p1": 2, "p2": 0}
    board = leaderboard(project, "P@1", policy=Policy(grader="umbrela", min_rating=2))
    assert board.scores == {"good": 1, "poor": 0, "bad": 0}
    # The same file again adds nothing; labels of further passages join the grader and keep its scale.
    assert take(project, "labels", LABELS, "u.qrels", source="umbrela").counts["new grades"] == 0
    more = take(project, "labels", "q1 0 p3 1\n", "v.qrels", source="umbrela")
    assert more.counts["new grades"] == 1 and len(label_graders(project)) == 1
    assert label_qrels(project, basis(project, Policy()))["q1"]["p3"] == 1


def test_imported_labels_do_not_become_the_usual_grader(project: Project) -> None:
    fill(project)
    take(project, "labels", LABELS, "u.qrels", source="umbrela")
    assert label_graders(project)[0].spec.name == "umbrela"
    own = replace(find_grader(project, "umbrela").spec, name="own", model="own", parameters={})
    grade(project, {("first query", "p1"): 1}, own)
    assert [one.spec.name for one in label_graders(project)] == ["own", "umbrela"]


def test_a_scale_can_be_given_and_two_texts_that_are_one_have_one_label(project: Project) -> None:
    fill(project)
    done = take(project, "labels", "q1 0 p1 1\nq1 0 p4 0\n", "binary.qrels", scale=4)
    assert [note.code for note in done.notes] == ["differing-grade"] and done.counts["new grades"] == 1
    assert find_grader(project, "binary").spec.max_rating == 4
    assert label_qrels(project, basis(project, Policy()))["q1"] == {"p1": 1, "p4": 1}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("q1 0 p1 6\n", "label-out-of-range"),
        ("q1 0 p1 -1\n", "label-out-of-range"),
        ("q1 0 p1 1.5\n", "invalid-judgment"),
        ("q1 0 p1 1\nq1 0 p1 2\n", "contradicting-lines"),
        ("q9 0 p1 1\n", "unknown-query"),
        ("q1 0 p1\n", "wrong-number-of-columns"),
    ],
)
def test_invalid_labels_change_nothing(project: Project, content: str, code: str) -> None:
    fill(project)
    before = rows(project)
    with refusal(code, kind=FileError):
        take(project, "labels", content, "u.qrels")
    assert rows(project) == before


def test_labels_that_contradict_the_grader_change_nothing(project: Project) -> None:
    fill(project)
    take(project, "labels", LABELS, "u.qrels", source="umbrela")
    before = rows(project)
    with refusal("labels-differ", "umbrela", "1"):
        take(project, "labels", LABELS.replace("p1 3", "p1 2"), "u.qrels", source="umbrela")
    with refusal("label-out-of-range", "4", "umbrela"):
        take(project, "labels", "q1 0 p3 4\n", "u.qrels", source="umbrela")
    with refusal("grader-name-taken", "umbrela"):
        take(project, "labels", LABELS, "u.qrels", source="umbrela", scale=5)
    with refusal("no-passage-text"):
        take(project, "labels", "q1 0 unknown 1\n", "u.qrels", source="other")
    with refusal("invalid-name"):
        take(project, "labels", LABELS, "u.qrels", source="a\nb")
    assert rows(project) == before


def test_imported_labels_are_compared_correlated_and_audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shell_on(fill, tmp_path, monkeypatch, capsys)
    Path("ours.qrels").write_text(LABELS.replace("p2 1", "p2 0"))
    Path("umbrela.qrels").write_text(LABELS)
    words = ("import", "labels", "umbrela.qrels", "--name", "UMBRELA")
    assert printed(run(*words, "--preview", "--json"))["counts"] == {"labels": 4, "new grades": 4}
    assert printed(run(*words, "--json"))["counts"] == {"labels": 4, "new grades": 4}
    assert run("import", "labels", "ours.qrels")[0] == 0
    found = printed(run("agreement", "--grader", "ours", "--against-grader", "UMBRELA", "--json"))
    assert found["n"] == 4 and 0 < found["kappa"] < 1
    meta = printed(
        run("meta", "--against", "NIST", "--row", "UMBRELA", "--measure", "AP", "--min-rating", "2", "--json")
    )
    assert meta["rows"][0]["name"].startswith("UMBRELA")
    assert run("audit", "design", "check", "--grader", "UMBRELA", "--measure", "P@1", "--source", "people")[0] == 0
    batch = printed(run("audit", "draw", "--json"))["batch"]
    assert batch
    run.fails("options-exclude-each-other", "import", "qrels", "ours.qrels", "--scale", "3")
