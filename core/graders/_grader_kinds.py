"""Kinds of graders by name, and their construction from method, model, prompt and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from ..choices import BACK_ENDS, NORMALISATIONS
from ..errors import GradingError, InputError, check_known
from ..types import GraderSpec, Kind
from ._access import current_access
from ._grader_interface import Grader
from ._local.loading import has_chat_template, model_identity, resolved_dtype
from ._local.transformers_back_end import ExtractiveBackEnd, TransformersBackEnd
from ._prompts.prompt import USES, Prompt, built_in_prompts, fence_mark, prompt_variables
from ._reading.calls import BackEnd, Method, ReadingGrader, Sampling, Steps
from ._reading.grading_methods import (
    Check,
    answer_and_check,
    choice_by_letter,
    choice_by_likelihood,
    extract_and_check,
    rate_directly,
    self_rating,
    verify_check,
    word_match_check,
)
from ._reading.parsing import RULES_VERSION

Parameters = Mapping[str, Any]
Value = TypeVar("Value", bound=str)

CHECKS = ("words", "edit-distance", "model")
"""Ways to check answers: by words, by the paper's rule for words alone, or by a model."""
CHOICES_BY = ("likelihood", "letter")
EXTRACTIVE_MODEL = "sjrhuschlee/flan-t5-large-squad2"
LOCAL_MODEL = "google/flan-t5-large"
"""The papers' model (exam-plus-plus, section 5.1)."""

LOCAL_SETTINGS = ("revision", "device", "max_tokens_in")
ENDPOINT_SETTINGS = (
    *(
        "base_url",
        "key_variable",
        "api",
        "structured",
        "timeout_s",
        "attempts",
        "temperature",
        "extra",
    ),
    *("thinking_tokens", "max_tokens_in"),
)
IDENTIFYING = (
    *(
        "dtype",
        "max_tokens_in",
        "structured",
        "temperature",
        "extra",
        "num_beams",
        "normalise",
        "api",
    ),
    *("thinking_tokens", "edition"),
)
"""Settings that can change a rating, in addition to the model, whose name has its revision.

Device and timeouts cannot change it.
"""
USUAL = {
    "dtype": "float32",
    "num_beams": 1,
    "normalise": "tokens",
    "api": "chat",
    "thinking_tokens": 0,
    "edition": 1,
}
"""Defaults that fingerprints omit: graders of earlier versions work like this, so their grades are
found again.
"""

CUES = {"rating": "Rating:"}
"""Last line of a prompt for a model that only continues text, by the form of the answer; else
`CUE`.
"""
CUE = "Answer:"
LONGEST_CUE = 80
"""In characters."""


@dataclass(frozen=True)
class Setting:
    """Input for the steps of a reading grader.

    Args:
        parameters: the given parameters.
        prompts: the available prompts.
        prompt: the prompt in use, with the cue as its last line if it needs one.
        fence: whether to mark the passage as data.
        cue: last line of further prompts that need one.
        variant: result of `ReadingMethod.variant`.
    """

    parameters: Parameters
    prompts: Mapping[str, Prompt]
    prompt: Prompt
    fence: bool
    cue: str
    variant: str


@dataclass(frozen=True)
class ReadingMethod:
    """Specification of a grading method in which a model reads.

    Args:
        name: name of the kind of grader, and use of its prompts.
        title: beginning of the names of its graders.
        prompts: default prompts by variant.
        prepare: returns the steps of a pair, and further facts that identify the grader.
        variant: variant of the method, from the parameters and the back end; by default the back
            end.
        tells: middle part of a grader's name; None for the prompt's name if it is not the default.
        kinds: kinds of questions that it grades; None for those of its prompt.
        top: highest rating; None for that of its prompt's scale.
        by_rules: whether its ratings depend on `parsing.RULES_VERSION`.
    """

    name: str
    title: str
    prompts: Mapping[str, str]
    prepare: Callable[[Setting], tuple[Method, dict[str, Any]]]
    variant: Callable[[Parameters, str], str] = lambda parameters, where: where
    tells: Callable[[Prompt, Parameters], str] | None = None
    kinds: tuple[Kind, ...] | None = None
    top: int | None = None
    by_rules: bool = True


