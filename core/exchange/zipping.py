"""Zip files whose bytes depend only on their content."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from ..formats import Source
from ..locations import is_reserved

_OLDEST = (1980, 1, 1, 0, 0, 0)


def write_zip(files: Mapping[str, bytes] | Mapping[str, bytes | Path], out: BinaryIO | Path) -> None:
    """Write a zip whose bytes depend only on the files' names and contents.

    Args:
        files: content, or the file to read it from, by name.
    """
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, _OLDEST)
            # Files are assumed to be compressed already, as Parquet is.
            info.compress_type = zipfile.ZIP_DEFLATED if isinstance(content, bytes) else zipfile.ZIP_STORED
            info.external_attr = 0o644 << 16
            # Otherwise the zip would record the operating system.
            info.create_system = 3
            if isinstance(content, bytes):
                archive.writestr(info, content)
                continue
            info.file_size = content.stat().st_size
            with content.open("rb") as source, archive.open(info, "w") as member:
                while part := source.read(1 << 20):
                    member.write(part)


def check_file_name(name: str) -> str:
    """Return the id of a run or query if it can be the name of a file.

    Raises:
        InputError: it cannot.
    """
    if Source(name).stem != name or not re.fullmatch(r"[\w+-][\w.+-]*", name) or is_reserved(name):
        raise InputError(
            "id-not-a-file-name", f"The id {name!r} cannot be the name of a file.", "Export in another form."
        )
    return name


def zipped(files: Mapping[str, bytes] | Mapping[str, bytes | Path]) -> bytes:
    """Return the content of such a zip."""
    out = io.BytesIO()
    write_zip(files, out)
    return out.getvalue()
