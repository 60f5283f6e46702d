"""Rankings in a line of a graded file: read together, or one by one if anything is unusual."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from ..types import Ranked, RankedColumns
from ._graded_line import FAULTS, Given, Line, refused_of, topic_of
from ._source import Refused, good_id
from ._usual_graded_line import Entry
from .trec_qrels import LARGEST

_RANK = attrgetter("rank")
_OF_ENTRY = tuple(map(attrgetter, ("method", "rank", "score", "query")))
_OF_OBJECT = tuple(map(itemgetter, ("method", "rank", "score", "queryId")))


def rankings_of(state: Line) -> Mapping[str, Sequence[Ranked]]:
    """Return the rankings by run, once all passages of the line are known.

    Raises:
        Refused: an entry cannot be used; the message names the passage.
    """
    if not state.ranked:
        return {}
    columns = _ranked_columns(state.query_id, state.ranked)
    if columns is not None:
        return columns
    for passage_id, entries in state.ranked:
        try:
            for entry in entries:
                _ranking(entry, (state.query_id, passage_id), state)
        except FAULTS as fault:
            raise refused_of(passage_id, fault) from fault
    return {run: _in_order(ranking.values()) for run, ranking in state.rankings.items()}


def _ranked_columns(query_id: str, given: Given) -> RankedColumns | None:
    """Return the rankings of a line; None if any entry is wrong, unusual or repeated and needs a separate look.

    Args:
        query_id: the line's query; rankings of its facets are unusual.
    """
    try:
        entries: list[Any] = [entry for _, of in given for entry in of]
        method, rank_of, score_of, query = _OF_ENTRY if entries and isinstance(entries[0], Entry) else _OF_OBJECT
        names, ranks, scores = (list(map(of, entries)) for of in (method, rank_of, score_of))
        # Types are compared exactly, because a bool would pass for an integer.
        usual = {int}.issuperset(map(type, ranks)) and {int, float}.issuperset(map(type, scores))
        runs = {good_id(name, "run"): place for place, name in enumerate(dict.fromkeys(names))}
        run = np.fromiter(map(runs.__getitem__, names), np.int32, len(names))
        rank, score = np.array(ranks, np.int64), np.array(scores, np.float64)
        queries = set(map(query, entries))
    except (KeyError, TypeError, ValueError, OverflowError):
        # A name that is not a text is missing in `runs`; a refused name raises a ValueError.
        return None
    passages = list(dict.fromkeys(passage_id for passage_id, _ in given))
    passage = np.repeat(np.arange(len(given), dtype=np.int32), [len(of) for _, of in given])
    places = np.sort(run.astype(np.int64) * len(given) + passage)
    if (
        not usual
        or len(passages) < len(given)
        or not queries <= {None, query_id}
        or (rank > LARGEST).any()
        or (rank < -LARGEST).any()
        or not np.isfinite(score).all()
        or (places[1:] == places[:-1]).any()
    ):
        return None
    return RankedColumns(query_id, list(runs), passages, run, passage, rank.astype(np.int32), score)


def _ranking(entry: Any, own: tuple[str, str], state: Line) -> None:
    """Record one run's entry for a passage; `own` holds the ids of the line's query and of the passage."""
    if isinstance(entry, Entry):
        raise Refused("not-the-usual-form", "a ranking is not in the usual form, unlike its line")
    name, rank, score = entry["method"], entry["rank"], float(entry["score"])
    ranking = state.rankings.get(name)
    if ranking is None:
        if not isinstance(name, str):
            raise Refused("not-a-text", "the method of a ranking is not a text")
        ranking = state.rankings[good_id(name, "run")] = {}
    if type(rank) is not int or not (-LARGEST <= rank <= LARGEST and -math.inf < score < math.inf):
        raise Refused("invalid-ranking", "a ranking has a rank that is not an integer or a score that is not a number")
    named = entry.get("queryId")
    place = own if named == own[0] else (topic_of(named, state), own[1])
    before = ranking.get(place)
    if before is not None:
        state.remark("repeated-passage", "a passage is in one ranking twice; its better rank is kept")
    if before is None or rank < before.rank:
        ranking[place] = Ranked(*place, rank, score)


def _in_order(ranking: Collection[Ranked]) -> list[Ranked]:
    """Return a ranking grouped by topic, in the order of first mention, then by rank."""
    if len({ranked.query_id for ranked in ranking}) == 1:
        return sorted(ranking, key=_RANK)
    by_topic: dict[str, list[Ranked]] = {}
    for ranked in ranking:
        by_topic.setdefault(ranked.query_id, []).append(ranked)
    return [ranked for part in by_topic.values() for ranked in sorted(part, key=_RANK)]
