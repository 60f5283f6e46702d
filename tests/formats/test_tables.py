"""Tables of judgments, runs and leaderboards: read as what they are, or refused; never as another kind."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from exam_workbench.errors import FileError, InputError, Report
from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source, detect_kind, read_boards, read_run_lines
from exam_workbench.formats.query_files import read_queries
from exam_workbench.formats.trec_files import read_qrels
from exam_workbench.labels import compare, leaderboard
from exam_workbench.records import add_queries, imported_leaderboards
from exam_workbench.store import Project
from exam_workbench.types import Board, Judgment, Query

SEPARATORS = "\t,; "


def source(text: str, name: str = "f.tsv") -> Source:
    return Source(name, data=text.encode())


def read(text: str, name: str = "f.tsv") -> list[Board]:
    report = Report()
    found = read_boards(source(text, name), report)
    report.raise_if_refused()
    return found


def scores(text: str) -> dict[str, dict[str, float]]:
    return {board.measure: {row.run: pytest.approx(row.score) for row in board.rows} for board in read(text)}


def refused(kind: str, text: str) -> str:
    """The reason for which a file is refused."""
    readers = {"qrels": read_qrels, "runs": read_run_lines, "leaderboard": read_boards, "queries": read_queries}
    report = Report()
    list(readers[kind](source(text), report))
    with pytest.raises(FileError) as refusal:
        report.raise_if_refused()
    return refusal.value.problems[0].reason


JUDGED = "{}|{}|{}\nx-1|d-1|2\nx-1|d-3|0\nx-2|d-2|1\n"
JUDGMENTS = [Judgment("x-1", "d-1", 2), Judgment("x-1", "d-3", 0), Judgment("x-2", "d-2", 1)]


@pytest.mark.parametrize(
    "names", [("query-id", "corpus-id", "score"), ("topic_id", "doc_id", "rel"), ("qid", "pid", "label")]
)
def test_judgments_with_a_header_are_judgments_and_no_leaderboard(names: tuple[str, ...]) -> None:
    rows = [line.split("|") for line in JUDGED.format(*names).splitlines()]
    for separator in SEPARATORS:
        for order in permutations(range(3)):
            text = "".join(separator.join(row[at] for at in order) + "\n" for row in rows)
            report = Report()
            assert read_qrels(source(text), report) == JUDGMENTS and not report.problems
            assert detect_kind(source(text)) == "qrels"
            assert all(name in refused("leaderboard", text) for name in (names[0], names[1]))
    assert refused("runs", JUDGED.format(*names).replace("|", "\t"))


def test_a_header_that_names_too_little_is_refused_by_name() -> None:
    for text in ("query-id\tpaper\trelevance\nq\td\t1\n", "qid\tdocid\tgain\nq\td\t1\n"):
        reason = refused("qrels", text)
        assert all(name in reason for name in text.split("\n")[0].replace("-", "_").split("\t"))
        assert detect_kind(source(text)) != "qrels"
    # Whole numbers beyond any scale may be scores as well.
    assert refused("qrels", "query-id\tcorpus-id\tscore\nq\td\t49\n") and refused(
        "runs", "qid\tdocid\tscore\nq\td\t49\n"
    )


def test_runs_with_a_header_and_from_json() -> None:
    rows = [("q1", "d1", "1", "2.5", "bm"), ("q1", "d2", "2", "1.5", "bm")]
    for separator in SEPARATORS:
        text = "".join(separator.join(row) + "\n" for row in [("qid", "docno", "rank", "score", "run"), *rows])
        report = Report()
        lines = list(read_run_lines(source(text), report))
        assert [(line.query_id, line.passage_id, line.rank, line.score, line.tag) for line in lines] == [
            ("q1", "d1", 1, 2.5, "bm"), ("q1", "d2", 2, 1.5, "bm"),
        ]  # fmt: skip
        assert not report.problems and detect_kind(source(text)) == "runs" and refused("leaderboard", text)
    content = json.dumps({"q1": {"d2": 1.5, "d1": 2.5}, "q2": {"d1": 0.5}})
    found = list(read_run_lines(source(content, "dense.json"), Report()))
    assert [(line.query_id, line.passage_id, line.rank, line.tag) for line in found] == [
        ("q1", "d1", 1, "dense"), ("q1", "d2", 2, "dense"), ("q2", "d1", 1, "dense"),
    ]  # fmt: skip
    assert (
        detect_kind(source(content, "x.json")) == "runs"
        and refused("leaderboard", content)
        and refused("qrels", content)
    )


def test_a_json_map_of_judgments_is_one() -> None:
    content = json.dumps({"q1": {"d1": 2, "d2": 0}, "q2": {"d1": 1}}, indent=1)
    assert read_qrels(source(content), Report()) == [
        Judgment("q1", "d1", 2), Judgment("q1", "d2", 0), Judgment("q2", "d1", 1),
    ]  # fmt: skip
    assert (
        detect_kind(source(content, "x.json")) == "qrels"
        and refused("leaderboard", content)
        and refused("runs", content)
    )
    assert detect_kind(source('{"nDCG@10": {"a": 0.5, "b": 1}, "my_own": {"a": 1}}', "x.json")) is None
    assert detect_kind(source('{"MAP": {"a": 1, "b": 0}}', "x.json")) == "leaderboard"
    assert refused("qrels", '{"q1": {"d1": 2}, "q2": 1}')
    # Whole scores may be judgments, and values of measures are neither judgments nor scores of passages.
    for text in (
        '{"q1": {"d1": 1.0, "d2": 0.0}}',
        '{"q1": {"d1": 49, "d2": 48}}',
        '{"a": {"nDCG@10": 0.5, "map": 0.25}}',
    ):
        assert detect_kind(source(text, "x.json")) is None
        assert refused("leaderboard", text) and refused("qrels", text) and refused("runs", text)


def test_three_columns_that_end_in_numbers_are_no_queries() -> None:
    for text in (
        "q1\td1\t1\nq2\td7\t0\n",
        "q1\td1\t1.5\nq2\td7\t0.5\n",
        "num_ret\tq1\t10\nmap\tq1\t0.5\nrunid\tall\tx\n",
    ):
        assert detect_kind(source(text)) is None
        assert all(refused(kind, text) for kind in ("queries", "qrels", "runs", "leaderboard"))


@pytest.mark.parametrize("kind", ["qrels", "runs"])
def test_columns_in_another_order_are_not_read_without_a_header(kind: str) -> None:
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
        lines = read_run_lines(source(text), report)
        return {(line.query_id, line.passage_id, line.score, line.tag) for line in lines}

    truth = content("".join(" ".join(row) + "\n" for row in right), Report())
    for order in permutations(range(len(right[0]))):
        text = "".join(" ".join(row[at] for at in order) + "\n" for row in right)
        report = Report()
        found = content(text, report)
        # Who is a query the project says: an unknown one is refused there.
        assert report.count or found == truth or {each[0] for each in found}.isdisjoint({"q1", "q2"})


EVAL = [
    ("a", "q1", "nDCG@10", "0.10"), ("a", "q2", "nDCG@10", "0.90"), ("a", "all", "nDCG@10", "0.50"),
    ("b", "q1", "nDCG@10", "0.60"), ("b", "q2", "nDCG@10", "0.20"), ("b", "all", "nDCG@10", "0.40"),
    ("c", "q1", "nDCG@10", "0.30"), ("c", "q2", "nDCG@10", "0.60"), ("c", "all", "nDCG@10", "0.45"),
]  # fmt: skip
MEANS = {"nDCG@10": {"a": 0.5, "b": 0.4, "c": 0.45}}


def lined(rows: list[tuple[str, ...]], order: tuple[int, ...], separator: str) -> str:
    return "".join(separator.join(row[at] for at in order) + "\n" for row in rows)


def test_values_by_query_become_their_means_and_are_kept() -> None:
    header = ("run_id", "query_id", "measure", "value")
    without = [row for row in EVAL if row[1] != "all"]
    for at, order in enumerate(permutations(range(4))):
        separator = SEPARATORS[at % 4]
        for rows in ([header, *EVAL], [header, *without], EVAL):
            text = lined(rows, order, separator)
            assert (text, scores(text)) == (text, MEANS) and detect_kind(source(text, "x.txt")) == "leaderboard"
            (board,) = read(text)
            assert board.per_query["a"] == {"q1": 0.1, "q2": 0.9}
        # Systems and queries look alike: nothing says which is which.
        assert refused("leaderboard", lined(without, order, separator))
    for rows in ([row[:2] + row[3:] for row in EVAL], [row[:2] + row[3:] for row in without]):
        assert scores(lined([("run", "topic", "MAP"), *rows], (0, 1, 2), "\t")) == {"MAP": MEANS["nDCG@10"]}
    two = [*EVAL, ("a", "q1", "P@5", "0.2"), ("a", "all", "P@5", "0.3")]
    names = {board.name: [row.score for row in board.rows] for board in read(lined([header, *two], (0, 1, 2, 3), "\t"))}
    assert names == {"f nDCG@10": [0.5, 0.4, 0.45], "f P@5": [0.3]}
    report = Report()
    read_boards(source(lined([header, *two], (0, 1, 2, 3), "\t")), report)
    # The mean of P@5 is not that of its only query.
    assert len(report.notes) == 1
    (one,) = read("query\tnDCG@10\nq1\t0.5\nq2\t0.25\n", "sys.tsv")
    assert [(row.run, row.score) for row in one.rows] == [("sys", 0.375)]


def test_a_system_that_occurs_twice_is_not_read_as_wide_unless_a_column_tells_its_rows_apart() -> None:
    assert refused("leaderboard", "run\tMAP\na\t0.1\nb\t0.2\na\t0.3\n")
    assert refused("leaderboard", "run\tkind\tMAP\na\tx\t0.1\na\tx\t0.3\n")
    assert scores("run\tkind\tMAP\na\tx\t0.1\na\ty\t0.3\nb\tx\t0.2\n") == {"MAP": {"a": 0.1, "b": 0.2}}


def test_queries_of_the_project_are_no_systems(project: Project) -> None:
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "a"), Query("q2", "b"), Query("q3", "c")], replace=False)
    for text in (
        "system\tMAP\nq1\t0.5\nq2\t0.4\n",
        '{"q1": 0.5, "q2": 0.25}',
        "run\tneed\tMAP\na\tq1\t.1\na\tq2\t.2\n",
        "system\tq1\tq2\nbm25\t0.5\t0.4\ndense\t0.3\t0.1\n",
    ):
        with pytest.raises(FileError):
            import_files(project, "leaderboard", [source(text)], "ann")
    assert imported_leaderboards(project) == []
    # A system may be called as a query.
    import_files(project, "leaderboard", [source("system\tMAP\nq1\t0.5\nx\t0.4\ny\t0.4\n")], "ann")


def test_columns_of_systems_and_names_of_measures_are_not_read_as_measures_and_systems() -> None:
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


def test_objects_per_line_that_are_no_values_are_refused_by_key() -> None:
    assert "measure" in refused("leaderboard", '{"system": "a", "qid": "1", "ndcg": 0.1}\n' * 2)


def test_small_whole_scores_with_a_point_are_neither_judgments_nor_a_run() -> None:
    text = "query-id\tcorpus-id\tscore\nx-1\td-1\t1.0\nx-1\td-2\t0.0\n"
    assert detect_kind(source(text)) not in ("runs", "qrels", "leaderboard")
    assert refused("runs", text) and refused("qrels", text) and refused("leaderboard", text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("id\ttext\ttitle\n1\tBees eat nectar\tBees\n2\tBees sleep\tBees\n", "passages"),
        ("run\tneed\tmetric\t0.1\nrun\tother\tmetric\t0.2\n", None),
        ("run\tnDCG@10\na\t0.5\na\t0.3\n", "leaderboard"),
    ],
)
def test_numbers_in_one_column_do_not_decide_alone(text: str, kind: str | None) -> None:
    assert detect_kind(source(text, "corpus.tsv")) == kind


def test_an_evaluation_by_query_is_compared_over_common_queries(project: Project) -> None:
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "a"), Query("q2", "b")], replace=False)
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
    # Another file under the name takes all of it away.
    wide = [source(files["wide.tsv"], "by.tsv")]
    with pytest.raises(InputError):
        import_files(project, "leaderboard", wide, "ann")
    import_files(project, "leaderboard", wide, "ann", Options(replace=True))
    assert leaderboard(project, "nDCG@10", "by").per_query == {}


def test_a_decimal_comma_is_named() -> None:
    for kind, text in (
        ("leaderboard", "run\tMAP\na\t0,53\nb\t0,61\n"), ("leaderboard", "run;MAP\na;0,53\n"),
        ("leaderboard", "run,MAP\na,0,53\n"), ("runs", "q Q0 d 1 0,53 t\n"), ("runs", "q;Q0;d;1;0,53;t\n"),
    ):  # fmt: skip
        assert "decimal comma" in refused(kind, text)
