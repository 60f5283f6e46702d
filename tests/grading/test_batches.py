"""Grading by batches, at a server that has files and batches: each call is paid for once, wherever it is stopped."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from exam_workbench.bank import set_price
from exam_workbench.errors import GradingError
from exam_workbench.graders import Grader, PassingError, Price, Prompt, extend_access, make_grader, use_access
from exam_workbench.graders._endpoint.endpoint_back_end import BatchEndpoint
from exam_workbench.grading import (
    Request,
    advance_batches,
    batch_standing,
    call_batches,
    cancel_batches,
    make_plan,
    price_tag,
    run_job,
    send_batches,
    waiting_jobs,
)
from exam_workbench.grading._needed_pairs import EVERYTHING, Scope
from exam_workbench.grading._price_tag import billing_sentence
from exam_workbench.jobs import find_jobs, job_usage
from exam_workbench.records import Job, close_interrupted
from exam_workbench.store import Project, open_project
from exam_workbench.store.migrations import MIGRATIONS, apply_migrations
from tests.grading.test_elsewhere import KEYED, QUESTIONS, RUNS, words
from tests.made.batch_server import Plan, Shelf
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, status
from tests.made.projects import examples, fill, new_project
from tests.made.refusals import mentions, refusal

PAIRS = 8
ASKED = "\nPassage: {context}\nQuestion: {question}\nRating:"


def behave(seen: Seen) -> Reply:
    """Answer, and report as many tokens as there are, by the rule of thumb that price tags go by."""
    return chat(words(seen.prompt), model="m", usage={"prompt_tokens": read(seen), "completion_tokens": 6})


def read(seen: Seen) -> int:
    return sum(len(message["content"]) for message in seen.body["messages"]) // 4 + 1


@pytest.fixture(scope="module")
def server() -> Iterator[EndpointServer]:
    with EndpointServer(behave) as server:
        yield server


@pytest.fixture(autouse=True)
def shelf(server: EndpointServer) -> Shelf:
    """The files and batches of the server, empty."""
    return anew(server)


def anew(server: EndpointServer) -> Shelf:
    server.shelf, server.behave = Shelf(server._answer_line), behave
    server.seen.clear()
    server.counts.clear()
    return server.shelf


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """One project for all: every test has graders of its own, for which everything is missing."""
    project = new_project(tmp_path_factory.mktemp("batches") / "some.duckdb")
    fill(project, QUESTIONS, {}, RUNS)
    set_price(project, "m", Price(100.0, 1000.0), "ann")
    yield project
    project.close()


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = new_project(tmp_path_factory.mktemp("keyed") / "some.duckdb")
    fill(project, KEYED, {}, RUNS)
    yield project
    project.close()


_fresh = itertools.count(1)


def rater(server: EndpointServer, kind: str = "self-rating", **more: Any) -> Grader:
    """A grader that has not graded yet."""
    given = {"model": "m", "back_end": "openai", "base_url": server.url, "structured": "text"}
    with use_access(extend_access(server.url, None)):
        return make_grader(kind, {**given, "temperature": next(_fresh) / 1000, **more})


def start(project: Project, grader: Grader, scope: Scope = EVERYTHING, most: int = 3, **caps: Any) -> list[int]:
    return send_batches(project, grader, Request(scope, batch=True, batch_size=most, **caps), "ann")


def carry_on(project: Project, grader: Grader, rounds: int = 30) -> int:
    """Look until nothing is left to wait for; how often that was."""
    for number in range(1, rounds + 1):
        if not advance_batches(project, grader, "ann").jobs:
            return number
    raise AssertionError("it does not end")


def ratings(project: Project, grader: Grader) -> list[tuple[Any, ...]]:
    return project.rows(
        "SELECT question_text_key, passage_text_key, rating, raw FROM grades JOIN graders USING (grader_key)"
        " WHERE fingerprint = ? ORDER BY ALL",
        [grader.spec.fingerprint],
    )


def test_batches_give_the_grades_of_calls_at_half_the_price_that_was_told(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    alone, batched = rater(server), rater(server)
    run_job(project, alone, Request(), "ann")
    whole = find_jobs(project)[0]
    server.counts.clear()
    tag = price_tag(project, batched, 1)
    start(project, batched)
    sent = make_plan(project, batched.spec, 1)
    assert (sent.sent, sent.to_grade, sent.known) == (PAIRS - 1, 0, 1)
    assert batch_standing(project, batched.spec).batches == {"planned": 3}
    carry_on(project, batched)
    assert ratings(project, batched) == ratings(project, alone) != []
    assert set(server.counts.values()) == {1} and len(server.counts) == PAIRS
    assert set(shelf.made.values()) == {1} and len(shelf.batches) == 3
    job = find_jobs(project)[0]
    assert (job.state, job.total, job.done, job.calls) == ("done", PAIRS, PAIRS, PAIRS)
    assert (job.input_tokens, job.output_tokens) == (whole.input_tokens, whole.output_tokens)
    assert abs((job.input_tokens or 0) / tag.input_tokens - 1) < 0.05
    assert abs((job.output_tokens or 0) / tag.output_tokens - 1) < 0.05
    # One of the eight was asked alone, so that what the endpoint does not take shows before all are sent.
    assert tag.batch_cost == pytest.approx((whole.cost or 0) * (1 + (PAIRS - 1) / 2) / PAIRS, rel=0.05)
    assert job.cost == pytest.approx(tag.batch_cost, rel=0.05)
    assert (
        job.message == billing_sentence(job.request["told"], job_usage(job)) and job.request["told"]["calls"] == PAIRS
    )
    assert all(mentions(job.message, f"{tokens:,}") for tokens in (job.input_tokens or 0, tag.input_tokens))


def test_a_price_tag_knows_thinking_and_cached_tokens_and_says_what_earlier_jobs_took(
    project: Project, server: EndpointServer
) -> None:
    plain = price_tag(project, rater(server), 1)
    grader = rater(server, thinking_tokens=400)
    tag = price_tag(project, grader, 1)
    # Until it has graded, all the room that there is for it.
    assert (tag.thinking_tokens, tag.output_tokens) == (400 * PAIRS, plain.output_tokens + 400 * PAIRS)
    assert tag.cached_tokens == 0
    long = Prompt("long", "Long", "self-rating", "Rate it. " * 600 + ASKED, "rating", "ours", system="Rate it. " * 600)
    with use_access(extend_access(server.url, None)):
        many = make_grader("self-rating", {"model": "m", "base_url": server.url, "prompt": "long"}, {"long": long})
    set_price(project, "m", Price(100.0, 1000.0, cached=10.0), "ann")
    cheap = price_tag(project, many, 1)
    set_price(project, "m", Price(100.0, 1000.0), "ann")
    dear = price_tag(project, many, 1)
    assert 0.5 * cheap.input_tokens < cheap.cached_tokens == dear.cached_tokens < cheap.input_tokens
    assert (dear.cost or 0) - (cheap.cost or 0) == pytest.approx(90 * cheap.cached_tokens / 1e6)


class Killed(BaseException):
    """The process ends here."""


class Gate:
    """Every step that leaves a trace, at the endpoint or in the project, passes here when it is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed, self.last = 0, -1
        for owner, name in ((BatchEndpoint, "_do"), (Project, "write")):
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


