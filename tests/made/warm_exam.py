"""A fast program `exam` for scripts: each command runs in a copy of a process that has loaded everything."""

import atexit
import importlib
import json
import os
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import exam_workbench
from exam_workbench import cli
from exam_workbench.graders._embedding.minilm import load_encoder, model_folder
from tests.made.once import made_once
from tests.made.shell import run_words

ROOT = Path(__file__).resolve().parents[2]
CLIENT = f"""#!{sys.executable} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({{socket!r}})
    said = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(said).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(said)
    sys.exit((server.recv(1) or b"\\1")[0])
"""


@pytest.fixture(scope="session")
def warm_exam() -> Iterator[Path]:
    """A folder with the program `exam`, to put first on the PATH of a script."""
    # The path of a socket must be short, unlike paths of pytest's folders.
    folder = Path(tempfile.mkdtemp())
    program = folder / "exam"
    program.write_text(CLIENT.format(socket=str(folder / "socket")))
    program.chmod(0o755)
    command = [sys.executable, "-m", "tests.made.warm_exam", str(folder / "socket")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None and server.stdout.readline() == b"ready\n"
        yield folder
        server.terminate()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def graded_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that `exam demo` makes, made once because grading is slow; tests must copy it."""

    def make(path: Path) -> Path:
        code, _, told = run_words(["demo", "--project", str(path)])
        assert code == 0, told
        return path

    return made_once(tmp_path_factory, "demo.duckdb", make)


def serve(path: str) -> None:
    """Run each command that a client sends in a copy of this process."""
    for module in pkgutil.walk_packages(exam_workbench.__path__, "exam_workbench."):
        if module.name != "exam_workbench.autojudge":
            importlib.import_module(module.name)
    load_encoder(model_folder())
    # This process does not wait for its copies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while True:
            client, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                client.sendall(bytes([run(client)]))
                os._exit(0)
            client.close()


def run(client: socket.socket) -> int:
    """Run the command of a client with its files, folder and environment; return the exit code."""
    size, streams, _, _ = socket.recv_fds(client, 4, 3)
    with client.makefile("rb") as file:
        words, folder, environment = json.loads(file.read(int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = words
    code: object = 0
    try:
        cli.main()
    except SystemExit as end:
        code = end.code
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    serve(sys.argv[1])
