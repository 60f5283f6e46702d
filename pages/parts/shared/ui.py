"""Helpers of all screens: the open project, the person, errors as sentences, and small drawing
functions.
"""

import asyncio
import logging
import os
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

import streamlit as st
from streamlit import config
from streamlit.delta_generator import DeltaGenerator

from exam_workbench import (
    audit,
    bank,
    charts,
    exams,
    exchange,
    graders,
    limits,
    locations,
    review,
    server,
    study,
)
from exam_workbench.errors import FileError, NotAllowed, ProjectError, WorkbenchError
from exam_workbench.store import Project, no_server_role_error
from pages.parts.shared import address, login, look, person as who, screen_hints, screens, visitor

T = TypeVar("T")

NAME = "Exam Workbench"
LISTED_PROBLEMS = 20
LISTED = 300
"""Characters of a text in a list to choose from."""
HEADING = 3_000
"""Characters of a text above a screen or a part of it."""

_log = logging.getLogger(__name__)


@st.cache_resource(show_spinner="Opening the project", validate=lambda project: not project.closed)
def _hold_project(path: str) -> Project:
    return server.hold_project(Path(path))


def load_ahead() -> None:
    """Import the code behind all screens, which their first visitor would wait for."""
    # Packages import a module when one of its names is used. These import the other packages.
    for package in (charts, audit, exams, exchange, review, study):
        for name in package.__all__:
            getattr(package, name)


@asynccontextmanager
async def server_lifespan(_: st.App) -> AsyncIterator[None]:
    """Surround the lifetime of a server; at its end, for any reason, its projects are closed.

    The project named at its start is open from then on, so that commands and scripts find it there.
    """
    server.send_at_once()
    server.open_doors(_own_address())
    # A command may arrive before anyone opens a screen.
    graders.providers.key = visitor.secret
    graders.providers.endpoints = visitor.endpoint_tables
    try:
        login.can_log_in()
        # In megabytes: screens show this limit, and Streamlit refuses a larger file while it
        # arrives.
        config.set_option("server.maxUploadSize", -(-limits.read_limit("UPLOAD") >> 20))
    except WorkbenchError as error:
        _log.error("%s", error)
    if named := os.environ.get("EXAM_PROJECT"):
        try:
            await asyncio.to_thread(server.hold_project, Path(named))
        except WorkbenchError as error:
            # The screens and /healthz report it as well, and both try again.
            _log.error("%s", error)
    threading.Thread(target=load_ahead, daemon=True).start()
    with server.stop_commands_on_signal():
        try:
            yield
        finally:
            server.close_all_projects()


def _own_address() -> str | None:
    """Return the address of this server on this computer; None if it has a certificate, which is
    for another name.
    """
    if st.get_option("server.sslCertFile"):
        return None
    address = st.get_option("server.address") or ""
    host = "127.0.0.1" if address in ("", "localhost", "0.0.0.0", "::") else address
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    place = f"[{host}]" if ":" in host else host
    return f"http://{place}:{st.get_option('server.port')}/{base}"


def list_projects() -> dict[str, Path]:
    """Return every project that can be opened, by name.

    If people log in, these are the projects in which the person has a role; no screen reveals
    others.
    """
    known = login.current_identity()
    return project_files() if known is None else server.projects_with_role(project_files(), known)


def project_files() -> dict[str, Path]:
    """Return the projects of this server by name: files of the projects folder, and the project
    named at start.

    If people log in, only plain files of that folder count. A symbolic link could make the server
    open a file that people with write access to the folder must not read.
    """
    every, shared = sorted(locations.projects_folder().glob("*.duckdb")), login.is_required()
    files = {
        path.stem: path
        for path in every
        if not shared or (path.is_file() and not path.is_symlink())
    }
    named = os.environ.get("EXAM_PROJECT")
    return {Path(named).stem: Path(named)} | files if named else files


