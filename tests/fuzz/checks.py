"""The project of the property tests, and the conditions that hold after every input."""

import json
import shutil
import signal
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext
from io import BytesIO
from pathlib import Path
from types import FrameType

from hypothesis import HealthCheck, Phase, settings

from exam_workbench import bank
from exam_workbench.errors import FileError, InputError, WorkbenchError
from exam_workbench.exchange import Options, exporting, import_files
from exam_workbench.formats import Source
from exam_workbench.labels import Policy, basis, leaderboard, list_labels
from exam_workbench.records import imported_leaderboards, judgment_sources
from exam_workbench.store import Cursor, Project, open_project
from exam_workbench.store._database import GIVEN_UP, Database
from exam_workbench.types import Question
from tests.fuzz.round_trips import goes_round, one_line, read
from tests.made.projects import examples, fill, judge, made_project

AUTHOR = "tester"
CPU_SECONDS = 20
"""Seconds of CPU time for one input, a hundred times the usual; more counts as a hang."""
MEASURES = ("EXAM-Cover@20", "nDCG@10", "AP")
POLICY = Policy()
Content = dict[str, tuple[int, int | None]]
"""Number of rows and sum of their hashes, by table."""


def fuzzed(few: int) -> settings:
    """Return the settings of a property: few fixed examples in `make test`, many random ones in `make fuzz`."""
    return settings(
        max_examples=examples(few),
        deadline=None,
        derandomize=examples(1) == 1,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )


class Hang(BaseException):
    """An input took too long. Handlers of ordinary errors do not catch this."""


@contextmanager
def in_time() -> Iterator[None]:
    """Stop an input that takes more than its CPU time.

    Raises:
        Hang: the input took too long.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang(f"more than {CPU_SECONDS} s of the processor")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Rehearsal(Project):
    """A project that rolls transactions back instead of committing them, which is much faster.

    A failed transaction is rolled back as usual. A successful one stays open until `undo`, and
    `committed` counts it.
    """

    _open: Cursor | None = None
    committed = 0

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._cursor = lambda: nullcontext(self._open) if self._open else database.cursor()

    @contextmanager
    def transaction(self, *_whose: object, **_more: object) -> Iterator[Cursor]:
        first = self._open is None
        cursor = self._open or self._database._connection.cursor()
        if first:
            cursor.execute("BEGIN")
        try:
            yield cursor
        except BaseException as error:
            if first:
                if not isinstance(error, GIVEN_UP):
                    cursor.execute("ROLLBACK")
                cursor.close()
            raise
        self._open = cursor
        self.committed += 1
        self._database.committed()

    def undo(self) -> None:
        """Undo all transactions since the last call."""
        self.committed = 0
        if self._open is not None:
            self._open.execute("ROLLBACK")
            self._open.close()
            self._open = None
            self._database.committed()


class Bench:
    """The project as a rehearsal, and its file to copy.

    Args:
        folder: for the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.template = folder / "template.duckdb"
        made_project(self.template, _fill_everything).close()
        opened = open_project(Path(shutil.copyfile(self.template, folder / "rehearsal.duckdb")))
        self.rehearsal = Rehearsal(opened._database)
        self.tables = [name for (name,) in opened.rows("SELECT table_name FROM duckdb_tables() WHERE NOT temporary")]
        self.before = self.content(self.rehearsal)

    def content(self, project: Project) -> Content:
        """Return the content of every table, independent of the order of rows."""
        columns = ", ".join(f"(SELECT (count(*), sum(hash(t)::HUGEINT)) FROM {name} t)" for name in self.tables)
        return dict(zip(self.tables, project.rows(f"SELECT {columns}")[0], strict=True))

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """Yield a copy of the project's file, in an empty working directory."""
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            path = Path(shutil.copyfile(self.template, f"{folder}/copy.duckdb"))
            here = Path(folder, "here")
            here.mkdir()
            with chdir(here):
                yield path

    @contextmanager
    def copy(self) -> Iterator[Project]:
        """Yield a project that may be changed."""
        with self.copied() as path:
            project = open_project(path)
            try:
                yield project
            finally:
                project.close()

    def tries(self, act: Callable[[Project], object], names: Sequence[str] = ()) -> bool:
        """Rehearse an action, then undo it. A refusal must be clear and commit nothing; else the tables must be sound.

        Args:
            names: names of the uploaded files.

        Returns:
            Whether the action was accepted.
        """
        try:
            with in_time():
                act(self.rehearsal)
            sound(self.rehearsal)
        except WorkbenchError as error:
            refused_well(error, names)
            assert not self.rehearsal.committed, f"a refused input was partly committed: {error}"
            return False
        finally:
            self.rehearsal.undo()
        return True


