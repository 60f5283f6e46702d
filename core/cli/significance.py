"""The command that says which systems differ."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from ..labels import Policy
from ..leaderboard import DEFAULT_MEASURE, leaderboard
from ..measures import PERMUTATIONS
from ..study import CORRECTIONS, TESTS, Correction, Test, compare_systems
from .options import MOST_DRAWS, Whole, json_option, opened, project_option
from .policy import policy_options
from .printing import Output, printed


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
@printed
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
) -> Output:
    """Show which systems differ significantly from the best system or from a baseline."""
    with opened(project_path) as project:
        board = leaderboard(project, measure, source, policy)
    rows = compare_systems(board, baseline, cast(Test, test), cast(Correction, correction), permutations, seed)
    against = baseline or next((system.run for system in board.systems), None)
    output = Output(
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
    output.line(f"{board.measure} ({board.source}), baseline {against}, test {test}, correction {correction}")
    answers = {True: "yes", False: "no", None: None}
    output.table(
        ("run", "difference", "bars overlap", "queries", "p", "corrected", "differs", "undefined"),
        [
            (r.run, r.difference, answers[r.error_bars_overlap], r.queries, r.p, r.corrected, answers[r.differs],
             r.undefined or "")
            for r in rows
        ],
    )  # fmt: skip
    return output.note(board.says_ungraded)
