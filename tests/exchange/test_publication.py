"""Published qrels and bundles: byte-identical after any later edits."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank, exchange, records
from exam_workbench.bank import put_draft, put_grader, question_text_key
from exam_workbench.errors import InputError, ProjectError, Report
from exam_workbench.exchange._publication import _WHAT, Publication
from exam_workbench.exchange.exporting import write_zip
from exam_workbench.formats import Source, read_boards
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.labels import (
    Policy,
    Readiness,
    add_override,
    basis,
    confirm_override,
    label_readiness,
    leaderboard,
    withdraw_by_key,
)
from exam_workbench.store import Project, open_project
from exam_workbench.types import Grade, GraderSpec, Question
from tests.made import projects
from tests.made.cascades import QUERIES, fill_planned
from tests.made.projects import commit, fill, manifest_of, unpacked
from tests.made.refusals import mentions, refusal
from tests.made.shell import Run, ShellOn

A = Question("q1/a", "q1", "What is A?", weight=2.0, subtopic_id="s1", note="=important")
B = Question("q1/b", "q1", "What is B?")
C = Question("q1/c", "q1", "What is C?", weight=0.5)
D = Question("q2/d", "q2", "What is D?")
AVOID = Question("q2/e", "q2", "Is it an advertisement?", weight=-1.0)
IDS = [Question(f"q1/{letter}", "q1", None) for letter in "xyz"]
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p4", "p5"]}, "two": {"q1": ["p3", "p1"]}}
GRADES = {
    ("What is A?", "p1"): 5,
    ("What is A?", "p2"): 1,
    ("What is A?", "p3"): None,
    ("What is B?", "p1"): 2,
    ("What is B?", "p2"): 3,
    ("What is C?", "p1"): 0,
    ("What is C?", "p3"): 1,
    ("What is D?", "p4"): 4,
    ("Is it an advertisement?", "p5"): 5,
    # Passage p0 gets this text later, and questions known by id get these wordings.
    ("What is A?", "like-p0"): 5,
    ("What is B?", "like-p0"): 5,
}
JUDGE = GraderSpec("judge", "direct", "a/model", "Thomas", "2" * 64, max_rating=2)


def fill_with_everything(project: Project) -> None:
    """Fill a project with every kind of data that affects labels."""
    fill(project, [A, B, C, D, AVOID], GRADES, RUNS)
    bank.save_version(project, IDS, "ids only", "tester")
    projects.grade(project, {("q1/x", "p2"): 5, ("q1/y", "p2"): 0, ("q1/y", "p3"): 2, ("q1/z", "p1"): 3})
    projects.pool_passages(project, [("q1", "p0")], {})
    commit(project, question_text_key, "query q1")
    projects.judge(project, {("q1", "p1"): 2, ("q1", "p9"): 1})
    projects.grade(project, {("query q1", "p1"): 2, ("query q1", "p2"): 0}, JUDGE)
    add_override(project, "q1/a", "p1", 3, "says little", "ann")
    add_override(project, "q2/d", "p4", 1, "about something else", "ann")
    withdraw_by_key(project, add_override(project, "q1/c", "p3", 5, "by mistake", "ann"), "ann")


graded = projects.filled_project(fill_with_everything)
"""A project with every kind of data that affects labels."""


def fill_and_publish(project: Project) -> None:
    fill_with_everything(project)
    exchange.publish_qrels(project, Policy(), "ann")


published = projects.filled_project(fill_and_publish)
"""The same project with published qrels."""


POLICIES = {
    "default": Policy(),
    "mean": Policy(label="mean"),
    "support": Policy(label="support:2", weighted=False),
    "machine alone": Policy(overrides=False),
    "older bank": Policy(bank_version=1),
    "direct judge": Policy(grader="judge"),
}


def latest_override(project: Project) -> int:
    return int(project.value("SELECT max(override_key) FROM overrides WHERE withdrawn_at IS NULL"))


def set_depth(project: Project, depth: int) -> None:
    commit(project, records.set_pool_depth, depth, "ann")


def put(project: Project, kind: str, name: str, text: str) -> None:
    exchange.import_files(project, kind, [Source(name, data=text.encode())], "ann", exchange.Options(replace=True))


def retired(*questions: Question) -> list[Question]:
    return [replace(question, active=False) for question in questions]


EDITS: dict[str, Callable[[Project], object]] = {
    "a question is reworded": lambda p: bank.save_version(p, [replace(A, text="What is A really?")], "reword", "ann"),
    "the new wording is graded": lambda p: projects.grade(p, {("What is A really?", f"p{i}"): 5 for i in (1, 2, 3)}),
    "weights change": lambda p: bank.save_version(
        p, [replace(B, weight=9.0), replace(C, weight=0.0)], "weights", "ann"
    ),
    "questions are retired": lambda p: bank.save_version(p, retired(B, D), "retire", "ann"),
    "a question to be avoided counts": lambda p: bank.save_version(p, [replace(AVOID, weight=3.0)], "", "ann"),
    "an older bank is restored": lambda p: bank.restore_questions(p, 2, "back", "ann"),
    "a question is added": lambda p: bank.save_version(p, [Question("q1/n", "q1", "What is new?")], "add", "ann"),
    "the new question is graded": lambda p: projects.grade(p, {("What is new?", f"p{i}"): 5 for i in (1, 2, 3)}),
    "work is not saved yet": lambda p: put_draft(p, "bob", replace(B, text="What is B, to Bob?")),
    "a person overrides": lambda p: add_override(p, "q1/b", "p2", 0, "no", "bob"),
    "a person overrides once more": lambda p: add_override(p, "q1/a", "p1", 5, "yes", "bob"),
    "an override is withdrawn": lambda p: withdraw_by_key(p, latest_override(p), "bob"),
    "published overrides are withdrawn": lambda p: [
        withdraw_by_key(p, key, "bob")
        for (key,) in p.rows("SELECT override_key FROM overrides WHERE withdrawn_at IS NULL ORDER BY 1 LIMIT 2")
    ],
    "a question is reworded after its override": lambda p: bank.save_version(p, [replace(B, text="B?")], "", "ann"),
    "a stale override is confirmed": lambda p: confirm_override(p, latest_override(p), "ann"),
    "missing pairs are graded": lambda p: projects.grade(p, {("What is B?", "p3"): 5, ("What is C?", "p2"): 5}),
    "a failed pair is asked again": lambda p: projects.grade(p, {("What is A?", "p3"): 5}),
    "a pair fails": lambda p: projects.grade(p, {("What is D?", "p5"): None}),
    "a second grader comes, with more grades": lambda p: projects.grade(
        p,
        {(q, f"p{i}"): 0 for q, _ in GRADES for i in range(1, 6)},
        replace(projects.SPEC, name="other", model="other"),
    ),
    "a run comes": lambda p: put(p, "runs", "new.run", "q1 Q0 p7 1 9 new\nq1 Q0 p4 2 8 new\nq2 Q0 p1 1 9 new\n"),
    "a run is replaced": lambda p: put(p, "runs", "test.run", "q1 Q0 p2 1 9 one\n"),
    "judgments come": lambda p: projects.judge(p, {("q1", "p5"): 3, ("q2", "p2"): 1}, "second source"),
    "judgments are replaced": lambda p: projects.judge(p, {("q2", "p3"): 3}),
    "the pool gets shallow": lambda p: set_depth(p, 1),
    "the pool gets deep": lambda p: set_depth(p, 50),
    "a passage gets its text, which is graded": lambda p: put(p, "passages", "p.tsv", "p0\ttext of like-p0\n"),
    "a question known by id only is reworded": lambda p: bank.save_version(p, [replace(IDS[0], text="Z?")], "", "ann"),
    "questions get their words": lambda p: projects.import_bank(p, [replace(IDS[0], text="What is X?")]),
    "questions turn out to be others": lambda p: projects.import_bank(
        p, [replace(IDS[1], text="What is C?"), replace(IDS[2], text="What is X?")]
    ),
    "queries are reworded": lambda p: put(p, "queries", "q.tsv", "q1\tanother query\nq2\tquery q1\nq3\tmore\n"),
    "a graded file is previewed, not imported": lambda p: exchange.import_files(
        p, "graded", [Source("g.jsonl.gz", data=exchange.graded_file(p))], "ann", exchange.Options(), preview=True
    ),
    "a board comes": lambda p: put(p, "leaderboard", "board.tsv", "run\tAP\none\t0.5\ntwo\t0.4\nthree\t0.1\n"),
    "something is published": lambda p: exchange.publish_qrels(p, Policy(grader="other"), "ann"),
}


def test_published_qrels_equal_export_and_manifest_describes_them(graded: Project) -> None:
    for policy in POLICIES.values():
        for binary in (False, True):
            published = exchange.publish_qrels(graded, policy, "ann", binary)
            assert published.qrels_bytes == exchange.qrels_text(graded, policy, binary=binary).encode()
            assert exchange.reproduce_qrels(graded, published.manifest, "ann") == published.qrels_bytes
    for _ in range(3):
        exchange.publish_qrels(graded, Policy(), "ann")
    pooled = graded.value("SELECT count(*) FROM pool")
    assert graded.value("SELECT count(*) FROM published_passages") == pooled
    set_depth(graded, 1)
    exchange.publish_qrels(graded, Policy(), "ann")
    assert graded.value("SELECT count(*) FROM published_passages") > pooled
    published = exchange.publish_qrels(graded, Policy(min_rating=3), "ann", binary=True, note=" first release ")
    manifest = published.manifest
    assert manifest["note"] == "first release"
    assert manifest["published_by"] == "ann"
    assert (manifest["bank"]["version"], manifest["bank"]["note"]) == (2, "ids only")
    assert manifest["grader"]["fingerprint"] == projects.SPEC.fingerprint
    assert (manifest["policy"]["grader"], manifest["policy"]["bank_version"]) == (projects.SPEC.fingerprint, 2)
    assert manifest["policy"]["min_rating"] == 3
    assert manifest["qrels"] == {
        "values": "binary",
        "lines": published.qrels_bytes.count(b"\n"),
        "bytes": len(published.qrels_bytes),
        "sha256": hashlib.sha256(published.qrels_bytes).hexdigest(),
    }
    assert manifest["counts"] == vars(label_readiness(graded, basis(graded, Policy())))
    acts = [act for (act,) in graded.rows("SELECT act FROM activity ORDER BY activity_key DESC LIMIT 1")]
    assert acts == ["publish qrels"]


def test_published_qrels_are_reproduced_after_every_kind_of_edit(graded: Project) -> None:
    """Qrels published before the edits and between them each keep their own state."""
    published = {name: exchange.publish_qrels(graded, policy, "ann") for name, policy in POLICIES.items()}
    published["binary"] = exchange.publish_qrels(graded, Policy(min_rating=3), "ann", binary=True)
    between: dict[str, Publication] = {}
    for name, (what, edit) in zip(itertools.cycle(("default", "direct judge")), EDITS.items()):
        edit(graded)
        again = exchange.reproduce_qrels(graded, published[name].manifest, "bob")
        assert again == published[name].qrels_bytes, f"{name}, after: {what}"
        between[what] = exchange.publish_qrels(graded, Policy(grader="test grader"), "ann")
    for name, publication in published.items():
        assert exchange.reproduce_qrels(graded, publication.manifest, "bob") == publication.qrels_bytes, name
        policy = POLICIES.get(name, Policy())
        assert exchange.qrels_text(graded, policy).encode() != publication.qrels_bytes, f"edits do not change {name}"
    assert len({one.qrels_bytes for one in between.values()}) > 5
    for what, publication in between.items():
        assert exchange.reproduce_qrels(graded, publication.manifest, "bob") == publication.qrels_bytes, (
            f"published after: {what}"
        )
    assert exchange.list_publications(graded)[-1]["publication"] == published["default"].manifest["publication"]


@pytest.mark.parametrize("policy", [Policy(label="mean"), Policy(bank_version=1, label="mean"), Policy(bank_version=1)])
def test_publications_keep_grades_by_id_separate_from_later_texts(graded: Project, policy: Policy) -> None:
    published = exchange.publish_qrels(graded, policy, "ann")
    # p2 has grades by id and by text; p1 has one by id, which moves to the text.
    projects.import_bank(graded, [replace(IDS[1], text="What is B?"), replace(IDS[2], text="What is C?")])
    projects.grade(graded, {("What is C?", "p2"): 5})
    assert exchange.qrels_text(graded, policy).encode() != published.qrels_bytes
    assert exchange.reproduce_qrels(graded, published.manifest, "bob") == published.qrels_bytes


def test_publications_during_concurrent_edits_are_reproduced(graded: Project) -> None:
    """Other threads add edits, overrides and grades at the same time, as on a server."""
    (b,) = graded.rows("SELECT text_key FROM question_texts WHERE text = 'What is B?'")[0]
    passages = [key for (key,) in graded.rows("SELECT text_key FROM passages WHERE text_key IS NOT NULL")]

    def grade_one(turn: int) -> None:
        with graded.transaction() as cursor:
            outcome = (b, passages[turn % len(passages)], Grade(turn % 6))
            add_outcomes(cursor, put_grader(cursor, projects.SPEC), [outcome], job_key=0)

    acts: tuple[Callable[[int], object], ...] = (
        lambda n: bank.save_version(graded, [replace(A, text=f"What is A, in turn {n}?")], "", "ann"),
        lambda n: add_override(graded, "q1/b", "p1", n % 6, f"turn {n}", "bob"),
        grade_one,
    )
    over = threading.Event()
    counts = [0, 0, 0]

    def work(at: int) -> None:
        while not over.is_set() and counts[at] < 40:
            counts[at] += 1
            acts[at](counts[at])

    with ThreadPoolExecutor(len(acts)) as workers:
        works = [workers.submit(work, at) for at in range(len(acts))]
        try:
            published = [exchange.publish_qrels(graded, Policy(grader="test grader"), "eve") for _ in range(4)]
        finally:
            over.set()
    assert [work.exception() for work in works] == [None] * len(acts)
    assert min(counts) > 0
    for one in published:
        assert exchange.reproduce_qrels(graded, one.manifest, "eve") == one.qrels_bytes
    assert [one["publication"] for one in exchange.list_publications(graded)] == [
        one.manifest["publication"] for one in reversed(published)
    ]
    assert not any(exchange.check_project(graded).values())


def test_manifest_contains_no_secrets_or_local_paths(graded: Project, tmp_path: Path) -> None:
    parameters = {
        "base_url": "http://me:hunter2@localhost:8000/v1",
        "api_key": "sk-secret",
        "headers": {"X-Api-Key": "sk-secret"},
        "api_key_env": "MY_KEY",
        "adapters": [str(tmp_path / "adapter"), "C:\\models\\mine", "~/mine"],
        "reads": [],
    }
    spec = GraderSpec("local", "self-rating", str(tmp_path / "flan"), parameters=parameters)
    projects.grade(graded, {("What is A?", "p1"): 2}, spec)
    published = exchange.publish_qrels(graded, Policy(grader="local"), "ann")
    text = exchange.manifest_json(published.manifest)
    assert [word for word in ("sk-secret", "hunter2", str(tmp_path), "models") if word in text] == []
    assert published.manifest["grader"]["model"] == "flan"
    assert published.manifest["grader"]["parameters"] == {
        "base_url": "http://localhost:8000/v1",
        "headers": {},
        "api_key_env": "MY_KEY",
        "adapters": ["adapter", "mine", "mine"],
        "reads": [],
    }
    assert exchange.reproduce_qrels(graded, published.manifest, "bob") == published.qrels_bytes


def edited(manifest: exchange.Manifest, path: str, value: object) -> exchange.Manifest:
    changed: exchange.Manifest = json.loads(json.dumps(manifest))
    *folders, last = path.split(".")
    inner = changed
    for name in folders:
        inner = inner[name]
    inner[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("policy.min_rating", 2),
        ("policy.label", "mean"),
        ("qrels.sha256", "0" * 64),
        ("qrels.values", "binary"),
        ("counts.failed", 0),
        ("bank.version", 1),
        ("note", "another"),
        ("grader.extra", True),
    ],
)
def test_changed_manifest_is_refused_with_changed_field(published: Project, path: str, value: object) -> None:
    manifest = exchange.list_publications(published)[0]
    with refusal("manifest-changed", str(path)):
        exchange.reproduce_qrels(published, edited(manifest, path, value), "bob")


def test_manifest_of_other_project_or_unknown_publication_is_refused(published: Project, tmp_path: Path) -> None:
    manifest = exchange.list_publications(published)[0]
    other = projects.new_project(tmp_path / "other.duckdb")
    with refusal("manifest-of-another-project", "test", "other"):
        exchange.reproduce_qrels(other, manifest, "bob")
    fill(other, [A], {("What is A?", "p1"): 5}, RUNS)
    exchange.publish_qrels(other, Policy(), "ann")
    with refusal("manifest-of-another-project", "test"):
        exchange.reproduce_qrels(other, manifest, "bob")
    other.close()
    for unknown in (99_999, "no number", None, 2**70):
        with refusal("unknown-publication"):
            exchange.reproduce_qrels(published, edited(manifest, "publication", unknown), "bob")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"q1 0 p1 5\n", "not-a-manifest"),
        (b"\xff\xfe", "not-a-manifest"),
        (b"[]", "not-a-manifest"),
        (b'{"format": "exam-workbench project"}', "not-a-manifest"),
        (b'{"format": "exam-workbench qrels manifest", "format_version": 2}', "unknown-format-version"),
    ],
)
def test_file_that_is_not_a_manifest_is_refused(data: bytes, code: str) -> None:
    with refusal(code, "m.json"):
        exchange.read_manifest(data, "m.json")


def test_changed_data_of_publication_is_reported(published: Project) -> None:
    manifest = exchange.list_publications(published)[0]
    commit(published, "UPDATE grades SET rating = 0")
    with refusal("publication-differs", "ratings", kind=ProjectError):
        exchange.reproduce_qrels(published, manifest, "bob")
    commit(published, "DELETE FROM published_passages WHERE passage_key IN (SELECT min(passage_key) FROM pool)")
    with refusal("publication-differs", "pool.passages", "pool.sha256", "counts", kind=ProjectError):
        exchange.reproduce_qrels(published, manifest, "bob")


def test_readiness_counts_every_needed_pair_once(graded: Project) -> None:
    state = label_readiness(graded, basis(graded, Policy()))
    # q1 has six questions and five passages; q2 has one question with positive weight and two passages.
    assert state == Readiness(
        needed=32,
        graded=9,
        failed=1,
        ungraded=8,
        without_text=12,
        overridden=2,
        stale_overrides=0,
        partial_labels=3,
        unlabelled_passages=3,
        speaking_passages=0,
    )
    assert not state.complete
    machine = label_readiness(graded, basis(graded, Policy(overrides=False)))
    assert (machine.graded, machine.overridden) == (11, 0)
    bank.save_version(graded, [replace(A, text="A?")], "reword", "ann")
    assert label_readiness(graded, basis(graded, Policy())).stale_overrides == 1
    assert label_readiness(graded, basis(graded, Policy(overrides=False))).stale_overrides == 0
    assert label_readiness(graded, basis(graded, Policy(bank_version=2))).stale_overrides == 0


def test_publishing_without_labels_is_refused_without_trace(project: Project) -> None:
    fill(project, [A], {("What is A?", "p1"): None}, RUNS)
    with refusal("no-labels"):
        exchange.publish_qrels(project, Policy(), "ann")
    assert exchange.list_publications(project) == []
    assert project.value("SELECT count(*) FROM published_passages") == 0


def test_bundle_without_runs_has_no_leaderboard(project: Project) -> None:
    fill(project, [A], {("What is A?", "p1"): 5}, {})
    projects.pool_passages(project, [("q1", "p1")], {"p1": "text of p1"})
    files = unpacked(exchange.bundle_publication(project, Policy(), "ann"))
    assert "leaderboard.tsv" not in files
    assert "leaderboard" not in files["README.txt"].decode()


def test_later_edits_change_neither_qrels_nor_bundle(graded: Project) -> None:
    first = exchange.publish_qrels(graded, Policy(), "ann")
    packed = exchange.bundle_publication(graded, Policy(), "ann", note="first")
    add_override(graded, "q1/b", "p1", 5, '=HYPERLINK("http://x")', "@ann")
    labels = exchange.qrels_text(graded, Policy(min_rating=3)).encode()
    noted = exchange.bundle_publication(graded, Policy(min_rating=3), "ann", note="for the track")
    for what, edit in EDITS.items():
        if what != "a run is replaced":
            edit(graded)
    graded.close()
    later = open_project(graded.path)
    remade = exchange.reproduce_bundle(later, manifest_of(packed), "bob")
    assert unpacked(remade) == unpacked(packed)
    assert remade == packed
    files = unpacked(noted)
    assert sorted(files) == [
        "README.txt", "bank.csv", "bank.jsonl", "leaderboard.tex", "leaderboard.tsv", "manifest.json",
        "overrides.csv", "test.qrels",
    ]  # fmt: skip
    assert files["test.qrels"] == labels
    manifest = exchange.read_manifest(files["manifest.json"], "manifest.json")
    EDITS["a run is replaced"](later)
    assert exchange.reproduce_qrels(later, manifest, "bob") == files["test.qrels"]
    assert hashlib.sha256(files["bank.jsonl"]).hexdigest() == manifest["bank"]["sha256"]
    readme = files["README.txt"].decode()
    assert "for the track" in readme
    assert [name for name in files if name != "README.txt" and name not in readme] == []
    assert exchange.qrels_text(later, Policy()).encode() != first.qrels_bytes
    manifest = exchange.read_manifest(exchange.manifest_json(first.manifest).encode(), "m.json")
    assert exchange.reproduce_qrels(later, manifest, "bob") == first.qrels_bytes


def test_bundle_tables_can_be_read_and_contain_no_formulas(graded: Project) -> None:
    add_override(graded, "q1/b", "p1", 5, '=HYPERLINK("http://x")', "@ann")
    files = unpacked(exchange.bundle_publication(graded, Policy(), "ann"))
    boards = {board.measure: board for board in read_boards(Source("b.tsv", data=files["leaderboard.tsv"]), Report())}
    assert {"EXAM-Cover@20", "nDCG@10", "AP"} <= set(boards)
    assert [row.run for row in boards["AP"].rows] == ["one", "two"]
    assert boards["AP"].rows[0].std_error is not None
    assert files["leaderboard.tex"].count(b"\\begin{tabular}") == len(boards)
    rows = list(csv.DictReader(io.StringIO(files["overrides.csv"].decode(), newline="")))
    assert [(row["question_id"], row["passage_id"], row["rating"]) for row in rows] == [
        ("q1/a", "p1", "3"),
        ("q2/d", "p4", "1"),
        ("q1/b", "p1", "5"),
    ]
    assert (rows[2]["reason"], rows[2]["author"]) == ('\'=HYPERLINK("http://x")', "'@ann")
    for name in ("bank.csv", "overrides.csv"):
        cells = [cell for row in csv.reader(io.StringIO(files[name].decode(), newline="")) for cell in row]
        assert [cell for cell in cells if cell[:1] in "=+@\t\r" and cell] == []


def test_same_files_give_same_zip(tmp_path: Path) -> None:
    first, second = io.BytesIO(), tmp_path / "second.zip"
    (tmp_path / "b.txt").write_bytes(b"from a file")
    write_zip({"a": b"1" * 1000, "b": tmp_path / "b.txt"}, first)
    (tmp_path / "b.txt").touch()
    write_zip({"b": tmp_path / "b.txt", "a": b"1" * 1000}, second)
    assert first.getvalue() == second.read_bytes()
    assert unpacked(first.getvalue()) == {"a": b"1" * 1000, "b": b"from a file"}


@pytest.fixture
def exam(shell_on: ShellOn) -> Run:
    """Return a runner of commands on a project with every kind of data."""
    return shell_on(fill_with_everything)


@pytest.mark.parametrize(
    ("arguments", "failure"),
    [
        (("qrels", "--manifest", "m.json", "--label", "mean", "--binary"), "options-exclude-each-other"),
        (("bank", "--manifest", "m.json"), "no-manifest-of-kind"),
        (("bundle", "--save-manifest", "m.json"), "no-manifest-of-kind"),
        (("qrels", "--source", "assessors", "--save-manifest", "m.json"), "no-manifest-of-kind"),
    ],
)
def test_conflicting_options_are_refused(exam: Run, arguments: tuple[str, ...], failure: str) -> None:
    exam.fails(failure, "export", *arguments, "-o", "out")


def test_incomplete_labels_give_warning_or_are_refused(exam: Run, tmp_path: Path) -> None:
    code, _, told = exam("export", "qrels", "-o", "some.qrels")
    assert code == 0
    assert all(mentions(told, number) for number in ("8", "1")) and "override" not in told
    for what in ("qrels", "bundle"):
        exam.fails("incomplete-labels", "export", what, "-o", "all", "--require-complete")
    assert not (tmp_path / "all").exists()
    project = open_project(tmp_path / "some.duckdb")
    bank.save_version(project, [replace(A, text="What is A, exactly?")], "its override becomes stale", "ann")
    project.close()
    again = exam("export", "qrels", "-o", "again.qrels")[2]
    # The warning counts the stale override, and a second line names a fix.
    numbers = [len(re.findall(r"\d+", one.splitlines()[0])) for one in (told, again)]
    assert numbers[1] == numbers[0] + 1 and "override" in again.splitlines()[2]


def fill_completely(project: Project) -> None:
    """Leave nothing to grade: grade one question completely and retire the others."""
    fill_with_everything(project)
    bank.save_version(project, retired(A, C, D, *IDS), "less", "ann")
    projects.grade(project, {("What is B?", f"p{i}"): 1 for i in (1, 2, 3)})
    put(project, "queries", "q.tsv", "q1\tquery q1\n")
    commit(project, "DELETE FROM listed")
    projects.judge(project, {("q1", "p1"): 1})


def test_complete_labels_can_be_exported_bundled_and_reproduced(tmp_path: Path, shell_on: ShellOn) -> None:
    exam = shell_on(fill_completely)
    code, _, told = exam("export", "qrels", "-o", "all.qrels", "--require-complete")
    assert code == 0 and mentions(told, "all.qrels")
    assert exam("export", "qrels", "-o", "plain.qrels", "--label", "mean")[0] == 0
    assert exam("export", "bundle", "-o", "out.zip", "--label", "mean", "--note", "release")[0] == 0
    files = unpacked((tmp_path / "out.zip").read_bytes())
    assert files["some.qrels"] == (tmp_path / "plain.qrels").read_bytes()
    (tmp_path / "m.json").write_bytes(files["manifest.json"])
    assert exam("export", "qrels", "--manifest", "m.json", "-o", "again.qrels")[0] == 0
    assert (tmp_path / "again.qrels").read_bytes() == files["some.qrels"]
    project = open_project(tmp_path / "some.duckdb")
    acts = [act.act for act in records.list_actions(project, records.ActivityFilter()).acts]
    assert acts[:4] == ["reproduce qrels", "export bundle", "publish qrels", "export qrels"]


def test_direct_grader_qrels_are_reproduced_after_query_gets_its_title(project: Project) -> None:
    fill(project, [], {}, {"s": {"q1": ["p1"]}})
    commit(project, "UPDATE queries SET text = query_id")
    commit(project, question_text_key, "q1")
    projects.grade(project, {("q1", "p1"): 3}, GraderSpec("judge", "direct", "none", max_rating=3))
    published = exchange.publish_qrels(project, Policy(grader="judge"), "ann")
    exchange.import_files(project, "queries", [Source("q.tsv", data=b"q1\tthe title\n")], "ann")
    assert exchange.reproduce_qrels(project, published.manifest, "ann") == published.qrels_bytes


def test_bundle_does_not_list_counted_override_as_stale(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "Old?")], {("Old?", "p1"): 5}, {"s": {"q1": ["p1"]}})
    add_override(project, "q1/a", "p1", 0, "no", "ann")
    bank.save_version(project, [Question("q1/a", "q1", "New?")], "reword", "ann")
    packed = exchange.bundle_publication(project, Policy(bank_version=1), "ann")
    counts = manifest_of(packed)["counts"]
    listed = unpacked(packed)["overrides.csv"].decode().splitlines()[1]
    assert (counts["overridden"], counts["stale_overrides"]) == (1, 0)
    assert listed.endswith(",false")


def test_bundle_with_older_readme_is_reproduced(graded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier_version:
        earlier_version.setitem(_WHAT, "bank.csv", "Other words of an earlier version.")
        made = unpacked(exchange.bundle_publication(graded, Policy(), "ann"))
    again = unpacked(exchange.reproduce_bundle(graded, json.loads(made["manifest.json"]), "bob"))
    assert {name for name in made if made[name] != again[name]} == {"README.txt"}


@pytest.mark.parametrize("asked", [1, 2, 4])
def test_bundle_states_effective_min_rating(graded: Project, asked: int) -> None:
    effective = min(asked, JUDGE.max_rating)
    files = unpacked(exchange.bundle_publication(graded, Policy(grader="judge", min_rating=asked), "ann", binary=True))
    about_qrels = files["README.txt"].decode().split(".qrels\n")[1].splitlines()[0]
    assert re.findall(r"\d+", about_qrels) == ["0", "1", str(effective), "0"]
    assert json.loads(files["manifest.json"])["policy"]["min_rating"] == effective
    board = leaderboard(graded, "P@10", policy=Policy(grader="judge", min_rating=asked))
    assert board.as_dict()["policy"]["min_rating"] == effective


def test_bundle_of_replaced_run_or_plain_publication_is_refused(graded: Project) -> None:
    manifest = exchange.publish_qrels(graded, Policy(), "ann").manifest
    with refusal("not-a-bundle"):
        exchange.reproduce_bundle(graded, manifest, "bob")
    made = exchange.bundle_publication(graded, Policy(), "ann")
    EDITS["a run is replaced"](graded)
    with refusal("bundle-differs", "leaderboard.tex", "leaderboard.tsv", kind=ProjectError):
        exchange.reproduce_bundle(graded, manifest_of(made), "bob")


def test_command_reproduces_bundles_and_refuses_invalid_manifests(exam: Run, tmp_path: Path) -> None:
    assert exam("export", "bundle", "-o", "first.zip")[0] == 0
    (tmp_path / "m.json").write_bytes(unpacked((tmp_path / "first.zip").read_bytes())["manifest.json"])
    assert exam("export", "bundle", "--manifest", "m.json", "-o", "second.zip")[0] == 0
    assert (tmp_path / "second.zip").read_bytes() == (tmp_path / "first.zip").read_bytes()
    assert exam("export", "qrels", "-o", "first.qrels", "--save-manifest", "m.json", "--binary")[0] == 0
    again = ("export", "qrels", "-o", "again.qrels", "--manifest")
    assert exam(*again, "m.json")[0] == 0
    (tmp_path / "again.qrels").rename(tmp_path / "second.qrels")
    assert (tmp_path / "second.qrels").read_bytes() == (tmp_path / "first.qrels").read_bytes()
    file = tmp_path / "m.json"
    whole = file.read_text()
    for text, failure in (
        (whole.replace('"label": "max"', '"label": "mean"'), "manifest-changed"),
        ("{", "not-a-manifest"),
    ):
        file.write_text(text)
        exam.fails(failure, *again, "m.json")
    assert exam(*again, "absent.json")[0] == 2
    assert not (tmp_path / "again.qrels").exists()


TABLES = ("cascades", "cascade_passages")


planned = projects.filled_project(fill_planned)


def rows(project: Project) -> list[list[tuple[object, ...]]]:
    return [project.rows(f"FROM {table} ORDER BY ALL") for table in TABLES]


def test_old_cascade_is_kept_but_its_bundle_is_refused(planned: Project, tmp_path: Path) -> None:
    (act,) = [act for act in records.list_actions(planned, records.ActivityFilter()).acts if act.act == "plan cascade"]
    assert all(name in act.said for name in ("first", "cheap", "expensive")) and "passages" not in act.said
    policy = Policy(grader="expensive")
    packed = exchange.bundle_publication(
        planned, policy, "org", beside=lambda project: {"cascade-1.json": ("A cascade.", b"{}\n")}
    )
    plain = exchange.bundle_publication(planned, policy, "org")
    manifest = manifest_of(packed)
    assert [one["publication"] for one in exchange.list_publications(planned)][1] == manifest["publication"]
    state = planned.version()
    with pytest.raises(InputError):
        exchange.reproduce_bundle(planned, manifest, "bob")
    assert planned.version() == state
    assert exchange.reproduce_qrels(planned, manifest, "bob") == unpacked(packed)[f"{planned.name}.qrels"]
    assert exchange.reproduce_bundle(planned, manifest_of(plain), "bob") == plain
    before = rows(planned)
    assert len(before[0]) == 1 and len(before[1]) == len(QUERIES) * 8
    assert not any(exchange.check_project(planned).values())
    counts = exchange.export_project(planned, tmp_path / "out", "org")
    assert [counts[table] for table in TABLES] == [1, len(before[1])]
    exchange.import_project(tmp_path / "out", tmp_path / "again.duckdb")
    again = open_project(tmp_path / "again.duckdb")
    assert rows(again) == before and not any(exchange.check_project(again).values())
