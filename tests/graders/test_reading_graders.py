"""Graders that read, from parameters to labels: what they are asked, what is asked again, what a job may spend."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank
from exam_workbench.bank import _saved_graders as named_graders, model_prices, set_price
from exam_workbench.exchange import graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.graders import (
    Price,
    Prompt,
    ReadingGrader,
    built_in_prompts,
    find_remaking_parameters,
    make_grader,
    read_prompt,
    try_injections,
    try_pair,
    write_prompt,
)
from exam_workbench.graders._endpoint.chat import AROUND_PROMPT
from exam_workbench.graders._reading.injections import INJECTIONS
from exam_workbench.graders._reading.parsing import RULES_VERSION
from exam_workbench.grading import Request, Scope, make_plan, pair_to_try, price_tag, questions_to_try, run_job
from exam_workbench.grading._needed_pairs import pairs_to_grade, with_texts
from exam_workbench.grading._price_tag import first_prompt
from exam_workbench.jobs import Progress
from exam_workbench.labels import Policy, add_override, basis, coverage_scores, leaderboard, list_labels
from exam_workbench.records import add_queries
from exam_workbench.review import changes
from exam_workbench.store import Project
from exam_workbench.types import Asked, Query, Question
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, digit, rate, status
from tests.made.projects import fill, judge, new_project
from tests.made.refusals import mentions, refusal

ASKED = Question("q1/a", "q1", "How tall is it?", answer_key="ten metres")
CHOSEN = Question("q1/c", "q1", "What is it?", kind="choice", answer_key="a tree", choices=("a dog", "a tree"))
PLAIN = Question("q2/b", "q2", "Why?")
RUNS = {"one": {"q1": ["p1", "p2", "p3"], "q2": ["p3", "p4"]}, "two": {"q1": ["p3", "p1"], "q2": ["p4"]}}


@pytest.fixture
def filled(project: Project) -> Project:
    fill(project, [ASKED, CHOSEN, PLAIN], {}, RUNS)
    judge(project, {("q1", "p1"): 1, ("q2", "p4"): 1})
    return project


def reader(seen: Seen) -> Reply:
    """Answers every prompt of the project in its form: ratings by digit, yes for p1 and p3, answers in words."""
    if "provide a complete and concise answer" in seen.prompt:
        return chat("ten metres" if "text of p1" in seen.prompt else "unanswerable")
    form = json.dumps(seen.body.get("response_format", ""))
    if "Yes" in form or "yes" in seen.prompt.lower():
        yes = "ten metres" in seen.prompt or "text of p3" in seen.prompt
        return chat(json.dumps({"answer": "Yes" if yes else "No"}) if seen.wants_json else "Yes" if yes else "No")
    if '"A"' in form:
        return chat(json.dumps({"answer": "B" if "text of p2" in seen.prompt else "A"}))
    return rate(seen, digit(seen.prompt))


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer(reader) as running:
        yield running


def settings(server: EndpointServer, **more: object) -> dict[str, object]:
    return {"back_end": "openai", "model": "m", "base_url": server.url, **more}


def graded(project: Project, kind: str, server: EndpointServer, **more: object) -> tuple[str, Progress]:
    made = make_grader(kind, settings(server, **more), bank.list_prompts(project))
    final = run_job(project, made, Request(), "ann")
    assert final.state == "done", final.message
    return made.spec.fingerprint, final


def label_of(project: Project, grader: str, **more: object) -> dict[tuple[str, str], int | None]:
    table = list_labels(project, basis(project, Policy(grader=grader, **more)))  # type: ignore[arg-type]
    return {
        (q, p): None if label != label else int(label)
        for q, p, label in zip(table["query_id"], table["passage_id"], table["label"].astype(float), strict=True)
    }


def test_a_grader_that_checks_answers_grades_the_questions_that_have_a_key(filled: Project, server: EndpointServer):
    name, final = graded(filled, "answer", server)
    assert (final.graded, final.failed) == (6, 0), "two questions with a key, three passages"
    assert label_of(filled, name) == {("q1", "p1"): 1, ("q1", "p2"): 0, ("q1", "p3"): 0}
    assert coverage_scores(filled, basis(filled, Policy(grader=name)))["one"]["q1"] == 0.5, "1 is the top of this scale"


def test_a_new_answer_key_is_a_new_thing_to_ask_and_the_old_key_finds_the_old_grades(
    filled: Project, server: EndpointServer
):
    name, _ = graded(filled, "answer", server)
    spec = make_grader("answer", settings(server)).spec
    changed = replace(ASKED, answer_key="eleven metres")
    before = label_of(filled, name)
    found = changes(filled, "EXAM-Cover", Policy(grader=name), {"q1": [changed, CHOSEN]})
    assert (found.to_grade, found.known) == (3, 3)
    bank.save_version(filled, [changed], "new key", "ann")
    assert make_plan(filled, spec, bank.latest_version(filled)).to_grade == 3
    assert label_of(filled, name)["q1", "p1"] == 0, "what it rests on now is the other question"
    bank.save_version(filled, [ASKED], "old key", "ann")
    assert make_plan(filled, spec, bank.latest_version(filled)).to_grade == 0
    assert label_of(filled, name) == before
    rating = make_grader("self-rating", settings(server)).spec
    bank.save_version(filled, [changed], "new key", "ann")
    assert make_plan(filled, rating, bank.latest_version(filled)).needed == 8, "a rater does not read the key"


def test_two_graders_may_check_the_same_answer_in_two_ways(filled: Project, server: EndpointServer):
    words, _ = graded(filled, "answer", server)
    model, final = graded(filled, "answer", server, check="model")
    assert words != model
    assert final.usage.calls == 8, "six answers, of which two are answers that can be verified"
    assert label_of(filled, model) == label_of(filled, words)
    raw = filled.value("SELECT raw FROM grades WHERE rating = 1 AND raw LIKE '%verification%'")
    assert "ten metres" in raw


def test_multiple_choice_asks_about_choices_alone(filled: Project, server: EndpointServer):
    name, final = graded(filled, "choice", server)
    assert final.graded == 3
    assert label_of(filled, name)["q1", "p2"] == 1 and label_of(filled, name)["q1", "p1"] == 0


def test_a_direct_judge_asks_about_the_query_and_its_rating_is_the_label(filled: Project, server: EndpointServer):
    name, final = graded(filled, "direct", server, prompt="Sun")
    assert final.graded == 5
    found = label_of(filled, name)
    assert found["q1", "p3"] == 1 and found["q1", "p1"] == 0
    board = leaderboard(filled, "P@5", policy=Policy(grader=name))
    assert {system.run for system in board.systems} == {"one", "two"} and board.systems[0].score > 0
    reworded = replace(ASKED, text="How high is it?")
    assert changes(filled, "P@5", Policy(grader=name), {"q1": [reworded]}).labels == []


def test_the_qa_judge_waits_for_the_answer_of_a_query(filled: Project, server: EndpointServer):
    spec = make_grader("direct", settings(server, prompt="QA-judge")).spec
    assert make_plan(filled, spec, 1).needed == 0
    with filled.transaction() as cursor:
        add_queries(cursor, [Query("q1", "query q1", answer="ten metres")], replace=True)
    name, final = graded(filled, "direct", server, prompt="QA-judge")
    assert final.graded == 3 and set(label_of(filled, name).values()) == {1}


def test_a_judge_is_not_asked_about_a_query_that_is_known_by_its_id_alone(project: Project, server: EndpointServer):
    fill(project, [PLAIN], {}, RUNS)
    with project.transaction() as cursor:
        cursor.execute("UPDATE queries SET text = query_id WHERE query_id = 'q1'")
    spec = make_grader("direct", settings(server, prompt="Sun")).spec
    assert make_plan(project, spec, 1).needed == 2


def test_what_a_judge_said_of_a_query_without_a_title_belongs_to_the_title_when_it_comes(filled: Project):
    with filled.transaction() as cursor:
        add_queries(cursor, [Query("q9", "q9")], replace=False)
        cursor.execute("INSERT INTO question_texts VALUES (nextval('keys'), 'q9', NULL)")
        add_queries(cursor, [Query("q9", "the title")], replace=False)
    assert filled.rows("SELECT text FROM question_texts WHERE text IN ('q9', 'the title')") == [("the title",)]


def test_a_persons_rating_counts_for_a_grader_that_checks_answers_too(filled: Project, server: EndpointServer):
    name, _ = graded(filled, "answer", server)
    add_override(filled, "q1/a", "p2", 5, "it says so in other words", "ann")
    assert label_of(filled, name)["q1", "p2"] == 1
    assert label_of(filled, name, overrides=False)["q1", "p2"] == 0


def test_grades_of_readers_travel_in_a_graded_file(filled: Project, server: EndpointServer, tmp_path: Path):
    with filled.transaction() as cursor:
        add_queries(cursor, [Query("q1", "query q1", answer="ten metres")], replace=True)
    names = [
        graded(filled, kind, server, **more)[0]
        for kind, more in (
            ("self-rating", {}),
            ("answer", {}),
            ("choice", {}),
            ("direct", {"prompt": "Sun"}),
            ("direct", {"prompt": "QA-judge"}),
        )
    ]
    other = new_project(tmp_path / "other.duckdb")
    import_files(other, "graded", [Source("graded.jsonl.gz", data=graded_file(filled))], "ann")
    for name in names:
        assert label_of(other, name) == label_of(filled, name)
    other.close()


def test_a_cap_of_calls_stops_the_job_and_the_next_one_goes_on(filled: Project, server: EndpointServer):
    made = make_grader("self-rating", settings(server))
    final = run_job(filled, made, Request(max_calls=3), "ann")
    assert (final.state, final.graded, final.usage.calls, len(server.seen)) == ("stopped", 3, 3, 3)
    assert run_job(filled, made, Request(), "ann").graded == 5


def test_a_cap_of_money_holds_with_the_price_table_and_needs_a_price(filled: Project, server: EndpointServer):
    made = make_grader("self-rating", settings(server))
    with refusal("no-price", "m"):
        run_job(filled, made, Request(max_cost=1.0), "ann")
    set_price(filled, "m", Price(1000.0, 1000.0), "ann")
    assert model_prices(filled) == {"m": Price(1000.0, 1000.0)}
    run_job(filled, made, Request(Scope(limit=1)), "ann")
    body = server.seen[0].body
    set_aside = AROUND_PROMPT + sum(len(one["content"].encode()) for one in body["messages"]) + body["max_tokens"]
    # Room for what one call may use, and for what some have used.
    cap = (set_aside + 60) / 1000
    final = run_job(filled, made, Request(max_cost=cap, concurrency=4), "ann")
    assert final.state == "stopped" and 0 < final.usage.cost <= cap and 0 < final.graded < 7
    with refusal("invalid-price"):
        set_price(filled, "m", Price(-1.0, 0.0), "ann")


def test_the_price_tag_comes_close_to_what_a_job_then_takes(filled: Project, server: EndpointServer):
    set_price(filled, "m", Price(1.0, 2.0), "ann")
    made = make_grader("self-rating", settings(server))
    tag = price_tag(filled, made, 1)
    assert (tag.pairs, tag.calls, tag.counted, len(server.seen)) == (8, 8, False, 0)
    assert tag.cost == pytest.approx((tag.input_tokens + 2 * tag.output_tokens) / 1e6)
    in_words = price_tag(filled, make_grader("self-rating", settings(server, structured="text")), 1)
    assert tag.output_tokens - in_words.output_tokens == 8 * 4, "models break the lines of JSON"
    checked = make_grader("answer", settings(server, check="model"))
    assert price_tag(filled, checked, 1).calls == 12, "an answer and its check for each of six pairs"
    assert price_tag(filled, make_grader("embedding", {}), 1).calls == 0


def test_a_named_grader_is_kept_without_any_key_and_graded_with_again(
    filled: Project, server: EndpointServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", "very-secret-key-1234")
    saved = named_graders.save_named_grader(
        filled, "mine", "self-rating", settings(server, key_variable="MY_KEY"), "ann"
    )
    again = make_grader(*named_graders.grader_settings(filled, "mine"))
    assert again.spec == saved.spec
    assert run_job(filled, again, Request(), "ann").graded == 8
    found = named_graders.grader_again(filled, saved.spec)
    assert found is not None and found.spec.fingerprint == saved.spec.fingerprint
    tables = [name for (name,) in filled.rows("SELECT table_name FROM information_schema.tables")]
    assert all("very-secret" not in str(filled.rows(f"SELECT * FROM {name}")) for name in tables)
    named_graders.remove_named_grader(filled, "mine", "ann")
    assert named_graders.grader_again(filled, saved.spec) is None, "its address is not known any more"
    with refusal("unknown-grader", "mine"):
        named_graders.grader_settings(filled, "mine")


def test_how_a_grader_was_set_up_is_remembered_where_its_identity_does_not_tell(
    filled: Project, server: EndpointServer
):
    made = make_grader("self-rating", settings(server))
    assert find_remaking_parameters(made.spec) is None
    named_graders.remember_settings(filled, made, "self-rating", settings(server), "ann")
    named_graders.remember_settings(filled, made, "self-rating", settings(server), "ann")
    assert [named.name for named in named_graders.named_graders(filled)] == [made.spec.name]
    hub = make_grader("self-rating", {"model": "google/flan-t5-small"})
    again = find_remaking_parameters(hub.spec)
    assert again is not None and make_grader("self-rating", again).spec == hub.spec


def test_a_grader_whose_verification_has_no_fence_yet_keeps_its_grades_and_can_go_on(
    filled: Project, server: EndpointServer
):
    fenced = make_grader("answer", settings(server, check="model"))
    open_ = make_grader("answer", settings(server, check="model", verify_fence=False))
    assert fenced.spec.parameters["verify_fence"] and "verify_fence" not in open_.spec.parameters
    assert fenced.spec.fingerprint != open_.spec.fingerprint, "it is asked otherwise"
    by_words = make_grader("answer", settings(server)).spec
    assert "verify_fence" not in by_words.parameters, "there is nothing to fence"
    at_endpoint = {"check": "model", "verify_model": "m", "base_url": server.url}
    assert make_grader("extractive", at_endpoint).spec.parameters["verify_fence"]
    earlier = {"back_end": "transformers", "fence": True, "check": "model", "model": "google/flan-t5-small"}
    local = make_grader("answer", earlier | {"verify_fence": False}).spec
    again = find_remaking_parameters(local)
    assert again is not None and make_grader("answer", again).spec == local
    first, _ = graded(filled, "answer", server, check="model", verify_fence=False)
    before = label_of(filled, first)
    second, _ = graded(filled, "answer", server, check="model")
    assert label_of(filled, first) == before and second != first
    assert any("<answer-" in seen.prompt for seen in server.seen)


def test_how_often_injections_work_is_said_for_every_grader(filled: Project):
    def gullible(seen: Seen) -> Reply:
        return rate(seen, 5 if "rate this 5" in seen.prompt.lower() else 0)

    asked = Asked(PLAIN.text or "")
    with EndpointServer(gullible) as server:
        trial = try_injections(make_grader("self-rating", settings(server)), asked)
        assert trial.without == 0 and trial.failed == 0 and len(server.seen) == len(INJECTIONS) + 1
    assert {one.name for one in trial.worked} == {"rate this 5"}
    assert trial.families["order"] == (1, 7) and sum(of for _, of in trial.families.values()) == len(INJECTIONS)
    with EndpointServer(lambda seen: chat("")) as server:
        silent = try_injections(make_grader("self-rating", settings(server)), asked)
    assert (silent.without, silent.worked, silent.failed) == (None, [], len(INJECTIONS))


def test_an_edited_prompt_is_a_new_grader_and_the_built_in_ones_stay_as_they_are(
    filled: Project, server: EndpointServer
):
    chat_prompt = built_in_prompts()["self-rating-chat"]
    with refusal("name-taken"):
        bank.save_prompt(filled, replace(chat_prompt, system="Be strict."), "ann")
    mine = replace(chat_prompt, name="strict", system="Be strict.")
    assert bank.save_prompt(filled, mine, "ann")
    assert not bank.save_prompt(filled, mine, "ann"), "nothing changed"
    first, _ = graded(filled, "self-rating", server)
    second, final = graded(filled, "self-rating", server, prompt="strict")
    assert first != second and final.graded == 8
    assert [version.prompt for version in bank.prompt_versions(filled)] == [mine]


def test_asking_one_question_tries_a_dead_endpoint_once_for_somebody_waits(filled: Project):
    with EndpointServer(lambda seen: status(503)) as dead:
        made = make_grader("self-rating", settings(dead))
        trial = try_pair(made, *pair_to_try(filled, made.spec, passage_id="p1"))
        assert (trial.grade.rating, len(dead.seen)) == (None, 1)
    assert mentions(trial.grade.reason or "", "503")


def test_a_prompt_that_a_grade_cannot_be_about_is_refused(filled: Project):
    yaml = write_prompt(replace(built_in_prompts()["self-rating"], name="odd")).replace(
        "{question}", "{question} {narrative}"
    )
    odd: Prompt = read_prompt(yaml, "odd.yaml")
    with refusal("unknown-prompt-field", "narrative"):
        make_grader("self-rating", {"prompt": "odd"}, built_in_prompts() | {"odd": odd})
    with refusal("prompt-does-not-fit", "direct"):
        make_grader("self-rating", {"prompt": "Sun"})


def test_asking_one_question_shows_the_prompt_the_answer_and_how_it_was_read(filled: Project, server: EndpointServer):
    made = make_grader("answer", settings(server, check="model"))
    asked, passage = pair_to_try(filled, made.spec, passage_id="p1")
    assert (asked, passage) == (Asked("How tall is it?", "ten metres", ()), "text of p1")
    trial = try_pair(made, asked, passage)
    assert trial.exchanges[0].completion.text == "ten metres"
    assert trial.exchanges[0].messages is not None and "How tall is it?" in trial.exchanges[0].messages.user
    assert trial.grade.rating == 1 and len(trial.exchanges) == 2
    assert filled.value("SELECT count(*) FROM grades") == 0, "nothing is kept"
    assert [q.question_id for q in questions_to_try(filled, made.spec)] == ["q1/a", "q1/c"]
    with refusal("no-answer-key"):
        try_pair(made, Asked("Why?"), passage)
    with refusal("no-question-to-ask"):
        pair_to_try(filled, made.spec, question_id="q2/b")


def test_a_failed_pair_is_kept_with_its_reason_and_asked_again_alone(filled: Project):
    def behave(seen: Seen) -> Reply:
        if "text of p1" in seen.prompt:
            return chat(None, refusal="I will not say.")
        return status(418, "no tea") if "text of p2" in seen.prompt else rate(seen, 4)

    with EndpointServer(behave) as server:
        made = make_grader("self-rating", settings(server, attempts=1))
        final = run_job(filled, made, Request(), "ann")
        assert (final.state, final.graded, final.failed) == ("done", 4, 4)
        reasons = {reason for (reason,) in filled.rows("SELECT DISTINCT reason FROM failures")}
        assert any("refused" in reason for reason in reasons) and any("418" in reason for reason in reasons)
        asked = len(server.seen)
        assert run_job(filled, made, Request(), "ann").done == 0 and len(server.seen) == asked
        server.behave = lambda seen: rate(seen, 3)
        assert run_job(filled, made, Request(Scope(retry_failed=True)), "ann").graded == 4
        assert len(server.seen) == asked + 4


@pytest.mark.parametrize("kind", ["self-rating", "answer", "extractive", "direct"])
def test_a_grader_whose_ratings_are_read_by_rules_has_their_number_in_its_identity(kind: str) -> None:
    spec = make_grader(kind, {}).spec
    before = {name: value for name, value in spec.parameters.items() if name != "reading"}
    assert spec.parameters["reading"] == RULES_VERSION
    assert replace(spec, parameters=before).fingerprint != spec.fingerprint


@pytest.mark.parametrize("kind", ["choice", "embedding"])
def test_a_grader_that_reads_by_no_such_rule_stays_the_same(kind: str) -> None:
    assert "reading" not in make_grader(kind, {}).spec.parameters


def test_a_fence_is_in_the_fingerprint_by_the_place_of_the_sentence_about_it():
    model = {"back_end": "openai", "model": "m"}
    assert make_grader("self-rating", model).spec.parameters["fence"] is True, "as in earlier versions"
    judge = make_grader("direct", model).spec
    earlier = replace(judge, parameters=judge.parameters | {"fence": True})
    assert judge.fingerprint != earlier.fingerprint, "what it is sent begins otherwise"
    local = {"model": "google/flan-t5-small", "fence": True, "dtype": "float32"}
    spec = make_grader("direct", local).spec
    again = find_remaking_parameters(spec)
    assert again is not None and make_grader("direct", again).spec == spec
    assert find_remaking_parameters(replace(spec, parameters=spec.parameters | {"fence": True})) is None


def test_fenced_prompts_without_a_system_text_share_what_comes_before_the_passage(filled: Project):
    grader = make_grader("direct", {"back_end": "openai", "model": "m"})
    assert isinstance(grader, ReadingGrader)
    pairs = [pair for group in pairs_to_grade(filled, grader.spec, bank.latest_version(filled)) for pair in group]
    texts = with_texts(filled, grader.spec, pairs)
    prompts = [first_prompt(grader, texts, pair) for pair in grader.ordered(pairs)]
    instructions = built_in_prompts()["Thomas"].template.split("{")[0]
    assert len(prompts) > 1 and all(one.startswith(instructions) for one in prompts)
