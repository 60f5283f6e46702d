"""Live targets: faults, rate limits, planted drift and interrupted freezes."""

from __future__ import annotations

import json
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from exam_workbench.answers import (
    Target,
    diff_of_runs,
    frozen_runs,
    measure_fall,
    query_difference,
    read_target,
    take_snapshot,
)
from exam_workbench.cli import cli
from exam_workbench.errors import GradingError
from exam_workbench.records import add_queries, drop_freeze, list_snapshots, run_names
from exam_workbench.store import Project
from exam_workbench.types import Query
from tests.made.projects import commit, filled_project, judge, reimported
from tests.made.refusals import check_error, mentions, refusal

QUERIES = [f"q{number}" for number in range(1, 9)]


class Searcher:
    """A search server that returns N-1, N-2 and N-3 for query N, with planted faults and drift."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.keys: set[str | None] = set()
        self.faults: dict[str, list[int]] = {}
        self.drift = False
        self.text = "Text"

    def reply(self, query: str, key: str | None) -> tuple[int, dict[str, str], Any]:
        self.seen[query] += 1
        self.keys.add(key)
        if self.faults.get(query):
            status = self.faults[query].pop(0)
            return status, {"Retry-After": "0"} if status in (429, 503) else {}, {"error": "not now"}
        name = query.split()[-1]
        order = [3, 2] if self.drift else [1, 2, 3]
        hits = [{"_id": f"{name}-{n}", "_score": 9.0 - at, "_source": {"text": f"{self.text} {name} {n}."}}
                for at, n in enumerate(order)]  # fmt: skip
        said = "Nothing is known of" if self.drift and name == "q2" else "An answer to"
        return 200, {}, {"hits": {"hits": hits}, "answer": f"{said} {name}."}


@pytest.fixture
def searcher() -> Searcher:
    return Searcher()


@pytest.fixture
def url(searcher: Searcher) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self, query: str) -> None:
            status, headers, value = searcher.reply(query, self.headers.get("Authorization"))
            content = json.dumps(value).encode()
            self.send_response(status)
            for name, text in (headers | {"Content-Length": str(len(content))}).items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["query"]["text"])

        def do_GET(self) -> None:
            self._answer(parse_qs(urlsplit(self.path).query)["q"][0])

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/search"
    server.shutdown()
    server.server_close()


def described(at: str, **more: Any) -> Target:
    told = {
        "url": at, "request": {"query": {"text": "{query}"}, "size": "{k}"}, "passages": "hits.hits", "id": "_id",
        "text": "_source.text", "score": "_score", "k": 3,
    }  # fmt: skip
    return read_target(json.dumps(told | more), "target.json")


def fill_queries(project: Project) -> None:
    commit(project, add_queries, [Query(name, f"words of {name}") for name in QUERIES], replace=False)
    judge(project, {(name, f"{name}-1"): 1 for name in QUERIES}, "NIST")


filled = filled_project(fill_queries)


def test_freeze_survives_faults_and_stops_at_failed_queries_unless_allowed(
    filled: Project, url: str, searcher: Searcher
) -> None:
    searcher.faults = {"words of q1": [503], "words of q2": [429, 429]}
    frozen = take_snapshot(filled, described(url, answer="answer", rate=500), "monday", "ann")
    assert (frozen.run, frozen.answered, frozen.failed, frozen.changed) == ("monday", 8, {}, 0)
    assert searcher.seen["words of q1"] == 2 and searcher.seen["words of q2"] == 3 and searcher.seen["words of q3"] == 1
    assert frozen.system is not None and frozen.system.startswith("monday-")
    ranked = filled.rows(
        "SELECT passage_id FROM rankings JOIN runs USING (run_key) JOIN queries USING (query_key)"
        " JOIN passages USING (passage_key) WHERE name = 'monday' AND query_id = 'q3' ORDER BY rank"
    )
    assert ranked == [("q3-1",), ("q3-2",), ("q3-3",)]
    assert filled.value("SELECT text FROM passage_texts WHERE text LIKE 'Text q3 1%'") == "Text q3 1."
    with refusal("name-taken", "monday"):
        take_snapshot(filled, described(url), "monday", "ann")
    searcher.seen.clear()
    searcher.faults = {"words of q5": [400], "words of q6": [503] * 9}
    with refusal("queries-failed", "2", "8", "q5", "HTTP", "400", kind=GradingError):
        take_snapshot(filled, described(url, attempts=2), "tuesday", "ann")
    assert run_names(filled) == ["monday", "monday-responses"]
    assert searcher.seen["words of q5"] == 1 and searcher.seen["words of q6"] == 2
    searcher.faults = {"words of q5": [400]}
    frozen = take_snapshot(filled, described(url), "tuesday", "ann", allow_failed=True)
    assert list(frozen.failed) == ["q5"] and frozen.answered == 7
    with refusal("queries-failed", "hits.nothing", kind=GradingError):
        take_snapshot(filled, described(url, passages="hits.nothing"), "wednesday", "ann")


@pytest.fixture
def heard() -> Iterator[None]:
    """Enable Ctrl+C, because background processes of a shell ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted_freeze_resumes_without_repeated_requests(
    filled: Project, url: str, searcher: Searcher, tmp_path: Path, heard: None
) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    target = described(url, answer="answer", concurrency=1)
    with refusal("freeze-interrupted", "3", "8", kind=GradingError):
        take_snapshot(filled, target, "monday", "ann", watch=interrupt)
    (one,) = list_snapshots(filled)
    assert one.open and one.came == 3 and run_names(filled) == []
    # A changed request is refused; a reworded query is sent again.
    with refusal("freeze-of-another-request"):
        take_snapshot(filled, described(url, k=2, answer="answer"), "monday", "ann")
    commit(filled, add_queries, [Query("q1", "other words of q1")], replace=True)
    # An open freeze survives export and continues in the copy; one query still fails.
    copied = reimported(filled)
    searcher.faults = {"words of q5": [400]}
    with refusal("queries-failed", "1", "8", kind=GradingError) as failure:
        take_snapshot(copied, target, "monday", "ann")
    assert mentions(failure.value.hint, "7") and run_names(copied) == []
    frozen = take_snapshot(copied, described(url, answer="answer", rate=900, attempts=1), "monday", "ann")
    assert (frozen.before, frozen.answered, frozen.queries, frozen.failed) == (7, 8, 8, {})
    assert searcher.seen == {f"words of {name}": 1 for name in QUERIES} | {"words of q5": 2, "other words of q1": 1}
    (ended,) = list_snapshots(copied)
    assert (ended.open, ended.queries, ended.failed, ended.came) == (False, 8, 0, 0)
    assert ended.system == "monday-responses" and copied.value("SELECT count(*) FROM frozen_queries") == 0
    assert copied.value("SELECT count(*) FROM rankings JOIN runs USING (run_key) WHERE name = 'monday'") == 24
    copied.close()
    with refusal("unknown-freeze", "tuesday"):
        drop_freeze(filled, "tuesday", "ann")
    assert drop_freeze(filled, "monday", "ann") == 3 and list_snapshots(filled) == []


