"""The exam screens: empty states, sitting exams, filters, item response and retiring items in drafts."""

import json
import re
from dataclasses import replace

from exam_workbench import bank, exams
from exam_workbench.charts import ability_curves
from exam_workbench.jobs import current_job
from exam_workbench.measures.item_response import GRID
from exam_workbench.records import add_passages, add_queries
from exam_workbench.store import Project
from exam_workbench.types import Query
from pages.parts.exams import item_quality
from pages.parts.exams.item_quality import CRITERION_NAMES
from tests.made.endpoint_calls import answering, until
from tests.made.endpoint_server import EndpointServer, Reply, Seen, chat
from tests.made.exams import item, put_exam, source
from tests.made.screens import keyed, named, numbers, shown_project, visit

SCREENS = ("exam", "students", "items", "improve")
ITEMS = 40


def put_sat(project: Project, prefix: str = "p") -> None:
    """Put in an exam of forty items, taken by five random examinees and one that picks the longest choice."""
    put_exam(project, ITEMS, ("jars", "metals"), prefix)
    for seed in range(5):
        exams.add_student(project, exams.Plan("random", seed=seed, name=f"chance {seed}"), "ann")
    exams.add_student(project, exams.Plan("longest", name="longest"), "ann")
    exams.sit_exam(project, exams.ExamRequest(), "ann")


looked_at = shown_project(put_sat)


def test_address_names_exam_by_its_text(project: Project) -> None:
    put_exam(project)
    with project.transaction() as cursor:
        add_queries(cursor, [Query("other", "Another exam")], replace=False)
    bank.save_version(project, [replace(item(20), query_id="other", question_id="other")], "another exam", "ann")
    for text, chosen, warnings in (("Another exam", "other", 0), ("other", "exam", 1)):
        app = visit("exam", exam=text)
        assert (app.selectbox("exam").value, len(app.warning)) == (chosen, warnings)


def test_examinee_is_added_and_sits_exam_after_empty_state(project: Project) -> None:
    for screen in SCREENS:
        assert visit(screen).shows("no-exam")
    put_exam(project)
    for screen in SCREENS[2:]:
        assert visit(screen).shows("no-answers")
    app = visit("students")
    assert app.shows("nobody-sat")
    app = app.choose("student kind", "longest").press("student add")
    app = app.press("sit begin")
    sitting = current_job(project, "exams")
    assert sitting is not None and sitting.wait(60)
    app = visit("students")
    (row,) = exams.exam_board(exams.examinee_responses(project))
    assert row.score.answered == 6
    shown = app.dataframe[0].value
    assert list(shown.iloc[:, 0]) == [row.student.name] and list(shown["Right"]) == [row.score.right]
    assert not keyed(app.button, "sit begin")


def test_job_waits_for_unreachable_endpoint_and_shows_deadline(project: Project) -> None:
    put_exam(project, 2)
    gone = {"model": "m", "base_url": "http://localhost:9/v1", "attempts": 1}
    exams.add_student(project, exams.Plan(None, gone, name="remote"), "ann")
    app = visit("students")
    assert named(app.number_input, "sit patience").value == 60
    named(app.number_input, "sit patience").set_value(90)
    app.press("sit begin")
    sitting = current_job(project, "exams")
    assert sitting is not None and sitting.request.patience == 90 * 60
    until(lambda: sitting.control.awaited or sitting.over)
    waits = sitting.control.awaited
    assert waits is not None and waits.until is not None
    state = visit("students").note("job-state")
    whens = (waits.next_try, waits.until, sitting.started_at)
    assert re.findall(r"\b\d\d:\d\d\b", state) == [f"{when:%H:%M}" for when in whens] and waits.reason in state
    sitting.control.pause()
    app = visit("students")
    assert re.findall(r"\b\d\d:\d\d\b", app.note("job-state")) == [f"{sitting.started_at:%H:%M}"]
    app.press("cancel job")
    assert sitting.wait(60)
    assert numbers(visit("students").note("ended cancelled remote"))[:2] == [0, 0]


def test_examinees_are_compared_with_each_other_and_with_guessing(shared: Project) -> None:
    app = visit("students")
    rows = exams.exam_board(exams.examinee_responses(shared))
    assert list(app.dataframe[0].value["Accuracy"]) == [row.score.accuracy for row in rows]
    known = exams.summarize_items(exams.exam_items(shared))
    assert app.shows("baselines", known.fixed_letter, f"{known.fixed_answer:.0%}")
    assert len(app.charts()) == 1
    for view in "Two examinees", "Two students":
        app = visit("students", view=view, first="chance 0", second="chance 1")
        assert app.shows("verdict") and numbers(app.note("only chance 0"))
    assert len(visit("students", view="Topics").charts()) == 1


def test_exam_shows_baseline_and_items_show_information(shared: Project) -> None:
    known = exams.summarize_items(exams.exam_items(shared))
    shown = [metric.value for metric in visit("exam").metric]
    assert shown[0] == str(ITEMS) and shown[-1] == f"{known.longest_answer:.0%}"
    items = visit("items").dataframe[0].value
    told = exams.fit_abilities(shared, "exam")
    assert list(items["Information"]) == sorted(row.information for row in told.items)


