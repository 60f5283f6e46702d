"""Write the generated parts of the documentation, or with --check say which of them are out of date.

A part lies between `<!-- generated:NAME -->` and `<!-- /generated -->` in README.md or docs/*.md,
NAME being a key of GENERATORS. Every generator has to be used somewhere.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"(?P<start><!-- generated:(?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<end><!-- /generated -->)", re.S)
HELP_WIDTH = 100


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; cells may hold any text of one line."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def commands_of(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command below a group with the context that knows its full name, in the order of the help."""
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
    from core.cli import cli

    settings = cli.context_settings | {"terminal_width": HELP_WIDTH, "max_content_width": HELP_WIDTH}
    top = click.Context(cli, info_name="exam", **settings)
    return list(commands_of(cli, top))


def command_list() -> str:
    """One line per command: its name and what it does."""
    return table(
        ["command", "what it does"],
        [(f"`{c.command_path}`", command.get_short_help_str(limit=200)) for command, c in all_commands()],
    )


def commands() -> str:
    """The full help of every command."""
    return "\n".join(
        f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
        for command, context in all_commands()
    )


def well_known_keys() -> str:
    """The variables whose names say whose key they hold."""
    from core.graders import WELL_KNOWN

    return table(
        ["variable", "service", "address"], [(f"`{name}`", title, url) for name, (title, url) in WELL_KNOWN.items()]
    )


def checks() -> str:
    """What `exam check` looks at."""
    from core.exchange import CHECKS

    return table(["check", "what holds", "what to do where it does not"], [(c.name, c.says, c.todo) for c in CHECKS])


def formats() -> str:
    """The kinds of file that are read and written."""
    from core.exchange import IMPORTERS
    from core.formats import KINDS_OF_FILE

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
    """The limits on what comes from outside."""
    from core.limits import LIMITS

    return table(
        ["variable", "of what", "at most", "unit"],
        [(f"`{one.variable}`", one.what, f"{one.default:,}", one.unit) for one in LIMITS.values()],
    )


def measures() -> str:
    """The measures, with their sources."""
    from core.measures import MEASURES

    return table(
        ["measure", "what it says", "source"],
        [(f"`{name}`", known.family.description, known.family.citation) for name, known in MEASURES.items()],
    )


def roles() -> str:
    """Every act that a role is needed for, with the roles that may do it and where it is reached."""
    from core.project import ACTS, ROLES
    from core.server import ways
    from pages.parts.shared.screens import SCREENS

    def may(least: str, role: str, by_query: bool) -> str:
        if ROLES.index(role) < ROLES.index(least):  # type: ignore[arg-type]
            return "–"
        return "in their queries" if role == "assessor" and by_query else "yes"

    by_path: dict[str, dict[str, list[str]]] = {}
    for way in ways():
        by_path.setdefault(way.act or "", {}).setdefault(way.path, []).append(way.method)
    routes = {
        act: ", ".join(f"`{' '.join(methods)} {path}`" for path, methods in paths.items())
        for act, paths in by_path.items()
    }

    return table(
        ["act", *ROLES, "screens", "commands", "routes"],
        [
            (
                rule.about,
                *(may(rule.role, role, rule.by_query) for role in ROLES),
                ", ".join(SCREENS[name][0] for name in rule.screens) or "–",
                ", ".join(f"`{words}`" for words in rule.commands) or "–",
                routes.get(act, "–"),
            )
            for act, rule in ACTS.items()
        ]
        + [("be told the name of one's project, and what can be asked", *["yes"] * len(ROLES), "–", "–", routes[""])],
    )


def modules() -> str:
    """Every module of core with the first sentence of its docstring, folders after their files."""
    rows = []
    for path in sorted((ROOT / "core").rglob("*.py"), key=lambda p: (p.parent.parts, p.name)):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if docstring is None:
            raise click.ClickException(f"{path.relative_to(ROOT)} does not say at its top what it is for")
        rows.append((f"`{name}`", first_sentence(docstring)))
    return table(["module", "purpose"], rows)


def first_sentence(docstring: str) -> str:
    """The first sentence of a docstring on one line."""
    paragraph = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s+(?=[A-Z`])", paragraph)[0]


def answer_judges() -> str:
    """The judges of answers, with their usual thresholds and sources."""
    from core.pipelines import JUDGES

    needs = {"texts": "–", "encoder": "the shipped encoder", "model": "a model that is asked"}
    return table(
        ["judge", "what it is", "accepted from", "needs", "source"],
        [(f"`{j.name}`", j.what, f"{j.threshold:g}", needs[j.needs], j.source) for j in JUDGES.values()],
    )


def answer_cases() -> str:
    """The cases of an answer."""
    from core.measures.answers import CASES

    return table(["case", "what it is"], [(f"**{case}**", what) for case, what in CASES.items()])


GENERATORS: dict[str, Callable[[], str]] = {
    "answer-cases": answer_cases,
    "answer-judges": answer_judges,
    "command-list": command_list,
    "commands": commands,
    "checks": checks,
    "formats": formats,
    "limits": limits,
    "measures": measures,
    "modules": modules,
    "roles": roles,
    "well-known-keys": well_known_keys,
}


def fill(text: str, parts: Mapping[str, str]) -> str:
    """A page with the body of each generated part replaced.

    Args:
        text: the page.
        parts: new body by name of the part.

    Raises:
        click.ClickException: the page names a part that nothing generates.
    """

    def replacement(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in parts:
            raise click.ClickException(f"nothing generates '{name}'; known are {', '.join(sorted(parts))}")
        return f"{match['start']}\n{parts[name].strip()}\n\n{match['end']}"

    return PART.sub(replacement, text)


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; fail where a page is out of date.")
def main(check: bool) -> None:
    """Write the generated parts of README.md and docs/*.md."""
    pages = {path: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]}
    used = {match["name"] for text in pages.values() for match in PART.finditer(text)}
    if unused := set(GENERATORS) - used:
        raise click.ClickException(f"no page has the generated part {', '.join(sorted(unused))}")
    parts = {name: generate() for name, generate in GENERATORS.items()}
    stale = {path: new for path, text in pages.items() if (new := fill(text, parts)) != text}
    for path, new in stale.items():
        click.echo(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
        if not check:
            path.write_text(new, encoding="utf-8")
    if check and stale:
        click.echo("Run `make docs`.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
