"""Prompt-based graders, from settings and fingerprints to labels."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from exam_workbench import bank, graders, grading
from exam_workbench.bank import _saved_graders as named_graders, grader_again, model_prices, set_price
from exam_workbench.errors import GradingError, InputError
from exam_workbench.exchange import graded_file, import_files
from exam_workbench.formats import Source
from exam_workbench.graders._endpoint.chat import AROUND_PROMPT
from exam_workbench.graders._local import loading as local_loading
from exam_workbench.graders._local.loading import resolved_dtype
from exam_workbench.graders._local.transformers_back_end import TransformersBackEnd
from exam_workbench.graders._prompts.prompt import fence_text
from exam_workbench.graders._reading.calls import complete_calls
from exam_workbench.graders._reading.injections import INJECTIONS
from exam_workbench.graders._reading.parsing import RULES_VERSION
from exam_workbench.grading import Request, Scope, make_plan, pair_to_try, price_tag, questions_to_try, run_job
from exam_workbench.grading._needed_pairs import pairs_to_grade, with_texts
from exam_workbench.grading._price_tag import CHARACTERS_A_TOKEN, first_prompt
from exam_workbench.jobs import Progress
from exam_workbench.labels import Policy, add_override, basis, coverage_scores, leaderboard, list_labels
from exam_workbench.records import add_queries
from exam_workbench.review import changes
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderInput, Query, Question
from tests.made.endpoint_calls import answering
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, digit, going_on, rate, status
from tests.made.projects import commit, fill, fill as fill_project, judge, new_project
from tests.made.refusals import mentions, refusal
from tests.made.tiny_models import FILLER, build_untrained, generated

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
    """Answer every prompt of the project in its form: ratings by digit, yes or no, letters or words."""
    if "provide a complete and concise answer" in seen.prompt:
        return chat("ten metres" if "text of p1" in seen.prompt else "unanswerable")
    form = json.dumps(seen.body.get("response_format", ""))
    if "Yes" in form or "yes" in seen.prompt.lower():
        yes = "ten metres" in seen.prompt or "text of p3" in seen.prompt
        return chat(json.dumps({"answer": "Yes" if yes else "No"}) if seen.wants_json else "Yes" if yes else "No")
    if '"A"' in form:
        return chat(json.dumps({"answer": "B" if "text of p2" in seen.prompt else "A"}))
    return rate(seen, digit(seen.prompt))


def counted(seen: Seen) -> Reply:
    """Answer like `reader`, and report the tokens read by the rule of price tags, and eight written."""
    read = sum(len(message["content"]) for message in seen.body["messages"]) // CHARACTERS_A_TOKEN + 1
    usage = {"prompt_tokens": read, "completion_tokens": 8}
    return Reply(content=json.dumps(json.loads(reader(seen).content) | {"usage": usage}).encode())


server = answering(reader)


def settings(server: EndpointServer, **more: object) -> dict[str, object]:
    return {"back_end": "openai", "model": "m", "base_url": server.url, **more}


def graded(project: Project, kind: str, server: EndpointServer, **more: object) -> tuple[str, Progress]:
    made = graders.make_grader(kind, settings(server, **more), bank.list_prompts(project))
    final = run_job(project, made, Request(), "ann")
    assert final.state == "done", final.message
    return made.spec.fingerprint, final


def label_of(project: Project, grader: str, **more: object) -> dict[tuple[str, str], int | None]:
    table = list_labels(project, basis(project, Policy(grader=grader, **more)))  # type: ignore[arg-type]
    return {
        (q, p): None if label != label else int(label)
        for q, p, label in zip(table["query_id"], table["passage_id"], table["label"].astype(float), strict=True)
    }


def test_answer_keys_are_checked_by_words_or_model_and_choices_graded(filled: Project, server: EndpointServer) -> None:
    name, final = graded(filled, "answer", server)
    assert (final.graded, final.failed) == (6, 0), "two questions with a key, three passages"
    assert label_of(filled, name) == {("q1", "p1"): 1, ("q1", "p2"): 0, ("q1", "p3"): 0}
    assert coverage_scores(filled, basis(filled, Policy(grader=name)))["one"]["q1"] == 0.5, "1 is the top rating here"
    words, _ = graded(filled, "answer", server)
    model, final = graded(filled, "answer", server, check="model")
    assert words != model
    assert final.usage.calls == 8, "six answers, two of which need verification"
    assert label_of(filled, model) == label_of(filled, words)
    raw = filled.value("SELECT raw FROM grades WHERE rating = 1 AND raw LIKE '%verification%'")
    assert "ten metres" in raw
    add_override(filled, "q1/a", "p2", 5, "it says so in other words", "ann")
    assert label_of(filled, words)["q1", "p2"] == 1
    assert label_of(filled, words, overrides=False)["q1", "p2"] == 0
    name, final = graded(filled, "choice", server)
    assert final.graded == 3
    assert label_of(filled, name)["q1", "p2"] == 1 and label_of(filled, name)["q1", "p1"] == 0


def test_new_answer_key_needs_grading_and_old_key_finds_old_grades(filled: Project, server: EndpointServer):
    name, _ = graded(filled, "answer", server)
    spec = graders.make_grader("answer", settings(server)).spec
    changed = replace(ASKED, answer_key="eleven metres")
    before = label_of(filled, name)
    found = changes(filled, "EXAM-Cover", Policy(grader=name), {"q1": [changed, CHOSEN]})
    assert (found.to_grade, found.known) == (3, 3)
    bank.save_version(filled, [changed], "new key", "ann")
    assert make_plan(filled, spec, bank.latest_version(filled)).to_grade == 3
    assert label_of(filled, name)["q1", "p1"] == 0, "the label now rests on the other question"
    bank.save_version(filled, [ASKED], "old key", "ann")
    assert make_plan(filled, spec, bank.latest_version(filled)).to_grade == 0
    assert label_of(filled, name) == before
    rating = graders.make_grader("self-rating", settings(server)).spec
    bank.save_version(filled, [changed], "new key", "ann")
    assert make_plan(filled, rating, bank.latest_version(filled)).needed == 8, "self-rating ignores the key"


def test_direct_graders_rate_queries_with_answers_or_titles(
    filled: Project, server: EndpointServer, project: Project
) -> None:
    name, final = graded(filled, "direct", server, prompt="Sun")
    assert final.graded == 5
    found = label_of(filled, name)
    assert found["q1", "p3"] == 1 and found["q1", "p1"] == 0
    board = leaderboard(filled, "P@5", policy=Policy(grader=name))
    assert {system.run for system in board.systems} == {"one", "two"} and board.systems[0].score > 0
    reworded = replace(ASKED, text="How high is it?")
    assert changes(filled, "P@5", Policy(grader=name), {"q1": [reworded]}).labels == []
    spec = graders.make_grader("direct", settings(server, prompt="QA-judge")).spec
    assert make_plan(filled, spec, 1).needed == 0
    commit(filled, add_queries, [Query("q1", "query q1", answer="ten metres")], replace=True)
    name, final = graded(filled, "direct", server, prompt="QA-judge")
    assert final.graded == 3 and set(label_of(filled, name).values()) == {1}
    fill(project, [PLAIN], {}, RUNS)
    commit(project, "UPDATE queries SET text = query_id WHERE query_id = 'q1'")
    spec = graders.make_grader("direct", settings(server, prompt="Sun")).spec
    assert make_plan(project, spec, 1).needed == 2


def test_direct_question_of_untitled_query_moves_to_its_new_title(filled: Project):
    with filled.transaction() as cursor:
        add_queries(cursor, [Query("q9", "q9")], replace=False)
        cursor.execute("INSERT INTO question_texts VALUES (nextval('keys'), 'q9', NULL)")
        add_queries(cursor, [Query("q9", "the title")], replace=False)
    assert filled.rows("SELECT text FROM question_texts WHERE text IN ('q9', 'the title')") == [("the title",)]


def test_grades_survive_export_and_import_of_a_graded_file(filled: Project, server: EndpointServer, tmp_path: Path):
    commit(filled, add_queries, [Query("q1", "query q1", answer="ten metres")], replace=True)
    names = [graded(filled, kind, server)[0] for kind in ("self-rating", "answer", "choice")]
    names += [graded(filled, "direct", server, prompt=prompt)[0] for prompt in ("Sun", "QA-judge")]
    other = new_project(tmp_path / "other.duckdb")
    import_files(other, "graded", [Source("graded.jsonl.gz", data=graded_file(filled))], "ann")
    for name in names:
        assert label_of(other, name) == label_of(filled, name)


def test_cost_cap_needs_a_price_and_holds(filled: Project, server: EndpointServer):
    made = graders.make_grader("self-rating", settings(server))
    with refusal("no-price", "m"):
        run_job(filled, made, Request(max_cost=1.0), "ann")
    set_price(filled, "m", graders.Price(1000.0, 1000.0), "ann")
    assert model_prices(filled) == {"m": graders.Price(1000.0, 1000.0)}
    run_job(filled, made, Request(Scope(limit=1)), "ann")
    body = server.seen[0].body
    set_aside = AROUND_PROMPT + sum(len(one["content"].encode()) for one in body["messages"]) + body["max_tokens"]
    # Room for one call's reservation and for the use of some calls.
    cap = (set_aside + 60) / 1000
    final = run_job(filled, made, Request(max_cost=cap, concurrency=4), "ann")
    assert final.state == "stopped" and 0 < final.usage.cost <= cap and 0 < final.graded < 7
    with refusal("invalid-price"):
        set_price(filled, "m", graders.Price(-1.0, 0.0), "ann")


def test_cost_estimate_is_just_above_the_bill_and_call_cap_holds(filled: Project, server: EndpointServer) -> None:
    server.behave = counted
    set_price(filled, "m", graders.Price(1.0, 2.0), "ann")
    made = graders.make_grader("self-rating", settings(server))
    tag = price_tag(filled, made, 1)
    assert (tag.pairs, tag.calls, tag.counted, len(server.seen)) == (8, 8, False, 0)
    assert tag.cost == pytest.approx((tag.input_tokens + 2 * tag.output_tokens) / 1e6)
    in_words = price_tag(filled, graders.make_grader("self-rating", settings(server, structured="text")), 1)
    assert tag.output_tokens - in_words.output_tokens == 8 * 4, "JSON answers include line breaks"
    checked = graders.make_grader("answer", settings(server, check="model"))
    checks = price_tag(filled, checked, 1)
    assert checks.calls == 12, "an answer and its check for each of six pairs"
    assert price_tag(filled, graders.make_grader("embedding", {}), 1).calls == 0
    final = run_job(filled, made, Request(max_calls=3), "ann")
    assert (final.state, final.graded, final.usage.calls, len(server.seen)) == ("stopped", 3, 3, 3)
    rest = run_job(filled, made, Request(), "ann")
    # The tag assumes ten tokens in a JSON answer, and a check of every answer.
    assert 0.95 * tag.cost < final.usage.cost + rest.usage.cost == pytest.approx(tag.cost - 8 * 2 * 2 / 1e6)
    # The cap leaves a call for each check: an answer without its check would be asked again.
    assert run_job(filled, checked, Request(max_calls=4, concurrency=4), "ann").graded == 3
    assert rest.graded == 5 and run_job(filled, checked, Request(), "ann").usage.cost < checks.cost
    bills = grading.list_bills(filled)
    assert [(bill.told["calls"], bill.billed["calls"]) for bill in bills][1:] == [(12, 4), (5, 5), (8, 3)]
    assert bills[-1].told["cost"] == tag.cost and bills[2].billed["cost"] == pytest.approx(rest.usage.cost)
    assert -0.05 < (bills[2].tokens_off or 0) < 0


def test_price_tag_assumes_the_thinking_and_speed_of_earlier_jobs(project: Project) -> None:
    fill(project, [PLAIN, replace(PLAIN, question_id="q2/c", text="How?")], {}, {"one": {"q2": [*map(str, range(20))]}})
    thoughts = 30

    def think(seen: Seen) -> Reply:
        details = {"completion_tokens_details": {"reasoning_tokens": thoughts}}
        return chat("4", usage={"prompt_tokens": 10, "completion_tokens": thoughts + 1} | details)

    with EndpointServer(think) as server:
        parameters = settings(server, structured="text", thinking_tokens=400)
        grader = graders.make_grader("self-rating", parameters)
        other = graders.make_grader("self-rating", parameters | {"thinking_tokens": 300})
        first = price_tag(project, grader, 1)
        run_job(project, grader, Request(Scope(limit=19)), "ann")
        few = price_tag(project, grader, 1)
        thoughts = 130
        for used in (grader, other):
            run_job(project, used, Request(Scope(limit=1)), "ann")
    # Without an hour of pause, the two jobs took 48 and 12 seconds: three a pair, and 35 tokens of thinking per call.
    paused = """'{"paused_seconds": 3600}'"""
    commit(project, f"UPDATE jobs SET ended_at = started_at + to_seconds(2 * done + 3610), request = {paused}")
    tag, new = price_tag(project, grader, 1), price_tag(project, other, 1)
    for useless in ("state = 'interrupted'", """state = 'done', request = '{"elsewhere": true}'"""):
        commit(project, f"UPDATE jobs SET {useless} WHERE total = 19")
        assert price_tag(project, grader, 1).seconds is None
    assert (first.pairs, first.thinking_tokens, first.seconds) == (40, 40 * 400, None)
    assert (few.pairs, few.thinking_tokens, few.seconds) == (21, 21 * 400, None), "fewer than 20 calls"
    assert (tag.pairs, tag.thinking_tokens, tag.seconds) == (20, 20 * 35, pytest.approx(20 * 3))
    assert tag.output_tokens - tag.thinking_tokens == (first.output_tokens - first.thinking_tokens) / 2
    assert (new.pairs, new.thinking_tokens, new.seconds) == (39, 39 * 300, None), "one call of this grader"


def test_settings_are_saved_without_keys_if_fingerprint_cannot_recreate_grader(
    filled: Project, server: EndpointServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "very-secret-key-1234")
    parameters = settings(server, key_variable="MY_KEY")
    saved = named_graders.save_named_grader(filled, "mine", "self-rating", parameters, "ann")
    again = graders.make_grader(*named_graders.grader_settings(filled, "mine"))
    assert again.spec == saved.spec
    assert run_job(filled, again, Request(), "ann").graded == 8
    found = named_graders.grader_again(filled, saved.spec)
    assert found is not None and found.spec.fingerprint == saved.spec.fingerprint
    tables = [name for (name,) in filled.rows("SELECT table_name FROM information_schema.tables")]
    assert all("very-secret" not in str(filled.rows(f"SELECT * FROM {name}")) for name in tables)
    named_graders.remove_named_grader(filled, "mine", "ann")
    assert named_graders.grader_again(filled, saved.spec) is None, "its address is no longer known"
    with refusal("unknown-grader", "mine"):
        named_graders.grader_settings(filled, "mine")
    made = graders.make_grader("self-rating", settings(server))
    assert graders.find_remaking_parameters(made.spec) is None
    named_graders.remember_settings(filled, made, "self-rating", settings(server), "ann")
    named_graders.remember_settings(filled, made, "self-rating", settings(server), "ann")
    assert [named.name for named in named_graders.named_graders(filled)] == [made.spec.name]
    hub = graders.make_grader("self-rating", {"model": "google/flan-t5-small"})
    again = graders.find_remaking_parameters(hub.spec)
    assert again is not None and graders.make_grader("self-rating", again).spec == hub.spec


def test_grader_with_unfenced_verification_keeps_its_grades(filled: Project, server: EndpointServer):
    fenced = graders.make_grader("answer", settings(server, check="model"))
    open_ = graders.make_grader("answer", settings(server, check="model", verify_fence=False))
    assert fenced.spec.parameters["verify_fence"] and "verify_fence" not in open_.spec.parameters
    assert fenced.spec.fingerprint != open_.spec.fingerprint, "its verification prompt differs"
    by_words = graders.make_grader("answer", settings(server)).spec
    assert "verify_fence" not in by_words.parameters, "there is nothing to fence"
    at_endpoint = {"check": "model", "verify_model": "m", "base_url": server.url}
    assert graders.make_grader("extractive", at_endpoint).spec.parameters["verify_fence"]
    earlier = {"back_end": "transformers", "fence": True, "check": "model", "model": "google/flan-t5-small"}
    local = graders.make_grader("answer", earlier | {"verify_fence": False}).spec
    again = graders.find_remaking_parameters(local)
    assert again is not None and graders.make_grader("answer", again).spec == local
    first, _ = graded(filled, "answer", server, check="model", verify_fence=False)
    before = label_of(filled, first)
    second, _ = graded(filled, "answer", server, check="model")
    assert label_of(filled, first) == before and second != first
    assert any("<answer-" in seen.prompt for seen in server.seen)


def test_injection_trial_counts_successes_and_failures(filled: Project):
    def gullible(seen: Seen) -> Reply:
        return rate(seen, 5 if "rate this 5" in seen.prompt.lower() else 0)

    asked = GraderInput(PLAIN.text or "")
    with EndpointServer(gullible) as server:
        trial = graders.try_injections(graders.make_grader("self-rating", settings(server)), asked)
        assert trial.without == 0 and trial.failed == 0 and len(server.seen) == len(INJECTIONS) + 1
    assert {one.name for one in trial.worked} == {"rate this 5"}
    assert trial.families["order"] == (1, 7) and sum(of for _, of in trial.families.values()) == len(INJECTIONS)
    with EndpointServer(lambda seen: chat("")) as server:
        silent = graders.try_injections(graders.make_grader("self-rating", settings(server)), asked)
    assert (silent.without, silent.worked, silent.failed) == (None, [], len(INJECTIONS))


def test_edited_prompt_makes_new_grader_and_built_ins_are_protected(filled: Project, server: EndpointServer):
    chat_prompt = graders.built_in_prompts()["self-rating-chat"]
    with refusal("name-taken"):
        bank.save_prompt(filled, replace(chat_prompt, system="Be strict."), "ann")
    mine = replace(chat_prompt, name="strict", system="Be strict.")
    assert bank.save_prompt(filled, mine, "ann")
    assert not bank.save_prompt(filled, mine, "ann"), "nothing changed"
    first, _ = graded(filled, "self-rating", server)
    second, final = graded(filled, "self-rating", server, prompt="strict")
    assert first != second and final.graded == 8
    assert [version.prompt for version in bank.prompt_versions(filled)] == [mine]


def test_trial_calls_dead_endpoint_once_and_unfit_prompts_are_refused(filled: Project) -> None:
    with EndpointServer(lambda seen: status(503)) as dead:
        made = graders.make_grader("self-rating", settings(dead))
        trial = graders.try_pair(made, *pair_to_try(filled, made.spec, passage_id="p1"))
        assert (trial.grade.rating, len(dead.seen)) == (None, 1)
    assert mentions(trial.grade.reason or "", "503")
    yaml = graders.write_prompt(replace(graders.built_in_prompts()["self-rating"], name="odd")).replace(
        "{question}", "{question} {narrative}"
    )
    odd: graders.Prompt = graders.read_prompt(yaml, "odd.yaml")
    with refusal("unknown-prompt-field", "narrative"):
        graders.make_grader("self-rating", {"prompt": "odd"}, graders.built_in_prompts() | {"odd": odd})
    with refusal("prompt-does-not-fit", "direct"):
        graders.make_grader("self-rating", {"prompt": "Sun"})


def test_trial_shows_prompt_answer_and_grade_and_stores_nothing(filled: Project, server: EndpointServer):
    made = graders.make_grader("answer", settings(server, check="model"))
    asked, passage = pair_to_try(filled, made.spec, passage_id="p1")
    assert (asked, passage) == (GraderInput("How tall is it?", "ten metres", ()), "text of p1")
    trial = graders.try_pair(made, asked, passage)
    assert trial.exchanges[0].completion.text == "ten metres"
    assert trial.exchanges[0].messages is not None and "How tall is it?" in trial.exchanges[0].messages.user
    assert trial.grade.rating == 1 and len(trial.exchanges) == 2
    assert filled.value("SELECT count(*) FROM grades") == 0, "a trial stores nothing"
    assert [q.question_id for q in questions_to_try(filled, made.spec)] == ["q1/a", "q1/c"]
    with refusal("no-answer-key"):
        graders.try_pair(made, GraderInput("Why?"), passage)
    with refusal("no-question-to-ask"):
        pair_to_try(filled, made.spec, question_id="q2/b")


@pytest.mark.parametrize("kind", ["self-rating", "answer", "extractive", "direct", "choice", "embedding"])
def test_parsing_rules_version_is_in_the_fingerprint_of_graders_with_such_rules(kind: str) -> None:
    spec = graders.make_grader(kind, {}).spec
    before = {name: value for name, value in spec.parameters.items() if name != "reading"}
    version = None if kind in ("choice", "embedding") else RULES_VERSION
    assert spec.parameters.get("reading") == version
    assert (replace(spec, parameters=before).fingerprint == spec.fingerprint) == (version is None)


def test_fences_are_in_fingerprint_and_prompts_share_a_prefix(filled: Project) -> None:
    model = {"back_end": "openai", "model": "m"}
    assert graders.make_grader("self-rating", model).spec.parameters["fence"] is True, "as in earlier versions"
    judge = graders.make_grader("direct", model).spec
    earlier = replace(judge, parameters=judge.parameters | {"fence": True})
    assert judge.fingerprint != earlier.fingerprint, "its prompts begin differently"
    local = {"model": "google/flan-t5-small", "fence": True, "dtype": "float32"}
    spec = graders.make_grader("direct", local).spec
    again = graders.find_remaking_parameters(spec)
    assert again is not None and graders.make_grader("direct", again).spec == spec
    assert graders.find_remaking_parameters(replace(spec, parameters=spec.parameters | {"fence": True})) is None
    grader = graders.make_grader("direct", {"back_end": "openai", "model": "m"})
    assert isinstance(grader, graders.ReadingGrader)
    pairs = [pair for group in pairs_to_grade(filled, grader.spec, bank.latest_version(filled)) for pair in group]
    texts = with_texts(filled, grader.spec, pairs)
    prompts = [first_prompt(grader, texts, pair) for pair in grader.ordered(pairs)]
    instructions = graders.built_in_prompts()["Thomas"].template.split("{")[0]
    assert len(prompts) > 1 and all(one.startswith(instructions) for one in prompts)


SETTING_RUNS = {"one": {"q1": ["p1", "p2"]}}
WHY = Question("q1/a", "q1", "Why?")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of untrained models: t5, causal, and the causal model with a chat template."""
    root = tmp_path_factory.mktemp("models")
    for name in ("t5", "causal", "chat"):
        build_untrained(root / name, name)
    return root


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_loading, "_may_have_gpu", lambda: False)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_loading, "_may_have_gpu", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)


