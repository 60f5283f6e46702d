"""A small collection with grades for tests, and a reference implementation of its scores."""

import functools
import inspect
import io
import json
import math
import os
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import duckdb
import pytest

from exam_workbench import bank, records, store
from exam_workbench.bank import put_grader
from exam_workbench.exchange import Imported, Manifest, export_project, import_files, import_project
from exam_workbench.formats import Source
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.store import _database as database
from exam_workbench.types import Grade, GraderSpec, Judgment, Passage, Query, Question, Ranked

T = TypeVar("T")
SPEC = GraderSpec("test grader", "self-rating", "none")


def examples(few: int) -> int:
    """Return the number of examples for a property: `few`, times EXAMPLES_TIMES for long runs."""
    return few * int(os.environ.get("EXAMPLES_TIMES", "1"))


LISTED = {"row": "INTEGER", "query_id": "VARCHAR", "passage_id": "VARCHAR"}

TEST_IS_OVER = threading.Event()
"""Set while the fixtures of a test are torn down."""

PAGE = 4096
"""Bytes of a file that are stored or skipped together."""


class File:
    """The content of a file without its empty pages, to write sparse copies: small projects are nearly empty."""

    def __init__(self, path: Path) -> None:
        content, empty = path.read_bytes(), bytes(PAGE)
        pages = ((at, content[at : at + PAGE]) for at in range(0, len(content), PAGE))
        self._size = len(content)
        self._pages = [(at, page) for at, page in pages if page != empty]

    def write(self, path: Path) -> None:
        """Write it as a new file or over another one."""
        with path.open("wb") as file:
            for at, page in self._pages:
                file.seek(at)
                file.write(page)
            file.truncate(self._size)


@functools.cache
def _empty() -> File:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.duckdb"
        store.create_project(path).close()
        return File(path)


class _Late:
    """A connection that is opened at first use, because `fill` replaces most new files anyway."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: store.Cursor | None = None

    def __getattr__(self, name: str) -> Any:
        if self._made is None:
            self._made = database.open_connection(self._path, made_here=True)
        return getattr(self._made, name)

    def close(self) -> None:
        if self._made is None:
            return
        if TEST_IS_OVER.is_set():
            # The file will not be opened again, so writing the log into it would waste most of the closing time.
            with suppress(duckdb.FatalException):
                self._made.execute("PRAGMA disable_checkpoint_on_shutdown")
        self._made.close()


class _Unmarked(database.Database):
    """An open file without the mark of open files, for tests that do not copy it meanwhile.

    The mark would take a third of the time of a small project; `open_project` returns a project
    that writes it.
    """

    def before_change(self, cursor: store.Cursor) -> None:
        """Do nothing."""


def let_go(folder: Path) -> None:
    """Close all open files of a folder that will not be opened again, because the app closes them only at its end."""
    for one in list(database._open):
        if not one.closed and folder in one.path.parents:
            one._marked = False
            # A connection that was never used would be opened by this.
            if not isinstance(one._connection, _Late):
                with suppress(duckdb.Error):
                    one._connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            one.close()


def copied(file: File, path: Path) -> store.Project:
    """Return a project in a file of its own, for a test that may change it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file.write(path)
    return store.Project(_Unmarked(path, cast(store.Cursor, _Late(path))))


@functools.cache
def file_of(make: Callable[[store.Project], object], name: str = "made.duckdb") -> File:
    """Return the file of a project that is made once and copied for many tests.

    Args:
        make: fills a new project.
        name: file name, if the content includes the project's name.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = new_project(Path(folder) / name)
        make(project)
        project.close()
        return File(project.path)


def made_project(path: Path, make: Callable[[store.Project], object]) -> store.Project:
    """Return a project filled by `make`, in a file of its own."""
    return copied(file_of(make, path.name), path)


def filled_project(fill: Callable[[store.Project], object]) -> Any:
    """Return a fixture: a project filled by `fill`, in a file of its own."""

    @pytest.fixture
    def filled(tmp_path: Path) -> store.Project:
        return made_project(tmp_path / "test.duckdb", fill)

    return filled


def only_read(make: Callable[[store.Project], object], folder: Path) -> Iterator[store.Project]:
    """Yield a read-only project filled by `make`, for a fixture of many tests."""
    made_project(folder / "only read.duckdb", make).close()
    project = store.open_project(folder / "only read.duckdb", read_only=True)
    yield project
    project.close()


def read_project(fill: Callable[[store.Project], object]) -> Any:
    """Return a fixture: a read-only project filled by `fill`, for all tests of a module that only read it."""

    @pytest.fixture(scope="module")
    def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store.Project]:
        yield from only_read(fill, tmp_path_factory.mktemp("read"))

    return filled


def module_project(fill: Callable[[store.Project], object]) -> Any:
    """Return a fixture: a project filled by `fill`, for all tests of a module, each of which may add to it."""

    @pytest.fixture(scope="module")
    def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[store.Project]:
        project = made_project(tmp_path_factory.mktemp("module") / "test.duckdb", fill)
        yield project
        project.close()

    return filled


def set_patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set how long this process waits for another process that has a project's file open."""
    parameters = inspect.signature(database.open_connection).parameters
    defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
    assert "patience" in defaults
    monkeypatch.setattr(database.open_connection, "__defaults__", (*{**defaults, "patience": seconds}.values(),))


