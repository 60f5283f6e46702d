"""Prompts of a project: the built-in ones and those that people wrote."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ..errors import InputError
from ..graders import Prompt, built_in, read_prompt, write_prompt
from ..store import Project, log


@dataclass(frozen=True)
class PromptVersion:
    """A saved version of a prompt that people of the project wrote."""

    prompt: Prompt
    author: str
    made_at: datetime


def prompts(project: Project) -> dict[str, Prompt]:
    """Return every prompt by name: the built-in prompts, then the latest versions of the project's own prompts."""
    return {**built_in(), **{version.prompt.name: version.prompt for version in prompt_versions(project)}}


def prompt_versions(project: Project) -> list[PromptVersion]:
    """Return every version of the project's own prompts, oldest first."""
    return [
        PromptVersion(read_prompt(content, f"prompt {name}"), author, made_at)
        for name, content, author, made_at in project.rows(
            "SELECT name, content, author, made_at FROM prompts ORDER BY prompt_key"
        )
    ]


def save_prompt(project: Project, prompt: Prompt, author: str) -> bool:
    """Save a prompt. A grader with a changed prompt is a new grader; old grades stay with the old grader.

    Returns:
        Whether the prompt differs from the saved prompt.

    Raises:
        InputError: the name belongs to a built-in prompt, or the prompt is invalid for its use.
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
