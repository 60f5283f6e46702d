"""Where an encoder keeps what it made of texts, so that each text is encoded once and not once a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Kept:
    """What is kept of a text, as bytes.

    Args:
        vector: float32 numbers.
        sentences: float16 numbers, one vector after the other; empty where there are none.
    """

    vector: bytes
    sentences: bytes


class VectorStore(Protocol):
    """A cache: what was put may be gone at the next `get`."""

    def get(self, encoder: str, role: str, digests: Sequence[bytes]) -> Mapping[bytes, Kept]:
        """What is kept, by digest of the text; what is not kept is missing.

        Args:
            encoder: whatever the numbers hang on beside the text.
            role: what the text was encoded as: question or passage.
            digests: of the texts.
        """
        ...

    def put(self, encoder: str, role: str, kept: Mapping[bytes, Kept]) -> None:
        """Keep what is not kept yet, by digest of the text."""
        ...
