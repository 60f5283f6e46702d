"""Choosing the place of a model: an offered endpoint, an address, a folder or a hub name."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import streamlit as st

from exam_workbench import choices, errors, graders, grading
from exam_workbench.store import Project
from pages.parts.shared import ui, visitor

OTHER = ""
"""The choice of a typed address."""
HOW = "Ask the administrator of the server to set one up (docs/how-to/use-an-endpoint.md)."


def choose_endpoint(
    stored: Mapping[str, Any], key: str, bound: bool = True
) -> tuple[dict[str, str], graders.OfferedEndpoint | None]:
    """Draw the choice of an offered endpoint; on an unshared localhost also an address and its key.

    Args:
        stored: initial settings.
        key: prefix of the widgets' keys.
        bound: whether stored settings that this visitor may not use raise an error; otherwise they
            are ignored.

    Returns:
        The settings of the address, and the offered endpoint; None for a typed address.

    Raises:
        InputError: the visitor has no allowed choice, the stored address is not allowed, or an
            address is invalid.
    """
    offered = {endpoint.name: endpoint for endpoint in graders.offered_endpoints()}
    free = graders.current_access().any_address
    if not offered and not free:
        raise errors.InputError("no-endpoint-offered", "No endpoint is set up on this server.", HOW)
    stored_address = stored.get("base_url")
    offered_endpoint = next(
        (
            name
            for name, endpoint in offered.items()
            if stored_address
            and graders.same_address(endpoint.base_url, stored_address)
            and stored.get("key_variable") in (None, endpoint.key_variable)
        ),
        None,
    )
    set_up = stored_address or "openai" in (
        stored.get("back_end"),
        stored.get("verify_back_end"),
    )
    if bound and set_up and offered_endpoint is None and not free:
        raise errors.InputError(
            "address-not-offered",
            "The endpoint of this grader is not set up on this server:"
            f" {stored_address or graders.usual_address()}.",
            f"Available: {', '.join(offered)}. Set up a grader of your own with an"
            " available endpoint.",
        )
    options = [*offered, OTHER] if free else [*offered]
    name = OTHER
    if offered:
        start = offered_endpoint or (OTHER if stored_address or stored.get("model") else options[0])
        name = st.selectbox(
            "Endpoint",
            options,
            options.index(start) if start in options else 0,
            format_func=lambda name: name or "Another address",
            key=f"{key} endpoint",
            persist_state="session",
        )
    if name != OTHER:
        endpoint = offered[name]
        settings = {"base_url": endpoint.base_url} | (
            {"key_variable": endpoint.key_variable} if endpoint.key_variable else {}
        )
        st.caption(
            ":material/cloud:"
            f" {ui.escape(graders.checked_host(endpoint.base_url))}{_describe_limits(endpoint)}"
        )
        return settings, endpoint
    return _draw_typed_address(stored, key), None


def _describe_limits(endpoint: graders.OfferedEndpoint) -> str:
    limits = [f"{endpoint.in_flight:,} parallel calls"] if endpoint.in_flight else []
    limits += [f"{endpoint.max_calls:,} calls per job"] if endpoint.max_calls else []
    limits += [f"a cost of {endpoint.max_cost:,g} per job"] if endpoint.max_cost is not None else []
    return f" · limits: {', '.join(limits)}" if limits else ""


def _draw_typed_address(stored: Mapping[str, Any], key: str) -> dict[str, str]:
    """Draw the fields of a typed address and its key; return the settings."""
    left, right = st.columns([3, 2])
    typed = f"{key} base_url"
    typed_address = left.text_input(
        "Address",
        stored.get("base_url", ""),
        placeholder=graders.usual_address(),
        key=typed,
        persist_state="session",
        help=(
            "Address of an OpenAI-compatible endpoint: OpenAI, vLLM, Ollama, llama.cpp or LiteLLM."
        ),
    ).strip()
    address = typed_address or graders.usual_address()
    place, host = graders.address_origin(address), graders.checked_host(address)
    box = f"{key} key"
    right.text_input(
        "Key for this address",
        type="password",
        key=box,
        placeholder="Only if no key is set up",
        autocomplete="off",
        on_change=_take_key,
        args=(typed, box),
        help=(
            "The key stays in memory for this browser window and is sent only to this"
            " address. It is not saved."
        ),
    )
    settings = {"base_url": typed_address} if typed_address else {}
    if stored.get("key_variable") and stored.get("base_url", "") == typed_address:
        # The author of the grader's settings may have bound this variable to the address.
        settings["key_variable"] = str(stored["key_variable"])
    _draw_key(address, host, place, settings.get("key_variable"), key)
    return settings


def _take_key(typed: str, box: str) -> None:
    # The person may have changed the address after the screen was drawn. The key is for the address
    # that they see.
    address = str(st.session_state.get(typed) or "").strip() or graders.usual_address()
    # An invalid address is reported by the screen, which then asks for the key again.
    with suppress(errors.InputError):
        visitor.type_key(graders.address_origin(address), str(st.session_state.get(box) or ""))
    # Otherwise the widget would send the key back to the browser.
    st.session_state[box] = ""


def _draw_key(address: str, host: str, place: str, variable: str | None, key: str) -> None:
    host_shown = ui.escape(host)
    if place in graders.current_access().typed:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.container(key=f"key typed {key}").caption(
                f":material/key: Using the key that you typed for {host_shown}."
            )
            st.button(
                "Forget the key",
                key=f"{key} forget {place}",
                type="tertiary",
                on_click=visitor.type_key,
                args=(place, ""),
            )
        return
    entry: graders.HostKey | None = None
    with suppress(errors.GradingError):
        entry = graders.key_for(address, None, variable, graders.current_access())
    codes: dict[str, str] = {}
    if entry is not None and entry.key:
        state, sentence = (
            "found",
            f":material/key: Using the key in {ui.escape(entry.name)} for {host_shown}.",
        )
    elif graders.is_loopback(host):
        state, sentence = (
            "needless",
            ":material/key_off: An endpoint on this computer needs no key.",
        )
    elif entry is not None and entry.name:
        state, sentence = (
            "missing",
            (
                f":material/key_off: No key in {ui.escape(entry.name)}. Type a key. Or set it in"
                " the terminal before you start the app, or in .streamlit/secrets.toml:"
            ),
        )
        codes = {"bash": f'export {entry.name}="KEY"', "toml": f'{entry.name} = "KEY"'}
    else:
        state, sentence = (
            "unknown",
            (
                f":material/key_off: No key for {host_shown}. Type a key. Or set up the endpoint in"
                " .streamlit/secrets.toml:"
            ),
        )
        # In JSON, a text is written as in TOML.
        table = f'[endpoints.Mine]\nbase_url = {json.dumps(address)}\nkey_variable = "MY_KEY"'
        codes = {"toml": f'MY_KEY = "KEY"\n\n{table}'}
    with st.container(key=f"key {state} {key}"):
        st.caption(sentence)
        for language, code in codes.items():
            st.code(code, language=language)


def choose_model(
    stored: str, endpoint: graders.OfferedEndpoint | None, key: str, label: str = "Model"
) -> str:
    """Draw the model of an endpoint, as a list if the endpoint has one; return it."""
    if endpoint is None or not endpoint.models:
        return st.text_input(
            label,
            stored,
            key=key,
            persist_state="session",
            help="The name of the model at the endpoint.",
        ).strip()
    index = endpoint.models.index(stored) if stored in endpoint.models else 0
    return str(
        st.selectbox(
            label, endpoint.models, index, key=f"{key} of {endpoint.name}", persist_state="session"
        )
    )


def choose_local(
    stored: str,
    default: str,
    key: str,
    label: str = "Model",
    about: str | None = None,
    bound: bool = True,
) -> str:
    """Draw the choice of a model on this computer: any on an unshared localhost, else an offered
    one.

    Args:
        bound: whether a stored model that this visitor may not use raises an error; otherwise it is
            ignored.

    Returns:
        Its folder or its name on the hub; the default for an empty field.

    Raises:
        InputError: the server offers no model, or not the stored one.
    """
    if graders.current_access().any_model:
        typed = st.text_input(
            label,
            stored,
            placeholder=default,
            key=key,
            persist_state="session",
            help=about
            or "A name on the Hugging Face hub, or a folder on the computer that runs the app.",
        ).strip()
        return typed or default
    offered = graders.offered_models()
    if not offered:
        raise errors.InputError("no-model-offered", "No local model is set up on this server.", HOW)
    if bound and stored and stored not in offered:
        raise errors.InputError(
            "model-not-offered",
            f"The model of this grader is not set up on this server: {stored}.",
            f"Available: {', '.join(offered)}. Set up a grader of your own with"
            " an available model.",
        )
    start = stored or default
    index = offered.index(start) if start in offered else 0
    return str(st.selectbox(label, offered, index, key=f"{key} offered", persist_state="session"))


WHERE = {"transformers": "On this computer", "openai": "At an endpoint"}
NOTHING: Mapping[str, str] = {}
LAST = "drafter"
"""Session key of the latest model's settings."""


