"""Screen tests find elements by key and compare codes, names and numbers, not words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAGES = Path(__file__).with_name("pages")
BY_WORDS = ("get_by_text", "get_by_label", "get_by_placeholder", "get_by_title", "get_by_alt_text")
BY_KEY = ("named", "keyed", "button", "field")
SCREEN = ("press", "choose", "enter", "metric_of", "note", "shows")
"""Methods of a screen that take a key first."""
LABEL = re.compile(r"'(?!(Enter|Escape|Tab|Space|Home|End|Arrow\w+|Page\w+|(Alt|Control|Shift)\+.+)')[A-Z]")
"""A label, unlike the name of a key of the keyboard."""
SHOWN = re.compile(r"\bsaid\(|\bwords\(|as_text\(|\.label\b|\.(error|warning|info|success|toast|caption|markdown)\b")
SENTENCE = re.compile(r"[A-Za-z’']+[,:]? [a-z]{2,}|^[A-Z][a-z]+\b")
LEFT: dict[str, int] = {
    "test_browser.py": 2,
    "test_browser_screens.py": 1,
    "test_failures_page.py": 2,
    "test_hostile_names.py": 1,
    "test_pages.py": 1,
    "test_streamlit_bridge.py": 5,
}
"""Files that still compare words, with the number of places."""


def english(node: ast.AST | None) -> bool:
    """Return whether an expression has a literal that reads like words of a screen."""
    literals = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant)) if node else ()
    return any(isinstance(one, str) and SENTENCE.search(one.replace("\\b", "")) for one in literals)


def places(module: ast.Module) -> Iterator[int]:
    """Yield the lines of a test that find or compare words of a screen."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            named = next((word.value for word in node.keywords if word.arg == "name"), None)
            by_words = name in BY_WORDS and english(node.args[0])
            keys = node.args[:1] if name in SCREEN else node.args[1:2] if name in BY_KEY else []
            by_label = any(LABEL.match(ast.unparse(key)) for key in keys)
            if by_words or by_label or (name == "get_by_role" and english(named)):
                yield node.lineno
        elif isinstance(node, ast.Assert) and SHOWN.search(ast.unparse(node.test)) and english(node.test):
            yield node.lineno


def test_screen_tests_do_not_compare_words() -> None:
    found = {path.name: list(places(ast.parse(path.read_text()))) for path in sorted(PAGES.glob("*.py"))}
    more = {name: lines for name, lines in found.items() if len(lines) > LEFT.get(name, 0)}
    assert not more, "Give the element a key, and compare codes, names and numbers"
