"""Causal models: a prefix that several prompts share, usually the passage, is read once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from rapidfuzz.distance import Prefix

from .._reading.calls import Sampling
from .loading import Loaded
from .local_base import Batch, Group, by_length
from .text_generation import Likelihood, Written, pad_token, padded, regrouped, summed, write

LEAST_SHARED = 16
"""Minimum number of shared tokens for which a pass of their own is worthwhile."""

MOST_JOINED = 256
"""Maximum number of prompts of a group, which limits the search for groups."""

KEPT_PER_COMPUTED = 8
"""Limit of stored keys and values, in multiples of a batch's tokens: shared ones are copied to every row."""


UNSHARED = 16
"""Divisor of a batch's size for likelihoods if prompts cannot be read once for all their options."""


@dataclass(eq=False)
class CausalRunner:
    """Runs batches with a causal model.

    Args:
        loaded: the model.
        sampling: settings for random sampling; None for the likeliest text.
        share: whether common prefixes are read once; False if the model cannot do so.
    """

    loaded: Loaded
    sampling: Sampling | None = None
    share: bool = True

    def __post_init__(self) -> None:
        from transformers import DynamicCache
        from transformers.cache_utils import DynamicLayer

        # A sliding window would count the padding between the common prefix and the rest as text. A recurrent state
        # cannot be copied to other rows this way.
        layers = DynamicCache(config=self.loaded.model.config).layers
        self.share = self.share and all(type(layer) is DynamicLayer for layer in layers)
        self._takes = set(inspect.signature(self.loaded.model.forward).parameters)

    def plan(self, prompts: Sequence[list[int]], budget: int) -> list[Batch]:
        """Return batches of groups with a common prefix, and batches of similar length for the other prompts."""
        groups = share_prefixes(prompts) if self.share else [Group((row,)) for row in range(len(prompts))]
        alone = [group.rows[0] for group in groups if not group.shared]
        return self._packed(prompts, [group for group in groups if group.shared], budget) + by_length(
            prompts, alone, budget
        )

    def plan_weighing(self, prompts: Sequence[list[int]], budget: int) -> list[Batch]:
        """Return batches for `likelihoods`; small ones if the prompt is read with each option and all its logits are
        computed."""
        return by_length(prompts, range(len(prompts)), budget if self.share else budget // UNSHARED)

    def _packed(self, prompts: Sequence[list[int]], groups: list[Group], budget: int) -> list[Batch]:
        """Pack groups into batches within the budget. A large group is split, and its prefix is read again."""
        batches: list[Batch] = []
        rows = beginning = rest = 0
        for group in sorted(groups, key=lambda group: -group.shared):
            longest = max(len(prompts[row]) for row in group.rows) - group.shared
            most = max(1, min(budget // longest, KEPT_PER_COMPUTED * budget // (group.shared + longest)))
            for start in range(0, len(group.rows), most):
                part = Group(group.rows[start : start + most], group.shared)
                count = rows + len(part.rows)
                beginning, rest = max(beginning, part.shared), max(rest, longest)
                computed = (len(batches[-1]) + 1 if batches else 1) * beginning + count * rest
                if batches and computed <= budget and count * (beginning + rest) <= KEPT_PER_COMPUTED * budget:
                    batches[-1].append(part)
                    rows = count
                else:
                    batches.append([part])
                    rows, beginning, rest = len(part.rows), part.shared, longest
        return batches

    def write(
        self,
        prompts: Sequence[list[int]],
        batch: Batch,
        max_tokens: int,
        settled: Callable[[str], bool] | None,
        watched: Sequence[int],
        beams: int = 1,
    ) -> list[Written]:
        """Return an answer per row, in the batch's order."""
        if not batch[0].shared:
            ids, mask = self._padded([prompts[group.rows[0]] for group in batch], left=True)
            inputs = {"input_ids": ids, "attention_mask": mask}
        else:
            beginnings = [prompts[group.rows[0]][: group.shared] for group in batch]
            of = [place for place, group in enumerate(batch) for _ in group.rows]
            rest, rest_mask = self._padded(
                [prompts[row][group.shared :] for group in batch for row in group.rows], left=True
            )
            ids, mask, cache = self._read(beginnings, of)
            inputs = {
                "input_ids": torch.cat([ids, rest], dim=1),
                "attention_mask": torch.cat([mask, rest_mask], dim=1),
                "past_key_values": cache,
            }
        return write(self.loaded, inputs, max_tokens, settled, watched, beams, self.sampling)

    def likelihoods(
        self, prompts: Sequence[str], tokens: Sequence[list[int]], options: Sequence[Sequence[str]]
    ) -> list[list[Likelihood]]:
        """Return the likelihood of each option as the continuation of its prompt."""
        continuing = [continued(self.loaded.tokenizer, *each) for each in zip(prompts, tokens, options, strict=True)]
        of = [place for place, each in enumerate(options) for _ in each]
        # The last token before an option is read with the option, because its logits predict the option's first token.
        beginnings = [
            row[: min((at for _, at in each), default=1) - 1] for row, each in zip(tokens, continuing, strict=True)
        ]
        if not self.share or not all(beginnings):
            beginnings = []
        rows, starts = [], []
        for place, (whole, at) in zip(of, (one for each in continuing for one in each), strict=True):
            read = len(beginnings[place]) if beginnings else 0
            rows.append(whole[read:])
            starts.append(at - read)
        return regrouped(self._score(beginnings, of, rows, starts), options)

    @torch.inference_mode()
    def _score(
        self, beginnings: list[list[int]], of: list[int], rows: list[list[int]], starts: list[int]
    ) -> list[Likelihood]:
        """Return the likelihood of the tokens of each row from `starts` on, row i after prefix `of[i]`."""
        ids, mask = self._padded(rows, left=False)
        extra: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
        if beginnings:
            _, before, cache = self._read(beginnings, of)
            extra = {"attention_mask": torch.cat([before, mask], dim=1), "past_key_values": cache, "use_cache": True}
        if "position_ids" in self._takes:
            extra["position_ids"] = _positions(extra["attention_mask"])[:, -ids.shape[1] :]
        logits = torch.log_softmax(self.loaded.model(input_ids=ids, **extra).logits[:, :-1].float(), -1)
        found = logits.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
        columns = torch.arange(1, ids.shape[1], device=ids.device)
        counted = mask[:, 1:] * (columns >= torch.tensor(starts, device=ids.device).unsqueeze(1))
        return summed(found, counted)

    @torch.inference_mode()
    def _read(self, beginnings: list[list[int]], of: list[int]) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """Read each prefix once; return tokens, mask, keys and values of prefix `of[i]` in row i."""
        from transformers import DynamicCache

        ids, mask = self._padded(beginnings, left=True)
        extra: dict[str, Any] = {"position_ids": _positions(mask)} if "position_ids" in self._takes else {}
        if "logits_to_keep" in self._takes:
            extra["logits_to_keep"] = 1
        cache: Any = DynamicCache(config=self.loaded.model.config)
        self.loaded.model(input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **extra)
        index = torch.tensor(of, device=ids.device)
        cache.batch_select_indices(index)
        return ids[index], mask[index], cache

    def _padded(self, rows: Sequence[Sequence[int]], left: bool) -> tuple[torch.Tensor, torch.Tensor]:
        return padded(rows, pad_token(self.loaded), left, self.loaded.device)


def _positions(mask: torch.Tensor) -> torch.Tensor:
    """Return the position of each token among the unmasked ones, as `generate` counts them."""
    return (mask.cumsum(-1) - 1).masked_fill(mask == 0, 0)


def continued(
    tokenizer: Any, prompt: str, tokens: Sequence[int], options: Sequence[str]
) -> list[tuple[list[int], int]]:
    """Return prompt and option as tokens, and the index of the option's first token, for each option.

    Both are tokenized together, because a tokenizer may join the end of the prompt with the beginning of the option.

    Args:
        prompt, tokens: the prompt as text and as tokens.
    """
    chat = bool(getattr(tokenizer, "chat_template", None))
    glue = "" if chat or not prompt or prompt[-1].isspace() else " "
    texts = [f"{prompt}{glue}{option}" for option in options]
    found = []
    for whole in tokenizer(texts, add_special_tokens=not chat, verbose=False).input_ids:
        while whole and whole[-1] == tokenizer.eos_token_id != tokens[-1]:
            whole.pop()
        found.append((whole, max(1, Prefix.similarity(tokens, whole))))
    return found


def share_prefixes(prompts: Sequence[list[int]]) -> list[Group]:
    """Group prompts by common prefixes, so that the fewest tokens are read.

    Prompts are sorted by their tokens, so that those with long common prefixes are neighbours. The longest
    common prefixes need not give the best groups, so all divisions are compared by dynamic programming.

    Returns:
        Groups with `shared` of at least `LEAST_SHARED`, and single prompts with 0. At least one token of each prompt is
        not shared, because its logits are needed.
    """
    order = sorted(range(len(prompts)), key=lambda row: prompts[row])
    common = [
        min(Prefix.similarity(prompts[a], prompts[b]), len(prompts[a]) - 1, len(prompts[b]) - 1)
        for a, b in pairwise(order)
    ]
    # For the first n prompts: the most tokens that sharing saves. For their last group: first prompt and shared length.
    saved: list[tuple[int, int, int]] = [(0, 0, 0)]
    for end in range(1, len(order) + 1):
        best, shared = (saved[end - 1][0], end - 1, 0), len(prompts[order[end - 1]])
        for begin in range(end - 2, max(end - MOST_JOINED, 0) - 1, -1):
            if (shared := min(shared, common[begin])) < LEAST_SHARED:
                break
            best = max(best, (saved[begin][0] + (end - begin - 1) * shared, begin, shared))
        saved.append(best)
    groups: list[Group] = []
    end = len(order)
    while end:
        _, begin, shared = saved[end]
        groups.append(Group(tuple(order[begin:end]), shared))
        end = begin
    return groups[::-1]


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
        # A special token that begins every text is not part of the option.
        special = torch.isin(labels, torch.tensor(self.loaded.tokenizer.all_special_ids, device=labels.device))
        return summed(found, shown * ~special)
