"""Batches at the shell: sent and left, looked at, taken in, cancelled; and prices that know of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_workbench.cli import cli
from exam_workbench.graders import PassingError
from tests.grading.test_elsewhere import QUESTIONS, RUNS
from tests.made.endpoint_server import EndpointServer
from tests.made.projects import file_of, fill
from tests.made.refusals import refusal


def test_batches_are_sent_left_fetched_and_cancelled(tmp_path: Path) -> None:
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
        # What is on its way is not asked by others.
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