def _fill_everything(project: Project) -> None:
    """Fill in a little of everything that a file can concern."""
    questions = [Question(f"q{n % 3}/x{n}", f"q{n % 3}", f"Why number {n}?", weight=1 + n % 2) for n in range(6)]
    questions.append(Question("q0/key", "q0", "Which one?", "choice", answer_key="moon", choices=("sun", "moon")))
    ratings = {(f"Why number {n}?", f"p{m}"): None if n == m else (n * m) % 6 for n in range(5) for m in range(6)}
    runs = {"r1": {"q0": ["p0", "p1"], "q1": ["p2", "p3"]}, "r2": {"q0": ["p1", "p0"], "q1": ["p3"], "q2": ["p4"]}}
    fill(project, questions, ratings, runs)
    judge(project, {("q0", "p0"): 2, ("q0", "p1"): 0, ("q1", "p2"): 1, ("q2", "p4"): 3})
    table = Source("official.tsv", data=b"run\tAP\nr1\t0.5\nr2\t0.25\n")
    import_files(project, "leaderboard", [table], AUTHOR)
    written = b'{"query_id": "q0", "run": "w1", "answer": [{"text": "The moon does.", "citations": ["p1"]}]}\n'
    import_files(project, "responses", [Source("w1.jsonl", data=written)], AUTHOR)


def refused_well(error: WorkbenchError, names: Sequence[str] = ()) -> None:
    """Check that a refusal of an input is an InputError of one line that names the file."""
    assert isinstance(error, InputError), repr(error)
    for message in (error, *(error.problems if isinstance(error, FileError) else ())):
        one_line(str(message))
    plain = all(name.isprintable() and len(name) < 100 for name in names)
    assert not names or not plain or any(name in str(error) for name in names), f"the error names no file: {error}"


_IDS = (("queries", "query_id"), ("passages", "passage_id"), ("questions", "question_id"), ("runs", "name"),
        ("subtopics", "subtopic_id"), ("sources", "name"), ("boards", "name"), ("board_scores", "run"))  # fmt: skip
_TEXTS = (("queries", "text"), ("question_revisions", "answer_key"), ("subtopics", "text"), ("queries", "narrative"),
          ("question_revisions", "choices"))  # fmt: skip
_NUMBERS = (("question_revisions", "weight"), ("rankings", "score"), ("board_scores", "score"),
            ("board_scores", "std_error"), ("board_scores", "rank"), ("grades", "confidence"))  # fmt: skip
