"""Plans of `exam plan -o`: Parquet files of pairs and of grades, and grading on a Ray cluster
without a project.

If a worker or node fails, another one grades its block again. Rows in the folder are never asked
again, so a restart continues. Ray is optional and loaded only when a plan is graded.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..atomic_files import replace_file
from ..errors import GradingError, InputError, WorkbenchError
from ..types import Grade, GraderInput, Status
from ._grader_interface import NOTHING_USED, Control, Pair, Tokens, Usage, make_usage
from ._grader_kinds import make_grader
from ._prompts.prompt import Prompt, read_prompt, write_prompt

FORMAT = 1
"""Version of the format of a plan."""
KEY = b"exam-workbench plan"
"""Key of a plan's description in the metadata of its file."""
ROWS = 4096
"""Number of rows of a file that are in memory together."""


@dataclass(frozen=True)
class PlannedGrader:
    """The grader of a plan: arguments of `make_grader`, and the required fingerprint."""

    kind: str
    parameters: Mapping[str, Any]
    prompts: Mapping[str, Prompt]
    fingerprint: str


@dataclass(frozen=True)
class NamedGrade:
    """A row of a file of grades.

    Args:
        name: name of the pair: the plan's custom_id.
        usage: usage of the batch of pairs, in its first row; zero in the others.
        line: number of the row, from 1.
    """

    name: str
    grade: Grade
    usage: Usage
    line: int


def write_pairs(
    pairs: Iterable[tuple[str, GraderInput, str]], grader: PlannedGrader, path: Path
) -> int:
    """Write pairs with their texts to a file for workers.

    Args:
        pairs: name, question and passage of each; written as they arrive.
        grader: stored in the file's metadata, without the name of a key variable.
        path: a Parquet file.

    Returns:
        The number of pairs.

    Raises:
        InputError, ProjectError: see `atomic_files.replace_file`.
    """
    about = asdict(grader) | {
        "format": FORMAT,
        "parameters": _without_keys(grader.parameters),
        "prompts": {name: write_prompt(prompt) for name, prompt in grader.prompts.items()},
    }
    texts = [(name, pa.string()) for name in ("custom_id", "question", "answer_key", "passage")]
    schema = pa.schema(
        [*texts, ("choices", pa.list_(pa.string()))], {KEY: json.dumps(about).encode()}
    )
    number, waiting = 0, iter(pairs)
    with replace_file(path) as made, pq.ParquetWriter(made, schema) as out:
        while batch := list(islice(waiting, ROWS)):
            rows = [
                {
                    "custom_id": name,
                    "question": asked.text,
                    "answer_key": asked.answer_key,
                    "passage": passage,
                    "choices": list(asked.choices),
                }
                for name, asked, passage in batch
            ]
            out.write_table(pa.Table.from_pylist(rows, schema))
            number += len(batch)
    return number


def _without_keys(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without the key variable: a plan may come from another person, who must
    not choose the key to send."""
    return {name: value for name, value in parameters.items() if name != "key_variable"}


def planned_grader(path: Path) -> PlannedGrader | None:
    """Read the grader of a plan; None for a plan of calls, which names no grader.

    Raises:
        InputError: the file is not a plan of this version.
    """
    try:
        schema = pq.read_schema(path)
        about = json.loads((schema.metadata or {}).get(KEY, b"null"))
        if about is None and {"custom_id", "body"} <= set(schema.names):
            return None
        if about["format"] != FORMAT:
            raise ValueError(f"its format {about['format']} is unknown")
        prompts = {name: read_prompt(text, name) for name, text in about["prompts"].items()}
        return PlannedGrader(
            about["kind"], _without_keys(about["parameters"]), prompts, about["fingerprint"]
        )
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InputError(
            "not-a-plan", f"{path} is not a plan: {error}.", "Write one: exam plan -o FILE.parquet"
        ) from error


def grade_columns(names: Sequence[str], grades: Sequence[Grade], usage: Usage) -> Any:
    """Return grades as an Arrow table, for a file that `read_grades` reads.

    Args:
        names: names of the pairs, as many as `grades`; at least one.
        usage: usage of all of them together.
    """
    used = (usage.calls, usage.input_tokens, usage.output_tokens)
    rows = [
        {"custom_id": name, **asdict(grade)}
        | dict(zip(_USED, used if row == 0 else (0, 0, 0), strict=True))
        for row, (name, grade) in enumerate(zip(names, grades, strict=True))
    ]
    return pa.Table.from_pylist(rows, _GRADES)


_USED = ("calls", "input_tokens", "output_tokens")
_GRADES = pa.schema(
    [
        *(
            (name, pa.string())
            for name in ("custom_id", "status", "answer", "raw", "reason", "note")
        ),
        *(
            ("rating", pa.int8()),
            ("confidence", pa.float64()),
            ("distribution", pa.list_(pa.float64())),
        ),
        *((name, pa.int64()) for name in _USED),
    ]
)


def holds_grades(path: Path) -> bool:
    """Return whether a file has the columns of grades."""
    return path.suffix == ".parquet" and {"custom_id", "status"} <= set(_column_names(path) or ())


def _column_names(path: Path) -> list[str] | None:
    """Return the names of a Parquet file's columns; None if it is unreadable."""
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return None


def read_grades(path: Path) -> Iterator[list[NamedGrade]]:
    """Yield the grades of a file in lists of up to `ROWS` rows.

    Raises:
        ValueError: the file or a row is unreadable; the message has the reason.
    """
    line = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS, columns=_GRADES.names):
                rows = (
                    pa.Table.from_batches([batch]).select(_GRADES.names).cast(_GRADES).to_pylist()
                )
                yield [_named_grade(row, line + number) for number, row in enumerate(rows, start=1)]
                line += len(rows)
    except (pa.ArrowException, OSError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"the file has no readable grades ({type(error).__name__}: {error})"
        ) from error


