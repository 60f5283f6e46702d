"""Hostile endpoint: sound answers are kept, all others fail, and no key is stored."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import duckdb
import pytest

from exam_workbench.bank import save_version
from exam_workbench.records import add_passages, add_queries, refresh_pool, write_runs
from exam_workbench.records._runs import stage_rankings
from exam_workbench.store import Project, open_project
from exam_workbench.types import Passage, Query, Question, Ranked
from tests.cli.test_cli import Exam, exam  # noqa: F401
from tests.graders.test_endpoint_keys import FORMS, pieces
from tests.graders.test_parsing import SERVICE_MESSAGES
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    hang,
    leading_to,
    packed,
    page,
    rate,
    refuse,
    status,
    too_many,
    torn,
)
from tests.made.projects import judge, new_project

KEY = "sk-proj-Zq8vK2mXw7RtYb4NcP1sLd9HfJ6gTe3A"
PIECE = 12


@dataclass(frozen=True)
class Case:
    """An endpoint's behaviour for one passage, and the rating to keep, or None if the pair must fail."""

    behave: Callable[[Seen], Reply]
    rating: int | None = None


def says(text: str, **more: object) -> Case:
    """Return a case of a chat answer (HTTP 200) that must not be read as a rating."""
    return Case(lambda seen: chat(text, **more))  # type: ignore[arg-type]


def good(rating: int, **more: object) -> Case:
    """Return a case of a sound answer with odd additional fields."""
    return Case(lambda seen: chat(json.dumps({"rating": rating}), **{"model": "m", **more}), rating)  # type: ignore[arg-type]


def does(reply: Reply) -> Case:
    return Case(lambda seen: reply)


def hostile_cases(elsewhere: str) -> list[Case]:
    """Return all cases, with a sound answer after each failure, because an endpoint that only fails ends the job."""
    huge = {"prompt_tokens": 2**62, "completion_tokens": 2**62}
    absurd = (huge, huge, huge, {"prompt_tokens": -1, "completion_tokens": "x"}, [1])
    odd = [
        *(good(rating, usage=usage) for rating, usage in enumerate(absurd)),
        good(5, model="another-model"),
        good(4, model="m-2024-08-06"),
        good(3, model=["m"]),
        Case(lambda seen: packed(rate(seen, 2).content), 2),
        Case(lambda seen: chat('```json\n{"rating": 1}\n```'), 1),
        Case(lambda seen: too_many(retry_after_ms=20) if seen.attempt == 1 else rate(seen, 5), 5),
        Case(lambda seen: status(500) if seen.attempt == 1 else rate(seen, 0), 0),
        Case(lambda seen: Reply(content=rate(seen, 3).content, headers={"set-cookie": f"k={KEY}"}), 3),
    ]
    refused = [
        "I'm sorry, but I can't assist",
        "I'm sorry, I have 3 concerns",
        "As an AI: 5",
        "5",
        "Rating: 5",
        "",
        " ",
    ]
    off = ['{"rating": 9}', '{"rating": "5"}', '{"rating": 5, "error": 1}', '{"rating": 4} 5', '{"rating": NaN}']
    broken = [refuse(), page(), torn(chat("5")), hang(), Reply(content=b"[" * 100_000), status(418)]
    # The padding puts the key where a long message is cut.
    leaks = [
        case
        for form in FORMS.values()
        for leak in ("x" * 185 + form(KEY),)
        for case in (
            says(f"Rating: 5. {form(KEY)}", model=form(KEY)),
            does(status(400, leak)),
            does(Reply(content=json.dumps({"error": {"message": leak}}).encode())),
            does(chat(None, refusal=leak)),
        )
    ]
    bad = [
        *map(says, refused + off + SERVICE_MESSAGES),
        *map(does, broken),
        *(does(leading_to(f"{elsewhere}/{code}", code)) for code in (301, 302, 303, 307, 308)),
        does(Reply(endless=b" " * 65536)),
        does(Reply(endless=b"5", pause=0.05)),
        does(Reply(endless_head=b"x: " + b"y" * 9000 + b"\r\n")),
        does(packed(b"5" * 50_000_000)),
        *leaks,
    ]
    return odd + [case for one in bad for case in (one, good(len(bad) % 6))]


def signs(text: str) -> list[str]:
    """Return the pieces of the key found in a text, in any encoding."""
    plain = _WRITTEN_OUT.sub(_plain, unquote(unquote(text)))
    squeezed = re.sub(r"[\s\u200b\\'\"+-]|(?<=\\)n", "", plain).lower()
    written = [KEY, KEY[::-1], KEY.encode().hex()]
    for one in (KEY, KEY[::-1]):
        written += [base64.b64encode(b"\0" * n + one.encode()).decode()[4:-4] for n in range(3)]
    bare = [re.sub(r"[+-]", "", one).lower() for one in written]
    pieces = {one[at : at + PIECE] for one in bare for at in range(len(one) - PIECE + 1)}
    return sorted(piece for piece in pieces if piece in squeezed)


_WRITTEN_OUT = re.compile(r"\\+u00([0-9a-f]{2})|&(?:amp;)*#(?:x([0-9a-f]+)|([0-9]+));", re.IGNORECASE)


def _plain(match: re.Match[str]) -> str:
    digits = match[1] or match[2]
    return chr(int(digits, 16) if digits else int(match[3]))


