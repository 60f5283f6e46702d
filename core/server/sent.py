"""What a request carries, taken in within bounds: its form, its JSON, its files."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ..errors import InputError
from ..project import no_room
from .guarding import TooMuch
from .running import Asked

MOST_FILES = 1000
MOST_WORDS = 20_000
"""Words of a command: the time that reading them takes grows with the square of their number."""
LONGEST = 4 << 20
"""Bytes of a request without its files."""


@asynccontextmanager
async def form(request: Request, fields: int = MOST_FILES) -> AsyncIterator[FormData]:
    """The form of a request; its files are gone when the block ends.

    Args:
        fields: at most, without the files.

    Raises:
        InputError: it is not a form, or has too many fields or files.
    """
    try:
        found = await request.form(max_files=MOST_FILES, max_fields=fields, max_part_size=LONGEST)
    except HTTPException as error:
        raise InputError(
            "invalid-form", f"The form cannot be read: {error.detail}", "Send the form as shown in docs/server.md."
        ) from error
    try:
        yield found
    finally:
        await found.close()


async def parameters(request: Request) -> list[tuple[str, str]]:
    """The members of an object of JSON as names with values; several of one name for a list.

    Raises:
        InputError: it is none.
        TooMuch: it is too long.
    """
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > LONGEST:
            raise TooMuch("request-too-large", "The request is too large.", "Send files as a form.")
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise InputError(
            "request-not-json", "The request is not valid JSON.", "Send an object with the parameters of the command."
        ) from error
    if not isinstance(found, dict):
        raise InputError(
            "request-not-json",
            "The request is not a JSON object.",
            "Send an object with the parameters of the command.",
        )
    return [
        (str(name), one if isinstance(one, str) else json.dumps(one))
        for name, value in found.items()
        if value is not None
        for one in (value if isinstance(value, list) else [value])
    ]


async def take_in(asked: Asked, files: Mapping[str, Any]) -> Asked:
    """Put the files of a command into its folder, each under the last part of its name.

    Args:
        files: what came in a form, by the words that name it in the command.

    Raises:
        InputError: it is no file, or has a name that no file can have, or the command has too many words. Nothing is
            left in the folder.
    """
    kept: dict[str, Path] = {}
    try:
        if len(asked.words) > MOST_WORDS:
            raise InputError(
                "too-many-values",
                f"The request has too many values ({len(asked.words):,}).",
                f"Send at most {MOST_WORDS:,} values per request.",
            )
        for at, (name, upload) in enumerate(files.items()):
            plain = Path(name).name
            if not isinstance(upload, UploadFile) or not plain or "\0" in name:
                raise InputError(
                    "file-not-sent", "A file is missing or has no name.", "Send every file that the command names."
                )
            within = asked.folder.path / f"sent-{at}"
            within.mkdir()
            kept[name] = within / plain
            await run_in_threadpool(_copy, upload, kept[name])
    except BaseException:
        asked.folder.close()
        raise
    asked.files = kept
    return asked


def _copy(upload: UploadFile, path: Path) -> None:
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(upload.file, file)
    except OSError as error:
        raise no_room(path, error) or InputError(
            "file-not-stored", f"A file could not be stored ({error.strerror}).", "Use a shorter file name."
        ) from error
