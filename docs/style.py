"""Check the language of user-visible texts and of the code: `make style`.

`FORBIDDEN` is the only list of forbidden words and openings. It covers errors, screens and
commands. Checked are the help of every command, and strings of the program that begin with a
capital letter or have at least four words.

`MARKERS` are places to look at in docstrings, comments, names of tests and the documentation. Their
share is limited by `LIMITS`.

`VAGUE` are names of local variables that do not tell what a variable holds. The program may use
them within three lines only.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    r"\b(?:some|no|every)body\b|\bwhoever\b": "an assessor, an organizer, people, you",
    r"\bwh(?:at|ich)ever\b": "any",
    r"\bwhat (?:was|were|comes?|came|stands?|follows|differs)\b(?!.*\?)": "the name of the thing",
    r"(?:, |\bonly |\bhere )where (?:it|there|that|they|the|a|an|no)\b|^where there\b": "if, when",
    r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|such\b)[a-z]+": (
        "is not a ..., 'No ...' or 'Unknown ...'"
    ),
    r"(?<!there )\b(?:is|are|be|was|were) none\b": "No ... yet",
    r"\bbeside\b": "next to, in addition to",
    r"\b(?:anew|once more|likewise|thereof|wherever)\b": "again, also, if",
    r"\blets? (?:people|no|the|a|an|it|what|others|this|all)\b": "a precise verb",
    r"\bsay (?:how|what|which|who|whether|until|if)\b": "Show, Report, Set",
    r"\b(?:but|save) for\b": "except",
    r"\b(?:is|are|was|were) (?:told|said)\b": "the subject and its verb",
    r"\b(?:take|taken|takes|put|puts|bring|brings|brought)(?: \w+)? back\b": (
        "undo, withdraw, restore"
    ),
    r"\b(?:stands?|stood)\b": "is",
    r"\bkey facts?\b": "nugget",
}
"""Regular expressions of forbidden phrases, and their replacements."""
OPENINGS = ("Say", "Let", "Look", "Take", "Give", "Tell", "Put", "Make sure")
"""Forbidden openings of command summaries and button labels."""
EXEMPT = {ROOT / "core/graders/_reading/injections.py"}
"""Modules whose texts are examples of passages."""
TECHNICAL = re.compile(r"\bSELECT\b|\bFROM\b|\bWHERE\b|\bJOIN\b|\(\?[:!=i]|\\b|::|\{ [a-z-]+: ")
"""SQL statements, regular expressions and style sheets, which are not texts."""

MARKERS = (
    r"\b[Ww]hat (?:is|are|was|were|it|they|he|she|one|comes?|came|has|had|can|may|people|somebody"
    r"|others|the|stands?|needs?|takes?|follows|differs|belongs?|nobody|does|did|goes|waits?)\b",
    r"\b[Ww]h(?:o|at|ich)ever\b",
    r"\b(?:[Ss]omebody|[Nn]obody|[Ee]verybody)\b",
    r"(?:, |\bonly |[Ww]here )where"
    r" (?:it|there|that|nobody|somebody|one|they|the|a|no|nothing|none)\b",
    r"\b[Ww]here (?:nobody|somebody|there (?:is|are|was|were)|none|nothing)\b",
    r"\b(?:is|are|was|were) no (?!longer|more|such|one\b|need|way|doubt|reason)[a-z]+",
    r"\b(?:is|are|has|have|be|was|were) none\b",
    r"\b[Bb]eside\b",
    r"\b(?:anew|once more)\b",
    r"\b[Ll]et (?:somebody|nobody|several|people|no|the|a|an|it|what|whoever|others|students|RUN"
    r"|IDENTITY|this|all|no more)\b",
    r"\bSay (?:how|what|which|who|whether|until)\b",
    r"\bone (?:can|may|looks|sees|has|is to|might|wants|does|reads|chooses|needs)\b",
    r"\b(?:but for|save for)\b",
    r"\b(?:is|are|was|were) (?:told|said)\b",
    r"(?:^|[.!?] )Of (?:a|an|the|what|each|some|its)\b",
    r"\b(?:comes?|came) (?:into|of|about|by|anew|last|first|again|back)\b",
    r"\b(?:stands?|stood)\b",
)
"""Regular expressions of phrases that readers often have to read twice."""
LIMITS = {
    "docstrings": 0.03,
    "comments": 0.03,
    "names of tests": 0.01,
    "paragraphs of the documentation": 0.03,
}
"""The largest share of texts with a marker."""
SHOWN = 20
"""Texts with a marker that are listed if a share is too large."""

VAGUE = set(
    [
        "asked",
        "done",
        "found",
        "given",
        "kept",
        "known",
        "made",
        "one",
        "said",
        "seen",
        "shown",
        "taken",
        "told",
        "wanted",
    ]
)
"""Names that do not tell what a local variable holds."""
NEAR = 3
"""Number of lines within which a local variable may have a vague name."""

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

    paths = sorted(
        {path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*")} - EXEMPT
    )
    texts = [place for path in paths if path.suffix == ".py" for place in strings(path)]
    texts += [place for path in paths if path.suffix == ".js" for place in scripts(path)]
    commands = list(summaries(cli))
    rules = {re.compile(pattern, re.IGNORECASE): instead for pattern, instead in FORBIDDEN.items()}
    for place, text in texts + commands:
        is_text = text.count(" ") >= 3 or (" " in text and text[:1].isupper())
        if is_text and not TECHNICAL.search(text):
            for rule, instead in rules.items():
                if found := rule.search(text):
                    yield (
                        f"{place}: '{found[0]}' in '{' '.join(text.split())[:80]}': write {instead}"
                    )
    for place, text in commands:
        if text.startswith(OPENINGS):
            yield f"{place}: '{text.split()[0]}' begins it: use a precise verb"


def vague_locals() -> Iterator[str]:
    """Yield a line for every local variable with a vague name that is used over many lines."""
    for path in sorted(
        path for folder in ("core", "pages") for path in (ROOT / folder).rglob("*.py")
    ):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            nodes = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
            loops = [part for part in ast.walk(function) if isinstance(part, ast.comprehension)]
            inner = {id(node) for loop in loops for node in ast.walk(loop.target)}
            for name in sorted(VAGUE):
                lines = [node.lineno for node in nodes if node.id == name]
                stored = any(
                    isinstance(node.ctx, ast.Store) and node.id == name and id(node) not in inner
                    for node in nodes
                )
                if stored and max(lines) - min(lines) > NEAR:
                    place = f"{path.relative_to(ROOT)}:{min(lines)}"
                    yield f"{place}: local variable '{name}' of {function.name}: name its content"


def docstrings(path: Path) -> Iterator[Place]:
    """Yield the place and the text of every docstring of a module, those of attributes included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield f"{path.relative_to(ROOT)}:{value.lineno}", value.value


