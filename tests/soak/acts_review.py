"""Acts of reviewing: finding and reading passages, judging, overriding, withdrawing, settling disagreements."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from tests.made.browser import bring_into_view
from tests.soak.person import PATIENCE, NotNow, Person

VALUES = {"Not relevant": 0, "Related": 1, "Highly relevant": 2, "Perfectly relevant": 3}
LIST, RATINGS = "passage-list", "question-ratings"
"""Keys of the parts of the screen of passages."""

WORD = re.compile(r"[a-zA-Z]{6,}")


def place(person: Person) -> tuple[str, str]:
    """Query and passage that are open, as the address names them."""
    asked = person.asked()
    if not {"query", "passage"} <= asked.keys():
        raise NotNow
    return asked["query"], asked["passage"]


def search(person: Person) -> str:
    """Look for a word, and see as many passages as have it."""
    clear(person)
    pool = person.facts("ranked")
    word = person.random.choice(WORD.findall(person.random.choice(pool)[2]) or ["water"])
    meant = sum(word.lower() in text.lower() for _, _, text in pool)
    person.type(person.page.get_by_role("textbox", name="Find in the text"), word)
    _count(person, meant)
    return f"{word}: {meant} passages"


def narrow_to_query(person: Person) -> str:
    """List the passages of one query."""
    clear(person)
    pool = person.facts("ranked")
    texts = person.facts("queries")
    query = person.random.choice(sorted({at for at, _, _ in pool}))
    person.choose(re.compile("Query$"), texts[query])
    meant = sum(at == query for at, _, _ in pool)
    _count(person, meant)
    return f"{query}: {meant} passages"


def clear(person: Person) -> str:
    """Take all filters away."""
    if person.there(person.button("Clear filters")):
        person.press("Clear filters")
    return "no filters"


def _count(person: Person, meant: int) -> None:
    listed = person.page.locator(f".st-key-{LIST} .where").first
    words = f"{meant:,} passage{'' if meant == 1 else 's'}"
    expect(listed).to_have_text(re.compile(rf"^({words}|[0-9,]+ of {meant:,})$"), timeout=PATIENCE)


def open_passage(person: Person) -> str:
    """Open a passage of the list."""
    listed = person.page.locator(f".st-key-{LIST} .row")
    if not listed.count():
        raise NotNow
    with person.drawn():
        listed.nth(person.random.randrange(listed.count())).click()
    return " ".join(place(person))


def turn(person: Person) -> str:
    """On to the next passage, or back, by button or by key."""
    name, key = person.random.choice([("Next", "Alt+j"), ("Previous", "Alt+k")])
    if not person.there(person.button(name)) or not person.button(name).first.is_enabled():
        raise NotNow
    if person.chance(0.5):
        with person.drawn():
            person.page.evaluate("document.activeElement?.blur()")
            person.page.keyboard.press(key)
    else:
        person.press(name)
    return f"{name}: {' '.join(place(person))}"


def blind(person: Person) -> str:
    """Judge without being shown what others say, or with it again."""
    switch = person.page.locator(".st-key-blind").locator("label").first
    with person.drawn():
        switch.click()
    return "on" if person.page.locator(".st-key-blind").get_by_role("switch").is_checked() else "off"


def judge(person: Person) -> str:
    """Judge the open passage, by button or by key; it replaces what one judged before."""
    at = place(person)
    name, value = person.random.choice(list(VALUES.items()))
    if person.chance(0.4):
        with person.drawn():
            person.page.evaluate("document.activeElement?.blur()")
            person.page.keyboard.press(str(value))
    else:
        person.press(name)
    person.judged[at] = value
    person.expected = ["judge"]
    return f"{' '.join(at)}: {value}"


def withdraw_judgment(person: Person) -> str:
    """Take back one's judgment of the open passage."""
    if not person.there(person.button("Withdraw your judgment")):
        raise NotNow
    at = place(person)
    person.press("Withdraw your judgment")
    expect(person.button("Withdraw your judgment")).to_have_count(0, timeout=PATIENCE)
    del person.judged[at]
    person.expected = ["withdraw judgment"]
    return " ".join(at)


