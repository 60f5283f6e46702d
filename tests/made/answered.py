"""A small project with imported answers: three queries, two runs, several kinds of cases, and
people's answer checks.
"""

import json

from exam_workbench.exchange import Options, import_files
from exam_workbench.formats import Source
from exam_workbench.store import Project
from tests.answers.made import Told, collection

GOLD = "The ship was built in Hamburg by Blohm for the navy of the north, and it sailed for thirty long years."
TOLD = {
    "a": Told(GOLD, ("pa", "pb"), ("Hamburg",), ("Hamburg",) * 3, "Hamburg", {"pa": "A large ship left Hamburg once."}),
    "c": Told(GOLD, ("pb", "gold-c"), ("Hamburg",), ("Hamburg",) * 3, "Bremen", {"pb": "Others say Bremen built it."}),
    "n": Told(GOLD, ("gold-n", "pb"), ("Hamburg",), ("Hamburg",) * 3, "Hamburg"),
}
"""By query id: a is case A (no gold passage, right answer), c is case C, n is not a case."""


def put_answered(project: Project) -> None:
    """Store the collection; run one is as in `TOLD`, run two has the gold passage and a right
    answer for every query.
    """
    collection(
        project, TOLD,
        {"one": {name: one.top for name, one in TOLD.items()}, "two": {name: (f"gold-{name}", "pa") for name in TOLD}},
    )  # fmt: skip
    lines = []
    for name, one in TOLD.items():
        lines += [{"query_id": name, "run": "gold", "draw": draw, "answer": said} for draw, said in
                  enumerate(one.draws, 1)]  # fmt: skip
        lines += [{"query_id": name, "run": "one", "k": 2, "answer": one.answer},
                  {"query_id": name, "run": "two", "k": 2, "answer": "Hamburg"}]  # fmt: skip
    put_answers(project, lines)


def put_answers(project: Project, lines: list[dict[str, object]]) -> None:
    """Import answers of one generator, one per line."""
    _import(project, "answers", lines, "reader")


def put_verdicts(project: Project) -> None:
    """Import lenient answer checks of ann and bob for single answers."""
    for author in ("ann", "bob"):
        said = [("a", "Hamburg", True), ("c", "Bremen", False), ("n", "in the port of Hamburg", True)]
        lines = [{"query_id": query, "answer": answer, "acceptable": yes} for query, answer, yes in said]
        _import(project, "answer-verdicts", lines, author)


def _import(project: Project, kind: str, lines: list[dict[str, object]], name: str) -> None:
    data = "\n".join(map(json.dumps, lines)).encode()
    import_files(project, kind, [Source(f"{name}.jsonl", data=data)], "ann", Options(source=name))
