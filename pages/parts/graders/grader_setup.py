"""Choosing a grader and setting it up: saved graders, and new ones of every kind."""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from exam_workbench import bank, choices, errors, graders, text
from exam_workbench.store import Project, as_name
from pages.parts.shared import job_plan, model_place, presses, scoring_settings, ui


class Form:
    """The widgets of a grader's parameters; `values` has those that differ from the defaults.

    Args:
        prefix: begins the keys of the widgets, so that every grader has its own values.
        stored: initial parameters.
    """

    def __init__(self, prefix: str, stored: Mapping[str, Any]) -> None:
        self.prefix, self.stored, self.values, self.place = prefix, stored, dict[str, Any](), st

    def keep_value(self, name: str, value: Any, default: Any = None) -> Any:
        """Keep a value, unless it is the default and was not stored; return it."""
        if value not in (None, "") and (value != default or name in self.stored):
            self.values[name] = value
        return value

    def options(self, name: str, about: str | None = None) -> dict[str, Any]:
        """Return the options of every widget: its own key, its help, and persistence across
        screens.
        """
        return {"key": f"{self.prefix} {name}", "persist_state": "session", "help": about}

    def for_choice(self, choice: str, fits: bool) -> Self:
        """Return the form for parameters that depend on a choice; each choice has its own values
        and defaults.

        Args:
            fits: whether the stored parameters belong to this choice.
        """
        dependent = type(self)(f"{self.prefix}/{choice}", self.stored if fits else {})
        dependent.values = self.values
        return dependent

    def in_container(self, place: DeltaGenerator) -> Self:
        """Return the same form, with its widgets in a container."""
        placed = copy(self)
        placed.place = place
        return placed

    def text(self, name: str, label: str, default: str = "", about: str | None = None) -> str:
        """Draw a line of text and return it; an empty one means the default."""
        typed = self.place.text_input(
            label,
            str(self.stored.get(name, "")),
            placeholder=default or None,
            **self.options(name, about),
        )
        return str(self.keep_value(name, typed.strip()) or default)

    def number(
        self, name: str, label: str, default: Any, low: Any, high: Any, about: str | None = None
    ) -> None:
        """Draw a number; it may be empty if the default is None."""
        given = self.place.number_input(
            label, low, high, self.stored.get(name, default), **self.options(name, about)
        )
        self.keep_value(name, given, default)

    def select(
        self,
        name: str,
        label: str,
        values: Sequence[str],
        default: str,
        names: Mapping[str, str] | None = None,
        about: str | None = None,
    ) -> str:
        """Draw a choice of a value and return it."""
        start = self.stored.get(name, default)
        index = list(values).index(start) if start in values else 0
        picked = self.place.selectbox(
            label,
            values,
            index,
            lambda value: (names or {}).get(value, value),
            **self.options(name, about),
        )
        return str(self.keep_value(name, picked, default))

    def check(self, name: str, label: str, default: bool, about: str | None = None) -> None:
        """Draw a checkbox."""
        self.keep_value(
            name,
            self.place.checkbox(
                label, bool(self.stored.get(name, default)), **self.options(name, about)
            ),
            default,
        )


BACK_END_NAMES = {"transformers": "On this computer", "openai": "Endpoint"}
CHECK_NAMES = {
    "words": "Compare words",
    "edit-distance": "Compare words, edit distance only",
    "model": "Ask a model",
}
BY_NAMES = {"likelihood": "Likelihood of each choice", "letter": "Letter written by the model"}
API_NAMES = {"chat": "Chat", "completions": "Plain completions"}
NORMALISATION_NAMES = {"tokens": "Tokens", "characters": "Characters", "none": "Nothing"}
STRUCTURED = {"auto": "Automatic", "json": "Always", "text": "Never"}