RULES: tuple[tuple[str, Sequence[tuple[str, str]], str], ...] = (
    ("id breaks TREC columns", _IDS[:2], r"regexp_matches({0}, '[\s\pZ\x0b\x1c-\x1f\x85]') OR {0} = ''"),
    ("control character in a name", _IDS, r"regexp_matches({0}, '[\p{{Cc}}\p{{Zl}}\p{{Zp}}]')"),
    ("blank or long name", _IDS, "trim({0}) = '' OR length({0}) > 1000"),
    ("control character in a text", _TEXTS, r"regexp_matches({0}, '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')"),
    # The text of a question contains its key and choices after \x1f.
    (
        "control character in a question",
        (("question_texts", "text"),),
        r"regexp_matches({0}, '[\x00-\x08\x0b\x0c\x0e-\x1e\x7f]')",
    ),
    ("not finite", _NUMBERS, "NOT isfinite({0})"),
    ("off the scale", (("grades", "rating"), ("overrides", "rating")), "{0} NOT BETWEEN 0 AND 5"),
    ("confidence is no share", (("grades", "confidence"),), "{0} NOT BETWEEN 0 AND 1"),
    ("judgment beyond its type", (("judgments", "value"),), "abs({0}) > 32767"),
)
_CHECKS = " UNION ALL ".join(
    f"SELECT '{rule}', '{table}', left(any_value({column})::VARCHAR, 100) FROM {table} WHERE {condition.format(column)}"
    " HAVING count(*) > 0"
    for rule, columns, condition in RULES
    for table, column in columns
)


def sound(project: Project) -> None:
    """Check that no table holds a value that cannot be computed with or exported."""
    wrong = project.rows(_CHECKS)
    assert not wrong, wrong


def goes_out(project: Project) -> None:
    """Check that everything can be exported with finite numbers, and that exported files read back equal."""
    exported = [
        ("qrels", "labels.qrels", exporting.qrels_text(project, POLICY).encode()),
        ("bank", "bank.jsonl", exporting.bank_jsonl(project).encode()),
        ("bank", "bank.csv", exporting.bank_csv(project).encode()),
        ("graded", "graded.jsonl.gz", exporting.graded_file(project)),
    ]
    exported += [
        ("qrels", "j.qrels", exporting.qrels_text(project, POLICY, one).encode()) for one in judgment_sources(project)
    ]
    with zipfile.ZipFile(BytesIO(exporting.runs_zip(project))) as packed:
        names = packed.namelist()
        assert packed.testzip() is None and len(set(names)) == len(names)
        exported += [("runs", "exported.run", packed.read(name)) for name in names]
    questions = sorted(bank.list_questions(project), key=lambda question: question.question_id)
    for kind, name, data in exported:
        if data.strip() and (kind != "bank" or questions):
            assert goes_round(kind, Source(name, data=data)), f"our own {name} is refused"
        if kind == "bank" and questions:
            assert sorted(read(kind, name, data), key=lambda question: question.question_id) == questions, name
    table = list_labels(project, basis(project, POLICY)).dropna(subset=["label"])
    wanted = set(zip(table["query_id"], table["passage_id"], table["label"].astype(int), strict=True))
    assert not wanted or set(read(*exported[0])) == wanted
    asked = [(measure, source) for measure in MEASURES for source in ("exam", *judgment_sources(project)[:2])]
    for measure, source in asked + [(measure, name) for name, measure in imported_leaderboards(project)[:3]]:
        _board_goes_out(project, measure, source)


def _board_goes_out(project: Project, measure: str, source: str) -> None:
    try:
        found = leaderboard(project, measure, source, POLICY)
    except InputError as error:
        one_line(str(error))
        return
    json.dumps(found.as_dict(), allow_nan=False)
    exporting.board_latex(found)
    content = exporting.board_tsv(found)
    if found.systems and len(content.splitlines()) > 1:
        scores = {run: score for run, score, _ in read("leaderboard", "board.tsv", content.encode())}
        assert scores == {" ".join(system.run.split()): system.score for system in found.systems}


def comes_again(project: Project) -> None:
    """Check that a project imports its own exports without a change."""
    there = bank.list_questions(project)
    if there:
        source = Source("again.jsonl", data=exporting.bank_jsonl(project).encode())
        done = import_files(project, "bank", [source], AUTHOR)
        assert "bank version" not in done.counts and bank.list_questions(project) == there
    graded = exporting.graded_file(project)
    for name in judgment_sources(project)[:1]:
        import_files(project, "graded", [Source("again.jsonl.gz", data=graded)], AUTHOR, Options(name))
        assert exporting.graded_file(project) == graded
