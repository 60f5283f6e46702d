"""The Passages screen: finding a passage, reading it, overriding, judging, and judging blind."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from exam_workbench import records
from exam_workbench.bank import save_version
from exam_workbench.labels import add_override, find_overrides, withdraw_by_key
from exam_workbench.records.judging import judge_passage as assess
from exam_workbench.store import Project
from exam_workbench.types import Grade, GraderSpec, Query
from pages.parts.shared import person
from tests.made.browser import WINDOW, Server, as_it_is_now, button, ready
from tests.made.cited import put_cited, sentence
from tests.made.projects import SPEC, commit, file_of, fill, grade, new_project, pool_passages
from tests.made.screens import QUESTIONS, Screen, keyed, named, numbers, put_small, visit


def passage(app: Screen) -> str:
    """Return the HTML of the open passage, with its query and label."""
    return str(next(element.proto.body for element in app.get("html") if "desk-passage" in element.proto.body))


def text_of(app: Screen) -> str:
    """Return the visible text of the open passage."""
    found = re.search(r'<div class="passage-text"[^>]*>(.*?)</div>', passage(app), re.DOTALL)
    assert found
    return plain_text(found[1])


def label(app: Screen) -> str:
    """Return the label line of the open passage as plain text."""
    found = re.search(r'<div class="label">(.*?)</div>', passage(app))
    return plain_text(found[1]) if found else ""


def asked(app: Screen) -> dict[str, Any]:
    """Return the data of the questions by id, in screen order."""
    return {one["id"]: one for one in app.holds("question-ratings")["questions"]}


def rows(app: Screen) -> str:
    """Return the HTML of the list of all overrides."""
    return "\n".join(element.proto.body for element in app.get("html") if 'class="asked"' in element.proto.body)


def url(app: Screen, name: str) -> str:
    """Return a URL parameter, or the value that the browser would add."""
    value = app.query_params[name] if name in app.query_params else app.holds("place")["values"][name]
    return value if isinstance(value, str) else value[-1]


def plain_text(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def listed(app: Screen) -> list[str]:
    """Return the texts of the listed passages."""
    return [row["text"] for row in app.holds("passage-list")["rows"]]


def walk(app: Screen, step: str) -> Screen:
    """Open the next ("after") or previous ("before") passage of the list."""
    return in_list(app, do="open", at=app.holds("passage-list")[step])


def in_list(app: Screen, **act: object) -> Screen:
    """Send an action of the list."""
    return app.act("passage-list", act)


def do(app: Screen, what: str, number: int | None = None, **more: object) -> Screen:
    """Send an action of the questions. Its number identifies it."""
    held = app.holds("question-ratings")
    act = {"id": number or held["taken"] + 1, "do": what, "at": held["at"], **more}
    return app.tell("question-ratings", "acts", [act])


def rate(app: Screen, ratings: dict[str, int], reason: str = "it only asks", number: int | None = None) -> Screen:
    """Override ratings of the open passage for one reason."""
    return do(app, "override", number, ratings=ratings, reason=reason)


def extract(
    project: Project,
    text: str,
    answers: dict[str, str],
    spec: GraderSpec,
    rating: int | None = 4,
    name: str = "new",
) -> None:
    """Add a passage of query q1 with this text, and the grader's answers from it."""
    pool_passages(project, [("q1", name)], {name: text})
    grade(project, {(question, name): Grade(rating, answer=answer) for question, answer in answers.items()}, spec)


def desk(app: Screen) -> Any:
    """Return the data of the judging desk."""
    return app.holds("passage-judging")


def judge_at_desk(app: Screen, query: str, passage_id: str, value: int, **more: object) -> Screen:
    return app.act("passage-judging", {"do": "judge", "query": query, "passage": passage_id, "value": value, **more})


def cards(app: Screen) -> dict[str, Any]:
    """Return the passages of the judging desk by id, in screen order."""
    return {card["passage"]: card for card in desk(app)["cards"]}


EXTRACTIVE = GraderSpec("reader", "extractive", "m")