@ui.errors()
def choose_grader(
    project: Project, key: str, prompt: graders.Prompt | None = None
) -> job_plan.ChosenGrader | None:
    """Draw the choice and the settings of a grader; return None and show why while they are
    invalid.

    Args:
        key: name of the choice, also in the URL.
        prompt: restricts the choice to graders that use it, saved or not; None for all graders.
    """
    if follow := st.session_state.pop(f"{key} follows", None):
        st.session_state[key] = follow
    saved_graders = {f"saved:{named.name}": named for named in bank.named_graders(project)}
    kinds = list(graders.GRADERS) if prompt is None else [prompt.use]
    fitting = [option for option, named in saved_graders.items() if named.kind in kinds]
    names = {option: f"{saved_graders[option].name} (saved)" for option in fitting} | {
        kind: graders.GRADERS[kind].title for kind in kinds
    }
    options = [*kinds, *fitting] if prompt is None else [*fitting, *kinds]
    # The default is the grader of the scoring settings.
    spec = scoring_settings.current_grader(project)
    again = bank.settings_again(project, spec) if spec and prompt is None else None
    usual = (f"saved:{again.name}" if again.name else again.kind) if again else None
    if prompt is None and not saved_graders:
        _choose_place(key)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    option = left.selectbox(
        "Grader",
        options,
        index=options.index(usual) if usual in options else 0,
        key=key,
        bind="query-params",
        format_func=lambda option: names.get(option, option),
    )
    named = saved_graders.get(option)
    kind = named.kind if named else option
    st.caption(ui.escape(graders.GRADERS[kind].about))
    library = bank.list_prompts(project) | ({} if prompt is None else {prompt.name: prompt})
    stamp = f"{named.made_at:%Y%m%d%H%M%S%f}" if named else ""
    stored = named.parameters if named else again.parameters if again and usual == option else {}
    form = Form(f"{key}/{option}/{stamp}", stored)
    parameters = (
        dict(form.stored) if kind == "embedding" else _draw_settings(form, kind, library, prompt)
    )
    chosen = (
        None
        if parameters is None
        else job_plan.ChosenGrader(_make_grader(kind, parameters, library), kind, parameters)
    )
    if chosen is not None and prompt is None:
        if spec and spec.fingerprint not in chosen.grader.spec.fingerprints:
            st.container(key="another-grader").caption(
                f":material/info: Labels come from the grades of {ui.escape(spec.name)}. To use"
                " this grader's grades instead, select it with Change at the top of Passages,"
                " Leaderboard and other screens."
            )
        with right:
            _save_or_remove(project, key, chosen, named)
    return chosen


PLACES = {"embedding": "Embedding", "transformers": "Model on this computer", "openai": "Endpoint"}
LANGUAGE_MODEL = "self-rating"
"""The kind of grader that is chosen with the place of a language model."""


def _choose_place(key: str) -> None:
    """Draw the first choice of a new grader: similarity, or a language model here or at an
    endpoint.
    """
    option = st.session_state.get(key)
    back_end = f"{key}/{option}/ back_end"
    now = (
        "embedding"
        if option == "embedding" or option not in graders.GRADERS
        else st.session_state.get(back_end, "transformers")
    )
    place = f"{key} place"
    st.session_state[place] = now if now in PLACES else "transformers"

    def set_kind() -> None:
        picked = st.session_state[place]
        st.session_state[key] = "embedding" if picked == "embedding" else LANGUAGE_MODEL
        if picked != "embedding":
            st.session_state[f"{key}/{LANGUAGE_MODEL}/ back_end"] = picked

    st.segmented_control(
        "Kind of model",
        list(PLACES),
        format_func=PLACES.__getitem__,
        key=place,
        required=True,
        on_change=set_kind,
        help=(
            "The embedding measures similarity, without a key or GPU. Language"
            " models read the passages."
        ),
    )


def _make_grader(
    kind: str, parameters: dict[str, Any], library: Mapping[str, graders.Prompt]
) -> graders.Grader:
    """Return the same grader object while the settings are equal, so that its model is not loaded
    again.
    """
    grader = graders.make_grader(kind, parameters, library)
    grader_before = st.session_state.get("grader at hand")
    # After a change of an API key, the grader is made again.
    settings = (grader.spec, parameters, graders.current_access())
    if grader_before is None or grader_before[0] != settings:
        st.session_state["grader at hand"] = grader_before = (settings, grader)
    return grader_before[1]


def _save_or_remove(
    project: Project, key: str, chosen: job_plan.ChosenGrader, named: bank.NamedGrader | None
) -> None:
    with st.container(horizontal=True, horizontal_alignment="right"):
        with st.popover("Save grader", icon=":material/save:", key=f"{key} saving"):
            name = st.text_input(
                "Name", named.name if named else chosen.grader.spec.name, key=f"{key} name {named}"
            )
            st.caption("Saved in the project for all its people. Keys are never saved.")
            if presses.button("Save", key=f"{key} save", type="primary"):
                with ui.errors(rerun=True):
                    bank.save_named_grader(
                        project, name, chosen.kind, chosen.parameters, ui.author()
                    )
                    st.session_state[f"{key} follows"] = f"saved:{as_name(name)}"
        if named is not None:
            with st.popover("Remove grader", icon=":material/delete:", key=f"{key} removing"):
                st.caption("Removes the settings of this grader. Its grades are kept.")
                if presses.button("Remove", key=f"{key} remove"):
                    with ui.errors(rerun=True):
                        bank.remove_named_grader(project, named.name, ui.author())
                        st.session_state[f"{key} follows"] = named.kind


