"""The HTTP client for endpoints: it limits the size of answers and follows no redirects."""

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
"""Makes zlib accept gzip and its own format, which HTTP calls deflate."""
UNKNOWN_COMPRESSION = "the answer has an unsupported compression"
BROKEN_COMPRESSION = "the answer cannot be decompressed"


class UnreadableAnswerError(Exception):
    """An answer that is not read to its end; its text says why."""


class UnsentError(Exception):
    """A request that could not be sent, for a reason without an error class in the library; its text says why."""


class BoundedClient(openai.DefaultAsyncHttpxClient):
    """A client that reads answers up to a size, follows no redirects, and keeps no cookies.

    Args:
        most: maximum number of bytes of an answer, decompressed.
        key: removed from headers.
        options: options of the base class.
    """

    def __init__(self, most: int, key: str, **options: Any) -> None:
        super().__init__(follow_redirects=False, **options)
        self._most = most
        self._key = key
        self.spool: BinaryIO | None = None
        """File for the body of a successful answer, up to `spool_most` bytes; None to keep it in memory."""
        self.spool_most = most
        # Their log lines repeat texts of an endpoint, such as the reason of a status, before keys are removed.
        for name in ("httpx2", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its answer.

        Returns:
            The answer with its body, and of its headers only those about the time of the next request.

        Raises:
            UnsentError: the request could not be sent.
            UnreadableAnswerError: the answer is too long, or has an unsupported compression.
        """
        request.headers["accept-encoding"] = "gzip"
        try:
            response = await super().send(request, **{**options, "stream": True, "follow_redirects": False})
        except (ExceptionGroup, OverflowError, ValueError) as error:
            # For example an invalid proxy address; the text of such an error may contain its password.
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
        # Build a new response, because the reader would trust the type and encoding in the original headers.
        headers = {
            name: redact(value, [self._key])
            for name, value in response.headers.items()
            if (name.startswith("retry-after") or "ratelimit" in name)
            # Other characters do not give a time, and could not be put into a header again.
            and len(value) <= LONGEST_HEADER
            and f"{name}{value}".isascii()
        }
        return type(response)(response.status_code, headers=headers, content=content, request=request)


async def _pieces(response: Any, most: int) -> AsyncIterator[bytes]:
    """Yield a body in pieces, decompressed, with at most `most` bytes."""
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
        # Data after the end of the compressed content adds nothing, but must count for the limit.
        if max(expanded, received) > most:
            raise UnreadableAnswerError(f"the answer is longer than {most:,} bytes")
        yield piece