def test_link_with_filter_resets_earlier_filters(shared: Project) -> None:
    app = visit("passages").choose("of_query", "q2")
    app.switch_page("pages/export.py").run()
    app.query_params.clear()
    app.query_params["overridden"] = "true"
    app = app.switch_page("pages/passages.py").run()
    assert app.session_state["overridden"] and app.selectbox("of_query").value is None


class TestReading:
    def test_first_passage_opens_with_its_details(self, shared: Project) -> None:
        app = visit("passages", part="Ratings")
        assert url(app, "passage") == "p1"
        assert text_of(app) == "text of p1"
        about = app.holds("passage-list")
        assert (about["total"], about["place"], about["chosen"]) == (7, 1, ["q1", "p1"])
        assert (
            about["rows"][0] | {"at": ["q1", "p1"], "query": "query q1", "text": "text of p1", "label": 5}
            == (about["rows"][0])
        )
        assert numbers(label(app)) == [5, 1], "the label, and the number of the question that gives it"
        first = asked(app)["q1/a"]
        assert (first["words"], first["about"], first["gives"]) == ("What is A?", ["weight 3"], True)
        assert re.search(r"assessors\s+2", app.note("known"))
        assert re.search(r"good\s+1\b", app.note("known"))
        app = visit("passages", query="q1", passage="p99")
        app.check_refused("unknown-passage", "q1", "p99")
        assert len(listed(app)) == 7

    def test_failed_and_ungraded_pairs_show_their_status(self, small: Project) -> None:
        app = visit("passages", query="q1", passage="p4")
        assert [*asked(app)] == ["q1/a", "q1/b", "q1/c"]
        assert [one["said"][0]["status"] for one in asked(app).values()] == ["graded", "graded", "failed"]
        assert numbers(label(app))[-2:] == [2, 3], "2 of 3 pairs have a rating"
        extract(small, "unread", {}, SPEC)
        app = visit("passages", query="q1", passage="new")
        assert [one["said"][0]["status"] for one in asked(app).values()] == ["ungraded"] * 3
        assert {one["rating"] for one in asked(app).values()} == {None}
        assert label(app).startswith("Label –")

    def test_stale_override_is_confirmed_and_withdrawn(self, small: Project) -> None:
        key = add_override(small, "q1/a", "p1", 0, "no", "bob")
        save_version(small, [replace(QUESTIONS[0], text="What is A, exactly?")], "reworded", "bob")
        app = visit("passages", query="q1", passage="p1")
        one = asked(app)["q1/a"]
        assert one["override"] is None
        assert [(old["key"], old["rating"], old["wording"]) for old in one["stale"]] == [(key, 0, "What is A?")]
        app = do(app, "confirm", keys=[key])
        assert (asked(app)["q1/a"]["override"]["rating"], asked(app)["q1/a"]["stale"]) == (0, [])
        app = do(app, "withdraw", keys=[asked(app)["q1/a"]["override"]["key"]])
        assert asked(app)["q1/a"]["override"] is None
        assert find_overrides(small) == []

    def test_answers_of_graders_are_highlighted_but_bare_ratings_are_not(self, small: Project) -> None:
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
        app = visit("passages", query="q1", passage="new", grader=SPEC.name)
        assert {one["grader"] for q in asked(app).values() for one in q["said"]} == {SPEC.name}
        app.choose("beside_it", ["reader"])
        by_grader = {q["id"]: {one["grader"]: one for one in q["said"]} for q in asked(app).values()}
        assert all(set(one) == {SPEC.name, "reader"} for one in by_grader.values())
        one = by_grader["q1/a"]["reader"]
        assert (one["rating"], one["answer"]) == (4, "the grass is green")
        assert app.holds("question-ratings")["several"]
        extract(small, "There are 4.", {"What is A?": "4"}, GraderSpec("rater", "self-rating", "other"), name="rated")
        assert "<mark" not in passage(visit("passages", query="q1", passage="rated", grader="rater"))

    def test_highlighting_depends_on_the_rating(self, small: Project) -> None:
        spec = replace(EXTRACTIVE, max_rating=3)
        marks: dict[int | None, list[str]] = {None: [], 0: [], 1: [' class="short"'], 3: [""]}
        for rating, marked in marks.items():
            name, answer = f"rated-{rating}", "the grass is green"
            extract(small, f"Here {answer} and wet ({rating}).", {"What is A?": answer}, spec, rating, name)
            shown = passage(visit("passages", query="q1", passage=name, grader="reader"))
            assert re.findall(r'<mark title="[^"]*"([^>]*)>', shown) == marked

    def test_ungraded_passages_can_be_read_and_judged(self, project: Project) -> None:
        fill(project, [], {}, {"one": {"q1": ["p1"]}})
        app = visit("passages", part="Ratings")
        assert text_of(app) == "text of p1"
        assert app.shows("no-active-question")
        judge_at_desk(visit("passages"), "q1", "p1", 1, note="names it")
        assert records.own_judgment(project, "q1", "p1", "ann") == 1
        app = visit("passages", query="q1", passage="p1")
        assert app.shows("known", "ann", 1, "names it") and "assessor: ann" in app.note("known")

    def test_queries_with_equal_wording_show_their_ids(self, small: Project) -> None:
        commit(small, records.add_queries, [Query("q2", "query q1")], replace=True)
        app = visit("passages", part="Ratings")
        (box,) = [box for box in app.selectbox if box.label == "Query"]
        assert box.options == ["query q1 (q1)", "query q1 (q2)"]
        box.set_value("q2")
        assert app.run().holds("passage-list")["total"] == 3
        assert (url(app, "query"), url(app, "passage")) == ("q2", "p5")


