"""The server without its screens, which start in a fraction of the time: python -m tests.server.serving PROJECT PORT."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from core.project import database
from core.server import hold, let_go, open_doors, routes

database.CONFIG["threads"] = 1


@asynccontextmanager
async def served(_: Starlette) -> AsyncIterator[None]:
    open_doors(f"http://127.0.0.1:{sys.argv[2]}")
    await asyncio.to_thread(hold, Path(sys.argv[1]))
    try:
        yield
    finally:
        let_go()


if __name__ == "__main__":
    app = Starlette(routes=routes(lambda: ["localhost"]), lifespan=served)
    uvicorn.run(app, port=int(sys.argv[2]), log_level="warning", access_log=False)
