"""Refused logins: the browser gets a message if the provider refused a login, or its answer was invalid."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

CALLBACK = "/oauth2callback"
COOKIE = b"_streamlit_user="
"""Set by a successful login (`streamlit.web.server.starlette.starlette_server_config`)."""
WORD, REFUSED = "login", "refused"
"""Parameter and value in the screen's address after a failed login."""

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]


class RefusedLogins:
    """Reports failed logins to the screen; Streamlit would open the first screen without a message.

    Args:
        app: the wrapped ASGI application.
    """

    def __init__(self, app: Asgi) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        # A request without either parameter is the return from a logout.
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
    """Return whether a response sets the login cookie; a removal sets it to an empty value."""
    cookies = [value for name, value in message["headers"] if name.lower() == b"set-cookie"]
    return any(value.startswith(COOKIE) and not value.startswith(COOKIE + b'""') for value in cookies)
