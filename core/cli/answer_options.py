"""The options that commands about answers share: which model, what it may take, and under which choices one looks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from ..errors import GradingError
from ..graders import APIS, BACK_ENDS, DTYPES, acting, naming
from ..grading import PriceTag
from ..jobs import Extent, Progress
from ..pipelines import JUDGES, KS, TEMPERATURE, Gold, View
from .options import Command, Whole, counted, gathered_options, with_options
from .patience import patience_option
from .printing import Output
from .progress import ProgressLines

MODEL = ("model", "back_end", "base_url", "key_variable", "revision", "dtype", "api")


def model_options(command: Command) -> Command:
    """Add the options of a model; a command gets them as `settings`, and may use keys that its caller named."""

    @functools.wraps(command)
    def with_model(*args: Any, **others: Any) -> Any:
        given = {name: others.pop(name) for name in MODEL}
        with acting(naming(given["base_url"], given["key_variable"])):
            return command(*args, settings={name: value for name, value in given.items() if value}, **others)

    return with_options(
        with_model,
        click.option("--model", help="Name or folder of the model."),
        click.option(
            "--back-end", type=click.Choice(BACK_ENDS), help="transformers: on this computer; openai: at an endpoint."
        ),
        click.option(
            "--base-url", help="Address of an OpenAI-compatible endpoint, for example http://localhost:8000/v1."
        ),
        click.option("--key-variable", help="Environment variable with the endpoint's API key."),
        click.option("--revision", help="Branch, tag or commit of a model on the Hugging Face hub."),
        click.option("--dtype", type=click.Choice(DTYPES), help="Number format of a local model."),
        click.option("--api", type=click.Choice(APIS), help="Endpoint API: chat or plain completions."),
    )


caps_options = gathered_options(
    "caps",
    Extent,
    click.option("--limit", type=Whole(1), help="Process at most this many answers."),
    click.option("--max-calls", type=Whole(1), help="Call limit, retries included."),
    click.option("--max-cost", type=click.FloatRange(min=0), help="Cost limit, in the currency of exam prices."),
    click.option("--concurrency", type=click.IntRange(1, 1024), default=8, show_default=True, help="Parallel calls."),
    patience_option,
    click.option("--retry-failed", is_flag=True, help="Also retry the failed calls."),
    click.option("--only-failed", is_flag=True, help="Retry only the failed calls."),
    click.option("--dry-run", is_flag=True, help="Show the planned calls and their estimated cost; call no model."),
)
"""Options that limit a job; a command gets them as `caps`, and `dry_run`."""


def _gold(against: tuple[str, ...], min_judgment: int) -> Gold:
    return Gold(against or None, min_judgment)


gold_options = gathered_options(
    "gold",
    _gold,
    click.option(
        "--against",
        multiple=True,
        metavar="SOURCE",
        help="Judgment source, or gold for imported gold passages; may be repeated."
        " Default: imported gold passages, else the first source.",
    ),
    click.option(
        "--min-judgment", type=Whole(), default=1, show_default=True, help="Lowest judgment of a gold passage."
    ),
)
"""Options that say which passages are gold; a command gets them as `gold`."""


def _view(
    gold: Gold,
    runs: tuple[str, ...],
    ks: tuple[int, ...],
    generator: str | None,
    temperature: float,
    judge: str,
    judge_model: str | None,
    threshold: float | None,
    same_text: bool,
    without_people: bool,
) -> View:
    return View(
        runs or None, tuple(sorted(set(ks))) or KS, generator, temperature, judge, judge_model, threshold, gold,
        same_text, not without_people,
    )  # fmt: skip


view_options = gathered_options(
    "view",
    _view,
    click.option("--run", "runs", multiple=True, help="Only this run; may be repeated."),
    click.option(
        "--k", "ks", type=Whole(1), multiple=True, help="Passages per answer; may be repeated (default: 1, 5, 10)."
    ),
    click.option("--generator", help="Generator of the answers (default: the last added)."),
    click.option(
        "--temperature",
        type=click.FloatRange(min=0),
        default=TEMPERATURE,
        show_default=True,
        help="Temperature of the answers from gold passages.",
    ),
    click.option(
        "--judge",
        type=click.Choice(list(JUDGES)),
        default="llm",
        show_default=True,
        help="Answer check: the method that decides which answers are right.",
    ),
    click.option("--judge-model", help="Model of the answer checks llm and graded (default: the last added)."),
    click.option("--threshold", type=float, help="Answer-check score from which an answer is right."),
    click.option("--same-text", is_flag=True, help="Count near copies of gold passages as gold."),
    click.option("--without-people", is_flag=True, help="Ignore answer checks by people."),
    gold_options,
)
"""Options that select and judge answers; a command gets them as `view`."""


def say_price(things: str, tag: PriceTag, as_json: bool, more: dict[str, Any]) -> None:
    """Say what a job would take."""
    about = "" if tag.counted else "about "
    cost = "" if tag.cost is None else f", cost {tag.cost:,.2f}"
    tokens = f"{about}{tag.input_tokens:,} input and {tag.output_tokens:,} output tokens"
    calls = f". Estimated: {tag.calls:,} calls, {tokens}{cost}"
    output = Output({things: tag.pairs, "price_tag": vars(tag)} | more)
    output.note(f"Planned: {counted(tag.pairs, things.removesuffix('s'))}{calls if tag.calls else ''}.").print(as_json)


def say_end(things: str, final: Progress, as_json: bool, more: dict[str, Any]) -> None:
    """Say how a job ended; the command fails where it broke or was stopped by a person.

    Raises:
        GradingError: it did.
    """
    if final.state in ("failed", "cancelled"):
        raise GradingError(
            "job-failed",
            final.message,
            f"Saved: {counted(final.graded, things.removesuffix('s'))}.",
        )
    counts = {"state": final.state, things: final.graded, "failed": final.failed, "seconds": round(final.seconds, 2)}
    output = Output(counts | vars(final.usage) | {"message": final.message} | more)
    summary = f"{counted(final.graded, things.removesuffix('s'))}, {final.failed:,} failed. {final.message}"
    output.note(summary.rstrip()).print(as_json)


def watch(things: str) -> Callable[[str, Progress], None]:
    """Lines that say how far a job is."""
    lines = ProgressLines(things)
    return lambda name, progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
