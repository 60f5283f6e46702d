"""The Grading screen: setting graders up, trying them, what a job would take, watching it, and mending what failed."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import find_grader, graders, named_graders, prices, save_named_grader, set_price
from core.errors import GradingError
from core.graders import Price, make_grader
from core.graders.access import keys as secret_keys
from core.grading import BackgroundJob, Request, current_job, jobs, start_job
from core.project import Project
from core.types import Grade, GraderSpec, Question
from pages.parts.graders.trial import waiting
from pages.parts.shared import look, ui
from pages.parts.shared.job_plan import Chosen
from tests.grading.test_failures import say
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, no_structure, rate, refuse, status, well
from tests.made.projects import SPEC, fill, grade
from tests.made.screens import (
    DEADLINE,
    MARKUP,
    as_text,
    choose,
    drawn_grade,
    enter,
    links,
    looking_at,
    metric,
    named,
    press,
    said,
    served,
    shared,
    small,
    sound,
    visit,
)
from tests.made.tiny_models import build_tiny_t5, shared_model

__all__ = ["served", "shared", "small"]  # fixtures

QUESTIONS = [
    Question("q1/a", "q1", "What is gold?", answer_key="a metal"),
    Question("q1/b", "q1", "What is tin?"),
    Question("q1/n", "q1", "A fact of tin", kind="nugget"),
]
RUNS = {"one": {"q1": ["p1", "p2"]}}
PAIRS = 4


@pytest.fixture(scope="session")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shared_model(tmp_path_factory, build_tiny_t5)


@pytest.fixture
def asked(project: Project) -> Project:
    """A project in which nothing has been graded."""
    put_asked(project)
    return project


def put_asked(project: Project) -> None:
    fill(project, QUESTIONS, {}, RUNS)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The same for all tests that only look at it."""
    with looking_at(tmp_path_factory.mktemp("asked"), put_asked) as project:
        yield project


@pytest.fixture(autouse=True)
def no_job_goes_on(project: Project) -> Iterator[None]:
    yield
    job = current_job(project)
    if job is not None:
        job.cancel()
        assert job.wait(DEADLINE)


def kind(title: str) -> AppTest:
    """The screen with a new grader of a kind, by a link."""
    return visit("grading", setup=title)


def endpoint(project: Project, server: EndpointServer) -> AppTest:
    """The screen with a self-rating grader behind an endpoint, which the project keeps."""
    parameters = {"back_end": "openai", "model": "mini", "base_url": server.url}
    save_named_grader(project, "ours", "self-rating", parameters, "ann")
    return visit("grading", setup="ours (saved)")


def typed(server: EndpointServer) -> AppTest:
    """The same as somebody types it into the form."""
    app = choose(kind("Self-rating"), "Model runs", "Endpoint")
    return choose(enter(app, "Model", "mini"), "Address", server.url)


def words(app: AppTest) -> str:
    """What the screen says, without the signs that keep Markdown out."""
    return re.sub(r"\\(.)", r"\1", said(app))


def ended(app: AppTest, project: Project) -> AppTest:
    """The screen after the job."""
    job = current_job(project)
    assert job is not None
    assert job.wait(DEADLINE)
    return sound(app.run())


def started(project: Project) -> BackgroundJob:
    job = current_job(project)
    assert job is not None
    return job


def codes(app: AppTest) -> list[str]:
    return [str(block.value) for block in app.code]


def failing(seen: Seen) -> Reply:
    """Knows no schemas; rates gold, refuses tin about one passage and chats about the other."""
    if seen.wants_json:
        return no_structure()
    if "gold" in seen.prompt:
        return rate(seen, 4)
    return refuse() if "text of p1" in seen.prompt else chat(f"Hm. {MARKUP}")


