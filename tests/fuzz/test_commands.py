"""Shell commands with hostile options: exit code 0, 1 or 2, a one-line error, and no traceback."""

import json
import os
from collections import defaultdict
from pathlib import Path

import click
from hypothesis import given, strategies as st
from hypothesis.strategies import DrawFn

from exam_workbench.operations import find_operation
from exam_workbench.store import open_project
from tests.fuzz.checks import Bench, fuzzed, in_time, one_line
from tests.fuzz.strategies import FORMS, LONE, File, files, texts
from tests.made.shell import every_command, run_words

LEFT_OUT = {
    "serve", "demo", "grade", "sit", "examinees retrieve", "generate", "items generate", "items check", "items accept",
    "items statistics", "graders test", "proposals answer-key", "answers generate", "answers retrieve", "answers grade",
    "answers rag", "reteval agreement", "reteval compare", "snapshots add", "snapshots watch",
}  # fmt: skip
"""These start a server, load or call models, or open an address."""
PROJECT = "@project@"
MOST_LINES = 30
GOOD: dict[str, tuple[str, ...]] = {
    "kind": tuple(dict.fromkeys(form.kind for form in FORMS)), "query": ("q0", "q1"), "query_id": ("q0", "q2"),
    "queries": ("q0",), "passage_id": ("p0", "p1"), "run": ("r1", "r2"), "question_id": ("q0/x0", "q1/x1"),
    "question_ids": ("q0/x0", "q0/x3"), "question": ("q0/x0",), "questions": ("q0/x0",), "grader": ("test grader",),
    "measure": ("nDCG@10", "AP", "EXAM-Cover@5"), "measures": ("AP",), "source": ("exam", "assessors", "official"),
    "against": ("assessors", "official"), "label": ("max", "mean", "support:2"), "note": ("why",), "reason": ("why",),
    "author": ("tester",), "text": ("Why?",), "texts": ("Why?", "Who?"), "words": ("text of",), "by": ("agreement",),
    "name": ("mine", "self-rating"), "since": ("2026-01-01",), "rating": ("3",), "value": ("2",), "version": ("1",),
    "before": ("1",), "bank_version": ("1",), "keys": ("1",), "output": ("out.csv", "out.jsonl", "-", "out"),
    "baseline": ("r1",),
}  # fmt: skip
"""Valid values in the project, by the name of a parameter."""
# The last three never end or have no writer: a command that reads one completely hangs.
PATHS = ("sent-0",) * 8 + ("missing", ".", "/dev/null", "a" * 300, "out.csv", "/dev/zero", "pipe", "/proc/self/mem")
SIZES = ("0", "1", "2", "5", "-1", str(2**31), str(2**63), "9" * 40, "nan", "inf", "1e308", "x")
# Texts that a shell can pass on, and that cannot name files outside the folder.
HOSTILE = (texts() | st.just(LONE)).map(lambda text: text.replace("\0", "").replace("/", "_")[:50_000])


COMMANDS = {
    words: command
    for words, command in every_command()
    if not isinstance(command, click.Group) and words not in LEFT_OUT
}


@st.composite
def command_lines(draw: DrawFn) -> tuple[str, list[str], File]:
    """The words of a command, its arguments, and a file that it may name."""
    words = draw(st.sampled_from(sorted(COMMANDS)))
    args = words.split()
    for parameter in COMMANDS[words].params:
        needed = parameter.required or isinstance(parameter, click.Argument)
        if parameter.name not in ("project_path", "help") and draw(st.integers(0, 9)) < (9 if needed else 2):
            args += _given(draw, parameter)
    if draw(st.integers(0, 6)):
        args += ["--project", PROJECT]
    if draw(st.integers(0, 9)) == 0:
        args.insert(draw(st.integers(0, len(args))), draw(HOSTILE))
    kind = args[1] if args[0] == "import" and args[1] in GOOD["kind"] else None
    return words, args, draw(files(kind))


def _given(draw: DrawFn, parameter: click.Parameter) -> list[str]:
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [parameter.opts[0]]
    many = parameter.nargs == -1 or parameter.multiple
    values = [_value(draw, parameter) for _ in range(draw(st.integers(1, 2)) if many else 1)]
    if isinstance(parameter, click.Option):
        return [piece for value in values for piece in (parameter.opts[-1], value)]
    return values


def _value(draw: DrawFn, parameter: click.Parameter) -> str:
    if isinstance(parameter.type, click.Path):
        return draw(st.sampled_from(PATHS))
    if draw(st.integers(0, 3)) == 0:
        return draw(HOSTILE)
    if isinstance(parameter.type, click.Choice):
        return str(draw(st.sampled_from(list(parameter.type.choices))))
    if parameter.name in GOOD:
        return draw(st.sampled_from(GOOD[parameter.name]))
    if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
        return draw(st.sampled_from(SIZES))
    return draw(st.sampled_from(("q0", "r1", "assessors", "nDCG@10")) | HOSTILE)


def test_command_exits_with_code_and_one_line_reason(bench: Bench) -> None:
    @fuzzed(25)
    @given(command_lines())
    def holds(line: tuple[str, list[str], File]) -> None:
        words, args, file = line
        with bench.copied() as path:
            Path("sent-0").write_bytes(file.data)
            os.mkfifo("pipe")
            with in_time():
                code, out, err = run_words([str(path) if word == PROJECT else word for word in args])
            assert code in (0, 1, 2)
            lines = err.split("\n")[:-1]
            said = [number for number, line in enumerate(lines) if line.startswith("exam: ")]
            assert not said or said[-1] == len(lines) - 1, f"a message is not one line: {err}"
            assert not code or said or "Usage: " in err, f"a command fails without a reason: {err}"
            assert len(lines) <= MOST_LINES or "Usage: " in err, err
            for text in lines:
                one_line(text)
            if code == 0 and "--json" in args and not {"--help", "-h"} & set(args):
                json.loads(out, parse_constant=_refuse)
            operation = find_operation(words)
            reads = operation is not None and operation.only_reads(defaultdict(object))
            if PROJECT in args and (code == 2 or reads):
                project = open_project(path)
                try:
                    assert bench.content(project) == bench.before, f"{words} changes the project"
                finally:
                    project.close()

    holds()


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
