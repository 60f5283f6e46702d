"""Rules on imports that import-linter cannot check, because pages are scripts and not a package."""

import ast
import functools
import importlib
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

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
OPTIONAL = {"autojudge_base", "ir_datasets", "ray"}


@functools.cache
def imported(source: str, package: str = "") -> frozenset[str]:
    """Return the full names of all modules that a source of a package imports, at any level."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names.add(module)
            if not node.module or module == "exam_workbench":
                names.update(f"{module}.{alias.name}" for alias in node.names)
    return frozenset(names)


def package_of(path: Path) -> str:
    """The package of a file of core, under its import name; empty for other files."""
    if not path.is_relative_to(ROOT / "core"):
        return ""
    return ".".join(["exam_workbench", *path.relative_to(ROOT / "core").parent.parts])


def file_of(module: str) -> Path:
    """The path of a module of core without its suffix."""
    return ROOT / "core" / Path(*module.split(".")[1:])


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def by_file(paths: Sequence[Path], check: Callable[[Path], list[str]]) -> dict[str, list[str]]:
    """Return the findings of a check by file."""
    assert paths, "no files to check"
    return {str(path.relative_to(ROOT)): found for path in paths if (found := check(path))}


def breaches(source: str) -> list[str]:
    """Return the imports, SQL and calls in a screen's source that are forbidden there."""
    found = sorted(f"imports {name}" for name in imported(source) if name.split(".")[0] in NOT_ON_SCREENS)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL.search(node.value):
            found.append(f"line {node.lineno} holds SQL")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SQL_CALLS:
            found.append(f"line {node.lineno} calls {node.func.attr}()")
    return found


def test_screens_have_no_sql_and_import_no_database_or_model() -> None:
    assert by_file(SCREENS, lambda path: breaches(text_of(path))) == {}


def test_screen_check_finds_only_forbidden_code() -> None:
    for source in (
        "import duckdb",
        "def late():\n    from torch.nn import Module",
        "query = 'SELECT text\\n FROM passages'",
        "query = f'DELETE FROM {name}'",
        "project.cursor().execute(text)",
    ):
        assert len(breaches(source)) == 1, source
    assert breaches("import streamlit as st\nst.write('Select a passage from the list, or update it.')") == []


ROOMS = {package_of(file) for file in (ROOT / "core").glob("*/__init__.py")} - {
    "exam_workbench.cli",
    # Its modules are loaded one by one, when an operation needs them.
    "exam_workbench.operations",
}
SCRIPTS = [path for folder in ("bench", "data", "docs") for path in sorted((ROOT / folder).rglob("*.py"))]
# Benches measure parts that no other package uses.
OUTSIDE = [
    *SCREENS,
    *sorted((ROOT / "core").rglob("*.py")),
    *(path for path in SCRIPTS if not path.is_relative_to(ROOT / "bench")),
]


def behind_a_face(path: Path, source: str) -> list[str]:
    """Return the imports of inner modules of another package of core."""
    package = package_of(path)
    own = ".".join(package.split(".")[:2])
    return sorted(
        name
        for name in imported(source, package)
        for room in ROOMS - {own}
        if name.startswith(f"{room}.") and file_of(name).with_suffix(".py").is_file()
    )


def test_packages_are_imported_by_public_interface_only() -> None:
    assert by_file(OUTSIDE, lambda path: behind_a_face(path, text_of(path))) == {}


def test_interface_check_finds_imports_of_inner_modules() -> None:
    source = "from exam_workbench.bank._drafts import undo_step\nfrom exam_workbench.bank import save_version"
    inner = ["exam_workbench.bank._drafts"]
    assert behind_a_face(ROOT / "core" / "labels" / "_basis.py", source) == inner
    assert behind_a_face(ROOT / "core" / "labels" / "_basis.py", "from ..bank._drafts import undo_step") == inner
    assert behind_a_face(ROOT / "core" / "bank" / "_saving.py", source) == []
    assert behind_a_face(ROOT / "pages" / "home.py", source) == inner


def test_names_imported_by_scripts_exist() -> None:
    assert by_file(SCRIPTS, lambda path: missing(text_of(path))) == {}
    assert missing("from exam_workbench.bank import save_version, unknown") == ["exam_workbench.bank has no unknown"]


