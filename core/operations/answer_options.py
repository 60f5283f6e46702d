"""Options that commands about answers share: model, limits, gold passages, and the choice of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Annotated, Any

from ..answers import JUDGES, KS, TEMPERATURE, Gold, View
from ..errors import GradingError
from ..graders import acting, naming
from ..grading import PriceTag
from ..jobs import Extent, Progress
from ..labels import usual_min_judgment
from ..text import how_many
from .console import ProgressLines
from .grader_options import Api, BackEnd, BaseUrl, Dtype, ModelName, Patience
from .registry import Gathered, Option, Output


def _model(
    *,
    model: ModelName = None,
    back_end: BackEnd = None,
    base_url: BaseUrl = None,
    key_variable: Annotated[str | None, Option(help="Environment variable with the endpoint's API key.")] = None,
    revision: Annotated[str | None, Option(help="Branch, tag or commit of a model on the Hugging Face hub.")] = None,
    dtype: Dtype = None,
    api: Api = None,
) -> dict[str, str]:
    given = {
        "model": model, "back_end": back_end, "base_url": base_url, "key_variable": key_variable,
        "revision": revision, "dtype": dtype, "api": api,
    }  # fmt: skip
    return {name: value for name, value in given.items() if value}


ModelOptions = Annotated[dict[str, str], Gathered(_model)]
"""The given settings of a model."""


def may_use_key(settings: Mapping[str, str]) -> AbstractContextManager[None]:
    """Allow the operation to use the key that the settings name, until the block ends."""
    return acting(naming(settings.get("base_url"), settings.get("key_variable")))


def _caps(
    *,
    limit: Annotated[int | None, Option(help="Process at most this many answers.", least=1)] = None,
    max_calls: Annotated[int | None, Option(help="Call limit, retries included.", least=1)] = None,
    max_cost: Annotated[float | None, Option(help="Cost limit, in the currency of exam prices.", least=0)] = None,
    concurrency: Annotated[int, Option(help="Parallel calls.", least=1, most=1024)] = 8,
    patience: Patience,
    retry_failed: Annotated[bool, Option(help="Also retry the failed calls.")] = False,
    only_failed: Annotated[bool, Option(help="Retry only the failed calls.")] = False,
) -> Extent:
    return Extent(
        limit=limit, max_calls=max_calls, max_cost=max_cost, concurrency=concurrency, patience=patience,
        retry_failed=retry_failed, only_failed=only_failed,
    )  # fmt: skip


CapsOptions = Annotated[Extent, Gathered(_caps)]
"""Options that limit a job."""
DryRun = Annotated[bool, Option("--dry-run", help="Show the planned calls and their estimated cost; call no model.")]

Against = Annotated[
    tuple[str, ...],
    Option(
        "--against",
        help="Judgment source, or gold for imported gold passages; may be repeated."
        " Default: imported gold passages, else the first source.",
        metavar="SOURCE",
    ),
]
GoldJudgment = Annotated[
    int | None,
    Option(
        "--min-judgment",
        help="Lowest judgment of a gold passage (default: the level of an imported data set, else 1).",
        kept=usual_min_judgment,
    ),
]


def _gold(*, against: Against = (), min_judgment: GoldJudgment = None) -> Gold:
    return Gold(against or None, Gold.min_judgment if min_judgment is None else min_judgment)


GoldOptions = Annotated[Gold, Gathered(_gold)]
"""Options that select the gold passages."""


def _view(
    *,
    runs: Annotated[tuple[str, ...], Option("--run", help="Only this run; may be repeated.")] = (),
    ks: Annotated[
        tuple[int, ...], Option("--k", help="Passages per answer; may be repeated (default: 1, 5, 10).", least=1)
    ] = (),
    generator: Annotated[str | None, Option(help="Generator of the answers (default: the last added).")] = None,
    temperature: Annotated[float, Option(help="Temperature of the answers from gold passages.", least=0)] = TEMPERATURE,
    judge: Annotated[
        str,
        Option(help="Answer check: the method that decides which answers are right.", choices=list(JUDGES)),
    ] = "llm",
    judge_model: Annotated[
        str | None, Option(help="Model for --judge llm or graded (default: the last added).")
    ] = None,
    threshold: Annotated[float | None, Option(help="Lowest answer-check score of a right answer.")] = None,
    same_text: Annotated[bool, Option(help="Count near copies of gold passages as gold.")] = False,
    without_people: Annotated[bool, Option(help="Ignore answer checks by people.")] = False,
    against: Against = (),
    min_judgment: GoldJudgment = None,
) -> View:
    return View(
        runs or None, tuple(sorted(set(ks))) or KS, generator, temperature, judge, judge_model, threshold,
        _gold(against=against, min_judgment=min_judgment), same_text, not without_people,
    )  # fmt: skip


ViewOptions = Annotated[View, Gathered(_view)]
"""Options that select answers and the check of their correctness."""


def describe_price(things: str, tag: PriceTag, more: dict[str, Any]) -> Output:
    """Return the estimated calls, tokens and cost of a job."""
    about = "" if tag.counted else "about "
    cost = "" if tag.cost is None else f", cost {tag.cost:,.2f}"
    tokens = f"{about}{tag.input_tokens:,} input and {tag.output_tokens:,} output tokens"
    calls = f". Estimated: {tag.calls:,} calls, {tokens}{cost}"
    output = Output({things: tag.pairs, "price_tag": vars(tag)} | more)
    return output.note(f"Planned: {how_many(tag.pairs, things)}{calls if tag.calls else ''}.")


def describe_end(things: str, final: Progress, more: dict[str, Any]) -> Output:
    """Return the result of a job that has ended.

    Raises:
        GradingError: the job failed or was cancelled.
    """
    if final.state in ("failed", "cancelled"):
        raise GradingError(
            "job-failed",
            final.message,
            f"Saved: {how_many(final.graded, things)}.",
        )
    counts = {"state": final.state, things: final.graded, "failed": final.failed, "seconds": round(final.seconds, 2)}
    output = Output(counts | vars(final.usage) | {"message": final.message} | more)
    summary = f"{how_many(final.graded, things)}, {final.failed:,} failed. {final.message}"
    return output.note(summary.rstrip())


def watch(things: str) -> Callable[[str, Progress], None]:
    """Return a function that prints the progress of a job."""
    lines = ProgressLines(things)
    return lambda name, progress: lines.say(progress.done, progress.total, progress.rate, progress.over)
