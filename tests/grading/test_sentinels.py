"""The drift watch and the robustness probe: extra answers never become grades."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from exam_workbench.bank import (
    find_grader,
    flip_rates,
    grader_drift,
    make_named,
    remember_settings,
    robustness_note,
    set_price,
)
from exam_workbench.errors import GradingError
from exam_workbench.graders import CHANGES, Control, Grader, Price, make_grader
from exam_workbench.graders._reading.injections import INJECTIONS, NEUTRAL
from exam_workbench.grading import Request, price_tag, probe_grader, run_job, send_batches, watch_grader, write_missing
from exam_workbench.grading._grader_checks import check_again
from exam_workbench.jobs import find_jobs
from exam_workbench.measures._means_and_tests import DRIFT_ALARM, drift_evidence, noise_bound
from exam_workbench.store import Project
from exam_workbench.types import Question
from tests.made.audits import fill_audited
from tests.made.endpoint_calls import answering, key
from tests.made.endpoint_server import EndpointServer, Reply, Seen, digit, rate, well
from tests.made.projects import import_bank
from tests.made.refusals import mentions, refusal
from tests.made.shell import ShellOn, printed

__all__ = ["key"]


server = answering(well)


@pytest.fixture
def filled(project: Project) -> Project:
    fill_audited(project)
    return project


def graded(project: Project, server: EndpointServer) -> Grader:
    """Grade all pairs at the endpoint, and remember the grader's settings."""
    parameters = {"model": "m", "base_url": server.url}
    grader = make_grader("self-rating", parameters)
    remember_settings(project, grader, "self-rating", parameters, "ann")
    assert run_job(project, grader, Request(), "ann").state == "done"
    return grader


@pytest.mark.parametrize("start", [run_job, send_batches])
def test_model_change_stops_the_job_until_renewed(
    filled: Project, server: EndpointServer, tmp_path: Path, start: Callable[..., object]
) -> None:
    grader = graded(filled, server)
    before = filled.rows("FROM grades ORDER BY ALL")
    found = watch_grader(filled, grader, "ann", Control(), pairs=40)
    assert (found.pairs, found.changed, found.checks) == (40, 0, [])
    assert filled.rows("FROM grades ORDER BY ALL") == before
    import_bank(filled, [Question("q1/new", "q1", "And what else of q1?")])
    set_price(filled, "m", Price(100.0, 100.0), "ann")
    tag = price_tag(filled, grader, 2)
    asked = len(server.seen)
    assert run_job(filled, grader, Request(), "ann").state == "done"
    assert (tag.pairs, tag.calls, tag.sentinels) == (9, len(server.seen) - asked, 10)
    # The repeated pairs and the first call are not in a batch.
    assert tag.batch_cost == pytest.approx((tag.cost or 0) * (11 + 8 / 2) / 19)
    found = grader_drift(filled, grader.spec)
    assert found is not None and [(one.asked, one.changed) for one in found.checks] == [(10, 0)]
    server.behave = lambda seen: rate(seen, (digit(seen.prompt) + 1) % 6)
    import_bank(filled, [Question("q2/new", "q2", "And what else of q2?")])
    with suppress(GradingError):
        start(filled, grader, Request(), "ann")
    ended = find_jobs(filled)[0]
    # The calls of the watch are billed.
    assert (ended.state, ended.done, ended.calls) == ("failed", 0, 10)
    found = grader_drift(filled, grader.spec)
    # The change may affect the grades since the last quiet check.
    assert found is not None and found.alarm is not None and found.suspect == 9
    asked = len(server.seen)
    with refusal("grader-drifted", grader.spec.name, kind=GradingError):
        watch_grader(filled, grader, "ann", Control())
    with refusal("grader-drifted", grader.spec.name, kind=GradingError):
        write_missing(filled, grader, tmp_path / "plan.jsonl", version=1)
    assert len(server.seen) == asked
    renewed, _, parameters = make_named(filled, f"{grader.spec.name} edition 2", {})
    assert parameters["edition"] == 2 and renewed.spec.fingerprint != grader.spec.fingerprint
    assert run_job(filled, renewed, Request(), "ann").graded == 72
    assert find_grader(filled, renewed.spec.name).grades == 72


def test_random_noise_raises_no_alarm_but_a_changed_model_does(filled: Project, server: EndpointServer) -> None:
    dice, change = random.Random(3), 0

    def noisy(seen: Seen) -> Reply:
        odd = seen.attempt > 1 and dice.random() < 0.3
        return rate(seen, (digit(seen.prompt) + change + 3 * odd) % 6)

    server.behave = noisy
    grader = graded(filled, server)
    checked = [watch_grader(filled, grader, "ann", Control()) for _ in range(5)][-1]
    differing = [one.changed for one in checked.checks]
    assert (checked.alarm, checked.suspect, len(differing)) == (None, 0, 4) and min(differing) > 0
    # The same checks would be an alarm for a model without noise.
    assert drift_evidence([(10, changed) for changed in differing], noise_bound(0, 54))[-1] > DRIFT_ALARM
    with refusal("budget-below-watch", "10", kind=GradingError):
        check_again(filled, grader, "ann", Control(max_calls=10))
    change = 1
    while checked.alarm is None and len(checked.checks) < 12:
        checked = watch_grader(filled, grader, "ann", Control())
    assert checked.alarm == checked.checks[-1].at and checked.checks[-1].evidence > DRIFT_ALARM


