"""Answers that are not kept back."""

from __future__ import annotations

import os
import socket

from exam_workbench.server import send_at_once


def at_once(one: socket.socket) -> bool:
    return bool(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))


def test_what_is_accepted_later_sends_at_once_and_all_else_stays_as_it_is() -> None:
    # As the app's server makes its own: asyncio would see to a socket whose protocol is named.
    with socket.socket() as listening, socket.socket() as client:
        listening.bind(("localhost", 0))
        listening.listen()
        opened = set(os.listdir("/dev/fd"))
        send_at_once()
        client.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            assert at_once(accepted) and not at_once(client)
            client.sendall(b"hello")
            assert accepted.recv(5) == b"hello"
        assert set(os.listdir("/dev/fd")) == opened
