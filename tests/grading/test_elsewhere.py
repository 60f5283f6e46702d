"""Offline grading: files of missing pairs, and batches at an endpoint."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from exam_workbench import grading
from exam_workbench.bank import set_price
from exam_workbench.cli import cli
from exam_workbench.errors import FileError, GradingError
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.graders import Grader, PassingError, Price, Prompt, extend_access, make_grader, use_access
from exam_workbench.graders._endpoint.endpoint_back_end import BatchEndpoint
from exam_workbench.grading._needed_pairs import EVERYTHING, Scope
from exam_workbench.grading._offline_grading import ReplyImportResult
from exam_workbench.grading._price_tag import billing_sentence, read_before
from exam_workbench.jobs import find_jobs, job_usage
from exam_workbench.records import Job, add_passages, close_interrupted
from exam_workbench.store import Project, open_project
from exam_workbench.store.migrations import MIGRATIONS, apply_migrations
from exam_workbench.types import Passage, Question
from tests.made.batch_server import Plan, Shelf
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, status
from tests.made.projects import commit, file_of, fill, module_project, new_project
from tests.made.refusals import mentions, refusal

QUESTIONS = [Question("q1/a", "q1", "Which A?"), Question("q1/b", "q1", "Which B?"), Question("q2/c", "q2", "Which C?")]
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p4"]}}
KEYED = [Question("q1/a", "q1", "Which A?", answer_key="apple"), Question("q1/b", "q1", "Which B?", answer_key="pear")]


def words(prompt: str) -> str:
    """Return the model's reply to a prompt; equal prompts get equal replies."""
    if "apple" in prompt or "pear" in prompt:
        return "Yes" if len(prompt) % 2 else "No"
    return str(len(prompt) % 6)


def behave(seen: Seen) -> Reply:
    return chat(words(seen.prompt), model="m")