def made(kind: str, model: Path | str, **more: Any) -> graders.ReadingGrader:
    grader = graders.make_grader(kind, {"model": str(model), **more})
    assert isinstance(grader, graders.ReadingGrader)
    return grader


def only(grader: graders.ReadingGrader, asked: GraderInput | None = None) -> Grade:
    questions = {1: asked or GraderInput("Why?", "rain")}
    ((_, _, grade),) = [o for b in grader.grade(questions, {2: "It rains."}, [(1, 2)], graders.Control()) for o in b]
    return grade


def prompt_of(grader: graders.ReadingGrader) -> str:
    call = next(grader.steps(GraderInput("Why?", "because", ("because", "no")), "It rains."))
    return graders.fill_prompt(call.prompt, call.values, call.fence).joined()


# --- The number format


def test_auto_dtype_sets_the_fingerprint_and_stays_in_saved_graders(
    models: Path, no_gpu: None, request: pytest.FixtureRequest, project: Project
) -> None:
    on_processor = made("self-rating", models / "t5").spec
    spec = graders.make_grader("self-rating", {"model": "somebody/a-model"}).spec
    request.getfixturevalue("gpu")
    on_gpu = made("self-rating", models / "t5").spec
    assert on_processor.fingerprint != on_gpu.fingerprint
    assert on_gpu.parameters["dtype"] == "bfloat16"
    assert on_gpu.fingerprint == made("self-rating", models / "t5", dtype="bfloat16").spec.fingerprint
    assert on_processor.fingerprint == made("self-rating", models / "t5", dtype="float32").spec.fingerprint
    assert on_processor.fingerprint == made("self-rating", models / "t5", device="cpu").spec.fingerprint
    again = grader_again(project, spec)
    assert isinstance(again, graders.ReadingGrader) and again.spec.fingerprint == spec.fingerprint
    assert again.back_end.dtype == "float32"  # type: ignore[attr-defined]


