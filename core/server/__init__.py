"""The server of the screens: health check, API, and the doors through which commands find an open project."""

from __future__ import annotations

from .api import PREFIX, made_api
from .ending import stopping_commands
from .guarding import TooMuch, check_host, check_origin
from .holding import giving_up, hold, let_go, open_doors, with_role
from .routes import routes
from .sending import send_at_once

__all__ = [
    "PREFIX",
    "TooMuch",
    "check_host",
    "check_origin",
    "giving_up",
    "hold",
    "let_go",
    "made_api",
    "open_doors",
    "routes",
    "send_at_once",
    "stopping_commands",
    "with_role",
]
