"""Blind judging: a browser remembers the setting until it is switched off."""

import streamlit as st

COOKIE = "exam-workbench-blind"
KEY = "blind"

# A window writes a new choice once. Writing it in every run would overwrite later choices of other windows.
_remember = st.components.v2.component(
    "remember_blind",
    js="""
let written = null;
export default function ({ data }) {
  if (data.blind === null || data.blind === written) return;
  written = data.blind;
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${data.cookie}=yes; path=/; max-age=${written ? 34560000 : 0}; samesite=lax${secure}`;
}
""",
)


def is_on() -> bool:
    """Return whether other people's ratings and judgments are hidden; known before the first drawing, also after a
    reload.
    """
    return bool(st.session_state.setdefault(KEY, remembered()))


def remembered() -> bool:
    """Return whether this browser judged blindly during its last visit."""
    return COOKIE in st.context.cookies


def toggle() -> None:
    """Draw the switch."""
    st.toggle(
        "Blind judging", key=KEY, persist_state="session",
        on_change=lambda: st.session_state.update({"blind chosen": True}),
        help="Hide ratings, labels, ranks and other assessors' judgments until you have judged the passage."
        " This browser keeps the setting until you switch it off.",
    )  # fmt: skip
    chosen = st.session_state[KEY] if "blind chosen" in st.session_state else None
    _remember(key="remember blind", data={"cookie": COOKIE, "blind": chosen})
