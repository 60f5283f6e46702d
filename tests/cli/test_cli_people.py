"""Commands for people and their work: roles, overrides, judgments, drafts and audits."""

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.errors import InputError, WorkbenchError
from exam_workbench.operations.console import ProgressLines
from exam_workbench.store import Project, as_name, open_project
from exam_workbench.types import Question
from tests.audit.test_dealing import filled
from tests.cli.test_cli import Exam, refused
from tests.made.audits import QUERIES, fill_audited, truth
from tests.made.projects import file_of, fill, judge
from tests.made.refusals import check_error, mentions
from tests.made.shell import Run, ShellOn, printed

A, B = Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")
GRADES = {("What is A?", "p1"): 5, ("What is A?", "p2"): 0, ("What is B?", "p1"): 1, ("What is B?", "p2"): None}


def grade_and_judge(project: Project) -> None:
    fill(project, [A, B], GRADES, {"sys": {"q1": ["p1", "p2"]}, "other": {"q1": ["p2", "p1"]}})
    judge(project, {("q1", "p1"): 0, ("q1", "p2"): 1}, "nist")


@pytest.fixture
def shell(exam: Exam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exam:
    """`exam` on a graded and judged project."""
    file_of(grade_and_judge).write(tmp_path / "p.duckdb")
    monkeypatch.setenv("EXAM_PROJECT", "p.duckdb")
    return exam


def test_override_is_set_listed_confirmed_and_withdrawn(shell: Exam) -> None:
    key = str(
        shell("overrides", "set", "q1/a", "p1", "2", "--reason", "vague", "--author", "ann", "--json").json["override"]
    )
    (one,) = shell("overrides", "list", "--json").json["overrides"]
    assert (str(one["key"]), one["rating"], one["author"], one["stale"]) == (key, 2, "ann", False)
    refused(shell("overrides", "confirm", key, "--author", "bob"), 2, key)
    refused(shell("overrides", "withdraw", key, "999999"), 2, "exam overrides list", error="unknown-override")
    assert shell("overrides", "list", "--json").json["overrides"] == [one]
    assert shell("bank", "edit", "q1/a", "--text", "What is A really?", "--note", "clearer").code == 0
    (one,) = shell("overrides", "list", "--stale", "--json").json["overrides"]
    assert f"exam overrides confirm {key}" in shell("overrides", "list").err
    assert shell("overrides", "confirm", key, "--author", "bob").code == 0
    (new,) = shell("overrides", "list", "--json").json["overrides"]
    assert (new["stale"], new["author"], new["rating"]) == (False, "bob", 2)
    assert mentions(shell("overrides", "withdraw", str(new["key"])).err, "1")
    assert shell("overrides", "list", "--json").json == {"overrides": []}
    refused(shell("overrides", "withdraw", key), 2, "exam overrides list", error="unknown-override")
    refused(shell("overrides", "set", "q1/a", "p1", "9", "--reason", "x"), 2, "9", error="rating-out-of-range")


def test_judgments_are_set_listed_and_withdrawn(shell: Exam) -> None:
    for value in ("1", "3"):
        assert shell("judgments", "set", "q1", "p1", value, "--author", "ann", "--note", "n").code == 0
    assert shell("judgments", "list", "--json").json == {
        "judgments": [{"author": "ann", "query_id": "q1", "passage_id": "p1", "value": 3, "first_blind": None}]
    }
    assert shell("judgments", "list", "--who", "bob", "--json").json == {"judgments": []}
    assert shell("judgments", "withdraw", "q1", "p1", "--author", "ann").code == 0
    assert shell("judgments", "list", "--json").json == {"judgments": []}
    refused(shell("judgments", "set", "q1", "p1", "4"), 2, "4", error="judgment-out-of-range")


def test_disagreement_is_settled_and_reopened(shell: Exam) -> None:
    found = shell("disagreements", "list", "--source", "nist", "--json").json
    assert (found["total"], [row["pair"]["passage_id"] for row in found["rows"]]) == (2, ["p1", "p2"])
    settle = ("disagreements", "resolve", "q1", "p1", "--source", "nist")
    refused(shell(*settle, "--by", "override", "--reason", "no"), 2, "--question", "--rating", error="option-missing")
    assert shell(*settle, "--by", "dispute", "--reason", "it does answer", "--author", "ann").code == 0
    assert shell("disagreements", "list", "--source", "nist", "--json").json["hidden"] == 1
    (act,) = shell("disagreements", "history", "--json").json["acts"]
    assert (act["act"], act["source"], act["author"], act["settled"]) == ("dispute", "nist", "ann", True)
    again = shell(*settle, "--by", "comment", "--reason", "again")
    refused(again, 2, "p1", "exam disagreements list", error="no-open-disagreement")
    reopen = ("disagreements", "reopen", "q1", "p1", "--source", "nist")
    assert shell(*reopen).code == 0
    refused(shell(*reopen), 2, "p1", "exam disagreements history", error="not-settled")
    assert shell(*settle, "--by", "override", "--question", "q1/a", "--rating", "0", "--reason", "no").code == 0
    assert shell(*reopen, "--withdraw-override").code == 0
    assert "dispute" in shell("disagreements", "history", "--csv").out


def test_pool_jobs_failures_and_publications_are_listed(shell: Exam) -> None:
    assert shell("pool", "--json").json == {"depth": 20, "passages": 2}
    assert shell("pool", "--depth", "1", "--json").json["depth"] == 1
    found = shell("failures", "--json").json
    assert [(one["passage_id"], one["asked"]["text"]) for one in found["pairs"]] == [("p2", "What is B?")]
    assert shell("failures").code == 0
    assert shell("jobs", "--json").json == {"jobs": []}
    assert shell("export", "bundle", "-o", "b.zip", "--note", "first").code == 0
    (manifest,) = shell("publications", "--json").json["publications"]
    assert manifest["note"] == "first"
    assert "first" in shell("publications").out


def test_progress_prints_few_log_lines_and_one_terminal_line(capsys: pytest.CaptureFixture[str]) -> None:
    now = [0.0]
    lines = ProgressLines("pairs", terminal=False, clock=lambda: now[0])
    day = 86_400
    for second in range(0, day, 5):
        now[0] = float(second)
        lines.print_progress(second, day)
    lines.print_progress(day, day, over=True)
    told = capsys.readouterr().err.splitlines()
    assert 10 < len(told) < 40
    assert all(number in told[0] for number in ("10 of 86,400 pairs", " 1 per ", "23 h 59 min"))
    lines = ProgressLines("pairs", terminal=True, clock=lambda: 0.0)
    lines.print_progress(1, 4, rate=0.5)
    lines.print_progress(4, 4, rate=0.5, over=True)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and told.count("\r") == 2
    assert all(number in told for number in ("1 of 4 pairs", " 30.0 per ", "6 s"))


@pytest.mark.parametrize("message", ["No full stop", "A full stop.", "What?", "Trailing white space  "])
def test_message_and_hint_are_two_sentences(message: str) -> None:
    for kind in (WorkbenchError, InputError):
        said = str(kind(message, "Do this."))
        assert said.removesuffix(" Do this.").endswith((".", "?"))
        assert "  " not in said and ".." not in said


FOR_ANN = "What is A for ann?"


@pytest.fixture
def edited(shell: Exam, tmp_path: Path) -> Exam:
    """`exam` on a project in which ann and bob drafted the same question, and ann another one."""
    project = open_project(tmp_path / "p.duckdb")
    bank.put_drafts(project, "ann", [replace(A, text=FOR_ANN), replace(B, weight=2.0)])
    bank.put_draft(project, "bob", replace(A, active=False))
    project.close()
    return shell


def listed(exam: Exam) -> dict[tuple[str, str], tuple[list[str], bool]]:
    found = exam("bank", "drafts", "--json").json["drafts"]
    return {(one["author"], one["question"]["question_id"]): (one["done"], one["conflict"]) for one in found}


def test_drafts_are_listed_discarded_and_saved_and_conflicts_settled(edited: Exam) -> None:
    assert listed(edited) == {
        ("ann", "q1/a"): (["reworded"], False),
        ("ann", "q1/b"): (["reweighted"], False),
        ("bob", "q1/a"): (["retired"], False),
    }
    for who, shown in ("ann", True), ("bob", False):
        assert (FOR_ANN in edited("bank", "drafts", "--who", who).out) == shown
    refused(edited("bank", "discard", "--author", "ann"), 2, "--all", error="option-missing")
    refused(edited("bank", "discard", "q1/b", "q1/zzz", "--author", "ann"), 2, "q1/zzz", error="unknown-draft")
    assert len(listed(edited)) == 3
    assert edited("bank", "discard", "q1/b", "--author", "ann").code == 0
    assert set(listed(edited)) == {("ann", "q1/a"), ("bob", "q1/a")}
    assert edited("bank", "save", "--note", "mine", "--author", "ann").code == 0
    assert edited("bank", "discard", "--all", "--author", "ann").code == 0
    assert listed(edited) == {("bob", "q1/a"): (["reworded", "retired"], True)}
    refused(edited("bank", "save", "--note", "his", "--author", "bob"), 2, "exam bank resolve", error="open-conflicts")
    refused(edited("bank", "resolve", "q1/b", "--keep", "mine", "--author", "bob"), 2, "q1/b", error="unknown-draft")
    assert edited("bank", "resolve", "q1/a", "--keep", "theirs", "--author", "bob").code == 0
    assert listed(edited) == {}
    (newest, *_) = edited("bank", "list", "--versions", "--json").json["versions"]
    assert (newest["author"], newest["note"]) == ("ann", "mine")


def test_question_is_split_and_two_are_merged(shell: Exam) -> None:
    new = shell("bank", "split", "q1/a", "--into", "What is A1?", "--into", "What is A2?", "--note", "n", "--json")
    split = new.json["questions"]
    known = {one["question_id"]: one for one in shell("bank", "list", "--json").json["questions"]}
    assert [known[one]["text"] for one in split] == ["What is A1?", "What is A2?"]
    assert not known["q1/a"]["active"]
    assert [known[one]["weight"] for one in split] == [known["q1/a"]["weight"] / 2] * 2
    merged = shell("bank", "merge", *split, "--into", "What are the As?", "--note", "n", "--json").json["question"]
    known = {one["question_id"]: one for one in shell("bank", "list", "--json").json["questions"]}
    assert {one["text"] for one in known.values() if one["active"]} == {"What are the As?", "What is B?"}
    assert known[merged]["active"]
    refused(shell("bank", "split", "q1/b", "--into", "Only one?", "--note", "n"), 2, error="too-few-questions")
    refused(shell("bank", "merge", "q1/b", "--into", "All?", "--note", "n"), 2, error="too-few-questions")


def test_passages_are_filtered(shell: Exam) -> None:
    for sought, found in (
        ((), ["p1", "p2"]), (("TEXT of p2",), ["p2"]), (("--label-is", "5"), ["p1"]), (("--label-is", "none"), []),
        (("--rating", "0"), ["p2"]), (("--state", "failed"), ["p2"]), (("--judgment", "1"), ["p2"]),
        (("--source", "nist", "--judgment", "none"), []), (("--flagged",), ["p1", "p2"]),
        (("--run", "other", "--depth", "1"), ["p2"]), (("--unjudged-by", "nist"), []), (("--overridden",), []),
        (("--limit", "1", "--page", "2"), ["p2"]),
    ):  # fmt: skip
        assert [one["passage_id"] for one in shell("passages", *sought, "--json").json["passages"]] == found, sought
    shown = shell("passages", "--json").json["passages"]
    assert shown == shell("passages", "--source", "nist", "--json").json["passages"], "the first source is the default"
    assert any(one["judgment"] is not None for one in shown)


def test_unknown_value_is_refused(shell: Exam) -> None:
    for words, error in (
        (("passages", "--query", "q9"), "no-pooled-passages"), (("passages", "--run", "nope"), "unknown-run"),
        (("passages", "--source", "nope"), "unknown-source"), (("passages", "--label-is", "much"), "invalid-value"),
        (("plan", "--query", "nope"), "unknown-query"), (("grade", "--query", "nope"), "unknown-query"),
        (("grade", "--dry-run", "--query", "nope"), "unknown-query"),
        (("disagreements", "list", "--query", "nope"), "unknown-query"),
    ):  # fmt: skip
        refused(shell(*words), 2, words[-1], error=error)
    refused(shell("passages", "--judgment", "9" * 5000), 2, error="invalid-value")


def test_invisible_characters_are_removed_from_names() -> None:
    assert as_name(" Ann\x07\u200b  Łucja\nMüller\t") == "Ann Łucja Müller"


def test_roles_change_and_last_organizer_stays(shell: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAM_AUTHOR", "root")
    shell("people", "add", "ann@example.org", "--role", "organizer")
    refused(shell("people", "remove", "ann@example.org"), 2, "ann", error="last-organizer")
    held = []
    for words in (
        "add Ann@Example.org --role organizer",
        "add bob@example.org --role assessor --name Bobby --query q1",
        "change bob@example.org --all-queries",
        "undo bob@example.org",
        "remove bob@example.org",
        "undo bob@example.org",
    ):
        assert shell("people", *words.split()).code == 0
        people = {one["name"]: one for one in shell("people", "list", "--json").json["people"]}
        held.append(people["Bobby"]["queries"] if "Bobby" in people else "no role")
    assert held == ["no role", ["q1"], None, ["q1"], "no role", ["q1"]]
    assert shell("people", "list", "--json").json["people"] == [
        {"identity": "bob@example.org", "name": "Bobby", "role": "assessor", "queries": ["q1"], "further": []},
        {"identity": "ann@example.org", "name": "ann", "role": "organizer", "queries": None, "further": []},
    ]
    assert shell("people", "list").out.splitlines()[1:] == [
        "bob@example.org  Bobby  assessor   q1",
        "ann@example.org  ann    organizer  all",
    ]


@pytest.fixture
def audits(shell_on: ShellOn) -> Run:
    """Run a command on a project with four systems."""
    return shell_on(fill_audited)


def test_audit_runs_from_design_to_leaderboard_and_bundle(audits: Run, tmp_path: Path) -> None:
    for words in ("board", "status", "draw"):
        assert "exam audit design" in audits.fails("no-audit", "audit", words)
    code, _, err = audits("leaderboard", "--measure", "P@5")
    assert code == 0 and "exam audit leaderboard" not in err
    made = printed(
        audits("audit", "design", "first", "--measure", "P@3", "--seed", "4", "--batch-size", "20", "--json")
    )
    assert made["audit"]["measure"] == "P@3" and made["without_text"] == 0
    assert mentions(audits("audit", "curve")[2], "20")
    assert mentions(audits.fails("no-batch", "audit", "export", "-o", "out.tsv"), "--audit first")
    batch = printed(audits("audit", "draw", "--json"))["batch"]
    assert audits("audit", "export", "-o", "out.tsv")[0] == 0
    Path("back.tsv").write_text(filled(Path("out.tsv").read_text(), "tsv"))
    assert audits("audit", "import", "back.tsv")[0] == 0
    status = printed(audits("audit", "status", "--json"))
    assert status["batches"][0]["judged"] == batch["drawn"] - 1
    assert [one["name"] for one in status["assessors"]] == ["ann"]
    board = printed(audits("audit", "leaderboard", "--json"))
    assert {row["run"] for row in board["systems"]} == {"good", "fair", "poor", "pleasing"}
    code, out, err = audits("audit", "leaderboard")
    assert code == 0 and "bias" in out and "precision" in err
    assert audits("audit", "calibrate")[0] == 0
    assert len(printed(audits("audit", "graders", "--json"))["graders"]) == 1
    Path("theirs.qrels").write_text(
        "".join(f"{q} 0 {q}p{i} {truth(q, f'{q}p{i}')}\n" for q in QUERIES for i in range(1, 10))
    )
    assert audits("import", "labels", "theirs.qrels", "--name", "theirs")[0] == 0
    chosen = printed(audits("audit", "graders", "--json"))
    assert chosen["chosen"] == "theirs" and len(chosen["graders"]) == 2
    assert "Poisson" in audits("audit", "methods")[1]
    assert "exam audit leaderboard --audit first" in audits("leaderboard", "--measure", "P@5")[2]
    assert audits("export", "bundle", "-o", "b.zip")[0] == 0
    with zipfile.ZipFile("b.zip") as packed:
        packed.extract("audit-1.json", tmp_path)
    assert printed(audits("audit", "leaderboard", "--from", "audit-1.json", "--json")) == board
    assert audits("audit", "end")[0] == 0
    audits.fails("audit-ended", "audit", "draw")


def test_model_families_are_set_and_shared_families_warned_of(audits: Run, tmp_path: Path) -> None:
    assert audits("runs", "families", "good", "poor", "--family", "GPT")[0] == 0
    code, _, err = audits("runs", "families", "--questions", "--grader", "test grader", "--family", "gpt")
    assert code == 0 and "gpt" in err
    rows = {row["run"]: row["families"] for row in printed(audits("runs", "list", "--json"))["runs"]}
    assert rows == {"good": ["gpt"], "poor": ["gpt"], "fair": None, "pleasing": None}
    roles = printed(audits("audit", "roles", "--json"))
    assert roles["kin"] == ["good", "poor"] and len(roles["warnings"]) == 3
    assert audits("runs", "families", "good")[0] == 2
    assert any(mentions(line, "good") and mentions(line, "gpt") for line in audits("activity")[1].splitlines())


def test_claims_are_released_and_unjudged_batch_stays(audits: Run, tmp_path: Path) -> None:
    audits("audit", "design", "first", "--measure", "P@3", "--seed", "4")
    audits("audit", "draw")
    assert audits("audit", "export", "-o", "mine.jsonl", "--form", "jsonl", "--assessor", "cara", "--most", "1")[0] == 0
    assert mentions(audits("audit", "release", "--author", "cara")[2], "1 query")
    assert audits("audit", "end-batch")[0] == 2
    audits("audit", "export", "-o", "out.tsv")
    line = Path("out.tsv").read_text().splitlines()[1].split("\t")
    Path("bad.qrels").write_text(f"{line[0]} 0 {line[3]} 9\n")
    assert audits("audit", "import", "bad.qrels")[:2] == (2, "")
    check_error(audits.failures[-1], "not-placed", "bad.qrels:1", "9", "0", "3")
    project = open_project(tmp_path / "some.duckdb")
    assert project.value("SELECT count(*) FROM audit_claims WHERE ended_at IS NULL") == 0
