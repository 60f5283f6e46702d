"""The server beside the screens: whether it is well, the API, and the doors through which commands find it."""

from __future__ import annotations

from core.server.holding import held, hold, let_go, open_doors
from core.server.routes import routes

__all__ = ["held", "hold", "let_go", "open_doors", "routes"]
