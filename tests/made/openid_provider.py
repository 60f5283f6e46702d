"""A local OpenID provider without a login form: it logs in the person that the test sets, and misbehaves on demand.

In a test:

    with OpenIdProvider() as provider:
        provider.says = {"email": "ann@example.org"}
        provider.faults = {"aud": "another application"}

It uses the code flow (OpenID Connect Core 1.0, section 3.1) with PKCE (RFC 7636).
"""

import base64
import functools
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "workbench", "secret-of-the-client"
MINUTES = 60 * 60
"""Seconds for which an identity token is valid."""


@functools.cache
def _key(name: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"})


class OpenIdProvider:
    """A provider that answers on a free port of the loopback interface until the block ends.

    Attributes:
        says: claims about the next person who logs in.
        faults: wrong claims of the identity token; None leaves a claim out.
        unknown_key: whether it signs with an unpublished key.
        unsigned: whether it does not sign.
        denies: whether it refuses the login.
        asked: parameters of each login request.
        made: identity tokens.
        ended: parameters of each request to end a session.
    """

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []
        self.made: list[str] = []
        self.ended: list[dict[str, str]] = []
        self._codes: dict[str, dict[str, str]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Answering, self))
        self._thread = threading.Thread(target=self._server.serve_forever, name="OpenID provider", daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.behave()

    def behave(self, **says: Any) -> None:
        """Reset to correct behaviour, for a person with these claims."""
        self.says: dict[str, Any] = {"sub": "subject", **says}
        self.faults: dict[str, Any] = {}
        self.unknown_key = self.unsigned = self.denies = False

    def __enter__(self) -> Self:
        _key("known")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def discovery(self, _: Mapping[str, str]) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "end_session_endpoint": f"{self.url}/end-session",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256"],
        }

    def jwks(self, _: Mapping[str, str]) -> dict[str, Any]:
        return {"keys": [_key("known").as_dict(private=False)]}

    def authorize(self, given: Mapping[str, str]) -> str:
        """Return the URL to which the browser is sent back, with a code or the refusal."""
        self.asked.append(dict(given))
        if self.denies:
            answer = {"error": "access_denied", "error_description": "nobody <b>here</b>"}
        else:
            code = secrets.token_urlsafe(16)
            self._codes[code] = dict(given)
            answer = {"code": code}
        return f"{given['redirect_uri']}?{urlencode({**answer, 'state': given['state']})}"

    def token(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the tokens for a code, once; an error if the request does not match the code (RFC
        6749, section 5.2).
        """
        asked = self._codes.pop(given.get("code", ""), None)
        proof = base64.urlsafe_b64encode(hashlib.sha256(given.get("code_verifier", "").encode()).digest())
        if (
            asked is None
            or given.get("redirect_uri") != asked["redirect_uri"]
            or proof.decode().rstrip("=") != asked.get("code_challenge")
        ):
            return {"error": "invalid_grant"}
        now = int(time.time())
        needed = {"iss": self.url, "aud": CLIENT, "iat": now, "exp": now + MINUTES, "nonce": asked["nonce"]}
        claims = {name: value for name, value in {**needed, **self.says, **self.faults}.items() if value is not None}
        self.made.append(self._signed(claims))
        return {"access_token": "of-no-use", "token_type": "Bearer", "expires_in": MINUTES, "id_token": self.made[-1]}

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.unsigned:
            parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
            return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."
        key = _key("unknown" if self.unknown_key else "known")
        return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, provider: OpenIdProvider, *given: Any) -> None:
        self.provider = provider
        super().__init__(*given)

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        given = dict(parse_qsl(asked.query))
        if asked.path == "/authorize":
            self._send(302, self.provider.authorize(given))
        elif asked.path == "/end-session":
            self.provider.ended.append(given)
            self._send(302, given["post_logout_redirect_uri"])
        elif asked.path == "/jwks":
            self._send(200, self.provider.jwks(given))
        elif asked.path == "/.well-known/openid-configuration":
            self._send(200, self.provider.discovery(given))
        else:
            self._send(404, {"error": "not_found"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {basic}":
            self._send(401, {"error": "invalid_client"})
            return
        answer = self.provider.token(dict(parse_qsl(body)))
        self._send(400 if "error" in answer else 200, answer)

    def _send(self, status: int, answer: dict[str, Any] | str) -> None:
        """Send JSON, or a redirect to an address."""
        body = b"" if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        if isinstance(answer, str):
            self.send_header("Location", cast(str, answer))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Discard the log line, so that it does not mix with the test's output."""
