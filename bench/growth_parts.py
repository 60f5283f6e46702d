"""The parts of `bench/growth.py`, each in a process of its own: scoring a project, and exchanging its graded file."""

from __future__ import annotations

import gzip
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.growth_peers import NAMES, Means, pandas_coverage, pandas_labels, pytrec_means, ranx_means
from bench.growth_whole import MADE, NEAR, TAUS, whole
from bench.large import make_large
from bench.peak import peak_megabytes
from core.bank import questions
from core.exchange import graded_file, import_files
from core.formats import Source
from core.labels import Policy, basis, coverage, label_qrels, labels
from core.leaderboard import leaderboard, score_runs
from core.project import Project, create, open_project, rankings
from core.review import changes

FILE = "graded.jsonl.gz"
EDITS = 9

Told = dict[str, float]
"""Seconds of processor by what took them; MB where the name ends so."""


def making(folder: Path, queries: int, passages: int, runs: int) -> Iterator[Told]:
    """Make the project that the other parts open; its memory is its own."""
    make_large(folder / MADE, queries, passages, runs).close()
    yield {}


def scoring(folder: Path, queries: int, passages: int, runs: int) -> Iterator[Told]:
    """Labels, coverage, measures and impact, ours and others'.

    Raises:
        AssertionError: numbers differ.
    """
    project = open_project(folder / MADE)
    told, ours = _ours(project)
    yield told
    project.close()
    # Opened again it remembers nothing.
    project = open_project(folder / MADE)
    yield _impact(project, queries)
    yield _theirs(project, folder, ours)
    project.close()


def _ours(project: Project) -> tuple[Told, tuple[Any, ...]]:
    base, policy = basis(project, Policy()), Policy()
    start = peak_megabytes()
    told: Told = {}
    table = _timed(told, "labels", lambda: labels(project, base))
    shares = _timed(told, "coverage", lambda: coverage(project, base, min_ratings=TAUS))
    scores = _timed(
        told,
        "measures",
        lambda: score_runs(rankings(project), list(NAMES), label_qrels(project, base), policy.min_rating),
    )
    leaderboard(project, "nDCG@10")
    return told | {"scoring MB": peak_megabytes() - start}, (table, shares, scores)


def _impact(project: Project, queries: int) -> Told:
    told: Told = {}
    _timed(told, "again", lambda: leaderboard(project, "nDCG@10"))
    dice = random.Random(0)
    took = []
    for turn in range(EDITS):
        query_id = f"q{dice.randrange(queries)}"
        asked = questions(project, query_id=query_id)
        change = ({"weight": 0.5}, {"active": False}, {"text": f"Another wording {turn}?"})[turn % 3]
        asked[turn] = replace(asked[turn], **change)
        one: Told = {}
        _timed(one, "impact", lambda edit={query_id: asked}: changes(project, "nDCG@10", Policy(), edit))
        took.append(one["impact"])
    return told | {"impact": statistics.median(took)}


def _theirs(project: Project, folder: Path, ours: tuple[Any, ...]) -> Told:
    table, shares, scores = ours
    # The frames that a user would have read already.
    grades = project.table(
        "SELECT q.query_key AS query, p.passage_key AS passage, question_text_key AS question, rating FROM grades"
        " JOIN question_revisions r ON r.text_key = question_text_key JOIN questions q USING (question_key)"
        " JOIN passages p ON p.text_key = passage_text_key"
    ).to_pandas()
    ranked = project.table(
        "SELECT name AS run, query_key AS query, passage_key AS passage, rank, score FROM rankings"
        " JOIN runs USING (run_key)"
    ).to_pandas()
    told: Told = {}
    found = _timed(told, "pandas labels", partial(pandas_labels, grades))
    assert sorted(found.tolist()) == sorted(table["label"].tolist()), "labels differ"
    covered = _timed(told, "pandas coverage", partial(pandas_coverage, grades, ranked, TAUS))
    _assert_near(covered, {tau: {run: _mean(by) for run, by in of.items()} for tau, of in shares.items()})
    del grades
    labelled = table.rename(columns={"query_id": "query", "passage_id": "passage"})[["query", "passage", "label"]]
    labelled["label"] = labelled["label"].astype(int)
    ranked = project.table(
        "SELECT name AS run, query_id AS query, passage_id AS passage, score FROM rankings JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key)"
    ).to_pandas()
    tau = Policy().min_rating
    means: Means = {name: {run: _mean(by[name]) for run, by in scores.items()} for name in NAMES}
    _assert_near(_timed(told, "pytrec_eval", lambda: pytrec_means(labelled, ranked, tau)), means)
    if (told_by_ranx := ranx_means(folder, labelled, ranked, tau)) is not None:
        told["ranx"] = told_by_ranx[0]
        _assert_near(told_by_ranx[1], means)
    return told


def exchanging(folder: Path, queries: int, passages: int, runs: int) -> Iterator[Told]:
    """Export of a project's graded file, and gzip and JSON alone, both ways."""
    file = folder / FILE
    told: Told = {}
    project = open_project(folder / MADE)
    grades = project.value("SELECT count(*) FROM grades")
    start = peak_megabytes()
    file.write_bytes(_timed(told, "export", lambda: graded_file(project)))
    told["export MB"] = peak_megabytes() - start
    project.close()
    assert _timed(told, "parse", lambda: parse(file)) == grades
    written = 0.0
    with gzip.open(file) as lines, gzip.open(folder / "dumped.jsonl.gz", "wb", compresslevel=6) as out:
        for line in lines:
            record = json.loads(line)
            begin = time.process_time()
            out.write(json.dumps(record).encode() + b"\n")
            written += time.process_time() - begin
    yield told | {"dump": written}


def importing(folder: Path, queries: int, passages: int, runs: int) -> Iterator[Told]:
    """Import of the file that `exchanging` wrote."""
    told: Told = {}
    project = create(folder / "imported.duckdb")
    start = peak_megabytes()
    _timed(told, "import", lambda: import_files(project, "graded", [Source.of(folder / FILE)], "bench"))
    told["import MB"] = peak_megabytes() - start
    project.close()
    yield told


def parse(file: Path) -> int:
    """Read a graded file with gzip and json alone; gives the number of its ratings."""
    grades = 0
    with gzip.open(file) as lines:
        for line in lines:
            for passage in json.loads(line)[1]:
                for given in passage.get("exam_grades") or []:
                    grades += len(given["correctAnswered"]) + len(given["wrongAnswered"])
    return grades


def _timed(told: Told, name: str, work: Callable[[], Any]) -> Any:
    begin = time.process_time()
    found = work()
    told[name] = time.process_time() - begin
    return found


def _mean(values: Mapping[str, float]) -> float:
    return sum(values.values()) / len(values)


def _assert_near(theirs: Mapping[Any, Mapping[str, float]], ours: Mapping[Any, Mapping[str, float]]) -> None:
    for name, by_run in ours.items():
        for run, value in by_run.items():
            assert math.isclose(theirs[name][run], value, abs_tol=NEAR), (name, run, theirs[name][run], value)


PARTS = (making, scoring, whole, exchanging, importing)

if __name__ == "__main__":
    wanted, where, *numbers = sys.argv[1:]
    (part,) = (part for part in PARTS if part.__name__ == wanted)
    for found in part(Path(where), *map(int, numbers)):
        print(json.dumps(found), flush=True)
