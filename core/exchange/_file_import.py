"""Import of files into a project: each import is previewed or done, whole or not at all.

All files are read before anything is written, into lists or files next to the project. Other people
can work meanwhile. Then everything is written in one transaction. A preview writes to a temporary
copy.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..atomic_files import WorkingFolder
from ..bank import (
    NEWEST,
    AddedTexts,
    add_topics,
    in_their_words,
    save_questions,
    take_queries,
    take_words,
)
from ..errors import FileError, InputError, Problem, Report, check_known
from ..formats import (
    KINDS_OF_FILE,
    REPORT,
    BankFile,
    ExamineeVerdicts,
    GradedNugget,
    Source,
    beyond_limits,
    exam_files,
    factors_in_name,
    graded_files,
    has_nugget_grades,
    passage_files,
    query_files as queries,
    question_bank_files,
    read_answer_verdicts,
    read_answers,
    read_boards,
    read_factors,
    read_matrix,
    read_nugget_grades,
    read_responses,
    read_samples,
    trec_files,
)
from ..records import (
    PassageFiles,
    PassageWithTwoTexts,
    ReplacedDataKeeper,
    ReplacedObject,
    add_kept_passages,
    add_passages,
    keep_objects,
    kept_objects,
    known_responses,
    refresh_pool,
    unknown_queries,
    write_board,
    write_gold,
    write_judgments,
    write_responses,
)
from ..store import Cursor, Project, database_connection, log_action, migrations
from ..text import first_few, how_many
from ..types import Board, Judgment, KeptObject, Query, Question, Response
from ._exam_import import (
    GET_WORDS,
    write_answer_verdicts,
    write_answers,
    write_exam_items,
    write_factors,
    write_generated,
)
from ._label_import import make_graded_queries, replace_text_hashes, write_labels
from ._run_import import NOTHING_LEFT, RunFiles, RunImport, report_unknown

if TYPE_CHECKING:
    from ._graded_import import GradedFiles

LARGE = frozenset(
    {
        "passages",
        "passage_texts",
        "rankings",
        "judgments",
        "responses",
        "response_sentences",
        "listed",
        "grades",
        "failures",
        "overrides",
        "settlings",
        "answers",
        "retrieved",
        "generated_answers",
        "comparisons",
        "audit_ranks",
        "audit_chances",
    }
)
"""Tables that may be large: an import states which of them it reads."""

_NEVER = frozenset(
    {
        "activity",
        "audit_claims",
        "audit_looks",
        "call_batch_pairs",
        "call_batches",
        "cascade_passages",
        "cascades",
        "draft_steps",
        "drafts",
        "generations",
        "kept_replies",
        "migrations",
        "pool",
        "prompts",
        "proposals",
        "proposed_items",
        "publications",
        "published_awaited",
        "published_passages",
        "published_pools",
        "published_queries",
        "text_vectors",
    }
)
"""Tables that no import has to read for its outcome, or that it makes again."""

_NARROW = {
    "grades": (
        "* REPLACE (NULL AS answer, NULL AS raw, NULL AS note, NULL AS distribution,"
        " NULL AS confidence)"
    ),
    "failures": "* REPLACE (NULL AS raw)",
    "answers": "* REPLACE (NULL AS scores, NULL AS raw, NULL AS note)",
    "items": "* REPLACE (NULL AS raw)",
}
"""Long texts by models, which no import reads, are left out."""


@contextmanager
def rehearse_imports(project: Project, tables: Collection[str], folder: Path) -> Iterator[Cursor]:
    """Provide a cursor on a copy of the project, in which imports can be tried.

    The copy has the tables that these imports read, all in the same state. It is a separate
    database: it blocks no other work, and nothing in it reaches the project.

    Args:
        tables: those of `LARGE` that the imports read; all small tables are copied.
        folder: for the copy, which is deleted with the folder.
    """
    with database_connection(folder / "rehearsal.duckdb", readable=folder, made_here=True) as copy:
        # The copy is deleted, so a checkpoint at the end would be wasted.
        copy.execute("PRAGMA disable_checkpoint_on_shutdown")
        with project.cursor() as cursor:
            cursor.execute("BEGIN")
            _copy_tables(cursor, copy, tables)
            cursor.execute("ROLLBACK")
        copy.execute("BEGIN")
        yield copy
        copy.execute("ROLLBACK")


def _copy_tables(cursor: Cursor, copy: Cursor, tables: Collection[str]) -> None:
    for name, last in cursor.execute(
        "SELECT sequence_name, last_value FROM duckdb_sequences()"
    ).fetchall():
        copy.execute(f"CREATE SEQUENCE {name} START {(last or 0) + 1:d}")
    definitions = cursor.execute(
        "SELECT table_name, sql FROM duckdb_tables() WHERE NOT internal AND NOT temporary"
        " ORDER BY table_oid"
    ).fetchall()
    copy.execute(";".join(sql for _, sql in definitions))
    read = [
        name
        for name, _ in definitions
        if not (
            name in _NEVER or name.startswith("replac") or (name in LARGE and name not in tables)
        )
    ]
    # Most tables of a small project are empty, and copying nothing takes as long as copying a few
    # rows.
    filled = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (FROM {name})" for name in read)
    for (name,) in cursor.execute(filled).fetchall():
        rows = cursor.sql(
            f"SELECT {_NARROW.get(name, '*')} FROM {name} ORDER BY rowid"
        ).to_arrow_reader()
        copy.register("copied", rows)
        copy.execute(f"INSERT INTO {name} FROM copied")
        copy.unregister("copied")
    migrations.add_relations(copy)


@dataclass(frozen=True)
class Options:
    """Options of an import.

    Args:
        source: name under which judgments or a leaderboard are kept; for None the proposal of
            `FileKind.source_name`. Several files of leaderboards are joined under it. For an exam,
            the query of its items; for samples of lm-evaluation-harness, the examinee; for labels,
            the grader.
        skip_unknown: leave out lines of runs and qrels about unknown queries, instead of refusing
            the file. Also leave out questions of a bank about unknown queries, instead of adding
            these queries.
        gold: whether responses are the gold texts, one per query, instead of a system's.
        replace: whether the import may replace data that the project has under the same names.
        form: one of the long forms of leaderboards (`LEADERBOARD_FORMS`); for None it is recognized
            from the file.
        scale: top of the scale of labels; for None the greatest label.
        only: ids of the queries or passages to import; all for None.
    """

    source: str | None = None
    skip_unknown: bool = False
    gold: bool = False
    replace: bool = False
    form: str | None = None
    scale: int | None = None
    only: Collection[str] | None = None


@dataclass(frozen=True)
class Imported:
    """The outcome of an import or of its preview.

    Args:
        kind: the kind as which the files were read.
        files: their names.
        counts: numbers by noun, such as "passages" or "new grades".
        notes: remarks on content that was accepted.
        replaced: data of the same names that the project no longer has, or has in another version.
    """

    kind: str
    files: tuple[str, ...]
    counts: dict[str, int]
    notes: tuple[Problem, ...] = field(default_factory=tuple)
    replaced: tuple[ReplacedObject, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Group:
    """Files of one kind that are imported together, with options."""

    kind: str
    sources: Sequence[Source]
    options: Options = Options()


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


def import_groups(
    project: Project,
    groups: Sequence[Group],
    author: str,
    preview: bool = False,
    also: Callable[[Cursor], object] = lambda cursor: None,
) -> list[Imported]:
    """Import groups of files in one transaction, in the order in which kinds build on each other.

    Args:
        groups: files by kind; at most one group per kind.
        preview: return the outcome and change nothing.
        also: called with the cursor after the groups, in the same transaction.

    Returns:
        A result for each group, in the order of `IMPORTERS`.

    Raises:
        FileError: a file was refused; it names the lines.
        InputError: the content does not fit the project, the kind is unknown, or the import would
            replace something without `Options.replace`.
    """
    order = list(IMPORTERS)
    for group in groups:
        check_known("unknown-kind", "kind of file", order, group.kind)
        if not group.sources:
            raise InputError("no-file-named", "No file to import.", "Name at least one file.")
    project.require("import files", author=author)
    groups = sorted(groups, key=lambda group: order.index(group.kind))
    with WorkingFolder(project.working_folder) as folder:
        read = []
        for group in groups:
            report = Report()
            content = IMPORTERS[group.kind].read(group.sources, report, group.options, folder)
            report.raise_if_refused(_MEND)
            read.append((group, report, content))
        looked_at = frozenset[str]().union(*(IMPORTERS[group.kind].looks_at for group in groups))
        tried = rehearse_imports(project, looked_at, folder) if preview else project.transaction()
        with tried as cursor:
            results = [
                _write_group(cursor, group, report, content, author)
                for group, report, content in read
            ]
            also(cursor)
            if not preview:
                _refuse_to_replace(groups, results)
    return results


def _write_group(
    cursor: Cursor, group: Group, report: Report, content: Any, author: str
) -> Imported:
    keeper, importer = ReplacedDataKeeper(cursor), IMPORTERS[group.kind]
    files = [source.name for source in group.sources]
    with _name_files_in_errors(files):
        counts = importer.write(
            _ImportContext(cursor, keeper, author, group.sources, group.options, report), content
        )
        if importer.pools:
            refresh_pool(cursor)
    report.raise_if_refused(_MEND)
    changed = keeper.discard_unchanged()
    replaced = (*keeper.not_kept, *(one for _, _, one in changed))
    detail = {"files": files, "counts": counts} | (
        {"replaced": list(map(str, replaced))} if replaced else {}
    )
    keeper.record(changed, log_action(cursor, author, f"import {group.kind}", **detail))
    return Imported(group.kind, tuple(files), counts, tuple(report.notes), replaced)


@contextmanager
def _name_files_in_errors(files: Sequence[str]) -> Iterator[None]:
    """Add the names of the files to an error raised by code that knows no files."""
    try:
        yield
    except FileError:
        raise
    except InputError as error:
        raise InputError(error.code, f"{first_few(files)}: {error.message}", error.hint) from error


def _refuse_to_replace(groups: Sequence[Group], results: Sequence[Imported]) -> None:
    asked_for = {group.kind for group in groups if group.options.replace}
    results = [item for item in results if item.replaced and item.kind not in asked_for]
    if results:
        going = [replaced for result in results for replaced in result.replaced]
        files = first_few([name for result in results for name in result.files])
        apart = any(item.kind in ("judgments", "leaderboard") for item in going)
        any_kept = any(item.kind != "components" for item in going)
        raise InputError(
            "would-replace",
            f"{files}: this import would replace {first_few(going, '; ')}. Nothing was imported.",
            "To replace anyway, add --replace."
            + (" You can restore the earlier version later." if any_kept else "")
            + (" To keep both, import under another name (--source)." if apart else ""),
        )


_NAME_QUERIES = (
    "Import these queries, or a question bank with them, first. Or skip unknown queries"
    " (--skip-unknown)."
)
_MEND = "Nothing was imported. Correct the file, or import the other files without it."


@dataclass(frozen=True)
class _ImportContext:
    """Everything that the writer of an import needs in addition to the content of the files.

    Args:
        keeper: gets the data that is replaced.
    """

    cursor: Cursor
    keeper: ReplacedDataKeeper
    author: str
    sources: Sequence[Source]
    options: Options
    report: Report

    @property
    def files(self) -> str:
        """The names of the files without folders."""
        return ", ".join(Path(source.name).name for source in self.sources)


Content = TypeVar("Content")


@dataclass(frozen=True)
class Importer(Generic[Content]):
    """The importer of files of one kind.

    Args:
        read: reads files without access to the project. The folder is for data too large for
            memory.
        write: writes what `read` returned, in the transaction of the import, and returns counts.
        looks_at: the large tables of the project that the import reads, which a preview has to
            copy.
        pools: whether the pool is made again afterwards.
    """

    read: Callable[[Sequence[Source], Report, Options, Path], Content]
    write: Callable[[_ImportContext, Content], dict[str, int]]
    looks_at: frozenset[str] = LARGE
    pools: bool = False


QueriesRead = tuple[dict[str, Query], list[KeptObject]]
"""Queries by id, and topics of AutoJudge as they came."""


def _read_query_files(
    sources: Sequence[Source], report: Report, options: Options, folder: Path
) -> QueriesRead:
    by_id: dict[str, Query] = {}
    topics: list[KeptObject] = []
    for source in sources:
        for query in queries.read_queries(source, report, topics):
            if options.only is not None and query.query_id not in options.only:
                continue
            if by_id.setdefault(query.query_id, query) != query:
                reason = f"query {query.query_id} has different content in another file"
                report.refuse(source.name, None, "duplicate-query", reason)
    return by_id, topics


def _write_queries(into: _ImportContext, content: QueriesRead) -> dict[str, int]:
    by_id, topics = content
    new = take_queries(into.cursor, list(by_id.values()), True, into.keeper)
    keep_objects(into.cursor, [topic for topic in topics if topic.query_id in by_id])
    return {"queries": len(by_id), "new queries": new}


def _read_passage_files(
    sources: Sequence[Source], report: Report, options: Options, folder: Path
) -> PassageFiles:
    files = PassageFiles(folder)
    for source in sources:
        files.add(passage_files.read_passages(source, report, options.only))
    files.close()
    return files


def _write_passages(into: _ImportContext, files: PassageFiles) -> dict[str, int]:
    try:
        return {"new passages": add_kept_passages(into.cursor, files, into.keeper).new}
    except PassageWithTwoTexts as error:
        for source in into.sources:
            for line in passage_files.lines_of_passage(source, error.passage_id):
                into.report.refuse(
                    source.name,
                    line,
                    error.code,
                    f"passage {error.passage_id} has two different texts",
                )
        into.report.raise_if_refused(error.hint)
        raise


def _read_run_files(
    sources: Sequence[Source], report: Report, options: Options, folder: Path
) -> RunFiles:
    files = RunFiles(folder, report)
    for source in sources:
        files.read_file(source)
    files.close()
    return files


def _write_runs(into: _ImportContext, files: RunFiles) -> dict[str, int]:
    runs = RunImport(into.cursor, files, into.report, into.options.skip_unknown, into.keeper)
    runs.check_queries()
    into.report.raise_if_refused(_NAME_QUERIES)
    return runs.write()


def _write_responses(into: _ImportContext, read: Sequence[Response]) -> dict[str, int]:
    cursor, report = into.cursor, into.report
    responses = known_responses(cursor, read, report, into.options.skip_unknown)
    report.raise_if_refused(_NAME_QUERIES)
    documents = dict.fromkeys(passage for response in responses for passage in response.documents)
    add_passages(cursor, documents, into.keeper)
    topics = {topic.query_id: topic.content for topic in kept_objects(cursor, queries.TOPIC)}
    for response in responses:
        for limit in beyond_limits(response, topics.get(response.query_id, {})):
            report.remark(
                response.file, response.line, "beyond-track-limit", f"a response has {limit}"
            )
    keep_objects(
        cursor,
        [
            KeptObject(REPORT, response.query_id, response.run, response.report)
            for response in responses
            if response.report
        ],
    )
    return (write_gold if into.options.gold else write_responses)(
        cursor, responses, report, into.keeper
    )


def _write_qrels(
    into: _ImportContext, name: str, read: list[tuple[Judgment, int]], file: str
) -> dict[str, int]:
    known = _keep_known_queries(into, file, read)
    return {"sources": 1, "judgments": write_judgments(into.cursor, name, known, into.keeper)}


def _write_labels(
    into: _ImportContext, name: str, read: list[tuple[Judgment, int]], file: str
) -> dict[str, int]:
    known = _keep_known_queries(into, file, read)
    return write_labels(
        into.cursor, name, into.options.scale, known, file, into.report, into.author
    )


def _keep_known_queries(
    into: _ImportContext, file: str, judged_lines: Sequence[tuple[Judgment, int]]
) -> list[Judgment]:
    """Return the judgments or labels of a file that are about known queries; refuse or remark on
    the others.
    """
    first_lines: dict[str, int] = {}
    for judgment, line in judged_lines:
        first_lines.setdefault(judgment.query_id, line)
    add_topics(into.cursor, unknown_queries(into.cursor, first_lines))
    unknown = unknown_queries(into.cursor, first_lines)
    report_unknown(into.report, file, unknown, first_lines, into.options.skip_unknown)
    if into.options.skip_unknown and first_lines and len(unknown) == len(first_lines):
        into.report.refuse(file, None, "nothing-left", NOTHING_LEFT)
    into.report.raise_if_refused(_NAME_QUERIES)
    lost = set(unknown)
    return replace_text_hashes(
        into.cursor,
        [judgment for judgment, _ in judged_lines if judgment.query_id not in lost],
        file,
        into.report,
    )


def _write_banks(into: _ImportContext, files: Sequence[BankFile]) -> dict[str, int]:
    cursor = into.cursor
    read = [_use_project_ids(cursor, part) for part in files]
    if into.options.skip_unknown:
        read = [
            _known_part(cursor, part, source, into.report)
            for part, source in zip(read, into.sources, strict=True)
        ]
    questions = [question for part in read for question in part.questions]
    new = take_queries(
        cursor, [query for part in read for query in part.queries], False, into.keeper
    )
    for part, source in zip(read, into.sources, strict=True):
        report_unknown(
            into.report,
            source.name,
            unknown_queries(cursor, (q.query_id for q in part.questions)),
            part.lines,
            False,
        )
    into.report.raise_if_refused(_NAME_QUERIES)
    keep_objects(cursor, [kept_object for part in read for kept_object in part.kept])
    words = take_words(cursor, questions)
    version = save_questions(
        cursor, in_their_words(cursor, questions), f"Imported {into.files}", into.author
    )
    ((added, changed),) = cursor.execute(
        "SELECT count(*) - count(parent_revision), count(parent_revision) FROM question_revisions"
        " WHERE version = ?",
        [version or 0],
    ).fetchall()
    _remark_on_rest(cursor, questions, into.files, into.report)
    return {
        "questions": len(questions),
        "new questions": added,
        "changed questions": changed,
        "new queries": new,
        **_count_words(words, into.files, into.report),
        **({"bank version": version} if version else {}),
    }


def _count_words(words: AddedTexts, names: str, report: Report) -> dict[str, int]:
    """Count questions that were known only by id, and remark on the effect of their new texts on
    grades.
    """
    if words.given:
        report.remark(
            names,
            None,
            "words-given",
            f"this file adds the text of {how_many(words.given, 'questions')} known only by id;"
            " grades for the ids now apply to this text in every bank version",
        )
    if words.apart:
        report.remark(
            names,
            None,
            "words-apart",
            f"assessors had already added this text to {how_many(words.apart, 'questions')} known"
            " only by id; grades for the ids do not apply to this text",
        )
    return {GET_WORDS: words.given} if words.given else {}


def _use_project_ids(cursor: Cursor, part: BankFile) -> BankFile:
    """Return a bank with the project's query ids, if the project has the bank's queries under the
    bank's prefix.
    """
    if not part.prefix:
        return part
    ids = [query.query_id for query in part.queries]
    longer = [part.prefix + query_id for query_id in ids]
    unknown = set(unknown_queries(cursor, [*ids, *longer]))
    names = {a: b for a, b in zip(ids, longer, strict=True) if a in unknown and b not in unknown}
    return BankFile(
        [replace(one, query_id=names.get(one.query_id, one.query_id)) for one in part.queries],
        [replace(one, query_id=names.get(one.query_id, one.query_id)) for one in part.questions],
    )


def _known_part(cursor: Cursor, part: BankFile, source: Source, report: Report) -> BankFile:
    """Return the part of a bank that is about queries of the project."""
    unknown = set(unknown_queries(cursor, [question.query_id for question in part.questions]))
    questions = [question for question in part.questions if question.query_id not in unknown]
    if unknown:
        report.remark(
            source.name,
            None,
            "unknown-query",
            f"left out {how_many(len(part.questions) - len(questions), 'questions')} of"
            f" {how_many(len(unknown), 'unknown queries')}",
        )
    return replace(
        part,
        queries=[query for query in part.queries if query.query_id not in unknown],
        questions=questions,
    )


def _remark_on_rest(
    cursor: Cursor, questions: Sequence[Question], names: str, report: Report
) -> None:
    """Remark on active questions of the file's queries that the file does not name: they stay."""
    ((rest,),) = cursor.execute(
        "SELECT count(*) FROM bank_at($version) JOIN questions USING (question_key) JOIN queries"
        " USING (query_key) WHERE active AND query_id IN (SELECT unnest($queries::VARCHAR[]))"
        " AND question_id NOT IN (SELECT unnest($named::VARCHAR[]))",
        {
            "version": NEWEST,
            "queries": list({question.query_id for question in questions}),
            "named": [question.question_id for question in questions],
        },
    ).fetchall()
    if rest:
        report.remark(
            names,
            None,
            "questions-stay",
            f"{how_many(rest, 'questions')} of these queries left unchanged: not in the file",
        )


