"""Tables, keys of other collections, and long leaderboard formats: read correctly or refused."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any

import pytest

from exam_workbench import choices, formats
from exam_workbench.errors import FileError, InputError, Report
from exam_workbench.exchange import Options, import_files
from exam_workbench.formats.passage_files import read_passages
from exam_workbench.formats.query_files import read_queries
from exam_workbench.formats.trec_files import read_qrels
from exam_workbench.labels import compare, leaderboard
from exam_workbench.records import add_queries, imported_leaderboards
from exam_workbench.store import Project
from exam_workbench.types import Board, Judgment, Passage, Query
from tests.made.projects import commit, examples

SEPARATORS = "\t,; "


def source(text: str, name: str = "f.tsv") -> formats.Source:
    return formats.Source(name, data=text.encode())


def read(text: str, name: str = "f.tsv") -> list[Board]:
    report = Report()
    found = formats.read_boards(source(text, name), report)
    report.raise_if_refused()
    return found


def scores(text: str) -> dict[str, dict[str, float]]:
    return {board.measure: {row.run: pytest.approx(row.score) for row in board.rows} for board in read(text)}


def refused(kind: str, text: str) -> str:
    """Return the reason why a file is refused."""
    report = Report()
    list(formats.KINDS_OF_FILE[kind].read(source(text), report))
    with pytest.raises(FileError) as refusal:
        report.raise_if_refused()
    return refusal.value.problems[0].reason


JUDGED = "{}|{}|{}\nx-1|d-1|2\nx-1|d-3|0\nx-2|d-2|1\n"
JUDGMENTS = [Judgment("x-1", "d-1", 2), Judgment("x-1", "d-3", 0), Judgment("x-2", "d-2", 1)]


@pytest.mark.parametrize(
    "names", [("query-id", "corpus-id", "score"), ("topic_id", "doc_id", "rel"), ("qid", "pid", "label")]
)
def test_judgments_with_header_are_not_read_as_leaderboard(names: tuple[str, ...]) -> None:
    rows = [line.split("|") for line in JUDGED.format(*names).splitlines()]
    for separator in SEPARATORS:
        for order in permutations(range(3)):
            text = "".join(separator.join(row[at] for at in order) + "\n" for row in rows)
            report = Report()
            assert read_qrels(source(text), report) == JUDGMENTS and not report.problems
            assert formats.detect_kind(source(text)) == "qrels"
            assert all(name in refused("leaderboard", text) for name in (names[0], names[1]))
    assert refused("runs", JUDGED.format(*names).replace("|", "\t"))


def test_header_without_required_columns_is_refused() -> None:
    for text in ("query-id\tpaper\trelevance\nq\td\t1\n", "qid\tdocid\tgain\nq\td\t1\n"):
        reason = refused("qrels", text)
        assert all(name in reason for name in text.split("\n")[0].replace("-", "_").split("\t"))
        assert formats.detect_kind(source(text)) != "qrels"
    # Large whole numbers may be judgments or scores.
    assert refused("qrels", "query-id\tcorpus-id\tscore\nq\td\t49\n") and refused(
        "runs", "qid\tdocid\tscore\nq\td\t49\n"
    )


@pytest.mark.parametrize(("q", "d"), [("q", "d"), ("10", "700"), ("2020-", "msmarco_v2.1_doc_01_1#")])
@pytest.mark.parametrize("indent", [None, 1])
def test_json_maps_are_read_as_runs_or_judgments(q: str, d: str, indent: int | None) -> None:
    content = json.dumps({f"{q}1": {f"{d}2": 1.5, f"{d}1": 2.5}, f"{q}2": {f"{d}1": 0.5}}, indent=indent)
    found = list(formats.read_run_lines(source(content, "dense.json"), Report()))
    assert [(line.query_id, line.passage_id, line.rank, line.score, line.tag) for line in found] == [
        (f"{q}1", f"{d}1", 1, 2.5, "dense"), (f"{q}1", f"{d}2", 2, 1.5, "dense"), (f"{q}2", f"{d}1", 1, 0.5, "dense"),
    ]  # fmt: skip
    assert formats.detect_kind(source(content, "x.json")) == "runs"
    assert refused("leaderboard", content) and refused("qrels", content)
    content = json.dumps({f"{q}1": {f"{d}1": 2, f"{d}2": 0}, f"{q}2": {f"{d}1": 1}}, indent=indent)
    assert read_qrels(source(content), Report()) == [
        Judgment(f"{q}1", f"{d}1", 2), Judgment(f"{q}1", f"{d}2", 0), Judgment(f"{q}2", f"{d}1", 1),
    ]  # fmt: skip
    assert formats.detect_kind(source(content, "x.json")) == "qrels"
    assert refused("leaderboard", content) and refused("runs", content)


def test_json_maps_of_other_numbers_are_leaderboards_or_refused() -> None:
    assert formats.detect_kind(source('{"nDCG@10": {"a": 0.5, "b": 1}, "my_own": {"a": 1}}', "x.json")) is None
    assert formats.detect_kind(source('{"MAP": {"a": 1, "b": 0}}', "x.json")) == "leaderboard"
    assert refused("qrels", '{"q1": {"d1": 2}, "q2": 1}')
    # Whole scores may be judgments, and measure values are neither judgments nor passage scores.
    for text in (
        '{"q1": {"d1": 1.0, "d2": 0.0}}',
        '{"q1": {"d1": 49, "d2": 48}}',
        '{"a": {"nDCG@10": 0.5, "map": 0.25}}',
    ):
        assert formats.detect_kind(source(text, "x.json")) is None
        assert refused("leaderboard", text) and refused("qrels", text) and refused("runs", text)


def test_ambiguous_tables_and_decimal_commas_are_refused() -> None:
    for text in (
        "q1\td1\t1\nq2\td7\t0\n",
        "q1\td1\t1.5\nq2\td7\t0.5\n",
        "num_ret\tq1\t10\nmap\tq1\t0.5\nrunid\tall\tx\n",
    ):
        assert formats.detect_kind(source(text)) is None
        assert all(refused(kind, text) for kind in ("queries", "qrels", "runs", "leaderboard"))
    assert "measure" in refused("leaderboard", '{"system": "a", "qid": "1", "ndcg": 0.1}\n' * 2)
    text = "query-id\tcorpus-id\tscore\nx-1\td-1\t1.0\nx-1\td-2\t0.0\n"
    assert formats.detect_kind(source(text)) not in ("runs", "qrels", "leaderboard")
    assert refused("runs", text) and refused("qrels", text) and refused("leaderboard", text)
    for kind, text in (
        ("leaderboard", "run\tMAP\na\t0,53\nb\t0,61\n"), ("leaderboard", "run;MAP\na;0,53\n"),
        ("leaderboard", "run,MAP\na,0,53\n"), ("runs", "q Q0 d 1 0,53 t\n"), ("runs", "q;Q0;d;1;0,53;t\n"),
    ):  # fmt: skip
        assert "decimal comma" in refused(kind, text)


@pytest.mark.parametrize("kind", ["qrels", "runs"])
def test_reordered_columns_without_header_are_not_misread(kind: str) -> None:
    right = {
        "qrels": [["q1", "0", "d7", "2"], ["q1", "0", "d8", "0"], ["q2", "0", "d9", "1"]],
        "runs": [
            ["q1", "Q0", "d8", "1", "9.5", "bm"], ["q1", "Q0", "d7", "2", "7.5", "bm"],
            ["q2", "Q0", "d9", "1", "3.5", "bm"],
        ],
    }[kind]  # fmt: skip

    def content(text: str, report: Report) -> set[tuple[object, ...]]:
        if kind == "qrels":
            return {(each.query_id, each.passage_id, each.value) for each in read_qrels(source(text), report)}
        lines = formats.read_run_lines(source(text), report)
        return {(line.query_id, line.passage_id, line.score, line.tag) for line in lines}

    truth = content("".join(" ".join(row) + "\n" for row in right), Report())
    for order in permutations(range(len(right[0]))):
        text = "".join(" ".join(row[at] for at in order) + "\n" for row in right)
        report = Report()
        found = content(text, report)
        # Other ids may pass here, because the import refuses queries that the project does not have.
        assert report.count or found == truth or {each[0] for each in found}.isdisjoint({"q1", "q2"})


EVAL = [
    ("a", "q1", "nDCG@10", "0.10"), ("a", "q2", "nDCG@10", "0.90"), ("a", "all", "nDCG@10", "0.50"),
    ("b", "q1", "nDCG@10", "0.60"), ("b", "q2", "nDCG@10", "0.20"), ("b", "all", "nDCG@10", "0.40"),
    ("c", "q1", "nDCG@10", "0.30"), ("c", "q2", "nDCG@10", "0.60"), ("c", "all", "nDCG@10", "0.45"),
]  # fmt: skip
MEANS = {"nDCG@10": {"a": 0.5, "b": 0.4, "c": 0.45}}


def lined(rows: list[tuple[str, ...]], order: tuple[int, ...], separator: str) -> str:
    return "".join(separator.join(row[at] for at in order) + "\n" for row in rows)


def test_values_by_query_are_averaged_and_kept() -> None:
    header = ("run_id", "query_id", "measure", "value")
    without = [row for row in EVAL if row[1] != "all"]
    for at, order in enumerate(permutations(range(4))):
        separator = SEPARATORS[at % 4]
        for rows in ([header, *EVAL], [header, *without], EVAL):
            text = lined(rows, order, separator)
            assert (text, scores(text)) == (text, MEANS) and formats.detect_kind(source(text, "x.txt")) == "leaderboard"
            (board,) = read(text)
            assert board.per_query["a"] == {"q1": 0.1, "q2": 0.9}
        # Without a header and means, systems and queries cannot be told apart.
        unclear = lined(without, order, separator)
        assert refused("leaderboard", unclear) and refused("queries", unclear)
        assert formats.detect_kind(source(unclear)) in (None, "queries")
    for rows in ([row[:2] + row[3:] for row in EVAL], [row[:2] + row[3:] for row in without]):
        assert scores(lined([("run", "topic", "MAP"), *rows], (0, 1, 2), "\t")) == {"MAP": MEANS["nDCG@10"]}
    two = [*EVAL, ("a", "q1", "P@5", "0.2"), ("a", "all", "P@5", "0.3")]
    names = {board.name: [row.score for row in board.rows] for board in read(lined([header, *two], (0, 1, 2, 3), "\t"))}
    assert names == {"f nDCG@10": [0.5, 0.4, 0.45], "f P@5": [0.3]}
    report = Report()
    formats.read_boards(source(lined([header, *two], (0, 1, 2, 3), "\t")), report)
    # The stated mean of P@5 differs from the value of its only query.
    assert [note.code for note in report.notes] == ["mean-differs"]
    (one,) = read("query\tnDCG@10\nq1\t0.5\nq2\t0.25\n", "sys.tsv")
    assert [(row.run, row.score) for row in one.rows] == [("sys", 0.375)]


def test_repeated_system_needs_a_distinguishing_column() -> None:
    for text in (
        "run\tnDCG@10\na\t0.1\nb\t0.2\na\t0.3\n", "run\tneed\tnDCG@10\na\tx1\t0.1\na\tx2\t0.3\n",
        "run\tneed\tcriterion\tresult\na\tx1\tm1\t0.1\na\tx2\tm1\t0.3\nb\tx1\tm1\t0.2\n",
        "run\tquery\tcriterion\tscore\na\tx1\tm1\t0.1\na\tx1\tm2\t0.3\n",
    ):  # fmt: skip
        assert "duplicate-run" in refused_board(text), text
    assert refused("leaderboard", "run\tkind\tMAP\na\tx\t0.1\na\tx\t0.3\n")
    assert scores("run\tkind\tMAP\na\tx\t0.1\na\ty\t0.3\nb\tx\t0.2\n") == {"MAP": {"a": 0.1, "b": 0.2}}


def test_project_queries_are_not_accepted_as_systems(project: Project) -> None:
    commit(project, add_queries, [Query("q1", "a"), Query("q2", "b"), Query("q3", "c")], replace=False)
    for text in (
        "system\tMAP\nq1\t0.5\nq2\t0.4\n",
        '{"q1": 0.5, "q2": 0.25}',
        "run\tneed\tMAP\na\tq1\t.1\na\tq2\t.2\n",
        "system\tq1\tq2\nbm25\t0.5\t0.4\ndense\t0.3\t0.1\n",
    ):
        with pytest.raises(FileError):
            import_files(project, "leaderboard", [source(text)], "ann")
    assert imported_leaderboards(project) == []
    # A single system may have the id of a query.
    import_files(project, "leaderboard", [source("system\tMAP\nq1\t0.5\nx\t0.4\ny\t0.4\n")], "ann")


def test_numbered_rows_are_not_read_as_systems() -> None:
    for text in ("Rank,Model,nDCG@10\n1,bm25,0.5\n2,dense,0.4\n", ",Name of it,nDCG@10\n0,bm25,0.5\n1,dense,0.4\n"):
        assert "Model" in refused("leaderboard", text) or "Name of it" in refused("leaderboard", text)
    assert scores("x\tMAP\n1\t0.5\n2\t\n3\t0.4\n") == {"MAP": {"1": 0.5, "3": 0.4}}


def test_leaderboards_of_the_same_name_are_refused_in_one_import(project: Project) -> None:
    files = [formats.Source(f"{year}/results.tsv", data=b"run\tMAP\n%d\t.5\n" % year) for year in (2023, 2024)]
    with pytest.raises(FileError) as caught:
        import_files(project, "leaderboard", files, "ann")
    assert caught.value.code == "duplicate-file-name" and imported_leaderboards(project) == []


def test_transposed_leaderboards_are_refused() -> None:
    for text in (
        "topic\tbm25\tdense\n301\t0.5\t0.4\n302\t0.3\t0.1\n",
        "metric\tscore\nnDCG@10\t0.5\nmap\t0.3\n",
        "measure\tbm25\nP_10\t0.5\nbpref\t0.3\n",
        "\tbm25\tdense\nMAP\t0.5\t0.4\nRR@10\t0.3\t0.1\n",
        '{"nDCG@10": 0.5, "map": 0.3}',
        '{"ndcg": {"NDCG@1": 0.5, "NDCG@10": 0.6}, "map": {"MAP@10": 0.3}}',
    ):
        assert refused("leaderboard", text)
    assert scores("topic\tMAP\n301\t0.5\n302\t0.3\n") == {"MAP": {"f": 0.4}}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("id\ttext\ttitle\n1\tBees eat nectar\tBees\n2\tBees sleep\tBees\n", "passages"),
        ("run\tneed\tmetric\t0.1\nrun\tother\tmetric\t0.2\n", None),
        ("run\tnDCG@10\na\t0.5\na\t0.3\n", "leaderboard"),
    ],
)
def test_numeric_column_alone_does_not_decide_kind(text: str, kind: str | None) -> None:
    assert formats.detect_kind(source(text, "corpus.tsv")) == kind


def test_leaderboard_with_values_by_query_is_compared_and_replaced(project: Project) -> None:
    commit(project, add_queries, [Query("q1", "a"), Query("q2", "b")], replace=False)
    files = {"by.tsv": lined([("run_id", "query_id", "measure", "value"), *EVAL], (1, 0, 3, 2), "\t"),
             "wide.tsv": "run\tnDCG@10\na\t0.5\nb\t0.4\nc\t0.45\n"}  # fmt: skip
    for name, text in files.items():
        counts = import_files(project, "leaderboard", [source(text, name)], "ann").counts
        assert counts.get("values by query", 0) == (6 if name == "by.tsv" else 0)
    found = compare(project, "nDCG@10", "wide", "by")
    kinds = (found.correlation.spearman, found.correlation.kendall, found.correlation.tau_ap)
    assert kinds == pytest.approx((1, 1, 1))
    board = leaderboard(project, "nDCG@10", "by")
    assert board.query_ids == ["q1", "q2"] and board.per_query["c"] == {"q1": 0.3, "q2": 0.6}
    # A new file with the same name replaces everything.
    wide = [source(files["wide.tsv"], "by.tsv")]
    with pytest.raises(InputError):
        import_files(project, "leaderboard", wide, "ann")
    import_files(project, "leaderboard", wide, "ann", Options(replace=True))
    assert leaderboard(project, "nDCG@10", "by").per_query == {}


def rows_of(*rows: dict[str, Any], name: str = "f.jsonl") -> formats.Source:
    return formats.Source(name, data="".join(json.dumps(row) + "\n" for row in rows).encode())


def noted(report: Report) -> int:
    """Check that nothing was refused, and return the number of notes."""
    report.raise_if_refused()
    return len(report.notes)


@pytest.mark.parametrize(
    ("row", "text", "notes"),
    [
        ({"_id": "d", "title": "Bees", "text": "They eat.", "metadata": {}}, "Bees They eat.", 1),
        ({"_id": "d", "title": "", "text": "They eat."}, "They eat.", 0),
        ({"doc_id": "d", "text": "Bees eat.", "title": "Bees"}, "Bees eat.", 1),
        ({"docid": "d", "url": "u", "title": "Bees", "headings": "h", "segment": "They eat."}, "Bees They eat.", 3),
        ({"docno": "d", "body": "They eat.", "extra": " ", "number": 3}, "They eat.", 0),
        ({"passage_id": "d", "doc_id": "whole", "text": "They eat."}, "They eat.", 1),
        ({"passage_id": "d", "id": "d", "contents": "They eat."}, "They eat.", 0),
        ({"pid": "d", "passage": "They eat.", "spans": "(0,9)", "docid": "whole"}, "They eat.", 2),
        ({"docid": "whole", "segment_id": "d", "segment": "They eat."}, "They eat.", 1),
    ],
)
def test_passages_keep_titles_and_ignored_keys_are_noted(row: dict[str, Any], text: str, notes: int) -> None:
    for rows in ([row], [row, row]):
        report = Report()
        assert list(read_passages(rows_of(*rows), report)) == [Passage("d", text)] * len(rows)
        assert noted(report) == notes
    assert formats.detect_kind(rows_of(row, name="corpus.jsonl")) == "passages"


@pytest.mark.parametrize(
    ("row", "query", "notes"),
    [
        ({"_id": "q", "text": "why", "metadata": {}}, Query("q", "why"), 0),
        (
            {"request_id": "q", "title": "leaf", "problem_statement": "Why red?", "background": "A teacher."},
            Query("q", "leaf", "Why red?\n\nA teacher."), 0,
        ),
        ({"topic_id": "q", "topic_title": "a", "topic_description": "b"}, Query("q", "a", "b"), 0),
        ({"qid": "q", "query": "a", "title": "b"}, Query("q", "a"), 1),
        ({"narrative_id": "q", "title": "a", "narrative": ""}, Query("q", "a"), 0),
    ],
)  # fmt: skip
def test_queries_in_keys_of_other_collections_are_read(row: dict[str, Any], query: Query, notes: int) -> None:
    report = Report()
    assert read_queries(rows_of(row), report) == [query]
    assert noted(report) == notes
    assert formats.detect_kind(rows_of(row, row, name="topics.jsonl")) == "queries"


def test_tables_with_header_allow_any_order_and_separator() -> None:
    for separator in "\t;,":
        text = "text|lang|query-id\nwhy red|en|q1\nhow much|de|q2\n".replace("|", separator)
        report = Report()
        assert read_queries(source(text), report) == [Query("q1", "why red"), Query("q2", "how much")]
        assert len(report.notes) == 2 and not report.problems
        text = text.replace("query-id", "docid").replace("lang", "title").replace("en", "T")
        assert next(iter(read_passages(source(text), Report()))) == Passage("q1", "T why red")
        assert formats.detect_kind(source(text)) == "passages"
    quoted = source('docid,text\nd1,"a, b ""c"""\n', "corpus.csv")
    assert list(read_passages(quoted, Report())) == [Passage("d1", 'a, b "c"')]
    report = Report()
    assert not list(read_passages(source('docid,text\nd1,"a\nd2,b,c\n'), report)) and report.count


