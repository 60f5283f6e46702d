"""Generation of answers: each is requested once, also after failures, limits and interruptions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from exam_workbench.answers import (
    GeneratorPlan,
    JudgePlan,
    RetEvalChoices,
    WantedAnswers,
    answers_price,
    compare_answers,
    evaluate_answers,
    generate_answers,
    generator_again,
    make_generator,
    make_judge,
    pairs_to_compare,
    plan_answers,
)
from exam_workbench.answers._answer_generation import NO_ROOM, AnswerPlan
from exam_workbench.choices import PASSAGE_ORDERS
from exam_workbench.exchange import import_files
from exam_workbench.formats import Source
from exam_workbench.graders import Control
from exam_workbench.jobs import JobScope, find_jobs
from exam_workbench.records import add_queries, close_interrupted, generated_of
from exam_workbench.store import Project
from exam_workbench.types import Query
from tests.answers.made import Script, Told, collection, put_run, question
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, refuse
from tests.made.projects import commit, filled_project, judge
from tests.made.refusals import refusal
from tests.made.tiny_models import build_untrained, shared_model

GOLD = "The bridge was opened in 1894. It is made of stone."
NAMES = ("q1", "q2", "q3")
TOLD = {
    name: Told(GOLD, (f"gold-{name}", "p1"), ("1894",), ("1894", "in 1894", "1894"), "1894", {"p1": "A bridge."})
    for name in NAMES
}
RUNS = {
    "one": {name: [f"gold-{name}", "p1"] for name in NAMES},
    # The same top as run one at depth 1; no more than two passages at any depth.
    "two": {name: [f"gold-{name}", "gold-q1"] for name in NAMES},
}


class Moody(Script):
    """Refuses every prompt about the third query while it is ill."""

    ill = True

    def __call__(self, seen: Seen) -> Reply:
        if self.ill and "asked in q3?" in seen.prompt:
            return refuse()
        return super().__call__(seen)


@pytest.fixture
def script() -> Moody:
    return Moody(TOLD)


@pytest.fixture
def server(script: Moody) -> Iterator[EndpointServer]:
    with EndpointServer(script) as running:
        yield running


def settings(server: EndpointServer, **more: object) -> dict[str, object]:
    return {"model": "m", "base_url": server.url, "attempts": 1, **more}


filled = filled_project(lambda project: collection(project, TOLD, RUNS))


WANTED = WantedAnswers(ks=(1, 2, 5))


def test_equal_contexts_are_asked_once_and_failures_on_request(
    filled: Project, server: EndpointServer, script: Moody
) -> None:
    model = make_generator(filled, GeneratorPlan(settings(server)))
    plan = plan_answers(filled, model, WANTED)
    # Three queries: the gold passage alone (also under two ids), the same with the other passage, and three draws.
    # The answer from the gold passage alone is not reused as a draw, because draws are sampled.
    assert isinstance(plan, AnswerPlan) and len(plan.to_ask) == plan.needed == 3 * 2 + 3 * 3
    price = answers_price(filled, model, plan)
    assert (price.calls, price.cost, price.counted) == (15, None, False) and price.input_tokens > 15 * 50
    first = generate_answers(filled, model, WANTED, "ann")
    assert (first.state, first.graded, first.failed, first.usage.calls) == ("done", 10, 5, 15)
    assert generate_answers(filled, model, WANTED, "ann").total == 0
    assert plan_answers(filled, model, WANTED).failed == 5
    script.ill = False
    again = generate_answers(filled, model, WANTED, "ann", JobScope(only_failed=True))
    assert (again.graded, again.failed) == (5, 0)
    # A third run with known contexts costs nothing, in any order of runs and depths.
    put_run(filled, "three", RUNS["one"])
    assert not plan_answers(filled, model, WantedAnswers(("three", "two", "one"), (5, 2, 1))).to_ask
    found = evaluate_answers(filled, RetEvalChoices(ks=(1,)))
    assert found.gold["q1"].draws == ("1894", "in 1894")
    # Equal texts are compared once: the answer with both draws and with the gold answer, and the other draw.
    judge = make_judge(filled, JudgePlan("llm", settings(server)))
    assert len(pairs_to_compare(filled, judge, found.pairs)) == 3 * 3
    done = compare_answers(filled, judge, found.pairs, "ann")
    assert (done.graded, done.usage.calls) == (9, 9)
    assert (
        compare_answers(filled, judge, evaluate_answers(filled, RetEvalChoices(ks=(1, 2, 5))).pairs, "ann").total == 0
    )
    assert [job.state for job in find_jobs(filled, "generating", "comparing")] == ["done"] * 5
    assert {row.reteval.mean for row in evaluate_answers(filled, RetEvalChoices()).rows} == {1.0}


def test_stopped_and_interrupted_jobs_continue_with_missing_answers(
    filled: Project, server: EndpointServer, script: Moody
) -> None:
    script.ill = False
    model = make_generator(filled, GeneratorPlan(settings(server)))
    with refusal("no-price", "m"):
        generate_answers(filled, model, WANTED, "ann", JobScope(max_cost=1.0))
    stopped = generate_answers(filled, model, WANTED, "ann", JobScope(max_calls=4, concurrency=1))
    assert (stopped.state, stopped.done, stopped.usage.calls) == ("stopped", 4, 4) and stopped.message
    control = Control()
    control.cancel()
    assert generate_answers(filled, model, WANTED, "ann", control=control).state == "cancelled"
    # A process that dies leaves its job as running; opening the project marks it interrupted.
    commit(filled, "UPDATE jobs SET state = 'running', ended_at = NULL WHERE done = 4")
    assert close_interrupted(filled) == 1
    assert {job.state for job in find_jobs(filled, "generating", "comparing")} == {"interrupted", "cancelled"}
    rest = generate_answers(filled, model, WANTED, "ann")
    assert (rest.total, rest.state) == (11, "done") and len(script.asked) == 15


class Passages(Script):
    """Answers with the first year in the passages or `unanswerable`; records the passages."""

    def __call__(self, seen: Seen) -> Reply:
        (excerpts,) = re.findall(r"Document chunks:(.*?)After considering", seen.prompt, re.DOTALL)
        self.asked.append(excerpts)
        return chat(next(iter(re.findall(r"in (\d{4})", excerpts)), "unanswerable"))


def test_each_passage_order_is_a_generator_of_its_own(project: Project) -> None:
    told = {"q": Told("Built in 1894.", ("p2", "gold-q", "p1"), ("1894",), ("",) * 3, "",
                      {"p1": "A bridge.", "p2": "Torn down in 1990."})}  # fmt: skip
    collection(project, told, {"one": {"q": told["q"].top}})
    script = Passages(told)
    wanted = WantedAnswers(ks=(1, 3), from_gold=False)
    with EndpointServer(script) as server:
        models = {
            order: make_generator(project, GeneratorPlan(settings(server), order=order)) for order in PASSAGE_ORDERS
        }
        assert len({one.model.fingerprint for one in models.values()}) == len(PASSAGE_ORDERS)
        assert [one.model.name for one in models.values()] == ["m", "m, best last", "m, one by one"]
        for model in models.values():
            assert generator_again(project, model.model).model == model.model
        said = {}
        for order, model in models.items():
            plan = plan_answers(project, model, wanted)
            calls = answers_price(project, model, plan).calls
            done = generate_answers(project, model, wanted, "ann", JobScope(concurrency=1))
            assert (done.state, done.failed, done.usage.calls) == ("done", 0, calls)
            found = evaluate_answers(project, RetEvalChoices(ks=(1, 3), generator=model.model.name, judge="contains"))
            said[order] = [found.lines["one", k]["q"].answer for k in (1, 3)]
        assert said == {"best first": ["1990", "1990"], "best last": ["1990", "1894"], "one by one": ["1990", "1894"]}
        ends = [[at for at in (text.find("Torn"), text.find("Built"), text.find("bridge")) if at >= 0]
                for text in script.asked]  # fmt: skip
        # One prompt each for k = 1 and 3; then each of three passages alone, the first serving both depths.
        assert [len(one) for one in ends] == [1, 3, 1, 3, 1, 1, 1]
        assert ends[1] == sorted(ends[1]) and ends[3] == sorted(ends[3], reverse=True)
        note = (
            evaluate_answers(project, RetEvalChoices(ks=(3,), generator="m, one by one", judge="em"))
            .lines["one", 3]["q"]
            .note
        )
        assert re.findall(r"\d+", note or "") == ["2", "3", "2"]
        assert generate_answers(project, models["one by one"], wanted, "ann").total == 0
        with refusal("settings-for-a-rule"):
            make_generator(project, GeneratorPlan(rule="nearest-sentence", order="best last"))


def test_one_by_one_retries_only_failed_passages(filled: Project, server: EndpointServer, script: Moody) -> None:
    model = make_generator(filled, GeneratorPlan(settings(server), order="one by one"))
    wanted = WantedAnswers(("one",), (2,), from_gold=False)
    # Three queries: two passages each, and the joined answer of each query.
    done = generate_answers(filled, model, wanted, "ann")
    assert (done.graded, done.failed, done.usage.calls) == (6, 3, 6)
    line = evaluate_answers(filled, RetEvalChoices(("one",), (2,), judge="em")).lines["one", 2]["q3"]
    # The note has the number of failed passages, their total, and the model's reply to the first.
    said = json.loads(refuse().content)["choices"][0]["message"]["refusal"]
    assert line.state == "failed" and re.findall(r"\d+", line.note or "") == ["2", "2"] and said in (line.note or "")
    script.ill = False
    again = generate_answers(filled, model, wanted, "ann", JobScope(only_failed=True))
    assert (again.graded, again.failed, again.usage.calls) == (3, 0, 2)


def test_best_last_order_fails_instead_of_cutting_the_best_passage(
    project: Project, server: EndpointServer, script: Moody
) -> None:
    script.ill = False
    told = {
        "q1": Told("word " * 300 + "1894.", ("gold-q1", "p1"), ("1894",), ("1894",) * 3, "1894", {"p1": "A bridge."})
    }
    collection(project, told, {"one": {"q1": ["gold-q1", "p1"]}})
    lines = {}
    for order in ("best first", "best last"):
        model = make_generator(project, GeneratorPlan(settings(server, max_tokens_in=300), order=order))
        generate_answers(project, model, WantedAnswers(ks=(2,), from_gold=False), "ann")
        lines[order] = evaluate_answers(project, RetEvalChoices(ks=(2,), generator=model.model.name, judge="em")).lines[
            "one", 2
        ]["q1"]
    assert lines["best first"].answer == "1894"
    # The note has the number of tokens cut: most of about 310 do not fit.
    (cut,) = re.findall(r"\d+", lines["best first"].note or "")
    assert 100 < int(cut) < 310
    assert lines["best last"].state == "failed" and lines["best last"].note == NO_ROOM


def test_rule_generates_answers_without_a_key(filled: Project) -> None:
    model = make_generator(filled, GeneratorPlan(rule="nearest-sentence"))
    assert answers_price(filled, model, plan_answers(filled, model, WANTED)).calls == 0
    done = generate_answers(filled, model, WantedAnswers(ks=(1,)), "ann")
    # One draw is enough, because a rule is deterministic. It also serves as the answer from the run.
    assert (done.state, done.graded, done.usage.calls) == ("done", 3, 0)
    found = evaluate_answers(filled, RetEvalChoices(ks=(1,), judge="contains"))
    assert all(row.reteval.mean == 1.0 for row in found.rows) and found.gold["q1"].draws[0] in GOLD


def test_local_model_draws_depend_on_seed_not_on_batch(
    filled: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = shared_model(tmp_path_factory, build_untrained, name="t5")
    model = make_generator(filled, GeneratorPlan({"model": str(folder)}, max_tokens=4))
    done = generate_answers(filled, model, WantedAnswers((), (), temperature=30.0), "ann")
    assert done.state == "done" and done.total == 9
    (key,) = filled.rows("SELECT generator_key FROM generators")[0]
    drawn = {place[3]: one.text for place, one in generated_of(filled, key).items()}
    alone = make_generator(filled, GeneratorPlan({"model": str(folder)}, max_tokens=4, name="again"))
    assert alone.model.fingerprint == model.model.fingerprint
    commit(filled, "DELETE FROM generated_answers WHERE draw = 2")
    generate_answers(filled, model, WantedAnswers((), (), temperature=30.0, query_ids=("q3",)), "ann")
    after = {place[3]: one.text for place, one in generated_of(filled, key).items()}
    assert after == drawn and len(set(drawn.values())) > 1


def test_model_comparisons_are_shared_only_by_equal_texts(project: Project, server: EndpointServer) -> None:
    collection(project, {"q1": TOLD["q1"]}, {})
    others = [Query("same", question("q1"), answer="1894"), Query("other", question("q1"), answer="1895")]
    commit(project, add_queries, others, replace=False)
    names = ("q1", "same", "other")
    judge(project, {(name, "gold-q1"): 1 for name in names}, "NIST")
    put_run(project, "one", {name: ["gold-q1"] for name in names})
    places = ({"run": "one", "k": 1}, {"run": "gold"})
    lines = [{"query_id": name, "answer": "1894"} | place for name in names for place in places]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    import_files(project, "answers", [Source("answers.jsonl", data=data)], "ann")
    model = make_judge(project, JudgePlan("llm", settings(server)))
    done = compare_answers(project, model, evaluate_answers(project, RetEvalChoices(ks=(1,))).pairs, "ann")
    # One comparison with the gold answer 1894, one with 1895.
    assert done.usage.calls == 2
    by_query = evaluate_answers(project, RetEvalChoices(ks=(1,))).lines["one", 1]
    assert {name: line.gpteval.yes for name, line in by_query.items()} == {"q1": True, "same": True, "other": False}
