"""Saved graders, prompts and prices. Graders are kinds and parameters under a name, without API
keys.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .. import graders
from ..choices import GRADER_KINDS
from ..errors import (
    GradingError,
    InputError,
    check_known,
    check_not_empty,
    check_rules,
    unknown_name,
)
from ..store import Project, as_name, log_action, put_setting, read_setting
from ..text import free_name
from ..types import GraderSpec


@dataclass(frozen=True)
class PromptVersion:
    """A saved version of a prompt that people of the project wrote."""

    prompt: graders.Prompt
    author: str
    made_at: datetime


def list_prompts(project: Project) -> dict[str, graders.Prompt]:
    """Return every prompt by name: the built-in prompts, then the latest versions of the project's
    own prompts.
    """
    return {
        **graders.built_in_prompts(),
        **{version.prompt.name: version.prompt for version in prompt_versions(project)},
    }


def find_prompt_for(
    project: Project, use: str, name: str, form: str | None = None
) -> graders.Prompt:
    """Return the prompt with a name that has a use and, if given, a form.

    Raises:
        InputError: no such prompt.
    """
    fitting = {
        prompt.name: prompt
        for prompt in list_prompts(project).values()
        if prompt.use == use and form in (None, prompt.form)
    }
    check_known("unknown-prompt", f"prompt for '{use}':", sorted(fitting), name)
    return fitting[name]


def prompt_versions(project: Project) -> list[PromptVersion]:
    """Return every version of the project's own prompts, oldest first."""
    return [
        PromptVersion(graders.read_prompt(content, f"prompt {name}"), author, made_at)
        for name, content, author, made_at in project.rows(
            "SELECT name, content, author, made_at FROM prompts ORDER BY prompt_key"
        )
    ]


def save_prompt(project: Project, prompt: graders.Prompt, author: str) -> bool:
    """Save a prompt. A grader with a changed prompt is a new grader; old grades stay with the old
    grader.

    Returns:
        Whether the prompt differs from the saved prompt.

    Raises:
        InputError: the name belongs to a built-in prompt, or the prompt is invalid for its use.
    """
    if prompt.name in graders.built_in_prompts():
        raise InputError(
            "name-taken",
            f"The name '{prompt.name}' belongs to a built-in prompt.",
            "Choose a different name. Built-in prompts never change, so that"
            " grades stay comparable.",
        )
    content = graders.write_prompt(prompt)
    graders.read_prompt(content, prompt.name)
    if list_prompts(project).get(prompt.name) == prompt:
        return False
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT INTO prompts VALUES (nextval('keys'), ?, ?, ?, ?, now()::TIMESTAMP)",
            [prompt.name, prompt.hash, content, author],
        )
        log_action(cursor, author, "save prompt", name=prompt.name, hash=prompt.hash[:16])
    return True


_SETTING = "prices"


def model_prices(project: Project) -> dict[str, graders.Price]:
    """Return the known prices by model."""
    stored = read_setting(project, _SETTING)
    return {model: graders.Price(*price) for model, price in json.loads(stored or "{}").items()}


def _as_kept(price: graders.Price) -> list[float | None]:
    """Return a price as a list for storage: two amounts, then the other amounts without trailing
    defaults.
    """
    kept = [price.input, price.output, price.cached, price.batch]
    while len(kept) > 2 and kept[-1] == (None if len(kept) == 3 else graders.BATCH_SHARE):
        kept.pop()
    return kept


def _check_price(price: graders.Price) -> None:
    check_rules(
        (
            not all(
                math.isfinite(amount) and amount >= 0 for amount in (price.input, price.output)
            ),
            InputError(
                "invalid-price",
                f"Invalid prices {price.input} and {price.output}.",
                "Use amounts per million tokens, 0 or higher.",
            ),
        ),
        (
            price.cached is not None and not 0 <= price.cached <= price.input,
            InputError(
                "invalid-price",
                f"Invalid price {price.cached} for cached tokens.",
                f"Use an amount from 0 to {price.input}, the price of other input tokens.",
            ),
        ),
        (
            not 0 <= price.batch <= 1,
            InputError(
                "invalid-price",
                f"Invalid batch share {price.batch}.",
                "Use a number from 0 to 1: the share of the normal price that a call in a batch"
                " costs.",
            ),
        ),
    )


