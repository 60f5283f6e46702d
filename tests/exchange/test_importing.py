"""Import of every kind of file: complete or refused, previews and repeats."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench import bank, exchange
from exam_workbench.bank import _question_buffer as question_buffer, _saving as saving, find_grader, label_graders
from exam_workbench.errors import FileError, InputError, Problem, Report
from exam_workbench.exchange import (
    _file_import as file_import,
    _graded_import as graded_import,
    _run_import as run_import,
)
from exam_workbench.exchange._integrity import filled_tables
from exam_workbench.formats import Source, read_run_lines
from exam_workbench.formats.trec_files import write_run
from exam_workbench.labels import Policy, basis, label_qrels, leaderboard
from exam_workbench.records import (
    _collection as collection,
    _judgments as judgments,
    _runs as runs,
    _writing_passages as writing_passages,
    imported_leaderboards,
    judgment_sources,
    ranking_scores,
    source_judgments,
)
from exam_workbench.store import Project
from exam_workbench.types import Query, Question, Ranked
from tests.formats.test_formats import ids, scores, source_of, words
from tests.made.projects import commit, examples, fill, filled_project, grade, new_project, rankings
from tests.made.refusals import coded, mentions, refusal
from tests.made.shell import ShellOn, printed

QUERIES = "q1\tfirst query\nq2\tsecond query\n"
PASSAGES = "p1\ttext one\np2\ttext two\np3\ttext three\n"
BANK = (
    '{"query_id": "q1", "question_id": "q1/a", "text": "What is A?", "weight": 2}\n'
    '{"query_id": "q2", "question_id": "q2/b", "text": "What is B?", "active": false}\n'
)
RUN = "q1 Q0 p1 1 2.5 sys\nq1 Q0 p2 2 1.5 sys\nq2 Q0 p3 1 7 sys\n"
QRELS = "q1 0 p1 2\nq2 0 p3 0\n"
BOARD = "run\tMAP\nsys\t0.5\nother\t0.25\n"

FILES = {"queries": QUERIES, "passages": PASSAGES, "bank": BANK, "runs": RUN, "qrels": QRELS, "leaderboard": BOARD}


def source(name: str, content: str | bytes) -> Source:
    return Source(name, data=content.encode() if isinstance(content, str) else content)


def take(project: Project, kind: str, content: str | bytes, name: str = "given", **options) -> file_import.Imported:
    return exchange.import_files(project, kind, [source(name, content)], "tester", exchange.Options(**options))


def passage(passage_id: str, text: str, ratings: dict[str, int], direct: int | None = None) -> dict:
    """Return a passage in the interchange format, with ratings by question id."""
    info = {"prompt_class": "SelfRating", "is_self_rated": True}
    rated = [{"question_id": question, "self_rating": rating} for question, rating in ratings.items()]
    entry = {"llm": "some/model", "llm_options": {}, "prompt_info": info, "prompt_type": "question"}
    lists = {"correctAnswered": [], "wrongAnswered": [], "answers": [], "exam_ratio": 0.0}
    made = {
        "paragraph_id": passage_id,
        "text": text,
        "paragraph_data": {
            "judgments": [{"paragraphId": passage_id, "query": "g1", "relevance": 1, "titleQuery": "a graded query"}],
            "rankings": [{"method": "sys", "paragraphId": passage_id, "queryId": "g1", "rank": 1, "score": len(text)}],
        },
        "exam_grades": [{**entry, **lists, "self_ratings": rated}] if rated else [],
    }
    if direct is not None:
        made["grades"] = [{**entry, "prompt_type": "direct_grading", "self_ratings": direct, "correctAnswered": True}]
    return made


def graded(*passages: dict, query_id: str = "g1") -> str:
    return json.dumps([query_id, list(passages)]) + "\n"


GRADED = graded(passage("p1", "text one", {"g1/a": 4, "g1/b": 0}), passage("p4", "text four", {"g1/a": 2}, 3))


def snapshot(project: Project) -> dict[str, list]:
    """Return all rows of all tables, to check that refused imports change nothing."""
    with project.cursor() as cursor:
        names = sorted(filled_tables(cursor))
    return {name: project.rows(f"SELECT * FROM {name} ORDER BY ALL") for name in names}


@contextmanager
def unchanged(project: Project) -> Iterator[None]:
    """Check that the block changes no row of any table."""
    before = snapshot(project)
    yield
    assert snapshot(project) == before


def take_all(project: Project) -> None:
    for kind in ("queries", "passages", "bank", "runs", "qrels"):
        take(project, kind, FILES[kind], f"{kind}.txt")


full = filled_project(take_all)
"""A project with queries, passages, a bank, a run and qrels."""


with_graded = filled_project(lambda project: take(project, "graded", GRADED, "g.jsonl"))
"""A project with an imported graded file."""


def test_every_kind_of_file_is_imported(project: Project):
    counts = {kind: take(project, kind, content, f"{kind}.txt").counts for kind, content in FILES.items()}
    assert counts == {
        "queries": {"queries": 2, "new queries": 2},
        "passages": {"new passages": 3},
        "bank": {"questions": 2, "new questions": 2, "changed questions": 0, "new queries": 0, "bank version": 1},
        "runs": {"runs": 1, "ranked passages": 3},
        "qrels": {"sources": 1, "judgments": 2},
        "leaderboard": {"leaderboards": 1, "systems": 2},
    }
    stored = [(question.question_id, question.weight, question.active) for question in bank.list_questions(project)]
    assert stored == [("q1/a", 2.0, True), ("q2/b", 1.0, False)]
    ranked = [Ranked("q1", "p1", 1, 2.5), Ranked("q1", "p2", 2, 1.5), Ranked("q2", "p3", 1, 7.0)]
    assert rankings(project) == {"sys": ranked}
    assert imported_leaderboards(project) == [("leaderboard", "MAP")]
    assert leaderboard(project, "P@5", "qrels").scores == {"sys": pytest.approx(0.1)}


def test_graded_file_is_imported_completely(project: Project):
    counts = take(project, "graded", GRADED, "g.jsonl").counts
    assert counts == {
        "queries": 1,
        "passages": 2,
        "new passages": 2,
        "grades": 4,
        "new grades": 4,
        "runs": 1,
        "judgments": 2,
        "bank version": 1,
        "questions": 2,
    }
    assert project.rows("SELECT query_id, text FROM queries") == [("g1", "a graded query")]
    assert [(g.spec.method, g.grades) for g in label_graders(project)] == [("self-rating", 3), ("direct", 1)]
    assert bank.list_questions(project) == [Question("g1/a", "g1", None), Question("g1/b", "g1", None)]
    assert leaderboard(project, "P@5", "judgments").scores == {"sys": pytest.approx(0.4)}


@pytest.mark.parametrize("kind", [*FILES, "graded"])
def test_preview_changes_nothing_and_matches_import(full: Project, kind: str):
    contents = {
        "queries": "q2\tsecond query, reworded\nq3\tthird\n",
        "passages": "p3\ttext three\np5\ttext five\n",
        "bank": BANK.replace("What is B?", "What is B really?"),
        "runs": RUN + "q1 Q0 p9 3 1 sys\n",
        "qrels": QRELS + "q1 0 p7 1\n",
        "leaderboard": BOARD,
        "graded": GRADED,
    }
    sources = [source(f"{kind}.txt", contents[kind])]
    before = snapshot(full)
    previewed = exchange.import_files(full, kind, sources, "tester", preview=True)
    assert snapshot(full) == before
    assert exchange.import_files(full, kind, sources, "tester", exchange.Options(replace=True)) == previewed
    assert snapshot(full) != before


def cut(content: str) -> str:
    return content[: content.rindex(" ")]


MALFORMED = [
    ("queries", '{"query_id": "q3", "text": "fine"}\n{"query_id": "q4", "te\n', 2),
    ("passages", "p8\tfine\np9 without a tab\n", 2),
    ("bank", '{"query_id": "q1", "text": "fine?"}\n{"query_id": "q1", "text": "Bad?", "weight": "heavy"}\n', 2),
    ("runs", cut(cut(RUN)), 3),
    ("runs", RUN + "q9 Q0 p1 1 1.0 sys\n", 4),
    ("qrels", QRELS + "q1 0 p2 1 x\n", 3),
    ("qrels", QRELS + "q1 0 p1 0\n", 3),
    ("qrels", QRELS + "q9 0 p1 1\n", 3),
    ("leaderboard", BOARD + "third\tbest of all\n", 4),
    ("graded", GRADED + GRADED[:200] + "\n", 2),
    ("graded", GRADED + graded(passage("p5", "five", {"g1/a": 6})), 2),
    ("graded", GRADED.replace('"relevance": 1', '"relevance": 40000'), 1),
]


@pytest.mark.parametrize(("kind", "content", "line"), MALFORMED)
def test_malformed_file_is_refused_by_line_without_trace(full: Project, kind: str, content: str, line: int):
    with unchanged(full):
        with pytest.raises(FileError) as refused:
            take(full, kind, content, f"broken-{kind}.txt")
        assert (refused.value.problems[0].file, refused.value.problems[0].line) == (f"broken-{kind}.txt", line)
        assert "\n" not in str(refused.value)


def test_corrupt_empty_or_binary_files_are_refused(full: Project):
    with unchanged(full):
        for kind, valid in (FILES | {"graded": GRADED}).items():
            whole = gzip.compress(valid.encode())
            for name, content in (("a.gz", "plain text"), ("b.gz", whole[:-12]), ("c", b""), ("d", b"a\0b\n")):
                with pytest.raises(FileError) as refused:
                    take(full, kind, content, name)
                assert refused.value.problems[0].file == name


@pytest.mark.parametrize("kind", ["runs", "qrels"])
def test_lines_with_unknown_queries_can_be_skipped_with_note(full: Project, kind: str):
    lines = {"runs": "q9 Q0 p1 1 1.0 sys\nq8 Q0 p1 1 1.0 sys\n" + RUN, "qrels": "q9 0 p1 1\nq8 0 p1 1\n" + QRELS}
    nothing_known = {"runs": "q1 Q0 p1 1 1 a\nq9 Q0 p1 1 1.0 b\n", "qrels": "q9 0 p1 1\n"}
    done = take(full, kind, lines[kind], "folder/with unknown.txt", skip_unknown=True)
    assert done.counts == ({"runs": 1, "ranked passages": 3} if kind == "runs" else {"sources": 1, "judgments": 2})
    told = [note for note in done.notes if note.code == "unknown-query"]
    assert [note.line for note in told] == [1] and mentions(told[0].reason, "q9")
    assert full.value("SELECT count(*) FROM queries") == 2
    with unchanged(full), refusal("nothing-left", kind=FileError):
        take(full, kind, nothing_known[kind], skip_unknown=True)


def test_contradicting_files_and_graded_text_changes_are_refused(full: Project) -> None:
    with unchanged(full):
        for kind, one, two in (
            ("queries", "q7\tone\n", "q7\tanother\n"),
            ("bank", BANK, BANK.replace("A?", "A really?")),
            ("passages", "p8\tone\n", "p8\tanother\n"),
        ):
            with pytest.raises(InputError):
                exchange.import_files(full, kind, [source("one", one), source("two", two)], "tester")
        with refusal("duplicate-file-name", "b/judged.qrels", kind=FileError):
            sources = [source("a/judged.qrels", QRELS), source("b/judged.qrels", QRELS)]
            exchange.import_files(full, "qrels", sources, "tester")
    with full.transaction() as cursor:
        cursor.execute(
            "INSERT INTO grades SELECT 1, 2, text_key, 3, false, NULL, NULL, NULL, 0, NULL, NULL FROM passages"
            " WHERE passage_id = 'p2'"
        )
    with unchanged(full):
        for options in ({}, {"replace": True}):
            with refusal("passage-text-in-use", "p2", "1"):
                take(full, "passages", "p8\tnew\np2\ttext two, improved\n", **options)
        with refusal("passage-with-two-texts", "p8", kind=FileError) as caught:
            exchange.import_files(full, "passages", [source("a", "p8\tone\n"), source("b", "p9\tx\np8\ty\n")], "tester")
    assert [(problem.file, problem.line) for problem in caught.value.problems] == [("a", 1), ("b", 2)]
    assert take(full, "passages", PASSAGES + "p8\tnew\np8\tnew\n").counts == {"new passages": 1}


def test_query_text_and_narrative_can_be_updated(full: Project) -> None:
    take(full, "queries", '{"query_id": "q1", "text": "first query", "narrative": "more of it"}\n')
    take(full, "queries", "q2\tsecond query, reworded\n", replace=True)
    assert full.rows("SELECT query_id, text, narrative FROM queries ORDER BY query_id") == [
        ("q1", "first query", "more of it"),
        ("q2", "second query, reworded", None),
    ]


def test_bank_adds_queries_but_never_rewords_them(full: Project):
    rubric = [
        {"query_id": query, "query_text": f"Title of {query}", "items": [{"question_text": f"Why {query}?"}]}
        for query in ("q1", "q5")
    ]
    assert take(full, "bank", "\n".join(map(json.dumps, rubric))).counts["new queries"] == 1
    assert dict(full.rows("SELECT query_id, text FROM queries")) == {
        "q1": "first query",
        "q2": "second query",
        "q5": "Title of q5",
    }
    with refusal("unknown-query", "file:3", "q6", kind=FileError):
        take(full, "bank", BANK + '{"query_id": "q6", "text": "Of what?"}\n', "file")


def test_run_with_taken_name_is_named_after_file(full: Project) -> None:
    done = take(full, "runs", "q1 Q0 p2 1 9 sys\n", "better.run")
    assert [note.code for note in done.notes if mentions(note.reason, "better")] == ["runs-renamed"]
    take(full, "runs", "q1 Q0 a 1 1e-46 x\nq1 Q0 b 2 0 x\nq1 Q0 c 3 1e39 x\nq1 Q0 d 4 -1e39 x\n", "x.run")
    assert [ranked.passage_id for ranked in rankings(full)["x"]] == ["c", "b", "a", "d"]
    take(full, "qrels", "q1 0 p1 0\nq1 0 p2 3\n", "late.qrels", source="second assessors")
    take(full, "qrels", "q1 0 p2 1\n", "qrels.txt", replace=True)
    assert full.rows(
        "SELECT name, passage_id, value FROM judgments JOIN sources USING (source_key)"
        " JOIN passages USING (passage_key) ORDER BY ALL"
    ) == [("qrels", "p2", 1), ("second assessors", "p1", 0), ("second assessors", "p2", 3)]


# DuckDB stores tables in row groups of this size; rows at their edges were lost once.
ROW_GROUP = 122_880


def test_large_runs_and_qrels_are_imported_completely(project: Project):
    queries = [f"q{i}" for i in range(70)]
    take(project, "queries", "".join(f"{q}\ttext of {q}\n" for q in queries))
    runs = [
        source(f"{run}.run", "".join(f"{q} Q0 p{i} 1 {-i} {run}\n" for q in queries for i in range(900)))
        for run in ("a", "b")
    ]
    done = exchange.import_files(project, "runs", runs, "tester")
    assert ROW_GROUP < 2 * 70 * 900
    assert done.counts == {"runs": 2, "ranked passages": 126_000}
    assert project.rows(
        "SELECT name, count(*), max(rank) FROM rankings JOIN runs USING (run_key) GROUP BY name ORDER BY name"
    ) == [("a", 63_000, 900), ("b", 63_000, 900)]
    lines = "".join(f"{q} 0 p{i} 1\n" for q in queries for i in range(1800))
    assert take(project, "qrels", lines).counts["judgments"] == 126_000
    assert project.value("SELECT count(*) FROM judgments") == 126_000
    assert project.value("SELECT count(*) FROM pool") == 126_000


def test_graded_import_does_not_depend_on_batch_size(project: Project, fresh: Project, monkeypatch: pytest.MonkeyPatch):
    lines = graded(passage("p5", "text five", {"g1/a": 1})) + graded(
        passage("p6", "text six", {"g2/a": 5}), query_id="g2"
    )
    take(fresh, "graded", GRADED + lines, "g.jsonl")
    for module, size in (
        (graded_import, "ROWS_A_BATCH"),
        (collection, "PASSAGES_A_BATCH"),
        (writing_passages, "COMPARED"),
        (writing_passages, "ROWS_A_STATEMENT"),
        (runs, "LINES_A_PART"),
        (writing_passages, "ROWS_A_PART"),
        (judgments, "ROWS_A_PART"),
        (saving, "QUESTIONS_A_PART"),
        (question_buffer, "QUESTIONS_A_PART"),
        (question_buffer, "ROWS_A_PART"),
        (question_buffer, "CHARACTERS_SAVED"),
        (question_buffer, "PARTS_HELD"),
    ):
        monkeypatch.setattr(module, size, 1)
    settings = project.rows("SELECT name, value FROM duckdb_settings() ORDER BY ALL")
    counts = take(project, "graded", GRADED + lines, "g.jsonl").counts
    assert project.rows("SELECT name, value FROM duckdb_settings() ORDER BY ALL") == settings
    assert exchange.graded_file(project) == exchange.graded_file(fresh)
    # Keys and positions are the same, too.
    for table in ("questions", "question_texts", "question_revisions", "passages", "passage_texts", "listed"):
        assert project.rows(f"FROM {table}") == fresh.rows(f"FROM {table}")
    assert (counts["new grades"], counts["questions"], counts["bank version"]) == (6, 3, 1)
    assert project.rows("SELECT query_id, count(*) FROM pool JOIN queries USING (query_key) GROUP BY 1 ORDER BY 1") == [
        ("g1", 3),
        ("g2", 1),
    ]
    assert project.value("SELECT count(*) FROM rankings") == 4


def test_passage_on_two_graded_lines_is_ranked_once(project: Project):
    again = passage("p4", "text four", {})
    again["paragraph_data"]["rankings"][0]["rank"] = 2
    take(project, "graded", GRADED + graded(again), "g.jsonl")
    found = [(ranked.passage_id, ranked.rank) for ranked in rankings(project)["sys"]]
    # Both passages have rank 1 on the first line, so the better score comes first.
    assert found == [("p4", 1), ("p1", 2)]


def test_passage_of_two_queries_is_counted_once(project: Project):
    again = graded(passage("p1", "text one", {"g2/a": 4}), query_id="g2")
    for new in ({"passages": 2, "new passages": 2}, {"passages": 2}):
        counts = take(project, "graded", GRADED + again, "g.jsonl").counts
        assert {name: count for name, count in counts.items() if "passages" in name} == new


def test_repeated_graded_import_adds_nothing(project: Project):
    ratings = {("A?", "r1"): None, ("A?", "r2"): 3}
    fill(project, [Question("q1/a", "q1", "A?")], ratings, {"one": {"q1": ["r1", "r2"]}})
    for name, content in (("g.jsonl", GRADED.encode()), ("own.jsonl.gz", exchange.graded_file(project))):
        take(project, "graded", content, name)
        quiet = ("activity", "jobs")
        before = {table: rows for table, rows in snapshot(project).items() if table not in quiet}
        again = take(project, "graded", content, name)
        after = {table: rows for table, rows in snapshot(project).items() if table not in quiet}
        sizes = {table: len(rows) for table, rows in before.items()}
        assert {table: len(rows) for table, rows in after.items()} == sizes
        assert after["grades"] == before["grades"]
        assert not {"new grades", "new passages", "queries", "failed", "bank version"} & set(again.counts)


def test_graded_import_keeps_existing_grades_and_edited_questions(with_graded: Project) -> None:
    changed = GRADED.replace('"self_rating": 4', '"self_rating": 1')
    done = take(with_graded, "graded", changed, "g2.jsonl")
    assert [mentions(note.reason, "1") for note in done.notes if note.code == "differing-grade"] == [True]
    assert sorted(with_graded.rows("SELECT rating FROM grades")) == [(0,), (2,), (3,), (4,)]
    changed_bank = [Question("g1/a", "g1", None, weight=3.0), Question("g1/b", "g1", "B?")]
    bank.save_version(with_graded, changed_bank, "edits", "ann")
    edited = bank.list_questions(with_graded)
    assert "bank version" not in take(with_graded, "graded", GRADED, "g.jsonl").counts
    assert bank.list_questions(with_graded) == edited


def test_grades_stay_with_wording_they_were_given_for(with_graded: Project, fresh: Project):
    def grades_of_a(project: Project) -> dict[str, int]:
        rows = project.rows(
            "SELECT text, count(rating) FROM question_texts LEFT JOIN grades ON text_key = question_text_key"
            " WHERE text LIKE '%A%' GROUP BY text"
        )
        return dict(rows)

    take(with_graded, "bank", '{"query_id": "g1", "question_id": "g1/a", "text": "What is A?"}\n')
    own = exchange.graded_file(with_graded)
    bank.save_version(with_graded, [Question("g1/a", "g1", "What is A, reworded?")], "reword", "tester")
    take(with_graded, "graded", GRADED, "g.jsonl")
    take(with_graded, "graded", own, "own.jsonl.gz")
    assert grades_of_a(with_graded) == {"What is A?": 2, "What is A, reworded?": 0}
    take(fresh, "queries", "g1\ta graded query\n")
    take(fresh, "bank", '{"query_id": "g1", "question_id": "g1/a", "text": "Who is A?"}\n')
    take(fresh, "graded", own, "own.jsonl.gz")
    assert grades_of_a(fresh) == {"Who is A?": 0, "What is A?": 2}


def test_query_may_span_lines_but_question_has_one_query(project: Project):
    other = graded(passage("p5", "text five", {"g1/a": 1}))
    assert take(project, "graded", GRADED + other, "g.jsonl").counts["new grades"] == 5
    with unchanged(project), refusal("question-of-two-queries", "g1/a", "g1", "g2"):
        take(project, "graded", GRADED + graded(passage("p5", "text five", {"g1/a": 1}), query_id="g2"), "h.jsonl")


def test_question_text_may_follow_on_later_line(project: Project, fresh: Project):
    take(project, "queries", "g1\tone\ng2\ttwo\n")
    for question_id, query_id in (("g1/a", "g1"), ("g2/a", "g2")):
        words = {"query_id": query_id, "question_id": question_id, "text": f"What is {question_id}?", "weight": 2}
        take(project, "bank", json.dumps(words))
    ratings = {("What is g1/a?", "p1"): 4, ("What is g2/a?", "p2"): 1}
    fill(project, [], ratings, {"one": {"g1": ["p1"], "g2": ["p2"]}})
    with_words = gzip.decompress(exchange.graded_file(project)).decode()
    of_g2 = graded(passage("p6", "text six", {"g2/a": 2}), query_id="g2")
    by_id = graded(passage("p5", "text five", {"g1/a": 3})) + of_g2
    counts = take(fresh, "graded", by_id + with_words + by_id, "g.jsonl").counts
    assert (counts["questions"], counts["new grades"]) == (2, 4)
    assert [(one.question_id, one.text, one.weight) for one in bank.list_questions(fresh)] == [
        ("g1/a", "What is g1/a?", 2.0),
        ("g2/a", "What is g2/a?", 2.0),
    ]


def test_empty_question_in_graded_file_is_refused(project: Project):
    take(project, "queries", "g1\tone\n")
    take(project, "bank", '{"query_id": "g1", "question_id": "g1/a", "text": "What is A?"}\n')
    fill(project, [], {("What is A?", "p1"): 4}, {"one": {"g1": ["p1"]}})
    blank = gzip.decompress(exchange.graded_file(project)).replace(b"What is A?", b"\\u007f")
    with unchanged(project), refusal("empty-question", "g.jsonl", "g1/a"):
        take(project, "graded", blank, "g.jsonl")


def test_groups_are_imported_in_dependency_order_or_not_at_all(project: Project) -> None:
    groups = [exchange.Group(kind, [source(f"{kind}.txt", FILES[kind])]) for kind in ("queries", "bank", "runs")]
    bad = exchange.Group("qrels", [source("bad.txt", "q1 p1 1\n")])
    with unchanged(project):
        with refusal("wrong-number-of-columns", "bad.txt:1", kind=FileError):
            exchange.import_groups(project, [*groups, bad], "tester")
        with refusal("unknown-kind"):
            exchange.import_groups(project, [*groups, exchange.Group("recipes", [source("r", "x")])], "tester")
        with refusal("no-file-named"):
            exchange.import_groups(project, [*groups, replace(groups[0], sources=[])], "tester")
    groups = [exchange.Group(kind, [source(f"{kind}.txt", FILES[kind])]) for kind in reversed(FILES)]
    done = exchange.import_groups(project, groups, "tester")
    assert [one.kind for one in done] == ["queries", "passages", "bank", "runs", "qrels", "leaderboard"]
    assert project.value("SELECT count(*) FROM pool WHERE text_key IS NOT NULL") == 3
    assert [act for (act,) in project.rows("SELECT act FROM activity ORDER BY activity_key")] == [
        f"import {one.kind}" for one in done
    ]


def test_passage_texts_may_follow_runs(project: Project):
    for kind in ("queries", "runs", "qrels"):
        take(project, kind, FILES[kind])
    assert project.value("SELECT count(*) FROM pool WHERE text_key IS NULL") == 3
    assert take(project, "passages", PASSAGES).counts == {"new passages": 3}
    assert project.value("SELECT count(*) FROM pool WHERE text_key IS NULL") == 0
    assert project.value("SELECT count(*) FROM passages") == 3


LABELED = "p1\ttext one\np2\ttext two\np3\ttext three\np4\ttext one\n"
RUNS = {
    "good": "q1 Q0 p1 1 2.5 good\nq1 Q0 p2 2 1.5 good\nq2 Q0 p3 1 7 good\n",
    "poor": "q1 Q0 p2 1 2.5 poor\nq2 Q0 p2 1 7 poor\nq2 Q0 p3 2 6 poor\n",
    "bad": "q1 Q0 p2 1 2.5 bad\nq2 Q0 p2 1 7 bad\n",
}
LABEL_QRELS = "q1 0 p1 2\nq1 0 p2 0\nq2 0 p3 1\nq2 0 p2 0\n"
LABELS = "q1 0 p1 3\nq1 0 p2 0\nq2 0 p2 1\nq2 0 p3 2\n"


def fill_for_labels(project: Project) -> None:
    take(project, "queries", QUERIES, "queries.tsv")
    take(project, "passages", LABELED, "passages.tsv")
    take(project, "qrels", LABEL_QRELS, "NIST.qrels")
    for name, run in RUNS.items():
        take(project, "runs", run, f"{name}.run")


def test_imported_labels_become_grades_and_not_judgments(project: Project) -> None:
    fill_for_labels(project)
    done = take(project, "labels", LABELS + "q1 0 unknown 3\n", "u.qrels", source="umbrela")
    assert done.counts == {"labels": 4, "new grades": 4}
    assert [note.code for note in done.notes] == ["no-passage-text"]
    spec = find_grader(project, "umbrela").spec
    assert (spec.method, spec.max_rating, spec.parameters) == ("direct", 3, {"imported": "labels"})
    base = basis(project, Policy(grader="umbrela"))
    assert label_qrels(project, base) == {"q1": {"p1": 3, "p2": 0}, "q2": {"p2": 1, "p3": 2}}
    # The default min rating is the top of the scale.
    assert base.min_rating == 3
    assert judgment_sources(project) == ["NIST"] and source_judgments(project, "NIST")["q1"] == {"p1": 2, "p2": 0}
    board = leaderboard(project, "P@1", policy=Policy(grader="umbrela", min_rating=2))
    assert board.scores == {"good": 1, "poor": 0, "bad": 0}
    # Repeating the import adds nothing; labels of other passages join the same grader.
    assert take(project, "labels", LABELS, "u.qrels", source="umbrela").counts["new grades"] == 0
    more = take(project, "labels", "q1 0 p3 1\n", "v.qrels", source="umbrela")
    assert more.counts["new grades"] == 1 and len(label_graders(project)) == 1
    assert label_qrels(project, basis(project, Policy()))["q1"]["p3"] == 1


INVALID_LABELS = [
    ("q1 0 p1 6\n", "label-out-of-range"), ("q1 0 p1 -1\n", "label-out-of-range"),
    ("q1 0 p1 1.5\n", "invalid-judgment"), ("q1 0 p1 1\nq1 0 p1 2\n", "contradicting-lines"),
    ("q9 0 p1 1\n", "unknown-query"), ("q1 0 p1\n", "wrong-number-of-columns"),
]  # fmt: skip


def test_imported_labels_are_not_default_grader_and_conflicts_are_refused(project: Project) -> None:
    fill_for_labels(project)
    take(project, "labels", LABELS, "u.qrels", source="umbrela")
    assert label_graders(project)[0].spec.name == "umbrela"
    own = replace(find_grader(project, "umbrela").spec, name="own", model="own", parameters={})
    grade(project, {("first query", "p1"): 1}, own)
    assert [one.spec.name for one in label_graders(project)] == ["own", "umbrela"]
    with unchanged(project):
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
        for content, code in INVALID_LABELS:
            with refusal(code, kind=FileError):
                take(project, "labels", content, "v.qrels")


def test_label_scale_can_be_set_and_equal_texts_share_label(project: Project) -> None:
    fill_for_labels(project)
    done = take(project, "labels", "q1 0 p1 1\nq1 0 p4 0\n", "binary.qrels", scale=4)
    assert [note.code for note in done.notes] == ["differing-grade"] and done.counts["new grades"] == 1
    assert find_grader(project, "binary").spec.max_rating == 4
    assert label_qrels(project, basis(project, Policy()))["q1"] == {"p1": 1, "p4": 1}


def test_imported_labels_can_be_audited(shell_on: ShellOn) -> None:
    run = shell_on(fill_for_labels)
    Path("ours.qrels").write_text(LABELS.replace("p2 1", "p2 0"))
    Path("umbrela.qrels").write_text(LABELS)
    words = ("import", "labels", "umbrela.qrels", "--name", "UMBRELA")
    assert printed(run(*words, "--preview", "--json"))["counts"] == {"labels": 4, "new grades": 4}
    assert printed(run(*words, "--json"))["counts"] == {"labels": 4, "new grades": 4}
    assert run("import", "labels", "ours.qrels")[0] == 0
    found = printed(run("agreement", "--grader", "ours", "--against-grader", "UMBRELA", "--json"))
    assert found["n"] == 4 and 0 < found["kappa"] < 1
    compared = run("meta", "--against", "NIST", "--row", "UMBRELA", "--measure", "AP", "--min-rating", "2", "--json")
    meta = printed(compared)
    assert meta["rows"][0]["name"].startswith("UMBRELA")
    assert run("audit", "design", "check", "--grader", "UMBRELA", "--measure", "P@1", "--source", "people")[0] == 0
    assert printed(run("audit", "draw", "--json"))["batch"]["drawn"] == 4
    # All labels are judged, so the audited scores are those of the judgments.
    Path("people.qrels").write_text("q1 0 p1 0\nq1 0 p2 3\nq2 0 p2 1\nq2 0 p3 0\n")
    assert run("audit", "import", "people.qrels")[0] == 0
    systems = printed(run("audit", "leaderboard", "--json"))["systems"]
    scores = {row["run"]: (row["machine"], row["audited"], row["bias"]) for row in systems}
    assert scores == {"good": (0.5, 0.0, 0.5), "poor": (0.0, 1.0, -1.0), "bad": (0.0, 1.0, -1.0)}
    run.fails("options-exclude-each-other", "import", "qrels", "ours.qrels", "--scale", "3")


def take_runs(project: Project, *sources: Source) -> tuple[Problem, ...]:
    """Import runs and their queries, and return the notes."""
    queries = {line.query_id for source in sources for line in read_run_lines(source, Report())}
    commit(project, collection.add_queries, [Query(query, query) for query in sorted(queries)], replace=True)
    return exchange.import_files(project, "runs", list(sources), "tester", exchange.Options(replace=True)).notes


@settings(max_examples=examples(6))
@given(words, st.dictionaries(st.tuples(ids, ids), scores, min_size=1))
def test_run_round_trips(name: str, ranked: dict[tuple[str, str], float]) -> None:
    out = io.StringIO()
    write_run(name, [Ranked(query, passage, 1, score) for (query, passage), score in ranked.items()], out)
    with TemporaryDirectory() as folder:
        project = new_project(Path(folder) / "p.duckdb")
        take_runs(project, source_of(out.getvalue(), "first.run"))
        first = rankings(project)[name]
        again = io.StringIO()
        write_run(name, first, again)
        take_runs(project, source_of(again.getvalue(), "first.run"))
        second = rankings(project)[name]
        project.close()
    assert {(r.query_id, r.passage_id): r.score for r in first} == ranked
    assert second == first


def test_runs_are_named_by_tag_unless_files_share_it(project: Project) -> None:
    line = "q1 Q0 p 1 1.0 "
    own = source_of(line + "mine\n", "x.run")
    shared = [source_of(line + "rank\n", f"folder/{name}.run.gz"[:-3]) for name in ("bm25.k1", "splade")]
    mixed = source_of(line + "rank\n" + line + "other\n", "mixed.txt")
    take_runs(project, own, *shared, mixed)
    assert list(ranking_scores(project)) == ["mine", "bm25.k1", "splade", "mixed-rank", "other"]


def test_duplicate_run_files_are_refused(project: Project) -> None:
    given = [source_of("q Q0 p 1 2.0 tagged\n", f"{folder}/bm25.run") for folder in ("a", "b")]
    with pytest.raises(FileError) as error:
        take_runs(project, *given)
    (problem,) = error.value.problems
    assert coded(problem) == "b/bm25.run duplicate-run"
    assert project.value("SELECT count(*) FROM runs") == 0
    take_runs(project, source_of("q Q0 p 1 2.0 t\n"))
    with pytest.raises(FileError):
        take_runs(project, source_of("q Q0 p 1 2.0 t\nq Q0 p 1\n"))
    assert [path.name for path in project.path.parent.iterdir() if path.name.startswith(".import-")] == []


Line = tuple[str, str, int | None, float]


def at_once(lines: Sequence[Line]) -> tuple[list[tuple[str, str]], dict[str, tuple[int, int]]]:
    """Return a run's ranking and its notes, by a simple implementation of trec_eval's rules."""
    best: dict[tuple[str, str], tuple[float, int]] = {}
    odd: dict[str, list[int]] = {"repeated": [], "tied": [], "contradicts": [], "unreadable": []}
    for number, (query, passage, _, score) in enumerate(lines, 1):
        if (query, passage) in best:
            odd["repeated"].append(number)
        if (query, passage) not in best or score > best[query, passage][0]:
            best[query, passage] = (score, number)
    order: list[tuple[str, str]] = []
    for query in sorted({query for query, *_ in lines}):
        levels: dict[float, list[tuple[str, int]]] = {}
        for (asked, passage), (score, number) in best.items():
            if asked == query:
                with np.errstate(over="ignore"):
                    level = float(np.float32(score))
                levels.setdefault(level, []).append((passage, number))
        above: list[int] = []
        for level in sorted(levels, reverse=True):
            group = sorted(levels[level], reverse=True)
            order += [(query, passage) for passage, _ in group]
            odd["tied"] += [number for _, number in group[1:]]
            ranks = {number: lines[number - 1][2] for _, number in group}
            odd["unreadable"] += [number for number, rank in ranks.items() if rank is None]
            if above:
                odd["contradicts"] += [n for n, rank in ranks.items() if rank is not None and rank <= max(above)]
            above = [rank for rank in ranks.values() if rank is not None]
    return order, {what: (min(numbers), len(numbers)) for what, numbers in odd.items() if numbers}


lines_of_runs = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("uvwxyz"), st.none() | st.integers(1, 6), st.sampled_from(
        [0.5, 0.50000000001, 1.0, 2.0, -1.0, 1e300, 2e300]
    )),
    min_size=1, max_size=25,
)  # fmt: skip


@settings(max_examples=examples(8))
@given(lines_of_runs, st.integers(1, 4), st.integers(1, 8))
def test_run_import_does_not_depend_on_batch_size(lines: list[Line], batch: int, part: int) -> None:
    text = "".join(f"{q} Q0 {p} {'-' if rank is None else rank} {score!r} t\n" for q, p, rank, score in lines)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as small:
        small.setattr(run_import, "LINES_A_BATCH", batch)
        small.setattr(run_import, "LINES_A_PART", part)
        project = new_project(Path(folder) / "p.duckdb")
        notes = take_runs(project, source_of(text, "t.run"))
        found = [(r.query_id, r.passage_id) for r in rankings(project)["t"]]
        project.close()
    order, odd = at_once(lines)
    assert found == order
    told = {}
    for note in notes:
        times = re.search(r"\((\d+)", note.reason)
        told[note.code] = (note.line, int(times[1]) if times else 1)
    assert told == odd


def test_run_named_after_file_replaces_no_other_run(project: Project) -> None:
    """The tags of b.run and all.run are taken by first.run, and the name "b" by c.run."""
    take_runs(project, source_of("q Q0 a 1 3 bm25\nq Q0 b 2 2 rm3\n", "first.run"))
    take_runs(project, source_of("q Q0 c 1 3 b\n", "c.run"))
    for _ in range(2):  # the second import replaces the runs of the first
        take_runs(project, source_of("q Q0 d 1 3 bm25\n", "b.run"))
        take_runs(project, source_of("q Q0 e 1 3 bm25\nq Q0 f 1 3 rm3\n", "all.run"))
        found = project.rows(
            "SELECT name, file, list(passage_id) FROM runs JOIN rankings USING (run_key) JOIN passages USING"
            " (passage_key) GROUP BY ALL ORDER BY ALL"
        )
        assert found == [
            ("all-bm25", "all.run", ["e"]),
            ("all-rm3", "all.run", ["f"]),
            ("b", "c.run", ["c"]),
            ("b-2", "b.run", ["d"]),
            ("bm25", "first.run", ["a"]),
            ("rm3", "first.run", ["b"]),
        ]


def test_reimported_run_keeps_name_given_for_shared_tag(project: Project) -> None:
    take_runs(project, *(source_of("q Q0 a 1 3 rank\nq Q0 b 2 2 rank\n", f"{name}.run") for name in ("bm25", "splade")))
    again = source_of("q Q0 a 1 3 rank\n", "bm25.run")
    with refusal("would-replace", "1", "2", "ranked", "bm25"):
        exchange.import_files(project, "runs", [again], "ann", exchange.Options())
    take_runs(project, again)
    assert {run: len(ranked) for run, ranked in rankings(project).items()} == {"bm25": 1, "splade": 2}