@pytest.mark.parametrize(
    ("read", "row", "names"),
    [
        (read_passages, {"key": "d", "text": "t"}, ("key", "docid", "_id")),
        (read_passages, {"docid": "d", "words": "t"}, ("words", "segment")),
        (read_queries, {"number": "q", "text": "t"}, ("number", "request_id")),
        (read_queries, {"qid": "q", "words": "t"}, ("words", "title")),
        (formats.read_bank, {"topic": "q", "nuggets": []}, ("topic", "nuggets", "qid")),
        (formats.read_bank, {"query_id": "q", "facts": {}}, ("facts", "question_text")),
        (formats.read_bank, {"qid": "q", "nuggets": [{"nugget": "t", "label": "vital"}]}, ("label", "text")),
        (formats.read_bank, {"qid": "q", "nugget_bank": [{"fact": "t"}]}, ("fact", "question", "claim")),
        (read_queries, {"number": "q", "utterance": "t"}, ("number", "utterance", "qid")),
    ],
)
def test_missing_key_is_reported_with_available_keys(read: Any, row: dict[str, Any], names: list[str]) -> None:
    report = Report()
    list(read(rows_of(row), report) or ()) if read is not formats.read_bank else read(rows_of(row), report)
    with pytest.raises(FileError) as refusal:
        report.raise_if_refused()
    assert all(name in refusal.value.problems[0].reason for name in names)


