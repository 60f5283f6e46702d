"""What runs rank in a line of a graded file: looked at together, or where something is unusual one by one."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, cast

import numpy as np

from core.formats.graded_line import FAULTS, Given, Line, refused_of, topic_of
from core.formats.ranking_lists import Entries, entries_of
from core.formats.source import Refused, good_id
from core.formats.trec_qrels import LARGEST
from core.types import Ranked, RankedColumns

_RANK = attrgetter("rank")


def rankings_of(state: Line) -> Mapping[str, Sequence[Ranked]]:
    """What runs rank, by run, once all passages of the line are known.

    Raises:
        Refused: something in it cannot be used; the message names the passage.
    """
    if not state.ranked:
        return {}
    columns = _ranked_columns(state.query_id, state.ranked, state.lists)
    if columns is not None:
        return columns
    if state.lists:
        raise Refused("a list of rankings is not in the usual form")
    for passage_id, entries in state.ranked:
        try:
            for entry in entries:
                _ranking(cast(dict[str, Any], entry), (state.query_id, passage_id), state)
        except FAULTS as fault:
            raise refused_of(passage_id, fault) from fault
    return {run: _in_order(ranking.values()) for run, ranking in state.rankings.items()}


def _ranked_columns(query_id: str, given: Given, lists: Mapping[str, bytes]) -> RankedColumns | None:
    """The rankings of a line; None where anything in them is wrong, unusual or twice, so that each is to be looked at.

    Args:
        query_id: the line's query; rankings of its facets are unusual.
        lists: all lists of the line, by the names that stand for them, where they are not in it any more.
    """
    passages = list(dict.fromkeys(passage_id for passage_id, _ in given))
    if len(passages) < len(given):
        return None
    if not lists:
        found = _entries(given)
    elif all(type(named) is str and named in lists for _, named in given):
        found = entries_of([lists[str(named)] for _, named in given])
    else:
        found = None
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


def _entries(given: Given) -> Entries | None:
    """The entries of a line that was parsed, in columns; None where anything in them is wrong or unusual."""
    try:
        entries: list[Any] = [entry for _, of in given for entry in of]
        names, ranks = [entry["method"] for entry in entries], [entry["rank"] for entry in entries]
        scores, named = [entry["score"] for entry in entries], {entry.get("queryId") for entry in entries}
        runs = {name: place for place, name in enumerate(dict.fromkeys(names))}
        if not (
            {str}.issuperset(map(type, runs))
            and {int}.issuperset(map(type, ranks))
            and {int, float}.issuperset(map(type, scores))
        ):
            return None
        rank, score = np.array(ranks, np.int64), np.array(scores, np.float64)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        return None
    run = np.fromiter(map(runs.__getitem__, names), np.int32, len(names))
    return Entries([len(of) for _, of in given], list(runs), run, named, rank, score)


def _ranking(entry: dict[str, Any], own: tuple[str, str], state: Line) -> None:
    """Take what one run says of a passage; `own` are the ids of the line's query and of the passage."""
    name, rank, score = entry["method"], entry["rank"], float(entry["score"])
    ranking = state.rankings.get(name)
    if ranking is None:
        if not isinstance(name, str):
            raise Refused("the method of a ranking is not a text")
        ranking = state.rankings[good_id(name, "run")] = {}
    if type(rank) is not int or not (-LARGEST <= rank <= LARGEST and -math.inf < score < math.inf):
        raise Refused("a ranking has a rank that is no integer or a score that is no number")
    named = entry.get("queryId")
    place = own if named == own[0] else (topic_of(named, state), own[1])
    before = ranking.get(place)
    if before is not None:
        state.remark("a passage stands twice in one ranking: its better rank is kept")
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
