"""Judgments: TREC's four columns `query 0 passage value`, tables with a header, and JSON maps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from ..errors import InputError, Report
from ..types import MAX_RATING, Judgment
from ._columns import INTEGER, is_ranked, kind_of_map, open_ranked
from ._file_kind import FileKind
from ._source import TREC_LINE, WHOLE, Limits, Refused, Source, good_id, refusing

COLUMNS = ("query", "0", "passage", "value")
LARGEST = 32_767


def read_qrels(source: Source, report: Report) -> list[Judgment]:
    """Read judgments, each (query, passage) once; see `read_qrels_lines`."""
    return [judgment for judgment, _ in read_qrels_lines(source, report)]


def read_qrels_lines(source: Source, report: Report) -> list[tuple[Judgment, int]]:
    """Read judgments with their line numbers.

    Args:
        source: qrels in TREC's columns, separated by any white space, commas or semicolons; a table with a header
            that names query, passage and value; or a JSON map query -> passage -> value. Gzip or not.
        report: receives notes on repeated lines, and refused lines: a wrong number of columns, a value that is not
            an integer, or a contradiction of an earlier line.

    Returns:
        The judgments in file order with their line numbers, each (query, passage) once.
    """
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for number, (query, _, passage, value) in open_ranked(
        source, report, "qrels", COLUMNS, "a qrels line", Limits({**WHOLE, **TREC_LINE})
    ):
        with refusing(report, source.name, number):
            key = (good_id(query, "query"), good_id(passage, "passage"))
            relevance = _relevance(value)
            if key not in seen:
                seen[key] = (relevance, number)
            elif seen[key][0] == relevance:
                report.remark(
                    source.name, number, "repeated-line", "the line repeats an earlier one (trec_eval rejects it)"
                )
            else:
                raise Refused(
                    "contradicting-lines",
                    f"query {query}, passage {passage} has value {relevance} here"
                    f" and {seen[key][0]} on line {seen[key][1]}",
                )
    report.require(seen, source.name, "judgments")
    return [(Judgment(query, passage, value), line) for (query, passage), (value, line) in seen.items()]


def read_labels(source: Source, report: Report) -> list[tuple[Judgment, int]]:
    """Read labels of a model, in any form of judgments, with their line numbers; see `read_qrels_lines`.

    Args:
        report: also receives labels that are not from 0 to 5.
    """
    found = read_qrels_lines(source, report)
    for label, line in found:
        if not 0 <= label.value <= MAX_RATING:
            reason = f"the label {label.value} is not from 0 to {MAX_RATING}; remove lines of passages without a label"
            report.refuse(source.name, line, "label-out-of-range", reason)
    return found


def write_qrels(rows: Iterable[tuple[str, str, int]], out: TextIO) -> None:
    """Write qrels in the given order, without comment lines, which trec_eval would refuse.

    Args:
        rows: (query id, passage id, value).
        out: receives lines `query 0 passage value`.

    Raises:
        InputError: an id is empty or holds white space, which the format cannot hold.
    """
    out.writelines(f"{word(query, 'query')} 0 {word(passage, 'passage')} {value}\n" for query, passage, value in rows)


def word(text: str, what: str) -> str:
    """Return an id as one column of a TREC file.

    Raises:
        InputError: it is empty or holds white space.
    """
    if text.split() != [text]:
        raise InputError(
            "id-with-white-space",
            f"The {what} id {text!r} is empty or has white space, so a TREC file cannot hold it.",
            "Import the collection with other ids.",
        )
    return text


def _relevance(value: str) -> int:
    if not INTEGER.fullmatch(value):
        raise Refused("invalid-judgment", f"the value {value!r} is not an integer")
    if len(value) > 6 or abs(int(value)) > LARGEST:
        raise Refused("invalid-judgment", f"the value {value[:20]} is not from {-LARGEST} to {LARGEST}")
    return int(value)


KIND = FileKind(
    name="qrels",
    title="Qrels (judgments)",
    what="judgments: TREC's four columns, a table with a header, or a JSON map query -> passage -> value",
    extensions=("qrels", "qrel", "txt"),
    read=read_qrels,
    write=write_qrels,
    looks_like={
        "map": lambda beginning: kind_of_map(beginning) == "qrels",
        "columns": lambda beginning: is_ranked(beginning, "qrels"),
        "name": lambda beginning: beginning.named("qrels", "qrel"),
    },
    judges=True,
)

LABELS = FileKind(
    name="labels",
    title="Labels (by a model)",
    what="labels that a model made elsewhere, such as UMBRELA qrels: the forms of judgments, with values from 0 to 5",
    extensions=KIND.extensions,
    read=read_labels,
    write=None,
    # A file does not show whether a model or an assessor gave its values.
    looks_like={},
)
