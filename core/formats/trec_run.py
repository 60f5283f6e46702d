"""TREC runs: six columns `query Q0 passage rank score tag`, read and written as trec_eval orders them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np

from core.formats.source import Refused, Report, Source, good_id, open_columns
from core.formats.trec_qrels import word
from core.types import Ranked, Run

COLUMNS = ("query", "Q0", "passage", "rank", "score", "tag")


@dataclass(frozen=True, slots=True)
class _Entry:
    passage_id: str
    score: float
    rank: float
    line: int


_Ranking = dict[str, dict[str, _Entry]]


def read_runs(sources: Sequence[Source], report: Report) -> list[Run]:
    """Read runs and put each ranking into trec_eval's order.

    A run is named by its tag, or by its file where several of the files share the tag; a file with
    several tags holds several runs.

    Args:
        sources: run files in any white space, gzip or not.
        report: takes refused lines, and notes on ties, ranks that contradict the scores and
            repeated passages, one per run with the number of lines.

    Returns:
        Runs in file order. A ranking lists the queries in file order, then descending scores compared
        as 32-bit floats, then descending passage ids; `rank` is recomputed from that.
    """
    read = [(source, tag, ranking) for source in sources for tag, ranking in _read(source, report).items()]
    files_with = Counter(tag for _, tag, _ in read)
    tags_of = Counter(source for source, _, _ in read)
    runs: dict[str, Run] = {}
    for source, tag, ranking in read:
        name = tag
        if files_with[tag] > 1:
            name = source.stem if tags_of[source] == 1 else f"{source.stem}-{tag}"
        if name in runs:
            reason = f"the file gives a run {name}, as {runs[name].file} does; rename one of the files"
            report.refuse(source.name, None, reason)
            continue
        ranked = [entry for query, passages in ranking.items() for entry in _ordered(query, passages)]
        _remark_oddities(source, name, ranked, ranking, report)
        runs[name] = Run(name, tag, source.file, ranked)
    return list(runs.values())


def write_run(name: str, ranking: Iterable[Ranked], out: TextIO) -> None:
    """Write one run.

    Args:
        name: name of the run; white space in it becomes `_`, since it is one column.
        ranking: the lines in the order to write.
        out: takes lines `query Q0 passage rank score tag`; scores keep full precision.

    Raises:
        InputError: an id holds white space, which the format cannot express.
    """
    tag = "_".join(name.split()) or "_"
    for entry in ranking:
        query, passage = word(entry.query_id, "query"), word(entry.passage_id, "passage")
        out.write(f"{query} Q0 {passage} {entry.rank} {entry.score!r} {tag}\n")


def _read(source: Source, report: Report) -> dict[str, _Ranking]:
    runs: dict[str, _Ranking] = {}
    refused_before = report.count
    lines_of: Counter[str] = Counter()
    tag, tag_before, number = "", "", 0
    for number, cells in open_columns(source, report, COLUMNS, "a run line", spare=True):
        if len(cells) > len(COLUMNS):
            report.remark(source.name, number, "what follows the six columns is ignored")
        query, _, passage, rank, score = cells[:5]
        if cells[5] != tag:
            tag_before, tag = tag, cells[5]
        try:
            entry = _Entry(good_id(passage, "passage"), _score(score), _rank(rank), number)
            passages = runs.setdefault(good_id(tag, "run"), {}).setdefault(good_id(query, "query"), {})
        except Refused as refused:
            report.refuse(source.name, number, str(refused))
            continue
        lines_of[tag] += 1
        other = passages.get(passage)
        if other is not None:
            reason = "the query has this passage already; the better score is kept (trec_eval would refuse)"
            report.remark(source.name, number, reason)
        if other is None or entry.score > other.score:
            passages[passage] = entry
    if lines_of[tag] == 1 and tag != tag_before and tag_before.startswith(tag):
        report.refuse(source.name, number, f"the tag is {tag}, not {tag_before}; the file seems cut off here")
        del runs[tag]
    if not runs and report.count == refused_before:
        report.refuse(source.name, None, "the file has no ranking in it")
    return runs


def _score(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise Refused(f"the score {text[:40]!r} is not a number") from None
    if "_" in text or not math.isfinite(score):
        raise Refused(f"the score {text[:40]!r} is not a finite number")
    return score


def _rank(text: str) -> float:
    """The rank that the file has; trec_eval ignores it, so that it is only compared. NaN: unreadable."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _single(scores: Iterable[float]) -> list[float]:
    # trec_eval keeps scores as C floats: two doubles that differ beyond that are a tie for it.
    with np.errstate(over="ignore"):
        singles: list[float] = np.fromiter(scores, np.float64).astype(np.float32).tolist()
    return singles


def _ordered(query_id: str, passages: dict[str, _Entry]) -> list[Ranked]:
    entries = list(passages.values())
    keys = zip(_single(entry.score for entry in entries), passages, entries, strict=True)
    ordered = sorted(keys, key=lambda key: key[:2], reverse=True)
    return [Ranked(query_id, passage, rank, entry.score) for rank, (_, passage, entry) in enumerate(ordered, 1)]


def _remark_oddities(source: Source, name: str, ranked: list[Ranked], ranking: _Ranking, report: Report) -> None:
    ties: list[int] = []
    contradictions: list[int] = []
    unreadable: list[int] = []
    singles = _single(entry.score for entry in ranked)
    before: tuple[str, float] | None = None
    worst = worst_above = -math.inf  # ranks in the file: among equal scores, among the next better ones
    for entry, single in zip(ranked, singles, strict=True):
        original = ranking[entry.query_id][entry.passage_id]
        if before == (entry.query_id, single):
            ties.append(original.line)
        else:
            worst_above = worst if before and before[0] == entry.query_id else -math.inf
            worst = -math.inf
        if math.isnan(original.rank):
            unreadable.append(original.line)
        else:
            worst = max(worst, original.rank)
        if original.rank <= worst_above:
            contradictions.append(original.line)
        before = (entry.query_id, single)
    for lines, reason in (
        (ties, "the score ties with another; ties are ordered by passage id, as trec_eval does"),
        (contradictions, "the rank contradicts the order of the scores; the scores count"),
        (unreadable, "the rank is not a number; the scores count"),
    ):
        if lines:
            report.remark(source.name, min(lines), f"run {name}: {reason}", len(lines))
