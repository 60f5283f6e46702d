"""Permissions of the person who uses an open project, and the data hidden from them."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from ..errors import NotAllowed
from ._roles import ACTS, DOING, SPEAKING, ActName, Member, Queries, check, stranger
from ._sql_values import Parameters

MEMBERS = (
    "SELECT identity, name, role, to_json(queries)::VARCHAR FROM members"
    " QUALIFY row_number() OVER (PARTITION BY identity ORDER BY member_key DESC) = 1 ORDER BY name"
)
"""The latest role of each person, including removed people. Lists are JSON, so that the result can be cached."""

TAKING_PART = (
    "SELECT DISTINCT name, query_id FROM double_people JOIN doubles USING (double_key) JOIN queries USING (query_key)"
    " WHERE present AND ended_at IS NULL ORDER BY ALL"
)
"""Pairs of name and query id: the assessors in open double assignments."""

READERS = (
    "SELECT name, bool_or(part) FROM (SELECT double_key, name, true AS part FROM double_people"
    " UNION ALL SELECT double_key, adjudicator, false FROM doubles WHERE adjudicator IS NOT NULL)"
    " JOIN doubles USING (double_key) WHERE ended_at IS NULL GROUP BY name ORDER BY name"
)
"""Names of people in open double assignments: assessors (true) and adjudicators (false)."""


class Acting(ABC):
    """A handle of an open project, one for each person who works with it.

    Without an identity everything is allowed. `acting_as` returns a handle for a person who is
    logged in. Reads and writes through that handle are refused if the role of the person does not
    allow them. A read counts as "read the bank" and a write as "organize", unless a surrounding
    block or function names another act.
    """

    def __init__(self) -> None:
        self._identity: str | None = None
        self._began: str | None = None
        self._find: Callable[[], Member | None] | None = None
        self._reader: str | None = None
        self._part: tuple[float, int, bool] | None = None

    @abstractmethod
    def _known(self, sql: str, parameters: Parameters = None) -> list[tuple[Any, ...]]:
        """Query people and assignments without any check of permission."""

    def acting_as(self, identity: str, find: Callable[[], Member | None] | None = None) -> Self:
        """Return a handle of the same open project for a person who is logged in. Every act checks their current role.

        Args:
            identity: the identity of the login, see `project.identity_of`.
            find: looks the person up; None searches the members of the project.
        """
        other = copy.copy(self)
        other._identity, other._find = identity, find
        return other

    def seen_by(self, name: str) -> Self:
        """Return a handle of the same open project for a person without a login who entered their name.

        They may do everything. In their own double assignments the judgments of the other assessors
        are hidden.
        """
        other = copy.copy(self)
        other._reader = name or None
        return other

    def judged_by_part(self, part: tuple[float, int, bool]) -> Self:
        """Return a handle of the same open project that reads only some judgments, see `held_out`.

        Args:
            part: share and seed of the judgments that are held out, and whether it reads these, or all others.
        """
        other = copy.copy(self)
        other._part = part
        return other

    @property
    def part(self) -> tuple[float, int, bool] | None:
        """The judgments that this handle reads, see `judged_by_part`; None for all."""
        return self._part

    def unattended(self) -> Self:
        """Return a handle without permission checks, for a job that outlives the act that started it."""
        other = copy.copy(self)
        other._began = self.caller
        other._identity = other._reader = None
        return other

    @property
    def identity(self) -> str | None:
        """The identity for which this handle acts; None for a person without a login."""
        return self._identity

    @property
    def caller(self) -> str | None:
        """The identity that pays for model calls: `identity`, or that of the act which started unattended work."""
        return self._identity or self._began

    @property
    def reader(self) -> str | None:
        """The name that a person without a login entered, see `seen_by`; None if they entered none."""
        return self._reader

    def members(self) -> dict[str, Member]:
        """Return everyone who has a role in the project, by identity and ordered by name."""
        further: dict[str, tuple[str, ...]] = {}
        for name, query in self._known(TAKING_PART):
            further[name] = (*further.get(name, ()), query)
        return {
            identity: Member(
                identity, name, role, None if queries is None else tuple(json.loads(queries)), further.get(name, ())
            )
            for identity, name, role, queries in self._known(MEMBERS)
            if role is not None
        }

    def organizers(self) -> list[str]:
        """Return the names of the organizers, whom other people can ask for a role."""
        return [one.name for one in self.members().values() if one.role == "organizer"]

    def member(self) -> Member | None:
        """Return the person for whom this handle acts, with their current role; None without a login.

        Raises:
            NotAllowed: they have no role in the project.
        """
        if self._identity is None:
            return None
        found = self.members().get(self._identity) if self._find is None else self._find()
        if found is None:
            raise stranger(self._identity, self.organizers())
        return found

    def require(self, act: ActName, queries: Queries = (), author: str | None = None) -> None:
        """Refuse an act if the role of the person does not include it.

        Args:
            act: a key of `ACTS`.
            queries: ids of the queries of the act, or a function that returns them; it is called only if needed.
            author: the name to record, if one was given.

        Raises:
            NotAllowed: the message names the role that is needed and the organizers to ask.
        """
        if (member := self.member()) is not None:
            check(member, act, queries, author, self.organizers())

    def allows(self, act: ActName, *queries: str) -> bool:
        """Return whether `require` would allow an act, so that a screen offers only these."""
        try:
            self.require(act, queries)
        except NotAllowed:
            return False
        return True

    @contextmanager
    def doing(self, act: ActName, queries: Queries = (), author: str | None = None) -> Iterator[None]:
        """Check the role for an act, then run the block; its reads and writes need no further permission.

        Raises:
            NotAllowed: as in `require`.
        """
        if self._identity is None and self._reader is None:
            yield
            return
        self.require(act, queries, author)
        token = DOING.set(act)
        try:
            yield
        finally:
            DOING.reset(token)

    def _check_reading(self) -> None:
        if self._identity is not None and DOING.get() is None:
            self.require("read the bank")

    def _blinded(self) -> str | None:
        """Return the name of the reader from whom values are hidden now; None if nothing is hidden.

        The result is "" for a person without an open double assignment. Acts for organizers only,
        such as an export of everything, hide nothing.
        """
        act = DOING.get()
        if (self._identity is None and self._reader is None) or (act is not None and ACTS[act].role == "organizer"):
            return None
        parts: dict[str, bool] = dict(self._known(READERS))
        if not parts:
            return None
        member = self.member()
        name = member.name if member is not None else self._reader or ""
        if member is not None and member.role != "organizer":
            return name if name in parts else ""
        return name if parts.get(name) else None

    def hides(self, name: str, adjudicator: str | None) -> bool:
        """Return whether the judgments of a person in an open double assignment are hidden from this reader.

        Args:
            name: the name of the assessor who judged.
            adjudicator: the person who decides on differences in that assignment.
        """
        reader = self._blinded()
        return reader is not None and reader not in (name, adjudicator)

    @contextmanager
    def _writing_as(self, act: ActName | None, queries: Queries, author: str | None) -> Iterator[None]:
        """Check the role before a transaction, and record the name of the member during it."""
        if self._identity is None and self._reader is None:
            yield
            return
        if act is None:
            around = DOING.get()
            act = around if around is not None and ACTS[around].writes else "organize"
        with self.doing(act, queries, author):
            member = self.member()
            token = SPEAKING.set(member.name if member else None)
            try:
                yield
            finally:
                SPEAKING.reset(token)