def test_trec_rag_nuggets_may_name_their_query_in_several_ways() -> None:
    nuggets = [{"text": "Bees eat nectar", "importance": "Okay", "assignment": "support"}, {"text": "Bees hum"}]
    for row in ({"qid": "q"}, {"query_id": "q", "query_text": "bees"}, {"query": "bees", "topic_id": "q"}):
        file = rows_of(row | {"nuggets": nuggets}, name="some.jsonl")
        report = Report()
        bank = formats.read_bank(file, report)
        assert [(q.kind, q.weight) for q in bank.questions] == [("nugget", 0.5), ("nugget", 1.0)]
        assert bank.queries == [Query("q", "bees" if len(row) > 1 else "")] and formats.detect_kind(file) == "graded"
        # The importance in words and the ignored assignment are noted.
        assert noted(report) == 2


def test_single_object_is_not_detected_as_query_map() -> None:
    assert formats.detect_kind(rows_of({"query_id": "q", "title_query": "t", "facts": {}}, name="x.json")) is None
    assert formats.detect_kind(rows_of({"1": "why", "2": "how"}, name="x.json")) == "queries"


@pytest.mark.parametrize(
    ("read", "row"),
    [
        (lambda source, report: formats.read_responses([source], report), {"run": "a", "text": "Foam."}),
        (formats.read_answers, {"run": "a", "k": 1, "answer": "Foam."}),
        (formats.read_answer_verdicts, {"answer": "Foam.", "acceptable": "yes"}),
    ],
)
def test_ignored_keys_are_noted_once(read: Callable[[formats.Source, Report], list[Any]], row: dict[str, Any]) -> None:
    rows = [{"query_id": name, "remark": "Read by hand.", "seconds": 3, **row} for name in ("q1", "q2")]
    report = Report()
    assert len(read(rows_of(*rows), report)) == 2
    assert [("remark" in note.reason, note.line) for note in report.notes] == [(True, 1)]


