"""What must hold after an input: a refusal says what is wrong and changes nothing; what was taken in can go out."""

from __future__ import annotations

import io
import json
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Sequence

from core import bank
from core.errors import FileError, InputError, Report, WorkbenchError
from core.exchange import Options, downloads, exporting, import_files
from core.formats import Source, read_bank, read_boards, read_run_lines
from core.formats.graded import read_graded, write_graded
from core.formats.trec_qrels import read_qrels
from core.labels import Policy, basis, labels
from core.leaderboard import leaderboard
from core.project import Project, boards, sources
from tests.fuzz.bench import AUTHOR, Bench

LONGEST_MESSAGE = 2_000
MEASURES = ("EXAM-Cover@20", "nDCG@10", "AP")
POLICY = Policy()


class Broken(Exception):
    """Something that must hold does not.

    Args:
        rule: which, in words that are the same each time.
        detail: what was found.
    """

    def __init__(self, rule: str, detail: object = "") -> None:
        super().__init__(f"{rule}: {str(detail)[:2000]}" if detail != "" else rule)
        self.rule = rule


def one_bounded_line(text: str) -> None:
    """A message is one line without control signs, of a length that a person can read.

    Raises:
        Broken: it is not.
    """
    if len(text) > LONGEST_MESSAGE:
        raise Broken("a message is longer than a person reads", f"{len(text)} signs: {text[:200]}")
    if any(unicodedata.category(sign) in ("Cc", "Zl", "Zp", "Cs") for sign in text):
        raise Broken("a message is not one line of plain signs", repr(text))


def refused_well(error: WorkbenchError, files: Sequence[str] = ()) -> None:
    """A refusal is a sentence that names the file.

    Args:
        files: the names of the files that were sent.

    Raises:
        Broken: it is not.
    """
    if not isinstance(error, InputError):
        raise Broken(f"bad input is no {type(error).__name__}", error)
    one_bounded_line(str(error))
    for problem in error.problems if isinstance(error, FileError) else ():
        one_bounded_line(str(problem))
    plain = [name for name in files if name.isprintable() and len(name) < 100]
    if files and len(plain) == len(files) and not any(name in str(error) for name in files):
        raise Broken("a refusal does not name the file", error)


_IDS = (
    ("queries", "query_id"), ("passages", "passage_id"), ("questions", "question_id"), ("subtopics", "subtopic_id"),
    ("runs", "name"), ("sources", "name"), ("boards", "name"), ("board_scores", "run"),
)  # fmt: skip
_TREC_IDS = _IDS[:2]
_TEXTS = (("queries", "text"), ("question_revisions", "answer_key"), ("subtopics", "text"),
          ("question_revisions", "choices"), ("queries", "narrative"))  # fmt: skip
_NUMBERS = (
    ("question_revisions", "weight"),
    ("rankings", "score"),
    ("board_scores", "score"),
    ("board_scores", "std_error"),
    ("board_scores", "rank"),
    ("grades", "confidence"),
)

_RULES: tuple[tuple[str, Sequence[tuple[str, str]], str], ...] = (
    (
        "an id breaks the columns of a TREC file",
        _TREC_IDS,
        r"regexp_matches({0}, '[\s\pZ\x0b\x1c-\x1f\x85]') OR {0} = ''",
    ),
    ("an id or a name has a control sign", _IDS, r"regexp_matches({0}, '[\p{{Cc}}\p{{Zl}}\p{{Zp}}]')"),
    ("an id or a name is blank or too long", _IDS, "trim({0}) = '' OR length({0}) > 1000"),
    ("a text has a control sign", _TEXTS, r"regexp_matches({0}, '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]')"),
    # What was asked with its key and choices has them behind a sign of its own.
    (
        "what was asked has a control sign",
        (("question_texts", "text"),),
        r"regexp_matches({0}, '[\x00-\x08\x0b\x0c\x0e-\x1e\x7f]')",
    ),
    ("a number is not finite", _NUMBERS, "NOT isfinite({0})"),
    ("a rating is off the scale", (("grades", "rating"), ("overrides", "rating")), "{0} NOT BETWEEN 0 AND 5"),
    ("a confidence is no share", (("grades", "confidence"),), "{0} NOT BETWEEN 0 AND 1"),
    ("a judgment is beyond its type", (("judgments", "value"),), "abs({0}) > 32767"),
)
_CHECKS = " UNION ALL ".join(
    f"SELECT '{rule}', '{table}', any_value({column})::VARCHAR FROM {table} WHERE {condition.format(column)}"
    " HAVING count(*) > 0"
    for rule, columns, condition in _RULES
    for table, column in columns
)


def sound(project: Project) -> None:
    """No table holds what nothing could be done with.

    Raises:
        Broken: one does.
    """
    for rule, table, value in project.rows(_CHECKS):
        raise Broken(rule, f"{table}: {value!r}")


def unchanged(bench: Bench, project: Project) -> None:
    """The project is as it was before.

    Raises:
        Broken: it is not.
    """
    now = bench.content(project)
    if now != bench.before:
        raise Broken("a refused input changed the project", [name for name in now if now[name] != bench.before[name]])


