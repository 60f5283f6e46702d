"""Citations on the Passages screen: a sentence beside its cited passages, valued by key, and the next one opens."""

from __future__ import annotations

from pathlib import Path

from exam_workbench.leaderboard import citations
from exam_workbench.project import Project
from tests.made.cited import put_cited
from tests.made.screens import keyed, named, note, numbers, press, served, shows, sound, visit

__all__ = ["served"]


def own(project: Project) -> dict[tuple[str, int, str], int | None]:
    found = citations(project, None, "good", "salts", "tester")
    return {(one.passage_id, one.position, one.cited_id): one.own for one in found}


def test_a_sentence_is_valued_beside_its_passages(project: Project, tmp_path: Path) -> None:
    put_cited(project, tmp_path)
    assert named(visit("passages").segmented_control, "part").value == "Passages"
    app = visit("passages", part="Citations")
    assert sorted(one.proto.shortcut for one in keyed(app.button, "support")) == ["0", "1", "2"]
    assert not shows(app, "known support 1")
    press(app, "support 1 2")
    people = {person for (person,) in project.rows("SELECT author FROM support_values")}
    assert project.rows("SELECT value FROM support_values") == [(2,)] and len(people) == 1
    # The next sentence has two citations: the keys set the first one's value, then the second one's.
    assert [bool(one.proto.shortcut) for one in keyed(app.button, "support")] == [True] * 3 + [False] * 3
    press(app, "support 1 2")
    assert [bool(one.proto.shortcut) for one in keyed(app.button, "support")] == [False] * 3 + [True] * 3
    assert numbers(note(app, "known support 1"))[0] == 2
    press(app, "withdraw 1")
    values = project.rows("SELECT value FROM personal_support")
    assert values == [(2,)] and len(project.rows("FROM support_values")) == 3
    sound(app)
