"""Calls as tokens for a local model: role markers, passages as data, and batches of prompts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ...errors import GradingError
from .._prompts.prompt import PASSAGE, Messages, fill_prompt
from .._reading.calls import Call

SECONDS = 10.0
"""Minimum time limit of templates in seconds; an honest template takes a ten-thousandth of it."""
SPEED = 100_000
"""Characters for each further second of the time limit; an honest template fills in a hundred times
as many.
"""

_FILE = Path(__file__).with_name("template_process.py")
_KEPT = ("HOME", "PATH", "SYSTEMROOT", "TMPDIR", "LD_LIBRARY_PATH")
"""Environment variables that the process gets. All others are withheld, because some hold keys."""

_process: subprocess.Popen[str] | None = None
_lock = threading.Lock()


def fill_chat_template(
    tokenizer: Any, conversations: Sequence[list[dict[str, str]]]
) -> list[str | None]:
    """Return conversations in a model's chat template, as the library's `apply_chat_template`
    writes them.

    Args:
        tokenizer: the model's tokenizer, with a chat template.
        conversations: messages with `role` and `content`, for each conversation.

    Returns:
        A text for each, None if the template refuses its messages.

    Raises:
        GradingError: the template runs for too long, needs too much memory, or does something
            forbidden.
    """
    # Disable the reasoning of models: an answer is read from its first tokens.
    same = {
        "template": tokenizer.get_chat_template(),
        "values": {**tokenizer.special_tokens_map, "enable_thinking": False},
    }
    answers = _ask_process(
        [json.dumps({**same, "messages": messages}) for messages in conversations]
    )
    if reasons := [answer["unusable"] for answer in answers if "unusable" in answer]:
        raise GradingError(
            "chat-template-unusable",
            f"The chat template of the model {tokenizer.name_or_path} cannot be used:"
            f" {reasons[0].rstrip('.')}.",
            "Choose another model, or correct its chat template.",
        )
    return [answer["text"] for answer in answers]


def _ask_process(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return the process's answers to lines. The last one reports an end or a time-out."""
    global _process
    with _lock:
        process, _process = _process or _start_process(), None
        assert process.stdin is not None and process.stdout is not None
        ending = threading.Timer(SECONDS + sum(map(len, lines)) / SPEED, process.kill)
        ending.start()
        answers = []
        try:
            for line in lines:
                process.stdin.write(f"{line}\n")
                process.stdin.flush()
                answers.append(json.loads(process.stdout.readline()))
            _process = process
        except (OSError, ValueError):
            answers.append({"unusable": "it exceeded its time or memory limit"})
        finally:
            ending.cancel()
            # End an interrupted process: it would answer the next requests with the results of
            # these requests.
            if _process is None:
                _end_process(process)
        return answers


def _end_process(process: subprocess.Popen[str]) -> None:
    process.kill()
    with contextlib.suppress(OSError):
        process.communicate()


