"""Whom a handle of an open project acts for: what they may do with it, and what is hidden from them."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from ..errors import NotAllowed
from .roles import ACTS, DOING, SPEAKING, ActName, Member, Queries, check, stranger

MEMBERS = (
    "SELECT identity, name, role, to_json(queries)::VARCHAR FROM members"
    " QUALIFY row_number() OVER (PARTITION BY identity ORDER BY member_key DESC) = 1 ORDER BY name"
)
"""Who has, or had, which role; a list is written as JSON, so that the answer is kept."""

TAKING_PART = (
    "SELECT DISTINCT name, query_id FROM double_people JOIN doubles USING (double_key) JOIN queries USING (query_key)"
    " WHERE present AND ended_at IS NULL ORDER BY ALL"
)
"""Who judges which queries beside others, whatever queries they are limited to."""

READERS = (
    "SELECT name, bool_or(part) FROM (SELECT double_key, name, true AS part FROM double_people"
    " UNION ALL SELECT double_key, adjudicator, false FROM doubles WHERE adjudicator IS NOT NULL)"
    " JOIN doubles USING (double_key) WHERE ended_at IS NULL GROUP BY name ORDER BY name"
)
"""The names of people in open double assignments: assessors (true) and adjudicators (false)."""


class Acting(ABC):
    """A handle of an open project, of which each person who works with it has one of their own.

    Whoever has the file may do everything with it. `acting_as` gives the project as somebody has it who is logged in:
    whatever is asked of it or written to it is refused where their role does not include it. What they read counts as
    "read the bank" and what they write as "organize", but within an act that a block or a function names.
    """

    def __init__(self) -> None:
        self._identity: str | None = None
        self._began: str | None = None
        self._find: Callable[[], Member | None] | None = None
        self._reader: str | None = None

    @abstractmethod
    def _stated(self, sql: str) -> list[tuple[Any, ...]]:
        """What the project says of people: asked for nobody, and so past every check."""

    def acting_as(self, identity: str, find: Callable[[], Member | None] | None = None) -> Self:
        """The same open project for somebody who is logged in; their role is looked up anew at every act.

        Args:
            identity: what the login is known by, see `project.identity_of`.
            find: how to look it up; for None among the people of the project.
        """
        other = copy.copy(self)
        other._identity, other._find = identity, find
        return other

    def seen_by(self, name: str) -> Self:
        """The same open project as somebody sees it who has no login and said their name.

        They may do everything; where they take part in a double assignment, what the others gave is hidden from them.
        """
        other = copy.copy(self)
        other._reader = name or None
        return other

    def unattended(self) -> Self:
        """The same open project for work that goes on after the act that began it, and was allowed."""
        other = copy.copy(self)
        other._began = self.caller
        other._identity = other._reader = None
        return other

    @property
    def identity(self) -> str | None:
        """Who it acts for; None where that is whoever has the file."""
        return self._identity

    @property
    def caller(self) -> str | None:
        """Who pays for the calls of models: `identity`, or that of the act that began unattended work."""
        return self._identity or self._began

    @property
    def reader(self) -> str | None:
        """As whom somebody without a login looks at it, see `seen_by`; None where nobody said so."""
        return self._reader

    def members(self) -> dict[str, Member]:
        """Everybody who has a role in the project, by identity, in the order of their names."""
        further: dict[str, tuple[str, ...]] = {}
        for name, query in self._stated(TAKING_PART):
            further[name] = (*further.get(name, ()), query)
        return {
            identity: Member(
                identity, name, role, None if queries is None else tuple(json.loads(queries)), further.get(name, ())
            )
            for identity, name, role, queries in self._stated(MEMBERS)
            if role is not None
        }

    def organizers(self) -> list[str]:
        """The names of those who may do everything: whom others ask."""
        return [one.name for one in self.members().values() if one.role == "organizer"]

    def member(self) -> Member | None:
        """Who it acts for, with their role as it is now; None where that is whoever has the file.

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
        """Refuse an act that the role of whoever it acts for does not include.

        Args:
            act: a key of `ACTS`.
            queries: ids of those that it is about, or a function that finds them out; it is called where that matters.
            author: the name under which it is to be recorded, where one was given.

        Raises:
            NotAllowed: it is refused; it says which role is needed and whom to ask.
        """
        if (member := self.member()) is not None:
            check(member, act, queries, author, self.organizers())

    def allows(self, act: ActName, *queries: str) -> bool:
        """Whether `require` would let an act pass: for what a screen offers."""
        try:
            self.require(act, queries)
        except NotAllowed:
            return False
        return True

    @contextmanager
    def doing(self, act: ActName, queries: Queries = (), author: str | None = None) -> Iterator[None]:
        """A block that does an act, whose role is checked before: what it reads and writes is part of the act.

        Raises:
            NotAllowed: as `require` says.
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
        """For whom something is hidden now: a name, or the empty one for all who take part in nothing; None for nobody.

        What only organizers may do, as to take everything out, is done with everything.
        """
        act = DOING.get()
        if (self._identity is None and self._reader is None) or (act is not None and ACTS[act].role == "organizer"):
            return None
        parts: dict[str, bool] = dict(self._stated(READERS))
        if not parts:
            return None
        member = self.member()
        name = member.name if member is not None else self._reader or ""
        if member is not None and member.role != "organizer":
            return name if name in parts else ""
        return name if parts.get(name) else None

    def hides(self, name: str, adjudicator: str | None) -> bool:
        """Whether what somebody gives in an open double assignment is hidden now from whom it acts for.

        Args:
            name: of whoever takes part.
            adjudicator: who decides what differs there.
        """
        reader = self._blinded()
        return reader is not None and reader not in (name, adjudicator)

    @contextmanager
    def _writing_as(self, act: ActName | None, queries: Queries, author: str | None) -> Iterator[None]:
        """What surrounds a transaction of somebody who is logged in."""
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
