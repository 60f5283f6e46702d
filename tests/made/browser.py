"""Fixtures that start the app and drive it in a headless Chromium."""

import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Locator, Page, ViewportSize, expect, sync_playwright

from exam_workbench.store import Project, open_project
from pages.parts.shared.screens import SCREENS, entry_of

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""Commands for Chromium; the headless shell is first, because its pages cost a third less time."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Pages live for seconds, too short for optimised code to pay off. Only code that runs very
    # often, such as the accessibility checks, is optimised.
    "--js-flags=--no-opt --invocation-count-for-maglev=4000",
)
WINDOW = ViewportSize(width=1440, height=900)
EMPTY = "about:blank"
START_DEADLINE = 240.0
"""Seconds to wait for the app to start; generous, because test machines are busy."""

DEADLINE = 240_000
"""Milliseconds to wait for an element of a page; generous, because test machines are busy."""

PAUSE = 25
"""Milliseconds between two checks of a page."""

DRAWN = (
    "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
    ":not(:has([data-stale=true], [data-testid=stSkeleton], details[style*=hidden]))"
    ":has([data-testid=stMain] [data-testid=stElementContainer])"
)
"""Selects a page that is completely drawn and shows no sign of activity.

A page that was just loaded is empty and idle for a moment, before the app's first run, so it must
have content. An expanding part counts as activity, because a click would miss the elements that it
moves.
"""


