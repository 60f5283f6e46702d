"""Options of commands that call models: the grader, its key, and the patience with an endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from .. import bank, graders
from ..choices import (
    APIS,
    BACK_ENDS,
    DTYPES,
    GRADER_KINDS,
    LONGEST_PATIENCE,
    MOST_BEAMS,
    NORMALISATIONS,
    PATIENCE,
)
from ..errors import InputError
from .console import read_text_file
from .registry import GatheredOptions, Option, Project, current_author, only_given


def may_use_key(settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Allow the operation to use the key that the settings name, until the block ends."""
    return graders.use_access(
        graders.extend_access(settings.get("base_url"), settings.get("key_variable"))
    )


@dataclass
class GraderChoice:
    """The given choice of a grader; `kind` and `parameters` are complete after `make`."""

    kind: str
    parameters: dict[str, Any]
    examples: Path | None

    def make(self, project: Project) -> graders.Grader:
        """Return the chosen grader with the given parameters.

        Raises:
            InputError: the grader is unknown, or a parameter is invalid.
        """
        library = bank.list_prompts(project)
        if self.examples is not None:
            library = library | self._prompt_with_examples(project, library, self.examples)
        made, self.kind, self.parameters = bank.make_named(
            project, self.kind, self.parameters, library
        )
        return made

    def _prompt_with_examples(
        self, project: Project, library: dict[str, graders.Prompt], file: Path
    ) -> dict[str, graders.Prompt]:
        """Save and return the chosen prompt with a file's examples, under a name of its own."""
        chosen = self.parameters.get(
            "prompt", bank.grader_settings(project, self.kind)[1].get("prompt")
        )
        if chosen not in library:
            raise InputError(
                "option-missing", "--examples needs a few-shot prompt.", "Name it with --prompt."
            )
        named = replace(
            graders.with_examples(library[chosen], read_text_file(file), file.name),
            name=f"{chosen}-{file.stem}"[:80],
        )
        bank.save_prompt(project, named, current_author())
        self.parameters["prompt"] = named.name
        return {named.name: named}


ModelName = Annotated[str | None, Option(help="Name or folder of the model.")]
BackEnd = Annotated[
    str | None,
    Option(help="transformers: on this computer; openai: at an endpoint.", choices=BACK_ENDS),
]
BaseUrl = Annotated[
    str | None,
    Option(help="Address of an OpenAI-compatible endpoint, for example http://localhost:8000/v1."),
]
Api = Annotated[str | None, Option(help="Endpoint API: chat or plain completions.", choices=APIS)]
Dtype = Annotated[str | None, Option(help="Number format of a local model.", choices=DTYPES)]

MINUTE = 60.0

Patience = Annotated[
    float,
    Option(
        "--patience",
        help=(
            "Minutes to wait for an unavailable endpoint. The endpoint can always request"
            " a pause of 1 minute."
        ),
        least=0,
        most=LONGEST_PATIENCE / MINUTE,
        default=lambda: PATIENCE / MINUTE,
        parse=lambda minutes: MINUTE * minutes,
    ),
]
"""Given in minutes; the operation receives seconds."""


def _grader_options(
    *,
    grader_name: Annotated[
        str,
        Option(
            "--grader",
            help=f"Grader: {', '.join(GRADER_KINDS)}, or a name from exam graders list.",
        ),
    ] = "embedding",
    model: ModelName = None,
    back_end: BackEnd = None,
    base_url: BaseUrl = None,
    prompt: Annotated[str | None, Option(help="Name of the prompt: see exam prompts list.")] = None,
    api: Api = None,
    dtype: Dtype = None,
    num_beams: Annotated[
        int | None,
        Option(help="Beam width of a local model; 1 is greedy search.", least=1, most=MOST_BEAMS),
    ] = None,
    normalise: Annotated[
        str | None,
        Option(
            help="Divisor of the likelihood of a choice (default: tokens).",
            choices=NORMALISATIONS,
        ),
    ] = None,
    cue: Annotated[
        str | None, Option(help="Last line to add if a prompt has none: a text, none or auto.")
    ] = None,
    settings: Annotated[
        tuple[str, ...],
        Option(
            "--set", help="Other parameter of the grader; may be repeated.", metavar="NAME=VALUE"
        ),
    ] = (),
    examples: Annotated[
        Path | None,
        Option(
            help=(
                "Worked examples for a few-shot prompt: YAML or JSON list of"
                " question, passage, answer."
            ),
            file="read",
            exists=True,
        ),
    ] = None,
) -> GraderChoice:
    parameters = only_given(
        model=model,
        back_end=back_end,
        base_url=base_url,
        prompt=prompt,
        api=api,
        dtype=dtype,
        num_beams=num_beams,
        normalise=normalise,
        cue=cue,
    )
    return GraderChoice(grader_name, parameters | dict(map(_parse_setting, settings)), examples)


def _parse_setting(text: str) -> tuple[str, Any]:
    """Return name and value of NAME=VALUE; the value is parsed as JSON if possible, else it is a
    text.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError("invalid-setting", f"Invalid setting '{text}'.", "Use NAME=VALUE.")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


GraderOptions = Annotated[GraderChoice, GatheredOptions(_grader_options)]
