"""Limits on the process that takes the inputs: time of the processor, time on the clock, memory."""

from __future__ import annotations

import math
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

MIB = 1 << 20

CPU_SECONDS = 10
"""Seconds of the processor that one input may take, of all threads together: a hundred times the usual."""
CLOCK_SECONDS = 60
"""Seconds on the clock that one input may take: one that waits for somebody takes no time of the processor."""
ADDRESS_SPACE = 2048 * MIB
"""Bytes of addresses that the process may take beyond those that it has when it begins."""
MEMORY = 512 * MIB
"""Bytes of memory that one input may use beyond what the process has when it begins."""


class TookTooLong(BaseException):
    """An input took more than its time; no handler of ordinary errors may catch this."""


class TookTooMuch(Exception):
    """An input took more than its memory."""


def _value(name: str) -> int:
    """A size of this process from its status, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def peak() -> int:
    """The most memory that this process has had, in bytes, since it began or since `_forget_peak`."""
    return _value("VmHWM")


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


class Limits:
    """The limits of one process, from now on."""

    def __init__(self) -> None:
        self.base = _value("VmRSS")
        self.peak = 0
        most = _value("VmSize") + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, _stop)
        signal.signal(signal.SIGALRM, _stop)

    @contextmanager
    def around_one(self) -> Iterator[None]:
        """One input: stopped where Python can stop it, else the whole process ends.

        Raises:
            TookTooLong, TookTooMuch: it went beyond a limit.
        """
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + 2 * CPU_SECONDS), hard))
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.setitimer(signal.ITIMER_REAL, CLOCK_SECONDS)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
        grown = peak() - self.base
        self.peak = max(self.peak, grown)
        if grown > MEMORY:
            _forget_peak()
            raise TookTooMuch(f"{grown // MIB} MiB of memory")


def _stop(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGPROF:
        raise TookTooLong(f"more than {CPU_SECONDS} s of the processor")
    raise TookTooLong(f"more than {CLOCK_SECONDS} s on the clock")