def test_dtype_is_resolved_without_model_library(no_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("torch was asked"))
    assert [resolved_dtype(device, "auto") for device in ("auto", "cpu", "cuda")] == ["float32", "float32", "bfloat16"]
    assert resolved_dtype("auto", "bfloat16") == "bfloat16"


@pytest.mark.parametrize("named", [{}, {"dtype": "float32"}])
def test_earlier_cpu_grades_are_found(named: dict[str, str], models: Path, project: Project, no_gpu: None) -> None:
    spec = made("self-rating", models / "t5").spec
    # Earlier versions stored the format if a person had set it.
    earlier = replace(spec, parameters=spec.parameters | named)
    fill_project(project, [WHY], {("Why?", "p1"): 4, ("Why?", "p2"): 2}, SETTING_RUNS, earlier)
    assert make_plan(project, spec, 1).known == 2
    hub = graders.make_grader("self-rating", {"model": "somebody/a-model"}).spec
    again = graders.find_remaking_parameters(replace(hub, parameters=hub.parameters | named))
    assert again is not None and graders.make_grader("self-rating", again).spec.fingerprint == hub.fingerprint


def test_cues_formats_and_normalisation_are_in_the_fingerprint(models: Path, no_gpu: None) -> None:
    plain = graders.make_grader("extractive", {"model": str(models / "t5"), "check": "model"}).spec
    half = graders.make_grader("extractive", {"model": str(models / "t5"), "check": "model", "dtype": "bfloat16"}).spec
    assert "verify_dtype" not in plain.parameters
    assert (half.parameters["dtype"], half.parameters["verify_dtype"]) == ("bfloat16", "bfloat16")
    cued = made("self-rating", models / "causal").spec
    assert cued.parameters["cue"] == "Rating:" and cued.prompt_hash == graders.built_in_prompts()["self-rating"].hash
    plain = made("self-rating", models / "causal", cue="none")
    assert "cue" not in plain.spec.parameters and plain.spec.fingerprint != cued.fingerprint
    assert prompt_of(plain).endswith("Context: It rains.")
    assert "cue" not in made("self-rating", models / "chat").spec.parameters
    assert "cue" not in made("direct", models / "causal", prompt="Sun").spec.parameters
    own = made("self-rating", models / "t5", cue="Score:")
    assert prompt_of(own).endswith("\nScore:") and own.spec.parameters["cue"] == "Score:"
    for wrong in ("{context}", "two\nlines", 7, "x" * 200):
        with refusal("invalid-cue"):
            made("self-rating", models / "t5", cue=wrong)
    usual = made("choice", models / "causal").spec
    assert usual.fingerprint == made("choice", models / "causal", normalise="tokens").spec.fingerprint
    others = [made("choice", models / "causal", normalise=name).spec for name in ("characters", "none")]
    assert len({usual.fingerprint, *(spec.fingerprint for spec in others)}) == 3
    with refusal("unknown-parameter-value", "normalise"):
        made("choice", models / "causal", normalise="words")


