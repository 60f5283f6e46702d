"""Rules on imports that import-linter cannot check, because pages are scripts and not a package."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCREENS = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
FOUNDATION = {"core.types", "core.errors", "core.text"}
NOT_ON_SCREENS = {"duckdb", "openai", "sentence_transformers", "torch", "transformers"}
SQL = re.compile(
    r"\b(SELECT\b.+\bFROM|INSERT\s+(OR\s+\w+\s+)?INTO|DELETE\s+FROM|UPDATE\s+\w+\s+SET|(CREATE|DROP|ALTER)\s+TABLE)\b",
    re.DOTALL,
)
SQL_CALLS = {"execute", "executemany", "sql"}
OPTIONAL = {"ray"}


def imported(tree: ast.AST) -> set[str]:
    """Full names of all modules that a source imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            if node.module == "core":
                names.update(f"core.{alias.name}" for alias in node.names)
    return names


def breaches(source: str) -> list[str]:
    """What a screen's source does that a screen must not do."""
    tree = ast.parse(source)
    found = sorted(f"imports {name}" for name in imported(tree) if name.split(".")[0] in NOT_ON_SCREENS)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            found.append(f"line {node.lineno} holds SQL")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SQL_CALLS:
            found.append(f"line {node.lineno} calls {node.func.attr}()")
    return found


@pytest.mark.parametrize("path", SCREENS, ids=lambda path: path.name)
def test_screens_hold_no_sql_and_load_no_database_or_model(path: Path) -> None:
    assert breaches(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "import duckdb",
        "def late():\n    from torch.nn import Module",
        "query = 'SELECT text\\n FROM passages'",
        "query = f'DELETE FROM {name}'",
        "project.cursor().execute(text)",
    ],
)
def test_the_check_of_screens_finds_what_it_forbids(source: str) -> None:
    assert len(breaches(source)) == 1


def test_the_check_of_screens_lets_words_pass() -> None:
    assert breaches("import streamlit as st\nst.write('Select a passage from the list, or update it.')") == []


@pytest.mark.parametrize("module", sorted(FOUNDATION))
def test_types_errors_and_text_build_on_nothing_else_of_core(module: str) -> None:
    source = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    assert {name for name in imported(ast.parse(source)) if name.startswith("core")} <= FOUNDATION


def test_every_package_that_is_imported_is_a_direct_dependency() -> None:
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    declared = {_normal(line.split("==")[0]) for line in requirements}
    distributions = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in [*SCREENS, *sorted((ROOT / "core").rglob("*.py"))]
        for name in {full.split(".")[0] for full in imported(ast.parse(path.read_text(encoding="utf-8")))}
        if name not in sys.stdlib_module_names | OPTIONAL
        and not ((ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file())
        and not {_normal(distribution) for distribution in distributions.get(name, [name])} & declared
    }
    assert undeclared == set()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