VARIANTS = examples(2000)
KNOWN = {"letters": [f"tea-{n}" for n in range(1, 9)], "numbers": [str(n) for n in range(101, 109)]}
UNKNOWN = [f"x{n}" for n in range(1, 9)]
QUERIES = [*KNOWN["letters"], *KNOWN["numbers"]]
USUAL = ("nDCG@10", "map", "P_10", "EXAM-Cover@20", "recip_rank", "MEAN_RATING")
OWN = ("AVG_GRADE", "GRADED_WELL", "QUESTIONS_UNGRADED")
RUNS = {
    "plain": ("bm25", "dense-2", "mix", "org.run7"),
    "numbers": ("1", "2", "3", "4"),
    "like measures": ("exam-1", "cover.b", "ndcg-tuned", "score"),
    "like queries": ("tea-1", "tea-2", "tea-3", "tea-4"),
}
HEADERS = {
    "usual": {"run": "run_id", "query": "topic_id", "measure": "measure", "value": "value"},
    "ours": {"run": "system", "query": "qid", "measure": "metric", "value": "score"},
    "other": {"run": "submission", "query": "need", "measure": "criterion", "value": "result"},
}

Values = dict[str, dict[str, dict[str, float]]]
"""measure -> run -> query or `all` -> value"""


@dataclass(frozen=True)
class Variant:
    """A generated file with its expected content; `clear` if the specification identifies its columns."""

    form: str
    given: str | None
    text: str
    name: str
    clear: bool
    boards: dict[str, dict[str, float]]
    per_query: Values


