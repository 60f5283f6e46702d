"""The activity log says who did what, in sentences, and is found by person, act, time and words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

import pytest

from exam_workbench import bank, labels
from exam_workbench.exchange import publish_qrels
from exam_workbench.labels import Policy
from exam_workbench.records import Sought, activity_csv, judging, kinds_of_act, list_actions, people
from exam_workbench.records._activity_sentences import action_sentence
from exam_workbench.store import Project, log_action
from exam_workbench.types import Question
from tests.made.projects import fill, made_project
from tests.made.refusals import mentions

BANK = [Question("q1/a", "q1", "What is A?"), Question("q1/b", "q1", "What is B?")]
GRADES = {("What is A?", "p1"): 5, ("What is A?", "p2"): 1, ("What is B?", "p1"): 2, ("What is B?", "p2"): 4}


def be_busy(project: Project) -> None:
    fill(project, BANK, GRADES, {"x": {"q1": ["p1", "p2"]}})
    key = labels.add_override(project, "q1/a", "p2", 4, "it names A", "ann")
    bank.save_version(project, [replace(BANK[0], text="Who is A?")], "A is a person", "bob")
    labels.withdraw_by_key(project, key, "ann")
    judging.judge_passage(project, "q1", "p1", 2, "cora", "clear")
    publish_qrels(project, Policy(), "bob", note="for the meeting")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project in which three people did something; nobody changes it."""
    project = made_project(tmp_path_factory.mktemp("busy") / "busy.duckdb", be_busy)
    yield project
    project.close()


def said(project: Project, **sought: object) -> list[str]:
    return [f"{act.author} {act.said}" for act in list_actions(project, Sought(**sought)).acts]


def test_acts_are_sentences_newest_first(busy):
    expected = [
        ("bob", "publish qrels", "graded", "2 lines", "for the meeting"),
        ("cora", "judge", "“text of p1”", "“query q1”", "2: clear"),
        ("ann", "withdraw override", "“What is A?”", "“text of p2”"),
        ("bob", "save bank", "2: A is a person"),
        ("ann", "override", "“What is A?”", "“text of p2”", "4: it names A"),
        ("tester", "save bank", "1: made for a test"),
    ]
    for act, (author, kind, *values) in zip(list_actions(busy).acts, expected, strict=True):
        assert (act.author, act.act) == (author, kind)
        assert [value for value in values if value not in act.said] == [], act.said


def test_acts_lead_to_where_their_object_can_be_seen(busy):
    places = {act.act: act.place for act in reversed(list_actions(busy).acts)}
    at_passage = ("passages", {"question": "q1/a", "query": "q1", "passage": "p2"})
    assert places["override"] == places["withdraw override"] == at_passage
    assert places["judge"] == ("passages", {"query": "q1", "passage": "p1"})
    assert places["save bank"] == ("changes", {"from-version": "1", "to-version": "2"})
    assert places["publish qrels"] == ("export", {})


@pytest.mark.parametrize(
    ("sought", "acts"),
    [
        ({"who": "ann"}, ["withdraw override", "override"]),
        ({"act": "save bank"}, ["save bank", "save bank"]),
        ({"who": "bob", "act": "save bank"}, ["save bank"]),
        ({"words": "A IS a PERSON"}, ["save bank"]),
        ({"words": "what is a"}, ["withdraw override", "override"]),
        ({"words": "query q1"}, ["judge", "withdraw override", "override"]),
        ({"words": "100%"}, []),
        ({"since": date.today() + timedelta(days=2)}, []),
        ({"until": date.today() - timedelta(days=2)}, []),
    ],
)
def test_acts_are_found_by_person_act_day_and_words(busy, sought, acts):
    found = list_actions(busy, Sought(**sought))
    assert [act.act for act in found.acts] == acts
    assert found.total == len(acts)


def test_a_day_is_whole(busy):
    day = list_actions(busy).acts[0].happened_at.date()
    assert list_actions(busy, Sought(since=day, until=day)).total > 0


def test_pages_do_not_overlap_and_the_total_is_of_all(busy):
    pages = [list_actions(busy, page_size=4, page=page) for page in (1, 2, 3)]
    assert [(found.total, len(found.acts)) for found in pages] == [(6, 4), (6, 2), (6, 0)]
    keys = [act.key for found in pages for act in found.acts]
    assert keys == sorted(set(keys), reverse=True)


