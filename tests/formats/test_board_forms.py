"""Leaderboards in AutoJudge's long forms: read right or refused, in whatever way a file has them."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest

from exam_workbench.errors import InputError, Report
from exam_workbench.formats import BOARD_FORMS, Source, detect_kind, read_boards, write_board_form
from exam_workbench.types import Board
from tests.made.projects import examples

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
    """A file in a form, with what it holds; `clear` if the specification says which column is which."""

    form: str
    given: str | None
    text: str
    name: str
    clear: bool
    boards: dict[str, dict[str, float]]
    per_query: Values


def lines(form: str, values: Values, separator: str, names: dict[str, str] | None, random: Random) -> list[str]:
    """The lines of a file: a header if there are names for one, and the values in any order."""
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
                    found.append(separator.join({**cells, "rank": "0"}[name] for name in BOARD_FORMS[form]))
    random.shuffle(found)
    if names and form != "jsonl":
        found.insert(0, separator.join(names.get(name, name) for name in BOARD_FORMS[form]))
    return found


def variant(random: Random) -> Variant:
    form = random.choice(list(BOARD_FORMS))
    given = form if random.random() < 0.2 else None
    known = random.choices((*KNOWN, "unknown"), (4, 3, 3))[0]
    queries = random.sample(KNOWN.get(known, UNKNOWN), random.randint(1, 6))
    unknown = random.random() < 0.2
    if unknown:
        queries = [*queries, *UNKNOWN[6 : 6 + random.randint(1, 2)]]
    runs_kind = random.choices(list(RUNS), (6, 1, 1, 1))[0]
    if known == "unknown" and runs_kind == "like queries":
        # Known ids in one column alone say that these are the queries.
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
        # Without a system in any column nothing else tells this from a wide table with a column of text.
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


def read(text: str, name: str = "eval.txt", form: str | None = None, known: Sequence[str] = QUERIES) -> list[Board]:
    report = Report()
    found = read_boards(Source(name, data=text.encode()), report, known, form)
    report.raise_if_refused()
    return found


def test_shuffled_variants_are_read_right_or_refused() -> None:
    wrong: list[tuple[int, str, str]] = []
    seen: Counter[tuple[bool, str]] = Counter()
    for seed in range(VARIANTS):
        made = variant(Random(seed))
        report = Report()
        found = read_boards(Source(made.name, data=made.text.encode()), report, QUERIES, made.given)
        scores = {board.measure: {row.run: row.score for row in board.rows} for board in found}
        by_query = {board.measure: board.per_query for board in found}
        said = "refused" if report.count else "read"
        if [*scores] == ["result"] and len(made.boards) == 1:
            # Under words that are not known, one row a system is a wide table with a measure of that name.
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
        write_board_form(form, measure, [*((run, query, value, 1) for query, value in by_query.items()), *mean], out)
    return out.getvalue()


@pytest.mark.parametrize("form", BOARD_FORMS)
@pytest.mark.parametrize("with_all", [True, False])
def test_each_form_gives_the_means_and_the_values_by_query_to_the_last_digit(form: str, with_all: bool) -> None:
    runs = ["bm25"] if form == "trec_eval" else [*BY_QUERY]
    text = written(form, with_all=with_all, runs=runs)
    for given in (form, None):
        (board,) = read(text, "bm25.txt", given)
        assert {row.run: row.score for row in board.rows} == {
            run: math.fsum(BY_QUERY[run].values()) / 3 for run in runs
        }
        assert board.measure == "nDCG@10" and board.per_query == {run: BY_QUERY[run] for run in runs}
    if form == "jsonl" or (with_all and form != "trec_eval"):
        assert detect_kind(Source("bm25.txt", data=text.encode())) == "leaderboard"


def test_only_known_queries_tell_forms_of_four_columns_apart_and_contradictions_are_refused() -> None:
    texts = {form: written(form, "AVG_GRADE", False) for form in ("tot", "ir_measures", "rag4reports")}
    for form, text in texts.items():
        assert [board.measure for board in read(text)] == ["AVG_GRADE"]
        assert refused(text, known=[]) == ["header-missing"]
        assert read(text, known=[], form=form) == read(text)
        for other in texts.keys() - {form}:
            assert refused(text, form=other) == ["form-differs"]
    assert refused("run\ttopic\tmeasure\tvalue\n" + texts["tot"], form="tot") == ["form-differs"]
    assert refused(texts["tot"], form="trec_eval") == refused(texts["tot"], form="jsonl") == ["form-differs"]
    assert refused(written("jsonl"), form="tot") == ["form-differs"]
    assert refused('{"run_id": "a", "topic_id": "tea-1", "measure": "AP", "value": 1}\n{"run_id": "a"}') == [
        "column-missing"
    ]
    # trec_eval's summary of one run is read if it is asked for.
    summary = "runid\tall\tbm25\nnum_q\tall\t3\nmap\tall\t0.25\n"
    assert refused(summary, "x.txt") == ["file-of-another-kind"]
    boards = {board.measure: board.rows for board in read(summary, "x.txt", "trec_eval")}
    assert [(row.run, row.score) for row in boards["map"]] == [("x", 0.25)]


def refused(text: str, name: str = "eval.txt", form: str | None = None, known: Sequence[str] = QUERIES) -> list[str]:
    """The codes of the refusals."""
    report = Report()
    read_boards(Source(name, data=text.encode()), report, known, form)
    return [problem.code for problem in report.problems]


def test_a_wide_table_with_a_repeated_system_is_refused() -> None:
    for text in (
        "run\tnDCG@10\na\t0.1\nb\t0.2\na\t0.3\n", "run\tneed\tnDCG@10\na\tx1\t0.1\na\tx2\t0.3\n",
        "run\tneed\tcriterion\tresult\na\tx1\tm1\t0.1\na\tx2\tm1\t0.3\nb\tx1\tm1\t0.2\n",
        "run\tquery\tcriterion\tscore\na\tx1\tm1\t0.1\na\tx1\tm2\t0.3\n",
    ):  # fmt: skip
        assert "duplicate-run" in refused(text), text


def test_a_mean_that_differs_from_the_row_for_all_is_noted_and_the_row_counts() -> None:
    report = Report()
    text = written("tot", with_all=False) + "bm25\tnDCG@10\tamean\t0.75\ndense-2\tnDCG@10\tamean\t0.35\n"
    (board,) = read_boards(Source("eval.txt", data=text.encode()), report, QUERIES)
    assert {row.run: row.score for row in board.rows} == {"bm25": 0.75, "dense-2": 0.35}
    assert [note.code for note in report.notes] == ["mean-differs"] and board.per_query == BY_QUERY


def test_a_name_with_white_space_is_written_as_jsonl_only() -> None:
    rows = [("my run", "tea-1", 0.5, 1)]
    with pytest.raises(InputError) as caught:
        write_board_form("tot", "AP", rows, io.StringIO())
    assert caught.value.code == "blank-in-name"
    out = io.StringIO()
    write_board_form("jsonl", "AP", rows, out)
    assert json.loads(out.getvalue())["run_id"] == "my run"
