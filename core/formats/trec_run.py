"""Runs: TREC's six columns `query Q0 passage rank score tag`, tables with a header, and JSON maps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TextIO

from ..errors import Report
from ..types import Ranked
from ._columns import is_ranked, kind_of_map, open_ranked
from ._file_kind import FileKind
from ._source import Refused, Source, check_limit, good_id, said_cell
from .trec_qrels import word

COLUMNS = ("query", "Q0", "passage", "rank", "score", "tag")


class RunLine(NamedTuple):
    """One line of a run file.

    `rank` is the rank in the file, None if it is not a number. As trec_eval ignores it, it is only compared with the
    scores.
    """

    query_id: str
    line: int
    tag: str
    passage_id: str
    rank: float | None
    score: float


def read_run_lines(source: Source, report: Report) -> Iterator[RunLine]:
    """Stream the lines of a run file, so that memory does not grow with it.

    `exchange.run_import` does the checks over several lines: order, ties, repeated passages, ranks that contradict the
    scores.

    Args:
        source: a run in TREC's columns, separated by any white space, commas or semicolons; a table with a header
            that names query, passage and score; or a JSON map query -> passage -> score. Gzip or not. Several tags
            make several runs; without tags the file names the run.
        report: receives refused lines, including a last line that seems cut off.

    Yields:
        The lines in file order.
    """
    lines_of: Counter[str] = Counter()
    tag, tag_before, query_before, number = "", "", "", 0
    for number, cells in open_ranked(source, report, "runs", COLUMNS, "a run line"):
        if len(cells) > len(COLUMNS):
            report.remark(source.name, number, "further-columns", "columns after the sixth are ignored")
        query, _, passage, rank, score = cells[:5]
        # White space other than the column separators becomes `_`, as when the run is written.
        name = cells[5] if cells[5].isascii() else "_".join(cells[5].split())
        if name != tag:
            tag_before, tag = tag, name
        try:
            good_id(passage, "passage")
            value = _score(score)
            if tag not in lines_of:
                good_id(tag, "run")
                check_limit(len(lines_of) + 1, "the file names more runs than", "SYSTEMS")
            if query != query_before:
                query_before = good_id(query, "query")
        except Refused as refused:
            report.refuse(source.name, number, refused.code, str(refused))
            continue
        lines_of[tag] += 1
        yield RunLine(query, number, tag, passage, _rank(rank), value)
    if lines_of[tag] == 1 and tag != tag_before and tag_before.startswith(tag):
        report.refuse(
            source.name, number, "cut-off-file", f"the tag is {tag}, not {tag_before}; the file may be cut off here"
        )
    report.require(lines_of, source.name, "ranking")


def name_runs(found: Sequence[tuple[Source, str]], report: Report) -> list[str]:
    """Return a name for each run: its tag, or its file's name if several of the files share the tag.

    Args:
        found: file and tag of each run, in file order.
        report: receives a refusal of every run whose name another file has too.
    """
    files_with = Counter(tag for _, tag in found)
    tags_of = Counter(source for source, _ in found)
    holders: dict[str, Source] = {}
    names = []
    for source, tag in found:
        own = source.stem if tags_of[source] == 1 else f"{source.stem}-{tag}"
        name = own if files_with[tag] > 1 else tag
        if name in holders:
            reason = f"run name {name} is also used in {holders[name].file}; give one file another name or tag"
            report.refuse(source.name, None, "duplicate-run", reason)
        holders.setdefault(name, source)
        names.append(name)
    return names


def write_run(name: str, ranking: Iterable[Ranked], out: TextIO) -> None:
    """Write one run.

    Args:
        name: name of the run; white space in it becomes `_`, since it is one column.
        ranking: the lines in the order to write.
        out: receives lines `query Q0 passage rank score tag`; scores keep full precision.

    Raises:
        InputError: an id is empty or holds white space, which the format cannot hold.
    """
    tag = "_".join(name.split()) or "_"
    for entry in ranking:
        query, passage = word(entry.query_id, "query"), word(entry.passage_id, "passage")
        out.write(f"{query} Q0 {passage} {entry.rank} {entry.score!r} {tag}\n")


def _score(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise Refused("not-a-number", f"the score is {said_cell(text)}") from None
    if "_" in text or not math.isfinite(score):
        raise Refused("not-a-number", f"the score {text[:40]!r} is not a finite number")
    return score


def _rank(text: str) -> float | None:
    try:
        rank = float(text)
    except ValueError:
        return None
    return None if math.isnan(rank) else rank


KIND = FileKind(
    name="runs",
    title="Runs",
    what="runs of systems: TREC's six columns, a table with a header, or a JSON map query -> passage -> score",
    extensions=("run", "txt"),
    read=read_run_lines,
    write=write_run,
    looks_like={
        "map": lambda beginning: kind_of_map(beginning) == "runs",
        "columns": lambda beginning: is_ranked(beginning, "runs"),
        "name": lambda beginning: beginning.named("run"),
    },
)
