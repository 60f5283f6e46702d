"""The Passages screen: finding a passage, reading it, overriding, judging, and judging blind."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page
from streamlit.testing.v1 import AppTest

from exam_workbench.bank import put_grader, save
from exam_workbench.grading._grade_storage import add_outcomes
from exam_workbench.labels import override, overrides, withdraw
from exam_workbench.project import (
    Project,
    add_passages,
    add_queries,
    judgment_history,
    own_judgment,
    pooled_queries,
    refresh_pool,
    set_pool_depth,
    stage_judgments,
    write_judgments,
)
from exam_workbench.project.judging import judge as assess
from exam_workbench.text import clean_text
from exam_workbench.types import Grade, GraderSpec, Judgment, Passage, Query, Question
from pages.parts.shared import person
from tests.made.browser import Server, as_it_is_now, button, choose_option, ready
from tests.made.projects import SPEC, fill, judge, list_passages, new_project
from tests.made.screens import (
    QUESTIONS,
    check_refused,
    choose,
    holds,
    keyed,
    looked_at,
    named,
    note,
    numbers,
    press,
    put_small,
    said,
    served,
    shared,
    shows,
    small,
    sound,
    tell,
    visit,
)

__all__ = ["looked_at", "served", "shared", "small"]  # fixtures

HOSTILE = (
    "<script>document.title = 'broken'</script><img src=x onerror=\"document.title='broken'\"> **bold** $x$ :red[r]"
    " [link](http://x) `code` # heading\n\nشكرا على القراءة 🙂👩‍👩‍👧 null\x01 bell\x07 escape\x1b[31m &lt;entity&gt;"
)


def passage(app: AppTest) -> str:
    """The HTML of the open passage, with its query and its label."""
    return str(next(element.proto.body for element in app.get("html") if "desk-passage" in element.proto.body))


def text_of(app: AppTest) -> str:
    """The text of the open passage as it is read."""
    found = re.search(r'<div class="passage-text"[^>]*>(.*?)</div>', passage(app), re.DOTALL)
    assert found
    return plain_text(found[1])


def label(app: AppTest) -> str:
    """What is said of the label of the open passage."""
    found = re.search(r'<div class="label">(.*?)</div>', passage(app))
    return plain_text(found[1]) if found else ""


def beside(app: AppTest) -> str:
    """What is known of the passage beside its grades, and what ratings would do, as it is read."""
    known = [e.proto.body for e in app.get("html") if re.search("desk-(known|effect)", e.proto.body)]
    return plain_text(" ".join(re.sub(r"(?=<)", " ", body) for body in known))


def asked(app: AppTest) -> dict[str, Any]:
    """What the questions show, by their ids, in their order."""
    return {one["id"]: one for one in holds(app, "question-ratings")["questions"]}


def rows(app: AppTest) -> str:
    """The HTML of the list of all overrides."""
    return "\n".join(element.proto.body for element in app.get("html") if 'class="asked"' in element.proto.body)


def url(app: AppTest, name: str) -> str:
    """What the URL says of a parameter, or is completed with in the browser."""
    value = app.query_params[name] if name in app.query_params else holds(app, "place")["values"][name]
    return value if isinstance(value, str) else value[-1]


def plain_text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def listed(app: AppTest) -> list[str]:
    """The texts of the passages of the list."""
    return [row["text"] for row in holds(app, "passage-list")["rows"]]


def walk(app: AppTest, step: str) -> AppTest:
    """On to the passage after the open one, or back to the one before, as the list gives them."""
    return tell(app, "passage-list", "open", holds(app, "passage-list")[step])


def do(app: AppTest, what: str, number: int | None = None, **more: object) -> AppTest:
    """Let the questions report an act; its number tells it from others."""
    held = holds(app, "question-ratings")
    act = {"id": number or held["taken"] + 1, "do": what, "at": held["at"], **more}
    return tell(app, "question-ratings", "acts", [act])


def rate(app: AppTest, ratings: dict[str, int], reason: str = "it only asks", number: int | None = None) -> AppTest:
    """Override ratings of the open passage for one reason."""
    return do(app, "override", number, ratings=ratings, reason=reason)


def extract(project: Project, text: str, answers: dict[str, str], spec: GraderSpec, rating: int | None = 4) -> None:
    """Let a grader answer questions from a passage of query q1 with this text."""
    questions = dict(project.rows("SELECT text, text_key FROM question_texts"))
    with project.transaction() as cursor:
        add_passages(cursor, [Passage("new", text)])
        list_passages(cursor, [("q1", "new")])
        refresh_pool(cursor)
        key = cursor.execute("SELECT text_key FROM passages WHERE passage_id = 'new'").fetchall()[0][0]
        outcomes = [(questions[question], key, Grade(rating, answer=answer)) for question, answer in answers.items()]
        add_outcomes(cursor, put_grader(cursor, spec), outcomes, 0)


EXTRACTIVE = GraderSpec("reader", "extractive", "m")


class TestReading:
    def test_it_opens_the_first_passage_and_says_all_that_is_known_of_it(self, shared: Project) -> None:
        app = visit("passages")
        assert url(app, "passage") == "p1"
        assert text_of(app) == "text of p1"
        about = holds(app, "passage-list")
        assert (about["total"], about["place"], about["chosen"]) == (7, 1, ["q1", "p1"])
        assert (
            about["rows"][0] | {"at": ["q1", "p1"], "query": "query q1", "text": "text of p1", "label": 5}
            == (about["rows"][0])
        )
        assert numbers(label(app)) == [5, 1], "the label, and the question that gives it"
        first = asked(app)["q1/a"]
        assert (first["words"], first["about"], first["gives"]) == ("What is A?", ["weight 3"], True)
        assert re.search(r"assessors\s+2", beside(app))
        assert re.search(r"good\s+1\s", beside(app))

    def test_the_strongest_question_comes_first(self, shared: Project) -> None:
        assert list(asked(visit("passages", query="q1", passage="p2"))) == ["q1/c", "q1/a", "q1/b"]
        assert list(asked(visit("passages", query="q1", passage="p4"))) == ["q1/a", "q1/b", "q1/c"]

    def test_a_link_to_nowhere_is_a_sentence(self, shared: Project) -> None:
        app = visit("passages", query="q1", passage="p99")
        check_refused(app, "unknown-passage", "q1", "p99")
        assert len(listed(app)) == 7

    def test_failed_and_ungraded_pairs_are_named_as_what_they_are(self, small: Project) -> None:
        app = visit("passages", query="q1", passage="p4")
        assert [one["said"][0]["status"] for one in asked(app).values()] == ["graded", "graded", "failed"]
        assert numbers(label(app))[-2:] == [2, 3], "so many of so many pairs have a rating"
        extract(small, "unread", {}, SPEC)
        app = visit("passages", query="q1", passage="new")
        assert [one["said"][0]["status"] for one in asked(app).values()] == ["ungraded"] * 3
        assert {one["rating"] for one in asked(app).values()} == {None}
        assert label(app).startswith("Label –")

    def test_a_stale_override_is_named_as_such_confirmed_and_withdrawn(self, small: Project) -> None:
        key = override(small, "q1/a", "p1", 0, "no", "bob")
        save(small, [replace(QUESTIONS[0], text="What is A, exactly?")], "reworded", "bob")
        app = visit("passages", query="q1", passage="p1")
        one = asked(app)["q1/a"]
        assert one["override"] is None
        assert [(old["key"], old["rating"], old["wording"]) for old in one["stale"]] == [(key, 0, "What is A?")]
        app = do(app, "confirm", keys=[key])
        assert (asked(app)["q1/a"]["override"]["rating"], asked(app)["q1/a"]["stale"]) == (0, [])
        app = do(app, "withdraw", keys=[asked(app)["q1/a"]["override"]["key"]])
        assert asked(app)["q1/a"]["override"] is None
        assert overrides(small) == []

    def test_hostile_text_is_shown_whole_and_does_nothing(self, small: Project) -> None:
        extract(small, HOSTILE, {"What is A?": "<img src=x onerror=\"document.title='broken'\">"}, EXTRACTIVE)
        app = visit("passages", query="q1", passage="new", grader="reader")
        shown = passage(app)
        assert "<script" not in shown
        assert "<img" not in shown
        found = re.search(r'<div class="passage-text"[^>]*>(.*?)</div>', shown, re.DOTALL)
        assert found
        assert plain_text(re.sub(r"<sup>.*?</sup>", "", found[1])) == clean_text(HOSTILE)

    def test_a_passage_of_a_hundred_kilobytes_is_shown_whole(self, small: Project) -> None:
        text = "word " * 20_000
        extract(small, text, {}, SPEC)
        assert text_of(visit("passages", query="q1", passage="new")) == text

    def test_answers_are_marked_in_the_text_and_numbered_by_question(self, small: Project) -> None:
        answers = {"What is A?": "the grass is green", "What is B?": "green and wet", "What is C?": "not in it"}
        extract(small, "Here the grass is green and wet.", answers, EXTRACTIVE)
        app = visit("passages", query="q1", passage="new", grader="reader")
        marks = re.findall(r'<mark title="([^"]*)"[^>]*>([^<]*)</mark>(?:<sup>([^<]*)</sup>)?', passage(app))
        assert [(text, number) for _, text, number in marks] == [
            ("the grass is ", ""),
            ("green", "1"),
            (" and wet", "2"),
        ]
        assert marks[1][0] == "1. What is A? (rated 4 by reader)\n2. What is B? (rated 4 by reader)"

    @pytest.mark.parametrize(("rating", "marked"), [(None, []), (0, []), (1, [' class="short"']), (3, [""])])
    def test_only_an_answer_that_counts_as_one_is_marked(
        self, small: Project, rating: int | None, marked: list[str]
    ) -> None:
        spec = replace(EXTRACTIVE, max_rating=3)
        extract(small, "Here the grass is green and wet.", {"What is A?": "the grass is green"}, spec, rating)
        shown = passage(visit("passages", query="q1", passage="new", grader="reader"))
        assert re.findall(r'<mark title="[^"]*"([^>]*)>', shown) == marked

    def test_the_bare_number_of_a_grader_that_only_rates_is_not_marked(self, small: Project) -> None:
        extract(small, "There are 4 of them.", {"What is A?": "4"}, GraderSpec("rater", "self-rating", "other"))
        assert "<mark" not in passage(visit("passages", query="q1", passage="new", grader="rater"))

    def test_several_graders_stand_side_by_side(self, small: Project) -> None:
        extract(small, "It is green.", {"What is A?": "green"}, EXTRACTIVE)
        app = visit("passages", query="q1", passage="new", grader=SPEC.name)
        assert {one["grader"] for q in asked(app).values() for one in q["said"]} == {SPEC.name}
        app.multiselect("beside_it").set_value(["reader"])
        sound(app.run())
        by_grader = {q["id"]: {one["grader"]: one for one in q["said"]} for q in asked(app).values()}
        assert all(set(one) == {SPEC.name, "reader"} for one in by_grader.values())
        assert by_grader["q1/a"]["reader"] | {"rating": 4, "answer": "green"} == by_grader["q1/a"]["reader"]
        assert holds(app, "question-ratings")["several"]

    def test_without_grades_passages_can_be_read_and_judged(self, project: Project) -> None:
        with project.transaction() as cursor:
            add_queries(cursor, [Query("q1", "one")], replace=True)
            add_passages(cursor, [Passage("p1", "first text")])
            stage_judgments(cursor, [Judgment("q1", "p1", 1)])
            write_judgments(cursor, "assessors")
            refresh_pool(cursor)
        app = visit("passages")
        assert text_of(app) == "first text"
        assert shows(app, "no-active-question")
        press(app, "judge 1")
        assert own_judgment(project, "q1", "p1", "ann") == 1

    def test_two_queries_of_the_same_words_are_told_apart(self, small: Project) -> None:
        with small.transaction() as cursor:
            add_queries(cursor, [Query("q2", "query q1")], replace=True)
        app = visit("passages")
        (box,) = [box for box in app.selectbox if box.label == "Query"]
        assert box.options == ["query q1 (q1)", "query q1 (q2)"]
        box.set_value("q2")
        assert holds(sound(app.run()), "passage-list")["total"] == 3
        assert (url(app, "query"), url(app, "passage")) == ("q2", "p5")

    def test_in_a_project_without_passages_it_says_what_to_do(self, project: Project) -> None:
        app = visit("passages")
        assert shows(app, "no-passages")
        assert not app.error


class TestFinding:
    def test_the_list_is_searched_and_filtered_and_a_link_can_say_how(self, shared: Project) -> None:
        app = choose(visit("passages"), "words", "OF P6")
        assert listed(app) == ["text of p6"]
        press(app, "clear filters")
        choose(app, "has_label", 5)
        assert listed(app) == ["text of p1"]
        press(app, "clear filters")
        choose(app, "flagged", True)
        assert listed(app) == ["text of p3", "text of p2", "text of p7"]
        again = visit("passages", flagged="true", words="p7")
        assert listed(again) == ["text of p7"]

    def test_where_nothing_fits_it_says_so(self, shared: Project) -> None:
        app = choose(visit("passages"), "words", "nowhere")
        about = holds(app, "passage-list")
        assert (about["rows"], about["total"], about["place"]) == ([], 0, None)
        assert text_of(app) == "text of p1"

    def test_next_and_previous_walk_the_filtered_list(self, shared: Project) -> None:
        app = choose(visit("passages"), "flagged", True)
        assert url(app, "passage") == "p1"
        for expected in ("p3", "p2", "p7"):
            walk(app, "after")
            assert url(app, "passage") == expected
        assert holds(app, "passage-list")["after"] is None
        walk(app, "before")
        assert text_of(app) == "text of p2"
        about = holds(app, "passage-list")
        assert (about["place"], about["total"]) == (2, 3)

    def test_no_more_than_a_page_is_drawn_and_the_page_follows_the_passage(self, small: Project) -> None:
        with small.transaction() as cursor:
            more = [Passage(f"m{i:02}", f"more {i:02}") for i in range(90)]
            add_passages(cursor, more)
            list_passages(cursor, [("q2", one.passage_id) for one in more])
            refresh_pool(cursor)
        app = visit("passages", query="q2", passage="m89")
        about = holds(app, "passage-list")
        assert (about["total"], about["page"], len(about["rows"])) == (97, 3, 17)
        assert "more 89" in listed(app)
        tell(app, "passage-list", "page", 1)
        assert len(listed(app)) == 40
        assert "more 89" not in listed(app)
        assert text_of(app) == "more 89"


class TestOverriding:
    def open(self, question: str = "q1/a", passage: str = "p1") -> AppTest:
        return visit("passages", query="q1", passage=passage, question=question, against="assessors")

    def attempt(self, app: AppTest, ratings: dict[str, int]) -> AppTest:
        return do(app, "try", ratings=ratings)

    def test_before_it_is_made_its_effect_is_shown(self, shared: Project) -> None:
        app = self.attempt(self.open(), {"q1/a": 0})
        assert holds(app, "question-ratings")["label"] == [5, 1]
        assert shows(app, "effect tried", "nDCG@10")
        assert re.search(r"5 → 1", note(app, "effect tried"))
        assert not shows(self.attempt(app, {}), "effect tried")
        assert overrides(shared) == []

    def test_the_effect_of_several_at_once_is_shown(self, shared: Project) -> None:
        app = self.attempt(self.open(), {"q1/a": 0, "q1/b": 0})
        assert holds(app, "question-ratings")["label"] == [5, 0]
        assert re.search(r"5 → 0", note(app, "effect tried"))

    def test_it_counts_at_once_with_author_and_reason_and_can_be_withdrawn(self, small: Project) -> None:
        app = rate(self.attempt(self.open(), {"q1/a": 0}), {"q1/a": 0})
        ((one),) = overrides(small)
        assert (one.rating, one.author, one.reason) == (0, "ann", "it only asks")
        assert label(app).startswith("Label 1")
        assert shows(app, "effect made")
        given = asked(app)["q1/a"]["override"]
        assert (given["rating"], given["reason"]) == (0, "it only asks")
        assert "ann" in given["by"]
        assert asked(app)["q1/a"]["said"][0]["rating"] == 5
        app = do(app, "withdraw", keys=[one.key])
        assert overrides(small) == []
        assert label(app).startswith("Label 5")
        assert not shows(app, "effect made")

    def test_several_are_made_for_one_reason_and_taken_back_together(self, small: Project) -> None:
        app = rate(self.open(), {"q1/a": 0, "q1/b": 0}, "not relevant")
        made = holds(app, "question-ratings")["made"]
        assert [(one.key, one.reason) for one in reversed(overrides(small))] == [(k, "not relevant") for k in made]
        assert label(app).startswith("Label 0")
        app = do(app, "withdraw", keys=made)
        assert overrides(small) == []
        assert holds(app, "question-ratings")["made"] == []

    def test_what_comes_twice_is_done_once(self, small: Project) -> None:
        app = rate(rate(self.open(), {"q1/a": 0}, number=1), {"q1/a": 0}, number=1)
        assert len(overrides(small)) == 1
        assert holds(app, "question-ratings")["taken"] == 1

    def test_without_a_reason_it_is_refused(self, shared: Project) -> None:
        app = rate(self.open(), {"q1/a": 0}, " ")
        assert holds(app, "question-ratings")["taken"] == 1
        assert holds(app, "question-ratings")["refused"]["code"] == "empty-reason"
        assert overrides(shared) == []

    def test_what_somebody_else_withdrew_before_is_said(self, small: Project) -> None:
        key = override(small, "q1/a", "p1", 0, "no", "bob")
        app = self.open()
        withdraw(small, key, "bob")
        app = do(app, "withdraw", keys=[key])
        assert holds(app, "question-ratings")["refused"]["code"]
        assert asked(app)["q1/a"]["override"] is None

    def test_all_overrides_are_listed_and_each_opens_its_passage(self, small: Project) -> None:
        override(small, "q1/b", "p2", 5, "it does say so", "bob")
        app = visit("passages")
        assert "3 → 5" not in rows(app)
        app.session_state["override list"] = True
        sound(app.run())
        assert re.search(r"\b3 → 5\b\D*\bbob\b", rows(app))
        press(app, "go to")
        assert url(app, "passage") == "p2"
        assert url(app, "question") == "q1/b"

    def test_raw_output_and_the_reason_of_a_failure_are_shown_on_demand(self, small: Project) -> None:
        questions = dict(small.rows("SELECT text, text_key FROM question_texts"))
        ((key,),) = small.rows("SELECT text_key FROM passages WHERE passage_id = 'p4'")
        with small.transaction() as cursor:
            lost = Grade(None, "failed", raw="I <b>cannot</b>", reason="no number in the output")
            add_outcomes(cursor, put_grader(cursor, SPEC), [(questions["What is C?"], key, lost)], 0)
        app = self.open("q1/c", "p4")
        assert "no number in the output" in asked(app)["q1/c"]["said"][0]["more"]
        assert asked(app)["q1/c"]["said"][0]["raw"] == "I <b>cannot</b>"
        app = do(app, "look", question="")
        assert "raw" not in asked(app)["q1/c"]["said"][0]
        app = do(app, "look", question="q1/c")
        assert asked(app)["q1/c"]["opened"]
        assert url(app, "question") == "q1/c"


class TestJudging:
    def test_a_judgment_is_kept_under_the_assessors_name_and_can_be_replaced_and_withdrawn(
        self, small: Project
    ) -> None:
        app = visit("passages")
        app.text_input("note q1 p1").set_value("names it")
        press(app, "judge 2")
        press(app, "judge 1")
        assert own_judgment(small, "q1", "p1", "ann") == 1
        assert shows(app, "known", "ann", 2, "names it")
        assert "assessor: ann" in beside(app)
        other = visit("passages")
        press(app, "withdraw judgment")
        assert own_judgment(small, "q1", "p1", "ann") is None
        press(other, "withdraw judgment")
        assert not other.error

    def test_blind_shows_nothing_of_others_until_one_has_judged(self, small: Project) -> None:
        assess(small, "q1", "p1", 3, "bob", "bob's note")
        override(small, "q1/a", "p1", 0, "bob says no", "bob")
        app = visit("passages", query="q1", passage="p1", question="q1/a")
        app.toggle("blind").set_value(True)
        sound(app.run())
        page = [str(element.proto.body) for element in app.get("html") if "<style>" not in element.proto.body]
        parts = [json.dumps(holds(app, part)) for part in ("question-ratings", "passage-list")]
        everything = "".join([said(app), *page, *parts, *(str(button.label) for button in app.button)])
        assert "What is A?" in everything
        told = note(app, "blind-now")
        assert told and told in everything
        kept_out = everything.replace(told, "").replace('"label": null', "")
        for secret in ("label", "bob", "judged", "<mark", "rated", 'override"', 'said"', "Rank"):
            assert secret not in kept_out, secret
        # The order of the bank, which says nothing of the ratings.
        assert list(asked(app)) == ["q1/a", "q1/b", "q1/c"]
        assert not holds(app, "question-ratings")["can"]
        assert not keyed(app.selectbox, "has_label")
        press(app, "judge 1")
        assert label(app).startswith("Label 1")
        assert asked(app)["q1/a"]["override"]["reason"] == "bob says no"
        shown = holds(app, "passage-list")["rows"]
        assert shown[0]["label"] == 1
        assert "label" not in shown[1]

    def test_the_list_shows_ones_own_judgment_beside_that_of_the_source(self, small: Project) -> None:
        assess(small, "q1", "p2", 3, "ann")
        app = visit("passages", query="q1", passage="p1")
        about = holds(app, "passage-list")
        assert about["source"] != "assessor: ann"
        assert [(row["judged"], row["own"]) for row in about["rows"][:3]] == [(2, None), (0, None), (1, 3)]
        about = holds(choose(app, "judged_by", "assessor: ann"), "passage-list")
        assert [(row["judged"], row["own"]) for row in about["rows"][:3]] == [(None, None), (None, None), (3, None)]

    def test_blind_is_on_from_the_first_run_in_a_browser_that_was_blind(
        self, small: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pages.parts.review.beside.remembers_blind", lambda: True)
        app = visit("passages", query="q1", passage="p1")
        assert app.toggle("blind").value and "label" not in holds(app, "passage-list")["rows"][0]
        assert holds(app, "remember blind")["value"] is None
        app.toggle("blind").set_value(False)
        sound(app.run())
        assert holds(app, "remember blind")["value"] == ""
        assert "label" in holds(app, "passage-list")["rows"][0]

    def test_judgments_given_by_keys_while_the_server_was_at_work_are_each_of_their_passage(
        self, small: Project
    ) -> None:
        app = visit("passages", query="q1", passage="p1")
        home = holds(app, "passage-list")["home"]
        acts = [
            {"id": n, "do": "judge", "home": home, "query": "q1", "passage": f"p{n}", "value": 1} for n in (1, 2, 3)
        ]
        tell(app, "passage-list", "acts", acts[:2])
        tell(app, "passage-list", "acts", acts)
        assert [own_judgment(small, "q1", f"p{n}", "ann") for n in (1, 2, 3)] == [1, 1, 1]
        assert len(judgment_history(small, "q1", "p1")) == 1
        assert holds(app, "passage-list")["taken"] == 3
        tell(app, "passage-list", "acts", [acts[0] | {"id": 4, "passage": "gone"}])
        check_refused(app, "not-saved", 1, "gone")

    def test_a_judgment_that_was_clicked_is_kept_where_one_goes_on_at_once(self, small: Project) -> None:
        app = visit("passages", query="q1", passage="p1")
        after = holds(app, "passage-list")["after"]
        named(app.button, "judge 1").click()
        tell(app, "passage-list", "open", after)
        assert url(app, "passage") == after[1] != "p1"
        assert own_judgment(small, "q1", "p1", "ann") == 1
        assert own_judgment(small, *after, "ann") is None
        # So is the taking back of one.
        app = visit("passages", query="q1", passage="p1")
        named(app.button, "withdraw judgment").click()
        tell(app, "passage-list", "open", after)
        assert own_judgment(small, "q1", "p1", "ann") is None

    def test_a_judgment_by_key_of_somebody_without_a_name_asks_for_it_and_is_not_kept(
        self, small: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(person, "remembered", lambda: "")
        app = visit("passages", query="q1", passage="p1")
        home = holds(app, "passage-list")["home"]
        act = {"id": 1, "do": "judge", "home": home, "query": "q1", "passage": "p1", "value": 1}
        tell(app, "passage-list", "acts", [act])
        assert shows(app, "not-done-yet")
        assert own_judgment(small, "q1", "p1", "ann") is None

    def test_what_is_still_to_be_judged_can_be_walked_through(self, small: Project) -> None:
        app = choose(visit("passages"), "unjudged", True)
        press(app, "judge 1")
        assert holds(app, "passage-list")["total"] == 6
        walk(app, "after")
        assert url(app, "passage") == "p3"

    def test_a_link_to_a_query_is_one_step_of_back_and_its_passage_is_judged_at_once(self, small: Project) -> None:
        app = visit("passages", query="q2")
        assert "passage" not in app.query_params and url(app, "passage") == "p5"
        press(app, "judge 1")
        assert own_judgment(small, "q2", "p5", "ann") == 1


@pytest.fixture
def hostile_site(projects: Path, server: Server) -> str:
    """The screen of passages for a project with a passage of hostile text."""
    project = new_project(projects / "hostile passage.duckdb")
    questions = [Question("q1/a", "q1", "What is A?"), Question("q2/a", "q2", "What is B?")]
    fill(project, questions, {("What is A?", "p1"): 5}, {"x": {"q1": ["p1"], "q2": ["p2"]}})
    extract(project, HOSTILE, {"What is A?": "escape"}, EXTRACTIVE)
    judge(project, {("q1", "p1"): 1})
    project.close()
    return f"{server.address}/passages?project=hostile+passage"


@pytest.mark.browser
def test_in_a_real_browser_hostile_text_does_nothing_and_keys_walk_and_judge(
    hostile_site: str, chromium_page: Page, projects: Path, tmp_path: Path
) -> None:
    chromium_page.goto(f"{hostile_site}&query=q1&passage=new&grader=reader")
    shown = chromium_page.locator(".passage-text")
    shown.wait_for(timeout=60_000)
    assert "<script>document.title = 'broken'</script>" in shown.inner_text()
    assert "**bold** $x$ :red[r] [link](http://x) `code` # heading" in shown.inner_text()
    assert shown.locator("mark").inner_text() == "escape"
    assert shown.locator("img, script, a, b").count() == 0
    assert "broken" not in chromium_page.title()
    # A key does what its button does, so the button has to be there first.
    chromium_page.locator("button:enabled[data-key=next]").wait_for(timeout=60_000)
    assert chromium_page.locator(".row[data-place='q1/a'] .answer").inner_text() == "escape"
    ready(chromium_page)
    chromium_page.keyboard.press("Alt+j")
    chromium_page.locator(".passage-text", has_text="text of p1").wait_for(timeout=60_000)
    ready(chromium_page)
    chromium_page.keyboard.press("2")
    button(chromium_page, "withdraw judgment").wait_for(timeout=60_000)
    assert "passage=p1" in chromium_page.url

    # On to a passage of another query: one step, so that one Back leads back.
    ready(chromium_page)
    button(chromium_page, "next").click()
    chromium_page.locator(".passage-text", has_text="text of p2").wait_for(timeout=60_000)
    assert "query=q2&passage=p2" in chromium_page.url
    ready(chromium_page)
    chromium_page.go_back()
    shown.filter(has_text="text of p1").wait_for(timeout=60_000)
    assert "query=q1&passage=p1" in chromium_page.url

    # Faster than the server answers: each key or click is a judgment of the passage that was chosen then.
    ready(chromium_page)
    for key in ("1", "Alt+j"):
        chromium_page.keyboard.press(key)
    chromium_page.locator(".st-key-judge-1 button").dispatch_event("click")
    # The page rests for a moment between the two; only what it says at the end is what was judged.
    opened = chromium_page.locator(".passage-text", has_text="text of p2")
    judged = chromium_page.locator(".st-key-judge-1 button[kind=primary]")
    chromium_page.get_by_test_id("stMain").filter(has=opened).filter(has=judged).wait_for(timeout=60_000)
    ready(chromium_page)
    now = as_it_is_now(projects / "hostile passage.duckdb", tmp_path)
    assert [own_judgment(now, *at, "tester") for at in (("q1", "p1"), ("q2", "p2"))] == [1, 1]
    now.close()


@pytest.mark.browser
def test_digits_after_choosing_a_query_judge_its_first_passage(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    put_small(project := new_project(projects / "chosen query.duckdb"))
    queries = pooled_queries(project)
    project.close()
    page = chromium_page
    page.goto(f"{server.address}/passages?project=chosen+query&query=q1")
    ready(page)
    choose_option(page, "of_query", queries["q2"])
    page.locator(".st-key-desk-list [aria-current=true]:focus").wait_for()
    ready(page)
    page.keyboard.press("2")
    button(page, "withdraw judgment").wait_for()
    ready(page)
    at = parse_qs(urlsplit(page.url).query)
    assert at["query"] == ["q2"]
    now = as_it_is_now(projects / "chosen query.duckdb", tmp_path)
    assert own_judgment(now, "q2", at["passage"][0], "tester") == 2
    now.close()


@pytest.mark.browser
def test_quick_keys_judge_passage_after_passage_beyond_the_page_that_is_listed(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    names = [f"p{number:02}" for number in range(60)]
    project = new_project(projects / "many passages.duckdb")
    fill(project, QUESTIONS, {(QUESTIONS[0].text or "", "p00"): 3}, {"one": {"q1": names}})
    with project.transaction() as cursor:
        set_pool_depth(cursor, len(names), "ann")
    project.close()
    page, first = chromium_page, 35
    page.goto(f"{server.address}/passages?project=many+passages&query=q1&passage={names[first]}")
    page.locator(".passage-text", has_text=f"text of {names[first]}").wait_for()
    ready(page)
    given = {names[at]: at % 3 for at in range(first, first + 10)}
    for value in given.values():
        page.keyboard.press(str(value))
        page.keyboard.press("Alt+j")
    page.locator(".passage-text", has_text=f"text of {names[first + len(given)]}").wait_for()
    ready(page)
    now = as_it_is_now(projects / "many passages.duckdb", tmp_path)
    assert {name: own_judgment(now, "q1", name, "tester") for name in names if name in given} == given
    now.close()
