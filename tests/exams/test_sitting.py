"""Sitting an exam: only missing answers are requested, and failures do not count as wrong."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from exam_workbench import bank
from exam_workbench.errors import GradingError
from exam_workbench.exams import (
    ExamRequest,
    Plan,
    add_student,
    examinee_responses,
    examinee_standing,
    fit_abilities,
    list_retrievals,
    sit_by_rules,
    sit_exam,
    start_sitting,
)
from exam_workbench.exams._exam_items import list_tasks
from exam_workbench.exams._examinee_setup import PROMPTS, letter_choices, prompt_values
from exam_workbench.graders import Access, address_origin, fill_prompt, use_access
from exam_workbench.graders._local.loading import load_model
from exam_workbench.records import answers_of, find_students, list_actions
from exam_workbench.store import Project
from tests.made.endpoint_calls import answering
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat, refuse
from tests.made.exams import put_exam, sittings
from tests.made.projects import commit, reimported
from tests.made.refusals import refusal
from tests.made.tiny_models import build_untrained, shared_model


def letter(seen: Seen, name: str) -> Reply:
    return chat(json.dumps({"answer": name}) if seen.wants_json else name, model=seen.body["model"])


def lettered(seen: Seen) -> Reply:
    """Answer A to every item except the second (B) and the third (refused)."""
    return refuse() if "number 3?" in seen.prompt else letter(seen, "B" if "number 2?" in seen.prompt else "A")


server = answering(lettered)


def at(server: EndpointServer, **more: Any) -> Plan:
    return Plan(None, {"model": "m", "base_url": server.url, "attempts": 1}, name="remote", **more)


def answers(project: Project, name: str) -> dict[str, Any]:
    """Return the current answers of an examinee by question text."""
    (student,) = find_students(project, [name])
    texts = dict(project.rows("SELECT text_key, text FROM question_texts"))
    found = project.read(lambda cursor: answers_of(cursor, student.key))
    return {texts[key].split("\x1f")[0]: answer for (key, _), answer in found.items()}


def test_refused_answer_counts_as_failed_not_wrong(project: Project, server: EndpointServer) -> None:
    put_exam(project, 4)  # keys B, C, D, A
    student = add_student(project, at(server), "ann")
    (final,) = sit_exam(project, ExamRequest(("remote",)), "ann").values()
    assert (final.state, final.graded, final.failed) == ("done", 3, 1)
    now = examinee_standing(project, student)
    assert (now.items, now.answered, now.right, now.failed, now.missing) == (4, 3, 1, 1, 0)
    said = answers(project, "remote")
    first, second, failed, fourth = (said[f"Which metal did they keep in jar number {n}?"] for n in range(1, 5))
    assert [one.chosen for one in (first, second, fourth)] == [0, 1, 0]
    assert failed.correct is None and failed.chosen is None and "refus" in failed.reason
    assert (
        examinee_responses(project).correct.tolist()[0][:2] == [0.0, 0.0]
        and examinee_responses(project).failed.tolist()[0][2]
    )
    # Answers are not requested twice, failures only on request; every attempt is kept.
    for request, asked in ((ExamRequest(), 0), (ExamRequest(only_failed=True), 1), (ExamRequest(retry_failed=True), 1)):
        (final,) = sit_exam(project, request, "ann").values()
        assert final.total == asked
    assert project.value("SELECT count(*) FROM answers") == 6
    assert [state for _, state, _ in sittings(project)] == ["done"] * 4
    assert any("remote" in act.said and act.act.startswith("sitting ") for act in list_actions(project).acts)


def test_changed_wording_key_or_context_needs_new_answers(project: Project, server: EndpointServer) -> None:
    questions = put_exam(project, 2)
    add_student(project, at(server, retrieval="oracle"), "ann")

    def asked() -> int:
        return sum(progress.total for progress in sit_exam(project, ExamRequest(), "ann").values())

    assert asked() == 2
    for changed in (
        {"text": "Which metal was kept in jar number 1?"},
        {"answer_key": questions[0].choices[2]},
        {"choices": questions[0].choices[::-1]},
    ):
        bank.save_version(project, [replace(questions[0], **changed)], "another", "ann")
        assert (asked(), asked()) == (1, 0)
    # Earlier answers count again once the wording is restored.
    bank.save_version(project, [questions[0]], "as before", "ann")
    assert asked() == 0
    commit(project, "UPDATE items SET source_passage_key = (SELECT min(source_passage_key) FROM items)")
    assert asked() == 1


def test_capped_job_continues_with_the_rest_later(project: Project, server: EndpointServer) -> None:
    put_exam(project, 8)
    add_student(project, at(server), "ann")
    add_student(project, Plan("random", name="second"), "ann")
    stopped = sit_exam(project, ExamRequest(max_calls=3, concurrency=1), "ann")
    assert list(stopped) == ["remote"] and stopped["remote"].state == "stopped" and stopped["remote"].done == 3
    limited = sit_exam(project, ExamRequest(limit=7), "ann")
    assert [progress.done for progress in limited.values()] == [5, 2]
    done = sit_exam(project, ExamRequest(), "ann")
    assert [progress.done for progress in done.values()] == [0, 6]
    with refusal("no-price", "m"):
        sit_exam(project, ExamRequest(max_cost=1.0), "ann")


def test_background_job_pauses_resumes_and_ends(project: Project) -> None:
    put_exam(project, 5)
    with EndpointServer(lambda seen: letter(seen, "A")) as server:
        add_student(project, at(server), "ann")
        # An API key typed on a screen belongs to one thread; the job has to inherit it.
        with use_access(Access(any_address=True, typed={address_origin(server.url): "typed"})):
            under_way = start_sitting(project, ExamRequest(), "ann")
        under_way.control.pause()
        assert under_way.control.paused
        under_way.control.resume()
        assert under_way.wait(60) and under_way.over
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer typed"}
    assert under_way.ended["remote"].graded == 5 and under_way.name == "remote"


def test_every_rule_sits_once_with_every_context_and_survives_export(project: Project) -> None:
    put_exam(project, 12)
    said: list[str] = []
    names = sit_by_rules(project, "ann", said.append)
    before = examinee_responses(project)
    assert before.names == names and len(set(names)) == 14 and said[-1] == f"Answers: {14 * 12}."
    assert before.correct.shape == (14, 12) and not before.failed.any()
    assert {component.factor for component in fit_abilities(project).components} == {"model", "retrieval"}
    count = project.value("SELECT count(*) FROM answers")
    assert sit_by_rules(project, "ann") == names, "existing examinees are not added again"
    assert (project.value("SELECT count(*) FROM answers"), len(list_retrievals(project))) == (count, 2)
    for task in list_tasks(project):
        longest = max(task.choices, key=len)
        assert task.choices[answers(project, "longest answer closed-book")[task.text].chosen] == longest
    # Rules that read the source passage find the key.
    readers = ["all-MiniLM-L6-v2 oracle", "shared words oracle"]
    assert examinee_responses(project, readers).correct.mean() == 1
    assert all(len(one.scores) == 4 for one in answers(project, readers[0]).values())
    add_student(project, Plan("random", seed=1, name="chance", factors={"size": "small"}), "ann")
    sit_exam(project, ExamRequest(), "ann")
    chance = [[one.chosen for one in answers(project, name).values()] for name in ("random closed-book", "chance")]
    assert chance[0] != chance[1] and all(set(chosen) <= {0, 1, 2, 3} for chosen in chance)
    before = examinee_responses(project)
    again = reimported(project)
    after = examinee_responses(again)
    assert after.students == before.students and after.correct.tolist() == before.correct.tolist()
    assert sit_exam(again, ExamRequest(), "ann")[before.names[0]].total == 0


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A randomly initialised causal model."""
    return str(shared_model(tmp_path_factory, build_untrained, name="causal"))