def _named_grade(row: dict[str, Any], line: int) -> NamedGrade:
    name, used = row.pop("custom_id"), [row.pop(column) or 0 for column in _USED]
    if row["status"] not in get_args(Status) or (row["rating"] is None) != (
        row["status"] == "failed"
    ):
        raise ValueError(f"row {line}: the rating does not fit its status")
    if not isinstance(name, str) or min(used) < 0 or (row["rating"] or 0) < 0:
        raise ValueError(f"row {line}: the custom_id is missing, or a number is below 0")
    if row["distribution"] is not None:
        row["distribution"] = tuple(row["distribution"])
    usage = make_usage(used[0], Tokens(*used[1:]), 0.0) if any(used) else NOTHING_USED
    return NamedGrade(name, Grade(**row), usage, line)


BLOCKS = (256, 64, 8, 1)
"""Rows per block in each pass. In the last pass, a row that kills its worker is alone in its block.
"""
MOST_LOST = 100
"""Lost blocks after which a pass ends: a problem that affects every block would otherwise go on for
hours.
"""
_SAMPLING = frozenset(
    (
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "stop",
        "max_tokens",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
    )
)
"""Request fields that vLLM's sampling parameters have under the same name."""
_LIMIT = "max_completion_tokens"
"""Another name of max_tokens in requests."""
Report = Callable[[str], None]


@dataclass(frozen=True)
class GradedPlan:
    """Result of grading a plan.

    Args:
        rows: number of rows of the plan.
        before: number of rows that the folder had at the start.
        done: number of rows that it has now; the others killed every worker that got them.
    """

    rows: int
    before: int
    done: int


class GraderOnWorker:
    """Grades blocks of pairs on a worker; each worker has one instance.

    Raises:
        GradingError: this computer makes another grader, such as one with another version of the
            model.
    """

    def __init__(self, planned: PlannedGrader) -> None:
        self._grader = make_grader(planned.kind, planned.parameters, planned.prompts)
        if self._grader.spec.fingerprint != planned.fingerprint:
            raise GradingError(
                "other-grader-on-worker",
                f"A worker has the grader {self._grader.spec.fingerprint}, but the plan is for"
                f" {planned.fingerprint}.",
                "Install the same versions of the program and the model on every"
                " computer of the cluster.",
            )

    def __call__(self, table: Any) -> Any:
        """Grade the rows of a plan (an Arrow table); return a table with the columns of
        `grade_columns`.
        """
        rows = table.to_pylist()
        questions = {
            number: GraderInput(row["question"], row["answer_key"], tuple(row["choices"]))
            for number, row in enumerate(rows)
        }
        passages = {number: row["passage"] for number, row in enumerate(rows)}
        pairs = [(number, number) for number in questions]
        control = Control(longest_wait=math.inf)
        grades = self._grade(questions, passages, pairs, control)
        return grade_columns(
            [row["custom_id"] for row in rows], [grades[pair] for pair in pairs], control.usage
        )

    def _grade(
        self,
        questions: Mapping[int, GraderInput],
        passages: Mapping[int, str],
        pairs: Sequence[Pair],
        control: Control,
    ) -> dict[Pair, Grade]:
        try:
            batches = self._grader.grade(questions, passages, pairs, control)
            return {
                (question, passage): grade
                for batch in batches
                for question, passage, grade in batch
            }
        except WorkbenchError:
            raise
        except Exception as error:
            # One bad pair must not fail the others of its block.
            if len(pairs) == 1:
                return {
                    pairs[0]: Grade(
                        None, "failed", reason=f"the grader failed: {type(error).__name__}: {error}"
                    )
                }
        alone = [self._grade(questions, passages, [pair], control) for pair in pairs]
        return {pair: grade for grades in alone for pair, grade in grades.items()}


