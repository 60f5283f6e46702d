"""Estimate of the tokens that an endpoint caches, because prompts share their beginning with the one before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

CHARACTERS_A_TOKEN = 4
"""Estimate if the model's tokenizer is not available; about right for English."""
CACHED_FROM, CACHED_STEP = 1024, 128
"""Minimum and step of the cached tokens of a prompt at OpenAI (its guide to prompt caching, "How it works").

Other endpoints cache shorter prefixes, such as the blocks of 16 tokens of vLLM.
"""


def read_before(prompts: Sequence[str], least: int = CACHED_FROM, step: int = CACHED_STEP) -> float:
    """Return the share of the tokens that were read with the prompt before, from 0 to 1; 0 for fewer than two prompts.

    Args:
        prompts: prompts in the order in which they are asked.
        least: minimum number of shared tokens that counts.
        step: step by which the counted tokens grow.
    """
    kept = sum(
        _counted(_shared(before, prompt) // CHARACTERS_A_TOKEN, least, step) for before, prompt in pairwise(prompts)
    )
    total = sum(len(prompt) // CHARACTERS_A_TOKEN + 1 for prompt in prompts)
    return kept / total if total else 0.0


def _counted(tokens: int, least: int, step: int) -> int:
    return 0 if tokens < least else least + (tokens - least) // step * step


def _shared(one: str, other: str) -> int:
    """Return the number of characters that both have in common at the beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
