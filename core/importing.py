"""Importing files into a project: each import is previewed or done, whole or not at all."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from core import bank_saving, collection
from core.bank import AT_VERSION
from core.bank_words import Words, in_their_words, take_words
from core.errors import InputError, Problem
from core.formats import graded, leaderboards, passages, queries, question_bank, responses, trec_qrels
from core.formats.question_bank import BankFile
from core.formats.source import Report, Source, open_lines
from core.gold import write_gold
from core.graded_import import GradedImport
from core.project import Cursor, Project, log
from core.responses import known_responses, write_responses
from core.run_import import RunImport, unknown_reason
from core.topics import add_topics, take_queries
from core.types import Query, Question


@dataclass(frozen=True)
class Options:
    """How to import.

    Args:
        source: name under which judgments or a board are kept; the file's name for None.
        skip_unknown: whether lines of runs and qrels about queries that the project does not have
            are left out, instead of the file being refused; and such questions of a bank, instead of their
            queries being made.
        gold: whether responses are the gold texts, one a query, and no system's.
    """

    source: str | None = None
    skip_unknown: bool = False
    gold: bool = False


@dataclass(frozen=True)
class Imported:
    """What an import did, or as a preview would do.

    Args:
        kind: what the files were read as.
        files: their names.
        counts: numbers of things by what they are, as "passages" or "new grades".
        notes: what was understood but is worth knowing.
    """

    kind: str
    files: tuple[str, ...]
    counts: dict[str, int]
    notes: tuple[Problem, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Group:
    """Files of one kind that are imported together, and how."""

    kind: str
    sources: Sequence[Source]
    options: Options = Options()


GET_WORDS = "questions get their words"
"""Under this name an import counts the questions of the bank that were known by id only until now."""


class _Preview(Exception):
    """Carries the results of imports out of the transaction that is undone."""

    def __init__(self, results: list[Imported]) -> None:
        self.results = results


def import_files(
    project: Project,
    kind: str,
    sources: Sequence[Source],
    author: str,
    options: Options | None = None,
    preview: bool = False,
) -> Imported:
    """Import files of one kind in one transaction; see `import_groups`."""
    return import_groups(project, [Group(kind, sources, options or Options())], author, preview)[0]


def import_groups(project: Project, groups: Sequence[Group], author: str, preview: bool = False) -> list[Imported]:
    """Import groups of files, all in one transaction, in the order in which kinds build on each other.

    Args:
        groups: files by kind; at most one group a kind.
        preview: say what the imports would do and change nothing.

    Returns:
        What was done, a result for each group, in the order of `IMPORTERS`.

    Raises:
        FileError: a file was refused; it names the lines.
        InputError: the content does not fit the project, or there is no such kind.
    """
    order = list(IMPORTERS)
    for group in groups:
        if group.kind not in order:
            raise InputError(f"'{group.kind}' cannot be imported.", f"Use one of {', '.join(order)}.")
        if not group.sources:
            raise InputError("There is no file to import.", "Name at least one.")
    results = []
    try:
        with project.transaction() as cursor:
            for group in sorted(groups, key=lambda group: order.index(group.kind)):
                report = Report()
                counts = IMPORTERS[group.kind](cursor, group.sources, report, group.options, author)
                report.raise_if_refused(_MEND)
                files = tuple(source.name for source in group.sources)
                results.append(Imported(group.kind, files, counts, tuple(report.notes)))
                log(cursor, author, f"import {group.kind}", files=list(files), counts=counts)
            if preview:
                raise _Preview(results)
    except _Preview as carried:
        return carried.results
    return results


_NAME_QUERIES = "Import the queries first, or a bank that names them, or leave unknown queries out (--skip-unknown)."
_MEND = "Nothing was imported. Mend the file and import it again."


def _queries(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    found: dict[str, Query] = {}
    for source in sources:
        for query in queries.read_queries(source, report):
            if found.setdefault(query.query_id, query) != query:
                reason = f"query {query.query_id} is in another of the files with another content"
                report.refuse(source.name, None, reason)
    report.raise_if_refused(_MEND)
    new = take_queries(cursor, list(found.values()), replace=True)
    return {"queries": len(found), "new queries": new}


def _passages(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    stream = (passage for source in sources for passage in passages.read_passages(source, report))
    new = collection.add_passages(cursor, stream)
    report.raise_if_refused(_MEND)
    collection.refresh_pool(cursor)
    return {"new passages": new}


def _runs(cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str) -> dict[str, int]:
    with RunImport(cursor, report, options.skip_unknown) as runs:
        for source in sources:
            runs.take(source)
        report.raise_if_refused(_MEND)
        runs.check_queries()
        report.raise_if_refused(_NAME_QUERIES)
        counts = runs.write()
        report.raise_if_refused(_MEND)
    collection.refresh_pool(cursor)
    return counts


def _responses(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    found = responses.read_responses(sources, report)
    report.raise_if_refused(_MEND)
    found = known_responses(cursor, found, report, options.skip_unknown)
    report.raise_if_refused(_NAME_QUERIES)
    counts = (write_gold if options.gold else write_responses)(cursor, found, report)
    report.raise_if_refused(_MEND)
    collection.refresh_pool(cursor)
    return counts


def _qrels(cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str) -> dict[str, int]:
    written = 0
    names: set[str] = set()
    for source in sources:
        found = trec_qrels.read_qrels(source, report)
        report.raise_if_refused(_MEND)
        unknown = set(_unknown(cursor, sources, source.name, [j.query_id for j in found], options, report))
        report.raise_if_refused(_NAME_QUERIES)
        collection.stage_judgments(cursor, [j for j in found if j.query_id not in unknown])
        name = options.source if options.source and len(sources) == 1 else source.stem
        if name in names:
            report.refuse(source.name, None, f"another file gives the source {name} too; rename one of them")
            report.raise_if_refused(_MEND)
        names.add(name)
        written += collection.write_judgments(cursor, name)
    collection.refresh_pool(cursor)
    return {"sources": len(sources), "judgments": written}


def _unknown(
    cursor: Cursor,
    sources: Sequence[Source],
    file: str,
    query_ids: Sequence[str],
    options: Options,
    report: Report,
) -> list[str]:
    """Query ids of a file that the project does not have; refused or remarked on as the options say."""
    unknown = collection.unknown_queries(cursor, query_ids)
    if unknown and add_topics(cursor, unknown):
        unknown = collection.unknown_queries(cursor, unknown)
    if not unknown:
        return []
    source = next(source for source in sources if file in (source.name, source.file))
    say = report.remark if options.skip_unknown else report.refuse
    reason = unknown_reason(unknown[0], len(unknown) - 1, options.skip_unknown)
    say(file, _first_line(source, unknown[0]), reason)
    return unknown


def _first_line(source: Source, query_id: str) -> int | None:
    for number, line in open_lines(source, Report()):
        if line.split(maxsplit=1)[:1] == [query_id]:
            return number
    return None


def _bank(cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str) -> dict[str, int]:
    read = [question_bank.read_bank(source, report) for source in sources]
    report.raise_if_refused(_MEND)
    read = [_as_named_here(cursor, part) for part in read]
    if options.skip_unknown:
        read = [_known_part(cursor, part, source, report) for part, source in zip(read, sources, strict=True)]
    found = [question for part in read for question in part.questions]
    new = take_queries(cursor, [query for part in read for query in part.queries], replace=False)
    before = cursor.execute("SELECT count(*) FROM questions").fetchall()[0][0]
    names = ", ".join(Path(source.name).name for source in sources)
    words = take_words(cursor, found)
    version = bank_saving.save_questions(cursor, in_their_words(cursor, found), f"Imported {names}", author)
    after = cursor.execute("SELECT count(*) FROM questions").fetchall()[0][0]
    changed = cursor.execute(
        "SELECT count(*) FROM question_revisions WHERE version = ? AND parent_revision IS NOT NULL", [version or 0]
    ).fetchall()[0][0]
    _remark_on_rest(cursor, found, names, report)
    _remark_on_words(words, names, report)
    counts = {
        "questions": len(found),
        "new questions": after - before,
        "changed questions": changed,
        "new queries": new,
    }
    learnt = {GET_WORDS: words.given} if words.given else {}
    return counts | learnt | ({"bank version": version} if version else {})


def _remark_on_words(words: Words, names: str, report: Report) -> None:
    """Say what becomes of grades whose questions were known by id only."""
    if words.given:
        report.remark(
            names,
            None,
            f"questions known by id only that get their words from this file: {words.given}; what was graded under"
            " their ids is now about these words, in every version of the bank",
        )
    if words.apart:
        report.remark(
            names,
            None,
            f"questions known by id only to which people gave these words before: {words.apart}; what was graded under"
            " their ids stays with the ids",
        )


def _as_named_here(cursor: Cursor, part: BankFile) -> BankFile:
    """A bank with its query ids as the project has them, where it has them under the bank's prefix."""
    if not part.prefix:
        return part
    ids = [query.query_id for query in part.queries]
    longer = [part.prefix + query_id for query_id in ids]
    unknown = set(collection.unknown_queries(cursor, [*ids, *longer]))
    names = {a: b for a, b in zip(ids, longer, strict=True) if a in unknown and b not in unknown}

    def name(query_id: str) -> str:
        return names.get(query_id, query_id)

    return BankFile(
        [replace(query, query_id=name(query.query_id)) for query in part.queries],
        [replace(question, query_id=name(question.query_id)) for question in part.questions],
    )


