"""Build the reference of commands, and refresh the generated tables of the documentation and of the operations.

The reference goes to docs/build/, which is not committed. A table lies between `<!-- generated:NAME -->` and
`<!-- /generated -->` in docs/*.md; NAME is a key of GENERATORS. The table of operations is
core/cli/requests.json. With --check, nothing is written, and an outdated table fails.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"(?P<start><!-- generated:(?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<end><!-- /generated -->)", re.S)
HELP_WIDTH = 100
INTRODUCTION = """# Commands

Name the project with `--project FILE.duckdb` or in the environment variable `EXAM_PROJECT`.
With `--json`, a reading command prints one JSON object on standard output and nothing else.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | the work failed |
| 2 | wrong use or bad input: one line on standard error gives the reason, and nothing was written |
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; a cell may hold any single line of text."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def commands_of(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield every command below a group, in the order of the help, with the context that knows its full name."""
    if not isinstance(command, click.Group):
        yield command, context
        return
    if command.invoke_without_command:
        yield command, context
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from commands_of(child, child.context_class(child, info_name=name, parent=context))


def all_commands() -> list[tuple[click.Command, click.Context]]:
    from exam_workbench.cli import cli

    settings = cli.context_settings | {"terminal_width": HELP_WIDTH, "max_content_width": HELP_WIDTH}
    top = click.Context(cli, info_name="exam", **settings)
    return list(commands_of(cli, top))


def reference() -> str:
    """Return a page with the full help of every command."""
    helps = (f"## {c.command_path}\n\n```text\n{command.get_help(c)}\n```\n" for command, c in all_commands())
    return "\n".join([INTRODUCTION, *helps])


def well_known_keys() -> str:
    """Return the environment variables whose names identify a provider's key."""
    from exam_workbench.graders import WELL_KNOWN

    return table(
        ["variable", "service", "address"], [(f"`{name}`", title, url) for name, (title, url) in WELL_KNOWN.items()]
    )


def formats() -> str:
    """Return the kinds of file that can be read and written."""
    from exam_workbench.exchange import IMPORTERS
    from exam_workbench.formats import KINDS_OF_FILE

    return table(
        ["kind", "what it holds", "file names", "read", "written"],
        [
            (
                f"`{kind.name}`",
                kind.what,
                ", ".join(f"`{extension}`" for extension in kind.extensions),
                "yes" if kind.read else "–",
                "yes" if kind.write else "–",
            )
            for kind in map(KINDS_OF_FILE.__getitem__, IMPORTERS)
        ],
    )


def limits() -> str:
    """Return the limits on input from outside."""
    from exam_workbench.limits import LIMITS

    return table(
        ["variable", "of what", "at most", "unit"],
        [(f"`{one.variable}`", one.what, f"{one.default:,}", one.unit) for one in LIMITS.values()],
    )


def measures() -> str:
    """Return the measures, with their sources."""
    from exam_workbench.measures import MEASURES

    return table(
        ["measure", "what it says", "source"],
        [(f"`{name}`", known.family.description, known.family.citation) for name, known in MEASURES.items()],
    )


def roles() -> str:
    """Return every action that needs a role, the roles that may do it, and its screens, commands and routes."""
    from exam_workbench.operations import every_operation
    from exam_workbench.project import ACTS, ROLES
    from pages.parts.shared.screens import SCREENS

    def commands(act: str) -> list[str]:
        # The role that an export needs depends on the exported data.
        named = [one.name for one in every_operation() if one.act == act]
        return named + [f"export {kind}" for kind in ACTS[act].exports]  # type: ignore[index]

    def may(least: str, role: str, by_query: bool) -> str:
        if ROLES.index(role) < ROLES.index(least):  # type: ignore[arg-type]
            return "–"
        return "in their queries" if role == "assessor" and by_query else "yes"

    return table(
        ["action", *ROLES, "screens", "commands", "other routes"],
        [
            (
                rule.about,
                *(may(rule.role, role, rule.by_query) for role in ROLES),
                ", ".join(SCREENS[name][0] for name in rule.screens) or "–",
                ", ".join(f"`{words}`" for words in commands(act)) or "–",
                ", ".join(f"`{route}`" for route in rule.routes) or "–",
            )
            for act, rule in ACTS.items()
        ],
    )


def answer_judges() -> str:
    """Return the answer checks, with their usual thresholds and sources."""
    from exam_workbench.pipelines import JUDGES

    needs = {"texts": "–", "encoder": "the shipped encoder", "model": "a model that is asked"}
    return table(
        ["judge", "what it is", "accepted from", "needs", "source"],
        [(f"`{j.name}`", j.what, f"{j.threshold:g}", needs[j.needs], j.source) for j in JUDGES.values()],
    )


GENERATORS: dict[str, Callable[[], str]] = {
    "answer-judges": answer_judges,
    "formats": formats,
    "limits": limits,
    "measures": measures,
    "roles": roles,
    "well-known-keys": well_known_keys,
}


def fill(text: str) -> str:
    """Return a page with the body of each generated table replaced."""
    return PART.sub(lambda match: f"{match['start']}\n{GENERATORS[match['name']]().strip()}\n\n{match['end']}", text)


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail if a generated table is out of date.")
def main(check: bool) -> None:
    """Build docs/build/commands.md and refresh the generated tables of docs/*.md."""
    from exam_workbench.cli.table import TABLE, table_of
    from exam_workbench.operations import every_operation

    made = {path: fill(path.read_text(encoding="utf-8")) for path in sorted(ROOT.glob("docs/*.md"))}
    made[TABLE] = table_of(every_operation())
    stale = {path: new for path, new in made.items() if path.read_text(encoding="utf-8") != new}
    if check and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        raise click.ClickException(f"Out of date: {names}. Run `make docs`.")
    if check:
        return
    built = ROOT / "docs" / "build" / "commands.md"
    built.parent.mkdir(exist_ok=True)
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
    # The commands are made from the table, so the reference is built last.
    built.write_text(reference(), encoding="utf-8")
    for path in (*stale, built):
        click.echo(f"Written: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
