"""Whole collections: BEIR folders, data sets of ir_datasets by way of BEIR folders, and the demo as
a project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import graders, grading
from ..atomic_files import WorkingFolder, create_file
from ..choices import BEIR_SPLIT, EXAM_QUERY
from ..errors import GradingError, InputError, Problem, Report, check_known, unknown_name
from ..formats import Source, passage_files, query_files, trec_files
from ..labels import SETTING_OF_MIN_JUDGMENT
from ..locations import APP_FOLDER
from ..records import DataSetTerms, keep_terms
from ..store import Cursor, Project, as_act, cached, create_project, log_action, put_setting
from ..text import how_many
from ..types import Passage, Query
from ._file_import import Group, Imported, Options, import_files, import_groups

PARTS = ("docs", "queries", "qrels")
_LEVELS = {
    # TREC Deep Learning, overviews of 2019 to 2023: passages are relevant from 2 on, documents from
    # 1 on.
    re.compile(r"msmarco-passage(-v2)?/trec-dl-"): 2,
    re.compile(r"msmarco-document(-v2)?/trec-dl-"): 1,
}
"""Lowest judgment of a relevant passage, by the ids of data sets."""


def import_beir(
    project: Project,
    folder: Path,
    author: str,
    options: Options,
    split: str = BEIR_SPLIT,
    all_passages: bool = False,
    preview: bool = False,
    name: str = "",
    also: Callable[[Cursor], object] = lambda cursor: None,
) -> Imported:
    """Import the queries and judgments of a split of a BEIR folder, and its passages, in one
    transaction.

    Args:
        options: `source`, `skip_unknown` and `replace`.
        all_passages: import all passages, not only those that the split judges and those that the
            project names.
        name: the folder's name in messages; its path if empty.
        also: called with the cursor at the end of the transaction.

    Raises:
        InputError: a file is missing, lies outside the folder, or was refused; or the import would
            replace something.
    """
    splits = sorted(file.stem for file in (folder / "qrels").glob("*.tsv"))
    check_known("unknown-split", "split", splits or [split], split)
    corpus, query_source, judged = (
        Source(f"{name or folder}/{file}", _path_in_folder(folder, file))
        for file in ("corpus.jsonl", "queries.jsonl", f"qrels/{split}.tsv")
    )
    report = Report()
    judgments = trec_files.read_qrels(judged, report)
    report.raise_if_refused("Nothing was imported. Correct the file.")
    needed = (
        None if all_passages else {item.passage_id for item in judgments} | _named_passages(project)
    )
    notes: list[Problem] = []

    def note_textless(cursor: Cursor) -> None:
        ((count,),) = cursor.execute(
            "SELECT count(*) FROM passages WHERE text_key IS NULL"
        ).fetchall()
        if count:
            notes.append(
                Problem(
                    corpus.name,
                    None,
                    "no-passage-text",
                    f"{how_many(count, 'passages')} of the project still without text",
                )
            )
        also(cursor)

    groups = [
        Group(
            "queries", [query_source], replace(options, only={item.query_id for item in judgments})
        ),
        Group("passages", [corpus], replace(options, only=needed)),
        Group(
            "qrels",
            [judged],
            replace(options, source=options.source or name or f"{folder.resolve().name}/{split}"),
        ),
    ]
    imported = import_groups(project, groups, author, preview, note_textless)
    return Imported(
        "beir",
        tuple(file for item in imported for file in item.files),
        {thing: count for item in imported for thing, count in item.counts.items()},
        (*(note for item in imported for note in item.notes), *notes),
        tuple(replaced for item in imported for replaced in item.replaced),
    )


def _named_passages(project: Project) -> set[str]:
    """Return the ids of the passages that runs, judgments and files of the project name."""
    return {str(passage_id) for (passage_id,) in project.rows("SELECT passage_id FROM passages")}


def _path_in_folder(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder.

    Raises:
        InputError: it is missing, or a link leads out of the folder.
    """
    path = folder / name
    if not path.is_file():
        raise InputError(
            "not-a-beir-folder",
            f"{folder} has no file {name}.",
            "A BEIR folder has corpus.jsonl, queries.jsonl and qrels/*.tsv.",
        )
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            "link-outside-folder",
            f"{path} is a link to a place outside the folder.",
            "Replace the link with a copy of the file.",
        )
    return path