def new_project(path: Path) -> store.Project:
    """Return a new project like `create_project`, but copied: running every migration would take five times as long."""
    project = copied(_empty(), path)
    _made[project] = project._database.version(), ()
    return project


_made: WeakKeyDictionary[store.Project, tuple[int, tuple[str, ...]]] = WeakKeyDictionary()
"""For projects changed only by `new_project` and `done_once`: their last commit, and the changes so far."""
_files: dict[tuple[str, ...], File | None] = {}
"""The file of a project by the changes made to a new one; None if they were made only once."""


def done_once(project: store.Project, what: str, do: Callable[[], object]) -> None:
    """Make a change to a project; from the third time on, the changed file is copied instead.

    Args:
        what: identifies the change uniquely.
    """
    at, before = _made.get(project, (None, ()))
    # If a screen has the file open too, closing it does not write the log into the file.
    holders = [one for one in list(database._open) if one.path == project.path and not one.closed]
    if at != project._database.version() or len(holders) > 1:
        do()
        return
    done = (*before, what)
    file = _files.get(done)
    if file is None:
        do()
    _files[done] = _replaced(project, file) if done in _files else None
    _made[project] = project._database.version(), done


def _replaced(project: store.Project, file: File | None) -> File:
    """Close a project and reopen its file, or replace it by `file`; return that file."""
    path = project.path
    project.close()
    found = File(path) if file is None else file
    store.Project.__init__(project, copied(found, path)._database)
    return found


def commit(project: store.Project, write: Callable[..., T] | str, *given: Any, **more: Any) -> T | store.Cursor:
    """Make a change in a transaction of its own: an SQL statement, or a function of a cursor; return its result."""
    with project.transaction() as cursor:
        return cursor.execute(write, *given) if isinstance(write, str) else write(cursor, *given, **more)