def grade_plan(
    plan: Path,
    folder: Path,
    address: str | None = None,
    workers: int | None = None,
    gpus: float | None = None,
    report: Report = lambda line: None,
) -> GradedPlan:
    """Grade the rows of a plan that are missing in the folder, on a Ray cluster.

    Args:
        plan: Parquet file from `exam plan -o`.
        folder: folder for Parquet files of grades or answers; made if missing. All computers of the
            cluster must see it under this path. Its subfolder `left` has the missing rows.
        address: address of the cluster, such as head:6379; None for this computer alone.
        workers: number of workers; None for one per GPU, or per processor without GPUs.
        gpus: GPUs per worker, which may be below 1; None for 1 if the cluster has GPUs.
        report: called with a line for each pass.

    Raises:
        InputError: the plan or a file in the folder is unusable.
        GradingError: Ray is not installed or not reachable, or the grader cannot work.
    """
    planned = planned_grader(plan)
    names = _names_in_files([plan])
    if planned is None:
        check_vllm_calls(plan)
    remaining_plan = folder / "left" / "plan.parquet"
    remaining_plan.parent.mkdir(parents=True, exist_ok=True)
    _set_damaged_aside(folder, report)
    done_names = _known_names(names, folder)
    before = len(done_names)
    if before == len(names):
        return GradedPlan(len(names), before, before)
    ray = _join_cluster(address)
    idle = False
    try:
        size, gpus = _count_workers(ray, workers, gpus)
        for rows in BLOCKS:
            missing = len(names) - len(done_names)
            report(f"{missing:,} of {len(names):,} rows to grade, {rows} at a time")
            _write_left(plan, done_names, remaining_plan)
            reason = ""
            try:
                _run_pass(
                    remaining_plan,
                    folder,
                    planned,
                    -(-missing // rows),
                    size,
                    gpus,
                    0 if idle else MOST_LOST,
                )
            except Exception as error:
                # Ray raises errors of many classes, its own and those of workers; the next pass
                # resolves most of them.
                reason = last_line(error)
            done_names, had = _known_names(names, folder), len(done_names)
            if len(done_names) == len(names):
                break
            idle = len(done_names) == had
            if idle and reason:
                raise GradingError(
                    "nothing-graded",
                    f"No row was graded: {reason}.",
                    f"Rows kept in {folder}: {len(done_names):,}.",
                )
        return GradedPlan(len(names), before, len(done_names))
    finally:
        ray.shutdown()


def _run_pass(
    remaining_plan: Path,
    folder: Path,
    planned: PlannedGrader | None,
    blocks: int,
    workers: int,
    gpus: float,
    most_lost: int,
) -> None:
    data: Any = import_module("ray.data")
    context = data.DataContext.get_current()
    context.max_errored_blocks = most_lost
    context.enable_progress_bars = False
    # The newer reader lists files with its own actors. If workers use all processors, these actors
    # get none.
    context.use_datasource_v2 = False
    light = {"num_cpus": 0}
    rows = data.read_parquet(str(remaining_plan), override_num_blocks=blocks, ray_remote_args=light)
    if planned is None:
        llm: Any = import_module("ray.data.llm")
        config = llm.vLLMEngineProcessorConfig(
            model_source=_first_body(remaining_plan)["model"],
            concurrency=workers,
            should_continue_on_error=True,
        )
        graded = llm.build_processor(config, preprocess=vllm_request, postprocess=vllm_reply)(rows)
    else:
        graded = rows.map_batches(
            GraderOnWorker,
            batch_size=None,
            batch_format="pyarrow",
            fn_constructor_args=(planned,),
            compute=data.ActorPoolStrategy(size=workers),
            num_cpus=1,
            num_gpus=gpus or None,
            # Ray would forever repeat a block that kills its worker, and would wait for a lost
            # node. Instead, lost blocks are dropped; the next pass finds their missing rows.
            max_restarts=-1,
            max_task_retries=0,
        )
    graded.write_parquet(str(folder), ray_remote_args=light)


def vllm_request(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a planned call as a row for Ray's vLLM stage.

    Raises:
        InputError: the body has a field that vLLM's sampling parameters do not have.
    """
    body = json.loads(row["body"])
    model_input = {name: body.pop(name) for name in ("messages", "prompt") if name in body}
    # Replies of vLLM's stage come without probabilities of tokens.
    for name in ("model", "logprobs", "top_logprobs"):
        body.pop(name, None)
    sampling = {("max_tokens" if name == _LIMIT else name): value for name, value in body.items()}
    form = sampling.pop("response_format", None)
    if strange := sorted(sampling.keys() - _SAMPLING):
        raise InputError(
            "unknown-call-field",
            f"Unknown field {strange[0]!r} for vLLM in the plan.",
            "Remove it, or use vLLM's server as an endpoint.",
        )
    if form is not None:
        schema = (
            form["json_schema"]["schema"] if form["type"] == "json_schema" else {"type": "object"}
        )
        sampling["structured_outputs"] = {"json": schema}
    return {
        "custom_id": row["custom_id"],
        "sampling_params": sampling,
        "limit": sampling["max_tokens"],
        **model_input,
    }


def vllm_reply(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of Ray's vLLM stage as a reply for `exam ingest`: custom_id, response (JSON) and
    error.
    """
    if error := row.get("__inference_error__"):
        return {"custom_id": row["custom_id"], "response": None, "error": str(error)}
    text, written = row["generated_text"], int(row["num_generated_tokens"])
    ended = "length" if written >= row["limit"] else "stop"
    response = {
        "choices": [{"message": {"content": text}, "text": text, "finish_reason": ended}],
        "usage": {"prompt_tokens": int(row["num_input_tokens"]), "completion_tokens": written},
    }
    return {"custom_id": row["custom_id"], "response": json.dumps(response), "error": None}


def check_vllm_calls(plan: Path) -> None:
    """Refuse a plan of calls that Ray's vLLM stage cannot make.

    Raises:
        InputError: see `vllm_request`; also if the calls are plain completions.
    """
    body = _first_body(plan)
    if body:
        vllm_request({"custom_id": "", "body": json.dumps(body)})
    if "prompt" in body:
        raise InputError(
            "plain-completions",
            "Plain completions cannot be graded here.",
            "Plan with --api chat, or use vLLM's server as an endpoint.",
        )


def _first_body(plan: Path) -> dict[str, Any]:
    with pq.ParquetFile(plan) as file:
        for batch in file.iter_batches(1, columns=["body"]):
            return dict(json.loads(batch["body"][0].as_py()))
    return {}


def _write_left(plan: Path, done_names: set[str], remaining_plan: Path) -> None:
    """Write the rows of a plan that are not in `done_names`."""
    done = pa.array(done_names, pa.string())
    with pq.ParquetFile(plan) as file, pq.ParquetWriter(remaining_plan, file.schema_arrow) as out:
        for batch in file.iter_batches():
            out.write_batch(batch.filter(pc.invert(pc.is_in(batch["custom_id"], value_set=done))))


def _names_in_files(paths: Sequence[Path]) -> set[str]:
    return {
        name
        for path in paths
        for name in pq.read_table(path, columns=["custom_id"])["custom_id"].to_pylist()
    }


def _known_names(names: set[str], folder: Path) -> set[str]:
    return names & _names_in_files(sorted(folder.glob("*.parquet")))


def _set_damaged_aside(folder: Path, report: Report) -> None:
    """Rename unfinished files of killed workers, so that their rows are graded again."""
    for path in sorted(folder.glob("*.parquet")):
        columns = _column_names(path)
        if columns is None:
            path.rename(path.with_suffix(".damaged"))
            report(f"{path.name} is incomplete and was renamed to .damaged")
        elif "custom_id" not in columns:
            raise InputError(
                "column-missing",
                f"{path} has no column custom_id.",
                "Use a folder that has only grades of this plan.",
            )


def _join_cluster(address: str | None) -> Any:
    # Without this setting, Ray sends usage statistics to its makers.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = import_module("ray")
    except ImportError as error:
        raise GradingError(
            "ray-missing",
            f"Ray cannot be loaded ({error}).",
            'Install it: pip install "exam-workbench[ray]"',
        ) from error
    try:
        # Without an address, Ray would join any cluster on this computer.
        ray.init(address or "local", logging_level="ERROR", log_to_driver=False)
    except Exception as error:
        # Ray raises errors of many classes here; the user can correct only the address.
        raise GradingError(
            "no-cluster",
            f"Cannot join the Ray cluster {address or 'on this computer'}"
            f" ({type(error).__name__}: {error}).",
            "Set --address, such as head:6379. This computer must belong to the cluster.",
        ) from error
    return ray


def _count_workers(ray: Any, workers: int | None, gpus: float | None) -> tuple[int, float]:
    """Return the number of workers, and the GPUs of each."""
    resources = ray.cluster_resources()
    if gpus is None:
        gpus = 1.0 if resources.get("GPU") else 0.0
    room = resources.get("GPU", 0) / gpus if gpus else resources.get("CPU", 1)
    return workers or max(int(room), 1), gpus


def last_line(error: BaseException) -> str:
    """Return the last line of a Ray error, which names the cause; earlier lines are Ray's own
    trace.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else type(error).__name__
