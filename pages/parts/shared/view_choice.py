"""The choice of a screen's view, the same on every screen, and expanders that keep their state."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from pages.parts.shared import address


def choose_view(views: Sequence[str], names: Callable[[str], str] = str, key: str = "view") -> str:
    """Draw the choice of a view and return it; the address names it unless it is the first.

    Args:
        names: displayed name of a view; an address may contain it, too.
        key: address parameter of the choice.
    """
    by_name = {names(view): view for view in views} | {view: view for view in views}

    def draw_views() -> str:
        return st.segmented_control(
            "View", views, format_func=names, key=key, required=True, label_visibility="collapsed"
        )

    return choose_linked(key, by_name, views[0], draw_views)


def choose_linked(key: str, by_name: Mapping[str, str], usual: str, draw: Callable[[], str]) -> str:
    """Draw a choice that the address names, unless it is the usual one, and return it.

    A change of the choice is a step for Back.

    Args:
        key: address parameter and key of the widget.
        by_name: the options by their names in addresses; the name in a new address is the option.
        draw: draws the widget and returns its value.
    """
    here = address.places_of_screen(f"{key} of {st.session_state.get('screen')}", (key,))
    named = st.query_params.get(key, "")
    came = here.apply_address(str(st.session_state.get("project")))
    # Another screen has other options under the same key.
    if came or address.is_new_screen() or st.session_state.get(key) not in by_name.values():
        st.session_state[key] = by_name.get(named, usual)
    chosen = draw()
    if chosen != by_name.get(here.part_of_place(key), usual):
        here.go_to(**{key: "" if chosen == usual else chosen})
    return chosen


def draw_view_button(label: str, view: str) -> None:
    """Draw a button that leads to another view of the screen.

    It is not a link: a repeated address of this screen would be mistaken for one from a delayed
    browser.
    """
    st.button(
        label,
        type="tertiary",
        icon=":material/arrow_forward:",
        on_click=st.session_state.update,
        args=({"view": view},),
        key=f"go to {view}",
    )


def stays_folded(key: str) -> None:
    """Keep the state of an expander that is drawn next.

    With a changed title, Streamlit treats it as a new one and would fold it during a person's
    click, which would be lost.

    Args:
        key: key of the expander.
    """
    if key in st.session_state:
        st.session_state[key] = st.session_state[key]
