"""The Grading screen: setting up and trying graders, job plans, running jobs and failed pairs."""

import json
import re
import threading
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from click.testing import CliRunner

from exam_workbench import bank
from exam_workbench.audit import find_card
from exam_workbench.cli import cli
from exam_workbench.errors import GradingError
from exam_workbench.graders import GRADERS, Price, _access as access, make_grader
from exam_workbench.grading import Request, run_job, start_job
from exam_workbench.jobs import BackgroundJob, current_job, find_jobs
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Question
from pages.parts.graders import grading_tables as tables
from pages.parts.graders.trial_form import DEFAULTED, describe_wait
from pages.parts.shared import job_plan, look, ui
from pages.parts.shared.job_plan import ChosenGrader
from tests.grading.test_failures import say
from tests.made.audits import fill_audited
from tests.made.endpoint_server import (
    EndpointServer,
    Reply,
    Seen,
    chat,
    digit,
    no_structure,
    rate,
    refuse,
    status,
    well,
)
from tests.made.projects import SPEC, fill, grade, judge
from tests.made.refusals import mentions
from tests.made.screens import DEADLINE, MARKUP, Screen, as_text, keyed, named, numbers, shown_project, visit

QUESTIONS = [
    Question("q1/a", "q1", "What is gold?", answer_key="a metal"),
    Question("q1/b", "q1", "What is tin?"),
    Question("q1/n", "q1", "A fact of tin", kind="nugget"),
]
RUNS = {"one": {"q1": ["p1", "p2"]}}
PAIRS = 4


@pytest.fixture
def asked(project: Project) -> Project:
    """A project without grades."""
    put_asked(project)
    return project


def put_asked(project: Project) -> None:
    fill(project, QUESTIONS, {}, RUNS)


looked_at = shown_project(put_asked)


def test_drift_of_endpoint_grader_is_flagged_on_leaderboard(project: Project) -> None:
    fill_audited(project)
    with EndpointServer() as server:
        parameters = {"model": "m", "base_url": server.url}
        grader = make_grader("self-rating", parameters)
        bank.remember_settings(project, grader, "self-rating", parameters, "ann")
        run_job(project, grader, Request(), "ann")
        name = grader.spec.name
        app = visit("grading", trusted=name).press("probe").press("make card")
        assert find_card(project, bank.find_grader(project, name)).content["flips"] and app.shows("card")
        app = visit("grading", trusted=name).press("watch")
        assert app.shows("drift", "0") and not visit("leaderboard", grader=name).shows("trust 1")
        server.behave = lambda seen: rate(seen, (digit(seen.prompt) + 1) % 6)
        app = visit("grading", trusted=name).press("watch")
    assert "watch" not in [button.key for button in app.button]
    assert visit("leaderboard", grader=name).shows("trust 0", name)


@pytest.fixture(autouse=True)
def no_job_goes_on(project: Project) -> Iterator[None]:
    yield
    job = current_job(project)
    if job is not None:
        job.control.cancel()
        assert job.wait(DEADLINE)


def kind(title: str) -> Screen:
    """Open the screen by a link for a new grader of a kind."""
    return visit("grading", setup=title)


def endpoint(project: Project, server: EndpointServer) -> Screen:
    """Open the screen with a saved self-rating grader at an endpoint."""
    parameters = {"back_end": "openai", "model": "mini", "base_url": server.url}
    bank.save_named_grader(project, "ours", "self-rating", parameters, "ann")
    return visit("grading", setup="ours (saved)")


def typed(server: EndpointServer) -> Screen:
    """Set up the same grader by typing into the form."""
    app = kind("Self-rating").choose("back_end", "Endpoint")
    return app.enter("model", "mini").choose("base_url", server.url)


def ended(app: Screen, project: Project) -> Screen:
    """Wait for the job and return the updated screen."""
    job = current_job(project)
    assert job is not None
    assert job.wait(DEADLINE)
    return app.run()


def started(project: Project) -> BackgroundJob:
    job = current_job(project)
    assert job is not None
    return job


def codes(app: Screen) -> list[str]:
    return [str(block.value) for block in app.code]