def test_selected_items_show_curves_and_all_abilities_are_in_range(shared: Project) -> None:
    spec = ability_curves({"a": [0.5] * len(GRID)}, [-4.5, 0.0, 1.0]).to_dict()
    ticks = [row["ability"] for row in spec["datasets"][spec["layer"][1]["data"]["name"]]]
    assert ticks == [-4.5, 0, 1] and spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [-4.5, 3]
    app = visit("items")
    before = len(app.charts())
    app.session_state["worth of items"] = {"selection": {"rows": [0, 1], "columns": [], "cells": []}}
    assert len(app.run().charts()) == before + 2
    fitted = next(table.value for table in visit("students", view="Ability").dataframe if "SD" in table.value)
    assert list(fitted["Mean"]) == [row[1] for row in exams.fit_abilities(shared, "exam").statistics.table]


def test_dispensable_items_are_retired_only_in_drafts(project: Project) -> None:
    put_sat(project)
    dropped = [row.item for row in exams.propose_shorter_exam(project, "exam", steps=1).retire]
    app = visit("improve", steps="1")
    assert numbers(app.note("would-drop"))[0] == len(dropped)
    app = app.press("retire shortened")
    assert numbers(app.note("retired-drafts")) == [len(dropped)]
    assert not keyed(app.button, "retire shortened") and app.shows("more-steps")
    drafts = bank.list_drafts(project, "ann")
    assert sorted(drafts) == sorted(dropped) and not any(draft.question.active for draft in drafts.values())
    assert all(question.active for question in bank.list_questions(project, query_id="exam"))


def test_planting_bad_items_on_request_changes_no_drafts(shared: Project) -> None:
    app = visit("improve")
    assert app.shows("not-planted")
    app = app.press("plant")
    table = app.dataframe[-1].value
    assert list(table["Fault"]) == list(item_quality.FAULT_NAMES.values())
    rows = exams.plant_bad_items(shared, "exam")
    assert list(table[CRITERION_NAMES["d"]]) == [row.found["d"] for row in rows]
    assert numbers(app.note("planted"))[:2] == [ITEMS, 4] and not bank.list_drafts(shared, "ann")


def item_or_refusal(seen: Seen) -> Reply:
    """Write an item about each passage except the one about jar number 3."""
    jar = re.search(r"Jar number (\d+)", seen.prompt)
    assert jar is not None
    if jar[1] == "3":
        return chat("I would rather not.")
    question = f"Which of these metals is it that they kept in the jar with the number {jar[1]}?"
    choices = [f"{metal} {jar[1]}" for metal in ("tin", "zinc", "gold", "lead")]
    written = {"question": question, "choices": choices, "correct_answer": choices[1], "explanation": ""}
    return chat(json.dumps(written))


writer = answering(item_or_refusal)


def test_generated_items_are_proposed_with_choices_and_key(project: Project, writer: EndpointServer) -> None:
    with project.transaction() as cursor:
        add_passages(cursor, [source(item(number)) for number in range(1, 5)])
    app = visit("exam")
    app.choose("where", "openai")
    named(app.text_input, "base_url").set_value(writer.url)
    app = app.choose("model", "writer-1")
    assert app.metric_of("metric calls") == "4" and app.metric_of("metric cost") == "–"
    app = app.press("writer begin")
    writing = current_job(project, "items")
    assert writing is not None and writing.wait(60)
    app = visit("exam")
    assert numbers(app.note("items-written")) == [3, 4]
    assert [1] in [numbers(box.label) for box in app.expander]
    proposals = bank.list_proposals(project, "exam")
    assert len(proposals) == 3 and not bank.list_questions(project, query_id="exam")
    listed = next(table.value for table in app.dataframe if "near" in table.value)
    assert sorted(listed["Item"]) == sorted(one.text for one in proposals)
    words = visit("question_bank", query="exam").said()
    for one in proposals:
        assert one.item is not None
        assert f"{one.item.answer_key}**" in words
        assert all(choice in words for choice in one.item.choices)
    app = visit("exam")
    app = next(box for box in app.number_input if box.key == "proposed threshold near").set_value(1.0).run()
    app.press("accept passing")
    assert sorted(bank.list_drafts(project, "ann")) == sorted(one.item.question_id for one in proposals if one.item)
    accepted = exams.last_acceptance(project, "exam")
    assert accepted is not None and (accepted.thresholds.near, accepted.fell) == (1, ())
    bank.save_drafts(project, "ann", "an exam")
    app = visit("exam", view="Filters")
    assert next(box.value for box in app.number_input if box.key == "threshold near") == 1
    steps = visit("exam", view="Statistics").dataframe[0].value
    assert dict(zip(steps["Step"], steps["Items"], strict=True)) | {"filtered": 0, "accepted": 3} == {
        "candidates": 4, "unparsed": 1, "unparsed: question": 1, "unparsed: choices": 1, "unparsed: key": 1,
        "filtered": 0, "accepted": 3, "rejected": 0, "undecided": 0, "without an answer": 0,
    }  # fmt: skip
