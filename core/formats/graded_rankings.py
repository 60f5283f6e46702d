"""What runs rank in a line of a graded file: looked at together, or where something is unusual one by one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.formats.graded_line import FAULTS, Given, Line, refused_of, topic_of
from core.formats.source import Refused, good_id
from core.formats.trec_qrels import LARGEST
from core.formats.usual_form import Entry
from core.types import Ranked, RankedColumns

_RANK = attrgetter("rank")
_OF_ENTRY = tuple(map(attrgetter, ("method", "rank", "score", "query")))
_OF_OBJECT = tuple(map(itemgetter, ("method", "rank", "score", "queryId")))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The entries of a line, in columns.

    Args:
        sizes: how many entries each passage has.
        runs: their names, in the order in which they are first named.
        run: places among these.
        queries: what entries name as their query; None where one names none.
        rank, score: as they are stated.
    """

    sizes: list[int]
    runs: list[str]
    run: NDArray[np.int32]
    queries: set[str | None]
    rank: NDArray[np.int64]
    score: NDArray[np.float64]


def rankings_of(state: Line) -> Mapping[str, Sequence[Ranked]]:
    """What runs rank, by run, once all passages of the line are known.

    Raises:
        Refused: something in it cannot be used; the message names the passage.
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
    """The rankings of a line; None where anything in them is wrong, unusual or twice, so that each is to be looked at.

    Args:
        query_id: the line's query; rankings of its facets are unusual.
    """
    passages = list(dict.fromkeys(passage_id for passage_id, _ in given))
    if len(passages) < len(given):
        return None
    found = _columns(given)
    if found is None or not found.queries <= {None, query_id}:
        return None
    try:
        if any(good_id(name, "run") != name for name in found.runs):
            return None
    except Refused:
        return None
    passage = np.repeat(np.arange(len(given), dtype=np.int32), found.sizes)
    places = np.sort(found.run.astype(np.int64) * len(given) + passage)
    if (
        (found.rank > LARGEST).any()
        or (found.rank < -LARGEST).any()
        or not np.isfinite(found.score).all()
        or (places[1:] == places[:-1]).any()
    ):
        return None
    return RankedColumns(query_id, found.runs, passages, found.run, passage, found.rank.astype(np.int32), found.score)


def _columns(given: Given) -> _Columns | None:
    """The entries of a line in columns; None where anything in them is wrong or unusual."""
    try:
        entries: list[Any] = [entry for _, of in given for entry in of]
        method, rank_of, score_of, query = _OF_ENTRY if entries and isinstance(entries[0], Entry) else _OF_OBJECT
        names, ranks, scores = (list(map(of, entries)) for of in (method, rank_of, score_of))
        runs = {name: place for place, name in enumerate(dict.fromkeys(names))}
        if not (
            {str}.issuperset(map(type, runs))
            and {int}.issuperset(map(type, ranks))
            and {int, float}.issuperset(map(type, scores))
        ):
            return None
        rank, score = np.array(ranks, np.int64), np.array(scores, np.float64)
        queries = set(map(query, entries))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    run = np.fromiter(map(runs.__getitem__, names), np.int32, len(names))
    return _Columns([len(of) for _, of in given], list(runs), run, queries, rank, score)


def _ranking(entry: Any, own: tuple[str, str], state: Line) -> None:
    """Take what one run says of a passage; `own` are the ids of the line's query and of the passage."""
    if isinstance(entry, Entry):
        raise Refused("not-the-usual-form", "a ranking in a line of the usual form is unusual")
    name, rank, score = entry["method"], entry["rank"], float(entry["score"])
    ranking = state.rankings.get(name)
    if ranking is None:
        if not isinstance(name, str):
            raise Refused("not-a-text", "the method of a ranking is not a text")
        ranking = state.rankings[good_id(name, "run")] = {}
    if type(rank) is not int or not (-LARGEST <= rank <= LARGEST and -math.inf < score < math.inf):
        raise Refused("invalid-ranking", "a ranking has a rank that is no integer or a score that is no number")
    named = entry.get("queryId")
    place = own if named == own[0] else (topic_of(named, state), own[1])
    before = ranking.get(place)
    if before is not None:
        state.remark("repeated-passage", "a passage stands twice in one ranking: its better rank is kept")
    if before is None or rank < before.rank:
        ranking[place] = Ranked(*place, rank, score)


def _in_order(ranking: Collection[Ranked]) -> list[Ranked]:
    """A ranking by topic, in the order in which the file first names them, then by rank."""
    if len({ranked.query_id for ranked in ranking}) == 1:
        return sorted(ranking, key=_RANK)
    by_topic: dict[str, list[Ranked]] = {}
    for ranked in ranking:
        by_topic.setdefault(ranked.query_id, []).append(ranked)
    return [ranked for part in by_topic.values() for ranked in sorted(part, key=_RANK)]