def failing(seen: Seen) -> Reply:
    """Support no schemas; rate gold, refuse tin for one passage and chat for the other."""
    if seen.wants_json:
        return no_structure()
    if "gold" in seen.prompt:
        return rate(seen, 4)
    return refuse() if "text of p1" in seen.prompt else chat(f"Hm. {MARKUP}")


class Held(EndpointServer):
    """An endpoint that holds back all answers until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        super().__init__(lambda seen: well(seen) if self.go_on.wait(DEADLINE) else refuse())


class TestSettingUp:
    def test_link_to_removed_grader_opens_choice_of_model_place(self, shared: Project) -> None:
        app = visit("grading", setup="gone (saved)")
        assert app.selectbox("setup").value == "embedding"
        # Without a secrets file, no key is found.
        assert access.find_key("NO_SUCH_KEY_ANYWHERE") is None and not app.error
        assert named(app.get("button_group"), "setup place").value == "embedding"
        app = app.choose("setup place", "openai")
        assert app.selectbox("setup").value == "self-rating"
        assert named(app.selectbox, "back_end").value == "openai"
        app = app.choose("back_end", "On this computer")
        assert named(app.get("button_group"), "setup place").value == "transformers"
        assert app.choose("setup place", "embedding").selectbox("setup").value == "embedding"

    def test_link_opens_saved_grader_which_can_be_removed(self, asked: Project) -> None:
        parameters = {
            "back_end": "openai",
            "model": "mini",
            "base_url": "http://localhost:1/v1",
            "temperature": 0.0,
            "extra": {"seed": 1},
            "prompt": "self-rating",
            "fence": False,
        }
        kept = bank.save_named_grader(asked, "a name", "self-rating", parameters, "ann")
        app = visit("grading", setup="a name (saved)")
        assert named(app.text_input, "base_url").value == "http://localhost:1/v1"
        assert named(app.selectbox, "prompt").value == "self-rating"
        app.press("setup save")
        (again,) = bank.named_graders(asked)
        assert again.parameters == parameters
        assert bank.save_named_grader(asked, "x", again.kind, again.parameters, "ann").spec == kept.spec
        app = app.press("setup remove")
        assert [one.name for one in bank.named_graders(asked)] == ["x"]
        assert app.selectbox("setup").value == "self-rating"

    def test_setup_starts_with_grader_of_scoring_settings(self, asked: Project) -> None:
        grader = bank.save_named_grader(asked, "ours", "self-rating", {"model": "x"}, "ann")
        grade(asked, {("What is gold?", "p1"): 5}, grader.spec)
        app = visit("grading")
        assert app.selectbox("setup").value == "saved:ours"
        assert not app.shows("another-grader")
        assert app.choose("setup", "embedding").shows("another-grader", grader.spec.name)

    def test_back_ends_have_own_defaults_and_unusable_settings_are_refused(
        self, shared: Project, tmp_path: Path
    ) -> None:
        (tmp_path / "hollow").mkdir()
        app = kind("Self-rating").choose("model", str(tmp_path / "hollow"))
        app.check_refused("model-unusable", str(tmp_path / "hollow"))
        app = kind("Self-rating")
        assert named(app.selectbox, "prompt").value == "self-rating"
        assert not named(app.checkbox, "fence").value
        assert app.shows("no-sample")
        app.choose("device", "abacus")
        app.check_refused("unknown-device", "abacus", "auto", "cpu", "cuda")
        assert not keyed(app.button, "grade")
        app.choose("back_end", "Endpoint")
        assert named(app.selectbox, "prompt").value == "self-rating-chat"
        assert named(app.checkbox, "fence").value
        assert app.shows("name-model")
        app = kind("Multiple choice")
        assert named(app.selectbox, "prompt").value == "choice-likelihood"
        app.choose("back_end", "Endpoint")
        assert named(app.selectbox, "by").value == "letter"
        assert len(named(app.selectbox, "by").options) == 1
        assert named(app.selectbox, "prompt").options == ["choice"]

    def test_every_kind_of_grader_has_working_form(self, small: Project) -> None:
        for method in "answer", "extractive", "choice", "direct":
            app = kind(GRADERS[method].title)
            assert not app.error, method
            assert app.metric_of("metric needed") if method == "direct" else app.shows("nothing-to-grade")


class TestKeys:
    def test_screen_reports_whether_key_is_found_but_never_shows_it(
        self, shared: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        app = kind("Self-rating").choose("back_end", "Endpoint")
        assert app.shows("key missing", "OPENAI_API_KEY")
        assert [code for code in codes(app) if tomllib.loads(code.removeprefix("export ")) == {"OPENAI_API_KEY": "KEY"}]
        monkeypatch.setenv("GROQ_API_KEY", "open-sesame")
        app.choose("base_url", "https://api.groq.com/openai/v1")
        assert app.shows("key found", "GROQ_API_KEY", "api.groq.com")
        app.choose("base_url", "https://mine.example/v1")
        assert app.shows("key unknown", "mine.example")
        (line,) = (tomllib.loads(code) for code in codes(app) if "endpoints" in code)
        assert line["endpoints"]["Mine"]["base_url"] == "https://mine.example/v1"
        assert line["endpoints"]["Mine"]["key_variable"] in line
        assert "open-sesame" not in app.said()

    def test_typed_key_is_kept_for_session_and_never_stored(self, asked: Project) -> None:
        with EndpointServer() as server:
            app = kind("Self-rating").choose("back_end", "Endpoint").enter("model", "mini")
            # The key is typed right after the address, before the screen is redrawn.
            app.enter("base_url", server.url).choose("key", "open-sesame")
            assert named(app.text_input, "key").value == "", "the key must not be sent back to the browser"
            assert app.shows("key typed", "127.0.0.1")
            assert typed(server).shows("key needless"), "another session must not have the key"
            app = ended(app.press("grade"), asked)
            app.press("ask")
            app.press("forget")
            app.press("ask")
        keys = [seen.headers["authorization"] for seen in server.seen]
        assert keys == ["Bearer open-sesame"] * (PAIRS + 1) + ["Bearer no-key"]
        assert "open-sesame" not in app.said()
        tables = [name for (name,) in asked.rows("SELECT table_name FROM information_schema.tables")]
        assert all("open-sesame" not in str(asked.rows(f'SELECT * FROM "{name}"')) for name in tables)

    def test_key_and_endpoint_come_from_app_secrets(self, shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        app = Screen()
        app.secrets["OPENAI_API_KEY"] = "open-sesame"
        app.secrets["endpoints"] = {"Ours": {"base_url": "https://ours.example/v1", "models": ["one", "two"]}}
        app.switch_page("pages/grading.py").run()
        app.choose("setup", "Self-rating").choose("back_end", "Endpoint")
        assert named(app.selectbox, "endpoint").options[0] == "Ours"
        assert [box.options for box in keyed(app.selectbox, "model of Ours")] == [["one", "two"]]
        app.choose("endpoint", "Another address")
        assert app.shows("key found", "OPENAI_API_KEY")


class TestAskingOneQuestion:
    def test_local_trial_shows_details_until_other_passage_is_chosen(self, shared: Project, tiny_t5: Path) -> None:
        app = kind("Self-rating").choose("model", str(tiny_t5))
        app.press("ask")
        answer, prompt = codes(app)
        assert "Question: What is gold?" in prompt
        assert "Context: text of p1" in prompt
        assert answer == "5"
        grade = app.drawn_grade()
        assert grade.startswith(look.rating_html(5))
        assert "<span>of 5</span><span>graded</span>" in grade
        shares = [int(share) for share in re.findall(r"<td>(\d+)%</td>", grade)]
        assert len(shares) == 6
        assert max(shares) == shares[5]
        assert [known.spec for known in bank.label_graders(shared)] == [SPEC]
        app.choose("passage of q1", "text of p2")
        assert codes(app) == []

    def test_failed_trial_shows_endpoint_and_cause_and_marks_default(self, asked: Project) -> None:
        with EndpointServer(lambda seen: refuse()) as server:
            app = endpoint(asked, server).press("ask")
            assert app.shows("grade failed", server.url, "I cannot help with that")
            assert app.drawn_grade() == ""
            server.behave = lambda seen: status(500, "out of memory")
            assert app.press("ask").shows("grade failed", "out of memory")
            server.behave = lambda seen: no_structure() if seen.wants_json else chat(MARKUP)
            app = app.press("ask")
            assert MARKUP in codes(app)
            assert app.drawn_grade().startswith(f"{look.rating_html(1)}<span>of 5</span><span>{DEFAULTED}")
            url = server.url
        assert app.press("ask").shows("grade failed", url)

    def test_waiting_message_has_model_and_start_time(self, tiny_t5: Path) -> None:
        def said(**parameters: Any) -> str:
            grader = make_grader("self-rating", parameters)
            return as_text(
                describe_wait(ChosenGrader(grader, "self-rating", parameters), datetime(2026, 5, 4, 14, 3, 5))
            )

        waits = said(model="mini", base_url="http://localhost:1/v1", timeout_s=20)
        assert [
            value for value in ("14:03:05", "mini", "http://localhost:1/v1", "20") if not mentions(waits, value)
        ] == []
        here = said(model=str(tiny_t5))
        assert mentions(here, "14:03:05") and "http" not in here

    def test_plan_shows_costs_and_left_out_questions(self, shared: Project, tiny_t5: Path) -> None:
        app = kind("Self-rating").choose("model", str(tiny_t5))
        assert app.metric_of("metric to grade") == str(PAIRS)
        assert app.metric_of("metric calls") == str(PAIRS)
        assert not app.metric_of("metric tokens read").startswith("≈"), (
            "the tokenizer is available before the weights are loaded"
        )
        assert app.metric_of("metric cost") == "–"
        assert numbers(app.note("left-out")) == [1, 1]
        # A short estimate does not show zero seconds.
        assert [numbers(ui.as_estimate(seconds)) for seconds in (0.2, 1.6, 200)] == [[], [2], [3]]
        elsewhere = kind("Self-rating").choose("back_end", "Endpoint").choose("model", "mini")
        assert elsewhere.metric_of("metric tokens read").startswith("≈")

    def test_check_by_model_needs_prompt_and_answer_keys(self, asked: Project) -> None:
        app = kind("Answer and check")
        assert numbers(app.note("left-out")) == [2, 1, 1]
        assert not keyed(app.selectbox, "verify_prompt")
        app.choose("check", "Ask a model")
        assert named(app.selectbox, "verify_prompt").value == "verify"

    def test_price_gives_cost_and_enables_money_budget(self, asked: Project) -> None:
        app = kind("Self-rating").choose("back_end", "Endpoint").choose("model", "mini")
        assert named(app.number_input, "plan money").disabled
        bank.set_price(asked, "mini", Price(1000.0, 1000.0), "ann")
        app.run()
        assert float(app.metric_of("metric cost").removeprefix("≈ ")) > 0
        assert not named(app.number_input, "plan money").disabled


class TestJobs:
    def test_failed_and_defaulted_pairs_are_counted_and_only_failed_retried(self, asked: Project) -> None:
        with EndpointServer(failing) as server:
            app = ended(typed(server).press("grade"), asked)
            assert numbers(app.note("job done"))[:3] == [3, 1, 1]
            assert "I cannot help with that" in "\n".join(codes(app))
            table = next(table.value for table in app.dataframe if "State" in table.value)
            assert table[["State", "Graded", "Failed", "Started by"]].values.tolist() == [["done", 3, 1, "ann"]]
            (kept,) = bank.named_graders(asked)
            assert kept.parameters["base_url"] == server.url
            assert app.shows("failed", "I cannot help with that")
            server.behave = lambda seen: rate(seen, 2)
            before = len(server.seen)
            app = ended(app.press("ask failed"), asked)
            # Failed sentences that cite are retried with the passages.
            assert started(asked).request.scope.sentences is None
            assert len(server.seen) == before + 1
        assert app.metric_of("metric failed") == "0"
        assert app.metric_of("metric known") == str(PAIRS)
        assert app.shows("all-graded") and "leaderboard" in app.links()

    def test_job_of_another_grader_links_to_comparison_of_labels(self, asked: Project) -> None:
        grade(asked, {(QUESTIONS[0].shown_text, "p1"): 4})
        with EndpointServer() as server:
            app = ended(endpoint(asked, server).press("grade"), asked)
        (told,) = (link.query_string for link in app.page_links() if link.page == "changes")
        states = {name: value for name, (value,) in parse_qs(told).items() if name.startswith(("from-", "to-"))}
        made = find_jobs(asked)[0].name
        assert states == {"from-grader": SPEC.name, "to-grader": made, "from-version": "1", "to-version": "1"}

    def test_running_job_is_paused_resumed_and_given_more_calls(self, asked: Project) -> None:
        with Held() as server:
            app = endpoint(asked, server).choose("plan flying", 1)
            app.press("grade")
            job = started(asked)
            app.press("pause job")
            assert job.control.paused
            app.run()
            assert keyed(app.button, "resume job") and not keyed(app.button, "pause job")
            # The thread of the job records the pause a moment later.
            while [one.state for one in find_jobs(asked)] != ["paused"]:
                server.go_on.wait(0.01)
            app.run()
            assert app.dataframe[0].value["State"].tolist() == ["paused"]
            while not job.progress.total:
                server.go_on.wait(0.01)
            # Other screens show the job, but offer no button to cancel it.
            bank = visit("question_bank")
            assert not keyed(bank.button, "cancel job") and "grading" in bank.links()
            assert numbers("".join(bar.proto.text for bar in visit("leaderboard").get("progress"))) == [0, PAIRS]
            app.choose("calls in flight now", 4)
            assert job.control.concurrency == 4
            app.press("resume job")
            assert find_jobs(asked)[0].state == "running"
            server.go_on.set()
            app = ended(app, asked)
        assert numbers(app.note("job done"))[:2] == [PAIRS, 0]

    def test_running_job_shows_error_of_endpoint_and_is_cancelled(self, asked: Project) -> None:
        with EndpointServer(lambda seen: status(500, "out of memory")) as server:
            endpoint(asked, server).choose("plan flying", 1).press("grade")
            while not started(asked).log:
                assert not started(asked).wait(0.01)
            app = visit("grading")
            assert "out of memory" in app.note("job-state")
            app = ended(app.press("cancel job"), asked)
        assert app.shows("job cancelled", "mini") and not re.search(r"-\d", app.note("job cancelled"))
        assert find_jobs(asked)[0].state == "cancelled"

    def test_notice_of_another_persons_trial_stays_until_job_begins(self, asked: Project) -> None:
        with Held() as server:
            app = endpoint(asked, server).choose("plan flying", 1)
            spec = {"back_end": "openai", "model": "mini", "base_url": server.url}
            start_job(asked, make_grader("self-rating", spec), Request(trial=tuple(QUESTIONS[:1])), "bob")
            app.press("grade")
            assert app.shows("not begun", "bob")
            server.go_on.set()
            assert ended(app, asked).shows("not begun", "bob")
            app = ended(app.press("grade"), asked)
        assert not app.shows("not begun") and find_jobs(asked)[0].author == "ann"

    def test_batch_is_resumed_and_reports_actual_and_estimated_cost(self, asked: Project) -> None:
        bank.set_price(asked, "mini", Price(1000.0, 1000.0), "ann")
        with EndpointServer() as server:
            server.shelf.states = ("validating", "completed")
            app = endpoint(asked, server)
            assert app.shows("plan-more")
            named(app.checkbox, "plan batch").check()
            server.shelf.away = 401
            app = ended(app.press("grade"), asked)
            assert app.shows("job failed", 401)
            assert numbers(app.note("batches")) == [0, 3, 1]
            server.shelf.away = 0
            app = ended(app.press("look"), asked)
        assert numbers(app.note("job done"))[0] == PAIRS and not app.shows("batches")
        assert [n for n in numbers(app.note("job-remarks")) if n in (4, 20, 40)][:3] == [4, 40, 20]

    def test_limit_on_calls_stops_job(self, asked: Project) -> None:
        with EndpointServer() as server:
            app = endpoint(asked, server).choose("plan calls", 2)
            app = ended(app.press("grade"), asked)
        assert numbers(app.note("job stopped"))[0] == 2
        assert numbers(app.note("job-used"))[:2] == [2, 2]
        assert app.metric_of("metric to grade") == str(PAIRS - 2)

    def test_failed_job_shows_endpoint_and_second_is_refused(
        self, asked: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*_: Any) -> None:
            raise GradingError("job-running", "Running.", "Wait.")

        app = kind("Self-rating").choose("back_end", "Endpoint").enter("model", "mini")
        app.choose("base_url", "https://mine.example/v1")
        assert ended(app.press("grade"), asked).shows("job failed", "mine.example")
        monkeypatch.setattr("exam_workbench.grading.start_job", refused)
        app = visit("grading").press("grade")
        app.check_refused("job-running")


class TestJudgedSample:
    def judged(self, project: Project) -> None:
        judge(project, {("q1", "p1"): 2, ("q1", "p2"): 0})

    def test_sample_is_graded_and_compared_and_first_job_is_limited(self, asked: Project) -> None:
        self.judged(asked)
        bank.set_price(asked, "mini", Price(1000.0, 1000.0), "ann")
        with EndpointServer(lambda seen: rate(seen, 5 if "text of p1" in seen.prompt else 0)) as server:
            app = endpoint(asked, server)
            assert named(app.number_input, "plan calls").value == job_plan.FIRST_CALLS
            app = ended(app.press("grade sample"), asked)
            agreed, compared, *_ = numbers(app.note("sample-outcome"))
            assert (agreed, compared) == (2, 2) and 0.06 in numbers(app.note("sample-outcome"))
            table = next(table.value for table in app.dataframe if "Judgment" in table.value)
            assert sorted(zip(table["Judgment"], table["Label"], strict=True)) == [(0, 0), (2, 5)]
            assert not keyed(app.button, "grade sample"), "the whole sample must be graded"
            assert {box.value for box in keyed(app.number_input, "plan calls")} <= {job_plan.FIRST_CALLS}

    def test_sample_labels_ignore_pairs_that_endpoint_refuses(self, asked: Project) -> None:
        self.judged(asked)
        with EndpointServer(lambda seen: refuse() if "is tin" in seen.prompt else rate(seen, 4)) as server:
            app = endpoint(asked, server).choose("plan calls", 3)
            app = app.choose("plan flying", 1)
            app = ended(app.press("grade"), asked)
            assert app.shows("failed", "I cannot help with that")
            assert app.metric_of("metric to grade") == "1" and app.metric_of("metric calls failed") != ""
            app = app.press("grade sample")
            app = ended(app, asked)
            assert len(table := next(t.value for t in app.dataframe if "Judgment" in t.value)) == 2
        assert table["Label"].tolist() == [4, 4], "a refused pair leaves the label to the other question"
        agreeing, compared, *_ = numbers(app.note("sample-outcome"))
        assert (agreeing, compared) == (1, 2)


class TestFailedPairs:
    def test_failed_pairs_are_paged_and_filtered_by_reason(self, project: Project) -> None:
        asked = [Question(f"q1/{i}", "q1", f"Question {i:02}?") for i in range(13)]
        fill(project, asked, {}, RUNS)
        refused, odd = Grade(None, "failed", reason="refused"), Grade(None, "failed", reason="off the scale", raw="9")
        say(project, *((question.text or "", "p1", refused) for question in asked), ("Question 00?", "p2", odd))
        app = visit("grading")

        def shown() -> int:
            return len([box for box in app.expander if box.label.startswith("**")])

        assert shown() == 10
        app.choose("reason", "1 × off the scale")
        assert shown() == 1
        assert codes(app) == ["9"]

    def test_defaulted_grades_and_failures_of_imported_grader_are_listed(self, asked: Project) -> None:
        say(asked, ("What is tin?", "p1", Grade(1, "defaulted", raw="Hm.")))
        app = visit("grading")
        bodies = [str(element.proto.body) for element in app.get("html")]
        assert [body for body in bodies if look.rating_html(1, "Rating") in body] and app.shows("failed")
        assert codes(app) == ["Hm."]
        assert not app.shows("not-asked-again")
        say(asked, ("What is tin?", "p1", Grade(None, "failed")), spec=GraderSpec("theirs", "self-rating", "gone"))
        app = visit("grading", failed_of="theirs")
        assert bank.find_grader(asked, "theirs").failures == 1
        assert app.shows("failed")
        assert "passages" in app.links()


class TestPrices:
    def test_prices_are_edited_in_place_and_incomplete_row_is_refused(self, asked: Project) -> None:
        app = visit("grading")
        added = [{"Model": "m"}]
        app.session_state[app.data_editor[0].key] = {"edited_rows": {}, "added_rows": added, "deleted_rows": []}
        app.run()
        app.press("save prices")
        app.check_refused("invalid-price", "m")
        assert bank.model_prices(asked) == {}
        bank.set_price(asked, "old", Price(1, 2), "ann")
        bank.set_price(asked, "gone", Price(3, 4), "ann")
        app = visit("grading")
        app.session_state[app.data_editor[0].key] = {
            "edited_rows": {1: {tables.READ: 7.5}},
            "added_rows": [{"Model": "new", tables.READ: 0.5, tables.WRITTEN: 1.5}],
            "deleted_rows": [0],
        }
        app.run()
        app.press("save prices")
        assert bank.model_prices(asked) == {"old": Price(7.5, 2), "new": Price(0.5, 1.5)}


def kept(app: Screen, project: Project) -> dict[str, object]:
    """Save the grader and return its stored parameters."""
    app.enter("setup name", "mine").press("setup save")
    (found,) = bank.named_graders(project)
    assert (found.name, found.author, app.selectbox("setup").value) == ("mine", "ann", "saved:mine")
    return found.parameters


def test_settings_of_each_kind_of_grader_are_saved(project: Project, tiny_t5: Path) -> None:
    fill(project, [Question("q1/a", "q1", "What is gold?")], {}, {"one": {"q1": ["p1"]}})
    app = visit("grading").choose("setup", "Self-rating").choose("model", str(tiny_t5))
    for name, value in {"dtype": "float32", "num_beams": 5, "cue": "Score:"}.items():
        app.enter(name, value)
    chosen = {"model": str(tiny_t5), "dtype": "float32", "num_beams": 5, "cue": "Score:"}
    assert kept(app, project) == {"back_end": "transformers"} | chosen
    app = kind("Self-rating").choose("back_end", "Endpoint")
    app.choose("model", "base")
    app.enter("api", "Plain completions")
    assert kept(app, project) == {"back_end": "openai", "model": "base", "api": "completions"}
    app = kind("Multiple choice")
    assert not keyed(app.number_input, "num_beams")
    app.enter("normalise", "characters")
    assert kept(app, project) == {"back_end": "transformers", "normalise": "characters"}
    app.choose("setup", "Multiple choice")
    app.choose("by", "letter")
    assert not keyed(app.selectbox, "normalise")
    assert named(app.number_input, "num_beams").value == 1


def test_grader_settings_have_command_line_options(project: Project) -> None:
    path = project.path
    project.close()

    def save(name: str, *options: str) -> int:
        return CliRunner().invoke(cli, ["graders", "add", name, "--project", str(path), *options]).exit_code

    assert save("a", "--grader", "self-rating", "--dtype", "bfloat16", "--num-beams", "5", "--cue", "none") == 0
    assert save("b", "--grader", "choice", "--normalise", "characters") == 0
    url = ["--base-url", "http://localhost:1/v1", "--model", "m"]
    assert save("c", "--grader", "self-rating", *url, "--api", "completions") == 0
    assert save("d", "--grader", "self-rating", *url, "--num-beams", "5") != 0
    listed = CliRunner().invoke(cli, ["graders", "list", "--project", str(path), "--json"])
    assert {one["name"]: one["parameters"] for one in json.loads(listed.output)["graders"]} == {
        "a": {"dtype": "bfloat16", "num_beams": 5, "cue": "none"},
        "b": {"normalise": "characters"},
        "c": {"base_url": "http://localhost:1/v1", "model": "m", "api": "completions"},
    }
