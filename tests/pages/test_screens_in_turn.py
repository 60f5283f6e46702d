"""Screens one after the other: what a person leaves on one must not break the next."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

PAGES = Path(__file__).resolve().parents[2] / "pages"
MAY_BE_EMPTY = ("segmented_control", "pills")


def _controls() -> list[tuple[str, bool]]:
    """The fixed key of every control of the screens, and whether nothing may be chosen in it."""
    found = []
    for file in sorted(PAGES.glob("*.py")):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            key = given.get("key")
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found.append((key.value, call.func.attr in MAY_BE_EMPTY and "required" not in given))
    return found


def test_a_control_that_may_be_empty_shares_its_key_with_no_other() -> None:
    # What was chosen is carried from screen to screen by its key: "nothing" of one control, taken for the choice of
    # another that always has one, ended the Changes screen after a look at the Leaderboard.
    controls = _controls()
    times = Counter(key for key, _ in controls)
    assert [key for key, may_be_empty in controls if may_be_empty and times[key] > 1] == []


def _components() -> list[str]:
    """The fixed keys of our own components: the second argument of `draw`, and the first one of `asked_of`."""
    found = []
    for file in sorted(PAGES.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        named = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            at = {"components.draw": 1, "actions.asked_of": 0}.get(ast.unparse(call.func))
            if at is None:
                continue
            given = call.args[at]
            key = named.get(given.id) if isinstance(given, ast.Name) else given
            if isinstance(key, ast.Constant):
                found.append(str(key.value))
    return found


def test_a_component_shares_its_key_with_no_control() -> None:
    # The min ratings of Meta-evaluation, taken for what the questions of a passage report, broke an override.
    components = _components()
    assert "passage-list" in components
    assert set(components) & {key for key, _ in _controls()} == set()