def goes_out(project: Project) -> None:
    """Everything can be exported, without numbers that are none, and every exported file says the same when it is read.

    Raises:
        Broken: something of it does not hold.
    """
    _qrels_go_out(project)
    _bank_goes_out(project)
    _graded_go_out(project)
    _runs_go_out(project)
    _boards_go_out(project)


def _read(name: str, data: bytes, reader: Callable[[Source, Report], object]) -> object:
    report = Report()
    found = reader(Source(name, data=data), report)
    found = list(found) if isinstance(found, Iterable) else found
    if report.count:
        raise Broken(f"our own {name} is refused", report.problems[0])
    return found


def _exported(what: str, make: Callable[[], str | bytes]) -> bytes:
    try:
        content = make()
    except InputError as error:
        if "cannot be written to a TREC file" in str(error):
            raise Broken("an id breaks the columns of a TREC file", error) from error
        raise Broken(f"{what} cannot be exported", error) from error
    return content.encode() if isinstance(content, str) else content


def _qrels_go_out(project: Project) -> None:
    table = labels(project, basis(project, POLICY)).dropna(subset=["label"])
    wanted = {(q, p, int(v)) for q, p, v in zip(table["query_id"], table["passage_id"], table["label"], strict=True)}
    if wanted:
        content = _exported("qrels", lambda: exporting.qrels(project, POLICY))
        read = _read("labels.qrels", content, read_qrels)
        if {(j.query_id, j.passage_id, j.value) for j in read} != wanted:
            raise Broken("exported labels say something else when they are read", content[:500])
    for source in sources(project):
        data = _exported("judgments", lambda source=source: exporting.qrels(project, POLICY, source))
        _read("judgments.qrels", data, read_qrels)


def _bank_goes_out(project: Project) -> None:
    there = bank.questions(project)
    if not there:
        return
    for name, make in (("bank.jsonl", exporting.bank_jsonl), ("bank.csv", exporting.bank_csv)):
        data = _exported("bank", lambda make=make: make(project))
        (read,) = (_read(name, data, lambda source, report: [read_bank(source, report)]),)
        if sorted(read[0].questions, key=lambda q: q.question_id) != sorted(there, key=lambda q: q.question_id):
            different = [(a, b) for a, b in zip(read[0].questions, there, strict=False) if a != b]
            raise Broken(f"the exported {name} says something else when it is read", different[:1])


def _graded_go_out(project: Project) -> None:
    data = _exported("graded", lambda: exporting.graded_file(project))
    if b"NaN" in data:
        raise Broken("a graded file has a number that is none")
    read = _read("graded.jsonl.gz", data, read_graded)
    again = io.BytesIO()
    write_graded(read, again)
    if _read("graded.jsonl.gz", again.getvalue(), read_graded) != read:
        raise Broken("a graded file that was read says something else when it is written")


def _runs_go_out(project: Project) -> None:
    with zipfile.ZipFile(io.BytesIO(_exported("runs", lambda: downloads.runs_zip(project)))) as packed:
        if packed.testzip() is not None or len(set(packed.namelist())) != len(packed.namelist()):
            raise Broken("the runs' archive has a file twice", packed.namelist())
        for name in packed.namelist():
            _read("exported.run", packed.read(name), read_run_lines)


def _boards_go_out(project: Project) -> None:
    asked = [(measure, source) for measure in MEASURES for source in ("exam", *sources(project)[:2])]
    asked += [(measure, name) for name, measure in boards(project)[:3]]
    for measure, source in asked:
        try:
            found = leaderboard(project, measure, source, POLICY)
        except InputError as error:
            one_bounded_line(str(error))
            continue
        try:
            json.dumps(found.as_dict(), allow_nan=False)
        except ValueError as error:
            raise Broken("a leaderboard has a number that is none", f"{measure} of {source}") from error
        content = _exported("leaderboard", lambda m=measure, s=source: exporting.board_tsv(project, m, s, POLICY))
        exporting.board_latex(project, measure, source, POLICY)
        if not found.systems or len(content.splitlines()) < 2:
            continue
        (read,) = (_read("board.tsv", content, read_boards),)
        written = {" ".join(system.run.split()): system.score for system in found.systems}
        if {row.run: row.score for board in read for row in board.rows} != written:
            raise Broken("an exported leaderboard says something else when it is read", content[:300])


def comes_again(project: Project) -> None:
    """What a project exports, it takes in again, and it is the same project.

    Raises:
        Broken: it is not.
    """
    there = bank.questions(project)
    if there:
        data = exporting.bank_jsonl(project).encode()
        done = _taken(project, "bank", "again.jsonl", data)
        if "bank version" in done or bank.questions(project) != there:
            raise Broken("the project's own bank changes it", done)
    graded = exporting.graded_file(project)
    for source in sources(project)[:1]:
        _taken(project, "graded", "again.jsonl.gz", graded, source)
    if exporting.graded_file(project) != graded and sources(project):
        raise Broken("the project's own graded file changes it")


def _taken(project: Project, kind: str, name: str, data: bytes, source: str | None = None) -> dict[str, int]:
    try:
        return import_files(project, kind, [Source(name, data=data)], AUTHOR, Options(source)).counts
    except InputError as error:
        raise Broken(f"a project refuses its own {kind}", error) from error