def make_reading_grader(
    reading: ReadingMethod, parameters: Parameters, prompts: Mapping[str, Prompt]
) -> ReadingGrader:
    """Make a grader that reads, from parameters; no model is loaded yet.

    Raises:
        InputError: a parameter has an invalid value or type, or the prompt is unknown or has
            another use.
    """
    check_types(parameters)
    where = back_end_name(parameters)
    own: dict[str, Any] = {"back_end": where}
    fence = bool(parameters.get("fence", where == "openai"))
    variant = reading.variant(parameters, where)
    _refuse_unused_settings(parameters, where, variant)
    prompt = _find_prompt(
        prompts, parameters.get("prompt") or reading.prompts[variant], reading.name
    )
    if fence:
        own["fence"] = fence_mark(prompt, fence)
    cue, cue_is_sure = _choose_cue(parameters, where, prompt)
    ended = _add_cue(prompt, cue)
    method, more = reading.prepare(Setting(parameters, prompts, ended, fence, cue, variant))
    own |= more
    if reading.by_rules:
        own["reading"] = RULES_VERSION
    if ended is not prompt:
        own["cue"] = cue
    back_end, model = make_back_end(parameters, must_chat=not cue_is_sure)
    if reading.tells is not None:
        name_part = reading.tells(prompt, parameters)
    else:
        name_part = "" if prompt.name in reading.prompts.values() else prompt.name
    edition = f"edition {number}" if (number := parameters.get("edition") or 1) != 1 else ""
    spec = GraderSpec(
        name=" ".join(
            filter(None, (reading.title, name_part, f"({short_model_name(model)})", edition))
        ),
        method=reading.name,
        model=model,
        prompt=prompt.name,
        prompt_hash=prompt.hash,
        parameters=own | _identifying_settings(parameters, where),
        kinds=reading.kinds or prompt.kinds,
        max_rating=reading.top or prompt.top,
    )
    return ReadingGrader(spec, method, back_end, _passage_first(prompt, fence))


def prepare_with_prompt(
    method: Callable[..., Steps],
) -> Callable[[Setting], tuple[Method, dict[str, Any]]]:
    """Return the `prepare` of a method whose steps need only the prompt and the fence."""
    return lambda setting: (partial(method, prompt=setting.prompt, fence=setting.fence), {})


def prepare_answer(setting: Setting) -> tuple[Method, dict[str, Any]]:
    """Return the steps in which a model answers, with the check of the answer."""
    check, own = _make_check(setting.parameters, setting.prompts, setting.fence, setting.cue)
    own["reads"] = ["answer_key"]
    return partial(answer_and_check, prompt=setting.prompt, fence=setting.fence, check=check), own


def answer_check_note(prompt: Prompt, parameters: Parameters) -> str:
    return "checked by a model" if parameters.get("check") == "model" else "checked by words"


def choice_by(parameters: Parameters, where: str) -> str:
    """Return how a choice is made: by the likelihood of each, or by the letter that the model
    writes.
    """
    return _one_of(parameters, "by", CHOICES_BY, "letter" if where == "openai" else "likelihood")


def prepare_choice(setting: Setting) -> tuple[Method, dict[str, Any]]:
    """Return the steps in which a model chooses, by likelihood or by letter."""
    own = {"by": setting.variant, "reads": ["answer_key", "choices"]}
    if setting.variant == "letter":
        return partial(choice_by_letter, prompt=setting.prompt, fence=setting.fence), own
    per = _one_of(setting.parameters, "normalise", NORMALISATIONS, "tokens")
    return partial(choice_by_likelihood, prompt=setting.prompt, fence=setting.fence, per=per), own


def prepare_direct(setting: Setting) -> tuple[Method, dict[str, Any]]:
    """Return the steps that grade a passage for the query, with the correct answer if the prompt
    has a variable for it."""
    reads = not {"answer", "correct_answer"}.isdisjoint(prompt_variables(setting.prompt))
    return partial(rate_directly, prompt=setting.prompt, fence=setting.fence), {
        "reads": ["answer_key"]
    } if reads else {}


