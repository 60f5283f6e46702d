"""The Disagreements screen: the tables, the queue behind a cell, settling a case, and what it says where it cannot."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.labels import Policy, basis, labels, override, overrides
from core.measures import Coefficient
from core.project import Project
from core.project.judging import judge as assess
from core.review import Judgments, Labels, case_of, queue, settle_by_comment, settle_by_override
from core.review.disagreements.record import record
from core.types import Question
from pages.parts.review.table import digits
from tests.made.projects import fill, judge
from tests.made.screens import (
    MARKED,
    MARKUP,
    RUNS,
    choose,
    links,
    looked_at,
    metric,
    named,
    press,
    served,
    shared,
    small,
    sound,
    visit,
)
from tests.made.screens import said as said_escaped

__all__ = ["looked_at", "served", "shared", "small"]  # fixtures

# Of the small project: labels 5, 3, 4, 1 and 4, 3, 1; judgments 2, 1, 0, 0 and 1, none, 2.


def said(app: AppTest) -> str:
    """All sentences of the screen, as they are read."""
    return said_escaped(app).replace("\\", "")


def html(app: AppTest) -> str:
    """All HTML of the screen without its styles."""
    bodies = (str(element.proto.body) for element in app.get("html"))
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def downloads(app: AppTest) -> list[str]:
    """What can be taken away."""
    buttons: Any = app.get("download_button")
    return [button.label for button in buttons]


def url(app: AppTest, name: str) -> str:
    """What the URL says of a parameter."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[-1]


def toast(app: AppTest) -> str:
    """What the last message said."""
    return app.toast[-1].value.replace("\\", "")


def rows(app: AppTest) -> list[str]:
    """The passages that are listed, by what stands between the tags of their texts."""
    texts = [part.split("</div>")[0] for part in html(app).split('<div class="text" dir="auto">')[1:]]
    return [text.removeprefix("text of ") for text in texts]


def show(app: AppTest, label: str, value: str) -> AppTest:
    """Choose one of a row of buttons by the value that stands for it."""
    named(app.get("button_group"), label).set_value(value)
    return sound(app.run())


def settle(app: AppTest, at: int = 0) -> AppTest:
    """Open the form of a case."""
    [button for button in app.button if button.label == "Settle"][at].click()
    return sound(app.run())


def give_reason(app: AppTest, reason: str, label: str = "Reason") -> AppTest:
    named(app.text_input, label).set_value(reason)
    return sound(app.run())


def finish(app: AppTest) -> AppTest:
    """Press the button at the end of the form."""
    next(button for button in app.button if str(button.key).startswith("do ")).click()
    return sound(app.run())


