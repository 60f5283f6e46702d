"""Generate the reference, and gather the pages of the documentation site in docs/build/pages.

The reference is not committed: it is made from the commands, the operations, the API and the Python
package. A page of docs/ may hold a mark `<!-- generated:NAME -->` … `<!-- /generated -->`. The site
has the table NAME of TABLES there. The table of operations in core/cli/requests.json is committed,
because commands are made from it. With --check, nothing is written, and an outdated file fails.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
BUILT = Path("docs", "build", "pages")
MARK = re.compile(
    r"(?P<start><!-- generated:(?P<name>[a-z-]+) -->\n)(?P<body>.*?)(?P<end><!-- /generated -->)",
    re.S,
)
LINK = re.compile(r"(!?\[[^\]]*\])\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)")
CODE_BLOCK = re.compile(r"^ *```.*?^ *```$", re.S | re.M)
HELP_WIDTH = 100
IN_THE_SITE = "*`make docs` puts a table here, in the site.*"
OTHER_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the site that are not in docs/: place in the repository, place in the site."""
COMMANDS_INTRODUCTION = """# Commands

Name the project with `--project FILE.duckdb` or in the environment variable `EXAM_PROJECT`.
With `--json`, a reading command prints one JSON object on standard output and nothing else.

| exit code | meaning |
| --- | --- |
| 0 | done |
| 1 | the work failed |
| 2 | wrong use or bad input: standard error gives the reason, and nothing was written |
"""
API_INTRODUCTION = """# API

[Use the API](../how-to/use-the-api.md) explains tokens, roles and errors. A running server
describes these routes as OpenAPI at `/api/v1/openapi.json`. `GET` takes the parameters in the query
string, `POST` as a JSON object or as a form. Parameters of the type `file` need a form.
"""
PYTHON_INTRODUCTION = """# Python package

`import exam_workbench as ew`. [Notebooks and scripts](../how-to/python.md) shows how to use it.
"""
INDEX = """# Reference

| page | content |
| --- | --- |
| [Commands](commands.md) | each command of `exam` with its options |
| [API](api.md) | each route of the server with its parameters |
| [Python package](python.md) | classes and functions of `exam_workbench` |
| [File formats](formats.md) | files that are read and written, with their columns and keys |
| [Measures](measures.md) | measures with definitions and sources |
| [Limits](limits.md) | limits on files, requests and memory, and how to change them |
"""


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. Cells hold any text of one line."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines
    )


# Commands


def commands_of(
    command: click.Command, context: click.Context
) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield each command below a group with a context that knows its full name, in the order of the
    help.
    """
    if not isinstance(command, click.Group):
        yield command, context
        return
    if command.invoke_without_command:
        yield command, context
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from commands_of(
                child, child.context_class(child, info_name=name, parent=context)
            )


def all_commands() -> list[tuple[click.Command, click.Context]]:
    from exam_workbench.cli import cli

    settings = cli.context_settings | {
        "terminal_width": HELP_WIDTH,
        "max_content_width": HELP_WIDTH,
    }
    top = click.Context(cli, info_name="exam", **settings)
    return list(commands_of(cli, top))


def commands_page() -> str:
    """Return the page with the full help of each command."""
    helps = (
        f"## {c.command_path}\n\n```text\n{command.get_help(c)}\n```\n"
        for command, c in all_commands()
    )
    return "\n".join([COMMANDS_INTRODUCTION, *helps])


# API


def type_of(schema: Mapping[str, Any]) -> str:
    """Return the type of a value of a JSON schema in words."""
    if options := [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]:
        return " or ".join(type_of(option) for option in options)
    if values := schema.get("enum"):
        return ", ".join(f"`{value}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {type_of(schema['items'])}"
    return "file" if schema.get("format") == "binary" else str(schema.get("type", "any"))


def parameters_of(route: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return name, type, need and description of each parameter of a route in OpenAPI."""
    if "parameters" in route:
        return [
            (
                one["name"],
                type_of(one["schema"]),
                "yes" if one["required"] else "–",
                one["description"],
            )
            for one in route["parameters"]
        ]
    contents = route.get("requestBody", {}).get("content", {})
    schema = contents.get("multipart/form-data", {}).get("schema", {"properties": {}})
    return [
        (
            name,
            type_of(about),
            "yes" if name in schema.get("required", ()) else "–",
            about.get("description", ""),
        )
        for name, about in schema["properties"].items()
    ]


