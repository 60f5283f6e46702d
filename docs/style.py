"""Check the language of user-visible texts: `make style`.

`FORBIDDEN` is the only list of forbidden words and openings. It covers errors, screens and commands. Checked are the
help of every command, and strings of the program that begin with a capital letter or have at least four words.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    r"\b(?:some|no|every)body\b|\bwhoever\b": "an assessor, an organizer, people, you",
    r"\bwh(?:at|ich)ever\b": "any",
    r"\bwhat (?:was|were|comes?|came|stands?|follows|differs)\b(?!.*\?)": "the name of the thing",
    r"(?:, |\bonly |\bhere )where (?:it|there|that|they|the|a|an|no)\b|^where there\b": "if, when",
    r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|such\b)[a-z]+": "is not a ..., 'No ...' or 'Unknown ...'",
    r"(?<!there )\b(?:is|are|be|was|were) none\b": "No ... yet",
    r"\bbeside\b": "next to, in addition to",
    r"\b(?:anew|once more|likewise|thereof|wherever)\b": "again, also, if",
    r"\blets? (?:people|no|the|a|an|it|what|others|this|all)\b": "a precise verb",
    r"\bsay (?:how|what|which|who|whether|until|if)\b": "Show, Report, Set",
    r"\b(?:but|save) for\b": "except",
    r"\b(?:is|are|was|were) (?:told|said)\b": "the subject and its verb",
    r"\b(?:take|taken|takes|put|puts|bring|brings|brought)(?: \w+)? back\b": "undo, withdraw, restore",
    r"\b(?:stands?|stood)\b": "is",
    r"\bkey facts?\b": "nugget",
}
"""Regular expressions of forbidden phrases, and their replacements."""
OPENINGS = ("Say", "Let", "Look", "Take", "Give", "Tell", "Put", "Make sure")
"""Forbidden openings of command summaries and button labels."""
EXEMPT = {ROOT / "core/graders/reading/injections.py"}
"""Modules whose texts are examples of passages."""
TECHNICAL = re.compile(r"\bSELECT\b|\bFROM\b|\bWHERE\b|\bJOIN\b|\(\?[:!=i]|\\b|::|\{ [a-z-]+: ")
"""SQL statements, regular expressions and style sheets, which are not texts."""

Place = tuple[str, str]


def strings(path: Path) -> Iterator[Place]:
    """Yield the place and the text of every string of a module, docstrings excepted."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    alone = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def scripts(path: Path) -> Iterator[Place]:
    """Yield the place and the text of every string in a screen's JavaScript."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for text in re.findall(r"\"[^\"]+\"|'[^']+'|`[^`]+`", line.partition("//")[0]):
            yield f"{path.relative_to(ROOT)}:{number}", text


def summaries(command: click.Command, path: str = "exam") -> Iterator[Place]:
    """Yield every command with its help and the helps of its options."""
    yield path, (command.help or "").strip()
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            yield f"{path} {parameter.opts[0]}", parameter.help
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if inner := command.get_command(context, name):
                yield from summaries(inner, f"{path} {name}")


def faults() -> Iterator[str]:
    """Yield a line for every text that breaks a rule."""
    from exam_workbench.cli import cli

    paths = sorted({path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*")} - EXEMPT)
    texts = [place for path in paths if path.suffix == ".py" for place in strings(path)]
    texts += [place for path in paths if path.suffix == ".js" for place in scripts(path)]
    commands = list(summaries(cli))
    rules = {re.compile(pattern, re.IGNORECASE): instead for pattern, instead in FORBIDDEN.items()}
    for place, text in texts + commands:
        is_text = text.count(" ") >= 3 or (" " in text and text[:1].isupper())
        if is_text and not TECHNICAL.search(text):
            for rule, instead in rules.items():
                if found := rule.search(text):
                    yield f"{place}: '{found[0]}' in '{' '.join(text.split())[:80]}': write {instead}"
    for place, text in commands:
        if text.startswith(OPENINGS):
            yield f"{place}: '{text.split()[0]}' begins it: use a precise verb"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found))
    sys.exit(f"{len(found)} texts to rewrite" if found else 0)
