"""The Disagreements screen: tables, the queue of cases, settling cases and empty states."""

import re
from typing import Any

import pytest

from exam_workbench import bank, review
from exam_workbench.labels import Policy, add_override, basis, find_overrides, list_labels
from exam_workbench.measures import Coefficient
from exam_workbench.records import hold_out
from exam_workbench.records.judging import judge_passage as assess
from exam_workbench.review._disagreements.settling import list_settlings
from exam_workbench.store import Project
from exam_workbench.types import Question
from pages.parts.review.disagreement_tables import RELEVANT_KAPPA, format_coefficient
from tests.made.projects import fill, judge
from tests.made.refusals import mentions
from tests.made.screens import MARKED, MARKUP, RUNS, Screen, named, numbers, visit

PASSAGES = [f"p{number:02}" for number in range(60)]


@pytest.fixture
def long_queue(project: Project) -> Project:
    """A project with sixty passages that are all judged 0 and labelled 5."""
    fill(project, [Question("a", "q1", "A?")], {("A?", p): 5 for p in PASSAGES}, {"r": {"q1": PASSAGES}})
    judge(project, {("q1", p): 0 for p in PASSAGES})
    return project


# The small project has labels 5, 3, 4, 1 and 4, 3, 1; judgments 2, 1, 0, 0 and 1, none, 2.


