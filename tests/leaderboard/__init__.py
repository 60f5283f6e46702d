"""Tests of systems in order."""