@dataclass(frozen=True)
class DataSet:
    """A data set of ir_datasets.

    Args:
        found: the object of ir_datasets.
        size: bytes to download; None if unknown.
    """

    found: Any
    size: int | None
    terms: DataSetTerms

    @property
    def min_judgment(self) -> int | None:
        """The lowest judgment of a relevant passage in this collection; None if unknown."""
        return next(
            (level for ids, level in _LEVELS.items() if ids.match(self.terms.data_set)), None
        )


def find_data_set(name: str) -> DataSet:
    """Find a data set by its id, without downloading anything.

    Raises:
        InputError: ir_datasets is not installed, does not know the id, or has no passages, queries
            or judgments for it.
    """
    try:
        import ir_datasets
    except ImportError as error:
        raise InputError(
            "extra-missing",
            f"The package ir_datasets cannot be loaded ({error}).",
            'Install it: pip install "exam-workbench[datasets]"',
        ) from error
    family = name.partition("/")[0]
    try:
        data_set = ir_datasets.load(name)
    except KeyError as error:
        known = [entry for entry in ir_datasets.registry if entry.partition("/")[0] == family]
        raise unknown_name(
            "unknown-data-set", "data set", name, known, "See https://ir-datasets.com."
        ) from error
    if lacking := [part for part in PARTS if not data_set.has(part)]:
        below = ", ".join(entry for entry in ir_datasets.registry if entry.startswith(f"{name}/"))
        raise InputError(
            "incomplete-data-set",
            f"The data set '{name}' has no {' and no '.join(lacking)}.",
            f"Choose one of its parts: {below}." if below else "See https://ir-datasets.com.",
        )
    downloads = list(_find_downloads([getattr(data_set, f"{part}_handler")() for part in PARTS]))
    sentences = dict.fromkeys(
        " ".join(entry.dua.split()) for entry in downloads if getattr(entry, "dua", None)
    )
    terms = DataSetTerms(name, " ".join(sentences), f"https://ir-datasets.com/{family}.html#{name}")
    return DataSet(data_set, _size_of(downloads), terms)


def _find_downloads(parts: list[Any]) -> Iterator[Any]:
    """Yield the files of parts of a data set. ir_datasets has no list of them, so its objects are
    searched.
    """
    waiting, objects_seen = parts, dict[int, Any]()
    while waiting:
        value = waiting.pop()
        if id(value) in objects_seen:
            continue
        objects_seen[id(value)] = value
        if type(value).__name__ in ("Download", "LocalDownload"):
            yield value
        elif isinstance(value, list | tuple):
            waiting += value
        elif type(value).__module__.startswith("ir_datasets."):
            waiting += vars(value).values()


def _size_of(downloads: Collection[Any]) -> int | None:
    """Return the bytes that are not on this computer yet; None if unknown."""
    places = [
        (one, getattr(one, "_cache_path", None) or getattr(one, "_path", None)) for one in downloads
    ]
    sizes: list[Any] = [
        getattr(one, "_size_hint", None)
        for one, path in places
        if not (path and Path(path).exists())
    ]
    return sum(sizes) if downloads and None not in sizes else None


def import_data_set(
    project: Project,
    data_set: DataSet,
    author: str,
    options: Options,
    all_passages: bool = False,
    preview: bool = False,
) -> Imported:
    """Import a data set as `import_beir` does, with its terms and its min judgment.

    Raises:
        InputError: it cannot be downloaded or read, or as for `import_beir`.
    """
    name, level = data_set.terms.data_set, data_set.min_judgment

    def keep_level(cursor: Cursor) -> None:
        keep_terms(cursor, data_set.terms)
        if level is not None:
            put_setting(cursor, SETTING_OF_MIN_JUDGMENT, str(level))
            log_action(cursor, author, "set min judgment", value=level, collection=name)

    with WorkingFolder(project.working_folder) as folder:
        try:
            _write_folder(
                data_set.found, folder, None if all_passages else _named_passages(project)
            )
        except Exception as error:
            raise InputError(
                "data-set-unreadable",
                f"The data set '{name}' cannot be read ({type(error).__name__}: {error}).",
                f"Its page says how to get it: {data_set.terms.address}",
            ) from error
        imported = import_beir(
            project, folder, author, options, BEIR_SPLIT, all_passages, preview, name, keep_level
        )
    sentence = f"the default of --min-judgment is {level} from now on, the level of this collection"
    notes = [] if level is None else [Problem(name, None, "min-judgment-set", sentence)]
    return replace(imported, kind="dataset", notes=(*imported.notes, *notes))


