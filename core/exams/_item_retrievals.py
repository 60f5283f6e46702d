"""Rankings of passages for the items of an exam: from a run that names items, or made here by words
or by meaning.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ..choices import RETRIEVAL_DEPTH, Retriever
from ..errors import InputError, Report
from ..formats import Source, read_run_lines
from ..graders import model_identity, pair_scores, unit_vectors
from ..grading import ProjectVectors
from ..grouping import group_pairs, nest_triples
from ..measures import trec_order
from ..records import NOT_RETRIEVED, passage_texts, put_retrieval
from ..store import Cursor, Project, log_action
from ..text import how_many, normalise_text
from ._exam_items import list_tasks

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Returns the unit vectors of n texts, float (n, dimensions)."""


def kept_vectors(project: Project) -> Encode:
    """Return the shipped encoder with the project's vectors; new ones are stored if the project is
    writable.
    """
    return functools.partial(
        unit_vectors, store=None if project.read_only else ProjectVectors(project)
    )


K1, B = 1.2, 0.75


class BM25:
    """An index of passages.

    The score of a passage d for a question q is a sum over the words w of q:
    idf(w) · f / (f + k1 · (1 − b + b · |d| / mean length)). f is the frequency of w in d.
    idf(w) = ln(1 + (N − n + 0.5) / (n + 0.5)) with n of N passages that have w. A word that q has
        twice counts twice.
    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, in
        the form of Lucene.
    Words are those of `text.normalise_text`: lower case, without stop words, stemmed.

    Args:
        texts: of N passages.
        k1, b: saturation of word frequency, and penalty for long passages.
    """

    def __init__(self, texts: Sequence[str], k1: float = K1, b: float = B) -> None:
        counts = [Counter(normalise_text(text).split()) for text in texts]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        shrink = k1 * (1 - b + b * lengths / max(float(lengths.mean()) if len(texts) else 0.0, 1.0))
        places: dict[str, tuple[list[int], list[int]]] = {}
        for row, count in enumerate(counts):
            for word, times in count.items():
                rows, frequencies = places.setdefault(word, ([], []))
                rows.append(row)
                frequencies.append(times)
        self._size = len(texts)
        self._words: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for word, (rows, frequencies) in places.items():
            at = np.array(rows, dtype=np.int64)
            f = np.array(frequencies, dtype=np.float64)
            idf = np.log1p((self._size - len(at) + 0.5) / (len(at) + 0.5))
            self._words[word] = at, idf * f / (f + shrink[at])

    def scores(self, question: str) -> NDArray[np.float64]:
        """Return the score of every passage (N); 0 if it shares no word with the question."""
        scores = np.zeros(self._size)
        for word in normalise_text(question).split():
            if word in self._words:
                at, weights = self._words[word]
                scores[at] += weights
        return scores


FUSED = 100
"""Minimum number of passages of each ranking that are re-ranked or fused."""
RRF = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
BLOCK = 4096
"""Passages that are encoded at a time."""

Rankings = Mapping[str, Sequence[tuple[str, float]]]
"""Passage ids with their scores, the best first, by question id."""

Scored = NDArray[np.float64]


@dataclass(frozen=True)
class Retrieval:
    """A ranking of passages for items.

    Args:
        made_by: the file that it came from, or the retriever.
        items: number of items with passages.
        depth: maximum number of passages of an item.
    """

    name: str
    made_by: str
    items: int
    depth: int
    author: str
    made_at: datetime


def list_retrievals(project: Project) -> list[Retrieval]:
    """Return every retrieval, oldest first."""
    return [
        Retrieval(*row)
        for row in project.rows(
            "SELECT name, made_by, count(DISTINCT question_key), coalesce(max(rank), 0), author,"
            " made_at FROM retrievals LEFT JOIN retrieved USING (retrieval_key)"
            " GROUP BY retrieval_key, name, made_by, author, made_at ORDER BY retrieval_key"
        )
    ]