def test_killed_at_any_step_it_goes_on_and_pays_for_every_call_once(
    keyed: Project, server: EndpointServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, where = Gate(monkeypatch), keyed
    expected: tuple[list[tuple[Any, ...]], int] | None = None
    # Odd, so that the endpoint gives its marks back in one round and not in the next.
    apart = max(1, 3 // examples(1)) | 1
    for last in itertools.chain([-1], itertools.count(step=apart)):
        shelf, grader = anew(server), rater(server, "answer", check="model")
        # Some compatible endpoints do not give back what a batch was marked with.
        shelf.keeps_metadata, shelf.states = bool(last % 2), ("validating", "completed")
        gate.close_at(last)
        killed = False
        try:
            start(where, grader, most=5)
            carry_on(where, grader)
        except Killed:
            killed = True
        gate.close_at(-1)
        # The call that goes alone is lost as every such call is where nobody could write its answer down any more.
        lost = len(server.seen) if killed and not any(job.done + job.failed for job in of(where, grader)) else 0
        close_interrupted(where)
        carry_on(where, grader)
        # What was killed before anything was sent is begun anew.
        if start(where, grader, most=5):
            carry_on(where, grader)
        assert set(shelf.made.values()) == {1}, last
        got = ratings(where, grader), sum(shelf.made.values()) + len(server.seen) - lost
        expected = expected or got
        assert got == expected, last
        assert make_plan(where, grader.spec, 1).to_grade == 0 and not waiting_jobs(where, grader.spec)
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


def test_what_expired_is_missing_still_and_what_was_refused_is_failed_with_its_reason(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = rater(server)
    shelf.plans = [Plan(expires_after=1), Plan(broken=1)]
    refused: list[str] = []

    def unwell(seen: Seen) -> Reply:
        if seen.path == "/v1/chat/completions" and server.shelf.made.total() in (2, 3) and len(refused) < 2:
            refused.append(seen.prompt)
            return status(400 if len(refused) == 1 else 429, "not this one")
        return behave(seen)

    server.behave = unwell
    start(project, grader)
    carry_on(project, grader)
    job = find_jobs(project)[0]
    planned = make_plan(project, grader.spec, 1)
    # Alone 1; of the first batch 1 of 3; of the second one refused, one turned away, one cut off; of the third 1.
    assert (job.state, job.done, job.failed) == ("done", 3, 1)
    assert (planned.known, planned.failed, planned.to_grade, planned.sent) == (3, 1, 4, 0)
    # Beside the bill nothing is told but how many calls were not answered.
    bill = billing_sentence(job.request.get("told"), job_usage(job))
    assert job.message.endswith(bill) and re.findall(r"\d+", job.message.removesuffix(bill)) == ["4"]
    reason = project.value("SELECT reason FROM failures WHERE job_key = ?", [job.key])
    assert reason == "HTTP 400: not this one"
    before = shelf.made.total()
    start(project, grader, Scope(retry_failed=True))
    carry_on(project, grader)
    assert make_plan(project, grader.spec, 1).known == PAIRS
    # How the endpoint is spoken to is known by now: no call goes alone any more.
    assert shelf.made.total() - before == 5 and len(server.seen) == 1


def test_what_an_endpoint_has_no_room_for_is_sent_again_once_there_is_some(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = rater(server)
    shelf.plans = [Plan(), Plan(fails="token_limit_exceeded")]
    start(project, grader)
    carry_on(project, grader)
    assert find_jobs(project)[0].state == "done" and make_plan(project, grader.spec, 1).known == PAIRS
    assert set(shelf.made.values()) == {1}
    hopeless = rater(server)
    shelf.plans = [Plan(fails="token_limit_exceeded")] * 3
    start(project, hopeless)
    carry_on(project, hopeless)
    job = find_jobs(project)[0]
    assert job.state == "failed" and "(token_limit_exceeded)" in job.message and "--batch-size" in job.message
    assert make_plan(project, hopeless.spec, 1).to_grade == PAIRS - 1


def test_a_pair_that_waited_for_room_gets_its_second_call_too(
    keyed: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = rater(server, "answer", check="model")
    shelf.plans = [Plan(), Plan(fails="token_limit_exceeded")]
    start(keyed, grader)
    carry_on(keyed, grader)
    plan = make_plan(keyed, grader.spec, 1)
    assert (find_jobs(keyed)[0].state, plan.to_grade, plan.failed) == ("done", 0, 0) and len(shelf.batches) > 3
    assert set(shelf.made.values()) == {1}


def test_cancelled_batches_give_what_they_have_and_the_rest_is_missing(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = rater(server)
    shelf.plans = [Plan(stuck=True), Plan(stuck=True)]
    start(project, grader, most=4)
    for _ in range(3):
        assert advance_batches(project, grader, "ann").jobs == 1
    assert batch_standing(project, grader.spec).batches == {"in_progress": 2}
    cancel_batches(project, grader, "ann")
    carry_on(project, grader)
    job = find_jobs(project)[0]
    assert job.state == "cancelled" and job.done == 1 + 2 + 1
    assert make_plan(project, grader.spec, 1).to_grade == PAIRS - 4
    assert [batch.state for batch in call_batches(project, job.key)] == ["taken", "taken"]
    assert waiting_jobs(project, grader.spec) == []


def test_batches_that_were_not_sent_yet_are_dropped(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = rater(server)
    start(project, grader)
    cancel_batches(project, grader, "ann")
    assert find_jobs(project)[0].state == "cancelled" and not shelf.batches
    assert make_plan(project, grader.spec, 1).to_grade == PAIRS - 1


def test_no_more_calls_are_planned_than_the_caps_bear(project: Project, server: EndpointServer, shelf: Shelf) -> None:
    grader = rater(server)
    start(project, grader, max_calls=5)
    carry_on(project, grader)
    job = find_jobs(project)[0]
    assert (job.state, job.done, job.calls) == ("stopped", 5, 5) and job.request["stopped"]
    assert job.message.removesuffix(billing_sentence(job.request.get("told"), job_usage(job))), "why it stopped"
    money = rater(server)
    start(project, money, max_cost=0.4)
    carry_on(project, money)
    job = find_jobs(project)[0]
    assert job.state == "stopped" and 1 < job.done < PAIRS and 0 < (job.cost or 0) <= 0.4


def test_an_endpoint_that_is_away_is_asked_later_and_another_one_is_not_taken_for_it(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    grader = rater(server)
    start(project, grader)
    shelf.away = 503
    for _ in range(2):
        with refusal("batch-call-failed", "503", kind=PassingError):
            advance_batches(project, grader, "ann")
    shelf.away = 404
    with refusal("batch-call-refused", "404", kind=GradingError):
        advance_batches(project, grader, "ann")
    shelf.away = 0
    advance_batches(project, grader, "ann")
    with use_access(extend_access("http://localhost:9/v1", None)):
        other = make_grader(
            "self-rating",
            {"model": "m", "back_end": "openai", "base_url": "http://localhost:9/v1", "structured": "text",
             "temperature": grader.spec.parameters["temperature"]},
        )  # fmt: skip
    with refusal("batches-at-another-address", "http://localhost:9/v1", kind=GradingError):
        advance_batches(project, other, "ann")
    carry_on(project, grader)
    assert make_plan(project, grader.spec, 1).known == PAIRS


def test_what_an_endpoint_does_not_take_is_learnt_from_the_call_that_goes_alone(
    project: Project, server: EndpointServer, shelf: Shelf
) -> None:
    def modern(seen: Seen) -> Reply:
        if "max_tokens" in seen.body:
            return status(400, "Unsupported parameter: use 'max_completion_tokens' instead", param="max_tokens")
        return behave(seen)

    server.behave = modern
    grader = rater(server)
    start(project, grader, most=50)
    # Another process, which knows nothing of this yet, takes it up.
    again = rater(server, temperature=grader.spec.parameters["temperature"])
    carry_on(project, again)
    assert make_plan(project, grader.spec, 1).known == PAIRS and shelf.made.total() == PAIRS - 1


def as_before_one_table_of_jobs(path: Path, older: Path) -> None:
    """Write a project as the version before the one table of jobs would have written it."""
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


def test_batches_in_flight_survive_the_upgrade_to_one_table_of_jobs_and_are_paid_once(
    server: EndpointServer, shelf: Shelf, tmp_path: Path
) -> None:
    project = new_project(tmp_path / "some.duckdb")
    fill(project, KEYED, {}, RUNS)
    # It asks twice, so that answers to first calls are kept while second calls are on their way.
    grader = rater(server, "answer", check="model")
    (key,) = start(project, grader)
    while not project.value("SELECT count(*) FROM kept_replies"):
        advance_batches(project, grader, "ann")
    before = [(one.wave, one.state, one.batch_id) for one in call_batches(project, key)]
    kept = project.rows("FROM kept_replies ORDER BY ALL")
    assert {wave for wave, *_ in before} == {1, 2}
    project.close()
    older = tmp_path / "older.duckdb"
    as_before_one_table_of_jobs(project.path, older)
    project = open_project(older)
    assert [(one.wave, one.state, one.batch_id) for one in call_batches(project, key)] == before
    assert project.rows("FROM kept_replies ORDER BY ALL") == kept
    assert make_plan(project, grader.spec, 1).to_grade == 0
    carry_on(project, grader)
    job = find_jobs(project)[0]
    assert (job.key, job.state, job.done) == (key, "done", job.total)
    assert set(shelf.made.values()) == {1}
    project.close()