# --- Beams


@pytest.mark.parametrize("name", ["t5", "causal"])
def test_beam_search_matches_generate(name: str, models: Path) -> None:
    folder = str(models / name)
    prompt = graders.built_in_prompts()["answer"]
    words = [" ".join(FILLER[i : i + 3 * i + 2]) for i in range(4)]
    calls = [
        graders.Call(prompt, {"question": question, "context": text}, "text", max_tokens=8)
        for text in words
        for question in ("what is it ?", "how ?")
    ]
    found = complete_calls(TransformersBackEnd(folder, num_beams=5), calls, graders.Control())
    greedy = complete_calls(TransformersBackEnd(folder), calls, graders.Control())
    expected = [generated(folder, graders.fill_prompt(call.prompt, call.values).joined(), 8, beams=5) for call in calls]
    assert [one.text for one in found] == expected
    assert [one.text for one in greedy] != expected


def test_beams_are_in_fingerprint_and_give_no_probabilities(models: Path, no_gpu: None) -> None:
    values, scale = {"question": "q ?", "context": "red leaves"}, tuple("012345")
    call = graders.Call(graders.built_in_prompts()["self-rating"], values, "rating", options=scale, max_tokens=6)
    (found,) = complete_calls(TransformersBackEnd(str(models / "t5"), num_beams=3), [call], graders.Control())
    assert found.distribution is None
    prompt = graders.fill_prompt(call.prompt, call.values).joined()
    assert found.text == generated(str(models / "t5"), prompt, 6, beams=3)
    greedy = made("self-rating", models / "t5").spec
    assert made("self-rating", models / "t5", num_beams=1).spec.fingerprint == greedy.fingerprint
    five = made("self-rating", models / "t5", num_beams=5).spec
    assert five.parameters["num_beams"] == 5 and five.fingerprint != greedy.fingerprint
    for wrong in (0, 1000, 2.5, "five", True):
        code = "parameter-out-of-range" if wrong in (0, 1000) else "parameter-of-wrong-type"
        with refusal(code, "num_beams"):
            made("self-rating", models / "t5", num_beams=wrong)
    beams = {"num_beams": 5}
    at_endpoint, by_likelihood = {"back_end": "openai", "base_url": "http://localhost/v1"}, {"by": "likelihood"}
    by_letter = {"normalise": "none", "by": "letter"}
    for useless in (beams | at_endpoint, beams | by_likelihood, by_letter, {"api": "completions"}):
        with refusal("useless-parameter"):
            made("choice", models / "causal", **useless)


