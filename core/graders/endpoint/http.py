"""The HTTP client for endpoints: of what is sent back only so much is read, and no call is led elsewhere."""

from __future__ import annotations

import logging
import zlib
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

import openai

from .redaction import redact
from .retry import LONGEST_HEADER

CHUNK = 1 << 16
GZIP = zlib.MAX_WBITS | 32
"""Tells zlib to expect gzip, or its own form, which is HTTP's deflate."""
UNKNOWN_COMPRESSION = "the answer has an unsupported compression"
BROKEN_COMPRESSION = "the answer cannot be decompressed"


class UnreadableAnswerError(Exception):
    """An answer that is not read to its end; its text says why."""


class UnsentError(Exception):
    """A request that could not be sent for a reason that the library has no error of its own for; its text says why."""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """A client that reads answers up to a size, follows no redirect, and keeps no cookie.

    Args:
        most: bytes of an answer, expanded.
        key: is taken out of headers.
        options: as the client that it is made from takes them.
    """

    def __init__(self, most: int, key: str, **options: Any) -> None:
        super().__init__(follow_redirects=False, **options)
        self._most = most
        self._key = key
        self.spool: BinaryIO | None = None
        """Gets the body of an answer of success in the place of the memory, up to `spool_most` bytes."""
        self.spool_most = most
        # Their lines repeat what an endpoint sends, as the words beside a status, before anybody could look at it.
        for name in ("httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its answer.

        Returns:
            The answer with its body, and of its headers those that say when to ask again.

        Raises:
            UnsentError: it could not be sent.
            UnreadableAnswerError: the answer is too long, or compressed in a way that was not asked for.
        """
        request.headers["accept-encoding"] = "gzip"
        try:
            response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
        except (ExceptionGroup, OverflowError, ValueError) as error:
            # As of a proxy whose address is none; the words of such an error may repeat its password.
            raise UnsentError(type(error).__name__) from None
        try:
            self.cookies.clear()
            if self.spool is not None and response.status_code == 200:
                async for piece in _pieces(response, self.spool_most):
                    self.spool.write(piece)
                content = b""
            else:
                content = b"".join([piece async for piece in _pieces(response, self._most)])
        finally:
            await response.aclose()
        # A response anew: what the other one says of type and encoding would be believed where the body is read.
        headers = {
            name: redact(value, [self._key])
            for name, value in response.headers.items()
            if (name.startswith("retry-after") or "ratelimit" in name)
            # Other signs say nothing of a time, and could not be put into a header again.
            and len(value) <= LONGEST_HEADER
            and f"{name}{value}".isascii()
        }
        return type(response)(response.status_code, headers=headers, content=content, request=request)


async def _pieces(response: Any, most: int) -> AsyncIterator[bytes]:
    """A body piece by piece, expanded where it is compressed, and no more of it than `most` bytes."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise UnreadableAnswerError(UNKNOWN_COMPRESSION)
    expand = None if encoding in ("", "identity") else zlib.decompressobj(GZIP)
    expanded = received = 0
    async for chunk in response.aiter_raw(CHUNK):
        received += len(chunk)
        try:
            piece = chunk if expand is None else expand.decompress(chunk, most + 1 - expanded)
        except zlib.error:
            raise UnreadableAnswerError(BROKEN_COMPRESSION) from None
        expanded += len(piece)
        # What comes after the end of what is compressed adds nothing to the content.
        if max(expanded, received) > most:
            raise UnreadableAnswerError(f"the answer is longer than {most:,} bytes")
        yield piece