class TestTables:
    def test_counts_totals_and_kappas_stand_in_the_table_and_the_merged_one_beside_it(self, shared: Project) -> None:
        app = visit("disagreements")
        cells = {button.key: button.label for button in app.button if str(button.key).startswith("cell-")}
        assert [cells[f"cell-{row}-{column}"] for row in (0, 1, 4) for column in range(3)] == list("100011101")
        merged = {button.key: button.label for button in app.button if str(button.key).startswith("merged-")}
        assert list(merged.values()) == ["2", "1", "2", "1"]
        assert "4–5" in html(app)
        assert "6 pairs of query and passage with both values" in said(app)
        assert metric(app, "κ merged") == "0.00"

    def test_pairs_that_only_one_side_has_are_told_and_in_no_cell(self, shared: Project) -> None:
        app = visit("disagreements")
        assert "1 more only among the labels of test grader" in said(app)
        assert "missing is not zero" in said(app)

    def test_what_is_undefined_says_why(self, project: Project) -> None:
        fill(project, [Question("a", "q1", "A?")], {("A?", "p1"): 5, ("A?", "p2"): 4}, {"r": {"q1": ["p1", "p2"]}})
        judge(project, {("q1", "p1"): 1, ("q1", "p2"): 1})
        app = visit("disagreements")
        assert metric(app, "κ merged") == "–"
        assert "Undefined (κ merged): both sides give everything the same value." in said(app)

    def test_both_tables_can_be_taken_away(self, shared: Project) -> None:
        app = visit("disagreements")
        names = downloads(app)
        assert names == ["Table as LaTeX", "Table as CSV", "Merged table as LaTeX", "Merged table as CSV"]

    def test_any_two_sides_can_be_compared(self, small: Project) -> None:
        assess(small, "q1", "p1", 3, "bob")
        override(small, "q1/a", "p1", 1, "read it", "ann")
        override(small, "q1/a", "p1", 4, "read it", "bob")
        app = visit("disagreements")
        names = app.selectbox("left").options
        assert names == [
            "Labels of test grader",
            "Judgments: assessors",
            "Judgments: assessor: bob",
            "Grader by itself: test grader",
            "Overrides of ann",
            "Overrides of bob",
        ]
        app = choose(app, "Right side (columns)", "Judgments: assessor: bob")
        assert rows(app) == []
        app = choose(app, "Left side (rows)", "Judgments: assessors")
        assert "1 pair of query and passage" in said(app)
        app = choose(choose(app, "Left side (rows)", "Overrides of ann"), "Right side (columns)", "Overrides of bob")
        assert rows(app) == ["p1"]
        assert "What is A?" in html(app)

    def test_two_graders_are_told_apart_by_their_names(self, small: Project) -> None:
        override(small, "q1/a", "p1", 1, "read it", "ann")
        app = visit("disagreements")
        app = choose(app, "Right side (columns)", "Grader by itself: test grader")
        assert "test grader with overrides ↓<br>test grader by itself →" in html(app)
        assert "test grader with overrides<b>1</b><br>test grader by itself<b>5</b>" in html(app)

    def test_no_kappa_is_minus_zero(self) -> None:
        assert digits(Coefficient(-0.001)) == "0.00"

    def test_sides_that_cannot_be_compared_are_a_sentence(self, small: Project) -> None:
        override(small, "q1/a", "p1", 1, "read it", "ann")
        app = choose(visit("disagreements"), "Left side (rows)", "Overrides of ann")
        assert "judgments are about passages" in app.error[0].value.replace("\\", "")

    def test_another_min_rating_merges_elsewhere(self, shared: Project) -> None:
        assert "3–5" in html(choose(visit("disagreements"), "Min rating", 3))


class TestQueue:
    def test_the_worst_disagreements_come_first_with_the_question_that_gave_the_label(self, shared: Project) -> None:
        app = visit("disagreements")
        assert rows(app)[:2] == ["p3", "p7"]
        assert "What is B?" in html(app)
        assert "**4 disagreements**" in said(app)

    def test_a_cell_leads_to_its_passages_and_back(self, shared: Project) -> None:
        app = visit("disagreements")
        app.button("cell-1-2").click()
        app = sound(app.run())
        assert rows(app) == ["p3"]
        assert url(app, "cell") == "4:0"
        assert "in the cell label 4, judgment 0" in said(app)
        assert len(rows(press(app, "All disagreements"))) == 4

    def test_a_link_opens_a_cell_of_the_merged_table(self, shared: Project) -> None:
        assert rows(visit("disagreements", cell="5,4:2,1")) == ["p5", "p1"]

    @pytest.mark.parametrize("cell", ["", "x", "9:9", "4", "4:0:1"])
    def test_a_link_to_a_cell_that_is_not_there_lists_all(self, shared: Project, cell: str) -> None:
        assert len(rows(visit("disagreements", cell=cell))) == 4

    def test_a_link_lists_one_query_and_the_url_follows_the_choice(self, shared: Project) -> None:
        app = visit("disagreements", query="q2")
        assert rows(app) == ["p7", "p5"]
        assert "**2 disagreements** of this query" in said(app)
        app = choose(app, "Query", "query q1")
        assert "p7" not in rows(app)
        assert url(app, "query") == "q1"
        assert len(rows(visit("disagreements", query="unknown"))) == 4

    def test_each_row_leads_to_its_passage(self, shared: Project) -> None:
        app = visit("disagreements")
        assert links(app)[:1] == ["passages"]
        assert "query=q1&passage=p3" in app.main.get("page_link")[0].proto.query_string

    def test_one_side_higher(self, shared: Project) -> None:
        app = show(visit("disagreements"), "Order", "right")
        assert rows(app)[0] == "p7"
        assert "p3" not in rows(app)

    def test_check_next_says_what_would_change(self, shared: Project) -> None:
        app = show(visit("disagreements"), "Order", "board")
        assert "If the label were" in html(app)
        assert "systems move" in html(app) or "system move" in html(app)
        assert "What happens to the board by nDCG@10" in said(app)
        app = show(app, "Order", "kappa")
        assert "kappa +" in html(app) or "kappa -" in html(app)

    def test_for_people_there_is_no_order_by_the_board(self, small: Project) -> None:
        for author in ("ann", "bob"):
            override(small, "q1/a", "p1", 1, "read it", author)
        app = visit("disagreements")
        app = choose(choose(app, "Left side (rows)", "Overrides of ann"), "Right side (columns)", "Overrides of bob")
        assert named(app.get("button_group"), "Order").options == ["Worst first", "ann higher", "bob higher"]

    def test_pages_are_turned_and_never_more_than_one_is_drawn(self, project: Project) -> None:
        passages = [f"p{i:02}" for i in range(25)]
        fill(project, [Question("a", "q1", "A?")], {("A?", p): 5 for p in passages}, {"r": {"q1": passages}})
        judge(project, {("q1", p): 0 for p in passages})
        app = visit("disagreements")
        assert rows(app) == passages[:10]
        pager: Any = app.get("pagination")[0]
        pager.set_value(3)
        assert rows(sound(app.run())) == passages[20:]

    def test_texts_from_outside_are_shown_as_text(self, project: Project) -> None:
        fill(project, [Question("a", "q1", MARKUP)], {(MARKUP, MARKED): 5}, {"r": {"q1": [MARKED]}})
        judge(project, {("q1", MARKED): 0})
        app = visit("disagreements")
        assert "<b>x</b>" not in html(app)
        assert html(app).count("&lt;b&gt;x&lt;/b&gt;") == 2


