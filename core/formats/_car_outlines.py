"""Outlines of TREC CAR: pages become queries, and their sections become subtopics."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from ..types import Query, Subtopic
from ._source import Refused, first_of, good_id, good_text

ID_KEYS = ("page_id", "squid", "pageId")
NAME_KEYS = ("page_name", "title", "pageName")
SECTION_KEYS = ("headings", "child_sections", "sections", "skeleton", "query_facets", "children")
HEADING_ID_KEYS = ("headingId", "heading_id")

_START = re.compile(r'\s*\[\s*\{[^{}\[\]]*"(page_id|pageId|squid)"\s*:')


def is_outline(keys: Collection[str]) -> bool:
    """Return whether an object with these keys, or the object itself, is a page of an outline."""
    return any(key in keys for key in ID_KEYS) and any(key in keys for key in NAME_KEYS)


def is_outline_list(text: str) -> bool:
    """Return whether the beginning of a file is that of a JSON list of pages."""
    return _START.match(text) is not None


def outline_of(row: dict[str, Any]) -> Query:
    """Return a page as a query: its id and name, and a subtopic for every section.

    Args:
        row: `page_id`, `page_name`, and `headings` with `headingId`, `heading` and nested headings, as in trec-car's
            tools. Or `squid`, `title`, and `query_facets` with `heading_id` and `heading`, as in pages submitted to
            TREC CAR Y3. A nested section gets both ids, OUTER/INNER, and both headings, OUTER / INNER.

    Raises:
        Refused: an id or a text is missing or unusable, or `headings` is not a list.
    """
    page = good_id(first_of(row, ID_KEYS), "page")
    subtopics: dict[str, Subtopic] = {}
    for subtopic in _sections(row, page, "", ""):
        if subtopics.setdefault(subtopic.subtopic_id, subtopic) != subtopic:
            raise Refused("duplicate-heading", f"heading id {subtopic.subtopic_id} has two different headings")
    return Query(page, good_text(first_of(row, NAME_KEYS), "page's name"), subtopics=tuple(subtopics.values()))


def _sections(row: dict[str, Any], page: str, outer: str, above: str) -> Iterator[Subtopic]:
    sections = first_of(row, SECTION_KEYS) or []
    if not isinstance(sections, list) or not all(isinstance(section, dict) for section in sections):
        raise Refused("not-a-list", "the headings are not a list of objects with heading and headingId")
    for section in sections:
        # A skeleton holds paragraphs and images among its sections.
        if "heading" not in section:
            continue
        heading = good_text(section["heading"], "heading")
        # Facet ids begin with the id of their page.
        own = good_id(first_of(section, HEADING_ID_KEYS), "heading").removeprefix(f"{page}/")
        # Valid ids can be too long once joined, or empty without the page's id.
        subtopic = Subtopic(good_id(outer + own, "heading"), above + heading)
        yield subtopic
        yield from _sections(section, page, f"{subtopic.subtopic_id}/", f"{subtopic.text} / ")
