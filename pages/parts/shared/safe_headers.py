"""What every answer of the server tells the browser, whether or not a proxy stands before it."""

from __future__ import annotations

from pages.parts.shared.refused_logins import Asgi, Message, Receive, Send

HEADERS = (
    # Another site that shows the app in a frame could lead a hand to its buttons.
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    # A file that somebody uploaded is what its type says, and no script.
    (b"x-content-type-options", b"nosniff"),
    # Addresses name projects, queries and passages.
    (b"referrer-policy", b"same-origin"),
)
"""Headers by their names in lower case; one that an answer has already stays."""


class SafeHeaders:
    """Adds them to every answer.

    Args:
        app: what answers, as the ASGI specification says.
    """

    def __init__(self, app: Asgi) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                known = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in HEADERS if one[0] not in known)]
            await send(message)

        await self.app(scope, receive, say if scope["type"] == "http" else send)
