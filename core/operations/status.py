"""The command that shows the contents of a project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .. import bank, records
from .registry import Output, Project, operation


@operation("status", act="see boards", reads=True)
def status(
    project: Project,
) -> Output:
    """Show the contents of the project, and the billed and estimated cost of jobs that called an
    endpoint.
    """
    speaking = len(bank.speaking_passages(project))
    contents = {**bank.project_counts(project), **bank.judged_queries(project).as_dict()}
    paid: Sequence[Any] = ()
    if project.allows("read the bank") and records.asked_models(project):
        # This import loads the graders, which a project that called no model does not need.
        from ..grading import list_bills as bills_of

        paid = bills_of(project)
    bills = [asdict(bill) for bill in paid]
    output = Output(
        {**contents, "passages that speak to the grader": speaking, "bills": bills}
    ).table(
        ("content", "count"), [*contents.items(), ("passages that address the grader", speaking)]
    )
    if paid:
        output.table(
            (
                "job",
                "grader",
                "state",
                "calls",
                "estimated",
                "tokens",
                "estimated",
                "off by",
                "cost",
                "estimated",
            ),
            [
                (
                    str(bill.job),
                    bill.grader,
                    bill.state,
                    bill.billed["calls"],
                    bill.told["calls"],
                    bill.billed["input_tokens"] + bill.billed["output_tokens"],
                    bill.told["input_tokens"] + bill.told["output_tokens"],
                    "" if bill.tokens_off is None else f"{bill.tokens_off:+.1%}",
                    bill.billed["cost"],
                    bill.told["cost"],
                )
                for bill in paid
            ],
        )
    return output