class TestSettling:
    def test_an_override_shows_the_label_before_it_is_given_and_changes_it(self, small: Project) -> None:
        app = settle(visit("disagreements"))
        app = show(app, "Rating", 0)  # type: ignore[arg-type]
        assert "The label stays 4 because “What is C?” also gives 4." in said(app)
        assert "2 questions give this label" in said(app)
        app = choose(app, "The sides still disagree", True)
        app = finish(give_reason(app, "it does not say"))
        assert "The label stays 4 because “What is C?” also gives 4. The case is settled." in toast(app)
        assert [(one.question_id, one.passage_id, one.rating, one.author) for one in overrides(small)] == [
            ("q1/b", "p3", 0, "ann")
        ]
        assert "p3" not in rows(app)
        assert "1 settled" in said(app)
        assert int(labels(small, basis(small, Policy())).set_index("passage_id")["label"]["p3"]) == 4

    def test_an_override_that_leaves_the_sides_apart_keeps_the_case_in_the_queue(self, small: Project) -> None:
        app = show(settle(visit("disagreements")), "Rating", 0)  # type: ignore[arg-type]
        app = finish(give_reason(app, "it does not say"))
        assert "The case stays in the queue." in toast(app)
        assert rows(app)[0] == "p3"
        assert (len(overrides(small)), record(small)) == (1, [])

    def test_an_override_that_makes_the_sides_agree_settles_the_case_at_once(self, small: Project) -> None:
        override(small, "q1/b", "p3", 0, "it does not say", "ann")
        app = show(settle(visit("disagreements")), "Rating", 0)  # type: ignore[arg-type]
        assert "Label 4 → 0" in said(app)
        assert "The sides still disagree" not in " ".join(box.label for box in app.checkbox)
        app = finish(give_reason(app, "nor this"))
        assert "The label is now 0. The case is settled." in toast(app)
        assert "p3" not in rows(app)

    @pytest.mark.parametrize("too", [True, False])
    def test_reopening_asks_whether_the_override_goes_too(self, small: Project, too: bool) -> None:
        sides = Labels(Policy()), Judgments()
        pair = queue(small, *sides).rows[0].pair
        settle_by_override(small, case_of(small, *sides, pair), "q1/b", 0, "it does not say", "ann")
        app = show(visit("disagreements"), "Show", "record")
        assert "Override with rating 0: “What is B?”" in html(app)
        assert named(app.checkbox, "Withdraw the override too").value is True
        app = press(choose(app, "Withdraw the override too", too), "Reopen the case")
        assert len(overrides(small)) == (0 if too else 1)
        assert ("The override is withdrawn." if too else "An override of the question stays in force.") in toast(app)
        assert "Case reopened</b>" in html(app)
        assert ("Reopened since. An override of the question is still in force." in html(app)) is not too

    def test_a_disputed_judgment_goes_into_the_record_and_its_file(self, small: Project) -> None:
        app = show(settle(visit("disagreements")), "Settle by", "dispute")
        app = finish(give_reason(app, "it is relevant"))
        assert [(one.act, one.source, one.value) for one in record(small)] == [("dispute", "assessors", 0)]
        app = show(app, "Show", "record")
        assert "Dispute of the judgment: assessors judged 0" in html(app)
        assert "Disputed judgments as CSV (1)" in downloads(app)

    def test_editing_the_question_settles_it_and_opens_the_bank_with_the_passage(self, small: Project) -> None:
        app = show(settle(visit("disagreements")), "Settle by", "edit")
        app = finish(give_reason(app, "too broad"))
        assert [(one.act, one.touched) for one in record(small)] == [("edit", "q1/b")]
        assert app.title[0].value == "Question bank"
        assert url(app, "query") == "q1"
        assert "text of p3" in said(app)

    def test_a_comment_settles_it_and_the_case_can_be_seen_and_reopened(self, small: Project) -> None:
        app = show(settle(visit("disagreements")), "Settle by", "comment")
        app = finish(give_reason(app, "both are right", "Comment"))
        assert len(rows(app)) == 3
        app.toggle("show_settled").set_value(True)
        app = sound(app.run())
        assert len(rows(app)) == 4
        assert "Settled by ann" in html(app)
        assert "both are right" in html(app)
        press(app, "Reopen")
        assert [one.act for one in record(small)] == ["reopen", "comment"]

    def test_without_a_reason_it_says_what_to_do(self, small: Project) -> None:
        app = finish(show(settle(visit("disagreements")), "Settle by", "comment"))
        assert "reason is empty" in app.error[0].value
        assert record(small) == []

    def test_between_two_sources_one_judgment_is_disputed(self, small: Project) -> None:
        assess(small, "q1", "p1", 0, "bob")
        app = choose(visit("disagreements"), "Left side (rows)", "Judgments: assessor: bob")
        app = settle(app)
        app.radio[0].set_value("assessors")
        app = finish(give_reason(sound(app.run()), "off topic"))
        assert [(one.source, one.value) for one in record(small)] == [("assessors", 2)]

    def test_the_record_begins_with_what_to_do(self, shared: Project) -> None:
        assert "Nobody has settled a disagreement yet." in said(show(visit("disagreements"), "Show", "record"))