def _draw_settings(
    form: Form, kind: str, library: Mapping[str, graders.Prompt], prompt: graders.Prompt | None
) -> dict[str, Any] | None:
    """Draw the settings of a grader that uses a language model; return None while a required value
    is missing.
    """
    if kind == "extractive":
        return _draw_extractive(form, library)
    first, second, third = st.columns(3)
    where = form.in_container(first).select(
        "back_end",
        "Model location",
        choices.BACK_ENDS,
        graders.back_end_name(form.stored),
        BACK_END_NAMES,
    )
    form = form.for_choice(where, where == graders.back_end_name(form.stored))
    form.values["back_end"] = where
    checks, addresses = st.container(), st.container()
    model = _choose_model(form, where, "model", graders.LOCAL_MODEL, second, addresses)
    by = None
    if kind == "choice":
        values = graders.CHOICES_BY[1:] if where == "openai" else graders.CHOICES_BY
        by = form.in_container(first).select("by", "Choice by", values, values[0], BY_NAMES)
        form = form.for_choice(by, by == form.stored.get("by", by))
        if by == "likelihood":
            form.in_container(second).select(
                "normalise",
                "Divide likelihood by",
                choices.NORMALISATIONS,
                "tokens",
                NORMALISATION_NAMES,
                "Without it, long choices have lower likelihoods. The papers divide by"
                " the number of tokens.",
            )
    with third:
        _choose_prompt(form, kind, where, by, library, prompt)
    if kind == "answer":
        with checks:
            _choose_check(form, library)
    form.check(
        "fence",
        "Mark the passage as data",
        where == "openai",
        "Puts the passage between two marks that it cannot forge. The prompt says that the text"
        " between them is not an instruction. The papers' prompts have no such marks.",
    )
    with st.expander("More settings"):
        if where == "openai":
            _endpoint_details(form)
        else:
            _local_details(form, writes=by != "likelihood")
        form.text(
            "cue",
            "Last line of the prompt",
            "auto",
            "A model that only continues a text needs a prompt that ends where the answer begins."
            " Automatic adds such "
            "a line for plain completions and for causal models without a chat template, if the"
            " prompt has none.",
        )
    if not model:
        st.container(key="name-model").info(
            "Choose a model of the endpoint.", icon=":material/edit:"
        )
        return None
    return form.values


def _choose_model(
    form: Form,
    where: str,
    name: str,
    default: str,
    beside: DeltaGenerator,
    below: DeltaGenerator,
    label: str = "Model",
    about: str | None = None,
) -> str:
    """Draw the choice of a model, and the address of its endpoint; return an empty text while it is
    missing.

    Args:
        name: the parameter for the model.
        default: default model on this computer.
        beside, below: containers of the model and of the address.
    """
    stored = str(form.stored.get(name, ""))
    key = f"{form.prefix} {name}"
    if where == "openai":
        with below:
            address, endpoint = model_place.choose_endpoint(form.stored, form.prefix)
        form.values |= address
        with beside:
            model = model_place.choose_model(stored, endpoint, key, label)
        return str(form.keep_value(name, model))
    with beside:
        model = model_place.choose_local(stored, default, key, label, about)
    return str(form.keep_value(name, model, default))


def _choose_prompt(
    form: Form,
    kind: str,
    where: str,
    by: str | None,
    library: Mapping[str, graders.Prompt],
    prompt: graders.Prompt | None,
) -> None:
    if prompt is not None:
        form.values["prompt"] = prompt.name
        st.text_input(
            "Prompt", prompt.name, disabled=True, key=f"{form.prefix} fixed prompt {prompt.name}"
        )
        return
    forms = {"letter": ("letter",), "likelihood": ("text",)}.get(by or "")
    fitting = [
        p.name for p in library.values() if p.use == kind and (forms is None or p.form in forms)
    ]
    default = graders.usual_prompt(kind, {"back_end": where, "by": by})
    form.select("prompt", "Prompt", fitting, default, about="See the Prompts screen.")


def _choose_check(form: Form, library: Mapping[str, graders.Prompt]) -> str:
    left, right = st.columns(2)
    check = form.in_container(left).select(
        "check",
        "Answer check",
        graders.CHECKS,
        graders.CHECKS[0],
        CHECK_NAMES,
        "Compares the answer with the answer key by words, or asks a model if both mean the"
        " same. By words, a short answer that contains the key also matches, unless only the"
        " edit distance counts.",
    )
    verifying = [prompt.name for prompt in library.values() if prompt.use == "verify"]
    if check == "model":
        form.in_container(right).select("verify_prompt", "Answer check prompt", verifying, "verify")
    return check


