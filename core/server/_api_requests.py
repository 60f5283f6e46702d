"""Requests to the API: values and files of an operation, from a URL, a form or a JSON object."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel as Model,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ..atomic_files import WorkingFolder
from ..errors import InputError, WorkbenchError, unknown_name
from ..operations.describing import DATE, Parameter
from ..operations.registry import Operation
from ..store import no_room
from ..text import one_line

MOST_FILES = 1000
MOST_VALUES = 20_000
"""Largest number of values in a request; files are counted separately."""
LONGEST = 4 << 20
"""Largest size of a request without its files, in bytes."""
FORMS = "multipart/form-data", "application/x-www-form-urlencoded"

Pairs = list[tuple[str, Any]]
Files = dict[str, UploadFile]


def request_parameters(operation: Operation) -> list[Parameter]:
    """Return the parameters that a request may have. The author follows from its token."""
    return [one for one in operation.parameters if one.name != "author"]


@functools.cache
def model_of(operation: Operation) -> type[Model]:
    """Return the pydantic model of an operation's request. Files are given by their names."""
    fields: dict[str, Any] = {
        one.name: (_type_of(one), _field_of(one)) for one in request_parameters(operation)
    }
    # Model answers and ids are often digits.
    config = ConfigDict(
        extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False, protected_namespaces=()
    )
    return create_model(operation.name, __config__=config, **fields)


def _type_of(parameter: Parameter) -> Any:
    kind: Any = (
        Annotated[str, AfterValidator(lambda value: Path(value))]
        if parameter.kind is Path
        else parameter.kind
    )
    if parameter.option.choices:
        kind = Literal[tuple(parameter.option.choices)]
    elif kind is datetime:
        kind = Annotated[
            datetime, BeforeValidator(lambda value: datetime.strptime(str(value), DATE))
        ]
    elif kind in (int, float):
        least, most = parameter.bounds
        # Bounds that every number meets are left out of the description.
        bounds = (
            {"ge": least, "le": most}
            if kind is int
            else {"ge": parameter.option.least, "le": parameter.option.most}
        )
        kind = Annotated[kind, Field(**bounds)]
    if parameter.many:
        return Annotated[
            list[kind], BeforeValidator(lambda value: value if isinstance(value, list) else [value])
        ]
    return kind if parameter.required else kind | None


def _field_of(parameter: Parameter) -> Any:
    default: Any = ... if parameter.required else [] if parameter.many else None
    return Field(default, description=parameter.option.help or parameter.shown)


async def read_body(request: Request) -> tuple[Pairs, Files]:
    """Return the values of a form or a JSON object, and the files of the form by their names.

    Raises:
        InputError: the body is neither, or two files have the same name.
        WorkbenchError: it is too long.
    """
    if not request.headers.get("content-type", "").startswith(FORMS):
        return await _from_json(request), {}
    try:
        form = await request.form(
            max_files=MOST_FILES, max_fields=MOST_FILES, max_part_size=LONGEST
        )
    except HTTPException as error:
        raise InputError(
            "invalid-form",
            f"The form cannot be read: {error.detail}",
            "Send the form as shown in docs/how-to/use-the-api.md.",
        ) from error
    given: Pairs = []
    files: Files = {}
    names = _names_of(form)
    for name, value in form.multi_items():
        if not isinstance(value, UploadFile):
            given.append((name, value))
            continue
        file = names.get(value.filename or "", value.filename or "")
        if file in files:
            raise InputError(
                "duplicate-file-name",
                f"Two files are named '{file}'.",
                "Give each file its own name.",
            )
        files[file] = value
        given.append((name, file))
    return [pair for pair in given if pair[0]], files


def _names_of(form: FormData) -> dict[str, str]:
    """Return the names of the files in a shell's form, by the names of its parts."""
    try:
        found = json.loads(str(form.get("", "{}")))
        return {str(part): str(name) for part, name in found.items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            "invalid-form",
            "The names of the files cannot be read.",
            "Send a JSON object of part names and file names.",
        ) from error


async def _from_json(request: Request) -> Pairs:
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > LONGEST:
            raise WorkbenchError(
                "request-too-large", "The request is too large.", "Send files as a form."
            )
    try:
        values = json.loads(content or b"{}")
    except (ValueError, RecursionError) as error:
        raise InputError(
            "request-not-json",
            "The request is not valid JSON.",
            "Send an object with the parameters of the command.",
        ) from error
    if not isinstance(values, dict):
        raise InputError(
            "request-not-json",
            "The request is not a JSON object.",
            "Send an object with the parameters of the command.",
        )
    return [
        (name, each)
        for name, value in values.items()
        for each in (value if isinstance(value, list) else [] if value is None else [value])
    ]


def check_values(operation: Operation, sent_values: Pairs) -> dict[str, Any]:
    """Return the values of a request, converted to the types of the operation.

    Raises:
        InputError: a value is missing, unknown, invalid, or given too often.
    """
    if len(sent_values) > MOST_VALUES:
        raise InputError(
            "too-many-values",
            f"The request has too many values ({len(sent_values):,}).",
            f"Send at most {MOST_VALUES:,} values per request.",
        )
    many = {parameter.name for parameter in operation.parameters if parameter.many}
    values: dict[str, Any] = {}
    for spelled, value in sent_values:
        name = spelled.replace("-", "_")
        _check_text(value)
        if name in many:
            values.setdefault(name, []).append(value)
        else:
            values[name] = value
    try:
        model = model_of(operation)(**values)
    except ValidationError as error:
        raise _request_error(operation, error) from error
    return {
        name: value
        for name in model.model_fields_set
        if (value := getattr(model, name)) is not None
    }


def _check_text(value: Any) -> None:
    if (
        isinstance(value, str)
        and not value.isascii()
        and value.encode(errors="ignore").decode() != value
    ):
        raise InputError(
            "invalid-value", f"The value '{one_line(value, 40)}' is not valid text.", "Use UTF-8."
        )


def _request_error(operation: Operation, error: ValidationError) -> WorkbenchError:
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        known = [parameter.name for parameter in request_parameters(operation)]
        return unknown_name("unknown-parameter", "parameter", one_line(name, 40), known)
    if first["type"] == "missing":
        return InputError("parameter-missing", f"Missing value: {name}.", "Add it to the request.")
    value = one_line(str(first["input"]), 40)
    return InputError("invalid-value", f"Invalid value '{value}' for {name}.", f"{first['msg']}.")


async def store_files(folder: WorkingFolder, files: Mapping[str, UploadFile]) -> dict[str, Path]:
    """Store the files of a request in a folder, each under the last part of its name; return their
    paths.

    Raises:
        InputError: a name is not a possible file name.
    """
    kept: dict[str, Path] = {}
    for at, (name, upload) in enumerate(files.items()):
        plain = Path(name).name
        if not plain or "\0" in name:
            raise InputError(
                "file-not-sent",
                "A file is missing or has no name.",
                "Send every file that the command names.",
            )
        within = folder.path / f"sent-{at}"
        within.mkdir()
        kept[name] = within / plain
        await run_in_threadpool(_copy_upload, upload, kept[name])
    return kept


def _copy_upload(upload: UploadFile, path: Path) -> None:
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(upload.file, file)
    except OSError as error:
        raise no_room(path, error) or InputError(
            "file-not-stored",
            f"A file could not be stored ({error.strerror}).",
            "Use a shorter file name.",
        ) from error