def _start_process() -> subprocess.Popen[str]:
    """Start a new process and wait until it is ready.

    Raises:
        GradingError: it does not start.
    """
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # Fewer threads need less of the limited memory.
    environment |= {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "OPENBLAS_NUM_THREADS": "1",
    }
    process = subprocess.Popen(
        [sys.executable, "-P", str(_FILE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        encoding="ascii",
        # Ctrl-C at a terminal is for the job, which ends the process itself.
        start_new_session=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        _end_process(process)
        raise GradingError(
            "chat-template-unusable",
            "The process that fills in chat templates failed to start (code"
            f" {process.returncode}).",
            f"To see the cause, run: {sys.executable} {_FILE}",
        )
    return process


@dataclass(frozen=True)
class Group:
    """Prompts that are read together.

    Args:
        rows: their indexes.
        shared: number of common leading tokens that are read once; 0 for none.
    """

    rows: tuple[int, ...]
    shared: int = 0


Batch = list[Group]


def default_budget(device: str) -> int:
    """Return the tokens of a batch, padding included.

    A processor is fastest within its caches, a GPU with large batches.
    """
    return 4096 if device == "cpu" else 32768


KEPT_PER_COMPUTED = 8
"""Limit of stored keys and values, in multiples of a batch's tokens: shared ones are copied to
every row.
"""


def by_length(prompts: Sequence[list[int]], rows: Sequence[int], budget: int) -> list[Batch]:
    """Return batches of prompts with similar length and no common prefix. The longest is first, so
    that a batch that is too large fails early."""
    longest_first = sorted(rows, key=lambda row: -len(prompts[row]))
    return pack_groups(prompts, [Group((row,)) for row in longest_first], budget)


def pack_groups(prompts: Sequence[list[int]], groups: Sequence[Group], budget: int) -> list[Batch]:
    """Pack groups into batches within the budget, those with the longest common prefix first. A
    large group is split, and its prefix is read again.
    """
    batches: list[Batch] = []
    rows = beginning = rest = 0
    for group in sorted(groups, key=lambda group: -group.shared):
        longest = max(max(len(prompts[row]) for row in group.rows) - group.shared, 1)
        most = max(
            1, min(budget // longest, KEPT_PER_COMPUTED * budget // (group.shared + longest))
        )
        for start in range(0, len(group.rows), most):
            part = Group(group.rows[start : start + most], group.shared)
            count = rows + len(part.rows)
            beginning, rest = max(beginning, part.shared), max(rest, longest)
            computed = (len(batches[-1]) + 1 if batches else 1) * beginning + count * rest
            if (
                batches
                and computed <= budget
                and count * (beginning + rest) <= KEPT_PER_COMPUTED * budget
            ):
                batches[-1].append(part)
                rows = count
            else:
                batches.append([part])
                rows, beginning, rest = len(part.rows), part.shared, longest
    return batches


def split_batch(batch: Batch) -> tuple[Batch, Batch]:
    """Split a batch of at least two rows in two: between groups, or within its only group."""
    if len(batch) > 1:
        return batch[: len(batch) // 2], batch[len(batch) // 2 :]
    rows, shared = batch[0].rows, batch[0].shared
    return [Group(rows[: len(rows) // 2], shared)], [Group(rows[len(rows) // 2 :], shared)]


@dataclass(frozen=True)
class PreparedCall:
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


@dataclass(eq=False)
class Prompting:
    """Converts calls to tokens for one model.

    Args:
        tokenizer: the model's tokenizer; no other thread may use it meanwhile.
        chat: whether the model has roles, so that its chat template is used, if it has one.
        limit: maximum number of tokens of a prompt.
    """

    tokenizer: Any
    chat: bool
    limit: int

    def __post_init__(self) -> None:
        self.chat = self.chat and bool(getattr(self.tokenizer, "chat_template", None))

    def prepare(self, calls: Sequence[Call], room: Callable[[Call], int]) -> list[PreparedCall]:
        """Fill in the prompts, and shorten the passages of those that are too long.

        Args:
            calls: n calls.
            room: number of tokens to reserve for the answer to a call.

        Returns:
            n prepared calls in their order.
        """
        texts = self._render([(call, call.values) for call in calls])
        return [
            PreparedCall(tokens, text)
            if len(tokens) <= self.limit - room(call)
            else self._fit(call, room(call))
            for call, text, tokens in zip(calls, texts, self.encode(texts), strict=True)
        ]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of whole prompts as the model reads them."""
        # A chat template writes the markers of beginning and end itself.
        encoded: list[list[int]] = self.tokenizer(
            list(texts), add_special_tokens=not self.chat, verbose=False
        ).input_ids
        return encoded

    def _fit(self, call: Call, room: int) -> PreparedCall:
        """Cut the end of the passage, and nothing else, until the prompt fits."""
        passage = call.values.get(PASSAGE, "")
        cuts = self._token_ends(passage)
        keep = len(cuts)
        while True:
            (text,) = self._render(
                [(call, {**call.values, PASSAGE: passage[: cuts[keep - 1]] if keep else ""})]
            )
            tokens = self.encode([text])[0]
            over = len(tokens) - (self.limit - room)
            if over <= 0:
                return PreparedCall(tokens, text, shortened=len(cuts) - keep)
            if keep == 0:
                return PreparedCall(
                    [],
                    "",
                    error=f"the prompt is {over} tokens too long even without its passage: the"
                    f" model reads at most {self.limit - room}",
                )
            keep = max(0, keep - over)

    def _token_ends(self, passage: str) -> list[int]:
        """Return the end of each token in the passage's text, or of each word if the tokenizer does
        not report offsets."""
        if not self.tokenizer.is_fast:
            return [word.end() for word in re.finditer(r"\S+", passage)]
        encoded = self.tokenizer(
            passage, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return [end for _, end in encoded.offset_mapping]

    def _render(self, calls: Sequence[tuple[Call, Mapping[str, str]]]) -> list[str]:
        """Return the prompts of calls with their values, in the model's chat template if it is a
        chat model.
        """
        filled = [
            fill_prompt(
                call.prompt,
                {name: self._as_data(value) for name, value in values.items()},
                call.fence,
            )
            for call, values in calls
        ]
        whole = [messages.joined() for messages in filled]
        if not self.chat:
            return whole
        texts = fill_chat_template(self.tokenizer, [messages.by_role() for messages in filled])
        # Some templates refuse a system role, and some drop it silently.
        deaf = [
            place
            for place, (messages, text) in enumerate(zip(filled, texts, strict=True))
            if messages.system and (text is None or messages.system.strip() not in text)
        ]
        alone = [Messages(whole[place]).by_role() for place in deaf]
        for place, text in zip(deaf, fill_chat_template(self.tokenizer, alone), strict=True):
            texts[place] = text
        return [plain if text is None else text for plain, text in zip(whole, texts, strict=True)]

    def _as_data(self, text: str) -> str:
        """Return a text without markers of the model, such as the end of a turn."""
        # JSON can contain lone surrogates, which tokenizers refuse.
        clean = text.encode("utf-8", "replace").decode()
        return (
            self._markers.sub(lambda marker: f"{marker[0][0]} {marker[0][1:]}", clean)
            if self._markers
            else clean
        )

    @cached_property
    def _markers(self) -> re.Pattern[str] | None:
        added = self.tokenizer.added_tokens_decoder.values()
        markers = {
            *self.tokenizer.all_special_tokens,
            *(token.content for token in added if token.special),
        }
        # Words and single characters can be special too (an unknown-word token "unk"); they are
        # left unchanged.
        longest_first = sorted(
            (m for m in markers if len(m) > 1 and not m.isalnum()), key=len, reverse=True
        )
        return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