def override(person: Person) -> str:
    """Give a rating of one's own for a question and the open passage."""
    row, rating, box = _rate(person)
    reason = person.sign("it does not say so")
    box.fill(reason)
    with person.drawn():
        box.press("Enter")
    person.overridden[reason] = rating
    person.expected = ["override"]
    expect(row.get_by_text(reason)).to_be_visible(timeout=PATIENCE)
    expect(box).to_be_hidden(timeout=PATIENCE)
    return f"{' '.join(place(person))}: {rating}"


def rate_all_0(person: Person) -> str:
    """Say that the passage is not relevant: all its questions at once, for one reason, and take it back at once."""
    button = person.button("Not relevant: rate all 0")
    # It is disabled where all of them are 0 already.
    if not person.there(button) or not button.is_enabled():
        raise NotNow
    box = person.page.get_by_role("textbox", name="Reason")
    with person.drawn():
        button.click()
    expect(box).to_be_visible(timeout=PATIENCE)
    count = person.page.locator(".tray .change").count()
    reason = person.sign("not relevant")
    box.fill(reason)
    with person.drawn():
        box.press("Enter")
    undo = person.page.get_by_role("button", name=re.compile("^Take (it|them) back$"))
    expect(undo).to_be_visible(timeout=PATIENCE)
    with person.drawn():
        undo.click()
    expect(undo).to_be_hidden(timeout=PATIENCE)
    person.expected = ["override"] * count + ["withdraw override"] * count
    return f"{' '.join(place(person))}: {count} ratings, taken back"


def override_without_reason(person: Person) -> str:
    """Forget the reason, and be asked for it."""
    _, rating, box = _rate(person)
    if box.input_value():
        raise NotNow
    box.press("Enter")
    person.sees("The reason is empty")
    person.button("Discard").click()
    person.quiet()
    return f"{rating} was refused"


def _rate(person: Person) -> tuple[Locator, int, Locator]:
    """Choose another rating for a question of the passage, by key or by click.

    Returns:
        The question, the rating, and the field for the reason.
    """
    rows = person.page.locator(f".st-key-{RATINGS} .row")
    rows = rows.filter(has=person.page.locator(".cell:enabled"))
    if not rows.count():
        raise NotNow
    # Told by its words: its place changes when somebody saves another bank, or overrides.
    words = rows.nth(person.random.randrange(rows.count())).locator(".words").inner_text()
    row = rows.filter(has_text=words).first
    free = row.locator(".cell:enabled:not(.on):not(.draft)")
    cell = free.nth(person.random.randrange(free.count()))
    rating = int(cell.inner_text())
    with person.drawn():
        if person.chance(0.5):
            row.focus()
            person.page.keyboard.press(str(rating))
        else:
            cell.click()
    return row, rating, person.page.get_by_role("textbox", name="Reason")


def withdraw_override(person: Person) -> str:
    """Withdraw any override, one's own or another's, in the list of all."""
    said = person.unfold(re.compile(r"^All overrides \([1-9]"), "Withdraw").inner_text()
    buttons = person.button("Withdraw")
    person.warned += ["no such override any more"]
    with person.drawn():
        buttons.nth(person.random.randrange(buttons.count())).click()
    if not person.there(person.page.get_by_text("no such override any more")):
        person.expected = ["withdraw override"]
    return f"of {said}"


