"""Drawing what a local model writes at a temperature: the same seed and prompt draw the same text in any batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch

from ..reading.calls import Sampling


class Draw:
    """A logits processor by which the token of the highest score is drawn from the model's distribution.

    To logits divided by the temperature it adds independent noise of the standard Gumbel distribution; the token with
    the highest sum is then distributed as the softmax of the divided logits (the Gumbel-max trick: Maddison, Tarlow and
    Minka, A* Sampling, 2014, section 2). Each row has a source of chance of its own, so that a batch changes nothing.

    Args:
        sampling: temperature and seed.
        prompts: tokens of each row's prompt.
    """

    def __init__(self, sampling: Sampling, prompts: Sequence[Sequence[int]]) -> None:
        self._temperature = sampling.temperature
        self._chances = [torch.Generator().manual_seed(seed_of(sampling.seed or 0, prompt)) for prompt in prompts]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores (rows, tokens) from which the highest is taken."""
        noise = torch.stack([torch.rand(scores.shape[1], generator=chance) for chance in self._chances])
        gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
        return scores.float() / self._temperature + gumbel.to(scores.device)


def seed_of(seed: int, prompt: Sequence[int]) -> int:
    """The seed of what is drawn for one prompt: another prompt draws by other chances."""
    told = f"{seed} {' '.join(map(str, prompt))}".encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=7).digest())