def engine(path: Path, out: Path, skip: int = -1) -> Path:
    """Answer a batch file as a batch endpoint does, in another order; one call may expire."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    answered = []
    for at, row in enumerate(rows):
        if at == skip:
            answered.append({"custom_id": row["custom_id"], "response": None, "error": {"code": "batch_expired"}})
            continue
        body = json.loads(behave(Seen(row["body"]["messages"][-1]["content"], 1, row["body"], {})).content)
        answered.append({"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}, "error": None})
    out.write_text("".join(json.dumps(row) + "\n" for row in reversed(answered)))
    return out


def edit(answers: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """Change the rows of a file of answers."""
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    change(rows)
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return answers


def rater(kind: str = "self-rating", base_url: str = "http://localhost:9/v1", **parameters: Any) -> Grader:
    given = {"model": "m", "back_end": "openai", "base_url": base_url, "structured": "text"}
    with use_access(extend_access(base_url, None)):
        return make_grader(kind, given | parameters)


def grades(project: Project) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT q.text, p.text, rating, defaulted, answer, raw, note FROM grades g"
        " JOIN question_texts q ON q.text_key = question_text_key"
        " JOIN passage_texts p ON p.text_key = passage_text_key ORDER BY ALL"
    )


@pytest.fixture
def made(tmp_path: Path) -> Callable[[list[Question]], Project]:
    numbers = itertools.count()

    def make(questions: list[Question] = QUESTIONS) -> Project:
        project = new_project(tmp_path / f"{next(numbers)}.duckdb")
        fill(project, questions, {}, RUNS)
        return project

    return make


def take(project: Project, grader: Grader, *paths: Path) -> ReplyImportResult:
    return grading.import_answer_files(project, grader, [Source.from_path(path) for path in paths], "tester")


def test_answers_imported_repeatedly_in_any_order_give_the_grades_of_the_endpoint(
    made: Callable[..., Project], tmp_path: Path
) -> None:
    here, there = made(), made()
    with EndpointServer(behave) as server:
        grading.run_job(here, rater(base_url=server.url), grading.Request(), "tester")
    grader = rater()
    assert grading.write_missing(there, grader, tmp_path / "calls.jsonl", 1).calls == 8
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl")
    taken = take(there, grader, answers)
    assert (taken.graded + taken.failed, taken.unanswered, taken.unmatched) == (8, 0, 0)
    assert grades(there) == grades(here) != []
    assert (taken.usage.calls, taken.usage.input_tokens, taken.usage.output_tokens) == (8, 80, 40)
    (job,) = find_jobs(there)
    assert (job.state, job.total, job.done, job.calls) == ("done", 8, taken.graded, 8)
    again = take(there, grader, answers)
    assert (again.graded, again.failed, again.known) == (0, 0, 8)
    assert find_jobs(there) == [job]
    lines = answers.read_text().splitlines(keepends=True)
    for name, part in (("a", lines[:3]), ("b", lines[3:6]), ("c", lines[2:])):
        (tmp_path / name).write_text("".join(part))
    for order in ("abcab", "cba"):
        project = made()
        grading.write_missing(project, grader, tmp_path / "again.jsonl", 1)
        for name in order:
            take(project, grader, tmp_path / name)
        assert grades(project) == grades(here)
        assert grading.make_plan(project, grader.spec, 1).to_grade == 0


def test_expired_calls_stay_missing_refused_calls_fail_and_unknown_ids_are_unmatched(
    made: Callable[..., Project], tmp_path: Path
) -> None:
    project, grader = made(), rater()
    grading.write_missing(project, grader, tmp_path / "calls.jsonl", 1)

    def rename(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            row["custom_id"] = row["custom_id"][:-1] + ("0" if row["custom_id"][-1] != "0" else "1")

    taken = take(project, grader, edit(engine(tmp_path / "calls.jsonl", tmp_path / "others.jsonl"), rename))
    assert (taken.graded, taken.unmatched) == (0, 8)

    def refuse(rows: list[dict[str, Any]]) -> None:
        rows[0]["response"] = {"status_code": 400, "body": {"error": {"message": "too long"}}}
        rows[1]["response"] = {"status_code": 429, "body": {"error": {"message": "slow down"}}}
        rows[2]["response"] = {"status_code": 200, "body": {"error": {"code": 429, "message": "slow down"}}}

    taken = take(project, grader, edit(engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl", skip=0), refuse))
    assert (taken.graded, taken.failed, taken.unanswered) == (4, 1, 3)
    planned = grading.make_plan(project, grader.spec, 1)
    assert (planned.known, planned.failed, planned.to_grade) == (4, 1, 3)
    assert "too long" in project.value("SELECT reason FROM failures")
    assert grading.write_missing(project, grader, tmp_path / "rest.jsonl", 1).calls == 3


TOO_LONG = "This model's maximum context length is 100 tokens. However, your messages resulted in 210 tokens."


def refused(status_code: int, **error: Any) -> dict[str, Any]:
    return {"status_code": status_code, "body": {"error": error} if error else {}}


# The passage is halved after each refusal; fewer than 80 characters are too few to grade.
@pytest.mark.parametrize(
    ("words", "longest", "response", "calls", "failed"),
    [
        (120, 70, refused(400, message=TOO_LONG), [9, 1, 0, 0], 0),
        (120, 1, refused(400, message=TOO_LONG), [9, 1, 1, 0], 1),
        (400, 141, refused(413), [9, 1, 1, 0], 0),
        (400, 282, refused(400, message="Bad request"), [9, 1, 0, 0], 0),
        (400, 282, refused(200, code=400, message="Provider returned error"), [9, 1, 0, 0], 0),
    ],
)
def test_refused_calls_get_a_shorter_passage(
    made: Callable[..., Project], tmp_path: Path, words: int, longest: int, response: Any, calls: list[int], failed: int
) -> None:
    project, grader = made(), rater()
    commit(project, add_passages, [Passage("long", "word " * words)])
    import_files(project, "runs", [Source("more.run", data=b"q2 Q0 long 1 9 more\n")], "ann")
    sent: dict[str, str] = {}

    def refuse(rows: list[dict[str, Any]]) -> None:
        for row in rows:
            if sent[row["custom_id"]].count("word") > longest:
                row["response"] = response

    answers: list[Path] = []
    counts = []
    for number in range(4):
        path = tmp_path / f"{number}.jsonl"
        given = [Source.from_path(path) for path in answers]
        counts.append(grading.write_missing(project, grader, path, 1, answers=given).calls)
        sent = {row["custom_id"]: row["body"]["messages"][-1]["content"] for row in map(json.loads, path.open())}
        answers.append(edit(engine(path, tmp_path / f"answers-{number}.jsonl"), refuse))
    taken = take(project, grader, *answers)
    assert counts == calls
    assert (taken.graded, taken.failed, taken.unfinished) == (9 - failed, failed, 0)
    if failed:
        assert TOO_LONG[:30] in project.value("SELECT reason FROM failures")
    else:
        assert [note for *_, text, _, _, _, _, note in grades(project) if text and "word" in text and note] != []


def test_two_call_method_is_planned_in_two_rounds(made: Callable[..., Project], tmp_path: Path) -> None:
    here, there = made(KEYED), made(KEYED)
    with EndpointServer(behave) as server:
        grading.run_job(here, rater("answer", check="model", base_url=server.url), grading.Request(), "tester")
    grader = rater("answer", check="model")
    assert grading.write_missing(there, grader, tmp_path / "1.jsonl", 1).calls == 6
    first = engine(tmp_path / "1.jsonl", tmp_path / "first.jsonl")
    taken = take(there, grader, first)
    assert taken.unfinished == 6 - taken.graded - taken.failed > 0
    rest = grading.write_missing(there, grader, tmp_path / "2.jsonl", 1, answers=[Source.from_path(first)])
    assert rest.calls == taken.unfinished
    second = engine(tmp_path / "2.jsonl", tmp_path / "second.jsonl")
    assert take(there, grader, second, first).unfinished == 0
    assert grades(there) == grades(here) != []
    for order in ((first, second), (second, first)):
        project = made(KEYED)
        grading.write_missing(project, grader, tmp_path / "again.jsonl", 1)
        take(project, grader, *order)
        assert grades(project) == grades(here)


def test_parquet_files_accept_plain_text_answers(made: Callable[..., Project], tmp_path: Path) -> None:
    project, other, grader = made(), made(), rater()
    grading.write_missing(other, grader, tmp_path / "calls.jsonl", 1)
    take(other, grader, engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl"))
    assert grading.write_missing(project, grader, tmp_path / "pairs.parquet", 1).calls == 8
    rows = pq.read_table(tmp_path / "pairs.parquet").to_pylist()
    for row in rows:
        row["answer"] = words(json.loads(row["body"])["messages"][-1]["content"])
    pq.write_table(pa.Table.from_pylist(rows[:-1]), tmp_path / "shard.parquet")
    assert take(project, grader, tmp_path / "shard.parquet").graded == 7
    rows[-1] |= {"answer": None, "error": "out of memory"}
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "shard.parquet")
    assert take(project, grader, tmp_path / "shard.parquet").failed == 1
    assert take(project, grader, tmp_path / "shard.parquet").failed_again == 1
    assert set(grades(project)) < set(grades(other))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('{"custom_id": 3}', "unknown-call"), ('{"custom_id": "a.b.c.d", "answer": "4"}', "unknown-call"),
        ('{"custom_id": "000000000000.1.2.0", "answer": "4"}', "unknown-call"),
        ("MINE.99999.99999.0", "unknown-texts"), ("[1]", "not-an-object"),
    ],
)  # fmt: skip
def test_invalid_row_changes_nothing(made: Callable[..., Project], tmp_path: Path, line: str, code: str) -> None:
    project, grader = made(), rater()
    grading.write_missing(project, grader, tmp_path / "calls.jsonl", 1)
    answers = engine(tmp_path / "calls.jsonl", tmp_path / "answers.jsonl")
    if line.startswith("MINE"):
        line = json.dumps({"custom_id": line.replace("MINE", grader.spec.fingerprint[:12]), "answer": "4"})
    answers.write_text(answers.read_text() + line + "\n")
    with refusal(code, "answers.jsonl:9", kind=FileError):
        take(project, grader, answers)
    assert grades(project) == [] and find_jobs(project) == []


PAIRS = 8
ASKED = "\nPassage: {context}\nQuestion: {question}\nRating:"


def answer_call(seen: Seen) -> Reply:
    """Answer, and report the token counts that price tags estimate."""
    return chat(words(seen.prompt), model="m", usage={"prompt_tokens": read(seen), "completion_tokens": 6})


def read(seen: Seen) -> int:
    return sum(len(message["content"]) for message in seen.body["messages"]) // 4 + 1


@pytest.fixture(scope="module")
def server() -> Iterator[EndpointServer]:
    with EndpointServer(answer_call) as server:
        yield server


@pytest.fixture(autouse=True)
def shelf(server: EndpointServer) -> Shelf:
    """The files and batches of the server, empty."""
    return anew(server)


def anew(server: EndpointServer) -> Shelf:
    server.shelf, server.behave = Shelf(server._answer_line), answer_call
    server.seen.clear()
    server.counts.clear()
    return server.shelf


def put_priced(project: Project) -> None:
    fill(project, QUESTIONS, {}, RUNS)
    set_price(project, "m", Price(100.0, 1000.0), "ann")


project = module_project(put_priced)
"""One project for all tests; each test uses new graders without grades."""
keyed = module_project(lambda project: fill(project, KEYED, {}, RUNS))


_fresh = itertools.count(1)


def batch_rater(server: EndpointServer, kind: str = "self-rating", **more: Any) -> Grader:
    """A grader that has not graded yet."""
    return rater(kind, server.url, **{"temperature": next(_fresh) / 1000, **more})


def start(project: Project, grader: Grader, scope: Scope = EVERYTHING, most: int = 3, **caps: Any) -> list[int]:
    return grading.send_batches(project, grader, grading.Request(scope, batch=True, batch_size=most, **caps), "ann")


def carry_on(project: Project, grader: Grader, rounds: int = 30) -> int:
    """Advance batches until none is waiting; return the number of rounds."""
    for number in range(1, rounds + 1):
        if not grading.advance_batches(project, grader, "ann").jobs:
            return number
    raise AssertionError("it does not end")


def send_all(project: Project, grader: Grader, scope: Scope = EVERYTHING, most: int = 3, **caps: Any) -> Job:
    """Send batches, advance them until none is waiting, and return their job."""
    start(project, grader, scope, most, **caps)
    carry_on(project, grader)
    return find_jobs(project)[0]


def ratings(project: Project, grader: Grader) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, raw FROM grades JOIN graders USING (grader_key)"
        " WHERE fingerprint = ? ORDER BY ALL",
        [grader.spec.fingerprint],
    )


def test_batches_give_same_grades_at_half_price(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    alone, batched = batch_rater(server), batch_rater(server)
    grading.run_job(project, alone, grading.Request(), "ann")
    whole = find_jobs(project)[0]
    server.counts.clear()
    tag = grading.price_tag(project, batched, 1)
    start(project, batched)
    sent = grading.make_plan(project, batched.spec, 1)
    assert (sent.sent, sent.to_grade, sent.known) == (PAIRS - 1, 0, 1)
    assert grading.batch_standing(project, batched.spec).batches == {"planned": 3}
    carry_on(project, batched)
    assert ratings(project, batched) == ratings(project, alone) != []
    assert set(server.counts.values()) == {1} and len(server.counts) == PAIRS
    assert set(shelf.made.values()) == {1} and len(shelf.batches) == 3
    job = find_jobs(project)[0]
    assert (job.state, job.total, job.done, job.calls) == ("done", PAIRS, PAIRS, PAIRS)
    assert (job.input_tokens, job.output_tokens) == (whole.input_tokens, whole.output_tokens)
    assert abs((job.input_tokens or 0) / tag.input_tokens - 1) < 0.05
    assert abs((job.output_tokens or 0) / tag.output_tokens - 1) < 0.05
    # One of the eight pairs was sent alone, to detect unsupported parameters before the batches.
    assert tag.batch_cost == pytest.approx((whole.cost or 0) * (1 + (PAIRS - 1) / 2) / PAIRS, rel=0.05)
    assert job.cost == pytest.approx(tag.batch_cost, rel=0.05)
    assert (
        job.message == billing_sentence(job.request["told"], job_usage(job)) and job.request["told"]["calls"] == PAIRS
    )
    assert all(mentions(job.message, f"{tokens:,}") for tokens in (job.input_tokens or 0, tag.input_tokens))


def test_background_job_follows_its_batches(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    shelf.states = ("validating", "completed")
    request = grading.Request(batch=True, batch_size=4)
    job = grading.start_job(project, batch_rater(server), request, "ann")
    assert job.wait(60) and (job.progress.state, job.progress.graded) == ("done", PAIRS), job.progress.message


def test_price_tag_counts_thinking_and_cached_tokens(project: Project, server: EndpointServer) -> None:
    plain = grading.price_tag(project, batch_rater(server), 1)
    grader = batch_rater(server, thinking_tokens=400)
    tag = grading.price_tag(project, grader, 1)
    # Before its first grades, the full thinking budget is assumed.
    assert (tag.thinking_tokens, tag.output_tokens) == (400 * PAIRS, plain.output_tokens + 400 * PAIRS)
    assert tag.cached_tokens == 0
    long = Prompt("long", "Long", "self-rating", "Rate it. " * 600 + ASKED, "rating", "ours", system="Rate it. " * 600)
    with use_access(extend_access(server.url, None)):
        many = make_grader("self-rating", {"model": "m", "base_url": server.url, "prompt": "long"}, {"long": long})
    set_price(project, "m", Price(100.0, 1000.0, cached=10.0), "ann")
    cheap = grading.price_tag(project, many, 1)
    set_price(project, "m", Price(100.0, 1000.0), "ann")
    dear = grading.price_tag(project, many, 1)
    assert 0.5 * cheap.input_tokens < cheap.cached_tokens == dear.cached_tokens < cheap.input_tokens
    assert (dear.cost or 0) - (cheap.cost or 0) == pytest.approx(90 * cheap.cached_tokens / 1e6)


def test_shared_prefixes_count_in_whole_blocks_above_a_minimum() -> None:
    one, other = "a" * 400 + "b" * 400, "a" * 400 + "c" * 400
    assert read_before([one, other], 16, 16) == pytest.approx(96 / 402)
    assert read_before([one, other], 101, 16) == 0
    assert read_before([one, one, one], 128, 128) == pytest.approx(2 * 128 / 603)
    long = "x" * 4 * 1024
    assert read_before([long, long]) == pytest.approx(1024 / 2050)
    assert read_before([long]) == read_before([]) == 0


@pytest.mark.parametrize(("prompt", "fence", "first"), [
    ("self-rating", False, "question"),
    ("self-rating", True, "question"),
    ("self-rating-chat", False, "passage"),
])  # fmt: skip
def test_pairs_are_ordered_to_share_prompt_prefixes(prompt: str, fence: bool, first: str) -> None:
    grader = rater(prompt=prompt, fence=fence)
    ordered = grader.ordered([(2, 1), (1, 2), (2, 2), (1, 1)])  # type: ignore[attr-defined]
    by_question = [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert ordered == (by_question if first == "question" else [(1, 1), (2, 1), (1, 2), (2, 2)])


class Killed(BaseException):
    """Simulates the end of the process."""


class Gate:
    """Counts steps that change the endpoint or the project, and raises `Killed` after a chosen step."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed, self.last = 0, -1
        for owner, name in ((BatchEndpoint, "_call_service"), (Project, "write")):
            monkeypatch.setattr(owner, name, self._through(getattr(owner, name)))

    def _through(self, step: Any) -> Any:
        def through(*args: Any, **options: Any) -> Any:
            made = step(*args, **options)
            if self.passed == self.last:
                raise Killed
            self.passed += 1
            return made

        return through

    def close_at(self, step: int) -> None:
        self.passed, self.last = 0, step


