"""Readers and writers of every file format, and a guess at what a file is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from core.formats.graded import read_graded, write_graded
from core.formats.leaderboards import read_boards, write_board_tsv
from core.formats.passages import read_passages, write_passages
from core.formats.queries import read_queries, write_queries
from core.formats.question_bank import read_bank, write_bank
from core.formats.responses import read_responses, write_responses
from core.formats.trec_qrels import read_qrels, write_qrels
from core.formats.trec_run import read_run_lines, write_run


@dataclass(frozen=True)
class FileKind:
    """One kind of file that a project takes in.

    Args:
        name: what the command line calls it.
        what: what it holds, as a phrase.
        extensions: usual file name endings; any may be followed by .gz.
        reader: takes a source (responses: several) and a report.
        writer: counterpart of the reader; None where there is none.
    """

    name: str
    what: str
    extensions: tuple[str, ...]
    reader: Callable[..., Any]
    writer: Callable[..., Any] | None


KINDS_OF_FILE: dict[str, FileKind] = {
    kind.name: kind
    for kind in (
        FileKind(
            "queries",
            "queries: JSON map, TSV or JSONL, or outlines of TREC CAR as JSON",
            ("json", "tsv", "jsonl"),
            read_queries,
            write_queries,
        ),
        FileKind("passages", "passages: JSONL or TSV", ("jsonl", "tsv"), read_passages, write_passages),
        FileKind("runs", "runs of systems in TREC's six columns", ("run", "txt"), read_run_lines, write_run),
        FileKind(
            "responses",
            "generated responses: TREC RAG or plain JSONL, or a JSON map",
            ("jsonl", "json"),
            read_responses,
            write_responses,
        ),
        FileKind("qrels", "judgments in TREC's four columns", ("qrels", "qrel", "txt"), read_qrels, write_qrels),
        FileKind(
            "bank",
            "question bank: Autograder/RUBRIC JSONL, our JSONL or CSV, a JSON map of nuggets, or TQA's lessons",
            ("jsonl", "csv", "json"),
            read_bank,
            write_bank,
        ),
        FileKind("graded", "Autograder/RUBRIC interchange file", ("jsonl",), read_graded, write_graded),
        FileKind(
            "leaderboard",
            "leaderboard of systems: TSV or JSON",
            ("tsv", "json"),
            read_boards,
            write_board_tsv,
        ),
    )
}
