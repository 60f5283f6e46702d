"""The server without its screens, which start slowly: python -m tests.server.serving PORT PROJECT..."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from exam_workbench.server import close_all_projects, hold_project, open_doors, routes, send_at_once
from exam_workbench.store._engine import CONFIG

CONFIG["threads"] = 1


def watch(folder: str, told: int) -> None:
    """Log each access of this process to a folder in an open file."""

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if event.startswith(("open", "os.", "shutil.", "glob.", "subprocess.")):
            named = [os.fsdecode(one) for one in arguments if isinstance(one, str | bytes | os.PathLike)]
            if found := [name for name in named if folder in name]:
                os.write(told, f"{event} {found[0]}\n".encode())

    sys.addaudithook(hear)


@asynccontextmanager
async def served(_: Starlette) -> AsyncIterator[None]:
    send_at_once()
    open_doors(f"http://127.0.0.1:{sys.argv[1]}")
    for path in sys.argv[2:]:
        await asyncio.to_thread(hold_project, Path(path))
    try:
        yield
    finally:
        close_all_projects()


if __name__ == "__main__":
    if "CANARY" in os.environ:
        canary = os.environ["CANARY"]
        watch(canary, os.open(f"{canary}.touched", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    app = Starlette(routes=routes(), lifespan=served)
    # Like the app, it listens before the projects are open, so early clients wait and are served.
    listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    # Many tests share one connection and may pause between requests.
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_keep_alive=3600)
    uvicorn.Server(config).run(sockets=[listening])
