"""Unused names for copies of prompts."""

from collections.abc import Container
from dataclasses import replace

from exam_workbench.graders import Prompt


def new_name(name: str, taken: Container[str]) -> str:
    """Return a variation of a name that is not taken."""
    number = 2
    while (made := f"{name[:70]}-{number}") in taken:
        number += 1
    return made


def draft_of(prompt: Prompt, taken: Container[str]) -> Prompt:
    """Return a copy with a new name; its source states the original."""
    name = new_name(prompt.name, taken)
    return replace(prompt, name=name, title=f"{prompt.title} ({name})", source=f"Changed from {prompt.name}")
