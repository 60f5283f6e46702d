"""Security headers of every response, with or without a proxy."""

from pages.parts.shared.refused_logins import Asgi, Message, Receive, Send

HEADERS = (
    # Prevents clickjacking: other sites cannot show the app in a frame.
    (b"x-frame-options", b"DENY"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    # A browser must not run an uploaded file of another type as a script.
    (b"x-content-type-options", b"nosniff"),
    # Addresses name projects, queries and passages.
    (b"referrer-policy", b"same-origin"),
)
"""Headers with names in lower case; a header that a response already has is kept."""


class SafeHeaders:
    """Adds the headers to every response.

    Args:
        app: the wrapped ASGI application.
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
