"""The command line: output, exit codes, one line per error, and the printer."""

import contextlib
import errno
import functools
import gzip
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import click
import pytest

from exam_workbench import answers, choices, cli, exchange, formats, graders, measures
from exam_workbench.errors import InputError
from exam_workbench.labels import Policy, basis, label_qrels
from exam_workbench.measures import item_response
from exam_workbench.operations import MODULES, SECTIONS, registry
from exam_workbench.operations.console import Output, print_result
from exam_workbench.operations.describing import Argument, GatheredOptions, Option
from exam_workbench.operations.opening import Opening
from exam_workbench.operations.registry import at_most_one, operation
from exam_workbench.store import Project, open_project
from exam_workbench.types import Question
from tests.made.browser import free_port, wait_until_healthy
from tests.made.projects import File, commit, fill
from tests.made.refusals import kept_failures, mentions, refusal

QUERIES = "q1\tWhy is the sea salty?\nq2\tHow does bread rise?\n"
PASSAGES = (
    "p1\tRivers carry dissolved salts from rocks into the sea. The water evaporates and the salt stays.\n"
    "p2\tYeast eats sugar and makes carbon dioxide. The gas makes the dough rise.\n"
    "p3\tThe stadium was opened in 1923.\n"
)
BANK = (
    '{"query_id": "q1", "question_id": "q1/a", "text": "Where does the salt in the sea come from?"}\n'
    '{"query_id": "q2", "question_id": "q2/a", "text": "What makes bread dough rise?"}\n'
)
GOOD = "q1 Q0 p1 1 2 good\nq1 Q0 p3 2 1 good\nq2 Q0 p2 1 2 good\nq2 Q0 p3 2 1 good\n"
BAD = "q1 Q0 p3 1 2 bad\nq1 Q0 p1 2 1 bad\nq2 Q0 p3 1 2 bad\nq2 Q0 p2 2 1 bad\n"
UGLY = "q1 Q0 p3 1 2 ugly\nq2 Q0 p3 1 2 ugly\n"
QRELS = "q1 0 p1 2\nq1 0 p3 0\nq2 0 p2 1\nq2 0 p3 0\n"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str
    error: str = ""
    """The code of the error that ended it; empty if none of the workbench did."""

    @property
    def json(self):
        return json.loads(self.out)


Exam = Callable[..., Ran]


@pytest.fixture
def exam(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Exam:
    """Run `exam` with arguments in an empty folder, without a project in the environment."""
    monkeypatch.delenv("EXAM_PROJECT", raising=False)
    monkeypatch.chdir(tmp_path)
    failures = kept_failures(monkeypatch)

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["exam", *arguments])
        capsys.readouterr()
        failures.clear()
        try:
            cli.main()
            code: object = 0
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        assert isinstance(code, int)
        return Ran(code, captured.out, captured.err, failures[0].code if failures else "")

    return run


FILES = {
    "queries.tsv": QUERIES, "passages.tsv": PASSAGES, "bank.jsonl": BANK, "good.run": GOOD, "bad.run": BAD,
    "ugly.run": UGLY, "nist.qrels": QRELS,
}  # fmt: skip
IMPORTS = (
    ("init",),
    ("import", "queries", "queries.tsv"),
    ("import", "passages", "passages.tsv"),
    ("import", "runs", "good.run", "bad.run", "ugly.run"),
    ("import", "qrels", "nist.qrels"),
    ("import", "bank", "bank.jsonl"),
)


def write_files(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).write_text(content, encoding="utf-8")


@functools.cache
def imported_file() -> File:
    """Return the project file that the commands make from the files."""
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as shell,
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        write_files(Path(folder))
        shell.chdir(folder)
        shell.setenv("EXAM_PROJECT", "p.duckdb")
        for arguments in IMPORTS:
            shell.setattr(sys, "argv", ["exam", *arguments])
            # On failure this raises SystemExit.
            cli.main()
        assert "Traceback" not in said.getvalue()
        return File(Path("p.duckdb"))