def _write_folder(data_set: Any, folder: Path, named: Collection[str] | None) -> None:
    """Write a data set as a folder that `import_beir` reads.

    Args:
        named: passages that are needed in addition to the judged ones; None for all passages.
    """
    judged = [(item.query_id, item.doc_id, int(item.relevance)) for item in data_set.qrels_iter()]
    (folder / "qrels").mkdir()
    with (folder / "qrels" / f"{BEIR_SPLIT}.tsv").open("w", encoding="utf-8") as out:
        trec_files.write_qrels(judged, out)
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as out:
        query_files.write_queries(map(_query_of, data_set.queries_iter()), out)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as out:
        needed = {passage for _, passage, _ in judged}.union(named or ())
        rows = (
            data_set.docs_iter() if named is None else data_set.docs_store().get_many_iter(needed)
        )
        texts = (Passage(row.doc_id, row.default_text()) for row in rows)
        passage_files.write_passages((item for item in texts if item.text.strip()), out)


def _query_of(row: Any) -> Query:
    text = row.default_text()
    parts = (getattr(row, name, None) for name in ("description", "narrative"))
    narrative = "\n\n".join(
        part for part in parts if isinstance(part, str) and part.strip() and part != text
    )
    return Query(row.query_id, text, narrative or None)


FILES = APP_FOLDER / "data" / "demo"
MADE_COLLECTION = "Made collection: agreement is not evidence."
"""A remark wherever the demo's leaderboard is compared with its judgments."""


def make_demo(
    path: Path,
    author: str,
    grade: bool,
    tell: Callable[[str], None],
    sit: Callable[[Project], object] | None = None,
) -> None:
    """Make a project of the demo collection.

    Args:
        path: the new project's file.
        grade: whether to grade it with the embedding grader.
        tell: receives a sentence about each step.
        sit: makes examinees take the exam, as `pipelines.sit_by_rules` does; without it the demo
            has no exam.

    Raises:
        InputError: the file exists already.
        GradingError: grading failed.
    """
    path_taken = InputError(
        "project-exists", f"{path} already exists.", "Open it, delete it, or name another file."
    )
    # An interruption leaves no partial demo.
    with create_file(path, path_taken) as made, closing(create_project(made)) as project:
        _fill_demo(project, author, grade, tell, sit)


def _fill_demo(
    project: Project,
    author: str,
    grade: bool,
    tell: Callable[[str], None],
    sit: Callable[[Project], object] | None,
) -> None:
    collection = [
        ("queries", [FILES / "queries.jsonl"], None),
        ("passages", [FILES / "passages.jsonl"], None),
        ("runs", sorted((FILES / "runs").glob("*.run")), None),
        ("qrels", [FILES / "qrels.txt"], "assessors"),
        ("bank", [FILES / "bank.jsonl"], None),
    ]
    for kind, files, source in collection + (
        [] if sit is None else [("exam", [FILES / "exam.json"], None)]
    ):
        done = import_files(
            project, kind, [Source.from_path(file) for file in files], author, Options(source)
        )
        tell(", ".join(f"{name}: {count:,}" for name, count in done.counts.items()))
    if grade:
        tell("Grading with the embedding model ...")
        final = grading.run_job(
            project, graders.make_grader("embedding", {}), grading.Request(), author
        )
        if final.state != "done":
            raise GradingError(
                "job-failed",
                final.message,
                "Run exam demo again, or exam demo --no-grade and then exam grade.",
            )
        tell(f"Graded {final.graded:,} pairs in {final.seconds:.0f} s.")
    if sit is not None:
        sit(project)
    tell(MADE_COLLECTION)


@as_act("see boards")
@cached()
def is_demo(project: Project) -> bool:
    """Return whether a project has exactly the demo collection's queries, apart from its exam."""
    ids = {
        query.query_id
        for query in query_files.read_queries(Source.from_path(FILES / "queries.jsonl"), Report())
    }
    return ids == {query_id for (query_id,) in project.rows("SELECT query_id FROM queries")} - {
        EXAM_QUERY
    }