def frame(screen: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Draw what surrounds every screen: its title, the choice of the project and the name of the
    person.

    Args:
        screen: its name.

    Returns:
        The places for the menu and for the tabs of its entry. They are drawn later, when the
        choices are known.
    """
    st.session_state.pop("not opened", None)
    st.session_state["errors shown"] = 0
    look.apply_style()
    address.read_address(screen)
    if opened := st.session_state.pop("opened", None):
        st.session_state["project"] = opened
    names = list(list_projects())
    named_project = st.query_params.get("project", "")
    if names and not opened:
        address.set_from_address(
            "project", lambda name: name if name in names else names[0], names[0]
        )
    with st.sidebar:
        if names:
            st.selectbox("Project", names, key="project")
            address.name_project(str(st.session_state["project"]), screen)
        known = st.container()
        menu = st.container()
    refused = _find_member()
    with known:
        who.draw_box()
    if names:
        _show_unknown_project(named_project if named_project not in names else "")
    st.session_state["screen"] = title = screens.SCREENS[screen][0]
    who.ask_for_name()
    name_tab()
    st.title(title, anchor=False)
    tabs = st.container(key="tabs", horizontal=True)
    if refused is not None:
        show_error(refused)
        st.stop()
    return menu, tabs


def name_tab(progress: str = "") -> None:
    """Set the browser's title to the screen, after the progress of a job if one is running."""
    st.set_page_config(
        page_title=" · ".join(filter(None, (progress, st.session_state["screen"], NAME)))
    )


def _find_member() -> WorkbenchError | None:
    """Determine the person's role; return the error for a person without a role, otherwise None."""
    st.session_state[login.MEMBER] = None
    try:
        if login.is_required() and (opened := chosen_project()) is not None:
            st.session_state[login.MEMBER] = opened.member()
    except NotAllowed as error:
        return error
    except WorkbenchError:
        # The screen itself shows the error of the project.
        return None
    return None


def _show_unknown_project(missing: str) -> None:
    """Draw a note that a link named an unknown project, until the person chooses another one.

    Args:
        missing: the unknown project in the address; empty if it names a known one.
    """
    if missing:
        st.session_state["another"] = missing, st.session_state["project"]
    unknown, instead = st.session_state.get("another", ("", ""))
    if unknown and instead == st.session_state["project"]:
        st.container(key="another-project").warning(
            f"Unknown project '{escape(unknown)}'. This is {escape(instead)}. Choose your"
            " project on the left.",
            icon=":material/info:",
        )


author, person, download = who.require_author, who.current_name, who.draw_download


def chosen_project() -> Project | None:
    """Return the project that is open in this browser tab; None if none exists yet.

    Raises:
        NotAllowed: the logged-in person has no role in any project.
        ProjectError: it cannot be opened.
    """
    known = list_projects()
    path = known.get(str(st.session_state.get("project")))
    if path is None:
        if not known and (identity := login.current_identity()) is not None:
            raise no_server_role_error(identity)
        return None
    if (failed := st.session_state.get("not opened")) is not None:
        raise failed
    try:
        opened, identity = _hold_project(str(path)), login.current_identity()
        project_in_use = (
            opened.seen_by(person()) if identity is None else opened.acting_as(identity)
        )
    except ProjectError as error:
        # Opening waits for the process that holds the file; once in a run of the screen is enough.
        st.session_state["not opened"] = error
        raise
    st.session_state["in use"] = project_in_use
    show_reopened()
    _show_not_closed(project_in_use)
    return project_in_use


def project_or_none() -> Project | None:
    """Return the open project; None without one, and if it cannot be opened, which the screen
    itself shows.
    """
    with suppress(WorkbenchError):
        return chosen_project()
    return None


def _show_not_closed(project: Project) -> None:
    """Show, once in every browser tab, that a project was not closed, or that it is read-only."""
    told_projects = st.session_state.setdefault("told of", set())
    if project.path in told_projects:
        return
    told_projects.add(project.path)
    if project.not_closed:
        st.toast(escape(project.not_closed), icon=":material/info:", duration="infinite")
    if project.read_only:
        st.toast(
            escape(
                f"{project.path.name} is open read-only, because the file or its"
                " folder is not writable."
            ),
            icon=":material/lock:",
            duration="infinite",
        )


def show_reopened() -> None:
    """Show, once in every browser tab, that the project's database failed and was opened again."""
    in_use = st.session_state.get("in use")
    if in_use is None:
        return
    times, key = in_use.reopenings, f"reopenings of {in_use.path}"
    if len(times) > st.session_state.setdefault(key, len(times)):
        st.session_state[key] = len(times)
        st.toast(
            f"The database failed at {times[-1].at:%H:%M} and was opened again."
            " Saved work is not lost.",
            icon=":material/restart_alt:",
            duration="infinite",
        )


def require_project(style: str = "") -> Project:
    """Return the project that is open in this browser tab; end the screen without one.

    Args:
        style: the style sheet of the screen.
    """
    if style:
        st.html(f"<style>{style}</style>")
    in_use = chosen_project()
    if in_use is None:
        end_empty_screen(
            "No project yet.",
            "Create a project or the demo project on the Home screen.",
            "home",
            code="no-project",
        )
    return in_use


def may_see(screen: str) -> bool:
    """Return whether the person may see a screen, by its name."""
    return screen in visible_screens()


def visible_screens() -> frozenset[str]:
    """Return names of the screens that the person may see."""
    try:
        in_use = chosen_project()
    except NotAllowed:
        return frozenset()
    except WorkbenchError:
        # The screen itself shows the error of the project.
        return frozenset(screens.SCREENS)
    return frozenset(name for name in screens.SCREENS if login.may_see(in_use, name))


def empty_entries(current_screen: str) -> frozenset[str]:
    """Return the entries of the menu that the project has no content for, without that of the
    screen `current_screen`.
    """
    in_use = project_or_none()
    unused = bank.parts_without_content(in_use) if in_use is not None else []
    return frozenset(entry for entry in unused if current_screen not in screens.MENU[entry][1])


def check(screen: str) -> None:
    """Refuse a screen that the person's role does not include.

    Raises:
        NotAllowed: the message names the needed role and people to ask.
    """
    if not may_see(screen) and (opened := chosen_project()) is not None:
        opened.require(login.acts_of_screen(screen)[0])


def end_empty_screen(
    what: str, todo: str, screen: str | None = None, code: str = "empty"
) -> NoReturn:
    """Show that the screen is empty and the next step, and end the screen.

    Args:
        screen: the screen that a link leads to.
        code: the key of the box, by which tests recognize the reason.
    """
    with st.container(border=True, key=code):
        st.markdown(f"**{what}**")
        st.text(todo)
        if screen is not None:
            draw_link(screen)
    st.stop()


def require_content(
    content: object, what: str, todo: str, screen: str | None = None, code: str = "empty"
) -> None:
    """End the screen without content; further arguments as for `end_empty_screen`."""
    if not content:
        end_empty_screen(what, todo, screen, code)


@contextmanager
def or_empty(screen: str | None = None, code: str = "") -> Iterator[None]:
    """End the screen with an error of the workbench as its reason and next step; arguments as for
    `end_empty_screen`.
    """
    try:
        yield
    except WorkbenchError as error:
        hint, named = screen_hints.hint_on_screen(error.hint)
        end_empty_screen(error.message, hint, screen or named, code or error.code)


def draw_note(
    words: str, screen: str, label: str | None = None, key: str | None = None, **query: str | None
) -> None:
    """Draw a caption with a link to a screen beside it; arguments as for `draw_link`."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.container(key=key, width="content").caption(words, width="content")
        draw_link(screen, label, **query)


Fact = tuple[str, str, str, str | None] | tuple[str, str, str, str | None, str | None]
"""End of the key of a metric or an empty text, its label, value and help, and possibly its change.
"""


def draw_metrics(
    *facts: Fact, key: str | None = None, width: Literal["stretch", "content"] = "stretch"
) -> None:
    """Draw metrics side by side."""
    with st.container(horizontal=True, gap="medium", key=key):
        for name, label, value, about, *change in facts:
            at = st.container(key=f"metric {name}" if name else None, width=width)
            at.metric(label, value, *change, delta_color="off", help=about)


def draw_link(
    screen: str,
    label: str | None = None,
    icon: str | None = ":material/arrow_forward:",
    help: str | None = None,
    **query: str | None,
) -> None:
    """Draw a link to a screen of the project; draw nothing if the person's role does not include
    it.

    Args:
        query: the place on the screen, as for `address.link_parameters`.
    """
    if not login.is_required() or may_see(screen):
        st.page_link(
            f"pages/{screen}.py",
            label=label or f"Go to {screens.SCREENS[screen][0]}",
            icon=icon,
            help=help,
            query_params=address.link_parameters(**query),
        )


def draw_speaking(passages: int) -> None:
    """Draw the number of pooled passages that address the grader, with a link; nothing for 0."""
    if passages:
        about = f":material/campaign: Passages with text that addresses the grader: {passages:,}."
        draw_note(about, "passages", "Show these passages", speaking="true")


def draw_pager(key: str, total: int, size: int) -> int:
    """Draw the pager of a list, if it has several pages, and return the present page.

    Args:
        total: number of rows.
        size: number of rows on a page.
    """
    pages = -(-total // size)
    return st.pagination(pages, key=key) if pages > 1 else 1


def choose_rows(
    columns: Mapping[str, Sequence[Any]], key: str, several: bool = False, **options: Any
) -> list[int]:
    """Draw a table whose rows can be chosen by a click; return the positions of the chosen rows.

    A choice outlives a change of the table, so positions beyond its end are left out.

    Args:
        several: whether several rows can be chosen.
        options: passed to `st.dataframe`.
    """
    mode: Literal["multi-row", "single-row"] = "multi-row" if several else "single-row"
    chosen = st.dataframe(
        columns, hide_index=True, on_select="rerun", selection_mode=mode, key=key, **options
    )
    rows = len(next(iter(columns.values())))
    return [at for at in chosen.selection.rows if at < rows]


def rows_of_page(key: str, rows: Sequence[T], size: int) -> Sequence[T]:
    """Return the rows of the present page; arguments as for `draw_pager`."""
    page = min(int(st.session_state.get(key, 1)), max(1, -(-len(rows) // size)))
    return rows[(page - 1) * size : page * size]


@contextmanager
def errors(rerun: bool = False) -> Iterator[None]:
    """Show an error of the workbench as a sentence with a next step.

    Args:
        rerun: whether the screen is redrawn after success.
    """
    try:
        yield
    except WorkbenchError as error:
        show_error(error)
    else:
        if rerun:
            st.rerun()


def attempt(default: T, compute: Callable[..., T], *given: object) -> T:
    """Return the result of a function; if it fails with an error of the workbench, show the error
    and return the default.

    Args:
        given: the arguments of the function.
    """
    with errors():
        return compute(*given)
    return default


def show_error(error: WorkbenchError) -> None:
    """Draw an error: the problem, its place and the fix; the key of its box contains the error
    code.
    """
    st.session_state["errors shown"] = st.session_state.get("errors shown", 0) + 1
    with st.container(border=True, key=f"error {error.code} {st.session_state['errors shown']}"):
        st.error(escape(error.message), icon=":material/error:")
        if isinstance(error, FileError) and len(error.problems) > 1:
            for problem in error.problems[:LISTED_PROBLEMS]:
                st.text(str(problem))
            if (rest := len(error.problems) + error.more - LISTED_PROBLEMS) > 0:
                st.caption(f"and {rest:,} more")
        hint, screen = screen_hints.hint_on_screen(error.hint)
        if hint:
            st.text(hint)
        if screen is not None and screen != st.session_state.get("screen"):
            draw_link(screen)


_SHORTCODE = re.compile(
    r":(?=material/|(?!\d+:)[\w+-]+:|100:|1234:)|(?<!\S)(?=(?:<->|->|<-|--|>=|<=|~=)(?!\S))"
)
"""Texts that Streamlit replaces by pictures and symbols, after Markdown has removed every escape.
"""
JOINER = "\u2060"
"""An invisible character without width that breaks a shortcode."""


def escape(text: str) -> str:
    """Return text from outside, escaped so that Markdown shows it unchanged."""
    text = _SHORTCODE.sub(lambda found: found[0] + JOINER, text)
    escaped = "".join(f"\\{c}" if c in "\\`*_{}[]()#+-.!|<>$~:&^=" else c for c in text)
    return escaped.replace("\n", "  \n")


def distinct_option_texts(labels: Mapping[str, str]) -> dict[str, str]:
    """Return distinct labels for a list of options: for equal labels, Streamlit would always return
    the first option.

    Long labels are cut, since thousands of them are sent to the browser.

    Args:
        labels: by id of the option, which is added to equal labels.
    """
    labels = {key: shorten_text(label, LISTED) for key, label in labels.items()}
    times = Counter(labels.values())
    return {
        key: f"{label} ({shorten_text(key, LISTED)})" if times[label] > 1 else label
        for key, label in labels.items()
    }


def as_number(value: float | None, digits: int = 3) -> str:
    """Return a number for a screen; a dash if it is missing."""
    return "–" if value is None else f"{value:z.{digits}f}"


def shorten_text(text: str, length: int) -> str:
    """Return a text cut at a word, or within a long one, with an ellipsis if it is cut."""
    if len(text) <= length:
        return text
    cut = text[: length - 1]
    end = cut.rfind(" ")
    return (cut[:end] if end >= length // 2 else cut) + "…"


def as_change(before: float, after: float) -> str | None:
    """Return the change of a number with three decimals; None if it rounds to 0."""
    return f"{after - before:+z.3f}" if abs(after - before) >= 0.0005 else None


def as_percent(share: float | None) -> str:
    """Return a share in whole percent for a screen; a dash if it is missing."""
    return "–" if share is None else f"{share:.0%}"


def as_duration(seconds: float | None) -> str:
    """Return a time span for a screen: 40 s, 3 min, 2 h 10 min."""
    if seconds is None:
        return "–"
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def as_estimate(seconds: float) -> str:
    """Return an estimate of a time span, to follow "takes": one second or less, about 3 min."""
    return f"about {as_duration(seconds)}" if seconds >= 1.5 else "one second or less"