def make_retrieval(
    project: Project,
    name: str,
    retriever: Retriever,
    author: str,
    depth: int = RETRIEVAL_DEPTH,
    query_id: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
    reranker: str | None = None,
) -> int:
    """Rank the project's passages for every item by its question, and keep the top.

    Args:
        name: under which examinees name it.
        retriever: bm25; embedding: the cosine of the vectors of all-MiniLM-L6-v2; or hybrid: both,
            fused by rank.
        depth: passages that are kept of each ranking.
        query_id: only items of this query; None for all.
        tell: receives a sentence about each step.
        reranker: a cross-encoder, folder or name on the hub, that re-ranks the first 100 passages;
            None for none.

    Returns:
        The number of items that have a ranking.

    Raises:
        InputError: the name is taken, the project has no items or no passages, or the re-ranker is
            not a cross-encoder.
        GradingError: a model cannot be loaded.
    """
    _check_name(project, name)
    items = list_tasks(project, query_id)
    texts = {item.question_id: item.text for item in items}
    deep = depth if reranker is None else max(depth, FUSED)
    rankings, made_by = rank_passages(project, texts, "items", retriever, deep, tell)
    if reranker is not None:
        rankings = _rerank_passages(project, texts, rankings, reranker, depth)
        made_by += f", re-ranked by {model_identity(reranker)}"
    with project.transaction() as cursor:
        return _store_retrieval(cursor, name, made_by, rankings, author)


def rank_passages(
    project: Project,
    question_words: Mapping[str, str],
    things: str,
    retriever: Retriever,
    depth: int,
    tell: Callable[[str], None],
) -> tuple[Rankings, str]:
    """Rank all passages of a project that have a text for questions.

    Args:
        question_words: the questions' words by id.
        things: the noun for the questions in messages: items or queries.
        depth: passages of each ranking.
        tell: receives a sentence about each step.

    Returns:
        The rankings, and the name of the method.

    Raises:
        InputError: questions or passages are missing.
        GradingError: the encoder cannot be loaded.
    """
    passages = project.rows(
        "SELECT passage_id, text FROM passages JOIN passage_texts USING (text_key)"
        " ORDER BY passage_key"
    )
    if not question_words or not passages:
        missing = f"{things} to rank passages for" if not question_words else "passages to rank"
        raise InputError(
            "nothing-to-rank",
            f"No {missing}.",
            "Import queries and passages with their texts."
            if things == "queries"
            else "Import an exam and its passages.",
        )
    tell(
        f"Ranking {how_many(len(passages), 'passages')} for"
        f" {how_many(len(question_words), things)} ..."
    )
    ids, texts = [row[0] for row in passages], [row[1] for row in passages]
    if retriever == "hybrid":
        deep = max(depth, FUSED)
        both = (
            _by_words(question_words, ids, texts, deep),
            _by_meaning(project, question_words, ids, texts, deep),
        )
        fused = {
            name: fuse_rankings([ranking[name] for ranking in both], depth)
            for name in question_words
        }
        return fused, f"bm25 and embedding, reciprocal rank fusion (k = {RRF})"
    if retriever == "bm25":
        return _by_words(question_words, ids, texts, depth), f"bm25 (k1 = {K1}, b = {B})"
    return _by_meaning(project, question_words, ids, texts, depth), "embedding (all-MiniLM-L6-v2)"


def fuse_rankings(
    rankings: Sequence[Sequence[tuple[str, float]]], depth: int
) -> list[tuple[str, float]]:
    """Fuse rankings of passages, the best first, by the sum of 1 / (60 + rank).

    Source: Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, SIGIR 2009.

    Args:
        rankings: passage ids with scores; the scores do not count.
        depth: passages that are kept. Equal ones are in the order of their ids.
    """
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, (passage, _) in enumerate(ranking, 1):
            scores[passage] = scores.get(passage, 0.0) + 1 / (RRF + rank)
    return sorted(scores.items(), key=lambda one: (-one[1], one[0]))[:depth]


