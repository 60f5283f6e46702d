"""Permissions: three roles, the acts that each role allows, and the handle through which a person
uses a project.
"""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from ..errors import NotAllowed
from ..grouping import group_pairs
from ..text import first_few, one_line
from ._sql_values import Parameters

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


class ProjectHandle(ABC):
    """A handle of an open project, one for each person who works with it.

    Without an identity everything is allowed. `acting_as` returns a handle for a person who is
    logged in. Reads and writes through that handle are refused if the role of the person does not
    allow them. A read counts as "read the bank" and a write as "organize", unless a surrounding
    block or function names another act.
    """

    def __init__(self) -> None:
        self.identity: str | None = None
        """The identity for which this handle acts; None for a person without a login."""
        self.reader: str | None = None
        """The name that a person without a login entered, see `seen_by`; None without one."""
        self.part: tuple[float, int, bool] | None = None
        """The judgments that this handle reads, see `judged_by_part`; None for all."""
        self._began: str | None = None
        self._find: Callable[[], Member | None] | None = None

    @abstractmethod
    def _unchecked_rows(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """Query people and assignments without any check of permission."""

    def acting_as(self, identity: str, find: Callable[[], Member | None] | None = None) -> Self:
        """Return a handle of the same open project for a person who is logged in. Every act checks
        their current role.

        Args:
            identity: the identity of the login, see `project.identity_of`.
            find: looks the person up; None searches the members of the project.
        """
        return self._copy_with(identity=identity, _find=find)

    def seen_by(self, name: str) -> Self:
        """Return a handle of the same open project for a person without a login who entered their
        name.

        They may do everything. In their own double assignments the judgments of the other assessors
        are hidden.
        """
        return self._copy_with(reader=name or None)

    def judged_by_part(self, part: tuple[float, int, bool]) -> Self:
        """Return a handle of the same open project that reads only some judgments, see `held_out`.

        Args:
            part: share and seed of the judgments that are held out, and whether it reads these, or
                all others.
        """
        return self._copy_with(part=part)

    def unattended(self) -> Self:
        """Return a handle without permission checks, for a job that outlives the act that started
        it.
        """
        return self._copy_with(_began=self.caller, identity=None, reader=None)

    def _copy_with(self, **changed: object) -> Self:
        other = copy.copy(self)
        vars(other).update(changed)
        return other

    @property
    def caller(self) -> str | None:
        """The identity that pays for model calls: `identity`, or that of the act which started
        unattended work.
        """
        return self.identity or self._began

    def members(self) -> dict[str, Member]:
        """Return everyone who has a role in the project, by identity and ordered by name."""
        further: dict[str, list[str]] = group_pairs(self._unchecked_rows(TAKING_PART))
        return {
            identity: Member(
                identity,
                name,
                role,
                None if queries is None else tuple(json.loads(queries)),
                tuple(further.get(name, ())),
            )
            for identity, name, role, queries in self._unchecked_rows(MEMBERS)
            if role is not None
        }

    def organizers(self) -> list[str]:
        """Return the names of the organizers, whom other people can ask for a role."""
        return [one.name for one in self.members().values() if one.role == "organizer"]

    def member(self) -> Member | None:
        """Return the person for whom this handle acts, with their current role; None without a
        login.

        Raises:
            NotAllowed: they have no role in the project.
        """
        if self.identity is None:
            return None
        member = self.members().get(self.identity) if self._find is None else self._find()
        if member is None:
            raise no_role_error(self.identity, self.organizers())
        return member

    def require(self, act: ActName, queries: Queries = (), author: str | None = None) -> None:
        """Refuse an act if the role of the person does not include it.

        Args:
            act: a key of `ACTS`.
            queries: ids of the queries of the act, or a function that returns them; it is called
                only if needed.
            author: the name to record, if one was given.

        Raises:
            NotAllowed: the message names the role that is needed and the organizers to ask.
        """
        if (member := self.member()) is not None:
            check_act(member, act, queries, author, self.organizers())

    def allows(self, act: ActName, *queries: str) -> bool:
        """Return whether `require` would allow an act, so that a screen offers only these."""
        try:
            self.require(act, queries)
        except NotAllowed:
            return False
        return True

    @contextmanager
    def permit(
        self, act: ActName, queries: Queries = (), author: str | None = None
    ) -> Iterator[None]:
        """Check the role for an act, then run the block; its reads and writes need no further
        permission.

        Raises:
            NotAllowed: as in `require`.
        """
        if self.identity is None and self.reader is None:
            yield
            return
        self.require(act, queries, author)
        with hold_value(DOING, act):
            yield

    def _check_reading(self) -> None:
        if self.identity is not None and DOING.get() is None:
            self.require("read the bank")

    def limited_to(self) -> str | None:
        """Return the name of the reader from whom values are hidden now; None if nothing is hidden.

        The result is "" for a person without an open double assignment. Acts for organizers only,
        such as an export of everything, hide nothing.
        """
        act = DOING.get()
        if (self.identity is None and self.reader is None) or (
            act is not None and ACTS[act].role == "organizer"
        ):
            return None
        parts: dict[str, bool] = dict(self._unchecked_rows(READERS))
        if not parts:
            return None
        member = self.member()
        name = member.name if member is not None else self.reader or ""
        if member is not None and member.role != "organizer":
            return name if name in parts else ""
        return name if parts.get(name) else None

    def hides_judgments(self, name: str, adjudicator: str | None) -> bool:
        """Return whether the judgments of a person in an open double assignment are hidden from
        this reader.

        Args:
            name: the name of the assessor who judged.
            adjudicator: the person who decides on differences in that assignment.
        """
        reader = self.limited_to()
        return reader is not None and reader not in (name, adjudicator)

    @contextmanager
    def _writing_as(
        self, act: ActName | None, queries: Queries, author: str | None
    ) -> Iterator[None]:
        """Check the role before a transaction, and record the name of the member during it."""
        if self.identity is None and self.reader is None:
            yield
            return
        if act is None:
            around = DOING.get()
            act = around if around is not None and ACTS[around].writes else "organize"
        with self.permit(act, queries, author):
            member = self.member()
            with hold_value(SPEAKING, member.name if member else None):
                yield
