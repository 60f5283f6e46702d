"""Options that many operations share."""

from __future__ import annotations

from typing import Annotated

from ..errors import InputError
from ..store import as_name, current_author
from .describing import Option


def _named(author: str) -> str:
    name = as_name(author)
    if not name:
        raise InputError("empty-name", "The author's name is empty.", "Use --author NAME, or remove --author.")
    return name


Author = Annotated[
    str,
    Option(
        "--author",
        help="Author of the change (default: EXAM_AUTHOR, else your account name).",
        metavar="NAME",
        variable="EXAM_AUTHOR",
        default=current_author,
        parse=_named,
    ),
]
"""The recorded author, for scripts that import the work of several people."""