def fill(
    project: store.Project,
    questions: list[Question],
    ratings: Mapping[tuple[str, str], int | None],
    runs: Mapping[str, Mapping[str, list[str]]],
    spec: GraderSpec = SPEC,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Add queries, passages, runs, questions and grades to a project.

    Args:
        questions: the bank; its queries are created.
        ratings: rating by (question text, passage id); None for a failed pair.
        runs: passage ids, best first, by query id by run.
        texts: of queries and passages by id; the others have simple ones.
    """
    what = repr((questions, list(ratings.items()), runs, spec, dict(texts)))
    done_once(project, what, lambda: _fill(project, questions, ratings, runs, spec, texts))


def _fill(
    project: store.Project,
    questions: list[Question],
    ratings: Mapping[tuple[str, str], int | None],
    runs: Mapping[str, Mapping[str, list[str]]],
    spec: GraderSpec,
    texts: Mapping[str, str],
) -> None:
    query_ids = list(dict.fromkeys([q.query_id for q in questions] + [q for run in runs.values() for q in run]))
    passage_ids = list(
        dict.fromkeys(
            [p for run in runs.values() for ranking in run.values() for p in ranking] + [p for _, p in ratings]
        )
    )
    rankings = {
        run: [
            Ranked(query_id, passage_id, rank, 1000.0 - rank)
            for query_id, passages in by_query.items()
            for rank, passage_id in enumerate(passages, 1)
        ]
        for run, by_query in runs.items()
    }
    with project.transaction() as cursor:
        records.add_queries(cursor, [Query(q, texts.get(q, f"query {q}")) for q in query_ids], replace=True)
        records.add_passages(cursor, [Passage(p, texts.get(p, f"text of {p}")) for p in passage_ids])
        records.write_runs(cursor, rankings, [(run, run, "test.run") for run in runs])
        records.refresh_pool(cursor)
    bank.save_version(project, questions, "made for a test", "tester")
    _grade(project, ratings, spec)


Grades = Mapping[tuple[str, str], int | None] | Mapping[tuple[str, str], Grade]
"""Ratings or grades by question text, or by the id of a question without a text, and by passage id."""


def grade(project: store.Project, grades: Grades, spec: GraderSpec = SPEC) -> None:
    """Store grades; a rating None stands for a failed pair."""
    done_once(project, repr((list(grades.items()), spec)), lambda: _grade(project, grades, spec))


def _grade(project: store.Project, grades: Grades, spec: GraderSpec) -> None:
    texts = dict(project.rows("SELECT coalesce(text, placeholder), text_key FROM question_texts"))
    passages = dict(project.rows("SELECT passage_id, text_key FROM passages"))
    outcomes = []
    for (question, passage), one in grades.items():
        made = one if isinstance(one, Grade) else Grade(one, "failed" if one is None else "graded")
        outcomes.append((texts[question], passages[passage], made))
    commit(project, lambda cursor: add_outcomes(cursor, put_grader(cursor, spec), outcomes, job_key=0))


def list_passages(cursor: store.Cursor, pairs: Sequence[tuple[str, str]]) -> None:
    """Add (query id, passage id) pairs to the pool; new passages are known only by id."""
    columns = {"query_id": [q for q, _ in pairs], "passage_id": [p for _, p in pairs]}
    with store.lend_table(cursor, "named", store.table_of({"row": range(len(pairs)), **columns}, LISTED)):
        records.name_passages_of(cursor, "named", "row")
        found = cursor.execute(
            "SELECT query_key, passage_key FROM named JOIN queries USING (query_id) JOIN passages USING (passage_id)"
            " ORDER BY row"
        ).fetchnumpy()
    records.list_keys(cursor, found["query_key"], found["passage_key"])


def pool_passages(project: store.Project, pairs: Sequence[tuple[str, str]], texts: Mapping[str, str]) -> None:
    """Add (query id, passage id) pairs to the pool, and texts by passage id; other passages are known only by id."""
    with project.transaction() as cursor:
        records.add_passages(cursor, [Passage(passage, text) for passage, text in texts.items()])
        list_passages(cursor, pairs)
        records.refresh_pool(cursor)


def reimported(project: store.Project) -> store.Project:
    """Return the project that an export of another one gives, in the same folder."""
    export_project(project, project.path.with_name("out"), "ann")
    return import_project(project.path.with_name("out"), project.path.with_name("again.duckdb"))


def import_bank(project: store.Project, questions: list[Question], preview: bool = False) -> Imported:
    """Import questions from a bank file, with their texts."""
    fields = ("query_id", "question_id", "text", "weight", "active", "note")
    lines = "".join(json.dumps({name: getattr(q, name) for name in fields}) + "\n" for q in questions)
    return import_files(project, "bank", [Source("bank.jsonl", data=lines.encode())], "ann", preview=preview)


def judge(project: store.Project, values: Mapping[tuple[str, str], int], source: str = "assessors") -> None:
    """Store judgments by (query id, passage id)."""
    done_once(project, repr((source, list(values.items()))), lambda: _judge(project, values, source))


def _judge(project: store.Project, values: Mapping[tuple[str, str], int], source: str) -> None:
    with project.transaction() as cursor:
        records.write_judgments(cursor, source, [Judgment(q, p, value) for (q, p), value in values.items()])
        records.refresh_pool(cursor)


def expected_label(pairs: list[tuple[float, int | None]], rule: str, weighted: bool) -> int | None:
    """Return the label of a passage, computed literally as in the design.

    Args:
        pairs: (weight, rating or None) of each active question of the query.
    """
    usable = [(w if weighted else 1.0, g) for w, g in pairs if w > 0 and g is not None]
    if not usable:
        return None
    if rule == "max":
        return max(g for _, g in usable)
    if rule == "mean":
        return math.floor(sum(w * g for w, g in usable) / sum(w for w, _ in usable) + 0.5)
    support = int(rule.split(":")[1])
    return max((t for t in range(1, 6) if sum(g >= t for _, g in usable) >= support), default=0)


def expected_coverage(
    questions: Mapping[str, float],
    ratings: Mapping[tuple[str, str], int | None],
    top: list[str],
    tau: int,
    weighted: bool,
) -> float | None:
    """Return EXAM-Cover of one ranking, computed literally as in the design.

    Args:
        questions: weight by question text.
        top: the passages down to the cutoff.
    """
    weight = {text: w if weighted else float((w > 0) - (w < 0)) for text, w in questions.items()}
    total = sum(w for w in weight.values() if w > 0)
    if total == 0:
        return None
    answered = [text for text in weight if any((ratings.get((text, p)) or 0) >= tau for p in top)]
    return max(0.0, sum(weight[text] for text in answered) / total)


def unpacked(packed: bytes) -> dict[str, bytes]:
    """Return the files of a zip file by name."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def manifest_of(packed: bytes) -> Manifest:
    """Return the manifest of a bundle."""
    manifest: Manifest = json.loads(unpacked(packed)["manifest.json"])
    return manifest


def rankings(project: store.Project) -> dict[str, list[Ranked]]:
    """Return the ranked passages of every run, by query id and rank."""
    found: dict[str, list[Ranked]] = {}
    for run, *ranked in project.rows(
        "SELECT name, query_id, passage_id, rank, score FROM rankings JOIN runs USING (run_key)"
        " JOIN queries USING (query_key) JOIN passages USING (passage_key) ORDER BY name, query_id, rank"
    ):
        found.setdefault(run, []).append(Ranked(*ranked))
    return found


def citations(project: store.Project, passage_id: str) -> list[tuple[str, ...]]:
    """Return the citations of each sentence in a passage of a response."""
    rows = project.rows(
        "SELECT citations FROM response_sentences JOIN passages USING (passage_key) WHERE passage_id = ?"
        " ORDER BY position",
        [passage_id],
    )
    return [tuple(cited) for (cited,) in rows]
