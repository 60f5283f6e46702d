"""One input of the fuzzer: files and plain values, made by dice, kept in a folder, read back from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

NOTES = "input.json"


@dataclass(frozen=True)
class Input:
    """What is sent through one door.

    Args:
        kind: a key of the table of kinds.
        files: names, as a person would give them, with contents.
        given: all else, as JSON values.
    """

    kind: str
    files: tuple[tuple[str, bytes], ...] = ()
    given: dict[str, Any] = field(default_factory=dict)

    def store(self, folder: Path, **notes: object) -> None:
        """Keep it in a folder; `notes` say where it comes from and what it did."""
        folder.mkdir(parents=True, exist_ok=True)
        for number, (_, data) in enumerate(self.files):
            (folder / f"file-{number}").write_bytes(data)
        content = {"kind": self.kind, "names": [name for name, _ in self.files], "given": self.given, **notes}
        (folder / NOTES).write_text(json.dumps(content, indent=1))


def stored(folder: Path) -> Input:
    """The input that `Input.store` kept in a folder."""
    content = json.loads((folder / NOTES).read_text())
    names = enumerate(content["names"])
    files = tuple((name, (folder / f"file-{number}").read_bytes()) for number, name in names)
    return Input(content["kind"], files, content["given"])


def dice(seed: int, kind: str, number: int) -> Random:
    """The dice of one input: they depend on nothing that came before it."""
    return Random(f"{seed}/{kind}/{number}")


def shrunk(whole: Input, still_fails: Callable[[Input], bool], tries: int = 150) -> Input:
    """A smaller input that fails alike: stretches of its files and of its longest text are left out, ever shorter ones.

    Args:
        still_fails: whether an input fails as the whole one does.
        tries: how many inputs are tried at most.
    """
    for number in range(len(whole.files)):
        with_data = partial(_with_file, whole, number)
        data, tries = _shorter(whole.files[number][1], lambda data, make=with_data: still_fails(make(data)), tries)
        whole = with_data(data)
    if isinstance(text := whole.given.get("text"), str):
        with_text = partial(_with_text, whole)
        text, tries = _shorter(text, lambda text: still_fails(with_text(text)), tries)
        whole = with_text(text)
    return whole


def _with_file(whole: Input, number: int, data: bytes) -> Input:
    files = list(whole.files)
    files[number] = (files[number][0], data)
    return replace(whole, files=tuple(files))


def _with_text(whole: Input, text: str) -> Input:
    return replace(whole, given={**whole.given, "text": text})


def _shorter(content: Any, still_fails: Callable[[Any], bool], tries: int) -> tuple[Any, int]:
    piece = len(content) // 2
    while piece and tries:
        begin = 0
        while begin < len(content) and tries:
            less = content[:begin] + content[begin + piece :]
            tries -= 1
            if still_fails(less):
                content = less
            else:
                begin += piece
        piece //= 2
    return content, tries