def make_extractive(parameters: Parameters, prompts: Mapping[str, Prompt]) -> ReadingGrader:
    """Make a grader that marks answers in passages and checks them; no model is loaded yet.

    Raises:
        InputError: a parameter has an invalid value or type, or the prompt is unknown or has
            another use.
    """
    check_types(parameters)
    verified_at = back_end_name({**parameters, "back_end": parameters.get("verify_back_end")})
    check, own = _make_check(parameters, prompts, fence=verified_at == "openai")
    dtype = _number_format(parameters)
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
        other, own["verify_model"] = make_back_end(
            {name: value for name, value in verifier.items() if value}
        )
        if dtype != USUAL["dtype"] and back_end_name(verifier) != "openai":
            own["verify_dtype"] = dtype
    settings = {
        name: parameters[name] for name in LOCAL_SETTINGS if parameters.get(name) is not None
    }
    spec = GraderSpec(
        name=f"Extractive checked by {'a model' if own['check'] == 'model' else 'words'} "
        f"({short_model_name(identity)})",
        method="extractive",
        model=identity,
        parameters={"back_end": "transformers", "reads": ["answer_key"], "reading": RULES_VERSION}
        | own
        | _identifying_settings(parameters, "transformers"),
        kinds=("question", "choice"),
        max_rating=1,
    )
    prompt = _find_prompt(prompts, "answer", "answer")
    back_end = ExtractiveBackEnd(model, **settings, dtype=dtype, other=other)
    return ReadingGrader(
        spec, partial(extract_and_check, prompt=prompt, check=check), back_end, by_passage=True
    )


def back_end_name(parameters: Parameters) -> str:
    """Return the back end that parameters name, or else an endpoint if they have an address.

    Raises:
        InputError: the back end is unknown, or is vLLM in the process, which was removed.
    """
    if parameters.get("back_end") == "vllm":
        raise InputError(
            "back-end-removed",
            "The back end 'vllm' was removed. Its grades are kept.",
            "Use vLLM's server with --back-end openai --base-url http://localhost:8000/v1, or"
            " write a plan with exam"
            " plan --back-end openai -o FILE.parquet and run exam grade-plan on a Ray cluster.",
        )
    return _one_of(
        parameters,
        "back_end",
        BACK_ENDS,
        "openai" if parameters.get("base_url") else "transformers",
    )


def make_back_end(
    parameters: Parameters, must_chat: bool = False, sampling: Sampling | None = None
) -> tuple[BackEnd, str]:
    """Return a model from its settings, and the name that identifies it; nothing is loaded yet.

    Args:
        parameters: the settings by name.
        must_chat: whether a local causal model is refused if it turns out to have no chat template.
        sampling: sampling of the written text, which overrides a temperature in the settings; None
            for the settings. A server that accepts no further request fields from a person gets no
            seed.

    Raises:
        InputError: the model of an endpoint has no name, or a setting is invalid.
    """
    model = str(parameters.get("model") or "").strip()
    if back_end_name(parameters) == "openai":
        from ._endpoint.endpoint_back_end import EndpointBackEnd

        settings = {
            name: parameters[name]
            for name in ENDPOINT_SETTINGS
            if parameters.get(name) not in (None, "")
        }
        if sampling is not None:
            settings["temperature"] = sampling.temperature
            if sampling.seed is not None and current_access().any_address:
                settings["extra"] = {**settings.get("extra", {}), "seed": sampling.seed}
        return EndpointBackEnd(model, **settings), model
    names = (*LOCAL_SETTINGS, "num_beams")
    settings = {name: parameters[name] for name in names if parameters.get(name) not in (None, "")}
    back_end = TransformersBackEnd(
        model or LOCAL_MODEL,
        **settings,
        dtype=_number_format(parameters),
        must_chat=must_chat,
        sampling=sampling,
    )
    return back_end, model_identity(model or LOCAL_MODEL, parameters.get("revision"))


def _number_format(parameters: Parameters) -> str:
    """Return the number format of a local model. Each format has its own fingerprint."""
    return resolved_dtype(parameters.get("device") or "auto", parameters.get("dtype") or "auto")


def _refuse_unused_settings(parameters: Parameters, where: str, variant: str) -> None:
    """Refuse a setting that would change the fingerprint but no grade."""
    idle = {
        "num_beams": (
            where != "transformers" or variant == "likelihood",
            "it applies only to models on this computer that write text",
        ),
        "normalise": (variant != "likelihood", "it applies only to a choice by likelihood"),
        "api": (where != "openai", "it applies only to endpoints"),
        "thinking_tokens": (where != "openai", "it applies only to endpoints"),
        "edition": (where != "openai", "it applies only to endpoints"),
    }
    for name, (is_idle, reason) in idle.items():
        if is_idle and parameters.get(name) not in (None, "", USUAL.get(name, "auto")):
            raise InputError(
                "useless-parameter", f"{name} has no effect here: {reason}.", f"Leave {name} out."
            )


