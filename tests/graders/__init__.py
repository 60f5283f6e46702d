"""Tests of the graders."""