def api_page() -> str:
    """Return the page with each route of the API, and the operations that only a shell has."""
    from exam_workbench.operations import every_operation
    from exam_workbench.server import PREFIX, make_api
    from exam_workbench.store import ACTS

    operations = {f"{PREFIX}/{one.name.replace(' ', '/')}": one for one in every_operation()}
    parts = [API_INTRODUCTION]
    for path, methods in make_api().openapi()["paths"].items():
        for method, route in methods.items():
            parts.append(f"## {method.upper()} {path}\n\n{route['summary']}\n")
            if path in operations:
                parts.append(f"Least role: {ACTS[operations[path].act].role}.\n")
            if rows := parameters_of(route):
                parts.append(
                    table(
                        ["parameter", "type", "needed", "meaning"],
                        [(f"`{n}`", *r) for n, *r in rows],
                    )
                )
    at_shell = [(f"`exam {one.name}`", one.summary) for one in every_operation() if one.at_shell]
    parts += ["## Commands without a route\n", table(["command", "summary"], at_shell)]
    return "\n".join(parts)


# Python


def markdown_of(docstring: str) -> str:
    """Return a docstring as Markdown: sections such as `Args:` become lists."""
    lines = []
    in_section = False
    for line in docstring.splitlines():
        if re.fullmatch(r"(Args|Returns|Raises|Yields):", line):
            lines += [f"**{line}**", ""]
            in_section = True
        elif in_section and (entry := re.fullmatch(r" {4}([\w, ]+): (\S.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        else:
            lines.append(
                re.sub(r"^ {4,8}", "  " if in_section and line.startswith(" " * 8) else "", line)
            )
    return "\n".join(lines)


def call_of(name: str, function: Callable[..., Any]) -> str:
    """Return the call of a function with its parameters, each on a line if they are many."""
    signature = inspect.signature(function)
    shown = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    parts = [str(parameter) for parameter in shown]
    kinds = [parameter.kind for parameter in shown]
    if inspect.Parameter.KEYWORD_ONLY in kinds:
        parts.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    text = f"({', '.join(parts)})"
    if len(name + text) > HELP_WIDTH:
        text = "(\n" + "".join(f"    {part},\n" for part in parts) + ")"
    # Annotations are strings, with quotes around them.
    return re.sub(r": '([^']*)'", r": \1", f"{name}{text} -> {signature.return_annotation}")


def python_page() -> str:
    """Return the page with the public names of the package."""
    import exam_workbench as ew

    parts = [PYTHON_INTRODUCTION]

    def add(level: int, name: str, member: Any) -> None:
        parts.append(f"{'#' * level} {name}\n")
        # Functions of the package make projects; a property has no signature.
        if member is not ew.Project and not isinstance(member, property):
            parts.append(f"```text\n{call_of(name, member)}\n```\n")
        parts.append(markdown_of(inspect.getdoc(member) or "") + "\n")

    for name in ew.__all__:
        member = getattr(ew, name)
        add(2, f"ew.{name}", member)
        if inspect.isclass(member) and name == "Project":
            for key, inner in vars(member).items():
                if not key.startswith("_"):
                    add(3, f"project.{key}", inner)
    return "\n".join(parts)


# Tables inside pages


def well_known_keys() -> str:
    """Return the environment variables whose names tell the service that their key is for."""
    from exam_workbench.graders import WELL_KNOWN

    return table(
        ["variable", "service", "address"],
        [(f"`{name}`", title, url) for name, (title, url) in WELL_KNOWN.items()],
    )


def formats() -> str:
    """Return the kinds of file that are read and written."""
    from exam_workbench.exchange import IMPORTERS
    from exam_workbench.formats import KINDS_OF_FILE

    return table(
        ["kind", "content", "file names", "read", "written"],
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
    """Return the limits on data from outside."""
    from exam_workbench.limits import LIMITS

    return table(
        ["variable", "limited", "at most", "unit"],
        [
            (f"`{limit.variable}`", limit.what, f"{limit.default:,}", limit.unit)
            for limit in LIMITS.values()
        ],
    )


def measures() -> str:
    """Return the measures with their sources."""
    from exam_workbench.measures import MEASURES

    return table(
        ["measure", "meaning", "source"],
        [
            (f"`{name}`", known.family.description, known.family.citation)
            for name, known in MEASURES.items()
        ],
    )


def roles() -> str:
    """Return each action with the roles that may do it, and its screens, commands and routes."""
    from exam_workbench.operations import every_operation
    from exam_workbench.store import ACTS, ROLES
    from pages.parts.shared.screens import SCREENS

    def commands(act: str) -> list[str]:
        # The kind of an export decides about the role.
        named = [operation.name for operation in every_operation() if operation.act == act]
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
    """Return the answer checks with their default thresholds and sources."""
    from exam_workbench.answers import JUDGES

    needs = {"texts": "–", "encoder": "the shipped encoder", "model": "a model"}
    return table(
        ["answer check", "method", "accepted from", "needs", "source"],
        [
            (f"`{j.name}`", j.what, f"{j.threshold:g}", needs[j.needs], j.source)
            for j in JUDGES.values()
        ],
    )


TABLES: dict[str, Callable[[], str]] = {
    "answer-judges": answer_judges,
    "formats": formats,
    "limits": limits,
    "measures": measures,
    "roles": roles,
    "well-known-keys": well_known_keys,
}
REFERENCE: dict[str, Callable[[], str]] = {
    "reference/index.md": lambda: INDEX,
    "reference/commands.md": commands_page,
    "reference/api.md": api_page,
    "reference/python.md": python_page,
}
"""Pages of the site that are generated as a whole."""


def filled(text: str) -> str:
    """Return a page with the generated tables at its marks."""
    return MARK.sub(
        lambda mark: f"{mark['start']}\n{TABLES[mark['name']]().strip()}\n\n{mark['end']}", text
    )


def emptied(text: str) -> str:
    """Return a page without the generated tables: the form that is committed."""
    return MARK.sub(lambda mark: f"{mark['start']}\n{IN_THE_SITE}\n\n{mark['end']}", text)


# The site


def sources() -> dict[str, str]:
    """Return the place in the site of each committed file that the site has, by its place in the
    repository.
    """
    inside = (
        path.relative_to(ROOT)
        for path in sorted((ROOT / "docs").rglob("*"))
        if path.is_file()
        and path.suffix not in (".py", ".pyc")
        and "build" not in path.relative_to(ROOT).parts
    )
    placed = {path.as_posix(): path.relative_to("docs").as_posix() for path in inside}
    return placed | {name: place for name, place in OTHER_PAGES.items() if (ROOT / name).exists()}


def relinked(text: str, source: str, places: Mapping[str, str]) -> str:
    """Return a page with links for its place in the site. Links to files that the site lacks become
    text.

    Args:
        source: place of the page in the repository.
        places: as `sources` returns them.
    """
    here = os.path.dirname(places[source])

    def link(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), match[2]))
        if target in places:
            return f"{match[1]}({os.path.relpath(places[target], here or '.')}{match[3] or ''})"
        if (ROOT / target).exists() and not match[1].startswith("!"):
            return match[1][1:-1]
        return match[0]

    blocks = CODE_BLOCK.findall(text)
    rest = iter([*blocks, ""])
    return "".join(LINK.sub(link, part) + next(rest) for part in CODE_BLOCK.split(text))


def gather() -> None:
    """Write the pages of the site, and copy its other files."""
    target = ROOT / BUILT
    shutil.rmtree(target, ignore_errors=True)
    places = sources()
    for source, place in places.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = filled((ROOT / source).read_text(encoding="utf-8"))
            (target / place).write_text(relinked(text, source, places), encoding="utf-8")
        else:
            shutil.copy(ROOT / source, target / place)
    for place, make in REFERENCE.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_text(make(), encoding="utf-8")


@click.command()
@click.option("--check", is_flag=True, help="Change no committed file; fail if one is out of date.")
def main(check: bool) -> None:
    """Refresh the generated files, and gather the pages of the site in docs/build/pages."""
    from exam_workbench.cli.table import TABLE, table_of
    from exam_workbench.operations import every_operation

    pages = [path for path in sorted(ROOT.glob("docs/**/*.md")) if ROOT / BUILT not in path.parents]
    made = {path: emptied(path.read_text(encoding="utf-8")) for path in pages}
    made[TABLE] = table_of(every_operation())
    stale = {path: new for path, new in made.items() if path.read_text(encoding="utf-8") != new}
    if check and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        raise click.ClickException(f"Out of date: {names}. Run `make docs`.")
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
        click.echo(f"Written: {path.relative_to(ROOT)}")
    # Commands are made from the table of operations, so the reference comes last.
    gather()


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
