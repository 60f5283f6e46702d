"""Interface of the store for text vectors, so that each text is encoded only once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Kept:
    """The stored data of a text.

    Args:
        vector: float32 numbers, as bytes.
        sentences: float16 numbers as bytes, one vector after the other; empty without sentence vectors.
    """

    vector: bytes
    sentences: bytes


class VectorStore(Protocol):
    """A cache: stored vectors may be missing at the next `get`."""

    def get(self, encoder: str, role: str, digests: Sequence[bytes]) -> Mapping[bytes, Kept]:
        """Return the stored vectors, by digest of the text; unknown ones are left out.

        Args:
            encoder: identity of the encoder and its settings.
            role: question or passage.
            digests: digests of the texts.
        """
        ...

    def put(self, encoder: str, role: str, kept: Mapping[bytes, Kept]) -> None:
        """Store vectors that are not stored yet, by digest of the text."""
        ...