def find_chromium() -> str | None:
    """Return the Chromium of EXAM_CHROMIUM, else the first on the PATH, else None."""
    named = os.environ.get("EXAM_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium. Without one the test skips, or fails if EXAM_REQUIRE_BROWSER is 1."""
    executable = find_chromium()
    if executable is None:
        reason = f"no browser: none of {', '.join(BROWSERS)} is on the PATH, nor does EXAM_CHROMIUM name one"
        if os.environ.get("EXAM_REQUIRE_BROWSER") == "1":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def unused(chromium: Browser) -> list[BrowserContext]:
    """Browser contexts that no test uses now. A tab that has shown the app before draws it twice as fast."""
    return []


@pytest.fixture
def tab_of(chromium: Browser, unused: list[BrowserContext]) -> Iterator[Callable[[str], Page]]:
    """A function that opens an empty tab, 1440 by 900, in the browser of a person.

    Each call returns a separate browser with the cookie of the person's name; an empty name sets no
    cookie.
    """
    from pages.parts.shared.person import COOKIE

    expect.set_options(timeout=DEADLINE)
    used: list[BrowserContext] = []

    def open_tab(name: str) -> Page:
        browser = unused.pop() if unused else chromium.new_context(viewport=WINDOW, reduced_motion="reduce")
        used.append(browser)
        browser.set_default_timeout(DEADLINE)
        if name:
            browser.add_cookies([{"name": COOKIE, "value": name, "url": "http://localhost"}])
        return empty_tab(browser)

    yield open_tab
    for browser in used:
        _forget(browser)
    unused.extend(used)


def empty_tab(browser: BrowserContext) -> Page:
    """Return an empty tab of a browser: an existing one, or a new one."""
    tab = next((page for page in browser.pages if page.url == EMPTY), None)
    return tab or browser.new_page()


def _forget(browser: BrowserContext) -> None:
    """Remove all traces of use from a browser, except cached files."""
    for page in browser.pages:
        if page.url != EMPTY:
            _clear(page)
            page.goto(EMPTY)
        page.set_viewport_size(WINDOW)
    browser.clear_cookies()
    browser.clear_permissions()


def _clear(page: Page) -> None:
    """Clear the storage of a page. During a navigation, as after a login, wait for the new page first."""
    while True:
        try:
            # A page that failed to load denies access to storage. Later writes of the old page are disabled.
            page.evaluate(
                "try { localStorage.clear(); sessionStorage.clear(); Storage.prototype.setItem = () => {} } catch {}"
            )
            return
        except Error as error:
            if "navigation" not in error.message:
                raise
            page.wait_for_load_state()


@pytest.fixture
def chromium_page(tab_of: Callable[[str], Page]) -> Page:
    """An empty tab in the browser of a person who entered a name earlier."""
    return tab_of("tester")


def ready(page: Page) -> None:
    """Wait until the page is completely drawn and shows no sign of activity."""
    # A locator would wait half a second between later checks, longer than most pages take.
    page.wait_for_function("(drawn) => document.querySelector(drawn)", arg=DRAWN, polling=PAUSE, timeout=DEADLINE)


def visit(page: Page, link: str) -> None:
    """Open a link, and wait until the page is ready."""
    page.goto(link)
    ready(page)


def follow(page: Page, address: str, heading: str) -> None:
    """Go to another screen of the app as the browser's Back does, without reloading the page."""
    page.evaluate(
        "(address) => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')); }", address
    )
    # The run may begin and end between two checks; the heading shows that it has begun.
    page.locator(f'h1 :text-is("{heading}")').wait_for()
    ready(page)


def come_to_the_front(page: Page) -> None:
    """Focus a window as a browser does when a person switches to it."""
    page.bring_to_front()
    page.evaluate("window.dispatchEvent(new Event('focus'))")


def button(page: Page | Locator, key: str) -> Locator:
    """Return the button with a key, one of our own or of Streamlit."""
    return page.locator(f'button[data-key="{key}"], .{css_class(key)} button')


def field(page: Page | Locator, key: str) -> Locator:
    """Return the text box with a key, one of our own or of Streamlit."""
    return page.locator(f':is(input, textarea)[data-key="{key}"], .{css_class(key)} :is(input, textarea)')


def note(page: Page | Locator, key: str, words: str = "") -> Locator:
    """Return the visible container whose key contains `key` and which has these words and numbers in this order."""
    shown = page.locator(f'[class*="{css_class(key)}"]').filter(visible=True)
    return shown.filter(has_text=re.compile(r"\b.*?\b".join(map(re.escape, words.split()))))


def css_class(key: str) -> str:
    """Return the CSS class that Streamlit gives to an element with a key."""
    return "st-key-" + re.sub(r"[^a-zA-Z0-9_-]", "-", key)


def heading(page: Page, screen: str) -> Locator:
    return page.get_by_role("heading", name=SCREENS[screen][0], exact=True, level=1)


def go_to(page: Page, screen: str) -> None:
    """Go to a screen through the menu and the tabs of its entry."""
    entry = page.locator(".st-key-menu").get_by_role("link", name=entry_of(screen), exact=True)
    tab = page.locator(".st-key-tabs").get_by_role("link", name=SCREENS[screen][0], exact=True)
    more = page.locator(".st-key-menu-more summary")
    expect(entry.or_(more).first).to_be_visible()
    if not entry.is_visible():
        more.click()
    entry.click()
    expect(heading(page, screen).or_(tab).first).to_be_visible()
    if not heading(page, screen).is_visible():
        tab.click()
    expect(heading(page, screen)).to_be_visible()
    ready(page)


@dataclass(frozen=True)
class Server:
    """An app that answers at an address."""

    address: str
    process: subprocess.Popen[bytes]


@contextmanager
def serving(projects: Path, log: Path, script: str = "app.py", secrets: Path | None = None) -> Iterator[Server]:
    """Serve the app for a folder of projects until the block ends.

    Args:
        projects: the app's folder of projects.
        log: file for the output of the app.
        script: another app to serve instead.
        secrets: the file of its secrets, if any.
    """
    port = _port_for_app()
    command = ["-m", "streamlit", "run", script, "--server.port", str(port), "--server.headless", "true"]
    if secrets is not None:
        command += ["--secrets.files", str(secrets)]
    with running(command, port, projects, log) as server:
        yield server


@contextmanager
def running(arguments: Sequence[str], port: int, projects: Path, log: Path) -> Iterator[Server]:
    """Run Python with the arguments of a server on a port, until the block ends.

    Args:
        projects: the app's folder of projects.
        log: file for the output of the app.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment(projects),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        address = f"http://localhost:{port}"
        wait_until_healthy(process, address, log)
        yield Server(address, process)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def environment(projects: Path) -> dict[str, str]:
    """Return the environment of an app whose projects are only those of a folder."""
    own = {name: value for name, value in os.environ.items() if name != "EXAM_PROJECT"}
    return {**own, "EXAM_PROJECTS_DIR": str(projects), "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="session")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The projects folder of the shared server; every test creates its own project there."""
    return tmp_path_factory.mktemp("projects")


@pytest.fixture(scope="session")
def server(projects: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that most tests share, because its start takes longer than most tests."""
    with serving(projects, tmp_path_factory.mktemp("log") / "server.log") as started:
        yield started


def as_it_is_now(path: Path, folder: Path) -> Project:
    """Return a copy of a project with all committed changes, while a server holds the file."""
    for file in path, path.with_name(f"{path.name}.wal"):
        if file.exists():
            shutil.copy(file, folder)
    return open_project(folder / path.name)


@pytest.fixture
def app_server(tmp_path: Path) -> Iterator[Callable[[Path], Server]]:
    """A function that serves the app for a folder of projects.

    All of its servers are stopped at the end of the test.
    """
    numbers = itertools.count(1)
    with ExitStack() as servers:

        def start(projects: Path) -> Server:
            return servers.enter_context(serving(projects, tmp_path / f"server-{next(numbers)}.log"))

        yield start


def free_port() -> int:
    """Return a free port below the range from which systems assign ports to connections."""
    while True:
        port = 10_000 + randbelow(20_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("localhost", port))
            return port


_ports: list[int] = []
"""Ports of earlier apps. Reusing a port lets the browser treat the app as the same site."""


def _port_for_app() -> int:
    for port in _ports:
        with socket.socket() as probe:
            # As in the app: a closing connection of an earlier server must not block the port.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind(("localhost", port))
                return port
    _ports.append(free_port())
    return _ports[-1]


def wait_until_healthy(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + START_DEADLINE
    while time.monotonic() < deadline:
        # Another process may answer at the address, because another test may have found the same port free.
        if server.poll() is None and _says_where(log) and _answers(f"{address}/_stcore/health"):
            return
        try:
            # This returns at once if the process ends.
            server.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    pytest.fail(f"the app did not answer at {address}; its log ends:\n{tail}", pytrace=False)


def _says_where(log: Path) -> bool:
    """Return whether the app has printed its address, which it does once it owns the port."""
    return "URL: http" in log.read_text(encoding="utf-8", errors="replace")


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False
