"""The table of commands in commands.yaml."""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def table() -> dict[str, Any]:
    with Path(__file__).with_name("commands.yaml").open(encoding="utf-8") as file:
        return dict(yaml.safe_load(file))


def filled(line: str, values: Mapping[str, str]) -> str:
    """Replace the words in braces by their values; a word without a value stays."""
    for name, value in values.items():
        line = line.replace(f"{{{name}}}", value)
    return line


def reading_lines(project: str) -> Iterator[tuple[str, str]]:
    """Yield words and options of every reading command, in each form that is recorded for a project."""
    brief = project in table()["brief"]
    for words, lines in table()["reading"].items():
        for options in lines[:1] if brief else lines:
            yield words, options
            yield words, f"{options} --json"
        if words in table()["with_policy"] and not brief:
            for policy in table()["policy"]:
                yield words, f"{lines[0]} {policy} --json"
