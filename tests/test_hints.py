"""Commands named in messages, hints, screens and documentation: each exists with its options."""

import ast
import re
from collections.abc import Iterator, Sequence
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


def unknown_in(words: Sequence[str]) -> str | None:
    """Return the first unknown command or option of a call; None if all exist."""
    command: click.Command = cli
    context = click.Context(cli, info_name="exam")
    rest = list(words)
    while isinstance(command, click.Group) and rest and re.fullmatch("[a-z-]+", rest[0]) and rest[0][0] != "-":
        try:
            name, found, rest = command.resolve_command(context, rest)
        except click.UsageError:
            return rest[0]
        command, context = found, click.Context(found, info_name=name, parent=context)
    known = {
        option for parameter in command.get_params(context) for option in parameter.opts + parameter.secondary_opts
    }
    options = [word.split("=")[0] for word in rest if re.match("--?[a-z]", word)]
    return next((option for option in options if option not in known), None)


def wrong(path: Path) -> list[str]:
    """Return the unknown commands and options that a file names."""
    found = []
    for text in texts(path):
        line = " ".join(text.split())
        for named in NAMED.finditer(line):
            words = f"{named[1]} {named[2]}".split()
            unknown = unknown_in(words)
            if unknown is None or unknown in PROSE or OF_PEOPLE.search(line[: named.start()].rstrip()):
                continue
            # Words after a group of commands may be prose.
            if unknown == words[0] or unknown.startswith("--"):
                found.append(f"'{named[0]}' has no {unknown}")
    return found


def test_every_named_command_and_option_exists() -> None:
    assert {str(path.relative_to(ROOT)): found for path in SOURCES if (found := wrong(path))} == {}


def test_check_finds_unknown_commands_and_options(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Run exam imprt runs FILE\nRun exam meta-evaluation --agianst NIST\nRun exam meta-evaluation --against NIST\n"
    )
    assert wrong(page) == [
        "'exam imprt runs FILE' has no imprt",
        "'exam meta-evaluation --agianst NIST' has no --agianst",
    ]
