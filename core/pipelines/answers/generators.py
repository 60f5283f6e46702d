"""Generators of answers: a model with the prompt, or a rule without one; made, and made ready to write."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...catalogue import prompts
from ...errors import GradingError, InputError, unknown_name
from ...graders import (
    BackEnd,
    Prompt,
    ReadingGrader,
    Sampling,
    back_end_name,
    fence_mark,
    load_encoder,
    make_back_end,
    make_grader,
    model_folder,
)
from ...project import AnswerModel, Project, fingerprint_of
from ...sentences import split_sentences

USE = "answer from passages"
PROMPT = "reteval-answer"
N_TOKENS = 5
"""Default answer length in tokens that the prompt states: the authors' number, which fits NQ-open."""
MAX_TOKENS = 32
"""Tokens that a model may write: room for words around the answer."""
PassageOrder = Literal["best first", "best last", "one by one"]
ORDERS: dict[PassageOrder, str] = {
    "best first": "All passages in one prompt, the best one first.",
    "best last": "All passages in one prompt, the best one last. The question is repeated after it.",
    "one by one": "One prompt per passage, the best one first. The last answer other than 'unanswerable' counts.",
}
"""Orders in which a model gets its passages (llm-reteval specification, section 4.1), with descriptions."""
ORDER: PassageOrder = "best first"
PARTING = "\n\n"
"""Separator of the passages of a context."""

AnswerRule = Literal["nearest-sentence", "extractive"]
ANSWER_RULES: dict[AnswerRule, str] = {
    "nearest-sentence": "The passage sentence closest to the question by all-MiniLM-L6-v2. No key or prompt is needed.",
    "extractive": "An extractive model copies the answer from the passages. No prompt is needed.",
}
"""Generators without a prompt, with descriptions. They are deterministic: every draw would be the same."""


@dataclass(frozen=True)
class GeneratorPlan:
    """The settings of a generator.

    Args:
        settings: of the model, as for a grader: model, back_end, base_url, key_variable, dtype and so on.
        rule: an item of `ANSWER_RULES` instead of a model with a prompt.
        prompt: name of the prompt.
        n_tokens: the answer length stated in the prompt.
        max_tokens: the length at which an answer is cut off.
        name: its name for people; None for a name made of the model's.
        order: the order in which a model gets its passages.
    """

    settings: Mapping[str, Any] | None = None
    rule: AnswerRule | None = None
    prompt: str = PROMPT
    n_tokens: int = N_TOKENS
    max_tokens: int = MAX_TOKENS
    name: str | None = None
    order: PassageOrder = ORDER


@dataclass(frozen=True)
class ReadyGenerator:
    """A generator that can be asked.

    Args:
        model: its identity.
        rule: None for a model with a prompt.
        prompt: with places for question, context and number of tokens; for a rule, that of an extractive model.
        fence: whether passages are marked as data.
        n_tokens, max_tokens, order: see `GeneratorPlan`.
        settings: of the model.
    """

    model: AnswerModel
    rule: str | None
    prompt: Prompt
    fence: bool
    n_tokens: int
    max_tokens: int
    settings: Mapping[str, Any]
    order: str = ORDER

    @property
    def draws_differ(self) -> bool:
        """Whether it can draw different answers."""
        return self.rule is None

    @property
    def asks(self) -> bool:
        """Whether it needs a model that costs something."""
        return self.rule != "nearest-sentence"

    def back_end(self, sampling: Sampling | None = None) -> BackEnd:
        """Return the model; nothing is loaded before the first call.

        Args:
            sampling: settings of a random draw; None for the likeliest answer.

        Raises:
            InputError: a setting is invalid.
        """
        if self.rule == "extractive":
            return _extractive(self.settings).back_end
        return make_back_end(self.settings, sampling=sampling)[0]


def make_generator(project: Project, plan: GeneratorPlan) -> ReadyGenerator:
    """Return a generator as it will be added with its first answer; nothing is written, and no model is loaded.

    Raises:
        InputError: a setting is invalid, the prompt is unknown, or no model is named.
    """
    settings = {name: value for name, value in (plan.settings or {}).items() if value not in (None, "")}
    if plan.order not in ORDERS:
        raise unknown_name("unknown-passage-order", "passage order", plan.order, ORDERS)
    if plan.rule is not None:
        if plan.order != ORDER:
            raise InputError(
                "settings-for-a-rule",
                f"Rule {plan.rule} supports only the order {ORDER}.",
                "Remove the order, or name a model.",
            )
        return _by_rule(plan.rule, settings, plan.name)
    if "temperature" in settings:
        raise InputError(
            "useless-parameter",
            "Unknown parameter 'temperature': a generator does not set it.",
            "Remove it. Answers from runs use 0. For gold passages, set it when you generate answers.",
        )
    if plan.n_tokens < 1 or plan.max_tokens < 1:
        raise InputError(
            "parameter-out-of-range",
            f"Token limit {min(plan.n_tokens, plan.max_tokens)} is out of range.",
            "Use 1 or more.",
        )
    prompt = _prompt(project, plan.prompt)
    where = back_end_name(settings)
    _, model = make_back_end(settings)
    fence = bool(settings.pop("fence", where == "openai"))
    # Only settings that change answers; the machine and the patience with an endpoint do not.
    own: dict[str, Any] = {
        name: settings[name] for name in ("max_tokens_in", "extra", "api", "num_beams") if name in settings
    }
    if where != "openai":
        own["dtype"] = settings["dtype"] = _dtype(settings)
    told = {"n_tokens": plan.n_tokens, "max_tokens": plan.max_tokens, "order": plan.order, "at": where}
    told["fence"] = fence_mark(prompt, fence)
    parameters = {"settings": settings, "prompt": prompt.name} | told
    return ReadyGenerator(
        AnswerModel(
            plan.name or _short(model) + ("" if prompt.name == PROMPT else f", {prompt.name}")
            + ("" if plan.order == ORDER else f", {plan.order}"),
            fingerprint_of(["generator", model, prompt.hash, told, own]),
            model, prompt.name, prompt.hash, parameters,
        ),
        None, prompt, fence, plan.n_tokens, plan.max_tokens, settings, plan.order,
    )  # fmt: skip


