"""The table of the kinds of file that a project imports, and detection of a file's kind.

The module of each format defines its kind.
"""

from __future__ import annotations

import re

from ..text import one_line
from . import (
    _examinee_files as examinee_files,
    _leaderboard_files as leaderboard_files,
    _response_files as response_files,
    exam_files,
    graded_files,
    passage_files,
    query_files,
    question_bank_files,
    trec_files,
)
from ._source import (
    KEYS_NAMED,
    FileBeginning,
    FileKind,
    Form,
    Source,
)

KINDS_OF_FILE: dict[str, FileKind] = {
    kind.name: kind
    for kind in (
        trec_files.RUNS,
        trec_files.QRELS,
        trec_files.LABELS,
        examinee_files.SAMPLES,
        graded_files.KIND,
        response_files.ANSWERS,
        response_files.VERDICTS,
        response_files.RESPONSES,
        exam_files.KIND,
        examinee_files.MATRIX,
        examinee_files.FACTORS,
        question_bank_files.KIND,
        leaderboard_files.KIND,
        passage_files.KIND,
        query_files.KIND,
    )
}
"""Kinds by name. A file is of the first kind that it matches, so kinds with stricter tests come
earlier.
"""
FIRST_LINE = 80
"""Characters of the first line that are shown for an unrecognised file."""
OBJECTS = re.compile(r"\{[^\n]+\}\r?\n\s*\{")


def detect_kind(source: Source) -> str | None:
    """Guess the kind of a file from its name and its first lines.

    Returns:
        A key of KINDS_OF_FILE, or None if no kind fits.
    """
    beginning = FileBeginning.from_source(source)
    if beginning is None:
        return None
    kinds = (
        (form, kind) for form in _possible_forms(beginning.text) for kind in KINDS_OF_FILE.values()
    )
    alike = (
        kind.name
        for form, kind in kinds
        if form in kind.looks_like and kind.looks_like[form](beginning)
    )
    return next(alike, None)


def describe_unrecognised(source: Source) -> str:
    """Return why a file was not recognised: its beginning and its fields, as sentences.
    `list_kinds` lists the known kinds."""
    beginning = FileBeginning.from_source(source)
    if beginning is None:
        return "The file is empty, or cannot be unpacked."
    keys = list(beginning.keys) if beginning.text.startswith("{") else beginning.header
    names = f" Its fields are {', '.join(sorted(keys)[:KEYS_NAMED])}." if len(keys) > 1 else ""
    return f"The file begins with “{one_line(beginning.lines[0], FIRST_LINE)}”.{names}"


def list_kinds() -> list[str]:
    """Return a line for each kind that describes its files."""
    return [kind.what for kind in KINDS_OF_FILE.values()]


def _possible_forms(text: str) -> tuple[Form, ...]:
    """Return the ways to read a file with this beginning, the surest first."""
    if text.startswith("["):
        return ("list",)
    if text.startswith("{"):
        return ("record",) if OBJECTS.match(text) else ("record", "map")
    return ("columns", "cells", "name")