def texts_of(project: Project) -> Iterator[str]:
    """Yield every text stored in a project."""
    columns = project.rows(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'main'"
        " AND data_type LIKE '%VARCHAR%'"
    )
    for table, column in columns:
        yield from (str(text) for (text,) in project.rows(f'SELECT DISTINCT "{column}" FROM "{table}"') if text)


def contents_of(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file below a folder as text, both as stored and decompressed."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        raw = path.read_bytes()
        if path.suffix in (".duckdb", ".parquet"):
            # Compressed content is read as a table; this checks the bytes around it.
            assert KEY.encode() not in raw and all(piece.encode() not in raw for piece in pieces(KEY, PIECE))
        else:
            yield path, raw.decode("latin-1")
        if path.suffix == ".gz":
            yield path, gzip.decompress(raw).decode()
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as packed_files:
                yield from ((path, packed_files.read(name).decode("latin-1")) for name in packed_files.namelist())
        elif path.suffix == ".parquet":
            yield path, str(duckdb.sql(f"FROM '{path}'").fetchall())


@pytest.fixture
def project_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("EXAM_PROJECT", "hostile.duckdb")
    return tmp_path / "hostile.duckdb"


def prepared(path: Path, cases: int) -> None:
    """Create a project with one question and one pooled passage per case."""
    project = new_project(path)
    ids = [f"p{i}" for i in range(cases)]
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q", "query")], replace=True)
        add_passages(cursor, [Passage(one, f"Case number {one[1:]}.") for one in ids])
        ranking = [Ranked("q", one, rank, -float(rank)) for rank, one in enumerate(ids, 1)]
        stage_rankings(cursor, {"sys": ranking})
        write_runs(cursor, [("sys", "sys", "sys.run")])
        refresh_pool(cursor)
    # Judged passages are in the pool at any rank.
    judge(project, {("q", one): 0 for one in ids})
    save_version(project, [Question("q/a", "q", "What?")], "made for a test", "tester")
    project.close()


@pytest.mark.long
def test_sound_answers_are_kept_others_fail_and_key_is_in_no_file(
    exam: Exam,  # noqa: F811
    project_path: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with EndpointServer() as elsewhere:
        cases = hostile_cases(elsewhere.url)
        prepared(project_path, len(cases))
        log = project_path.with_name(f"{project_path.name}.wal")
        logged: list[bytes] = []

        def behave(seen: Seen) -> Reply:
            number = re.search(r"Case number (\d+)\.", seen.prompt)
            assert number
            if int(number[1]) % 20 == 0 and log.exists():
                # While the job runs, much of its data is only in this log.
                logged.append(log.read_bytes())
            return cases[int(number[1])].behave(seen)

        with EndpointServer(behave) as server:
            ran = exam(
                *("grade", "--grader", "self-rating", "--model", "m", "--base-url", server.url, "--concurrency", "16"),
                *("--set", "timeout_s=4", "--set", "attempts=2", "--set", "key_variable=OPENAI_API_KEY"),
            )  # fmt: skip
            assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"
        assert ran.code == 0, ran.err[-2000:]
        assert (elsewhere.seen, elsewhere.connections) == ([], 0)
    assert any(logged)
    # If the log only grew since the last read, the later copy contains the earlier one.
    logged = [raw for raw, later in itertools.pairwise([*logged, b""]) if not later.startswith(raw)]
    assert [at for at, raw in enumerate(logged) if signs(raw.decode("latin-1"))] == []
    assert "another-model (1)" in ran.err
    printed = [ran.out, ran.err]
    for command in (
        ("failures", "--limit", "5000"), ("failures", "--json", "--limit", "5000"), ("jobs",), ("jobs", "--json"),
        ("activity",), ("status",), ("export", "graded", "-o", "graded.jsonl.gz"), ("export", "bank", "-o", "bank.csv"),
        ("export", "qrels", "-o", "labels.qrels"), ("export", "bundle", "-o", "bundle.zip"),
        ("export", "project", "-o", "parquet"), ("export", "leaderboard", "-o", "board.tsv"),
    ):  # fmt: skip
        shown = exam(*command)
        assert shown.code == 0, (command, shown.err[-2000:])
        printed += [shown.out, shown.err]
    project = open_project(project_path)
    try:
        texts = "JOIN passage_texts t ON text_key = passage_text_key"
        kept = dict(project.rows(f"SELECT t.text, rating FROM grades {texts}"))
        failed = dict(project.rows(f"SELECT t.text, reason FROM failures {texts}"))
        defaulted = project.value("SELECT count(*) FROM grades WHERE defaulted")
        for i, case in enumerate(cases):
            assert kept.get(f"Case number {i}.") == case.rating, (i, failed.get(f"Case number {i}."), case)
        assert defaulted == 0
        assert kept.keys().isdisjoint(failed) and len(kept) + len(failed) == len(cases)
        assert all(reason and len(reason) < 300 and reason.isprintable() for reason in failed.values())
        assert project.value("SELECT count(*) FROM grades WHERE note LIKE '%answered by another-model%'") == 1
        held = [text for text in texts_of(project) if signs(text)]
        assert held == []
    finally:
        project.close()
    for text in [*printed, caplog.text]:
        assert signs(text) == []
    leaking = {path.name for path, text in contents_of(tmp_path) if signs(text)}
    assert leaking == set()
