"""The options that commands about answers share: which model, what it may take, and under which choices one looks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from core.cli.options import Whole, counted, print_json, tell
from core.cli.patience import patience_option
from core.cli.progress import ProgressLines
from core.errors import GradingError
from core.graders import APIS, BACK_ENDS, DTYPES, acting, naming
from core.grading import PriceTag, Progress
from core.pipelines import JUDGES, KS, TEMPERATURE, Caps, Gold, View

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
        click.option("--api", type=click.Choice(APIS), help="What an endpoint is asked for."),
        click.option("--dtype", type=click.Choice(DTYPES), help="Number format of a model on this computer."),
        click.option("--revision", help="Branch, tag or commit of a model on the hub."),
        click.option("--key-variable", help="Variable of the environment with the endpoint's key."),
        click.option("--base-url", help="Address of an OpenAI-compatible endpoint, as http://localhost:8000/v1."),
        click.option("--back-end", type=click.Choice(BACK_ENDS), help="Where the model runs."),
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
        caps = Caps(limit, max_calls, max_cost, concurrency, retry_failed, only_failed, patience)
        return command(*args, caps=caps, **others)

    wrapped: Command = with_caps
    for option in (
        click.option("--dry-run", is_flag=True, help="Only say what would be asked, and what that would take."),
        click.option("--only-failed", is_flag=True, help="Ask what failed again and nothing else."),
        click.option("--retry-failed", is_flag=True, help="Ask what failed again, too."),
        patience_option,
        click.option(
            "--concurrency", type=click.IntRange(1, 1024), default=8, show_default=True, help="Calls in flight at most."
        ),
        click.option("--max-cost", type=click.FloatRange(min=0), help="Money that may be spent at most."),
        click.option("--max-calls", type=Whole(1), help="Calls of the model at most, retries included."),
        click.option("--limit", type=Whole(1), help="Ask at most this many."),
    ):
        wrapped = option(wrapped)
    return wrapped


def gold_options(command: Command) -> Command:
    """Add what says which passages are gold; a command gets it as `gold`."""

    @functools.wraps(command)
    def with_gold(*args: Any, against: tuple[str, ...], min_judgment: int, **others: Any) -> Any:
        return command(*args, gold=Gold(against or None, min_judgment), **others)

    for option in (
        click.option("--min-judgment", type=Whole(), default=1, show_default=True, help="Judgment of a gold passage."),
        click.option(
            "--against",
            multiple=True,
            metavar="SOURCE",
            help="Source of judgments, or gold for the gold texts; may be repeated. The gold texts, or the first"
            " source, where not given.",
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
        click.option("--without-people", is_flag=True, help="Take no person's verdict on an answer."),
        click.option("--same-text", is_flag=True, help="A passage that nearly repeats a gold one counts as gold."),
        click.option("--threshold", type=float, help="From which score a judge says yes."),
        click.option("--judge-model", help="Who compared, for llm and graded; the last one where not given."),
        click.option(
            "--judge", type=click.Choice(list(JUDGES)), default="llm", show_default=True, help="Who says what is right."
        ),
        click.option(
            "--temperature", type=click.FloatRange(min=0), default=TEMPERATURE, show_default=True,
            help="Of the draws from gold passages.",
        ),
        click.option("--generator", help="Who answered; the last one where not given."),
        click.option("--k", "ks", type=Whole(1), multiple=True, help="Depth; may be repeated. 1, 5, 10 if not given."),
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
    cost = "" if tag.cost is None else f", {tag.cost:,.2f} in money"
    calls = f": {tag.calls:,} calls, {about}{tag.input_tokens:,} tokens read and {tag.output_tokens:,} written{cost}"
    tell(f"To be asked: {counted(tag.pairs, things.removesuffix('s'))}{calls if tag.calls else ''}.")


def say_end(things: str, final: Progress, as_json: bool, more: dict[str, Any]) -> None:
    """Say how a job ended; the command fails where it broke or was stopped by a person.

    Raises:
        GradingError: it did.
    """
    if final.state in ("failed", "cancelled"):
        raise GradingError(
            "job-failed", final.message, f"{counted(final.graded, things.removesuffix('s'))} came so far: kept."
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
