"""Kinds of graders by name, and how to make a grader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..errors import GradingError, InputError, unknown_name
from ..types import GraderSpec
from ._grader_construction import (
    Parameters,
    Reading,
    answer_tells,
    choice_by,
    make_extractive,
    make_reading_grader,
    plainly,
    prepare_answer,
    prepare_choice,
    prepare_direct,
)
from ._grader_interface import Grader
from ._prompts.prompt import Prompt, built_in
from ._reading.grading_methods import self_rating, support

Prompts = Mapping[str, Prompt]


@dataclass(frozen=True)
class GraderKind:
    """A method of grading that a person can choose.

    Args:
        name: its name in commands and in the activity log.
        title: its name on screens.
        about: its abilities and limits, in one sentence.
        make: builds a grader from parameters (JSON values by name) and the available prompts. Raises InputError for
            unknown parameters. Models load at the first grade, not here.
        settable: names of the parameters that `make` accepts.
        reading: how its model reads; None for other methods.
    """

    name: str
    title: str
    about: str
    make: Callable[[Parameters, Prompts], Grader]
    settable: tuple[str, ...] = ()
    reading: Reading | None = None


def _make_embedding(parameters: Parameters, prompts: Prompts) -> Grader:
    from ._embedding.embedding_grader import EmbeddingGrader

    return EmbeddingGrader(**parameters)


def _make_citation_similarity(parameters: Parameters, prompts: Prompts) -> Grader:
    from ._embedding.embedding_grader import CitationSimilarity

    return CitationSimilarity(**parameters)


MODEL = ("model", "back_end", "max_tokens_in")
LOCAL = ("revision", "device", "dtype")
WRITING = ("num_beams", "cue")
ENDPOINT = (
    *("base_url", "key_variable", "api", "structured", "timeout_s", "attempts", "temperature", "extra"),
    *("thinking_tokens", "edition"),
)
CHECK = ("check", "verify_prompt", "verify_fence")
UNSAID = {"dtype": "float32", "cue": "none", "verify_fence": False}
"""Values that a fingerprint implies if it lacks these settings, whose present defaults depend on the computer."""


def _reader(title: str, about: str, reading: Reading, *more: str) -> GraderKind:
    """Return a kind in which a model reads, with the common parameters and further ones."""
    settable = (*MODEL, *LOCAL, *WRITING, *ENDPOINT, "prompt", "fence", *more)
    return GraderKind(reading.name, title, about, partial(make_reading_grader, reading), settable, reading)


_KINDS = (
    GraderKind(
        "embedding",
        "Embedding (MiniLM)",
        "A small model on this computer rates how similar the meanings of passage and question are. It needs no key "
        "and no network. It cannot tell a right answer from a wrong one on the same subject.",
        _make_embedding,
        ("cuts",),
    ),
    _reader(
        "Self-rating",
        "A language model reads the passage and rates from 0 to 5 how well it answers the question.",
        Reading(
            "self-rating",
            "Self-rating",
            {"transformers": "self-rating", "openai": "self-rating-chat"},
            plainly(self_rating),
        ),
    ),
    _reader(
        "Answer and check",
        "A language model extracts an answer, which is then compared with the answer key. The rating is 1 for right "
        "and 0 for wrong. Questions without an answer key are left out.",
        Reading(
            "answer",
            "Answer",
            {"transformers": "answer", "openai": "answer"},
            prepare_answer,
            tells=answer_tells,
            top=1,
        ),
        *CHECK,
    ),
    GraderKind(
        "extractive",
        "Extractive answer and check",
        "A model tuned on SQuAD2 marks the answer in the passage, or reports that there is none. The answer "
        "is compared with the answer key. Questions without an answer key are left out.",
        make_extractive,
        (*MODEL, *LOCAL, *CHECK, "verify_model", "verify_back_end", "base_url", "key_variable"),
    ),
    _reader(
        "Multiple choice",
        "A language model reads the passage and picks a choice: the likeliest one, or the letter that it writes. The "
        "rating is 1 for the right choice, else 0. Questions without choices are left out.",
        Reading(
            "choice",
            "Multiple choice",
            {"likelihood": "choice-likelihood", "letter": "choice"},
            prepare_choice,
            variant=choice_by,
            kinds=("choice",),
            top=1,
            by_rules=False,
        ),
        "by",
        "normalise",
    ),
    _reader(
        "Direct judge",
        "A language model rates the passage against the query, without questions, on the scale of its prompt. The "
        "rating is the label.",
        Reading(
            "direct",
            "Judge",
            {"transformers": "Thomas", "openai": "Thomas"},
            prepare_direct,
            tells=lambda prompt, parameters: prompt.name,
        ),
    ),
    GraderKind(
        "support-embedding",
        "Citation similarity (MiniLM)",
        "A small model on this computer rates from 0 to 2 how similar a sentence of a response and a passage that it "
        "cites are. It needs no key and no network. It does not read: a wrong fact looks supported if the subject is "
        "the same.",
        _make_citation_similarity,
        ("cuts",),
    ),
    _reader(
        "Citation support",
        "A language model rates from 0 to 2 how much of a sentence of a response each passage supports that the "
        "sentence cites: none, partial or full support.",
        Reading(
            "support",
            "Citation support",
            {"transformers": "support", "openai": "support"},
            plainly(support),
        ),
    ),
)

GRADERS: dict[str, GraderKind] = {kind.name: kind for kind in _KINDS}


def usual_prompt(name: str, parameters: Parameters) -> str:
    """Return the default prompt of a kind of grader that reads.

    Raises:
        InputError: no kind of this name has prompts to choose from.
    """
    kind = GRADERS.get(name)
    if kind is None or kind.reading is None:
        raise InputError("unknown-method", f"The grader {name!r} has no prompts to choose from.")
    return kind.reading.usual_prompt(parameters)


def make_grader(name: str, parameters: Parameters, prompts: Prompts | None = None) -> Grader:
    """Make a grader by name.

    Args:
        name: a key of `GRADERS`.
        parameters: its parameters by name; empty for the defaults.
        prompts: the prompts to choose from; None for the built-in ones.

    Returns:
        The grader; no model is loaded yet.

    Raises:
        InputError: the name is unknown, or a parameter is unknown or out of range.
    """
    kind = GRADERS.get(name)
    if kind is None:
        raise unknown_name("unknown-method", "grader", name, sorted(GRADERS))
    strange = sorted(set(parameters) - set(kind.settable))
    if strange:
        raise InputError(
            "unknown-parameter",
            f"Unknown parameter of the grader {name}: {', '.join(map(repr, strange))}.",
            f"Available: {', '.join(kind.settable)}.",
        )
    return kind.make(parameters, built_in() if prompts is None else prompts)


def remade_from(spec: GraderSpec, prompts: Prompts | None = None) -> dict[str, Any] | None:
    """Return the parameters from which a grader can be made again, derived from its stored identity.

    Returns:
        Parameters that make a grader with the same fingerprint, together with `spec.method`. None if its grades were
        imported, its model has changed, or its identity does not include the location of its model.
    """
    kind = GRADERS.get(spec.method)
    if kind is None or spec.parameters.get("back_end") == "openai":
        # The address of an endpoint is not part of the identity, and texts must not be sent to another one.
        return None
    model, _, revision = spec.model.partition("@")
    if revision.startswith("sha256:") and spec.parameters.get("back_end"):
        # A folder is identified by its content, not by its path.
        return None
    stored = {"model": model, "revision": revision, "prompt": spec.prompt} | UNSAID | spec.parameters
    stored |= {name: bool(stored[name]) for name in ("fence", "verify_fence") if name in stored}
    parameters = {name: stored[name] for name in kind.settable if stored.get(name) not in (None, "")}
    try:
        grader = make_grader(spec.method, parameters, prompts)
    except (GradingError, InputError):
        # A prompt or folder is missing, so the grader cannot be made.
        return None
    return parameters if spec.fingerprint in grader.spec.fingerprints else None
