"""What becomes of a login that the provider refused, or whose answer was not sound: the browser is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

CALLBACK = "/oauth2callback"
COOKIE = b"_streamlit_user="
"""Set where somebody was logged in (`streamlit.web.server.starlette.starlette_server_config`)."""
WORD, REFUSED = "login", "refused"
"""What the address of the screen says where a login came to nothing."""

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]


class RefusedLogins:
    """Has the screen say so where a login came to nothing: Streamlit goes to the first screen without a word.

    Args:
        app: what answers, as the ASGI specification says.
    """

    def __init__(self, app: Asgi) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # Without either it is the way back from a logout.
        answers = scope["type"] == "http" and scope["path"].endswith(CALLBACK)
        if not (answers and {b"code", b"error"} & parse_qs(scope["query_string"], keep_blank_values=True).keys()):
            await self.app(scope, receive, send)
            return

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start" and not _logs_in(message):
                message["headers"] = [
                    (name, value + f"?{WORD}={REFUSED}".encode() if name.lower() == b"location" else value)
                    for name, value in message["headers"]
                ]
            await send(message)

        await self.app(scope, receive, say)


def _logs_in(message: Message) -> bool:
    """Whether an answer sets the cookie of a login; one that takes it away sets it to nothing."""
    cookies = [value for name, value in message["headers"] if name.lower() == b"set-cookie"]
    return any(value.startswith(COOKIE) and not value.startswith(COOKIE + b'""') for value in cookies)
