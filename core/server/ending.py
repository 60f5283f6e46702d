"""The end of a server by a signal: commands under way end as Ctrl+C would end them, and hold nothing up."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from .running import stop_commands

SIGNALS = signal.SIGINT, signal.SIGTERM


@contextmanager
def stopping_commands() -> Iterator[None]:
    """Until the block ends, end the commands under way as soon as a signal asks this process to end.

    What serves the routes (uvicorn) waits at its end for every answer that is not complete, and a grading job may go on
    for hours: whoever asked for the end would lose patience and kill the process. Jobs of the screens have no answer
    that waits for them; they end where projects are closed.

    Who handled the signals before is told after. To be entered in the thread whose event loop serves; nothing is done
    where that is not the main one, which alone hears signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {one: signal.getsignal(one) for one in SIGNALS}

    def hear(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop_commands)
        if callable(known := before[signal.Signals(number)]):
            known(number, frame)

    for one in SIGNALS:
        signal.signal(one, hear)
    try:
        yield
    finally:
        for one, known in before.items():
            signal.signal(one, known)