def test_the_people_and_the_kinds_of_act_are_those_of_the_log(busy):
    assert people(busy) == ["ann", "bob", "cora", "tester"]
    assert kinds_of_act(busy) == ["judge", "override", "publish qrels", "save bank", "withdraw override"]


def test_an_empty_project_has_no_activity(project):
    assert list_actions(project).total == 0
    assert people(project) == kinds_of_act(project) == []


def test_the_csv_opens_harmlessly(tmp_path):
    project = made_project(tmp_path / "busy.duckdb", be_busy)
    labels.add_override(project, "q1/a", "p2", 4, "=HYPERLINK(1)", '=ann\r\n"x"')
    rows = list(csv.reader(io.StringIO(activity_csv(project), newline="")))
    project.close()
    assert rows[0] == ["happened_at", "who", "act", "what", "detail"]
    assert rows[1][1] == '\'=ann "x"'
    assert len(rows) == 8
    assert all(not cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)


@pytest.mark.parametrize(
    ("act", "detail", "values"),
    [
        (
            "import runs",
            {"files": ["/data/a.run", "b.run", "c.run", "d.run"], "counts": {"runs": 4, "new passages": 1}},
            ("a.run, b.run, c.run", "4 runs", "1 new passage"),
        ),
        ("import bank", {"files": ["b.csv"], "counts": {"bank version": 3}}, ("b.csv", "3")),
        ("start job", {"job": 7, "grader": "G", "pairs": 5980}, ("7", "G", "5,980 pairs")),
        ("job cancelled", {"job": 7, "graded": 10, "failed": 2}, ("7", "cancelled", "10 pairs", "2")),
        ("job done", {"job": 7, "graded": 1, "failed": 0}, ("7", "done", "1 pair", "0")),
        ("export graded", {"file": "x.gz"}, ("graded", "x.gz")),
        (
            "settle disagreement",
            {"by": "dispute", "passage": "p", "query": "q", "reason": "no"},
            ("“p”", "“q”", "disputing", "no"),
        ),
        ("something new", {"color": "red", "tags": ["a", "b"], "none": None}, ("color red", "tags a, b")),
        ("something new", {}, ("something new",)),
        ("save bank", {}, ("?",)),
    ],
)  # fmt: skip
def test_every_act_has_a_sentence_also_one_that_is_not_known(act, detail, values):
    found = action_sentence(act, detail)
    assert [value for value in values if not mentions(found, value)] == [], found


def test_acts_on_answers_audits_and_targets_lead_to_their_screens(project):
    fill(project, [Question("q1/a", "q1", "A?")], {}, {})
    acts = {
        "confirm case": ({"query": "q1", "run": "bm25", "k": 5, "case": "A", "generator": "m"},
                         ("cases", {"at": "5|bm25|q1", "generator": "m"})),
        "freeze target": ({"name": "monday"}, ("changes", {"freeze-to": "monday"})),
        "answers done": ({"job": 3}, ("answers", {})),
        "answers as responses": ({"name": "m"}, ("leaderboard", {})),
        "import answer-verdicts": ({}, ("judges", {})),
        "draw audit batch": ({"batch": 1}, ("audit", {})),
    }  # fmt: skip
    with project.transaction() as cursor:
        for act, (detail, _) in acts.items():
            log_action(cursor, "ann", act, **detail)
    places = {act.act: act.place for act in list_actions(project).acts}
    assert {act: places[act] for act in acts} == {act: place for act, (_, place) in acts.items()}


def test_an_act_about_what_is_gone_still_reads(project):
    with project.transaction() as cursor:
        log_action(cursor, "ann", "override", question="gone", passage="lost", rating=3, reason="why")
        log_action(cursor, "ann", "withdraw override", override="no number")
    withdrawn, overridden = said(project)
    assert "None" not in withdrawn and "no number" not in withdrawn
    assert [value for value in ("“gone”", "“lost”", "3: why") if value not in overridden] == [], overridden
    assert [act.place for act in list_actions(project).acts] == [None, None]


@pytest.mark.parametrize("words", ['said "no"', "a\\b", "one\ntwo"])
def test_words_are_found_with_quotes_backslashes_and_line_ends(project: Project, words: str) -> None:
    fill(project, [Question("q1/a", "q1", "A?")], {}, {})
    bank.save_version(project, [Question("q1/a", "q1", "B?")], f"he {words} twice", "ann")
    assert list_actions(project, Sought(words=words)).total == 1
    assert list_actions(project, Sought(words=f"{words} thrice")).total == 0
