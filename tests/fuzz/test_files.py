"""Hostile files: refused completely and by name, or imported, exported and imported again."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import KINDS_OF_FILE, Source, detect_kind
from exam_workbench.store import Project
from tests.fuzz.checks import AUTHOR, Bench, comes_again, fuzzed, goes_out, in_time, one_line, sound
from tests.fuzz.corpus import CORPUS
from tests.fuzz.round_trips import goes_round
from tests.fuzz.strategies import FORMS, NAMES, File, Form, files, texts, written

ROOT = Path(__file__).resolve().parents[2]
MEMORY = 96 << 20
"""Bytes of memory for small files that expand to 8 MiB, read in sequence."""
BLANK_LINES = {"EXAM_LIMIT_BLANK_LINES": "250000"}
"""Time and memory grow with the limit; the tests of limits cover a million lines."""
PLAIN = Options(skip_unknown=True, replace=True)
OPTIONS = st.builds(Options, st.one_of(st.none(), st.none(), texts()), st.booleans(), st.booleans(), st.booleans())


def _import(project: Project, file: File, options: Options, preview: bool = False) -> None:
    done = import_files(project, file.kind, [Source(file.name, data=file.data)], AUTHOR, options, preview)
    for note in done.notes:
        one_line(str(note))
    if preview:
        assert not getattr(project, "committed", 0), "a preview commits"


def _goes_through(bench: Bench, file: File, options: Options, preview: bool = False) -> bool:
    with in_time():
        goes_round(file.kind, Source(file.name, data=file.data))
    return bench.tries(lambda project: _import(project, file, options, preview), [file.name])


@pytest.mark.parametrize("kind", KINDS_OF_FILE)
def test_file_is_refused_completely_or_imported_soundly(bench: Bench, kind: str) -> None:
    @fuzzed(8)
    @given(files(kind), OPTIONS, st.booleans())
    def holds(file: File, options: Options, preview: bool) -> None:
        _goes_through(bench, file, options, preview)

    holds()
    assert bench.content(bench.rehearsal) == bench.before


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.kind}-{form.name}")
def test_every_valid_form_is_accepted(bench: Bench, form: Form) -> None:
    file = File(form.kind, form.name, written(form.content).encode())
    assert _goes_through(bench, file, PLAIN)
    assert goes_round(file.kind, Source(file.name, data=file.data))


@pytest.mark.parametrize("case", CORPUS)
def test_files_that_once_failed_are_handled(bench: Bench, case: str) -> None:
    _goes_through(bench, CORPUS[case], PLAIN)


def test_imported_files_survive_export_and_import(bench: Bench) -> None:
    @fuzzed(8)
    @given(files())
    def holds(file: File) -> None:
        if _goes_through(bench, file, PLAIN):
            with bench.copy() as project:
                _import(project, file, PLAIN)
                sound(project)
                goes_out(project)
                comes_again(project)

    holds()


@fuzzed(100)
@given(files(), st.one_of(st.none(), st.sampled_from(NAMES), texts()))
def test_detected_kind_is_known_or_none(file: File, name: str | None) -> None:
    with in_time():
        assert detect_kind(Source(file.name if name is None else name, data=file.data)) in (None, *KINDS_OF_FILE)


BOMBS = """
import gzip, resource, sys
from exam_workbench.errors import Report
from exam_workbench.formats import Source
from tests.fuzz.round_trips import ROUND_TRIPS
from tests.fuzz.strategies import FORMS, written
for size in (1, 8 << 20):
    for kind, (read, _) in ROUND_TRIPS.items():
        form = next(form for form in FORMS if form.kind == kind)
        for filling in (b"\\n", b"a"):
            much = written(form.content).encode() + filling * size
            read([Source(form.name + ".gz", data=gzip.compress(much, 1))], Report())
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10)
"""


def test_expanding_files_need_little_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOMBS],
        cwd=ROOT,
        env=os.environ | BLANK_LINES,
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = map(int, done.stdout.split())
    assert after - before < MEMORY
