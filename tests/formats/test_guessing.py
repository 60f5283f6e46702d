"""Files of known kinds in many layouts: each is read right, or refused; and most of those that are clear are read.

`EXAMPLES_TIMES=10` makes ten times as many files.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from exam_workbench.errors import Report, WorkbenchError
from exam_workbench.exchange import import_files
from exam_workbench.formats import (
    Source,
    describe_unrecognised,
    detect_kind,
    read_bank,
    read_boards,
    read_factors,
    read_matrix,
    read_run_lines,
)
from exam_workbench.formats.passage_files import read_passages
from exam_workbench.formats.query_files import read_queries
from exam_workbench.formats.trec_files import read_qrels
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query
from tests.made.projects import examples, new_project

FILES = examples(200)
WORDS = (
    "what",
    "do",
    "bees",
    "eat",
    "when",
    "the",
    "moon",
    "pulls",
    "water",
    "over",
    "green",
    "hills",
    "and",
    "old",
    "red",
)
MEASURES = ("nDCG@10", "map", "P_10", "recip_rank", "ndcg_cut_5", "RR@10", "bpref", "EXAM-Cover@20")
IDS = {"letters": ("q{}", "doc{}"), "numbers": ("10{}", "7{:04}"), "long": ("2020-{}", "msmarco_v2.1_doc_{:02}_1#0_0")}
QUERIES = [form.format(number) for form, _ in IDS.values() for number in range(1, 9)]
PASSAGES = [form.format(number) for _, form in IDS.values() for number in range(1, 30)]


@dataclass(frozen=True)
class Made:
    """A file with what it holds.

    Args:
        kind: as the command line calls it.
        clear: whether a person who knows the format can say which column is which.
        read: reads it, and gives what `truth` is in.
    """

    kind: str
    source: Source
    clear: bool
    truth: Any
    read: Callable[[Source, Report], Any]


def sentence(random: Random, least: int = 3) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(least, 9)))


def table(
    random: Random, rows: list[list[str]], names: Sequence[str] | None, usual: str, spaced: bool = True
) -> tuple[str, bool]:
    """A table with its columns in some order and some separator, and whether it is clear how to read it.

    Args:
        names: of its columns; None for a table that is written without.
        usual: separators of tables without a header, of which it is known how to read them.
        spaced: whether cells have no blanks, so that blanks may separate them.
    """
    separator = random.choice("\t,; " if spaced else "\t,;")
    places = list(range(len(rows[0])))
    if random.random() < 0.5:
        random.shuffle(places)
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    for row in [*([names] if names else []), *rows]:
        writer.writerow([row[at] for at in places])
    return out.getvalue(), bool(names) or (places == sorted(places) and separator in usual)


def ids(random: Random) -> tuple[list[str], list[str]]:
    query, passage = random.choice(list(IDS.values()))
    numbers = random.sample(range(1, 9), random.randint(2, 4))
    return [query.format(n) for n in numbers], [passage.format(n) for n in random.sample(range(1, 30), 8)]


def a_run(random: Random) -> Made:
    queries, passages = ids(random)
    tag = random.choice(("bm25", "dense-2", "run_a"))
    rows = []
    for query in queries:
        scores = sorted((round(random.uniform(1, 30), 4) for _ in range(5)), reverse=True)
        for rank, (passage, score) in enumerate(zip(random.sample(passages, 5), scores, strict=True), 1):
            rows.append([query, "Q0", passage, str(rank), f"{score:.4f}", tag])
    truth = {(query, passage, float(score), tag) for query, _, passage, _, score, _ in rows}
    named = (["qid", "Q0", "docno", "rank", "score", "tag"], ["query-id", "iter", "doc_id", "rank", "score", "run"])
    names = random.choice((None, *named))
    text, clear = table(random, rows, names, "\t,; ")
    return Made(
        "runs", Source(random.choice(("some.run", "some.txt", "some.tsv")), data=text.encode()), clear, truth, runs
    )


def runs(source: Source, report: Report) -> Any:
    return {(line.query_id, line.passage_id, line.score, line.tag) for line in read_run_lines(source, report)}


def some_qrels(random: Random) -> Made:
    queries, passages = ids(random)
    rows = [[q, "0", p, str(random.randint(0, 3))] for q in queries for p in random.sample(passages, 5)]
    truth = {(q, p, int(value)) for q, _, p, value in rows}
    names = random.choice((None, ["query_id", "iteration", "doc_id", "relevance"], ["topic", "iter", "docid", "rel"]))
    if random.random() < 0.4:
        rows = [[q, p, value] for q, _, p, value in rows]
        names = random.choice((["query-id", "corpus-id", "score"], ["qid", "pid", "label"]))
    text, clear = table(random, rows, names, "\t,; ")
    return Made(
        "qrels", Source(random.choice(("some.qrels", "test.tsv", "some.txt")), data=text.encode()), clear, truth, qrels
    )


def qrels(source: Source, report: Report) -> Any:
    return {(each.query_id, each.passage_id, each.value) for each in read_qrels(source, report)}


def json_map(random: Random) -> Made:
    queries, passages = ids(random)
    if random.random() < 0.5:
        values = {q: {p: random.randint(0, 3) for p in random.sample(passages, 4)} for q in queries}
        truth: Any = {(q, p, value) for q, by in values.items() for p, value in by.items()}
        kind, read = "qrels", qrels
    else:
        scored = {q: {p: random.uniform(0, 9) for p in random.sample(passages, 4)} for q in queries}
        truth = {(q, p, value, "some") for q, by in scored.items() for p, value in by.items()}
        kind, read, values = "runs", runs, scored
    return Made(
        kind, Source("some.json", data=json.dumps(values, indent=random.choice((None, 1))).encode()), True, truth, read
    )


def json_board(random: Random) -> Made:
    systems = {f"sys-{n}": round(random.random(), 4) for n in range(random.randint(2, 5))}
    measure = random.choice(MEASURES)
    content = systems if random.random() < 0.5 else {measure: systems}
    truth = {("score" if content is systems else measure): (systems, {})}
    return Made("leaderboard", Source("some.json", data=json.dumps(content).encode()), True, truth, boards)


def boards(source: Source, report: Report) -> Any:
    return {
        board.measure: ({row.run: round(row.score, 6) for row in board.rows}, board.per_query)
        for board in read_boards(source, report)
    }


def a_wide_board(random: Random) -> Made:
    measures = random.sample(MEASURES, random.randint(1, 4))
    systems = [f"sys-{n}" for n in range(random.randint(2, 6))]
    rows = [[system, *(f"{random.random():.4f}" for _ in measures)] for system in systems]
    names = [random.choice(("run", "system", "run_id", "method")), *measures] if random.random() < 0.8 else None
    text, clear = table(random, rows, names, "")
    truth = {m: ({row[0]: float(row[at]) for row in rows}, {}) for at, m in enumerate(measures, 1)}
    return Made(
        "leaderboard", Source(random.choice(("board.tsv", "board.csv")), data=text.encode()), clear, truth, boards
    )


def a_long_board(random: Random) -> Made:
    queries, _ = ids(random)
    measures, systems = (
        random.sample(MEASURES, random.randint(1, 2)),
        ["bm25", "dense-2", "mix"][: random.randint(2, 3)],
    )
    means = random.random() < 0.7
    rows, truth = [], {}
    for measure in measures:
        by: dict[str, dict[str, float]] = {s: {q: round(random.random(), 4) for q in queries} for s in systems}
        whole = {s: round(sum(scores.values()) / len(scores), 4 if means else 9) for s, scores in by.items()}
        truth[measure] = ({s: round(score, 6) for s, score in whole.items()}, by)
        for s, scores in by.items():
            rows += [[s, q, measure, f"{score:.4f}"] for q, score in scores.items()]
            rows += [[s, "all", measure, f"{whole[s]:.4f}"]] * means
    named = (["run_id", "query_id", "measure", "value"], ["system", "topic", "metric", "score"])
    names: list[str] | None = random.choice(named)
    if len(measures) == 1 and random.random() < 0.3:
        rows = [[s, q, value] for s, q, _, value in rows]
        names = ["run", "query", measures[0]]
    elif random.random() < 0.4:
        names = None
    text, clear = table(random, rows, names, "\t,; " if means else "")
    return Made(
        "leaderboard", Source(random.choice(("eval.tsv", "eval.txt")), data=text.encode()), clear, truth, boards
    )


def a_matrix(random: Random) -> Made:
    items = [f"item-{n}" for n in range(random.randint(3, 6))]
    rows = [[f"model-{n}", *(random.choice("01") for _ in items)] for n in range(random.randint(2, 5))]
    names = ["student", *items] if random.random() < 0.7 else None
    text, clear = table(random, rows, names, "")
    truth = {row[0]: {item: cell == "1" for item, cell in zip(items, row[1:], strict=True)} for row in rows}
    return Made("responses-matrix", Source("answers.csv", data=text.encode()), clear, truth, matrix)


def matrix(source: Source, report: Report) -> Any:
    return {each.student: each.verdicts for each in read_matrix(source, report)}


def factors(random: Random) -> Made:
    rows = [[f"model-{n}", random.choice(("llama", "mistral")), random.choice(("bm25", "oracle"))] for n in range(4)]
    text, clear = table(random, rows, ["student", "model", "retrieval"], "")
    truth = {student: {"model": model, "retrieval": retrieval} for student, model, retrieval in rows}
    return Made("students", Source("parts.csv", data=text.encode()), clear, truth, read_factors)


def a_bank(random: Random) -> Made:
    queries, _ = ids(random)
    rows = [[q, f"{q}/{n}", f"{sentence(random)}?", str(random.randint(1, 4))] for q in queries for n in range(2)]
    truth = {(q, question, text, float(weight)) for q, question, text, weight in rows}
    names: list[str] | None = ["query_id", "question_id", "text", "weight"]
    usual = ""
    if random.random() < 0.3:
        rows, names, usual = [[q, text] for q, _, text, _ in rows], None, "\t"
        truth = {(q, text) for q, text in rows}
    text, clear = table(random, rows, names, usual, spaced=False)
    read = bank if names else pairs
    return Made("bank", Source(random.choice(("bank.csv", "questions.tsv")), data=text.encode()), clear, truth, read)


def bank(source: Source, report: Report) -> Any:
    return {(q.query_id, q.question_id, q.text, q.weight) for q in read_bank(source, report).questions}


def pairs(source: Source, report: Report) -> Any:
    return {(q.query_id, q.text) for q in read_bank(source, report).questions}


def some_texts(random: Random) -> Made:
    queries, passages = ids(random)
    of_queries = random.random() < 0.5
    rows = [[key, sentence(random), sentence(random)] for key in (queries if of_queries else passages)]
    names: list[str] | None = (
        [random.choice(("query_id", "qid", "topic_id")), random.choice(("text", "query")), "narrative"]
        if of_queries else [random.choice(("docid", "doc_id", "passage_id")), random.choice(("text", "body")), "title"]
    )  # fmt: skip
    if random.random() < 0.6 or (random.random() < 0.4 and not of_queries):
        rows, names = [row[:2] for row in rows], names[:2]
    if of_queries:
        truth: Any = {row[0]: (row[1], row[2] if len(row) > 2 else None) for row in rows}
    else:
        truth = {row[0]: " ".join(row[:0:-1]) for row in rows}
    if random.random() < 0.3:
        keys = ["_id" if random.random() < 0.5 else names[0], *names[1:]]
        text, clear = "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows), True
    else:
        if random.random() < 0.4 and len(names) == 2:
            names = None
        text, clear = table(random, rows, names, "\t", spaced=False)
    kind, name = ("queries", "queries") if of_queries else ("passages", "corpus")
    return Made(
        kind, Source(f"{name}.{random.choice(('tsv', 'csv', 'jsonl'))}", data=text.encode()), clear, truth, texts[kind]
    )


texts: dict[str, Callable[[Source, Report], Any]] = {
    "queries": lambda source, report: {q.query_id: (q.text, q.narrative) for q in read_queries(source, report)},
    "passages": lambda source, report: {p.passage_id: p.text for p in read_passages(source, report)},
}
MAKERS = (a_run, some_qrels, json_map, json_board, a_wide_board, a_long_board, a_matrix, factors, a_bank, some_texts)


def imported(project: Project, kind: str, source: Source) -> bool:
    """Whether a project that has the queries and passages takes a file in."""
    try:
        import_files(project, kind, [source], "ann", preview=True)
    except WorkbenchError:
        return False
    return True


def outcome(project: Project, made: Made) -> str:
    """What becomes of a file: right or refused; else what is wrong."""
    guess, report = detect_kind(made.source), Report()
    if guess is None:
        assert describe_unrecognised(made.source)
    elif guess != made.kind and imported(project, guess, made.source):
        return f"taken for {guess}"
    if made.kind in ("runs", "qrels") and imported(project, "leaderboard", made.source):
        return "let in as leaderboard"
    found = made.read(made.source, report)
    if report.count:
        return "refused"
    if found != made.truth:
        return "read wrongly" if imported(project, made.kind, made.source) else "refused"
    return "right" if guess == made.kind else "right, not guessed"


def test_files_are_read_right_or_refused(tmp_path: Path) -> None:
    project = new_project(tmp_path / "p.duckdb")
    with project.transaction() as cursor:
        add_queries(cursor, [Query(query, "words") for query in QUERIES], replace=False)
        add_passages(cursor, [Passage(passage, "words") for passage in PASSAGES])
    wrong: list[tuple[int, str, str, str]] = []
    seen: Counter[tuple[str, bool, str]] = Counter()
    for seed in range(FILES):
        random = Random(seed)
        made = MAKERS[seed % len(MAKERS)](random)
        said = outcome(project, made)
        seen[MAKERS[seed % len(MAKERS)].__name__, made.clear, said] += 1
        if said not in ("right", "right, not guessed", "refused"):
            wrong.append((seed, made.kind, said, (made.source.data or b"").decode()[:300]))
    project.close()
    for (maker, clear, said), times in sorted(seen.items()):
        print(f"{maker:14} {'clear' if clear else 'unclear':8} {said:20} {times}")
    assert not wrong, wrong[:3]
    clear = sum(times for (_, clear, _), times in seen.items() if clear)
    read = sum(times for (_, clear, said), times in seen.items() if clear and said == "right")
    print(f"{FILES} files, {clear} of them clear, {read} of these guessed and read")
    assert read >= 0.9 * clear