# --- Choices by likelihood


@pytest.mark.parametrize("name", ["t5", "causal"])
def test_likelihoods_are_normalised_by_tokens_characters_or_not(name: str, models: Path, no_gpu: None) -> None:
    choices = ("red", "leaves of the best passage")
    asked = GraderInput("which ?", "red", choices)

    def values(**more: str) -> dict[str, float]:
        grader = made("choice", models / name, **more)
        grade = only(grader, asked)
        lines = [line.rsplit(": ", 1) for line in (grade.raw or "").splitlines()]
        best = max(lines, key=lambda line: float(line[1]))[0]
        assert grade.answer == best and grade.rating == int(best == "red")
        return {choice: float(value) for choice, value in lines}

    total = values(normalise="none")
    for choice in choices:
        assert values()[choice] == pytest.approx(total[choice] / len(choice.split()), abs=1e-3)
        assert values(normalise="characters")[choice] == pytest.approx(total[choice] / len(choice), abs=1e-3)


# --- Ends of prompts


def test_only_causal_models_without_chat_template_get_a_cue_or_are_refused_without_it(
    models: Path, tmp_path: Path
) -> None:
    for name, end in (("t5", "Context: It rains."), ("causal", "Rating:"), ("chat", "Context: It rains.")):
        assert prompt_of(made("self-rating", models / name, prompt="self-rating")).splitlines()[-1] == end
    fenced = prompt_of(made("self-rating", models / "causal", fence=True))
    assert fenced.splitlines()[-2].startswith("</passage-") and fenced.endswith("\nRating:")
    assert prompt_of(made("answer", models / "causal")).endswith("\nAnswer:")
    # The ends of the papers' prompts stay unchanged.
    assert prompt_of(made("direct", models / "causal", prompt="Sun")).endswith("Passage: It rains.\nAnswer:")
    folder = tmp_path / "odd"
    shutil.copytree(models / "causal", folder)
    config = json.loads((folder / "config.json").read_text())
    # Without the architecture, the small files do not show that the model is causal.
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k != "architectures"}))
    grader = made("self-rating", folder)
    with refusal("chat-template-unusable", kind=GradingError):
        only(grader)
    only(made("self-rating", folder, cue="none"))


