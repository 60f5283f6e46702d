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
from .options import Whole, counted, print_json, tell
from .patience import patience_option
from .progress import ProgressLines

Command = Callable[..., Any]

MODEL = ("model", "back_end", "base_url", "key_variable", "revision", "dtype", "api")


def model_options(command: Command) -> Command:
    """Add the options of a model; a command gets them as `settings`, and may use keys that its caller named."""

    @functools.wraps(command)
    def with_model(*args: Any, **others: Any) -> Any:
        given = {name: others.pop(name) for name in MODEL}
        with acting(naming(given["base_url"], given["key_variable"])):
            return command(*args, settings={name: value for name, value in given.items() if value}, **others)

    for option in (
        click.option("--api", type=click.Choice(APIS), help="Endpoint API: chat or plain completions."),
        click.option("--dtype", type=click.Choice(DTYPES), help="Number format of a local model."),
        click.option("--revision", help="Branch, tag or commit of a model on the Hugging Face hub."),
        click.option("--key-variable", help="Environment variable with the endpoint's API key."),
        click.option(
            "--base-url", help="Address of an OpenAI-compatible endpoint, for example http://localhost:8000/v1."
        ),
        click.option(
            "--back-end", type=click.Choice(BACK_ENDS), help="transformers: on this computer; openai: at an endpoint."
        ),
        click.option("--model", help="Name or folder of the model."),
    ):
        with_model = option(with_model)
    return with_model


def caps_options(command: Command) -> Command:
    """Add what a job may take; a command gets it as `caps`, and `dry_run`."""

    @functools.wraps(command)
    def with_caps(
        *args: Any,
        limit: int | None,
        max_calls: int | None,
        max_cost: float | None,
        concurrency: int,
        patience: float,
        retry_failed: bool,
        only_failed: bool,
        **others: Any,
    ) -> Any:
        caps = Extent(
            limit=limit, max_calls=max_calls, max_cost=max_cost, concurrency=concurrency, patience=patience,
            retry_failed=retry_failed, only_failed=only_failed,
        )  # fmt: skip
        return command(*args, caps=caps, **others)

    wrapped: Command = with_caps
    for option in (
        click.option("--dry-run", is_flag=True, help="Show the planned calls and their estimated cost; call no model."),
        click.option("--only-failed", is_flag=True, help="Retry only the failed calls."),
        click.option("--retry-failed", is_flag=True, help="Also retry the failed calls."),
        patience_option,
        click.option(
            "--concurrency", type=click.IntRange(1, 1024), default=8, show_default=True, help="Parallel calls."
        ),
        click.option("--max-cost", type=click.FloatRange(min=0), help="Cost limit, in the currency of exam prices."),
        click.option("--max-calls", type=Whole(1), help="Call limit, retries included."),
        click.option("--limit", type=Whole(1), help="Process at most this many answers."),
    ):
        wrapped = option(wrapped)
    return wrapped


def gold_options(command: Command) -> Command:
    """Add what says which passages are gold; a command gets it as `gold`."""

    @functools.wraps(command)
    def with_gold(*args: Any, against: tuple[str, ...], min_judgment: int, **others: Any) -> Any:
        return command(*args, gold=Gold(against or None, min_judgment), **others)

    for option in (
        click.option(
            "--min-judgment", type=Whole(), default=1, show_default=True, help="Lowest judgment of a gold passage."
        ),
        click.option(
            "--against",
            multiple=True,
            metavar="SOURCE",
            help="Judgment source, or gold for imported gold passages; may be repeated."
            " Default: imported gold passages, else the first source.",
        ),
    ):
        with_gold = option(with_gold)
    return with_gold


def view_options(command: Command) -> Command:
    """Add under which choices answers are looked at; a command gets them as `view`."""

    @functools.wraps(command)
    def with_view(
        *args: Any,
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
        **others: Any,
    ) -> Any:
        view = View(
            runs or None, tuple(sorted(set(ks))) or KS, generator, temperature, judge, judge_model, threshold, gold,
            same_text, not without_people,
        )  # fmt: skip
        return command(*args, view=view, **others)

    wrapped: Command = gold_options(with_view)
    for option in (
        click.option("--without-people", is_flag=True, help="Ignore answer checks by people."),
        click.option("--same-text", is_flag=True, help="Count near copies of gold passages as gold."),
        click.option("--threshold", type=float, help="Answer-check score from which an answer is right."),
        click.option("--judge-model", help="Model of the answer checks llm and graded (default: the last added)."),
        click.option(
            "--judge", type=click.Choice(list(JUDGES)), default="llm", show_default=True,
            help="Answer check: the method that decides which answers are right.",
        ),
        click.option(
            "--temperature", type=click.FloatRange(min=0), default=TEMPERATURE, show_default=True,
            help="Temperature of the answers from gold passages.",
        ),
        click.option("--generator", help="Generator of the answers (default: the last added)."),
        click.option(
            "--k", "ks", type=Whole(1), multiple=True, help="Passages per answer; may be repeated (default: 1, 5, 10)."
        ),
        click.option("--run", "runs", multiple=True, help="Only this run; may be repeated."),
    ):  # fmt: skip
        wrapped = option(wrapped)
    return wrapped


def say_price(things: str, tag: PriceTag, as_json: bool, more: dict[str, Any]) -> None:
    """Say what a job would take."""
    if as_json:
        print_json({things: tag.pairs, "price_tag": vars(tag)} | more)
        return
    about = "" if tag.counted else "about "
    cost = "" if tag.cost is None else f", cost {tag.cost:,.2f}"
    tokens = f"{about}{tag.input_tokens:,} input and {tag.output_tokens:,} output tokens"
    calls = f". Estimated: {tag.calls:,} calls, {tokens}{cost}"
    tell(f"Planned: {counted(tag.pairs, things.removesuffix('s'))}{calls if tag.calls else ''}.")


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
    if as_json:
        told = {"state": final.state, things: final.graded, "failed": final.failed, "seconds": round(final.seconds, 2)}
        print_json(told | vars(final.usage) | {"message": final.message} | more)
        return
    tell(f"{counted(final.graded, things.removesuffix('s'))}, {final.failed:,} failed. {final.message}".rstrip())


def watch(things: str) -> Callable[[str, Progress], None]:
    """Lines that say how far a job is."""
    lines = ProgressLines(things)
    return lambda name, progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
