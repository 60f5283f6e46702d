"""TCP settings of the server's connections."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress


def send_at_once() -> None:
    """Send answers without delay on every connection that is accepted from now on.

    A redraw is many small messages. By default, the system holds one back until the previous one is
    acknowledged, which takes some 40 ms. The cause is Nagle's algorithm (RFC 896) with delayed
    acknowledgements (RFC 1122). asyncio turns it off only for sockets made with a named protocol,
    unlike Streamlit's. Accepted connections inherit the options of the listening socket.
    """
    # Systems without this folder keep the delay.
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else []:
        # The folder's own handle is closed by now, and other kinds of sockets lack this option.
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