# --- Plain completions


@pytest.fixture
def talker(server: EndpointServer) -> EndpointServer:
    """An endpoint that continues after the answer until cut off, as completion models do."""
    server.behave = lambda seen: going_on(" 4\nQuestion: what else?", finish="length")
    return server


def completing(server: EndpointServer, kind: str = "self-rating", **more: Any) -> graders.ReadingGrader:
    return made(kind, "m", back_end="openai", base_url=server.url, api="completions", **more)


def test_completion_is_requested_as_one_prompt_and_fails_if_cut_off(talker: EndpointServer) -> None:
    grader = completing(talker, prompt="self-rating")
    grade = only(grader)
    assert (grade.rating, grade.status) == (4, "graded")
    (seen,) = talker.seen
    assert seen.path == "/v1/completions"
    assert seen.body["prompt"] == prompt_of(grader) and seen.body["prompt"].endswith("\nRating:")
    assert all(part in seen.body["prompt"] for part in fence_text("It rains.")), "fenced passage and its note"
    assert not {"messages", "response_format"} & set(seen.body)
    assert seen.body["stop"] == ["\n\n"]
    talker.behave = lambda seen: going_on("because of the", finish="length")
    assert only(completing(talker, "answer")).status == "failed"
    talker.behave = lambda seen: going_on(" rain")
    right = only(completing(talker, "answer"))
    assert (right.rating, right.answer) == (1, "rain")


