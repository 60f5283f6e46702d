"""Random sampling of a local model's text: the same seed and prompt give the same text in any batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from ..reading.calls import Sampling


class Draw:
    """A logits processor that makes greedy decoding sample from the model's distribution.

    It adds independent noise of the standard Gumbel distribution to the logits divided by the temperature. The token
    with the highest sum is then distributed as the softmax of the divided logits (the Gumbel-max trick: Maddison,
    Tarlow and Minka, A* Sampling, 2014, section 2). Each row has its own random generator, so batches do not change the
    result.

    Args:
        sampling: temperature and seed.
        prompts: tokens of each row's prompt.
    """

    def __init__(self, sampling: Sampling, prompts: Sequence[Sequence[int]]) -> None:
        self._temperature = sampling.temperature
        self._chances = [torch.Generator().manual_seed(seed_of(sampling.seed or 0, prompt)) for prompt in prompts]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores (rows, tokens) whose maximum is the sampled token."""
        noise = torch.stack([torch.rand(scores.shape[1], generator=chance) for chance in self._chances])
        gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
        return scores.float() / self._temperature + gumbel.to(scores.device)


def seed_of(seed: int, prompt: Sequence[int]) -> int:
    """Return the seed for one prompt, so that each prompt has its own random numbers."""
    told = f"{seed} {' '.join(map(str, prompt))}".encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=7).digest())
