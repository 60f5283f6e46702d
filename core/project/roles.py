"""Who may do what: three roles, the acts that each may do, and the refusal of what a role does not include."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import NotAllowed
from core.text import first_few, one_line

Role = Literal["viewer", "assessor", "organizer"]
ROLES: tuple[Role, ...] = get_args(Role)
"""From the one who may least: each may do all that those before it may."""

ABOUT_ROLES: Mapping[Role, str] = {
    "viewer": "sees leaderboards and what they correlate with, but neither questions nor grades",
    "assessor": "reads everything, and curates, judges and settles in the queries that are theirs",
    "organizer": "may do everything, and says who else may do what",
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
        "viewer", "see leaderboards, their correlation and how far grading is", ("home", "leaderboard", "measures"),
        ("leaderboard", "correlate", "significance", "curve", "meta", "status", "runs list"), writes=False,
    ),
    "read the bank": Rule(
        "assessor", "read questions, grades, judgments and what was done",
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
        "assessor", "edit questions in drafts, and accept or reject what a model proposed", ("question_bank",),
        ("bank edit", "bank discard", "bank merge", "bank settle", "bank split", "proposals accept", "proposals edit",
         "proposals put-back", "proposals reject", "items accept"),
        by_query=True,
    ),
    "save the bank": Rule(
        "assessor", "save one's drafts as a bank version", ("question_bank",), ("bank save", "bank restore",
        "items retire"), by_query=True,
    ),
    "override ratings": Rule(
        "assessor", "override, confirm and withdraw ratings", ("passages", "disagreements"),
        ("override confirm", "override set", "override withdraw"), by_query=True,
    ),
    "judge passages": Rule(
        "assessor", "judge how relevant passages are", ("passages",), ("judge set", "judge withdraw"), by_query=True,
    ),
    "settle disagreements": Rule(
        "assessor", "settle and reopen disagreements", ("disagreements",),
        ("disagreements settle", "disagreements reopen"), by_query=True,
    ),
    "judge audits": Rule(
        "assessor", "judge the passages of an audit", ("audit",), ("audit give-back",), by_query=True,
    ),
    "confirm cases": Rule(
        "assessor", "confirm cases of answers, and say which answers are right", ("cases", "judges"),
        ("reteval confirm", "reteval withdraw"), by_query=True,
    ),
    "mark work": Rule(
        "assessor", "say that a query is done, or not after all", ("my_work",), ("work done", "work reopen"),
        by_query=True,
    ),
    "claim work": Rule(
        "assessor", "take part in a double assignment, or decline", ("my_work",), ("double claim", "double decline"),
    ),
    "adjudicate": Rule(
        "assessor", "decide where people who judged the same differ, as organizer or where an organizer named them",
        ("adjudication",), ("adjudicate*",),
    ),
    "download": Rule(
        "assessor", "download qrels, bank, grades, runs and leaderboards", ("home", "export"), ("export",),
    ),
    "import files": Rule(
        "organizer", "import files", ("home",), ("import", "ingest", "items import", "answers import"),
    ),
    "grade": Rule(
        "organizer", "let graders grade, which may cost money", ("grading", "leaderboard", "question_bank"),
        ("grade", "grade-plan", "batch cancel", "batch fetch"),
        ("POST jobs", "POST jobs/current/pause", "POST jobs/current/resume", "POST jobs/current/cancel"),
    ),
    "ask models": Rule(
        "organizer", "ask a model, which may cost money", ("prompts", "grading", "question_bank"),
        ("graders test", "proposals answer-key"),
    ),
    "write with models": Rule(
        "organizer", "let models write questions and items, which may cost money", ("question_bank", "items"),
        ("generate", "items generate", "items check"),
    ),
    "run exams": Rule(
        "organizer", "let students sit exams, and models answer and compare", ("exam", "students", "items", "answers"),
        ("students add", "students retrieve", "sit", "items categories", "items set", "answers generate",
         "answers grade", "answers rag", "answers retrieve", "reteval compare", "target freeze", "target drop",
         "target watch"),
    ),
    "plan audits": Rule(
        "organizer", "plan audits, draw batches and end them", ("audit",),
        ("audit design", "audit draw", "audit end", "audit end-batch", "audit export", "audit import"),
    ),
    "publish": Rule("organizer", "publish qrels and bundles", ("export",), ("export bundle",)),
    "take everything out": Rule(
        "organizer", "export the whole project, or its grades with ids", ("export", "home"),
        ("export project", "export grades", "backup"),
    ),
    "bring back": Rule("organizer", "bring back what an act replaced", ("activity",), ("bring-back", "restore")),
    "organize": Rule(
        "organizer", "set up graders, prompts, prices, the pool and other settings of the project",
        ("grading", "prompts", "leaderboard", "measures"),
        ("init", "demo", "serve", "graders save", "graders remove", "prompts save", "prices set", "pool", "gold",
         "runs families", "vectors"),
    ),
    "set guidelines": Rule(
        "organizer", "write the guidelines of the project and of queries", ("passages",), ("guidelines set",),
    ),
    "manage people": Rule("organizer", "say who may do what", ("people",), ("people*", "token*")),
    "assign work": Rule(
        "organizer", "assign queries doubly, end that, and say until when queries are to be done", ("people",),
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
            f"To {rule.about} needs the role {rule.role}; {member.name} is {member.role} of this project.",
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
            f"You are logged in as {name}, and this would be recorded as done by {author or 'nobody'}.",
            "What people do is recorded under the name of their login. Reload the page.",
        )


def stranger(identity: str, organizers: Sequence[str]) -> NotAllowed:
    """What somebody is told who is logged in and has no role in the project."""
    if not organizers:
        return NotAllowed(
            "no-role",
            f"{identity} has no role in this project, and nobody has yet.",
            "Whoever runs the server names the first organizer: exam people add IDENTITY --role organizer.",
        )
    return NotAllowed("no-role", f"{identity} has no role in this project.", asking(organizers))


def outsider(identity: str) -> NotAllowed:
    """What somebody is told who is logged in and has no role in any project of a server."""
    return NotAllowed(
        "no-role",
        f"{identity} has no role in any project of this server.",
        "An organizer of yours gives you one on the screen People, by exactly this; whoever runs the server names the"
        " first organizer: exam people add IDENTITY --role organizer.",
    )


def asking(organizers: Sequence[str]) -> str:
    """Whom to ask for another role, in a sentence."""
    if not organizers:
        return "Nobody is organizer: whoever runs the server names one with exam people add."
    # A name may end with the full stop of an initial.
    return f"Ask an organizer of the project: {first_few(list(organizers)).removesuffix('.')}."