def set_price(project: Project, model: str, price: graders.Price | None, author: str) -> None:
    """Set the price of a model; None removes it.

    Raises:
        InputError: an amount is invalid, or the model name is empty.
    """
    check_not_empty(
        "empty-name",
        "The price has no model name.",
        "Use the model's name exactly as its grader has it.",
        model.strip(),
    )
    prices = {name: _as_kept(one) for name, one in model_prices(project).items() if name != model}
    if price is not None:
        _check_price(price)
        prices[model] = _as_kept(price)
    with project.transaction() as cursor:
        put_setting(cursor, _SETTING, json.dumps(prices, sort_keys=True))
        log_action(cursor, author, "set price", model=model, price=prices.get(model))


@dataclass(frozen=True)
class NamedGrader:
    """Kind and parameters of a grader, saved under a name."""

    name: str
    kind: str
    parameters: dict[str, Any]
    author: str
    made_at: datetime


def named_graders(project: Project) -> list[NamedGrader]:
    """Return every saved grader, ordered by name."""
    return [
        NamedGrader(name, kind, json.loads(parameters), author, made_at)
        for name, kind, parameters, author, made_at in project.rows(
            "SELECT name, kind, parameters, author, made_at FROM named_graders ORDER BY name"
        )
    ]


def save_named_grader(
    project: Project, name: str, kind: str, parameters: Mapping[str, Any], author: str
) -> graders.Grader:
    """Save a grader under a name; it replaces a saved grader with that name.

    Raises:
        InputError: the name is empty or belongs to another grader, or the parameters are invalid.
    """
    name = check_not_empty(
        "empty-name",
        "The grader has no name.",
        "Enter a name, such as FLAN-T5 large.",
        as_name(name),
    )
    grader = graders.make_grader(kind, parameters, list_prompts(project))
    # One name means one grader, in every command and on every screen.
    if name in GRADER_KINDS or name in _names_of_others(project, grader.spec):
        raise InputError(
            "name-taken",
            f"The name '{name}' belongs to another grader.",
            "Choose a different name.",
        )
    with project.transaction() as cursor:
        cursor.execute(
            "INSERT OR REPLACE INTO named_graders VALUES (?, ?, ?, ?, now()::TIMESTAMP)",
            [name, kind, json.dumps(dict(parameters), ensure_ascii=False, sort_keys=True), author],
        )
        log_action(
            cursor, author, "save grader", name=name, kind=kind, fingerprint=grader.spec.fingerprint
        )
    return grader


def remember_settings(
    project: Project,
    grader: graders.Grader,
    kind: str,
    parameters: Mapping[str, Any],
    author: str,
) -> None:
    """Save the settings of a grader under its own name, unless the project can make it without
    them.
    """
    if grader_again(project, grader.spec) is None:
        taken = {named.name for named in named_graders(project)} | _names_of_others(
            project, grader.spec
        )
        name = free_name(grader.spec.name, taken, "{} ({})")
        save_named_grader(project, name, kind, parameters, author)


def remove_named_grader(project: Project, name: str, author: str) -> None:
    """Remove the saved settings of a grader. Its grades stay.

    Raises:
        InputError: the name is unknown.
    """
    known = [named.name for named in named_graders(project)]
    hint = "" if known else "Save one on the Grading screen or with exam graders add."
    check_known("unknown-grader", "saved grader", known, name, hint=hint)
    with project.transaction() as cursor:
        cursor.execute("DELETE FROM named_graders WHERE name = ?", [name])
        log_action(cursor, author, "remove grader", name=name)


