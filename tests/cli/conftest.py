"""Shares the `exam` fixture of `test_cli` with all tests of commands."""

from tests.cli.test_cli import exam

__all__ = ["exam"]
