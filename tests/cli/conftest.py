"""The command line of `test_cli` for all tests of commands."""

from __future__ import annotations

from tests.cli.test_cli import exam

__all__ = ["exam"]
