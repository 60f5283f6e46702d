"""Chat templates of models, filled in by another process, because they are programs of strangers that may never end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import GradingError

SECONDS = 10.0
"""Minimum time limit of templates in seconds; an honest one takes a ten-thousandth."""
SPEED = 100_000
"""Characters for which the time limit grows by a second; an honest one fills in a hundred times as many."""

_FILE = Path(__file__).with_name("template_process.py")
_KEPT = ("HOME", "PATH", "SYSTEMROOT", "TMPDIR", "LD_LIBRARY_PATH")
"""Environment variables that the process gets. All others are withheld, because some hold keys."""

_process: subprocess.Popen[str] | None = None
_lock = threading.Lock()


def fill_chat_template(tokenizer: Any, conversations: Sequence[list[dict[str, str]]]) -> list[str | None]:
    """Return conversations in a model's chat template, as the library's `apply_chat_template` writes them.

    Args:
        tokenizer: the model's tokenizer, with a chat template.
        conversations: messages with `role` and `content`, for each conversation.

    Returns:
        A text for each, None if the template refuses its messages.

    Raises:
        GradingError: the template runs for too long, needs too much memory, or does something forbidden.
    """
    # Disable the reasoning of models: an answer is read from its first tokens.
    values = {**tokenizer.special_tokens_map, "enable_thinking": False}
    same = {"template": tokenizer.get_chat_template(), "values": values}
    answers = _answers([json.dumps({**same, "messages": messages}) for messages in conversations])
    if reasons := [answer["unusable"] for answer in answers if "unusable" in answer]:
        raise GradingError(
            "chat-template-unusable",
            f"The chat template of the model {tokenizer.name_or_path} cannot be used: {reasons[0].rstrip('.')}.",
            "Choose another model, or correct its chat template.",
        )
    return [answer["text"] for answer in answers]


def _answers(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Return the process's answers to lines. If it ended or took too long, the last answer says so."""
    global _process
    with _lock:
        process, _process = _process or _started(), None
        assert process.stdin is not None and process.stdout is not None
        ending = threading.Timer(SECONDS + sum(map(len, lines)) / SPEED, process.kill)
        ending.start()
        answers = []
        try:
            for line in lines:
                process.stdin.write(f"{line}\n")
                process.stdin.flush()
                answers.append(json.loads(process.stdout.readline()))
            _process = process
        except (OSError, ValueError):
            answers.append({"unusable": "it exceeded its time or memory limit"})
        finally:
            ending.cancel()
            # After an interruption, the process would answer the next requests with results of these.
            if _process is None:
                _end(process)
        return answers


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    with contextlib.suppress(OSError):
        process.communicate()


def _started() -> subprocess.Popen[str]:
    """Start a new process and wait until it is ready.

    Raises:
        GradingError: it does not start.
    """
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # Fewer threads need less of the limited memory.
    environment |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-P", str(_FILE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        encoding="ascii",
        # Ctrl-C at a terminal is for the job, which ends the process itself.
        start_new_session=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        _end(process)
        raise GradingError(
            "chat-template-unusable",
            f"The process that fills in chat templates failed to start (code {process.returncode}).",
            f"To see the cause, run: {sys.executable} {_FILE}",
        )
    return process