def missing(source: str) -> list[str]:
    """Return the names that a source imports from modules of core that lack them."""
    return [
        f"{node.module} has no {alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "exam_workbench"
        for alias in node.names
        if not has(importlib.import_module(node.module), alias.name)
    ]


def has(module: ModuleType, name: str) -> bool:
    return hasattr(module, name) or (
        hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{name}") is not None
    )


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_public_names_of_package_exist(room: str) -> None:
    face = importlib.import_module(room)
    names = face.__all__
    assert names
    assert [name for name in names if getattr(face, name, None) is None] == []


@pytest.mark.parametrize("folder", ["core", "pages"])
def test_no_two_modules_share_a_name(folder: str) -> None:
    names = Counter(path.stem for path in (ROOT / folder).rglob("*.py") if path.stem != "__init__")
    assert [name for name, number in names.items() if number > 1] == []


def test_every_file_listed_by_streamlit_is_a_screen() -> None:
    assert {path.stem for path in (ROOT / "pages").glob("*.py")} == {*screens.SCREENS, "__init__"}


def test_screen_parts_import_only_own_and_shared_modules() -> None:
    def of_other_rooms(path: Path) -> list[str]:
        own = f"pages.parts.{path.parent.name}"
        used = sorted(name for name in imported(text_of(path)) if name.startswith("pages."))
        return [name for name in used if not name.startswith((own, "pages.parts.shared"))]

    assert by_file(sorted((ROOT / "pages/parts").rglob("*.py")), of_other_rooms) == {}


def test_imported_packages_are_direct_dependencies() -> None:
    requirements = (ROOT / "requirements.txt").read_text(encoding="utf-8").split()
    declared = {_normal(line.split("==")[0]) for line in requirements}
    distributions = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in [*SCREENS, *sorted((ROOT / "core").rglob("*.py"))]
        for name in {full.split(".")[0] for full in imported(text_of(path), package_of(path))}
        if name not in sys.stdlib_module_names | OPTIONAL | {"exam_workbench"}
        and not ((ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file())
        and not {_normal(distribution) for distribution in distributions.get(name, [name])} & declared
    }
    assert undeclared == set()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


HIDDEN = re.compile(r"(?<!DELETE )\b(?:FROM|JOIN) (?:judgments|overrides|support_values|activity|settlings)\b")
WHOLE = {
    "core/records/_visible.py": "says what may be seen",
    "core/records/_judgments.py": "the pool has every judged passage, as part of a write",
    "core/records/_replaced_data.py": "counts what rests on a passage before it is replaced, as part of a write",
    "core/labels/_overrides.py": "finds whose override is withdrawn, as part of a write",
    "core/audit/_grader_cards.py": "counts and hashes the inputs of a card, to find it stale",
    "core/exchange/_publication.py": "records which overrides count, as part of a write",
}
"""Files that read all rows of tables where an open double assignment hides rows, and why."""


def test_only_listed_files_read_tables_with_hidden_rows() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "core").rglob("*.py"))
        if any(
            isinstance(node, ast.Constant) and isinstance(node.value, str) and HIDDEN.search(node.value)
            for node in ast.walk(ast.parse(text_of(path)))
        )
    }
    assert found == set(WHOLE)


WRITTEN = re.compile(r"\b(?:INSERT(?: OR \w+)? INTO|UPDATE|DELETE FROM) (\w+)")
SEVERAL = {
    "settings": "the mark of an open file is written before the project is open, and removed in a restored copy",
    "rankings": "runs of millions of lines are written from files, and others from memory",
    "queries, passages, sources, subtopics": "replaced content is restored",
    "passages, queries, subtopics, question_texts, answers, overrides, question_revisions": "text that an id had, or "
    "that was missing, becomes known, and all that refers to it moves",
}
"""Tables that several modules write, and why; every other table is written by one module."""


def test_tables_are_written_by_one_module_except_listed() -> None:
    tables = set(re.findall(r"CREATE TABLE (\w+)", "".join(map(text_of, (ROOT / "core/store/sql").glob("*.sql")))))
    writers: dict[str, set[Path]] = {}
    for path in (ROOT / "core").rglob("*.py"):
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for table in tables.intersection(WRITTEN.findall(node.value)):
                    writers.setdefault(table, set()).add(path)
    assert len(writers) > 80, "the check misses statements"
    shared = {table for table, paths in writers.items() if len(paths) > 1}
    assert shared == {table for names in SEVERAL for table in names.split(", ")}
