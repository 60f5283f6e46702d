"""The snapshot of error texts and command summaries, `tests/texts.txt`; no other test compares them.

`python -m tests.test_texts` rewrites the file. Review its changes before you commit.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from operator import itemgetter
from pathlib import Path

from tests.made.shell import every_command

ROOT = Path(__file__).resolve().parents[1]
TEXTS = Path(__file__).with_name("texts.txt")
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
BASE = "WorkbenchError"
REASONS = {
    "check_in_range": 0,
    "check_known": 0,
    "check_not_empty": 0,
    "unknown_name": 0,
    "Refused": 0,
    "_Broken": 0,
    "Problem": 2,
    "refuse": 2,
    "remark": 2,
    "stop": 2,
    "file_refusal": 2,
    "refuse_or_remark": 2,
}
"""Calls with an error code and a reason, with the position of the code."""
CHECKS = {"as_object": "not-an-object", "as_objects": "not-a-list"}
"""Calls that check a value and take the reason as second argument, with their codes."""
PASSED_ON = (
    "code",
    "error.code",
    "refused.code",
    "known_fault.code",
    "broken.code",
    "found.code",
    "problems[0].code",
    "what",
)
"""Expressions for codes that come from another error or from a table."""


@cache
def product() -> list[tuple[Path, ast.Module]]:
    """Every module of the product, parsed."""
    paths = sorted(path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*.py"))
    return [(path, ast.parse(path.read_text())) for path in paths]


def error_classes() -> set[str]:
    """Return the class names of the workbench's errors."""
    bases = {
        node.name: {ast.unparse(base) for base in node.bases}
        for _, module in product()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
    }
    found, before = {BASE}, 0
    while len(found) > before:
        before, found = len(found), found | {name for name, of in bases.items() if of & found}
    return found


def called(node: ast.Call) -> str:
    """Return the last part of the name that a call uses."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def sites() -> Iterator[tuple[str, ast.expr, list[ast.expr]]]:
    """Yield each place that builds an error or a reason: its location, code and texts."""
    classes = error_classes() - {"FileError"}
    for path, module in product():
        own = {
            id(call)
            for node in ast.walk(module)
            if isinstance(node, ast.ClassDef) and node.name in classes - {BASE}
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__"
        }
        for node in ast.walk(module):
            if not isinstance(node, ast.Call):
                continue
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            if called(node) in CHECKS:
                yield place, ast.Constant(CHECKS[called(node)]), node.args[1:2]
            at = 0 if called(node) in classes or id(node) in own else REASONS.get(called(node))
            if called(node) == "remark" and len(node.args) == 2:
                # Within a line of a file the location is known, so the code comes first.
                at = 0
            if at is None or len(node.args) < at + 2 or called(node) in ("AlreadySettled", "CrossedEdit"):
                continue
            texts = node.args[at + 1 : at + 3]
            if called(node) == "check_in_range":
                # The function adds the end of the sentence.
                parts = texts[0].values if isinstance(texts[0], ast.JoinedStr) else texts[:1]
                texts[0] = ast.JoinedStr([*parts, ast.Constant(" is out of range.")])
            yield place, node.args[at], texts


def codes(code: ast.expr) -> list[str]:
    """Return the codes that an expression can give; none for a code that is passed on.

    Raises:
        ValueError: the expression is neither made of literals nor passes a code on.
    """
    if isinstance(code, ast.Constant) and isinstance(code.value, str):
        return [code.value]
    if isinstance(code, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "any" for part in code.values)]  # type: ignore[misc]
    if isinstance(code, ast.IfExp):
        return [*codes(code.body), *codes(code.orelse)]
    if ast.unparse(code) in PASSED_ON:
        return []
    if isinstance(code, ast.Call) and ast.unparse(code.func) == "str":
        # The code of a server response.
        return [part.value for part in ast.walk(code) if isinstance(part, ast.Constant) and part.value != "code"]  # type: ignore[misc]
    raise ValueError(ast.unparse(code))


def template(text: ast.expr) -> str:
    """Return a text with {} for each inserted value; {} alone for an expression without a literal."""
    if isinstance(text, ast.Constant):
        return str(text.value)
    if isinstance(text, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in text.values)
    if isinstance(text, ast.IfExp):
        return f"{template(text.body)} / {template(text.orelse)}"
    return "{}"


def texts() -> str:
    """Return the content of the snapshot file."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, code, words in sites():
        for name in codes(code):
            found[name].add(" | ".join(map(template, words)))
    errors = [line for name in sorted(found) for line in (name, *(f"  {text}" for text in sorted(found[name])))]
    commands = []
    for words, command in sorted(every_command(), key=itemgetter(0)):
        # The first paragraph of its help.
        summary = (command.help or "").strip().split("\n\n")[0].replace("\n", " ")
        commands += [f"exam {words}".strip(), f"  {summary}"]
    return "\n".join(["# Errors", *errors, "", "# Commands", *commands, ""])


def test_error_and_command_texts_match_snapshot() -> None:
    assert texts() == TEXTS.read_text(), "Run: python -m tests.test_texts"


def test_every_error_has_a_literal_code_in_kebab_case() -> None:
    found = list(sites())
    wrong = [(place, name) for place, code, _ in found for name in codes(code) if not KEBAB.fullmatch(name)]
    assert len(found) > 900 and not wrong


def test_tests_do_not_match_errors_by_message() -> None:
    classes = error_classes()
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.raises"
        if any(word.arg == "match" for word in node.keywords) and called_classes(node) & classes
    ]
    assert found == []


def called_classes(node: ast.Call) -> set[str]:
    """Return the names of the exceptions that a call of `pytest.raises` expects."""
    return {name.id for arg in node.args for name in ast.walk(arg) if isinstance(name, ast.Name)}


if __name__ == "__main__":
    TEXTS.write_text(texts())
