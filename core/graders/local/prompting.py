"""Conversion of a call to the tokens for a local model: role markers, passages as data, fitting into the window."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..prompts.prompt import PASSAGE, fill
from ..reading.calls import Call
from .templates import fill_chat_template


@dataclass(frozen=True)
class Prepared:
    """A call as tokens.

    Args:
        tokens: input of the model.
        text: the same as text, role markers included.
        shortened: number of tokens of the passage left out.
        error: why it does not fit; None if it fits.
    """

    tokens: list[int]
    text: str
    shortened: int = 0
    error: str | None = None


class Prompting:
    """Converts calls to tokens for one model.

    Args:
        tokenizer: the model's tokenizer; no other thread may use it meanwhile.
        chat: whether the model has roles, so that its chat template is used, if it has one.
        limit: most tokens of a prompt.
    """

    def __init__(self, tokenizer: Any, chat: bool, limit: int) -> None:
        self._tokenizer = tokenizer
        self._limit = limit
        self.chat = chat and bool(getattr(tokenizer, "chat_template", None))

    def prepare(self, calls: Sequence[Call], room: Callable[[Call], int]) -> list[Prepared]:
        """Fill in the prompts, and shorten the passages of those that are too long.

        Args:
            calls: n calls.
            room: number of tokens to reserve for the answer to a call.

        Returns:
            n prepared calls in their order.
        """
        texts = self._render([(call, call.values) for call in calls])
        return [
            Prepared(tokens, text) if len(tokens) <= self._limit - room(call) else self._fit(call, room(call))
            for call, text, tokens in zip(calls, texts, self.encode(texts), strict=True)
        ]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of whole prompts as the model reads them."""
        if not texts:
            return []
        # A chat template writes the markers of beginning and end itself.
        encoded: list[list[int]] = self._tokenizer(
            list(texts), add_special_tokens=not self.chat, verbose=False
        ).input_ids
        return encoded

    def _fit(self, call: Call, room: int) -> Prepared:
        """Cut the end of the passage, and nothing else, until the prompt fits."""
        passage = call.values.get(PASSAGE, "")
        cuts = self._cuts(passage)
        keep = len(cuts)
        while True:
            (text,) = self._render([(call, {**call.values, PASSAGE: passage[: cuts[keep - 1]] if keep else ""})])
            tokens = self.encode([text])[0]
            over = len(tokens) - (self._limit - room)
            if over <= 0:
                return Prepared(tokens, text, shortened=len(cuts) - keep)
            if keep == 0:
                return Prepared(
                    [],
                    "",
                    error=f"the prompt is {over} tokens too long even without its passage: the model reads at most "
                    f"{self._limit - room}",
                )
            keep = max(0, keep - over)

    def _cuts(self, passage: str) -> list[int]:
        """Return the end of each token in the passage's text, or of each word if the tokenizer does not report
        offsets."""
        if not self._tokenizer.is_fast:
            return [word.end() for word in re.finditer(r"\S+", passage)]
        encoded = self._tokenizer(passage, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [end for _, end in encoded.offset_mapping]

    def _render(self, asked: Sequence[tuple[Call, Mapping[str, str]]]) -> list[str]:
        """Return the prompts of calls with their values, in the model's chat template if it is a chat model."""
        filled = [
            fill(call.prompt, {name: self._as_data(value) for name, value in values.items()}, call.fence)
            for call, values in asked
        ]
        whole = [messages.joined() for messages in filled]
        if not self.chat:
            return whole
        texts = self._chat([(messages.system, messages.user) for messages in filled])
        # Some templates refuse a system role, and some drop it silently.
        deaf = [
            place
            for place, (messages, text) in enumerate(zip(filled, texts, strict=True))
            if messages.system and (text is None or messages.system.strip() not in text)
        ]
        for place, text in zip(deaf, self._chat([("", whole[place]) for place in deaf]), strict=True):
            texts[place] = text
        return [plain if text is None else text for plain, text in zip(whole, texts, strict=True)]

    def _chat(self, asked: Sequence[tuple[str, str]]) -> list[str | None]:
        """Return system (empty for none) and user texts in the model's chat template; None if it refuses them."""
        roles = ("system", "user")
        return fill_chat_template(
            self._tokenizer,
            [
                [
                    {"role": role, "content": text}
                    for role, text in zip(roles, each, strict=True)
                    if text or role == "user"
                ]
                for each in asked
            ],
        )

    def _as_data(self, text: str) -> str:
        """Return a text without markers of the model, such as the end of a turn."""
        # JSON can contain lone surrogates, which tokenizers refuse.
        clean = text.encode("utf-8", "replace").decode()
        return self._markers.sub(lambda found: f"{found[0][0]} {found[0][1:]}", clean) if self._markers else clean

    @cached_property
    def _markers(self) -> re.Pattern[str] | None:
        added = self._tokenizer.added_tokens_decoder.values()
        markers = {*self._tokenizer.all_special_tokens, *(token.content for token in added if token.special)}
        # Words and single characters can be special too (an unknown-word token "unk"); they are left unchanged.
        found = sorted((m for m in markers if len(m) > 1 and not m.isalnum()), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, found))) if found else None
