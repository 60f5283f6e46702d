"""The command that says what changed between two states."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from core.changes import changes as changes_between
from core.changes import version_edits
from core.cli.options import json_option, opened, policy_options, print_json, print_table, project_option, tell
from core.comparison import DEFAULT_MEASURE
from core.policy import Policy


@click.command()
@project_option
@click.option("--from", "before", type=int, required=True, help="The bank version before.")
@click.option("--to", "after", type=int, required=True, help="The bank version after.")
@click.option("--measure", default=DEFAULT_MEASURE, show_default=True, help="Orders the systems.")
@policy_options
@json_option
def changes(project_path: Path | None, before: int, after: int, measure: str, policy: Policy, as_json: bool) -> None:
    """Say which labels flip between two bank versions, why, and which systems move."""
    with opened(project_path) as project:
        edits = version_edits(project, before, after)
        found = changes_between(project, measure, replace(policy, bank_version=before), edits)
    if as_json:
        print_json(
            {
                "labels": [
                    {
                        "query": change.query_id,
                        "passage": change.passage_id,
                        "before": change.before,
                        "after": change.after,
                        "questions": change.questions,
                        "unknown": change.unknown,
                    }
                    for change in found.labels
                ],
                "systems": [asdict(system) for system in found.systems],
                "to_grade": found.to_grade,
            }
        )
        return
    if found.labels:
        print_table(
            ("query", "passage", "before", "after", "because of"),
            [(c.query_id, c.passage_id, c.before, c.after, ", ".join(c.questions)) for c in found.labels],
        )
    tell(f"{len(found.labels):,} labels differ; {found.to_grade:,} pairs are not graded yet.")
    print_table(
        ("run", "score before", "score after", "rank before", "rank after"),
        [(s.run, s.score_before, s.score_after, s.rank_before, s.rank_after) for s in found.systems],
    )
