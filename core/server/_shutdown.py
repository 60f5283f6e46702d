"""The end of a server by a signal: running commands end as with Ctrl+C and do not delay it."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ._operation_requests import stop_commands

SIGNALS = signal.SIGINT, signal.SIGTERM


@contextmanager
def stop_commands_on_signal() -> Iterator[None]:
    """End the running commands as soon as a signal asks this process to end, until the block ends.

    The server of the routes (uvicorn) waits for every incomplete answer when it ends, and a grading
    job may run for hours. Then people would kill the process. Jobs of the screens hold no answer
    open; they end when projects are closed.

    Earlier signal handlers are called afterwards. Enter the block in the thread whose event loop
    serves. It does nothing outside the main thread, since only that receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {signal_number: signal.getsignal(signal_number) for signal_number in SIGNALS}

    def handle_signal(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop_commands)
        if callable(handler := before[signal.Signals(number)]):
            handler(number, frame)

    for signal_number in SIGNALS:
        signal.signal(signal_number, handle_signal)
    try:
        yield
    finally:
        for signal_number, handler in before.items():
            signal.signal(signal_number, handler)
