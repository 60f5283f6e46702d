"""Prompts: read them, copy and edit them, replace their examples, and try one on a question and a
passage.
"""

from collections.abc import Mapping

import streamlit as st

from exam_workbench import bank, errors, graders, grading
from exam_workbench.store import Project
from pages.parts.graders import grader_setup, trial_form
from pages.parts.shared import presses, ui

FORMS = {
    "rating": "a rating",
    "yes-no": "Yes or No",
    "letter": "a letter",
    "text": "words",
    "json": "JSON",
}
KIND_NAMES = {"question": "questions", "nugget": "nuggets", "choice": "multiple choice"}
ABOUT_QUERIES = ("direct", "generate questions", "generate nuggets")
WHERE_ASKED = {
    "verify": "Used by graders that extract answers and have a model check them.",
    "generate questions": "Used to draft questions.",
    "generate nuggets": "Used to draft nuggets.",
    "draft answer key": "Used to draft answer keys.",
    "reword question": "Used to draft new wordings of a question.",
    "generate items": "Used by `exam items generate` to draft exam items.",
}
STYLE = ".st-key-prompt-as-yaml textarea { font-family: ui-monospace, Menlo, Consolas, monospace; }"
"""A fixed-width font, since indentation matters in YAML."""


def chosen_name(library: Mapping[str, graders.Prompt]) -> str:
    """Return the prompt in the URL, otherwise that of the plain self-rating grader."""
    name, usual = st.query_params.get("prompt"), graders.usual_prompt("self-rating", {})
    if name is not None and name not in library:
        st.container(key="another-prompt").warning(
            f"Unknown prompt {ui.escape(name)}. Showing {ui.escape(usual)} instead.",
            icon=":material/info:",
        )
    return name if name is not None and name in library else usual


def prompt_list(library: Mapping[str, graders.Prompt], chosen: str) -> None:
    """Draw all prompts, grouped by use."""
    with st.container(key="list-of-prompts"):
        for use, its in graders.USES.items():
            names = sorted(
                (p.name for p in library.values() if p.use == use),
                key=lambda name: library[name].title,
            )
            if names:
                st.caption(its.title)
            for name in names:
                st.button(
                    ui.escape(library[name].title),
                    key=f"open {name}",
                    width="stretch",
                    type="secondary" if name == chosen else "tertiary",
                    on_click=_open_prompt,
                    args=(name,),
                    icon=None if name in graders.built_in_prompts() else ":material/person:",
                )


def _open_prompt(name: str) -> None:
    st.query_params["prompt"] = name


def draw_prompt_facts(prompt: graders.Prompt) -> None:
    """Draw the properties of a prompt."""
    scale = f" from 0 to {prompt.top}" if prompt.form == "rating" else ""
    subjects = (
        "queries"
        if prompt.use in ABOUT_QUERIES
        else ", ".join(KIND_NAMES[kind] for kind in prompt.kinds)
    )
    st.container(key="source").caption(f"Source: {ui.escape(prompt.source)}")
    st.caption(
        f"Name **{ui.escape(prompt.name)}** · for {subjects} · answer: "
        f"{FORMS[prompt.form]}{scale} · variables: {', '.join(graders.prompt_variables(prompt))} · "
        f"hash {prompt.hash[:16]}"
    )


def draw_prompt_texts(prompt: graders.Prompt) -> None:
    """Draw the template, the system's text and the examples verbatim."""
    if prompt.system:
        st.caption("System")
        st.code(prompt.system, language=None, wrap_lines=True)
    st.caption("Template")
    st.code(prompt.template, language=None, wrap_lines=True)
    if prompt.example:
        with st.expander(f"Worked examples ({len(prompt.examples)})"):
            st.caption("Template of an example")
            st.code(prompt.example, language=None, wrap_lines=True)
            for example in prompt.examples:
                st.markdown(f"**{ui.escape(example.question)}**")
                st.text(example.passage)
                st.caption(f"Answer: {ui.escape(example.answer)}")


def draw_earlier_versions(project: Project, prompt: graders.Prompt) -> None:
    """Draw the earlier versions of a project's prompt; grades may name each by its hash."""
    states = [state for state in bank.prompt_versions(project) if state.prompt.name == prompt.name]
    if len(states) > 1:
        with st.expander(f"Earlier versions ({len(states) - 1})"):
            st.caption("Saving keeps earlier versions. Their grades stay under their hashes.")
            names = {
                state.made_at.isoformat(): (
                    f"{state.made_at:%Y-%m-%d %H:%M} · {state.author} · {state.prompt.hash[:16]}"
                )
                for state in reversed(states[:-1])
            }
            picked = st.selectbox(
                "Version", list(names), format_func=names.__getitem__, key=f"state of {prompt.name}"
            )
            state = next(state for state in states if state.made_at.isoformat() == picked)
            st.code(graders.write_prompt(state.prompt), language="yaml", wrap_lines=True)
            st.button(
                "Edit this version",
                icon=":material/history:",
                key="edit state",
                on_click=_begin_draft,
                args=(prompt.name, state.prompt),
            )


def _draft_key(opened: str) -> str:
    """Return the key of a prompt's editor; it is in the session while the prompt is edited."""
    return f"yaml {opened}"


def _begin_draft(opened: str, prompt: graders.Prompt) -> None:
    st.session_state[_draft_key(opened)] = graders.write_prompt(prompt)


