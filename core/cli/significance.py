"""The command that says which systems differ."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from ..labels import Policy
from ..leaderboard import DEFAULT_MEASURE, leaderboard
from ..measures import PERMUTATIONS
from ..study import CORRECTIONS, TESTS, Correction, Test, compare_systems
from .options import MOST_DRAWS, Whole, json_option, opened, print_json, print_table, project_option, tell
from .policy import policy_options


@click.command()
@project_option
@click.option("--measure", default=DEFAULT_MEASURE, show_default=True, help="Such as nDCG@10, AP or EXAM-Cover@20.")
@click.option("--source", default="exam", show_default=True, help="Basis: exam, judgments, or a source's name.")
@click.option(
    "--test", type=click.Choice(TESTS), default="t", show_default=True, help="Significance test, paired over queries."
)
@click.option("--correction", type=click.Choice(CORRECTIONS), default="holm", show_default=True,
              help="Correction for multiple comparisons.")  # fmt: skip
@click.option("--baseline", metavar="RUN", help="System to compare with. Default: the best.")
@click.option("--permutations", type=Whole(most=100 * MOST_DRAWS), default=PERMUTATIONS, show_default=True,
              help="Minimum permutations of the randomisation test.")  # fmt: skip
@click.option("--seed", type=Whole(0), default=0, show_default=True, help="Random seed of the randomisation test.")
@policy_options
@json_option
def significance(
    project_path: Path | None,
    measure: str,
    source: str,
    test: str,
    correction: str,
    baseline: str | None,
    permutations: int,
    seed: int,
    policy: Policy,
    as_json: bool,
) -> None:
    """Show which systems differ significantly from the best system or from a baseline."""
    with opened(project_path) as project:
        board = leaderboard(project, measure, source, policy)
    rows = compare_systems(board, baseline, cast(Test, test), cast(Correction, correction), permutations, seed)
    against = baseline or next((system.run for system in board.systems), None)
    if as_json:
        print_json(
            {
                "measure": board.measure,
                "source": board.source,
                "policy": board.policy.as_dict(),
                "test": test,
                "correction": correction,
                "baseline": against,
                "systems": [row.as_dict() for row in rows],
            }
        )
        return
    click.echo(f"{board.measure} ({board.source}), baseline {against}, test {test}, correction {correction}")
    answers = {True: "yes", False: "no", None: None}
    print_table(
        ("run", "difference", "bars overlap", "queries", "p", "corrected", "differs", "undefined"),
        [
            (r.run, r.difference, answers[r.error_bars_overlap], r.queries, r.p, r.corrected, answers[r.differs],
             r.undefined or "")
            for r in rows
        ],
    )  # fmt: skip
    if board.says_ungraded:
        tell(board.says_ungraded)