def lines(form: str, values: Values, separator: str, names: dict[str, str] | None, random: Random) -> list[str]:
    """Return the lines of a file: values in random order, after a header if there are names."""
    found = []
    for measure, by_run in values.items():
        for run, by_query in by_run.items():
            for query, value in by_query.items():
                if form == "jsonl":
                    keys = names or HEADERS["usual"]
                    record = {keys["run"]: run, keys["query"]: query, keys["measure"]: measure, keys["value"]: value}
                    found.append(json.dumps(record))
                else:
                    cells = {"run": run, "query": query, "measure": measure, "value": repr(value), "Q0": "Q0"}
                    found.append(
                        separator.join({**cells, "rank": "0"}[name] for name in choices.LEADERBOARD_FORMS[form])
                    )
    random.shuffle(found)
    if names and form != "jsonl":
        found.insert(0, separator.join(names.get(name, name) for name in choices.LEADERBOARD_FORMS[form]))
    return found


def variant(random: Random) -> Variant:
    form = random.choice(list(choices.LEADERBOARD_FORMS))
    given = form if random.random() < 0.2 else None
    known = random.choices((*KNOWN, "unknown"), (4, 3, 3))[0]
    queries = random.sample(KNOWN.get(known, UNKNOWN), random.randint(1, 6))
    unknown = random.random() < 0.2
    if unknown:
        queries = [*queries, *UNKNOWN[6 : 6 + random.randint(1, 2)]]
    runs_kind = random.choices(list(RUNS), (6, 1, 1, 1))[0]
    if known == "unknown" and runs_kind == "like queries":
        # Otherwise only the run column had known query ids, and runs would be read as queries.
        runs_kind = "plain"
    runs = random.sample(RUNS[runs_kind], random.randint(2, 4))
    usual = random.random() < 0.6
    measures = random.sample(USUAL if usual else OWN, random.randint(1, 3))
    name = "eval.txt"
    if form == "trec_eval":
        runs, name = runs[:1], f"{runs[0]}.txt"
    whole, wrong_mean = random.choice((None, None, "all", "amean")), random.random() < 0.2
    values: Values = {}
    boards: dict[str, dict[str, float]] = {}
    for measure in measures:
        digits = random.choice((0, 1, 4, 17))
        by_run = {run: {query: round(random.random(), digits) for query in queries} for run in runs}
        boards[measure] = {run: math.fsum(by.values()) / len(by) for run, by in by_run.items()}
        values[measure] = by_run
    per_query = {measure: {run: dict(by) for run, by in by_run.items()} for measure, by_run in values.items()}
    for measure in measures if whole else ():
        for run in runs:
            boards[measure][run] += 0.125 * wrong_mean
            values[measure][run][whole or ""] = boards[measure][run]
    header = random.choice((None, None, "usual", "ours", "other"))
    if form == "trec_eval" and header == "other":
        # Without a system column, this cannot be told from a wide table with a text column.
        given = form
    separator = random.choice("\t \t") if random.random() < 0.9 else "   "
    text = "\n".join(lines(form, values, separator, HEADERS[header] if header else None, random)) + "\n"
    told = whole is not None or known != "unknown"
    by_content = (
        told and runs_kind == "plain" and (len(queries) > 1 or usual)
        and (form not in ("trec_eval", "ranking") or usual) and (header is None or form != "ranking")
    )  # fmt: skip
    named = header in ("usual", "ours") or (form == "jsonl" and header is None)
    clear = bool(named or (given and form != "jsonl") or (by_content and form != "jsonl"))
    return Variant(form, given, text, name, clear, boards, per_query)


