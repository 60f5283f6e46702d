"""Commands about graders: save and test them, show and change their prompts, set prices."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from .. import audit, bank, graders, grading, jobs, measures
from ..choices import PROBED_PAIRS
from ..errors import GradingError, check_known
from ..graders import BATCH_SHARE
from .console import read_text_file
from .grader_options import GraderOptions
from .registry import (
    Argument,
    Author,
    Option,
    Output,
    Project,
    TextOutput,
    current_author,
    operation,
)


@operation("graders list", act="read the bank", reads=True)
def list_graders(
    project: Project,
) -> Output:
    """List graders that have graded, and saved graders.

    Commands accept the name, the fingerprint, or another saved name of a grader.
    """
    listed = bank.list_of_graders(project)
    nothing = (
        None if listed else "No graders yet. To grade with the embedded default grader: exam grade"
    )
    return (
        Output({"graders": [asdict(grader) for grader in listed]})
        .note(nothing)
        .table(
            (
                "name",
                "also called",
                "method",
                "model",
                "fingerprint",
                "grades",
                "failed attempts",
                "can grade",
                "default",
            ),
            [
                (
                    grader.name,
                    ", ".join(grader.also),
                    grader.method,
                    grader.model,
                    grader.fingerprint or None,
                    grader.grades,
                    grader.failures,
                    "yes" if grader.can_grade else "no",
                    "yes" if grader.shown else "",
                )
                for grader in listed
            ],
        )
    )


@operation("graders add", act="organize")
def save(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    chosen: GraderOptions,
) -> TextOutput:
    """Save a grader under NAME. API keys stay in their environment variables."""
    chosen.make(project)
    grader = bank.save_named_grader(project, name, chosen.kind, chosen.parameters, current_author())
    return TextOutput().note(
        f"Saved '{name}': {grader.spec.name}, fingerprint {grader.spec.fingerprint}.",
        f"To grade with it: {bank.grade_command(name)}",
    )


@operation("graders remove", act="organize")
def remove(
    project: Project,
    *,
    name: Annotated[str, Argument()],
) -> None:
    """Remove the saved grader NAME. Its grades are kept."""
    bank.remove_named_grader(project, name, current_author())


@operation("graders test", act="ask models", reads=lambda given: given["examples"] is None)
def test(
    project: Project,
    *,
    chosen: GraderOptions,
    question_id: Annotated[
        str | None,
        Option("--question", help="Question id. For the direct method, give a query id."),
    ] = None,
    passage_id: Annotated[
        str | None,
        Option("--passage", help="Id of a passage (default: the first of the question's pool)."),
    ] = None,
    injections: Annotated[bool, Option(help="Test the grader with prompt injections.")] = False,
) -> Output:
    """Test a grader on one pair: show the prompt, the answer and the rating. Nothing is saved.

    With --injections, the grader rates a text without an answer. It then rates this text followed
    by texts that claim, order or fake a good rating. The ratings show how easily a passage can
    manipulate this grader.
    """
    grader = chosen.make(project)
    question, passage = grading.pair_to_try(project, grader.spec, question_id, passage_id)
    control = jobs.trial_control(project, grader)
    if injections:
        return _injections_output(
            grader.spec.name, graders.try_injections(grader, question, control=control)
        )
    trial = graders.try_pair(grader, question, passage, control)
    output = Output({"grade": asdict(trial.grade), "exchanges": _exchange_records(trial)})
    for exchange in _exchange_records(trial):
        output.line(f"--- prompt\n{exchange['asked']}\n--- answer\n{exchange['answered']}")
    rating = "-" if trial.grade.rating is None else trial.grade.rating
    output.line(f"--- result\nrating {rating}, {trial.grade.status}")
    failure = GradingError("pair-failed", f"The pair failed: {trial.grade.reason}.")
    return output.failing(failure if trial.grade.status == "failed" else None)


def _injections_output(name: str, trial: graders.InjectionTrial) -> Output:
    worked = [one.name for one in trial.worked]
    value = {
        "grader": name,
        "without": trial.without,
        "injections": len(trial.ratings),
        "worked": len(worked),
        "failed": trial.failed,
        "families": {family: {"worked": n, "of": of} for family, (n, of) in trial.families.items()},
        "names": worked,
    }
    without = "failed" if trial.without is None else f"rated {trial.without}"
    return (
        Output(value)
        .table(
            ("injection", "worked", "tried"),
            [(family, n, of) for family, (n, of) in trial.families.items()],
        )
        .note(
            f"{name}: text without injection: {without}. Injections with a higher rating:"
            f" {len(worked)} of {len(trial.ratings)}. Failed: {trial.failed}."
        )
    )


def _exchange_records(trial: graders.PairTrial) -> list[dict[str, str]]:
    return [
        {
            "asked": "" if exchange.messages is None else exchange.messages.joined(),
            "answered": exchange.completion.error or exchange.completion.text,
        }
        for exchange in trial.exchanges
    ]


@operation("graders watch", act="grade")
def watch(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    pairs: Annotated[
        int | None,
        Option(help="Graded pairs to ask again (default: 200 at first, then 10).", least=1),
    ] = None,
    author: Author,
) -> Output:
    """Ask the grader NAME again about graded pairs, to notice a changed model behind an endpoint.

    The first call measures how often ratings change without a reason. From then on, each grading
    job asks some pairs again. After an alarm, the grader is saved as a new edition with grades of
    its own.
    """
    grader, _, _ = bank.make_named(project, name, {})
    found = grading.watch_grader(
        project, grader, author, jobs.trial_control(project, grader), pairs
    )
    return Output(asdict(found)).note(_describe_drift(found))


@operation("graders card", act="read the bank", reads=lambda given: not given["make"])
def card(
    project: Project,
    *,
    name: Annotated[str | None, Argument()] = None,
    make: Annotated[bool, Option("--make", help="Make and store a new card.")] = False,
    author: Author,
) -> Output:
    """Show the card of a grader: agreement with judgments, failures, consistency, robustness and
    cost.

    Agreement comes from the newest audit, or else from judgments that no audit sampled. The cut
    between labels is fitted on other queries, judgments are weighted by their inclusion
    probability, and intervals are clustered by query.
    """
    grader = bank.find_grader(project, name)
    grader_card = (
        audit.make_card(project, grader, author) if make else audit.find_card(project, grader)
    )
    if grader_card is None:
        return Output({"card": None}).note(
            f"No card of '{grader.spec.name}' yet. Make one with --make."
        )
    content = grader_card.content
    agreement = content["agreement"] or content.get("unsampled") or {"by_label": {}}
    rows = [
        *((f"relevant at label {label}", rate) for label, rate in agreement["by_label"].items()),
        *((f"kappa of {run}", rate) for run, rate in agreement.get("by_system", {}).items()),
        *(
            (f"flips: {rate['change']}", {**rate, "value": rate["share"], "judged": rate["pairs"]})
            for rate in content["flips"]
        ),
        *(
            (part, {"value": content[part]})
            for part in ("failed", "defaulted", "consistent", "calls", "cost")
        ),
    ]
    return (
        Output({"card": grader_card.as_dict()})
        .table(
            ("part", "value", "low", "high", "number"),
            [
                (part, *(rate.get(one) for one in ("value", "low", "high", "judged")))
                for part, rate in rows
            ],
        )
        .note(grader_card.description)
    )


@operation("graders probe", act="grade")
def probe(
    project: Project,
    *,
    name: Annotated[str, Argument()],
    pairs: Annotated[
        int, Option(help="Pairs for each change of passages.", least=1)
    ] = PROBED_PAIRS,
    author: Author,
) -> Output:
    """Ask the grader NAME about changed passages, count the changed answers, and make its card.

    A changed answer (a flip in the table) crosses the rating from which a question counts as
    answered. Padded, truncated, duplicated and paraphrased passages should keep their answer. All
    other changes should bring no answer.
    """
    grader, _, _ = bank.make_named(project, name, {})
    audit.probe_robustness(project, grader, author, jobs.trial_control(project, grader), pairs)
    rates = bank.flip_rates(project, grader.spec)
    return (
        Output({"changes": [asdict(rate) | {"share": rate.share} for rate in rates]})
        .table(
            ("change", "pairs", "flips", "share", "low", "high", "failed"),
            [
                (rate.change, rate.pairs, rate.flips, rate.share, rate.low, rate.high, rate.failed)
                for rate in rates
            ],
        )
        .note(bank.robustness_note(rates))
    )


@operation("graders drift", act="see boards", reads=True)
def drift(
    project: Project,
) -> Output:
    """Show if the models behind watched graders changed, by the pairs that were asked again."""
    drifts = [
        state
        for grader in bank.stored_graders(project)
        if (state := bank.grader_drift(project, grader.spec))
    ]
    return Output({"graders": [asdict(state) for state in drifts]}).note(
        *map(_describe_drift, drifts)
    )


def _describe_drift(state: bank.Drift) -> str:
    evidence = state.checks[-1].evidence if state.checks else 0.0
    return (
        f"{state.description} Evidence of a change: {evidence:.2f}"
        f" (alarm at {measures.DRIFT_ALARM:.2f})."
    )


@operation("prompts list", act="read the bank", reads=True)
def list_prompts(
    project: Project,
) -> Output:
    """List built-in prompts and prompts of the project."""
    found = list(bank.list_prompts(project).values())
    return Output({"prompts": [asdict(prompt) | {"hash": prompt.hash} for prompt in found]}).table(
        ("name", "use", "answer", "source"), [(p.name, p.use, p.form, p.source) for p in found]
    )


@operation("prompts show", act="read the bank", reads=True)
def show_prompt(
    project: Project,
    *,
    name: Annotated[str, Argument()],
) -> Output:
    """Show a prompt as YAML. You can edit it and save it under another name."""
    library = bank.list_prompts(project)
    check_known("unknown-prompt", "prompt", library, name)
    return Output(asdict(library[name]) | {"hash": library[name].hash}).text(
        graders.write_prompt(library[name])
    )


@operation("prompts add", act="organize")
def save_prompt(
    project: Project,
    *,
    file: Annotated[Path, Argument(file="read", exists=True)],
) -> str:
    """Save the prompt of a YAML FILE in the project."""
    prompt = graders.read_prompt(read_text_file(file), file.name)
    changed = bank.save_prompt(project, prompt, current_author())
    return f"{'Saved' if changed else 'No change in'} prompt '{prompt.name}'."


@operation("prices", act="read the bank", reads=True)
def prices(
    project: Project,
) -> Output:
    """List or set the prices of models per million tokens."""
    known = bank.model_prices(project)
    return Output({"prices": {model: asdict(price) for model, price in known.items()}}).table(
        ("model", "input", "output", "cached", "in a batch"),
        [(model, p.input, p.output, p.cached, f"× {p.batch:g}") for model, p in known.items()],
    )


@operation("prices set", act="organize")
def set_price(
    project: Project,
    *,
    model: Annotated[str, Argument()],
    input_price: Annotated[float, Argument()],
    output_price: Annotated[float, Argument()],
    cached: Annotated[float | None, Option(help="Price per million cached input tokens.")] = None,
    batch: Annotated[
        float, Option(help="Price of a call in a batch, as a share of the usual price.")
    ] = BATCH_SHARE,
) -> None:
    """Set the prices of MODEL per million input and output tokens."""
    bank.set_price(
        project, model, graders.Price(input_price, output_price, cached, batch), current_author()
    )
