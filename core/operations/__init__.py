"""The operations of the product, each with its request and its result. The shell and the API are
made from them.

A module is loaded when one of its operations is first used, because most modules are slow to load.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .registry import Operation

MODULES = {
    "files": ("demo", "import", "check", "backup", "restore"),
    "export": ("export", "publications"),
    "status": ("status",),
    "bank": ("bank",),
    "grade": ("plan", "grade", "grade-plan", "ingest", "batch", "jobs", "failures"),
    "drafting": ("generate", "proposals", "items"),
    "graders": ("graders", "prompts", "prices"),
    "leaderboard": ("leaderboard", "correlate", "file-leaderboard", "nugget-scores", "support"),
    "exams": ("examinees", "irt"),
    "audit": ("audit",),
    "study": (
        "coverage-curve",
        "sample-size",
        "selection",
        "unjudged",
        "significance",
        "meta-evaluation",
    ),
    "agreement": ("agreement", "disagreements", "changes"),
    "people": ("overrides", "judgments", "people", "tokens", "activity"),
    "teamwork": ("work", "guidelines", "assignments", "adjudicate"),
    "answers": ("answers", "reteval"),
    "target": ("snapshots",),
    "collection": ("runs", "responses", "gold", "passages", "pool", "vectors"),
    "serve": ("init", "serve"),
}
"""The first words of the operations of each module."""

SECTIONS: dict[str, dict[str, str]] = {
    "Main commands": {
        "init": "Create a new, empty project.",
        "demo": "Create and grade a demo project.",
        "import": "Import files.",
        "generate": "Draft questions with a model.",
        "bank": "List, edit, save, compare and restore versions of the question bank.",
        "grade": "Grade the ungraded pairs.",
        "status": (
            "Show the contents of the project, and the billed and estimated cost of jobs that"
            " called an endpoint."
        ),
        "leaderboard": "Show the leaderboard: systems ordered by a measure, with standard errors.",
        "correlate": "Correlate a leaderboard with the official leaderboard.",
        "export": "Export qrels, leaderboards, figures, other files or the whole project.",
        "check": (
            "Check a project's integrity: file, keys, values, hashes, revisions, publications."
        ),
        "serve": "Start the app in the browser.",
    },
    "Collection": {
        "runs": "List runs, and set the model families that they use.",
        "responses": (
            "List the systems with imported responses, and the length and"
            " citations of the responses."
        ),
        "gold": "Show the gold passages, or use the pooled passages of RUN as gold.",
        "passages": "List pooled passages with WORDS in their text or id.",
        "pool": "Show the pool depth and the number of pooled passages, or set the depth.",
        "vectors": "Count the cached vectors of the embedding grader, or delete them.",
    },
    "Questions and graders": {
        "proposals": "List, edit, accept and reject questions and answer keys that models drafted.",
        "graders": "List, save, test and remove graders.",
        "prompts": "List, show and save prompts.",
        "prices": "List or set the prices of models per million tokens.",
    },
    "Grading jobs": {
        "plan": "Plan a grading job: count the pairs already graded, failed and to grade.",
        "batch": "List, fetch and cancel the batches of calls that exam grade --batch sent.",
        "jobs": "List the jobs of a kind with their progress and result, newest first.",
        "failures": (
            "List the pairs that a grader failed to grade, with the reason and the model's answer."
        ),
        "grade-plan": "Grade a plan on a Ray cluster, without a project.",
        "ingest": "Import answers or grades for a file of exam plan -o.",
    },
    "Judgments and review": {
        "work": "List the queries of an assessor, and set due dates and progress.",
        "guidelines": "Show and set the guidelines for assessors, for the project or one query.",
        "judgments": (
            "Set, withdraw and list assessors' judgments of how relevant a passage is to a query."
        ),
        "overrides": "Set, confirm, withdraw and list overrides.",
        "assignments": "Assign queries to several assessors who judge them blindly.",
        "adjudicate": "Adjudicate passages and questions with judgments of several assessors.",
        "agreement": "Compare labels with judgments: cross table and agreement coefficients.",
        "disagreements": "List, resolve and reopen disagreements, and show their history.",
        "changes": "Compare labels and systems before and after a change.",
    },
    "Evaluation studies": {
        "audit": "Correct the grader's leaderboard with judgments of a random sample.",
        "meta-evaluation": "Correlate graders and other sources with the official leaderboard.",
        "significance": (
            "Show which systems differ significantly from the best system or from a baseline."
        ),
        "nugget-scores": "Show Nuggetizer's four scores of each run, from imported assignments.",
        "export figure": "Export a figure for a paper or a slide.",
        "export report": "Export a report as one HTML file, which opens without a network.",
        "coverage-curve": "Show coverage by the number of passages read: EXAM-Cover@k for every k.",
        "sample-size": (
            "Show the effect of fewer queries, and of fewer questions per query,"
            " on the leaderboard."
        ),
        "selection": (
            "Compare a grader with judgments: relevant passages, and the best"
            " system by each measure."
        ),
        "unjudged": (
            "Show the share of each run with a label or a judgment, and list"
            " passages to grade next."
        ),
        "file-leaderboard": "Show a leaderboard from grades in Parquet files, without a project.",
        "publications": "List the publications, newest first.",
    },
    "Generated answers": {
        "answers": "Generate, import, list and grade answers from retrieved or gold passages.",
        "reteval": "Compare retrievers by LLM-retEval, Recall, Precision and F1.",
        "support": "Show, list and set how far cited passages support the sentences of responses.",
        "snapshots": "Record and compare the results of live targets: search and RAG endpoints.",
    },
    "Multiple-choice exams": {
        "items": "Generate, check, accept, retire, import and count exam items.",
        "examinees": (
            "Add, list and run examinees (models or fixed rules), and show the exam leaderboard."
        ),
        "irt": "Fit item response models: abilities of examinees, information of items.",
    },
    "People and history": {
        "people": "Manage the roles of people on a shared server: viewer, assessor, organizer.",
        "tokens": "Create, list and revoke tokens for the API of the server.",
        "activity": "List the actions of all people, newest first.",
        "backup": "Back up a project to a new file.",
        "restore": "Restore a project from BACKUP.",
    },
}
"""The sections of the help, the main job first, in the order of work. Each summary is that of the
operation or the group, so that the help loads no operation."""

ABOUT_GROUPS = {
    "audit": (
        "Plan the audit (design), draw a batch (draw), judge it on the Audit screen or elsewhere"
        " (export, import), and show the audited leaderboard (leaderboard)."
    ),
    "irt": (
        "The answers come from the project or from FILE, a CSV or TSV table. Its header lists item"
        " ids, and each line is an examinee. Cells are 1, 0 or empty."
    ),
    "overrides": "An override replaces the grader's rating.",
}
"""Further help of groups."""

RENAMED = {
    "audit board": "audit leaderboard",
    "audit give-back": "audit release",
    "bank settle": "bank resolve",
    "bring-back": "activity restore",
    "curve": "coverage-curve",
    "disagreements record": "disagreements history",
    "disagreements settle": "disagreements resolve",
    "double": "assignments",
    "double assign": "assignments add",
    "double claim": "assignments join",
    "double decline": "assignments leave",
    "double release": "assignments remove",
    "exam-board": "examinees leaderboard",
    "graders save": "graders add",
    "judge": "judgments",
    "meta": "meta-evaluation",
    "override": "overrides",
    "people change": "people set",
    "prompts save": "prompts add",
    "proposals put-back": "proposals reopen",
    "sit": "examinees run",
    "students": "examinees",
    "target": "snapshots",
    "target diff": "snapshots compare",
    "target drop": "snapshots remove",
    "target freeze": "snapshots add",
    "token": "tokens",
    "token make": "tokens add",
    "token withdraw": "tokens revoke",
}
"""The present name of each earlier one: of an operation, or of the first word of a group. They work
until the next version."""


def every_operation() -> list[Operation]:
    """Return all operations, in the order of their names."""
    for module in MODULES:
        import_module(f"{__name__}.{module}")
    return [known for _, known in sorted(_registered().items())]


def find_operation(name: str) -> Operation | None:
    """Return the operation with a name such as "bank list", or None."""
    word = name.partition(" ")[0]
    for module, words in MODULES.items():
        if word in words:
            import_module(f"{__name__}.{module}")
    return _registered().get(name)


def replace_old_name(words: Sequence[str]) -> list[str]:
    """The words of a request with the present name of its operation, if they begin with an earlier
    one.
    """
    for size in (2, 1):
        if name := RENAMED.get(" ".join(words[:size])):
            return [*name.split(), *words[size:]]
    return list(words)


def _registered() -> dict[str, Operation]:
    # The help loads no operation, and so no project.
    from .registry import OPERATIONS

    return OPERATIONS
