"""Documentation that matches the code: generated tables, commands, dependencies, links."""

import ast
import importlib.util
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import click
import pytest
import yaml
from click.testing import CliRunner

import exam_workbench
from exam_workbench import __version__
from exam_workbench.cli import cli
from exam_workbench.operations import every_operation
from exam_workbench.operations.export import EXPORTS
from exam_workbench.server._api import make_api
from exam_workbench.store import ACTS
from pages.parts.shared import screens
from tests.test_hints import unknown_in

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/build/**/*.md")})
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    """docs/generate.py, which is a script and not in a package."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_built_reference_has_every_command_route_and_name(generate: ModuleType) -> None:
    page = generate.commands_page()
    assert [c.command_path for _, c in generate.all_commands() if f"## {c.command_path}\n" not in page] == []
    for command in (["activity"], ["export", "qrels"]):
        printed = CliRunner().invoke(cli, [*command, "--help"], prog_name="exam", terminal_width=generate.HELP_WIDTH)
        assert printed.output.strip() in page
    page = generate.api_page()
    routes = [(method.upper(), path) for path, methods in make_api().openapi()["paths"].items() for method in methods]
    assert [route for route in routes if f"## {' '.join(route)}\n" not in page] == []
    for name in (operation.name for operation in every_operation()):
        assert f"/{name.replace(' ', '/')}\n" in page or f"`exam {name}`" in page, name
    page = generate.python_page()
    assert [name for name in exam_workbench.__all__ if f"## ew.{name}\n" not in page] == []
    assert all(f"### project.{name}\n" in page for name in ("add", "grade", "labels", "leaderboard", "correlate"))


def test_commands_have_summaries_and_modules_have_docstrings(generate: ModuleType) -> None:
    assert [c.command_path for command, c in generate.all_commands() if not command.get_short_help_str()] == []
    modules = sorted((ROOT / "core").rglob("*.py"))
    assert [str(path) for path in modules if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))] == []


def test_access_rules_cover_operations_and_screens() -> None:
    assert {one.act for one in every_operation()} <= set(ACTS)
    assert {kind for rule in ACTS.values() for kind in rule.exports} < set(EXPORTS)
    assert {name for rule in ACTS.values() for name in rule.screens} == set(screens.SCREENS)


def test_committed_pages_have_marks_and_site_has_tables(
    generate: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "docs" / "guides" / "page.md"
    page.parent.mkdir(parents=True)
    page.write_text(
        "before\n<!-- generated:words -->\nold\n<!-- /generated -->\n"
        "[setup](../../CONTRIBUTING.md#set-up), [code](../../setup.py), [pages](../build.md)\n"
    )
    (tmp_path / "CONTRIBUTING.md").touch()
    (tmp_path / "setup.py").touch()
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "TABLES", {"words": lambda: "new"})

    checked = CliRunner().invoke(generate.main, ["--check"])
    assert (checked.exit_code, "docs/guides/page.md" in checked.output) == (1, True)
    assert "old" in page.read_text() and not (tmp_path / "docs" / "build").exists()

    assert CliRunner().invoke(generate.main, []).exit_code == 0
    assert "old" not in page.read_text() and "new" not in page.read_text()
    built = tmp_path / "docs" / "build" / "pages"
    assert (built / "guides" / "page.md").read_text() == (
        "before\n<!-- generated:words -->\n\nnew\n\n<!-- /generated -->\n"
        "[setup](../contributing.md#set-up), code, [pages](../build.md)\n"
    )
    assert all((built / place).exists() for place in generate.REFERENCE)
    assert CliRunner().invoke(generate.main, ["--check"]).exit_code == 0


def test_nested_commands_are_listed_by_full_name(generate: ModuleType) -> None:
    bank = click.Group("bank", commands=[click.Command("save"), click.Command("old", hidden=True)])
    top = click.Group("exam", commands=[bank, click.Command("demo")])
    listed = generate.commands_of(top, click.Context(top, info_name="exam"))
    assert [context.command_path for _, context in listed] == ["exam bank save", "exam demo"]


CODE = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`", re.S)
CALL = re.compile(r"(?:^|(?<=[\s(`]))exam (?=[a-z])((?:'[^']*'|\"[^\"]*\"|[^#|;>&\n])*)")


def calls_in(page: str) -> list[list[str]]:
    """Return the words after `exam` of every command in the code of a page."""
    codes = (block or span for block, span in CODE.findall(page))
    calls = (call for code in codes for call in CALL.findall(code.replace("\\\n", " ")))
    return [shlex.split(call.replace("'s ", " ")) for call in calls]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_documented_commands_and_options_exist(page: Path) -> None:
    calls = calls_in(page.read_text(encoding="utf-8"))
    assert {" ".join(words): unknown for words in calls if (unknown := unknown_in(words))} == {}


def test_check_finds_unknown_commands_and_options() -> None:
    block = "```sh\nexam export qrels --nowhere -o x | tail\nexam status --json # well\n```\n"
    page = f"`exam bank nothing --json`\n{block}"
    assert [unknown_in(words) for words in calls_in(page)] == ["nothing", "--nowhere", None]


def requirements() -> list[str]:
    """Return every direct dependency, including those of development, as `name==version`."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    run = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    extras = {name: list(packages) for name, packages in settings["project"]["optional-dependencies"].items()}
    develop = extras.pop("dev") + settings["dependency-groups"]["models"]
    return run + [package for packages in extras.values() for package in packages] + develop


def test_dependencies_are_pinned() -> None:
    assert [line for line in requirements() if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_dependency_page_lists_all_with_reason_and_licence() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("| ") and not line.startswith(("| package", "| ---"))
    ]
    assert [row[0] for row in rows] == [line.split("==")[0] for line in requirements()]
    assert [row[0] for row in rows if len(row) != 3 or not all(row)] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_link_targets_exist(page: Path, generate: ModuleType) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    built = {(ROOT / "docs" / place).resolve() for place in generate.REFERENCE}
    targets = {link: (page.parent / link).resolve() for link in links}
    assert [link for link, target in targets.items() if not target.exists() and target not in built] == []


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_paths_in_developer_guides_exist(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    places = re.findall(r"`((?:core|pages|docs|tests)/[\w/.]*)`", page)
    assert places and [place for place in places if not (ROOT / place).exists()] == []
    for table, place in re.findall(r"`([A-Z_]+)` (?:in|of) `([\w/.]+\.py)`", page):
        assert f"\n{table}" in (ROOT / place).read_text(encoding="utf-8"), (table, place)


def test_changelog_and_citation_have_current_version() -> None:
    headings = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (headings[0], citation["version"]) == (__version__, __version__)