def _known_part(cursor: Cursor, part: BankFile, source: Source, report: Report) -> BankFile:
    """The part of a bank that is about queries of the project."""
    unknown = set(collection.unknown_queries(cursor, [question.query_id for question in part.questions]))
    questions = [question for question in part.questions if question.query_id not in unknown]
    if unknown:
        rest = len(part.questions) - len(questions)
        counts = f"questions: {rest}, queries: {len(unknown)}"
        report.remark(source.name, None, f"left out what is asked of queries that the project does not have ({counts})")
    return BankFile([query for query in part.queries if query.query_id not in unknown], questions)


def _remark_on_rest(cursor: Cursor, found: Sequence[Question], names: str, report: Report) -> None:
    """Say which active questions of the file's queries the file does not name: they stay."""
    named = {question.question_id for question in found}
    queries = {question.query_id for question in found}
    rows = cursor.execute(
        f"SELECT question_id, query_id FROM {AT_VERSION} JOIN questions USING (question_key)"
        " JOIN queries USING (query_key) WHERE active ORDER BY question_key",
        {"version": cursor.execute("SELECT coalesce(max(version), 0) FROM bank_versions").fetchall()[0][0]},
    ).fetchall()
    rest = [question_id for question_id, query_id in rows if query_id in queries and question_id not in named]
    if rest:
        report.remark(names, None, f"{len(rest)} questions of these queries are not in the file: they stay as they are")


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Let the collector of cycles rest: reading makes millions of lists and no cycle, so it would find nothing."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _graded(cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str) -> dict[str, int]:
    with _no_collecting():
        batch = GradedImport(cursor, author)
        for source in sources:
            for line in graded.read_graded(source, report):
                batch.add(line)
            report.raise_if_refused(_MEND)
        names = ", ".join(Path(source.name).name for source in sources)
        counts = batch.finish(names, options.source or "judgments", report)
        _remark_on_words(batch.words, names, report)
        return counts | ({GET_WORDS: batch.words.given} if batch.words.given else {})


def _leaderboard(
    cursor: Cursor, sources: Sequence[Source], report: Report, options: Options, author: str
) -> dict[str, int]:
    found = [
        replace(board, name=options.source + board.name.removeprefix(source.stem)) if options.source else board
        for source in sources
        for board in leaderboards.read_boards(source, report)
    ]
    report.raise_if_refused(_MEND)
    for board in found:
        collection.write_board(cursor, board)
    return {"leaderboards": len(found), "systems": len({row.run for board in found for row in board.rows})}


Importer = Callable[[Cursor, Sequence[Source], Report, Options, str], dict[str, int]]

IMPORTERS: dict[str, Importer] = {
    "queries": _queries,
    "passages": _passages,
    "bank": _bank,
    "graded": _graded,
    "runs": _runs,
    "responses": _responses,
    "qrels": _qrels,
    "leaderboard": _leaderboard,
}
"""What can be imported, and how; in the order in which one kind builds on another."""
