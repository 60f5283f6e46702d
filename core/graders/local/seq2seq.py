"""Models with an encoder and a decoder, such as FLAN-T5: each prompt is encoded once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..reading.calls import Sampling
from .batches import Batch, by_length
from .loading import Loaded
from .writing import Likelihood, Written, pad_token, padded, regrouped, summed, write


@dataclass
class Seq2SeqRunner:
    """Runs batches with a model that has an encoder and a decoder.

    Args:
        loaded: the model.
        sampling: settings for random sampling; None for the likeliest text.
    """

    loaded: Loaded
    sampling: Sampling | None = None

    def plan(self, prompts: Sequence[list[int]], budget: int) -> list[Batch]:
        """Return batches of prompts with similar length."""
        return by_length(prompts, range(len(prompts)), budget)

    plan_weighing = plan

    def write(
        self,
        prompts: Sequence[list[int]],
        batch: Batch,
        max_tokens: int,
        settled: Callable[[str], bool] | None,
        watched: Sequence[int],
        beams: int = 1,
    ) -> list[Written]:
        """Return an answer per row, in the batch's order; see `writing.write`."""
        rows = [prompts[row] for group in batch for row in group.rows]
        ids, mask = padded(rows, pad_token(self.loaded), False, self.loaded.device)
        inputs = {"input_ids": ids, "attention_mask": mask}
        return write(self.loaded, inputs, max_tokens, settled, watched, beams, self.sampling)

    def likelihoods(
        self, prompts: Sequence[str], tokens: Sequence[list[int]], options: Sequence[Sequence[str]]
    ) -> list[list[Likelihood]]:
        """Return the likelihood of each option as the decoder's text after the encoded prompt."""
        of = [place for place, each in enumerate(options) for _ in each]
        targets = [self._target(option) for each in options for option in each]
        return regrouped(self._score(tokens, of, targets), options)

    def _target(self, option: str) -> list[int]:
        """Return an option's tokens without the end token, whose likelihood is not part of the option's."""
        tokenizer = self.loaded.tokenizer
        target: list[int] = tokenizer(option).input_ids
        while target and target[-1] == tokenizer.eos_token_id:
            target.pop()
        return target

    @torch.inference_mode()
    def _score(self, prompts: Sequence[list[int]], of: list[int], targets: list[list[int]]) -> list[Likelihood]:
        """Score n targets, target i after prompt `of[i]`, in one pass."""
        model: Any = self.loaded.model
        ids, mask = padded(prompts, pad_token(self.loaded), False, self.loaded.device)
        hidden = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        labels, shown = padded(targets, 0, False, self.loaded.device)
        first = model.generation_config.decoder_start_token_id
        shifted = torch.cat([torch.full_like(labels[:, :1], first), labels[:, :-1]], dim=1)
        logits = model(
            encoder_outputs=(hidden[of],), attention_mask=mask[of], decoder_input_ids=shifted, use_cache=False
        ).logits
        found = torch.log_softmax(logits.float(), -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        # A mark at the beginning of every text is not part of the option.
        special = torch.isin(labels, torch.tensor(self.loaded.tokenizer.all_special_ids, device=labels.device))
        return summed(found, shown * ~special)
