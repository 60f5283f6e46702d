"""Causal and seq2seq models: batches, shared prefixes, likelihoods and writing."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice, pairwise
from typing import Any

import torch
from rapidfuzz.distance import Prefix
from torch.nn.utils.rnn import pad_sequence

from .._reading.calls import Sampling
from .loading import Loaded
from .prompting import Batch, Group, by_length, pack_groups


class SamplingProcessor:
    """A logits processor that makes greedy decoding sample from the model's distribution.

    It adds independent noise of the standard Gumbel distribution to the logits divided by the
    temperature. The token with the highest sum is then distributed as the softmax of the divided
    logits (the Gumbel-max trick: Maddison, Tarlow and Minka, A* Sampling, 2014, section 2). Each
    row has its own random generator, so batches do not change the result.

    Args:
        sampling: temperature and seed.
        prompts: tokens of each row's prompt.
    """

    def __init__(self, sampling: Sampling, prompts: Sequence[Sequence[int]]) -> None:
        self._temperature = sampling.temperature
        self._chances = [
            torch.Generator().manual_seed(prompt_seed(sampling.seed or 0, prompt))
            for prompt in prompts
        ]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores (rows, tokens) whose maximum is the sampled token."""
        noise = torch.stack(
            [torch.rand(scores.shape[1], generator=chance) for chance in self._chances]
        )
        gumbel = -torch.log(-torch.log(noise.clamp(1e-20, 1 - 1e-7)))
        return scores.float() / self._temperature + gumbel.to(scores.device)


def prompt_seed(seed: int, prompt: Sequence[int]) -> int:
    """Return the seed for one prompt, so that each prompt has its own random numbers."""
    content = f"{seed} {' '.join(map(str, prompt))}".encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=7).digest())


# Characters with which tokenizers show a blank or a line end at the beginning of a token.
_BLANKS = "▁ĠĊ \n\t"


class Options:
    """The options of a call as tokens that a model may write.

    A surface form is a sequence of tokens that reads as an option: with or without a blank before
    it, for words in any case. Its first token that the forms of other options do not share
    identifies it. Of `▁ 4` and `▁ 5` that is the second token.

    Args:
        options: the texts.
        tokenizer: the model's tokenizer.
    """

    def __init__(self, options: Sequence[str], tokenizer: Any) -> None:
        self._options = list(options)
        self._forms: dict[tuple[int, ...], int] = {}
        for index, option in enumerate(options):
            cases = dict.fromkeys([option, option.lower(), option.upper(), option.capitalize()])
            for form in (f"{blank}{case}" for case in cases for blank in ("", " ")):
                tokens = tuple(tokenizer(form, add_special_tokens=False).input_ids)
                if tokens and tokenizer.unk_token_id not in tokens:
                    self._forms.setdefault(tokens, index)
        named = {option.casefold(): index for index, option in enumerate(options)}
        for token, number in tokenizer.get_vocab().items():
            if (option_index := named.get(token.strip(_BLANKS).casefold())) is not None:
                self._forms.setdefault((number,), option_index)

    @cached_property
    def tokens(self) -> list[int]:
        """All tokens of surface forms; their scores are recorded."""
        return sorted({token for form in self._forms for token in form})

    def distribution(
        self, written: Sequence[int], scores: torch.Tensor, named: str, last: bool = False
    ) -> dict[str, float] | None:
        """Return the probability of each option at the step at which the model wrote its choice.

        Args:
            written: its tokens.
            scores: float (n, len(tokens)): at each step the logits of `tokens`.
            named: the option in its text, see `named_option`.
            last: whether to use the last occurrence, because reasoning before the answer may name
                the option, too.

        Returns:
            Probabilities that sum to 1, highest for the option named; None if its tokens are not
            found.
        """
        named_index = self._options.index(named)
        for start in reversed(range(len(written))) if last else range(len(written)):
            for form, index in self._forms.items():
                if index == named_index and tuple(written[start : start + len(form)]) == form:
                    depth = self._distinguishing_token(form, index)
                    return self._softmax(scores[start + depth], form[:depth], named_index)
        return None

    def _distinguishing_token(self, form: tuple[int, ...], index: int) -> int:
        """Return the index of a form's first token that distinguishes it from the forms of other
        options.
        """
        for depth in range(len(form)):
            if all(
                i == index
                for other, i in self._forms.items()
                if other[: depth + 1] == form[: depth + 1]
            ):
                return depth
        return len(form) - 1

    def _softmax(
        self, scores: torch.Tensor, path: tuple[int, ...], named_index: int
    ) -> dict[str, float]:
        """Return the distribution at one step, after the tokens of `path`."""
        claims: dict[int, set[int]] = {}
        for form, index in self._forms.items():
            if len(form) > len(path) and form[: len(path)] == path:
                claims.setdefault(form[len(path)], set()).add(index)
        place = {token: i for i, token in enumerate(self.tokens)}
        by_option: list[list[float]] = [[] for _ in self._options]
        for token, indexes in claims.items():
            if len(indexes) == 1:
                by_option[next(iter(indexes))].append(float(scores[place[token]]))
        sums = [
            torch.tensor(each, dtype=torch.float64).logsumexp(0)
            if each
            else torch.tensor(-torch.inf).double()
            for each in by_option
        ]
        logits = torch.stack(sums)
        if int(logits.argmax()) != named_index:
            # Many unlikely forms of one option can outweigh the form that greedy decoding chose.
            # The answer is the written text, so each option counts by its likeliest form.
            logits = torch.tensor(
                [max(each, default=-torch.inf) for each in by_option], dtype=torch.float64
            )
        return dict(zip(self._options, torch.softmax(logits, 0).tolist(), strict=True))


