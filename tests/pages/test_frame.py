"""Shared parts of the screens: scoring settings, readiness, menu, links, widget keys and hints."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from exam_workbench import bank, exchange
from exam_workbench.bank._asked_questions import question_text_key
from exam_workbench.board_summary import board_readiness
from exam_workbench.labels import Policy, basis, label_qrels
from exam_workbench.store import Project
from exam_workbench.types import GraderSpec, Question
from pages.parts.shared import scoring_settings
from pages.parts.shared.readiness import GREYED
from pages.parts.shared.scoring_settings import LABEL_RULES
from pages.parts.shared.screen_hints import hint_on_screen
from pages.parts.shared.screens import MENU, SCREENS, entry_of
from tests.bank.test_succession import FORMER, LATER, work
from tests.made.projects import SPEC, commit, fill, grade
from tests.made.refusals import mentions
from tests.made.screens import QUESTIONS, Screen, keyed, named, numbers, visit
from tests.test_hints import NAMED, ROOT


def test_all_screens_show_same_scoring_settings(shared: Project) -> None:
    for screen in "question_bank", "passages", "disagreements", "leaderboard", "export":
        app = visit(screen, tau="3", label="Weighted mean", weights="false", measure="AP")
        assert app.shows("looking", "test grader", "AP"), screen
        assert numbers(app.note("looking").splitlines()[0]) == [3, 1], screen


def test_direct_grader_has_own_scale_and_no_question_statistics(project: Project) -> None:
    judge = GraderSpec("a judge", "direct", "a model", max_rating=3)
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"run": {"q1": ["p1"]}})
    commit(project, question_text_key, "query q1")
    grade(project, {("query q1", "p1"): 3}, judge)
    app = visit("question_bank")
    assert app.shows("looking", "a judge") and numbers(app.note("looking").splitlines()[0])[:3] == [3, 0, 3]
    bank = app.holds("questions")
    assert mentions(bank["about"], "a judge")
    assert [row["figures"] for row in bank["rows"]] == [None]
    # Any min rating within the scale applies to the labels.
    for asked in 1, 2, 3:
        chosen = visit("question_bank", tau=str(asked))
        assert chosen.shows("looking", "a judge") and numbers(chosen.note("looking").splitlines()[0])[:3] == [
            asked,
            0,
            3,
        ]
    # The option for binary qrels uses that scale, too: no label is above 3.
    assert [numbers(box.label)[-2:] for box in visit("export").checkbox if box.key == "binary"] == [[3, 0]]


def test_settings_carry_over_and_outdated_address_resets_none(shared: Project) -> None:
    app = visit("leaderboard", view="All boards").choose("tau", 2)
    assert (app.query_params["tau"], app.query_params["view"]) == ("2", "All boards")
    app = visit("passages", measure="AP").choose("tau", 2)
    menu = {element.proto.page: element.proto.query_string for element in app.sidebar.get("page_link")}
    assert set(menu["export"].split("&")) == {"project=test", "tau=2", "measure=AP"}
    assert app.query_params["tau"] == "2"
    # The second click happens before the browser has the address from the first.
    del app.query_params["tau"]
    app = app.choose("label", "Weighted mean")
    assert numbers(app.note("looking").splitlines()[0])[0] == 2
    # An address that does not name the project yet resets nothing either.
    app = visit("passages").choose("tau", 2)
    app.query_params.clear()
    app = app.choose("label", "Weighted mean")
    assert numbers(app.note("looking").splitlines()[0])[0] == 2
    assert app.query_params["project"] == "test"
    app = app.switch_page("pages/activity.py").run()
    assert not app.shows("looking") and not keyed(app.selectbox, "tau")
    assert app.query_params["tau"] == "2"
    assert numbers(app.run().switch_page("pages/export.py").run().note("looking").splitlines()[0])[0] == 2
    app.choose("tau", 4)
    assert app.query_params["tau"] == "4"


def test_address_names_project_without_history_step(shared: Project) -> None:
    app = visit("export")
    assert app.holds("place-project")["values"] == {"project": "test"}
    assert all(link.proto.query_string == "project=test" for link in app.sidebar.get("page_link"))
    assert "project" not in app.query_params, "setting the parameter here would add a history step"


def test_invalid_parameters_in_address_fall_back_to_defaults(shared: Project) -> None:
    app = visit("question_bank", measure="n-EXAM@20")
    assert app.shows("other-measure", "n-EXAM@20", "nDCG@10")
    assert not app.error
    app = visit("passages", tau="9", label="nothing", relevant="x", grader="none", cutoff="0")
    assert app.shows("looking", "test grader", "nDCG@10") and numbers(app.note("looking").splitlines()[0])[0] == 4


def test_automatic_change_of_default_grader_is_announced(project: Project) -> None:
    passages = [f"p{number}" for number in range(4)]
    asked = {("A?", passage): 3 for passage in passages}
    fill(project, [Question("q1/a", "q1", "A?")], asked, {"run": {"q1": passages}}, FORMER)
    assert not visit("home").shows("succeeded")
    work(project, LATER, passages[:2])
    for screen in "home", "leaderboard":
        told = visit(screen).said().replace("\\", "")
        assert mentions(told, "reader")
    assert not visit("home", grader="nearness").shows("succeeded")


def test_widgets_have_chosen_values_as_defaults_or_no_effect(shared: Project) -> None:
    """A browser that first draws a widget long after its value was sent shows the default."""
    app = visit("disagreements")
    assert not named(app.selectbox, "tau").disabled
    # Settings without an effect are disabled, with an explanation.
    assert named(app.selectbox, "measure").disabled
    assert named(app.selectbox, "measure").help.startswith(scoring_settings.NO_EFFECT)
    app = visit("question_bank", cutoff="7", tau="2", measure="P@7", label="Weighted mean")
    assert not named(app.selectbox, "measure").disabled
    app = app.run()
    assert named(app.checkbox, "weights").proto.default is True
    assert named(app.number_input, "cutoff").proto.default == 7
    for label, chosen in (("tau", "2"), ("measure", "P@7"), ("label", LABEL_RULES["mean"])):
        box = named(app.selectbox, label)
        assert box.options[box.proto.default] == chosen


def test_link_sets_rating_rule(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "What is A?")], {("What is A?", "p1"): 5}, {"run": {"q1": ["p1"]}})
    commit(project, "UPDATE grades SET distribution = [.5, 0, 0, 0, 0, .5]")
    assert visit("leaderboard", rating="expected").selectbox("rating").value == "expected"
    assert visit("leaderboard").selectbox("rating").value == "written"
    cuts = "expected:.5,1,1.5,2,2.4"
    app = visit("export", rating=cuts)
    assert app.selectbox("rating").value == cuts and app.shows("looking", cuts)
    for wrong in "expected:2,1", "expected:1,2", "mean":
        app = visit("export", rating=wrong)
        assert app.selectbox("rating").value == "written" and app.shows("no-such-rating", wrong)
    # The Changes screen uses the rule as well.
    bank.save_version(project, [Question("q1/b", "q1", "What is B?")], "", "ann")
    grade(project, {("What is B?", "p1"): 5}, SPEC)
    commit(project, "UPDATE grades SET distribution = [0, 0, 0, 0, 0, 1] WHERE distribution IS NULL")
    for rule, differing in ("written", "0"), ("expected", "1"):
        app = visit("changes", from_version="1", to_version="2", rating=rule)
        assert app.metric_of("metric differing") == differing, rule


def test_embedding_grader_accepts_cut_points_from_link(project: Project) -> None:
    fill(project, [Question("q1/a", "q1", "What is A?")], {}, {"run": {"q1": ["p1"]}})
    grade(project, {("What is A?", "p1"): 2}, GraderSpec("by meaning", "embedding", "a model"))
    commit(project, "UPDATE grades SET raw = '.55'")
    cuts = "expected:.1,.2,.3,.4,.5"
    app = visit("leaderboard", rating=cuts)
    assert app.selectbox("rating").value == cuts and "Expected rating" not in app.selectbox("rating").options
    assert label_qrels(project, basis(project, Policy(rating=cuts)))["q1"]["p1"] == 5


def parts(app: Screen) -> list[tuple[str, list[float]]]:
    """Return the screens that the readiness line links to, with the numbers in each link."""
    found = app.boxes()["readiness"].get("page_link")
    return [(one.proto.page, numbers(one.proto.label)) for one in found]


def test_three_screens_show_same_readiness(shared: Project) -> None:
    found = board_readiness(shared, Policy(), "nDCG@10")
    expected = [("grading", [94, 10]), ("disagreements", [found.disagreements]), ("audit", []), ("changes", [1])]
    # On the leaderboard, the summary sentence above the line already has the graded share and the audit.
    assert parts(visit("leaderboard")) == [expected[1], expected[3]]
    # The measure in the address determines which pairs count.
    only = board_readiness(shared, Policy(), "P@1")
    for screen in "home", "export":
        assert parts(visit(screen)) == expected, screen
        (graded, *_) = parts(visit(screen, measure="P@1"))
        assert graded == ("grading", [int(only.graded.strip("%")), 1]), screen


def test_publication_has_readiness_and_barely_graded_leaderboard_is_grey(small: Project) -> None:
    app = visit("export").press("publish")
    links = [one.proto.page for one in app.boxes()["checklist"].get("page_link")]
    assert links == ["grading", "grading", "disagreements", "audit", "passages", "passages", "leaderboard"]
    (manifest,) = exchange.list_publications(small)
    assert manifest["readiness"] == vars(board_readiness(small, Policy(), "nDCG@10"))
    assert GREYED not in visit("leaderboard").boxes()
    bank.save_version(small, [replace(one, text=f"{one.text} Why?") for one in QUESTIONS[1:]], "", "bob")
    app = visit("leaderboard")
    assert GREYED in app.boxes()
    assert numbers(app.note("few-graded-why")) == numbers(board_readiness(small, Policy(), "nDCG@10").grading)
    # Without a complete query, nothing is compared, but the systems are still shown.
    assert not app.board().empty and "Official" not in app.board()


OLD = (
    *("home", "my_work", "question_bank", "grading", "passages", "disagreements", "adjudication", "changes"),
    *("leaderboard", "audit", "measures", "export", "exam", "students", "items", "improve", "answers", "cases"),
    *("judges", "prompts", "people", "activity"),
)
"""Screens that had their own menu entry once and that old links still name."""


def test_menu_has_eleven_entries_and_links_to_their_first_screens(shared: Project) -> None:
    assert len(MENU) == 11 and set(OLD) <= set(SCREENS)
    icon, screens = MENU[entry_of("people")]
    assert (icon, list(screens)) == (":material/settings:", ["people", "activity"])
    app = visit("audit")
    linked = [element.proto.page for element in app.sidebar.get("page_link")]
    assert "leaderboard" in linked and "audit" not in linked
    assert [element.proto.page for element in app.boxes()["menu-here"].get("page_link")] == ["leaderboard"]
    # Unused parts are folded.
    folded = visit("home").boxes()["menu-more"].get("page_link")
    assert [entry_of(link.proto.page) for link in folded] == ["Exams", "Answers"]


PAGES = Path(__file__).resolve().parents[2] / "pages"
MAY_BE_EMPTY = ("segmented_control", "pills")


def _calls(pattern: str) -> Iterator[tuple[ast.Module, ast.Call]]:
    """Yield every call in the files of the screens, with its module."""
    for file in sorted(PAGES.glob(pattern)):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        yield from ((tree, node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _controls() -> list[tuple[str, bool]]:
    """Return the fixed key of every widget on the screens, and whether the widget may be empty."""
    found = []
    for _, call in _calls("*.py"):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        key = given.get("key")
        if isinstance(call.func, ast.Attribute) and isinstance(key, ast.Constant) and isinstance(key.value, str):
            found.append((key.value, call.func.attr in MAY_BE_EMPTY and "required" not in given))
    return found


def test_widget_that_may_be_empty_has_unique_key() -> None:
    # Values are carried between screens by key. The empty value of a widget on the Leaderboard once crashed the
    # Changes screen, where a widget with the same key always needs a value.
    controls = _controls()
    times = Counter(key for key, _ in controls)
    assert [key for key, may_be_empty in controls if may_be_empty and times[key] > 1] == []


def _components() -> list[str]:
    """Return the fixed keys of our components: the second argument of `draw`, the first of `pending_actions`."""
    found = []
    for tree, call in _calls("**/*.py"):
        at = {"components.draw": 1, "actions.pending_actions": 0}.get(ast.unparse(call.func))
        if at is None:
            continue
        key: ast.AST | None = call.args[at]
        if isinstance(key, ast.Name):
            assigned = {ast.unparse(node.targets[0]): node.value for node in tree.body if isinstance(node, ast.Assign)}
            key = assigned.get(key.id)
        if isinstance(key, ast.Constant):
            found.append(str(key.value))
    return found


def test_components_share_no_keys_with_widgets() -> None:
    # An override once failed because min ratings of Meta-evaluation were read as a report of a component.
    components = _components()
    assert "passage-list" in components
    assert set(components) & {key for key, _ in _controls()} == set()


def hints() -> Iterator[str]:
    """Yield the error hints of core that name a command, with X for each filled-in value."""
    for path in ROOT.glob("core/[!c]*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for hint in node.args[2:] if isinstance(node, ast.Call) else ():
                parts = hint.values if isinstance(hint, ast.JoinedStr) else [hint]
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
                if NAMED.search(text):
                    yield text


def test_hint_with_screen_names_no_command() -> None:
    found = [(hint, *hint_on_screen(hint)) for hint in hints()]
    screens = [screen for _, _, screen in found if screen]
    assert len(screens) > 50 and set(screens) <= set(SCREENS)
    assert [hint for hint, shown, screen in found if screen and NAMED.search(shown) and "exam pool" not in hint] == []


@pytest.mark.parametrize("hint", ["", "Run the exam first.", "Create it: exam init --project X", "Choose another run."])
def test_hint_without_screen_is_unchanged(hint: str) -> None:
    assert hint_on_screen(hint) == (hint, None)
