"""Earlier names of operations, which work until the next version."""

from __future__ import annotations

from collections.abc import Sequence

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
"""The present name of each earlier one: of an operation, or of the first word of a group."""


def renamed(words: Sequence[str]) -> list[str]:
    """The words of a request with the present name of its operation, if they begin with an earlier one."""
    for size in (2, 1):
        if name := RENAMED.get(" ".join(words[:size])):
            return [*name.split(), *words[size:]]
    return list(words)
