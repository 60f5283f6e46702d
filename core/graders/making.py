"""Putting method, model and prompt together into a grader that reads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from core.errors import InputError
from core.graders import methods
from core.graders.calls import BackEnd
from core.graders.reading import Method, ReadingGrader
from core.parsing import READING
from core.prompts import Prompt, variables
from core.types import GraderSpec, Kind

Parameters = Mapping[str, Any]

BACK_ENDS = ("transformers", "openai")
CHECKS = ("words", "model")
CHOICES_BY = ("likelihood", "letter")
EXTRACTIVE_MODEL = "sjrhuschlee/flan-t5-large-squad2"
LOCAL_MODEL = "google/flan-t5-large"
"""The papers' model (exam-plus-plus, section 5.1)."""

DEFAULT_PROMPTS = {
    ("self-rating", "transformers"): "self-rating",
    ("self-rating", "openai"): "self-rating-chat",
    ("answer", "transformers"): "answer",
    ("answer", "openai"): "answer",
    ("direct", "transformers"): "Thomas",
    ("direct", "openai"): "Thomas",
}
"""The prompt where nobody chooses one, by kind of grader and back end."""

LOCAL_SETTINGS = ("revision", "device", "dtype", "max_tokens_in")
ENDPOINT_SETTINGS = (
    "base_url",
    "key_variable",
    "structured",
    "timeout_s",
    "attempts",
    "max_tokens_in",
    "temperature",
    "extra",
)
IDENTIFYING = ("dtype", "max_tokens_in", "structured", "temperature", "extra")
"""Settings that can change a rating, beside the model whose name has its revision in it. Where it runs and how
patient one is with it cannot."""

READ_BY_RULES = ("self-rating", "answer", "direct")
"""Kinds whose ratings hang on `parsing.READING`, beside `extractive`; a choice is read by its letter or likelihood."""


def make_reading_grader(kind: str, parameters: Parameters, prompts: Mapping[str, Prompt]) -> ReadingGrader:
    """Make a grader of a kind from parameters; no model is loaded yet.

    Raises:
        InputError: a parameter that is no choice, a prompt that is not there or serves another use.
    """
    if kind == "extractive":
        return _extractive(parameters, prompts)
    where = back_end_name(parameters)
    back_end, model = make_back_end(parameters)
    own: dict[str, Any] = {"back_end": where}
    if parameters.get("fence", where == "openai"):
        own["fence"] = True
    fence = bool(own.get("fence"))
    if kind == "choice":
        by = _one_of(parameters, "by", CHOICES_BY, "likelihood" if where == "transformers" else "letter")
        own["by"], own["reads"] = by, ["answer_key", "choices"]
        name = parameters.get("prompt") or ("choice-likelihood" if by == "likelihood" else "choice")
        prompt = _prompt(prompts, name, "choice")
        chosen = methods.choice_by_likelihood if by == "likelihood" else methods.choice_by_letter
        method: Method = partial(chosen, prompt=prompt, fence=fence)
        kinds: tuple[Kind, ...] = ("choice",)
    else:
        prompt = _prompt(prompts, parameters.get("prompt") or DEFAULT_PROMPTS[kind, where], kind)
        kinds = prompt.kinds
        if kind == "answer":
            check, own_check = _check(parameters, prompts)
            own |= own_check | {"reads": ["answer_key"]}
            method = partial(methods.answer, prompt=prompt, fence=fence, check=check)
        elif kind == "direct":
            if "answer" in variables(prompt) or "correct_answer" in variables(prompt):
                own["reads"] = ["answer_key"]
            method = partial(methods.direct, prompt=prompt, fence=fence)
        else:
            method = partial(methods.self_rating, prompt=prompt, fence=fence)
    if kind in READ_BY_RULES:
        own["reading"] = READING
    spec = GraderSpec(
        name=f"{_TITLES[kind]} {_of(kind, prompt, parameters)}({_short(model)})",
        method=kind,
        model=model,
        prompt=prompt.name,
        prompt_hash=prompt.hash,
        parameters=own | _identifying(parameters),
        kinds=kinds,
        max_rating=1 if kind in ("answer", "choice") else prompt.top,
    )
    return ReadingGrader(spec, method, back_end, _passage_first(prompt))


_PLAIN = ("self-rating", "self-rating-chat", "choice", "choice-likelihood")
"""Prompts that the name of a grader need not tell."""
_TITLES = {"self-rating": "Self-rating", "answer": "Answer", "choice": "Multiple choice", "direct": "Judge"}


def _of(kind: str, prompt: Prompt, parameters: Parameters) -> str:
    if kind == "answer":
        return "checked by a model " if parameters.get("check") == "model" else "checked by words "
    if kind == "direct":
        return f"{prompt.name} "
    return "" if prompt.name in _PLAIN else f"{prompt.name} "