@ui.errors()
def choose_settings(project: Project, key: str) -> dict[str, str] | None:
    """Draw the choice of a model and return its settings; without a valid choice, show an error and
    return None.

    The default is the last choice here, else the model for grading.

    Args:
        key: prefix of the widgets' keys.
    """
    usual: dict[str, str] = st.session_state.get(LAST) or grading.usual_settings(project)
    where = st.segmented_control(
        "Where the model runs",
        choices.BACK_ENDS,
        default=usual["back_end"],
        format_func=WHERE.__getitem__,
        required=True,
        key=f"{key} where",
    )
    settings = choose_model_place(
        str(where), key, usual if where == usual["back_end"] else {}, bound=False
    )
    return {name: value for name, value in settings.items() if value}


def choose_model_place(
    kind: str,
    key: str,
    stored: Mapping[str, str] = NOTHING,
    default: str = graders.LOCAL_MODEL,
    bound: bool = True,
) -> dict[str, str]:
    """Draw the choice of a model on this computer or at an endpoint, and return its settings.

    Args:
        kind: the back end, or another kind of model on this computer, which has none.
        default, bound: as for `choose_local`.
    """
    model = stored.get("model", "")
    if kind == "openai":
        address, endpoint = choose_endpoint(stored, key, bound)
        return {"back_end": kind, **address, "model": choose_model(model, endpoint, f"{key} model")}
    back_end = {"back_end": kind} if kind in choices.BACK_ENDS else {}
    return {**back_end, "model": choose_local(model, default, f"{key} local", bound=bound)}


def remember_settings(settings: dict[str, str]) -> None:
    """Remember a model as the next default."""
    st.session_state[LAST] = settings
