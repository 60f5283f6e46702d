"""Rules on imports that import-linter cannot check, because pages are scripts and not a package."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from pages.parts.shared import screens

ROOT = Path(__file__).resolve().parents[1]
SCREENS = [ROOT / "app.py", *sorted((ROOT / "pages").rglob("*.py"))]
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


ROOMS = {f"core.{folder.parent.name}" for folder in (ROOT / "core").glob("*/__init__.py")} - {"core.cli"}
SCRIPTS = [path for folder in ("bench", "data", "docs") for path in sorted((ROOT / folder).rglob("*.py"))]
OUTSIDE = [*SCREENS, *sorted((ROOT / "core").rglob("*.py")), *SCRIPTS]


def behind_a_face(path: Path, source: str) -> list[str]:
    """What a source imports from inside a room of core that is not its own."""
    own = "core." + path.relative_to(ROOT).parts[1] if path.is_relative_to(ROOT / "core") else ""
    return sorted(
        name
        for name in imported(ast.parse(source))
        for room in ROOMS - {own}
        if name.startswith(f"{room}.") and (ROOT / name.replace(".", "/")).with_suffix(".py").is_file()
    )


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_is_entered_by_its_face_alone(path: Path) -> None:
    assert behind_a_face(path, path.read_text(encoding="utf-8")) == []


def test_the_check_of_faces_finds_who_reaches_behind_one() -> None:
    source = "from core.bank.drafts import undo\nfrom core.bank import save"
    assert behind_a_face(ROOT / "core" / "labels" / "basis.py", source) == ["core.bank.drafts"]
    assert behind_a_face(ROOT / "core" / "bank" / "saving.py", source) == []
    assert behind_a_face(ROOT / "pages" / "home.py", source) == ["core.bank.drafts"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_script_imports_of_core_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "core":
            found = importlib.import_module(node.module)
            assert [alias.name for alias in node.names if not hasattr(found, alias.name)] == []


def test_what_a_face_names_is_what_it_imports() -> None:
    for room in sorted(ROOMS):
        face = ast.parse((ROOT / room.replace(".", "/") / "__init__.py").read_text(encoding="utf-8"))
        names = [alias.asname or alias.name for node in face.body if isinstance(node, ast.ImportFrom)
                 and node.module != "__future__" for alias in node.names]  # fmt: skip
        stated = next(node.value for node in face.body if isinstance(node, ast.Assign))
        assert sorted(names) == sorted(ast.literal_eval(stated)), room


def test_every_file_that_streamlit_may_list_is_a_screen() -> None:
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == {*screens.SCREENS, "__init__"}


@pytest.mark.parametrize("path", sorted((ROOT / "pages/parts").rglob("*.py")), ids=lambda path: str(path.name))
def test_the_parts_of_a_screen_use_their_own_room_and_what_is_shared(path: Path) -> None:
    own = f"pages.parts.{path.parent.name}"
    used = {name for name in imported(ast.parse(path.read_text(encoding="utf-8"))) if name.startswith("pages.")}
    assert [name for name in used if not name.startswith((own, "pages.parts.shared"))] == []


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
