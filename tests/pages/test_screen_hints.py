"""On screens, a hint of an error names no command that has a button, but leads to its screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from pages.parts.shared.screen_hints import hint_on_screen
from pages.parts.shared.screens import SCREENS
from tests.test_hints import NAMED, ROOT


def hints() -> Iterator[str]:
    """The hints of the errors of core that name a command, with a sign for what is filled in."""
    for path in ROOT.glob("core/[!c]*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for hint in node.args[2:] if isinstance(node, ast.Call) else ():
                parts = hint.values if isinstance(hint, ast.JoinedStr) else [hint]
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
                if NAMED.search(text):
                    yield text


def test_a_hint_with_a_screen_names_no_command() -> None:
    found = [(hint, *hint_on_screen(hint)) for hint in hints()]
    screens = [screen for _, _, screen in found if screen]
    assert len(screens) > 50 and set(screens) <= set(SCREENS)
    assert [hint for hint, shown, screen in found if screen and NAMED.search(shown) and "exam pool" not in hint] == []


@pytest.mark.parametrize("hint", ["", "Run the exam first.", "Create it: exam init --project X", "Choose another run."])
def test_a_hint_without_a_button_stays(hint: str) -> None:
    assert hint_on_screen(hint) == (hint, None)