class TestFinding:
    def test_list_is_filtered_by_fields_and_by_link(self, shared: Project) -> None:
        app = visit("passages", part="Ratings").choose("words", "nowhere")
        about = app.holds("passage-list")
        assert (about["rows"], about["total"], about["place"]) == ([], 0, None)
        assert text_of(app) == "text of p1"
        app = app.choose("words", "OF P6")
        assert listed(app) == ["text of p6"]
        app.press("clear filters")
        app.choose("has_label", 5)
        assert listed(app) == ["text of p1"]
        app.press("clear filters")
        app.choose("flagged", True)
        assert listed(app) == ["text of p3", "text of p2", "text of p7"]
        again = visit("passages", flagged="true", words="p7")
        assert listed(again) == ["text of p7"]

    def test_next_and_previous_follow_the_filtered_list(self, shared: Project) -> None:
        app = visit("passages", part="Ratings").choose("flagged", True)
        assert url(app, "passage") == "p1"
        for expected in ("p3", "p2", "p7"):
            walk(app, "after")
            assert url(app, "passage") == expected
        assert app.holds("passage-list")["after"] is None
        walk(app, "before")
        assert text_of(app) == "text of p2"
        # The strongest question comes first.
        assert [*asked(app)] == ["q1/c", "q1/a", "q1/b"]
        about = app.holds("passage-list")
        assert (about["place"], about["total"]) == (2, 3)

    def test_list_opens_at_the_page_of_the_passage(self, small: Project) -> None:
        more = {f"m{i:02}": f"more {i:02}" for i in range(90)}
        pool_passages(small, [("q2", passage) for passage in more], more)
        app = visit("passages", query="q2", passage="m89")
        about = app.holds("passage-list")
        assert (about["total"], about["page"], len(about["rows"])) == (97, 3, 17)
        assert "more 89" in listed(app)
        in_list(app, do="page", to=1)
        assert len(listed(app)) == 40
        assert "more 89" not in listed(app)
        assert text_of(app) == "more 89"


