"""Make the files of the Cranfield tutorial from a copy of the collection: queries, passages, qrels
and eight runs.

Usage: python docs/cranfield/make_files.py FOLDER OUT

FOLDER holds cran.all.1400.xml, cran.qry.xml and cranqrel.trec.txt.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import bm25s
import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from exam_workbench.graders import load_encoder, model_folder
from exam_workbench.text import STOP_WORDS

DEPTH = 100
Scores = NDArray[np.float64]


def fields(text: str, tag: str) -> list[str]:
    """Return the contents of a tag, in order, each as one line."""
    return [" ".join(found.split()) for found in re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.S)]


def words(text: str) -> list[str]:
    """Return lower-case words without stop words."""
    return [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP_WORDS]


def scaled(scores: Scores) -> Scores:
    """Return the scores of each query scaled to 0–1."""
    low, high = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    return (scores - low) / np.maximum(high - low, 1e-9)


def bm25(passages: list[str], queries: list[str], k1: float, b: float) -> Scores:
    """Return BM25 scores, queries x passages."""
    index = bm25s.BM25(k1=k1, b=b)
    index.index([words(text) for text in passages], show_progress=False)
    return np.array([index.get_scores(words(query)) for query in queries], dtype=np.float64)


def tfidf(passages: list[str], queries: list[str]) -> Scores:
    """Return cosines of TF-IDF vectors, queries x passages."""
    vectors = TfidfVectorizer(tokenizer=words, token_pattern=None, lowercase=False)
    return np.asarray(
        (vectors.fit_transform(passages) @ vectors.transform(queries).T).T.todense(),
        dtype=np.float64,
    )


def dense(passages: list[str], queries: list[str]) -> Scores:
    """Return cosines of sentence vectors, queries x passages."""
    encoder = load_encoder(model_folder())
    return np.asarray(encoder.encode(queries) @ encoder.encode(passages).T, dtype=np.float64)


def systems(passages: list[str], titles: list[str], queries: list[str]) -> Mapping[str, Scores]:
    """Return the scores of eight systems, each queries x passages."""
    plain, meaning = bm25(passages, queries, 1.2, 0.75), dense(passages, queries)
    return {
        "bm25": plain,
        "bm25-flat": bm25(passages, queries, 0.4, 0.3),
        "bm25-titles": bm25(titles, queries, 1.2, 0.75),
        "tfidf": tfidf(passages, queries),
        "dense": meaning,
        "dense-titles": dense(titles, queries),
        "hybrid": scaled(plain) + scaled(meaning),
        "longest-first": np.tile([float(len(text)) for text in passages], (len(queries), 1)),
    }


def main(source: Path, out: Path) -> None:
    """Read the collection and write the files."""
    collection = (source / "cran.all.1400.xml").read_text(encoding="utf-8", errors="replace")
    ids, titles, texts = (fields(collection, tag) for tag in ("docno", "title", "text"))
    known = [(i, title, text) for i, title, text in zip(ids, titles, texts, strict=True) if text]
    # The qrels number the queries by their position in the file, not by their <num>.
    queries = fields((source / "cran.qry.xml").read_text(encoding="utf-8"), "title")
    out.mkdir(parents=True, exist_ok=True)
    (out / "runs").mkdir(exist_ok=True)
    (out / "queries.tsv").write_text(
        "".join(f"{n}\t{text}\n" for n, text in enumerate(queries, 1)), encoding="utf-8"
    )
    (out / "passages.jsonl").write_text(
        "".join(json.dumps({"passage_id": i, "text": text}) + "\n" for i, _, text in known),
        encoding="utf-8",
    )
    lines = (source / "cranqrel.trec.txt").read_text(encoding="utf-8").split("\n")
    judged = [line.split() for line in lines if len(line.split()) == 4]
    (out / "cranfield.qrels").write_text(
        "".join(" ".join(line) + "\n" for line in judged), encoding="utf-8"
    )
    for name, scores in systems(
        [t for _, _, t in known], [t for _, t, _ in known], queries
    ).items():
        with (out / "runs" / f"{name}.run").open("w", encoding="utf-8") as run:
            for number, row in enumerate(scores, 1):
                best = np.argsort(-row, kind="stable")[:DEPTH]
                for rank, at in enumerate(best, 1):
                    run.write(f"{number} Q0 {known[at][0]} {rank} {row[at]:.6f} {name}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
