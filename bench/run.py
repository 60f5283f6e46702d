"""Measure the speed budgets, each as a ratio to an alternative that runs beside it.

Usage: python bench/run.py [NAME...]; without a name, all.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.answers import answers
from bench.audit import audit
from bench.clicks import clicks
from bench.encoder import encoder
from bench.exams import exams
from bench.graders import injections, readers
from bench.growth import growth
from bench.intervals import intervals
from bench.kill import killed
from bench.large import make_large
from bench.openqa import openqa
from bench.peak import peak_megabytes
from bench.peers import peers
from bench.planted import planted
from bench.published import published
from bench.redraws import redraws
from bench.runs import runs
from bench.shards import shards
from bench.team import short as team
from bench.vectors import vectors
from bench.watching import watching
from core.bank import questions
from core.exchange import graded_file, import_files
from core.formats import Source
from core.labels import Policy, basis, coverage, label_qrels, labels
from core.leaderboard import leaderboard, score_runs
from core.project import Project, create, open_project, rankings
from core.review import changes
from core.types import Question

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
GRADED = SHARED / "dl23-llmjudge" / "graded-with-rankings.jsonl.gz"
MEASURES = ["AP", "nDCG@10", "nDCG@20", "Rprec", "RR", "P@20"]
TAUS = [1, 2, 3, 4, 5]


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def say(what: str, *facts: str) -> None:
    """Print one line of results."""
    print(f"{what:<58}" + "   ".join(facts), flush=True)


def _import_in_child(file: str, folder: str, queue: multiprocessing.Queue) -> None:
    base = peak_megabytes()
    project = create(Path(folder) / "imported.duckdb")
    took = seconds(lambda: import_files(project, "graded", [Source.of(Path(file))], "bench"))
    grades = project.value("SELECT count(*) FROM grades")
    project.close()
    size = (Path(folder) / "imported.duckdb").stat().st_size
    queue.put((took, grades, size, peak_megabytes() - base))


def importing(name: str, file: Path) -> None:
    """Import of a graded file beside merely parsing its JSON with the standard library."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        queue = context.Queue()
        child = context.Process(target=_import_in_child, args=(str(file), folder, queue))
        child.start()
        took, stored, size, peak = queue.get()
        child.join()
        count = 0

        def parse() -> None:
            nonlocal count
            count = parse(file)

        parsing = seconds(parse)
    say(
        f"import {name}, {count:,} grades ({stored:,} of distinct texts)",
        f"{count / took:,.0f} grades/s",
        f"peak memory +{peak:,.0f} MB for {file.stat().st_size / 1e6:,.0f} MB gz",
        f"file {size / 1e6:,.0f} MB",
        f"{took / parsing:.2f} x the time of parsing the JSON alone",
    )


def recompute(name: str, project: Project) -> None:
    """Labels, coverage at five thresholds, six measures for all runs, beside plain Python over the same grades."""
    policy = Policy()
    base = basis(project, policy)
    parts = {
        "labels": lambda: labels(project, base),
        "coverage": lambda: coverage(project, base, min_ratings=TAUS),
        "qrels": lambda: label_qrels(project, base),
        "measures": lambda: score_runs(rankings(project), MEASURES, label_qrels(project, base), policy.min_rating),
    }
    took = {part: seconds(work) for part, work in parts.items()}
    plain = seconds(lambda: _plain_python(project))
    total = sum(took.values())
    detail = ", ".join(f"{part} {value:.2f}" for part, value in took.items())
    say(
        f"recompute {name}",
        f"{total:.2f} s ({detail})",
        f"plain Python loops: labels and coverage alone {plain:.2f} s",
        f"{plain / (took['labels'] + took['coverage']):.1f} x faster",
    )


