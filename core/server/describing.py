"""What the API offers, as OpenAPI 3.1 has it: generated from the commands and their parameters."""

from __future__ import annotations

import functools
from typing import Any

import click

from .. import __version__
from ..cli.guests import File
from .words import asked_for, commands, described, may_read

_FAILED = {
    "description": "The error: code, problem and fix.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "required": ["code", "message", "hint"],
                "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
            }
        }
    },
}
_JOB = {
    "": ("get", "Show the progress of the current or last grading job."),
    "/pause": ("post", "Pause the grading job: no new calls start."),
    "/resume": ("post", "Resume the grading job."),
    "/cancel": ("post", "Cancel the grading job. Stored grades are kept."),
}


@functools.cache
def description() -> dict[str, Any]:
    """The whole API."""
    paths: dict[str, Any] = {}
    for words, command in commands():
        path = paths.setdefault(f"/api/v1/{words}", {})
        if may_read(words):
            path["get"] = _operation(words, command, "get")
        path["post"] = _operation(words, command, "post")
    grade = dict(commands())["grade"]
    paths["/api/v1/jobs"]["post"] = _operation("grade", grade, "post", "start_job") | {
        "summary": "Start grading in the background. /api/v1/jobs/current shows the progress."
    }
    for path, (method, what) in _JOB.items():
        paths[f"/api/v1/jobs/current{path}"] = {
            method: {
                "operationId": f"{method}_job{path.replace('/', '_')}",
                "summary": what,
                "responses": {"200": {"description": "The progress of the job."}, "default": _FAILED},
            }
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Exam Workbench", "version": __version__},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": paths,
    }


def _operation(words: str, command: click.Command, method: str, name: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": name or f"{method}_{words.replace('/', '_').replace('-', '_')}",
        "summary": command.get_short_help_str(limit=200),
        "responses": {
            "200": {"description": "The output of `exam` with --json, or the file that it writes."},
            "default": _FAILED,
        },
    }
    parameters = [one for one in asked_for(command) if method == "post" or not isinstance(one.type, File)]
    if method == "get":
        found["parameters"] = [
            {
                "name": str(one.name),
                "in": "query",
                "required": one.required,
                "description": _about(one),
                "schema": described(one),
            }
            for one in parameters
        ]
        return found
    schema = {
        "type": "object",
        "required": [str(one.name) for one in parameters if one.required],
        "properties": {str(one.name): described(one) | {"description": _about(one)} for one in parameters},
    }
    files = any(isinstance(one.type, File) and not one.type.written for one in parameters)
    kinds = ("multipart/form-data",) if files else ("application/json", "multipart/form-data")
    found["requestBody"] = {"content": {kind: {"schema": schema} for kind in kinds}}
    return found


def _about(parameter: click.Parameter) -> str:
    return str(getattr(parameter, "help", None) or parameter.human_readable_name)
