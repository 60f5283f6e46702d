"""The options by which a command says which grader it means."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from ..catalogue import make_named, prompts, save_prompt, settings
from ..errors import InputError
from ..graders import (
    APIS,
    BACK_ENDS,
    DTYPES,
    GRADERS,
    MOST_BEAMS,
    NORMALISATIONS,
    Grader,
    Prompt,
    with_examples,
)
from ..project import Project, current_author
from .guests import File, text_of
from .options import gathered_options


@dataclass
class GraderChoice:
    """What was said of the grader; `kind` and `parameters` are complete once it is made."""

    kind: str
    parameters: dict[str, Any]
    examples: Path | None

    def make(self, project: Project) -> Grader:
        """The grader of the name, with what was said of it beside the name.

        Raises:
            InputError: there is none, or a parameter makes no sense.
        """
        library = prompts(project)
        if self.examples is not None:
            library = library | self._prompt_with_examples(project, library, self.examples)
        made, self.kind, self.parameters = make_named(project, self.kind, self.parameters, library)
        return made

    def _prompt_with_examples(self, project: Project, library: dict[str, Prompt], file: Path) -> dict[str, Prompt]:
        """The chosen prompt with a file's examples, kept in the project under a name of its own."""
        chosen = self.parameters.get("prompt", settings(project, self.kind)[1].get("prompt"))
        if chosen not in library:
            raise InputError("option-missing", "--examples needs a few-shot prompt.", "Name it with --prompt.")
        changed = with_examples(library[chosen], text_of(file), file.name)
        named = replace(changed, name=f"{chosen}-{file.stem}"[:80])
        save_prompt(project, named, current_author())
        self.parameters["prompt"] = named.name
        return {named.name: named}


def _choice(
    grader_name: str,
    model: str | None,
    back_end: str | None,
    base_url: str | None,
    prompt: str | None,
    api: str | None,
    dtype: str | None,
    num_beams: int | None,
    normalise: str | None,
    cue: str | None,
    settings: tuple[str, ...],
    examples: Path | None,
) -> GraderChoice:
    named = {
        "model": model,
        "back_end": back_end,
        "base_url": base_url,
        "prompt": prompt,
        "api": api,
        "dtype": dtype,
        "num_beams": num_beams,
        "normalise": normalise,
        "cue": cue,
    }
    parameters = {name: value for name, value in named.items() if value is not None}
    return GraderChoice(grader_name, parameters | dict(map(_setting, settings)), examples)


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON where it is JSON, else as text."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError("invalid-setting", f"Invalid setting '{text}'.", "Use NAME=VALUE.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


grader_options = gathered_options(
    "chosen",
    _choice,
    click.option(
        "--grader",
        "grader_name",
        default="embedding",
        show_default=True,
        help=f"Grader: {', '.join(GRADERS)}, or a name from exam graders list.",
    ),
    click.option("--model", help="Name or folder of the model."),
    click.option(
        "--back-end", type=click.Choice(BACK_ENDS), help="transformers: on this computer; openai: at an endpoint."
    ),
    click.option("--base-url", help="Address of an OpenAI-compatible endpoint, for example http://localhost:8000/v1."),
    click.option("--prompt", help="Name of the prompt: see exam prompts list."),
    click.option("--api", type=click.Choice(APIS), help="Endpoint API: chat or plain completions."),
    click.option("--dtype", type=click.Choice(DTYPES), help="Number format of a local model."),
    click.option(
        "--num-beams",
        type=click.IntRange(1, MOST_BEAMS),
        help="Beams of a local model; 1: greedy search.",
    ),
    click.option(
        "--normalise",
        type=click.Choice(NORMALISATIONS),
        help="Divisor of the likelihood of a choice (default: tokens).",
    ),
    click.option("--cue", help="Last line for a prompt without one: a text, none or auto."),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Other parameter of the grader; may be repeated.",
    ),
    click.option(
        "--examples",
        type=File(path_type=Path, exists=True, dir_okay=False),
        help="Worked examples for a few-shot prompt: YAML or JSON list of question, passage, answer.",
    ),
)
"""Options of a grader; a command gets them as `chosen`."""
