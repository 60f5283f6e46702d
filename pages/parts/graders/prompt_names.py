"""How a copy of a prompt begins: under a name that nothing else has."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace

from exam_workbench.graders import Prompt


def new_name(name: str, taken: Container[str]) -> str:
    """A name made of another that nothing has yet."""
    number = 2
    while (made := f"{name[:70]}-{number}") in taken:
        number += 1
    return made


def draft_of(prompt: Prompt, taken: Container[str]) -> Prompt:
    """A copy under a name of its own, whose source tells what it was made from."""
    name = new_name(prompt.name, taken)
    return replace(prompt, name=name, title=f"{prompt.title} ({name})", source=f"Changed from {prompt.name}")
