"""Generation of items from passages: prompts, proposals, prices, failures and resumed jobs."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from exam_workbench import bank
from exam_workbench.bank import empty_generations, list_proposals, save_drafts, set_price
from exam_workbench.errors import GradingError
from exam_workbench.exams import (
    ItemRequest,
    exam_items,
    generate_items,
    generation_price,
    making_of,
    proposed_items,
    summarize_items,
)
from exam_workbench.exams._item_generation import chunks_to_ask, shuffle_choices, shuffle_seed
from exam_workbench.graders import USES, Control, Price, built_in_prompts
from exam_workbench.graders._prompts.prompt import fence_text
from exam_workbench.jobs import find_jobs
from exam_workbench.records import add_passages, add_queries, list_actions, write_runs
from exam_workbench.store import Project
from exam_workbench.types import Passage, Query, Ranked
from tests.made.drafters import Model, start_drafters
from tests.made.endpoint_server import Reply, Seen, chat, no_structure, status
from tests.made.projects import filled_project
from tests.made.refusals import mentions, refusal

QUESTION = "Which of these things is it that the passage says of number {} in so many words?"
TEXTS = {f"p{at}": f"Passage number {at} says a thing." for at in range(4)}


def fill_corpus(project: Project) -> None:
    """Add four passages, and a run over some of them and one passage without text."""
    with project.transaction() as cursor:
        add_queries(cursor, [Query("q1", "of tides"), Query("q2", "of wind")], replace=True)
        add_passages(cursor, [Passage(*one) for one in TEXTS.items()])
        ranked = [("q1", "p0", 2), ("q1", "p2", 1), ("q2", "p0", 1), ("q2", "bare", 2)]
        write_runs(
            cursor, {"bm25": [Ranked(q, p, rank, 10.0 - rank) for q, p, rank in ranked]}, [("bm25", "bm25", "x.run")]
        )


corpus = filled_project(fill_corpus)
model = pytest.fixture(start_drafters)


def number(seen: Seen) -> str:
    found = re.search(r"Passage number (\d)", seen.prompt)
    assert found is not None
    return found[1]


def item(seen: Seen, **changes: object) -> Reply:
    """An item about the passage of a request, as JSON."""
    n = number(seen)
    made = {"question": QUESTION.format(n), "choices": [f"{n}a", f"{n}b", f"{n}c", f"{n}d"], "correct_answer": f"{n}b"}
    return chat(json.dumps(made | {"explanation": "since"} | changes))


def test_each_passage_becomes_a_proposal_with_seeded_choice_order(corpus: Project, model: Model) -> None:
    told: list[tuple[int, int]] = []
    drafter = model(item)
    report = generate_items(
        corpus, drafter, "ann", ItemRequest(domain="DevOps"), watch=lambda _, far: told.append((far.done, far.total))
    )

    assert (report.asked, len(report.keys), report.failed, report.stopped) == (4, 4, [], 0)
    assert told[0] == (0, 4) and told[-1] == (4, 4)
    found = proposed_items(corpus, "exam")
    assert {one.source_passage_id for one in found} == set(TEXTS)
    for one in found:
        n = one.source_passage_id[1:] if one.source_passage_id else ""
        assert (one.text, one.key, one.source_text) == (QUESTION.format(n), f"{n}b", TEXTS[f"p{n}"])
        assert one.shuffle_seed == shuffle_seed(0, one.question_id)
        assert one.choices == shuffle_choices([f"{n}{letter}" for letter in "abcd"], one.shuffle_seed or 0)
    assert exam_items(corpus) == [], "items enter the bank only after a person accepts them"
    (act,) = [one for one in list_actions(corpus).acts if one.act == "draft items"]
    for value in ("writer-1", "“Exam on DevOps”", "4 proposals", "4 passages"):
        assert value in act.said, act.said
    schema = model.seen[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["choices"]["minItems"] == 4
    assert "documentation from DevOps" in model.seen[0].prompt
    # Accepted items keep their source and the raw reply.
    report = generate_items(corpus, drafter, "ann", ItemRequest(query_id="second", topic="sea", limit=1))
    bank.accept_proposals(corpus, report.keys, "bob")
    save_drafts(corpus, "bob", "good ones")
    (made,) = exam_items(corpus, "second")
    assert (made.topic, made.source_text) == ("sea", TEXTS[made.source_passage_id or ""])
    assert made.raw is not None and json.loads(made.raw)["explanation"] == "since"


def test_same_seed_gives_same_items_in_same_order(corpus: Project, model: Model) -> None:
    drafter = model(item)
    first = [one.passage_id for one in chunks_to_ask(corpus, drafter, ItemRequest(limit=2))]
    assert first == [one.passage_id for one in chunks_to_ask(corpus, drafter, ItemRequest())][:2], (
        "a higher limit extends the same draw"
    )
    assert {tuple(one.passage_id for one in chunks_to_ask(corpus, drafter, ItemRequest(seed=n))) for n in range(8)} != {
        tuple(first)
    }
    of_run = chunks_to_ask(corpus, drafter, ItemRequest(run="bm25"))
    assert {one.passage_id: one.topic for one in of_run} == {"p0": "of wind", "p2": "of tides"}
    assert {one.topic for one in chunks_to_ask(corpus, drafter, ItemRequest(run="bm25", topic="sea"))} == {"sea"}
    generate_items(corpus, drafter, "ann")
    without_structure = model(lambda seen: no_structure() if seen.wants_json else item(seen))
    generate_items(corpus, without_structure, "ann", ItemRequest(query_id="second"))
    one, two = (proposed_items(corpus, exam) for exam in ("exam", "second"))
    assert [made.text for made in one] != [] and {made.text for made in one} == {made.text for made in two}
    assert len({made.question_id for made in (*one, *two)}) == 8


def test_stopped_generation_continues_with_the_rest(corpus: Project, model: Model) -> None:
    drafter = model(item)
    first = generate_items(corpus, drafter, "ann", control=Control(max_calls=3))
    assert (first.asked, first.stopped, len(proposed_items(corpus))) == (3, 1, 3)
    second = generate_items(corpus, drafter, "ann")
    assert (second.asked, len(proposed_items(corpus))) == (1, 4)
    assert sorted(map(number, model.seen)) == ["0", "1", "2", "3"]
    with refusal("no-passage-left"):
        generate_items(corpus, drafter, "ann")
    rest, capped = find_jobs(corpus, "items")
    assert [(job.state, job.total, job.done, job.failed, job.calls) for job in (capped, rest)] == [
        ("stopped", 4, 3, 0, 3),
        ("done", 1, 1, 0, 1),
    ]
    assert (rest.name, rest.request["query_id"], rest.request["domain"]) == ("writer-1", "exam", ItemRequest.domain)


def test_unreadable_replies_are_counted_by_part_and_retried_on_request(corpus: Project, model: Model) -> None:
    said = {
        "0": {"question": "Why?"},
        "1": {"choices": ["a", "b"], "correct_answer": "A"},
        "2": {"correct_answer": "x"},
    }
    drafter = model(lambda seen: item(seen, **said.get(number(seen), {})))
    report = generate_items(corpus, drafter, "ann")
    assert (report.asked, len(report.keys), len(report.failed)) == (4, 1, 3)
    assert any(mentions(str(one), "p0") and mentions(str(one), "question") for one in report.failed)
    made = making_of(corpus, "exam")
    assert made is not None
    assert (made.candidates, made.unparsed, made.no_answer) == (4, 3, 0)
    assert made.by_part == {"question": 1, "choices": 1, "key": 1}
    assert summarize_items(exam_items(corpus), made).making == made
    assert making_of(corpus, "q1") is None
    assert chunks_to_ask(corpus, drafter, ItemRequest()) == []
    assert {one.passage_id for one in chunks_to_ask(corpus, drafter, ItemRequest(again=True))} == {"p0", "p1", "p2"}


def test_missing_reply_is_counted_apart_and_retried(corpus: Project, model: Model) -> None:
    broken = {"0"}
    drafter = model(lambda seen: status(400, "bad luck") if number(seen) in broken else item(seen))
    generate_items(corpus, drafter, "ann")
    made = making_of(corpus)
    assert made is not None and (made.candidates, made.unparsed, made.no_answer) == (3, 0, 1)
    assert len(empty_generations(corpus, "exam")) == 1
    broken.clear()
    assert generate_items(corpus, drafter, "ann").asked == 1


def test_paper_prompt_is_sent_verbatim_with_a_fenced_passage(corpus: Project, model: Model) -> None:
    def answers(seen: Seen) -> Reply:
        n = number(seen)
        return chat(f"Question: {QUESTION.format(n)}\nA) a\nB) b\nC) c\nD) d\nCorrect Answer: D")

    report = generate_items(corpus, model(answers), "ann", ItemRequest(domain="DevOps", prompt="exam-item", limit=1))
    assert [one.key for one in proposed_items(corpus)] == ["d"] and report.asked == 1
    (seen,) = model.seen
    wording = built_in_prompts()["exam-item"].template.split("{documentation}")
    assert seen.prompt.startswith(wording[0].replace("{task_domain}", "DevOps"))
    assert seen.prompt.endswith(wording[1]) and "response_format" not in seen.body
    told = fence_text(TEXTS[f"p{number(seen)}"], to_be=USES["generate items"].fenced_to_be)[1]
    assert told in json.dumps(seen.body)


def test_price_is_computed_without_requests(corpus: Project, model: Model) -> None:
    drafter = model(lambda seen: status(500))
    tag = generation_price(corpus, drafter, ItemRequest(limit=3))
    assert (tag.calls, tag.cost, tag.counted) == (3, None, False) and tag.input_tokens > 300
    set_price(corpus, "writer-1", Price(1.0, 2.0), "ann")
    tag = generation_price(corpus, drafter, ItemRequest())
    assert tag.cost == pytest.approx((tag.input_tokens + 2 * tag.output_tokens) / 1e6)
    assert making_of(corpus) is None


def test_invalid_request_or_unusable_endpoint_changes_nothing(corpus: Project, model: Model) -> None:
    queries = corpus.rows("SELECT query_id FROM queries")
    drafter = model(item)
    for code, wanted in (
        ("limit-out-of-range", ItemRequest(limit=0)),
        ("unknown-run", ItemRequest(run="nothing")),
        ("unknown-prompt", ItemRequest(prompt="self-rating")),
        ("invalid-name", ItemRequest(query_id="two words")),
    ):
        with refusal(code):
            generate_items(corpus, drafter, "ann", wanted)
        assert (making_of(corpus), corpus.rows("SELECT query_id FROM queries")) == (None, queries), wanted
    with pytest.raises(GradingError):
        generate_items(corpus, model(lambda seen: status(404, "no such model")), "ann")
    assert list_proposals(corpus) == []


def test_failed_parts_are_recounted_by_the_current_parser(corpus: Project) -> None:
    made = bank.Generation(
        "item", "q1", "m", "exam-item", "f00d", (), "Question: Why?", "an old reason", passage_id="p0"
    )
    corpus.write(lambda cursor: bank.add_generations(cursor, [made, replace(made, raw="", reason="timed out")], "ann"))
    found = making_of(corpus, "q1")
    assert found is not None and found.by_part == {"question": 0, "choices": 1, "key": 1}
    assert found.no_answer == 1
