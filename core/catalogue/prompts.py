"""The prompts of a project: the built-in ones and those that its people wrote or changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import InputError
from ..graders import Prompt, built_in, read_prompt, write_prompt
from ..project import Project, log


@dataclass(frozen=True)
class PromptVersion:
    """One state of a prompt that people of the project wrote."""

    prompt: Prompt
    author: str
    made_at: datetime


def prompts(project: Project) -> dict[str, Prompt]:
    """Every prompt by name: the built-in ones, then the project's own in their latest state."""
    return {**built_in(), **{version.prompt.name: version.prompt for version in versions(project)}}


def versions(project: Project) -> list[PromptVersion]:
    """Every state of every prompt that was written here, oldest first."""
    return [
        PromptVersion(read_prompt(content, f"prompt {name}"), author, made_at)
        for name, content, author, made_at in project.rows(
            "SELECT name, content, author, made_at FROM prompts ORDER BY prompt_key"
        )
    ]


def save_prompt(project: Project, prompt: Prompt, author: str) -> bool:
    """Keep a prompt that a person wrote or changed. Its graders are new ones: the old one's grades stay its own.

    Returns:
        Whether anything differs from what is there.

    Raises:
        InputError: the name is a built-in prompt's, or the prompt cannot serve its use.
    """
    if prompt.name in built_in():
        raise InputError(
            "name-taken",
            f"The name '{prompt.name}' belongs to a built-in prompt.",
            "Choose a different name. Built-in prompts never change, so that grades stay comparable.",
        )
    content = write_prompt(prompt)
    read_prompt(content, prompt.name)
    if prompts(project).get(prompt.name) == prompt:
        return False
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT INTO prompts VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP)",
            [prompt.name, prompt.hash, content, author],
        )
        log(cursor, author, "save prompt", name=prompt.name, hash=prompt.hash[:16])
    return True
