"""No session of the app begins from another interface, under the name of another host, or by a page of another site."""

from __future__ import annotations

import http.client
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.made.browser import Server

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def status(server: Server, path: str, **headers: str) -> int:
    """What the server answers to a request on the loopback interface."""
    port = urlsplit(server.address).port
    connection = http.client.HTTPConnection("localhost", port, timeout=60)
    try:
        connection.request("GET", path, headers={"Host": f"localhost:{port}", **headers})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_page_of_another_site_opens_no_session(server: Server) -> None:
    assert status(server, "/_stcore/stream", Origin=server.address, **UPGRADE) == 101
    assert status(server, "/_stcore/stream", Origin="http://evil.example", **UPGRADE) == 403
    # Cookies are the same for all ports of a host, and other programs of this computer serve pages, too.
    port = urlsplit(server.address).port
    for origin in f"http://localhost:{port + 1}", "http://localhost", f"http://127.0.0.1:{port}", "null", "http://[":
        assert status(server, "/_stcore/stream", Origin=origin, **UPGRADE) == 403, origin
        assert status(server, "/_stcore/metrics", Origin=origin) == 403, origin


def test_a_page_whose_name_was_pointed_here_opens_no_session(server: Server) -> None:
    port = urlsplit(server.address).port
    assert status(server, "/_stcore/stream", Origin=server.address, Host=f"evil.example:{port}", **UPGRADE) == 403
    there = f"evil.example:{port}"
    assert status(server, "/_stcore/stream", Origin=f"http://{there}", Host=there, **UPGRADE) == 403


def test_nothing_is_shown_under_the_name_of_another_host(server: Server) -> None:
    port = urlsplit(server.address).port
    paths = "/", "/question_bank", "/static/none.js", "/media/0", "/healthz", "/_stcore/metrics", "/_stcore/health"
    for path in *paths, "/api/v1/status":
        assert status(server, path, Host=f"evil.example:{port}") == 403, path
        assert status(server, path, Host=f"localhost.evil.example:{port}") == 403, path
        assert status(server, path, Host=f"127.0.0.1:{port}") in (200, 401, 404), path


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists its sockets there")
def test_it_listens_on_the_loopback_interface_alone(server: Server) -> None:
    port = f"{urlsplit(server.address).port:04X}"
    listening = {
        place.split(":")[0]
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        for _, place, _, state, *_ in map(str.split, Path(table).read_text().splitlines()[1:])
        if state == "0A" and place.endswith(f":{port}")
    }
    assert listening and listening <= {"0100007F", "00000000000000000000000001000000"}
