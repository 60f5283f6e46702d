"""The robustness probe: flips of a grader that can be fooled are counted, and its answers never become grades."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_workbench.bank import flip_rates, remember_settings, robustness_note
from exam_workbench.graders import CHANGES, Control, Grader, make_grader
from exam_workbench.graders._reading.injections import INJECTIONS, NEUTRAL
from exam_workbench.grading import Request, probe_grader, run_job
from exam_workbench.store import Project
from tests.made.audits import fill_audited
from tests.made.endpoint_calls import key
from tests.made.endpoint_server import EndpointServer, Reply, Seen, digit, rate
from tests.made.refusals import mentions, refusal
from tests.made.shell import printed, shell_on

__all__ = ["key"]

FOOLED = ("injection: order", "injection: JSON")
ORDERS = [one.text for one in INJECTIONS if one.family == "order"]


def gullible(seen: Seen) -> Reply:
    """Rate by the words of the prompt, but 5 if the passage gives an order or has JSON."""
    if '"rating": 5' in seen.prompt or any(order in seen.prompt for order in ORDERS):
        return rate(seen, 5)
    return rate(seen, 4 if digit(seen.prompt) > 2 and NEUTRAL not in seen.prompt else 0)


def graded(project: Project, server: EndpointServer) -> Grader:
    parameters = {"model": "m", "base_url": server.url}
    grader = make_grader("self-rating", parameters)
    remember_settings(project, grader, "self-rating", parameters, "ann")
    run_job(project, grader, Request(), "ann")
    return grader


def test_injections_that_work_are_flips_and_no_answer_is_a_grade(project: Project) -> None:
    fill_audited(project)
    with EndpointServer(gullible) as server:
        grader = graded(project, server)
        before = project.rows("FROM grades ORDER BY ALL")
        assert flip_rates(project, grader.spec) == [] and robustness_note([]) == ""
        assert probe_grader(project, grader, "ann", Control(), pairs=7) == 7 * len(CHANGES)
    assert project.rows("FROM grades ORDER BY ALL") == before
    rates = {one.change: one for one in flip_rates(project, grader.spec)}
    assert list(rates) == list(CHANGES)
    assert all(one.pairs == 7 and one.low <= (one.share or 0) <= one.high for one in rates.values())
    assert [rates[name].flips for name in FOOLED] == [7, 7]
    # Garden chairs pad each answered passage, and this grader rates them 0.
    assert rates["padded"].flips == 7
    assert mentions(robustness_note(list(rates.values())), "padded 100%")


def test_a_probe_at_a_shell_is_noted_with_the_leaderboard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exam = shell_on(fill_audited, tmp_path, monkeypatch, capsys)
    with EndpointServer(gullible) as server:
        settings = ("--grader", "self-rating", "--model", "m", "--base-url", server.url)
        assert exam("grade", *settings)[0] == 0
        found = printed(exam("graders", "probe", "Self-rating (m)", "--pairs", "3", "--json"))
        assert printed(exam("graders", "card", "Self-rating (m)", "--json"))["card"]["stale"] == []
    assert {one["change"]: one["share"] for one in found["changes"]}[FOOLED[0]] == 1
    assert mentions(exam("leaderboard", "--grader", "Self-rating (m)", "--measure", "nDCG@5")[2], "100%")


def test_a_grader_without_answers_is_not_probed(project: Project) -> None:
    fill_audited(project)
    with EndpointServer(lambda seen: rate(seen, 0)) as server:
        grader = graded(project, server)
        with refusal("too-few-grades", grader.spec.name):
            probe_grader(project, grader, "ann", Control())
