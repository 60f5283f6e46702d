"""Which view of a screen is on, in one row of choices, the same on every screen; and what of it stays unfolded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from pages.parts.shared import address


def choose(views: Sequence[str], names: Callable[[str], str] = str, key: str = "view") -> str:
    """Draw the choice of a view, which the address names; it leaves out the first one.

    Another view is a step for the browser's Back.

    Args:
        names: what a view is called on the screen; addresses may name it so, too.
        key: what the address calls the choice.
    """
    by_name = {names(view): view for view in views} | {view: view for view in views}
    here = address.places(f"{key} of {st.session_state.get('screen')}")
    said = st.query_params.get(key, "")
    came = here.come(str(st.session_state.get("project")), {key: said} if said else {})
    # Another screen has other views under the same key.
    if came or address.arrived() or st.session_state.get(key) not in views:
        st.session_state[key] = by_name.get(said, views[0])
    view = str(
        st.segmented_control("View", views, format_func=names, key=key, required=True, label_visibility="collapsed")
    )
    if view != by_name.get(here.now.get(key, ""), views[0]):
        here.go({key: "" if view == views[0] else view}, [key])
    return view


def go(label: str, view: str) -> None:
    """Lead to another view of the screen that is on.

    It is no link: an address of this screen in which one was before is taken for that of a browser that is behind.
    """
    st.button(
        label, type="tertiary", icon=":material/arrow_forward:", on_click=_choose, args=(view,), key=f"go to {view}"
    )


def _choose(view: str) -> None:
    st.session_state["view"] = view


def stays_folded(key: str) -> None:
    """Let an expander that is about to be drawn be open or folded as it was.

    Under another title it is another one to Streamlit, which would fold it up under somebody's press: that is lost.

    Args:
        key: of the expander.
    """
    if key in st.session_state:
        st.session_state[key] = st.session_state[key]
