"""Probabilities of the possible ratings, from the tokens that an endpoint reports with `logprobs`."""

from __future__ import annotations

import math
from typing import Any

from .._reading.answer_forms import read
from .._reading.calls import Call, Completion
from .._reading.reasoning import reasoning_length

_AROUND = " \t\n\"'`*_Ġ▁"
"""Signs around an option within a token."""


def option_chances(call: Call, completion: Completion, logprobs: Any) -> dict[str, float] | None:
    """Return the probability of each option at the token with which the model wrote its choice.

    Args:
        logprobs: of the answer, as OpenAI's chat completions have them; anything else counts as missing.

    Returns:
        Probabilities that sum to 1; None if the answer has no choice, or no such token is reported.
    """
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    parsed = read(call, completion) if isinstance(tokens, list) else None
    if parsed is None or parsed.status != "graded" or parsed.rating is None:
        return None
    named = ("no", "yes")[parsed.rating] if call.form == "yes-no" else call.options[parsed.rating].casefold()
    # Reasoning before the answer may name the choice, too.
    order = reversed(tokens) if reasoning_length(completion.text) else tokens
    found = next((token for token in order if isinstance(token, dict) and _name(token) == named), None)
    top = found.get("top_logprobs") if found else None
    weights = dict.fromkeys(map(str.casefold, call.options), 0.0)
    for one in top if isinstance(top, list) else ():
        value = one.get("logprob") if isinstance(one, dict) else None
        if isinstance(value, float | int) and value <= 0 and _name(one) in weights:
            weights[_name(one)] += math.exp(value)
    total = sum(weights.values())
    return {option: weights[option.casefold()] / total for option in call.options} if total else None


def _name(token: dict[str, Any]) -> str:
    return str(token.get("token")).strip(_AROUND).casefold()
