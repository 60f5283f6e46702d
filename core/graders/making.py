"""Putting method, model and prompt together into a grader that reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, get_args

from core.errors import InputError
from core.graders.endpoint.chat import Api
from core.graders.local.loading import has_chat_template, resolved_dtype
from core.graders.prompts.prompt import Prompt, variables
from core.graders.reading.calls import BackEnd, Per
from core.graders.reading.grader import Method, ReadingGrader
from core.graders.reading.methods import (
    Check,
    answer,
    choice_by_letter,
    choice_by_likelihood,
    direct,
    extractive,
    self_rating,
    verify_check,
    word_match_check,
)
from core.graders.reading.parameter_types import check_types
from core.graders.reading.parsing import RULES_VERSION
from core.types import GraderSpec, Kind

Parameters = Mapping[str, Any]
Value = TypeVar("Value", bound=str)

BACK_ENDS = ("transformers", "openai")
CHECKS = ("words", "model")
CHOICES_BY = ("likelihood", "letter")
APIS: tuple[Api, ...] = get_args(Api)
NORMALISATIONS: tuple[Per, ...] = get_args(Per)
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

LOCAL_SETTINGS = ("revision", "device", "max_tokens_in")
ENDPOINT_SETTINGS = (
    "base_url",
    "key_variable",
    "structured",
    "timeout_s",
    "attempts",
    "max_tokens_in",
    "temperature",
    "extra",
    "api",
)
IDENTIFYING = ("dtype", "max_tokens_in", "structured", "temperature", "extra", "num_beams", "normalise", "api")
"""Settings that can change a rating, beside the model whose name has its revision in it. Where it runs and how
patient one is with it cannot."""
USUAL = {"dtype": "float32", "num_beams": 1, "normalise": "tokens", "api": "chat"}
"""What goes without saying in a fingerprint: how graders work that do not know of the setting, so that their grades
are found again."""

CUES = {"rating": "Rating:"}
"""How a prompt ends for a model that only goes on from what it reads, by the form of the answer; else `CUE`."""
CUE = "Answer:"
LONGEST_CUE = 80
"""Characters."""

READ_BY_RULES = ("self-rating", "answer", "direct")
"""Kinds whose ratings hang on `parsing.RULES_VERSION`, beside `extractive`; a choice has its letter or likelihood."""


def make_reading_grader(kind: str, parameters: Parameters, prompts: Mapping[str, Prompt]) -> ReadingGrader:
    """Make a grader of a kind from parameters; no model is loaded yet.

    Raises:
        InputError: a parameter that is no choice or of another kind, a prompt that is not there or serves another use.
    """
    check_types(parameters)
    if kind == "extractive":
        return _extractive(parameters, prompts)
    where = back_end_name(parameters)
    own: dict[str, Any] = {"back_end": where}
    if parameters.get("fence", where == "openai"):
        own["fence"] = True
    fence = bool(own.get("fence"))
    by = None
    if kind == "choice":
        by = _one_of(parameters, "by", CHOICES_BY, "likelihood" if where == "transformers" else "letter")
        name = parameters.get("prompt") or ("choice-likelihood" if by == "likelihood" else "choice")
    else:
        name = parameters.get("prompt") or DEFAULT_PROMPTS[kind, where]
    _refuse_what_does_nothing(parameters, where, by)
    prompt = _prompt(prompts, name, kind)
    cue, cue_is_sure = _cue(parameters, where, prompt)
    ended = _ended(prompt, cue)
    kinds: tuple[Kind, ...] = prompt.kinds
    if kind == "choice":
        own["by"], own["reads"] = by, ["answer_key", "choices"]
        kinds = ("choice",)
        if by == "likelihood":
            per = _one_of(parameters, "normalise", NORMALISATIONS, "tokens")
            method: Method = partial(choice_by_likelihood, prompt=ended, fence=fence, per=per)
        else:
            method = partial(choice_by_letter, prompt=ended, fence=fence)
    elif kind == "answer":
        check, own_check = _check(parameters, prompts, fence, cue)
        own |= own_check | {"reads": ["answer_key"]}
        method = partial(answer, prompt=ended, fence=fence, check=check)
    elif kind == "direct":
        if "answer" in variables(prompt) or "correct_answer" in variables(prompt):
            own["reads"] = ["answer_key"]
        method = partial(direct, prompt=ended, fence=fence)
    else:
        method = partial(self_rating, prompt=ended, fence=fence)
    if kind in READ_BY_RULES:
        own["reading"] = RULES_VERSION
    if ended is not prompt:
        own["cue"] = cue
    back_end, model = make_back_end(parameters, must_chat=not cue_is_sure)
    spec = GraderSpec(
        name=f"{_TITLES[kind]} {_of(kind, prompt, parameters)}({_short(model)})",
        method=kind,
        model=model,
        prompt=prompt.name,
        prompt_hash=prompt.hash,
        parameters=own | _identifying(parameters, where),
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
    from core.graders.local.back_end import ExtractiveBackEnd, model_identity

    verified_at = back_end_name({**parameters, "back_end": parameters.get("verify_back_end")})
    check, own = _check(parameters, prompts, fence=verified_at == "openai")
    dtype = _dtype(parameters)
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
            "dtype": dtype,
        }
        other, own["verify_model"] = make_back_end({name: value for name, value in verifier.items() if value})
        if dtype != USUAL["dtype"] and back_end_name(verifier) == "transformers":
            own["verify_dtype"] = dtype
    settings = {name: parameters[name] for name in LOCAL_SETTINGS if parameters.get(name) is not None}
    spec = GraderSpec(
        name=f"Extractive checked by {'a model' if own['check'] == 'model' else 'words'} ({_short(identity)})",
        method="extractive",
        model=identity,
        parameters={"back_end": "transformers", "reads": ["answer_key"], "reading": RULES_VERSION}
        | own
        | _identifying(parameters, "transformers"),
        kinds=("question", "choice"),
        max_rating=1,
    )
    prompt = _prompt(prompts, "answer", "answer")
    back_end = ExtractiveBackEnd(model, **settings, dtype=dtype, other=other)
    return ReadingGrader(spec, partial(extractive, prompt=prompt, check=check), back_end, by_passage=True)


def back_end_name(parameters: Parameters) -> str:
    """The back end that parameters mean: what they say, else an endpoint where they give an address."""
    return _one_of(parameters, "back_end", BACK_ENDS, "openai" if parameters.get("base_url") else "transformers")


def make_back_end(parameters: Parameters, must_chat: bool = False) -> tuple[BackEnd, str]:
    """A model from its settings, with the name that identifies it; nothing is loaded yet.

    Args:
        parameters: the settings by name.
        must_chat: whether a causal model on this computer is refused where it turns out to have no chat template.

    Raises:
        InputError: no model is named, or a setting makes no sense.
    """
    model = str(parameters.get("model") or "").strip()
    if back_end_name(parameters) == "openai":
        from core.graders.endpoint.back_end import EndpointBackEnd

        if not model:
            raise InputError("No model is named.", "Say which model the endpoint shall use.")
        settings = {name: parameters[name] for name in ENDPOINT_SETTINGS if parameters.get(name) not in (None, "")}
        return EndpointBackEnd(model, **settings), model
    from core.graders.local.back_end import TransformersBackEnd, model_identity

    names = (*LOCAL_SETTINGS, "num_beams")
    settings = {name: parameters[name] for name in names if parameters.get(name) not in (None, "")}
    back_end = TransformersBackEnd(model or LOCAL_MODEL, **settings, dtype=_dtype(parameters), must_chat=must_chat)
    return back_end, model_identity(model or LOCAL_MODEL, parameters.get("revision"))


def _dtype(parameters: Parameters) -> str:
    """The number format of a model on this computer: one of them is one fingerprint."""
    return resolved_dtype(parameters.get("device") or "auto", parameters.get("dtype") or "auto")


def _refuse_what_does_nothing(parameters: Parameters, where: str, by: str | None) -> None:
    """Refuse a setting that would be part of the fingerprint and change no grade."""
    idle = {
        "num_beams": (where == "openai" or by == "likelihood", "it is for models on this computer that write"),
        "normalise": (by != "likelihood", "it is for a choice by likelihood"),
        "api": (where != "openai", "it is for an endpoint"),
    }
    for name, (is_idle, reason) in idle.items():
        if is_idle and parameters.get(name) not in (None, "", USUAL[name]):
            raise InputError(f"{name} would do nothing here: {reason}.", f"Leave {name} out.")


def _cue(parameters: Parameters, where: str, prompt: Prompt) -> tuple[str, bool]:
    """The last line that prompts get which have none for the answer to follow, and whether that is sure.

    Models that only go on from what they read would go on with the passage where it is the last. It cannot be told
    of a model that was never fetched: it gets no such line, and is refused should it turn out to need one.
    """
    given = parameters.get("cue") or "auto"
    if not isinstance(given, str) or len(given) > LONGEST_CUE or set(given) & set("{}\n\r"):
        raise InputError("cue is no line of text.", f"Use auto, none, or a short line such as {CUE}")
    if given != "auto":
        return ("" if given == "none" else given.strip()), True
    usual = CUES.get(prompt.form, CUE)
    if where == "openai":
        return (usual if parameters.get("api") == "completions" else ""), True
    chats = has_chat_template(str(parameters.get("model") or "").strip() or LOCAL_MODEL, parameters.get("revision"))
    return (usual if chats is False else ""), chats is not None


def _ended(prompt: Prompt, cue: str) -> Prompt:
    """The prompt with the cue as its last line, unless it ends in one of its own."""
    if not cue or prompt.template.rstrip().endswith(":"):
        return prompt
    return replace(prompt, template=f"{prompt.template.rstrip()}\n{cue}")


def _check(
    parameters: Parameters, prompts: Mapping[str, Prompt], fence: bool, cue: str = ""
) -> tuple[Check, dict[str, Any]]:
    """How answers are checked, and what of that identifies the grader.

    Args:
        fence: whether the answer is fenced off for the model that checks it, where `verify_fence` does not say.
        cue: as `_cue` gives it.
    """
    check = _one_of(parameters, "check", CHECKS, "words")
    if check == "words":
        return word_match_check, {"check": check}
    prompt = _prompt(prompts, parameters.get("verify_prompt") or "verify", "verify")
    own: dict[str, Any] = {"check": check, "verify_prompt": prompt.name, "verify_prompt_hash": prompt.hash}
    fence = bool(parameters.get("verify_fence", fence))
    if fence:
        # Earlier versions had no fence there, so that it does not go without saying: their grades are theirs.
        own["verify_fence"] = True
    return partial(verify_check, prompt=_ended(prompt, cue), fence=fence), own


def _identifying(parameters: Parameters, where: str) -> dict[str, Any]:
    given = {name: parameters[name] for name in IDENTIFYING if parameters.get(name) not in (None, "", "auto")}
    if where == "transformers":
        given["dtype"] = _dtype(parameters)
    return {name: value for name, value in given.items() if value != USUAL.get(name)}


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


def _one_of(parameters: Parameters, name: str, values: tuple[Value, ...], default: Value) -> Value:
    value = parameters.get(name) or default
    if value not in values:
        raise InputError(f"{name} is '{value}'.", f"Use {' or '.join(values)}.")
    return values[values.index(value)]


def _passage_first(prompt: Prompt) -> bool:
    names = variables(prompt)
    return "context" in names and names.index("context") == 0


def _short(model: str) -> str:
    return model.rsplit("/", 1)[-1].split("@", 1)[0]