def test_killed_batches_are_paid_once(keyed: Project, server: EndpointServer, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, where = Gate(monkeypatch), keyed
    expected: tuple[list[tuple[Any, ...]], int, int] | None = None
    for last in itertools.count(-1):
        shelf, grader = anew(server), batch_rater(server, "answer", check="model")
        # Some compatible endpoints do not return the metadata of a batch.
        shelf.keeps_metadata, shelf.states = bool(last % 2), ("validating", "completed")
        gate.close_at(last)
        killed = False
        try:
            start(where, grader, most=5)
            carry_on(where, grader)
        except Killed:
            killed = True
        gate.close_at(-1)
        # The single call is lost if the process dies before it stores the answer.
        lost = len(server.seen) if killed and not any(job.done + job.failed for job in of(where, grader)) else 0
        close_interrupted(where)
        carry_on(where, grader)
        # A job that was killed before anything was sent is started again.
        if start(where, grader, most=5):
            carry_on(where, grader)
        assert set(shelf.made.values()) == {1}, last
        # An endpoint also answers, and bills, a batch that is never fetched.
        calls = shelf.made.total() + len(server.seen) - lost
        got = ratings(where, grader), calls, len(shelf.batches)
        expected = expected or got
        assert got == expected, last
        assert grading.make_plan(where, grader.spec, 1).to_grade == 0 and not grading.waiting_jobs(where, grader.spec)
        paid = sum((job.input_tokens or 0) + (job.output_tokens or 0) for job in of(where, grader))
        alone = sum(read(seen) + 6 for seen in server.seen)
        assert lost or paid == sum(shelf.tokens) + alone, last
        if last >= 0 and not killed:
            assert last > 15
            break


def of(project: Project, grader: Grader) -> list[Job]:
    """The jobs of a grader, newest first."""
    keys = project.rows(
        "SELECT job_key FROM jobs JOIN graders ON subject_key = grader_key WHERE fingerprint = ?",
        [grader.spec.fingerprint],
    )
    return [job for job in find_jobs(project) if (job.key,) in keys]


def test_expired_calls_of_batches_stay_missing(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server)
    shelf.plans = [Plan(expires_after=1), Plan(broken=1)]
    refused: list[str] = []

    def unwell(seen: Seen) -> Reply:
        if seen.path == "/v1/chat/completions" and server.shelf.made.total() in (2, 3) and len(refused) < 2:
            refused.append(seen.prompt)
            return status(400 if len(refused) == 1 else 429, "not this one")
        return answer_call(seen)

    server.behave = unwell
    job = send_all(project, grader)
    planned = grading.make_plan(project, grader.spec, 1)
    # Done: 1 alone, 1 of 3 in batch 1, 1 in batch 3. Batch 2: one refused, one rate-limited, one cut off.
    assert (job.state, job.done, job.failed) == ("done", 3, 1)
    assert (planned.known, planned.failed, planned.to_grade, planned.sent) == (3, 1, 4, 0)
    # Apart from the bill, the message has only the number of unanswered calls.
    bill = billing_sentence(job.request.get("told"), job_usage(job))
    assert job.message.endswith(bill) and re.findall(r"\d+", job.message.removesuffix(bill)) == ["4"]
    reason = project.value("SELECT reason FROM failures WHERE job_key = ?", [job.key])
    assert reason == "HTTP 400: not this one"
    before = shelf.made.total()
    send_all(project, grader, Scope(retry_failed=True))
    assert grading.make_plan(project, grader.spec, 1).known == PAIRS
    # The parameters of the endpoint are known by now, so no call is sent alone.
    assert shelf.made.total() - before == 5 and len(server.seen) == 1


def test_calls_over_token_limit_are_sent_again(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server)
    shelf.plans = [Plan(), Plan(fails="token_limit_exceeded")]
    assert send_all(project, grader).state == "done" and grading.make_plan(project, grader.spec, 1).known == PAIRS
    assert set(shelf.made.values()) == {1}
    hopeless = batch_rater(server)
    shelf.plans = [Plan(fails="token_limit_exceeded")] * 3
    job = send_all(project, hopeless)
    assert job.state == "failed" and "(token_limit_exceeded)" in job.message and "--batch-size" in job.message
    assert grading.make_plan(project, hopeless.spec, 1).to_grade == PAIRS - 1


def test_delayed_pairs_still_get_their_second_call(keyed: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server, "answer", check="model")
    shelf.plans = [Plan(), Plan(fails="token_limit_exceeded")]
    job = send_all(keyed, grader)
    plan = grading.make_plan(keyed, grader.spec, 1)
    assert (job.state, plan.to_grade, plan.failed) == ("done", 0, 0) and len(shelf.batches) > 3
    assert set(shelf.made.values()) == {1}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_kept_first_answers_are_not_paid_again(
    keyed: Project, server: EndpointServer, shelf: Shelf, tmp_path: Path, elsewhere: bool
) -> None:
    grader, whole = (batch_rater(server, "answer", check="model") for _ in range(2))
    (key,) = start(keyed, grader, most=2)
    while not keyed.value("SELECT count(*) FROM kept_replies WHERE job_key = ?", [key]):
        grading.advance_batches(keyed, grader, "ann")
    grading.cancel_batches(keyed, grader, "ann")
    carry_on(keyed, grader)
    left = grading.make_plan(keyed, grader.spec, 1).to_grade
    kept = keyed.value("SELECT count(*) FROM kept_replies WHERE job_key = ?", [key])
    before, tag = len(server.seen), grading.price_tag(keyed, grader, 1)
    if elsewhere:
        plan = tmp_path / "plan.jsonl"
        assert grading.write_missing(keyed, grader, plan, 1).calls == left == kept
        taken = take(keyed, grader, engine(plan, tmp_path / "answers.jsonl"))
        assert (taken.graded, taken.usage.calls, taken.unfinished) == (kept, kept, 0)
    else:
        final = grading.run_job(keyed, grader, grading.Request(), "ann")
        assert (final.state, final.graded, tag.calls) == ("done", left, final.usage.calls)
        assert final.usage.calls == len(server.seen) - before == 2 * left - kept < 2 * left
    grading.run_job(keyed, whole, grading.Request(), "ann")
    assert ratings(keyed, grader) == ratings(keyed, whole) != []


def test_cancelled_batches_keep_partial_results(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server)
    shelf.plans = [Plan(stuck=True), Plan(stuck=True)]
    start(project, grader, most=4)
    for _ in range(3):
        assert grading.advance_batches(project, grader, "ann").jobs == 1
    assert grading.batch_standing(project, grader.spec).batches == {"in_progress": 2}
    grading.cancel_batches(project, grader, "ann")
    carry_on(project, grader)
    job = find_jobs(project)[0]
    assert job.state == "cancelled" and job.done == 1 + 2 + 1
    assert grading.make_plan(project, grader.spec, 1).to_grade == PAIRS - 4
    assert [batch.state for batch in grading.call_batches(project, job.key)] == ["taken", "taken"]
    assert grading.waiting_jobs(project, grader.spec) == []


def test_unsent_batches_are_dropped_and_caps_apply(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server)
    start(project, grader)
    grading.cancel_batches(project, grader, "ann")
    assert find_jobs(project)[0].state == "cancelled" and not shelf.batches
    assert grading.make_plan(project, grader.spec, 1).to_grade == PAIRS - 1
    grader = batch_rater(server)
    job = send_all(project, grader, max_calls=5)
    assert (job.state, job.done, job.calls) == ("stopped", 5, 5) and job.request["stopped"]
    assert job.message.removesuffix(billing_sentence(job.request.get("told"), job_usage(job))), "stop reason"
    money = batch_rater(server)
    job = send_all(project, money, max_cost=0.4)
    assert job.state == "stopped" and 1 < job.done < PAIRS and 0 < (job.cost or 0) <= 0.4


def test_batches_survive_an_unavailable_endpoint(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server)
    start(project, grader)
    shelf.away = 503
    for _ in range(2):
        with refusal("batch-call-failed", "503", kind=PassingError):
            grading.advance_batches(project, grader, "ann")
    shelf.away = 404
    with refusal("batch-call-refused", "404", kind=GradingError):
        grading.advance_batches(project, grader, "ann")
    shelf.away = 0
    grading.advance_batches(project, grader, "ann")
    other = rater(temperature=grader.spec.parameters["temperature"])
    with refusal("batches-at-another-address", "http://localhost:9/v1", kind=GradingError):
        grading.advance_batches(project, other, "ann")
    carry_on(project, grader)
    assert grading.make_plan(project, grader.spec, 1).known == PAIRS


def test_vanished_batches_and_answers_end_as_failed(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = batch_rater(server)
    shelf.states, shelf.plans = ("validating", "in_progress", "completed"), [Plan(), Plan(), Plan(expires_after=0)]
    start(project, grader, most=2)
    grading.advance_batches(project, grader, "ann")
    # The first file of answers appears after the four files of calls, and is that of the second batch.
    shelf.gone = {"batch-1", "file-5"}
    carry_on(project, grader)
    job = find_jobs(project)[0]
    states = [(batch.state, batch.code) for batch in grading.call_batches(project, job.key)]
    assert states == [("failed", "batch_gone"), ("failed", "batch_gone"), ("taken", ""), ("taken", "")]
    assert (job.state, job.done, grading.make_plan(project, grader.spec, 1).to_grade) == ("done", 2, 6)
    bill = billing_sentence(job.request.get("told"), job_usage(job))
    # Four calls of the two failed batches, and two expired ones.
    assert mentions(job.message, "batch_gone") and re.findall(r"\d+", job.message.removesuffix(bill)) == ["6"]
    shelf.plans = [Plan(stuck=True)]
    start(project, grader, most=50)
    grading.advance_batches(project, grader, "ann")
    shelf.away = 404
    assert grading.cancel_batches(project, grader, "ann").jobs == 0
    assert find_jobs(project)[0].state == "cancelled" and grading.make_plan(project, grader.spec, 1).to_grade == 6


def test_rest_of_answers_is_imported_if_one_file_is_gone(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = batch_rater(server)
    # Of the files after that of the calls, the second has the errors.
    shelf.plans, shelf.gone = [Plan(expires_after=3)], {"file-3"}
    server.behave = lambda seen: chat("I would say that it is relevant")
    keys = start(project, grader, most=50)
    carry_on(project, grader)
    final = grading.jobs_outcome(project, keys)
    assert (final.state, final.graded, final.defaulted) == ("done", 4, 4)


def test_changed_endpoint_is_asked_about_its_fields_again(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = batch_rater(server)
    send_all(project, grader, Scope(limit=2))

    def stricter(seen: Seen) -> Reply:
        if "temperature" in seen.body:
            return status(400, "Unsupported value", code="unsupported_value", param="temperature")
        return answer_call(seen)

    server.behave = stricter
    send_all(project, grader)
    assert [(job.done, job.failed) for job in of(project, grader)] == [(0, 6), (2, 0)]
    send_all(project, grader, Scope(retry_failed=True))
    assert grading.make_plan(project, grader.spec, 1).known == PAIRS


def test_first_call_detects_unsupported_parameters(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    def modern(seen: Seen) -> Reply:
        if "max_tokens" in seen.body:
            return status(400, "Unsupported parameter: use 'max_completion_tokens' instead", param="max_tokens")
        return answer_call(seen)

    server.behave = modern
    grader = batch_rater(server)
    start(project, grader, most=50)
    # Another process, which has not seen the error, continues the job.
    again = batch_rater(server, temperature=grader.spec.parameters["temperature"])
    carry_on(project, again)
    assert grading.make_plan(project, grader.spec, 1).known == PAIRS and shelf.made.total() == PAIRS - 1


def as_before_one_table_of_jobs(path: Path, older: Path) -> None:
    """Write a project in the schema before the single jobs table."""
    with duckdb.connect(str(older)) as connection:
        apply_migrations(connection, [name for name, _ in MIGRATIONS if name < "0029"])
        connection.execute(f"ATTACH '{path}' AS newer (READ_ONLY)")
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name <> 'newer' AND NOT temporary"
            " AND table_name NOT IN ('jobs', 'sittings', 'answer_jobs', 'migrations')"
        ).fetchall()
        for (table,) in tables:
            connection.execute(f"DELETE FROM {table}")
            connection.execute(f"INSERT INTO {table} FROM newer.{table}")
        connection.execute(
            "INSERT INTO jobs BY NAME SELECT subject_key AS grader_key, request AS asked, done AS graded,"
            " * EXCLUDE (kind, subject_key, request, done) FROM newer.jobs"
        )


def test_batches_in_flight_survive_the_upgrade(server: EndpointServer, shelf: Shelf, tmp_path: Path) -> None:
    project = new_project(tmp_path / "some.duckdb")
    fill(project, KEYED, {}, RUNS)
    # This method needs two calls, so first answers are kept while second calls are pending.
    grader = batch_rater(server, "answer", check="model")
    (key,) = start(project, grader)
    while not project.value("SELECT count(*) FROM kept_replies"):
        grading.advance_batches(project, grader, "ann")
    before = [(one.wave, one.state, one.batch_id) for one in grading.call_batches(project, key)]
    kept = project.rows("FROM kept_replies ORDER BY ALL")
    assert {wave for wave, *_ in before} == {1, 2}
    project.close()
    older = tmp_path / "older.duckdb"
    as_before_one_table_of_jobs(project.path, older)
    project = open_project(older)
    assert [(one.wave, one.state, one.batch_id) for one in grading.call_batches(project, key)] == before
    assert project.rows("FROM kept_replies ORDER BY ALL") == kept
    assert grading.make_plan(project, grader.spec, 1).to_grade == 0
    carry_on(project, grader)
    job = find_jobs(project)[0]
    assert (job.key, job.state, job.done) == (key, "done", job.total)
    assert set(shelf.made.values()) == {1}


def test_commands_send_fetch_and_cancel_batches(tmp_path: Path) -> None:
    path = tmp_path / "some.duckdb"
    file_of(lambda project: fill(project, QUESTIONS, {}, RUNS)).write(path)

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(cli, [*arguments, "--project", str(path)], standalone_mode=False)
        if result.exception:
            raise result.exception
        return json.loads(result.stdout) if "--json" in arguments else result.output

    run("prices", "set", "m", "100", "1000", "--cached", "10")
    assert run("prices", "--json")["prices"]["m"] == {"input": 100, "output": 1000, "cached": 10, "batch": 0.5}
    with EndpointServer() as server:
        grader = ("--grader", "self-rating", "--model", "m", "--base-url", server.url)
        assert "with --batch)" in run("grade", *grader, "--dry-run")
        top = run("grade", *grader, "--top", "1", "--dry-run", "--json")
        assert run("plan", *grader, "--top", "1", "--json")["to_grade"] == top["to_grade"] < 8
        assert top["price_tag"]["pairs"] == top["price_tag"]["calls"] == top["to_grade"]
        assert top["price_tag"]["cost"] > 0
        with refusal("invalid-top"):
            run("grade", *grader, "--top", "1000")
        server.shelf.states = ("validating", "in_progress", "completed")
        sent = run("grade", *grader, "--batch", "--batch-size", "4", "--no-wait", "--json")
        assert (sent["calls"], sent["batches"]) == (7, {"in_progress": 2})
        found = run("batch", "status", "--json")["batches"]
        assert [(one["batch_id"], one["calls"]) for one in found] == [("batch-1", 4), ("batch-2", 3)]
        # Pairs in a batch are not sent by other jobs.
        assert run("plan", *grader, "--json")["sent"] == 7
        assert run("grade", *grader, "--json")["graded"] == 0
        server.shelf.away = 500
        try:
            run("batch", "fetch", *grader)
        except PassingError as error:
            assert "HTTP 500" in error.message
        server.shelf.away = 0
        done = run("batch", "fetch", *grader, "--wait", "--json")
        assert (done["state"], done["graded"], done["calls"]) == ("done", 8, 8)
        nothing = [run("grade", *grader, "--batch", "--json"), run("batch", "fetch", *grader, "--json")]
        assert [(result["state"], result["graded"], result["calls"]) for result in nothing] == [("done", 0, 0)] * 2
        assert run("jobs", "--json")["jobs"][1]["message"].startswith("Billed: 8 calls, 80 tokens read")
        bill = run("status", "--json")["bills"][-1]
        assert (bill["state"], bill["told"]["calls"], bill["billed"]["calls"]) == ("done", 8, 8)
        assert bill["billed"]["input_tokens"] == 80 and bill["tokens_off"] == pytest.approx(
            (80 + bill["billed"]["output_tokens"]) / (bill["told"]["input_tokens"] + bill["told"]["output_tokens"]) - 1
        )
        assert "off by" in run("status")
        other = ("--grader", "self-rating", "--model", "m", "--base-url", server.url, "--set", "temperature=0.5")
        assert "1 in progress" in run("grade", *other, "--batch", "--no-wait")
        run("batch", "cancel", *other)
        assert run("batch", "fetch", *other).count("\n") == 1, "nothing to wait for"
        assert run("batch", "status", "--json")["batches"] == []