class TestOverriding:
    def open(self, question: str = "q1/a", passage: str = "p1") -> Screen:
        return visit("passages", query="q1", passage=passage, question=question, against="assessors")

    def attempt(self, app: Screen, ratings: dict[str, int]) -> Screen:
        return do(app, "try", ratings=ratings)

    def test_override_effect_is_previewed_and_reason_is_required(self, shared: Project) -> None:
        app = self.attempt(self.open(), {"q1/a": 0})
        assert app.holds("question-ratings")["label"] == [5, 1]
        assert app.shows("effect tried", "nDCG@10")
        assert re.search(r"5 → 1", app.note("effect tried"))
        app = self.attempt(app, {"q1/a": 0, "q1/b": 0})
        assert app.holds("question-ratings")["label"] == [5, 0]
        assert re.search(r"5 → 0", app.note("effect tried"))
        assert not self.attempt(app, {}).shows("effect tried")
        app = rate(app, {"q1/a": 0}, " ")
        assert app.holds("question-ratings")["taken"] == 4
        assert app.holds("question-ratings")["refused"]["code"] == "empty-reason"
        assert find_overrides(shared) == []

    def test_overrides_apply_at_once_and_can_be_withdrawn(self, small: Project) -> None:
        ratings = {"q1/a": 0, "q1/b": 0}
        app = rate(self.attempt(self.open(), ratings), ratings, "not relevant")
        made = app.holds("question-ratings")["made"]
        stored = [(one.key, one.rating, one.author, one.reason) for one in reversed(find_overrides(small))]
        assert stored == [(key, 0, "ann", "not relevant") for key in made]
        assert label(app).startswith("Label 0") and app.shows("effect made")
        first = asked(app)["q1/a"]
        assert (first["override"]["rating"], first["said"][0]["rating"]) == (0, 5)
        app = do(app, "withdraw", keys=made)
        assert find_overrides(small) == []
        assert label(app).startswith("Label 5") and not app.shows("effect made")
        assert app.holds("question-ratings")["made"] == []
        number = app.holds("question-ratings")["taken"] + 1
        app = rate(rate(app, {"q1/a": 0}, number=number), {"q1/a": 0}, number=number)
        assert app.holds("question-ratings")["taken"] == number
        # Another person withdraws it first.
        (one,) = find_overrides(small)
        withdraw_by_key(small, one.key, "bob")
        app = do(app, "withdraw", keys=[one.key])
        assert app.holds("question-ratings")["refused"]["code"]
        assert asked(app)["q1/a"]["override"] is None

    def test_override_list_opens_passages(self, small: Project) -> None:
        add_override(small, "q1/b", "p2", 5, "it does say so", "bob")
        app = visit("passages", part="Ratings")
        assert "3 → 5" not in rows(app)
        app.session_state["override list"] = True
        app.run()
        assert re.search(r"\b3 → 5\b\D*\bbob\b", rows(app))
        app.press("go to")
        assert url(app, "passage") == "p2"
        assert url(app, "question") == "q1/b"

    def test_raw_output_and_failure_reason_are_shown_on_demand(self, small: Project) -> None:
        lost = Grade(None, "failed", raw="I <b>cannot</b>", reason="no number in the output")
        grade(small, {("What is C?", "p4"): lost})
        app = self.open("q1/c", "p4")
        assert "no number in the output" in asked(app)["q1/c"]["said"][0]["more"]
        assert asked(app)["q1/c"]["said"][0]["raw"] == "I <b>cannot</b>"
        app = do(app, "look", question="")
        assert "raw" not in asked(app)["q1/c"]["said"][0]
        app = do(app, "look", question="q1/c")
        assert asked(app)["q1/c"]["opened"]
        assert url(app, "question") == "q1/c"


