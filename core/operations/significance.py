"""The command that shows which systems differ significantly."""

from __future__ import annotations

from typing import Annotated, cast

from ..labels import DEFAULT_MEASURE, leaderboard
from ..measures import PERMUTATIONS
from ..study import CORRECTIONS, TESTS, Correction, Test, compare_systems
from .describing import MOST_DRAWS, Option
from .opening import Opening
from .output import Output
from .policy import PolicyOptions
from .registry import operation


@operation("significance", act="see boards", reads=True)
def significance(
    opening: Opening,
    *,
    measure: Annotated[str, Option(help="Measure, such as nDCG@10, AP or EXAM-Cover@20.")] = DEFAULT_MEASURE,
    source: Annotated[str, Option(help="Basis: exam, judgments, or a source's name.")] = "exam",
    test: Annotated[str, Option(help="Significance test, paired over queries.", choices=TESTS)] = "t",
    correction: Annotated[str, Option(help="Correction for multiple comparisons.", choices=CORRECTIONS)] = "holm",
    baseline: Annotated[str | None, Option(help="System to compare with. Default: the best.", metavar="RUN")] = None,
    permutations: Annotated[
        int, Option(help="Minimum permutations of the randomisation test.", most=100 * MOST_DRAWS)
    ] = PERMUTATIONS,
    seed: Annotated[int, Option(help="Random seed of the randomisation test.", least=0)] = 0,
    policy: PolicyOptions,
) -> Output:
    """Show which systems differ significantly from the best system or from a baseline."""
    with opening() as project:
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