@contextmanager
def _pause_collecting() -> Iterator[None]:
    """Switch off garbage collection, which would find nothing: reading makes millions of lists
    without cycles.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read_graded_files(
    sources: Sequence[Source], report: Report, options: Options, folder: Path
) -> tuple[GradedFiles, list[GradedNugget]]:
    # Imported here, because it loads Arrow, which other files do not need.
    from ._graded_import import GradedFiles

    files = GradedFiles(folder)
    elsewhere: list[GradedNugget] = []
    with _pause_collecting():
        for source in sources:
            if has_nugget_grades(source):
                # The proposed name for judgments is not a name for a grader.
                unnamed = options.source in (None, KINDS_OF_FILE["graded"].source)
                elsewhere += read_nugget_grades(
                    source, report, source.stem if unnamed else str(options.source)
                )
                continue
            with _name_files_in_errors([source.name]):
                files.read_lines(graded_files.read_graded(source, report))
            report.raise_if_refused(_MEND)
    return files, elsewhere


def _write_graded(
    into: _ImportContext, content: tuple[GradedFiles, list[GradedNugget]]
) -> dict[str, int]:
    from ._graded_import import GradedImport

    files, elsewhere = content
    files.read_lines(make_graded_queries(into.cursor, elsewhere, into.report))
    into.report.raise_if_refused(_MEND)
    files.close()
    grades = GradedImport(into.cursor, files, into.files, into.author, into.keeper)
    with _pause_collecting():
        for batch in files.batches():
            grades.write(batch)
            # Free this batch before the next one is read.
            del batch
    counts = grades.finish(
        into.options.source or KINDS_OF_FILE["graded"].source_name(into.sources[0]), into.report
    )
    return counts | _count_words(grades.words, into.files, into.report)


def _write_leaderboards(into: _ImportContext, content: None) -> dict[str, int]:
    cursor, named = into.cursor, into.options.source
    # Read within the transaction because queries of the same import count as known too; such files
    # are small.
    query_ids = [row[0] for row in cursor.execute("SELECT query_id FROM queries").fetchall()]
    boards = [
        (source, board)
        for source in into.sources
        for board in read_boards(source, into.report, query_ids, into.options.form, named)
    ]
    if named and len(into.sources) > 1:
        boards = _join_boards(boards, named, into.report)
    first_sources: dict[str, Source] = {}
    for source, board in boards:
        _check_systems(cursor, source, board, into.report)
        if first_sources.setdefault(board.name, source) is not source:
            into.report.refuse(
                source.name,
                None,
                "duplicate-file-name",
                f"another file is also named {board.name}; rename one of them, or join the"
                " leaderboards with --source",
            )
    into.report.raise_if_refused(_MEND)
    for _, board in boards:
        write_board(cursor, board, into.keeper)
    systems = {row.run for _, board in boards for row in board.rows}
    values = sum(map(len, (scores for _, board in boards for scores in board.per_query.values())))
    counts = {"leaderboards": len(boards), "systems": len(systems)}
    return counts | ({"values by query": values} if values else {})


def _join_boards(
    boards_of_files: Sequence[tuple[Source, Board]], name: str, report: Report
) -> list[tuple[Source, Board]]:
    """Return the leaderboards of several files as one per measure. A system may be in only one of
    the files.
    """
    boards: dict[str, tuple[Source, Board]] = {}
    for source, board in boards_of_files:
        first, before = boards.setdefault(
            board.measure, (source, replace(board, rows=[], per_query={}))
        )
        rows = [*before.rows, *board.rows]
        if twice := {row.run for row in before.rows}.intersection(row.run for row in board.rows):
            report.refuse(
                source.name,
                None,
                "duplicate-run",
                f"{first_few(sorted(twice))} is also in another file",
            )
        by_query = {**before.per_query, **board.per_query}
        boards[board.measure] = (
            first,
            replace(before, rows=rows, per_query=by_query, apart=before.apart | board.apart),
        )
    # Systems can be compared over common queries only if all of them have scores by query.
    return [
        (
            source,
            replace(
                board, name=f"{name} {board.measure}" if len(boards) > 1 else name, per_query=known
            ),
        )
        for source, board in boards.values()
        for known in [board.per_query if len(board.per_query) == len(board.rows) else {}]
    ]


def _check_systems(cursor: Cursor, source: Source, board: Board, report: Report) -> None:
    """Refuse a leaderboard if most of its systems or text cells are queries or passages of the
    project.
    """
    systems = {row.run for row in board.rows}
    for named, what in (
        (systems, "systems"),
        ({board.measure}, "measures"),
        (board.apart, "cells in text columns"),
    ):
        for table, noun in (("queries", "query"), ("passages", "passage")):
            rows = cursor.execute(
                f"SELECT {noun}_id FROM {table} WHERE {noun}_id IN (SELECT unnest(?::VARCHAR[]))",
                [list(named)],
            ).fetchall()
            if 2 * len(rows) > len(named):
                report.refuse(
                    source.name,
                    None,
                    "not-a-leaderboard",
                    f"the {what} are {table} of the project, such as {rows[0][0]}, so this is not"
                    " a leaderboard of"
                    " systems; rename the column of queries to 'query'; import judgments as qrels,"
                    " rankings as runs",
                )
                return


def _make_answers_importer(
    read: Callable[[Source, Report, str | None], Sequence[ExamineeVerdicts]],
) -> Importer[Any]:
    """Return the importer of files with answers of examinees, given the reader of one file.

    An examinee may be in several files if these have no item in common.
    """

    def read_all(
        sources: Sequence[Source], report: Report, options: Options, folder: Path
    ) -> list[ExamineeVerdicts]:
        examinees: list[ExamineeVerdicts] = []
        for source in sources:
            for examinee in read(source, report, options.source):
                if any(
                    examinee.student == each.student and examinee.verdicts.keys() & each.verdicts
                    for each in examinees
                ):
                    report.refuse(
                        source.name,
                        None,
                        "duplicate-student",
                        f"another file has the same items for examinee {examinee.student}; import"
                        " each with its own --name",
                    )
                examinees.append(examinee)
                if levels := factors_in_name(examinee.student):
                    read_as = ", ".join(f"{factor} {level}" for factor, level in levels.items())
                    report.remark(
                        source.name,
                        None,
                        "factors-in-name",
                        f"the name '{examinee.student}' is read as {read_as}",
                    )
        return examinees

    return Importer(
        read_all,
        lambda into, examinees: write_answers(into.cursor, examinees, into.files, into.author),
        frozenset({"answers"}),
    )


Row = TypeVar("Row")


def _make_named_importer(
    read: Callable[[Source, Report], list[Row]],
    write: Callable[[_ImportContext, str, list[Row], str], Mapping[str, int]],
    looks_at: Collection[str],
    pools: bool = False,
) -> Importer[Any]:
    """Return the importer of files that are each kept under their own name: read and written one by
    one.

    Args:
        write: gets the name, the content and the file's name.
    """

    def read_all(
        sources: Sequence[Source], report: Report, options: Options, folder: Path
    ) -> dict[str, tuple[str, list[Row]]]:
        files: dict[str, tuple[str, list[Row]]] = {}
        for source in sources:
            name = (options.source if len(sources) == 1 else None) or source.stem
            if name in files:
                report.refuse(
                    source.name,
                    None,
                    "duplicate-file-name",
                    f"another file is also named {name}; rename one of them",
                )
            files[name] = (source.name, read(source, report))
        return files

    def write_all(into: _ImportContext, files: dict[str, tuple[str, list[Row]]]) -> dict[str, int]:
        total: Counter[str] = Counter()
        for name, (file, found) in files.items():
            total.update(write(into, name, found, file))
        return dict(total)

    return Importer(read_all, write_all, frozenset(looks_at), pools)


NOTHING_LARGE = frozenset[str]()

IMPORTERS: dict[str, Importer[Any]] = {
    "queries": Importer(_read_query_files, _write_queries, NOTHING_LARGE),
    "passages": Importer(
        _read_passage_files,
        _write_passages,
        LARGE
        - {
            "rankings",
            "responses",
            "listed",
            "failures",
            "answers",
            "retrieved",
            "generated_answers",
            "comparisons",
        },
        pools=True,
    ),
    "bank": Importer(
        lambda sources, report, *_: [
            question_bank_files.read_bank(source, report) for source in sources
        ],
        _write_banks,
        NOTHING_LARGE,
    ),
    "exam": Importer(
        lambda sources, report, *_: [
            item for source in sources for item in exam_files.read_exam(source, report)
        ],
        lambda into, items: write_exam_items(
            into.cursor,
            items,
            into.files,
            into.options.source,
            into.report,
            into.keeper,
            into.author,
        ),
        frozenset({"passages", "passage_texts", "retrieved"}),
    ),
    "graded": Importer(_read_graded_files, _write_graded, LARGE),
    "runs": Importer(
        _read_run_files, _write_runs, frozenset({"passages", "rankings", "responses"}), pools=True
    ),
    "responses": Importer(
        lambda sources, report, *_: read_responses(sources, report),
        _write_responses,
        frozenset({"passages", "passage_texts", "rankings", "responses", "response_sentences"}),
        pools=True,
    ),
    "qrels": _make_named_importer(
        trec_files.read_qrels_lines,
        _write_qrels,
        ("passages", "passage_texts", "judgments", "rankings", "responses"),
        pools=True,
    ),
    "labels": _make_named_importer(
        trec_files.read_labels,
        _write_labels,
        ("passages", "passage_texts", "grades", "listed", "rankings", "responses"),
        pools=True,
    ),
    "leaderboard": Importer(lambda *_: None, _write_leaderboards, frozenset({"passages"})),
    "responses-matrix": _make_answers_importer(
        lambda source, report, _: read_matrix(source, report)
    ),
    "lm-eval": _make_answers_importer(lambda *given: [read_samples(*given)]),
    "students": Importer(
        lambda sources, report, *_: [read_factors(source, report) for source in sources],
        lambda into, read: write_factors(into.cursor, read, into.keeper, into.author),
        NOTHING_LARGE,
    ),
    "answers": _make_named_importer(
        read_answers,
        lambda into, name, found, file: write_generated(
            into.cursor, name, found, file, into.author
        ),
        ("generated_answers",),
    ),
    "answer-verdicts": _make_named_importer(
        read_answer_verdicts,
        lambda into, name, found, file: write_answer_verdicts(
            into.cursor, name, found, file, into.author
        ),
        (),
    ),
}
"""Importers by kind of file, in the order in which kinds build on each other."""
