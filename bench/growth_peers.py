"""What a user would write instead: pandas for labels and coverage, pytrec_eval and ranx for measures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd

Means = dict[str, dict[str, float]]
"""Mean over the queries, by measure and run."""

NAMES = {
    "AP": ("map", "map-l{tau}"),
    "nDCG@10": ("ndcg_cut_10", "ndcg@10"),
    "nDCG@20": ("ndcg_cut_20", "ndcg@20"),
    "Rprec": ("Rprec", "r-precision-l{tau}"),
    "RR": ("recip_rank", "mrr-l{tau}"),
    "P@20": ("P_20", "precision@20-l{tau}"),
}
"""The six measures as here, as trec_eval calls them, and as ranx does."""


def pandas_labels(grades: pd.DataFrame) -> pd.Series:
    """The highest rating of each (query, passage)."""
    return grades.groupby(["query", "passage"], sort=False)["rating"].max()


def pandas_coverage(grades: pd.DataFrame, ranked: pd.DataFrame, taus: list[int]) -> dict[int, dict[str, float]]:
    """The mean share of questions that the top 20 of each run answer, by threshold and run; every weight is 1."""
    asked = grades.groupby("query")["question"].nunique()
    found: dict[int, dict[str, float]] = {tau: {} for tau in taus}
    top = ranked[ranked["rank"] <= 20]
    # Run by run, since all runs at once would need as many rows as there are pairs of grades and runs.
    for run, own in top.groupby("run"):
        best = own.merge(grades, on=["query", "passage"]).groupby(["query", "question"])["rating"].max()
        for tau in taus:
            share = (best >= tau).groupby(level="query").sum() / asked
            found[tau][str(run)] = float(share.mean())
    return found


def pytrec_means(labels: pd.DataFrame, ranked: pd.DataFrame, tau: int) -> Means:
    """Six measures by pytrec_eval over dictionaries."""
    import pytrec_eval

    qrels = {
        query: dict(zip(own["passage"], own["label"].tolist(), strict=True)) for query, own in labels.groupby("query")
    }
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"map", "ndcg_cut.10,20", "Rprec", "recip_rank", "P.20"}, relevance_level=tau
    )
    found: Means = {name: {} for name in NAMES}
    for run, of_run in ranked.groupby("run"):
        scores = {
            query: dict(zip(own["passage"], own["score"].tolist(), strict=True))
            for query, own in of_run.groupby("query")
        }
        numbers = evaluator.evaluate(scores)
        for name, (theirs, _) in NAMES.items():
            found[name][str(run)] = sum(of[theirs] for of in numbers.values()) / len(qrels)
    return found


def ranx_means(folder: Path, labels: pd.DataFrame, ranked: pd.DataFrame, tau: int) -> tuple[float, Means] | None:
    """Seconds of processor and the means by ranx, in the Python that has it; None where none was named."""
    python = os.environ.get("EXAM_BENCH_PEERS")
    if not python:
        return None
    labels.to_parquet(folder / "labels.parquet")
    ranked.to_parquet(folder / "ranked.parquet")
    words = [python, __file__, str(folder), str(tau)]
    told = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    return told["seconds"], told["means"]


def ranx_scores(labels: pd.DataFrame, ranked: pd.DataFrame, tau: int) -> Means:
    """Six measures by ranx."""
    from ranx import Qrels, Run, evaluate

    metrics = {name: theirs.format(tau=tau) for name, (_, theirs) in NAMES.items()}
    qrels = Qrels.from_df(labels, q_id_col="query", doc_id_col="passage", score_col="label")
    found: Means = {name: {} for name in NAMES}
    for name, own in ranked.groupby("run"):
        run = Run.from_df(own, q_id_col="query", doc_id_col="passage", score_col="score")
        numbers = evaluate(qrels, run, list(metrics.values()))
        for measure, theirs in metrics.items():
            found[measure][str(name)] = float(numbers[theirs])
    return found


def _ranx(folder: Path, tau: int) -> None:
    labels, ranked = pd.read_parquet(folder / "labels.parquet"), pd.read_parquet(folder / "ranked.parquet")
    # What is compiled at the first call, for ids as long as these, is no part of the work.
    ranx_scores(labels, ranked, tau)
    begin = time.process_time()
    found = ranx_scores(labels, ranked, tau)
    print(json.dumps({"seconds": time.process_time() - begin, "means": found}))


if __name__ == "__main__":
    _ranx(Path(sys.argv[1]), int(sys.argv[2]))