class TestJudging:
    def test_blind_judging_is_default_and_hides_other_values(self, small: Project) -> None:
        assess(small, "q1", "p1", 3, "bob", "bob's note")
        add_override(small, "q1/a", "p1", 0, "bob says no", "bob")
        app = visit("passages", query="q1")
        page = [str(element.proto.body) for element in app.get("html") if "<style>" not in element.proto.body]
        everything = "".join([app.said(), *page, json.dumps(desk(app)["cards"]), json.dumps(desk(app)["labels"])])
        assert not app.warning
        for secret in ("bob", "assessors", "<mark", "Rank"):
            assert secret not in everything, secret
        assert {card["about"] for card in cards(app).values()} == {""}
        assert not keyed(app.selectbox, "has_label")
        assert desk(app)["labels"] == []

    def test_blind_order_is_random_but_stable_per_assessor(
        self, shared: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        orders = []
        for name in ("ann", "ben", "cat"):
            monkeypatch.setattr(person, "remembered_name", lambda name=name: name)
            orders.append([*cards(visit("passages", query="q1"))])
            assert [*cards(visit("passages", query="q1"))] == orders[-1]
        monkeypatch.setattr(person, "remembered_name", lambda: "")
        app = judge_at_desk(visit("passages", query="q1"), "q1", "p1", 1)
        assert app.shows("not-done-yet"), "a judgment without a name must not be stored"
        assert len({*map(tuple, orders)}) > 1
        assert {*map(frozenset, orders)} == {frozenset({"p1", "p2", "p3", "p4"})}

    def test_judgment_after_seeing_labels_is_not_blind(self, small: Project) -> None:
        app = visit("passages", query="q1")
        judge_at_desk(app, "q1", "p1", 1)
        app.act("passage-judging", {"do": "look", "query": "q1", "passage": "p1"})
        assert [(one["passage"], one["label"], one["highest"]) for one in desk(app)["labels"]] == [("p1", 5, 5)]
        judge_at_desk(app, "q1", "p1", 3)
        open_eyed = visit("passages", query="q1", blind="false")
        assert cards(open_eyed)["p2"]["about"]
        judge_at_desk(open_eyed, "q1", "p2", 3, seen=desk(open_eyed)["seen"])
        rated = visit("passages", query="q1", passage="p3").choose("part", "Judge")
        judge_at_desk(rated, "q1", "p3", 2)
        told = [[act.blind for act in records.judgment_history(small, "q1", f"p{n}")] for n in (1, 2, 3)]
        assert told == [[False, True], [False], [False]]
        assert records.blind_judgments(small, "ann") == {("q1", "p1"): 1}
        assert records.own_judgment(small, "q1", "p1", "ann") == 3

    def test_open_judging_lists_own_values_and_links_open_passages(self, small: Project) -> None:
        assess(small, "q1", "p2", 3, "ann")
        shown = cards(visit("passages", query="q1", blind="false"))
        assert [*shown] == ["p1", "p3", "p2", "p4"]
        assert [card["value"] for card in shown.values()] == [None, None, 3, None]
        assert numbers(shown["p2"]["about"]) == [3, 1]
        app = visit("passages", part="Judge", query="q1", passage="p2")
        assert desk(app)["start"] == {"query": "q1", "passage": "p2"}
        assert cards(app)["p2"]["text"] == "text of p2"
        assert url(app, "query") == "q1"

    def test_next_passages_are_preloaded_and_resent_judgments_count_once(self, small: Project) -> None:
        app = visit("passages", query="q1")
        first = desk(app)
        assert [first["cards"][at]["text"] for at in first["open"]] == [
            f"text of {first['cards'][at]['passage']}" for at in first["open"]
        ]
        acts = [{"id": n, "do": "judge", "query": "q1", "passage": f"p{n}", "value": 1} for n in (1, 2, 3)]
        app.tell("passage-judging", "acts", acts[:2])
        app.tell("passage-judging", "acts", acts)
        assert [records.own_judgment(small, "q1", f"p{n}", "ann") for n in (1, 2, 3)] == [1, 1, 1]
        assert len(records.judgment_history(small, "q1", "p1")) == 1
        assert desk(app)["taken"] == 3
        # After an undo, the next blind judgment counts as the first.
        for _ in range(2):
            # Another window may have undone it first.
            app.act("passage-judging", {"do": "take back", "query": "q1", "passage": "p2"})
        assert desk(app)["error"] is None
        judge_at_desk(app, "q1", "p2", 2)
        assert records.blind_judgments(small, "ann") == {("q1", "p1"): 1, ("q1", "p2"): 2, ("q1", "p3"): 1}
        judge_at_desk(app, "q1", "gone", 1)
        assert desk(app)["error"]["passage"] == "gone"

    def test_finished_query_leads_to_next_unless_filtered(self, small: Project) -> None:
        for n in (1, 2, 3):
            assess(small, "q1", f"p{n}", 1, "ann")
        app = judge_at_desk(visit("passages", query="q1"), "q1", "p4", 0)
        assert desk(app)["open"] == []
        assert (desk(app)["finished"]["act"], desk(app)["finished"]["with"]) == ("next", {"query": "q2"})
        app.act("passage-judging", {"do": "next", "query": "q2"})
        assert {card["query"] for card in desk(app)["cards"]} == {"q2"}
        finished = desk(visit("passages").choose("of_query", "q1"))["finished"]
        assert finished["act"] is None and numbers(finished["title"]) == [4], "the query may have other passages"

    def test_link_to_unknown_query_opens_another(self, shared: Project) -> None:
        app = visit("passages", query="q*9")
        assert app.shows("another-query", "q*9") and app.holds("place")["values"]["query"] == "q1"
        assert {card["query"] for card in desk(app)["cards"]} == {"q1"}
        assert not app.run().shows("another-query")


@pytest.mark.browser
def test_digits_outside_questions_are_ignored_and_back_returns_to_query(
    projects: Path, server: Server, chromium_page: Page, tmp_path: Path
) -> None:
    page = chromium_page
    file_of(put_small).write(projects / "digits.duckdb")
    page.goto(f"{server.address}/passages?project=digits&query=q1&passage=p2")
    # A key triggers its button, so wait until the button is enabled.
    page.locator("button:enabled[data-key=next]").wait_for()
    ready(page)
    page.keyboard.press("Alt+j")
    shown = page.locator(".passage-text")
    shown.filter(has_text="text of p4").wait_for()
    ready(page)
    page.keyboard.press("2")
    ready(page)
    assert "passage=p4" in page.url

    # Moving to another query is one history step, so one Back returns.
    button(page, "next").click()
    shown.filter(has_text="text of p5").wait_for()
    assert "query=q2&passage=p5" in page.url
    ready(page)
    page.go_back()
    shown.filter(has_text="text of p4").wait_for()
    assert "query=q1&passage=p4" in page.url
    ready(page)
    now = as_it_is_now(projects / "digits.duckdb", tmp_path)
    assert records.assessor_judgments(now) == []


@pytest.mark.browser
def test_judging_by_keys_alone(projects: Path, server: Server, chromium_page: Page, tmp_path: Path) -> None:
    names = [f"p{number:02}" for number in range(30)]
    project = new_project(projects / "many passages.duckdb")
    fill(project, QUESTIONS, {(QUESTIONS[0].text or "", "p00"): 3}, {"one": {"q1": names, "q2": names[:12]}})
    commit(project, records.set_pool_depth, len(names), "ann")
    project.close()
    page = chromium_page
    page.goto(f"{server.address}/passages?project=many+passages&query=q1")
    passage, keys = page.locator(".pane .passage"), page.locator(".keys")

    def current() -> str:
        return passage.inner_text().removeprefix("text of ")

    passage.wait_for()
    ready(page)
    undo = keys.locator("button[aria-keyshortcuts=u]")
    expect(undo).to_be_disabled()
    # Keys arrive faster than the server answers. Each judges the passage shown at that time.
    given: dict[str, int] = {}
    for at in range(12):
        given[current()] = at % 4
        page.keyboard.press(str(at % 4))
        expect(page.locator(".list [aria-current]")).not_to_have_attribute("aria-label", re.compile("judged \\d"))
        passage.wait_for()
    ready(page)
    # Undo the last judgment and give another. Typing a note does not judge.
    before = current()
    expect(undo).to_be_enabled()
    page.keyboard.press("u")
    undone = list(given)[-1]
    expect(passage).to_have_text(f"text of {undone}")
    keys.locator("input.note").click()
    page.keyboard.type("see 3")
    keys.locator("input.note").press("Tab")
    page.keyboard.press("1")
    given[undone] = 1
    expect(passage).to_have_text(f"text of {before}")
    # Going back in the list changes nothing.
    page.keyboard.press("Alt+k")
    expect(passage).to_have_text(f"text of {undone}")
    expect(keys.locator("[aria-pressed=true]")).to_have_attribute("aria-keyshortcuts", "1")
    page.keyboard.press("?")
    expect(page.locator(".help dt").filter(has_text=re.compile("^u$"))).to_be_visible()
    ready(page)
    page.wait_for_function("() => localStorage.getItem('exam-workbench-judging') === null")
    ready(page)
    page.reload()
    judged = page.locator(".list .chip:not(.rnone)")
    expect(judged).to_have_count(len(given))
    expect(passage).to_have_text(f"text of {before}")
    # Undo also works after a reload. A digit judges only a passage in view; otherwise it scrolls to it.
    ready(page)
    page.keyboard.press("u")
    expect(passage).to_have_text(f"text of {undone}")
    expect(judged).to_have_count(len(given) - 1)
    ready(page)
    page.set_viewport_size({"width": 900, "height": 400})
    page.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    in_view = "({ top, bottom }) => bottom > 0 && top < innerHeight"
    shown = passage.element_handle()
    assert not shown.evaluate(f"node => ({in_view})(node.getBoundingClientRect())")
    page.keyboard.press("1")
    page.wait_for_function(f"node => ({in_view})(node.getBoundingClientRect())", arg=shown)
    ready(page)
    expect(judged).to_have_count(len(given) - 1)
    page.keyboard.press("1")
    expect(judged).to_have_count(len(given))
    ready(page)
    page.wait_for_function("() => localStorage.getItem('exam-workbench-judging') === null")
    ready(page)
    now = as_it_is_now(projects / "many passages.duckdb", tmp_path)
    assert {name: records.own_judgment(now, "q1", name, "tester") for name in given} == given
    assert records.blind_judgments(now, "tester") == {("q1", name): value for name, value in given.items()}
    assert [act.note for act in records.judgment_history(now, "q1", undone)[:3]] == ["", "", "see 3"]
    now.close()
    # Keys continue from the passage that is chosen in the list.
    page.set_viewport_size(WINDOW)
    page.goto(f"{server.address}/passages?project=many+passages&query=q2")
    rows = page.locator(".list button.row")
    for chosen, following in ((4, [5, 6]), (1, [2, 3, 7])):
        ready(page)
        rows.nth(chosen).click()
        for at in (chosen, *following):
            expect(rows.nth(at)).to_have_attribute("aria-current", "true")
            expect(page.locator(".keys button.value").first).to_be_enabled()
            page.keyboard.press("1")
    expect(rows.nth(8)).to_have_attribute("aria-current", "true")


def test_support_values_are_stored_and_withdrawn(project: Project) -> None:
    put_cited(project)
    assert named(visit("passages").segmented_control, "part").options[-1] == "Citations"
    app = visit("passages", part="Citations")
    assert sorted(one.proto.shortcut for one in keyed(app.button, "support")) == ["0", "1", "2"]
    assert not app.shows("known support 1")
    app.press("support 1 2")
    people = {person for (person,) in project.rows("SELECT author FROM support_values")}
    assert project.rows("SELECT value FROM support_values") == [(2,)] and len(people) == 1
    # The next sentence has two citations. The keys value the first, then the second.
    assert [bool(one.proto.shortcut) for one in keyed(app.button, "support")] == [True] * 3 + [False] * 3
    app.press("support 1 2")
    assert [bool(one.proto.shortcut) for one in keyed(app.button, "support")] == [False] * 3 + [True] * 3
    assert numbers(app.note("known support 1"))[0] == 2
    app.press("withdraw 1")
    values = project.rows("SELECT value FROM personal_support")
    assert values == [(2,)] and len(project.rows("FROM support_values")) == 3
    app.press("support 1 1").press("support 2 0")
    values = project.rows(
        "SELECT sentence, cited_id, value FROM personal_support"
        " JOIN (SELECT sentence, cited_id, sentence_key, cited_key FROM cited WHERE run = 'good')"
        " ON sentence_key = question_text_key AND cited_key = passage_text_key ORDER BY cited_id"
    )
    assert values == [(sentence(0), "d0", 2), (sentence(1), "d1", 1), (sentence(1), "d2", 0)]
    assert named(app.button, "next response").proto.shortcut == "n"
    assert not keyed(app.press("next response").button, "next response")
