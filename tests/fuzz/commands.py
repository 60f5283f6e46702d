"""Commands of the shell, as they are declared: each option with a good value, a hostile one, or none."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import click

from core.cli import cli, main
from core.cli.reading import only_reads
from core.project import open_project
from tests.fuzz import mutations, oracles
from tests.fuzz.bench import Bench
from tests.fuzz.files import FORMS, a_file
from tests.fuzz.inputs import Input

LEFT_OUT = (
    "serve",
    "demo",
    "grade",
    "sit",
    "students retrieve",
    "generate",
    "items generate",
    "items check",
    "items accept",
    "items statistics",
    "graders test",
    "proposals answer-key",
    "answers generate",
    "answers retrieve",
    "answers grade",
    "answers rag",
    "reteval agreement",
    "reteval compare",
    "target freeze",
    "target watch",
)
"""They begin a server, load or ask models, or ask an address."""

PROJECT = "@project@"
MOST_LINES = 30

GOOD: dict[str, tuple[str, ...]] = {
    "kind": ("queries", "passages", "runs", "qrels", "bank", "graded", "responses", "leaderboard",
    "responses-matrix", "lm-eval", "students", "exam", "answers", "answer-verdicts"),
    "query": ("q0", "q1"), "query_id": ("q0", "q2"), "queries": ("q0",), "passage_id": ("p0", "p1"), "run": ("r1",
    "r2"),
    "question_id": ("q0/x0", "q1/x1"), "question_ids": ("q0/x0", "q0/x3"), "question": ("q0/x0",),
    "questions": ("q0/x0",),
    "measure": ("nDCG@10", "AP", "EXAM-Cover@5"), "measures": ("AP",), "source": ("exam", "assessors", "official"),
    "against": ("assessors", "official"), "grader": ("test grader",), "label": ("max", "mean", "support:2"),
    "note": ("why",),
    "reason": ("why",), "author": ("tester",), "text": ("Why?",), "texts": ("Why?", "Who?"), "words": ("text of",),
    "by": ("agreement",),
    "name": ("mine", "self-rating"), "since": ("2026-01-01",), "rating": ("3",), "value": ("2",), "version": ("1",),
    "before": ("1",),
    "bank_version": ("1",), "keys": ("1",), "output": ("out.csv", "out.jsonl", "-", "out"), "baseline": ("r1",),
}  # fmt: skip
"""Values that mean something in the project, by the name of a parameter."""

PATHS = ("sent-0", "sent-0", "sent-0", "missing", ".", "/dev/null", "a" * 300, "out.csv")
RARE_PATHS = ("/dev/zero", "pipe", "/proc/self/mem")
"""Without an end, or without anybody who writes: to read them whole is to hang."""


def _commands(group: click.Group = cli, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, name))
        elif (path := " ".join((*words, name))) not in LEFT_OUT:
            yield path, command


COMMANDS = dict(_commands())


def a_command(random: Random) -> Input:
    """A command line, with a file that it may name."""
    words = random.choice(tuple(COMMANDS))
    args = words.split()
    for parameter in COMMANDS[words].params:
        needed = parameter.required or isinstance(parameter, click.Argument)
        if random.random() < (0.93 if needed else 0.18):
            args += _given(parameter, random)
    if random.random() < 0.85:
        args += ["--project", PROJECT]
    if random.random() < 0.1:
        args.insert(random.randrange(len(args) + 1), _hostile(random))
    kind = args[1] if args[0] == "import" and len(args) > 1 else ""
    name, data = a_file(random.choice([form for form in FORMS if form.kind == kind] or FORMS), random)
    return Input("commands", ((name, data),), {"args": args, "words": words})


def _given(parameter: click.Parameter, random: Random) -> list[str]:
    if parameter.name == "project_path" or parameter.name == "help":
        return []
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [parameter.opts[0]]
    values = [_value(parameter, random) for _ in range(random.choice((1, 1, 2)) if _is_many(parameter) else 1)]
    if isinstance(parameter, click.Option):
        return [piece for value in values for piece in (parameter.opts[-1], value)]
    return values


def _is_many(parameter: click.Parameter) -> bool:
    return parameter.nargs == -1 or parameter.multiple


def _value(parameter: click.Parameter, random: Random) -> str:
    hostile = random.random() < 0.25
    if isinstance(parameter.type, click.Path):
        return random.choice(RARE_PATHS if random.random() < 0.004 else PATHS)
    if hostile:
        return _hostile(random)
    if isinstance(parameter.type, click.Choice):
        return str(random.choice(list(parameter.type.choices)))
    if parameter.name in GOOD:
        return random.choice(GOOD[parameter.name])
    if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
        return random.choice(("0", "1", "2", "5", "-1", str(2**31), str(2**63), "9" * 40, "nan", "inf", "1e308", "x"))
    return random.choice(("q0", "r1", "assessors", "nDCG@10", _hostile(random)))


def _hostile(random: Random) -> str:
    """A text that a shell can hand on and that names no file outside the folder."""
    text = mutations.LONE if random.random() < 0.03 else mutations.a_text(random)
    return text.replace("\0", "").replace("/", "_")[:50_000]


def run_command(bench: Bench, sent: Input) -> bool:
    """Run it in this process; whether it ended well."""
    words, (_, data) = sent.given["words"], sent.files[0]
    bench.clear()
    Path("sent-0").write_bytes(data)
    os.mkfifo("pipe")
    with bench.copied() as path:
        args = [str(path) if word == PROJECT else word for word in sent.given["args"]]
        code, out, err = _run(args)
        if code not in (0, 1, 2):
            raise oracles.Broken("a command ends with a code that there is not", code)
        lines = err.split("\n")[:-1]
        said = [number for number, line in enumerate(lines) if line.startswith("exam: ")]
        if said and said[-1] != len(lines) - 1:
            raise oracles.Broken("a message is not one line of plain signs", err)
        if code and not said and "Usage: " not in err:
            raise oracles.Broken("a command fails and does not say why", err)
        if len(lines) > MOST_LINES and "Usage: " not in err:
            raise oracles.Broken("a command says more than a person reads", err)
        for line in lines:
            oracles.one_bounded_line(line)
        if code == 0 and "--json" in args and "--help" not in args and "-h" not in args:
            _is_json(out)
        if PROJECT in sent.given["args"] and (code == 2 or only_reads(words, _everything())):
            project = open_project(path)
            try:
                oracles.unchanged(bench, project)
            finally:
                project.close()
        return code == 0


class _everything(dict[str, Any]):
    """Parameters of a command that may have written: it counts as one that did."""

    def __missing__(self, key: str) -> object:
        return object()


def _run(args: list[str]) -> tuple[int, bytes, str]:
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace")
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "argv", ["exam", *args]):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    out.flush()
    err.flush()
    return code, out.detach().getvalue(), err.detach().getvalue().decode()


def _is_json(out: bytes) -> None:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        json.loads(out, parse_constant=refuse)
    except ValueError as error:
        raise oracles.Broken("what a command prints as JSON is none", f"{error}: {out[:300]!r}") from error