class TestBankQueues:
    def test_questions_that_non_relevant_passages_answer(self, shared: Project) -> None:
        app = show(visit("disagreements"), "Show", "strays")
        assert "2 questions are answered" in said(app)
        assert "1 non-relevant and 0 relevant passages answer it" in html(app)

    def test_relevant_passages_that_no_question_covers_lead_to_the_bank(self, small: Project) -> None:
        app = show(visit("disagreements"), "Show", "uncovered")
        assert rows(app) == ["p7", "p2"]
        next(button for button in app.button if button.label == "Add a question").click()
        app = sound(app.run())
        assert app.title[0].value == "Question bank"
        assert url(app, "query") == "q2"
        assert "text of p7" in said(app)


class TestEmpty:
    def test_without_a_project(self) -> None:
        assert "There is no project yet." in said(visit("disagreements"))

    def test_with_nothing_to_compare(self, project: Project) -> None:
        app = visit("disagreements")
        assert "There are no two sides to compare yet." in said(app)
        assert not app.error

    def test_judgments_can_be_compared_before_anything_is_graded(self, project: Project) -> None:
        fill(project, [Question("a", "q1", "A?")], {}, RUNS)
        judge(project, {("q1", "p1"): 0, ("q1", "p2"): 1}, "one")
        judge(project, {("q1", "p1"): 1, ("q1", "p2"): 1}, "two")
        app = visit("disagreements")
        assert rows(app) == ["p1"]
        assert named(app.get("button_group"), "Show").options == ["Disagreements", "Settled"]

    def test_with_no_pair_that_both_sides_have(self, project: Project) -> None:
        fill(project, [Question("a", "q1", "A?")], {}, RUNS)
        judge(project, {("q1", "p1"): 0}, "one")
        judge(project, {("q1", "p2"): 1}, "two")
        app = visit("disagreements")
        assert "0 pairs of query and passage with both values." in said(app)
        assert "nothing has both values" in said(app)
        assert "nothing to disagree on" in said(app)


def test_settled_elsewhere_is_settled_here(small: Project) -> None:
    sides = Labels(Policy()), Judgments()
    pair = queue(small, *sides).rows[0].pair
    settle_by_comment(small, case_of(small, *sides, pair), "from a script", "bob")
    assert pair.passage_id not in rows(visit("disagreements"))