@pytest.mark.parametrize("reply", [going_on(None), going_on(["4"]), Reply(content=b'{"choices": [{}]}')])
def test_malformed_completion_fails(talker: EndpointServer, reply: Reply) -> None:
    talker.behave = lambda seen: reply
    assert only(completing(talker, attempts=1)).status == "failed"


def test_completions_change_fingerprint_and_job_respects_call_cap(talker: EndpointServer, project: Project) -> None:
    chat = graders.make_grader("self-rating", settings(talker)).spec
    assert chat.fingerprint == graders.make_grader("self-rating", settings(talker, api="chat")).spec.fingerprint
    plain = completing(talker).spec
    assert plain.parameters["api"] == "completions" and plain.fingerprint != chat.fingerprint
    with refusal("useless-parameter"):
        completing(talker, structured="json")
    with refusal("unknown-parameter-value"):
        made("self-rating", "m", back_end="openai", base_url=talker.url, api="telepathy")
    fill_project(project, [WHY], {}, SETTING_RUNS)
    final = run_job(project, completing(talker), Request(max_calls=1), "ann")
    assert (final.state, final.graded) == ("stopped", 1)
    assert final.usage.input_tokens > 0 and math.isclose(final.usage.cost, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("base_url", 5), ("base_url", ["http://x"]), ("model", ["a"]), ("extra", "abc"), ("extra", [1]),
        ("timeout_s", "x"), ("timeout_s", math.nan), ("timeout_s", math.inf), ("timeout_s", 3601), ("attempts", 1e9),
        ("attempts", True), ("key_variable", 7), ("temperature", math.nan), ("temperature", math.inf),
        ("attempts", 0), ("timeout_s", 0), ("max_tokens_in", 0), ("temperature", -1.0), ("structured", "yes"),
        ("model", " "), ("device", 5), ("dtype", [1]), ("prompt", ["a"]), ("prompt", {}), ("revision", 5),
        ("max_tokens_in", 1.5), ("num_beams", "2"), ("structured", []), ("check", ["words"]), ("back_end", {"a": 1}),
        ("cue", 5),
    ],
)  # fmt: skip
def test_parameter_of_wrong_type_or_out_of_range_is_refused(name: str, value: object) -> None:
    kind = "answer" if name == "check" else "self-rating"
    where = {} if name in ("device", "dtype", "revision", "num_beams") else {"base_url": "http://127.0.0.1:9/v1"}
    with pytest.raises(InputError):
        graders.make_grader(kind, {"model": "google/flan-t5-large", **where, name: value})


# --- bfloat16 on processors


@pytest.mark.parametrize(
    ("flags", "dtype"),
    [
        ("flags\t\t: fpu avx512f avx512_bf16 avx512_vnni", "bfloat16"),
        ("flags\t\t: fpu amx_bf16 amx_tile", "bfloat16"),
        ("Features\t: fp asimd bf16 i8mm", "bfloat16"),
        ("flags\t\t: fpu avx512f avx512_vnni", "float32"),
    ],
)
def test_processor_with_bfloat16_uses_it_and_changes_fingerprint(
    flags: str, dtype: str, models: Path, no_gpu: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(flags)
    monkeypatch.setattr(local_loading, "CPU_INFO", tmp_path / "cpuinfo")
    local_loading.has_bfloat16.cache_clear()
    try:
        assert [resolved_dtype(device, "auto") for device in ("auto", "cpu")] == [dtype] * 2
        assert resolved_dtype("auto", "float32") == "float32"
        spec = made("self-rating", models / "t5").spec
        assert spec.fingerprint == made("self-rating", models / "t5", dtype=dtype).spec.fingerprint
    finally:
        local_loading.has_bfloat16.cache_clear()