@pytest.mark.parametrize("normalise", [None, "none"])
def test_local_model_takes_the_likeliest_choice(project: Project, causal: str, normalise: str | None) -> None:
    put_exam(project, 3)
    settings = {"model": causal, "device": "cpu", "normalise": normalise}
    student = add_student(project, Plan(None, settings, retrieval="oracle", name="local"), "ann")
    (final,) = sit_exam(project, ExamRequest(), "ann").values()
    assert (final.state, final.graded) == ("done", 3), final.message
    assert student.parameters["dtype"] == "float32" and student.parameters["by"] == "likelihood"
    loaded = load_model(causal)
    for task in list_tasks(project):
        prompt = fill_prompt(PROMPTS["oracle"], prompt_values(task, (task.source or "",))).user
        expected = []
        for option in letter_choices(task.choices):
            whole = loaded.tokenizer(f"{prompt} {option}", return_tensors="pt").input_ids
            labels = whole.clone()
            begin = len(loaded.tokenizer(prompt).input_ids)
            labels[:, :begin] = -100
            with torch.inference_mode():
                loss = loaded.model(input_ids=whole, labels=labels).loss
            total = -float(loss) * (whole.shape[1] - begin)
            expected.append(total / (1 if normalise else len(option)))
        said = answers(project, "local")[task.text]
        assert said.scores == pytest.approx(expected, abs=1e-4)
        assert said.chosen == expected.index(max(expected)) and said.correct == (said.chosen == task.key)


def test_changed_model_is_refused(project: Project, causal: str, tmp_path: Path) -> None:
    put_exam(project, 2)
    folder = Path(shutil.copytree(causal, tmp_path / "model"))
    add_student(project, Plan(None, {"model": str(folder), "device": "cpu"}, name="local"), "ann")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"note": "another"}))
    with refusal("model-changed", "local", kind=GradingError):
        sit_exam(project, ExamRequest(), "ann")


def test_items_without_a_passage_are_left_out_and_an_empty_exam_is_refused(project: Project) -> None:
    with refusal("no-student"):
        sit_exam(project, ExamRequest(), "ann")
    student = add_student(project, Plan("embedding", retrieval="oracle"), "ann")
    with refusal("no-items"):
        sit_exam(project, ExamRequest(), "ann")
    with refusal("unknown-student", "nobody"):
        sit_exam(project, ExamRequest(("nobody",)), "ann")
    put_exam(project, 5)
    commit(project, "UPDATE items SET source_passage_key = NULL WHERE rowid < 3")
    (final,) = sit_exam(project, ExamRequest(), "ann").values()
    assert (final.state, final.graded, final.failed) == ("done", 2, 0)
    assert re.findall(r"\d+", final.message) == ["3"], "the number of items left out"
    assert examinee_standing(project, student).without_context == 3
