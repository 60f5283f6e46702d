"""What runs rank in a line of a graded file, looked at together where nothing in it is out of the ordinary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from core.formats.source import Refused, good_id
from core.formats.trec_qrels import LARGEST
from core.types import RankedColumns

Given = list[tuple[str, Sequence[dict[str, Any]]]]
"""Ids of passages, and what the file has as their rankings."""


def ranked_columns(query_id: str, given: Given) -> RankedColumns | None:
    """The rankings of a line; None where anything in them is wrong, unusual or twice, so that each is to be looked at.

    Args:
        query_id: the line's query; rankings of its facets are unusual.
    """
    passages = list(dict.fromkeys(passage_id for passage_id, _ in given))
    if len(passages) < len(given):
        return None
    try:
        entries = [entry for _, of in given for entry in of]
        names, ranks = [entry["method"] for entry in entries], [entry["rank"] for entry in entries]
        scores, named = [entry["score"] for entry in entries], {entry.get("queryId") for entry in entries}
        runs = {name: place for place, name in enumerate(dict.fromkeys(names))}
        usual = (
            named <= {None, query_id}
            and {str}.issuperset(map(type, runs))
            and {int}.issuperset(map(type, ranks))
            and {int, float}.issuperset(map(type, scores))
            and all(good_id(name, "run") == name for name in runs)
        )
        if not usual:
            return None
        rank, score = np.array(ranks, np.int64), np.array(scores, np.float64)
    except (Refused, KeyError, TypeError, AttributeError, ValueError, OverflowError):
        return None
    run = np.fromiter(map(runs.__getitem__, names), np.int32, len(names))
    passage = np.repeat(np.arange(len(given), dtype=np.int32), [len(of) for _, of in given])
    places = np.sort(run.astype(np.int64) * len(given) + passage)
    if (abs(rank) > LARGEST).any() or not np.isfinite(score).all() or (places[1:] == places[:-1]).any():
        return None
    return RankedColumns(query_id, list(runs), passages, run, passage, rank.astype(np.int32), score)