def _choose_cue(parameters: Parameters, where: str, prompt: Prompt) -> tuple[str, bool]:
    """Return the last line for prompts that do not end in one, and whether the choice is certain.

    A model that only continues text would continue a passage at the end of its prompt. Without a
    local copy of the model its type is unknown: it gets no such line, and is refused later if it
    needs one.
    """
    cue = parameters.get("cue") or "auto"
    if not isinstance(cue, str) or len(cue) > LONGEST_CUE or set(cue) & set("{}\n\r"):
        raise InputError(
            "invalid-cue",
            "Invalid cue: it is not one short line of text.",
            f"Use auto, none, or a short line such as {CUE}",
        )
    if cue != "auto":
        return ("" if cue == "none" else cue.strip()), True
    usual = CUES.get(prompt.form, CUE)
    if where == "openai":
        return (usual if parameters.get("api") == "completions" else ""), True
    chats = has_chat_template(
        str(parameters.get("model") or "").strip() or LOCAL_MODEL, parameters.get("revision")
    )
    return (usual if chats is False else ""), chats is not None


def _add_cue(prompt: Prompt, cue: str) -> Prompt:
    """Return the prompt with the cue as its last line, unless it ends in a cue of its own."""
    if not cue or prompt.template.rstrip().endswith(":"):
        return prompt
    return replace(prompt, template=f"{prompt.template.rstrip()}\n{cue}")


def _make_check(
    parameters: Parameters, prompts: Mapping[str, Prompt], fence: bool, cue: str = ""
) -> tuple[Check, dict[str, Any]]:
    """Return the check of answers, and the part of its settings that identifies the grader.

    Args:
        fence: whether to mark the answer as data for the model that checks it; `verify_fence`
            overrides this.
        cue: result of `_choose_cue`.
    """
    check = _one_of(parameters, "check", CHECKS, "words")
    if check != "model":
        return partial(word_match_check, contained=check == "words"), {"check": check}
    prompt = _find_prompt(prompts, parameters.get("verify_prompt") or "verify", "verify")
    own: dict[str, Any] = {
        "check": check,
        "verify_prompt": prompt.name,
        "verify_prompt_hash": prompt.hash,
    }
    fence = bool(parameters.get("verify_fence", fence))
    if fence:
        # Earlier versions had no fence here, so the fingerprint must name it to keep their grades
        # apart.
        own["verify_fence"] = fence_mark(prompt, fence)
    return partial(verify_check, prompt=_add_cue(prompt, cue), fence=fence), own


def _identifying_settings(parameters: Parameters, where: str) -> dict[str, Any]:
    settings = {
        name: parameters[name]
        for name in IDENTIFYING
        if parameters.get(name) not in (None, "", "auto")
    }
    if where != "openai":
        settings["dtype"] = _number_format(parameters)
    return {name: value for name, value in settings.items() if value != USUAL.get(name)}


def _find_prompt(prompts: Mapping[str, Prompt], name: str, use: str) -> Prompt:
    prompt = prompts.get(name)
    if prompt is None or prompt.use != use:
        fitting = ", ".join(sorted(p.name for p in prompts.values() if p.use == use))
        problem = (
            f"Unknown prompt '{name}'"
            if prompt is None
            else f"Prompt '{name}' is for {prompt.use}, not for {use}"
        )
        raise InputError("prompt-does-not-fit", f"{problem}.", f"Available for {use}: {fitting}.")
    if unknown := [name for name in prompt_variables(prompt) if name not in USES[use].known]:
        raise InputError(
            "unknown-prompt-field",
            f"Prompt '{prompt.name}' has the variable {{{unknown[0]}}}, which cannot be"
            f" filled in for {use}.",
            f"Available variables: {', '.join(USES[use].known)}.",
        )
    return prompt


