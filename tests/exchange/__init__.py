"""Tests of where a project meets files."""
