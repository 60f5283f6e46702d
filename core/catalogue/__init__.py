"""Graders, prompts and prices of a project."""

from __future__ import annotations

from .graders import StoredGrader, find_grader, grader_key, graders, put_grader, stored_graders
from .listing import list_of_graders
from .named import (
    SPEC_COLUMNS,
    NamedGrader,
    grade_command,
    grader_again,
    how_to_grade,
    make_named,
    named_graders,
    remember_settings,
    remove_named_grader,
    save_named_grader,
    settings,
    settings_again,
    stored_spec,
)
from .prices import prices, set_price
from .prompts import prompt_versions, prompts, save_prompt
from .succession import succession

__all__ = [
    "SPEC_COLUMNS",
    "NamedGrader",
    "StoredGrader",
    "find_grader",
    "grade_command",
    "grader_again",
    "grader_key",
    "graders",
    "how_to_grade",
    "list_of_graders",
    "make_named",
    "named_graders",
    "prices",
    "prompt_versions",
    "prompts",
    "put_grader",
    "remember_settings",
    "remove_named_grader",
    "save_named_grader",
    "save_prompt",
    "set_price",
    "settings",
    "settings_again",
    "stored_graders",
    "stored_spec",
    "succession",
]