def read_board(
    text: str, name: str = "eval.txt", form: str | None = None, known: Sequence[str] = QUERIES
) -> list[Board]:
    report = Report()
    found = formats.read_boards(formats.Source(name, data=text.encode()), report, known, form)
    report.raise_if_refused()
    return found


def test_shuffled_variants_are_read_correctly_or_refused() -> None:
    wrong: list[tuple[int, str, str]] = []
    seen: Counter[tuple[bool, str]] = Counter()
    for seed in range(VARIANTS):
        made = variant(Random(seed))
        report, file = Report(), formats.Source(made.name, data=made.text.encode())
        assert formats.detect_kind(file) in (None, "leaderboard") or made.form == "ranking"
        found = formats.read_boards(file, report, QUERIES, made.given)
        scores = {board.measure: {row.run: row.score for row in board.rows} for board in found}
        by_query = {board.measure: board.per_query for board in found}
        said = "refused" if report.count else "read"
        if [*scores] == ["result"] and len(made.boards) == 1:
            # With an unknown header and one row per system, this is a wide table of a measure "result".
            scores = dict(zip(made.boards, scores.values(), strict=True))
            by_query = made.per_query
        if said == "read" and (scores, by_query) != (made.boards, made.per_query):
            wrong.append((seed, made.form, made.text))
        seen[made.clear, said] += 1
    assert not wrong, (len(wrong), wrong[0])
    assert seen[True, "read"] + seen[True, "refused"] > VARIANTS / 2
    assert seen[True, "read"] >= 0.9 * (seen[True, "read"] + seen[True, "refused"]), seen


