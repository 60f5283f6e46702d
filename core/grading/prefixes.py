"""How much of what is read an endpoint need not read anew, since a prompt begins as the one before it did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

CHARACTERS_A_TOKEN = 4
"""For a model whose tokenizer is not at hand; about right for English."""
CACHED_FROM, CACHED_STEP = 1024, 128
"""Tokens from which OpenAI keeps the beginning of a prompt, and by which what is kept grows (its guide to prompt
caching, "How it works"); other endpoints keep shorter ones, as vLLM's blocks of 16."""


def read_before(prompts: Sequence[str], least: int = CACHED_FROM, step: int = CACHED_STEP) -> float:
    """The share of what is read that was read with the prompt before.

    Args:
        prompts: n prompts, in the order in which they are asked.
        least: tokens that two prompts have to share before anything of them counts.
        step: tokens by which what counts grows.

    Returns:
        From 0 to 1; 0 for fewer than two prompts.
    """
    kept = sum(
        _counted(_shared(before, prompt) // CHARACTERS_A_TOKEN, least, step) for before, prompt in pairwise(prompts)
    )
    total = sum(len(prompt) // CHARACTERS_A_TOKEN + 1 for prompt in prompts)
    return kept / total if total else 0.0


def _counted(tokens: int, least: int, step: int) -> int:
    return 0 if tokens < least else least + (tokens - least) // step * step


def _shared(one: str, other: str) -> int:
    """Characters with which both begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
