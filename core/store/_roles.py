"""Permissions: three roles, and the acts that each role allows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import NotAllowed
from ..text import first_few, one_line

Role = Literal["viewer", "assessor", "organizer"]
ROLES: tuple[Role, ...] = get_args(Role)
"""In ascending order: each role includes the permissions of those before it."""

ABOUT_ROLES: Mapping[Role, str] = {
    "viewer": "sees leaderboards and their correlations, but no questions or grades",
    "assessor": (
        "reads everything, and edits, judges and resolves disagreements in assigned queries"
    ),
    "organizer": "has full access and manages people",
}

ActName = Literal[
    "see boards",
    "read the bank",
    "edit questions",
    "save the bank",
    "override ratings",
    "judge passages",
    "settle disagreements",
    "judge audits",
    "confirm cases",
    "mark work",
    "claim work",
    "adjudicate",
    "download",
    "import files",
    "grade",
    "ask models",
    "write with models",
    "run exams",
    "plan audits",
    "publish",
    "take everything out",
    "bring back",
    "organize",
    "set guidelines",
    "manage people",
    "assign work",
]


@dataclass(frozen=True)
class Rule:
    """The role that an act needs, and the places where it is offered.

    Args:
        role: the lowest role that may do it.
        about: the act as a phrase that follows "to".
        screens: names of the screens that offer or show the act.
        exports: kinds of export that need the act; `exam export` itself is "download".
        routes: API routes, after /api/v1/, that do not belong to an operation. An operation names
            its act itself.
        writes: whether the act changes the project.
        by_query: whether an assessor with assigned queries may do the act only in these queries.
    """

    role: Role
    about: str
    screens: Sequence[str] = ()
    exports: Sequence[str] = ()
    routes: Sequence[str] = ()
    writes: bool = True
    by_query: bool = False


ACTS: Mapping[ActName, Rule] = {
    "see boards": Rule(
        "viewer",
        "see leaderboards, correlations and the progress of grading",
        ("home", "leaderboard", "measures"),
        writes=False,
    ),
    "read the bank": Rule(
        "assessor",
        "read questions, grades, judgments and the activity log",
        (
            "question_bank",
            "prompts",
            "grading",
            "passages",
            "disagreements",
            "changes",
            "activity",
            "exam",
            "students",
            "items",
            "improve",
            "answers",
            "cases",
            "judges",
            "audit",
            "export",
            "my_work",
        ),
        routes=("GET jobs/current",),
        writes=False,
    ),
    "edit questions": Rule(
        "assessor",
        "edit questions, and accept or reject proposals",
        ("question_bank",),
        by_query=True,
    ),
    "save the bank": Rule(
        "assessor", "save changes as a bank version", ("question_bank",), by_query=True
    ),
    "override ratings": Rule(
        "assessor",
        "override ratings, and confirm or withdraw overrides",
        ("passages", "disagreements"),
        by_query=True,
    ),
    "judge passages": Rule(
        "assessor", "judge the relevance of passages", ("passages",), by_query=True
    ),
    "settle disagreements": Rule(
        "assessor", "resolve and reopen disagreements", ("disagreements",), by_query=True
    ),
    "judge audits": Rule("assessor", "judge the passages of an audit", ("audit",), by_query=True),
    "confirm cases": Rule(
        "assessor",
        "confirm cases, and mark answers as right or wrong",
        ("cases", "judges"),
        by_query=True,
    ),
    "mark work": Rule("assessor", "mark a query as done or not done", ("my_work",), by_query=True),
    "claim work": Rule("assessor", "claim or decline a double assignment", ("my_work",)),
    "adjudicate": Rule(
        "assessor",
        "adjudicate differences between assessors (assessors: only if named as adjudicator)",
        ("adjudication",),
    ),
    "download": Rule(
        "assessor",
        "download qrels, the question bank, grades, runs and leaderboards",
        ("home", "export"),
    ),
    "import files": Rule("organizer", "import files", ("home",)),
    "grade": Rule(
        "organizer",
        "run grading jobs (may cost money)",
        ("grading", "leaderboard", "question_bank"),
        routes=(
            "POST jobs",
            "POST jobs/current/pause",
            "POST jobs/current/resume",
            "POST jobs/current/cancel",
        ),
    ),
    "ask models": Rule(
        "organizer",
        "test models and request answer keys (may cost money)",
        ("prompts", "grading", "question_bank"),
    ),
    "write with models": Rule(
        "organizer",
        "generate questions and items with models (may cost money)",
        ("question_bank", "items"),
    ),
    "run exams": Rule(
        "organizer",
        "run exams, generate and check answers, and take snapshots of live targets",
        ("exam", "students", "items", "answers"),
    ),
    "plan audits": Rule("organizer", "plan audits, draw batches and end audits", ("audit",)),
    "publish": Rule("organizer", "publish qrels and bundles", ("export",), exports=("bundle",)),
    "take everything out": Rule(
        "organizer",
        "export the whole project or its grades, and make backups",
        ("export", "home"),
        exports=("project", "grades"),
    ),
    "bring back": Rule("organizer", "restore replaced content or a backup", ("activity",)),
    "organize": Rule(
        "organizer",
        "rename and remove the project, seal and open questions, and set up graders, prompts,"
        " prices, the pool and other settings",
        ("home", "grading", "prompts", "leaderboard", "measures", "disagreements"),
    ),
    "set guidelines": Rule(
        "organizer", "edit the guidelines of the project and its queries", ("passages",)
    ),
    "manage people": Rule("organizer", "manage people, roles and tokens", ("people",)),
    "assign work": Rule("organizer", "manage double assignments and due dates", ("people",)),
}
"""All acts, each with its rule. Other writes count as "organize", and other reads as "read the
bank".
"""


@dataclass(frozen=True)
class Member:
    """A person with a role in a project.

    Args:
        identity: of the login: an e-mail address, or the subject that the provider assigns.
        name: recorded with their actions; unique in the project.
        queries: ids of the queries that an assessor is limited to; None for all.
        further: ids of the queries that the person judges in double assignments, in addition to
            `queries`.
    """

    identity: str
    name: str
    role: Role
    queries: tuple[str, ...] | None = None
    further: tuple[str, ...] = ()

    @property
    def assigned_queries(self) -> tuple[str, ...] | None:
        """Ids of all queries in which an assessor works; None for all of the project."""
        return (
            None if self.queries is None else tuple(dict.fromkeys((*self.queries, *self.further)))
        )

    def may(self, act: ActName) -> bool:
        """Return whether the role includes an act, at least in some queries."""
        return ROLES.index(self.role) >= ROLES.index(ACTS[act].role)

    def limited(self, act: ActName) -> bool:
        """Return whether the person may do an act only in some queries."""
        return self.role == "assessor" and self.queries is not None and ACTS[act].by_query


Queries = Collection[str] | Callable[[], Collection[str]]
"""Ids of the queries of an act, or a function that returns them if needed."""

DOING: ContextVar[ActName | None] = ContextVar("doing", default=None)
"""The act of this thread, for which the role has been checked."""
SPEAKING: ContextVar[str | None] = ContextVar("speaking", default=None)
"""The name recorded with writes of this thread; None without a login."""


@contextmanager
def hold_value(variable: ContextVar[Any], value: object) -> Iterator[None]:
    """Give a context variable a value until the block ends."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def check_act(
    member: Member, act: ActName, queries: Queries, author: str | None, organizers: Sequence[str]
) -> None:
    """Refuse an act if the role does not include it, its queries are not assigned, or it names
    another author.

    Args:
        author: the name to record; None if it is not known here.
        organizers: names of the people to ask.

    Raises:
        NotAllowed: the act is refused.
    """
    rule = ACTS[act]
    if not member.may(act):
        raise NotAllowed(
            "role-needed",
            f"{member.name} ({member.role}) may not {rule.about}. This needs the role {rule.role}.",
            organizer_hint(organizers),
        )
    if member.limited(act):
        others = sorted(
            set(queries() if callable(queries) else queries) - set(member.assigned_queries or ())
        )
        if others:
            raise NotAllowed(
                "query-not-assigned",
                f"Query {first_few(others)} is not assigned to {member.name}.",
                organizer_hint(organizers),
            )
    check_author(member.name, author)


