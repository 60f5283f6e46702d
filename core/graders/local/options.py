"""Monitoring of a model while it writes: early end of settled answers, and probabilities of the options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch

from ..reading.calls import Call
from ..reading.parsing import parse_letter, parse_rating, parse_yes_no

# Characters of tokenizers for a blank or line end at the beginning of a token.
_BLANKS = "▁ĠĊ \n\t"


def named_option(call: Call, text: str) -> str | None:
    """Return the option that an answer names, by the parser's rules; None if it names no option."""
    if call.form == "rating":
        parsed = parse_rating(text, top=call.prompt.top)
        name = str(parsed.rating)
    elif call.form == "yes-no":
        parsed = parse_yes_no(text)
        name = "yes" if parsed.rating else "no"
    else:
        parsed = parse_letter(text, call.options)
        name = call.options[parsed.rating] if parsed.rating is not None else ""
    if parsed.status != "graded":
        return None
    return next((option for option in call.options if option.casefold() == name.casefold()), None)


class Options:
    """The options of a call as tokens that a model may write.

    A surface form is a sequence of tokens that reads as an option: with or without a blank before it, for words in any
    case. Its first token that the forms of other options do not share identifies it. Of `▁ 4` and `▁ 5` that is the
    second token.

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
            if (found := named.get(token.strip(_BLANKS).casefold())) is not None:
                self._forms.setdefault((number,), found)

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
            last: whether to use the last occurrence, because reasoning before the answer may name the option, too.

        Returns:
            Probabilities that sum to 1, highest for the option named; None if its tokens are not found.
        """
        said = self._options.index(named)
        for start in reversed(range(len(written))) if last else range(len(written)):
            for form, index in self._forms.items():
                if index == said and tuple(written[start : start + len(form)]) == form:
                    depth = self._telling(form, index)
                    return self._softmax(scores[start + depth], form[:depth], said)
        return None

    def _telling(self, form: tuple[int, ...], index: int) -> int:
        """Return the index of a form's first token that distinguishes it from the forms of other options."""
        for depth in range(len(form)):
            if all(i == index for other, i in self._forms.items() if other[: depth + 1] == form[: depth + 1]):
                return depth
        return len(form) - 1

    def _softmax(self, scores: torch.Tensor, path: tuple[int, ...], said: int) -> dict[str, float]:
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
            torch.tensor(each, dtype=torch.float64).logsumexp(0) if each else torch.tensor(-torch.inf).double()
            for each in by_option
        ]
        logits = torch.stack(sums)
        if int(logits.argmax()) != said:
            # Many unlikely forms of one option can outweigh the form that greedy decoding chose. The answer is the
            # written text, so each option counts by its likeliest form.
            logits = torch.tensor([max(each, default=-torch.inf) for each in by_option], dtype=torch.float64)
        return dict(zip(self._options, torch.softmax(logits, 0).tolist(), strict=True))


class Watch:
    """Records the options' scores while `generate` writes, and ends settled rows.

    `generate` gets it as a logits processor and as a stopping criterion. It runs after the processors of the model's
    own configuration, so it sees the final scores.

    Args:
        start: number of columns of the token matrix before the first written token.
        decode: converts the tokens of a row to text.
        settled: whether a text needs no more tokens; None to write every row to its end.
        tokens: the tokens whose scores are recorded.
    """

    def __init__(
        self,
        start: int,
        decode: Callable[[list[int]], str],
        settled: Callable[[str], bool] | None,
        tokens: Sequence[int],
    ) -> None:
        self._start = start
        self._decode = decode
        self._settled = settled
        self._tokens = torch.tensor(tokens, dtype=torch.long)
        self._kept: list[torch.Tensor] = []
        self.length: dict[int, int] = {}
        """Number of tokens written by row when it was settled."""

    def process(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Record the scores and return them unchanged."""
        if len(self._tokens):
            self._kept.append(scores[:, self._tokens.to(scores.device)].float().cpu())
        return scores

    def stop(self, input_ids: torch.Tensor, scores: Any) -> torch.Tensor:
        """Return whether each row is settled."""
        done = torch.zeros(len(input_ids), dtype=torch.bool)
        if self._settled is not None:
            for row, tokens in enumerate(input_ids[:, self._start :].tolist()):
                if row not in self.length and self._settled(self._decode(tokens)):
                    self.length[row] = len(tokens)
                done[row] = row in self.length
        return done.to(input_ids.device)

    def scores(self, row: int) -> torch.Tensor:
        """Return the recorded scores of one row, float (steps, len(tokens))."""
        return torch.stack([step[row] for step in self._kept]) if self._kept else torch.empty(0, 0)