def test_names(path: Path) -> Iterator[Place]:
    """Yield the place and the words of every name of a test."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield f"{path.relative_to(ROOT)}:{node.lineno}", node.name.replace("_", " ")


def comments(path: Path) -> Iterator[Place]:
    """Yield the place and the text of every comment of a module."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield f"{path.relative_to(ROOT)}:{token.start[0]}", token.string[1:]


def paragraphs(path: Path) -> Iterator[Place]:
    """Yield the place and the text of every paragraph of a page that has more than five words."""
    line = 1
    for text in re.split(r"(\n\s*\n)", path.read_text(encoding="utf-8")):
        if len(text.split()) > 5:
            yield f"{path.relative_to(ROOT)}:{line}", text
        line += text.count("\n")


def excesses() -> Iterator[str]:
    """Print the share of texts with a marker by kind, and yield lines about each kind that exceeds
    its limit.
    """
    folders = ("core", "pages", "tests", "bench")
    modules = sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    pages = {ROOT / "README.md", *ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/build/**/*.md")}
    texts = {
        "docstrings": [place for path in modules for place in docstrings(path)],
        "comments": [place for path in modules for place in comments(path)],
        "names of tests": [place for path in modules for place in test_names(path)],
        "paragraphs of the documentation": [
            place for path in sorted(pages) for place in paragraphs(path)
        ],
    }
    marker = re.compile("|".join(f"(?:{pattern})" for pattern in MARKERS))
    for kind, places in texts.items():
        marked = [
            (place, found[0], text) for place, text in places if (found := marker.search(text))
        ]
        share = len(marked) / max(1, len(places))
        print(
            f"{kind}: {share:.1%} of {len(places):,} have a marker; the limit is {LIMITS[kind]:.0%}"
        )
        if share > LIMITS[kind]:
            yield from (
                f"{place}: '{found}' in '{' '.join(text.split())[:80]}'"
                for place, found, text in marked[:SHOWN]
            )


if __name__ == "__main__":
    found = [*faults(), *vague_locals(), *excesses()]
    print("\n".join(found))
    sys.exit(f"{len(found)} texts or names to rewrite" if found else 0)