BY_QUERY = {
    "bm25": {"tea-1": 0.1, "tea-2": 0.9, "tea-3": 1 / 3},
    "dense-2": {"tea-1": 0.5, "tea-2": 0.25, "tea-3": 0.1 + 0.2},
}


def written(form: str, measure: str = "nDCG@10", with_all: bool = True, runs: Sequence[str] = tuple(BY_QUERY)) -> str:
    out = io.StringIO()
    for run in runs:
        by_query = BY_QUERY[run]
        mean = [(run, "all", math.fsum(by_query.values()) / 3, 1)] if with_all else []
        formats.write_board_form(
            form, measure, [*((run, query, value, 1) for query, value in by_query.items()), *mean], out
        )
    return out.getvalue()


@pytest.mark.parametrize("form", choices.LEADERBOARD_FORMS)
@pytest.mark.parametrize("with_all", [True, False])
def test_each_format_preserves_means_and_values_by_query(form: str, with_all: bool) -> None:
    runs = ["bm25"] if form == "trec_eval" else [*BY_QUERY]
    text = written(form, with_all=with_all, runs=runs)
    for given in (form, None):
        (board,) = read_board(text, "bm25.txt", given)
        assert {row.run: row.score for row in board.rows} == {
            run: math.fsum(BY_QUERY[run].values()) / 3 for run in runs
        }
        assert board.measure == "nDCG@10" and board.per_query == {run: BY_QUERY[run] for run in runs}
    if form == "jsonl" or (with_all and form != "trec_eval"):
        assert formats.detect_kind(formats.Source("bm25.txt", data=text.encode())) == "leaderboard"