class Held(EndpointServer):
    """An endpoint that answers nothing until it is told to go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        super().__init__(lambda seen: well(seen) if self.go_on.wait(DEADLINE) else refuse())


class TestSettingUp:
    def test_a_local_grader_is_set_up_in_a_form_and_kept_under_a_name(self, asked: Project, tiny_t5: Path) -> None:
        app = choose(visit("grading"), "Grader", "Self-rating")
        choose(app, "Model", str(tiny_t5))
        enter(app, "Number format", "float32")
        press(enter(app, "Name", "our tiny one"), "Save")
        (kept,) = named_graders(asked)
        assert (kept.name, kept.kind, kept.author) == ("our tiny one", "self-rating", "ann")
        assert kept.parameters == {"back_end": "transformers", "model": str(tiny_t5), "dtype": "float32"}
        assert app.selectbox("setup").value == "saved:our tiny one"

    def test_a_kept_grader_comes_back_with_its_settings_by_a_link(self, asked: Project) -> None:
        parameters = {
            "back_end": "openai",
            "model": "mini",
            "base_url": "http://localhost:1/v1",
            "temperature": 0.0,
            "extra": {"seed": 1},
            "prompt": "self-rating",
            "fence": False,
        }
        kept = save_named_grader(asked, "a name", "self-rating", parameters, "ann")
        app = visit("grading", setup="a name (saved)")
        assert named(app.text_input, "Address").value == "http://localhost:1/v1"
        assert named(app.selectbox, "Prompt").value == "self-rating"
        press(app, "Save")
        (again,) = named_graders(asked)
        assert again.parameters == parameters
        assert save_named_grader(asked, "x", again.kind, again.parameters, "ann").spec == kept.spec

    def test_one_goes_on_with_the_grader_under_which_one_looks(self, asked: Project) -> None:
        grader = save_named_grader(asked, "ours", "self-rating", {"model": "x"}, "ann")
        grade(asked, {("What is gold?", "p1"): 5}, grader.spec)
        app = visit("grading")
        assert app.selectbox("setup").value == "saved:ours"
        assert "This is another" not in said(app)
        assert "This is another" in said(choose(app, "Grader", "Embedding (MiniLM)"))

    def test_a_link_to_a_grader_that_is_gone_falls_back_to_the_first(self, shared: Project) -> None:
        assert visit("grading", setup="gone (saved)").selectbox("setup").value == "embedding"

    def test_a_kept_grader_can_be_removed(self, asked: Project) -> None:
        save_named_grader(asked, "a name", "self-rating", {"model": "x"}, "ann")
        app = press(visit("grading", setup="a name (saved)"), "Remove it")
        assert named_graders(asked) == []
        assert app.selectbox("setup").value == "self-rating"

    def test_every_back_end_has_its_own_defaults(self, shared: Project) -> None:
        app = kind("Self-rating")
        assert named(app.selectbox, "Prompt").value == "self-rating"
        assert not named(app.checkbox, "Fence").value
        choose(app, "Model runs", "Endpoint")
        assert named(app.selectbox, "Prompt").value == "self-rating-chat"
        assert named(app.checkbox, "Fence").value
        assert "Say which model the endpoint shall use." in said(app)

    def test_every_kind_has_a_form_that_makes_a_grader(self, small: Project) -> None:
        for title in "Answer and check", "Extractive answer and check", "Multiple choice", "Direct judge":
            app = kind(title)
            assert not app.error, title
            assert metric(app, "Pairs needed") if title == "Direct judge" else "There is nothing to grade." in said(app)

    def test_a_choice_behind_an_endpoint_is_by_letter(self, shared: Project) -> None:
        app = kind("Multiple choice")
        assert named(app.selectbox, "Prompt").value == "choice-likelihood"
        choose(app, "Model runs", "Endpoint")
        assert named(app.selectbox, "Chooses by").options == ["Letter that it writes"]
        assert named(app.selectbox, "Prompt").options == ["choice"]

    def test_a_check_by_a_model_asks_for_its_prompt(self, asked: Project) -> None:
        app = kind("Answer and check")
        assert not [box for box in app.selectbox if box.label == "Prompt of the check"]
        choose(app, "Answers are checked", "Ask a model")
        assert named(app.selectbox, "Prompt of the check").value == "verify"

    def test_an_impossible_setting_is_a_sentence_with_a_hint(self, shared: Project) -> None:
        app = choose(kind("Self-rating"), "Device", "abacus")
        assert "There is no device" in as_text(app.error[0].value)
        assert "Use auto, cpu, cuda" in said(app)
        assert not [button for button in app.button if button.label == "Grade"]


class TestKeys:
    def test_the_screen_says_whether_a_key_is_found_and_never_shows_it(
        self, shared: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        app = choose(kind("Self-rating"), "Model runs", "Endpoint")
        assert "No key is found under OPENAI_API_KEY" in words(app)
        monkeypatch.setenv("GROQ_API_KEY", "open-sesame")
        choose(app, "Address", "https://api.groq.com/openai/v1")
        assert "A key is found under GROQ_API_KEY, which is for api.groq.com." in words(app)
        choose(app, "Address", "https://mine.example/v1")
        assert "No key is known to be for mine.example" in words(app)
        assert "open-sesame" not in said(app)

    def test_a_typed_key_is_held_for_this_window_and_stored_nowhere(self, asked: Project) -> None:
        with EndpointServer() as server:
            app = choose(typed(server), "Key for this address", "open-sesame")
            assert named(app.text_input, "Key for this address").value == "", "it is not sent back to the browser"
            assert "The key that you typed for 127.0.0.1 is used." in words(app)
            app = ended(press(app, "Grade"), asked)
            press(app, "Ask")
            press(app, "Forget the key")
            press(app, "Ask")
        keys = [seen.headers["authorization"] for seen in server.seen]
        assert keys == ["Bearer open-sesame"] * (PAIRS + 1) + ["Bearer no-key"]
        assert "open-sesame" not in said(app)
        tables = [name for (name,) in asked.rows("SELECT table_name FROM information_schema.tables")]
        assert all("open-sesame" not in str(asked.rows(f'SELECT * FROM "{name}"')) for name in tables)

    def test_a_key_among_the_apps_secrets_goes_to_its_host(
        self, shared: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        app = AppTest.from_file(str(Path(ui.__file__).parents[3] / "app.py"), default_timeout=DEADLINE)
        app.secrets["OPENAI_API_KEY"] = "open-sesame"
        app.secrets["endpoints"] = {"Ours": {"base_url": "https://ours.example/v1", "models": ["one", "two"]}}
        sound(app.switch_page("pages/grading.py").run())
        choose(choose(app, "Grader", "Self-rating"), "Model runs", "Endpoint")
        assert named(app.selectbox, "Endpoint").options == ["Ours", "Another address"]
        assert [box.options for box in app.selectbox if box.label == "Model"] == [["one", "two"]]
        choose(app, "Endpoint", "Another address")
        assert "A key is found under OPENAI_API_KEY" in words(app)

    def test_without_a_file_of_secrets_there_is_no_key_and_no_complaint(self, shared: Project) -> None:
        app = visit("grading")
        assert secret_keys.find_key("NO_SUCH_KEY_ANYWHERE") is None
        assert not app.error


class TestAskingOneQuestion:
    def test_a_local_model_shows_prompt_answer_rating_and_distribution(self, shared: Project, tiny_t5: Path) -> None:
        app = choose(kind("Self-rating"), "Model", str(tiny_t5))
        press(app, "Ask")
        answer, prompt = codes(app)
        assert "Question: What is gold?" in prompt
        assert "Context: text of p1" in prompt
        assert answer == "5"
        grade = drawn_grade(app)
        assert grade.startswith(look.rating(5))
        assert "<span>of 5</span><span>graded</span>" in grade
        shares = [int(share) for share in re.findall(r"<td>(\d+)%</td>", grade)]
        assert len(shares) == 6
        assert max(shares) == shares[5]
        assert [known.spec for known in graders(shared)] == [SPEC]

    def test_an_endpoint_that_fails_is_told_with_its_reason(self, asked: Project) -> None:
        with EndpointServer(lambda seen: refuse()) as server:
            app = press(endpoint(asked, server), "Ask")
            url = server.url
        assert f"Failed at {url}: refused: I cannot help with that" in as_text(app.error[0].value)
        assert drawn_grade(app) == ""

    def test_an_error_of_an_endpoint_names_its_address(self, asked: Project) -> None:
        with EndpointServer(lambda seen: Reply(500, "{}")) as server:
            app = endpoint(asked, server)
            url = server.url
        app = press(app, "Ask")
        assert f"Failed at {url}: the connection failed" in as_text(app.error[0].value)

    def test_it_says_what_one_waits_for_and_since_when(self, tiny_t5: Path) -> None:
        def said(**parameters: Any) -> str:
            grader = make_grader("self-rating", parameters)
            return as_text(waiting(Chosen(grader, "self-rating", parameters), datetime(2026, 5, 4, 14, 3, 5)))

        assert said(model="mini", base_url="http://localhost:1/v1", timeout_s=20) == (
            "Waiting since 14:03:05 for mini at http://localhost:1/v1, 20 s a call at most"
        )
        assert said(model=str(tiny_t5)).endswith("on this computer. A model that is not loaded yet is loaded first")

    def test_an_answer_without_a_number_is_shown_as_text_and_as_a_default(self, asked: Project) -> None:
        with EndpointServer(lambda seen: no_structure() if seen.wants_json else chat(MARKUP)) as server:
            app = press(endpoint(asked, server), "Ask")
        assert MARKUP in codes(app)
        assert drawn_grade(app).startswith(f"{look.rating(1)}<span>of 5</span><span>by default: ")

    def test_a_model_that_is_not_there_is_a_sentence_with_a_hint(self, shared: Project, tmp_path: Path) -> None:
        (tmp_path / "hollow").mkdir()
        app = choose(kind("Self-rating"), "Model", str(tmp_path / "hollow"))
        assert "holds no model" in as_text(app.error[0].value)

    def test_what_was_asked_goes_away_with_another_passage(self, shared: Project, tiny_t5: Path) -> None:
        app = press(choose(kind("Self-rating"), "Model", str(tiny_t5)), "Ask")
        choose(app, "Passage", "text of p2")
        assert codes(app) == []


class TestPlan:
    def test_what_takes_no_time_is_not_said_to_take_zero_seconds(self) -> None:
        assert [ui.about(seconds) for seconds in (0.2, 1.6, 200)] == ["a second at most", "about 2 s", "about 3 min"]

    def test_it_has_a_price_tag_and_says_who_is_left_out(self, shared: Project, tiny_t5: Path) -> None:
        app = choose(kind("Self-rating"), "Model", str(tiny_t5))
        assert metric(app, "To grade") == str(PAIRS)
        assert metric(app, "Calls") == str(PAIRS)
        assert not metric(app, "Tokens read").startswith("≈"), "the tokenizer is at hand before the weights are"
        assert metric(app, "Cost") == "–"
        assert "1 question is left out: 1 of a kind that it does not grade." in said(app)
        elsewhere = choose(choose(kind("Self-rating"), "Model runs", "Endpoint"), "Model", "mini")
        assert metric(elsewhere, "Tokens read").startswith("≈")

    def test_a_checking_grader_leaves_out_questions_without_a_key(self, asked: Project) -> None:
        app = kind("Answer and check")
        assert "2 questions are left out: 1 of a kind that it does not grade, 1 without an answer key." in said(app)

    def test_a_price_gives_a_cost_and_opens_the_budget_in_money(self, asked: Project) -> None:
        app = choose(choose(kind("Self-rating"), "Model runs", "Endpoint"), "Model", "mini")
        assert named(app.number_input, "Money at most").disabled
        set_price(asked, "mini", Price(1000.0, 1000.0), "ann")
        sound(app.run())
        assert float(metric(app, "Cost").removeprefix("≈ ")) > 0
        assert not named(app.number_input, "Money at most").disabled


class TestJobs:
    def test_failed_and_defaulted_pairs_are_counted_beside_the_graded_ones(self, asked: Project) -> None:
        with EndpointServer(failing) as server:
            app = ended(press(typed(server), "Grade"), asked)
        assert "3 pairs graded (1 by default), 1 failed" in said(app)
        assert "refused: I cannot help with that." in "\n".join(codes(app))
        table = next(table.value for table in app.dataframe if "State" in table.value)
        assert table[["State", "Graded", "Failed"]].values.tolist() == [["done", 3, 1]]
        (kept,) = named_graders(asked)
        assert kept.parameters["base_url"] == server.url

    def test_a_job_of_another_grader_leads_to_its_labels_beside_those_that_are_looked_at(self, asked: Project) -> None:
        grade(asked, {(QUESTIONS[0].shown, "p1"): 4})
        with EndpointServer() as server:
            app = ended(press(endpoint(asked, server), "Grade"), asked)
        (told,) = (link.proto.query_string for link in app.main.get("page_link") if link.proto.page == "changes")
        states = {name: value for name, (value,) in parse_qs(told).items() if name.startswith(("from-", "to-"))}
        made = jobs(asked)[0].grader
        assert states == {"from-grader": SPEC.name, "to-grader": made, "from-version": "1", "to-version": "1"}

    def test_a_running_job_is_paused_resumed_and_given_more_calls(self, asked: Project) -> None:
        with Held() as server:
            app = choose(endpoint(asked, server), "Calls in flight", 1)
            press(app, "Grade")
            job = started(asked)
            press(app, "Pause")
            assert job.control.paused
            sound(app.run())
            assert "Paused" in said(app)
            # The thread of the job records it, and carries it a moment later.
            while [one.state for one in jobs(asked)] != ["paused"]:
                server.go_on.wait(0.01)
            sound(app.run())
            assert app.dataframe[0].value["State"].tolist() == ["paused"]
            named(app.number_input, "Calls in flight").set_value(4)
            sound(app.run())
            assert job.control.concurrency == 4
            press(app, "Resume")
            assert jobs(asked)[0].state == "running"
            server.go_on.set()
            app = ended(app, asked)
        assert f"Last job done: {PAIRS} pairs graded" in said(app)

    def test_the_bank_shows_a_job_and_cannot_cancel_it_as_if_it_were_its_trial(self, asked: Project) -> None:
        with Held() as server:
            press(choose(endpoint(asked, server), "Calls in flight", 1), "Grade")
            started(asked).control.pause()
            while not started(asked).progress.total:
                server.go_on.wait(0.01)
            app = visit("question_bank")
            assert "Cancel the trial" not in [button.label for button in app.button]
            assert "See Grading" in [link.proto.label for link in app.main.get("page_link")]
            assert f"of {PAIRS} pairs, paused" in "".join(
                bar.proto.text for bar in visit("leaderboard").get("progress")
            )
            server.go_on.set()

    def test_an_endpoint_that_answers_nothing_is_not_said_to_be_about_to(self, asked: Project) -> None:
        with EndpointServer(lambda seen: status(500, "out of memory")) as server:
            press(choose(endpoint(asked, server), "Calls in flight", 1), "Grade")
            while not started(asked).log:
                assert not started(asked).wait(0.01)
            seen_now = words(visit("grading"))
            started(asked).cancel()
            assert started(asked).wait(DEADLINE)
        assert "No answer yet" in seen_now and "out of memory" in seen_now
        assert "first answers are on their way" not in seen_now

    def test_who_presses_while_a_trial_of_another_is_under_way_is_told_so_until_a_job_is_begun(
        self, asked: Project
    ) -> None:
        with Held() as server:
            app = choose(endpoint(asked, server), "Calls in flight", 1)
            spec = {"back_end": "openai", "model": "mini", "base_url": server.url}
            start_job(asked, make_grader("self-rating", spec), Request(trial=tuple(QUESTIONS[:1])), "bob")
            press(app, "Grade")
            assert "You began no job: a trial of bob is under way. Press Grade again when it has ended." in said(app)
            server.go_on.set()
            assert "a trial of bob was under way. Press Grade again." in said(ended(app, asked))
            app = ended(press(app, "Grade"), asked)
        assert "You began no job" not in said(app) and jobs(asked)[0].author == "ann"

    def test_a_cancelled_job_keeps_what_it_has(self, asked: Project) -> None:
        with Held() as server:
            app = press(choose(endpoint(asked, server), "Calls in flight", 1), "Grade")
            press(app, "Pause")
            press(app, "Cancel")
            server.go_on.set()
            app = ended(app, asked)
        assert "Last job cancelled" in words(app) and ", with Self-rating (mini)." in words(app)
        assert "in -" not in words(app)
        assert jobs(asked)[0].state == "cancelled"

    def test_a_batch_is_left_and_taken_up_again_and_says_what_it_cost_beside_what_was_told(
        self, asked: Project
    ) -> None:
        set_price(asked, "mini", Price(1000.0, 1000.0), "ann")
        with EndpointServer() as server:
            server.shelf.states = ("validating", "completed")
            app = endpoint(asked, server)
            assert "As a batch it costs" in said(app)
            named(app.checkbox, "As a batch: half the price, within 24 hours").check()
            server.shelf.away = 401
            app = ended(press(app, "Grade"), asked)
            assert "Last job failed: The endpoint did not take the file of calls: HTTP 401" in words(app)
            assert "wait at the endpoint. 0 of 3 calls made; batches: 1 planned" in words(app)
            server.shelf.away = 0
            app = ended(press(app, "Look again"), asked)
        assert f"Last job done: {PAIRS} pairs graded" in said(app) and "wait at the endpoint" not in said(app)
        assert "Billed: 4 calls, 40 tokens read and 20 written" in words(app) and "Told before: 4 calls" in words(app)

    def test_a_cap_on_calls_stops_it_and_says_so(self, asked: Project) -> None:
        with EndpointServer() as server:
            app = choose(endpoint(asked, server), "Calls at most", 2)
            app = ended(press(app, "Grade"), asked)
        assert "Last job stopped at its budget: 2 pairs graded" in said(app)
        assert "2 of 2 calls" in said(app)
        assert metric(app, "To grade") == str(PAIRS - 2)

    def test_a_grader_that_cannot_go_on_says_why(self, asked: Project) -> None:
        app = enter(choose(kind("Self-rating"), "Model runs", "Endpoint"), "Model", "mini")
        choose(app, "Address", "https://mine.example/v1")
        app = ended(press(app, "Grade"), asked)
        assert "No key is known to be for mine.example" in words(app)

    def test_a_second_job_is_refused_with_a_sentence(self, asked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(*_: Any) -> None:
            raise GradingError("job-running", "A grading job is running already.", "Wait for it, or cancel it first.")

        monkeypatch.setattr("pages.parts.shared.job_plan.start_job", refused)
        app = press(visit("grading"), "Grade")
        assert "A grading job is running already." in as_text(app.error[0].value)


class TestFailedPairs:
    def test_they_are_counted_listed_and_asked_again_alone(self, asked: Project) -> None:
        with EndpointServer(failing) as server:
            app = ended(press(endpoint(asked, server), "Grade"), asked)
            assert "Refused: I cannot help with that · no rating" in said(app)
            server.behave = lambda seen: rate(seen, 2)
            before = len(server.seen)
            app = ended(press(app, "Ask only the failed pairs again (1)"), asked)
            assert len(server.seen) == before + 1
        assert metric(app, "Failed") == "0"
        assert metric(app, "Known already") == str(PAIRS)

    def test_text_from_outside_is_shown_as_text(self, project: Project) -> None:
        fill(project, [Question("q1/a", "q1", MARKUP)], {}, RUNS)
        say(project, (MARKUP, "p1", Grade(None, "failed", raw=MARKUP, reason=MARKUP)))
        app = visit("grading")
        assert MARKUP in codes(app)
        assert any(MARKUP in text.value for text in app.text)
        label = next(box.label for box in app.expander if "text of p1" in box.label)
        assert MARKUP in as_text(label.replace("**", "", 1).replace("** ", " ", 1))

    def test_many_are_shown_a_page_at_a_time_and_by_reason(self, project: Project) -> None:
        asked = [Question(f"q1/{i}", "q1", f"Question {i:02}?") for i in range(13)]
        fill(project, asked, {}, RUNS)
        refused, odd = Grade(None, "failed", reason="refused"), Grade(None, "failed", reason="off the scale", raw="9")
        say(project, *((question.text or "", "p1", refused) for question in asked), ("Question 00?", "p2", odd))
        app = visit("grading")

        def shown() -> int:
            return len([box for box in app.expander if box.label.startswith("**")])

        assert shown() == 10
        choose(app, "Reason", "1 × off the scale")
        assert shown() == 1
        assert codes(app) == ["9"]

    def test_defaulted_grades_are_listed_too(self, asked: Project) -> None:
        say(asked, ("What is tin?", "p1", Grade(1, "defaulted", raw="Hm.")))
        app = visit("grading")
        bodies = [str(element.proto.body) for element in app.get("html")]
        assert [body for body in bodies if look.rating(1, "Rating") in body and "It names no rating" in body]
        assert codes(app) == ["Hm."]
        assert "came with a file" not in said(app)

    def test_an_imported_graders_failures_cannot_be_asked_again_and_that_is_said(self, asked: Project) -> None:
        say(asked, ("What is tin?", "p1", Grade(None, "failed")), spec=GraderSpec("theirs", "self-rating", "gone"))
        app = visit("grading", failed_of="theirs")
        assert find_grader(asked, "theirs").failures == 1
        assert "no usable rating" in said(app).lower()
        assert "passages" in links(app)


class TestPrices:
    def test_the_table_is_edited_in_place(self, asked: Project) -> None:
        set_price(asked, "old", Price(1, 2), "ann")
        set_price(asked, "gone", Price(3, 4), "ann")
        app = visit("grading")
        app.session_state[app.data_editor[0].key] = {
            "edited_rows": {1: {"Per million tokens read": 7.5}},
            "added_rows": [{"Model": "new", "Per million tokens read": 0.5, "Per million tokens written": 1.5}],
            "deleted_rows": [0],
        }
        sound(app.run())
        press(app, "Save prices")
        assert prices(asked) == {"old": Price(7.5, 2), "new": Price(0.5, 1.5)}

    def test_a_row_that_is_not_complete_is_refused(self, asked: Project) -> None:
        app = visit("grading")
        app.session_state[app.data_editor[0].key] = {
            "edited_rows": {},
            "added_rows": [{"Model": "m"}],
            "deleted_rows": [],
        }
        sound(app.run())
        press(app, "Save prices")
        assert "The price of m is not complete." in as_text(app.error[0].value)
        assert prices(asked) == {}
