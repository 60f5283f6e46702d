"""Commands named in messages, hints, screens and documentation: each exists with its options."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click

from exam_workbench.cli import cli

ROOT = Path(__file__).resolve().parents[1]
PAGES = {ROOT / "README.md", *ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/build/**/*.md")}
SOURCES = sorted([*ROOT.glob("core/**/*.py"), *ROOT.glob("pages/**/*.py"), *PAGES])


NAMED = re.compile(r"\bexam((?: (?!is |has |else )[a-z-]+){1,2})((?: (?!and |or |for |to )[^\s.,;:)`|]+)*)")
"""A command in running text: one or two words, then its arguments up to the end of the clause."""

PROSE = {"questions", "question", "bank"}
"""Words after "exam" if it does not mean the program, although some are also commands ("exam bank")."""

OF_PEOPLE = re.compile(r"\b(?:an|the|this|that|one|each|every|no|its|whole|another|first)$", re.IGNORECASE)
"""Words before "exam" if it means an exam that examinees sit."""


def texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file that people may read: strings, with X for each inserted value, or lines."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from text.splitlines()
        return
    if not re.search(r"\bexam\b", text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def commands(path: Path) -> Iterator[tuple[str, click.Command, str]]:
    """Yield the commands that a file names: as written, the command, and its arguments."""
    for text in texts(path):
        line = " ".join(text.split())
        for found in NAMED.finditer(line):
            if OF_PEOPLE.search(line[: found.start()].rstrip()):
                continue
            words, rest = found[1].split(), found[2]
            command: click.Command = cli
            while words and isinstance(command, click.Group):
                try:
                    _, inner, words = command.resolve_command(click.Context(command), words)
                except click.UsageError:
                    break
                command = inner or command
            if command is cli and words[0] in PROSE:
                continue
            yield found[0], command, f"{' '.join(words)} {rest}".strip()


def wrong(path: Path) -> list[str]:
    """Return the unknown commands and options that a file names."""
    found = []
    for said, command, rest in commands(path):
        if command is cli:
            found.append(f"'{said}' is no command")
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        unknown = [option for option in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest) if option not in known]
        if unknown and not isinstance(command, click.Group):
            found.append(f"'{said}' has no option {unknown}")
    return found


def test_every_named_command_and_option_exists() -> None:
    assert {str(path.relative_to(ROOT)): found for path in SOURCES if (found := wrong(path))} == {}


def test_check_finds_unknown_commands_and_options(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Run exam imprt runs FILE\nRun exam meta-evaluation --agianst NIST\nRun exam meta-evaluation --against NIST\n"
    )
    assert wrong(page) == [
        "'exam imprt runs FILE' is no command",
        "'exam meta-evaluation --agianst NIST' has no option ['--agianst']",
    ]
