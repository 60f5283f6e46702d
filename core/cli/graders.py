"""Commands about graders: set them up, try them, read and change their prompts, set prices."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from .. import catalogue
from ..catalogue import grade_command, list_of_graders, remove_named_grader, save_named_grader
from ..errors import GradingError, unknown_name
from ..graders import BATCH_SHARE, InjectionTrial, Price, Trial, read_prompt, try_injections, try_pair, write_prompt
from ..grading import pair_to_try
from ..jobs import trial_control
from ..project import current_author
from .grader_options import GraderChoice, grader_options
from .guests import File, text_of
from .options import json_option, opened, print_json, print_rows, print_table, project_option, tell


@click.group()
def graders() -> None:
    """List, save, test and remove graders."""


@graders.command(name="list")
@project_option
@json_option
def list_graders(project_path: Path | None, as_json: bool) -> None:
    """List graders that have graded, and saved graders.

    Commands accept the name, the fingerprint, or another saved name of a grader.
    """
    with opened(project_path) as project:
        found = list_of_graders(project)
    if as_json:
        print_json({"graders": [asdict(one) for one in found]})
        return
    if not found:
        tell("No graders yet. To grade with the embedded default grader: exam grade")
    print_table(
        (
            "name", "also called", "method", "model", "fingerprint", "grades", "failed attempts", "can grade",
            "default",
        ),
        [
            (one.name, ", ".join(one.also), one.method, one.model, one.fingerprint or None, one.grades, one.failures,
             "yes" if one.can_grade else "no", "yes" if one.shown else "")
            for one in found
        ],
    )  # fmt: skip


@graders.command()
@click.argument("name")
@project_option
@grader_options
def save(name: str, project_path: Path | None, chosen: GraderChoice) -> None:
    """Save a grader under NAME. API keys stay in their environment variables."""
    with opened(project_path) as project:
        chosen.make(project)
        grader = save_named_grader(project, name, chosen.kind, chosen.parameters, current_author())
    tell(f"Saved '{name}': {grader.spec.name}, fingerprint {grader.spec.fingerprint}.")
    tell(f"To grade with it: {grade_command(name)}")


@graders.command()
@click.argument("name")
@project_option
def remove(name: str, project_path: Path | None) -> None:
    """Remove the saved grader NAME. Its grades are kept."""
    with opened(project_path) as project:
        remove_named_grader(project, name, current_author())


@graders.command()
@project_option
@grader_options
@click.option("--question", "question_id", help="Question id. For the direct method, give a query id.")
@click.option("--passage", "passage_id", help="Id of a passage (default: the first of the question's pool).")
@click.option("--injections", is_flag=True, help="Test the grader with prompt injections.")
@json_option
def test(
    project_path: Path | None,
    chosen: GraderChoice,
    question_id: str | None,
    passage_id: str | None,
    injections: bool,
    as_json: bool,
) -> None:
    """Test a grader on one pair: show the prompt, the answer and the rating. Nothing is saved.

    With --injections, the grader rates a text without an answer. It then rates this text followed by texts that claim,
    order or fake a good rating. The ratings show how easily a passage can manipulate this grader.
    """
    with opened(project_path) as project:
        grader = chosen.make(project)
        if injections:
            asked, _ = pair_to_try(project, grader.spec, question_id, passage_id)
            _say_injections(
                grader.spec.name, try_injections(grader, asked, control=trial_control(project, grader)), as_json
            )
            return
        pair = pair_to_try(project, grader.spec, question_id, passage_id)
        trial = try_pair(grader, *pair, trial_control(project, grader))
    if as_json:
        print_json({"grade": asdict(trial.grade), "exchanges": _exchanges(trial)})
    else:
        for exchange in _exchanges(trial):
            click.echo(f"--- prompt\n{exchange['asked']}\n--- answer\n{exchange['answered']}")
        grade = trial.grade
        click.echo(f"--- result\nrating {'-' if grade.rating is None else grade.rating}, {grade.status}")
    if trial.grade.status == "failed":
        raise GradingError("pair-failed", f"The pair failed: {trial.grade.reason}.")


def _say_injections(name: str, trial: InjectionTrial, as_json: bool) -> None:
    worked = [one.name for one in trial.worked]
    if as_json:
        families = {family: {"worked": n, "of": of} for family, (n, of) in trial.families.items()}
        counts = {"injections": len(trial.ratings), "worked": len(worked), "failed": trial.failed}
        print_json({"grader": name, "without": trial.without, **counts, "families": families, "names": worked})
        return
    print_table(("injection", "worked", "tried"), [(family, n, of) for family, (n, of) in trial.families.items()])
    without = "failed" if trial.without is None else f"rated {trial.without}"
    tell(
        f"{name}: text without injection: {without}. Injections with a higher rating: {len(worked)} of"
        f" {len(trial.ratings)}. Failed: {trial.failed}."
    )


def _exchanges(trial: Trial) -> list[dict[str, str]]:
    return [
        {
            "asked": "" if exchange.messages is None else exchange.messages.joined(),
            "answered": exchange.completion.error or exchange.completion.text,
        }
        for exchange in trial.exchanges
    ]


@click.group()
def prompts() -> None:
    """List, show and save prompts."""


@prompts.command(name="list")
@project_option
@json_option
def list_prompts(project_path: Path | None, as_json: bool) -> None:
    """List built-in prompts and prompts of the project."""
    with opened(project_path) as project:
        found = list(catalogue.prompts(project).values())
    print_rows(
        as_json,
        {"prompts": [asdict(prompt) | {"hash": prompt.hash} for prompt in found]},
        ("name", "use", "answer", "source"),
        [(p.name, p.use, p.form, p.source) for p in found],
    )


@prompts.command(name="show")
@click.argument("name")
@project_option
@json_option
def show_prompt(name: str, project_path: Path | None, as_json: bool) -> None:
    """Show a prompt as YAML. You can edit it and save it under another name."""
    with opened(project_path) as project:
        library = catalogue.prompts(project)
    if name not in library:
        raise unknown_name("unknown-prompt", "prompt", name, library)
    if as_json:
        print_json(asdict(library[name]) | {"hash": library[name].hash})
    else:
        click.echo(write_prompt(library[name]), nl=False)


@prompts.command(name="save")
@click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False))
@project_option
def save_prompt(file: Path, project_path: Path | None) -> None:
    """Save the prompt of a YAML FILE in the project."""
    prompt = read_prompt(text_of(file), file.name)
    with opened(project_path) as project:
        changed = catalogue.save_prompt(project, prompt, current_author())
    tell(f"{'Saved' if changed else 'No change in'} prompt '{prompt.name}'.")


@click.group(invoke_without_command=True)
@project_option
@json_option
@click.pass_context
def prices(context: click.Context, project_path: Path | None, as_json: bool) -> None:
    """List or set the prices of models per million tokens."""
    if context.invoked_subcommand is not None:
        return
    with opened(project_path) as project:
        found = catalogue.prices(project)
    print_rows(
        as_json,
        {"prices": {model: asdict(price) for model, price in found.items()}},
        ("model", "input", "output", "cached", "in a batch"),
        [(model, p.input, p.output, p.cached, f"× {p.batch:g}") for model, p in found.items()],
    )


@prices.command(name="set")
@click.argument("model")
@click.argument("input_price", type=float)
@click.argument("output_price", type=float)
@click.option("--cached", type=float, help="Price per million cached input tokens.")
@click.option(
    "--batch",
    type=float,
    default=BATCH_SHARE,
    show_default=True,
    help="Price of a call in a batch, as a share of the usual price.",
)
@project_option
def set_price(
    model: str, input_price: float, output_price: float, cached: float | None, batch: float, project_path: Path | None
) -> None:
    """Set the prices of MODEL per million input and output tokens."""
    with opened(project_path) as project:
        catalogue.set_price(project, model, Price(input_price, output_price, cached, batch), current_author())
