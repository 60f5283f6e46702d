"""Compare the size of the project with its budgets: `make size`. A budget is raised only with a
reason in the commit.

Statements are nodes of kind `ast.stmt` without docstrings and without annotated fields of classes,
so that dense lines save nothing and typed records cost nothing.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STATEMENTS = {
    "pages": 8_222,
    "core/cli, core/server": 1_002,
    "core/operations": 2_559,
    "core/charts": 288,
    "core/review, core/study, core/audit": 3_566,
    "core/exams, core/answers": 2_381,
    "core/exchange": 2_057,
    "core/jobs, core/grading": 1_398,
    "core/labels": 1_513,
    "core/bank": 1_393,
    "core/store, core/records": 3_249,
    "core/formats, core/graders, core/measures": 9_372,
    "core": 1_179,
}
LINES = {"*.js *.css": 3_200, "tests/*.py": 55_420, "bench/*.py": 2_000}
WORDS = {"docs/*.md README.md": 30_000}


def tracked(patterns: str) -> list[Path]:
    """Return the tracked files that match any of some patterns."""
    command = ["git", "ls-files", "-z", "--", *patterns.split()]
    listed = (
        subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
        .stdout.decode()
        .split("\0")
    )
    return [ROOT / name for name in listed if name and (ROOT / name).exists()]


def statements(source: str) -> int:
    """Return the number of statements of a Python source."""
    tree = ast.parse(source)
    counted = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    docstrings = sum(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in counted
    )
    classes = [node for node in counted if isinstance(node, ast.ClassDef)]
    fields = sum(isinstance(child, ast.AnnAssign) for node in classes for child in node.body)
    return len(counted) - docstrings - fields


def room_of(path: Path) -> str:
    """Return the room of a file of the product, such as core/labels, core for a single module, or
    pages.
    """
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[:2]) if parts[0] == "core" and len(parts) > 2 else parts[0]


def sizes() -> Iterable[tuple[str, int, int]]:
    """Yield what is measured, its size and its budget."""
    by_room: Counter[str] = Counter()
    for path in tracked("core/*.py pages/*.py"):
        by_room[room_of(path)] += statements(path.read_text(encoding="utf-8"))
    unknown = set(by_room) - {room for rooms in STATEMENTS for room in rooms.split(", ")}
    if unknown:
        sys.exit(f"Rooms without a budget in docs/size.py: {', '.join(sorted(unknown))}.")
    for rooms, budget in STATEMENTS.items():
        yield f"statements in {rooms}", sum(by_room[room] for room in rooms.split(", ")), budget
    yield "statements in all", sum(by_room.values()), sum(STATEMENTS.values())
    for patterns, budget in LINES.items():
        yield (
            f"lines of {patterns}",
            sum(len(path.read_bytes().splitlines()) for path in tracked(patterns)),
            budget,
        )
    for patterns, budget in WORDS.items():
        texts = [path.read_text(encoding="utf-8") for path in tracked(patterns)]
        yield (
            f"words of {patterns}",
            sum(len(re.findall(r"\S*\w\S*", text)) for text in texts),
            budget,
        )


if __name__ == "__main__":
    full = False
    for name, size, budget in sizes():
        print(f"{size:7,} of {budget:7,}  {name}" + ("  TOO LARGE" if size > budget else ""))
        full = full or size > budget
    sys.exit("Make room first, or raise the budget in docs/size.py with a reason." if full else 0)