def test_pinned_graders_are_not_watched_and_few_grades_are_refused(filled: Project, server: EndpointServer) -> None:
    grader = make_grader("self-rating", {"model": "m", "base_url": server.url})
    with refusal("too-few-grades", grader.spec.name, "20"):
        watch_grader(filled, grader, "ann", Control())
    with refusal("grader-pinned"):
        watch_grader(filled, make_grader("embedding", {}), "ann", Control())
    assert server.seen == [] and grader_drift(filled, grader.spec) is None
    with refusal("useless-parameter"):
        make_grader("self-rating", {"edition": 2})
    server.behave = lambda seen: rate(seen, 0)
    with refusal("too-few-grades", grader.spec.name):
        probe_grader(filled, graded(filled, server), "ann", Control())


def test_drift_evidence_grows_with_changes_but_not_with_noise() -> None:
    bound = noise_bound(4, 200)
    assert 0.04 < bound < 0.08
    assert noise_bound(200, 200) == 1 and drift_evidence([(10, 10)], 1.0).tolist() == [0.0]
    assert drift_evidence([], bound).shape == (0,)
    quiet = drift_evidence([(10, 0)] * 50, bound)
    assert np.all(np.diff(quiet) < 0)
    # One large check gives the same evidence as several small checks.
    assert drift_evidence([(30, 12)], bound)[-1] == pytest.approx(drift_evidence([(10, 4)] * 3, bound)[-1])
    assert drift_evidence([(10, 4)] * 3, bound)[-1] > DRIFT_ALARM
    changed = np.random.default_rng(0).binomial(10, 0.06, size=(4000, 5))
    ends = [np.exp(drift_evidence([(10, int(x)) for x in row], 0.06)[-1]) for row in changed]
    assert np.mean(ends) < 1.3


FOOLED = ("injection: order", "injection: JSON")
ORDERS = [one.text for one in INJECTIONS if one.family == "order"]


def gullible(seen: Seen) -> Reply:
    """Rate by a hash of the prompt, but 5 if the passage contains an order or JSON."""
    if '"rating": 5' in seen.prompt or any(order in seen.prompt for order in ORDERS):
        return rate(seen, 5)
    return rate(seen, 4 if digit(seen.prompt) > 2 and NEUTRAL not in seen.prompt else 0)


def test_successful_injections_count_as_flips_not_as_grades(filled: Project, server: EndpointServer) -> None:
    server.behave = gullible
    grader = graded(filled, server)
    before = filled.rows("FROM grades ORDER BY ALL")
    assert flip_rates(filled, grader.spec) == [] and robustness_note([]) == ""
    assert probe_grader(filled, grader, "ann", Control(), pairs=7) == 7 * len(CHANGES)
    assert filled.rows("FROM grades ORDER BY ALL") == before
    rates = {one.change: one for one in flip_rates(filled, grader.spec)}
    assert list(rates) == list(CHANGES)
    assert all(one.pairs == 7 and one.low <= (one.share or 0) <= one.high for one in rates.values())
    assert [rates[name].flips for name in FOOLED] == [7, 7]
    # The probe pads answered passages with neutral text, which this grader rates 0.
    assert rates["padded"].flips == 7
    assert mentions(robustness_note(list(rates.values())), "padded 100%")


def test_results_of_watch_and_probe_commands_are_noted_with_leaderboards(
    server: EndpointServer, shell_on: ShellOn
) -> None:
    exam = shell_on(fill_audited)
    settings = ("--grader", "self-rating", "--model", "m", "--base-url", server.url)
    assert exam("grade", *settings)[0] == 0
    assert printed(exam("graders", "drift", "--json")) == {"graders": []}
    state = printed(exam("graders", "watch", "Self-rating (m)", "--json"))
    assert (state["pairs"], state["changed"], state["alarm"]) == (54, 0, None)
    assert printed(exam("graders", "drift", "--json")) == {"graders": [state]}
    board = ("leaderboard", "--grader", "Self-rating (m)", "--measure", "nDCG@5")
    quiet = exam(*board)[2]
    server.behave = gullible
    found = printed(exam("graders", "probe", "Self-rating (m)", "--pairs", "3", "--json"))
    assert printed(exam("graders", "card", "Self-rating (m)", "--json"))["card"]["stale"] == []
    assert {one["change"]: one["share"] for one in found["changes"]}[FOOLED[0]] == 1
    assert mentions(exam(*board)[2], "100%")
    server.behave = lambda seen: rate(seen, (digit(seen.prompt) + 1) % 6)
    state = printed(exam("graders", "watch", "Self-rating (m)", "--json"))
    assert state["alarm"] and state["checks"][0]["changed"] == 10
    assert exam(*board)[2].startswith(quiet.splitlines()[0]) and mentions(exam(*board)[2], "Self-rating (m) changed")