def generator_again(project: Project, model: AnswerModel) -> ReadyGenerator:
    """Return a generator of the project, ready to be asked again.

    Raises:
        InputError: its answers were imported, or it cannot be made here any more.
        GradingError: its model or prompt changed since.
    """
    if model.from_elsewhere:
        raise InputError(
            "answers-from-a-file",
            f"The answers of generator '{model.name}' were imported, so it cannot be asked.",
            "Choose another generator.",
        )
    kept = model.parameters
    rule = kept.get("rule")
    if rule is not None:
        ready = _by_rule(rule, kept["settings"], model.name)
    else:
        settings = dict(kept["settings"]) | {"fence": kept["fence"]}
        ready = make_generator(
            project,
            GeneratorPlan(
                settings, None, kept["prompt"], kept["n_tokens"], kept["max_tokens"], model.name, kept["order"]
            ),
        )
    if ready.model.fingerprint != model.fingerprint:
        raise GradingError(
            "model-changed",
            f"The model or prompt of generator '{model.name}' has changed since it was added.",
            "Add it again under another name.",
        )
    return ready


def _by_rule(rule: AnswerRule, settings: Mapping[str, Any], name: str | None) -> ReadyGenerator:
    if rule not in ANSWER_RULES:
        raise unknown_name("unknown-generator-rule", "generator rule", rule, ANSWER_RULES, "Or name a model.")
    prompt = prompts_of_extraction()
    if rule == "nearest-sentence":
        if settings:
            raise InputError("settings-for-a-rule", f"Rule {rule} has no model settings.", "Remove the model settings.")
        model = "all-MiniLM-L6-v2"
    else:
        model = _extractive(settings).spec.model
    told = {"rule": rule, "order": ORDER, "settings": dict(settings)}
    return ReadyGenerator(
        AnswerModel(
            name or (rule if rule == "nearest-sentence" else f"extractive ({_short(model)})"),
            fingerprint_of(["generator", model, rule, ORDER, settings.get("dtype")]),
            model, "", "", told,
        ),
        rule, prompt, False, N_TOKENS, MAX_TOKENS, settings,
    )  # fmt: skip


@functools.cache
def prompts_of_extraction() -> Prompt:
    """Return the prompt of an extractive model: only the question, followed by the passage."""
    return Prompt("question", "Question", "answer", "{question}\n{context}", "text", "ours")


def _extractive(settings: Mapping[str, Any]) -> ReadingGrader:
    """Return the grader whose model an extractive generator uses.

    Raises:
        InputError: a setting is invalid.
    """
    from ...graders import built_in

    made = make_grader("extractive", dict(settings), built_in())
    assert isinstance(made, ReadingGrader)
    return made


def _dtype(settings: Mapping[str, Any]) -> str:
    # Fixed because the default depends on the computer, which would make it another generator.
    given = settings.get("dtype")
    return "float32" if given in (None, "", "auto") else str(given)


def _prompt(project: Project, name: str) -> Prompt:
    fitting = {prompt.name: prompt for prompt in prompts(project).values() if prompt.use == USE}
    if name not in fitting:
        raise unknown_name("unknown-prompt", "prompt for answers", name, sorted(fitting))
    return fitting[name]


def _short(model: str) -> str:
    return model.rsplit("/", 1)[-1].split("@", 1)[0]


def nearest_sentences(asked: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the sentence nearest to each question by the cosine of the vectors of all-MiniLM-L6-v2; the first of
    equals.

    Args:
        asked: n questions, each with its texts.

    Returns:
        n sentences; empty if the texts have no sentence.

    Raises:
        GradingError: the encoder cannot be loaded.
    """
    cut = [[text[begin:end] for text in texts for begin, end in split_sentences(text)] for _, texts in asked]
    rows = {text: 0 for (question, _), sentences in zip(asked, cut, strict=True) for text in (question, *sentences)}
    rows = {text: row for row, text in enumerate(rows)}
    vectors = load_encoder(model_folder()).encode(list(rows))
    found = []
    for (question, _), sentences in zip(asked, cut, strict=True):
        if not sentences:
            found.append("")
            continue
        cosines = vectors[[rows[text] for text in sentences]] @ vectors[rows[question]]
        # Rounded because batches and their order change the last digits, which must not change answers.
        found.append(sentences[int(np.argmax(np.round(cosines.astype(np.float64), 4)))].strip())
    return found