def _plain_python(project: Project) -> None:
    """Labels and coverage with dictionaries and loops, from rows already read, as a script would do it."""
    grades = project.rows(
        "SELECT q.query_key, question_text_key, passage_key, rating FROM grades"
        " JOIN question_revisions r ON r.text_key = question_text_key JOIN questions q USING (question_key)"
        " JOIN pool ON pool.text_key = passage_text_key AND pool.query_key = q.query_key"
        " WHERE grader_key = (SELECT grader_key FROM graders ORDER BY 1 LIMIT 1)"
    )
    top = project.rows("SELECT run_key, query_key, passage_key FROM rankings WHERE rank <= 20")
    best: dict[tuple[int, int], int] = {}
    by_passage = defaultdict(list)
    asked = defaultdict(set)
    for query, question, passage, rating in grades:
        best[query, passage] = max(best.get((query, passage), 0), rating)
        by_passage[query, passage].append((question, rating))
        asked[query].add(question)
    for tau in TAUS:
        answered = defaultdict(set)
        for run, query, passage in top:
            answered[run, query].update(q for q, rating in by_passage[query, passage] if rating >= tau)
        {key: len(found) / len(asked[key[1]]) for key, found in answered.items() if asked[key[1]]}


def small() -> None:
    """The graded file of TREC DL 2023."""
    if not GRADED.exists():
        say("dl23", f"left out: {GRADED} is not there")
        return
    importing("dl23", GRADED)
    with tempfile.TemporaryDirectory() as folder:
        project = create(Path(folder) / "dl23.duckdb")
        import_files(project, "graded", [Source.of(GRADED)], "bench")
        recompute("dl23: 25 queries, 16 runs", project)
        project.close()


def large() -> None:
    """A generated project of the size of TREC CAR Y3."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.duckdb"
        project = make_large(path)
        grades = project.value("SELECT count(*) FROM grades")
        project.close()
        say("large project", f"{grades:,} grades", f"file {path.stat().st_size / 1e6:,.0f} MB")
        project = open_project(path)
        recompute("large: 131 queries, 30 runs", project)
        file = Path(folder) / "large-graded.jsonl.gz"
        file.write_bytes(graded_file(project))
        project.close()
        importing("large", file)


def impact() -> None:
    """After an edit in one query: the impact recomputed, beside computing labels and board again."""
    for queries in (13, 131):
        _impact_among(queries, random.Random(0))


def _impact_among(queries: int, dice: random.Random) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.duckdb"
        make_large(path, queries).close()
        project = open_project(path)
        again = seconds(lambda: leaderboard(project, "nDCG@10"))
        edits = [_edited(project, dice, f"q{dice.randrange(queries)}") for _ in range(30)]
        took = sorted(seconds(lambda edit=edit: changes(project, "nDCG@10", Policy(), edit)) for edit in edits)
        project.close()
    say(
        f"impact of an edit among {queries} queries",
        f"median {took[15] * 1000:.0f} ms, slowest {took[-1] * 1000:.0f} ms",
        f"computing everything again {again * 1000:,.0f} ms",
        f"{again / took[15]:.0f} x faster",
    )


def _edited(project: Project, dice: random.Random, query_id: str) -> dict[str, list[Question]]:
    """A query with one question reworded, reweighted or retired."""
    asked = questions(project, query_id=query_id)
    at = dice.randrange(len(asked))
    change = dice.choice([{"weight": 0.5}, {"active": False}, {"text": f"Another wording {dice.random()}?"}])
    asked[at] = replace(asked[at], **change)
    return {query_id: asked}


BENCHES = {
    "impact": impact,
    "small": small,
    "large": large,
    "runs": lambda: runs(say),
    "readers": lambda: readers(say),
    "injections": lambda: injections(say),
    "encoder": lambda: encoder(say, SHARED),
    "vectors": lambda: vectors(say, SHARED),
    "watching": lambda: watching(say),
    "exams": lambda: exams(say),
    "intervals": lambda: intervals(say),
    "peers": lambda: peers(say),
    "planted": lambda: planted(say),
    "published": lambda: published(say),
    "openqa": lambda: openqa(say, SHARED),
    "answers": lambda: answers(say, SHARED),
    "audit": lambda: audit(say, SHARED),
    "shards": lambda: shards(say),
    "clicks": lambda: clicks(say),
    "redraws": lambda: redraws(say),
    "kill": lambda: killed(say),
    "growth": lambda: growth(say),
    "team": lambda: team(say),
}


def main() -> None:
    """Run the named measurements."""
    for name in sys.argv[1:] or BENCHES:
        BENCHES[name]()


if __name__ == "__main__":
    main()