def _one_of(parameters: Parameters, name: str, values: tuple[Value, ...], default: Value) -> Value:
    value = parameters.get(name) or default
    if value not in values:
        raise InputError(
            "unknown-parameter-value", f"Invalid {name}: '{value}'.", f"Use {' or '.join(values)}."
        )
    return values[values.index(value)]


def _passage_first(prompt: Prompt, fence: bool) -> bool:
    """Return whether prompts about the same passage share a longer beginning than those about the
    same question.
    """
    names = prompt_variables(prompt)
    # The sentence about a fenced passage names its tag, and ends the system text if there is one.
    return "context" in names and ((fence and bool(prompt.system)) or names.index("context") == 0)


def short_model_name(model: str) -> str:
    """Return the name of a model without its owner or folders, and without its revision."""
    return model.rsplit("/", 1)[-1].split("@", 1)[0]


_TEXTS = (
    *(
        "back_end",
        "verify_back_end",
        "base_url",
        "key_variable",
        "api",
        "structured",
        "prompt",
        "verify_prompt",
    ),
    *("check", "by", "normalise", "revision", "device", "dtype"),
)
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_TEXTS, ((str,), 'text (in a command, write digits as NAME="1234")')),
    # Commands read --set model=123 as a number.
    **dict.fromkeys(("model", "verify_model"), ((str, int), "the name of a model")),
    **dict.fromkeys(
        ("attempts", "max_tokens_in", "num_beams", "thinking_tokens", "edition"),
        ((int,), "a whole number"),
    ),
    **dict.fromkeys(("timeout_s", "temperature"), ((int, float), "a number")),
    "extra": ((dict,), 'a JSON object such as {"seed": 1}'),
}
"""Types of each parameter's value, and a description. True does not count as a whole number here.
"""


def check_types(parameters: Mapping[str, Any]) -> None:
    """Refuse a parameter whose value has the wrong type; None and an empty text mean its default.

    Raises:
        InputError: a value has the wrong type. The message does not repeat it, because it may be a
            misplaced key.
    """
    for name, (types, type_name) in _TYPES.items():
        value = parameters.get(name)
        odd_names = isinstance(value, dict) and not all(isinstance(field, str) for field in value)
        if value is not None and value != "" and (type(value) not in types or odd_names):
            raise InputError(
                "parameter-of-wrong-type",
                f"The value of {name} has the wrong type.",
                f"Use {type_name}.",
            )


Prompts = Mapping[str, Prompt]


@dataclass(frozen=True)
class GraderKind:
    """A method of grading that a person can choose.

    Args:
        name: its name in commands and in the activity log.
        title: its name on screens.
        about: its abilities and limits, in one sentence.
        make: builds a grader from parameters (JSON values by name) and the available prompts.
            Raises InputError for unknown parameters. Models load at the first grade, not here.
        settable: names of the parameters that `make` accepts.
        reading: how its model reads; None for other methods.
    """

    name: str
    title: str
    about: str
    make: Callable[[Parameters, Prompts], Grader]
    settable: tuple[str, ...] = ()
    reading: ReadingMethod | None = None


def _make_encoder(name: str, parameters: Parameters, prompts: Prompts) -> Grader:
    from ._embedding import embedding_grader

    made: Grader = getattr(embedding_grader, name)(**parameters)
    return made


CHECK = ("check", "verify_prompt", "verify_fence")
UNSAID = {"dtype": "float32", "cue": "none", "verify_fence": False}
"""Values that a fingerprint implies if it lacks these settings, whose present defaults depend on
the computer.
"""


def _reading_kind(title: str, about: str, reading: ReadingMethod, *more: str) -> GraderKind:
    """Return a kind in which a model reads, with the common parameters and further ones."""
    settable = dict.fromkeys(
        (
            "model",
            "back_end",
            *LOCAL_SETTINGS,
            "dtype",
            "num_beams",
            "cue",
            *ENDPOINT_SETTINGS,
            "edition",
            "prompt",
        )
    )
    every = (*settable, "fence", *more)
    return GraderKind(
        reading.name, title, about, partial(make_reading_grader, reading), every, reading
    )


