"""Runs stream into a project: any size of batch and part gives what reading everything at once would give."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exam_workbench.errors import FileError, Problem, Report
from exam_workbench.exchange import Options, _run_import as run_import, import_files
from exam_workbench.formats import Source, read_run_lines
from exam_workbench.formats.trec_files import write_run
from exam_workbench.records import ranking_scores
from exam_workbench.store import Project
from exam_workbench.types import Ranked
from tests.formats.test_formats import ids, scores, source_of, words
from tests.made.projects import examples, new_project
from tests.made.refusals import coded, mentions, refusal


def take(project: Project, *sources: Source) -> tuple[Problem, ...]:
    """Import runs into a project that knows their queries; gives the notes."""
    queries = {line.query_id for source in sources for line in read_run_lines(source, Report())}
    names = "".join(f"{query}\tquery {query}\n" for query in sorted(queries))
    if names:
        import_files(project, "queries", [source_of(names, "queries.tsv")], "tester")
    return import_files(project, "runs", list(sources), "tester", Options(replace=True)).notes


def ranking(project: Project, run: str) -> list[Ranked]:
    return [
        Ranked(*row)
        for row in project.rows(
            "SELECT query_id, passage_id, rank, score FROM rankings JOIN runs USING (run_key)"
            " JOIN queries USING (query_key) JOIN passages USING (passage_key) WHERE name = ?"
            " ORDER BY query_key, rank",
            [run],
        )
    ]


@settings(max_examples=examples(6))
@given(words, st.dictionaries(st.tuples(ids, ids), scores, min_size=1))
def test_a_run_round_trips(name: str, ranked: dict[tuple[str, str], float]) -> None:
    out = io.StringIO()
    write_run(name, [Ranked(query, passage, 1, score) for (query, passage), score in ranked.items()], out)
    with TemporaryDirectory() as folder:
        project = new_project(Path(folder) / "p.duckdb")
        take(project, source_of(out.getvalue(), "first.run"))
        first = ranking(project, name)
        again = io.StringIO()
        write_run(name, first, again)
        take(project, source_of(again.getvalue(), "first.run"))
        second = ranking(project, name)
        project.close()
    assert {(r.query_id, r.passage_id): r.score for r in first} == ranked
    assert second == first


def test_the_order_is_trec_evals_and_oddities_are_told_by_line(project: Project) -> None:
    text = "q1 Q0 a 1 0.5 t\nq1 Q0 b 2 0.50000000001 t\nq1 Q0 c 3 2 t\nq1\tQ0  d\t4 0.5 t\n"
    notes = take(project, source_of(text, "bm25.run"))
    assert [(r.passage_id, r.rank) for r in ranking(project, "t")] == [("c", 1), ("d", 2), ("b", 3), ("a", 4)]
    assert [coded(note) for note in notes] == ["bm25.run:1 tied", "bm25.run:1 contradicts"]
    assert all(mentions(note.reason, value) for note in notes for value in ("t", "2"))


def test_a_repeated_passage_keeps_the_better_score_and_is_noted(project: Project) -> None:
    (note,) = take(project, source_of("q Q0 p 1 1.0 t\nq Q0 p 2 3.0 t\nq Q0 p 3 2.0 t\n"))
    assert ranking(project, "t") == [Ranked("q", "p", 1, 3.0)]
    assert (note.line, note.code) == (2, "repeated") and mentions(note.reason, "2")


def test_runs_are_named_by_tag_unless_files_share_it(project: Project) -> None:
    line = "q1 Q0 p 1 1.0 "
    own = source_of(line + "mine\n", "x.run")
    shared = [source_of(line + "rank\n", f"folder/{name}.run.gz"[:-3]) for name in ("bm25.k1", "splade")]
    mixed = source_of(line + "rank\n" + line + "other\n", "mixed.txt")
    take(project, own, *shared, mixed)
    assert list(ranking_scores(project)) == ["mine", "bm25.k1", "splade", "mixed-rank", "other"]


def test_two_files_with_the_same_name_are_not_mixed_up(project: Project) -> None:
    given = [source_of("q Q0 p 1 2.0 tagged\n", f"{folder}/bm25.run") for folder in ("a", "b")]
    with pytest.raises(FileError) as error:
        take(project, *given)
    (problem,) = error.value.problems
    assert coded(problem) == "b/bm25.run duplicate-run"
    assert project.value("SELECT count(*) FROM runs") == 0


def test_many_unknown_queries_are_told_in_a_whole_sentence(project: Project) -> None:
    given = source_of("q1 Q0 p 1 2 t\nq2 Q0 p 1 2 t\nq3 Q0 p 1 2 t\n", "r.run")
    with refusal("unknown-query", "r.run:1", "q1", "2", kind=FileError):
        import_files(project, "runs", [given], "tester")


def test_nothing_is_left_beside_the_project(project: Project) -> None:
    take(project, source_of("q Q0 p 1 2.0 t\n"))
    with pytest.raises(FileError):
        take(project, source_of("q Q0 p 1 2.0 t\nq Q0 p 1\n"))
    assert [path.name for path in project.path.parent.iterdir() if path.name.startswith(".import-")] == []


Line = tuple[str, str, int | None, float]


def at_once(lines: Sequence[Line]) -> tuple[list[tuple[str, str]], dict[str, tuple[int, int]]]:
    """The ranking of a run and its oddities, by a plain reading of what trec_eval does."""
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
def test_batches_and_parts_change_nothing(lines: list[Line], batch: int, part: int) -> None:
    text = "".join(f"{q} Q0 {p} {'-' if rank is None else rank} {score!r} t\n" for q, p, rank, score in lines)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as small:
        small.setattr(run_import, "LINES_A_BATCH", batch)
        small.setattr(run_import, "LINES_A_PART", part)
        project = new_project(Path(folder) / "p.duckdb")
        notes = take(project, source_of(text, "t.run"))
        found = [(r.query_id, r.passage_id) for r in ranking(project, "t")]
        project.close()
    order, odd = at_once(lines)
    assert found == order
    told = {}
    for note in notes:
        times = re.search(r"\((\d+)", note.reason)
        told[note.code] = (note.line, int(times[1]) if times else 1)
    assert told == odd


def test_a_run_that_is_called_by_its_file_takes_no_other_runs_place(project: Project) -> None:
    """Names are taken by first.run and c.run; b.run would be called b, as c.run's run is, all.run's two both all."""
    take(project, source_of("q Q0 a 1 3 bm25\nq Q0 b 2 2 rm3\n", "first.run"))
    take(project, source_of("q Q0 c 1 3 b\n", "c.run"))
    for _ in range(2):  # the second time each file's runs give way to themselves
        take(project, source_of("q Q0 d 1 3 bm25\n", "b.run"))
        take(project, source_of("q Q0 e 1 3 bm25\nq Q0 f 1 3 rm3\n", "all.run"))
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


def test_a_run_that_came_with_others_of_its_tag_keeps_its_name_when_it_comes_alone(project: Project) -> None:
    take(project, *(source_of("q Q0 a 1 3 rank\nq Q0 b 2 2 rank\n", f"{name}.run") for name in ("bm25", "splade")))
    again = source_of("q Q0 a 1 3 rank\n", "bm25.run")
    with refusal("would-replace", "1", "2", "ranked", "bm25"):
        import_files(project, "runs", [again], "ann", Options())
    take(project, again)
    assert {run: len(ranking(project, run)) for run in ranking_scores(project)} == {"bm25": 1, "splade": 2}