def check_author(name: str, author: str | None) -> None:
    """Refuse to record an act under another name than that of the person who is logged in.

    Raises:
        NotAllowed: the names differ.
    """
    if author is not None and one_line(author) != name:
        raise NotAllowed(
            "author-is-another",
            f"You are signed in as {name}, but this action names '{author}' as its author.",
            "Reload the page to continue under your own name.",
        )


def no_role_error(identity: str, organizers: Sequence[str]) -> NotAllowed:
    """Return the error for a person who is logged in but has no role in the project."""
    if not organizers:
        return NotAllowed(
            "no-role",
            f"{identity} has no role in this project, and the project has no organizer yet.",
            "The operator of the server adds the first organizer: exam people add"
            " IDENTITY --role organizer.",
        )
    return NotAllowed(
        "no-role", f"{identity} has no role in this project.", organizer_hint(organizers)
    )


def no_server_role_error(identity: str) -> NotAllowed:
    """Return the error for a person who is logged in but has no role in any project of a server."""
    return NotAllowed(
        "no-role",
        f"{identity} has no role in any project of this server.",
        "Ask an organizer to add exactly this identity on the screen People. The operator of the"
        " server adds the first organizer: exam people add IDENTITY --role organizer.",
    )


def organizer_hint(organizers: Sequence[str]) -> str:
    """Return a sentence that names the people to ask for another role."""
    if not organizers:
        return (
            "The project has no organizer. The operator of the server can add one: exam people add."
        )
    # A name may end with the full stop of an initial.
    return f"Ask an organizer: {first_few(list(organizers)).removesuffix('.')}."


MEMBERS = (
    "SELECT identity, name, role, to_json(queries)::VARCHAR FROM members"
    " QUALIFY row_number() OVER (PARTITION BY identity ORDER BY member_key DESC) = 1 ORDER BY name"
)
"""The latest role of each person, including removed people. Lists are JSON, so that the result can
be cached.
"""

TAKING_PART = (
    "SELECT DISTINCT name, query_id FROM double_people JOIN doubles USING (double_key)"
    " JOIN queries USING (query_key) WHERE present AND ended_at IS NULL ORDER BY ALL"
)
"""Pairs of name and query id: the assessors in open double assignments."""

READERS = (
    "SELECT name, bool_or(part) FROM (SELECT double_key, name, true AS part FROM double_people"
    " UNION ALL SELECT double_key, adjudicator, false FROM doubles WHERE adjudicator IS NOT NULL)"
    " JOIN doubles USING (double_key) WHERE ended_at IS NULL GROUP BY name ORDER BY name"
)
"""Names of people in open double assignments: assessors (true) and adjudicators (false)."""