def grader_settings(project: Project, name: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and parameters of a grader.

    Args:
        name: saved name, printed name or fingerprint of a grader with grades, or a method, which
            selects its default grader.

    Raises:
        InputError: the name is unknown, or the grader graded elsewhere and its settings are
            unknown.
    """
    for spec in _stored_specs(project):
        if name in (spec.name, spec.fingerprint):
            if (stored := settings_again(project, spec)) is None:
                raise InputError(
                    "unknown-grader-settings",
                    f"'{spec.name}' has grades, but its settings are unknown.",
                    f"Save its settings: exam graders add NAME --grader {spec.method}, with its"
                    " model and prompt.",
                )
            return stored.kind, stored.parameters
    if name in GRADER_KINDS:
        return name, {}
    for named in named_graders(project):
        if name == named.name or name in _saved_fingerprints(project, named):
            return named.kind, named.parameters
    known = dict.fromkeys([*GRADER_KINDS, *(f"'{named.name}'" for named in named_graders(project))])
    known |= dict.fromkeys(f"'{spec.name}'" for spec in _stored_specs(project))
    raise unknown_name("unknown-grader", "grader", name, known)


def make_named(
    project: Project,
    name: str,
    new_parameters: Mapping[str, Any],
    library: Mapping[str, graders.Prompt] | None = None,
) -> tuple[graders.Grader, str, dict[str, Any]]:
    """Make the grader with this name (see `grader_settings`), with some parameters replaced.

    Args:
        library: the prompts to choose from; None for those of the project.

    Returns:
        The grader, its kind and all its parameters.

    Raises:
        InputError: the name is unknown, or a parameter is invalid.
    """
    kind, known = grader_settings(project, name)
    # A key is used for a saved address only if the person names the address, too.
    bound = "base_url" in new_parameters or "base_url" not in known
    parameters = {**known, **new_parameters}
    with graders.use_access(
        graders.extend_access(
            new_parameters.get("base_url"), new_parameters.get("key_variable") if bound else None
        )
    ):
        return (
            graders.make_grader(
                kind, parameters, list_prompts(project) if library is None else library
            ),
            kind,
            parameters,
        )


def fingerprints_of(project: Project, name: str) -> tuple[str, ...]:
    """Return the fingerprints of a saved grader's grades; empty if the name is unknown."""
    return next(
        (
            _saved_fingerprints(project, named)
            for named in named_graders(project)
            if named.name == name
        ),
        (),
    )


def grade_command(name: str, *more: str) -> str:
    """Return the shell command that grades with a grader."""
    return shlex.join(["exam", "grade", "--grader", name, *more])


def how_to_grade(project: Project, spec: GraderSpec, *more: str) -> str:
    """Return a sentence with the command that continues grading with exactly this grader.

    Args:
        more: further arguments of the command.
    """
    if settings_again(project, spec) is not None:
        return f"Run: {grade_command(spec.name, *more)}"
    return (
        f"'{spec.name}' graded elsewhere and is not set up here. Save its settings with exam"
        " graders add, or grade with another grader and select that one with --grader."
    )


def grader_again(project: Project, spec: GraderSpec) -> graders.Grader | None:
    """Make a grader with grades again, from its saved settings or else from its identity.

    Returns:
        A grader with the same fingerprint; None if its settings are unknown.
    """
    settings = settings_again(project, spec)
    return (
        None
        if settings is None
        else graders.make_grader(settings.kind, settings.parameters, list_prompts(project))
    )


@dataclass(frozen=True)
class Settings:
    """Settings of a grader with grades.

    Args:
        name: its saved name; None if its identity alone determines the settings.
    """

    name: str | None
    kind: str
    parameters: dict[str, Any]


def settings_again(project: Project, spec: GraderSpec) -> Settings | None:
    """Return the settings of a grader with grades; None if they are unknown."""
    for one in named_graders(project):
        if spec.fingerprint in _saved_fingerprints(project, one):
            return Settings(one.name, one.kind, one.parameters)
    parameters = graders.find_remaking_parameters(spec, list_prompts(project))
    return None if parameters is None else Settings(None, spec.method, parameters)


def _saved_fingerprints(project: Project, named: NamedGrader) -> tuple[str, ...]:
    """Return the fingerprints of a saved grader's grades, its present one first; empty if it cannot
    be made.
    """
    try:
        return graders.make_grader(
            named.kind, named.parameters, list_prompts(project)
        ).spec.fingerprints
    except (GradingError, InputError):
        # Its folder or prompt is missing; another saved grader may match.
        return ()


def _names_of_others(project: Project, spec: GraderSpec) -> set[str]:
    """Return the names of all other graders with grades."""
    return {
        other.name for other in _stored_specs(project) if other.fingerprint not in spec.fingerprints
    }


SPEC_COLUMNS = "name, method, model, prompt, prompt_hash, parameters, kinds, max_rating"
"""Columns of the table `graders` that identify a grader, in the order that `stored_spec` expects.
"""


def stored_spec(row: Sequence[Any]) -> GraderSpec:
    """Return the identity of a grader, from a row of `SPEC_COLUMNS`."""
    name, method, model, prompt, prompt_hash, parameters, kinds, max_rating = row
    return GraderSpec(
        name,
        method,
        model,
        prompt,
        prompt_hash,
        json.loads(parameters),
        tuple(json.loads(kinds)),
        max_rating,
    )


def _stored_specs(project: Project) -> list[GraderSpec]:
    return [
        stored_spec(row)
        for row in project.rows(f"SELECT {SPEC_COLUMNS} FROM graders ORDER BY grader_key")
    ]