def _draw_extractive(form: Form, library: Mapping[str, graders.Prompt]) -> dict[str, Any] | None:
    _choose_model(
        form,
        "transformers",
        "model",
        graders.EXTRACTIVE_MODEL,
        st.container(),
        st.container(),
        about=(
            "A model tuned on SQuAD2: a name on the model hub, or a folder on the app's computer."
        ),
    )
    model = graders.LOCAL_MODEL
    if _choose_check(form, library) == "model":
        first, second = st.columns([2, 3])
        where = form.in_container(first).select(
            "verify_back_end",
            "Check model location",
            choices.BACK_ENDS,
            "transformers",
            BACK_END_NAMES,
        )
        model = _choose_model(
            form,
            where,
            "verify_model",
            graders.LOCAL_MODEL,
            second,
            st.container(),
            "Model that checks answers",
        )
    with st.expander("More settings"):
        _local_details(form, writes=False)
    if not model:
        st.info("Choose the model that checks the answers.", icon=":material/edit:")
        return None
    return form.values


def _local_details(form: Form, writes: bool) -> None:
    # Five columns in one row would be cut in a narrow window.
    columns = [*st.columns(3), *st.columns(3)]
    form.in_container(columns[0]).text(
        "revision", "Revision", about="Branch, tag or commit on the model hub."
    )
    form.in_container(columns[1]).text(
        "device", "Device", "auto", "auto, cpu, cuda, or a numbered GPU such as cuda:0."
    )
    form.in_container(columns[2]).select(
        "dtype",
        "Number format",
        choices.DTYPES,
        "auto",
        about=(
            "Automatic: bfloat16 if the GPU or processor supports it, else float32. They are"
            " different graders."
        ),
    )
    _tokens_in(form.in_container(columns[3]))
    if writes:
        form.in_container(columns[4]).number(
            "num_beams",
            "Beams",
            1,
            1,
            choices.MOST_BEAMS,
            "Texts that beam search keeps at each step. 1 is greedy search and shows the"
            " rating probabilities.",
        )


def _endpoint_details(form: Form) -> None:
    columns = [*st.columns(3), *st.columns(3), *st.columns(3)]
    form.in_container(columns[6]).number(
        "thinking_tokens",
        "Thinking token limit",
        0,
        0,
        graders.MOST_THINKING,
        "For reasoning models: tokens for thinking before the answer, charged as tokens written. If"
        " the limit is too low, the model is cut off before it answers.",
    )
    form.in_container(columns[5]).select(
        "api",
        "API",
        choices.APIS,
        "chat",
        API_NAMES,
        "Plain completions are for models that only continue a text. They have"
        " no structured output.",
    )
    form.in_container(columns[0]).select(
        "structured",
        "Structured output",
        list(STRUCTURED),
        "auto",
        STRUCTURED,
        "Requests JSON with a schema if the answer is one of a few options. Automatic stops"
        " requesting it if the endpoint rejects it.",
    )
    form.in_container(columns[1]).number(
        "temperature", "Temperature", 0.0, 0.0, 2.0, "0 for the likeliest answer."
    )
    form.in_container(columns[2]).number(
        "timeout_s",
        "Timeout (s)",
        None,
        1,
        3600,
        "Time limit of one call in seconds. Empty: 60 at first, up to 600 if the endpoint is slow.",
    )
    form.in_container(columns[3]).number(
        "attempts", "Attempts", 6, 1, 100, "Attempts to make a call before its pair fails."
    )
    _tokens_in(form.in_container(columns[4]))
    extra = form.stored.get("extra")
    graders.check_further_fields(extra, graders.current_access())
    if not graders.current_access().any_address:
        return
    typed = st.text_input(
        "Additional request fields (JSON)",
        json.dumps(extra) if extra else "",
        placeholder='{"seed": 1}',
        **form.options("extra"),
    )
    if typed.strip():
        try:
            fields = json.loads(typed)
        except ValueError as error:
            raise errors.InputError(
                "invalid-further-fields",
                f"The additional request fields are not JSON: {error}.",
                'Enter a JSON object such as {"seed": 1}.',
            ) from error
        if not isinstance(fields, dict):
            raise errors.InputError(
                "invalid-further-fields",
                "The additional request fields are not a JSON object.",
                'Enter a JSON object such as {"seed": 1}.',
            )
        form.keep_value("extra", fields)


def _tokens_in(form: Form) -> None:
    form.number(
        "max_tokens_in",
        "Prompt token limit",
        None,
        1,
        1_000_000,
        "Longer prompts get a shortened passage and a note in the grade. Empty:"
        " the model's own limit.",
    )


def new_name(name: str, names_taken: Iterable[str]) -> str:
    """Return a variation of a name that is not taken."""
    return text.free_name(name[:70], {name[:70], *names_taken})


def draft_of(prompt: graders.Prompt, names_taken: Iterable[str]) -> graders.Prompt:
    """Return a copy with a new name; its source states the original."""
    name = new_name(prompt.name, names_taken)
    return replace(
        prompt, name=name, title=f"{prompt.title} ({name})", source=f"Changed from {prompt.name}"
    )