@dataclass(eq=False)
class OptionRecorder:
    """Records the options' scores while `generate` writes, and ends settled rows.

    `generate` gets it as a logits processor and as a stopping criterion. It runs after the
    processors of the model's own configuration, so it sees the final scores.

    Args:
        start: number of columns of the token matrix before the first written token.
        decode: converts the tokens of a row to text.
        settled: whether a text needs no more tokens; None to write every row to its end.
        tokens: long (n,): the tokens whose scores are recorded.
    """

    start: int
    decode: Callable[[list[int]], str]
    settled: Callable[[str], bool] | None
    tokens: torch.Tensor
    length: dict[int, int] = field(default_factory=dict, init=False)
    """Number of tokens written by row when it was settled."""
    _kept: list[torch.Tensor] = field(default_factory=list, init=False)

    def process(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Record the scores and return them unchanged."""
        if len(self.tokens):
            self._kept.append(scores[:, self.tokens.to(scores.device)].float().cpu())
        return scores

    def stop(self, input_ids: torch.Tensor, scores: Any) -> torch.Tensor:
        """Return whether each row is settled."""
        is_done = torch.zeros(len(input_ids), dtype=torch.bool)
        if self.settled is not None:
            for row, tokens in enumerate(input_ids[:, self.start :].tolist()):
                if row not in self.length and self.settled(self.decode(tokens)):
                    self.length[row] = len(tokens)
                is_done[row] = row in self.length
        return is_done.to(input_ids.device)

    def scores(self, row: int) -> torch.Tensor:
        """Return the recorded scores of one row, float (steps, len(tokens))."""
        return torch.stack([step[row] for step in self._kept]) if self._kept else torch.empty(0, 0)


Likelihood = tuple[float, int]
"""Log-likelihood of an option's tokens, and their number."""


@dataclass(frozen=True)
class WrittenText:
    """Text that a model wrote for one prompt.

    Args:
        tokens: without the end token.
        text: the tokens as text, stripped.
        complete: whether it ended or was settled before it was cut off.
        scores: float (steps, n): logits of the n watched tokens at each step.
    """

    tokens: list[int]
    text: str
    complete: bool
    scores: torch.Tensor


def regroup_by_option(
    values: Sequence[Likelihood], options: Sequence[Sequence[str]]
) -> list[list[Likelihood]]:
    """Return one value per option, in the shape of the options."""
    rest = iter(values)
    return [list(islice(rest, len(each))) for each in options]


def sum_likelihoods(likelihoods: torch.Tensor, counted: torch.Tensor) -> list[Likelihood]:
    """Return the sum of the counted log-likelihoods (rows, tokens) per row, and the number of
    counted tokens.
    """
    sums: list[float] = (likelihoods * counted).sum(1).tolist()
    numbers: list[int] = counted.sum(1).tolist()
    return [(total, int(number)) for total, number in zip(sums, numbers, strict=True)]


def pad_rows(
    rows: Sequence[Sequence[int]], pad: int, on_left: bool, device: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rows of tokens as a matrix and its mask, both long (rows, longest)."""
    tokens = [torch.tensor(row, dtype=torch.long) for row in rows]
    side = "left" if on_left else "right"
    ids = pad_sequence(tokens, True, pad, side)
    mask = pad_sequence([torch.ones_like(row) for row in tokens], True, 0, side)
    return ids.to(device), mask.to(device)


def pad_token(loaded: Loaded) -> int:
    """Return the padding token: the tokenizer's, or any other, because the mask hides it."""
    return next(
        (
            int(token)
            for token in (loaded.tokenizer.pad_token_id, loaded.tokenizer.eos_token_id)
            if token is not None
        ),
        0,
    )


def write_texts(
    loaded: Loaded,
    inputs: dict[str, Any],
    max_tokens: int,
    settled: Callable[[str], bool] | None,
    watched: Sequence[int],
    beams: int = 1,
    sampling: Sampling | None = None,
) -> list[WrittenText]:
    """Write with a model like its own `generate`; return a text per row, in their order.

    With one beam, decoding is greedy or sampled, and each row ends as soon as it is settled.
    Several beams are searched to their end, because the best one is known only then. Their logits
    belong to no single text, so none are recorded.

    Args:
        inputs: arguments of `generate`: tokens, mask, and earlier computations.
        max_tokens: maximum number of tokens written.
        settled: whether a text needs no more tokens; None to write to the end.
        watched: tokens whose logits are recorded.
        beams: number of beams.
        sampling: settings for random sampling, with one beam; None for the likeliest text.
    """
    start = 1 if loaded.seq2seq else inputs["input_ids"].shape[1]

    decode: Callable[[list[int]], str] = partial(loaded.tokenizer.decode, skip_special_tokens=True)
    watch = OptionRecorder(start, decode, settled, torch.tensor(watched, dtype=torch.long))
    processors: list[Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = [watch.process]
    if sampling is not None:
        rows = zip(inputs["input_ids"].tolist(), inputs["attention_mask"].tolist(), strict=True)
        prompts = [
            [token for token, shown in zip(ids, mask, strict=True) if shown] for ids, mask in rows
        ]
        processors.append(SamplingProcessor(sampling, prompts))
    looking_on = (
        {"logits_processor": processors, "stopping_criteria": [watch.stop]} if beams == 1 else {}
    )
    with warnings.catch_warnings(), torch.inference_mode():
        # Ignore warnings about the model's sampling settings, which greedy decoding does not use.
        warnings.simplefilter("ignore", UserWarning)
        sequences = loaded.model.generate(
            **inputs,
            do_sample=False,
            num_beams=beams,
            repetition_penalty=1.0,
            max_new_tokens=max_tokens,
            pad_token_id=pad_token(loaded),
            **looking_on,
        )
    ends = loaded.model.generation_config.eos_token_id
    ends = set(ends) if isinstance(ends, list) else {ends}
    answers = []
    for row, tokens in enumerate(sequences[:, start:].tolist()):
        length = watch.length.get(row, len(tokens))
        end = next((i for i, token in enumerate(tokens[:length]) if token in ends), None)
        kept = tokens[: length if end is None else end]
        text = decode(kept)
        complete = end is not None or (settled is not None and settled(text))
        answers.append(WrittenText(kept, text.strip(), complete, watch.scores(row)))
    return answers


LEAST_SHARED = 16
"""Minimum number of shared tokens for which a pass of their own is worthwhile."""

MOST_JOINED = 256
"""Maximum number of prompts of a group, which limits the search for groups."""

UNSHARED = 16
"""Divisor of a batch's size for likelihoods if prompts cannot be read once for all their options.
"""


@dataclass(eq=False)
class CausalRunner:
    """Runs batches with a causal model.

    Args:
        loaded: the model.
        share: whether common prefixes are read once; False if the model cannot do so.
    """

    loaded: Loaded
    share: bool = True

    def __post_init__(self) -> None:
        from transformers import DynamicCache
        from transformers.cache_utils import DynamicLayer

        # A sliding window would count the padding between the common prefix and the rest as text. A
        # recurrent state cannot be copied to other rows this way.
        layers = DynamicCache(config=self.loaded.model.config).layers
        self.share = self.share and all(type(layer) is DynamicLayer for layer in layers)
        self._takes = set(inspect.signature(self.loaded.model.forward).parameters)

    def plan(self, prompts: Sequence[list[int]], budget: int) -> list[Batch]:
        """Return batches of groups with a common prefix, and batches of similar length for the
        other prompts.
        """
        groups = (
            share_prefixes(prompts)
            if self.share
            else [Group((row,)) for row in range(len(prompts))]
        )
        alone = [group.rows[0] for group in groups if not group.shared]
        sharing = [group for group in groups if group.shared]
        return pack_groups(prompts, sharing, budget) + by_length(prompts, alone, budget)

    def plan_weighing(self, prompts: Sequence[list[int]], budget: int) -> list[Batch]:
        """Return batches for `likelihoods`; small ones if the prompt is read with each option and
        all its logits are computed."""
        return by_length(prompts, range(len(prompts)), budget if self.share else budget // UNSHARED)

    def inputs(self, prompts: Sequence[list[int]], batch: Batch) -> dict[str, Any]:
        """Return the arguments of `generate` for a batch; see `write_texts`."""
        if not batch[0].shared:
            ids, mask = self._pad_rows([prompts[group.rows[0]] for group in batch], on_left=True)
            return {"input_ids": ids, "attention_mask": mask}
        beginnings = [prompts[group.rows[0]][: group.shared] for group in batch]
        of = [place for place, group in enumerate(batch) for _ in group.rows]
        rest, rest_mask = self._pad_rows(
            [prompts[row][group.shared :] for group in batch for row in group.rows], on_left=True
        )
        ids, mask, cache = self._read(beginnings, of)
        return {
            "input_ids": torch.cat([ids, rest], dim=1),
            "attention_mask": torch.cat([mask, rest_mask], dim=1),
            "past_key_values": cache,
        }

    def likelihoods(
        self, prompts: Sequence[str], tokens: Sequence[list[int]], options: Sequence[Sequence[str]]
    ) -> list[list[Likelihood]]:
        """Return the likelihood of each option as the continuation of its prompt."""
        continuing = [
            tokens_with_options(self.loaded.tokenizer, *each)
            for each in zip(prompts, tokens, options, strict=True)
        ]
        of = [place for place, each in enumerate(options) for _ in each]
        # The last token before an option is read with the option, because its logits predict the
        # option's first token.
        beginnings = [
            row[: min((at for _, at in each), default=1) - 1]
            for row, each in zip(tokens, continuing, strict=True)
        ]
        if not self.share or not all(beginnings):
            beginnings = []
        rows, starts = [], []
        for place, (whole, at) in zip(
            of, (tokenized for each in continuing for tokenized in each), strict=True
        ):
            read = len(beginnings[place]) if beginnings else 0
            rows.append(whole[read:])
            starts.append(at - read)
        return regroup_by_option(self._score(beginnings, of, rows, starts), options)

    @torch.inference_mode()
    def _score(
        self,
        beginnings: list[list[int]],
        owners: list[int],
        rows: list[list[int]],
        starts: list[int],
    ) -> list[Likelihood]:
        """Return the likelihood of the tokens of each row from `starts` on, row i after prefix
        `owners[i]`.
        """
        ids, mask = self._pad_rows(rows, on_left=False)
        extra: dict[str, Any] = {"attention_mask": mask, "use_cache": False}
        if beginnings:
            _, before, cache = self._read(beginnings, owners)
            extra = {
                "attention_mask": torch.cat([before, mask], dim=1),
                "past_key_values": cache,
                "use_cache": True,
            }
        if "position_ids" in self._takes:
            extra["position_ids"] = _token_positions(extra["attention_mask"])[:, -ids.shape[1] :]
        logits = torch.log_softmax(
            self.loaded.model(input_ids=ids, **extra).logits[:, :-1].float(), -1
        )
        likelihoods = logits.gather(-1, ids[:, 1:].unsqueeze(-1)).squeeze(-1)
        columns = torch.arange(1, ids.shape[1], device=ids.device)
        counted = mask[:, 1:] * (columns >= torch.tensor(starts, device=ids.device).unsqueeze(1))
        return sum_likelihoods(likelihoods, counted)

    @torch.inference_mode()
    def _read(
        self, beginnings: list[list[int]], owners: list[int]
    ) -> tuple[torch.Tensor, torch.Tensor, Any]:
        """Read each prefix once; return tokens, mask and cache of prefix `owners[i]` in row i."""
        from transformers import DynamicCache

        ids, mask = self._pad_rows(beginnings, on_left=True)
        extra: dict[str, Any] = (
            {"position_ids": _token_positions(mask)} if "position_ids" in self._takes else {}
        )
        if "logits_to_keep" in self._takes:
            extra["logits_to_keep"] = 1
        cache: Any = DynamicCache(config=self.loaded.model.config)
        self.loaded.model(
            input_ids=ids, attention_mask=mask, past_key_values=cache, use_cache=True, **extra
        )
        index = torch.tensor(owners, device=ids.device)
        cache.batch_select_indices(index)
        return ids[index], mask[index], cache

    def _pad_rows(
        self, rows: Sequence[Sequence[int]], on_left: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return pad_rows(rows, pad_token(self.loaded), on_left, self.loaded.device)


def _token_positions(mask: torch.Tensor) -> torch.Tensor:
    """Return the position of each token among the unmasked ones, as `generate` counts them."""
    return (mask.cumsum(-1) - 1).masked_fill(mask == 0, 0)


def tokens_with_options(
    tokenizer: Any, prompt: str, tokens: Sequence[int], options: Sequence[str]
) -> list[tuple[list[int], int]]:
    """Return prompt and option as tokens, and the index of the option's first token, for each
    option.

    Both are tokenized together, because a tokenizer may join the end of the prompt with the
    beginning of the option.

    Args:
        prompt, tokens: the prompt as text and as tokens.
    """
    chat = bool(getattr(tokenizer, "chat_template", None))
    glue = "" if chat or not prompt or prompt[-1].isspace() else " "
    texts = [f"{prompt}{glue}{option}" for option in options]
    rows = []
    for whole in tokenizer(texts, add_special_tokens=not chat, verbose=False).input_ids:
        while whole and whole[-1] == tokenizer.eos_token_id != tokens[-1]:
            whole.pop()
        rows.append((whole, max(1, Prefix.similarity(tokens, whole))))
    return rows


def share_prefixes(prompts: Sequence[list[int]]) -> list[Group]:
    """Group prompts by common prefixes, so that the fewest tokens are read.

    Prompts are sorted by their tokens, so that those with long common prefixes are neighbours. The
    longest common prefixes need not give the best groups, so all divisions are compared by dynamic
    programming.

    Returns:
        Groups with `shared` of at least `LEAST_SHARED`, and single prompts with 0. At least one
        token of each prompt is not shared, because its logits are needed.
    """
    order = sorted(range(len(prompts)), key=lambda row: prompts[row])
    common = [
        min(Prefix.similarity(prompts[a], prompts[b]), len(prompts[a]) - 1, len(prompts[b]) - 1)
        for a, b in pairwise(order)
    ]
    # For the first n prompts: the most tokens that sharing saves. For their last group: first
    # prompt and shared length.
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
    """Runs batches with a model that has an encoder and a decoder."""

    loaded: Loaded

    def plan(self, prompts: Sequence[list[int]], budget: int) -> list[Batch]:
        """Return batches of prompts with similar length."""
        return by_length(prompts, range(len(prompts)), budget)

    plan_weighing = plan

    def inputs(self, prompts: Sequence[list[int]], batch: Batch) -> dict[str, Any]:
        """Return the arguments of `generate` for a batch; see `write_texts`."""
        rows = [prompts[row] for group in batch for row in group.rows]
        ids, mask = pad_rows(rows, pad_token(self.loaded), False, self.loaded.device)
        return {"input_ids": ids, "attention_mask": mask}

    def likelihoods(
        self, prompts: Sequence[str], tokens: Sequence[list[int]], options: Sequence[Sequence[str]]
    ) -> list[list[Likelihood]]:
        """Return the likelihood of each option as the decoder's text after the encoded prompt."""
        of = [place for place, each in enumerate(options) for _ in each]
        targets = [self._target(option) for each in options for option in each]
        return regroup_by_option(self._score(tokens, of, targets), options)

    def _target(self, option: str) -> list[int]:
        """Return an option's tokens without the end token, whose likelihood is not part of the
        option's.
        """
        tokenizer = self.loaded.tokenizer
        target: list[int] = tokenizer(option).input_ids
        while target and target[-1] == tokenizer.eos_token_id:
            target.pop()
        return target

    @torch.inference_mode()
    def _score(
        self, prompts: Sequence[list[int]], owners: list[int], targets: list[list[int]]
    ) -> list[Likelihood]:
        """Score n targets, target i after prompt `owners[i]`, in one pass."""
        model: Any = self.loaded.model
        ids, mask = pad_rows(prompts, pad_token(self.loaded), False, self.loaded.device)
        hidden = model.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        labels, label_mask = pad_rows(targets, 0, False, self.loaded.device)
        first = model.generation_config.decoder_start_token_id
        shifted = torch.cat([torch.full_like(labels[:, :1], first), labels[:, :-1]], dim=1)
        logits = model(
            encoder_outputs=(hidden[owners],),
            attention_mask=mask[owners],
            decoder_input_ids=shifted,
            use_cache=False,
        ).logits
        likelihoods = (
            torch.log_softmax(logits.float(), -1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
        )
        # A special token that begins every text is not part of the option.
        special = torch.isin(
            labels, torch.tensor(self.loaded.tokenizer.all_special_ids, device=labels.device)
        )
        return sum_likelihoods(likelihoods, label_mask * ~special)
