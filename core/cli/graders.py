"""Commands about graders: set them up, try them, read and change their prompts, set prices."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core import catalogue
from core.catalogue import grade_command, list_of_graders, remove_named_grader, save_named_grader
from core.cli.grader_options import GraderChoice, grader_options
from core.cli.guests import File, text_of
from core.cli.options import json_option, opened, print_json, print_rows, print_table, project_option, tell
from core.errors import GradingError, InputError
from core.graders import BATCH_SHARE, InjectionTrial, Price, Trial, read_prompt, try_injections, try_pair, write_prompt
from core.grading import pair_to_try, trial_control
from core.project import current_author


@click.group()
def graders() -> None:
    """Set up graders, test them, list them."""


@graders.command(name="list")
@project_option
@json_option
def list_graders(project_path: Path | None, as_json: bool) -> None:
    """List the graders of the project: those that have graded, as boards call them, and those that are set up.

    Every command takes a grader by this name, by its fingerprint or by another name under which it is set up.
    """
    with opened(project_path) as project:
        found = list_of_graders(project)
    if as_json:
        print_json({"graders": [asdict(one) for one in found]})
        return
    if not found:
        tell("No grader has graded or is set up. The embedded default is always there: exam grade.")
    print_table(
        (
            "name", "also called", "method", "model", "fingerprint", "grades", "failed attempts", "can grade",
            "on boards",
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
    """Keep a grader under NAME. A key of an endpoint stays in its environment variable."""
    with opened(project_path) as project:
        chosen.make(project)
        grader = save_named_grader(project, name, chosen.kind, chosen.parameters, current_author())
    tell(f"Saved '{name}': {grader.spec.name}, fingerprint {grader.spec.fingerprint}.")
    tell(f"To grade with it: {grade_command(name)}")


@graders.command()
@click.argument("name")
@project_option
def remove(name: str, project_path: Path | None) -> None:
    """Forget how the grader NAME is set up; its grades stay."""
    with opened(project_path) as project:
        remove_named_grader(project, name, current_author())


@graders.command()
@project_option
@grader_options
@click.option("--question", "question_id", help="Id of a question, or of a query for a direct judge.")
@click.option("--passage", "passage_id", help="Id of a passage; the first of the question's pool where not given.")
@click.option("--injections", is_flag=True, help="Say how often texts that only ask for a good rating get one.")
@json_option
def test(
    project_path: Path | None,
    chosen: GraderChoice,
    question_id: str | None,
    passage_id: str | None,
    injections: bool,
    as_json: bool,
) -> None:
    """Ask a grader one question and show what was asked and how the answer was read. Nothing is kept.

    With --injections it is asked about a text that answers nothing, alone and followed by each of a set of texts that
    claim, order or fake a good rating. What they reach says how far a passage can talk this grader into one.
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
            click.echo(f"--- asked\n{exchange['asked']}\n--- answered\n{exchange['answered']}")
        grade = trial.grade
        click.echo(f"--- read as\nrating {'-' if grade.rating is None else grade.rating}, {grade.status}")
    if trial.grade.status == "failed":
        raise GradingError("pair-failed", f"The pair failed: {trial.grade.reason}.")


def _say_injections(name: str, trial: InjectionTrial, as_json: bool) -> None:
    worked = [one.name for one in trial.worked]
    if as_json:
        families = {family: {"worked": n, "of": of} for family, (n, of) in trial.families.items()}
        counts = {"injections": len(trial.ratings), "worked": len(worked), "failed": trial.failed}
        print_json({"grader": name, "without": trial.without, **counts, "families": families, "names": worked})
        return
    print_table(("trick", "worked", "of"), [(family, n, of) for family, (n, of) in trial.families.items()])
    without = "failed" if trial.without is None else f"is rated {trial.without}"
    tell(
        f"{name}: the text alone {without}; {len(worked)} of {len(trial.ratings)} injections got more,"
        f" {trial.failed} made it fail."
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
    """List, show and add prompts."""


@prompts.command(name="list")
@project_option
@json_option
def list_prompts(project_path: Path | None, as_json: bool) -> None:
    """List the built-in prompts and the project's own."""
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
    """Print a prompt as YAML, which can be changed and saved under another name."""
    with opened(project_path) as project:
        library = catalogue.prompts(project)
    if name not in library:
        raise InputError("unknown-prompt", f"There is no prompt '{name}'.", f"There are: {', '.join(library)}.")
    if as_json:
        print_json(asdict(library[name]) | {"hash": library[name].hash})
    else:
        click.echo(write_prompt(library[name]), nl=False)


@prompts.command(name="save")
@click.argument("file", type=File(path_type=Path, exists=True, dir_okay=False))
@project_option
def save_prompt(file: Path, project_path: Path | None) -> None:
    """Add the prompt in a YAML FILE to the project, or a new state of it."""
    prompt = read_prompt(text_of(file), file.name)
    with opened(project_path) as project:
        changed = catalogue.save_prompt(project, prompt, current_author())
    tell(f"{'Saved' if changed else 'Nothing changed in'} prompt '{prompt.name}'.")


@click.group(invoke_without_command=True)
@project_option
@json_option
@click.pass_context
def prices(context: click.Context, project_path: Path | None, as_json: bool) -> None:
    """List what models cost per million tokens, or set it."""
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
@click.option("--cached", type=float, help="Per million tokens read that the endpoint had read before.")
@click.option(
    "--batch",
    type=float,
    default=BATCH_SHARE,
    show_default=True,
    help="Share of its price that a call costs in a batch.",
)
@project_option
def set_price(
    model: str, input_price: float, output_price: float, cached: float | None, batch: float, project_path: Path | None
) -> None:
    """Set what MODEL costs per million tokens read and written."""
    with opened(project_path) as project:
        catalogue.set_price(project, model, Price(input_price, output_price, cached, batch), current_author())