@pytest.fixture
def imported(exam: Exam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exam:
    """`exam` on a project that is ready for grading, in a folder with its source files."""
    monkeypatch.setenv("EXAM_PROJECT", "p.duckdb")
    write_files(tmp_path)
    imported_file().write(tmp_path / "p.duckdb")
    return exam


def refused(ran: Ran, code: int, *words: str, error: str | None = None) -> None:
    """Check for one line on stderr, empty stdout, no traceback, and the error code if given."""
    assert ran.code == code, ran
    assert error in (None, ran.error), (error, ran.error, ran.err)
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("exam: ")
    for word in words:
        assert word in lines[0]


def test_files_lead_to_leaderboard_and_qrels(imported: Exam, tmp_path: Path):
    status = imported("status", "--json").json
    counts = {"queries": 2, "passages": 3, "runs": 3, "judgments": 4, "questions": 2, "grades": 0}
    assert status.items() >= counts.items()
    planned = imported("plan", "--json").json
    assert {name for name, count in planned.items() if not count} == {
        *("known", "failed", "without_text", "weightless", "sent")
    }
    assert (planned["needed"], planned["to_grade"]) == (4, 4)
    assert imported("grade", "--dry-run", "--json", "--limit", "1").json["to_grade"] == 1
    assert imported("plan", "--json").json == planned
    first = imported("grade", "--limit", "1", "--json").json
    assert (first["state"], first["graded"], first["failed"], first["calls"]) == ("done", 1, 0, 0)
    ran = imported("grade")
    assert (ran.code, ran.out) == (0, "")
    assert mentions(ran.err, "3")
    assert imported("plan", "--json").json == planned | {"known": 4, "to_grade": 0}
    board = imported("leaderboard", "--measure", "nDCG@10", "--min-rating", "3", "--json").json
    assert {"measure", "policy", "systems"} <= set(board)
    assert (board["measure"], board["policy"]["min_rating"]) == ("nDCG@10", 3)
    assert [set(system) for system in board["systems"]] == [{"run", "score", "std_error", "queries", "rank"}] * 3
    assert [system["run"] for system in board["systems"]] == ["good", "bad", "ugly"]
    refused(imported("leaderboard", "--measure", "nDGC@10"), 2, "nDGC@10")
    refused(imported("leaderboard", "--grader", "nobody"), 2, "nobody", "Embedding (MiniLM)")
    shown = imported("leaderboard", "--measure", "EXAM-Cover@1", "--min-rating", "3")
    assert shown.code == 0
    assert [line.split()[:2] for line in shown.out.splitlines()[1:]] == [["1", "good"], ["2", "bad"], ["2", "ugly"]]
    by_query = imported("leaderboard", "--measure", "EXAM-Cover@1", "--min-rating", "3", "--queries", "--json").json
    for system in by_query["systems"]:
        scores = by_query["per_query"][system["run"]].values()
        assert sum(scores) / system["queries"] == pytest.approx(system["score"])
    rows = [line.split() for line in imported("leaderboard", "--queries").out.partition("\n\n")[0].splitlines()]
    assert rows[0] == ["run", "query", "nDCG@10"]
    assert {run for run, *_ in rows[1:]} == {"good", "bad", "ugly"}
    found = imported("correlate", "--measure", "nDCG@10", "--against", "judgments", "--json").json
    assert {"systems", "spearman", "kendall", "tau_ap", "pearson", "ties", "undefined"} <= set(found)
    assert (found["systems"], found["spearman"], found["undefined"]) == (3, pytest.approx(1.0), None)
    assert imported("export", "qrels", "-o", "exam.qrels").code == 0
    lines = [line.split() for line in (tmp_path / "exam.qrels").read_text().splitlines()]
    labels = {(query, passage): int(label) for query, _, passage, label in lines}
    assert list(labels) == [("q1", "p1"), ("q1", "p3"), ("q2", "p2"), ("q2", "p3")]
    assert labels["q1", "p1"] > labels["q1", "p3"]
    assert imported("export", "qrels", "-o", "-").out == (tmp_path / "exam.qrels").read_text()
    assert imported("export", "graded", "-o", "g.jsonl.gz").code == 0
    assert len(gzip.decompress((tmp_path / "g.jsonl.gz").read_bytes()).splitlines()) == 2


def test_exported_bank_is_edited_and_saved_as_version(imported: Exam, tmp_path: Path):
    assert imported("export", "bank", "-o", "bank.csv").code == 0
    edited = (tmp_path / "bank.csv").read_text().replace("What makes bread dough rise?", "Why does dough rise?")
    (tmp_path / "bank.csv").write_text(edited)
    assert imported("bank", "save", "bank.csv", "--note", "shorter", "--json").json == {"version": 2, "saved": True}
    assert imported("bank", "save", "bank.csv", "--note", "again", "--json").json == {"version": 2, "saved": False}
    listed = imported("bank", "list", "--query", "q2", "--json").json
    assert (listed["version"], [q["text"] for q in listed["questions"]]) == (2, ["Why does dough rise?"])
    before = imported("bank", "list", "--version", "1", "--json").json
    assert before["questions"][1]["text"] == "What makes bread dough rise?"
    versions = imported("bank", "list", "--versions", "--json").json["versions"]
    assert [(v["version"], v["note"], v["changed"]) for v in versions][:1] == [(2, "shorter", 1)]
    refused(imported("bank", "save", "bank.csv", "--note", " "), 2, error="empty-note")
    assert imported("export", "bank", "-o", "old.jsonl", "--bank-version", "1").code == 0
    assert "What makes bread dough rise?" in (tmp_path / "old.jsonl").read_text()
    assert imported("export", "bank", "-o", "old.jsonl.gz", "--bank-version", "1").code == 0
    assert gzip.decompress((tmp_path / "old.jsonl.gz").read_bytes()) == (tmp_path / "old.jsonl").read_bytes()
    assert imported("bank", "save", "old.jsonl.gz", "--note", "back", "--json").json == {"version": 3, "saved": True}


SHORTER = "What makes dough rise?"


def test_questions_are_edited_added_compared_and_restored(imported: Exam):
    edit = ("bank", "edit", "q2/a", "--text", SHORTER, "--weight", "2", "--note", "shorter")
    saved = imported(*edit, "--json").json
    assert saved == {"version": 2, "saved": True, "question": "q2/a"}
    assert imported(*edit, "--json").json == saved | {"saved": False}
    added = imported(
        "bank", "edit", "--add", "q1", "--text", "Who salts it?", "--kind", "nugget", "--note", "n", "--json"
    )
    new = added.json["question"]
    assert (added.code, added.json) == (0, {"version": 3, "saved": True, "question": new})
    assert mentions(imported("bank", "edit", "q1/a", "--retired", "--note", "too easy").err, "4")
    listed = imported("bank", "list", "--json").json["questions"]
    assert {q["question_id"]: (q["text"], q["kind"], q["weight"], q["active"]) for q in listed} == {
        "q1/a": ("Where does the salt in the sea come from?", "question", 1.0, False),
        "q2/a": (SHORTER, "question", 2.0, True),
        new: ("Who salts it?", "nugget", 1.0, True),
    }
    found = imported("bank", "diff", "--from", "1", "--json").json
    assert {part: len(questions) for part, questions in found.items()} == {"added": 1, "changed": 2, "removed": 0}
    assert found["added"][0]["question_id"] == new
    both = {pair["after"]["question_id"]: (pair["before"], pair["after"]) for pair in found["changed"]}
    before, after = both["q2/a"]
    assert (before["text"], after["text"]) == ("What makes bread dough rise?", SHORTER)
    assert [one["active"] for one in both["q1/a"]] == [True, False]
    assert imported("bank", "diff", "--from", "4", "--to", "1", "--json").json["removed"] == found["added"]
    nothing = imported("bank", "diff", "--from", "2", "--to", "2", "--json").json
    assert nothing == {"added": [], "changed": [], "removed": []}
    shown = imported("bank", "diff", "--from", "1", "--to", "3").out.splitlines()
    assert shown == [f"+ {new}: Who salts it?", "~ q2/a: What makes[- bread-] dough rise?; weight 1.0 -> 2.0"]
    one = imported("bank", "restore", "--version", "1", "--question", "q2/a", "--note", "as it was", "--json").json
    assert one == {"version": 5, "saved": True}
    changed = imported("bank", "diff", "--from", "4", "--json").json["changed"]
    assert [pair["after"] for pair in changed] == [before]
    everything = imported("bank", "restore", "--version", "1", "--note", "all of it", "--json")
    assert everything.json == {"version": 6, "saved": True}
    listed = imported("bank", "list", "--json").json["questions"]
    assert {q["question_id"]: q["active"] for q in listed} == {"q1/a": True, "q2/a": True, new: False}
    again = imported("bank", "restore", "--version", "1", "--note", "again")
    assert again.code == 0 and mentions(again.err, "6")
    for key, found in (("rocks", "rocks"), ("", None)):
        imported("bank", "edit", "q1/a", "--answer-key", key, "--note", "a key")
        assert imported("bank", "list", "--query", "q1", "--json").json["questions"][0]["answer_key"] == found
    refused(imported("bank", "edit", "q1/a", "--text", "", "--note", "no words"), 2, "q1/a", error="empty-question")


def test_version_changes_list_labels_causes_and_systems(imported: Exam, tmp_path: Path):
    edit = ("bank", "edit", "q2/a", "--weight", "0", "--note", "out of every score")
    assert imported(*edit).code == 0
    refused(imported("changes", "--from", "1", "--to", "2"), 2, "graded")
    assert imported("grade").code == 0
    project = open_project(tmp_path / "p.duckdb")
    before = {(q, p): label for q, passages in label_qrels(project, basis(project, Policy(bank_version=1))).items()
              for p, label in passages.items()}  # fmt: skip
    project.close()
    found = imported("changes", "--from", "1", "--to", "2", "--measure", "nDCG@10", "--json").json
    assert {"labels", "systems"} <= set(found)
    assert {(one["query"], one["passage"]): one["before"] for one in found["labels"]} == {
        pair: label for pair, label in before.items() if pair[0] == "q2"
    }
    for one in found["labels"]:
        assert (one["after"], one["questions"]) == (None, ["q2/a"])
    for side, version in (("before", "1"), ("after", "2")):
        board = imported("leaderboard", "--measure", "nDCG@10", "--bank-version", version, "--json").json["systems"]
        assert {one["run"]: (one[f"score_{side}"], one[f"rank_{side}"]) for one in found["systems"]} == {
            system["run"]: (pytest.approx(system["score"]), system["rank"]) for system in board
        }
    assert imported("changes", "--from", "2", "--to", "2", "--json").json["labels"] == []
    imported("bank", "edit", "q1/a", "--text", "Why salt?", "--note", "shorter")
    assert imported("changes", "--from", "2", "--to", "3", "--json").json["to_grade"] == 2
    shown = imported("changes", "--from", "1", "--to", "2")
    assert shown.code == 0 and mentions(shown.err, "2") and mentions(shown.err, "0")
    assert [line.split()[0] for line in shown.out.splitlines()] == ["query", "q2", "q2", "run", "good", "bad", "ugly"]


def test_preview_changes_nothing_and_malformed_file_is_refused(imported: Exam, tmp_path: Path) -> None:
    (tmp_path / "more.tsv").write_text("p4\tone more\n")
    previewed = imported("import", "passages", "more.tsv", "--preview", "--json").json
    assert previewed["counts"] == {"new passages": 1}
    assert imported("status", "--json").json["passages"] == 3
    assert imported("import", "passages", "more.tsv", "--json").json == previewed
    assert imported("status", "--json").json["passages"] == 4
    before = imported("status", "--json").json
    (tmp_path / "sub").mkdir()
    for kind, content, error, words in (
        ("runs", GOOD + "q1 Q0 p1\n", "cut-off-file", ("sub/broken:5", " 3 ")),
        ("runs", GOOD + "q7 Q0 p1 1 1 good\n", "unknown-query", ("broken:5", "q7")),
        ("queries", "", "nothing-found", ("sub/broken",)),
    ):
        (tmp_path / "sub" / "broken").write_text(content)
        refused(imported("import", kind, "sub/broken"), 2, *words, error=error)
    refused(imported("import", "runs", "nowhere.run"), 2, "nowhere.run", error="unreadable-file")
    assert imported("status", "--json").json == before


def test_bad_lines_are_listed_and_unknown_queries_skipped(imported: Exam, tmp_path: Path) -> None:
    (tmp_path / "broken.qrels").write_text("q1 0 p1 x\nq1 0 p2 y\nq1 0 p3 z\n")
    ran = imported("import", "qrels", "broken.qrels")
    assert ran.code == 2
    for line in (1, 2, 3):
        assert f"broken.qrels:{line}: " in ran.err
    assert "Traceback" not in ran.err
    (tmp_path / "wide.run").write_text("q7 Q0 p1 1 1 wide\n" + GOOD.replace("good", "wide"))
    ran = imported("import", "runs", "wide.run", "--skip-unknown")
    assert ran.code == 0
    assert mentions(ran.err, "wide.run:1") and mentions(ran.err, "q7")


WRONG = [
    (("leaderboard", "--label", "median"), "unknown-label-rule", ("median", "support:M")),
    (("correlate",), "", ("--against",)),
    (("bank", "edit", "q9/z", "--text", "x", "--note", "n"), "unknown-question", ("q9/z", "exam bank list")),
    (("bank", "edit", "q1/a", "--text", "x", "--note", " "), "empty-note", ("note",)),
    (("bank", "edit", "--note", "n"), "no-question-named", ("--add",)),
    (("bank", "edit", "q1/a", "--add", "q1", "--note", "n"), "no-question-named", ("--add",)),
    (("bank", "edit", "--add", "q9", "--text", "x", "--note", "n"), "unknown-query", ("q9",)),
    (("bank", "edit", "--add", "q1", "--note", "n"), "empty-question", ("text",)),
    (("bank", "restore", "--version", "9", "--note", "n"), "unknown-bank-version", ("9",)),
    (
        ("bank", "restore", "--version", "1", "--question", "q9/z", "--note", "n"),
        "unknown-question",
        ("q9/z", "exam bank list"),
    ),
    (("changes", "--from", "1", "--to", "9"), "unknown-bank-version", ("9",)),
    (("changes", "--from", "1"), "option-missing", ("--to",)),
    (("changes", "--from", "one", "--to", "1"), "", ("one",)),
    (("export", "bank", "-o", "no/such/folder/x"), "cannot-write-file", ("no/such/folder/x",)),
    (("grade", "--limit", "0"), "", ("limit",)),
    (("init",), "file-exists", ("p.duckdb",)),
    (("import", "recipes", "x"), "", ("recipes",)),
    (("import", "qrels", "a", "b", "--source", "x"), "source-of-several-files", ("--source",)),
    (("frobnicate",), "", ("frobnicate",)),
    (("status", "--project", "missing.duckdb"), "no-such-project", ("missing.duckdb", "exam init")),
]
"""Arguments, the error code (empty for click's errors), and values that the message names."""


def test_wrong_use_prints_one_line_even_for_impossible_file_names(imported: Exam) -> None:
    for arguments, error, words in WRONG:
        refused(imported(*arguments), 2, *words, error=error)
    assert len(imported("bank", "list", "--versions", "--json").json["versions"]) == 1
    long = f"{'a' * 300}.duckdb"
    for command in (
        ("status", "--project", long), ("demo", "--project", long), ("backup", "-o", long), ("restore", long),
        ("export", "project", "-o", long), ("ingest", long),
    ):  # fmt: skip
        refused(imported(*command), 2, "aaa", ".duckdb", os.strerror(errno.ENAMETOOLONG))
    for words in (
        ("activity", "--limit"), ("failures", "--limit"), ("passages", "--limit"), ("passages", "--page"),
        ("pool", "--depth"), ("unjudged", "--top-k"), ("meta", "--bootstrap"), ("bank", "list", "--version"),
        ("overrides", "withdraw"), ("proposals", "accept"),
    ):  # fmt: skip
        # An argument is named after the objects of its command, an option by its own name.
        name = words[-1] if words[-1].startswith("-") else words[0].upper().rstrip("S")
        refused(imported(*words, "9" * 40), 2, name, "9" * 40, error="")


def test_command_without_project_explains_how_to_name_one(exam: Exam, tmp_path: Path):
    for command in (("init",), ("status",), ("plan",), ("leaderboard",), ("bank", "list")):
        refused(exam(*command), 2, "--project", "EXAM_PROJECT", error="no-project-named")
    assert list(tmp_path.iterdir()) == []


def test_help_and_version_succeed_and_list_every_command_once(exam: Exam) -> None:
    for arguments in (("--help",), ("--version",), ("grade", "-h")):
        ran = exam(*arguments)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == cli.cli.list_commands(click.Context(cli.cli))
    shown = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  +\S", exam("--help").out, re.M)
    assert [name for name in shown if name in listed] == listed
    for name, summary in [pair for summaries in SECTIONS.values() for pair in summaries.items()]:
        command = cli.cli.get_command(click.Context(cli.cli), name)
        assert command is not None and command.get_short_help_str(100) == summary


def test_options_offer_all_implemented_choices() -> None:
    assert tuple(graders.GRADERS) == choices.GRADER_KINDS
    assert tuple(formats.FORMS) == choices.BANK_FORMS
    assert tuple(answers.JUDGES) == choices.ANSWER_CHECKS
    assert f"{measures.COVER}@20" in choices.META_MEASURES
    assert tuple(item_response.ESTIMATORS) == get_args(choices.EstimatorName)
    assert set(exchange.IMPORTERS) == set(choices.IMPORT_KINDS) == set(formats.KINDS_OF_FILE)


def test_failed_call_is_reported_once(project: Project):
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"run": {"q1": ["p1"]}})
    project.close()
    nowhere = ["--base-url", "http://127.0.0.1:9", "--set", "attempts=1", "--patience", "0"]
    ran = subprocess.run(
        [sys.executable, "-c", "from exam_workbench.cli import main; main()", "grade", "--grader", "self-rating",
         "--model", "x", *nowhere, "--project", str(project.path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=False,
    )  # fmt: skip
    assert ran.stderr.count("the connection failed") == 1, ran.stderr
    assert ran.stderr.count("1 call, ") == 2, "billed and estimated"


def test_demo_is_complete_and_made_once(exam: Exam, tmp_path: Path):
    assert exam("demo", "--no-grade", "--project", "demo.duckdb").code == 0
    found = exam("status", "--project", "demo.duckdb", "--json").json
    assert found["passages without text"] == found["questions without text"] == 0
    assert len(exam("items", "list", "--project", "demo.duckdb", "--json").json) > 0
    before = (tmp_path / "demo.duckdb").read_bytes()
    again = exam("demo", "--project", "demo.duckdb")
    assert (again.code, mentions(again.err, "demo.duckdb")) == (0, True)
    assert (tmp_path / "demo.duckdb").read_bytes() == before


def test_job_of_dead_process_is_marked_when_grading_resumes(imported: Exam, tmp_path: Path):
    assert imported("grade", "--limit", "1").code == 0
    project = open_project(tmp_path / "p.duckdb")
    commit(project, "UPDATE jobs SET state = 'running', ended_at = NULL")
    project.close()
    assert imported("grade").code == 0
    project = open_project(tmp_path / "p.duckdb")
    assert project.rows("SELECT state FROM jobs ORDER BY job_key") == [("interrupted",), ("done",)]


def test_app_ends_with_its_command(exam: Exam, tmp_path: Path) -> None:
    exam("init", "--project", str(tmp_path / "p.duckdb"))
    port = free_port()
    command = [sys.executable, "-c", "from exam_workbench.cli import main; main()", "serve"]
    with (tmp_path / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--project", str(tmp_path / "p.duckdb"), "--port", str(port)],
            stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "STREAMLIT_SERVER_HEADLESS": "true"},
        )  # fmt: skip
    try:
        wait_until_healthy(process, f"http://localhost:{port}", tmp_path / "serve.log")
    finally:
        process.terminate()
        process.wait(timeout=60)
    with socket.socket() as probe:
        assert probe.connect_ex(("localhost", port)) != 0


def test_libraries_are_loaded_only_when_needed(tmp_path: Path) -> None:
    changes = ("init", "people add a@x.org --role viewer", "prices set m 1 2")
    reads = ("status", "bank list", "leaderboard", "jobs", "export queries -o -", "export figure --help")
    environment = {**os.environ, "EXAM_PROJECT": str(tmp_path / "p.duckdb"), "EXAM_AUTHOR": "ann"}
    script = f"{LOADS}\nfor words in {('--help', 'declared', *changes, *reads)}:\n    run(words)"
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    told = [json.loads(line) for line in ran.stderr.splitlines() if line.startswith("[")]
    loads = {words: set(modules) for words, _, *modules in told}
    codes = {words: code for words, code, *_ in told}
    assert len(loads) == 11 and {codes[words] for words in ("--help", *changes, "status", "bank list")} == {0}
    assert not loads["--help"] & {f"exam_workbench.operations.{module}" for module in MODULES}
    heavy = {"numpy", "pandas", "pyarrow", "scipy", "torch", "openai", "streamlit"}
    assert not loads["--help"] & (heavy | {"exam_workbench.graders"})
    assert not loads["declared"] & (heavy | {"yaml", "msgspec", "ir_measures", "altair"})
    assert not loads["status"] & {"pandas", "numpy", "pyarrow"} and "pandas" not in loads["bank list"]
    assert not loads["export figure --help"] & (
        {"torch", "transformers", "openai", "streamlit", "scipy", "simplemma", "nltk", "altair", "vl_convert"}
    )


LOADS = """
import json, sys
from exam_workbench.cli import main
def run(words):
    code = 0
    if words == "declared":
        from exam_workbench.operations import every_operation
        every_operation()
    else:
        sys.argv = ["exam", *words.split()]
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    print(json.dumps([words, code, *sys.modules]), file=sys.stderr)
"""


def test_missing_grades_are_exported_as_calls_and_ingested(imported: Exam, tmp_path: Path):
    model = ("--grader", "self-rating", "--model", "m", "--back-end", "openai", "--set", "structured=text")
    planned = imported("plan", *model, "-o", "calls.jsonl", "--json").json
    assert (planned["to_grade"], planned["calls"], planned["known"]) == (4, 4, 0)
    refused(imported("plan", *model, "--after", "calls.jsonl"), 2, "-o")
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert {call["url"] for call in calls} == {"/v1/chat/completions"}
    rows = [{"custom_id": call["custom_id"], "answer": str(at)} for at, call in enumerate(calls)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    refused(imported("ingest", "answers.jsonl", *model[:-1], "structured=json"), 2, "Self-rating")
    assert imported("ingest", "answers.jsonl", *model, "--json").json["graded"] == 4
    again = imported("ingest", "answers.jsonl", *model)
    assert (again.code, again.out) == (0, "")
    assert mentions(again.err, "4")
    assert imported("plan", *model, "--json").json["known"] == 4


def test_results_are_printed_in_parts_or_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Output().table(("run", "difference"), [("a", -0.00001), ("b", -0.5)]).print(as_json=False)
    assert "-0.0000" not in (printed := capsys.readouterr().out)
    assert printed.split()[2:] == ["a", "0.0000", "b", "-0.5000"]
    output = Output({"a": 1}).line("head").table(("x",), [(1,)]).table(("y",), [("b",)])
    output.note("warning", "", None).table(("z",), []).text("a,b\n")
    output.print(as_json=False)
    assert tuple(capsys.readouterr()) == ("head\nx\n1\n\ny\nb\nz\na,b\n", "warning\n")
    Output({"ä": None}).line("head").note("warning").print(as_json=True)
    assert tuple(capsys.readouterr()) == ('{"ä": null}\n', "")
    for result, told in (
        (Output({}).line("a").note("b"), ("a\n", "b\n")),
        ("saved", ("", "saved\n")),
        (None, ("", "")),
    ):
        print_result(result, as_json=False)
        assert tuple(capsys.readouterr()) == told


def test_operation_fails_after_printing_its_result(capsys: pytest.CaptureFixture[str]) -> None:
    with refusal("wrong"):
        print_result(Output().line("a").failing(InputError("wrong", "Wrong.")), as_json=False)
    assert capsys.readouterr().out == "a\n"
    with refusal("wrong"):
        print_result(Output().note("a").failing(InputError("wrong", "Wrong.")), as_json=True)
    assert tuple(capsys.readouterr()) == ("", "")


def test_conflicting_options_are_refused_before_running() -> None:
    check = at_most_one(first="--first", second="--second", third="THIRD")
    run = check(lambda **given: given)
    for given in ({"first": None, "second": False, "third": ""}, {"first": 0, "second": None, "third": None}):
        assert run(**given) == given
    with refusal("options-exclude-each-other"):
        run(first=0, second=True, third=None)


def span(
    *, low: Annotated[int, Option(least=0)], high: Annotated[int, Option(parse=lambda value: 2 * value)] = 9
) -> tuple[int, int]:
    return low, high


def test_gathered_options_reach_operation_as_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "OPERATIONS", {})

    @operation("try", act="organize")
    def try_it(*, name: Annotated[str, Argument()], both: Annotated[tuple[int, int], GatheredOptions(span)]) -> object:
        return name, both

    made = registry.OPERATIONS["try"]
    assert [one.name for one in made.parameters] == ["name", "low", "high"]
    assert made.call({"name": "a", "low": 1}, Opening()) == ("a", (1, 18))
    with refusal("parameter-missing", "--low"):
        made.call({"name": "a"}, Opening())
