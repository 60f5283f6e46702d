"""Headers of every response: security headers, with or without a proxy, and the way back from a
refused login.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders

CALLBACK = "/oauth2callback"
COOKIE = "_streamlit_user="
"""Set by a successful login (`streamlit.web.server.starlette.starlette_server_config`)."""
WORD, REFUSED = "login", "refused"
"""Parameter and value in the screen's address after a failed login."""
HEADERS = (
    # Prevents clickjacking: other sites cannot show the app in a frame.
    ("x-frame-options", "DENY"),
    ("content-security-policy", "frame-ancestors 'none'"),
    # A browser must not run an uploaded file of another type as a script.
    ("x-content-type-options", "nosniff"),
    # Addresses name projects, queries and passages.
    ("referrer-policy", "same-origin"),
)
"""Headers with names in lower case; a header that a response already has is kept."""

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]


class ResponseHeaders:
    """Adds the headers to every response, and reports failed logins to the screen.

    If the provider refused a login, or its answer was invalid, Streamlit would open the first
    screen without a message.

    Args:
        app: the wrapped ASGI application.
    """

    def __init__(self, app: Asgi) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if _answers_login(scope) and not _logs_in(headers) and "location" in headers:
                    headers["location"] += f"?{WORD}={REFUSED}"
                for name, value in HEADERS:
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def _answers_login(scope: Message) -> bool:
    """Return whether a request brings the provider's answer; without both parameters it is the
    return from a logout.
    """
    asked = parse_qs(scope["query_string"], keep_blank_values=True).keys()
    return scope["path"].endswith(CALLBACK) and bool({b"code", b"error"} & asked)


def _logs_in(headers: Headers) -> bool:
    """Return whether a response sets the login cookie; a removal sets it to an empty value."""
    cookies = headers.getlist("set-cookie")
    return any(one.startswith(COOKIE) and not one.startswith(f'{COOKIE}""') for one in cookies)