_KINDS = (
    GraderKind(
        "embedding",
        "Embedding (MiniLM)",
        "A small model on this computer rates how similar the meanings of passage and question"
        " are. It needs no key "
        "and no network. It cannot tell a right answer from a wrong one on the same subject.",
        partial(_make_encoder, "EmbeddingGrader"),
        ("cuts",),
    ),
    _reading_kind(
        "Self-rating",
        "A language model reads the passage and rates from 0 to 5 how well it"
        " answers the question.",
        ReadingMethod(
            "self-rating",
            "Self-rating",
            {"transformers": "self-rating", "openai": "self-rating-chat"},
            prepare_with_prompt(self_rating),
        ),
    ),
    _reading_kind(
        "Answer and check",
        "A language model extracts an answer, which is then compared with the answer key. The"
        " rating is 1 for right and 0 for wrong. Questions without an answer key are left out.",
        ReadingMethod(
            "answer",
            "Answer",
            {"transformers": "answer", "openai": "answer"},
            prepare_answer,
            tells=answer_check_note,
            top=1,
        ),
        *CHECK,
    ),
    GraderKind(
        "extractive",
        "Extractive answer and check",
        "A model tuned on SQuAD2 marks the answer in the passage, or reports that there"
        " is none. The answer is compared with the answer key. Questions without an"
        " answer key are left out.",
        make_extractive,
        (
            *("model", *LOCAL_SETTINGS, "dtype", *CHECK, "verify_model", "verify_back_end"),
            *("base_url", "key_variable"),
        ),
    ),
    _reading_kind(
        "Multiple choice",
        "A language model reads the passage and picks a choice: the likeliest one, or the letter"
        " that it writes. The "
        "rating is 1 for the right choice, else 0. Questions without choices are left out.",
        ReadingMethod(
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
    _reading_kind(
        "Direct judge",
        "A language model rates the passage against the query, without questions, on the scale of"
        " its prompt. The rating is the label.",
        ReadingMethod(
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
        "A small model on this computer rates from 0 to 2 how similar a sentence of a response and"
        " a passage that it cites are. It needs no key and no network. It does not read: a wrong"
        " fact looks supported if the subject is the same.",
        partial(_make_encoder, "CitationSimilarity"),
        ("cuts",),
    ),
    _reading_kind(
        "Citation support",
        "A language model rates from 0 to 2 how much of a sentence of a response each passage"
        " supports that the sentence cites: none, partial or full support.",
        ReadingMethod(
            "support",
            "Citation support",
            {"transformers": "support", "openai": "support"},
            prepare_with_prompt(partial(self_rating, variable="sentence")),
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
    return kind.reading.prompts[kind.reading.variant(parameters, back_end_name(parameters))]


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
    check_known("unknown-method", "grader", sorted(GRADERS), name)
    kind = GRADERS[name]
    strange = sorted(set(parameters) - set(kind.settable))
    if strange:
        raise InputError(
            "unknown-parameter",
            f"Unknown parameter of the grader {name}: {', '.join(map(repr, strange))}.",
            f"Available: {', '.join(kind.settable)}.",
        )
    return kind.make(parameters, built_in_prompts() if prompts is None else prompts)


def find_remaking_parameters(
    spec: GraderSpec, prompts: Prompts | None = None
) -> dict[str, Any] | None:
    """Return the parameters from which a grader can be made again, derived from its stored
    identity.

    Returns:
        Parameters that make a grader with the same fingerprint, together with `spec.method`. None
        if its grades were imported, its model has changed, or its identity does not include the
        location of its model.
    """
    kind = GRADERS.get(spec.method)
    if kind is None or spec.parameters.get("back_end") == "openai":
        # The address of an endpoint is not part of the identity, and texts must not be sent to
        # another one.
        return None
    model, _, revision = spec.model.partition("@")
    if revision.startswith("sha256:") and spec.parameters.get("back_end"):
        # A folder is identified by its content, not by its path.
        return None
    stored = (
        {"model": model, "revision": revision, "prompt": spec.prompt} | UNSAID | spec.parameters
    )
    stored |= {name: bool(stored[name]) for name in ("fence", "verify_fence") if name in stored}
    parameters = {
        name: stored[name] for name in kind.settable if stored.get(name) not in (None, "")
    }
    try:
        grader = make_grader(spec.method, parameters, prompts)
    except (GradingError, InputError):
        # A prompt or folder is missing, so the grader cannot be made.
        return None
    return parameters if spec.fingerprint in grader.spec.fingerprints else None