def test_known_queries_identify_format_and_contradictions_are_refused() -> None:
    texts = {form: written(form, "AVG_GRADE", False) for form in ("tot", "ir_measures", "rag4reports")}
    for form, text in texts.items():
        assert [board.measure for board in read_board(text)] == ["AVG_GRADE"]
        assert refused_board(text, known=[]) == ["header-missing"]
        assert read_board(text, known=[], form=form) == read_board(text)
        for other in texts.keys() - {form}:
            assert refused_board(text, form=other) == ["form-differs"]
    assert refused_board("run\ttopic\tmeasure\tvalue\n" + texts["tot"], form="tot") == ["form-differs"]
    assert (
        refused_board(texts["tot"], form="trec_eval") == refused_board(texts["tot"], form="jsonl") == ["form-differs"]
    )
    assert refused_board(written("jsonl"), form="tot") == ["form-differs"]
    assert refused_board('{"run_id": "a", "topic_id": "tea-1", "measure": "AP", "value": 1}\n{"run_id": "a"}') == [
        "column-missing"
    ]
    # The trec_eval summary of one run is read if the format is given.
    summary = "runid\tall\tbm25\nnum_q\tall\t3\nmap\tall\t0.25\n"
    assert refused_board(summary, "x.txt") == ["file-of-another-kind"]
    boards = {board.measure: board.rows for board in read_board(summary, "x.txt", "trec_eval")}
    assert [(row.run, row.score) for row in boards["map"]] == [("x", 0.25)]


def refused_board(
    text: str, name: str = "eval.txt", form: str | None = None, known: Sequence[str] = QUERIES
) -> list[str]:
    """Return the codes of all problems."""
    report = Report()
    formats.read_boards(formats.Source(name, data=text.encode()), report, known, form)
    return [problem.code for problem in report.problems]


def test_names_with_whitespace_need_jsonl() -> None:
    rows = [("my run", "tea-1", 0.5, 1)]
    with pytest.raises(InputError) as caught:
        formats.write_board_form("tot", "AP", rows, io.StringIO())
    assert caught.value.code == "blank-in-name"
    out = io.StringIO()
    formats.write_board_form("jsonl", "AP", rows, out)
    assert json.loads(out.getvalue())["run_id"] == "my run"