def settle(person: Person) -> str:
    """Settle the open disagreement: with a comment, a dispute, an override or an edit of the question."""
    case = _open_case(person)
    form = case.get_by_role("form", name="Settle this case")
    if not form.count():
        raise NotNow
    ways = form.get_by_role("radiogroup", name="Settle by").locator("label")
    how = person.random.choice(ways.all_inner_texts())
    ways.filter(has_text=how).click()
    reason = person.sign("looked at it")
    rating = person.random.randrange(6)
    questions = 0
    if how == "Override ratings":
        questions = form.locator("[data-overrides]:checked").count()
        with person.drawn():
            form.get_by_role("radiogroup", name="New rating").locator("label").nth(rating).click()
        expect(form.locator(".effect")).not_to_be_empty(timeout=PATIENCE)
    form.get_by_role("textbox").fill(reason)
    done = form.get_by_role("button").last
    label = done.inner_text()
    with person.drawn():
        done.click()
    if person.there(person.page.locator(".news").get_by_text("was not saved")):
        # Others settled it first, or gave it another label.
        return f"{how}: refused"
    person.expected = ["settle disagreement"]
    if how == "Override ratings":
        person.overridden[reason] = rating
        person.expected = ["override"] * questions + ["settle disagreement"] * ("Settle" in label)
    if how == "Edit the question":
        person.expected = []
        expect(person.heading("Question bank")).to_be_visible(timeout=PATIENCE)
        person.quiet()
    return f"{how}: {label}"


def next_case(person: Person) -> str:
    """On to the next case, or back, by button or by key."""
    name, key = person.random.choice([("Next ›", "Alt+j"), ("‹ Previous", "Alt+k")])
    button = _open_case(person).get_by_role("button", name=name)
    if not button.count() or not button.is_enabled():
        raise NotNow
    with person.drawn():
        if person.chance(0.5):
            person.page.keyboard.press(key)
        else:
            button.click()
    return person.page.locator(".case h2").inner_text()


def reopen(person: Person) -> str:
    """Put a settled disagreement back into the queue."""
    view = person.page.get_by_role("radio", name="Settled", exact=True)
    if not view.is_checked():
        with person.drawn():
            view.click()
    buttons = person.page.locator("[class*=st-key-reopen-]").get_by_role("button")
    if not buttons.count():
        raise NotNow
    with person.drawn():
        buttons.first.click()
    person.expected = ["reopen disagreement"]
    return "the newest"


def order(person: Person) -> str:
    """Look at the disagreements in another order, or at another list."""
    box = person.page.get_by_role("combobox", name=re.compile("Order$")).first
    if person.there(box) and person.chance(0.5):
        here = box.input_value()
        bring_into_view(box)
        box.click()
        options = person.page.get_by_role("listbox").get_by_role("option")
        expect(options.first).to_be_visible(timeout=PATIENCE)
        chosen = person.random.choice([name for name in options.all_inner_texts() if name != here])
        with person.drawn():
            options.filter(has_text=re.compile(f"^{re.escape(chosen)}$")).click()
        return chosen
    views = person.page.get_by_role("radiogroup", name="Show", exact=True).get_by_role("radio", checked=False)
    if not views.count():
        raise NotNow
    view = views.nth(person.random.randrange(views.count()))
    name = view.inner_text()
    with person.drawn():
        view.click()
    return name


def cell(person: Person) -> str:
    """Open a cell of the table: as many pairs as it says, or take the filter away."""
    clear = person.page.locator(".filter")
    if clear.count() and person.chance(0.3):
        with person.drawn():
            clear.first.click()
        return "all"
    cells = person.page.locator(".cross .cell:not(:disabled):not([aria-pressed=true])")
    if not cells.count():
        raise NotNow
    # Other orders list a part of a cell.
    if person.there(order := person.page.get_by_role("combobox", name=re.compile("Order$")).first):
        person.pick(order, "Worst first")
    chosen = cells.nth(person.random.randrange(cells.count()))
    count = chosen.inner_text()
    if not person.page.get_by_role("switch", name="Show settled").is_checked():
        with person.drawn():
            person.page.locator(".st-key-show_settled label").first.click()
    with person.drawn():
        chosen.click()
    person.sees(re.compile(rf"^{count} pairs?$"))
    return f"{count} pairs"


def _open_case(person: Person) -> Locator:
    view = person.page.get_by_role("radio", name="Disagreements", exact=True)
    if not view.count():
        raise NotNow
    if not view.is_checked():
        with person.drawn():
            view.click()
    return person.page.get_by_role("region", name="Open case")
