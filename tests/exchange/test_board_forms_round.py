"""Leaderboards with their values by query: written in each form, and imported from it as the same board."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
import yaml

from exam_workbench.errors import FileError
from exam_workbench.exchange import Options, board_in_form, import_files
from exam_workbench.formats import BOARD_FORMS, Source
from exam_workbench.labels import Policy, leaderboard
from exam_workbench.records import imported_leaderboards
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.projects import fill, made_project
from tests.made.refusals import refusal
from tests.made.shell import Run, printed, shell_on

QUESTIONS = [Question(f"q{n}/{m}", f"q{n}", f"What is {n}{m}?") for n in (1, 2, 3) for m in "abc"]
RATINGS = {(question.text, f"p{n}"): (3 * at + 2 * n) % 6 for at, question in enumerate(QUESTIONS) for n in range(1, 5)}
RUNS = {
    "one": {"q1": ["p1"], "q2": ["p2", "p1"], "q3": ["p3"]},
    "two": {"q1": ["p3", "p4"], "q2": ["p4"], "q3": ["p2"]},
    "three": {"q1": ["p2", "p1"], "q3": ["p4", "p1"]},
    "four": {"q1": ["p4"], "q2": ["p1"], "q3": ["p1"]},
}
MEASURE = "EXAM-Cover@2"


def fill_all(project: Project) -> None:
    fill(project, QUESTIONS, RATINGS, RUNS)


@pytest.fixture
def exam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(fill_all, tmp_path, monkeypatch, capsys)


def test_a_board_comes_back_from_each_form_with_its_scores_by_query(tmp_path: Path) -> None:
    project = made_project(tmp_path / "p.duckdb", fill_all)
    for skipped in ("zero", "ignore"):
        board = leaderboard(project, MEASURE, policy=Policy(min_rating=3, skipped=skipped))
        by_query = {run: dict(scores) for run, scores in board.per_query.items()}
        if skipped == "zero":
            by_query["three"]["q2"] = 0.0
        for form in BOARD_FORMS:
            content, measures = board_in_form(board, form)
            assert yaml.safe_load(measures) == {"measures": [{"name": MEASURE, "dtype": "float"}]}
            sources = [Source("b.eval.txt", data=content)]
            if form == "trec_eval":
                with zipfile.ZipFile(io.BytesIO(content)) as archive:
                    assert sorted(archive.namelist()) == sorted(RUNS)
                    sources = [Source(f"eval/{name}", data=archive.read(name)) for name in archive.namelist()]
            done = import_files(project, "leaderboard", sources, "ann", Options("back", form=form, replace=True))
            assert done.counts == {"leaderboards": 1, "systems": 4, "values by query": sum(map(len, by_query.values()))}
            again = leaderboard(project, MEASURE, "back")
            assert (again.measure, again.scores, again.per_query) == (MEASURE, board.scores, by_query), form
            # What was read is written as it was.
            assert board_in_form(again, form)[0] == content or skipped == "ignore"
        lines = board_in_form(board, "ir_measures")[0].decode().splitlines()
        last = [at for at, line in enumerate(lines) if line.split("\t")[1] == "all"]
        runs = [line.split("\t")[0] for line in lines]
        assert last == [max(at for at, run in enumerate(runs) if run == each) for each in dict.fromkeys(runs)]
    project.close()


def test_files_of_one_run_each_are_joined_under_a_name_and_a_run_in_two_of_them_is_refused(tmp_path: Path) -> None:
    project = made_project(tmp_path / "p.duckdb", fill_all)
    files = [Source(name, data=f"map\tq1\t{x}\nmap\tq2\t.5\nP_5\tq1\t{x}\nP_5\tq2\t0\n".encode())
             for name, x in (("a", 0.25), ("b", 0.75))]  # fmt: skip
    import_files(project, "leaderboard", files, "ann", Options("track"))
    assert [*imported_leaderboards(project)] == [("track map", "map"), ("track P_5", "P_5")]
    assert leaderboard(project, "AP", "track map").scores == {"b": 0.625, "a": 0.375}
    assert leaderboard(project, "AP", "track map").per_query["a"] == {"q1": 0.25, "q2": 0.5}
    twice = [files[0], Source("other/a.txt", data=files[1].data)]
    with refusal("duplicate-run", "a", kind=FileError):
        import_files(project, "leaderboard", twice, "ann", Options("again"))
    assert len(imported_leaderboards(project)) == 2
    project.close()


def test_the_shell_writes_a_form_with_its_measures_and_correlates_as_asked(exam: Run) -> None:
    words = ("export", "leaderboard", "--measure", MEASURE, "--min-rating", "3")
    assert exam(*words, "--form", "ir_measures", "-o", "X.eval.txt")[0] == 0
    assert yaml.safe_load(Path("X.eval.measures.yml").read_text())["measures"][0]["name"] == MEASURE
    assert exam(*words, "--form", "jsonl", "-o", "-")[1].count("\n") == 16
    exam.fails("options-exclude-each-other", "export", "bank", "--form", "tot", "-o", "x")
    exam.fails("options-exclude-each-other", "import", "queries", "--form", "tot", "X.eval.txt")
    assert exam("import", "leaderboard", "X.eval.txt", "--form", "ir_measures", "--name", "theirs")[0] == 0
    exam.fails("form-differs", "import", "leaderboard", "X.eval.txt", "--form", "tot", "--name", "wrong")
    asked = ("correlate", "--measure", MEASURE, "--min-rating", "2", "--against", "theirs")
    plain = exam(*asked, "--json")[1]
    more = exam(*asked, "--correlation", "tau_gap", "--correlation", "kendall@3", "--correlation", "kendall", "--json")[
        1
    ]
    known = json.loads(plain)
    assert json.loads(more) == known | {key: json.loads(more)[key] for key in ("tau_gap", "kendall@3")}
    assert "tau_gap" not in known and -1 <= json.loads(more)["tau_gap"] <= 1
    assert "tauap_b" in exam(*asked, "--correlation", "tauap_b")[1]
    exam.fails("unknown-correlation", *asked, "--correlation", "tau")
    assert printed(exam(*asked, "--json")) == known