def begin_editing(library: Mapping[str, graders.Prompt], prompt: graders.Prompt) -> None:
    """Draw the button that opens the editor; for a built-in prompt, with a new name."""
    fixed = prompt.name in graders.built_in_prompts()
    with st.container(horizontal=True):
        if not fixed:
            st.button(
                "Edit",
                icon=":material/edit:",
                key="edit prompt",
                on_click=_begin_draft,
                args=(prompt.name, prompt),
            )
        st.button(
            "Copy and edit",
            icon=":material/content_copy:",
            key="copy prompt",
            on_click=_begin_draft,
            args=(prompt.name, grader_setup.draft_of(prompt, library)),
        )
    if fixed:
        st.container(key="built-in").caption(
            ":material/lock: Built-in prompts cannot be changed, so that grades stay comparable."
            " You can edit a copy with a different name, which makes a new grader."
        )


def draw_editor(project: Project, opened: graders.Prompt) -> graders.Prompt | None:
    """Draw the editable text of a prompt and its errors; return the prompt, or None while the text
    is invalid.
    """
    key = _draft_key(opened.name)
    _take_examples(opened.name, key)
    text = st.container(key="prompt-as-yaml").text_area(
        "Prompt (YAML)",
        height=420,
        key=key,
        persist_state="session",
        help=(
            "Required: name, title, source, use, form, template. Optional: system, top, kinds,"
            " example, examples."
        ),
    )
    drafted = None
    with ui.errors():
        drafted = graders.read_prompt(text, "Prompt")
    if drafted is not None and drafted.name in graders.built_in_prompts():
        st.container(key="error built-in-prompt 0").error(
            f"{ui.escape(drafted.name)} is a built-in prompt and cannot be changed.",
            icon=":material/lock:",
        )
        st.caption(
            "Use another name, such as"
            f" {ui.escape(grader_setup.new_name(drafted.name, bank.list_prompts(project)))}."
        )
    with st.container(horizontal=True):
        # Always enabled: the text is known after the field loses focus, which the click on the
        # button causes.
        save = presses.button("Save", type="primary", icon=":material/save:", key="save prompt")
        st.button(
            "Discard",
            icon=":material/close:",
            key="discard prompt",
            on_click=st.session_state.pop,
            args=(key, None),
        )
    if save and drafted is not None and drafted.name not in graders.built_in_prompts():
        with ui.errors(rerun=True):
            changed = bank.save_prompt(project, drafted, ui.author())
            st.toast(f"{'Saved' if changed else 'No changes in'} {ui.escape(drafted.name)}.")
            del st.session_state[key]
            _open_prompt(drafted.name)
    return drafted


def _take_examples(name: str, key: str) -> None:
    """Replace the examples of the drafted prompt by those of an uploaded file."""
    try:
        drafted = graders.read_prompt(st.session_state[key], "Prompt")
    except errors.FileError:
        # The editor shows the error; examples can be replaced after it is corrected.
        return
    if not drafted.example:
        return
    with st.expander("Examples from a file"):
        st.caption(
            "Replaces the examples. The file is a YAML or JSON list of mappings with question,"
            " passage and answer."
        )
        file = st.file_uploader("Examples", ["yaml", "yml", "json"], key=f"examples for {name}")
        if file is not None and presses.button(
            f"Use the examples in {ui.escape(file.name)}", key="use examples"
        ):
            try:
                changed = graders.with_examples(drafted, file.getvalue().decode("utf-8"), file.name)
            except UnicodeDecodeError:
                st.container(key="error not-utf-8 0").error(
                    "The file is not UTF-8 text. Save it as UTF-8 and upload it again.",
                    icon=":material/error:",
                )
            except errors.WorkbenchError as error:
                ui.show_error(error)
            else:
                st.session_state[key] = graders.write_prompt(changed)


def try_it(project: Project, prompt: graders.Prompt) -> None:
    """Draw the filled-in prompt, and the answer of a model on demand."""
    st.header("Trial", anchor=False)
    pair = trial_form.choose_pair(
        project,
        lambda query_id: grading.questions_for(project, prompt, query_id),
        f"try {prompt.name}",
    )
    if pair is None:
        return
    chosen = None
    if prompt.use in graders.GRADERS and st.toggle(
        "Ask a model", key="with a model", persist_state="session"
    ):
        with st.container(border=True):
            chosen = grader_setup.choose_grader(project, "model", prompt)
        fence = chosen is not None and bool(chosen.grader.spec.parameters.get("fence"))
    else:
        fence = "context" in graders.prompt_variables(prompt) and st.checkbox(
            "Mark the passage as data", key="fenced"
        )
    if chosen is not None:
        trial_form.draw_trial(project, chosen, pair, f"try {prompt.name}")
    with ui.errors(), st.expander("Filled-in prompt", expanded=True):
        trial_form.show_messages(
            grading.fill_for_question(project, prompt, pair.question, pair.passage, fence)
        )
    if prompt.use not in graders.GRADERS:
        st.caption(WHERE_ASKED[prompt.use])


project = ui.require_project(STYLE)
library = bank.list_prompts(project)
name = chosen_name(library)
left, right = st.columns([3, 8], gap="medium")
with left:
    prompt_list(library, name)
with right:
    shown: graders.Prompt | None = library[name]
    st.header(ui.escape(library[name].title), anchor=False)
    draw_prompt_facts(library[name])
    if _draft_key(name) in st.session_state:
        shown = draw_editor(project, library[name])
    else:
        begin_editing(library, library[name])
        draw_prompt_texts(library[name])
        if name not in graders.built_in_prompts():
            draw_earlier_versions(project, library[name])
    if shown is not None:
        try_it(project, shown)