def url(app: Screen, name: str) -> str:
    """Return the value of a URL parameter."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[-1]


def toast(app: Screen) -> str:
    """Return the text of the last message."""
    return app.toast[-1].value.replace("\\", "")


def queued(app: Screen) -> Any:
    """Return the data of the case queue."""
    return app.holds("cases")


def rows(app: Screen) -> list[str]:
    """Return the listed passages."""
    return [row["id"].split(" ")[1] for row in queued(app)["rows"]]


def open_case(app: Screen) -> str:
    """Return the passage of the open case."""
    return str(queued(app)["open"]["passage_id"])


def other_rows(app: Screen) -> list[str]:
    """Return the passages of a list other than the queue, parsed from its HTML."""
    texts = [part.split("</div>")[0] for part in app.markup().split('<div class="text" dir="auto">')[1:]]
    return [text.removeprefix("text of ") for text in texts]


def act(app: Screen, do: str, **said: object) -> Screen:
    """Send an action in the queue as the browser reports it."""
    return app.act("cases", {"do": do, **said})


def weigh(app: Screen, rating: int, *questions: str) -> Screen:
    """Try a rating for questions of the open case, by default for the first one."""
    case = queued(app)["open"]
    return act(app, "weigh", case=case["id"], questions=list(questions) or [case["asked"][0]["id"]], rating=rating)


def settle(app: Screen, how: str, reason: str, **said: object) -> Screen:
    """Settle the open case."""
    case = queued(app)["open"]
    first = [one["id"] for one in case["asked"][:1]]
    usual = {"question": "".join(first), "questions": first, "source": (case["judged"] or [""])[0]}
    usual["values"] = case["values"]
    return act(app, "settle", case=case["id"], how=how, reason=reason, **(usual | said))


def first_case(project: Project) -> review.Case:
    """Return the first open case between labels and judgments."""
    sides = review.Labels(Policy()), review.Judgments()
    return review.case_of(project, *sides, review.list_disagreements(project, *sides).rows[0].pair)


def ways(app: Screen) -> list[str]:
    """Return the ways to settle the open case."""
    return [way["name"] for way in queued(app)["open"]["ways"]]


def news(app: Screen) -> str:
    """Return the message about the last action."""
    return str((queued(app)["said"] or {}).get("words"))


def counts(app: Screen, table: int = 0) -> list[list[int]]:
    """Return the counts of the cross table: 0 for the full table, 1 for the merged one."""
    return [[cell["count"] for cell in row["cells"]] for row in queued(app)["tables"][table]["rows"]]


def coefficient(app: Screen, name: str) -> Any:
    return next(one for one in queued(app)["coefficients"] if one["name"] == name)


class TestTables:
    def test_tables_show_counts_and_kappa_and_can_be_downloaded(self, shared: Project) -> None:
        app = visit("disagreements")
        assert [counts(app)[row] for row in (0, 1, 4)] == [[1, 0, 0], [0, 1, 1], [1, 0, 1]]
        whole, merged = queued(app)["tables"]
        assert (whole["totals"], whole["all"]) == ([2, 2, 2], 6)
        assert counts(app, 1) == [[2, 1], [2, 1]]
        assert [row["name"] for row in merged["rows"]] == ["4–5", "0–3"]
        assert coefficient(app, RELEVANT_KAPPA)["value"] == "0.00"
        assert app.downloads() == []
        app.session_state["tables"] = True
        compared = numbers(app.run().note("compared-pairs"))
        assert (compared[0], compared[-1]) == (6, 1), "a pair that only one side has must be in no cell"
        files = app.downloads()
        assert files == ["agreement.tex", "agreement.csv", "agreement-merged.tex", "agreement-merged.csv"]
        app = app.choose("tau", 3)
        assert queued(app)["tables"][1]["rows"][0]["name"] == "3–5"

    def test_undefined_kappa_is_explained(self, project: Project) -> None:
        fill(project, [Question("a", "q1", "A?")], {("A?", "p1"): 5, ("A?", "p2"): 4}, {"r": {"q1": ["p1", "p2"]}})
        judge(project, {("q1", "p1"): 1, ("q1", "p2"): 1})
        found = coefficient(visit("disagreements"), RELEVANT_KAPPA)
        assert found["value"] == "–"
        assert found["why"]
        assert format_coefficient(Coefficient(-0.001)) == "0.00"

    def test_sides_with_same_kind_of_value_can_be_compared(self, small: Project) -> None:
        assess(small, "q1", "p1", 3, "bob")
        add_override(small, "q1/a", "p1", 1, "read it", "ann")
        add_override(small, "q1/a", "p1", 4, "read it", "bob")
        app = visit("disagreements")
        shown = app.selectbox("left").options
        assert len(shown) == 6
        assert [name for name in ("ann", "bob") if any(mentions(one, name) for one in shown)] == ["ann", "bob"]
        app = app.choose("right", "judgments assessor: bob")
        assert rows(app) == []
        app = app.choose("left", "judgments assessors")
        app.session_state["tables"] = True
        assert numbers(app.run().note("compared-pairs"))[0] == 1
        app = app.choose("left", "person ann").choose("right", "person bob")
        assert rows(app) == ["p1"]
        assert queued(app)["open"]["question"] == "What is A?"
        orders = app.selectbox("order").options
        assert [name for name in ("ann", "bob") if any(mentions(one, name) for one in orders)] == ["ann", "bob"]
        app = visit("disagreements").choose("right", "grader test grader")
        assert all("test grader" in name for name in queued(app)["names"]) and len(set(queued(app)["names"])) == 2
        assert queued(app)["open"]["values"] == [4, 5]
        app = visit("disagreements").choose("left", "person ann")
        app.check_refused("sides-not-comparable")


class TestQueue:
    def test_worst_disagreements_come_first_and_lead_to_passages(self, shared: Project) -> None:
        app = visit("disagreements")
        assert rows(app)[:2] == ["p3", "p7"]
        assert open_case(app) == "p3"
        given = [one["text"] for one in queued(app)["open"]["asked"] if one["gives"]]
        assert given == ["What is B?", "What is C?"]
        assert numbers(queued(app)["count"]) == [4]
        assert "query=q1&passage=p3&question=q1%2Fb" in queued(app)["open"]["read"]
        twice = [{"id": at, "do": "open", "at": at, "case": ""} for at in (1, 2)]
        app = app.tell("cases", "acts", twice[:1])
        app = app.tell("cases", "acts", twice)
        app = app.tell("cases", "acts", twice[:1])
        assert queued(app)["open"]["at"] == 2
        assert queued(app)["taken"] == twice[1]["id"]
        app = act(app, "open", at=1, case=queued(app)["rows"][1]["id"])
        assert (open_case(app), queued(app)["open"]["at"]) == ("p7", 1)
        assert (url(app, "case"), url(app, "at")) == ("q2 p7", "1")
        assert open_case(visit("disagreements", case="q2 p7")) == "p7"
        app = act(app, "read", query="q1", passage="p3", question="q1/b")
        assert app.title[0].value == "Passages"
        assert url(app, "passage") == "p3"

    def test_cell_filters_passages_and_link_opens_cell_or_case(self, shared: Project) -> None:
        app = act(visit("disagreements"), "cell", cell="4:0")
        assert (rows(app), url(app, "cell")) == (["p3"], "4:0")
        assert [(one["what"], numbers(one["says"])) for one in queued(app)["filters"]] == [("cell", [4, 0])]
        assert len(rows(act(app, "clear", what="cell"))) == 4
        assert "cell" not in app.query_params
        app = visit("disagreements", cell="4:0", order="right")
        assert rows(app) == []
        assert queued(app)["empty"]
        assert rows(visit("disagreements", cell="5,4:2,1")) == ["p5", "p1"]
        for cell in ("x", "9:9", "4:0:1"):
            assert len(rows(visit("disagreements", cell=cell))) == 4
        assert open_case(visit("disagreements", case="q1 gone", at="1")) == "p7"
        last = visit("disagreements", case="q1 gone", at="77")
        assert queued(last)["open"]["at"] == 3

    def test_link_filters_by_query_and_url_follows_choice(self, shared: Project) -> None:
        app = visit("disagreements", query="q2")
        assert rows(app) == ["p7", "p5"]
        assert queued(app)["filters"][0]["what"] == "query" and "query q2" in queued(app)["filters"][0]["says"]
        app = app.choose("query_listed", "query q1")
        assert "p7" not in rows(app)
        assert url(app, "query") == "q1"
        assert len(rows(act(app, "clear", what="query"))) == 4
        assert len(rows(visit("disagreements", query="unknown"))) == 4

    def test_return_from_other_screen_restores_case_and_order(self, shared: Project) -> None:
        app = act(visit("disagreements").choose("order", "right"), "open", at=1, case="")
        here = open_case(app)
        app.switch_page("pages/passages.py").run()
        app.query_params.clear()
        # The browser's history entry for the way to a passage names that passage.
        app.query_params["query"], app.query_params["passage"] = "q1", "p1"
        app = app.switch_page("pages/disagreements.py").run()
        assert (open_case(app), url(app, "at")) == (here, "1")
        assert app.selectbox("order").value == "right"
        assert "passage" not in app.query_params
        assert "query" not in app.query_params and app.selectbox("query_listed").value is None

    def test_return_before_other_screen_is_drawn_restores_view(self, shared: Project) -> None:
        app = visit("disagreements", view="record")
        # The other screen was left before it was drawn, so its address must not apply here.
        app.session_state["address"].screen = "passages"
        del app.query_params["view"]
        app.query_params.update(query="q1", passage="p1")
        app.run()
        assert app.session_state["cases_shown"] == "record" and url(app, "view") == "record"

    def test_order_sorts_cases_and_shows_potential_effect(self, shared: Project) -> None:
        app = visit("disagreements").choose("order", "right")
        assert rows(app)[0] == "p7"
        assert "p3" not in rows(app)
        assert url(app, "order") == "right"
        assert rows(visit("disagreements", order="right")) == rows(app)
        app = app.choose("order", "board")
        check = queued(app)["open"]["check"]
        assert numbers(check)
        assert "nDCG@10" in queued(app)["explains"]
        app = app.choose("order", "kappa")
        check = queued(app)["open"]["check"]
        assert re.search(r"[+-]\d\.\d{5}", check)

    def test_overridden_case_stays_open_when_it_moves_in_paged_queue(self, long_queue: Project) -> None:
        app = visit("disagreements")
        assert rows(app) == PASSAGES[:25]
        app = act(app, "open", at=50, case="")
        assert rows(app) == PASSAGES[50:]
        assert open_case(app) == "p50"
        app = settle(app, "override", "nearly", rating=4)
        assert news(app) and not queued(app)["said"]["undo"]
        assert (open_case(app), queued(app)["open"]["at"]) == ("p50", 59)

    def test_markup_is_sent_unchanged_as_plain_text(self, project: Project) -> None:
        fill(project, [Question("a", "q1", MARKUP)], {(MARKUP, MARKED): 5}, {"r": {"q1": [MARKED]}})
        judge(project, {("q1", MARKED): 0})
        app = visit("disagreements")
        assert queued(app)["open"]["passage"] == f"text of {MARKED}"
        assert queued(app)["open"]["asked"][0]["text"] == MARKUP
        assert "<b>x</b>" not in app.markup()


class TestSettling:
    def test_override_previews_label_changes_it_and_can_be_undone(self, small: Project) -> None:
        app = weigh(visit("disagreements"), 0)
        assert numbers(queued(app)["weighed"]["words"]) == [4, 4] and "What is C?" in queued(app)["weighed"]["words"]
        assert queued(app)["weighed"]["agrees"] is False
        assert sum(one["gives"] for one in queued(app)["open"]["asked"]) == 2
        app = settle(app, "override", "it does not say", rating=0, leaves=True)
        assert numbers(news(app)) == [4, 4] and "What is C?" in news(app) and queued(app)["said"]["undo"]
        assert [(one.question_id, one.passage_id, one.rating, one.author) for one in find_overrides(small)] == [
            ("q1/b", "p3", 0, "ann")
        ]
        assert "p3" not in rows(app)
        assert numbers(queued(app)["hidden"]) == [1]
        assert int(list_labels(small, basis(small, Policy())).set_index("passage_id")["label"]["p3"]) == 4
        app = act(app, "put back")
        assert (open_case(app), find_overrides(small)) == ("p3", [])
        assert news(app)
        assert queued(app)["said"]["undo"] is False
        # The questions that decide the label are overridden with one reason.
        app = weigh(app, 0, "q1/b", "q1/c")
        assert queued(app)["weighed"]["agrees"] is True
        app = settle(app, "override", "it says neither", questions=["q1/b", "q1/c"], rating=0)
        assert numbers(news(app)) == [0] and queued(app)["said"]["undo"]
        assert {one.question_id for one in find_overrides(small)} == {"q1/b", "q1/c"}
        app = act(app, "put back")
        assert numbers(news(app)) == [2]
        assert find_overrides(small) == []

    def test_override_settles_case_only_if_sides_then_agree(self, small: Project) -> None:
        app = settle(visit("disagreements"), "override", "it does not say", rating=0)
        assert news(app) and not queued(app)["said"]["undo"]
        assert open_case(app) == "p3"
        assert (len(find_overrides(small)), list_settlings(small)) == (1, [])
        app = weigh(app, 0)
        assert numbers(queued(app)["weighed"]["words"]) == [4, 0]
        assert queued(app)["weighed"]["agrees"] is True
        app = settle(app, "override", "nor this", rating=0)
        assert numbers(news(app)) == [0] and queued(app)["said"]["undo"]
        assert "p3" not in rows(app)

    def test_settling_case_opens_next_until_queue_is_empty(self, small: Project) -> None:
        for how, reason in ("comment", ""), ("edit", "  "):
            app = settle(visit("disagreements"), how, reason)
            assert queued(app)["error"]["code"] == "empty-reason"
            assert (list_settlings(small), open_case(app)) == ([], "p3")
        app = visit("disagreements")
        order = rows(app)
        for at, how in enumerate(("comment", "dispute", "comment")):
            assert open_case(app) == order[at]
            app = settle(app, how, "looked at it")
            assert queued(app)["open"]["at"] == 0
        assert rows(app) == order[3:]
        app = settle(app, "comment", "the last")
        assert queued(app)["open"] is None
        assert queued(app)["empty"]

    @pytest.mark.parametrize("too", [True, False])
    def test_reopening_can_withdraw_override(self, small: Project, too: bool) -> None:
        review.settle_by_override(small, first_case(small), ["q1/b"], 0, "it does not say", "ann")
        app = visit("disagreements").choose("cases_shown", "record")
        assert re.search(r"<b[^>]*>[^<]*\b0\b[^<]*What is B\?", app.note("question-act"))
        assert named(app.checkbox, "withdraw").value is True
        app = app.choose("withdraw", too).press("reopen")
        assert len(find_overrides(small)) == (0 if too else 1)
        assert toast(app)
        assert [key for key in app.boxes() if key.startswith("question-act-") and key.endswith("-reopen")]
        settled = next(key for key in app.boxes() if key.endswith("-override"))
        since = re.search(r"<i>([^<]*)</i>", app.note(settled))
        # The note about reopening has a second sentence if the override is still in force.
        assert since is not None and since[1].count(".") == (1 if too else 2)

    def test_disputed_judgment_is_recorded_and_can_be_downloaded(self, small: Project) -> None:
        app = settle(visit("disagreements"), "dispute", "it is relevant")
        assert [(one.act, one.source, one.value) for one in list_settlings(small)] == [("dispute", "assessors", 0)]
        app = app.choose("cases_shown", "record")
        assert [key for key in app.boxes() if key.startswith("question-act-") and key.endswith("-dispute")]
        assert "disputed" in app.downloads()

    def test_case_is_settled_by_edit_when_edit_is_saved(self, small: Project) -> None:
        app = settle(visit("disagreements"), "edit", "too broad")
        assert list_settlings(small) == []
        assert app.session_state["screen"] == "Question bank" and url(app, "query") == "q1"
        assert app.shows("passage-beside", "text of p3") and app.holds("questions")["focus"] == "q1/b"
        # The test harness forgets a redirect to another screen at the next run.
        app = app.switch_page("pages/question_bank.py").run()
        # An edit of another question must not settle the case.
        app = app.edit("What is A?", text="Who is A?")
        app = app.in_bank({"act": "save", "note": "A"})
        assert bank.latest_version(small) == 2 and list_settlings(small) == []
        app = app.edit("What is B?", text="Who is B?")
        app = app.in_bank({"act": "save", "note": "B"})
        assert [(one.act, one.touched, one.reason) for one in list_settlings(small)] == [("edit", "q1/b", "too broad")]
        assert numbers(app.holds("bank")["said"]) == [1]
        app = app.edit("Who is B?", text="What is B?").in_bank({"act": "save", "note": "back"})
        assert len(list_settlings(small)) == 1

    def test_commented_case_can_be_reopened_and_settled_again(self, small: Project) -> None:
        app = settle(visit("disagreements"), "comment", "both are right")
        assert len(rows(app)) == 3
        app = app.choose("show_settled", True)
        assert len(rows(app)) == 4
        assert mentions(queued(app)["open"]["settling"]["words"], "ann")
        assert queued(app)["open"]["settling"]["reason"] == "both are right"
        app = act(app, "reopen", case=queued(app)["open"]["id"])
        assert [one.act for one in list_settlings(small)] == ["reopen", "comment"]
        assert queued(app)["open"]["settling"] is None
        app = settle(app, "comment", "both are right")
        assert (len(rows(app)), open_case(app)) == (4, "p7")

    def test_case_settled_meanwhile_names_person_and_keeps_typed_reason(self, small: Project) -> None:
        app = visit("disagreements")
        review.settle_by_comment(small, first_case(small), "seen", "bob")
        app = settle(app, "comment", "mine")
        assert all(mentions(news(app), word) for word in ("p3", "query q1", "bob", "seen", "mine"))
        assert queued(app)["said"]["refused"] == "q1 p3"
        assert (open_case(app), queued(app)["error"], queued(app)["gone"]) == ("p7", None, "")
        assert [one.author for one in list_settlings(small)] == ["bob"]
        # Settling the same case again is refused again.
        app = act(app, "settle", case="q1 p3", values=[4, 0], how="comment", reason="again")
        assert mentions(news(app), "seen") and len(list_settlings(small)) == 1
        # A new visit omits the settled case, and a conflict is reported even if another action follows.
        app = visit("disagreements")
        assert "p3" not in rows(app)
        review.settle_by_comment(small, first_case(small), "seen", "bob")
        mine = {"do": "settle", "case": "q2 p7", "values": [1, 2], "how": "comment", "reason": "mine"}
        assert mentions(news(app.act("cases", mine, {"do": "open", "at": 1, "case": ""})), "bob")

    @pytest.mark.parametrize("cell", ["", "5:0"])
    def test_case_whose_label_changes_meanwhile_stays_open_with_notice(self, long_queue: Project, cell: str) -> None:
        app = visit("disagreements", cell=cell)
        add_override(long_queue, "a", "p00", 4, "nearly", "bob")
        app = settle(app, "comment", "both are right")
        assert mentions(news(app), "p00") and numbers(news(app))[-2:] == [5, 4]
        assert queued(app)["filters"] == []
        assert (open_case(app), queued(app)["open"]["values"], list_settlings(long_queue)) == ("p00", [4, 0], [])
        app = settle(app, "comment", "both are right")
        assert [(one.case.place[1], one.case.left_value) for one in list_settlings(long_queue)] == [("p00", 4)]
        assert queued(app)["said"]["refused"] == ""

    def test_trying_rating_keeps_case_open_while_others_change_it(self, long_queue: Project) -> None:
        app = visit("disagreements")
        add_override(long_queue, "a", "p00", 4, "nearly", "bob")
        app = weigh(app, 3)
        assert (open_case(app), numbers(queued(app)["weighed"]["words"])) == ("p00", [4, 3])
        assert "case" not in app.query_params, "trying a rating must add no step for Back"
        add_override(long_queue, "a", "p00", 0, "not at all", "bob")
        app = weigh(app, 2)
        assert open_case(app) == "p01" and queued(app)["gone"]
        assert queued(act(app, "open", at=1, case="q1 p02"))["gone"] == ""

    def test_first_override_keeps_text_that_others_are_typing(self, small: Project) -> None:
        app = visit("disagreements")
        # The browser stores typed text under this key.
        home = queued(app)["home"]
        add_override(small, "q1/a", "p1", 1, "read it", "bob")
        assert queued(weigh(app, 3))["home"] == home
        assert queued(app.choose("left", "grader test grader"))["home"] != home

    def test_case_on_which_sides_agree_meanwhile_is_reported(self, small: Project) -> None:
        app = visit("disagreements")
        for question in "bc":
            add_override(small, f"q1/{question}", "p3", 0, "it does not say", "bob")
        app = settle(app, "comment", "mine")
        assert numbers(news(app))[-2:] == [4, 0] and mentions(news(app), "mine")
        assert (open_case(app), list_settlings(small)) == ("p7", [])

    def test_judgment_can_be_disputed_between_two_sources(self, small: Project) -> None:
        assess(small, "q1", "p1", 0, "bob")
        app = visit("disagreements").choose("left", "judgments assessor: bob")
        assert ways(app) == ["dispute", "comment"]
        assert queued(app)["open"]["judged"] == ["assessor: bob", "assessors"]
        app = settle(app, "dispute", "off topic", source="assessors")
        assert [(one.source, one.value) for one in list_settlings(small)] == [("assessors", 2)]


class TestBankQueues:
    def test_stray_questions_are_listed_and_empty_record_shows_hint(self, shared: Project) -> None:
        app = visit("disagreements").choose("cases_shown", "strays")
        assert numbers(app.note("strays"))[0] == 2
        assert [1, 0] in [numbers(words) for words in re.findall(r'class="from">(.*?)</div>', app.note("stray"))]
        assert app.choose("cases_shown", "record").shows("nothing-settled")

    def test_uncovered_relevant_passages_lead_to_question_bank(self, small: Project) -> None:
        app = visit("disagreements").choose("cases_shown", "uncovered")
        assert other_rows(app) == ["p7", "p2"]
        app = app.press("bank uncovered q2 p7")
        assert app.session_state["screen"] == "Question bank"
        assert url(app, "query") == "q2"
        assert app.shows("passage-beside", "text of p7")


class TestEmpty:
    def test_judgments_can_be_compared_before_grading(self, project: Project) -> None:
        fill(project, [Question("a", "q1", "A?")], {}, RUNS)
        judge(project, {("q1", "p1"): 0, ("q1", "p2"): 1}, "one")
        judge(project, {("q1", "p1"): 1, ("q1", "p2"): 1}, "two")
        app = visit("disagreements")
        assert rows(app) == ["p1"]
        assert len(named(app.get("button_group"), "cases_shown").options) == 2
        # Without shared pairs, there is no kappa.
        judge(project, {("q1", "p3"): 1}, "three")
        app = visit("disagreements").choose("right", "judgments three")
        assert coefficient(app, "Kappa")["why"]
        assert queued(app)["empty"]


def test_held_out_share_is_saved_and_excluded_from_queue(small: Project) -> None:
    app = visit("disagreements")
    named(app.number_input, "hold out share").set_value(50)
    named(app.number_input, "hold out seed").set_value(3)
    app.press("save hold out")
    found = hold_out(small)
    assert found is not None and (found.share, found.seed) == (0.5, 3)
    held = review.find_confirmation(small, review.Labels(Policy()), review.Judgments("assessors"))
    assert held is not None and held.held_out is not None and 0 < held.held_out.n < 6
    app = visit("disagreements")
    app.session_state["tables"] = True
    told = numbers(app.run().note("compared-pairs"))
    assert told[0] == 6 - held.held_out.n and held.held_out.n in told[1:]
