"""The Prompts screen: reading, copying, editing and trying prompts, and replacing examples."""

import json
from dataclasses import replace
from typing import Any

import pytest

from exam_workbench.bank import list_prompts, prompt_versions, save_prompt
from exam_workbench.graders import built_in_prompts, write_prompt
from exam_workbench.graders._prompts.prompt import Example
from exam_workbench.store import Project
from exam_workbench.types import Question
from pages.parts.shared import look
from tests.made.endpoint_server import EndpointServer, chat
from tests.made.projects import fill, filled_project
from tests.made.screens import MARKUP, Screen, as_text, named, numbers, shown_project, visit
from tests.pages.test_grading_page import RUNS, codes

QUESTIONS = [
    Question("q1/a", "q1", "What is gold?", answer_key="a metal"),
    Question("q1/c", "q1", "Which is it?", kind="choice", answer_key="clay", choices=("tin", "clay")),
]
OWN = replace(built_in_prompts()["self-rating"], name="mine", title="My prompt", source="ours")


def put_questions(project: Project) -> None:
    fill(project, QUESTIONS, {}, RUNS)


asked = filled_project(put_questions)


looked_at = shown_project(put_questions)


def opened(name: str) -> Screen:
    return visit("prompts", prompt=name)


def editor(app: Screen) -> Any:
    return named(app.text_area, "yaml")


def write(app: Screen, text: str) -> Screen:
    editor(app).set_value(text)
    return app.run()


class TestReading:
    def test_built_in_prompts_are_listed_and_can_be_opened(self, shared: Project) -> None:
        app = visit("prompts")
        listed = {button.key.removeprefix("open ") for button in app.button if str(button.key).startswith("open ")}
        assert listed == set(built_in_prompts())
        app.press("open Thomas")
        assert app.query_params["prompt"] in ("Thomas", ["Thomas"])
        assert codes(app)[0] == built_in_prompts()["Thomas"].template
        app = opened("gone")
        assert app.shows("another-prompt", "gone", "self-rating")
        assert built_in_prompts()["self-rating"].template in codes(app)

    @pytest.mark.parametrize("name", ["Thomas", "Sun_few", "QA-judge", "choice", "verify", "questions-by-subtopic"])
    def test_prompt_shows_template_source_hash_and_examples(self, shared: Project, name: str) -> None:
        prompt = built_in_prompts()[name]
        app = opened(name)
        shown = app.plain_texts()
        assert prompt.template in codes(app)
        assert prompt.source in shown
        assert prompt.hash[:16] in shown
        if prompt.examples:
            assert [len(prompt.examples)] in [numbers(box.label) for box in app.expander]
            assert prompt.examples[0].passage in [text.value for text in app.text]

    def test_external_text_is_shown_literally(self, asked: Project) -> None:
        assert opened("QA-judge").shows("nothing-to-ask"), "no question fits the prompt"
        save_prompt(asked, replace(OWN, title=MARKUP, source=MARKUP, template=OWN.template + MARKUP), "ann")
        app = opened("mine")
        assert as_text(app.header[0].value) == MARKUP
        assert MARKUP in codes(app)[0]
        source = next(caption.value for caption in app.caption if caption.value.startswith("Source: "))
        assert as_text(source.partition(": ")[2]) == MARKUP


class TestEditing:
    def test_copy_of_built_in_prompt_is_saved_under_a_new_name(self, asked: Project) -> None:
        app = opened("Thomas").press("copy prompt")
        write(app, editor(app).value.replace("You are a search quality rater", "You judge"))
        app.press("save prompt")
        (state,) = prompt_versions(asked)
        assert (state.prompt.name, state.author) == ("Thomas-2", "ann")
        assert "You judge" in state.prompt.template
        assert state.prompt.hash != built_in_prompts()["Thomas"].hash
        assert "You judge" in codes(app)[0]

    def test_built_in_prompt_cannot_be_overwritten(self, shared: Project) -> None:
        app = opened("Thomas")
        assert app.shows("built-in")
        app = app.press("copy prompt")
        write(app, write_prompt(built_in_prompts()["Thomas"]))
        app.check_refused("built-in-prompt", "Thomas")
        app.press("save prompt")
        assert prompt_versions(shared) == []

    def test_invalid_prompt_is_not_saved_and_can_be_discarded(self, shared: Project) -> None:
        app = opened("self-rating").press("copy prompt")
        text = editor(app).value
        for wrong, code, value in (
            (text.replace("{context}", "{contxt}"), "invalid-prompt", "context"),
            ("name: [x\n" + text, "invalid-yaml", "2"),
            (text.replace("form: rating", "form: poem"), "invalid-prompt", "poem"),
            (text + "colour: red\n", "invalid-prompt", "colour"),
        ):
            write(app, wrong)
            app.check_refused(code, value)
            app.press("save prompt")
            assert prompt_versions(shared) == []
        app.press("discard prompt")
        assert not app.text_area
        app.press("copy prompt")
        assert editor(app).value == text

    def test_own_prompt_shows_its_earlier_versions(self, asked: Project) -> None:
        save_prompt(asked, OWN, "ann")
        app = opened("mine").press("edit prompt")
        write(app, editor(app).value.replace("Can the question", "Could the question"))
        app.press("save prompt")
        assert [state.prompt.template[:5] for state in prompt_versions(asked)] == ["Can t", "Could"]
        assert [1] in [numbers(box.label) for box in app.expander]
        assert write_prompt(OWN).strip() in codes(app)
        app.press("edit state")
        assert editor(app).value == write_prompt(OWN)

    def test_examples_are_replaced_from_a_file(self, asked: Project) -> None:
        app = opened("Sun_few").press("copy prompt")
        before = editor(app).value
        app.file_uploader[0].upload("ours.json", b'[{"question": "why"}]')
        app.run()
        app.press("use examples")
        app.check_refused("invalid-prompt", 1, "question", "passage", "answer")
        assert editor(app).value == before
        ours = [{"question": "why", "passage": "because", "answer": "Yes"}]
        app.file_uploader[0].upload("ours.json", json.dumps(ours).encode())
        app.run()
        app.press("use examples")
        app.press("save prompt")
        assert list_prompts(asked)["Sun_few-2"].examples == (Example("why", "because", "Yes"),)


class TestTrying:
    def test_prompts_and_drafts_are_previewed_without_a_model(self, shared: Project) -> None:
        app = opened("self-rating")
        assert "Question: What is gold?\nContext: text of p1" in codes(app)[-1]
        app.choose("passage of q1", "text of p2")
        assert "Context: text of p2" in codes(app)[-1]
        app = app.press("copy prompt")
        write(app, editor(app).value.replace("Can the question", "Could the question"))
        assert codes(app)[-1].startswith("Could the question")

    def test_endpoint_receives_the_draft_with_fenced_passage(self, asked: Project) -> None:
        with EndpointServer(lambda seen: chat("Yes")) as server:
            app = opened("Sun").press("copy prompt")
            write(app, editor(app).value.replace("Given a passage", "Given one passage"))
            app.choose("with a model", True).choose("back_end", "openai").choose("model/direct//openai model", "mini")
            app.choose("base_url", server.url)
            app.press("ask")
            seen = server.seen[-1]
        assert "Given one passage" in seen.prompt
        assert "<passage-" in seen.prompt
        assert app.drawn_grade().startswith(f"{look.rating_html(1)}<span>of 1</span>")
        assert seen.prompt in codes(app)
