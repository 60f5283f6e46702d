"""How answers go out to the network."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress


def send_at_once() -> None:
    """Let whatever is answered go out at once on every connection that is accepted from now on.

    A redraw is many small messages. Unasked, the system keeps one back until the one before is known to have arrived,
    and the other side tells that some 40 ms later (Nagle's algorithm, RFC 896, against delayed acknowledgements, RFC
    1122). asyncio asks for it where a socket was made with its protocol named; Streamlit makes its own without.
    What accepts connections hands its options on to them.
    """
    # Systems without such a folder keep the delay.
    for name in os.listdir("/dev/fd") if os.path.isdir("/dev/fd") else []:
        # Gone by now is the folder's own; a socket that is not of the network knows no such option.
        with suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    if one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