def _extractive(parameters: Parameters, prompts: Mapping[str, Prompt]) -> ReadingGrader:
    from core.graders.local import ExtractiveBackEnd, model_identity

    check, own = _check(parameters, prompts)
    model = str(parameters.get("model") or EXTRACTIVE_MODEL)
    identity = model_identity(model, parameters.get("revision"))
    other = None
    if own["check"] == "model":
        verifier = {
            "model": parameters.get("verify_model") or LOCAL_MODEL,
            "back_end": parameters.get("verify_back_end"),
            "base_url": parameters.get("base_url"),
            "key_variable": parameters.get("key_variable"),
            "device": parameters.get("device"),
        }
        other, own["verify_model"] = make_back_end({name: value for name, value in verifier.items() if value})
    settings = {name: parameters[name] for name in LOCAL_SETTINGS if parameters.get(name) is not None}
    spec = GraderSpec(
        name=f"Extractive checked by {'a model' if own['check'] == 'model' else 'words'} ({_short(identity)})",
        method="extractive",
        model=identity,
        parameters={"back_end": "transformers", "reads": ["answer_key"], "reading": READING}
        | own
        | _identifying(parameters),
        kinds=("question", "choice"),
        max_rating=1,
    )
    prompt = _prompt(prompts, "answer", "answer")
    back_end = ExtractiveBackEnd(model, **settings, other=other)
    return ReadingGrader(spec, partial(methods.extractive, prompt=prompt, check=check), back_end, by_passage=True)


def back_end_name(parameters: Parameters) -> str:
    """The back end that parameters mean: what they say, else an endpoint where they give an address."""
    return _one_of(parameters, "back_end", BACK_ENDS, "openai" if parameters.get("base_url") else "transformers")


def make_back_end(parameters: Parameters) -> tuple[BackEnd, str]:
    """A model from its settings, with the name that identifies it; nothing is loaded yet.

    Raises:
        InputError: no model is named, or a setting makes no sense.
    """
    model = str(parameters.get("model") or "").strip()
    if back_end_name(parameters) == "openai":
        from core.graders.endpoint import EndpointBackEnd

        if not model:
            raise InputError("No model is named.", "Say which model the endpoint shall use.")
        settings = {name: parameters[name] for name in ENDPOINT_SETTINGS if parameters.get(name) not in (None, "")}
        return EndpointBackEnd(model, **settings), model
    from core.graders.local import TransformersBackEnd, model_identity

    settings = {name: parameters[name] for name in LOCAL_SETTINGS if parameters.get(name) not in (None, "")}
    return TransformersBackEnd(model or LOCAL_MODEL, **settings), model_identity(
        model or LOCAL_MODEL, parameters.get("revision")
    )


def _check(parameters: Parameters, prompts: Mapping[str, Prompt]) -> tuple[methods.Check, dict[str, Any]]:
    """How answers are checked, and what of that identifies the grader."""
    check = _one_of(parameters, "check", CHECKS, "words")
    if check == "words":
        return methods.word_match_check, {"check": check}
    prompt = _prompt(prompts, parameters.get("verify_prompt") or "verify", "verify")
    own = {"check": check, "verify_prompt": prompt.name, "verify_prompt_hash": prompt.hash}
    return partial(methods.verify_check, prompt=prompt), own


def _identifying(parameters: Parameters) -> dict[str, Any]:
    return {name: parameters[name] for name in IDENTIFYING if parameters.get(name) not in (None, "", "auto")}


KNOWN = {
    "self-rating": ("question", "context"),
    "answer": ("question", "context"),
    "choice": ("question", "context", "choices"),
    "direct": ("query_title", "context", "correct_answer"),
    "verify": ("question", "correct_answer", "answer"),
}
"""What can stand in a prompt, by its use: a grade is about these texts and no others."""


def _prompt(prompts: Mapping[str, Prompt], name: str, use: str) -> Prompt:
    prompt = prompts.get(name)
    if prompt is None or prompt.use != use:
        fitting = ", ".join(sorted(p.name for p in prompts.values() if p.use == use))
        what = f"There is no prompt '{name}'" if prompt is None else f"The prompt '{name}' is for {prompt.use}"
        raise InputError(f"{what}.", f"For {use} there are: {fitting}.")
    if unknown := [name for name in variables(prompt) if name not in KNOWN[use]]:
        raise InputError(
            f"The prompt '{prompt.name}' has {{{unknown[0]}}}, which a grade is not about.",
            f"For {use} it may have: {', '.join(KNOWN[use])}.",
        )
    return prompt


def _one_of(parameters: Parameters, name: str, values: tuple[str, ...], default: str) -> str:
    value = parameters.get(name) or default
    if value not in values:
        raise InputError(f"{name} is '{value}'.", f"Use {' or '.join(values)}.")
    return str(value)


def _passage_first(prompt: Prompt) -> bool:
    names = variables(prompt)
    return "context" in names and names.index("context") == 0


def _short(model: str) -> str:
    return model.rsplit("/", 1)[-1].split("@", 1)[0]