def import_retrieval(project: Project, name: str, source: Source, author: str) -> int:
    """Import a run whose query ids are ids of items; ranks are derived from the scores, as
    trec_eval does.

    Args:
        name: under which examinees name it.
        source: a TREC run.

    Returns:
        The number of items that have a ranking.

    Raises:
        FileError: a line was refused.
        InputError: the name is taken, the file has several runs, or names an unknown item or
            passage.
    """
    _check_name(project, name)
    report = Report()
    lines = list(read_run_lines(source, report))
    report.raise_if_refused("Nothing was imported. Correct the file and import it again.")
    if len({line.tag for line in lines}) > 1:
        raise InputError(
            "several-runs",
            f"{source.name} contains several runs.",
            "Import a separate file for each run.",
        )
    scored = nest_triples((line.query_id, line.passage_id, line.score) for line in lines)
    rankings = {
        item: [(passage, scores[passage]) for passage in trec_order(scores, len(scores))]
        for item, scores in scored.items()
    }
    with project.transaction() as cursor:
        return _store_retrieval(cursor, name, source.file, rankings, author)


def _store_retrieval(
    cursor: Cursor, name: str, made_by: str, rankings: Rankings, author: str
) -> int:
    items = put_retrieval(cursor, name, made_by, rankings, author)
    log_action(cursor, author, "add retrieval", name=name, by=made_by, items=items)
    return items


def _check_name(project: Project, name: str) -> None:
    taken = {one.name for one in list_retrievals(project)}
    if not name.strip() or name in NOT_RETRIEVED or name in taken:
        raise InputError(
            "invalid-name",
            f"The retrieval name '{name}' is {'already used' if name.strip() else 'empty'}.",
            "Choose another name. Saved retrievals cannot be changed.",
        )


def _rerank_passages(
    project: Project,
    question_words: Mapping[str, str],
    rankings: Rankings,
    reranker: str,
    depth: int,
) -> dict[str, list[tuple[str, float]]]:
    pairs = [(item, passage) for item, ranking in rankings.items() for passage, _ in ranking]
    texts = passage_texts(project, [passage for _, passage in pairs])
    scores = pair_scores(
        reranker, [(question_words[item], texts[passage]) for item, passage in pairs]
    )
    scored = group_pairs(
        (item, (passage, score)) for (item, passage), score in zip(pairs, scores, strict=True)
    )
    return {
        item: sorted(scored.get(item, ()), key=lambda one: -one[1])[:depth] for item in rankings
    }


def _by_words(
    question_words: Mapping[str, str], ids: Sequence[str], texts: Sequence[str], depth: int
) -> dict[str, list[tuple[str, float]]]:
    index = BM25(texts)
    return {
        name: _top_passages(ids, index.scores(text), depth) for name, text in question_words.items()
    }


def _by_meaning(
    project: Project,
    question_words: Mapping[str, str],
    ids: Sequence[str],
    texts: Sequence[str],
    depth: int,
) -> dict[str, list[tuple[str, float]]]:
    store = ProjectVectors(project)
    questions = unit_vectors(list(question_words.values()), store)
    blocks = (texts[at : at + BLOCK] for at in range(0, len(texts), BLOCK))
    cosines = np.concatenate(
        [questions @ unit_vectors(block, store, keep=False).T for block in blocks],
        axis=1,
        dtype=np.float64,
    )
    return {
        name: _top_passages(ids, row, depth, least=-2.0)
        for name, row in zip(question_words, cosines, strict=True)
    }


def _top_passages(
    ids: Sequence[str], scores: Scored, depth: int, least: float = 0.0
) -> list[tuple[str, float]]:
    """Return the best passages with a score above the least; equal ones in the order in which they
    were imported.
    """
    order = np.argsort(-scores, kind="stable")[:depth]
    return [(ids[at], float(scores[at])) for at in order if scores[at] > least]
