"""The whole way of `bench/growth.py`: from a file on the disk to a table of systems and measures, each way in a process
of its own.

Six measures of labels, and coverage at five thresholds. Libraries are loaded before the clock starts. The others count
with the project's keys, which are numbers, where the program gives ids.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from bench.growth_peers import NAMES, Means, pandas_coverage, pandas_labels, pytrec_means, ranx_scores
from bench.peak import peak_megabytes

MADE = "made.duckdb"
TAUS = [1, 2, 3, 4, 5]
CUTOFF, TAU = 20, 4
"""Those of the policy that nobody changed."""
NEAR = 1e-6

Work = Callable[[Path], Means]

GRADES = (
    "SELECT query_key AS query, passage_key AS passage, question_text_key AS question, rating FROM grades"
    " JOIN question_revisions r ON r.text_key = question_text_key JOIN questions USING (question_key)"
    " JOIN passages p ON p.text_key = passage_text_key"
)
RANKED = (
    "SELECT name AS run, query_key AS query, passage_key AS passage, rank, score"
    " FROM rankings JOIN runs USING (run_key)"
)


def _workbench() -> Work:
    from core.labels import Policy, basis, coverage, label_qrels, labels
    from core.leaderboard import score_runs
    from core.project import open_project, rankings

    def work(folder: Path) -> Means:
        project = open_project(folder / MADE)
        base = basis(project, Policy())
        labels(project, base)
        shares = coverage(project, base, min_ratings=TAUS)
        scores = score_runs(rankings(project), list(NAMES), label_qrels(project, base), base.min_rating)
        found: Means = {name: {run: _mean(by[name]) for run, by in scores.items()} for name in NAMES}
        found |= {f"cover {tau}": {run: _mean(by) for run, by in of.items()} for tau, of in shares.items()}
        project.close()
        return found

    return work


def _mean(values: dict[str, float]) -> float:
    return sum(values.values()) / len(values)


def _by_file() -> Work:
    import duckdb

    def work(folder: Path) -> Means:
        with duckdb.connect(str(folder / MADE), read_only=True) as connection:
            grades, ranked = (connection.execute(sql).df() for sql in (GRADES, RANKED))
        return _by_pandas(grades, ranked, _pytrec)

    return work


def _by_parquet() -> Work:
    return lambda folder: _by_pandas(*_read(folder), _pytrec)


def _by_ranx() -> Work:
    def texts(frame: pd.DataFrame) -> pd.DataFrame:
        return _named(frame).astype({"query": object, "passage": object})

    def measure(labels: pd.DataFrame, ranked: pd.DataFrame) -> Means:
        return ranx_scores(texts(labels.astype({"label": int})), texts(ranked), TAU)

    return lambda folder: _by_pandas(*_read(folder), measure)


def _by_sql() -> Work:
    import duckdb

    rated = (
        "grades JOIN question_revisions r ON r.text_key = question_text_key JOIN questions USING (question_key)"
        " JOIN passages p ON p.text_key = passage_text_key"
    )
    labelled = f"SELECT query_key AS query, passage_key AS passage, max(rating) AS label FROM {rated} GROUP BY ALL"
    shares = ", ".join(f"count(*) FILTER (best >= {tau}) / any_value(asked) AS s{tau}" for tau in TAUS)
    covered = (
        f"WITH best AS (SELECT run_key, query_key, question_key, max(rating) AS best FROM {rated}"
        f" JOIN rankings USING (query_key, passage_key) WHERE rank <= {CUTOFF} GROUP BY ALL),"
        " asked AS (SELECT query_key, count(*) AS asked FROM questions GROUP BY ALL),"
        f" shares AS (SELECT run_key, query_key, {shares} FROM best JOIN asked USING (query_key) GROUP BY ALL)"
        f" SELECT name, {', '.join(f'avg(s{tau})' for tau in TAUS)} FROM shares JOIN runs USING (run_key) GROUP BY ALL"
    )

    def work(folder: Path) -> Means:
        with duckdb.connect(str(folder / MADE), read_only=True) as connection:
            labels, ranked = (connection.execute(sql).df() for sql in (labelled, RANKED))
            rows = connection.execute(covered).fetchall()
        found = _pytrec(labels, ranked)
        return found | {f"cover {tau}": {run: of[at] for run, *of in rows} for at, tau in enumerate(TAUS)}

    return work


def _by_pandas(grades: pd.DataFrame, ranked: pd.DataFrame, measure: Callable[..., Means]) -> Means:
    labels = pandas_labels(grades).rename("label").reset_index()
    covered = pandas_coverage(grades, ranked, TAUS)
    return measure(labels, ranked) | {f"cover {tau}": by_run for tau, by_run in covered.items()}


def _pytrec(labels: pd.DataFrame, ranked: pd.DataFrame) -> Means:
    return pytrec_means(_named(labels.astype({"label": int})), _named(ranked), TAU)


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Keys as texts, which pytrec_eval and ranx ask for."""
    return frame.assign(query=frame["query"].astype(str), passage=frame["passage"].astype(str))


def _read(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return pd.read_parquet(folder / "grades.parquet"), pd.read_parquet(folder / "rankings.parquet")


WAYS: dict[str, Callable[[], Work]] = {
    "whole": _workbench,
    "whole pandas": _by_file,
    "whole parquet": _by_parquet,
    "whole sql": _by_sql,
    "whole ranx": _by_ranx,
}


def whole(folder: Path, queries: int, passages: int, runs: int) -> Iterator[dict[str, float]]:
    """Every way from the file to the table, with the peak of its memory.

    Raises:
        AssertionError: numbers differ.
    """
    import duckdb

    with duckdb.connect(str(folder / MADE), read_only=True) as connection:
        for name, sql in (("grades", GRADES), ("rankings", RANKED)):
            connection.execute(f"COPY ({sql}) TO '{folder / name}.parquet' (FORMAT parquet)")
    ours: Means = {}
    for way in WAYS:
        python = os.environ.get("EXAM_BENCH_PEERS") if way == "whole ranx" else sys.executable
        if python is None:
            continue
        words = [python, "-m", "bench.growth_whole", way, str(folder)]
        told = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        ours = ours or told["means"]
        for name, by_run in ours.items():
            for run, value in by_run.items():
                assert abs(told["means"][name][run] - value) < NEAR, (way, name, run, told["means"][name][run], value)
        yield {way: told["seconds"], f"{way} MB": told["megabytes"]}


if __name__ == "__main__":
    wanted, where = sys.argv[1:]
    work = WAYS[wanted]()
    if wanted == "whole ranx":
        # What is compiled at the first call is no part of the work, as what is loaded is not.
        work(Path(where))
    start, begin = peak_megabytes(), time.process_time()
    table = work(Path(where))
    seconds = time.process_time() - begin
    print(json.dumps({"seconds": seconds, "megabytes": peak_megabytes() - start, "means": table}))
