"""Who may do what: three roles, the acts that each may do, and the refusal of what a role does not include."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import NotAllowed
from ..text import first_few, one_line

Role = Literal["viewer", "assessor", "organizer"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the one who may least: each may do all that those before it may."""

ABOUT_ROLES: Mapping[Role, str] = {
    "viewer": "sees leaderboards and their correlations, but no questions or grades",
    "assessor": "reads everything, and edits, judges and resolves disagreements in assigned queries",
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
    """Who may do an act, and where it is reached.

    Args:
        role: the least role that may.
        about: what it comes to, as a phrase that follows "to".
        screens: names of the screens where it is done or seen.
        commands: words of the commands after `exam`; one that ends with a star stands for all that begin so.
        routes: of the API, after /api/v1/, that give none of these commands: a command has its own, of its words.
        writes: whether it changes the project.
        by_query: whether an assessor whose queries are assigned may do it in these alone.
    """

    role: Role
    about: str
    screens: Sequence[str] = ()
    commands: Sequence[str] = ()
    routes: Sequence[str] = ()
    writes: bool = True
    by_query: bool = False


ACTS: Mapping[ActName, Rule] = {
    "see boards": Rule(
        "viewer", "see leaderboards, correlations and the progress of grading", ("home", "leaderboard", "measures"),
        ("leaderboard", "correlate", "significance", "curve", "meta", "status", "runs list", "nugget-scores"),
        writes=False,
    ),
    "read the bank": Rule(
        "assessor", "read questions, grades, judgments and the activity log",
        ("question_bank", "prompts", "grading", "passages", "disagreements", "changes", "activity", "exam", "students",
         "items", "improve", "answers", "cases", "judges", "audit", "export", "my_work"),
        ("work list", "guidelines show", "double list", "double agreement",
         "bank list", "bank diff", "bank drafts", "passages", "responses", "agreement", "changes", "disagreements list",
         "disagreements record", "override list", "judge list", "plan", "failures", "jobs", "batch status", "check",
         "graders list", "prompts list", "prompts show", "prices", "proposals list", "publications", "activity",
         "unjudged", "selection", "items list", "items statistics", "students list", "exam-board", "irt*",
         "answers list", "reteval", "reteval agreement", "reteval cases", "reteval correlate",
         "target diff", "target list",
         "file-leaderboard",
         "audit board", "audit calibrate", "audit curve", "audit list", "audit methods", "audit roles",
         "audit status"),
        ("GET jobs/current",), writes=False,
    ),
    "edit questions": Rule(
        "assessor", "edit questions, and accept or reject proposals", ("question_bank",),
        ("bank edit", "bank discard", "bank merge", "bank settle", "bank split", "proposals accept", "proposals edit",
         "proposals put-back", "proposals reject", "items accept"),
        by_query=True,
    ),
    "save the bank": Rule(
        "assessor", "save changes as a bank version", ("question_bank",), ("bank save", "bank restore",
        "items retire"), by_query=True,
    ),
    "override ratings": Rule(
        "assessor", "override ratings, and confirm or withdraw overrides", ("passages", "disagreements"),
        ("override confirm", "override set", "override withdraw"), by_query=True,
    ),
    "judge passages": Rule(
        "assessor", "judge the relevance of passages", ("passages",), ("judge set", "judge withdraw"), by_query=True,
    ),
    "settle disagreements": Rule(
        "assessor", "resolve and reopen disagreements", ("disagreements",),
        ("disagreements settle", "disagreements reopen"), by_query=True,
    ),
    "judge audits": Rule(
        "assessor", "judge the passages of an audit", ("audit",), ("audit give-back",), by_query=True,
    ),
    "confirm cases": Rule(
        "assessor", "confirm cases, and mark answers as right or wrong", ("cases", "judges"),
        ("reteval confirm", "reteval withdraw"), by_query=True,
    ),
    "mark work": Rule(
        "assessor", "mark a query as done or not done", ("my_work",), ("work done", "work reopen"),
        by_query=True,
    ),
    "claim work": Rule(
        "assessor", "claim or decline a double assignment", ("my_work",), ("double claim", "double decline"),
    ),
    "adjudicate": Rule(
        "assessor", "adjudicate differences between assessors (assessors: only if named as adjudicator)",
        ("adjudication",), ("adjudicate*",),
    ),
    "download": Rule(
        "assessor", "download qrels, the question bank, grades, runs and leaderboards", ("home", "export"), ("export",),
    ),
    "import files": Rule(
        "organizer", "import files", ("home",), ("import", "ingest", "items import", "answers import"),
    ),
    "grade": Rule(
        "organizer", "run grading jobs (may cost money)", ("grading", "leaderboard", "question_bank"),
        ("grade", "grade-plan", "batch cancel", "batch fetch"),
        ("POST jobs", "POST jobs/current/pause", "POST jobs/current/resume", "POST jobs/current/cancel"),
    ),
    "ask models": Rule(
        "organizer", "test models and request answer keys (may cost money)", ("prompts", "grading", "question_bank"),
        ("graders test", "proposals answer-key"),
    ),
    "write with models": Rule(
        "organizer", "generate questions and items with models (may cost money)", ("question_bank", "items"),
        ("generate", "items generate", "items check"),
    ),
    "run exams": Rule(
        "organizer", "run exams, generate and check answers, and take snapshots of live targets",
        ("exam", "students", "items", "answers"),
        ("students add", "students retrieve", "sit", "items categories", "items set", "answers generate",
         "answers grade", "answers rag", "answers retrieve", "reteval compare", "target freeze", "target drop",
         "target watch"),
    ),
    "plan audits": Rule(
        "organizer", "plan audits, draw batches and end audits", ("audit",),
        ("audit design", "audit draw", "audit end", "audit end-batch", "audit export", "audit import"),
    ),
    "publish": Rule("organizer", "publish qrels and bundles", ("export",), ("export bundle",)),
    "take everything out": Rule(
        "organizer", "export the whole project or its grades, and make backups", ("export", "home"),
        ("export project", "export grades", "backup"),
    ),
    "bring back": Rule("organizer", "restore replaced content or a backup", ("activity",), ("bring-back", "restore")),
    "organize": Rule(
        "organizer", "set up graders, prompts, prices, the pool and other project settings",
        ("grading", "prompts", "leaderboard", "measures"),
        ("init", "demo", "serve", "graders save", "graders remove", "prompts save", "prices set", "pool", "gold",
         "runs families", "vectors"),
    ),
    "set guidelines": Rule(
        "organizer", "edit the guidelines of the project and its queries", ("passages",), ("guidelines set",),
    ),
    "manage people": Rule("organizer", "manage people, roles and tokens", ("people",), ("people*", "token*")),
    "assign work": Rule(
        "organizer", "manage double assignments and due dates", ("people",),
        ("double assign", "double end", "double release", "work due"),
    ),
}  # fmt: skip
"""Every act that a role is needed for. What is not among them writes as "organize" and reads as "read the bank"."""


@dataclass(frozen=True)
class Member:
    """A person with a role in a project.

    Args:
        identity: what the login is known by: an e-mail address, or the subject that the provider gives.
        name: under which their acts are recorded; nobody else's.
        queries: ids of the queries that an assessor is limited to; None for all of them.
        further: ids of the queries that they judge beside others, whatever they are limited to.
    """

    identity: str
    name: str
    role: Role
    queries: tuple[str, ...] | None = None
    further: tuple[str, ...] = ()

    @property
    def theirs(self) -> tuple[str, ...] | None:
        """Ids of all queries in which an assessor works; None for all of the project."""
        return None if self.queries is None else tuple(dict.fromkeys((*self.queries, *self.further)))

    def may(self, act: ActName) -> bool:
        """Whether the role includes an act, in some query at least."""
        return ROLES.index(self.role) >= ROLES.index(ACTS[act].role)

    def limited(self, act: ActName) -> bool:
        """Whether they may do an act in some queries alone."""
        return self.role == "assessor" and self.queries is not None and ACTS[act].by_query


Queries = Collection[str] | Callable[[], Collection[str]]
"""Ids of the queries that an act is about, or how to find them out where that matters."""

DOING: ContextVar[ActName | None] = ContextVar("doing", default=None)
"""The act that this thread is in the midst of, for which its role has been checked."""
SPEAKING: ContextVar[str | None] = ContextVar("speaking", default=None)
"""The name under which what this thread writes is recorded; None where nobody is logged in."""


def check(member: Member, act: ActName, queries: Queries, author: str | None, organizers: Sequence[str]) -> None:
    """Refuse an act that somebody's role does not include, that is about queries of others, or is under another name.

    Args:
        author: the name under which it would be recorded; None where it is not known here.
        organizers: whom to ask.

    Raises:
        NotAllowed: it is refused.
    """
    rule = ACTS[act]
    if not member.may(act):
        raise NotAllowed(
            "role-needed",
            f"{member.name} ({member.role}) may not {rule.about}. This needs the role {rule.role}.",
            asking(organizers),
        )
    if member.limited(act):
        others = sorted(set(queries() if callable(queries) else queries) - set(member.theirs or ()))
        if others:
            raise NotAllowed(
                "query-not-assigned", f"Query {first_few(others)} is not assigned to {member.name}.", asking(organizers)
            )
    check_author(member.name, author)


def check_author(name: str, author: str | None) -> None:
    """Refuse to record an act under another name than that of whoever is logged in.

    Raises:
        NotAllowed: it is another one.
    """
    if author is not None and one_line(author) != name:
        raise NotAllowed(
            "author-is-another",
            f"You are signed in as {name}, but this action names '{author}' as its author.",
            "Reload the page to continue under your own name.",
        )


def stranger(identity: str, organizers: Sequence[str]) -> NotAllowed:
    """What somebody is told who is logged in and has no role in the project."""
    if not organizers:
        return NotAllowed(
            "no-role",
            f"{identity} has no role in this project, and the project has no organizer yet.",
            "The operator of the server adds the first organizer: exam people add IDENTITY --role organizer.",
        )
    return NotAllowed("no-role", f"{identity} has no role in this project.", asking(organizers))


def outsider(identity: str) -> NotAllowed:
    """What somebody is told who is logged in and has no role in any project of a server."""
    return NotAllowed(
        "no-role",
        f"{identity} has no role in any project of this server.",
        "Ask an organizer to add exactly this identity on the screen People. The operator of the server adds the first"
        " organizer: exam people add IDENTITY --role organizer.",
    )


def asking(organizers: Sequence[str]) -> str:
    """Whom to ask for another role, in a sentence."""
    if not organizers:
        return "The project has no organizer. The operator of the server can add one: exam people add."
    # A name may end with the full stop of an initial.
    return f"Ask an organizer: {first_few(list(organizers)).removesuffix('.')}."