def test_drift_is_detected_only_if_results_changed(filled: Project, url: str, searcher: Searcher) -> None:
    target = described(url, answer="answer")
    take_snapshot(filled, target, "monday", "ann")
    take_snapshot(filled, target, "tuesday", "ann")
    assert [one.name for one in frozen_runs(filled)] == ["tuesday", "monday"]
    assert diff_of_runs(filled, "monday", "tuesday") == []
    same = measure_fall(filled, "monday", "tuesday", "nDCG@10", "NIST")
    assert (same.difference, same.p, same.fell) == (0.0, None, False)
    searcher.drift, searcher.text = True, "New text"
    later = take_snapshot(filled, target, "wednesday", "ann")
    assert later.changed == 16
    changes = {one.query_id: one for one in diff_of_runs(filled, "tuesday", "wednesday")}
    first = changes["q1"]
    assert first.overlap == 0 and first.gone[0] == "q1-1" and first.new[0].startswith("q1-3~")
    assert [name for name, one in changes.items() if one.answer] == ["q2"]
    # Details of a query: the passages of both freezes, and those whose text changed under the same id.
    down = query_difference(filled, "tuesday", "wednesday", "q2")
    assert down.answers == ("An answer to q2.", "Nothing is known of q2.")
    assert [(one.rank, one.text, one.rewritten) for one in down.after] == [
        (1, "New text q2 3.", "q2-3"), (2, "New text q2 2.", "q2-2"),
    ]  # fmt: skip
    assert [one.rewritten is None for one in down.before] == [True, False, False]
    fall = measure_fall(filled, "tuesday", "wednesday", "nDCG@10", "NIST")
    assert fall.scores["q1"] == (1.0, 0.0)
    assert fall.fell and fall.after == 0 and fall.high < 0 and fall.p == pytest.approx(2 / 2**8)


def test_watch_fails_if_the_measure_fell(
    filled: Project, url: str, searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_KEY", "secret-of-the-target")
    file = tmp_path / "target.yaml"
    file.write_text(
        f"url: {url}\nrequest: {{query: {{text: '{{query}}'}}}}\npassages: hits.hits\nid: _id\ntext: _source.text\n"
        "key_variable: SEARCH_KEY\n"
    )
    filled.close()

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(cli, ["target", *arguments, "--project", str(filled.path)], standalone_mode=False)

    assert run("freeze", str(file), "--name", "base").exception is None
    assert searcher.keys == {"Bearer secret-of-the-target"}
    assert run("watch", str(file), "--since", "base", "--name", "night-1").exception is None
    searcher.drift = True
    fallen = run("watch", str(file), "--since", "base", "--name", "night-2", "--json")
    check_error(fallen.exception, "measure-fell")
    assert json.loads(fallen.stdout)["fall"]["fell"] and "secret-of" not in fallen.output
    told = json.loads(run("diff", "base", "night-2", "--json").stdout)["queries"]
    assert len(told) == 8 and told[0]["gone"] == ["q1-1"]
    listed = json.loads(run("list", "--json").stdout)["freezes"]
    assert [(one["name"], one["open"]) for one in listed] == [("night-2", False), ("night-1", False), ("base", False)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"request": {"q": "words"}}, "invalid-target"),
        ({"url": "ftp://host/"}, "invalid-address"),
        ({"passages": "hits..hits"}, "invalid-path"),
        ({"method": "PUT"}, "invalid-target"),
        ({"rate": "fast"}, "invalid-target"),
        ({"password": "x"}, "invalid-target"),
        ({"passages": ""}, "invalid-target"),
    ],
)
def test_invalid_target_is_refused(change: dict[str, Any], reason: str) -> None:
    with refusal(reason):
        described("http://127.0.0.1:1/", **change)


def test_placeholders_in_query_text_are_not_filled(url: str, searcher: Searcher, project: Project) -> None:
    commit(project, add_queries, [Query("q1", "{k} of {query_id} q1")], replace=False)
    target = described(url, method="GET", request={"q": "{query}"})
    take_snapshot(project, target, "got", "ann")
    assert list(searcher.seen) == ["{k} of {query_id} q1"]
    assert target.body("q1", "x") == {"q": "x"} and described(url).body("q1", "x")["size"] == 3
